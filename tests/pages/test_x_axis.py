"""The room at the end of the axes of a live run: columns that are drawn stay where they are.

Limits by name, wherever a level is explained.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui.core.level import Level
from rltui.draw.line import Token, plain
from rltui.draw.marked_runs import with_others
from rltui.draw.metric_chart import WHOLE_RUN, Zoom, chart_lines, chart_of
from rltui.draw.view import View
from rltui.facts.comparison import Crosshair, reading_at
from rltui.facts.findings import diagnosed_in
from rltui.facts.groups import toggled
from rltui.facts.numbers import short
from rltui.facts.series_stats import episodes
from rltui.facts.x_axis import against_words, axes_of, axis_of, padded_end, span_of
from rltui.pages.metric.lines import explain_tag, metric_lines
from rltui.pages.run.metric_table import spark_line
from rltui.pages.run.metrics_pane import below_lines
from rltui.pages.run.tab import tab_layout
from rltui.session import JudgedRun
from tests.builders import START, a_batch, a_block, steps
from tests.fakes import a_session, grpo_batch, grpo_clock, grpo_tags
from tests.tui.hand import open_app


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
) -> JudgedRun:
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
    found = [(f.tag, f.since_step) for f in run.report.findings if f.rule == "nan"]
    assert found == [("Loss/entropy", 200)]
    charts = [chart_of(run, tag, View()) for tag in ("Loss/surrogate", "Loss/entropy")]
    bad = [[b.since for b in c.bars if b.level is Level.BAD] for c in charts]
    assert bad == [[], [200]]
    assert diagnosed_in(run).moves == ()


VIEW, TAG = View(), "actor/entropy"


def the_run(collapse: int | None) -> JudgedRun:
    return a_session(grpo_batch(60, collapse=collapse), clock=grpo_clock()).runs()[0]


def test_a_chart_names_the_levels_of_its_limits() -> None:
    run = the_run(40)
    low, bad = (limit.shown[0] for limit in run.verdict.judgement(TAG).limits)
    assert low is not None
    assert bad is not None
    assert bad < low
    names = [x.text for x in chart_of(run, TAG, VIEW).limits]
    assert names == [f"watch < {short(low)}", f"bad < {short(bad)}"]
    drawn = "\n".join(plain(x) for x in chart_lines(run, TAG, VIEW, 78, 14))
    assert all(name in drawn for name in names)
    words = "\n".join(plain(x) for x in explain_tag(run, TAG, VIEW, 70))
    assert f"watch limit below {short(low)} (21 % of start)" in words
    assert f"bad limit   below {short(bad)} (15 % of start)" in words
    looks = {text: look.fg for x in explain_tag(run, TAG, VIEW, 70) for text, look in x}
    assert looks[f"below {short(low)} (21 % of start)"] is Token.WATCH
    assert looks[f"below {short(bad)} (15 % of start)"] is Token.BAD


def test_a_finding_that_is_the_same_for_several_tags_colours_each_of_them() -> None:
    nan = [float("nan")] * 20
    broken = ("actor/kl_loss", "actor/pg_loss", "actor/grad_norm")
    tags = grpo_tags(60, 1, None) | {tag: [0.1] * 40 + nan for tag in broken}
    (run,) = a_session(a_batch(steps(1, tags)), clock=grpo_clock()).runs()
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


KL, REWARD = "actor/ppo_kl", "critic/score/mean"


def against_kl(kl: Sequence[float | None], *others: Sequence[float | None]) -> list[JudgedRun]:
    """Runs a, b, ... whose reward is their step in hundredths, and their KL."""
    rewards = [n / 100 for n in range(1, 61)]
    batches = [
        a_batch(
            {**grpo_tags(60), REWARD: rewards, KL: list(values)},  # type: ignore[dict-item]
            run=chr(97 + n),
            source=f"{n}/events.0",
        )
        for n, values in enumerate((kl, *others))
    ]
    return a_session(*batches, clock=grpo_clock()).runs()


UP_AND_DOWN = [0.001 * min(n, 60 - n) for n in range(60)]


def test_a_metric_that_also_falls_makes_a_path_in_the_order_of_steps() -> None:
    (run,) = against_kl(UP_AND_DOWN)
    chart = chart_of(run, REWARD, View(axis="kl.old_new"), zoom=Zoom(crosshair=50))
    assert chart.curve.is_path
    assert list(chart.curve.x) == UP_AND_DOWN
    assert (chart.first, chart.last, chart.x_unit) == (0, 0.03, "KL to old policy nats")
    assert not [*chart.bars, *chart.marks, *chart.restarts]
    assert (chart.point, chart.crosshair) == ((49, "step 50"), UP_AND_DOWN[49])
    lines = metric_lines(run, "critic", REWARD, View(axis=KL), Zoom(crosshair=50), 100, 30)
    text = "\n".join(plain(x) for x in lines)
    assert text.count("KL to old policy nats") == 3  # title, axis, readout
    assert all(x in text for x in ("step 50", "0.011", "0.500  was 0.490"))


def test_each_point_takes_the_newest_value_since_the_one_before_and_thin_data_says_so() -> None:
    rare: list[float | None] = [0.01 * (9 - n) if n % 10 == 4 else None for n in range(60)]
    (run,) = against_kl(rare)
    axis = axis_of(run, run.shown(REWARD), KL)
    assert axis.placed(run.shown(REWARD))[0].tolist() == [5, 15, 25, 35, 45, 55]
    assert against_words(axis, run.shown(REWARD)).endswith("nats, 6 of 60 points")
    assert math.isnan(axis.place(6))
    rewards = a_block({REWARD: [1.0, 2.0, 3.0]}, steps=[10, 20, 30])
    apart = a_block({KL: [0.3, 0.1, 0.2]}, steps=[4, 9, 21])
    (run,) = a_session(a_batch(rewards, apart)).runs()
    steps, x, _ = axis_of(run, run.shown(REWARD), KL).placed(run.shown(REWARD))
    assert (steps.tolist(), x.tolist()) == ([10, 30], [0.1, 0.2])


def test_a_metric_that_grows_is_an_axis_like_tokens_and_a_missing_one_is_named() -> None:
    (run,) = against_kl([0.001 * n for n in range(60)])
    assert not chart_of(run, REWARD, View(axis=KL)).curve.is_path
    assert chart_of(run, REWARD, View(axis="nosuch")).x_kind == "step"
    assert View(axis="nosuch").changed_options(axes_of(run, "nosuch")) == "x step: no nosuch"
    assert axes_of(run)[-2:] == ("loss.kl", "response_length.mean")


@pytest.mark.parametrize("weight", [0.0, 0.9])
@pytest.mark.parametrize("marker", ["braille", "block", "ascii"])
def test_a_path_is_drawn_whatever_the_values(marker: str, weight: float) -> None:
    hostile = [1e308, -1e308, math.nan, math.inf, 0.0, 5e-324, *UP_AND_DOWN[6:]]
    (run,) = against_kl(hostile)
    for tag, log_y in ((REWARD, False), (KL, True)):
        view = View(axis=KL, marker=marker, smooth=weight, log_y=log_y)
        lines = chart_lines(run, tag, view, 60, 20, zoom=Zoom(7, (5.0, 30.0)), overview=True)
        assert {len(plain(x)) for x in lines} == {60}


def test_a_smoothed_path_is_joined_in_the_order_of_steps() -> None:
    (run,) = against_kl(UP_AND_DOWN)
    dots, joined = (
        "\n".join(plain(x) for x in chart_lines(run, REWARD, View(axis=KL, smooth=w), 70, 24))
        for w in (0.0, 0.6)
    )
    drawn = [sum(0x2800 < ord(c) < 0x2900 for c in text) for text in (dots, joined)]
    assert drawn[1] > drawn[0] > 0


def test_runs_on_a_path_are_read_at_the_same_step_and_have_one_range() -> None:
    one, two = against_kl(UP_AND_DOWN, [0.05, *UP_AND_DOWN[:0:-1]])
    view = View(axis=KL, marked=toggled(toggled((), one), two))
    cross = Crosshair.at(50, axis_of(one, one.shown(REWARD), KL), KL)
    found = reading_at(two, REWARD, cross)
    assert (found.seen, found.value, found.x) == (50, 0.5, pytest.approx(0.011))
    chart = with_others(chart_of(one, REWARD, view), one, REWARD, view)
    assert (chart.first, chart.last) == (0, 0.05)
    assert [o.is_path for o in chart.overlays] == [True]


@pytest.mark.parametrize("axis", ["step", "relative", "wall", KL])
def test_charts_beside_each_other_have_one_range_on_every_axis(axis: str) -> None:
    late = [None] * 20 + [float(n) for n in range(40)]
    tags = {**grpo_tags(60), "late": late, KL: UP_AND_DOWN}
    runs = [
        a_batch(a_block(tags, walls=[START + pace * n for n in range(60)]), run=name, source=name)  # type: ignore[arg-type]
        for name, pace in (("slow", 20.0), ("fast", 5.0))
    ]
    fast, slow = sorted(a_session(*runs, clock=grpo_clock()).runs(), key=lambda r: r.name)
    view = View(axis=axis, marked=toggled(toggled((), fast), slow))
    charts = [with_others(chart_of(fast, t, view), fast, t, view) for t in ("late", REWARD, TAG)]
    assert len({(c.first, c.last) for c in charts}) == 1


async def test_a_command_chooses_any_metric_as_the_x_axis() -> None:
    tags = {**grpo_tags(60), KL: UP_AND_DOWN}
    async with open_app(a_batch(steps(1, tags)), size=(120, 36)) as hand:
        await hand.press("3", "enter", "m")
        assert "smooth auto" in hand.footer
        await hand.press("colon", *f"x {KL}", "enter")
        assert "against KL to old policy nats" in hand.text
        assert "not smoothed" in hand.footer
        await hand.press("m")
        await hand.press("left", "left")
        assert "step 59" in hand.text
        await hand.press("colon", *"x nosuch", "enter")
        assert "no x axis or metric named 'nosuch'" in hand.notices
        await hand.press("x")
        assert "against KL" not in hand.text
        await hand.press("colon", *"x kl.old", "enter")
        assert hand.app.view.axis == "kl.old_new"
