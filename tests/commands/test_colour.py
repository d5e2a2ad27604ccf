"""--color, NO_COLOR, FORCE_COLOR: the same for every command."""

import io
import os
from pathlib import Path

import pytest
from rich.console import Console

from rltui.commands.terminal import choose_colour, has_colours, knows_links, wants_colour
from rltui.tui.theming import depth_of
from tests.commands.conftest import Cli, write_jsonl
from tests.tables import cases


class Stream(io.StringIO):
    """A terminal, or none."""

    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


@pytest.mark.parametrize("terminal", [True, False], ids=["terminal", "pipe"])
@cases(__file__, "variables_decide_and_else_the_terminal")
def test_variables_decide_and_else_the_terminal(
    environ: dict[str, str], wanted: bool | None, terminal: bool
) -> None:
    assert wants_colour(Stream(terminal), environ) is (terminal if wanted is None else wanted)


@cases(__file__, "gnu_screen_has_no_more_than_256_colours")
@pytest.mark.parametrize("colorterm", ["truecolor", "24bit"])
def test_gnu_screen_has_no_more_than_256_colours(
    environ: dict[str, str], depth: str, colorterm: str
) -> None:
    there = {**environ, "COLORTERM": colorterm}
    for _ in range(2):  # a program that it starts
        choose_colour("auto", there)
        console = Console(force_terminal=True, _environ=there)
        assert depth_of(console.color_system, console.no_color) == depth
    believed = there["COLORTERM"] == colorterm
    assert believed is (depth == "truecolor")
    assert believed or there["COLORTERM"] == f"{colorterm} (not believed in GNU screen)"


def test_a_dumb_terminal_has_no_colours() -> None:
    assert not wants_colour(Stream(True), {"TERM": "dumb"})


@cases(__file__, "test_links_are_for_terminals_that_are_known_to_open_them")
def test_links_are_for_terminals_that_are_known_to_open_them(
    environ: dict[str, str], known: bool
) -> None:
    assert knows_links(Stream(True), environ) is known
    assert knows_links(Stream(False), environ) is ("FORCE_HYPERLINK" in environ)


def test_names_of_runs_and_sources_are_links(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = write_jsonl(tmp_path / "a\x1b]8;; b%[é].jsonl", {"loss": [0.5] * 30})
    asked = ("check", str(log)), ("snapshot", str(log)), ("explain", "entropy", "--reasons")
    assert not any("\x1b" in cli(*words).out for words in asked)
    monkeypatch.setenv("FORCE_HYPERLINK", "1")
    for words in asked[:2]:
        url = cli(*words).out.partition("\x1b]8;;")[2].partition("\x1b\\")[0]
        assert url.startswith("file://")
        assert url.endswith("/a%1B%5D8%3B%3B%20b%25%5B%C3%A9%5D.jsonl")
    assert "\x1b]8;;https://github.com/" in cli(*asked[2]).out
    monkeypatch.setenv("FORCE_HYPERLINK", "0")
    assert "\x1b" not in cli(*asked[0]).out


def test_the_option_beats_the_variables() -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        environ = {name: "1"}
        choose_colour("auto", environ)
        assert environ == {name: "1"}
        choose_colour("never", environ)
        assert not has_colours(environ)
        choose_colour("always", environ)
        assert wants_colour(Stream(False), environ)


VERBS = ("check", "snapshot", "plot")


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    for name in ("one", "two"):
        log = tmp_path / "logs" / f"{name}.jsonl"
        write_jsonl(log, {"loss": [0.1 * n for n in range(40)]})
        os.utime(log, (1e9, 1e9))  # its age is the same in all calls
    return tmp_path / "logs"


@pytest.mark.parametrize("verb", VERBS)
def test_commands_write_colours_when_asked(cli: Cli, logdir: Path, verb: str) -> None:
    words = [verb, logdir, *(["loss", "--size", "40x8"] if verb == "plot" else [])]
    plain, coloured = cli(*words), cli("--color", "always", *words)
    assert "\x1b[" not in plain.out
    assert "\x1b[" in coloured.out
    assert cli("--color", "auto", *words).out == coloured.out, "as FORCE_COLOR says now"
    assert cli(*words, "--color", "never").out == plain.out
