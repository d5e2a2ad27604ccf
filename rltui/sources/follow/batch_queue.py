"""Hands batches from the reader's thread to the main thread."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from rltui.core.batch import Batch

#: Batches in the queue before the reader waits.
MOST_BATCHES = 64


class BatchQueue:
    """Bounded: a full queue blocks the reader, which is the back-pressure. Thread-safe."""

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
        if first and self.on_batch is not None:
            self.on_batch()
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
                error, self._error = self._error, None
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
