"""Ctrl-C while a huge tree on a slow file system is searched: every verb ends at once."""

import time
from pathlib import Path

import pytest

from tests.tables import cases
from tests.terminal import START_S, Terminal, environment

#: Runs rltui; a directory takes a quarter of a second to list once the file SLOW exists.
_ON_A_SLOW_DISK = """
import os, pathlib, sys, time  # pathlib of Python 3.10 would keep the function as its method
from rltui.cli import main

slow, listed, scandir = sys.argv[1], 0, os.scandir

def crawl(path="."):
    global listed
    if os.path.exists(slow):
        time.sleep(0.25)
        listed += 1
        if listed == 3:
            open(slow + ".busy", "w").close()
    return scandir(path)

os.scandir = crawl
sys.exit(main(sys.argv[2:]))
"""
#: Directories of the tree: all of them take a minute.
_MANY = 240
_CTRL_C = b"\x03"
#: What Ctrl-C may take, on a machine that does other things.
_AT_ONCE_S = 5.0


class Disk:
    """A tree of runs on a disk that becomes slow."""

    def __init__(self, home: Path) -> None:
        self._environ = environment(home)
        self.tree = home / "tree"
        for number in range(_MANY):
            (self.tree / f"run{number:03}").mkdir(parents=True)
        self.add("run000")
        self._slow, self._busy = home / "slow", home / "slow.busy"

    def add(self, run: str) -> None:
        """A new log."""
        (self.tree / run / "log.jsonl").write_text(
            "".join(f'{{"step": {s}, "loss": {1 / (s + 1)}}}\n' for s in range(20))
            + '{"step": 20, "loss": NaN}\n'
        )

    def slow_down(self) -> None:
        self._slow.touch()

    def wait_busy(self, terminal: Terminal) -> None:
        """Wait until the tree is being searched slowly."""
        end = time.monotonic() + START_S
        while not self._busy.exists() and time.monotonic() < end:
            terminal.read(quiet_s=0.05)
            assert terminal.process.poll() is None, bytes(terminal.seen)
        assert self._busy.exists(), bytes(terminal.seen)

    def run(self, *words: str) -> Terminal:
        arguments = ["-c", _ON_A_SLOW_DISK, str(self._slow), *words]
        return Terminal(arguments, self._environ, directory=self.tree)


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    return Disk(tmp_path)


def interrupt(terminal: Terminal) -> int:
    """Press Ctrl-C; returns the exit code."""
    terminal.press(_CTRL_C)
    terminal.drain(_AT_ONCE_S)
    return terminal.wait(0.0)


@cases(__file__, "a_first_search_is_interrupted", "words")
def test_a_first_search_is_interrupted(disk: Disk, words: str) -> None:
    disk.slow_down()
    with disk.run(*words.split()) as terminal:
        disk.wait_busy(terminal)
        assert interrupt(terminal) == 130
        assert b"Traceback" not in terminal.seen


@pytest.mark.parametrize(("words", "code"), [(("watch", "."), 0), (("check", "--follow", "."), 1)])
def test_a_search_beside_the_reading_is_left(disk: Disk, words: tuple[str, ...], code: int) -> None:
    with disk.run(*words) as terminal:
        if words[0] == "watch":
            terminal.read_until(b"\x1b[?1049h")
            terminal.settle(0.5, 5.0)
        else:
            terminal.read_until(b"run000")
        disk.slow_down()
        disk.add("run001")
        disk.wait_busy(terminal)
        assert interrupt(terminal) == code
        assert b"Traceback" not in terminal.seen
