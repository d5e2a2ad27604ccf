"""Whether a process still has a log open, where that can be told: Linux's /proc, else nothing.

That no process has it open means something only if every process that may have written it can be
looked into: the file lies on a disk of this machine, no process namespace hides anybody, and the
owner of the file is who looks (or root looks). It shows that the writer is gone only where the
writer is known to keep its file open and to run on this host, see :attr:`Hold.tells`.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rltui.core.address import PIPE, is_remote
from rltui.files.filesystem import Mounts
from rltui.formats import ALL_FORMATS
from rltui.formats.json_value import parsed
from rltui.sources.discovery.log_writers import PROC, boot_time, open_files

#: Number of the first namespace of processes of a machine (linux/proc_ns.h, PROC_PID_INIT_INO).
_WHOLE_MACHINE = "pid:[4026531836]"
#: TIME.HOST of all event files, .PID.N of TensorBoard's own writers, a suffix.
_EVENT_NAME = re.compile(r".*\.tfevents\.(\d{9,11})\.(.+?)(?:\.(\d{1,8})\.\d+(?:\.\w+)?)?")
#: Clocks of the name (whole seconds, set before the first write) and of the process differ.
_SLACK_S = 5.0
#: Where trackers say on which host a run was written (wandb/sdk, swanlab/data): file, key.
_METADATA = (("wandb-metadata.json", "host"), ("swanlab-metadata.json", "hostname"))
_MAX_METADATA = 1 << 18
_KEPT_OPEN = frozenset(f.name for f in ALL_FORMATS if f.kept_open)


@dataclass(frozen=True, slots=True)
class Hold:
    """What one look shows of a file."""

    held: bool | None
    """Whether a process has it open for writing; None where that cannot be seen."""
    tells: bool
    """Whether its writer runs on this host and would have it open, so that it is gone if nobody
    has."""


@dataclass(frozen=True, slots=True)
class _Process:
    """A process, as far as it can be looked into."""

    users: frozenset[int]
    pids: frozenset[int]
    """Its ids, one for each namespace that it is in."""
    started: float


def look(files: Mapping[Path, str], proc: Path = PROC) -> dict[Path, Hold]:
    """Who holds the files (path -> name of the format), by one look at all processes. Nothing is
    said of a file elsewhere, on a network file system, or where there is no /proc."""
    if not (proc / "self" / "fd").exists():
        return {}
    mounts, seen = Mounts(proc / "self" / "mountinfo"), _Visible(proc)
    found: dict[Path, os.stat_result] = {}
    for path in files:
        if path != PIPE and not is_remote(path) and seen.shows(mounts, path):
            try:
                found[path] = path.stat()
            except (OSError, ValueError):
                continue
    if not found:
        return {}
    held = seen.held(found)
    host = socket.gethostname()
    return {p: seen.hold(p, s, held, _writer_of(p, files[p]), host) for p, s in found.items()}


@dataclass(frozen=True, slots=True)
class _Writer:
    """Who wrote a file, by what is written about it."""

    keeps_open: bool
    host: str | None = None
    pid: int | None = None
    begun: float = 0.0


def _writer_of(path: Path, kind: str) -> _Writer:
    named = _EVENT_NAME.fullmatch(path.name)
    keeps_open = kind in _KEPT_OPEN
    if named is not None:
        pid = int(named[3]) if named[3] else None
        return _Writer(keeps_open, named[2], pid, float(named[1]))
    return _Writer(keeps_open, _host_in_metadata(path) if keeps_open else None)


def _host_in_metadata(path: Path) -> str | None:
    for name, key in _METADATA:
        metadata = path.parent / "files" / name
        try:
            if metadata.stat().st_size <= _MAX_METADATA:
                document = parsed(metadata.read_bytes())
                host = document.get(key) if isinstance(document, dict) else None
                return host if isinstance(host, str) else None
        except (OSError, ValueError):
            continue
    return None


class _Visible:
    """The processes that can be seen from here."""

    def __init__(self, proc: Path) -> None:
        self._proc = proc
        self._me = os.geteuid()
        self._boot = boot_time(proc)
        self._hidden: set[int] = set()
        """Users of whom some process cannot be looked into."""
        self._processes: list[_Process] | None = None
        try:
            self._whole_machine = str((proc / "self/ns/pid").readlink()) == _WHOLE_MACHINE
        except OSError:
            self._whole_machine = False

    def shows(self, mounts: Mounts, path: Path) -> bool:
        """Whether whoever writes a file would be seen. A container sees its own processes, and
        those alone write what lies in its own layer, not what is mounted into it."""
        if not mounts.reports_writes(path.parent):
            return False
        return self._whole_machine or mounts.mount_of(path.parent) == ("/", "overlay")

    def held(self, files: Mapping[Path, os.stat_result]) -> set[Path]:
        """Those of the files that a process has open for writing."""
        names = {path.name for path in files}
        by_id = {(s.st_dev, s.st_ino): path for path, s in files.items()}
        held = {by_id.get(opened) for pid in self._pids() for opened in self._opened(pid, names)}
        return {path for path in held if path is not None}

    def _opened(self, pid: int, names: set[str]) -> list[tuple[int, int]]:
        """Device and number of the files of some names that a process has open for writing."""
        try:
            found = open_files(self._proc, pid, names.__contains__)
            return [(status.st_dev, status.st_ino) for _, status in found]
        except PermissionError:
            process = self._read(pid)
            self._hidden |= process.users if process is not None else set()
        except OSError:
            pass  # it has ended meanwhile
        return []

    def hold(
        self, path: Path, status: os.stat_result, held: set[Path], writer: _Writer, host: str
    ) -> Hold:
        """What the look shows of one file."""
        if path in held:
            return Hold(True, True)
        if self._me not in (0, status.st_uid) or status.st_uid in self._hidden:
            return Hold(None, False)
        if writer.host != host:
            return Hold(False, False)
        if writer.pid is None:
            return Hold(False, writer.keeps_open)
        # TensorBoard's writer may close its file after every flush: its process tells more
        return Hold(self._lives(writer.pid, writer.begun), True)

    def _lives(self, pid: int, begun: float) -> bool:
        """Whether a process of this id, in whatever namespace, was there when a file was begun."""
        if self._processes is None:
            found = (self._read(number) for number in self._pids())
            self._processes = [p for p in found if p is not None]
        return any(pid in p.pids and p.started <= begun + _SLACK_S for p in self._processes)

    def _pids(self) -> Iterator[int]:
        try:
            names = os.listdir(self._proc)  # noqa: PTH208 - thousands of names
        except OSError:
            names = []
        return (int(name) for name in names if name.isdigit())

    def _read(self, pid: int) -> _Process | None:
        """None for a process that has ended, if only its parent has not taken note of that."""
        here = self._proc / str(pid)
        try:
            fields = (here / "stat").read_bytes().rpartition(b")")[2].split()
            status = (here / "status").read_text("ascii", "replace")
            state, ticks = fields[0], int(fields[19])
        except (OSError, ValueError, IndexError):
            return None
        if state in (b"Z", b"X"):
            return None
        started = self._boot + ticks / os.sysconf("SC_CLK_TCK")
        pids = frozenset({pid, *_numbers(status, "NSpid")})
        return _Process(frozenset(_numbers(status, "Uid")), pids, started)


def _numbers(status: str, name: str) -> Iterable[int]:
    found = re.search(rf"^{name}:([\s\d]+)$", status, re.MULTILINE)
    return map(int, found[1].split()) if found else ()
