"""Detectors that compare a metric with a second one."""

from __future__ import annotations

import numpy as np
import pytest

from rltui.core.block import FloatArray
from rltui.health.detectors import pairs
from rltui.health.detectors.pairs import flat_beside
from rltui.health.detectors.signal import Rows


@pytest.mark.parametrize("broken", [None, 7, 600])
def test_the_usual_step_is_the_median_of_those_so_far(broken: int | None) -> None:
    """Of few rows as of many, and where a step is not known."""
    x = np.random.default_rng(3).normal(size=1_200)
    if broken is not None:
        x[broken] = np.nan
    with np.errstate(invalid="ignore"):
        limit = flat_beside(Rows(x, np.arange(len(x)), {}), rise=0.1, noise=1.0).threshold
        steps = np.abs(np.diff(x))
        look = 1
        while look < len(x):
            assert np.array_equal(limit[look], np.median(steps[:look]), equal_nan=True), look
            look = max(look + 1, int(look * 1.1))


def test_the_steps_of_a_reward_are_found_once_for_all_scores(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found, step = list[bytes](), pairs._found_median_step

    def counted(x: FloatArray) -> FloatArray:
        found.append(x.tobytes())
        return step(x)

    monkeypatch.setattr(pairs, "_found_median_step", counted)
    draw = np.random.default_rng(4)
    reward, scores = draw.normal(size=90), [draw.normal(size=90) for _ in range(5)]
    for x in scores:
        for least_rows in (8, 20):
            rows = Rows(x, np.arange(90), {"reward": reward})
            flat_beside(rows, rise=0.1, least_rows=least_rows)
    assert len(found) == len(set(found)) == 1 + len(scores)
