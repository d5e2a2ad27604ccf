"""Reads logs on one node. The driver makes it an actor; it knows nothing of Ray.

Every call returns soon, and only one of each method is under way at a time: news that nobody asks
for stay in the bounded queues of the readers, which then wait.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from rltui.formats import ALL_FORMATS, Belonging
from rltui.remote.ray.message import Again, Chosen, PlaceNews, Reads, Reread, Turn, Turned
from rltui.remote.ray.place import JUST_BEGUN, Place, PlaceReader, expanded, place_at
from rltui.sources.discovery.processes import Process, Processes
from rltui.version import __version__

#: Least seconds from one answer with news to the next one, while more are gathered: a call costs
#: more than what it carries.
_GATHER_S = 0.1
#: Where Ray's workers write what they print.
_SESSION_LOGS = Path("/tmp/ray/session_latest/logs")
_WORKER_LOGS = "worker-"
#: Generations of parents that are searched for a process of Ray.
_DEPTH = 8


class NodeReader:
    """Lives in a process of its own on the node."""

    def __init__(self, reads: Reads) -> None:
        self._reads = reads
        self._news = threading.Event()
        self._returned = 0.0
        self._readers: dict[int, PlaceReader] = {}

    def turn(self, turn: Turn) -> Turned:
        """Begin with new places, then return the news; waits for some if there is time."""
        begun = time.time()
        for number, place, offsets in turn.opens:
            if number in self._readers:  # it failed
                self._readers.pop(number).close()
            opened = PlaceReader(
                *(number, place, offsets), reads=self._reads, task=turn.task, news=self._news
            )
            self._readers[number] = opened
            opened.begin()
        places = self._look() if turn.looks else None
        self._news.clear()
        news = self._drain()
        if not (news or turn.looks or turn.opens) and self._news.wait(turn.patience_s):
            time.sleep(max(0.0, self._returned + _GATHER_S - time.monotonic()))
            news = self._drain()
        self._returned = time.monotonic()
        return Turned(tuple(news), places, __version__, (begun, time.time()), _resident())

    def aside(self, errand: Chosen | Again) -> Reread | None:
        """Do something else, while a turn waits for news."""
        reader = self._readers.get(errand.place)
        if isinstance(errand, Chosen):
            if reader is not None:
                reader.choose(errand)
            return None
        if reader is None:
            return Reread(errand.id, failure=JUST_BEGUN)
        return reader.read_again(errand)

    def close(self) -> None:
        """Stop reading, where the process goes on."""
        for reader in self._readers.values():
            reader.close()

    def _drain(self) -> list[PlaceNews]:
        found = [reader.news() for reader in self._readers.values()]
        return [news for news in found if news is not None]

    def _look(self) -> tuple[Place, ...]:
        found: dict[tuple[int, str, str], Place] = {}
        for number, text in enumerate(self._reads.logdirs):
            for place in _named(number, text) if text else _written(number):
                found.setdefault(place.key, place)
        return tuple(found.values())


def _resident() -> int:
    """Bytes of this process in memory; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _named(number: int, text: str) -> Iterator[Place]:
    """The place of a path, if this node has it."""
    with suppress(OSError, RuntimeError):  # no such user, or links that lead round in circles
        yield place_at(number, expanded(text))


def _written(number: int) -> Iterator[Place]:
    """What Ray's workers print and hold open for writing on this node."""
    logs = _session_logs()
    with suppress(OSError):
        yield place_at(number, logs, prefix=_WORKER_LOGS)
    for path in _held_open():
        if path.parent == logs:
            continue
        whole = any(
            f.claims_name(path.name) and f.belonging(path.name) is Belonging.DIRECTORY
            for f in ALL_FORMATS
        )
        home = path.parent if whole else path
        inside = str(path.parent).lstrip("/")
        with suppress(OSError):
            yield place_at(number, home, inside)


def _session_logs() -> Path:
    """Where Ray redirects the output of this process, too."""
    try:
        found = Path("/proc/self/fd/1").readlink()
    except OSError:
        return _SESSION_LOGS
    return found.parent if found.name.startswith(_WORKER_LOGS) else _SESSION_LOGS.resolve()


def _held_open() -> list[Path]:
    """Logs that processes of Ray on this node hold open for writing."""
    processes = Processes(os.getuid())
    found = processes.written(_may_be_log, lambda: False)
    return sorted(path for path, process in found.items() if _is_of_ray(process, processes))


def _may_be_log(name: str) -> bool:
    return any(f.claims_name(name) for f in ALL_FORMATS)


def _is_of_ray(process: Process | None, processes: Processes) -> bool:
    for _ in range(_DEPTH):
        if process is None:
            return False
        title = process.arguments[0] if process.arguments else ""
        if title.startswith("ray::") or title.rpartition("/")[2] == "raylet":
            return True
        process = processes.get(process.parent)
    return False
