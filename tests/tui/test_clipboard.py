"""Copying: through tmux and screen, into tmux's buffer, into a file."""

from __future__ import annotations

import base64
import stat
from pathlib import Path

import pytest

from rltui.tui.clipboard import load_tmux, terminal_sequence, write_file

TEXT = "grpo\tactor/entropy\t0.1 µ"
OSC = f"\x1b]52;c;{base64.b64encode(TEXT.encode()).decode()}\x07"


def test_a_plain_terminal_takes_osc_52() -> None:
    assert terminal_sequence(TEXT, {"TERM": "xterm-256color"}) == OSC


def test_tmux_passes_it_through() -> None:
    sequence = terminal_sequence(
        TEXT, {"TERM": "screen-256color", "TMUX": "/tmp/tmux-0/default,1,0"}
    )
    assert sequence.startswith("\x1bPtmux;\x1b\x1b]52;")
    assert sequence.endswith("\x1b\\")
    assert sequence[7:-2].replace("\x1b\x1b", "\x1b") == OSC


def test_screen_gets_it_in_pieces() -> None:
    long = "x" * 2000
    sequence = terminal_sequence(long, {"TERM": "screen.xterm-256color"})
    pieces = [p.removeprefix("\x1bP") for p in sequence.split("\x1b\\") if p]
    assert all(len(p) < 768 for p in pieces)
    assert "".join(pieces) == f"\x1b]52;c;{base64.b64encode(long.encode()).decode()}\x07"


def test_tmux_gets_a_buffer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmux = tmp_path / "tmux"
    tmux.write_text(f'#!/bin/sh\necho "$@" > "{tmp_path}/called"\ncat > "{tmp_path}/buffer"\n')
    tmux.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert not load_tmux(TEXT, {})
    assert load_tmux(TEXT, {"TMUX": "x"})
    assert (tmp_path / "buffer").read_text() == TEXT
    assert (tmp_path / "called").read_text() == "load-buffer -\n"
    tmux.unlink()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not load_tmux(TEXT, {"TMUX": "x"})


def test_the_file_is_for_the_user_alone(tmp_path: Path) -> None:
    path = write_file(TEXT, {"XDG_STATE_HOME": str(tmp_path)})
    assert path == tmp_path / "rltui" / "copied.txt"
    assert path.read_text() == TEXT + "\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_without_a_place_for_it_there_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert write_file(TEXT, {"XDG_STATE_HOME": str(tmp_path / "file")}) is None
