"""Files that are torn, truncated, replaced, deleted and moved while they are being read.

A state machine does to the files of a logdir what writers, crashes, copies and network file
systems do, and reads them at random moments, sometimes not to their end. In the end torn
records are finished, what was moved is back, and then:

- of every file that is there, the newest generation that the reader handed over equals what a
  fresh decoder finds in its bytes: nothing is lost, nothing is doubled, nothing of an older
  generation is left in it;
- every row that was written whole and still lies in a file is among them, unless the writer
  itself wrote it behind a torn line;
- the store shows of these batches what its rules say: a point of an older generation or file
  is superseded if a later one that logs its tag began at or below its step (any tag if the
  writer declared it), and kept as it was otherwise. Every point is in one of the two exactly once.
- if no file began anew, the store equals a store that reads everything afresh.

``RLTUI_EXAMPLES=5000`` looks longer.
"""

from __future__ import annotations

import errno
import os
import shutil
import struct
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from rltui.core.batch import Batch, Restart, RunKey
from rltui.core.block import Block
from rltui.files import tail
from rltui.formats import FORMATS, Decoded
from rltui.sources import Reader
from rltui.store import Store
from tests.clock import ManualClock
from tests.formats import encode

EXAMPLES = int(os.environ.get("RLTUI_EXAMPLES", "80"))
TROUBLES = (errno.EACCES, errno.ESTALE, errno.EIO)
#: (tag, step, value)
Row = tuple[str, int, float]


@dataclass
class Log:
    """One file as its writer knows it."""

    path: Path
    events: bool
    step: int
    rest: bytes = b""
    """What is missing of a torn record."""
    rest_row: list[Row] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    """Rows that are whole on disk and that a reader must find."""
    spoiled: bool = False
    """Whether the file ends in the middle of a line that nobody will finish."""
    existing: bool = True


class Faults(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="faults-"))
        # two logdirs: what lies in one may be taken for logs of the same training
        self.logdirs = {True: self.root / "events", False: self.root / "lines"}
        for logdir in self.logdirs.values():
            (logdir / "run").mkdir(parents=True)
        self.clock = ManualClock(time.time())
        self.logs: list[Log] = []
        self.uid = 0
        self.begins: set[int] = set()
        self.refused: dict[str, int] = {}
        self.batches: list[Batch] = []
        self.store = Store()
        self.real_open = os.open
        self.patches: list[Any] = [
            patch.object(os, "open", self.open),
            patch.object(tail, "_SYSTEM_CLOCK", self.clock),
        ]
        for each in self.patches:
            each.start()

    def open(self, path: Any, *args: Any, **kwargs: Any) -> int:
        code = self.refused.get(str(path))
        if code is not None:
            raise OSError(code, os.strerror(code))
        return self.real_open(path, *args, **kwargs)

    # -- the writer -------------------------------------------------------------------------

    def begin(self, wanted: int) -> int:
        """A first step that no other file has: else two files may be two runs."""
        while wanted in self.begins:
            wanted += 1
        self.begins.add(wanted)
        return wanted

    def row(self, log: Log, step: int, wide: bool) -> tuple[bytes, list[Row]]:
        self.uid += 1
        uid = self.uid
        rows: list[Row] = [("loss", step, float(uid)), ("reward", step, float(-uid))]
        if wide:
            rows.append(("eval/score", step, uid + 0.5))
        if log.events:
            wall = 1.78e9 + uid
            parts = (
                encode.event(step, wall, encode.simple(tag.encode(), value))
                for tag, step, value in rows
            )
            return b"".join(parts), rows
        cells = ", ".join(f'"{tag}": {value}' for tag, _, value in rows)
        return f'{{"step": {step}, {cells}}}\n'.encode(), rows

    def place(self, log: Log) -> Path:
        """Where the file is now: the writer's handle follows it."""
        away = self.away(log.events)
        return away / log.path.name if away.exists() else log.path

    def run(self, events: bool) -> Path:
        return self.logdirs[events] / "run"

    def away(self, events: bool) -> Path:
        return self.root / f"away-{events}"

    def put(self, log: Log, data: bytes, mode: str = "ab") -> None:
        with self.place(log).open(mode) as file:
            file.write(data)

    def write_rows(self, log: Log, count: int, wide: bool, stride: int = 1) -> None:
        self.finish(log)
        for _ in range(count):
            data, rows = self.row(log, log.step, wide)
            self.put(log, data)
            if log.spoiled:
                log.spoiled = False  # this row is part of a torn line
            else:
                log.rows += rows
            log.step += stride

    def finish(self, log: Log) -> None:
        """Write what is missing of a torn record."""
        if log.rest:
            self.put(log, log.rest)
            log.rows += log.rest_row
            log.rest = b""

    def start(self, log: Log, step: int, purge: bool = False) -> bytes:
        """How a file begins; its writer knows nothing of what was there before."""
        log.step = self.begin(step)
        log.rest, log.rows, log.spoiled = b"", [], False
        self.uid += 1
        if not log.events:
            return b""
        wall = 1.78e9 + self.uid
        return encode.header(wall) + (encode.session_start(log.step, wall) if purge else b"")

    def chosen(self, number: int) -> Log:
        living = [log for log in self.logs if log.existing]
        return living[number % len(living)]

    # -- rules ------------------------------------------------------------------------------

    @initialize(budget=st.sampled_from([37, 300, 2000, 1 << 20]))
    def begin_reading(self, budget: int) -> None:
        self.budget = budget
        self.reader = self.fresh_reader()
        for name, events in (("x.tfevents.10", True), ("y.jsonl", False)):
            log = Log(self.run(events) / name, events, 0)
            self.logs.append(log)
            self.put(log, self.start(log, 5 if events else 1))

    def fresh_reader(self) -> Reader:
        return Reader(list(self.logdirs.values()), clock=self.clock, budget_bytes=self.budget)

    @rule(number=st.integers(0, 9), count=st.integers(1, 6), wide=st.booleans())
    def append(self, number: int, count: int, wide: bool) -> None:
        if any(log.existing for log in self.logs):
            self.write_rows(self.chosen(number), count, wide)

    @rule(number=st.integers(0, 9), back=st.integers(1, 5))
    def second_writer(self, number: int, back: int) -> None:
        """Rows of lower steps in between, as of another process with the same file."""
        if any(log.existing for log in self.logs):
            log = self.chosen(number)
            self.finish(log)
            data, rows = self.row(log, max(0, log.step - back), False)
            self.put(log, data)
            if not log.spoiled:
                log.rows += rows
            log.spoiled = False

    @rule(number=st.integers(0, 9), share=st.floats(0, 1, exclude_max=True))
    def tear(self, number: int, share: float) -> None:
        """The first part of a record is there, the rest comes later."""
        if any(log.existing for log in self.logs):
            log = self.chosen(number)
            self.finish(log)
            data, rows = self.row(log, log.step, False)
            cut = max(1, int(share * len(data)))
            self.put(log, data[:cut])
            log.rest, log.rest_row = data[cut:], [] if log.spoiled else rows
            log.spoiled = False
            log.step += 1

    @rule(number=st.integers(0, 9))
    def crash(self, number: int) -> None:
        """A torn record that nobody finishes."""
        if any(log.existing for log in self.logs):
            log = self.chosen(number)
            if log.rest:
                log.rest = b""
                log.spoiled = not log.events

    @rule(number=st.integers(0, 9), size=st.integers(1, 9000), aligned=st.booleans())
    def hole(self, number: int, size: int, aligned: bool) -> None:
        if any(log.existing for log in self.logs):
            log = self.chosen(number)
            log.rest = b""
            held = self.place(log).stat().st_size
            if not held:
                return  # nothing says what the file is
            if aligned:
                size = size // 4096 * 4096 + 4096 - held % 4096
            self.put(log, bytes(size))
            log.spoiled = not log.events

    @rule(number=st.integers(0, 9), step=st.integers(0, 20), count=st.integers(0, 9))
    def truncate_and_rewrite(self, number: int, step: int, count: int) -> None:
        if any(log.existing for log in self.logs):
            log = self.chosen(number)
            self.put(log, self.start(log, step), "wb")
            self.write_rows(log, count, False)

    @rule(number=st.integers(0, 9), size=st.integers(0, 2000))
    def cut(self, number: int, size: int) -> None:
        """The end is cut off, as a tool that repairs a torn file does."""
        if any(log.existing for log in self.logs):
            log = self.chosen(number)
            path = self.place(log)
            os.truncate(path, min(size, path.stat().st_size))
            log.rest, log.rows = b"", []  # only compared with the bytes
            log.spoiled = not log.events
            if not path.stat().st_size:
                log.spoiled = False

    @rule(number=st.integers(0, 9), longer=st.booleans(), step=st.integers(0, 20))
    def replace(self, number: int, longer: bool, step: int) -> None:
        """A copy of itself (rsync) or another file takes its name."""
        if any(log.existing for log in self.logs):
            log = self.chosen(number)
            other = self.root / "other"
            if longer:
                self.finish(log)
                shutil.copyfile(self.place(log), other)
            else:
                other.write_bytes(self.start(log, step))
            other.replace(self.place(log))
            self.write_rows(log, 2, False)

    @rule(number=st.integers(0, 9))
    def delete(self, number: int) -> None:
        """Also: rotated to a place where nobody looks."""
        if any(log.existing for log in self.logs):
            log = self.chosen(number)
            self.place(log).unlink()
            log.existing = False

    @rule(step=st.integers(0, 20), count=st.integers(0, 9))
    def create_again(self, step: int, count: int) -> None:
        for log in self.logs:
            if not log.existing:
                log.existing = True
                self.put(log, self.start(log, step))
                self.write_rows(log, count, False)
                return

    @precondition(lambda self: len(self.logs) < 5 and self.run(True).exists())
    @rule(step=st.integers(0, 30), count=st.integers(0, 9), purge=st.booleans())
    def resume(self, step: int, count: int, purge: bool) -> None:
        """A resumed training writes a second file, with or without ``purge_step``."""
        log = Log(self.run(True) / f"x.tfevents.{10 + len(self.logs)}", True, 0)
        self.logs.append(log)
        self.put(log, self.start(log, step, purge))
        self.write_rows(log, count, False)

    @rule(number=st.integers(0, 9), code=st.sampled_from(TROUBLES))
    def refuse(self, number: int, code: int) -> None:
        self.refused[str(self.logs[number % len(self.logs)].path)] = code

    @rule()
    def allow(self) -> None:
        self.refused.clear()

    @rule(events=st.booleans())
    def move_away_or_back(self, events: bool) -> None:
        run, away = self.run(events), self.away(events)
        if run.exists():
            run.rename(away)
        else:
            away.rename(run)

    @rule(seconds=st.sampled_from([-86400.0, -30.0, 1.0, 3600.0]))
    def clock_jumps(self, seconds: float) -> None:
        self.clock._now += seconds

    @rule(seconds=st.sampled_from([0.1, 2.5, 6.0]))
    def time_passes(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule(most=st.sampled_from([1, 2, 5, 1000]))
    def read(self, most: int) -> None:
        """Perhaps not to the end: then the file changes while it is being read."""
        for count, batch in enumerate(self.reader.read_all(), 1):
            self.batches.append(batch)
            self.store.apply(batch)
            if count == most:
                break

    @invariant()
    def offsets_are_within_what_was_there(self) -> None:
        for batch in self.batches[-5:]:
            assert 0 <= batch.source.offset <= batch.source.size

    # -- the end ----------------------------------------------------------------------------

    def teardown(self) -> None:
        try:
            if self.logs:
                self.settle()
                self.check_reader()
                self.check_store()
                if not any(b.generation for b in self.batches):
                    self.check_against_fresh()
        finally:
            for each in self.patches:
                each.stop()
            shutil.rmtree(self.root)

    def settle(self) -> None:
        """Everything is mended, and looked at as often as patience asks for."""
        self.refused.clear()
        for events in (True, False):
            if self.away(events).exists():
                self.away(events).rename(self.run(events))
        for log in self.logs:
            if log.existing:
                self.finish(log)
        for _ in range(12):
            self.clock.advance(6.0)
            self.read(10_000)

    def check_reader(self) -> None:
        for log in self.logs:
            data = log.path.read_bytes() if log.existing else b""
            recognised = claimed(log.path, data)
            mine = [b for b in self.batches if b.source.path == log.path]
            if not data or not (mine or recognised):
                continue
            found = rows_of(Decoded(b.items) for b in self.newest(mine))
            fresh = [rows_of([decoder_of(log.path).feed(d)]) for d in readable(data)]
            assert found in fresh, log.path.name
            lost = Counter(log.rows) - Counter(fresh[-1])
            assert not lost, (log.path.name, lost)

    def newest(self, batches: list[Batch]) -> list[Batch]:
        generation = max((b.generation for b in batches), default=0)
        return [b for b in batches if b.generation == generation]

    def check_store(self) -> None:
        runs = {batch.run for batch in self.batches}
        assert set(self.store.runs) == runs  # no file was taken for another run
        for key in runs:
            kept, lost = expected([b for b in self.batches if b.run == key])
            assert shown(self.store, key) == (kept, lost)

    def check_against_fresh(self) -> None:
        read = {b.source.path: b.source.offset for b in self.batches}
        for log in self.logs:
            if not log.existing or log.path.stat().st_size < read.get(log.path, 0):
                return  # what was read is kept, and is nowhere else
            if len(readable(log.path.read_bytes())) > 1:
                return  # the two may have read different parts of it
        store, fresh = Store(), list(self.fresh_reader().read_all())
        for batch in fresh:
            store.apply(batch)
        if orders(fresh) != orders(self.batches):
            return  # a file with an older name came later, and keeps its place
        for key in store.runs:
            assert shown(store, key) == shown(self.store, key)


def readable(data: bytes) -> list[bytes]:
    """What a reader may have read of a file, least first.

    Zeros at its end are not read until something follows; the last of them that are part of a
    checksum are read or not, depending on where the pieces that were read end.
    """
    if not data.endswith(bytes(16)):
        return [data]
    data = data.rstrip(b"\0")
    return [data, data + bytes(3)]


def orders(batches: list[Batch]) -> dict[Path, int]:
    return {b.source.path: b.source.order for b in batches}


def claimed(path: Path, data: bytes) -> bool:
    """A file that begins with a torn row is not recognised as a log."""
    return any(f.claims_name(path.name) and f.claims(path, data) for f in FORMATS)


def decoder_of(path: Path) -> Any:
    form = next(f for f in FORMATS if f.claims_name(path.name))
    return form.decoder()


def rows_of(parts: Any) -> list[Row]:
    """All points by tag, in the order of the file."""
    points = encode.points_of(parts)
    return [
        (tag, step, struct.unpack("<d", value)[0])
        for tag in sorted(points)
        for step, _, value in points[tag]
    ]


def shown(store: Store, key: RunKey) -> tuple[Counter[Row], Counter[Row]]:
    """What the store shows, and what it keeps as superseded."""
    kept: Counter[Row] = Counter()
    lost: Counter[Row] = Counter()
    run = store.runs[key]
    for tag in run.tags:
        series = run.series(tag)
        assert (series.steps[1:] >= series.steps[:-1]).all()
        kept.update((tag, int(s), float(v)) for s, v in zip(series.steps, series.values))  # noqa: B905
        old = zip(series.old_points[0], series.old_points[2])  # noqa: B905
        lost.update((tag, int(s), float(v)) for s, v in old)
    return kept, lost


def expected(batches: list[Batch]) -> tuple[Counter[Row], Counter[Row]]:
    """The rules of the store, point by point."""
    branches: dict[tuple[int, int, int], tuple[list[int], list[Row], set[str]]] = {}
    parts: Counter[tuple[int, int]] = Counter()
    for batch in batches:
        place = (batch.source.order, batch.generation)
        for item in batch.items:
            if isinstance(item, Restart):
                parts[place] += 1
                rank = (*place, parts[place])
                branches[rank] = ([item.step], [], {"*"})
                continue
            assert isinstance(item, Block)
            starts, rows, tags = branches.setdefault((*place, parts[place]), ([], [], set()))
            starts.append(int(item.steps[0]))
            points = encode.points_of([Decoded((item,))])
            for tag, own in points.items():
                rows += [(tag, s, struct.unpack("<d", v)[0]) for s, _, v in own]
            tags.update(item.tags)
    kept: Counter[Row] = Counter()
    lost: Counter[Row] = Counter()
    ranks = sorted(branches)
    for rank in ranks:
        for row in branches[rank][1]:
            later = [branches[r] for r in ranks if r > rank and branches[r][0]]
            over = any(s[0] <= row[1] and not t.isdisjoint({row[0], "*"}) for s, _, t in later)
            (lost if over else kept)[row] += 1
    return kept, lost


TestFaults = Faults.TestCase
TestFaults.settings = settings(
    max_examples=EXAMPLES,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestFaults = pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisWarning")(TestFaults)
