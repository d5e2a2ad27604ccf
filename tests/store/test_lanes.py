"""Rows beside a training stand at its steps: by time, whatever the clock, or by their order."""

import math
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest

from rltui.core.batch import Batch, Joined, Lanes
from rltui.core.block import Block
from rltui.store import RunData, Store
from tests.builders import START, a_batch, a_block, a_source

STEP_S, STEPS = 100.0, 12
END = START + STEP_S * STEPS
LANES = Lanes(frozenset(("rate",)), frozenset(("waiting",)), frozenset(("preempted",)), local=True)
HOUR = 3600.0
#: Seconds by which a clock without a year is off.
YEARLESS = -20_000 * 24 * HOUR


def trained(steps: int = STEPS, *, timed: bool = True, changed: float = 0.0) -> Batch:
    """Row s of a training is logged when step s ends, STEP_S seconds after the one before."""
    walls = [START + STEP_S * s if timed else math.nan for s in range(1, steps + 1)]
    block = a_block({"loss": [1 / w for w in range(1, steps + 1)]}, walls=walls)
    modified = START + STEP_S * steps + changed
    return a_batch(block, source=a_source("metrics.jsonl", format="jsonl", modified=modified))


def row(time: float, step: int = -1, engine: int = 0) -> tuple[int, float, list[float]]:
    """What an engine says at a time: the number of the step that runs, and a count of 1."""
    running = (time - START) // STEP_S + 1
    return step, time, [running + engine, running + 10 * engine, 1.0]


def logged(
    rows: Sequence[tuple[int, float, list[float]]],
    *,
    clock: float = 0.0,
    changed: float = 3.0,
    lanes: Lanes = LANES,
    name: str = "vllm.log",
) -> Batch:
    """A log of an engine with a clock that is off, changed some seconds after its last line."""
    steps, walls, values = zip(*rows, strict=True)
    columns = np.array(values)
    tags = ("rate", "waiting", "preempted")
    times = np.array(walls) + clock
    block = Block(tags, np.array(steps, np.int64), times, columns)
    given = {"format": "console", "precision_rank": 1, "joined": Joined.SURELY, "lanes": lanes}
    return a_batch(block, source=a_source(name, 1, modified=walls[-1] + changed, **given))


def rows_of(engine: int = 0, begin: float = START + 5, end: float = END) -> list[object]:
    return [row(time, engine=engine) for time in np.arange(begin, end, 10.0)]


def run_of(*batches: Batch) -> RunData:
    store = Store()
    for number, batch in enumerate(batches):
        store.apply(replace(batch, waiting=len(batches) - 1 - number))
    (run,) = store.runs.values()
    return run


def points(run: RunData, tag: str) -> dict[int, float]:
    series = run.series(tag)
    return dict(zip(series.steps.tolist(), series.values.tolist(), strict=True))


ALL = {s: float(s) for s in range(1, STEPS + 1)}


@pytest.mark.parametrize("zone", [h * HOUR for h in (-12, -3.5, 0, 5.75, 8, 14)])
@pytest.mark.parametrize("dated", [True, False])
@pytest.mark.parametrize("first", ["training", "engine"])
def test_the_change_of_the_file_tells_the_zone(zone: float, dated: bool, first: str) -> None:
    both = [trained(), logged(rows_of(), clock=zone + (0.0 if dated else YEARLESS))]
    run = run_of(*(both if first == "training" else reversed(both)))
    assert points(run, "rate") == ALL
    assert points(run, "preempted") == dict.fromkeys(ALL, 10.0)
    assert run.series("rate").wall_times.tolist() == run.series("loss").wall_times.tolist()
    assert (run.first_step, run.last_step, run.off_axis) == (1, STEPS, frozenset())
    assert run.extent.last_wall_time == END


@pytest.mark.parametrize("later", [3 * HOUR + 1234, 40 * 24 * HOUR])
@pytest.mark.parametrize("dated", [True, False])
def test_of_copies_the_end_of_the_training_tells_it(later: float, dated: bool) -> None:
    clock = 8 * HOUR + (0.0 if dated else YEARLESS)
    run = run_of(trained(changed=later), logged(rows_of(), clock=clock, changed=later))
    assert points(run, "rate") == ALL


def test_a_training_that_hangs_is_no_copy() -> None:
    rows = rows_of(end=END + 1.9 * STEP_S)
    assert points(run_of(trained(), logged(rows, clock=HOUR)), "waiting")[STEPS] == STEPS + 2


def test_a_step_has_one_value_of_all_engines() -> None:
    logs = [logged(rows_of(e), name=f"engine_{e}.log") for e in (0, 1)]
    run = run_of(trained(), *logs)
    assert points(run, "rate") == {s: s + 0.5 for s in ALL}
    assert points(run, "waiting") == {s: s + 10.0 for s in ALL}
    assert points(run, "preempted") == dict.fromkeys(ALL, 20.0)
    assert {p.name for p in run.table.origins("rate")} == {"engine_0.log", "engine_1.log"}
    assert run.table.logged("rate") == 240


def test_what_an_engine_did_for_others_is_left_out() -> None:
    rows = rows_of(begin=START - 50 * STEP_S + 5, end=END + 50 * STEP_S)
    zoned = LANES._replace(local=False)
    found = points(run_of(trained(), logged(rows, lanes=zoned)), "preempted")
    assert found == {**dict.fromkeys(ALL, 10.0), 1: 20.0, STEPS: 30.0}


def test_rows_that_come_later_are_placed_anew() -> None:
    engine = logged(rows_of(end=START + 7.5 * STEP_S))
    store = Store()
    for batch in (trained(5), engine):
        store.apply(batch)
    (run,) = store.runs.values()
    before = run.series("rate")
    assert points(run, "rate") == {1: 1.0, 2: 2.0, 3: 3.0, 4: 4.0, 5: 6.0}
    store.apply(trained(8))
    assert points(run, "rate") == {s: float(s) for s in range(1, 9)}
    assert before.count == 5
    assert run.series("rate") is run.series("rate")
    assert points(deepcopy(run), "rate") == points(run, "rate")


def test_without_times_the_order_of_the_lines_tells() -> None:
    rows = [row(START + 5), *(row(START + STEP_S * s + 5, s) for s in range(1, STEPS))]
    run = run_of(trained(timed=False), logged(rows))
    assert points(run, "rate") == ALL
    assert not run.off_axis


def test_where_nothing_tells_it_the_axis_is_another_one() -> None:
    run = run_of(trained(timed=False), logged(rows_of()))
    assert run.off_axis == {"rate", "waiting", "preempted"}
    assert (run.first_step, run.last_step) == (1, STEPS)
    assert run.series("rate").steps.tolist() == list(range(0, int(END - START), 10))


def test_an_engine_alone_has_an_axis_of_seconds() -> None:
    run = run_of(logged(rows_of()))
    assert (run.first_step, run.last_step, run.off_axis) == (0, 1190, frozenset())
    assert run.extent.first_wall_time is None
    assert run.series("rate").count == 120


def test_content_that_is_rewritten_or_read_again_counts_once() -> None:
    once, again = logged(rows_of()), replace(logged(rows_of(1)), generation=1, replaced=True)
    run = run_of(trained(), once, replace(again, generation=0))
    assert points(run, "waiting") == {s: s + 10.0 for s in ALL}
    run.unload(("loss",))
    assert run.unloaded
    assert list(run.load([trained(), again])) == [None, None]
    assert points(run, "waiting") == {s: s + 10.0 for s in ALL}


def test_a_file_that_moves_takes_its_rows_along() -> None:
    run, other = run_of(trained(), logged(rows_of())), run_of(trained())
    run.move(a_source("vllm.log").path, other)
    assert run.tags == ("loss",)
    assert points(other, "rate") == ALL
