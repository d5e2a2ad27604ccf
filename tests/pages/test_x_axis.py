"""The room at the end of the axes of a live run: columns that are drawn stay where they are."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui.draw.line import plain
from rltui.draw.view import View
from rltui.facts.findings import diagnosed_in
from rltui.facts.x_axis import padded_end, span_of
from rltui.pages.metric.metric_chart import chart_of
from rltui.pages.run.metric_table import spark_line
from rltui.session import RunView
from tests.builders import START, a_batch, a_block
from tests.fakes import a_session, grpo_batch, grpo_clock


@given(first=st.integers(-(10**12), 10**12), length=st.integers(0, 10**12))
def test_the_end_is_a_little_beyond_the_newest_step(first: int, length: int) -> None:
    end = padded_end(first, first + length)
    assert first + length <= end <= first + 1.26 * length


@pytest.mark.parametrize(("age", "whole"), [(5.0, False), (90_000.0, True)])
def test_only_a_live_run_gets_room(age: float, whole: bool) -> None:
    session = a_session(grpo_batch(60), clock=grpo_clock(60, age))
    run = next(iter(session.views.values()))
    first, last, end = span_of(run)
    assert (first, last, end) == (1, 60, 60.0 if whole else padded_end(1, 60))


def seconds_beside_iterations(
    rows: int = 60, nan_from: int = 60, other: str = "Train/mean_reward/time"
) -> RunView:
    """Losses by iteration and a tag by second, four to an iteration, NaN from ``nan_from`` on."""
    walls = [START + 4.0 * n for n in range(rows)]
    tags = ("Loss/surrogate", "Loss/value", "Loss/x")
    losses = {t: [float(n) for n in range(rows)] for t in tags}
    main = a_block(losses, steps=range(rows), walls=walls)
    returns = [float(n) if n < nan_from else math.nan for n in range(rows)]
    seconds = a_block({other: returns}, steps=[4 * n for n in range(rows)], walls=walls)
    (run,) = a_session(a_batch(main, seconds)).runs()
    return run


def test_a_tag_with_its_own_axis_fills_its_sparkline() -> None:
    run = seconds_beside_iterations()
    assert span_of(run)[:2] == span_of(run, "Loss/surrogate")[:2] == (0, 59)
    assert span_of(run, "Train/mean_reward/time")[:2] == (0, 236)
    sparks = [
        plain(spark_line(run, tag, 16, View(), judged=True))
        for tag in ("Loss/surrogate", "Train/mean_reward/time")
    ]
    assert sparks[0] == sparks[1]
    assert len(set(sparks[0])) > 4


def test_a_finding_on_another_axis_is_a_bar_of_its_own_chart_only() -> None:
    run = seconds_beside_iterations(nan_from=50, other="Loss/entropy")
    assert run.report is not None
    assert [(f.tag, f.since_step) for f in run.report.findings] == [("Loss/entropy", 200)]
    bars = {t: chart_of(run, t, View()).bars for t in ("Loss/surrogate", "Loss/entropy")}
    assert [len(b) for b in bars.values()] == [0, 1]
    assert diagnosed_in(run).moves == ()
