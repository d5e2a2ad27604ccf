"""One log of each format on a disk that fails, written and spoiled in every way.

The monitor reads as it does while it watches, or from time to time to the end. Whenever the
trouble is over and it has had time, what it shows is compared with what the writers know
(:mod:`tests.sources.faulty_logs`); nothing of the program decides what is right.

``RLTUI_EXAMPLES=4000 HYPOTHESIS_PROFILE=hunt`` takes 100,000 steps.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from itertools import islice
from pathlib import Path
from typing import Any
from unittest.mock import patch

import hypothesis.strategies as st
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from rltui import store
from rltui.core.batch import Batch
from rltui.core.errors import SourceError
from rltui.files import tail
from rltui.sources import Reader
from rltui.sources.options import ReaderOptions
from rltui.store.run import RunData
from rltui.trackers import TRACKERS
from tests.clock import ManualClock
from tests.sources.faulty_logs import FORMS, TAGS, DiskTime, Form, Log, Point
from tests.sources.faulty_stores import STORES, Store, StoreLog
from tests.sources.simulated_disk import Call, SimulatedDisk

EXAMPLES = int(os.environ.get("RLTUI_EXAMPLES", "80"))
CODES = (errno.EACCES, errno.EIO, errno.ESTALE, errno.ENOMEM, errno.ETIMEDOUT)
#: Seconds between two looks that let every file come due, and how many a settled file needs:
#: one that stays shorter is believed at the eighth.
_LOOK_S, _LOOKS = 31.0, 14


class Collected:
    """Has the face of the reader's queue; never full."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []

    def put(self, batch: Batch) -> bool:
        self.batches.append(batch)
        return True

    def put_and_wait(self, batch: Batch, drains: int, timeout: float) -> bool:
        return self.put(batch)


class Monitor:
    """A reader and its store, without a thread."""

    def __init__(self, logdir: Path, clock: ManualClock, budget: int, *, live: bool) -> None:
        self.clock = clock
        self.live = live
        self.store = store.Store()
        self._queue = Collected()
        reader = Reader([logdir], ReaderOptions(clock), budget_bytes=budget)
        self._reader = self._watched(reader)

    def _watched(self, reader: Reader) -> Reader:
        """A reader whose batches get into the queue; it has searched if it is to read live."""
        reader.loop._queue = self._queue  # type: ignore[assignment]
        if self.live:
            reader.scan()
        return reader

    def look(self, most: int = 1 << 30) -> None:
        """One turn of the reader's thread; or read all, but stop after ``most`` batches."""
        if not self.live:
            with suppress(SourceError):  # the logdir itself cannot be read
                for batch in islice(self._reader.read_all(), most):
                    self._take(batch)
            return
        self._reader.loop._step(())
        for batch in self._queue.batches:
            self._take(batch)
        self._queue.batches.clear()

    def _take(self, batch: Batch) -> None:
        assert 0 <= batch.source.offset <= batch.source.size
        if not batch.sampled:
            self.store.apply(batch)

    def runs_of(self, path: Path) -> list[RunData]:
        return [run for run in self.store.runs.values() if path in run.files.by_path]


def points_of(run: RunData) -> tuple[Counter[Point], Counter[Point]]:
    """What a run shows, and what it keeps as superseded."""
    kept: Counter[Point] = Counter()
    lost: Counter[Point] = Counter()
    for tag in TAGS:
        series = run.series(tag)
        assert (series.steps[1:] >= series.steps[:-1]).all()
        for found, steps, values in (
            (kept, series.steps, series.values),
            (lost, series.old_points[0], series.old_points[2]),
        ):
            found.update((tag, int(s), float(v)) for s, v in zip(steps, values, strict=True))
    return kept, lost


class FaultMachine(RuleBasedStateMachine):
    """A disk, the logs on it, and a monitor."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="faults-"))
        self.clock = ManualClock(time.time())
        self.disk = SimulatedDisk(self.clock)
        self._patches = ExitStack()
        self._patches.enter_context(patch.object(tail, "_SYSTEM_CLOCK", self.clock))
        for tracker in TRACKERS:
            self._patches.enter_context(patch.object(tracker, "_clock", self.clock))
        self.log: Any = None
        """The :class:`Log`, once it has begun."""
        self.moved = 0
        self.away = self.root / "away"

    @initialize(
        form=st.sampled_from([*FORMS, *STORES]),
        budget=st.sampled_from([37, 300, 2000, 1 << 20]),
        live=st.booleans(),
        tick=st.sampled_from([0.0, 0.01, 2.0]),
        rows=st.integers(1, 4),
    )
    def open(self, form: type[Form], budget: int, live: bool, tick: float, rows: int) -> None:
        logdir = self.root / "logs"
        kind = StoreLog if issubclass(form, Store) else Log
        self.log = kind(form(), logdir, DiskTime(self.clock, tick))
        self.log.begin(3, rows)
        self.monitor = self.new_monitor(logdir, budget, live=live)

    def new_monitor(self, logdir: Path, budget: int, *, live: bool) -> Monitor:
        """What watches the log."""
        return Monitor(logdir, self.clock, budget, live=live)

    @property
    def present(self) -> Log | None:
        """The log, if it is there."""
        there = self.log is not None and self.log.existing and not self.away.exists()
        return self.log if there else None

    # -- the writers ------------------------------------------------------------------------

    @rule(rows=st.integers(1, 6))
    def append(self, rows: int) -> None:
        if log := self.present:
            log.append(rows)

    @rule(share=st.floats(0, 1, exclude_max=True))
    def tear(self, share: float) -> None:
        if log := self.present:
            log.tear(share)

    @rule()
    def crash(self) -> None:
        if log := self.present:
            log.crash()

    @rule()
    def recover_from_a_full_disk(self) -> None:
        if log := self.present:
            log.recover()

    @rule()
    def garbage(self) -> None:
        if log := self.present:
            log.spoil(log.form.garbage)

    @rule(size=st.integers(1, 9000))
    def hole(self, size: int) -> None:
        if (log := self.present) and log.size:
            log.spoil(bytes(size))

    @rule(step=st.integers(0, 20), rows=st.integers(0, 6))
    def write_anew(self, step: int, rows: int) -> None:
        if log := self.present:
            log.begin(step, rows)

    @rule(share=st.floats(0, 1))
    def cut(self, share: float) -> None:
        if log := self.present:
            log.cut(int(share * log.size))

    @rule()
    def replace_by_copy(self) -> None:
        if (log := self.present) and log.size:
            log.replace_by_copy(self.root)

    @rule(step=st.integers(0, 20))
    def replace_by_other(self, step: int) -> None:
        if log := self.present:
            log.replace_by_other(self.root, step)

    @rule()
    def delete(self) -> None:
        if log := self.present:
            log.delete()

    @rule(rows=st.integers(0, 6))
    def rotate(self, rows: int) -> None:
        if log := self.present:
            self.moved += 1
            log.move(self.root / f"moved-{self.moved}")
            log.begin(log.step, rows)

    @rule()
    def move_away_or_back(self) -> None:
        """The directory, with the log as it is."""
        if self.away.exists():
            self.away.rename(self.log.path.parent)
        elif log := self.present:
            log.crash()
            log.path.parent.rename(self.away)

    @rule(step=st.integers(0, 20), rows=st.integers(0, 6))
    def create_again(self, step: int, rows: int) -> None:
        if self.log is not None and not self.log.existing:
            self.log.begin(step, rows)

    # -- the disk ---------------------------------------------------------------------------

    @rule(
        call=st.sampled_from([Call.OPEN, Call.READ, Call.STAT]),
        code=st.sampled_from(CODES),
        calls=st.sampled_from([1, 2, 3, 1000]),
    )
    def refuse(self, call: Call, code: int, calls: int) -> None:
        self.disk.refuse(self.log.path, call, code, calls)

    @rule(code=st.sampled_from(CODES), above=st.booleans())
    def hide_directory(self, code: int, above: bool) -> None:
        directory = self.log.path.parent
        self.disk.refuse(directory.parent if above else directory, Call.LIST, code)

    @rule(share=st.floats(0, 1), calls=st.integers(1, 6))
    def old_size(self, share: float, calls: int) -> None:
        if log := self.present:
            self.disk.show_old_size(log.path, int(share * log.size), calls)

    @rule(most=st.sampled_from([7, 100, 1 << 30]), seconds=st.sampled_from([0.0, 0.5, 20.0]))
    def slow(self, most: int, seconds: float) -> None:
        self.disk.most_bytes, self.disk.seconds_per_read = most, seconds

    @rule()
    def mend(self) -> None:
        self.disk.mend()

    @rule(seconds=st.sampled_from([-3600.0, -30.0, 1.0, 300.0]))
    def clock_jumps(self, seconds: float) -> None:
        self.clock._now += seconds

    # -- the monitor ------------------------------------------------------------------------

    @rule(
        seconds=st.sampled_from([0.0, 0.3, 2.5, 6.0, 31.0]),
        looks=st.sampled_from([1, 1, 3, 9]),
        most=st.sampled_from([1, 3, 1000]),
    )
    def look(self, seconds: float, looks: int, most: int) -> None:
        for _ in range(looks):
            self.clock.advance(seconds)
            with self.disk.failing():
                self.monitor.look(most)

    @rule()
    def settle(self) -> None:
        """The trouble is over, torn rows are finished, and the monitor has time."""
        self.disk.mend()
        if self.away.exists():
            self.move_away_or_back()
        if log := self.present:
            log.finish()
        self.look(_LOOK_S, _LOOKS, 1 << 30)
        self.compare()

    def compare(self) -> None:
        """The monitor shows what the writer knows."""
        log = self.log
        expected, runs = log.expected(), self.monitor.runs_of(log.path)
        assert len(runs) == len(self.monitor.store.runs) <= 1
        kept, lost = points_of(runs[0]) if runs else (Counter[Point](), Counter[Point]())
        halves = log.joined if self.monitor.live else log.joined | log.torn

        def certain(points: Iterable[Point]) -> list[Point]:
            return [p for p in points if p[:2] not in halves and p[2] not in log.smeared]

        missing = certain(expected.must - kept)
        assert not missing
        surplus = certain(kept - expected.may)
        assert not surplus
        assert not [p for p in certain(lost) if not log.knows(p)]
        if not log.began_anew:
            assert not lost, "nothing began anew"
        log.was_seen()

    def teardown(self) -> None:
        try:
            if self.log is not None:
                self.settle()
        finally:
            self._patches.close()
            if isinstance(self.log, StoreLog):
                self.log.crash()
            shutil.rmtree(self.root)


TestFaultMachine = FaultMachine.TestCase
TestFaultMachine.settings = settings(
    max_examples=EXAMPLES,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
