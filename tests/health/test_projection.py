"""Where a trend leads."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rltui.core.level import Level
from rltui.health.model import Judgement
from rltui.health.projection import Projection, project
from tests.builders import a_block, a_run


def projected(
    values: list[float], low: float | None = None, high: float | None = None
) -> Projection | None:
    return project(a_run({"entropy": values}).series("entropy"), Judgement(Level.OK, low, high))


def test_a_straight_line_crosses_where_it_must() -> None:
    found = projected([3.0 - 0.01 * s for s in range(1, 201)], low=0.5)
    assert found is not None
    assert found.falling
    assert found.earliest == pytest.approx(250, abs=1)
    assert found.latest == pytest.approx(250, abs=1)


def test_noise_widens_the_band_around_the_truth() -> None:
    noise = np.random.default_rng(3).normal(0, 0.05, 200)
    found = projected(
        [1.0 + 0.01 * s + float(n) for s, n in zip(range(200), noise, strict=True)], high=4.0
    )
    assert found is not None
    assert found.earliest < found.latest
    assert found.earliest <= 301 <= found.latest + 10


@pytest.mark.parametrize(
    ("values", "limits"),
    [
        ([1.0] * 100, {"low": 0.5}),
        ([3.0 - 0.01 * s for s in range(200)], {"high": 9.0}),
        ([3.0 - 0.001 * s for s in range(200)], {"low": 0.5}),
        ([3.0 - 0.01 * s for s in range(200)], {"low": 2.0}),
        ([3.0, 2.0, 1.0], {"low": 0.5}),
        ([math.sin(s / 9) for s in range(200)], {"low": -2.0, "high": 2.0}),
    ],
    ids=["flat", "away from it", "too far ahead", "there already", "few rows", "to and fro"],
)
def test_nothing_is_predicted_without_a_clear_trend_to_a_limit(
    values: list[float], limits: dict[str, float]
) -> None:
    assert projected(values, **limits) is None


def test_steps_that_stand_still_lead_nowhere() -> None:
    run = a_run(a_block({"entropy": [1.0 + 0.01 * i for i in range(40)]}, steps=[1] * 40))
    assert project(run.series("entropy"), Judgement(Level.OK, 0.5, 9.0)) is None


@given(st.integers(0, 10_000), st.integers(12, 200))
@settings(max_examples=150, deadline=None)
def test_white_noise_is_hardly_ever_a_trend(seed: int, rows: int) -> None:
    values = np.random.default_rng(seed).normal(1.0, 0.1, rows).tolist()
    found = projected(values, low=0.5, high=1.5)
    assert found is None or found.earliest > rows


def test_noise_predicts_nothing_in_99_of_100_series() -> None:
    rng = np.random.default_rng(7)
    series = [rng.normal(1.0, 0.1, 120).tolist() for _ in range(200)]
    assert sum(projected(v, low=0.6, high=1.4) is not None for v in series) <= 2
