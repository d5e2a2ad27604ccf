"""Below the plot, on the same columns: x axis, bars of findings, marks, and a strip of the whole
run that shows where in it the enlarged part lies.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rltui.core.block import BoolArray
from rltui.core.level import Level
from rltui.core.text import cell_width, fit
from rltui.draw.chart.axis import x_ticks
from rltui.draw.chart.canvas import Plot, Span, line_raster, paint_band, paint_line, place, safe
from rltui.draw.chart.chart_model import Bar, Chart, Mark
from rltui.draw.chart.trace import Points
from rltui.draw.chart.y_range import Shown
from rltui.draw.glyph import GlyphSet
from rltui.draw.line import (
    ACCENT,
    LEVEL_TOKEN,
    MUTED,
    RULE,
    RUN_BANDS,
    TEXT,
    Line,
    Style,
    Token,
    fit_line,
    plain,
    style,
)
from rltui.draw.prose import distinct
from rltui.draw.spark import Digest, spark_of

_Part = tuple[int, str, Style]
#: Lines of bars, at most: those left out are counted.
_MOST_LANES = 6
#: What the names may take from the plot: a share of the whole width, and cells.
_NAMES_SHARE, _NAMES_MOST = 0.2, 24
#: Lines of the strip.
ROWS = 2
#: Lines that a chart needs for it: when enlarged, and when the whole run is in view.
_FROM, _WHOLE_FROM = 12, 24
#: Lines that a chart needs to spare one for its legend, and two.
_LEGEND_FROM, _TWO_FROM = 8, 16
_GAP = 3
#: Cells before a name in the legend, at most, and of a name, at least.
_SAMPLE, _LEAST_NAME = 4, 7
_BAND_SAMPLE = "⢕ "
#: Cells from one sign of a line to the next.
_SIGN_EACH = 36


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


@dataclass(frozen=True, slots=True)
class Group:
    """The bars of one name, by when they began."""

    bars: tuple[Bar, ...]

    @property
    def title(self) -> str:
        """The name."""
        return self.bars[0].title

    @property
    def rank(self) -> tuple[bool, bool, bool, float]:
        """Lower is more important: firing bad, resolved bad, watch; then its own, then older."""
        return min((b.level is not Level.BAD, b.over, not b.own, b.since) for b in self.bars)


def groups_in(bars: Sequence[Bar], span: Span) -> list[Group]:
    """The bars in view by name, in the order in which the names first appear."""
    found: dict[str, list[Bar]] = {}
    for bar in sorted(bars, key=lambda b: b.since):
        if bar.since <= span.x1 and (bar.until is None or bar.until >= span.x0):
            found.setdefault(bar.title, []).append(bar)
    return [Group(tuple(same)) for same in found.values()]


def label_width(
    chart: Chart,
    whole: tuple[float, float],
    width: int,
    glyphs: GlyphSet,
    *,
    least: int,
    margin: int = 0,
) -> int:
    """Cells of the y labels of a plot in ``width`` cells, of which the right margin takes
    ``margin``: ``least``, and within reason as many as the names of the bars need beside them.

    The width depends on ``whole``, the x range of the whole run: nothing moves sideways when
    another part of it is in view.
    """
    room, needed = width - margin, 0
    x0, x1 = whole
    for group in groups_in(chart.bars, Span(0, room, width, x0, x1)):
        name = cell_width(_name(group, glyphs)) + 1
        share = (max(group.bars[0].since, x0) - x0) / (x1 - x0) if x1 > x0 else 0.0
        if share < 1:
            needed = max(needed, math.ceil((name - share * room) / (1 - share)))
    return max(least, min(needed, _NAMES_MOST, int(width * _NAMES_SHARE)) - 1)


def bar_lines(
    groups: Sequence[Group], span: Span, glyphs: GlyphSet, rows: int, *, named: bool
) -> list[Line]:
    """At most ``rows`` lines of the most important groups, in their order.

    A name without room left of its bars ends in an ellipsis; unless ``named`` there are none. The
    lowest line with room for it counts the groups that are left out.
    """
    ranked = sorted(groups, key=lambda g: g.rank)[: max(0, rows)]
    lines = [_line_of(g, span, glyphs, named=named) for g in groups if g in ranked]
    left = len(groups) - len(ranked)
    for at in reversed(range(len(lines) if named and left else 0)):
        noted = _noted(lines[at], f"+{left} more", span.width)
        if noted is not None:
            lines[at] = noted
            break
    return lines


def _noted(line: Line, note: str, width: int) -> Line | None:
    """The line with a note at its right end, else in its first gap; None without a gap."""
    parts: list[_Part] = []
    at = 0
    for text, look in line:
        if text.strip():
            parts.append((at, text.rstrip(), look))
        at += cell_width(text)
    text, room = plain(line).ljust(width), cell_width(note) + 2
    gap = width - room if text.endswith(" " * (room + 1)) else text.find(" " * (room + 1))

    return place(width, [*parts, (gap + 2, note, MUTED)]) if gap >= 0 else None


def _line_of(group: Group, span: Span, glyphs: GlyphSet, *, named: bool) -> Line:
    parts = [_bar(bar, span, glyphs) for bar in group.bars]
    if named:
        look = MUTED if all(b.over for b in group.bars) else TEXT
        name = fit(_name(group, glyphs), _name_room(group, parts, span), ellipsis=glyphs.ellipsis)
        end = cell_width(name) + 1
        cut = [(max(at, end), body[max(0, end - at) :], look) for at, body, look in parts]
        parts = [*(part for part in cut if part[1]), (0, name, look)]
    return place(span.width, parts)


def _name_room(group: Group, parts: Sequence[_Part], span: Span) -> int:
    """Cells of the name left of the bars. It may cover the first of them where that began before
    the window: there is no beginning to be seen."""
    at, body, _ = parts[0]
    if group.bars[0].since >= span.x0:
        return min(at for at, _, _ in parts) - 1
    nexts = [begin - 1 for begin, _, _ in parts if begin > at]
    return max(at - 1, min([at + len(body) - 2, *nexts]))


def _name(group: Group, glyphs: GlyphSet) -> str:
    return glyphs.text(safe(group.title))


def _bar(bar: Bar, span: Span, glyphs: GlyphSet) -> _Part:
    look = MUTED if bar.over else style(LEVEL_TOKEN[bar.level])
    begin, right = span.column(bar.since), span.left + span.cells
    until = span.newest if bar.until is None else bar.until
    end = right if until is None else span.column(until) + 1
    end = max(begin + 1, min(end, right))
    body = glyphs.badge(bar.level) + glyphs.bar * (end - begin - 1)
    return begin, glyphs.bar * (end - begin) if bar.since < span.x0 else body, look


def has_strip(chart: Chart, height: int) -> bool:
    """Whether a chart of ``height`` lines ends with a strip."""
    return chart.overview and height >= (_WHOLE_FROM if chart.window is None else _FROM)


def strip_lines(
    chart: Chart, raw: Points, whole: tuple[float, float], span: Span, glyphs: GlyphSet
) -> list[Line]:
    """A sparkline from ``whole[0]`` to ``whole[1]`` on the columns of the plot, and the window as
    a bar on the same columns."""
    first, end = whole
    last = float(raw.x[-1]) if len(raw.x) else end
    least = math.ulp(max(abs(first), abs(end), 1.0))
    unit = max((end - first) / max(1, span.cells - 1), least)  # as the columns of the plot
    digest = Digest(first, unit, span.cells)
    digest.extend(raw.x, raw.y, last)
    spark = spark_of(digest, last, chart.curve.levels, chart.curve.known, glyphs)
    on_whole = Span(0, span.cells, span.cells, first, end)
    begin, stop = on_whole.column(span.x0), on_whole.column(span.x1) + 1
    view: Line = [(glyphs.rule * begin, RULE), (glyphs.bar * (stop - begin), ACCENT)]
    view.append((glyphs.rule * (span.cells - stop), RULE))
    margin: Line = [(" " * span.left, TEXT)]

    return [
        [*margin, *spark, (" run", MUTED)],
        [*margin, *(part for part in view if part[0]), (" view", MUTED)],
    ]


@dataclass(frozen=True, slots=True, eq=False)
class DrawnLine:
    """A line in a plot."""

    cells: BoolArray
    """(height, width) those that it touches."""
    look: Style
    sign: str
    """One cell that names it; empty for none."""


def draw_grounds(plot: Plot, shown: Shown) -> None:
    """The envelope of the reference, and the bands of the overlays in a sparser tone."""
    if shown.envelope is not None:
        paint_band(plot, *shown.envelope)
    for other in shown.overlays:
        if other.low is not None and other.high is not None:
            look = style(RUN_BANDS.get(other.overlay.token, Token.BAND))
            paint_band(plot, other.low, other.high, look, faint=True)


def draw_overlays(plot: Plot, shown: Shown) -> list[DrawnLine]:
    """The lines of the overlays, the first of them on top."""
    drawn = []
    for other in reversed(shown.overlays):
        look, sign = style(other.overlay.token), other.overlay.sign
        cells = paint_line(plot, line_raster(plot, other.line), look, char=sign or "+")
        drawn.append(DrawnLine(cells, look, sign))
    return drawn


def draw_signs(plot: Plot, lines: Sequence[DrawnLine]) -> None:
    """The signs of lines on these, each at places of its own, to distinguish the lines without
    colours."""
    width = plot.canvas.width
    count = max(1, width // _SIGN_EACH)
    for n, line in enumerate(reversed(lines)):  # the one on top first
        if not line.sign:
            continue
        filled = np.flatnonzero(line.cells.any(axis=0))
        if not len(filled):
            continue
        wanted = (np.arange(count) + (n + 0.5) / len(lines)) * width / count
        at = np.minimum(np.searchsorted(filled, wanted), len(filled) - 1)
        for column in set(filled[at].tolist()):
            rows = np.flatnonzero(line.cells[:, column])
            look = style(line.look.fg, bold=True)
            plot.canvas.put(int(rows[len(rows) // 2]), column, line.sign, look)


def legend_height(chart: Chart, width: int, height: int, glyphs: GlyphSet) -> int:
    """Lines of the legend in a chart of ``width`` x ``height`` cells: two where there is room."""
    items = _items(chart, glyphs)
    if not (chart.overlays and items) or chart.ends or height < _LEGEND_FROM:
        return 0
    needed = sum(i.cells + _GAP for i in items)
    return 2 if height >= _TWO_FROM and needed > width - _GAP else 1


def legend_lines(chart: Chart, left: int, width: int, count: int, glyphs: GlyphSet) -> list[Line]:
    """The names of the lines in their colours from the column ``left`` on, in ``count`` lines.

    Where they do not fit, the notes are left out if the names differ, then the names are cut, and
    those without room are counted.
    """
    items = _items(chart, glyphs)
    rows, rest = _rows(items, width - left, count)
    names = [i.name for i in items]
    if rest and len(set(names)) == len(names):
        items = [replace(i, note="") for i in items]
        rows, rest = _rows(items, width - left, count)
    if rest and count:
        rows, rest = _rows(_cut(items, width - left, count, glyphs), width - left, count)
    lines: list[Line] = []
    for row in rows:
        line: Line = [(" " * left, TEXT)]
        for item in row:
            line += [(item.sample, item.look), (item.label, TEXT), (" " * _GAP, TEXT)]
        lines.append(line)
    if rest and lines:
        lines[-1].append((f"+{rest}", MUTED))

    return [fit_line(x, width, ellipsis=glyphs.ellipsis) for x in lines]


@dataclass(frozen=True, slots=True, eq=False)
class _Item:
    """An entry of the legend."""

    sample: str
    """Of the line, with its sign."""
    look: Style
    name: str
    note: str
    is_band: bool

    @property
    def label(self) -> str:
        return f"{self.name} {self.note}" if self.note else self.name

    @property
    def cells(self) -> int:
        return cell_width(self.sample) + cell_width(self.label)


def _items(chart: Chart, glyphs: GlyphSet) -> list[_Item]:
    own = chart.curve
    found = []
    if chart.label:
        token = own.token if own.known else Token.MUTED
        found.append((chart.label, chart.note, token, own.sign, "*", False))
    overlays = (o for o in chart.overlays if o.label)
    found += [(o.label, o.note, o.token, o.sign, "+", o.is_band) for o in overlays]
    items = []
    for label, note, token, sign, char, is_band in found:
        if is_band:
            sample = ": " if glyphs.ascii else _BAND_SAMPLE
        elif glyphs.ascii:
            sample = f"{sign or char} "
        else:
            sample = f"{glyphs.bar} {sign} " if sign else f"{glyphs.bar} "
        name, text = glyphs.text(safe(label)), glyphs.text(safe(note))
        items.append(_Item(sample, style(token), name, text, is_band))

    return items


def _rows(items: Sequence[_Item], room: int, count: int) -> tuple[list[list[_Item]], int]:
    """The items in ``count`` lines of ``room`` cells, and how many have no place."""
    rows: list[list[_Item]] = [[] for _ in range(count)]
    row, used = 0, 0
    for n, item in enumerate(items):
        more = len(items) - n - 1
        while row < count:
            counted = cell_width(f"+{more}") + _GAP if more and row == count - 1 else 0
            if not rows[row] or used + item.cells + counted <= room:
                break
            row, used = row + 1, 0
        if row == count:
            return rows, more + 1
        rows[row].append(item)
        used += item.cells + _GAP

    return rows, 0


def _cut(items: Sequence[_Item], room: int, count: int, glyphs: GlyphSet) -> list[_Item]:
    """The items with names that are short enough for all to have a place, if that can be."""
    in_line = -(-len(items) // count)
    named = [i for i in items if not i.is_band]
    band = sum(i.cells + _GAP for i in items if i.is_band)
    each = min(room // in_line, (room - band) // max(1, min(in_line - (band > 0), len(named))))
    cells = max(_LEAST_NAME, each - _GAP - _SAMPLE)
    names = iter(distinct(tuple(i.label for i in named), cells, glyphs.ellipsis))
    return [i if i.is_band else replace(i, name=next(names), note="") for i in items]
