"""Times of rows become true ones: by the change time of the file, whatever the log lacks."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from rltui.core.batch import NO_CLOCK, Batch, LogClock, Restart
from rltui.core.block import Block
from rltui.store import RunData
from rltui.store.log_clock import shift_of
from rltui.store.pace import Duration, Pace
from tests.builders import LOGDIR, START, a_batch, a_block, a_run, a_source
from tests.tables import cases

HOUR, DAY = 3600.0, 86400.0
ZONELESS, TIMELESS, BAR, CONTRADICTS = 900.0, DAY, 1.0, -1.0


def shift(clock: LogClock, modified: float = START, known: float | None = None) -> float:
    return shift_of(a_source(modified=modified)._replace(clock=clock), known)


@cases(__file__, "shifts")
def test_shifts(behind: float, at_end: bool, unit: float, expected: float) -> None:
    assert shift(LogClock(START - behind, unit, 0 if at_end else 1)) == expected


def test_a_shift_stays_unless_rows_would_be_in_the_future() -> None:
    clock = LogClock(500.0, BAR)
    assert shift(clock, known=START - 600) == START - 600
    assert shift(clock, known=START - 400) == START - 500
    assert math.isnan(shift(LogClock(500.0, CONTRADICTS)))
    assert math.isnan(shift(clock, known=math.nan))
    assert math.isnan(shift(clock, modified=0.0))


def batch(
    block: Block, clock: LogClock = NO_CLOCK, modified: float = START, *, more: bool = False
) -> Batch:
    source = a_source("train.log", format="console", modified=modified)._replace(clock=clock)
    return replace(a_batch(block, source=source), more=more)


def walls(run: RunData, tag: str = "loss") -> list[float]:
    return [float(w) - START for w in run.series(tag).wall_times]


def rows(first: int, times: Sequence[float]) -> Block:
    return a_block({"loss": [1.0] * len(times)}, first=first, walls=times)


def test_times_are_right_once_the_end_of_the_log_is_known() -> None:
    run = RunData(a_batch().run, LOGDIR)
    run.apply(batch(rows(1, [10.0, 20.0]), more=True))
    run.apply(batch(rows(3, [30.0]), LogClock(35.0, BAR)))
    assert walls(run) == [-25.0, -15.0, -5.0]
    run.apply(batch(rows(4, [40.0]), LogClock(40.0, BAR), START + 6))
    assert walls(run) == [-25.0, -15.0, -5.0, 5.0]
    assert run.extent.first_wall_time == START - 25
    assert run.extent.last_wall_time == START + 5
    kept = run.series("loss")
    run.apply(batch(rows(5, [50.0]), LogClock(50.0, BAR), START + 16))
    assert run.series("loss").epoch == kept.epoch
    run.apply(batch(rows(6, [60.0]), LogClock(60.0, CONTRADICTS), START + 26))
    assert np.isnan(walls(run)).all()
    assert run.extent.last_wall_time is None


def test_many_small_batches_are_shifted() -> None:
    run = RunData(a_batch().run, LOGDIR)
    for n in range(1, 300):
        run.apply(batch(rows(n, [10.0 * n]), more=True))
    run.series("loss")
    run.apply(batch(rows(300, [3000.0]), LogClock(3000.0, BAR)))
    assert walls(run) == [10.0 * n - 3000 for n in range(1, 301)]


SECONDS = {
    "elapsed": (Duration.ELAPSED, [2.0, 4.0, 6.0, 1.0], [-5.0, -3.0, -1.0, 0.0]),
    "of a step": (Duration.STEP, [9.0, 2.0, 3.0, 4.0], [-9.0, -7.0, -4.0, 0.0]),
    "of a row": (Duration.ROW, [9.0, 2.0, math.nan, 4.0], [-6.0, -4.0, -2.0, 0.0]),
    "speed": (Duration.SPEED, [9.0, 0.5, 0.25, 1.0], [-7.0, -5.0, -1.0, 0.0]),
}


@pytest.mark.parametrize("cut", [0, 2])
@pytest.mark.parametrize("case", SECONDS)
def test_durations_are_summed_up_to_the_change_of_the_file(case: str, cut: int) -> None:
    """Whether the tag is known before the rows or after them."""
    how, values, expected = SECONDS[case]
    block = a_block({"took": values, "loss": values}, walls=[math.nan] * 4)
    parts = [
        Block(block.tags, block.steps[r], block.wall_times[r], block.values[r])
        for r in (slice(cut), slice(cut, None))
    ]
    run, pace = RunData(a_batch().run, LOGDIR), Pace("took", how, 1.0)
    if not cut:
        run.table.time_by(pace, {})
    for part, more in zip(parts, (True, False), strict=True):
        run.apply(batch(part, more=more))
        run.table.time_by(pace, run.files.sources)
    assert walls(run) == pytest.approx(expected, nan_ok=case == "of a row")
    for _ in run.load([batch(block)]):
        pass
    assert walls(run) == pytest.approx(expected, nan_ok=True)


def test_steps_of_ten_take_ten_times_as_long() -> None:
    block = a_block({"took": [2.0] * 3}, steps=[10, 20, 30], walls=[math.nan] * 3)
    run = RunData(a_batch().run, LOGDIR)
    run.table.time_by(Pace("took", Duration.STEP, 0.5), {})
    run.apply(batch(block))
    assert walls(run, "took") == [-20.0, -10.0, 0.0]


def test_a_restart_goes_on_in_time() -> None:
    first, again = (a_block({"took": [2.0] * 3}, walls=[math.nan] * 3) for _ in range(2))
    run = RunData(a_batch().run, LOGDIR)
    run.table.time_by(Pace("took", Duration.STEP, 1.0), {})
    run.apply(replace(batch(first), items=(first, Restart(1), again)))
    assert walls(run, "took") == [-4.0, -2.0, 0.0]


def test_logs_with_times_keep_them() -> None:
    run = a_run({"took": [2.0] * 3})
    run.table.time_by(Pace("took", Duration.STEP, 1.0), run.files.sources)
    assert walls(run, "took") == [1.0, 2.0, 3.0]
    assert not run.table.paced
