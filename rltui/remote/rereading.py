"""Reads runs of one host again, over a connection of its own that is there while it is needed.

A thread asks, so that nobody waits for the host: what follows the logs may be busy for minutes,
and the main thread must never be.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from queue import Empty, SimpleQueue

from rltui.core.batch import Batch, SourceInfo
from rltui.core.clock import Clock
from rltui.core.errors import SourceError, UnreachableError, VanishedError
from rltui.remote.conversation import Conversation, LinkLostError, Paths
from rltui.remote.wire.messages import Again, KnownFile
from rltui.sources.follow.queued import Arriving, BatchQueue

#: Seconds without anything to do after which the connection ends.
_IDLE_S = 60.0
#: Seconds until a host that could not be reached is tried again.
_PAUSE_S = 5.0
#: Seconds for which an answer holds.
_FRESH_S = 10.0
#: Batches that may wait for whoever takes them: some megabytes.
_MOST_WAITING = 4
_MOST_ANSWERS = 10_000
_STOPPED = "the reader was stopped"


class _EndError(Exception):
    """Nothing follows."""


class _Job:
    """One run to ask about, or to read."""

    def __init__(self, wanted: Again, on_news: Callable[[], None]) -> None:
        self.wanted = wanted
        self.batches = BatchQueue(on_news, _MOST_WAITING)
        self.done = threading.Event()
        self.kept = False
        """Whether the files still hold what was read of them."""
        self.answered = 0.0
        """When, monotonic seconds."""
        self.cancelled = False
        self.began = False
        """Whether a batch has been handed over."""


class Rereading:
    """Of one host. For the main thread, but for the work of its own thread."""

    def __init__(
        self, connect: Callable[[], Conversation], on_news: Callable[[], None], clock: Clock
    ) -> None:
        """``connect`` gives a connection after a search, and raises LinkLostError or SourceError;
        ``on_news`` is called in the thread when there is an answer or a batch."""
        self._connect = connect
        self._on_news = on_news
        self._clock = clock
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._running = False
        self._asked: dict[Again, _Job] = {}
        self._open: set[_Job] = set()
        """What is not done yet."""
        self._talk: Conversation | None = None
        self._lost_at = -_PAUSE_S
        self._why = ""
        """Why the host could not be reached then."""

    # -- the main thread --------------------------------------------------------------------

    def keeps(self, wanted: Again, *, wait: bool) -> bool | None:
        """Whether the files still hold what was read of them; None while that is being asked,
        unless ``wait``. False where nobody answers."""
        job = self._asked.get(wanted)
        if job is not None and job.done.is_set():
            del self._asked[wanted]
            if self._clock.monotonic() - job.answered < _FRESH_S:
                return job.kept
            job = None
        if job is None:
            if len(self._asked) >= _MOST_ANSWERS:
                self._asked.clear()
            job = self._asked[wanted] = self._begun(wanted)
        if not wait:
            return None
        job.done.wait()
        del self._asked[wanted]
        return job.kept

    def read(self, wanted: Again) -> Arriving:
        """What was read of these files."""
        job = self._begun(wanted)

        def batches() -> Iterator[Batch]:
            while True:
                job.batches.wait(None)
                try:
                    found = job.batches.drain(1)
                except _EndError:
                    return
                yield from found

        return Arriving(batches(), lambda: job.batches.wait(0))

    def close(self) -> None:
        """End the connection, and whatever waits for it. What is asked for later opens another."""
        with self._lock:
            jobs, self._open = self._open, set()
            talk = self._talk
            if self._running:
                self._jobs.put(None)
        for job in jobs:
            job.cancelled = True
            job.batches.close()
            job.batches.fail(UnreachableError(_STOPPED))
            job.done.set()
        if talk is not None:
            talk.close()

    def _begun(self, wanted: Again) -> _Job:
        job = _Job(wanted, self._on_news)
        with self._lock:
            self._open.add(job)
            self._jobs.put(job)
            begin, self._running = not self._running, True
        if begin:
            threading.Thread(target=self._run, name="rltui-again", daemon=True).start()
        return job

    # -- the thread -------------------------------------------------------------------------

    def _run(self) -> None:
        while (job := self._next()) is not None:
            error: Exception = _EndError()
            try:
                self._do(job)
            except VanishedError as failure:
                error = failure
            except (LinkLostError, SourceError) as failure:
                self._hang_up()
                error = UnreachableError(str(failure))
                if not job.cancelled:
                    self._lost_at, self._why = self._clock.monotonic(), str(failure)
            except BaseException as failure:  # noqa: BLE001 - raised where the batches are taken
                self._hang_up()
                error = failure if isinstance(failure, Exception) else RuntimeError(str(failure))
            with self._lock:
                self._open.discard(job)
            if not job.cancelled:
                job.answered = self._clock.monotonic()
                job.done.set()
                job.batches.fail(error)  # calls on_news

    def _next(self) -> _Job | None:
        """What is to be done next; None, without a connection, when the thread is to end."""
        try:
            job = self._jobs.get(timeout=_IDLE_S)
        except Empty:
            job = None
        talk = None
        with self._lock:
            if job is None and not self._jobs.empty():
                job = self._jobs.get()
            self._running = job is not None
            if job is None:  # from here on another thread may work
                talk, self._talk = self._talk, None
        _end(talk)
        return job

    def _do(self, job: _Job) -> None:
        """Raises LinkLostError, SourceError and VanishedError."""
        if job.cancelled:
            return
        fresh = self._talk is None
        try:
            self._ask(job)
        except LinkLostError:
            self._hang_up()
            if fresh or job.began or job.cancelled:
                raise
            self._ask(job)  # that connection had ended meanwhile

    def _ask(self, job: _Job) -> None:
        if self._talk is None:
            if self._clock.monotonic() - self._lost_at < _PAUSE_S:
                raise LinkLostError(self._why)
            opened = self._connect()
            with self._lock:
                self._talk = opened
        talk = self._talk
        if job.cancelled:
            raise LinkLostError(_STOPPED)
        job.kept = talk.keeps(job.wanted)
        if job.wanted.only_ask:
            return
        if not job.kept:
            raise VanishedError("its files do not hold it any more")
        assert talk.paths is not None
        for batch in talk.batches():
            job.began = True
            if not job.batches.put(talk.paths.batch(batch)):
                raise LinkLostError(_STOPPED)

    def _hang_up(self) -> None:
        with self._lock:
            talk, self._talk = self._talk, None
        _end(talk)


def _end(talk: Conversation | None) -> None:
    if talk is not None:
        talk.close()
        talk.release()


def known_files(
    paths: Paths, sources: Mapping[Path, SourceInfo], finished: set[Path]
) -> tuple[KnownFile, ...]:
    """How far files have come, with their paths on the other side; the last lines of those that
    are ``finished`` were read without their ends."""
    return tuple(
        KnownFile(paths.there(path), s.offset, s.modified, path in finished)
        for path, s in sources.items()
    )
