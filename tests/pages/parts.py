"""Every block of lines that a screen is made of, at one size, as the screens ask for them."""

import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

from rltui.core.text import cell_width
from rltui.draw.line import Entry, Line, ascii_line, fit_line, plain
from rltui.draw.metric_chart import WHOLE_RUN, Zoom
from rltui.draw.view import View
from rltui.facts.findings import finding_rows
from rltui.facts.metrics import OVERVIEW, TABS, tab_sections
from rltui.facts.runs import ListedRuns
from rltui.pages.findings.findings_detail import detail_lines
from rltui.pages.findings.findings_pane import finding_entries, findings_layout
from rltui.pages.findings.lines import log_head, log_lines
from rltui.pages.metric.lines import explain_tag, metric_lines
from rltui.pages.run.grid import grid_lines
from rltui.pages.run.grid_layout import grid_layout
from rltui.pages.run.header import run_header, runs_header
from rltui.pages.run.metric_table import columns_of, list_head, section_entries
from rltui.pages.run.metrics_pane import below_lines, top_lines
from rltui.pages.run.tab import (
    empty_lines,
    hidden_lines,
    overview_entries,
    side_lines,
    tab_layout,
    tab_line,
    tab_rule,
)
from rltui.pages.runs.lines import RunRows
from rltui.session import JudgedRun, Session


def drawn(entries: Sequence[Entry[Any]]) -> list[Line]:
    """The lines of a list, with and without the cursor."""
    lines = []
    for entry in entries:
        for cursor in (False, True):
            found = entry.draw(cursor)
            assert len(found) == entry.height
            lines += found
    return lines


def parts_of_run(
    run: JudgedRun, tab: str, view: View, width: int, height: int, **shown: Any
) -> Iterator[list[Line]]:
    """The blocks of the screens of one run."""
    yield from parts_of_tab(run, tab, view, width, height, **shown)
    yield from parts_outside_tabs(run, view, width, height)


def parts_of_tab(
    run: JudgedRun,
    tab: str,
    view: View,
    width: int,
    height: int,
    *,
    text: str = "",
    zoom: Zoom = WHOLE_RUN,
) -> Iterator[list[Line]]:
    """The blocks of one tab, and of the screens of one metric in it."""
    yield [run_header(run, view, width, 0.43)]
    line, spots = tab_line(run, tab, view, width)
    yield [line, tab_rule(spots, tab, width)]
    sections = tab_sections(run, tab, text)
    rows = [r for s in sections for r in s.rows]
    layout = tab_layout(tab, width, height, len(rows))
    yield top_lines(run, tab, view, width, height)
    columns = columns_of(rows, layout.rows)
    if not rows:
        yield empty_lines(run, bool(text), layout)
    elif tab == OVERVIEW:
        yield drawn(overview_entries(run, sections, view, layout))
    else:
        yield [list_head(run, sections, columns, view, (0, 3))]
        yield drawn(section_entries(run, sections, columns, view, layout.margin))
    yield hidden_lines(run, tab, text, view)
    for cross in (None, run.points.last_step):
        places = grid_layout(width, height, len(rows))
        yield grid_lines(run, rows, None, cross, view, places)
    tag = rows[-1].tag if rows else None
    yield below_lines(run, tag, view, layout, layout.below)
    yield below_lines(run, tag, view, layout, layout.below, rows)
    if layout.side:
        yield side_lines(run, tab, tag, view, layout.side - 1, height)
    for name in (tag, "no such tag"):
        if name is not None:
            yield metric_lines(run, tab, name, view, zoom, width, height)
    if tag is not None:
        yield explain_tag(run, tag, view, width)


def parts_outside_tabs(run: JudgedRun, view: View, width: int, height: int) -> Iterator[list[Line]]:
    """The blocks that are the same in every tab: findings and console log."""
    yield [*log_head(run, view, width), *log_lines(run, width)]
    layout = findings_layout(width, height, 5)
    yield drawn(finding_entries(run, view, layout.rows, layout.margin))
    entries = finding_entries(run, view, layout.rows, layout.margin)
    for item in [e.id for e in entries if e.id is not None]:
        yield detail_lines(run, item, view, layout.side or width, height)
    for row in finding_rows(run):
        yield detail_lines(run, row.id, view, width, 0)


def parts_of_runs(session: Session, view: View, width: int) -> Iterator[list[Line]]:
    """The blocks of the list of runs."""
    listed = ListedRuns(session.runs())
    yield [runs_header(listed.counts, "logs", view, width, 9)]
    for order in ("verdict", "name", "newest"):
        rows = RunRows(listed.shown(order, ""), view, width, 0.5)
        yield [rows.head(), *drawn(rows.entries(2))]


def parts_of_session(session: Session, view: View, width: int, height: int) -> Iterator[list[Line]]:
    """The blocks of the list of runs, and of every tab of every run."""
    yield from parts_of_runs(session, view, width)
    for run in session.runs():
        yield from parts_outside_tabs(run, view, width, height)
        for tab in TABS:
            yield from parts_of_tab(run, tab.id, view, width, height)


def assert_harmless(lines: Sequence[Line], width: int, view: View) -> None:
    """As widgets print them, the lines fill the width and hold nothing that a terminal obeys."""
    for line in lines:
        printed = ascii_line(line) if view.glyphs.ascii else line
        text = view.text(plain(fit_line(printed, width)))
        assert cell_width(text) == width, text
        unsafe = [c for c in set(text) if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")]
        assert not unsafe, text
        assert not view.glyphs.ascii or text.isascii(), text
