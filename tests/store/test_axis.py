"""One training on two x axes: the true steps count, and each point is there once.

The step of a run is that of the axis on which most of its tags lie.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rltui.core.batch import Batch, Joined, Restart, RunKey
from rltui.core.block import Block
from rltui.store import RunData, Store
from tests.builders import LOGDIR, START, a_batch, a_block, a_source

RNG = np.random.default_rng(11)
KL = np.abs(0.01 * RNG.standard_normal(60)).tolist()
REWARD = (2.5 * np.arange(1, 61)).tolist()
FLAT = [0.5] * 60
FRAMES = [2048 * k for k in range(1, 61)]
VALUES = {"approxkl": KL, "eprewmean": REWARD, "explained_variance": FLAT}


def printed(values: Sequence[float], digits: int = 6) -> list[float]:
    return [float(f"%.{digits}g" % v) for v in values]


def table(first: int = 0, last: int = 60, steps: Sequence[int] = FRAMES, digits: int = 6) -> Block:
    """Rows of a CSV, with true steps."""
    values = {t: printed(v[first:last], digits) for t, v in VALUES.items()}
    return a_block(values, steps=steps[first:last], walls=[math.nan] * (last - first))


def events(first: int = 0, last: int = 60, **names: str) -> Block:
    """The same rows in an event file, numbered."""
    values = {names.get(t, t): v[first:last] for t, v in VALUES.items()}
    values["total_timesteps"] = [float(s) for s in FRAMES[first:last]]
    return a_block(values, first=first + 1, dtype=np.float32)


CSV = a_source("progress.csv", 0, format="csv", precision_rank=3)
TB = a_source("tb/events", 1, format="tfevents", precision_rank=2, joined=Joined.SURELY)


def store_of(*batches: Batch) -> Store:
    store = Store()
    for number, one in enumerate(batches):
        store.apply(replace(one, waiting=len(batches) - 1 - number))
    return store


def only(store: Store) -> RunData:
    (run,) = store.runs.values()
    return run


def check_once(run: RunData) -> None:
    for tag, values in VALUES.items():
        series = run.series(tag)
        assert series.steps.tolist() == FRAMES
        assert series.values.tolist() == pytest.approx(values, rel=1e-5)
    assert (run.first_step, run.last_step, run.extent.restarts) == (2048, 122_880, ())


@pytest.mark.parametrize("table_first", [True, False])
def test_row_numbers_give_way_to_steps(table_first: bool) -> None:
    pair = [a_batch(table(), source=CSV), a_batch(events(), source=TB)]
    run = only(store_of(*(pair if table_first else pair[::-1])))
    check_once(run)
    assert run.series("total_timesteps").steps.tolist() == FRAMES
    assert np.isfinite(run.series("approxkl").wall_times).all()  # those of the event file


@pytest.mark.parametrize("digits", [3, 4, 6])
def test_the_precision_of_the_coarser_log_decides(digits: int) -> None:
    store = store_of(a_batch(table(digits=digits), source=CSV), a_batch(events(), source=TB))
    assert only(store).series("approxkl").steps.tolist() == FRAMES


def test_constant_values_prove_nothing() -> None:
    flat = [a_block({"flat": FLAT}, steps=FRAMES), a_block({"flat": FLAT})]
    run = only(store_of(a_batch(flat[0], source=CSV), a_batch(flat[1], source=TB)))
    assert run.series("flat").count == 60


def test_other_values_on_another_axis_are_another_training() -> None:
    other = a_block({"approxkl": RNG.standard_normal(60).tolist()})
    source = TB._replace(joined=Joined.MAYBE, alone="tb")
    tens = list(range(10, 610, 10))
    store = store_of(a_batch(table(steps=tens), source=CSV), a_batch(other, source=source))
    assert len(store.runs) == 2


def test_a_log_that_goes_on_where_the_other_ended_fills_it() -> None:
    """The same axis: values of later steps are no repetition of the earlier ones."""
    more = a_block({"approxkl": KL[30:]}, first=31)
    run = only(
        store_of(a_batch(a_block({"approxkl": KL[:30]}), source=CSV), a_batch(more, source=TB))
    )
    assert run.series("approxkl").steps.tolist() == list(range(1, 61))


@settings(max_examples=60)
@given(st.lists(st.booleans(), min_size=8, max_size=40), st.integers(1, 12), st.booleans())
def test_whatever_grows_first_no_point_is_there_twice(
    turns: list[bool], rows: int, look: bool
) -> None:
    """The logs grow while they are watched, one of them further than the other for a while."""
    store, at = Store(), {"progress.csv": 0, "events": 0}
    while min(at.values()) < 60:
        for turn in turns:
            source, make = (CSV, table) if turn else (TB, events)
            begin = at[source.path.name]
            end = min(60, begin + rows)
            if begin < end:
                at[source.path.name] = end
                records = source._replace(records=end)
                store.apply(a_batch(make(begin, end), source=records))
            if look:
                check_no_double(only(store))
        turns = [*turns, True, False]
    check_once(only(store))


def check_no_double(run: RunData) -> None:
    for tag in VALUES:
        steps = run.series(tag).steps.tolist()
        assert len(steps) == len(set(steps)) <= 60
        assert set(steps) <= set(FRAMES) or set(steps) <= set(range(1, 61))


ITERATIONS = ("Loss/surrogate", "Loss/value_function", "Policy/mean_std", "Train/mean_reward")
SECONDS = ("Train/mean_reward/time",)

Steps = Callable[[int], int]


def rows(
    tags: Iterable[str], step: Steps, numbers: Sequence[int], seconds: float | None = 2.5
) -> Block:
    """One row for each number; row n was written ``n * seconds`` after the start."""
    walls = [math.nan if seconds is None else START + n * seconds for n in numbers]
    values = {t: [float(n) for n in numbers] for t in tags}
    return a_block(values, steps=[step(n) for n in numbers], walls=walls)


def by_iteration(last: int = 40, seconds: float | None = 2.5) -> Block:
    return rows(ITERATIONS, lambda n: n, range(last), seconds)


def by_second(last: int = 40, seconds: float | None = 2.5) -> Block:
    return rows(SECONDS, lambda n: round(2.5 * n), range(last), seconds)


@pytest.mark.parametrize("seconds", [2.5, None])
def test_seconds_beside_iterations_are_not_the_steps_of_a_run(seconds: float | None) -> None:
    run = RunData(RunKey(0, "."), LOGDIR)
    run.apply(a_batch(by_iteration(seconds=seconds), by_second(seconds=seconds)))
    assert run.off_axis == frozenset(SECONDS)
    assert (run.first_step, run.last_step) == (0, 39)
    assert run.series(SECONDS[0]).steps[-1] == 98


def test_episodes_beside_environment_steps_are_not_the_steps_of_a_run() -> None:
    losses = rows(["loss", "entropy", "lr"], lambda n: 2048 * (n + 1), range(30))
    episodes = rows(["return/episode", "length/episode"], lambda n: n + 1, range(30))
    run = RunData(RunKey(0, "."), LOGDIR)
    run.apply(a_batch(episodes, losses))
    assert run.off_axis == {"return/episode", "length/episode"}
    assert (run.first_step, run.last_step) == (2048, 61_440)


def test_of_two_axes_with_about_as_many_tags_the_finer_one_counts() -> None:
    episodes = rows(["a/episode", "b/episode", "c/info"], lambda n: 5 * n, range(1, 31))
    frames = rows(["a", "b"], lambda n: 900 * n, range(1, 31))
    run = RunData(RunKey(0, "."), LOGDIR)
    run.apply(a_batch(episodes, frames))
    assert (run.first_step, run.last_step) == (900, 27_000)


def test_a_resume_continues_both_axes() -> None:
    run = RunData(RunKey(0, "."), LOGDIR)
    for order, numbers in enumerate((range(30), range(20, 50))):
        blocks = (
            rows(ITERATIONS, lambda n: n, numbers),
            rows(SECONDS, lambda n: round(2.5 * n), numbers),
        )
        run.apply(a_batch(*blocks, source=f"events.{order}", order=order))
    assert (run.off_axis, run.last_step) == (frozenset(SECONDS), 49)
    assert run.series(SECONDS[0]).restarts.tolist() == [50]


# --- what is on the axis of the run, however much it differs


def one_axis(*blocks: Block) -> RunData:
    run = RunData(RunKey(0, "."), LOGDIR)
    run.apply(a_batch(*blocks))
    assert run.off_axis == frozenset()
    return run


@pytest.mark.parametrize("seconds", [2.5, None])
def test_a_tag_that_ended_early_or_is_logged_rarely(seconds: float | None) -> None:
    many = by_iteration(last=400, seconds=seconds)
    early = rows(["warmup/loss"], lambda n: n, range(60), seconds)
    rare = rows(["eval/a", "eval/b"], lambda n: n, range(0, 300, 50), seconds)
    assert one_axis(many, early, rare).last_step == 399


def test_a_log_that_was_converted_tag_by_tag() -> None:
    """All times are those of the conversion."""
    first = a_block({"a": [1.0] * 40}, steps=range(40), walls=[START + 1e-3 * n for n in range(40)])
    walls = [START + 1 + 1e-3 * n for n in range(400)]
    second = a_block({"b": [1.0] * 400, "c": [1.0] * 400}, steps=range(400), walls=walls)
    assert one_axis(first, second).last_step == 399


def test_tags_of_which_a_restart_left_no_point_have_no_axis() -> None:
    run = RunData(RunKey(0, "."), LOGDIR)
    run.apply(a_batch(rows(["a", "b"], lambda n: n, range(3, 9))))
    run.apply(a_batch(Restart(1)))
    run.apply(a_batch(rows(["c"], lambda n: n, range(1, 3))))
    run.apply(a_batch(rows(["c"], lambda n: n, range(7))))
    run.apply(a_batch(rows(["b"], lambda n: n, range(1, 7))))
    assert run.series("a").count == 0
    assert run.off_axis == frozenset()
