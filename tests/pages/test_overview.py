"""Overview: what stands below the questions."""

from __future__ import annotations

import pytest

from rltui.draw.line import plain
from rltui.draw.view import View
from rltui.facts.metrics import OVERVIEW, tab_sections
from rltui.pages.run.tab import overview_entries, tab_layout
from tests.fakes import a_session, grpo_batch


def overview(width: int, height: int) -> list[str]:
    (run,) = a_session(grpo_batch(60)).runs()
    sections = tab_sections(run, OVERVIEW)
    layout = tab_layout(OVERVIEW, width, height, sum(len(s.rows) for s in sections))
    entries = overview_entries(run, sections, View(), layout)
    lines = [plain(line) for entry in entries for line in entry.draw(False)]
    assert len(lines) <= layout.list_height
    return lines


@pytest.mark.parametrize("height", range(26, 47))
def test_the_step_has_its_line_beside_what_moved_first(height: int) -> None:
    text = "\n".join(overview(160, height))
    assert ("One step" in text and "What moved first" in text) or height < 34
    assert "One step" in text or "What moved first" in text
