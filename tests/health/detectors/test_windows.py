"""Order statistics of the rows so far, against sorting each window."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui.core.block import FloatArray
from rltui.health.detectors.windows import (
    latched,
    looks,
    rolling_median,
    start_median,
)
from tests.health.drawn import series


@given(x=series(), window=st.integers(1, 25))
def test_medians_are_those_of_the_newest_rows(x: FloatArray, window: int) -> None:
    parts = [x[max(0, i + 1 - window) : i + 1] for i in range(len(x))]
    np.testing.assert_allclose(rolling_median(x, window), [np.median(p) for p in parts])


def test_medians_of_a_log_that_is_sorted_in_several_chunks() -> None:
    x = np.random.default_rng(0).standard_normal(40_000)
    view = np.lib.stride_tricks.sliding_window_view(x, 5)
    assert np.array_equal(rolling_median(x, 5)[4:], np.sort(view, axis=1)[:, 2])


def test_start_median_grows_and_then_stays() -> None:
    x = np.array([3.0, 1.0, 2.0, 9.0, 9.0])
    np.testing.assert_array_equal(start_median(x, 3), [3, 2, 2, 2, 2])


@pytest.mark.parametrize("statistic", [rolling_median, start_median])
def test_windows_of_nothing(statistic: object) -> None:
    assert not len(statistic(np.empty(0), 5))  # type: ignore[operator]


@given(first=st.integers(1, 20), rows=st.integers(0, 400))
def test_looks_cover_all_rows_from_the_first_on(first: int, rows: int) -> None:
    found = looks(first, rows)
    assert [a for a, _ in found[1:]] == [b for _, b in found[:-1]]
    assert bool(found) is (first <= rows)
    assert not found or (found[0][0] == first and found[-1][0] <= rows < found[-1][1])
    assert found == looks(first, 2 * rows)[: len(found)], "as the log grows"


def test_latched_holds_until_the_value_is_under_the_level_of_its_trigger() -> None:
    value = np.array([0.0, 5, 3, 3, 1, 3, 3, *[3] * 400, 1, 3])
    flags, origin = latched(value >= 5, value, np.full(len(value), 2.0))
    assert flags[:7].tolist() == [False, True, True, True, False, False, False]
    assert origin[3] == 1
    value[5] = 5
    flags, _ = latched(value >= 5, value, np.full(len(value), 2.0))
    assert flags[5:407].all()
    assert flags[407:].tolist() == [False, False]
