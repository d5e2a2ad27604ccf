"""Reads logs on one node. The driver makes it an actor; it knows nothing of Ray.

Every call returns soon, and only one of each method is under way at a time: news that nobody asks
for stay in the bounded queues of the readers, which then wait.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from rltui.core.batch import Batch, RunKey
from rltui.core.errors import RltuiError
from rltui.formats import ALL_FORMATS, Belonging
from rltui.remote.ray.message import (
    Again,
    Chosen,
    Offsets,
    PlaceNews,
    PlaceState,
    Reads,
    Reread,
    Task,
    Turn,
    Turned,
    packed,
)
from rltui.remote.ray.place import Place, expanded, place_at
from rltui.sources.discovery.processes import Process, Processes
from rltui.sources.follow.queued import BatchQueue
from rltui.sources.follow.reader import Reader
from rltui.sources.follow.resume import HandedOver, says_something, without_content
from rltui.sources.follow.schedule import Intervals
from rltui.version import __version__

#: Least seconds from one answer with news to the next one, while more are gathered: a call costs
#: more than what it carries.
_GATHER_S = 0.1
#: Where Ray's workers write what they print.
_SESSION_LOGS = Path("/tmp/ray/session_latest/logs")
_WORKER_LOGS = "worker-"
#: Generations of parents that are searched for a process of Ray.
_DEPTH = 8
#: Bytes of a log per batch, and batches of a place per call: a full queue of a reader and what is
#: on its way stay far below the memory that a node should spare.
_BUDGET_BYTES = 1 << 18
_MOST_BATCHES = 16
#: Why a run cannot be read again now.
JUST_BEGUN = "its reader has just begun"


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


class PlaceReader:
    """Searches and reads in a thread of its own: a place that hangs holds up no other one."""

    def __init__(
        self,
        number: int,
        place: Place,
        offsets: Offsets,
        *,
        reads: Reads,
        task: Task,
        news: threading.Event,
    ) -> None:
        """``offsets``: what was handed over before; ``news`` is set when :meth:`news` has some."""
        self._number = number
        self._place = place
        self._task = task
        self._news = news
        self._sent = PlaceState()
        self._failure = ""
        self._searched = False
        self._done = False
        self._vanished: list[Batch] = []
        self._again: dict[int, Iterator[Batch]] = {}
        self._known = HandedOver(offsets.values())
        asks = reads.chooses and task is not Task.SEARCH
        self._choice = RunChoice(place.prefix, asks=asks, on_news=news.set)
        self._queue = BatchQueue(news.set)
        """What is read once."""
        self._reader = Reader(
            [place.path],
            verify=reads.verify,
            watch=Intervals(reads.fast_s, reads.slow_s, reads.rescan_s),
            choose=self._choice.choose,
            step_keys=reads.step_keys,
            budget_bytes=_BUDGET_BYTES,
            on_batch=news.set,
            ends=reads.ends,
            waits=reads.waits,
            handed_over=self._known,
        )
        self._lock = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="rltui-place", daemon=True)

    def begin(self) -> None:
        """Search, then read."""
        self._thread.start()

    def close(self) -> None:
        """End the threads."""
        with self._lock:
            self._closed = True
        self._choice.close()
        self._queue.close()
        self._reader.stop()

    def choose(self, chosen: Chosen) -> None:
        """Note which runs are to be read."""
        self._choice.take(chosen)

    # -- the thread ---------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self._reader.scan()
            self._searched = True
            self._vanished += self._known.vanished()
            if self._task is Task.FOLLOW:
                with self._lock:  # close() stops it afterwards
                    if not self._closed:
                        self._reader.start()
                return
            if self._task is Task.ONCE and not all(map(self._queue.put, self._reader.read_all())):
                return
        except RltuiError as error:
            self._failure = str(error)
        except Exception as error:  # noqa: BLE001 - of this place; the others go on
            self._failure = f"{type(error).__name__}: {error}"
        self._done = True
        self._news.set()

    # -- news ---------------------------------------------------------------------------------

    def news(self) -> PlaceNews | None:
        """What the driver does not know yet; None for nothing."""
        done = self._done  # before the last batches are looked for
        found = self._batches()
        vanished = self._vanished[:]
        del self._vanished[: len(vanished)]  # the thread may have added some meanwhile
        batches = [*vanished, *filter(says_something, found)]
        state = self._state(ended=(done or bool(self._failure)) and len(found) < _MOST_BATCHES)
        if not batches and state == self._sent:
            return None
        self._sent, before = state, self._sent
        offsets = {
            (b.run.name, b.source.path): without_content(b) for b in batches if not b.sampled
        }
        data = packed(batches) if batches else b""
        said = None if state == before else state
        if self._task is not Task.SEARCH or not state.ended:
            return PlaceNews(self._number, said, data, offsets)
        runs = self._reader.found
        files = (file.path for run in runs for file in run.files)
        unreadable = tuple(p for p in dict.fromkeys(files) if not os.access(p, os.R_OK))
        return PlaceNews(self._number, said, data, offsets, runs, unreadable)

    def _batches(self) -> list[Batch]:
        if self._task is not Task.FOLLOW:
            found = self._queue.drain(_MOST_BATCHES)
        elif self._failure:
            return []
        else:
            try:
                found = self._reader.drain(_MOST_BATCHES)
            except Exception as error:  # noqa: BLE001 - of this place; the others go on
                self._failure = f"{type(error).__name__}: {error}"
                return []
        if len(found) == _MOST_BATCHES:
            self._news.set()  # there may be more, and nothing else would say so
        return found

    def _state(self, *, ended: bool) -> PlaceState:
        reader = self._reader
        found, question = self._choice.state
        return PlaceState(
            progress=reader.progress(),
            runs=found or (),
            notes=reader.state.notes,
            unclaimed=() if self._place.prefix else reader.state.unclaimed,
            failure=self._failure,
            ended=ended,
            searched=found is not None,
            question=question,
        )

    # -- once more ----------------------------------------------------------------------------

    def read_again(self, wanted: Again) -> Reread:
        """The next piece of a run that is read again."""
        if not self._searched:  # it knows no file yet
            return Reread(wanted.id, failure=JUST_BEGUN)
        pieces = self._again.pop(wanted.id, None)
        if pieces is None:
            key = RunKey(0, wanted.run)
            pieces = self._reader.read_again(key, wanted.sources, ())
        if pieces is None:
            return Reread(wanted.id, lost=True)
        batches = list(islice(pieces, _MOST_BATCHES))
        more = len(batches) == _MOST_BATCHES
        if more:
            self._again[wanted.id] = pieces
        return Reread(wanted.id, packed(batches), more)


class RunChoice:
    """Answers the searches of one reader, in its thread, as the session says in another one."""

    def __init__(self, prefix: str, *, asks: bool, on_news: Callable[[], None]) -> None:
        """``prefix``: only runs whose name begins so exist; ``asks``: whether the session is asked
        which of them to read, else all are; ``on_news`` is called when a search has ended."""
        self._prefix = prefix
        self._asks = asks
        self._on_news = on_news
        self._lock = threading.Condition()
        self._chosen: frozenset[str] = frozenset()
        self._closed = False
        self._found: tuple[str, ...] | None = None
        self._question = 0

    @property
    def state(self) -> tuple[tuple[str, ...] | None, int]:
        """Names of the runs of the newest search, None before it; number of the question which of
        them to read that waits for its answer, 0 for none."""
        with self._lock:
            return self._found, self._question

    def choose(self, keys: Collection[RunKey]) -> Collection[RunKey]:
        """Those to read. Waits for the answer if these are others than before."""
        own = [key for key in keys if key.name.startswith(self._prefix)]
        found = tuple(key.name for key in own)
        with self._lock:
            news = found != self._found
            if news and self._asks:
                self._question = time.time_ns()  # not that of a reader that has ended
            self._found = found
        if news:
            self._on_news()
        if not self._asks:
            return own
        with self._lock:
            self._lock.wait_for(lambda: self._closed or not self._question)
            return [key for key in own if key.name in self._chosen]

    def take(self, chosen: Chosen) -> None:
        """Note which runs are to be read."""
        with self._lock:
            self._chosen = frozenset(chosen.runs)
            if chosen.question == self._question:
                self._question = 0
                self._lock.notify_all()

    def close(self) -> None:
        """Whoever waits waits no more."""
        with self._lock:
            self._closed = True
            self._lock.notify_all()
