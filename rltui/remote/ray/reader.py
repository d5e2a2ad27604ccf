"""Reads logs on a Ray cluster for the session: keeps a driver running and takes what it sends."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec

from rltui.core.address import RemotePath
from rltui.core.batch import Batch, Note, Sources
from rltui.core.errors import SourceError, UnreachableError, UsageError
from rltui.core.installation import to_add
from rltui.core.level import Level
from rltui.remote.ray.driver_process import DriverProcess, LostError
from rltui.remote.ray.messages import Looked, Opening, Search, Wanted
from rltui.remote.ray.roots import UNREACHABLE, LogRoots
from rltui.remote.ray.survey import ClusterFacts, cluster_facts
from rltui.remote.rereading import EndError, Rereading, StreamedReader
from rltui.remote.wire.messages import Again
from rltui.sources.follow.queued import BatchQueue, ReaderState
from rltui.sources.options import ReaderOptions
from rltui.version import __version__

#: Seconds for a driver to connect and to search the nodes.
_LOOK_S = 180.0
#: Seconds for a search whose result is shown to people, whatever hangs on some node.
_SURVEY_S = 60.0
#: Seconds until a driver is started again: doubled each time, up to the second.
_RETRY_S, _MOST_RETRY_S = 1.0, 30.0
#: How often a driver is started again when files are read once.
_MOST_FAILURES = 3
_MISSING = "no node of the cluster has this path"


class RayReader(StreamedReader):
    """Reads the logdirs on one cluster."""

    def __init__(self, logdirs: Sequence[RemotePath], options: ReaderOptions) -> None:
        """Raises UsageError where Ray is not installed."""
        if find_spec("ray") is None:
            raise UsageError(f"{logdirs[0]}: needs ray: {to_add('ray[client]')}")
        super().__init__(BatchQueue(), "rltui-ray")
        self._logdirs = tuple(logdirs)
        self._options = options
        roots = tuple("" if p.place == "/" else p.place for p in logdirs)
        self._reads = Wanted(roots, __version__, options.ends)
        self._roots = LogRoots(logdirs[0].authority, options, self._send)
        self._rereading: dict[int, Rereading] = {}
        """By the numbers of roots."""
        self._driver: DriverProcess | None = None
        self._connected = False
        """Whether the cluster has answered."""
        self._looked: Looked | None = None
        """The driver's report once every node has been searched."""
        self._follows = True
        self._over = False
        """Whether :meth:`read_all` has ended; runs may still be read again."""

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
        if missing and not (self._options.partial and len(missing) < len(self._logdirs)):
            self._drop_driver()
            raise SourceError(f"{missing[0]}: {_MISSING}")

    def read_all(self) -> Iterator[Batch]:
        """Read every file of every node to its end. The driver stays: runs may be read again."""
        self._follows = False
        self.start()
        try:
            while True:
                self._queue.wait(None)
                yield from self._queue.drain()
        except EndError:
            pass
        failures = self._roots.failures
        if failures and not self._roots.run_count:
            raise SourceError(failures[0])

    def survey(self) -> ClusterFacts:
        """List what every node has without reading any log. Raises UnreachableError."""
        roots = self._roots
        try:
            driver = self._start_driver()
            self._await_look(driver)
            driver.send(Search())
            end = time.monotonic() + _SURVEY_S
            while any(p.node and not p.searched for p in roots.roots):
                roots.receive(driver.receive())
                if time.monotonic() > end:
                    break
            return cluster_facts(roots, self._looked or Looked(), driver.received)
        except LostError as error:
            raise UnreachableError(f"{self._logdirs[0]}: {error}") from None
        finally:
            self._drop_driver()

    # -- live ---------------------------------------------------------------------------------

    def _prepare(self) -> None:
        self.scan()

    def _interrupt(self) -> None:
        """End the driver and its actors."""
        for rereading in self._rereading.values():
            rereading.close()
        self._drop_driver()

    def _follow(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            try:
                if self._driver is None:
                    self._await_look(self._start_driver())
                self._roots.begin(follow=self._follows)
                failures = 0 if self._follows else failures
                while self._serve_one():
                    pass
                return
            except LostError as error:
                self._drop_driver()
                why = f"{UNREACHABLE}: {error}" if str(error) else UNREACHABLE
                if self._over or not self._put(self._roots.lost(why)):
                    return
                if not self._follows and failures == _MOST_FAILURES:
                    raise UnreachableError(f"{self._logdirs[0]}: {error}") from None
            self._stopping.wait(min(_MOST_RETRY_S, _RETRY_S * 2**failures))
            failures += 1

    def _serve_one(self) -> bool:
        """Queue the batches of the next message; False when the thread is to end. Raises
        LostError."""
        if not (self._follows or self._over) and self._roots.ended:
            self._over = True
            self._queue.fail(EndError())
        driver = self._driver
        return driver is not None and self._put(self._roots.receive(driver.receive()))

    def _put(self, batches: Iterable[Batch]) -> bool:
        return all(self._queue.put(batch) for batch in batches) and not self._stopping.is_set()

    # -- once more ----------------------------------------------------------------------------

    def _again(
        self, sources: Sources, generations: Iterable[int]
    ) -> tuple[Rereading, Again] | None:
        found = self._roots.wanted(sources, generations)
        if found is None:
            return None
        number, wanted = found
        if number not in self._rereading:
            connect = partial(self._roots.connected, number)
            self._rereading[number] = Rereading(connect, self._queue.tell, self._options.clock)
        return self._rereading[number], wanted

    @property
    def _away(self) -> bool:
        return self._driver is None

    # -- driver -------------------------------------------------------------------------------

    def _send(self, message: object) -> bool:
        """Send a message to the driver; False where none runs."""
        driver = self._driver
        try:
            if driver is not None:
                driver.send(message)
        except LostError:
            return False
        return driver is not None

    def _start_driver(self) -> DriverProcess:
        """Raises LostError where the reader was stopped meanwhile."""
        self._connected, self._looked = False, None
        opening = Opening(self._logdirs[0].authority, self._reads, self._roots.known)
        driver = self._driver = DriverProcess(opening)  # stop() ends it from now on
        if self._stopping.is_set():
            raise LostError("stopped")
        return driver

    def _await_look(self, driver: DriverProcess) -> None:
        end = time.monotonic() + _LOOK_S
        while self._looked is None:
            message = driver.receive(end - time.monotonic())
            if isinstance(message, Looked):
                if message.failure:
                    raise LostError(message.failure)
                self._looked = message
            self._connected = True
            batches = self._roots.receive(message)
            if self._thread is not None:  # else nothing was read before
                self._put(batches)

    def _drop_driver(self) -> None:
        driver, self._driver = self._driver, None
        if driver is not None:
            driver.end(at_once=not self._looked)  # whoever quits while it connects does not wait
        self._connected = False

    # -- state --------------------------------------------------------------------------------

    def progress(self) -> tuple[int, int]:
        return self._roots.progress

    @property
    def state(self) -> ReaderState:
        roots = self._roots
        missing = self._missing if self._looked else ()
        return ReaderState(
            notes=roots.notes,
            unread=tuple(Note(path, None, Level.WATCH, _MISSING) for path in missing),
            unclaimed=roots.unclaimed,
            run_count=roots.run_count,
            connecting=() if self._connected else self._logdirs,
            out_of_reach={self._logdirs[number]: None for number in sorted(roots.unread)},
        )

    @property
    def _missing(self) -> list[RemotePath]:
        there = self._roots.logdirs
        return [path for number, path in enumerate(self._logdirs) if number not in there]
