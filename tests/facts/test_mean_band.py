"""Many curves as one."""

from __future__ import annotations

import numpy as np
import pytest

from rltui.facts.x_axis import bundle

NAN = np.nan


def test_runs_logged_at_the_same_steps_are_taken_as_they_are() -> None:
    x = np.array([10.0, 20.0, 30.0])
    found = bundle([(x, np.array([1.0, 2.0, 3.0])), (x, np.array([3.0, 4.0, 5.0]))])
    assert found is not None
    assert found.x.tolist() == [10, 20, 30]
    assert found.mean.tolist() == [2, 3, 4]
    low, high = found.extremes()
    assert (low.tolist(), high.tolist()) == ([1, 2, 3], [3, 4, 5])
    below, above = found.spread()
    assert above - found.mean == pytest.approx(np.sqrt(2))
    assert below == pytest.approx(2 * found.mean - above)


def test_a_run_counts_only_where_it_has_points() -> None:
    long = np.arange(1000.0), np.zeros(1000)
    short = np.arange(500.0), np.ones(500)
    found = bundle([long, short])
    assert found is not None
    assert found.mean[0] == 0.5
    assert found.mean[-1] == 0.0
    assert np.isnan(found.values[1][found.x > 510]).all()


def test_values_that_are_not_finite_are_left_out() -> None:
    x = np.arange(4.0)
    found = bundle([(x, np.array([1.0, NAN, np.inf, 4.0])), (x, np.array([NAN] * 4))])
    assert found is not None
    assert len(found.values) == 1
    assert found.mean[[0, -1]].tolist() == [1, 4]
    assert bundle([(x, np.array([NAN] * 4))]) is None
    assert bundle([]) is None
