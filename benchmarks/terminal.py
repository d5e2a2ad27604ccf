"""A program in a pseudo terminal: its screen as text, and how many bytes it wrote."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.readers import memory, process_time

_SEQUENCE = re.compile(
    r"\x1b(?:\[([0-9;:<=>?]*)[ -/]*([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)"
    r"|P[^\x1b]*\x1b\\|[ -/]*[0-~])"
)
#: Names the checkout whose program runs, where that is not this one.
TREE = "BENCHMARKS_TREE"
_UNFINISHED = re.compile(r"\x1b(?:\[[0-9;:<=>?]*[ -/]*|[\]P][^\x07\x1b]*\x1b?|[ -/]*)?$")


class Screen:
    """The characters on a terminal; knows moving, writing and erasing, and no colours."""

    def __init__(self, rows: int, columns: int) -> None:
        self._rows, self._columns = rows, columns
        self._cells = [[" "] * columns for _ in range(rows)]
        self._row = self._column = 0
        self._rest = ""

    def feed(self, text: str) -> None:
        """Take what a program wrote, in pieces of any size."""
        text = self._rest + text
        torn = _UNFINISHED.search(text)
        self._rest = text[torn.start() :] if torn else ""
        text = text[: torn.start()] if torn else text
        pos = 0
        for found in _SEQUENCE.finditer(text):
            self._write(text[pos : found.start()])
            if found.group(2):
                self._control(found.group(1), found.group(2))
            pos = found.end()
        self._write(text[pos:])

    @property
    def text(self) -> str:
        """The screen, line by line."""
        return "\n".join("".join(row).rstrip() for row in self._cells)

    def _write(self, text: str) -> None:
        for char in text:
            if char == "\r":
                self._column = 0
            elif char == "\n":
                self._row = min(self._row + 1, self._rows - 1)
            elif char == "\b":
                self._column = max(0, self._column - 1)
            elif char >= " ":
                if self._column < self._columns:
                    self._cells[self._row][self._column] = char
                self._column += 1

    def _control(self, arguments: str, final: str) -> None:
        if arguments[:1] in tuple("<=>?"):
            return
        numbers = [int(n) if n.isdigit() else 0 for n in arguments.split(";")]
        count = max(1, numbers[0])
        if final in "Hf":
            column = numbers[1] if len(numbers) > 1 else 1
            self._row = min(count, self._rows) - 1
            self._column = min(max(1, column), self._columns) - 1
        elif final == "A":
            self._row = max(0, self._row - count)
        elif final == "B":
            self._row = min(self._rows - 1, self._row + count)
        elif final == "C":
            self._column = min(self._columns - 1, self._column + count)
        elif final == "D":
            self._column = max(0, self._column - count)
        elif final == "G":
            self._column = min(count, self._columns) - 1
        elif final == "J" and numbers[0] in (2, 3):
            self._cells = [[" "] * self._columns for _ in range(self._rows)]
        elif final == "K":
            for column in range(self._column if numbers[0] == 0 else 0, self._columns):
                self._cells[self._row][column] = " "


class Program:
    """A program that runs in a terminal of its own; to be used with ``with``."""

    def __init__(self, command: Sequence[str], environment: dict[str, str], rows: int = 45) -> None:
        self.screen = Screen(rows, 160)
        self.written = 0
        """Bytes that it wrote to the terminal."""
        self.cpu_at_write = 0.0
        """CPU seconds when its newest bytes arrived: what it does while they are read is not in."""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.started = time.perf_counter()
        environment = {**environment, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        self.process, self._master = pty.fork()
        if not self.process:
            try:
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 160, 0, 0))
                os.execvpe(command[0], list(command), environment)
            finally:
                os._exit(127)
        os.set_blocking(self._master, False)

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self._master)

    def pump(self, seconds: float) -> bool:
        """Take what it writes, waiting at most so long; whether anything came."""
        if not select.select([self._master], [], [], max(0.0, seconds))[0]:
            return False
        try:
            data = os.read(self._master, 1 << 16)
        except OSError:
            raise RuntimeError(f"the program ended:\n{self.screen.text}") from None
        self.cpu_at_write = self.cpu
        self.written += len(data)
        self.screen.feed(self._decoder.decode(data))
        return True

    def run(self, seconds: float) -> None:
        """Let it go on for so long."""
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            self.pump(left)

    def until(self, reached: Callable[[str], object], seconds: float = 60.0) -> float:
        """Seconds until the screen fulfils ``reached``. Raises TimeoutError."""
        began = time.perf_counter()
        while not reached(self.screen.text):
            left = began + seconds - time.perf_counter()
            if left <= 0:
                raise TimeoutError(f"not within {seconds} s:\n{self.screen.text}")
            self.pump(left)
        return time.perf_counter() - began

    def settle(self, quiet: float = 0.5, seconds: float = 60.0) -> None:
        """Wait until nothing was written for so long, at most ``seconds``."""
        end = time.perf_counter() + seconds
        while self.pump(quiet) and time.perf_counter() < end:
            pass

    def rest(self, share: float = 0.05, seconds: float = 240.0) -> None:
        """Wait until it takes less than a share of a core for three seconds on end.

        A program that reads a thousand runs may write nothing for a while: the screen does not
        show that it is done.
        """
        end = time.perf_counter() + seconds
        calm = 0
        while calm < 3 and time.perf_counter() < end:
            before = self.cpu
            self.run(1.0)
            calm = calm + 1 if self.cpu - before < share else 0

    def send(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self._master, keys)

    @property
    def cpu(self) -> float:
        """CPU seconds so far."""
        return process_time(self.process)

    @property
    def memory(self) -> float:
        """Resident MiB."""
        return memory("VmRSS", self.process)


def quiet_home(directory: Path) -> dict[str, str]:
    """An environment without the settings of the person who measures."""
    home = directory / "home"
    home.mkdir(parents=True, exist_ok=True)
    private = ("RLTUI_", "XDG_", "PYTHON", "OPENBLAS_")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(private)}
    root = os.environ.get(TREE, str(Path(__file__).resolve().parent.parent))
    # an installed program has its byte code beside it: nobody compiles at every start
    pycache = os.environ.get("PYTHONPYCACHEPREFIX", str(home / "pycache"))
    found = {"HOME": str(home), "PYTHONPATH": root, "PYTHONPYCACHEPREFIX": pycache}
    return {**kept, **found, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
