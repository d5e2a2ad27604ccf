"""Under a short list of runs: what is found in the run at the cursor, and its main charts."""

from __future__ import annotations

from rltui.core.text import cell_width, fit
from rltui.draw.entries import beside, indented
from rltui.draw.line import MUTED, RULE, TITLE, Line
from rltui.draw.view import View
from rltui.facts.metrics import OVERVIEW
from rltui.pages.findings.findings_pane import findings_pane
from rltui.pages.metric.metric_chart import chart_lines
from rltui.pages.run.tab import chart_title, companions, tag_to_chart
from rltui.session import RunView

#: Fewest cells of the screen, and lines under the list, that leave room for it.
_LEAST_WIDTH, _LEAST_HEIGHT = 110, 14
#: Most lines: a chart that is taller says no more.
_MOST_HEIGHT = 34
#: Cells between the findings and the charts, and between two charts.
_GAP = 4
#: Most cells of the findings, and fewest of a chart.
_FINDINGS, _CHART = 70, 50


def preview_height(width: int, room: int) -> int:
    """Lines of the preview on a screen ``width`` cells wide with ``room`` lines under the list; 0
    for none."""
    return min(room, _MOST_HEIGHT) if width >= _LEAST_WIDTH and room >= _LEAST_HEIGHT else 0


def preview_lines(run: RunView, view: View, width: int, height: int) -> list[Line]:
    """The preview of a run in ``width`` x ``height`` cells: a blank line, its name, then findings
    beside one or two charts."""
    body = height - 3
    left = min(_FINDINGS, (width - _GAP - 3) // 2)
    space = width - 3 - left - _GAP
    count = 2 if space >= 2 * _CHART + _GAP else 1
    cells = (space - (count - 1) * _GAP) // count
    charts: list[Line] = []
    for at, tag in enumerate(_charted(run)[:count]):
        title = chart_title(run, tag, view, cells)
        named = "unnamed" if at else "named"
        chart = [title, *chart_lines(run, tag, view, cells, body - 1, timeline=named)]
        charts = beside(charts, chart, cells, _GAP, body) if at else chart
    lines = beside(findings_pane(run, left, body, view), charts, left, _GAP, body)

    return [[], *indented([_title(run, view, width - 3), [], *lines], 2)]


def _charted(run: RunView) -> list[str]:
    """What the worst finding is about, the headline, and further vital signs."""
    headline = run.headline()
    first = tag_to_chart(run, OVERVIEW, None, headline)
    if first is None or first not in run.infos:
        return []
    others = [headline] if headline is not None else []
    return list(dict.fromkeys([first, *others, *companions(run, first)]))


def _title(run: RunView, view: View, width: int) -> Line:
    """The name of the run in a rule across the screen, and how to see all of it."""
    note, glyphs = "Enter opens it", view.glyphs
    name = fit(glyphs.text(run.name), width - len(note) - 2, ellipsis=glyphs.ellipsis)
    rule = glyphs.rule * max(0, width - cell_width(name) - len(note) - 2)
    return [(name, TITLE), (f" {rule} ", RULE), (note, MUTED)]
