"""The end of a reader while a run of a host is to be read again."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import pytest

from rltui.core.batch import RunKey
from rltui.core.errors import UnreachableError
from rltui.remote.conversation import Conversation
from rltui.remote.rereading import Rereading
from rltui.remote.wire.messages import Again
from tests.clock import ManualClock

WANTED = Again(RunKey(0, "a"), ())
THREAD = "rltui-again"
PATIENCE_S = 5.0


class Observed(SimpleQueue[Any]):
    """Lets something happen as soon as the thread of a :class:`Rereading` has taken a job."""

    def __init__(self, on_taken: Callable[[], None]) -> None:
        super().__init__()
        self._on_taken = on_taken

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        found = super().get(block, timeout)
        if found is not None and threading.current_thread().name == THREAD:
            self._on_taken()
        return found


class Emptied(SimpleQueue[Any]):
    """Another thread takes what is there as soon as somebody has looked."""

    def empty(self) -> bool:
        found = super().empty()
        if not found:
            super().get()
        return found


def test_a_job_that_was_just_taken_ends_with_the_reader() -> None:
    connected: list[bool] = []

    def connect() -> Conversation:
        connected.append(True)
        raise AssertionError("nobody wants this connection")

    rereading = Rereading(connect, lambda: None, ManualClock())
    rereading._jobs = Observed(rereading.close)
    batches = rereading.read(WANTED)
    with pytest.raises(UnreachableError, match="stopped"):
        next(batches)
    for thread in threading.enumerate():
        if thread.name == THREAD:
            thread.join(PATIENCE_S)
    assert not connected


def test_the_end_does_not_wait_for_a_job_that_a_thread_has_taken() -> None:
    def connect() -> Conversation:
        raise AssertionError("nobody connects")

    rereading = Rereading(connect, lambda: None, ManualClock())
    rereading._running = True  # a thread that does nothing now
    rereading._jobs = Emptied()
    rereading.read(WANTED)
    closing = threading.Thread(target=rereading.close, daemon=True)
    closing.start()
    closing.join(PATIENCE_S)
    assert not closing.is_alive()
