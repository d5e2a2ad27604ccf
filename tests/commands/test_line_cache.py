"""The line that a status bar asks for again and again."""

import contextlib
import json
import os
import stat
import sys
from pathlib import Path

import pytest

from rltui.cli import main
from rltui.commands.line_cache import LineCache
from tests.commands.conftest import Cli
from tests.tables import cases


def environ(home: Path, **more: str) -> dict[str, str]:
    return {"XDG_CACHE_HOME": str(home), **more}


def cache(home: Path, *arguments: str) -> LineCache:
    return LineCache(arguments, environ(home))


def lines(home: Path) -> list[Path]:
    return list((home / "rltui" / "lines").iterdir())


def file_of(home: Path) -> Path:
    (found,) = lines(home)
    return found


def aged(home: Path, seconds: float) -> None:
    age(file_of(home), seconds)


def age(path: Path, seconds: float) -> None:
    at = path.stat().st_mtime - seconds
    os.utime(path, (at, at))


def test_a_young_line_is_kept(tmp_path: Path) -> None:
    cache(tmp_path, "a").write(60, 1, "✖ b\n")
    assert cache(tmp_path, "a").read() == (1, "✖ b\n")
    aged(tmp_path, 100)
    assert cache(tmp_path, "a").read() is None
    cache(tmp_path, "a").write(600, 1, "✖ b\n")
    aged(tmp_path, 100)
    assert cache(tmp_path, "a").read() == (1, "✖ b\n")


def test_lines_of_other_command_lines_and_directories_stay_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache(tmp_path, "a").write(60, 0, "x\n")
    assert cache(tmp_path, "b").read() is None
    assert LineCache(["a"], environ(tmp_path, RLTUI_VIEW_THEME="light")).read() is None
    assert LineCache(["a"], environ(tmp_path, XDG_CONFIG_HOME="/etc")).read() is None
    for variable in ("LANG", "RLTUI_HOOKS_ON_FINDING"):
        assert LineCache(["a"], environ(tmp_path, **{variable: "C"})).read() == (0, "x\n")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert cache(tmp_path, "a").read() is None


@pytest.mark.parametrize(
    "content", [b"", b"\xff", b"a\nb\nc", b"a\n60\n1\nc", b"\n\n", b"{asked}\nx\n1\nc"]
)
def test_a_broken_file_is_no_line(tmp_path: Path, content: bytes) -> None:
    cache(tmp_path, "a").write(60, 0, "x\n")
    path = file_of(tmp_path)
    asked = path.read_bytes().partition(b"\n")[0]
    path.write_bytes(content.replace(b"{asked}", asked))
    assert cache(tmp_path, "a").read() is None


def test_lines_that_nobody_asks_for_any_more_are_removed(tmp_path: Path) -> None:
    day = 86_400
    for name, days in (("old", 8), ("young", 6)):
        cache(tmp_path, name).write(60, 0, f"{name}\n")
        age(next(p for p in lines(tmp_path) if f"{name}\n" in p.read_text()), days * day)
    abandoned = tmp_path / "rltui" / "lines" / "0000.1"
    abandoned.write_text("of a process that was killed")
    age(abandoned, 8 * day)
    cache(tmp_path, "new").write(60, 0, "new\n")
    assert {p.read_text().split("\n")[-2] for p in lines(tmp_path)} == {"young", "new"}


def log(directory: Path, last: float | None) -> None:
    directory.mkdir(exist_ok=True)
    rows = [{"step": s, "loss": 1 / s} for s in range(1, 30)]
    text = "".join(json.dumps(r) + "\n" for r in [*rows, {"step": 30, "loss": last}])
    (directory / "metrics.jsonl").write_text(text)


def test_check_prints_the_line_of_an_earlier_call(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    log(tmp_path / "a", None)
    arguments = ("check", "--format", "line", "--max-age", "60", str(tmp_path / "a"))
    first = cli(*arguments)
    assert first.code == 1
    assert first.out.startswith("✖ a 30: ")
    log(tmp_path / "a", 0.01)
    assert cli(*arguments) == first
    assert cli(*arguments[:3], arguments[-1]).out == "✔ a 30\n"
    aged(tmp_path / "cache", 100)
    assert cli(*arguments).out == "✔ a 30\n"
    assert stat.S_ISREG(file_of(tmp_path / "cache").stat().st_mode)


def test_a_kept_line_that_cannot_be_written_is_an_error(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    log(tmp_path / "a", 0.01)
    arguments = ["check", "--format", "line", "--max-age", "60", str(tmp_path / "a")]
    assert cli(*arguments).code == 0
    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert main(arguments) == 70
        monkeypatch.undo()
        with contextlib.suppress(OSError):
            full.close()
    assert capsys.readouterr().err == "rltui: output: No space left on device\n"


@cases(__file__, "options_that_contradict_each_other")
def test_options_that_contradict_each_other(
    cli: Cli, arguments: str, message: str, tmp_path: Path
) -> None:
    result = cli("check", str(tmp_path), *arguments.split())
    assert result.code == 2
    assert message in result.err
