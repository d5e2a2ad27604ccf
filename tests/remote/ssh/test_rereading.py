"""Runs of another host that are unloaded to save memory, and read again."""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rltui.config import Config
from rltui.core.address import parse_logdir
from rltui.core.batch import Note, RunKey
from rltui.core.level import Level
from rltui.session import RunView, Session
from tests.clock import ManualClock
from tests.remote.ssh.far_host import PATIENCE_S, FarHost, reader_of

ROWS, TAGS, RUNS = 300, 60, 4
#: Seconds since the logs were written: no run is live any more.
AGO = 1e6
#: What one run holds, and half of another one.
BUDGET = int(1.5 * ROWS * TAGS * 8)


def write(logs: Path, first: int = 0, rows: int = ROWS, *names: str) -> None:
    """Append rows to runs that differ."""
    for number, name in enumerate(names or [f"run{n}" for n in range(RUNS)]):
        log = logs / name / "metrics.jsonl"
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("a") as out:
            for step in range(first, first + rows):
                values = ", ".join(f'"x/{t}": {step + t + number}.5' for t in range(TAGS))
                out.write(f'{{"step": {step}, "loss": {1 / (step + 1)}, {values}}}\n')
        os.utime(log, (time.time() - AGO, time.time() - AGO))


class Watch:
    """A live session, in the hands of a screen."""

    def __init__(self, address: str, budget: int = BUDGET) -> None:
        config = Config()
        small = replace(config, watch=replace(config.watch, memory_bytes=budget, fast_s=0.05))
        self.clock = ManualClock(time.time())
        self.session = Session([parse_logdir(address)], small, clock=self.clock)
        self._news = threading.Event()
        self.session.reader.on_batch = self._news.set
        self.session.scan()
        self.session.start()

    def until(self, done: Callable[[], object]) -> None:
        """Drain when there is news, or after a second as a screen does."""
        begun = time.monotonic()
        while time.monotonic() - begun < PATIENCE_S:  # by time: news may come in many pieces
            self.session.drain(math.inf)
            self.session.refresh_progress()
            if done():
                return
            self._news.wait(1.0)
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

    def unloaded(self) -> list[RunView]:
        return [v for v in self.session.runs() if v.data.unloaded]

    def loaded(self, name: str) -> RunView:
        """A run with its points."""
        view = self.session.views[RunKey(0, name)]
        view.series("x/7")
        self.until(lambda: not view.data.unloaded)
        return view


@contextmanager
def watching(address: str, budget: int = BUDGET) -> Iterator[Watch]:
    watch = Watch(address, budget)
    try:
        watch.read()
        yield watch
    finally:
        watch.session.stop()


def test_a_small_memory_suffices_and_shows_the_same(tmp_path: Path, far_host: FarHost) -> None:
    write(tmp_path)
    with watching(str(tmp_path), 1 << 30) as here, watching(f"node7:{tmp_path}") as there:
        assert not here.unloaded()
        assert there.held <= BUDGET < here.held
        assert not there.session.memory.over
        for view in here.session.runs():
            other = there.session.views[view.key]
            assert other.report is not None
            assert view.report is not None
            assert other.report.findings == view.report.findings
            assert other.report.level is view.report.level
            again = there.loaded(view.name)
            assert again.data.tags == view.data.tags
            for tag in view.data.tags:
                mine, theirs = view.series(tag), again.series(tag)
                assert np.array_equal(mine.steps, theirs.steps)
                assert np.array_equal(mine.values, theirs.values)
            there.until(lambda: there.held <= BUDGET)
        assert not there.session.troubles()
    assert len(far_host.connections) == 2  # the second one is for reading again


def test_a_new_connection_takes_the_place_of_a_lost_one(tmp_path: Path, far_host: FarHost) -> None:
    write(tmp_path)
    with watching(f"node7:{tmp_path}") as there:
        for view in there.unloaded()[:2]:
            far_host.cut()  # the newest one, by which runs are read again
            assert there.loaded(view.name).series("x/7").count == ROWS
        assert len(far_host.connections) == 4
        assert not there.session.troubles()


def test_out_of_reach_a_run_stays_as_it_was_until_the_host_is_back(
    tmp_path: Path, far_host: FarHost
) -> None:
    logs, ssh = tmp_path / "logs", tmp_path / "ssh"
    write(logs)
    with watching(f"node7:{logs}") as there:
        view, works = there.unloaded()[0], ssh.read_text()
        level = view.report and view.report.level
        ssh.write_text("#!/bin/sh\necho no route >&2; exit 255\n")
        for pid in far_host.connections:
            os.killpg(pid, signal.SIGKILL)
        assert view.series("x/7").count == 0
        there.until(lambda: any("cannot be read again now" in n.message for n in notes_of(view)))
        assert any("no route" in n.message for n in notes_of(view))
        assert view.data.unloaded
        assert not view.data.loading
        assert (view.data.count("x/7"), view.report and view.report.level) == (ROWS, level)
        there.session.drain()
        assert not there.session.memory.waits  # only who looks asks again
        ssh.write_text(works)
        there.clock.advance(60)
        assert there.loaded(view.name).series("x/7").count == ROWS
        assert not notes_of(view)


def notes_of(view: RunView) -> list[Note]:
    return [n for n in view.data.files.notes if n.level > Level.OK]


def test_a_run_that_grows_is_loaded_and_judged_whole(tmp_path: Path, far_host: FarHost) -> None:
    write(tmp_path)
    with watching(f"node7:{tmp_path}") as there:
        view = there.unloaded()[0]
        write(tmp_path, ROWS, 5, view.name)
        there.until(lambda: view.data.last_step == ROWS + 4 and not view.data.unloaded)
        assert list(view.series("loss").steps) == list(range(ROWS + 5))


def test_what_the_files_there_no_longer_hold_is_reported(tmp_path: Path, far_host: FarHost) -> None:
    write(tmp_path)
    with watching(f"node7:{tmp_path}") as there:
        view = there.unloaded()[0]
        (tmp_path / view.name / "metrics.jsonl").unlink()
        assert view.series("x/7").count == 0
        there.until(lambda: any("does not hold them any more" in n.message for n in notes_of(view)))
        assert view.data.unloaded
        assert view.data.last_step == ROWS - 1


@pytest.mark.parametrize("host", ["", "node7:"])
def test_a_headless_command_keeps_the_limit(host: str, tmp_path: Path, far_host: FarHost) -> None:
    write(tmp_path)
    config = Config()
    small = replace(config, watch=replace(config.watch, memory_bytes=BUDGET // 50))
    session = Session([parse_logdir(f"{host}{tmp_path}")], small)
    session.scan()
    session.memory._checked = -BUDGET  # as after many bytes
    session.read_all()
    session.memory.enforce()
    assert [v.data.unloaded for v in session.runs()] == [True] * RUNS
    assert [v.series("x/3").count for v in session.runs()] == [ROWS] * RUNS
    assert not any(map(notes_of, session.runs()))
    session.stop()


def test_runs_of_several_hosts_keep_their_numbers(tmp_path: Path, far_host: FarHost) -> None:
    write(tmp_path, 0, ROWS, "a")
    reader = reader_of(f"node7:{tmp_path}", str(tmp_path), f"node8:{tmp_path}")
    reader.scan()
    batches = list(reader.read_all())
    assert [b.run for b in batches] == [RunKey(n, "a") for n in range(3)]
    for batch in batches:
        sources = {batch.source.path: batch.source}
        assert reader.rereadable(batch.run, sources, [0])
        assert not reader.rereadable(batch.run, sources, [1])
        again = reader.read_again(batch.run, sources, [0])
        assert again is not None
        (found,) = again
        assert (found.run, found.source.path) == (batch.run, batch.source.path)
        assert found.blocks[0].points == batch.blocks[0].points
    reader.stop()


def test_a_last_line_without_its_end_comes_again(tmp_path: Path, far_host: FarHost) -> None:
    (tmp_path / "progress.csv").write_text("step,loss\n1,1.5\n2,2.5")
    reader = reader_of(f"node7:{tmp_path}")
    batches = list(reader.read_all())
    again = reader.read_again(batches[0].run, {b.source.path: b.source for b in batches}, [0])
    assert again is not None
    assert [list(x.steps) for b in again for x in b.blocks] == [[1], [2]]
    reader.stop()
