"""Under the list of a tab: the chart in one pane, in two what is known of the row at the cursor."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rltui.core.text import cell_width
from rltui.draw.line import MUTED, STRONG, TEXT, Line, Token, column, fit_line, indented, style
from rltui.draw.prose import fact_line, paragraph
from rltui.draw.view import View
from rltui.facts import numbers, sentences
from rltui.facts.metrics import Row
from rltui.facts.timing import Load, anatomy, loads
from rltui.health.model import FindingState
from rltui.pages.findings.lines import finding_block, heading
from rltui.pages.metric.metric_chart import WHOLE_RUN, chart_lines, statistics_in_line
from rltui.pages.run.grid import MARGIN, grid_layout, grid_lines
from rltui.pages.run.tab import TabLayout
from rltui.session import RunView
from rltui.session.limits import stage_limits

#: Lines about the row at the cursor when charts stand below them, and the least for these.
_ABOUT, _CHARTS_BELOW = 11, 14
#: Lines of the chart under a list, at most.
_LOW_CHART = 20
BALANCE = "balance"
#: Fewest lines of the tab that leave room for it.
_LEAST_HEIGHT = 14
_NAME, _END, _EXCESS = 18, 7, 17


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


def top_lines(run: RunView, tab: str, view: View, width: int, height: int) -> list[Line]:
    """What stands above the rows of a tab ``height`` lines high: on Balance the spread of every
    load with what waiting for the fullest costs, elsewhere nothing."""
    if tab != BALANCE or height < _LEAST_HEIGHT or width < 58:
        return []
    found = loads(run)
    if not found:
        return []
    note = f"emptiest, mean and fullest, newest {stage_limits().recent} {run.step_word}s"
    lines = [heading("Spread", width, view, note)]
    lines += [_load_line(load, _scale(load, found, run), width, view) for load in found]
    lines += [_wait_line(run, load, width, view) for load in found if not math.isnan(load.wait)]

    return [*lines, []]


def _scale(load: Load, found: list[Load], run: RunView) -> tuple[float, float]:
    """The least and the largest value of all loads in the same unit."""
    unit = run.infos[load.tag].unit
    same = [x for x in found if run.infos[x.tag].unit == unit]
    return min(x.low for x in same), max(x.high for x in same)


def _load_line(load: Load, scale: tuple[float, float], width: int, view: View) -> Line:
    glyphs = view.glyphs
    cells = max(7, width - _NAME - 2 * (_END + 1) - _EXCESS)
    size = scale[1] - scale[0]

    def place(value: float) -> int:
        return round((value - scale[0]) / size * (cells - 1)) if size > 0 else cells // 2

    begin, middle, end = place(load.low), place(min(load.mean, load.high)), place(load.high)
    bar = [" "] * cells
    bar[begin : end + 1] = [glyphs.rule] * (end - begin + 1)
    bar[middle] = glyphs.text("●")
    excess = f"{numbers.percent(load.excess, whole=True)} above mean" if load.excess > 0 else ""
    line: Line = [
        column(glyphs.text(load.title), _NAME, TEXT, ellipsis=glyphs.ellipsis),
        (f"{numbers.short(load.low):>{_END}} ", STRONG),
        ("".join(bar), style(Token.SERIES)),
        (f" {numbers.short(load.high):<{_END}}", STRONG),
        (f" {excess}", MUTED),
    ]
    return fit_line(line, width, ellipsis=glyphs.ellipsis)


def _wait_line(run: RunView, load: Load, width: int, view: View) -> Line:
    """What the average rank waits for the fullest one, per step."""
    found, words = anatomy(run), view.glyphs.text
    wait = numbers.duration(load.wait, tenths=True) if load.wait > 0 else "0 s"
    line: Line = [(words(f"{load.title}: the others wait "), TEXT), (f"{wait} per step", STRONG)]
    if found is not None and found.length > 0:
        share = numbers.percent(load.wait / found.length, whole=True)
        tail = f", {share} of {numbers.duration(found.length, tenths=True)}"
        if sum(cell_width(t) for t, _ in line) + cell_width(tail) <= width:
            line.append((tail, MUTED))
    return fit_line(line, width, ellipsis=view.glyphs.ellipsis)
