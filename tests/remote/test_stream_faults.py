"""The fault machine over a connection that is lost at any moment, in the middle of a frame."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import hypothesis.strategies as st
from hypothesis import HealthCheck, settings
from hypothesis.stateful import rule

from rltui.core.batch import Batch
from rltui.core.errors import SourceError
from rltui.remote.wire.batches import BatchDecoder, BatchEncoder
from rltui.remote.wire.framing import FrameReader, FrameWriter
from rltui.sources.follow.reader import Reader
from rltui.sources.follow.resume import HandedOver, says_something
from rltui.sources.options import ReaderOptions
from tests.clock import ManualClock
from tests.sources.test_fault_machine import FaultMachine, Monitor

EXAMPLES = int(os.environ.get("RLTUI_EXAMPLES", "40"))


class Wire:
    """Bytes in flight from one encoder to one decoder."""

    def __init__(self) -> None:
        self.flying = b""
        self._writer = FrameWriter(self._take)
        self._encoder = BatchEncoder()
        self._reader = FrameReader()
        self._decoder = BatchDecoder(1)

    def _take(self, data: bytes) -> None:
        self.flying += data

    def send(self, batch: Batch) -> None:
        for frame in self._encoder.frames(batch):
            self._writer.put(frame)
        self._writer.flush()

    def receive(self, size: int) -> list[Batch]:
        data, self.flying = self.flying[:size], self.flying[size:]
        taken = [self._decoder.batch_of(frame) for frame in self._reader.feed(data)]
        return [batch for batch in taken if batch is not None]


class DistantMonitor(Monitor):
    """What is read reaches the store through a connection."""

    def __init__(self, logdir: Path, clock: ManualClock, budget: int, *, live: bool) -> None:
        self._budget = budget
        self._logdir = logdir
        self._known = HandedOver()
        self._wire = Wire()
        self.connected = False
        super().__init__(logdir, clock, budget, live=live)
        self._connect()

    def look(self, most: int = 1 << 30) -> None:
        if not self.connected:
            self._connect()
        if self.connected:
            super().look(most)
            self._arrive(len(self._wire.flying))

    def lose(self, share: float) -> None:
        """Lose the connection when this share of what is read next has arrived."""
        if self.connected:
            flying = self._wire
            with suppress(SourceError):
                arrive, self._arrive = self._arrive, lambda size: None  # type: ignore[method-assign]
                try:
                    super().look()
                finally:
                    self._arrive = arrive  # type: ignore[method-assign]
            self._arrive(int(share * len(flying.flying)))
            self.connected = False

    def _connect(self) -> None:
        self._wire, there = Wire(), Wire()
        for batch in self._known:
            there.send(batch)
        known = HandedOver(there.receive(len(there.flying)))
        reader = Reader(
            *([self._logdir], ReaderOptions(self.clock)),
            budget_bytes=self._budget,
            handed_over=known,
        )
        self._queue.batches.clear()
        try:
            self._reader = self._watched(reader)
            if not self.live:
                reader.scan()
        except SourceError:
            return
        for batch in known.vanished():
            self._take(batch)
        self.connected = True

    def _take(self, batch: Batch) -> None:
        if says_something(batch):
            self._wire.send(batch)

    def _arrive(self, size: int) -> None:
        for batch in self._wire.receive(size):
            self._known.note(batch)
            super()._take(batch)


class DistantMachine(FaultMachine):
    """A disk on another host."""

    def new_monitor(self, logdir: Path, budget: int, *, live: bool) -> Monitor:
        return DistantMonitor(logdir, self.clock, budget, live=live)

    @rule(share=st.floats(0, 1))
    def lose_connection(self, share: float) -> None:
        with self.disk.failing():
            self.monitor.lose(share)


TestDistantMachine = DistantMachine.TestCase
TestDistantMachine.settings = settings(
    max_examples=EXAMPLES,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
