"""Base of all readers: a thread, and the queue of batches that it fills."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import Path

from rltui.core.batch import Batch, Note, RunKey, Sources
from rltui.core.record import record

#: A thread that hangs in a system call is abandoned; it ends when the call returns.
_STOP_TIMEOUT_S = 2.0
#: Batches in the queue before the reader waits.
MOST_BATCHES = 64


class BatchQueue:
    """A bounded queue: while it is full, the reader waits. Thread-safe."""

    def __init__(self, on_batch: Callable[[], None] | None = None, most: int | None = None) -> None:
        """``most``: batches in the queue before the reader waits, if not the usual number."""
        self._most = MOST_BATCHES if most is None else most
        self.on_batch = on_batch
        """Called in the reader's thread when the queue is no longer empty, or reading failed."""
        self._lock = threading.Condition()
        self._batches: deque[Batch] = deque()
        self._error: BaseException | None = None
        self._drains = 0
        self._closed = False

    # -- the reader's thread ------------------------------------------------------------------

    def put(self, batch: Batch) -> bool:
        """Append a batch, waiting for room; False when closed."""
        with self._lock:
            self._lock.wait_for(lambda: self._closed or len(self._batches) < self._most)
            if self._closed:
                return False
            first = not self._batches
            self._batches.append(batch)
            self._lock.notify_all()

        if first:
            self.notify()
        return True

    def put_and_wait(self, batch: Batch, drains: int, timeout: float) -> bool:
        """Append a batch, then wait until the queue has been drained ``drains`` times from now,
        at most ``timeout`` seconds; False when closed."""
        wanted = self._drains + drains
        if not self.put(batch):
            return False
        with self._lock:
            self._lock.wait_for(lambda: self._closed or self._drains >= wanted, timeout)
            return not self._closed

    def fail(self, error: BaseException) -> None:
        """Have :meth:`drain` raise an error, once, after the batches that are there."""
        with self._lock:
            self._error = error
            self._lock.notify_all()
        self.notify()

    def notify(self) -> None:
        """Call :attr:`on_batch`."""
        if self.on_batch is not None:
            self.on_batch()

    # -- the main thread ----------------------------------------------------------------------

    def drain(self, max_batches: int = MOST_BATCHES) -> list[Batch]:
        """The batches that are there, oldest first. Raises the error that ended reading."""
        with self._lock:
            self._drains += 1
            count = min(max_batches, len(self._batches))
            batches = [self._batches.popleft() for _ in range(count)]
            error = None
            if not batches:
                error = self._error
                self._error = None
            self._lock.notify_all()

        if error is not None:
            raise error
        return batches

    def wait(self, timeout: float | None) -> bool:
        """Wait until a batch (or an error) is there, at most ``timeout`` seconds (None: for
        ever)."""
        with self._lock:
            return self._lock.wait_for(
                lambda: bool(self._batches) or self._error is not None, timeout
            )

    def open(self) -> None:
        """Accept batches (again)."""
        with self._lock:
            self._closed = False

    def close(self) -> None:
        """Accept no more batches; those in the queue can still be drained."""
        with self._lock:
            self._closed = True
            self._lock.notify_all()


@record
class ReaderState:
    """State of the logdirs of a reader."""

    notes: tuple[Note, ...] = ()
    """Trouble that concerns no file of a run: one note for each path, level OK when it is over."""
    unread: tuple[Note, ...] = ()
    """Logdirs that cannot be searched though their servers can be reached, with the reason:
    missing, no log."""
    unclaimed: tuple[Note, ...] = ()
    """Files that look like logs and are not read, with the reason."""
    run_count: int = 0
    """Runs that the newest search found and that are to be read."""
    searching: tuple[Path, ...] = ()
    """Logdirs that have not been searched once: a thread does that."""
    connecting: tuple[Path, ...] = ()
    """Logdirs whose hosts have not answered yet."""
    out_of_reach: Mapping[Path, float | None] = field(default_factory=dict)
    """Logdirs on hosts and servers that cannot be reached now, whose runs may go on -> since when,
    in seconds since the epoch; None where nobody noted it."""
    instead: Mapping[Path, str] = field(default_factory=dict)
    """Logdirs that are decoded here -> which rltui their host has, if any, for people."""


class ThreadedReader(ABC):
    """Finds the runs of some logdirs and hands over what they log, in batches, which its thread
    puts into a queue. All methods are for the main thread."""

    def __init__(self, queue: BatchQueue, name: str) -> None:
        """``name``: of the thread."""
        self._queue = queue
        self._name = name
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        """Set when the thread is to end."""

    @property
    def on_batch(self) -> Callable[[], None] | None:
        """Called in a thread of the reader when :meth:`drain` has something again."""
        return self._queue.on_batch

    @on_batch.setter
    def on_batch(self, call: Callable[[], None] | None) -> None:
        self._queue.on_batch = call

    @abstractmethod
    def scan(self) -> object:
        """Search for runs. Raises SourceError for a path that is missing or no log."""

    @abstractmethod
    def read_all(self) -> Iterator[Batch]:
        """Read every source to its end."""

    @abstractmethod
    def read_again(
        self,
        key: RunKey,
        sources: Sources,
        generations: Iterable[int],
        finished: Collection[Path] = (),
    ) -> Iterator[Batch] | None:
        """Read again what was read of a run, up to the offsets in ``sources``; None where its files
        no longer hold that. Batches of another process are an :class:`Arriving`. ``finished``:
        files whose last line another reader has read without its end."""

    def rereadable(self, key: RunKey, sources: Sources, generations: Iterable[int]) -> bool | None:
        """Whether :meth:`read_again` would return all of a run. None until its host answers:
        :attr:`on_batch` is called then."""
        return self.read_again(key, sources, generations) is not None

    @abstractmethod
    def progress(self) -> tuple[int, int]:
        """(bytes read, bytes known)."""

    @property
    @abstractmethod
    def ended(self) -> bool:
        """Whether nothing can come any more."""

    @property
    @abstractmethod
    def state(self) -> ReaderState:
        """State of its logdirs. Does no I/O."""

    def drain(self, max_batches: int = MOST_BATCHES) -> list[Batch]:
        """Batches that are there, oldest first. Raises what broke the thread, once."""
        return self._queue.drain(max_batches)

    def wait(self, timeout: float) -> bool:
        """Wait until a batch (or an error) is there, at most ``timeout`` seconds."""
        return self._queue.wait(timeout)

    def start(self) -> None:
        """Begin to read in a thread. Raises SourceError for bad paths."""
        if self._thread is not None:
            return
        self._stopping.clear()
        self._prepare()
        self._queue.open()
        self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread and wait for it, not for long; batches in the queue can still be
        drained."""
        self._stopping.set()
        self._queue.close()
        self._interrupt()
        thread = self._thread
        self._thread = None
        if thread is not None:
            thread.join(_STOP_TIMEOUT_S)

    def _run(self) -> None:
        try:
            self._follow()
        except BaseException as error:  # noqa: BLE001 - raised on the main thread at the next drain
            self._queue.fail(error)

    @abstractmethod
    def _prepare(self) -> None:
        """Before the thread begins: search, unless that was done. Raises SourceError."""

    @abstractmethod
    def _follow(self) -> None:
        """The body of the thread: read until it is to end."""

    @abstractmethod
    def _interrupt(self) -> None:
        """Wake the thread wherever it waits, and free what it needs; also without a thread."""


class Arriving(Iterator[Batch]):
    """Batches that another process sends, each of which may take long to arrive.

    Raises UnreachableError where the process cannot be reached, and VanishedError where the
    files do not hold any more what was read.
    """

    def __init__(self, batches: Iterator[Batch], ready: Callable[[], bool]) -> None:
        self._batches = batches
        self._ready = ready

    def __next__(self) -> Batch:
        return next(self._batches)

    @property
    def ready(self) -> bool:
        """Whether the next batch or the end is there; ``on_batch`` of its reader is called then."""
        return self._ready()

    def changed(self, change: Callable[[Batch], Batch]) -> Arriving:
        """Copy with each batch changed."""
        return Arriving(map(change, self._batches), self._ready)
