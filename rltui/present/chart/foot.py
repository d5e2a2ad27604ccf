"""Below the plot, on the same columns: x axis, bars of findings, marks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rltui.core.level import Level
from rltui.core.text import cell_width, fit
from rltui.present.chart.axis import x_ticks
from rltui.present.chart.chart_model import Bar, Chart, Mark
from rltui.present.chart.plot_cells import place, safe
from rltui.present.chart.trace import cell_of
from rltui.present.kit.glyph import GlyphSet
from rltui.present.kit.line import LEVEL_TOKEN, MUTED, RULE, TEXT, Line, Style, Token, style

_Part = tuple[int, str, Style]


@dataclass(frozen=True, slots=True)
class Span:
    """Where the plot lies on its lines, and what its columns mean."""

    left: int
    """Cells before the first column of the plot."""
    cells: int
    width: int
    """Cells of the whole line."""
    x0: float
    x1: float
    newest: float | None = None
    """The newest x of the run when the window reaches beyond it: bars end there."""

    def column(self, x: float) -> int:
        """The column of ``x`` on the whole line; outside of the window its nearest end."""
        return self.left + int(cell_of(np.array([x]), self.x0, self.x1, self.cells)[0])

    def holds(self, x: float) -> bool:
        """True when ``x`` is in the window."""
        return self.x0 <= x <= self.x1


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
    """The labels of the x axis, and the unit at the right end or where it hides none of them."""
    placed: list[_Part] = list(parts)
    for x, label in ticks:
        label = glyphs.text(label)
        begin = _centred(span.column(x), label, span)
        if not _near(begin, label, parts):
            placed.append((begin, label, MUTED))
    unit = glyphs.text(safe(chart.x_unit))
    end = span.left + span.cells - cell_width(unit)
    last = max((at for at, _, _ in placed), default=0)
    beside = max((at + len(text) + 1 for at, text, _ in placed), default=end)
    for begin in (end, beside, last - cell_width(unit) - 2):
        fits = span.left <= begin <= span.width - cell_width(unit)
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
    bars, marks = chosen(chart, span, rows)
    lines = [_bar_line(bar, span, glyphs) for bar in bars]
    if marks:
        lines.append(_marks_line(chart, marks, span, glyphs))
    return lines


#: The least space to the left of a bar for the beginning of its name.
_ENOUGH = 10


def wanted_rows(chart: Chart, span: Span) -> int:
    """Lines that all bars and marks in view would take."""
    bars, marks = chosen(chart, span, 10_000)
    return len(bars) + bool(marks)


def chosen(chart: Chart, span: Span, rows: int) -> tuple[list[Bar], list[Mark]]:
    """Priority when there are too few lines: firing bad, resolved bad, watch, marks."""
    bars = sorted(chart.bars, key=lambda b: b.since)
    visible = [b for b in bars if b.since <= span.x1 and (b.until is None or b.until >= span.x0)]
    ranked = sorted(visible, key=lambda b: (b.level is not Level.BAD, b.over, not b.own, b.since))
    marks = [m for m in chart.marks if span.holds(m.x) and m.letter]
    marks += [Mark(x, "R") for x in chart.restarts if span.holds(x)]
    kept = {id(b) for b in ranked[: max(0, rows)]}
    return [b for b in visible if id(b) in kept], marks if len(visible) < rows else []


def _bar_line(bar: Bar, span: Span, glyphs: GlyphSet) -> Line:
    look = MUTED if bar.over else style(LEVEL_TOKEN[bar.level])
    begin, right = span.column(bar.since), span.left + span.cells
    until = span.newest if bar.until is None else bar.until
    end = right if until is None else span.column(until) + 1
    end = max(begin + 1, min(end, right))
    name = glyphs.text(safe(bar.title))
    name_look = MUTED if bar.over else TEXT
    body = glyphs.badge(bar.level) + glyphs.bar * (end - begin - 1)
    if bar.since < span.x0:
        body = glyphs.bar * (end - begin)
    width = cell_width(name)
    if width + 1 <= begin:
        return place(span.width, [(begin, body, look), (0, name, name_look)])
    if end + 1 + width <= span.width:
        return place(span.width, [(begin, body, look), (end + 1, name, name_look)])
    room = max(0, end - begin - 5)
    if room < width <= span.width - begin - 3 and end == right:
        parts = [(begin, body[:2], look), (begin + 3, name, name_look)]
        return place(span.width, parts)
    if begin >= _ENOUGH and begin > room < width:
        name = fit(name, begin - 1, ellipsis=glyphs.ellipsis)
        return place(span.width, [(begin, body, look), (0, name, name_look)])
    # no space beside the bar: the name interrupts it
    name = fit(name, room, ellipsis=glyphs.ellipsis)
    if cell_width(name) < 3:
        return place(span.width, [(begin, body, look)])
    rest = begin + 2 + cell_width(name) + 2
    parts = [
        (begin, body[:2], look),
        (begin + 3, name, name_look),
        (rest, glyphs.bar * (end - rest), look),
    ]
    return place(span.width, parts)


def _marks_line(chart: Chart, marks: list[Mark], span: Span, glyphs: GlyphSet) -> Line:
    rank = {letter: n for n, letter in enumerate("NRlsvc")}
    parts: list[_Part] = []
    for mark in sorted(marks, key=lambda m: rank.get(m.letter, len(rank))):
        look = MUTED if mark.letter in "vc" else TEXT
        look = style(Token.BAD, bold=True) if mark.letter == "N" else look
        parts.append((span.column(mark.x), glyphs.text(safe(mark.letter))[:1], look))
    first = min(column for column, _, _ in parts)
    name = glyphs.text(safe(chart.marks_title))
    if cell_width(name) + 1 > first:
        name = ""  # the letters say more than part of a word
    return place(span.width, [*parts, (0, name, MUTED)])
