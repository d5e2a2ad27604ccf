"""The next step on Overview is cut only where nothing could make room for it."""

from collections.abc import Iterator

import pytest

from rltui.core.level import Level
from rltui.core.text import cell_width
from rltui.draw.line import plain
from rltui.draw.view import View
from rltui.facts.metrics import OVERVIEW, tab_sections
from rltui.pages.findings.lines import STORY_NAMES
from rltui.pages.run.tab import overview_entries, side_lines, tab_layout, tag_to_chart
from rltui.session import JudgedRun, Session
from tests.builders import read_session
from tests.fakes import a_session, grpo_batch, grpo_clock, next_step
from tests.places import FIXTURES
from tests.tui.hand import open_app

SIZES = ((80, 24), (100, 40), (109, 50), (110, 30), (120, 36), (160, 45), (200, 50))
#: Lines of the header, the tabs and the footer.
_AROUND = 4
#: Lines below which no chart is drawn.
_LEAST_CHART = 7
VIEW = View()


def sessions() -> Iterator[Session]:
    yield a_session(grpo_batch(60, total=200), clock=grpo_clock())
    for path in sorted((FIXTURES / "labelled").glob("*/*")):
        session = read_session([path])
        yield session


@pytest.fixture(scope="module")
def sick() -> list[JudgedRun]:
    return [r for s in sessions() for r in s.runs() if r.verdict.level >= Level.WATCH]


def overview(run: JudgedRun, width: int, height: int) -> tuple[list[str], int]:
    """The lines of Overview that hold the next step, and how many it may still have: those that
    are blank, or of a chart that is higher than it must be."""
    sections = tab_sections(run, OVERVIEW)
    count = sum(len(s.rows) for s in sections)
    layout = tab_layout(OVERVIEW, width, height, count + 2 * (len(sections) - 1))
    entries = overview_entries(run, sections, VIEW, layout)
    rows = [plain(x) for e in entries for x in e.draw(False)]
    if not layout.side:
        return rows, layout.list_height - sum(map(bool, map(str.strip, rows)))
    cursor = tag_to_chart(run, OVERVIEW, None, None)
    drawn = side_lines(run, OVERVIEW, cursor, VIEW, layout.side - 2, height, beside=entries.tells)
    pane = [plain(x) for x in drawn]
    end = pane.index("") if "" in pane else len(pane)
    return pane[:end], height - end - 1 - _LEAST_CHART


def shown_step(lines: list[str]) -> str:
    """What stands behind "next step"."""
    begin = next(n for n, x in enumerate(lines) if "next step" in x)
    at = lines[begin].index("next step") + STORY_NAMES
    found = [lines[begin][at:]]
    for line in lines[begin + 1 :]:
        if line[:at].strip() or not line.strip():
            break
        found.append(line[at:])
    return " ".join(" ".join(found).split())


@pytest.mark.parametrize("size", SIZES)
def test_advice_is_whole_while_there_is_room(sick: list[JudgedRun], size: tuple[int, int]) -> None:
    width, height = size
    assert len(sick) > 8
    for run in sick:
        whole = " ".join(VIEW.glyphs.text(next_step(run)).split())
        if not whole:
            continue
        lines, free = overview(run, width, height - _AROUND)
        shown = shown_step(lines)
        assert shown == whole or free <= 0, (run.name, shown, free)
        assert shown == whole or width < 110


@pytest.mark.parametrize("size", SIZES)
def test_the_whole_advice_fits(sick: list[JudgedRun], size: tuple[int, int]) -> None:
    width, height = size
    for run in sick:
        lines, _ = overview(run, width, height - _AROUND)
        assert len(lines) <= height - _AROUND
        assert all(cell_width(x) <= width for x in lines)


async def test_the_screen_shows_it_whole() -> None:
    async with open_app(grpo_batch(60, total=200)) as hand:
        whole = next_step(hand.run.run)
        for size in SIZES:
            await hand.resize(*size)
            shown = shown_step([x.rstrip() for x in column(hand.lines)])
            assert shown == whole


def column(lines: list[str]) -> list[str]:
    """The lines from where the next step stands, without what is left of it."""
    at = next(x.index("next step") for x in lines if "next step" in x)
    return [x[at:] for x in lines]
