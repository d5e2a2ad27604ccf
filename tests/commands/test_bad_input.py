"""Wrong paths, wrong documents, logs that try to do harm: a message and a code, no traceback."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rltui.core.text import cell_width
from rltui.draw.view import View
from rltui.session import Session
from tests.clock import ManualClock
from tests.commands.conftest import Cli, write_jsonl
from tests.fakes import grpo_tags
from tests.formats.encode import event, header, simple
from tests.pages.parts import assert_harmless, parts_of_session

READERS = ("check", "snapshot", "plot")


def arguments(command: str, logdir: Path) -> list[str]:
    return [command, str(logdir), *(["loss"] if command == "plot" else [])]


# -- paths ---------------------------------------------------------------------------------


@pytest.mark.parametrize("command", READERS)
def test_a_path_that_does_not_exist(cli: Cli, tmp_path: Path, command: str) -> None:
    result = cli(*arguments(command, tmp_path / "gone"))
    assert (result.code, result.out) == (2, "")
    assert result.err == f"rltui: {tmp_path / 'gone'}: no such file or directory\n"


@pytest.mark.parametrize("command", READERS)
def test_a_file_that_is_no_log(cli: Cli, tmp_path: Path, command: str) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    result = cli(*arguments(command, tmp_path / "notes.txt"))
    assert (result.code, result.out) == (2, "")
    assert "notes.txt: 1 line of text, no row with a step and numbers was" in result.err


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("train.log", b"hello world\n" * 4213, "4,213 lines of text, no row with a step and"),
        (
            "train.log",
            b"hello\nworld",
            "tried: console (no rows of metrics in it so far), ",
        ),
        ("data.csv", b"name,city\na,b\n", "formats tried: csv (no step column beside numbers, "),
        ("model.bin", b"\x80\0\1\2" * 99, "holds bytes that are no text; formats tried: "),
        ("train.log", b"", ": empty so far\n"),
    ],
)
def test_a_named_file_that_is_not_understood(
    cli: Cli, tmp_path: Path, name: str, content: bytes, words: str
) -> None:
    (tmp_path / name).write_bytes(content)
    for command in ("check", "snapshot"):
        result = cli(command, tmp_path / name)
        assert (result.code, result.out) == (2, "")
        assert f"{name}: " in result.err
        assert words in result.err
        assert result.err.count("\n") == 1


def test_one_wrong_path_among_good_ones(cli: Cli, well: Path, tmp_path: Path) -> None:
    assert cli("check", well, tmp_path / "gone").code == 2


@pytest.mark.parametrize("name", ["\0", "x" * 5000, "a/" * 3000])
def test_paths_that_no_system_takes(cli: Cli, name: str) -> None:
    result = cli("check", name)
    assert (result.code, result.out) == (2, "")
    assert "Traceback" not in result.err


def refuse(call: Callable[..., Any], place: Path) -> Callable[..., Any]:
    """``call``, with Permission denied for ``place`` and what is below it."""

    def refused(path: Any, *rest: Any, **named: Any) -> Any:
        if isinstance(path, (str, os.PathLike)) and Path(path).is_relative_to(place):
            raise PermissionError(13, "Permission denied", str(path))
        return call(path, *rest, **named)

    return refused


def test_an_unreadable_logdir(cli: Cli, well: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "scandir", refuse(os.scandir, well))
    result = cli("check", well)
    assert (result.code, result.out) == (2, "")
    assert result.err == f"rltui: {well}: cannot be read: Permission denied\n"


def test_a_logdir_that_cannot_be_looked_at(
    cli: Cli, well: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "stat", refuse(os.stat, well))
    result = cli("check", well)
    assert (result.code, result.out) == (2, "")
    assert "Permission denied" in result.err


def test_an_unreadable_directory_among_good_ones_is_passed_over(
    cli: Cli, bad_logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "scandir", refuse(os.scandir, bad_logs / "a"))
    result = cli("check", bad_logs, "--json", "--fail-on", "never")
    assert result.code == 0
    assert [r["run"] for r in json.loads(result.out)["runs"]] == ["b/calm", "nan"]


def test_an_endless_tree_of_links_ends(cli: Cli, well: Path) -> None:
    (well / "again").symlink_to(well, target_is_directory=True)
    (well / "nowhere").symlink_to(well / "gone")
    result = cli("check", well, "--json")
    assert [r["run"] for r in json.loads(result.out)["runs"]] == ["calm"]


def test_pipes_and_sockets_are_not_opened(cli: Cli, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "metrics.jsonl")
    assert stat.S_ISFIFO((tmp_path / "metrics.jsonl").stat().st_mode)
    assert cli("check", tmp_path).code == 3
    assert cli("check", tmp_path / "metrics.jsonl").code == 2


# -- content -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [b"", b"\0", b"\xff" * 4096, os.urandom(0) + bytes(range(256)) * 64, b"PK\x03\x04" * 99],
    ids=["empty", "one", "ones", "all", "zip"],
)
def test_garbage_named_like_an_event_file(cli: Cli, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "events.out.tfevents.1700000000.host"
    path.write_bytes(content)
    for command in READERS:
        result = cli(*arguments(command, tmp_path))
        assert result.code == 3
        assert result.out == ""
        assert "no readable log" in result.err
    assert cli("check", tmp_path, "--json").code == 3


def test_garbage_after_good_records_is_a_note(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1700000000.host"
    good = b"".join(event(s, 1.7e9 + s, simple(b"loss", 1.0 / s)) for s in range(1, 30))
    path.write_bytes(header() + good + b"\xff" * 999)
    result = cli("check", tmp_path, "--json")
    run = json.loads(result.out)["runs"][0]
    assert run["last_step"] == 29
    assert [n["level"] for n in run["sources"][0]["notes"]] != []
    assert "note: " in cli("check", tmp_path).out


def test_jsonl_with_broken_lines(cli: Cli, tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "x.jsonl", grpo_tags(9))
    path.write_bytes(path.read_bytes() + b'{"step": 10, "da\xff\n[1,2]\nnull\n' + b"x" * 99 + b"\n")
    result = cli("check", tmp_path, "--json")
    run = json.loads(result.out)["runs"][0]
    assert (run["last_step"], result.err) == (9, "")
    assert run["sources"][0]["notes"]


# -- documents -----------------------------------------------------------------------------


def wrong(cli: Cli, well: Path, config: Path, *more: str) -> str:
    result = cli("check", well, "--config", config, *more)
    assert (result.code, result.out) == (2, "")
    assert "Traceback" not in result.err
    return result.err


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("vieww:\n  theme: dark\n", "1:1", ["unknown key 'vieww'", "did you mean 'view'?"]),
        ("view:\n  themee: dark\n", "2:3", ["unknown key 'themee'", "did you mean 'theme'?"]),
        ("view:\n  marker: braile\n", "2:11", ["braile", "did you mean 'braille'?"]),
        ("view: [\n", "2:1", ["not valid YAML"]),
        ("view:\n  smooth: 7\n", "2:11", ["at most"]),
        ("rules:\n  mute: [entropy_colapse]\n", "2:10", ["did you mean 'entropy_collapse'?"]),
        (
            "metrics:\n  entropy:\n    category: aktor\n",
            "3:15",
            ["unknown category", "did you mean 'actor'?"],
        ),
    ],
)
def test_a_broken_config_says_where(
    cli: Cli, well: Path, tmp_path: Path, text: str, place: str, words: list[str]
) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(text)
    err = wrong(cli, well, config)
    assert f"{config}:{place}: " in err
    assert all(w in err for w in words), err


def test_a_config_that_is_not_there(cli: Cli, well: Path, tmp_path: Path) -> None:
    assert "no.yaml: cannot be read" in wrong(cli, well, tmp_path / "no.yaml")


def test_a_broken_dialect_says_where(cli: Cli, well: Path, tmp_path: Path) -> None:
    config, dialects = tmp_path / "config.yaml", tmp_path / "dialects"
    config.write_text("")
    dialects.mkdir()
    (dialects / "mine.yaml").write_text("id: mine\ntitel: Mine\n")
    err = wrong(cli, well, config)
    assert f"{dialects / 'mine.yaml'}:" in err
    assert "did you mean 'title'?" in err


def test_a_broken_rule_says_where(cli: Cli, well: Path, tmp_path: Path) -> None:
    config, rules = tmp_path / "config.yaml", tmp_path / "rules"
    config.write_text("")
    rules.mkdir()
    (rules / "mine.yaml").write_text("rules:\n  - idd: mine\n    title: Mine\n")
    err = wrong(cli, well, config)
    assert f"{rules / 'mine.yaml'}:" in err


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend that standard input and output are a terminal."""
    monkeypatch.setattr("rltui.commands.watch.need_terminal", lambda _: None)


@pytest.mark.usefixtures("terminal")
def test_an_unknown_theme_names_the_nearest(cli: Cli, well: Path) -> None:
    result = cli("watch", well, "--theme", "drak")
    assert (result.code, result.out) == (2, "")
    assert "did you mean 'dark'?" in result.err


@pytest.mark.usefixtures("terminal")
def test_a_broken_theme_says_where(cli: Cli, well: Path, tmp_path: Path) -> None:
    config, themes = tmp_path / "config.yaml", tmp_path / "themes"
    config.write_text("view:\n  theme: mine\n")
    themes.mkdir()
    (themes / "mine.yaml").write_text("name: mine\ncolors: {}\n")
    result = cli("watch", well, "--config", config)
    assert (result.code, result.out) == (2, "")
    assert f"{themes / 'mine.yaml'}:" in result.err


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("text", ["keys:\n  qiut: [q]\n"])
def test_wrong_keys_in_the_config_are_reported(
    cli: Cli, well: Path, tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rltui.pages.app.RltuiApp.run", lambda self, **_: None)
    config = tmp_path / "config.yaml"
    config.write_text(text)
    result = cli("watch", well, "--config", config)
    assert result.code == 2
    assert f"{config}:" in result.err


# -- harmful text --------------------------------------------------------------------------

EVIL = (
    "[red]x[/red]",
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "a\nb\rc\td\x00e",
    "../../../etc/passwd",
    "🔥 loss 🚀 👩‍👩‍👧",
    "\u202egnp.exe",
    "\u2028line",
    "\x9b31m",
    "t" * 10_240,
)


@pytest.fixture
def evil(tmp_path: Path) -> Path:
    """Runs whose tags and names try to control the terminal."""
    logdir = tmp_path / "evil"
    values = {tag: [float(i + n) for i in range(12)] for n, tag in enumerate(EVIL)}
    write_jsonl(logdir / "tags.jsonl", values)
    write_jsonl(logdir / "[b]x\x1b[31m\n" / "🔥.jsonl", {"actor/entropy": [0.9] * 9})
    data = [event(s, 1.7e9 + s, *[simple(t.encode(), 1.0) for t in EVIL]) for s in range(1, 9)]
    (logdir / "tb").mkdir()
    (logdir / "tb" / "events.out.tfevents.1.h\x1b").write_bytes(
        header() + b"".join(data) + b"\xff" * 50
    )
    return logdir


def harmless(text: str) -> bool:
    return all(c.isprintable() or c == "\n" for c in text)


def test_no_command_prints_what_a_log_wants(cli: Cli, evil: Path) -> None:
    for command in (
        ["check", evil],
        ["check", evil, "--json"],
        ["snapshot", evil],
        ["snapshot", evil, "--json"],
        ["plot", evil, "*", "--size", "40x8"],
        ["plot", evil, "*", "--size", "200x50"],
        ["plot", evil, "*red*"],
    ):
        result = cli(*command)
        assert result.code == 0, command
        assert harmless(result.out), command
        assert harmless(result.err), command


def test_markup_is_shown_as_it_is(cli: Cli, evil: Path) -> None:
    assert "[red]x[/red]" in cli("snapshot", evil, "--run", "tags").out


def test_charts_of_odd_tags_keep_their_width(cli: Cli, evil: Path) -> None:
    out = cli("plot", evil, "*", "--size", "40x8").out
    assert max(cell_width(x) for x in out.splitlines()) <= 40


@pytest.fixture
def evil_session(evil: Path) -> Session:
    session = Session([evil], clock=ManualClock())
    session.scan()
    session.read_all()
    return session


def test_no_screen_shows_what_a_log_wants(evil_session: Session) -> None:
    view = View()
    for width, height in ((24, 6), (80, 24), (160, 45)):
        for lines in parts_of_session(evil_session, view, width, height):
            assert_harmless(lines, width, view)
