"""The charts of a grid: how many fit, what stands above, in and below them; what keys do there."""

import re
from typing import Any
from unittest.mock import patch

import pytest
from textual import events

from rltui.draw.line import Line, Token, plain
from rltui.draw.view import View
from rltui.facts.metrics import TagRow, tab_sections
from rltui.pages.run.grid import grid_lines
from rltui.pages.run.grid_layout import grid_layout
from rltui.pages.run.metrics_pane import below_lines
from rltui.pages.run.tab import tab_layout
from rltui.session import JudgedRun
from tests.fakes import a_session, grpo_batch
from tests.tui.hand import Hand, open_app

VIEW = View()


@pytest.fixture(scope="module")
def run() -> JudgedRun:
    return a_session(grpo_batch(60)).runs()[0]


def actor(run: JudgedRun) -> list[TagRow]:
    return [r for s in tab_sections(run, "actor") for r in s.rows]


def draw(
    run: JudgedRun,
    rows: list[TagRow],
    *,
    cursor: str | None = None,
    cross: int | None = None,
    view: View = VIEW,
    size: tuple[int, int] = (160, 41),
) -> list[Line]:
    return grid_lines(run, rows, cursor, cross, view, grid_layout(*size, len(rows)))


def texts(lines: list[Line]) -> list[str]:
    return [plain(line) for line in lines]


def test_badge_title_unit_and_newest_value_stand_above_a_chart(run: JudgedRun) -> None:
    rows = actor(run)
    title = draw(run, rows)[0]
    assert "actor/entropy" in [r.tag for r in rows[:4]]
    text = plain(title)
    assert "✖ entropy" in text
    assert "nats 0.0" in text
    bad = [t for t, look in title if look.fg is Token.BAD and look.bold]
    assert "✖ " in bad, "the badge and the value alone are in the colour of the level"
    assert len(bad) == 2 * sum(r.level.name == "BAD" for r in rows[:4])


def test_a_short_tab_has_small_charts_of_its_other_rows_below_its_list(run: JudgedRun) -> None:
    rows = actor(run)
    layout = tab_layout("actor", 160, 41, len(rows))
    for row in (rows[0], rows[-1]):
        lines = texts(below_lines(run, row.tag, VIEW, layout, layout.below, rows))
        assert len(lines) == layout.below
        assert not any(f"{badge} {row.title}  " in x for x in lines for badge in "✔✖▲·"), "beside"
    assert any(f"{badge} {rows[-2].title}  " in x for x in lines for badge in "✔✖▲·")
    assert sum(x.count("│") > 0 for x in lines) > 10
    few = texts(below_lines(run, rows[0].tag, VIEW, layout, 20, rows))
    assert not any("│" in x for x in few), "no room beside what is known of the row"


def test_what_a_row_means_ends_in_an_ellipsis_where_the_charts_below_need_the_room(
    run: JudgedRun,
) -> None:
    rows = actor(run)
    layout = tab_layout("actor", 120, 36, len(rows))
    entropy = next(r.tag for r in rows if r.title == "entropy")
    lines = texts(below_lines(run, entropy, VIEW, layout, layout.below, rows))
    cut = next(n for n, x in enumerate(lines) if x.rstrip().endswith("…"))
    assert not lines[cut + 1].strip(), "the charts stand apart"
    assert "│" in lines[cut + 3]


SIZES = [
    *((20, 3), (40, 8), (78, 21), (80, 20), (120, 32)),
    *((160, 41), (200, 46), (240, 56), (400, 116)),
]


@pytest.mark.parametrize(
    ("width", "columns"), [(40, 1), (80, 2), (109, 2), (110, 3), (150, 4), (190, 5), (240, 6)]
)
def test_as_many_columns_as_fit(width: int, columns: int) -> None:
    assert grid_layout(width, 40, 500).columns == columns


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_charts_fill_the_body_and_stay_in_it(width: int, height: int) -> None:
    for count in (1, 2, 3, 5, 8, 13, 22, 200):
        layout = grid_layout(width, height, count)
        assert sum(layout.heights) + layout.axis == height
        assert layout.columns * layout.pitch <= width
        assert max(layout.heights) - min(layout.heights) <= 1


@pytest.fixture
def sick() -> tuple[Any, ...]:
    return (grpo_batch(60, total=200),)


def sight(hand: Hand) -> str:
    return hand.run.metrics.grid.sight


async def test_v_turns_a_tab_into_charts_and_back(sick: tuple[Any, ...]) -> None:
    async with open_app(*sick, size=(160, 45)) as hand:
        await hand.press("3")
        table = hand.text
        await hand.press("v")
        assert hand.text.count("└") == 3, "one x axis for each column"
        assert "7 charts" in hand.footer
        assert "v table" in hand.footer
        await hand.press("4")
        assert "charts" in hand.footer, "the other tabs are charts too"
        await hand.press("1")
        assert "Is it learning?" in hand.text, "but not Overview"
        await hand.press("3", "v")
        assert hand.text == table


async def test_arrows_and_letters_move_between_charts_and_enter_opens(
    sick: tuple[Any, ...],
) -> None:
    async with open_app(*sick, size=(120, 36)) as hand:
        await hand.press("3", "v", "g")
        tags = hand.ids
        assert hand.run.metrics.grid.grid_layout.columns == 3
        for key, place in (("right", 1), ("l", 2), ("h", 1), ("down", 4), ("k", 1), ("left", 0),
                           ("left", 0), ("up", 0), ("end", len(tags) - 1)):  # fmt: skip
            await hand.press(key)
            assert tags.index(hand.cursor) == place, key
        await hand.press("enter")
        assert hand.metric.tag == tags[-1]
        await hand.press("escape")
        assert hand.cursor == tags[-1]
        assert hand.run.place == "grid", "back among the charts"
        assert hand.run.tab == "actor"


async def test_the_grid_scrolls_by_rows_and_says_where_it_is(sick: tuple[Any, ...]) -> None:
    async with open_app(*sick, size=(80, 24)) as hand:
        await hand.press("0", "v", "g")
        assert sight(hand) == f"1–4 of {len(hand.ids)}"
        await hand.press("down")
        assert sight(hand).startswith("1–4")
        for _ in range(4):
            hand.run.metrics.grid.draw_ahead()
        with patch("rltui.pages.run.grid.chart_of") as drawn:
            await hand.press("down")
        assert not drawn.called, "that was done before the key came"
        assert sight(hand).startswith("3–6"), "one row on"
        assert sight(hand) in hand.footer
        await hand.press("pagedown")
        assert hand.ids.index(hand.cursor) == 6
        await hand.press("G")
        assert sight(hand).endswith(f"{len(hand.ids)} of {len(hand.ids)}")
        await hand.resize(160, 45)
        assert hand.cursor == hand.ids[-1]
        assert sight(hand).endswith(f"–{len(hand.ids)} of {len(hand.ids)}")


async def test_a_new_row_ends_what_is_drawn_ahead() -> None:
    async with open_app(grpo_batch(60), size=(80, 24)) as hand:
        await hand.press("enter", "0", "v", "g", "down")
        grid = hand.run.metrics.grid
        with patch.object(grid, "_ahead") as timer:
            await hand.feed(grpo_batch(1, first=61))
            grid.draw_ahead()
        assert timer.pause.called


async def test_the_wheel_scrolls_and_clicks_choose_and_open(sick: tuple[Any, ...]) -> None:
    async with open_app(*sick, size=(80, 24)) as hand:
        await hand.press("0", "v", "g")
        grid = hand.run.metrics.grid
        wheel = events.MouseScrollDown(grid, 5, 5, 0, 1, 0, False, False, False)
        grid.post_message(wheel)
        await hand.settle()
        assert sight(hand).startswith("3–6")
        assert sight(hand) in hand.footer
        first = hand.cursor
        await hand.pilot.click(grid, offset=(45, 3))
        await hand.settle()
        assert hand.cursor == hand.ids[3] != first
        await hand.pilot.click(grid, offset=(45, 3))
        await hand.settle()
        assert hand.metric.tag != first


async def test_one_crosshair_runs_through_all_charts_and_esc_takes_it_away(
    sick: tuple[Any, ...],
) -> None:
    async with open_app(*sick, size=(160, 45)) as hand:
        await hand.press("3", "v")
        bare = hand.text
        await hand.press("comma")
        assert hand.text.count(" 60 ") == 3, "on each of the x axes"
        await hand.press("comma", "comma")
        assert hand.run.metrics.grid.cross == 58
        await hand.press("full_stop", "right")
        assert hand.run.metrics.grid.cross == 59
        await hand.press("left", "escape")
        assert hand.text == bare
        assert hand.run.is_current
        await hand.press("x", "comma", "comma")
        assert hand.text.count(" 19m20s ") == 3, "in what the axis counts"


async def test_p_pins_a_metric_and_overview_leads_with_it(sick: tuple[Any, ...]) -> None:
    async with open_app(*sick, size=(120, 36)) as hand:
        await hand.press("3", "g", "P", "6", "v", "P")
        assert "pinned to the Overview" in hand.notices
        pinned = hand.app.session.run_list.pins.tags
        assert len(pinned) == 2
        await hand.press("1")
        assert hand.ids[:2] == list(pinned)
        assert hand.text.index("Pinned") < hand.text.index("Is it learning?")
        assert len(set(hand.ids)) == len(hand.ids), "each in one place"
        await hand.press("v")
        assert hand.ids == list(pinned), "the grid of Overview is that of the pinned ones"
        await hand.press("g", "P")
        assert "unpinned" in hand.notices
        assert hand.ids == list(pinned[1:])
        await hand.press("enter", "P", "escape")
        assert hand.app.session.run_list.pins.tags == ()
        assert len(hand.ids) > 6, "without pins the questions of Overview"


async def test_m_gives_the_body_to_the_chart_then_to_the_list(sick: tuple[Any, ...]) -> None:
    async with open_app(*sick, size=(160, 45)) as hand:
        await hand.press("3")
        both = hand.text
        await hand.press("m")
        assert "clip fraction" not in hand.text.partition("\n")[2].replace("entropy", "")[400:1200]
        title = next(x for x in hand.lines if "actor/" in x)
        assert title.strip().startswith(hand.run.run.infos[hand.cursor].title)
        assert len(title.rstrip()) > 150, "as wide as the screen"
        await hand.press("down")
        assert hand.cursor in hand.text
        await hand.press("up", "m")
        rows = [x for x in hand.lines if re.match(r"^ [ ▌][✔✖▲·] ", x)]
        assert len(rows) == len(hand.ids)
        assert max(len(x.rstrip()) for x in rows) > 120, "sparklines use the width"
        await hand.press("m")
        assert hand.text == both
        await hand.press("m", "escape")
        assert hand.text == both, "Esc shows all parts again"
