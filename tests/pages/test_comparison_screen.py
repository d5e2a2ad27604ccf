"""Runs side by side: numbers in one unit."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rltui.draw.line import plain
from rltui.draw.view import View
from rltui.facts.comparison import Comparison, Crosshair
from rltui.facts.x_axis import Axis
from rltui.output.plot import PlotOptions, plot_text
from rltui.pages.comparison.lines import Curves, ShownMetric
from rltui.session import JudgedRun
from tests.builders import Values, a_batch, a_block, steps
from tests.fakes import a_session, grpo_tags
from tests.tui.hand import Hand, open_app

REWARD = "critic/score/mean"


def seeds(count: int = 4) -> list[Any]:
    """``count`` seeds of two settings: the second gets 0.2 further."""
    batches = []
    for name, gain in (("low", 0.5), ("high", 0.7)):
        for seed in range(1, count + 1):
            tags = grpo_tags(60, collapse=None)
            tags[REWARD] = [0.1 + gain * i / 59 + 0.01 * seed for i in range(60)]
            run = f"grpo_{name}_s{seed}"
            batches.append(a_batch(steps(1, tags), run=run, source=f"{run}/events.0"))
    return batches


def names(hand: Hand) -> list[str]:
    return [item if isinstance(item, str) else item.name for item in hand.ids]


def row(hand: Hand, name: str) -> str:
    """The line of a row of the table."""
    return next(x for x in hand.lines if name in x and " stalled " in x)


async def test_all_runs_are_compared_until_two_are_marked() -> None:
    async with open_app(*seeds(2)) as hand:
        await hand.press("C")
        assert len(hand.ids) == 4
        assert "4 runs" in hand.lines[0]
        await hand.press("escape", "space", "C")
        assert len(hand.ids) == 4
        await hand.press("escape", "space", "C")
        assert names(hand) == ["grpo_high_s2", "grpo_high_s1"]
        assert "2 of 4 runs" in hand.lines[0]


async def test_the_best_comes_first_and_the_others_say_how_far_they_are() -> None:
    async with open_app(*seeds(2)) as hand:
        await hand.press("C")
        assert names(hand) == ["grpo_high_s2", "grpo_high_s1", "grpo_low_s2", "grpo_low_s1"]
        assert "0.790*" in row(hand, "high_s2")
        assert "- 0.0100" in row(hand, "high_s1")
        await hand.press("o")
        assert "by name" in hand.footer
        assert names(hand)[0] == "grpo_high_s1"
        await hand.press("y", "o")
        assert "by verdict" in hand.footer
        copied = hand.app.clipboard.splitlines()
        assert copied[0].startswith("run\tstep\tverdict\treward\t")
        assert len([x for x in copied if "\t" in x]) == 5
        await hand.press("o", "G", "c")
        assert "to reference" in hand.text
        assert "+ 0.202" in row(hand, "high_s2")


async def test_the_metric_changes_sideways() -> None:
    async with open_app(*seeds(2)) as hand:
        await hand.press("C")
        assert hand.lines[1].startswith("  reward ─")
        await hand.press("right")
        assert hand.lines[1].startswith("  reward spread ─")
        await hand.press("left", "left")
        assert hand.lines[1].startswith("  reward ─")


async def test_groups_have_a_mean_and_are_described_in_words() -> None:
    async with open_app(*seeds(4)) as hand:
        await hand.press("B")
        assert names(hand) == ["grpo_high_s*", "grpo_low_s*"]
        assert "2 groups by name" in hand.lines[0]
        assert "+ 0.1" in hand.text
        words = " ".join(hand.text.split())
        assert "spread over runs explains (p = 0.0286, by permutation; 4 and 4" in words
        assert "±" in hand.text
        await hand.press("B")
        assert len(hand.ids) == 8


async def test_enter_opens_the_run_at_the_metric() -> None:
    async with open_app(*seeds(2)) as hand:
        await hand.press("C", "j", "enter")
        assert hand.metric.run.name == "grpo_high_s1"
        assert hand.metric.tag == REWARD
        await hand.press("C")
        assert len(hand.ids) == 4
        await hand.press("G", "enter")
        assert hand.metric.run.name == "grpo_low_s1"
        await hand.press("escape", "C", "g", "enter")
        assert hand.metric.run.name == "grpo_high_s2"
        await hand.press("escape", "escape")
        assert hand.runs.is_current


async def test_marked_runs_are_in_the_charts_of_the_others() -> None:
    async with open_app(*seeds(2)) as hand:
        await hand.press("space", "space")
        marked = [x for x in hand.lines if x.lstrip(" ▌").startswith(("1 ", "2 "))]
        assert len(marked) == 2
        assert "2 marked" in hand.footer
        await hand.press("enter")
        for name in ("━ grpo_low_s1", "━ 1 grpo_high_s1", "━ 2 grpo_high_s2"):
            assert name in hand.text
        await hand.press("4", "enter")
        assert hand.metric.tag == REWARD
        assert "━ grpo_low_s1   ━ 1 grpo_high_s1   ━ 2 grpo_high_s2" in hand.text
        await hand.press("r", "k", "space", "k", "k", "space", "enter")
        assert "━ 1" not in hand.text, "the marks were taken away"


async def test_new_rows_are_compared_and_a_pause_holds_them() -> None:
    async with open_app(*seeds(1)) as hand:
        await hand.press("C")
        before = hand.text
        tags = grpo_tags(10, collapse=None)
        tags[REWARD] = [0.95] * 10
        fresh = a_batch(steps(61, tags), run="grpo_low_s1", source="grpo_low_s1/events.0")
        await hand.press("p")
        await hand.feed(fresh)
        assert "0.950" not in hand.text
        await hand.press("p")
        assert "0.950*" in hand.text
        assert hand.text != before
        await hand.press("v")
        assert "none but seeds, names and paths" in hand.text


async def test_two_hundred_runs_are_five_lines_and_a_band() -> None:
    batches = [
        a_batch(steps(1, {REWARD: [0.1, 0.2 + n / 1000]}), run=f"r{n:03}_x", source=f"{n}/e")
        for n in range(200)
    ]
    async with open_app(*batches) as hand:
        await hand.press("C")
        assert len(hand.ids) == 200
        assert "195 of 200 in the band" in hand.lines[1]
        for name in ("r199", "r198", "r197", "r001", "r000"):
            assert any(f"━ {n} {name}" in hand.text for n in range(1, 6)), "the best and the last"
        await hand.press("G")
        assert any("▌" in x and "r000" in x for x in hand.lines)


async def test_esc_leads_from_a_metric_back_to_the_comparison() -> None:
    async with open_app(*seeds(2)) as hand:
        await hand.press("C", "right", "g", "j")
        chosen, before = hand.cursor, hand.lines[1]
        await hand.press("enter")
        assert hand.metric.run.name == chosen.name
        await hand.press("escape")
        assert hand.cursor == chosen
        assert hand.lines[1] == before
        await hand.press("escape")
        assert hand.runs.is_current


async def test_the_filter_of_the_runs_holds_in_the_comparison() -> None:
    async with open_app(*seeds(2)) as hand:
        await hand.press("slash", *"high", "enter", "C")
        assert names(hand) == ["grpo_high_s2", "grpo_high_s1"]
        assert "2 of 4 runs" in hand.lines[0]
        await hand.press("escape")
        assert len(hand.ids) == 4
        await hand.press("slash", *"low", "enter")
        assert names(hand) == ["grpo_low_s2", "grpo_low_s1"]


@pytest.mark.parametrize("text", ["other", "nothing"])
async def test_the_filter_may_leave_no_run_that_has_the_metric(text: str) -> None:
    other = a_batch(steps(1, {"eval/loss": [1.0] * 20}), run="other", source="other/events.0")
    async with open_app(*seeds(1), other) as hand:
        await hand.press("enter", "0", "enter", "C", "slash", *text, "enter")
        assert len(hand.ids) == (text == "other")
        await hand.press("x")
        assert "a fault" not in hand.notices


async def test_a_run_without_times_is_named_where_the_axis_is_time() -> None:
    timed, _ = seeds(1)
    tags = grpo_tags(60, collapse=None)
    tags = {tag: x for tag, x in tags.items() if not tag.startswith(("perf", "timing"))}
    block = a_block(tags, walls=[math.nan] * 60)
    bare = a_batch(block, run="grpo_low_s2", source="low/events.0")
    async with open_app(timed, bare) as hand:
        await hand.press("C", "x")
        assert "x relative" in hand.footer
        assert hand.cursor.name == "grpo_low_s1"
        assert "grpo_low_s2 has no times" in hand.lines[1]
        await hand.press("j")
        assert "grpo_low_s2 has no times" in hand.lines[1]
        assert "━ 1 grpo_low_s1" in hand.text, "its line stays"
        await hand.press("enter")
        assert hand.metric.run.name == "grpo_low_s2"
        assert "x step: no times" in hand.footer


#: prime-rl logs MFU in per cent, verl as a share.
PRIME = {"mismatch_kl/all/mean": [0.01] * 20, "optim/lr": [1e-6] * 20}
VERL = {"actor/pg_clipfrac_lower": [0.0] * 20, "actor/ppo_kl": [0.01] * 20}


def in_two_units() -> list[JudgedRun]:
    """The second run is the better one: 0.309 is more than 29.39 %."""
    logs: dict[str, dict[str, Values]] = {
        "prime_s1": {**PRIME, "perf/mfu": [29.39] * 20},
        "verl_s2": {**VERL, "perf/mfu/actor": [0.309] * 20},
    }
    batches = [a_batch(tags, run=r, source=f"{r}/events.0") for r, tags in logs.items()]
    return a_session(*batches).runs()


def test_values_and_the_chart_are_in_the_unit_of_the_column() -> None:
    runs = in_two_units()
    comparison = Comparison(runs, tag=(runs[0], "perf/mfu"))
    mfu, (prime, verl) = comparison.columns[0], comparison.rows
    assert mfu.info.unit == "%"
    assert comparison.value(prime, mfu) == pytest.approx(29.39)
    assert comparison.value(verl, mfu) == pytest.approx(30.9)
    assert comparison.best(mfu) == comparison.value(verl, mfu)
    assert comparison.ordered("metric", mfu) == [verl, prime]
    assert comparison.numbers_of(verl, mfu).tolist() == pytest.approx([30.9])
    shown = ShownMetric(comparison, mfu, None, View())
    curve = Curves(comparison).of(verl, Axis(), shown)
    assert float(curve.y[0]) == pytest.approx(30.9)


@pytest.mark.parametrize(("known", "highest"), [(True, "30.9┤"), (False, "20┤")])
def test_a_plot_of_runs_has_one_unit(known: bool, highest: str) -> None:
    """A tag that means something else in another run is drawn as it is."""
    logs = {"a": [29.39] * 20, "b": [0.309] * 20}
    batches = [
        a_batch({**PRIME, "perf/mfu": values}, run=name, source=f"{name}/events.0")
        for name, values in logs.items()
    ]
    first, second = a_session(*batches).runs()
    info = second.infos["perf/mfu"]
    share = replace(info, unit="", scale=1.0, metric=info.metric if known else None)
    second.infos = {**second.infos, "perf/mfu": share}
    assert highest in plot_text([first, second], "perf/mfu", PlotOptions(60, 13))


def test_what_is_the_same_in_all_runs_comes_last() -> None:
    same = ("critic/score/mean", 0.1), ("critic/score/std", 1.0), ("actor/entropy", 0.5)
    tags = {tag: [value] * 20 for tag, value in same}
    logs = {name: {**tags, "actor/ppo_kl": [kl] * 20} for name, kl in (("a", 0.1), ("b", 0.2))}
    runs = a_session(*(a_batch(t, run=r, source=f"{r}/e") for r, t in logs.items())).runs()
    tags = [next(iter(c.tags.values())) for c in Comparison(runs).columns]
    assert tags[:2] == ["critic/score/mean", "actor/ppo_kl"]
    assert len(tags) > 2


def test_a_loss_that_was_nan_is_not_the_best() -> None:
    falls = [1 - n / 200 for n in range(80)]
    runs = {"falls": falls, "nan": falls[:60] + [0.0] * 20}
    same = dict.fromkeys(("train/grad_norm", "train/mean_token_accuracy"), [1.0] * 80)
    batches = [a_batch({"train/loss": x, **same}, run=n, source=f"{n}/0") for n, x in runs.items()]
    comparison = Comparison(a_session(*batches).runs())
    loss, (best, nan) = comparison.columns[0], comparison.rows
    assert comparison.ordered("metric", loss) == [best, nan]
    comparison.read_at(Crosshair(70, 70))
    assert np.isnan(comparison.value(nan, loss))


def test_a_mean_says_of_which_runs_it_is() -> None:
    ends = {"a_s1": [1.0] * 40, "a_s2": [3.0] * 20}
    batches = [a_batch({REWARD: y}, run=name, source=f"{name}/0") for name, y in ends.items()]
    comparison = Comparison(a_session(*batches).runs(), by="name")
    shown = ShownMetric(comparison, comparison.columns[0], None, View())
    title = plain(Curves(comparison).chart(shown, 120, 12)[0])
    assert "mean ± sd of the runs that got there" in title
