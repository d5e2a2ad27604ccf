"""A writer that begins again at a lower step in the same file.

Which series move together: by ranks, apart from the trend, at the same step or a bit later.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui.store import Series
from rltui.store.correlation import Correlation, compare, grid, sample
from rltui.store.restarts import resumptions
from tests.builders import a_batch, a_block, a_run
from tests.tables import cases


def rows(*parts: range) -> list[int]:
    return [step for part in parts for step in part]


def at(steps: list[int]) -> list[int]:
    return resumptions(np.array(steps, np.int64))


@cases(__file__, "a_fall_that_goes_on_is_a_restart")
def test_a_fall_that_goes_on_is_a_restart(pieces: list[list[int]], found: list[int]) -> None:
    assert at(rows(*(range(*piece) for piece in pieces))) == found


@pytest.mark.parametrize(
    "steps",
    [
        [],
        [5],
        rows(range(1, 101)),
        rows(range(1, 101), range(60, 61), range(101, 130)),
        rows(range(1, 101), range(60, 63), range(101, 130)),
        rows(range(1, 101), range(60, 62)),
        rows(range(1, 51), range(1, 51), range(1, 51)),
        [step for n in range(1, 60) for step in (n + 1, n)],
        [3, 1, 2, 9, 4, 7, 12, 5, 6, 20, 11, 8],
    ],
    ids=["none", "one", "order", "late", "some late", "not yet", "epochs", "in turn", "envs"],
)
def test_what_is_late_or_taken_in_turn_is_none(steps: list[int]) -> None:
    assert at(steps) == []


def resumed(*cuts: int) -> list[object]:
    """Steps 1 to 100, then 60 to 120, in blocks that are cut anywhere."""
    steps = rows(range(1, 101), range(60, 121))
    values = [0.1 * i for i in range(len(steps))]
    edges = [0, *sorted(cuts), len(steps)]
    return [
        a_block({"kl": values[a:b], "loss": values[a:b]}, steps=steps[a:b])
        for a, b in pairwise(edges)
        if a < b
    ]


def test_what_was_overwritten_is_kept_apart() -> None:
    run = a_run(*resumed()[:1])  # type: ignore[arg-type]
    series = run.series("kl")
    assert series.steps.tolist() == list(range(1, 121))
    assert [len(p[0]) for p in series.superseded] == [41]
    assert series.values[59] == pytest.approx(10.0)
    assert run.extent.restarts == (60,)
    assert run.last_step == 120


@given(st.lists(st.integers(0, 161), max_size=8))
def test_rows_in_any_pieces_give_the_same_restarts(cuts: list[int]) -> None:
    whole = a_run(*resumed()[:1])  # type: ignore[arg-type]
    run = a_run(*resumed(*cuts)[:1])  # type: ignore[arg-type]
    for block in resumed(*cuts)[1:]:
        run.apply(a_batch(block, run="."))  # type: ignore[arg-type]
        run.series("kl")
    for tag in ("kl", "loss"):
        assert run.series(tag).steps.tolist() == whole.series(tag).steps.tolist()
        assert run.series(tag).values.tolist() == whole.series(tag).values.tolist()
        assert run.series(tag).old_count == whole.series(tag).old_count
    assert run.extent.restarts == whole.extent.restarts


def a_series(values: object, first: int = 1, stride: int = 1) -> Series:
    numbers = list(np.asarray(values, float))
    steps = list(range(first, first + stride * len(numbers), stride))
    return a_run(a_block({"x": numbers}, steps=steps)).series("x")


def compared(one: Series, other: Series) -> Correlation | None:
    steps = grid(one.steps)
    mine, its = sample(one, steps), sample(other, steps)
    return None if mine is None or its is None else compare(mine, [its], steps)[0]


def noise(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=n)


def test_the_sign_and_an_outlier() -> None:
    x = noise(100, 1)
    y = -x.copy()
    y[50] = 1e12
    found = compared(a_series(x), a_series(y))
    assert found.r == pytest.approx(-0.95, abs=0.05)
    assert (found.lag, found.same) == (0, False)


def test_noise_moves_with_nothing() -> None:
    for seed in range(20):
        found = compared(a_series(noise(200, seed)), a_series(noise(200, seed + 100)))
        assert abs(found.r) < 4 / np.sqrt(found.n)


@pytest.mark.parametrize("lag", [-4, 3])
def test_a_lag_in_steps(lag: int) -> None:
    x = noise(220, 3)
    one, other = x[10:210], x[10 - lag : 210 - lag]
    found = compared(a_series(one, stride=50), a_series(other, stride=50))
    assert found.lag == 50 * lag
    assert found.r > 0.95


@pytest.mark.parametrize(
    "values",
    [
        [0.1] * 100,
        list(0.1 * (1 + 1e-9 * noise(100, 1))),
        [0.0] * 100,
        [float("nan")] * 100,
        [1.0, 2.0] * 7,
        [],
    ],
)
def test_what_does_not_move_moves_with_nothing(values: list[float]) -> None:
    other = a_series(noise(100, 1))
    assert compared(other, a_series(values)) is None
    if values:
        assert compared(a_series(values), other) is None


def test_only_points_in_common_count() -> None:
    x = noise(400, 6)
    rare = a_series(x[9::10], first=10, stride=10)
    found = compared(a_series(x[:200]), rare)
    assert found.n <= 20
    assert found.r > 0.95
    late = a_series(noise(100, 7), first=190)
    assert compared(a_series(x[:200]), late) is None
