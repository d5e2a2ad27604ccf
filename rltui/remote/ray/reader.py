"""Reads logs on a Ray cluster for the session: keeps a driver running and takes what it sends."""

from __future__ import annotations

import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from rltui.core.address import AUTO, RemotePath
from rltui.core.batch import Batch, Note, RunKey, SourceInfo
from rltui.core.errors import SourceError, UnreachableError, UsageError, VanishedError
from rltui.core.installation import to_add
from rltui.core.level import Level
from rltui.remote.ray.driver_process import DriverProcess, LostError
from rltui.remote.ray.message import (
    Again,
    Alive,
    Begin,
    Looked,
    Opening,
    Phase,
    Reads,
    Reread,
    Task,
)
from rltui.remote.ray.places import Places
from rltui.remote.ray.survey import ClusterFacts, Survey
from rltui.sources.follow.queued import Arriving, BatchQueue, ReaderState, ThreadedReader
from rltui.version import __version__

if TYPE_CHECKING:
    from rltui.remote.wishes import Wishes

#: Seconds for a driver to connect and to search the nodes.
_LOOK_S = 180.0
#: Seconds for a search whose result is shown to people, whatever hangs on some node.
_SURVEY_S = 60.0
#: Seconds until a driver is started again: doubled each time, up to the second.
_RETRY_S, _MOST_RETRY_S = 1.0, 30.0
#: How often a driver is started again when files are read once.
_MOST_FAILURES = 3
#: A node that sends nothing for this many seconds is not waited for.
_PIECE_S = 60.0
_UNREACHABLE = "the cluster cannot be reached"
_MISSING = "no node of the cluster has this path"


class RayReader(ThreadedReader):
    """A :class:`~rltui.sources.follow.reading.Reading` of the logdirs on one cluster."""

    def __init__(self, logdirs: Sequence[RemotePath], wishes: Wishes) -> None:
        """Raises UsageError where Ray is not installed."""
        if find_spec("ray") is None:
            raise UsageError(f"{logdirs[0]}: needs ray: {to_add('ray[client]')}")
        super().__init__(BatchQueue(), "rltui-ray")
        self._logdirs = tuple(logdirs)
        self._reads = Reads(
            tuple("" if p.place == "/" else p.place for p in logdirs),
            __version__,
            wishes.watch.fast_s,
            wishes.watch.slow_s,
            wishes.watch.rescan_s,
            tuple(wishes.step_keys) if wishes.step_keys else None,
            wishes.verify,
            wishes.waits,
            wishes.ends,
            wishes.choose is not None,
        )
        self._places = Places(logdirs[0].authority, wishes.choose)
        self._rereads = Rereads(self._ask_driver, self._places.outer, self._await_piece)
        self._driver: DriverProcess | None = None
        self._later: deque[object] = deque()
        """Messages that came while a piece of a run was awaited, without a thread."""
        self._phase = ""
        self._connected = False
        self._partial = wishes.partial

    # -- once ---------------------------------------------------------------------------------

    def scan(self) -> None:
        """Connect and search every node. Raises UnreachableError where that fails, and SourceError
        where no node has a logdir, unless nodes have another one and that is enough."""
        if self._driver is not None:
            return
        try:
            self._await_look(self._start_driver())
        except LostError as error:
            self._drop_driver()
            raise UnreachableError(f"{self._logdirs[0]}: {error}") from None
        missing = self._missing
        if missing and not (self._partial and len(missing) < len(self._logdirs)):
            self._drop_driver()
            raise SourceError(f"{missing[0]}: {_MISSING}")

    def read_all(self) -> Iterator[Batch]:
        """Every file of every node to its end. The driver stays: a run may be read again."""
        for attempt in range(_MOST_FAILURES + 1):
            try:
                self.scan()
                yield from self._read_once()
                break
            except LostError as error:
                self._drop_driver()
                if attempt == _MOST_FAILURES:
                    raise UnreachableError(f"{self._logdirs[0]}: {error}") from None
            except BaseException:
                self._drop_driver()
                raise
        failures = self._places.failures
        if failures and not self._places.run_count:
            raise SourceError(failures[0])

    def _read_once(self) -> Iterator[Batch]:
        driver = self._driver
        assert driver is not None
        driver.send(Begin(Task.ONCE))
        while True:
            message = self._later.popleft() if self._later else driver.receive()
            if isinstance(message, Alive) and message.ended:
                return
            yield from self._taken(driver, message)

    def survey(self) -> ClusterFacts:
        """What every node has; no log is read. Raises UnreachableError."""
        survey = Survey(self._logdirs[0].authority)
        try:
            driver = self._start_driver()
            self._await_look(driver, survey)
            driver.send(Begin(Task.SEARCH))
            end = time.monotonic() + _SURVEY_S
            while time.monotonic() < end:
                message = driver.receive()
                if isinstance(message, Alive) and message.ended:
                    break
                self._places.take(message)
                survey.take(message)
            return survey.facts(driver.received)
        except LostError as error:
            raise UnreachableError(f"{self._logdirs[0]}: {error}") from None
        finally:
            self._drop_driver()

    # -- live ---------------------------------------------------------------------------------

    def _prepare(self) -> None:
        self.scan()

    def _interrupt(self) -> None:
        """End the driver and its actors."""
        self._drop_driver()

    def _follow(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            driver = self._driver
            try:
                if driver is None:
                    driver = self._start_driver()
                    self._await_look(driver)
                driver.send(Begin(Task.FOLLOW))
                failures = 0
                while self._put(self._taken(driver, driver.receive())):
                    pass
                return
            except LostError as error:
                self._drop_driver()
                if self._stopping.is_set() or not self._put(self._places.lost(_lost(error))):
                    return
            self._stopping.wait(min(_MOST_RETRY_S, _RETRY_S * 2**failures))
            failures += 1

    def _taken(self, driver: DriverProcess, message: object) -> Iterable[Batch]:
        """What a message says; answers it. Raises LostError."""
        if isinstance(message, Reread):
            self._rereads.take(message)
            if self.on_batch is not None:
                self.on_batch()
            return ()
        batches = self._places.take(message)
        for answer in self._places.answers():
            driver.send(answer)
        return batches

    def _put(self, batches: Iterable[Batch]) -> bool:
        return all(self._queue.put(batch) for batch in batches) and not self._stopping.is_set()

    # -- once more ----------------------------------------------------------------------------

    def read_again(
        self,
        key: RunKey,  # noqa: ARG002 - its files say enough
        sources: Mapping[Path, SourceInfo],
        generations: Iterable[int],
    ) -> Iterator[Batch] | None:
        """What was read of a run, once more, by the node that has its files; None where one of
        them was deleted or written anew."""
        if any(generations):
            return None
        try:
            requests = self._places.requests(sources)
        except UnreachableError as error:
            return Arriving(_failing(error), lambda: True)
        return None if requests is None else self._rereads.batches(requests)

    def rereadable(
        self,
        key: RunKey,  # noqa: ARG002 - its files say enough
        sources: Mapping[Path, SourceInfo],
        generations: Iterable[int],
    ) -> bool | None:
        """Whether that would give all of a run, as far as is known here."""
        if any(generations) or self._driver is None:
            return False
        try:
            return self._places.requests(sources) is not None
        except UnreachableError:
            return False

    def _ask_driver(self, request: Again) -> None:
        """Raises LostError."""
        driver = self._driver
        if driver is None:
            raise LostError(_UNREACHABLE)
        driver.send(request)

    def _await_piece(self, pieces: Pieces) -> None:
        """Without a thread this one takes what the driver says."""
        while self._thread is None and self._driver is not None and not pieces.ready:
            try:
                message = self._driver.receive()
            except LostError as error:
                self._rereads.fail(_lost(error))
                return
            if isinstance(message, Reread):
                self._rereads.take(message)
            else:
                self._later.append(message)

    # -- driver -------------------------------------------------------------------------------

    def _start_driver(self) -> DriverProcess:
        """Raises LostError where the reader was stopped meanwhile."""
        authority = self._logdirs[0].authority
        self._connected = False
        self._phase = f"connecting to the cluster of Ray{_at(authority)}"
        self._later.clear()
        driver = DriverProcess(Opening(authority, self._reads, self._places.known))
        self._ending = weakref.finalize(self, driver.end)
        self._ending.atexit = False  # it ends with this process
        self._driver = driver  # stop() ends it from now on
        if self._stopping.is_set():
            raise LostError("stopped")
        return driver

    def _await_look(self, driver: DriverProcess, survey: Survey | None = None) -> None:
        end = time.monotonic() + _LOOK_S
        while True:
            message = driver.receive(end - time.monotonic())
            if survey is not None:
                survey.take(message)
            if isinstance(message, Looked):
                if message.failure:
                    raise LostError(message.failure)
                self._phase = ""
                return
            if isinstance(message, Phase):
                self._connected = True
                self._phase = f"cluster of Ray{_at(self._logdirs[0].authority)}: {message.text}"
            batches = self._places.take(message)
            if self._thread is not None:  # else nothing was read before
                self._put(batches)

    def _drop_driver(self) -> None:
        driver, self._driver = self._driver, None
        phase, self._phase = self._phase, ""
        if driver is not None:
            self._ending.detach()
            driver.end(at_once=bool(phase))  # whoever quits while it connects does not wait
            self._rereads.fail(_UNREACHABLE)

    # -- state --------------------------------------------------------------------------------

    @property
    def phase(self) -> str:
        """What the search for runs waits for, in words for people; empty when it is over. For any
        thread."""
        return self._phase

    def progress(self) -> tuple[int, int]:
        """(bytes read, bytes known) on all nodes, as of their last answers."""
        return self._places.progress

    @property
    def ended(self) -> bool:
        """False: a cluster may always log more."""
        return False

    @property
    def state(self) -> ReaderState:
        """How the logdirs are doing; of the runs of one node nothing is known."""
        places, searched = self._places, self._connected and not self._phase
        missing = self._missing if searched else ()
        return ReaderState(
            notes=places.notes,
            unread=tuple(Note(path, None, Level.WATCH, _MISSING) for path in missing),
            unclaimed=places.unclaimed,
            run_count=places.run_count,
            connecting=() if self._connected else self._logdirs,
            out_of_reach={self._logdirs[number]: None for number in sorted(places.unread)},
        )

    @property
    def _missing(self) -> list[RemotePath]:
        there = self._places.logdirs
        return [path for number, path in enumerate(self._logdirs) if number not in there]


def _lost(error: LostError) -> str:
    text = str(error)
    return f"{_UNREACHABLE}: {text}" if text else _UNREACHABLE


def _at(authority: str) -> str:
    return "" if authority == AUTO else f" at {authority}"


def _failing(error: UnreachableError) -> Iterator[Batch]:
    raise error
    yield


class Pieces:
    """What comes of one request, in order."""

    def __init__(self, request: Again) -> None:
        self.request = request
        self._queue: SimpleQueue[Reread] = SimpleQueue()

    @property
    def ready(self) -> bool:
        """Whether one is there."""
        return not self._queue.empty()

    def put(self, piece: Reread) -> None:
        """Append one."""
        self._queue.put(piece)

    def get(self) -> Reread:
        """The next one. Raises UnreachableError where nobody can read it now or none comes in
        time, VanishedError where the files do not hold it any more."""
        try:
            piece = self._queue.get(timeout=_PIECE_S)
        except Empty:
            raise UnreachableError("its node does not answer") from None
        if piece.lost:
            raise VanishedError("its files do not hold it any more")
        if piece.failure:
            raise UnreachableError(piece.failure)
        return piece


class Rereads:
    """Of one cluster."""

    def __init__(
        self,
        send: Callable[[Again], None],
        batches_of: Callable[[int, bytes], Iterator[Batch]],
        wait: Callable[[Pieces], None],
    ) -> None:
        """``send`` asks the node, and raises LostError; ``batches_of`` gives those of a piece by
        the number of its place; ``wait`` is called before a piece is taken."""
        self._send = send
        self._batches_of = batches_of
        self._wait = wait
        self._ids = count(1)
        self._open: WeakValueDictionary[int, Pieces] = WeakValueDictionary()

    def batches(self, requests: Sequence[Again]) -> Arriving:
        """What was read of a run; asked for when somebody first looks whether it is there."""
        run = _Run(requests, self._ask, self._taken)
        return Arriving(run.batches(), run.is_ready)

    def take(self, piece: Reread) -> None:
        """Keep a piece for whoever waits for it."""
        pieces = self._open.get(piece.id)
        if pieces is not None:
            pieces.put(piece)

    def fail(self, why: str) -> None:
        """Nothing more comes of what was asked for."""
        for reference in self._open.valuerefs():  # a list: another thread may ask meanwhile
            pieces = reference()
            if pieces is not None:
                pieces.put(Reread(pieces.request.id, failure=why))

    def _ask(self, request: Again) -> Pieces:
        pieces = Pieces(replace(request, id=next(self._ids)))
        self._open[pieces.request.id] = pieces
        try:
            self._send(pieces.request)
        except LostError as error:
            pieces.put(Reread(pieces.request.id, failure=str(error)))
        return pieces

    def _taken(self, pieces: Pieces) -> tuple[Iterator[Batch], bool]:
        """The batches of the next piece, and whether another one follows."""
        self._wait(pieces)
        piece = pieces.get()
        return self._batches_of(pieces.request.place, piece.batches), piece.more


class _Run:
    """One run that is read again."""

    def __init__(
        self,
        requests: Sequence[Again],
        ask: Callable[[Again], Pieces],
        take: Callable[[Pieces], tuple[Iterator[Batch], bool]],
    ) -> None:
        self._requests = requests
        self._ask = ask
        self._take = take
        self._asked: deque[Pieces] | None = None
        self._here: deque[Batch] = deque()

    def is_ready(self) -> bool:
        """Whether the next batch, or the end, is there."""
        asked = self._begun()
        return bool(self._here) or not asked or asked[0].ready

    def batches(self) -> Iterator[Batch]:
        """All of them."""
        asked = self._begun()
        while asked:
            found, more = self._take(asked[0])
            self._here.extend(found)
            if not more:
                asked.popleft()
            while self._here:
                yield self._here.popleft()

    def _begun(self) -> deque[Pieces]:
        if self._asked is None:
            self._asked = deque(map(self._ask, self._requests))
        return self._asked
