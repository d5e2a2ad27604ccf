"""The room at the end of the axes of a live run: columns that are drawn stay where they are.

Limits by name, wherever a level is explained.
"""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui.core.level import Level
from rltui.draw.line import Token, plain
from rltui.draw.view import View
from rltui.facts.findings import diagnosed_in
from rltui.facts.metrics import episodes
from rltui.facts.numbers import short
from rltui.facts.x_axis import padded_end, span_of
from rltui.pages.metric.lines import explain_tag, metric_lines
from rltui.pages.metric.metric_chart import WHOLE_RUN, chart_lines, chart_of
from rltui.pages.run.metric_table import spark_line
from rltui.pages.run.metrics_pane import below_lines
from rltui.pages.run.tab import tab_layout
from rltui.session import RunView
from tests.builders import START, a_batch, a_block, steps
from tests.fakes import a_session, grpo_batch, grpo_clock, grpo_tags


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


VIEW, TAG = View(), "actor/entropy"


def the_run(collapse: int | None) -> RunView:
    return a_session(grpo_batch(60, collapse=collapse), clock=grpo_clock()).runs()[0]


def test_a_chart_names_the_levels_of_its_limits() -> None:
    run = the_run(40)
    low, bad = run.verdict.limits(TAG)[0], run.verdict.bad_limits(TAG)[0]
    assert low is not None
    assert bad is not None
    assert bad < low
    names = [x.text for x in chart_of(run, TAG, VIEW).limits]
    assert names == [f"watch < {short(low)}", f"bad < {short(bad)}"]
    drawn = "\n".join(plain(x) for x in chart_lines(run, TAG, VIEW, 78, 14))
    assert all(name in drawn for name in names)
    words = "\n".join(plain(x) for x in explain_tag(run, TAG, VIEW, 70))
    assert "watch limit below 21 % of start" in words
    assert "bad limit   below 15 % of start" in words
    looks = {text: look.fg for x in explain_tag(run, TAG, VIEW, 70) for text, look in x}
    assert looks["below 21 % of start"] is Token.WATCH
    assert looks["below 15 % of start"] is Token.BAD


def test_a_finding_that_is_the_same_for_several_tags_colours_each_of_them() -> None:
    nan = [float("nan")] * 20
    broken = ("actor/kl_loss", "actor/pg_loss", "actor/grad_norm")
    tags = grpo_tags(60, 1, None) | {tag: [0.1] * 40 + nan for tag in broken}
    (run,) = a_session(a_batch(steps(1, tags)), clock=grpo_clock()).runs()
    assert run.report is not None
    (finding,) = (f for f in run.report.firing() if f.rule == "nan")
    assert len(finding.evidence.others) == 2
    for tag in broken:
        assert run.verdict.tag_level(tag) is Level.BAD
        assert (41, None, Level.BAD) in episodes(run, tag), "the colour of the line"
        assert [b.own for b in chart_of(run, tag, VIEW).bars if b.title == finding.title] == [True]
        layout = tab_layout("actor", 160, 45, 9)
        said = [plain(x) for x in below_lines(run, tag, VIEW, layout, 12)]
        assert any("not a number" in x for x in said)


def test_a_limit_far_from_the_curve_leaves_its_scale_alone() -> None:
    run = the_run(None)
    limits = chart_of(run, TAG, VIEW).limits
    assert [x.text for x in limits if x.sought] == [x.text for x in limits if "watch" in x.text]
    assert "bad" not in "\n".join(plain(x) for x in chart_lines(run, TAG, VIEW, 78, 14))
    assert run.verdict.tag_level(TAG) is Level.OK


def page(*kl: float) -> str:
    tags = grpo_tags(60, 1, None)
    tags["actor/ppo_kl"] = [0.001, 0.0012] * 29 + list(kl)
    (run,) = a_session(a_batch(tags), clock=grpo_clock()).runs()
    lines = metric_lines(run, "actor", "actor/ppo_kl", View(), WHOLE_RUN, 160, 40)
    return " ".join("\n".join(plain(line) for line in lines).split())


def test_a_value_beyond_its_limit_says_why_there_is_no_finding_yet() -> None:
    text = page(0.001, 0.15)
    assert "no tick: the newest value is outside" in text
