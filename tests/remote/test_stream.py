"""The far side of a stream."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from rltui.core.batch import Batch
from rltui.remote.stream import Stream
from rltui.remote.wire import FrameReader, Kind
from rltui.remote.wire.messages import State
from rltui.sources.follow.reader import Reader
from tests.builders import a_batch


class _StopError(Exception):
    pass


class OneBatch:
    """A reader whose progress was told before its batch is drained."""

    progress_now = (9, 9)
    run_count = 1
    notes = unclaimed = ()

    def __init__(self, received: list[bytes]) -> None:
        self._received = received
        self._batches = [a_batch()]
        self.kinds: list[int] = []

    def start(self) -> None: ...
    def stop(self) -> None: ...

    def progress(self) -> tuple[int, int]:
        return self.progress_now

    def drain(self) -> list[Batch]:
        found, self._batches = self._batches, []
        return found

    def wait(self, timeout: float) -> None:
        if not self._batches:
            self.kinds = [f.kind for f in FrameReader().feed(b"".join(self._received))]
            raise _StopError


def test_a_batch_is_on_its_way_before_the_reader_waits_for_the_next_one(tmp_path: Path) -> None:
    received: list[bytes] = []
    reader, stream = OneBatch(received), Stream([tmp_path], received.append)
    stream._state = State(reader.progress_now, 1, (), ())
    with pytest.raises(_StopError):
        stream._follow(cast(Reader, reader))
    assert reader.kinds == [Kind.BATCH]
