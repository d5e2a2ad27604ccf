"""The charts of a grid: how many fit, what stands above, in and below them."""

from __future__ import annotations

import pytest

from rltui.draw.line import Line, Token, plain
from rltui.draw.view import View
from rltui.facts.metrics import TagRow, tab_sections
from rltui.pages.run.grid import grid_lines
from rltui.pages.run.grid_layout import grid_layout
from rltui.pages.run.metrics_pane import below_lines
from rltui.pages.run.tab import tab_layout
from rltui.session import RunView
from tests.fakes import a_session, grpo_batch

VIEW = View()


@pytest.fixture(scope="module")
def run() -> RunView:
    return a_session(grpo_batch(60)).runs()[0]


def actor(run: RunView) -> list[TagRow]:
    return [r for s in tab_sections(run, "actor") for r in s.rows]


def draw(
    run: RunView,
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


def test_badge_title_unit_and_newest_value_stand_above_a_chart(run: RunView) -> None:
    rows = actor(run)
    lines = draw(run, rows)
    entropy = next(r for r in rows if r.tag == "actor/entropy")
    place = rows.index(entropy)
    assert entropy.value is not None
    title = lines[0] if place < 4 else None
    assert title is not None
    text = plain(title)
    assert "✖ entropy" in text
    assert "nats 0.0" in text
    bad = [t for t, look in title if look.fg is Token.BAD and look.bold]
    assert "✖ " in bad, "the badge and the value alone are in the colour of the level"
    assert len(bad) == 2 * sum(r.level.name == "BAD" for r in rows[:4])


def test_a_short_tab_has_small_charts_below_its_list(run: RunView) -> None:
    rows = actor(run)
    layout = tab_layout("actor", 160, 41, len(rows))
    for row in (rows[0], rows[-1]):
        lines = texts(below_lines(run, row.tag, VIEW, layout, layout.below, rows))
        assert len(lines) == layout.below
        assert any(f"▌{badge} {row.title}" in x for x in lines for badge in "✔✖▲·")
    assert sum(x.count("│") > 0 for x in lines) > 10
    few = texts(below_lines(run, rows[0].tag, VIEW, layout, 20, rows))
    assert not any("│" in x for x in few), "no room beside what is known of the row"
    assert max(len(x.rstrip()) for x in few) > 0


SIZES = [
    (20, 3),
    (40, 8),
    (78, 21),
    (80, 20),
    (120, 32),
    (160, 41),
    (200, 46),
    (240, 56),
    (400, 116),
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
