"""Which processes write logs right now, and who still has a log open: Linux's /proc, else nothing.

Two traces: a file that a process holds open for writing, and the process id in the name of an
event file (``events.out.tfevents.TIME.HOST.PID.N``, tensorboard/summary/writer/
event_file_writer.py), since TensorBoard's writer may close its file after every flush. Of a
command line only the program and the script are taken: arguments may hold secrets.

That no process has a log open means something only if every process that may have written it can be
looked into: the file lies on a disk of this machine, no process namespace hides anybody, and the
owner of the file is who looks (or root looks). It shows that the writer is gone only where the
writer is known to keep its file open and to run on this host, or where no process is left that
could be a writer which opens its file for each row, see :attr:`FileHold.tells`.
"""

from __future__ import annotations

import math
import os
import re
import socket
import stat
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from rltui.core.address import PIPE, is_remote
from rltui.core.text import Names, clean
from rltui.files.disk import Mounts, file_id
from rltui.formats import ALL_FORMATS
from rltui.formats.json_value import parsed

PROC = Path("/proc")
#: Number of the first namespace of processes of a machine (linux/proc_ns.h, PROC_PID_INIT_INO).
_WHOLE_MACHINE = "pid:[4026531836]"
#: Open files of one process that are examined, and characters of a command.
_MOST_LINKS = 4096
_MOST_COMMAND = 200
#: TIME.HOST of all event files, .PID.N of TensorBoard's own writers, a suffix.
_EVENT_NAME = re.compile(
    r".*\.tfevents\.(?P<time>\d{9,11})"
    r"\.(?:(?P<host>.+)\.(?P<pid>\d{1,8})\.\d+(?:\.\w+)?|(?P<host_alone>.+))"
)
#: Clocks of the name (whole seconds, set before the first write) and of the process differ.
_SLACK_S = 5.0
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*w?|ipython\d*")
#: Where the arguments begin in a title, as opposed to a blank in a path.
_ARGUMENT = re.compile(r" +(?=-{1,2}\w|\.{0,2}/)")
#: What stands between a training and its log file.
_PLUMBING = frozenset({"tee", "ts"})
#: Options of the interpreter that take a value.
_VALUED = frozenset({"-X", "-W", "--check-hash-based-pycs"})
#: Where trackers say on which host a run was written (wandb/sdk, swanlab/data): file, key.
_METADATA = (("wandb-metadata.json", "host"), ("swanlab-metadata.json", "hostname"))
_MAX_METADATA = 1 << 18
_KEPT_OPEN = frozenset(f.name for f in ALL_FORMATS if f.kept_open)
#: Devices of accelerators that a training has open: CUDA, ROCm, Ascend, TPU.
_ACCELERATORS = re.compile(r"/dev/(?:nvidia\d|kfd$|davinci\d|accel)")


@dataclass(frozen=True, slots=True, order=True)
class LogWriter:
    """A process that writes a log."""

    pid: int
    command: str
    """Program and script, cleaned: ``python train.py``, ``python -m verl.trainer.main_ppo``."""


class Process(NamedTuple):
    """A process of this user."""

    pid: int
    parent: int
    arguments: Names
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
    rest = iter(arguments[1:] if _PYTHON.fullmatch(words[0]) else ())
    for word in rest:
        if word in _VALUED:
            next(rest, None)
        elif word in ("-m", "-c"):
            words += [word, next(rest, "")] if word == "-m" else [word]
            break
        elif not word.startswith("-"):
            words.append(word.rpartition("/")[2])
            break

    return clean(" ".join(words))[:_MOST_COMMAND]


def _base(arguments: Sequence[str]) -> str:
    path, rest = arguments[0], list(arguments[1:])
    if not rest:
        # A process may have set its title: "ray::main_task.run() /tmp/x" in place of all words.
        path, *rest = _ARGUMENT.split(path, maxsplit=1)

    base = path.rpartition("/")[2]
    is_path = path.startswith(("/", ".")) or _PYTHON.fullmatch(base)

    return base if is_path or " " not in arguments[0] else arguments[0]


class Processes:
    """The processes of one user, as of now."""

    def __init__(self, user: int, proc: Path = PROC) -> None:
        """Reads only the names in ``proc``; finds nothing where there is no such directory."""
        self._proc = proc
        self._boot = _boot_time(proc)
        self._known: dict[int, Process | None] = {}
        found: list[int] = []
        for pid in _pids(proc):
            with suppress(OSError):
                if os.stat(f"{proc}/{pid}").st_uid == user:  # noqa: PTH116 - thousands of them
                    found.append(pid)

        self._mine = frozenset(found) - {os.getpid()}
        self.pids = tuple(sorted(self._mine, reverse=True))
        """Processes of this user, without this one, the youngest (by number) first."""

    def get(self, pid: int) -> Process | None:
        """A process of this user, or None."""
        if pid in self._known or pid not in self._mine:
            return self._known.get(pid)

        here, found = self._proc / str(pid), _stat_of(self._proc, pid, self._boot)
        process, executable = None, ""
        with suppress(OSError):  # of a process that may not be examined
            executable = (here / "exe").readlink().name.removesuffix(" (deleted)")

        with suppress(OSError):
            raw = (here / "cmdline").read_bytes()[:65536]
            words = tuple(os.fsdecode(w) for w in raw.rstrip(b"\0").split(b"\0"))
            if found is not None:
                process = Process(pid, found.parent, words, found.started, executable)
        self._known[pid] = process

        return process

    def working_directories(self) -> Iterator[tuple[Process, Path]]:
        """Yield each Python process and its working directory."""
        for pid in self.pids:
            process = self.get(pid)
            if process is not None and process.python:
                with suppress(OSError):
                    yield process, (self._proc / str(pid) / "cwd").readlink()

    def opened(self, pid: int) -> list[Path]:
        """The files that a process has open for writing; none where that cannot be seen."""
        with suppress(OSError):
            return [path for path, _ in open_files(self._proc, pid, lambda _: True)]
        return []

    def with_parents(self, process: Process) -> Iterator[int]:
        """A process, its parent, and so on, as far as they are of this user."""
        above: Process | None = process
        while above is not None:
            yield above.pid
            above = self.get(above.parent)

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
            for path in _written_by(self._proc, pid, named):
                # the Python process that started a helper such as wandb's stands for it
                process = above = self.get(pid)
                for _ in range(3):
                    if above is not None and not above.python:
                        above = self.get(above.parent)
                process = above if above is not None and above.python else process
                if process and (process.python or process.program in _PLUMBING):
                    found.setdefault(path, {})[process.pid] = process

        first = {}
        for path, candidates in found.items():
            able = [p for p in candidates.values() if p.python] or list(candidates.values())
            first[path] = min(able, key=lambda p: (p.parent in candidates, p.started, p.pid))

        return first

    def writer_of(self, event_file: str) -> Process | None:
        """The process whose id is in an event file's name, if it runs on this host."""
        found = _EVENT_NAME.fullmatch(event_file)
        if found is None or found["host"] != socket.gethostname():
            return None

        process = self.get(int(found["pid"]))
        if process is None or process.started > float(found["time"]) + _SLACK_S:
            return None  # its id belongs to another process by now

        return process


class _Stat(NamedTuple):
    """The ``stat`` of a process; ``started`` in seconds since the epoch."""

    state: bytes
    parent: int
    started: float


def _stat_of(proc: Path, pid: int, boot: float) -> _Stat | None:
    try:
        # The name in parentheses may hold blanks and parentheses; man 5 proc_pid_stat.
        fields = (proc / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
        started = boot + int(fields[19]) / os.sysconf("SC_CLK_TCK")
        return _Stat(fields[0], int(fields[1]), started)
    except (OSError, ValueError, IndexError):
        return None


def _boot_time(proc: Path) -> float:
    """When the machine was started, seconds since the epoch; 0 when unknown."""
    with suppress(OSError, ValueError):
        for line in (proc / "stat").read_text("ascii", "replace").splitlines():
            if line.startswith("btime "):
                return float(line.split()[1])
    return 0.0


def _pids(proc: Path) -> list[int]:
    try:
        names = os.listdir(proc)  # noqa: PTH208 - thousands of names
    except OSError:
        names = []
    return [int(name) for name in names if name.isdigit()]


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
            text = (proc / str(pid) / "fdinfo" / number).read_text("ascii", "replace")
            found = re.search(r"^flags:\s*([0-7]+)$", text, re.MULTILINE)
            if found is not None and int(found[1], 8) & os.O_ACCMODE != os.O_RDONLY:
                yield Path(target), os.stat(link)  # noqa: PTH116 - follows a link of /proc
        except (OSError, ValueError):
            continue


def _written_by(proc: Path, pid: int, named: Callable[[str], bool]) -> Iterator[Path]:
    """Regular files that a process has open for writing, if they have their names here, too:
    neither deleted nor of another container."""
    # a process that ended, or is of another user, writes nothing that can be seen
    with suppress(OSError):
        for path, there in open_files(proc, pid, named):
            with suppress(OSError, ValueError):
                if file_id(path.stat()) == file_id(there) and stat.S_ISREG(there.st_mode):
                    yield path


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
            found: set[tuple[int, int]] = set()
            for pid in _pids(self._proc):
                with suppress(OSError):
                    opened = open_files(self._proc, pid, lambda _: True)
                    found.update(file_id(status) for _, status in opened)
            self._open = frozenset(found)
            self._until = begin + self._SHARE * (time.monotonic() - begin)

        return file_id(status) in self._open


# -- who holds a log ---------------------------------------------------------------------------


class FileHold(NamedTuple):
    """Whether a file is held open."""

    held: bool | None
    """Whether a process has it open for writing; None where that cannot be seen."""
    tells: bool
    """Whether its writer is gone if nobody has it open: it runs on this host and keeps its file
    open, or no process of this host could be the writer."""


def look(files: Mapping[Path, str], proc: Path = PROC) -> dict[Path, FileHold]:
    """Who holds the files (path -> name of the format), by one look at all processes. Nothing is
    said of a file elsewhere, on a network file system, or where there is no /proc."""
    found = _visible(files, proc) if (proc / "self" / "fd").exists() else {}
    if not found:
        return {}

    names, ids = {path.name for path in found}, {file_id(s): path for path, s in found.items()}
    held: set[Path] = set()
    hidden: set[int] = set()
    boot = _boot_time(proc)
    for pid in _pids(proc):
        opened = _opened(proc, pid, names)
        if opened is not None:
            held.update(ids[one] for one in opened if one in ids)
        elif _started_at(proc, pid, boot) is not None:
            hidden.update(_numbers(proc, pid, "Uid"))

    unheld = _Unheld(proc, boot, hidden)

    return {
        path: FileHold(True, True) if path in held else unheld.hold(path, status, files[path])
        for path, status in found.items()
    }


def _opened(proc: Path, pid: int, names: Container[str]) -> list[tuple[int, int]] | None:
    """The files of some names that a process has open for writing; None where it may not be looked
    into."""
    try:
        return [file_id(s) for _, s in open_files(proc, pid, names.__contains__)]
    except PermissionError:
        return None
    except OSError:
        return []  # it has ended meanwhile


def _visible(files: Iterable[Path], proc: Path) -> dict[Path, os.stat_result]:
    """The files whose writers would be seen. A container sees its own processes, and those alone
    write what lies in its own layer, not what is mounted into it."""
    mounts, found = Mounts(proc / "self" / "mountinfo"), {}
    try:
        whole_machine = str((proc / "self/ns/pid").readlink()) == _WHOLE_MACHINE
    except OSError:
        whole_machine = False

    for path in files:
        if path == PIPE or is_remote(path) or not mounts.reports_writes(path.parent):
            continue
        if whole_machine or mounts.mount_of(path.parent) == ("/", "overlay"):
            with suppress(OSError, ValueError):
                found[path] = path.stat()

    return found


class _Unheld:
    """Judges what it means that no process has a file open."""

    def __init__(self, proc: Path, boot: float, hidden: Container[int]) -> None:
        """``hidden``: users of whom some process cannot be looked into."""
        self._proc = proc
        self._boot = boot
        self._hidden = hidden
        self._host = socket.gethostname()
        self._possible: dict[int, list[_Possible]] = {}
        """The processes of a user that may write logs."""
        self._started: dict[int, float] | None = None
        """When the first process of an id was started, in whatever namespace it has that id."""

    def hold(self, path: Path, status: os.stat_result, kind: str) -> FileHold:
        """The answer for a file of a format."""
        if os.geteuid() not in (0, status.st_uid) or status.st_uid in self._hidden:
            return FileHold(None, False)

        named = _EVENT_NAME.fullmatch(path.name)
        keeps_open = kind in _KEPT_OPEN
        host = _host_in_metadata(path) if named is None and keeps_open else None
        if named is not None:
            host = named["host"] or named["host_alone"]
        if host is None and named is None:
            return FileHold(False, not self._could_be_written(path, status))
        if host != self._host:
            return FileHold(False, False)
        if named is None or named["pid"] is None:
            return FileHold(False, keeps_open)

        # TensorBoard's writer may close its file after every flush: its process tells more, which
        # has this id in some namespace, and was there when the file was begun
        if self._started is None:
            self._started = {}
            for number in _pids(self._proc):
                if (started := _started_at(self._proc, number, self._boot)) is None:
                    continue
                for known in (number, *_numbers(self._proc, number, "NSpid")):
                    self._started[known] = min(started, self._started.get(known, math.inf))

        began = self._started.get(int(named["pid"]), math.inf)
        return FileHold(began <= float(named["time"]) + _SLACK_S, True)

    def _could_be_written(self, path: Path, status: os.stat_result) -> bool:
        """Whether some process may be the writer of a file: one that was there before its newest
        write, and has an accelerator, or is at work in the file's directory. What writes a copy
        is elsewhere."""
        written = status.st_mtime + _SLACK_S
        if status.st_ctime > written:  # it was set, as programs that copy files do
            return True
        if status.st_uid not in self._possible:
            # the Python processes of the user, but for rltui itself
            processes = Processes(status.st_uid, self._proc)
            places: dict[int, list[Path]] = {}
            computing: set[int] = set()
            for process, home in processes.working_directories():
                if "rltui" not in command_of(process.arguments).split():
                    opened = processes.opened(process.pid)
                    places[process.pid] = [home, *opened]
                    if any(_ACCELERATORS.match(str(path)) for path in opened):
                        computing.update(processes.with_parents(process))
            known = ((pid, processes.get(pid)) for pid in places)
            self._possible[status.st_uid] = [
                _Possible(p.started, places[pid], pid in computing) for pid, p in known if p
            ]
        directory = path.parent.resolve()

        return any(
            possible.started <= written and possible.works_in(directory)
            for possible in self._possible[status.st_uid]
        )


class _Possible(NamedTuple):
    """A process that may write logs."""

    started: float
    places: Sequence[Path]
    """Its working directory and the files it has open."""
    has_accelerator: bool

    def works_in(self, directory: Path) -> bool:
        """Whether it may write logs there."""
        return self.has_accelerator or any(
            directory in (place, *place.parents) for place in self.places
        )


def _started_at(proc: Path, pid: int, boot: float) -> float | None:
    """When a process was started; None for one that has ended, if only its parent has not taken
    note of that."""
    found = _stat_of(proc, pid, boot)
    return None if found is None or found.state in (b"Z", b"X") else found.started


def _numbers(proc: Path, pid: int, name: str) -> Iterable[int]:
    """The numbers in one line of the status of a process."""
    try:
        status = (proc / str(pid) / "status").read_text("ascii", "replace")
    except OSError:
        return ()
    found = re.search(rf"^{name}:([\s\d]+)$", status, re.MULTILINE)
    return map(int, found[1].split()) if found else ()


def _host_in_metadata(path: Path) -> str | None:
    for name, key in _METADATA:
        metadata = path.parent / "files" / name
        with suppress(OSError, ValueError):
            if metadata.stat().st_size <= _MAX_METADATA:
                document = parsed(metadata.read_bytes())
                inner = document.get("runtime") if isinstance(document, dict) else None
                document = inner or document  # newer ones of swanlab
                host = document.get(key) if isinstance(document, dict) else None
                return host if isinstance(host, str) else None
    return None
