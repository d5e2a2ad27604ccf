"""What is computed in another way for speed gives the same numbers, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from rltui.core.medians import median
from rltui.health.detectors.outcome import rank_correlation
from rltui.health.detectors.trend import best_block


@pytest.mark.parametrize("count", [1, 4, 5, 7, 10, 19, 49, 50, 53, 99, 100, 101, 1_234])
def test_the_best_of_ten_blocks(count: int) -> None:
    x = np.random.default_rng(count).normal(0, 1e3, count)
    blocks = np.array_split(x, min(10, max(1, count // 5)))
    assert best_block(x) == max(map(median, blocks))


def ranks(x: np.ndarray[tuple[int], np.dtype[np.float64]]) -> np.ndarray:  # type: ignore[type-arg]
    return np.array([(x < v).sum() + ((x == v).sum() + 1) / 2 for v in x])


@pytest.mark.parametrize("count", [2, 3, 10, 50, 333])
@pytest.mark.parametrize("values", [3, 10**9])
def test_rank_correlation_with_and_without_ties(count: int, values: int) -> None:
    rng = np.random.default_rng(count)
    a, b = rng.integers(0, values, count) / 7.0, rng.normal(0, 1, count)
    mine, other = ranks(a), ranks(b)
    centred = (mine - mine.mean()) * (other - other.mean())
    assert rank_correlation(a, b) == float(centred.mean()) / float(mine.std() * other.std())


def test_constant_values_have_no_rank_correlation() -> None:
    assert np.isnan(rank_correlation(np.ones(9), np.arange(9.0)))
