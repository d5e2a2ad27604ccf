"""Detectors that compare a metric with a second one.

What is computed in another way for speed gives the same numbers, to the last bit.
"""

from __future__ import annotations

import numpy as np
import pytest

from rltui.health.cases import case_info, case_run
from rltui.health.columns import Columns, judged_rows
from rltui.health.detectors.outcome import rank_correlation
from rltui.health.detectors.pairs import flat_beside
from rltui.health.detectors.signal import Rows
from rltui.health.rules import load_rules
from tests.builders import a_batch, steps


@pytest.mark.parametrize("broken", [None, 7, 600])
def test_the_usual_step_is_the_median_of_those_so_far(broken: int | None) -> None:
    """Of few rows as of many, and where a step is not known."""
    x = np.random.default_rng(3).normal(size=1_200)
    if broken is not None:
        x[broken] = np.nan
    with np.errstate(invalid="ignore"):
        limit = flat_beside(Rows(x, np.arange(len(x)), {}), rise=0.1, noise=1.0).threshold
        moves = np.abs(np.diff(x))
        look = 1
        while look < len(x):
            assert np.array_equal(limit[look], np.median(moves[:look]), equal_nan=True), look
            look = max(look + 1, int(look * 1.1))


def test_values_beside_other_steps_are_not_mixed_up() -> None:
    reward = np.arange(20.0)
    run, infos, _ = case_run({"reward": reward, "a": np.ones(20), "b": np.ones(12)})
    run.apply(a_batch(steps(9, {"c": [1.0] * 12}), run="case"))
    infos["c"] = case_info("c")
    variant = next(v for r in load_rules() for v in r.variants if v.detector.name == "flat_beside")
    columns: Columns = {}
    others = {"reward": (run.series("reward"), infos["reward"])}
    for _ in range(2):
        for tag, seen in (("a", reward), ("b", reward[:12]), ("c", reward[8:])):
            rows, _walls = judged_rows(variant, infos[tag], run.series(tag), others, columns)
            assert rows.others["reward"].tolist() == seen.tolist()


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
