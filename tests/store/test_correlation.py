"""Which series move together: by ranks, apart from the trend, at the same step or a bit later."""

from __future__ import annotations

import numpy as np
import pytest

from rltui.store import Series
from rltui.store.correlation import Correlation, compare, grid, sample
from tests.builders import a_block, a_run


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
    assert found is not None
    assert found.r == pytest.approx(-0.95, abs=0.05)
    assert (found.lag, found.same) == (0, False)


def test_noise_moves_with_nothing() -> None:
    for seed in range(20):
        found = compared(a_series(noise(200, seed)), a_series(noise(200, seed + 100)))
        assert found is not None
        assert abs(found.r) < 4 / np.sqrt(found.n)


@pytest.mark.parametrize("lag", [-4, 3])
def test_a_lag_in_steps(lag: int) -> None:
    x = noise(220, 3)
    one, other = x[10:210], x[10 - lag : 210 - lag]
    found = compared(a_series(one, stride=50), a_series(other, stride=50))
    assert found is not None
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
    assert found is not None
    assert found.n <= 20
    assert found.r > 0.95
    late = a_series(noise(100, 7), first=190)
    assert compared(a_series(x[:200]), late) is None
