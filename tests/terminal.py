"""rltui as a process on a pseudo terminal, in the hands of a test."""

from __future__ import annotations

import enum
import errno
import fcntl
import os
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

#: What a machine that does other things may take to start rltui and to show something.
START_S = 60.0
#: A process that leaves has two seconds; the rest is for a machine that does other things too.
GONE_S = 2.0 + 8.0
_PIECE = 1 << 16


class Bond(enum.Enum):
    """How a process is bound to its terminal."""

    CONTROLLED = "controlled"
    """As after a login: the end of the terminal is a SIGHUP."""
    DEAF = "deaf"
    """The same, but SIGHUP is ignored, as below ``nohup``."""
    LOOSE = "loose"
    """It is no controlling terminal: its end is no signal."""


#: Runs ``python ARGUMENTS`` bound to the terminal on standard error.
_BIND = """
import fcntl, os, signal, sys, termios
if sys.argv[1] != "loose":
    fcntl.ioctl(2, termios.TIOCSCTTY, 0)
if sys.argv[1] == "deaf":
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
"""


def environment(home: Path, **more: str) -> dict[str, str]:
    """Ours, without the size of the terminal that pytest announces and without a person's
    settings."""
    private = ("RLTUI_", "XDG_", "COLUMNS", "LINES", "TMUX", "SSH_", "PYTHONDONTWRITE")
    private += ("NO_COLOR", "FORCE_COLOR")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(private)}
    found = {
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "LC_ALL": "C.UTF-8",
        "HOME": str(home),
        "TMPDIR": str(home),
    }
    return {**kept, **found, **more}


class Terminal:
    """``python ARGUMENTS`` on a terminal of its own; to be used with ``with``."""

    def __init__(
        self,
        arguments: Sequence[str],
        environ: Mapping[str, str],
        *,
        size: tuple[int, int] = (160, 45),
        bond: Bond = Bond.CONTROLLED,
        directory: Path | None = None,
        stdin: int | None = None,
    ) -> None:
        """``size`` in columns and lines; ``stdin`` is a descriptor to use in place of the
        terminal."""
        self.master, self.slave = os.openpty()
        self.resize(*size, tell=False)
        self.modes = termios.tcgetattr(self.slave)
        self.seen = bytearray()
        """Everything that was written to the terminal and read here."""
        self.process = subprocess.Popen(
            [sys.executable, "-S", "-c", _BIND, bond.value, *arguments],
            stdin=self.slave if stdin is None else stdin,
            stdout=self.slave,
            stderr=self.slave,
            start_new_session=True,
            env=dict(environ),
            cwd=directory,
        )

    # -- the screen ------------------------------------------------------------------------

    def read(self, most: int = _PIECE, quiet_s: float = 0.3) -> bytes:
        """Read what is written, ``most`` bytes; fewer when nothing more comes for a while."""
        found = bytearray()
        while len(found) < most and select.select([self.master], [], [], quiet_s)[0]:
            piece = self._piece(min(most - len(found), _PIECE))
            if not piece:
                break
            found += piece
        self.seen += found
        return bytes(found)

    def _piece(self, most: int) -> bytes:
        try:
            return os.read(self.master, most)
        except OSError as error:
            if error.errno != errno.EIO:  # else nobody has the other end any more
                raise
            return b""

    def read_until(self, text: bytes) -> None:
        """Read until the process has written ``text``."""
        self.read_while(lambda: text not in self.seen)

    def read_while(self, waiting: Callable[[], bool], seconds: float = START_S) -> None:
        """Read until ``waiting`` returns false; AssertionError when that takes too long."""
        end = time.monotonic() + seconds
        while waiting():
            left = end - time.monotonic()
            if left <= 0 or (not self.read(1, left) and self.process.poll() is not None):
                raise AssertionError(repr(bytes(self.seen[-3000:])))
            self.read(quiet_s=0.0)

    def settle(self, quiet_s: float = 0.5, seconds: float = START_S) -> None:
        """Read until nothing was written for ``quiet_s``."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.read(1, quiet_s):
            self.read(quiet_s=0.0)

    def fill(self) -> None:
        """Wait until the terminal holds as much as it takes: what is written after that waits."""
        before, now, end = b"", b"-", time.monotonic() + START_S
        while before != now and time.monotonic() < end:
            select.select([], [], [], 0.3)  # nothing tells when a writer blocks
            before, now = now, fcntl.ioctl(self.master, termios.FIONREAD, b"....")

    # -- the hand --------------------------------------------------------------------------

    def press(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def resize(self, columns: int, lines: int, *, tell: bool = True) -> None:
        """Change the size of the window; with ``tell`` the process gets its SIGWINCH, also where
        the terminal does not control it."""
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        if tell:
            self.process.send_signal(signal.SIGWINCH)

    def close(self) -> None:
        """Nobody has the terminal any more, but the process."""
        for end in (self.slave, self.master):
            if end >= 0:
                os.close(end)
        self.master = self.slave = -1

    # -- the process -----------------------------------------------------------------------

    def wait_stopped(self) -> None:
        """Wait until the process is suspended, and read what it says about that."""
        end, state = time.monotonic() + GONE_S, b""
        while state != b"T" and time.monotonic() < end:
            self.read(4096, quiet_s=0.02)
            state = Path(f"/proc/{self.process.pid}/stat").read_bytes().rpartition(b") ")[2][:1]
        assert state == b"T"

    def drain(self, seconds: float = GONE_S) -> None:
        """Read what comes until the process ended, within the time that it has."""
        end = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < end:
            self.read(quiet_s=0.05)
        self.read(quiet_s=0.0)

    def wait(self, seconds: float = GONE_S) -> int:
        """Wait for the end; returns the exit code. Raises subprocess.TimeoutExpired."""
        return self.process.wait(seconds)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
