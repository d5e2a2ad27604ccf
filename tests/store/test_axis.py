"""One training on two x axes: the true steps count, and each point is there once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rltui.core.batch import Batch, Joined
from rltui.core.block import Block
from rltui.store import RunData, Store
from tests.builders import a_batch, a_block, a_source

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
        store_of(
            a_batch(a_block({"approxkl": KL[:30]}), source=CSV),
            a_batch(more, source=TB),
        )
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
