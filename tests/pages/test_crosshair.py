"""One crosshair on a metric, in the grid and with runs side by side: what every run has there."""

from typing import Any

import numpy as np
import pytest

from rltui.draw.line import plain
from rltui.draw.marked_runs import reading_lines
from rltui.draw.metric_chart import Zoom
from rltui.draw.view import View
from rltui.facts.comparison import Crosshair, reading_at
from rltui.pages.findings.lines import HeadId
from rltui.session import JudgedRun
from rltui.tui.crosshair import stepped
from tests.builders import START, a_batch, a_block, steps
from tests.fakes import a_session, blown_up_tags, grpo_batch, grpo_clock, grpo_tags, marked, runs_of
from tests.tui.hand import Hand, open_app

TAG = "actor/entropy"


def table(run: JudgedRun, step: int, view: View, width: int = 100, height: int = 9) -> list[str]:
    return [plain(x).rstrip() for x in reading_lines(run, TAG, step, view, width, height)]


def test_every_run_has_a_line_with_value_average_difference_and_step() -> None:
    one, two, three = runs_of(1.0, 3.0, 2.0)
    head, *lines = table(one, 20, View(marked=marked([one, two, three])))
    assert head.split() == ["at", "step", "20", "value", "smooth", "0.6", "to", "this", "run",
                            "seen", "at"]  # fmt: skip
    assert [x.split()[2:] for x in lines] == [
        ["exp_s2", "3.20", "3.19", "+", "2.00", "20"],
        ["exp_s3", "2.20", "2.19", "+", "1.00", "20"],
        ["exp_s1", "1.20", "1.19", "–", "20"],
    ]


def test_a_run_that_is_over_says_where_its_value_is_from_and_one_that_begins_later_has_none() -> (
    None
):
    (one,), (short,) = runs_of(1.0), runs_of(2.0, rows=15)
    view = View(marked=marked([short]))
    assert "15, end" in table(one, 20, view)[1]
    assert "end" not in table(one, 15, view)[1]
    assert "not yet" in "".join(table(one, 0, view))


def test_the_reference_is_what_the_others_are_compared_with() -> None:
    one, two, three = runs_of(1.0, 3.0, 2.0)
    one.reference = three
    lines = table(one, 20, View(marked=marked([two])))
    assert "to reference" in lines[0]
    assert next(x.split()[1:] for x in lines[1:])[:5] == ["1", "exp_s2", "3.20", "3.19", "+"]
    assert "exp_s3 (ref.)" in lines[2]
    assert "- 1.00" in lines[3]


def test_the_nearest_runs_stay_where_there_is_no_room_and_the_rest_is_counted() -> None:
    runs = runs_of(1.0, 9.0, 1.5, 5.0, 1.2)
    head, *lines = table(runs[0], 20, View(marked=marked(runs)), width=78, height=4)
    assert "+2 more" in head
    assert [x.split()[2] for x in lines] == ["exp_s3", "exp_s5", "exp_s1"]
    (line,) = table(runs[0], 20, View(marked=marked(runs)), width=60, height=1)
    assert "exp_s1 1.20" in line
    assert line.endswith("+2")


def test_the_order_is_that_of_the_lines_or_of_the_marks() -> None:
    runs = runs_of(1.0, 3.0, 2.0)
    view = View(marked=marked(runs), by_value=False)
    assert [x.split()[2] for x in table(runs[0], 20, view)[1:]] == ["exp_s1", "exp_s2", "exp_s3"]


def test_runs_are_read_at_the_same_place_of_the_axis() -> None:
    """Half as fast: what stands at step 21 of one run, after 200 s, is at step 11 of the other."""
    batches = [
        a_batch(
            a_block(
                {TAG: [float(n) for n in range(40)]}, walls=[START + pace * n for n in range(40)]
            ),
            run=f"run{pace:g}",
            source=f"run{pace:g}/events.0",
        )
        for pace in (10.0, 20.0)
    ]
    _, slow = a_session(*batches, clock=grpo_clock()).runs()
    by_step = reading_at(slow, TAG, Crosshair(20, 20.0))
    by_time = reading_at(slow, TAG, Crosshair(20, 200.0, "relative", "time"))
    assert (by_step.seen, by_time.seen) == (20, 11)
    assert reading_at(slow, TAG, Crosshair(20, 20.0, "tokens", "number")) is None
    at_steps = reading_at(slow, TAG, Crosshair(20, 20.0, "relative", "step"))
    assert at_steps.seen == 20, "by steps where the run on the screen has no times"


def batches() -> list[Any]:
    """A run whose entropy collapses after step 40, and a calm one."""
    return [grpo_batch(60, total=200), grpo_batch(60, run="calm", collapse=None)]


async def open_marked(hand: Hand, *keys: str) -> None:
    """Mark both runs, and open the one that collapses."""
    await hand.press("space", "space", "g", "enter", *keys)


@pytest.mark.parametrize("size", [(80, 24), (160, 45)])
async def test_the_table_stands_below_the_large_chart(size: tuple[int, int]) -> None:
    async with open_app(*batches(), size=size) as hand:
        await open_marked(hand, "3", "enter", "left")
        text = hand.text
        assert "at step 60" in text
        assert "calm" in text
        assert "to this run" in text
        assert "was " not in text  # the box beside the crosshair


@pytest.mark.parametrize(("height", "count"), [(24, 1), (45, 3)])
async def test_the_grid_names_the_values_of_the_chart_at_the_cursor(
    height: int, count: int
) -> None:
    async with open_app(*batches(), size=(160, height)) as hand:
        await open_marked(hand, "3", "v", "comma")
        start = next(n for n, x in enumerate(hand.lines) if "━ 1 " in x or "at step" in x)
        assert sum("━ 1" in x or "━ 2" in x for x in hand.lines[start : start + count]) >= 1
        before = hand.lines[start : start + count]
        await hand.press("right")
        assert hand.lines[start : start + count] != before


async def test_runs_side_by_side_are_read_and_ordered_at_the_step() -> None:
    tags = grpo_tags(60, collapse=None)
    rising = [n / 60 for n in range(60)]
    both = []
    for name, values in (("early", [0.5] * 60), ("late", rising)):
        tags = {**grpo_tags(60, collapse=None), "critic/score/mean": values}
        both.append(a_batch(steps(1, tags), run=name, source=f"{name}/events.0"))
    async with open_app(*both) as hand:
        await hand.press("C")
        assert [i.name for i in hand.ids] == ["late", "early"]
        await hand.press("g", "comma", "g")  # the newest step, then the first one
        assert "value at step 1 " in hand.lines[0]
        assert [i.name for i in hand.ids] == ["early", "late"]
        await hand.press("right_parenthesis")
        assert "value at step 11 " in hand.lines[0]
        await hand.press("colon", *"31", "enter")
        assert "value at step 31 " in hand.lines[0]
        await hand.press("escape")
        assert "by reward, mean of the last" in hand.lines[0]


def test_every_point_of_a_long_run_can_be_reached_and_its_ends_are_a_few_presses_away() -> None:
    long = np.arange(0, 1000, 2)
    assert [stepped(long, 500, by) for by in (-1, 1, -10, 10)] == [498, 502, 400, 600]
    assert [stepped(long[:150], 100, by) for by in (-10, 10)] == [80, 120]
    assert [stepped(long, at, by) for at, by in ((998, 1), (0, -10), (None, -1))] == [998, 0, 998]


@pytest.mark.parametrize("shown", ["relative", "wall"])
async def test_groups_on_an_axis_of_time_keep_the_crosshair_and_say_where_they_end(
    shown: str,
) -> None:
    """Two groups of two seeds; the slow one goes on for twice as long."""
    runs = [
        a_batch(
            a_block(
                {TAG: [1.0 - n / 50 for n in range(25)]},
                walls=[START + pace * n for n in range(25)],
            ),
            run=f"pace{pace}_s{seed}",
            source=f"pace{pace}_s{seed}/events.0",
        )
        for pace in (10, 20)
        for seed in (1, 2)
    ]
    async with open_app(*runs, size=(100, 30)) as hand:
        await hand.press("C", "B", "colon", *f"x {shown}", "enter")
        await hand.press("o", "j", "comma")
        fast, slow = (x for x in hand.lines[-8:] if "s* " in x and "against" not in x)
        assert "25, end" in fast
        assert "2 runs" in slow
        assert sum("│" in x[60:] for x in hand.lines) > 5


async def test_f_leads_to_the_onset_and_back() -> None:
    async with open_app(*batches()) as hand:
        await open_marked(hand, "3", "slash", *"entropy", "enter", "enter", "left", "left")
        before = hand.metric.zoom.crosshair
        await hand.press("f")
        found = [f for f in hand.metric.run.report.findings if f.is_about(TAG)]
        assert hand.metric.zoom.crosshair == found[0].since_step != before
        await hand.press("f")
        assert hand.metric.zoom.crosshair == before


async def test_a_step_out_of_sight_moves_what_is_enlarged() -> None:
    async with open_app(*batches()) as hand:
        await open_marked(hand, "3", "enter", "plus", "plus", "g")
        zoom: Zoom = hand.metric.zoom
        assert zoom.window[0] <= 1 <= zoom.window[1]
        assert zoom.window[1] - zoom.window[0] == pytest.approx(59 / 4)


async def test_a_replay_begins_at_the_finding_at_the_cursor() -> None:
    async with open_app(*batches()) as hand:
        await open_marked(hand, "9")
        step = hand.run.chosen_step
        assert f"{step} to now" in hand.text
        await hand.press("H")
        assert f"Logged at step {step}" in hand.text
        await hand.press("q", "t")
        assert hand.app.screen._step == step
        await hand.press("q", "less_than_sign")
        assert f"certain at {hand.run.run.as_of}" in hand.text


async def test_a_copied_cause_is_the_story_that_it_began() -> None:
    tags = blown_up_tags([1e-6] * 39 + [1e-4] * 21)
    async with open_app(a_batch(steps(1, tags))) as hand:
        await hand.press("9", "g")
        assert isinstance(hand.cursor, HeadId)
        await hand.press("y")
        story = hand.app.clipboard.splitlines()[1]
        assert "[kl_spike] since 40" in story
        assert "learning rate × 100 at 40, then" in story


async def test_a_copied_finding_is_the_story_of_a_brief() -> None:
    async with open_app(*batches()) as hand:
        await open_marked(hand, "9", "y")
        head, story, *rest = hand.app.clipboard.splitlines()
        assert head.startswith('"grpo" verl GRPO, step 60/200')
        assert "[entropy_collapse] since" in story
        assert any(x.startswith("    next: ") for x in rest)
