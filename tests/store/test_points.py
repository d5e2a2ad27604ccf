"""Points that grow at their end, and what the tags of one log share."""

from __future__ import annotations

import numpy as np
import pytest

from rltui.store.points import GrowingPoints, Points, distinct

NAN = float("nan")


def points(first: int, count: int, value: float = 0.0, wall: float = 0.0) -> Points:
    at = np.arange(first, first + count)
    return at, at + wall, np.full(count, value)


def columns(growing: GrowingPoints) -> list[list[float]]:
    return [c.tolist() for c in growing.points]


@pytest.mark.parametrize("steps", [[], [3], [3, 3], [1, 2, 5], [1, 1, 2, 5, 5, 5]])
def test_distinct_steps(steps: list[int]) -> None:
    logged = np.array(steps, np.int64)
    found = distinct(logged)
    assert found.tolist() == sorted(set(steps))
    assert (found is logged) == (len(found) == len(steps))
