"""Under the list of a tab: the chart in one pane, in two what is known of the row at the cursor."""

from __future__ import annotations

from collections.abc import Sequence

from rltui.core.text import cell_width
from rltui.draw.entries import indented
from rltui.draw.grid_layout import MARGIN, grid_layout
from rltui.draw.line import TEXT, Line, fit_line
from rltui.draw.prose import fact_line, paragraph
from rltui.draw.view import View
from rltui.facts import sentences
from rltui.facts.metrics import Row
from rltui.health.model import FindingState
from rltui.pages.findings.lines import finding_block, heading
from rltui.pages.metric.metric_chart import WHOLE_RUN, chart_lines
from rltui.pages.metric.statistics import statistics_in_line
from rltui.pages.run.grid import grid_lines
from rltui.pages.run.tab import TabLayout
from rltui.session import RunView

#: Lines about the row at the cursor when charts stand below them, and the least for these.
_ABOUT, _CHARTS_BELOW = 11, 14
#: Lines of the chart under a list, at most.
_LOW_CHART = 20


def below_lines(
    run: RunView,
    cursor: str | None,
    view: View,
    layout: TabLayout,
    height: int,
    rows: Sequence[Row] = (),
) -> list[Line]:
    """Under the list: the chart in one pane; in two what is known of the row at the cursor, and
    with room the charts of ``rows``, those of the list."""
    if cursor not in run.infos or height < 3:
        return []
    if layout.side:
        charts = _charts_below(run, rows, cursor, view, layout, height - _ABOUT)
        about = [[], *_about(run, cursor, view, layout.rows, height - len(charts) - 1)]
        return [*about, *([[]] * (height - len(charts) - len(about))), *charts]
    title = _narrow_title(run, cursor, view, layout.rows)
    chart = chart_lines(run, cursor, view, layout.rows, min(height - 1, _LOW_CHART))
    return indented([title, *chart], layout.margin)


def _charts_below(
    run: RunView, rows: Sequence[Row], cursor: str, view: View, layout: TabLayout, height: int
) -> list[Line]:
    """Small charts of the list, among them that of the cursor; none without room for two rows."""
    if len(rows) < 2 or height < _CHARTS_BELOW:
        return []
    places = grid_layout(layout.rows + MARGIN, height, len(rows))
    at = next((i for i, r in enumerate(rows) if r.tag == cursor), 0)
    first = places.scrolled(0, at, len(rows)) * places.columns
    return grid_lines(run, rows[first:], cursor, None, view, places)


def _narrow_title(run: RunView, tag: str, view: View, width: int) -> Line:
    """At 80 cells the title of the chart says what is found instead of the tag."""
    info = run.infos[tag]
    findings = run.report.findings if run.report else ()
    found = next((f for f in findings if f.tag == tag), None)
    words = view.glyphs.text
    note = words(
        sentences.short(found) if found and found.state is FindingState.FIRING else info.unit
    )
    title = words(info.title)
    if cell_width(note) > width - cell_width(title) - 6:
        note = ""
    return heading(title, width, view, note)


def _about(run: RunView, tag: str, view: View, width: int, height: int) -> list[Line]:
    """Below a short table: what the rules say of the row at the cursor, numbers, meaning."""
    info = run.infos[tag]
    words = view.glyphs.text
    lines: list[Line] = [[("  ", TEXT), *heading(words(info.title), width, view, info.tag)]]
    inner = width - 2
    for finding in run.report.findings if run.report else ():
        if finding.tag == tag:
            lines += indented(finding_block(run, finding, view, inner, 2), 2)
    lines.append([])
    facts = statistics_in_line(run, tag, view, WHOLE_RUN)
    lines.append([("  ", TEXT), *fact_line(facts, inner)])
    if info.meaning:
        lines.append([])
        lines += paragraph(words(info.meaning), inner, indent=2, ellipsis=view.glyphs.ellipsis)
    return [fit_line(x, width + 2, ellipsis=view.glyphs.ellipsis) for x in lines[:height]]
