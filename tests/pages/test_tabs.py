"""The line of tabs: whole names, the active one and the bad ones at any width."""

from __future__ import annotations

import pytest

from rltui.core.level import Level
from rltui.draw.line import line_width, plain
from rltui.draw.view import View
from rltui.facts.metrics import TAB_BY_ID, tabs_of
from rltui.pages.run.tab import tab_line
from rltui.session import RunView
from tests.builders import a_batch, steps
from tests.fakes import a_session, grpo_batch, grpo_clock, grpo_tags


@pytest.fixture(scope="module")
def run() -> RunView:
    return a_session(grpo_batch(60, total=200), clock=grpo_clock()).runs()[0]


@pytest.mark.parametrize("width", [24, 40, 60, 79, 80, 95, 110, 120, 150, 200])
def test_names_are_whole_and_the_active_tab_is_there(run: RunView, width: int) -> None:
    for active in tabs_of(run):
        line, spots = tab_line(run, active.id, View(), width)
        text = plain(line)
        assert line_width(line) == width
        assert active.id in [s.id for s in spots]
        for spot in spots:
            tab, shown = TAB_BY_ID[spot.id], text[spot.start : spot.end].split()
            names = (tab.title, tab.medium, tab.short)
            assert shown[bool(tab.key)].rstrip("✖✔▲") in names, text
        assert text.rstrip().endswith("…") == (len(spots) < len(tabs_of(run)))


def test_all_stays_where_a_tab_without_a_key_is_bad() -> None:
    tags = grpo_tags(60) | {"actor/lr": [1e-6] * 20 + [float("nan")] * 40}
    (run,) = a_session(a_batch(steps(1, tags))).runs()
    extra = [t.category for t in tabs_of(run) if t.category and not t.key]
    assert max(run.verdict.category_level(c) for c in extra) >= Level.WATCH
    for width in range(50, 150):
        _, spots = tab_line(run, "overview", View(), width)
        assert "all" in {s.id for s in spots}, width
