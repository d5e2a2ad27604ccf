"""Which processes of this user write logs right now: Linux's /proc, else nothing.

Two traces: a file that a process holds open for writing, and the process id in the name of an
event file (``events.out.tfevents.TIME.HOST.PID.N``, tensorboard/summary/writer/
event_file_writer.py), since TensorBoard's writer may close its file after every flush. Of a
command line only the program and the script are taken: arguments may hold secrets.
"""

from __future__ import annotations

import math
import os
import re
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rltui.core.address import is_remote
from rltui.core.text import clean

PROC = Path("/proc")
#: Open files of one process that are examined, and characters of a command.
_MOST_LINKS = 4096
_MOST_COMMAND = 200
_EVENT_PID = re.compile(r".*\.tfevents\.(\d{9,11})\.(.+)\.(\d{1,8})\.\d+(?:\.\w+)?")
#: Clocks of the name (whole seconds, set before the first write) and of the process differ.
_SLACK_S = 5.0
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*w?|ipython\d*")
#: Where the arguments begin in a title, as opposed to a blank in a path.
_ARGUMENT = re.compile(r" +(?=-{1,2}\w|\.{0,2}/)")
#: What stands between a training and its log file.
_PLUMBING = frozenset({"tee", "ts"})
#: Options of the interpreter that take a value.
_VALUED = frozenset({"-X", "-W", "--check-hash-based-pycs"})


@dataclass(frozen=True, slots=True, order=True)
class LogWriter:
    """A process that writes a log."""

    pid: int
    command: str
    """Program and script, cleaned: ``python train.py``, ``python -m verl.trainer.main_ppo``."""


@dataclass(frozen=True, slots=True)
class Process:
    """A process of this user."""

    pid: int
    parent: int
    arguments: tuple[str, ...]
    started: float
    """Seconds since the epoch."""
    executable: str = ""
    """Base name of the program that runs; empty where it cannot be known."""

    @property
    def program(self) -> str:
        """Base name of the program according to its command line."""
        return _base(self.arguments) if self.arguments else ""

    @property
    def python(self) -> bool:
        """Whether an interpreter of Python runs it, under whatever name."""
        return any(map(_PYTHON.fullmatch, (self.executable, self.program)))

    @property
    def writer(self) -> LogWriter:
        """The process as it is shown."""
        return LogWriter(self.pid, command_of(self.arguments))


def command_of(arguments: Sequence[str]) -> str:
    """Program and script of a command line, without the other arguments; cleaned.

    >>> command_of(["/usr/bin/python3", "-u", "train.py", "--token", "x"])
    'python3 train.py'
    """
    if not arguments:
        return ""
    words = [_base(arguments)]
    if _PYTHON.fullmatch(words[0]):
        words += _script(arguments[1:])
    return clean(" ".join(words))[:_MOST_COMMAND]


def _base(arguments: Sequence[str]) -> str:
    path, rest = arguments[0], list(arguments[1:])
    if not rest:
        # A process may have set its title: "ray::main_task.run() /tmp/x" in place of all words.
        path, *rest = _ARGUMENT.split(path, maxsplit=1)
    base = path.rpartition("/")[2]
    is_path = path.startswith(("/", ".")) or _PYTHON.fullmatch(base)
    return base if is_path or " " not in arguments[0] else arguments[0]


def _script(arguments: Sequence[str]) -> list[str]:
    rest = iter(arguments)
    for word in rest:
        if word in _VALUED:
            next(rest, None)
        elif word in ("-m", "-c"):
            return [word, *([next(rest, "")] if word == "-m" else [])]
        elif not word.startswith("-"):
            return [word.rpartition("/")[2]]
    return []


class Processes:
    """The processes of one user, as of now."""

    def __init__(self, user: int, proc: Path = PROC) -> None:
        """Reads only the names in ``proc``; finds nothing where there is no such directory."""
        self._proc = proc
        self._boot = boot_time(proc)
        self._known: dict[int, Process | None] = {}
        found: list[int] = []
        with suppress(OSError), os.scandir(proc) as listing:
            for entry in listing:
                if entry.name.isdigit():
                    with suppress(OSError):
                        if entry.stat().st_uid == user:
                            found.append(int(entry.name))
        self._mine = frozenset(found) - {os.getpid()}
        self.pids = tuple(sorted(self._mine, reverse=True))
        """Of this user, without this process, the youngest (by number) first."""

    def get(self, pid: int) -> Process | None:
        """A process of this user, or None."""
        if pid not in self._known:
            self._known[pid] = self._read(pid) if pid in self._mine else None
        return self._known[pid]

    def _read(self, pid: int) -> Process | None:
        here = self._proc / str(pid)
        try:
            raw = (here / "cmdline").read_bytes()[:65536]
            # The name in parentheses may hold blanks and parentheses; man 5 proc_pid_stat.
            fields = (here / "stat").read_bytes().rpartition(b")")[2].split()
            parent, ticks = int(fields[1]), int(fields[19])
        except (OSError, ValueError, IndexError):
            return None
        words = tuple(os.fsdecode(w) for w in raw.rstrip(b"\0").split(b"\0"))
        began = self._boot + ticks / os.sysconf("SC_CLK_TCK")
        executable = ""
        with suppress(OSError):  # of a process that may not be examined
            executable = (here / "exe").readlink().name.removesuffix(" (deleted)")
        return Process(pid, parent, words, began, executable)

    def working_directories(self) -> Iterator[tuple[Process, Path]]:
        """Of the Python processes."""
        for pid in self.pids:
            process = self.get(pid)
            if process is not None and process.python:
                with suppress(OSError):
                    yield process, (self._proc / str(pid) / "cwd").readlink()

    def written(
        self, named: Callable[[str], bool], stop: Callable[[], bool]
    ) -> dict[Path, Process]:
        """Regular files whose base name ``named`` accepts, open for writing, and by whom.

        Only Python programs, their helpers (of a tracker) and ``tee`` count. One process for
        each file: the program rather than its helper, and the first one rather than workers
        that inherited the file. Ends early when ``stop`` returns True.
        """
        found: dict[Path, dict[int, Process]] = {}
        for pid in self.pids:
            if stop():
                break
            for path in self._files(pid, named):
                process = self.get(pid)
                if process is None:
                    continue
                process = self._responsible(process)
                if process.python or process.program in _PLUMBING:
                    found.setdefault(path, {})[process.pid] = process
        return {path: _first(processes) for path, processes in found.items()}

    def _files(self, pid: int, named: Callable[[str], bool]) -> Iterator[Path]:
        # one that ended, or is of another user, writes nothing that can be seen
        with suppress(OSError):
            for path, status in open_files(self._proc, pid, named):
                if _same(path, status):
                    yield path

    def _responsible(self, process: Process) -> Process:
        """The Python process that started a helper such as wandb's, else the process itself."""
        above: Process | None = process
        for _ in range(3):
            if above is None or above.python:
                break
            above = self.get(above.parent)
        return above if above is not None and above.python else process

    def writer_of(self, event_file: str, host: str) -> Process | None:
        """The process whose id is in an event file's name, if it runs on this ``host``."""
        found = _EVENT_PID.fullmatch(event_file)
        if found is None or found[2] != host:
            return None
        process = self.get(int(found[3]))
        if process is None or process.started > float(found[1]) + _SLACK_S:
            return None  # its id belongs to another process by now
        return process


def _first(processes: Mapping[int, Process]) -> Process:
    able = [p for p in processes.values() if p.python] or list(processes.values())
    return min(able, key=lambda p: (p.parent in processes, p.started, p.pid))


def open_files(
    proc: Path, pid: int, named: Callable[[str], bool]
) -> Iterator[tuple[Path, os.stat_result]]:
    """Files whose base name ``named`` accepts that a process has open for writing, by the names
    that they have for it. Raises OSError where it cannot be looked into."""
    directory = f"{proc}/{pid}/fd"
    numbers = os.listdir(directory)  # noqa: PTH208 - thousands of links
    for number in numbers[:_MOST_LINKS]:
        link = f"{directory}/{number}"
        try:
            target = os.readlink(link)  # noqa: PTH115 - as above
            if target[:1] != "/" or not named(target.rpartition("/")[2]):
                continue
            if _writes(proc, pid, number):
                yield Path(target), os.stat(link)  # noqa: PTH116 - follows a link of /proc
        except (OSError, ValueError):
            continue


class OpenFiles:
    """The files that some process has open for writing, as far as that can be seen.

    All processes are looked through at once, and seldom: where looking takes long, its answer
    holds for longer, but for files that were written since.
    """

    _SHARE = 20.0
    _TICK_S = 0.01
    """Longest tick of the clock by which Linux says when a file was written."""

    def __init__(self, proc: Path = PROC) -> None:
        self._proc = proc
        self._open: frozenset[tuple[int, int]] = frozenset()
        self._until = self._looked = -math.inf

    def has(self, path: Path) -> bool:
        """Whether a process has a file open for writing; False for one elsewhere."""
        if is_remote(path):
            return False
        try:
            status = path.stat()
        except (OSError, ValueError):
            return False
        begin = time.monotonic()
        # not the time of change, which anybody may set
        if begin > self._until or status.st_ctime > self._looked - self._TICK_S:
            self._looked = time.time()
            self._open = frozenset(self._look())
            self._until = begin + self._SHARE * (time.monotonic() - begin)
        return (status.st_dev, status.st_ino) in self._open

    def _look(self) -> Iterator[tuple[int, int]]:
        try:
            names = os.listdir(self._proc)  # noqa: PTH208 - thousands of names
        except OSError:
            return
        for name in filter(str.isdigit, names):
            with suppress(OSError):
                for _, status in open_files(self._proc, int(name), lambda _: True):
                    yield status.st_dev, status.st_ino


def _writes(proc: Path, pid: int, number: str) -> bool:
    text = (proc / str(pid) / "fdinfo" / number).read_text("ascii", "replace")
    found = re.search(r"^flags:\s*([0-7]+)$", text, re.MULTILINE)
    return found is not None and int(found[1], 8) & os.O_ACCMODE != os.O_RDONLY


def _same(path: Path, there: os.stat_result) -> bool:
    """Whether ``path`` is the open file, here too: neither deleted nor of another container."""
    try:
        here = path.stat()
    except (OSError, ValueError):
        return False
    same = (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)
    return same and stat.S_ISREG(here.st_mode)


def boot_time(proc: Path) -> float:
    """When the machine was started, seconds since the epoch; 0 when unknown."""
    with suppress(OSError, ValueError):
        for line in (proc / "stat").read_text("ascii", "replace").splitlines():
            if line.startswith("btime "):
                return float(line.split()[1])
    return 0.0
