"""A run beside the course of a reference run. Where a trend leads."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rltui.catalogue.model import TagInfo, counterpart
from rltui.core.level import Direction, Level
from rltui.facts.projection import Projection, project
from rltui.health.cases import case_run
from rltui.health.detectors.pairs import off_course
from rltui.health.detectors.signal import Rows
from rltui.health.model import Judgement, Limit
from rltui.health.reference import Alignment, Reference
from rltui.store import RunData
from tests.builders import a_batch, a_block, a_run, steps

TAG = "reward.mean"


def meanings(**tags: Direction) -> dict[str, TagInfo]:
    _, infos, _ = case_run({t.replace("_", "."): np.ones(1) for t in tags}, "generic", "llm-rl", "")
    return {t: replace(infos[t], direction=d) for t, d in zip(infos, tags.values(), strict=True)}


UP = meanings(reward_mean=Direction.UP)


def rising(n: int, end: float = 1.0) -> RunData:
    return a_run({TAG: np.linspace(0, end, n).tolist()})


def test_the_course_holds_where_the_reference_was() -> None:
    past = Reference(rising(100), UP, "past")
    at = past.at_rows(rising(100), UP, TAG)
    here = np.linspace(0, 1, 100)
    assert np.all(at["low"] <= here + 0.05)
    assert np.all(at["high"] >= here - 0.05)
    assert np.all(at["high"] == np.inf), "higher is better"
    assert at["reach"][0] == pytest.approx(0.94, abs=0.1)


def test_beyond_its_end_the_reference_says_nothing() -> None:
    at = Reference(rising(50), UP, "past").at_rows(rising(100), UP, TAG)
    assert np.isfinite(at["low"][:50]).all()
    assert np.isnan(at["low"][50:]).all()


def test_a_run_is_not_compared_with_itself() -> None:
    run = rising(50)
    assert Reference(run, UP, "past").at_rows(run, UP, TAG) == {}


@pytest.mark.parametrize("rows", [120, 5000])
@pytest.mark.parametrize("alignment", [Alignment.STEP, Alignment.TIME])
def test_an_equal_run_has_not_left_the_course(rows: int, alignment: Alignment) -> None:
    """Bursts longer than the median that is compared, shorter than what smooths the course."""
    values = np.zeros(rows)
    values[40:48] = values[90:96] = -1.0
    walls = [1e9 + row // 3 for row in range(rows)]
    past, again = (a_run(a_block({TAG: values.tolist()}, walls=walls)) for _ in range(2))
    at = Reference(past, UP, "past", alignment).at_rows(again, UP, TAG)
    signal = off_course(Rows(values, np.arange(rows), at), spreads=0, reach_share=0)
    assert not signal.silent
    assert not signal.beyond.any()


def test_a_burst_that_the_reference_had_elsewhere_has_left_the_course() -> None:
    values = np.zeros(120)
    values[40:48] = -1.0
    past, other = a_run({TAG: values.tolist()}), values[::-1]
    at = Reference(past, UP, "past").at_rows(a_run({TAG: other.tolist()}), UP, TAG)
    signal = off_course(Rows(other, np.arange(120), at), spreads=3, reach_share=0.15)
    assert np.flatnonzero(signal.beyond).tolist() == list(range(74, 82))


def test_a_few_rows_are_no_course() -> None:
    assert Reference(rising(7), UP, "past").at_rows(rising(50), UP, TAG) == {}


def test_a_metric_that_the_reference_lacks_is_not_compared() -> None:
    other = meanings(entropy=Direction.NONE)
    past = Reference(a_run({"entropy": [1.0] * 50}), other, "past")
    assert past.at_rows(rising(50), UP, TAG) == {}


def test_runs_are_aligned_by_time_and_by_tokens() -> None:
    """Twice as many steps, each half as long and with half the tokens."""
    infos = meanings(reward_mean=Direction.NONE, progress_tokens_total=Direction.NONE)
    long = [{TAG: [i / 99], "progress.tokens.total": [100.0 * i]} for i in range(100)]
    short = [{TAG: [i / 199], "progress.tokens.total": [50.0 * i]} for i in range(200)]
    infos = {TAG: infos[TAG], "progress.tokens.total": infos["progress.tokens.total"]}
    a = a_run(*(steps(i + 1, row) for i, row in enumerate(long)))
    b = a_run(*(steps(i + 1, row) for i, row in enumerate(short)))
    key = infos["progress.tokens.total"].metric
    by_tokens = Reference(a, infos, "a", Alignment.TOKENS, key.key).at_rows(b, infos, TAG)
    by_step = Reference(a, infos, "a").at_rows(b, infos, TAG)
    middle = (by_tokens["low"][100] + by_tokens["high"][100]) / 2
    assert middle == pytest.approx(100 / 199, abs=0.03)
    assert np.isnan(by_step["low"][150])
    assert np.isfinite(by_tokens["low"][150])


def test_without_times_nothing_is_aligned_by_time() -> None:
    walls = [float("nan")] * 20
    run = a_run(a_block({TAG: [1.0] * 20}, walls=walls))
    assert Reference(run, UP, "past", Alignment.TIME).at_rows(rising(20), UP, TAG) == {}


def test_rows_after_the_choice_do_not_count() -> None:
    run = rising(20)
    past = Reference(run, UP, "past")
    run.apply(a_batch(steps(21, {TAG: [5.0] * 20})))
    assert run.count(TAG) == 40
    assert np.isnan(past.at_rows(rising(40), UP, TAG)["low"][30])


def test_a_long_reference_has_few_places() -> None:
    past = Reference(rising(200_000), UP, "past")
    at = past.at_rows(rising(200_000), UP, TAG)
    here = np.linspace(0, 1, 200_000)
    assert np.isfinite(at["low"]).all()
    assert np.all((at["low"] <= here + 0.01) & (at["high"] >= here - 0.01))
    (course,) = past._courses.values()
    assert len(course.place) <= 512


def test_tokens_are_counted_in_one_unit() -> None:
    tags = meanings(reward_mean=Direction.UP, progress_tokens_total=Direction.NONE)
    key = "progress.tokens.total"
    billions = {**tags, key: replace(tags[key], scale=1e9)}
    one = a_run({TAG: [i / 49 for i in range(50)], key: [1e9 * i for i in range(50)]})
    other = a_run({TAG: [i / 49 for i in range(50)], key: [float(i) for i in range(50)]})
    past = Reference(one, tags, "past", Alignment.TOKENS, key)
    at = past.at_rows(other, billions, TAG)
    assert np.isfinite(at["low"]).all()


@given(st.lists(st.floats(-1e3, 1e3), min_size=8, max_size=60))
def test_the_band_has_its_sides_in_order(values: list[float]) -> None:
    run = a_run({TAG: values})
    at = Reference(run, UP, "past").at_rows(rising(60), UP, TAG)
    known = np.isfinite(at["low"])
    assert np.all(at["low"][known] <= at["high"][known])
    assert np.all(at["spread"][known] >= 0)


def test_the_same_tag_comes_before_another_of_its_metric() -> None:
    infos = {t: replace(UP[TAG], tag=t) for t in ("other", "mine")}
    assert counterpart(infos["mine"], infos) == "mine"
    assert counterpart(replace(UP[TAG], tag="third"), infos) == "other"
    assert counterpart(replace(UP[TAG], tag="third", metric=None), infos) is None
    assert counterpart(infos["mine"], {"mine": replace(UP[TAG], tag="mine", metric=None)}) is None


def projected(
    values: list[float], low: float | None = None, high: float | None = None
) -> Projection | None:
    return project(
        a_run({"entropy": values}).series("entropy"),
        Judgement(Level.OK, (Limit(Level.WATCH, low, high),)),
    )


def test_a_straight_line_crosses_where_it_must() -> None:
    found = projected([3.0 - 0.01 * s for s in range(1, 201)], low=0.5)
    assert found.falling
    assert found.earliest == pytest.approx(250, abs=1)
    assert found.latest == pytest.approx(250, abs=1)


def test_noise_widens_the_band_around_the_truth() -> None:
    noise = np.random.default_rng(3).normal(0, 0.05, 200)
    found = projected(
        [1.0 + 0.01 * s + float(n) for s, n in zip(range(200), noise, strict=True)], high=4.0
    )
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
    assert (
        project(run.series("entropy"), Judgement(Level.OK, (Limit(Level.WATCH, 0.5, 9.0),))) is None
    )


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
