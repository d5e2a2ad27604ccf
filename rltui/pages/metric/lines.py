"""The metric screen: the large chart, judgement, statistics, meaning, related rows."""

from __future__ import annotations

from rltui.core.text import cell_width
from rltui.draw.entries import beside, indented
from rltui.draw.line import (
    LEVEL_TOKEN,
    MUTED,
    RULE,
    STRONG,
    TITLE,
    Line,
    Style,
    column,
    fit_line,
    style,
)
from rltui.draw.prose import fact_line, paragraph
from rltui.draw.view import View
from rltui.facts import numbers, sentences
from rltui.facts.findings import cause_of, change_words, suspect_of, suspect_words
from rltui.facts.metrics import (
    TAB_BY_ID,
    Row,
    make_row,
    tab_sections,
)
from rltui.pages.findings.lines import finding_block, heading
from rltui.pages.metric.metric_chart import (
    Zoom,
    chart_lines,
    statistics,
    statistics_in_line,
)
from rltui.pages.metric.related import related_lines
from rltui.session import RunView

_SIDE = 38
"""Cells of the pane at the right of the chart."""


def metric_lines(
    run: RunView,
    tab: str,
    tag: str,
    view: View,
    zoom: Zoom,
    width: int,
    height: int,
    *,
    alone: bool = False,
) -> list[Line]:
    """The metric ``tag`` as a row of the tab ``tab``, in ``width`` x ``height``. ``alone``: the
    chart has all the room under the title."""
    if tag not in run.infos:
        return [[], [("  this metric is no longer logged", MUTED)]]
    rows = [r for s in tab_sections(run, tab) for r in s.rows]
    margin = 2 if width >= 110 else 1
    inner = width - margin - 1
    row = next((r for r in rows if r.tag == tag), make_row(run, tag))
    head = _head(row, [r.tag for r in rows], tab, view, inner)
    lines = [head, [(view.glyphs.rule * inner, RULE)]] if height >= 16 else [head]
    room = height - len(lines)
    if alone:
        lines += chart_lines(run, tag, view, inner, room, band=row.band, zoom=zoom, overview=True)
    else:
        part = _beside if width >= 110 else _below
        lines += part(run, row, view, zoom, inner, room)

    return indented(lines, margin)[:height]


def _head(row: Row, items: list[str], tab: str, view: View, width: int) -> Line:
    words = view.glyphs.text
    token = LEVEL_TOKEN[row.level]
    left: Line = [(f"{view.glyphs.badge(row.level)} ", style(token, bold=True))]
    left += [(words(row.title), TITLE), (f"  {words(row.info.unit)}", MUTED)]
    tags = row.tag + (", min, max" if row.band else "")
    left.append((f"   {tags}", MUTED))
    where = TAB_BY_ID[tab].title
    right = where
    if row.tag in items:
        right = f"{where}  {items.index(row.tag) + 1} of {len(items)}"
    room = width - cell_width(right) - 1

    return [*fit_line(left, room, ellipsis=view.glyphs.ellipsis), (f" {right}", MUTED)]


def _beside(run: RunView, row: Row, view: View, zoom: Zoom, width: int, height: int) -> list[Line]:
    chart_width = width - _SIDE - 4
    chart = chart_lines(
        run, row.tag, view, chart_width, height, band=row.band, zoom=zoom, overview=True
    )
    side = _side(run, row, view, zoom, _SIDE, height)
    return beside(chart, side, chart_width, 4, height)


def _below(run: RunView, row: Row, view: View, zoom: Zoom, width: int, height: int) -> list[Line]:
    facts: list[Line] = []
    if height >= 14:
        facts = _judgement(run, row, view, width, 1)[:2]
        facts.append(fact_line(statistics_in_line(run, row.tag, view, zoom), width))
    room = height - len(facts)
    chart = chart_lines(run, row.tag, view, width, room, band=row.band, zoom=zoom, overview=True)
    return [*chart, *facts]


def _side(run: RunView, row: Row, view: View, zoom: Zoom, width: int, height: int) -> list[Line]:
    """Judgement, statistics, meaning and related rows, as far as there is room."""
    lines = [heading("Judgement", width, view), *_judgement(run, row, view, width), []]
    note = "visible" if zoom.window is not None else ""
    lines.append(heading("Statistics", width, view, note))
    for name, value, where in statistics(run, row.tag, view, zoom):
        lines.append([column(name, 12, MUTED), column(value, 12, STRONG), (where, MUTED)])
    meaning = row.info.meaning
    if meaning and height - len(lines) > 4:
        lines += [[], heading("Meaning", width, view)]
        limit = max(2, min(10, height - len(lines) - 4))
        lines += paragraph(
            view.glyphs.text(meaning), width, limit=limit, ellipsis=view.glyphs.ellipsis
        )
    related = related_lines(run, row.tag, view, width, height - len(lines) - 1)

    return [*lines, [], *related] if related else lines


def _judgement(run: RunView, row: Row, view: View, width: int, limit: int = 3) -> list[Line]:
    """The findings about a metric, each in ``limit`` lines of evidence; else its range."""
    words, glyphs = view.glyphs.text, view.glyphs
    found = [f for f in run.report.findings if f.tag == row.tag] if run.report else []
    if found:
        return [x for f in found[:3] for x in finding_block(run, f, view, width, limit)]
    lines: list[Line] = []
    judgement = row.judgement
    badge: Style = style(LEVEL_TOKEN[row.level])
    if judgement.rules:
        lines.append([(f"{glyphs.badge(row.level)} {row.level.word}", badge)])
        doubt = run.verdict.doubt(row.tag)
        for text in (sentences.limits(judgement), f"no tick: {doubt}" if doubt else ""):
            if text:
                lines += paragraph(words(text), width, MUTED)
    else:
        cause = cause_of(run)
        text = "no rule judges it"
        if cause is not None and cause.tag == row.tag:
            at = f"{run.step_word} {numbers.step(cause.step)}"
            text = f"{change_words(cause)} at {at}: the cause of what fires"
        if (suspect := suspect_of(run, row.tag)) is not None:
            text = suspect_words(suspect)
        if sentences.healthy(judgement):
            text += f"; documented range {sentences.healthy(judgement)}"
        lines.append([(f"{glyphs.badge(row.level)} ", badge), (words(text), MUTED)])

    return lines
