"""The line that a status bar asks for again and again."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from rltui.commands.line_cache import LineCache
from tests.commands.conftest import Cli


def cache(home: Path, *arguments: str) -> LineCache:
    return LineCache(arguments, {"XDG_CACHE_HOME": str(home)})


def file_of(home: Path) -> Path:
    (found,) = (home / "rltui" / "lines").iterdir()
    return found


def aged(home: Path, seconds: float) -> None:
    path = file_of(home)
    at = path.stat().st_mtime - seconds
    os.utime(path, (at, at))


def test_a_young_line_is_kept(tmp_path: Path) -> None:
    cache(tmp_path, "a").write(1, "✖ b\n")
    assert cache(tmp_path, "a").read(60) == (1, "✖ b\n")
    aged(tmp_path, 100)
    assert cache(tmp_path, "a").read(60) is None
    assert cache(tmp_path, "a").read(600) == (1, "✖ b\n")


def test_a_line_of_the_future_is_not_believed(tmp_path: Path) -> None:
    cache(tmp_path, "a").write(0, "x\n")
    aged(tmp_path, -100)
    assert cache(tmp_path, "a").read(60) is None


def test_lines_of_other_command_lines_and_directories_stay_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache(tmp_path, "a").write(0, "x\n")
    assert cache(tmp_path, "b").read(60) is None
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert cache(tmp_path, "a").read(60) is None


@pytest.mark.parametrize("content", [b"", b"\xff", b"a\nb\nc", b"a\n1\nc", b"\n\n"])
def test_a_broken_file_is_no_line(tmp_path: Path, content: bytes) -> None:
    cache(tmp_path, "a").write(0, "x\n")
    file_of(tmp_path).write_bytes(content)
    assert cache(tmp_path, "a").read(60) is None


def test_where_nothing_can_be_written_nothing_is_kept(tmp_path: Path) -> None:
    (tmp_path / "rltui").write_text("in the way")
    cache(tmp_path, "a").write(0, "x\n")
    assert cache(tmp_path, "a").read(60) is None


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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--max-age", "5"), "--max-age needs --format line"),
        (("--format", "line", "--max-age", "5", "-o", "x"), "--max-age needs --format line"),
        (("--format", "line", "--follow"), "--follow prints lines"),
        (("--follow", "-o", "x"), "--follow prints lines"),
        (("--metric", "entropy"), "--metric needs --format openmetrics"),
    ],
)
def test_options_that_contradict_each_other(
    cli: Cli, arguments: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    result = cli("check", str(tmp_path), *arguments)
    assert result.code == 2
    assert message in result.err
