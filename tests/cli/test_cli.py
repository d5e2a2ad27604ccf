"""The command line as a whole: help, version, the short form, broken pipes, interrupts.

The manual page.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rltui.cli import main
from rltui.cli.manual import manual_page
from rltui.cli.program import build_parser
from rltui.commands import check, watch
from rltui.commands.verbs import EXIT_CODES, HELP_VERB, MAIN, VERBS, Verb
from rltui.version import __version__
from tests.places import ROOT


def leave(arguments: list[str]) -> int:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    return int(left.value.code or 0)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert leave(["--version"]) == 0
    assert capsys.readouterr().out == f"rltui {__version__}\n"


@pytest.mark.parametrize("verb", VERBS, ids=lambda c: c.name)
def test_every_help_has_an_example_that_parses(
    verb: Verb, capsys: pytest.CaptureFixture[str]
) -> None:
    import shlex

    assert leave([verb.name, "--help"]) == 0
    out = capsys.readouterr().out
    assert f"example:\n  rltui {verb.name}" in out
    assert verb.example in out
    words = shlex.split(verb.example)
    assert words[0] == "rltui"
    assert build_parser().parse_args(words[1:]).command == verb.name


def test_the_main_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert leave(["--help"]) == 0
    out = capsys.readouterr().out
    assert [c.name for c in VERBS if f"    {c.name}" not in out] == ["stream"]
    assert "examples:" in out


@pytest.mark.parametrize("arguments", [[], ["watch"]])
def test_without_a_path_and_a_terminal_it_lists_what_could_be_watched(
    arguments: list[str],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs = tmp_path / "runs" / "x"
    runs.mkdir(parents=True)
    (runs / "events.out.tfevents.1700000000.host").write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr("rltui.core.clock.SystemClock.monotonic", lambda _: 0.0)  # time enough
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("usage: rltui watch LOGDIR")
    # the column is as wide as the longest path that is found, also by processes of others
    assert re.search(rf"{re.escape(str(tmp_path / 'runs'))} +1 run", err)


# -- `rltui PATH` --------------------------------------------------------------------------


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> list[argparse.Namespace]:
    """What watch was called with."""
    seen: list[argparse.Namespace] = []

    def run(options: argparse.Namespace) -> int:
        seen.append(options)
        return 0

    monkeypatch.setattr(watch, "watch", run)
    return seen


def test_a_path_is_short_for_watch(
    watched: list[argparse.Namespace], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "runs").mkdir()
    monkeypatch.chdir(tmp_path)
    for arguments in (
        [str(tmp_path)],
        ["runs"],
        ["./not/there"],
        ["runs", "--run", "x*"],
        ["--run", "x*", "runs"],
        ["--theme", "light", "runs"],
        ["--no-mouse", "runs"],
    ):
        assert main(arguments) == 0, arguments
        assert watched[-1].command == "watch"
    assert [str(o.logdirs[0]) for o in watched[1:2]] == ["runs"]


def test_a_path_that_is_called_like_a_command_needs_the_command(
    watched: list[argparse.Namespace], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "check").mkdir()
    monkeypatch.chdir(tmp_path)
    assert main(["watch", "check"]) == 0
    assert main(["./check"]) == 0
    assert len(watched) == 2


# -- streams -------------------------------------------------------------------------------


def test_an_interrupt_exits_with_130(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def interrupt(options: argparse.Namespace) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(check, "check", interrupt)
    assert main(["check", str(tmp_path)]) == 130


#: Several commands in one process, whose start costs more than they; between them a NUL.
_RUNS_ALL = """
import json, sys
from rltui.cli import main
for number, arguments in enumerate(json.loads(sys.argv[1])):
    if number:
        print(end="\\0", flush=True)
    if code := main(arguments):
        sys.exit(code)
"""


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_output_in_any_encoding(tmp_path: Path, encoding: str) -> None:
    import json

    name = os.fsdecode(b"c\xff\x1b[31m.jsonl")
    rows = [{"step": i, "data": {"actor/entropy": 0.5, "été": 1.0}} for i in range(9)]
    (tmp_path / name).write_text("\n".join(json.dumps(r) for r in rows) + "\n")
    commands = (["check"], ["snapshot"], ["plot", "entropy"], ["snapshot", "--json"])
    lines = [[verb, str(tmp_path), *rest] for verb, *rest in commands]
    done = subprocess.run(
        [sys.executable, "-c", _RUNS_ALL, json.dumps(lines)],
        cwd=ROOT,
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"},
        timeout=60,
        check=False,
    )
    assert done.returncode in (0, 1)
    assert done.stderr == b""
    assert b"\x1b" not in done.stdout
    printed = done.stdout.decode(encoding).split("\0")
    assert len(printed) == len(commands)
    assert all(printed)
    assert json.loads(printed[-1])["runs"][0]["metrics"]


@pytest.mark.parametrize("arguments", [["watch", "."], ["."], ["demo"]])
def test_watch_needs_a_terminal_and_names_the_other_way(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "needs a terminal" in err
    assert "rltui snapshot" in err


def test_the_page_names_everything() -> None:
    page = manual_page().replace("\\-", "-").replace("\\e", "\\")
    for command in (*VERBS, HELP_VERB):
        _, found, section = page.partition(f".SS rltui {command.name}\n")
        section = section.partition("\n.SS")[0]
        assert found
        common = {o.names for o in MAIN}
        for option in (*MAIN, *command.own):
            assert (option.help in section) is (option.names not in common), option
    assert all(n in page for o in MAIN for n in o.names)
    assert all(f"\\fB{code.value}\\fR\n{words}" in page for code, words in EXIT_CODES)


@pytest.mark.parametrize("command", [["mandoc", "-T", "lint", "-W", "warning"], ["groff", "-ww"]])
def test_readers_of_manual_pages_find_no_mistake(command: list[str]) -> None:
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    if command[0] == "groff":
        command = [*command, "-man", "-Tutf8", "-Wmac"]
    done = subprocess.run(
        command, input=manual_page(), capture_output=True, text=True, timeout=60, check=False
    )
    found = done.stderr if command[0] == "groff" else done.stdout
    assert [x for x in found.splitlines() if "missing date" not in x] == []


def test_numbers_of_any_size_bring_no_warning(tmp_path: Path) -> None:
    rows = (
        f'{{"step": {n}, "reward": {(-1) ** n}e308, "actor/kl_loss": {1e308 if n > 40 else 0.1}}}\n'
        for n in range(80)
    )
    (tmp_path / "metrics.jsonl").write_text("".join(rows))
    command = [sys.executable, "-m", "rltui", "check", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode in (0, 1)
    assert done.stderr == b""
