"""The charts of a grid: what stands above, in and below them."""

from __future__ import annotations

from typing import Any

import pytest

from rltui.draw.line import Line, Token, plain
from rltui.draw.view import View
from rltui.facts.metrics import TagRow, tab_sections
from rltui.pages.run.grid import DrawQueue, grid_layout, grid_lines
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


def test_values_at_the_crosshair_stand_above_the_charts(run: RunView) -> None:
    rows = actor(run)
    series = run.shown("actor/entropy")
    at_30 = float(series.values[series.steps == 30][0])
    first = draw(run, rows, cross=30)[0]
    values = [t for t, look in first if look.fg is Token.ACCENT and look.bold]
    assert values[rows.index(next(r for r in rows if r.tag == series.tag))] == f"{at_30:.3f}"


def test_charts_appear_a_few_at_a_time_and_the_former_ones_stay_until_then() -> None:
    run = a_session(grpo_batch(60)).runs()[0]
    rows = actor(run)
    layout, queue = grid_layout(160, 41, len(rows)), DrawQueue()

    def drawn(left: float, view: View = VIEW) -> list[str]:
        queue.most = left
        return texts(grid_lines(run, rows, None, None, view, layout, queue))

    titles = drawn(0)
    assert all(r.title in "".join(titles) for r in rows)
    assert not any("│" in x for x in titles)
    assert queue.waiting
    assert 0 < sum("│" in x for x in drawn(2)) < 41
    whole = drawn(len(rows))
    assert not queue.waiting
    assert drawn(0) == whole == texts(draw(run, rows))
    other = View(smooth=0.9)
    assert drawn(0, other) == whole
    assert queue.waiting
    assert drawn(len(rows), other) == texts(draw(run, rows, view=other)) != whole


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


def test_a_grid_reads_the_points_of_the_charts_in_sight_alone(
    run: RunView, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = [r for s in tab_sections(run, "all") for r in s.rows]
    layout = grid_layout(80, 20, len(whole))
    assert layout.places < len(whole)
    read, shown = set[str](), RunView.shown

    def counted(self: RunView, tag: str) -> Any:
        read.add(tag)
        return shown(self, tag)

    run.version += 1
    monkeypatch.setattr(RunView, "shown", counted)
    rows = [r for s in tab_sections(run, "all", valued=False) for r in s.rows]
    assert read == set()
    lines = draw(run, rows, size=(80, 20))
    assert read == {r.tag for r in rows[: layout.places]}
    assert texts(lines) == texts(draw(run, whole, size=(80, 20)))
