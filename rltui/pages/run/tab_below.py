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
    info, words = run.infos[cursor], view.glyphs.text
    found = [f for f in (run.report.findings if run.report else ()) if f.tag == cursor]

    if not layout.side:
        # the title of the chart says what is found instead of the tag
        firing = [f for f in found[:1] if f.state is FindingState.FIRING]
        note, title = words(sentences.short(firing[0]) if firing else info.unit), words(info.title)
        if cell_width(note) > layout.rows - cell_width(title) - 6:
            note = ""
        chart = chart_lines(run, cursor, view, layout.rows, min(height - 1, _LOW_CHART))
        return indented([heading(title, layout.rows, view, note), *chart], layout.margin)

    charts: list[Line] = []
    if len(rows) > 1 and height - _ABOUT >= _CHARTS_BELOW:
        places = grid_layout(layout.rows + MARGIN, height - _ABOUT, len(rows))
        at = next((i for i, r in enumerate(rows) if r.tag == cursor), 0)
        first = places.scrolled(0, at, len(rows)) * places.columns
        charts = grid_lines(run, rows[first:], cursor, None, view, places)

    room = height - len(charts) - 1
    lines = _about(run, cursor, view, layout.rows)[:room]

    return [[], *lines, *([[]] * (room - len(lines))), *charts]


def _about(run: RunView, tag: str, view: View, width: int) -> list[Line]:
    """What the rules say of a row, numbers, meaning."""
    info, words, inner, ellipsis = run.infos[tag], view.glyphs.text, width - 2, view.glyphs.ellipsis
    lines: list[Line] = [[("  ", TEXT), *heading(words(info.title), width, view, info.tag)]]
    for finding in run.report.findings if run.report else ():
        if finding.tag == tag:
            lines += indented(finding_block(run, finding, view, inner, 2), 2)
    facts = statistics_in_line(run, tag, view, WHOLE_RUN)
    lines += [[], [("  ", TEXT), *fact_line(facts, inner)]]
    if info.meaning:
        lines += [[], *paragraph(words(info.meaning), inner, indent=2, ellipsis=ellipsis)]

    return [fit_line(x, width + 2, ellipsis=ellipsis) for x in lines]


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

    for load in found:
        same = [x for x in found if run.infos[x.tag].unit == run.infos[load.tag].unit]
        scale = min(x.low for x in same), max(x.high for x in same)
        lines.append(_load_line(load, scale, width, view))
    lines += [_wait_line(run, load, width, view) for load in found if not math.isnan(load.wait)]

    return [*lines, []]


def _load_line(load: Load, scale: tuple[float, float], width: int, view: View) -> Line:
    """Title, least and largest value of a load, and between them a bar on the ``scale`` of all
    loads in the same unit."""
    glyphs = view.glyphs
    cells = max(7, width - _NAME - 2 * (_END + 1) - _EXCESS)
    size = scale[1] - scale[0]
    begin, middle, end = (
        round((value - scale[0]) / size * (cells - 1)) if size > 0 else cells // 2
        for value in (load.low, min(load.mean, load.high), load.high)
    )
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
