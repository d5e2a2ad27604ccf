"""Terminals that vanish and signals, on real pseudo terminals: the process always ends."""

from __future__ import annotations

import fcntl
import os
import random
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pyte
import pytest

#: A process that leaves has two seconds; the rest is for a machine that does other things too.
_GONE_S = 2.0 + 8.0
#: What a machine that does other things may take to start rltui.
_START_S = 60.0
_CTRL_Z = b"\x1a"
#: Makes standard input the controlling terminal, as a login does: its end is then a SIGHUP.
_CONTROLLED = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0);"
    "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
)


def _environment(logdir: Path) -> dict[str, str]:
    """Ours, without the size of the terminal that pytest and its workers announce."""
    environment = {**os.environ, "TERM": "xterm-256color", "XDG_CACHE_HOME": str(logdir / ".cache")}
    for size in ("COLUMNS", "LINES"):
        environment.pop(size, None)
    return environment


class _Watching:
    """``rltui watch`` on a pseudo terminal of 160 x 45."""

    def __init__(self, logdir: Path, *, controlled: bool = True) -> None:
        self.master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 45, 160, 0, 0))
        self.modes = termios.tcgetattr(slave)
        self.slave = slave
        command = ["-m", "rltui", "watch", str(logdir)]
        if controlled:
            command = ["-c", _CONTROLLED, *command]
        self.process = subprocess.Popen(
            [sys.executable, *command],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            env=_environment(logdir),
        )
        self.seen = b""
        self._screen = pyte.Screen(160, 45)
        self._stream = pyte.ByteStream(self._screen)

    def read_until(self, text: bytes) -> None:
        """Read until the process has written ``text``."""
        self._read_while(lambda: text not in self.seen)

    def read_until_shown(self, text: str) -> None:
        """Read until ``text`` is on the screen, whose cells may come in any order."""
        self._read_while(lambda: not any(text in line for line in self._screen.display))

    def _read_while(self, waiting: Callable[[], bool]) -> None:
        end = time.monotonic() + _START_S
        while waiting():
            ready, _, _ = select.select([self.master], [], [], max(0.0, end - time.monotonic()))
            assert ready, "\n".join(self._screen.display)
            data = os.read(self.master, 4096)
            self.seen += data
            self._stream.feed(data)

    def read_some(self, most: int, quiet_s: float = 0.3) -> None:
        """Read up to ``most`` bytes, fewer where nothing more comes."""
        while most > 0 and select.select([self.master], [], [], quiet_s)[0]:
            most -= len(os.read(self.master, min(most, 4096)))

    def drain(self) -> None:
        """Read what comes until the process ended, within the time that it has."""
        end = time.monotonic() + _GONE_S
        while self.process.poll() is None and time.monotonic() < end:
            if select.select([self.master], [], [], 0.05)[0]:
                self.seen += os.read(self.master, 4096)
        while select.select([self.master], [], [], 0)[0]:
            self.seen += os.read(self.master, 4096)

    def full(self) -> None:
        """Wait until the terminal holds as much as it takes: what is written after that waits."""
        before, now, end = b"", b"-", time.monotonic() + _START_S
        while before != now and time.monotonic() < end:
            select.select([], [], [], 0.3)  # nothing tells when a writer blocks
            before, now = now, fcntl.ioctl(self.master, termios.FIONREAD, b"....")

    def press(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def close_terminal(self) -> None:
        """Nobody has the terminal any more, but the process."""
        os.close(self.slave)
        os.close(self.master)
        self.master = self.slave = -1

    def stopped(self) -> None:
        """Wait until the process is suspended, and read what it says about that."""
        end, state = time.monotonic() + _GONE_S, b""
        while state != b"T" and time.monotonic() < end:
            self.read_some(4096, quiet_s=0.02)
            state = Path(f"/proc/{self.process.pid}/stat").read_bytes().rpartition(b") ")[2][:1]
        assert state == b"T"

    def gone(self) -> int:
        """Wait for the end; returns the exit code."""
        return self.process.wait(_GONE_S)

    def __enter__(self) -> _Watching:
        return self

    def __exit__(self, *_: object) -> None:
        for end in (self.master, self.slave):
            if end >= 0:
                os.close(end)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    for run in range(4):
        log = tmp_path / f"run{run}" / "log.jsonl"
        log.parent.mkdir()
        tags = ", ".join(f'"train/metric_{i}": {i}.5' for i in range(40))
        log.write_text(
            "".join(f'{{"step": {s}, "loss": {1 / (s + 1)}, {tags}}}\n' for s in range(200))
        )
    return tmp_path


def vanish(
    logdir: Path, phase: str, chance: random.Random, *, controlled: bool
) -> tuple[int, float]:
    """Take the terminal away at a random moment; exit code, and the seconds that it took."""
    with _Watching(logdir, controlled=controlled) as watching:
        if phase == "loading":
            watching.read_until(b"\x1b[?1049h")
            watching.read_some(chance.randint(1, 3000))
        else:
            watching.read_until_shown("loss")
        if phase == "painting":  # more than a terminal that is not read takes
            watching.press(b"".join(chance.choices((b"1", b"2", b"3", b"j", b"\t", b"t"), k=200)))
            watching.read_some(chance.randint(1, 40_000))
        elif phase == "overlay":
            watching.press(b"?")
            watching.read_some(chance.randint(1, 4000))
            watching.press(b"jjjj")
        elif phase == "suspended":
            watching.press(_CTRL_Z)
            watching.stopped()
        watching.close_terminal()
        begin = time.monotonic()
        return watching.gone(), time.monotonic() - begin


@pytest.mark.parametrize("phase", ["loading", "painting", "overlay", "suspended"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_terminal_that_vanishes_ends_the_process(logdir: Path, phase: str, seed: int) -> None:
    code, _ = vanish(logdir, phase, random.Random(f"{phase}{seed}"), controlled=True)
    assert code == 128 + signal.SIGHUP


@pytest.mark.parametrize("phase", ["loading", "painting", "overlay"])
def test_a_terminal_that_vanishes_without_a_signal_is_noticed(logdir: Path, phase: str) -> None:
    code, _ = vanish(logdir, phase, random.Random(phase), controlled=False)
    assert code == 128 + signal.SIGHUP


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_the_terminal_as_it_was(logdir: Path, number: int) -> None:
    with _Watching(logdir) as watching:
        watching.read_until_shown("loss")
        watching.process.send_signal(number)
        watching.drain()
        assert watching.gone() == 128 + number
        assert b"\x1b[?1049l" in watching.seen
        assert termios.tcgetattr(watching.slave) == watching.modes


def test_a_terminal_that_takes_nothing_holds_nobody_up(logdir: Path) -> None:
    """Its modes are put back although the app is stuck: nobody reads what it writes."""
    with _Watching(logdir) as watching:
        watching.read_until_shown("loss")
        watching.press(b"1234\t" * 100)
        watching.full()
        watching.process.send_signal(signal.SIGTERM)
        assert watching.gone() == 128 + signal.SIGTERM
        assert termios.tcgetattr(watching.slave) == watching.modes


def test_a_suspended_process_ends_for_a_signal_and_stays_off_the_screen(logdir: Path) -> None:
    with _Watching(logdir) as watching:
        watching.read_until_shown("loss")
        watching.press(_CTRL_Z)
        watching.stopped()
        watching.seen = b""
        watching.process.send_signal(signal.SIGTERM)
        watching.process.send_signal(signal.SIGCONT)  # what shells do for `kill %1`
        watching.drain()
        assert watching.gone() == 128 + signal.SIGTERM
        assert b"\x1b[?1049h" not in watching.seen


_FAILS_WHILE_LEAVING = """
import os, signal, sys
from rltui.tui.departure import Departure
with Departure(lambda return_code: None) as departure:
    os.kill(os.getpid(), signal.SIGTERM)
    raise OSError("the terminal is gone")
sys.exit(departure.code)
"""


def test_what_fails_while_leaving_is_no_error() -> None:
    command = [sys.executable, "-c", _FAILS_WHILE_LEAVING]
    process = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_START_S, check=False
    )
    assert (process.returncode, process.stderr) == (128 + signal.SIGTERM, b"")


_SAYS_LAST = """
import os, sys
from rltui.tui.departure import Departure, say_last
with Departure(lambda return_code: None) as departure:
    say_last("a verdict\\n")
sys.exit(departure.code)
"""


def test_a_last_word_to_a_pipe_that_nobody_reads_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-c", _SAYS_LAST]
    process = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=writer,
        stderr=subprocess.PIPE,
        timeout=_START_S,
        check=False,
    )
    os.close(writer)
    assert (process.returncode, process.stderr) == (0, b"")
