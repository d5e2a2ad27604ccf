"""The Timing tab: one step, the stages, every step; and one line on Overview."""

from collections.abc import Iterable

import pytest

from rltui.catalogue.model import Category
from rltui.core.level import Level
from rltui.core.text import cell_width
from rltui.draw.line import Line, ascii_line, plain
from rltui.draw.view import View
from rltui.facts.lanes import lanes
from rltui.pages.run.tab import tab_line
from rltui.pages.timing.lanes import lane_columns, lane_rows, lane_strips, tail_name
from rltui.pages.timing.pane import anatomy, step_line, step_lines, timing_layout
from rltui.pages.timing.timing_table import (
    SPREAD,
    stacked_lines,
    stage_columns,
    stage_entries,
    stage_rows,
    stages_head,
)
from rltui.session import JudgedRun
from tests.builders import Tags, a_batch, a_block
from tests.facts.test_lanes import VERL
from tests.fakes import a_session

SIZES = ((20, 5), (40, 10), (80, 21), (120, 31), (160, 40), (200, 45), (400, 115))
N = 60
TAGS: Tags = {
    "timing_s/gen": [4.0] * 40 + [14.0] * 20,
    "timing_s/generate_sequences": [3.0] * N,
    "timing_s/old_log_prob": [1.0] * N,
    "timing_s/ref": [0.5] * N,
    "timing_s/reward": [0.1] * N,
    "timing_s/adv": [0.01] * N,
    "timing_s/values": [0.7] * N,
    "timing_s/update_critic": [1.5] * N,
    "timing_s/update_actor": [3.0] * N,
    "timing_s/testing": [20.0 if s % 20 == 0 else None for s in range(1, N + 1)],
    "timing_s/step": [11.0] * 40 + [21.0] * 20,
    "timing_per_token_ms/gen": [0.5] * N,
}


def the_run(tags: Tags = TAGS) -> JudgedRun:
    return a_session(a_batch(a_block(tags))).runs()[0]


def test_the_title_says_how_slow_and_because_of_what() -> None:
    run = the_run()
    found = anatomy(run)
    assert found is not None
    title, bar = (plain(x) for x in step_lines(run, found, View(), 120))
    assert "21.0 s" in title
    assert "1.9 × its usual 11.0 s (steps 7 to 22)" in title
    assert "slower by generate × 3.5 since step 41" in title
    assert "generate 64 %" in bar


def test_rows_stand_by_cost_with_what_is_inside_them() -> None:
    rows = stage_rows(the_run(), anatomy(the_run()))
    assert [r.title for r in rows[:3]] == ["generate", "generate, workers", "update actor"]
    assert [r.depth for r in rows[:3]] == [0, 1, 0]
    assert rows[-1].tag == "timing_s/step"
    own = [r.colour for r in rows if r.depth == 0 and r.colour is not None and r.tag is not None]
    assert len([c for c in own if c < 5]) == 5


def test_stages_are_letters_without_colours() -> None:
    run, view = the_run(), View(colours=False)
    found = anatomy(run)
    lines = stacked_lines(run, found, view, 100, 20, shares=False)
    assert {"#", "="} <= set("".join(plain(x)[8:] for x in lines[1:-2]))
    assert set("#=%") <= set(plain(step_lines(run, found, view, 100)[1]))
    row = next(x for e in stage_entries(run, stage_rows(run, found), stage_columns(100), view, 2)
               for x in e.draw(False))  # fmt: skip
    assert plain(row).split()[0] in "#=+-.,"


def assert_fit(lines: Iterable[Line], width: int, view: View) -> None:
    shown = [plain(ascii_line(x) if view.glyphs.ascii else x) for x in lines]
    assert all(cell_width(x) <= width for x in shown)
    assert view.marker != "ascii" or all(x.isascii() for x in shown)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("marker", ["braille", "ascii"])
def test_nothing_is_wider_than_its_place(size: tuple[int, int], marker: str) -> None:
    run, view = the_run(), View(marker=marker)
    found = anatomy(run)
    layout = timing_layout(*size, len(stage_rows(run, found)))
    assert layout.top + 1 + layout.list_height + layout.below <= max(size[1], 2)
    lines = step_lines(run, found, view, layout.rows)
    lines.append(stages_head(run, stage_columns(layout.rows), layout.rows, view))
    if layout.below:
        plot = stacked_lines(run, found, view, layout.rows, layout.below - 1, shares=False)
        assert len(plot) == layout.below - 1
        lines += plot
    assert_fit(lines, layout.rows, view)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("marker", "shares"), [("braille", True), ("ascii", False)])
def test_lanes_fit_their_place(size: tuple[int, int], marker: str, shares: bool) -> None:
    run, view = the_run(VERL), View(marker=marker)
    found = anatomy(run)
    rows = lane_rows(run, found)
    layout = timing_layout(*size, len(rows), strips=True)
    columns = lane_columns(run, layout.rows)
    lines = step_lines(run, found, view, layout.rows)
    lines.append(stages_head(run, columns, layout.rows, view, "Lanes", tail_name(run)))
    if layout.rows >= 50:
        lines += [x for e in stage_entries(run, rows, columns, view, 0) for x in e.draw(False)]
    if layout.below:
        plot = lane_strips(run, found, view, layout.rows, layout.below - 1, shares=shares)
        assert len(plot) == layout.below - 1
        lines += plot
    assert_fit(lines, layout.rows, view)


def test_lanes_show_what_samples_take_and_who_waits() -> None:
    run = the_run(VERL)
    found = anatomy(run)
    titles = [r.title for r in lane_rows(run, found)]
    assert titles[:3] == ["trainer", "update actor", "sync weights"]
    assert titles[-4:] == ["waiting", "wait, generate", "generation idle", "whole step"]
    _, waste, bar = (plain(x) for x in step_lines(run, found, View(), 120))
    assert waste.startswith("wasted: trainer waits 60 %, sampler idles 10 %")
    assert bar.split()[:2] == ["trainer", "40"]
    assert "waiting 60 %" in bar
    strips = lane_strips(run, found, View(), 100, 20, shares=True)
    names = [plain(x).split("│")[0].strip() for x in strips]
    assert [n for n in names if n.isalpha()] == [lane.name for lane in lanes(run)]


def test_overview_has_one_line_of_it() -> None:
    line = step_line(the_run(), View(), 69)
    assert line is not None
    assert plain(line).startswith("One step  21.0 s  slower by generate × 3.5 since step 41")
    assert step_line(the_run({"loss": [1.0] * 9}), View(), 69) is None


def test_columns_that_no_timer_fills_give_their_cells_to_the_sparklines() -> None:
    plain_times = {t: v for t, v in VERL.items() if "/avg" not in t and not t.endswith("max")
                   and "tp" not in t}  # fmt: skip
    bare, full = lane_columns(the_run(plain_times), 110), lane_columns(the_run(VERL), 110)
    assert [full[name] for name in SPREAD] == [10, 10, 10]
    assert [bare[name] for name in SPREAD] == [0, 0, 0]
    assert (bare["spark"], bare.width) == (full["spark"] + 33, full.width)


def test_what_the_trainer_does_is_no_more_than_the_step() -> None:
    # the idle ratio says 10 %, while the wait for samples takes 60 % of the step
    run = the_run({**VERL, "fully_async/trainer/idle_ratio": [0.1] * 40})
    line = step_line(run, View(), 69)
    assert line is not None
    assert "trainer 90 %, waiting 10 %" in plain(line)


def test_the_tab_has_the_mark_of_its_worst_lane() -> None:
    idle = {"fully_async/rollouter/idle_ratio": [0.1] * 20 + [0.95] * 40}
    run = the_run({t: v[:1] * 60 for t, v in VERL.items()} | idle)  # type: ignore[operator]
    worst = run.verdict.tag_level("fully_async/rollouter/idle_ratio")
    assert worst >= Level.WATCH
    assert run.verdict.categories[Category.TIMING] < worst
    line, _ = tab_line(run, "timing", View(), 160)
    assert f"Timing {View().glyphs.badge(worst)}" in plain(line)
