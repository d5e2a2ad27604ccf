"""The half of a reader that hands over what its thread has queued."""

from __future__ import annotations

from collections.abc import Callable

from rltui.core.batch import Batch
from rltui.sources.follow.batch_queue import MOST_BATCHES, BatchQueue


class QueuedReader:
    """A :class:`~rltui.sources.follow.reading.Reading` whose thread puts batches into a queue."""

    def __init__(self, queue: BatchQueue) -> None:
        self._queue = queue

    @property
    def on_batch(self) -> Callable[[], None] | None:
        """Called in the reader's thread when the queue is no longer empty."""
        return self._queue.on_batch

    @on_batch.setter
    def on_batch(self, call: Callable[[], None] | None) -> None:
        self._queue.on_batch = call

    def drain(self, max_batches: int = MOST_BATCHES) -> list[Batch]:
        """Batches that are there, oldest first. Raises what broke the thread, once."""
        return self._queue.drain(max_batches)

    def wait(self, timeout: float) -> bool:
        """Wait until a batch (or an error) is there, at most ``timeout`` seconds."""
        return self._queue.wait(timeout)
