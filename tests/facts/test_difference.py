"""Whether two groups of runs differ by more than their seeds explain."""

from __future__ import annotations

import numpy as np
import pytest

from rltui.facts.groups import difference, level_at_end
from tests.builders import a_run


def test_the_last_tenth_stands_for_where_a_run_got_to() -> None:
    series = a_run({"loss": [9.0] * 18 + [2.0, 4.0]}).series("loss")
    assert level_at_end(series) == 3.0


def test_groups_that_do_not_overlap_differ() -> None:
    found = difference(np.array([1.0, 1.1, 1.2, 1.3]), np.array([0.1, 0.2, 0.3, 0.4]))
    assert found is not None
    assert found.difference == pytest.approx(0.9)
    # 2 of the 70 ways to choose four of eight runs part them as far
    assert found.chance == pytest.approx(2 / 70)
    assert found.is_real


def test_a_few_runs_cannot_tell() -> None:
    found = difference(np.array([1.0, 1.1, 1.2]), np.array([0.1, 0.2, 0.3]))
    assert found is not None
    assert found.chance == found.rarest == pytest.approx(0.1)
    assert not found.can_tell
    assert not found.is_real


def test_equal_groups_do_not_differ() -> None:
    same = np.full(5, 0.1)
    found = difference(same, same)
    assert found is not None
    assert (found.difference, found.chance) == (0.0, 1.0)
    assert difference(same, np.empty(0)) is None


def test_chance_is_right_as_often_as_it_says() -> None:
    random = np.random.default_rng(5)
    found = [difference(random.normal(size=5), random.normal(size=5)) for _ in range(300)]
    real = np.mean([f is not None and f.is_real for f in found])
    assert 0.02 < real < 0.08


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_many_runs_are_compared_by_a_sample_of_the_ways(shift: float) -> None:
    random = np.random.default_rng(7)
    found = difference(random.normal(size=60) + shift, random.normal(size=140))
    assert found is not None
    assert found.is_real == (shift > 0)
    assert found.chance > 0
