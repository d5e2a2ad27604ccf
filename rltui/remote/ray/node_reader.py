"""Reads logs on one node. The driver makes it an actor; it knows nothing of Ray.

Every call returns soon, and only one is under way at a time: news that nobody asks for stay in
the bounded queues of the readers, which then wait.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from rltui import __version__
from rltui.core.batch import Batch, RunKey
from rltui.core.errors import RltuiError
from rltui.formats import ALL_FORMATS, Belonging
from rltui.remote.ray.message import Offsets, PlaceNews, PlaceState, Reads, Turn, Turned, packed
from rltui.remote.ray.place import Place, expanded, place_at
from rltui.sources.discovery.log_writers import Process, Processes
from rltui.sources.follow.known import Known, says_something, without_content
from rltui.sources.follow.reader import Reader
from rltui.sources.follow.schedule import Intervals

#: Bytes of a log per batch, and batches of a place per call: a full queue of a reader and what is
#: on its way stay far below the memory that a node should spare.
_BUDGET_BYTES = 1 << 18
_MOST_BATCHES = 16
#: Seconds after news for which more are gathered, where the last news came so many seconds ago:
#: a call costs more than what it carries.
_GATHER_S, _BUSY_S = 0.1, 0.5
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
        self._readers: dict[int, _PlaceReader] = {}

    def turn(self, turn: Turn) -> Turned:
        """Begin with new places, then return the news; waits for some if there is time."""
        for number, place, offsets in turn.opens:
            if number in self._readers:  # it failed
                self._readers.pop(number).close()
            opened = _PlaceReader(number, place, offsets, self._reads, self._news)
            opened.begin(once=turn.once)
            self._readers[number] = opened
        places = self._look() if turn.looks else None
        self._news.clear()
        news = self._drain()
        if not (news or turn.looks or turn.opens) and self._news.wait(turn.patience_s):
            if time.monotonic() - self._returned < _BUSY_S:
                time.sleep(_GATHER_S)
            news = self._drain()
        self._returned = time.monotonic()
        return Turned(tuple(news), places, __version__)

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


class _PlaceReader:
    """Reads one place, and remembers what the driver knows of it."""

    def __init__(
        self, number: int, place: Place, offsets: Offsets, reads: Reads, news: threading.Event
    ) -> None:
        self._number = number
        self._prefix = place.prefix
        self._sent = PlaceState()
        self._failure = ""
        self._runs: tuple[str, ...] = ()
        self._ended = False
        self._left: Iterator[Batch] | None = None
        self._vanished: list[Batch] = []
        self._news = news
        self._known = Known(offsets.values())
        self._reader = Reader(
            [place.path],
            verify=reads.verify,
            watch=Intervals(reads.fast_s, reads.slow_s, reads.rescan_s),
            choose=self._choose,
            step_keys=reads.step_keys,
            budget_bytes=_BUDGET_BYTES,
            on_batch=news.set,
            ends=reads.ends,
            waits=reads.waits,
            known=self._known,
        )

    def begin(self, *, once: bool) -> None:
        """Read to the end ``once``, or follow."""
        try:
            self._reader.scan()
            self._vanished = self._known.vanished()
            if once:
                self._left = self._reader.read_all()
            else:
                self._reader.start()
        except RltuiError as error:
            self._failure = str(error)

    def close(self) -> None:
        """Stop the thread."""
        self._reader.stop()

    def _choose(self, keys: Collection[RunKey]) -> Collection[RunKey]:
        chosen = [key for key in keys if key.name.startswith(self._prefix)]
        self._runs = tuple(key.name for key in chosen)
        self._news.set()
        return chosen

    def news(self) -> PlaceNews | None:
        """What the driver does not know yet; None for nothing."""
        batches = [*self._vanished, *filter(says_something, self._batches())]
        self._vanished = []
        state = self._state()
        if not batches and state == self._sent:
            return None
        self._sent, before = state, self._sent
        offsets = {
            (b.run.name, b.source.path): without_content(b) for b in batches if not b.sampled
        }
        data = packed(batches) if batches else b""
        return PlaceNews(self._number, None if state == before else state, data, offsets)

    def _batches(self) -> list[Batch]:
        if self._left is not None:
            found = list(islice(self._left, _MOST_BATCHES))
            if len(found) < _MOST_BATCHES:
                self._left, self._ended = None, True
            else:
                self._news.set()
            return found
        if self._failure:
            return []
        try:
            found = self._reader.drain(_MOST_BATCHES)
        except Exception as error:  # noqa: BLE001 - of this place; the others go on
            self._failure = f"{type(error).__name__}: {error}"
            return []
        if len(found) == _MOST_BATCHES:
            self._news.set()  # there may be more, and nothing else would say so
        return found

    def _state(self) -> PlaceState:
        reader = self._reader
        unclaimed = () if self._prefix else reader.unclaimed
        done = self._ended or bool(self._failure)
        return PlaceState(
            reader.progress(), self._runs, reader.notes, unclaimed, self._failure, done
        )


def _named(number: int, text: str) -> Iterator[Place]:
    """The place of a path, if this node has it."""
    with suppress(OSError):
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
