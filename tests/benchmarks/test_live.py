"""The terminal emulator, and the live benchmark at a tiny scale."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks import live
from benchmarks.terminal import Program, Screen, quiet_home


def test_screen_moves_writes_and_erases() -> None:
    screen = Screen(3, 10)
    whole = "\x1b[?1049h\x1b[2J\x1b[2;3Hab\x1b[31mc\x1b[0m\r\nx\x1b[1;1H\x1b]0;title\x07top\x1b[A"
    for char in whole:
        screen.feed(char)
    assert screen.text == "top\n  abc\nx"
    screen.feed("\x1b[2;4H\x1b[K\x1b[3;1Hyy\x1b[1;9Hlong line")
    assert screen.text == "top     lo\n  a\nyy"


def test_a_program_and_its_screen(tmp_path: Path) -> None:
    code = "import time; print('ready'); print(input()[::-1]); time.sleep(9)"
    with Program([sys.executable, "-c", code], quiet_home(tmp_path)) as program:
        assert program.until(lambda text: "ready" in text, 20) < 20
        program.send(b"abc\n")
        program.until(lambda text: "cba" in text, 20)
        assert program.written >= 13
        assert 0 < program.cpu < 10
        assert program.memory > 1
        with pytest.raises(TimeoutError):
            program.until(lambda text: "never" in text, 0.05)


def test_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "_QUIET_S", 0.1)
    live.main(["--data", str(tmp_path), "--seconds", "1", "--appends", "1", "--only", "append"])
    printed = capsys.readouterr().out
    assert "append to screen, polled, 1 appends" in printed
    assert "failed" not in printed
