"""Reads runs of one host again, over a second connection that is open only while needed.

A thread does it, so that neither the main thread nor the connection that follows the logs, which
may be busy for minutes, delays it or is delayed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from queue import Empty, SimpleQueue

from rltui.core.backoff import Backoff
from rltui.core.batch import Batch, Sources
from rltui.core.clock import Clock
from rltui.core.errors import SourceError, UnreachableError, VanishedError
from rltui.formats import ALL_FORMATS
from rltui.remote.conversation import Conversation, Paths, StreamError
from rltui.remote.wire.messages import Again, KnownFile
from rltui.sources.follow.queued import Arriving, BatchQueue
from rltui.sources.follow.resume import HandedOver, without_content

#: Seconds without anything to do after which the connection ends.
_IDLE_S = 60.0
#: Batches that may be queued: some megabytes.
_MOST_WAITING = 4
#: Logs that can be read again; stores of trackers cannot.
_FILES = frozenset(f.name for f in ALL_FORMATS)
_STOPPED = "the reader was stopped"


class ReadFiles:
    """How far the files of a host, or of one place on it, have been read."""

    def __init__(self) -> None:
        self.known = HandedOver()
        """The newest batch of each file, with far paths."""
        self._files: dict[Path, Batch] = {}
        """The same by local path."""

    def note(self, there: Batch, here: Path) -> None:
        """Record a batch of the far side; ``here``: the local path of its file."""
        if not there.sampled:
            self.known.note(there)
            self._files[here] = without_content(there)

    def wanted(self, sources: Sources, generations: Iterable[int], paths: Paths) -> Again | None:
        """The request that reads these files of a run again; None where the far side could not
        return what was read before, or the files are not of this host."""
        files = [self._files[path] for path in sources if path in self._files]
        lost = len(files) < len(sources) or any(b.gone or b.generation for b in files)
        if lost or any(generations) or not _FILES.issuperset(b.source.format for b in files):
            return None
        return Again(
            files[0].run,
            tuple(
                KnownFile(paths.there(path), s.offset, s.modified, self._files[path].finished)
                for path, s in sources.items()
            ),
        )


class EndError(Exception):
    """Queued after the last batch."""


class _Job:
    """One run to read."""

    def __init__(self, wanted: Again, on_news: Callable[[], None]) -> None:
        self.wanted = wanted
        self.batches = BatchQueue(on_news, _MOST_WAITING)
        self.cancelled = False
        self.began = False
        """Whether a batch has been handed over."""


class Rereading:
    """Asks one host to read runs again. For the main thread; the work is done in its own thread."""

    def __init__(
        self, connect: Callable[[], Conversation], on_news: Callable[[], None], clock: Clock
    ) -> None:
        """``connect`` opens a connection and searches; it raises StreamError or SourceError.
        ``on_news`` is called in the thread for each batch and for the end."""
        self._connect = connect
        self._on_news = on_news
        self._clock = clock
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._running = False
        self._open: set[_Job] = set()
        """Jobs that have not ended."""
        self._talk: Conversation | None = None
        self._backoff = Backoff()
        self._why = ""
        """Why the host could not be reached at the last attempt."""

    # -- the main thread --------------------------------------------------------------------

    def read(self, wanted: Again) -> Arriving:
        """Begin to read files again; returns their batches as they arrive."""
        job = _Job(wanted, self._on_news)

        def batches() -> Iterator[Batch]:
            while True:
                job.batches.wait(None)
                try:
                    found = job.batches.drain(1)
                except EndError:
                    return
                yield from found

        with self._lock:
            self._open.add(job)
            self._jobs.put(job)
            begin, self._running = not self._running, True
        if begin:
            threading.Thread(target=self._run, name="rltui-again", daemon=True).start()
        return Arriving(batches(), lambda: job.batches.wait(0))

    def close(self) -> None:
        """End the connection and fail all jobs. A later :meth:`read` opens another connection."""
        with self._lock:
            jobs, self._open = self._open, set()
            talk = self._talk
            if self._running:
                self._jobs.put(None)
        for job in jobs:
            job.cancelled = True
            job.batches.close()
            job.batches.fail(UnreachableError(_STOPPED))
        if talk is not None:
            talk.close()

    # -- the thread -------------------------------------------------------------------------

    def _run(self) -> None:
        while (job := self._next()) is not None:
            error: Exception = EndError()
            try:
                self._do(job)
            except VanishedError as failure:
                error = failure
            except (StreamError, SourceError) as failure:
                self._hang_up()
                error = UnreachableError(str(failure))
            except BaseException as failure:  # noqa: BLE001 - raised where the batches are taken
                self._hang_up()
                error = failure if isinstance(failure, Exception) else RuntimeError(str(failure))
            with self._lock:
                self._open.discard(job)
            if not job.cancelled:
                job.batches.fail(error)  # calls on_news

    def _next(self) -> _Job | None:
        """The next job; None, after closing the connection, when the thread is to end."""
        try:
            job = self._jobs.get(timeout=_IDLE_S)
        except Empty:
            job = None
        with self._lock:
            if job is None and not self._jobs.empty():
                job = self._jobs.get()
            self._running = job is not None
            talk = self._talk
            if job is not None:
                return job
            self._talk = None  # from here on another thread may work
        if talk is not None:
            talk.hang_up()
        return None

    def _do(self, job: _Job) -> None:
        """Raises StreamError, SourceError and VanishedError."""
        if job.cancelled:
            return
        fresh = self._talk is None
        try:
            self._ask(job)
        except StreamError:
            self._hang_up()
            if fresh or job.began or job.cancelled:
                raise
            self._ask(job)  # that connection had ended meanwhile

    def _ask(self, job: _Job) -> None:
        if self._talk is None:
            now = self._clock.monotonic()
            if self._backoff.waits(now):
                raise StreamError(self._why)
            try:
                opened = self._connect()
            except (StreamError, SourceError) as error:
                self._backoff.failed(now)
                self._why = str(error)
                raise
            self._backoff.succeeded()
            with self._lock:
                self._talk = opened
        talk = self._talk
        if job.cancelled:
            raise StreamError(_STOPPED)
        if not talk.keeps(job.wanted):
            raise VanishedError("its files do not hold it any more")
        assert talk.paths is not None
        for batch in talk.batches():
            job.began = True
            if not job.batches.put(talk.paths.batch(batch)):
                raise StreamError(_STOPPED)

    def _hang_up(self) -> None:
        with self._lock:
            talk, self._talk = self._talk, None
        if talk is not None:
            talk.hang_up()
