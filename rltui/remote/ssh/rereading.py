"""Reads runs of one host again, over a connection of its own that is there while it is needed.

A thread asks, so that nobody waits for the host: what follows the logs may be busy for minutes,
and the main thread must never be.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue

from rltui.core.batch import Batch
from rltui.core.clock import Clock
from rltui.core.errors import SourceError, UnreachableError, VanishedError
from rltui.remote.ssh.conversation import Conversation
from rltui.remote.ssh.link import LinkLostError
from rltui.remote.wire.messages import Again
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

    def __init__(self, wanted: Again, on_news: Callable[[], None], *, only_ask: bool) -> None:
        self.wanted = wanted
        self.only_ask = only_ask
        self.batches = BatchQueue(on_news, _MOST_WAITING)
        self.done = threading.Event()
        self.kept = False
        self.answered = 0.0
        """When, monotonic seconds."""
        self.cancelled = False
        self.began = False
        """Whether a batch has been handed over."""

    def cancel(self) -> None:
        """Nobody does it any more; whoever waits for it is told."""
        self.cancelled = True
        self.batches.close()
        self.batches.fail(UnreachableError(_STOPPED))
        self.done.set()


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
            job = _Job(wanted, self._on_news, only_ask=True)
            if len(self._asked) >= _MOST_ANSWERS:
                self._asked.clear()
            self._asked[wanted] = job
            self._put(job)
        if not wait:
            return None
        job.done.wait()
        del self._asked[wanted]
        return job.kept

    def read(self, wanted: Again) -> Arriving:
        """What was read of these files."""
        job = _Job(wanted, self._on_news, only_ask=False)
        self._put(job)
        return Arriving(_batches_of(job), lambda: job.batches.wait(0))

    def close(self) -> None:
        """End the connection, and whatever waits for it. What is asked for later opens another."""
        with self._lock:
            jobs, self._open = self._open, set()
            talk = self._talk
            if self._running:
                self._jobs.put(None)
        for job in jobs:
            job.cancel()
        if talk is not None:
            talk.close()

    def _put(self, job: _Job) -> None:
        with self._lock:
            self._open.add(job)
            self._jobs.put(job)
            if self._running:
                return
            self._running = True
        threading.Thread(target=self._run, name="rltui-ssh-again", daemon=True).start()

    # -- the thread -------------------------------------------------------------------------

    def _run(self) -> None:
        while (job := self._next()) is not None:
            error: Exception = _EndError()
            try:
                self._do(job)
            except (LinkLostError, SourceError) as failure:
                reached = isinstance(failure, VanishedError) or job.cancelled
                error = failure if reached else self._lost(failure)
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
        talk = self._connected()
        if job.cancelled:
            raise LinkLostError(_STOPPED)
        if talk.cannot_reread:
            raise SourceError(talk.cannot_reread)
        if job.only_ask:
            job.kept = talk.keeps(job.wanted)
            return
        batches = talk.read_again(job.wanted)
        if batches is None:
            raise VanishedError("its files do not hold it any more")
        for batch in batches:
            job.began = True
            if not job.batches.put(batch):
                raise LinkLostError(_STOPPED)

    def _connected(self) -> Conversation:
        if self._talk is None:
            if self._clock.monotonic() - self._lost_at < _PAUSE_S:
                raise LinkLostError(self._why)
            talk = self._connect()
            with self._lock:
                self._talk = talk
        return self._talk

    def _lost(self, failure: Exception) -> UnreachableError:
        self._hang_up()
        self._lost_at, self._why = self._clock.monotonic(), str(failure)
        return UnreachableError(self._why)

    def _hang_up(self) -> None:
        with self._lock:
            talk, self._talk = self._talk, None
        _end(talk)


def _end(talk: Conversation | None) -> None:
    if talk is not None:
        talk.close()
        talk.release()


def _batches_of(job: _Job) -> Iterator[Batch]:
    while True:
        job.batches.wait(None)
        try:
            batches = job.batches.drain(1)
        except _EndError:
            return
        yield from batches
