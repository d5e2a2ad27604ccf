"""Below the plot, on the same columns: x axis, bars of findings, marks."""

from __future__ import annotations

from collections.abc import Sequence

from rltui.core.text import cell_width
from rltui.draw.chart.axis import x_ticks
from rltui.draw.chart.bars import bar_lines, groups_in
from rltui.draw.chart.chart_model import Chart, Mark
from rltui.draw.chart.plot_cells import place, safe
from rltui.draw.chart.span import Span
from rltui.draw.glyph import GlyphSet
from rltui.draw.line import MUTED, RULE, TEXT, Line, Style, Token, style

_Part = tuple[int, str, Style]
#: Lines of bars, at most: those left out are counted.
_MOST_LANES = 6


def axis_lines(
    chart: Chart, span: Span, glyphs: GlyphSet, cross: float | None, label: str | None
) -> list[Line]:
    """The rule with ticks, and the labels below it; ``label`` is that of the crosshair."""
    ticks = [t for t in x_ticks(span.x0, span.x1, span.cells, chart.x_kind) if span.holds(t[0])]
    rule = [glyphs.rule] * span.cells
    for x, _ in ticks:
        rule[span.column(x) - span.left] = glyphs.tick_down
    parts: list[_Part] = []
    if cross is not None:
        column = span.column(cross)
        rule[column - span.left] = glyphs.tick_up
        begin = _centred(column, f" {label} ", span)
        parts.append((begin, f" {label} ", style(Token.ACCENT, bold=True, reverse=True)))
    body = "".join(rule)
    head = " " * (span.left - 1) + glyphs.corner if span.left else ""
    tail = " " * (span.width - span.left - span.cells)
    upper: Line = [(head, RULE), (body, RULE), (tail, TEXT)]
    return [[s for s in upper if s[0]], _label_line(chart, span, glyphs, ticks, parts)]


def _label_line(
    chart: Chart,
    span: Span,
    glyphs: GlyphSet,
    ticks: Sequence[tuple[float, str]],
    parts: Sequence[_Part],
) -> Line:
    """The labels of the x axis, and the unit right of them, else below the labels of the y axis."""
    placed: list[_Part] = list(parts)
    for x, label in ticks:
        label = glyphs.text(label)
        begin = _centred(span.column(x), label, span)
        if not _near(begin, label, parts):
            placed.append((begin, label, MUTED))
    unit = glyphs.text(safe(chart.x_unit))
    end = span.left + span.cells - cell_width(unit)
    beside = max((at + len(text) + 1 for at, text, _ in placed), default=end)
    for begin in (end, beside, span.left - 1 - cell_width(unit)):
        fits = 0 <= begin <= span.width - cell_width(unit)
        if unit and fits and not _near(begin, unit, placed):
            return place(span.width, [*placed, (begin, unit, MUTED)])
    return place(span.width, placed)


def _near(begin: int, label: str, others: Sequence[_Part]) -> bool:
    """Whether no blank would part a label from one of the others."""
    return any(begin <= at + len(text) and at <= begin + len(label) for at, text, _ in others)


def _centred(column: int, label: str, span: Span) -> int:
    begin = column - (len(label) - 1) // 2
    return max(0, min(begin, span.width - len(label)))


def foot_lines(chart: Chart, span: Span, glyphs: GlyphSet, rows: int) -> list[Line]:
    """At most ``rows`` lines: bars of findings by the time they began, then the marks."""
    groups, marks = groups_in(chart.bars, span), _marks_in(chart, span)
    marked = bool(marks) and len(groups) < rows
    lines = bar_lines(groups, span, glyphs, rows - marked, named=chart.bar_names)
    if marked:
        lines.append(_marks_line(chart, marks, span, glyphs))
    return lines


def wanted_rows(chart: Chart, span: Span) -> int:
    """Lines that the bars and marks in view would take, within reason."""
    return min(_MOST_LANES, len(groups_in(chart.bars, span))) + bool(_marks_in(chart, span))


def _marks_in(chart: Chart, span: Span) -> list[Mark]:
    """Marks and restarts in view."""
    marks = list(chart.marks)
    if not chart.ends:
        marks += [Mark(x, "R") for x in chart.restarts]
    return [m for m in marks if span.holds(m.x) and m.letter]


def _marks_line(chart: Chart, marks: list[Mark], span: Span, glyphs: GlyphSet) -> Line:
    rank = {letter: n for n, letter in enumerate("NRlsvc")}
    parts: list[_Part] = []
    for mark in sorted(marks, key=lambda m: rank.get(m.letter, len(rank))):
        look = MUTED if mark.letter in "vc" else TEXT
        look = style(Token.BAD, bold=True) if mark.letter == "N" else look
        parts.append((span.column(mark.x), glyphs.text(safe(mark.letter))[:1], look))
    first = min(column for column, _, _ in parts)
    name = glyphs.text(safe(chart.marks_title))
    if not chart.bar_names or cell_width(name) + 1 > first:
        name = ""  # the letters say more than part of a word
    return place(span.width, [*parts, (0, name, MUTED)])
