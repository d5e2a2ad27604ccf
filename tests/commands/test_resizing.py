"""Windows of any size, and storms of resizing, on real pseudo terminals: no traceback."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from benchmarks import vanish
from tests.terminal import Terminal, environment

_CTRL_C = b"\x03"
_SIZES = ((1, 1), (2, 3), (20, 5), (1, 60), (300, 1), (400, 120), (79, 23), (0, 0), (160, 45))
#: Keys that lead to each screen and each thing that lies over one, and those that lead back.
_PLACES = {
    "runs": b"",
    "help": b"?",
    "command": b":goto 1",
    "palette": b"\x10",
    "comparison": b"  C",
    "run": b"\r3",
    "filter": b"\r3/los",
    "grid": b"\r3v",
    "metric": b"\r3j\r",
    "explain": b"\r3je",
    "hyperparameters": b"\rH",
    "samples": b"\rT",
    "findings": b"\r9",
}


def starting(tmp_path: Path, size: tuple[int, int], *words: str) -> Terminal:
    logdir = vanish.prepare(tmp_path)
    environ = environment(tmp_path)
    arguments = ["-m", "rltui", *(w.format(logdir=logdir) for w in words)]
    terminal = Terminal(arguments, environ, size=size, directory=logdir)
    terminal.read_until(b"\x1b[?1049h")
    terminal.settle(0.5, 5.0)
    return terminal


def leave(terminal: Terminal) -> None:
    terminal.settle(0.2, 3.0)
    terminal.press(_CTRL_C)
    terminal.drain()
    assert terminal.wait() == 0, bytes(terminal.seen[-4000:])
    assert b"Traceback" not in terminal.seen


@pytest.mark.parametrize("size", [(1, 1), (0, 0)])
def test_a_start_at_an_odd_size(tmp_path: Path, size: tuple[int, int]) -> None:
    with starting(tmp_path, size, "watch", "{logdir}") as terminal:
        for keys in _PLACES.values():
            terminal.press(keys)
            terminal.settle(0.05, 1.0)
            terminal.press(b"\x1b")
            terminal.settle(0.15, 1.0)
        leave(terminal)


def test_a_storm_of_resizes_everywhere(tmp_path: Path) -> None:
    chance = random.Random(1)
    with starting(tmp_path, (160, 45), "watch", "{logdir}") as terminal:
        for keys in _PLACES.values():
            terminal.press(keys)
            terminal.settle(0.05, 1.0)
            for size in chance.sample(_SIZES, len(_SIZES)):
                terminal.resize(*size)
                terminal.press(chance.choice((b"j", b"k", b"G", b"g")))
                terminal.read(quiet_s=chance.choice((0.0, 0.0, 0.02)))
            for _ in range(3):
                terminal.press(b"\x1b")
                terminal.settle(0.12, 1.0)
        leave(terminal)
