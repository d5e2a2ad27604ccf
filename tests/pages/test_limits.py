"""Limits by name, wherever a level is explained."""

from __future__ import annotations

from rltui.core.level import Level
from rltui.draw.line import plain
from rltui.draw.view import View
from rltui.facts import sentences
from rltui.facts.numbers import short
from rltui.pages.metric.lines import explain_tag, metric_lines
from rltui.pages.metric.metric_chart import WHOLE_RUN, chart_lines, chart_of
from rltui.session import RunView
from tests.builders import a_batch, a_block
from tests.fakes import a_session, grpo_batch, grpo_clock, grpo_tags

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
    assert "watch limit ≥ 15 % of start" in words
    assert "bad limit   ≥ 10 % of start" in words


def test_after_a_fast_fall_the_limit_is_the_one_that_holds() -> None:
    fall = a_block({TAG: [3.8] * 30 + [0.9] * 10, "actor/ppo_kl": [0.01] * 40})
    run = a_session(a_batch(fall), clock=grpo_clock()).runs()[0]
    assert run.verdict.tag_level(TAG) is Level.BAD
    assert [x.text for x in chart_of(run, TAG, VIEW).limits] == ["bad < 1.14"]
    assert sentences.healthy(run.verdict.judgement(TAG)) == "≥ 30 % of start"
    words = "\n".join(plain(x) for x in explain_tag(run, TAG, VIEW, 70))
    assert "≥ 30 % of start" in words
    assert "15 %" not in words


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
    text = page(0.001, 0.1)
    assert "no tick: the newest value is outside" in text
