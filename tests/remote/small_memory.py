"""A session that may hold one run and a half in memory, in the hands of a screen."""

from __future__ import annotations

import json
import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from rltui.config import Config
from rltui.core.address import parse_logdir
from rltui.core.batch import Note
from rltui.core.level import Level
from rltui.session import JudgedRun, Session
from tests.clock import ManualClock

ROWS, TAGS, RUNS = 300, 60, 4
#: Seconds since the logs were written: no run is live any more.
AGO = 1e6
#: What one run holds, and half of another one.
BUDGET = int(1.5 * ROWS * TAGS * 8)
#: Seconds that something may take on a busy machine.
PATIENCE_S = 60.0


def write(log: Path, number: int, first: int = 0, rows: int = ROWS) -> None:
    """Append rows to the log of a run; those of each ``number`` differ."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a") as out:
        for step in range(first, first + rows):
            values = {f"x/{t}": step + t + number + 0.5 for t in range(TAGS)}
            out.write(json.dumps({"step": step, "loss": 1 / (step + 1), **values}) + "\n")
    os.utime(log, (time.time() - AGO, time.time() - AGO))


def small_config(budget: int = BUDGET) -> Config:
    """Holds so many bytes."""
    config = Config()
    return replace(config, watch=replace(config.watch, memory_bytes=budget, fast_s=0.05))


class Watch:
    """A live session."""

    def __init__(self, address: str, budget: int) -> None:
        self.clock = ManualClock(time.time())
        logdirs = [parse_logdir(address)]
        self.session = Session(logdirs, small_config(budget), clock=self.clock)
        self._news = threading.Event()
        self.session.reader.on_batch = self._news.set
        self.session.scan()
        self.session.start()

    def until(self, done: Callable[[], object]) -> None:
        """Drain when there is news, or after a while as a screen does."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:  # by time: news may come in many pieces
            self.session.drain(math.inf)
            self.session.refresh_progress()
            if done():
                return
            self._news.wait(0.2)
            self._news.clear()
            self.clock.advance(1.0)
        raise AssertionError(self.session.troubles())

    def read(self) -> None:
        """Wait until every log has been read and judged, and the budget is met or cannot be."""
        runs = self.session.runs
        self.until(
            lambda: (
                len(runs()) == RUNS
                and all(r.report is not None and not r.data.files.reading for r in runs())
                and not self.session.memory.is_full
            )
        )

    @property
    def held(self) -> int:
        return sum(v.data.table.nbytes for v in self.session.runs())

    def unloaded(self) -> list[JudgedRun]:
        return [v for v in self.session.runs() if v.data.unloaded]

    def loaded(self, view: JudgedRun) -> JudgedRun:
        """A run with its points, which a screen asks for again and again."""
        self.until(lambda: view.series("x/7").count >= ROWS and not view.data.unloaded)
        return view

    def until_noted(self, view: JudgedRun, text: str) -> None:
        self.until(lambda: any(text in note.message for note in notes_of(view)))


@contextmanager
def watching(address: str, budget: int = BUDGET) -> Iterator[Watch]:
    watch = Watch(address, budget)
    try:
        watch.read()
        yield watch
    finally:
        watch.session.stop()


def notes_of(view: JudgedRun) -> list[Note]:
    return [n for n in view.data.files.notes if n.level > Level.OK]


def assert_same(whole: Watch, small: Watch) -> None:
    """A small memory shows what a large one shows."""
    assert not whole.unloaded()
    assert small.held <= BUDGET < whole.held
    assert not small.session.memory.over
    for view in whole.session.runs():
        other = small.session.views[view.key]
        assert other.report.findings == view.report.findings
        again = small.loaded(other)
        for tag in view.data.tags:
            assert view.series(tag).steps.tolist() == again.series(tag).steps.tolist()
            assert view.series(tag).values.tolist() == again.series(tag).values.tolist()
        small.until(lambda: small.held <= BUDGET)
    assert not small.session.troubles()
