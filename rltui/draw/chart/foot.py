"""Below the plot, on the same columns: x axis, bars of findings, marks, and a strip of the whole
run that shows where in it the enlarged part lies. Above it: the legend.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from rltui.core.level import Level
from rltui.core.text import cell_width, fit
from rltui.draw.chart.axis import x_ticks
from rltui.draw.chart.canvas import PlotSpan, safe, texts_at
from rltui.draw.chart.chart_model import Bar, Chart, ChartMark
from rltui.draw.chart.trace import CurvePoints
from rltui.draw.glyph import GlyphSet
from rltui.draw.line import (
    ACCENT,
    LEVEL_BOLD,
    LEVEL_LOOK,
    MUTED,
    RULE,
    TEXT,
    Block,
    Line,
    Style,
    Token,
    fit_line,
    longest,
    plain,
    style,
)
from rltui.draw.prose import distinct, without_common
from rltui.draw.spark import Digest, spark_of

#: Column, text and look of something on a line.
_Part = tuple[int, str, Style]
#: Lines of bars, at most: those left out are counted.
_MOST_LANES = 6
#: The most that names may take from the plot: a share of the whole width, and cells.
_NAMES_SHARE = 0.2
_NAMES_MOST = 24
#: Lines of the strip.
STRIP_ROWS = 2
#: Lines that a chart needs for a strip: when enlarged, and when the whole run is in view.
_FROM = 12
_WHOLE_FROM = 24
#: Lines that a chart needs to spare one for its legend, and two.
_LEGEND_FROM = 8
_TWO_FROM = 16
_GAP = 3
#: Cells before a name in the legend, at most, and of a name, at least.
_SAMPLE = 4
_LEAST_NAME = 7
_BAND_SAMPLE = "⢕ "


def axis_lines(
    chart: Chart, span: PlotSpan, glyphs: GlyphSet, cross: float | None, label: str | None
) -> Block:
    """The rule with ticks, and below it their labels and the unit; ``label`` is that of the
    crosshair."""
    rule = [glyphs.rule] * span.cells

    def centred(x: float, text: str) -> int:
        begin = span.column(x) - (len(text) - 1) // 2
        return max(0, min(begin, span.width - len(text)))

    crossed: list[_Part] = []
    if cross is not None:
        text = f" {label} "
        look = style(Token.ACCENT, bold=True, reverse=True)
        crossed.append((centred(cross, text), text, look))
    placed = list(crossed)
    for x, text in x_ticks(span.x0, span.x1, span.cells, chart.x_kind):
        if span.holds(x):
            rule[span.cell(x)] = glyphs.tick_down
            text = glyphs.text(text)
            if not _touches(centred(x, text), text, crossed):
                placed.append((centred(x, text), text, MUTED))
    if cross is not None:
        rule[span.cell(cross)] = glyphs.tick_up

    placed = _with_unit(placed, glyphs.text(safe(chart.x_unit)), span, crossed)

    head = " " * (span.left - 1) + glyphs.corner if span.left else ""
    tail = " " * (span.width - span.left - span.cells)
    upper: Line = [(head, RULE), ("".join(rule), RULE), (tail, TEXT)]

    return [[s for s in upper if s[0]], texts_at(span.width, placed)]


def _with_unit(
    placed: list[_Part], unit: str, span: PlotSpan, crossed: Sequence[_Part]
) -> list[_Part]:
    """The labels and the unit: right of them, else below those of the y axis, else in the place of
    some, but never of that of the crosshair."""
    cells = cell_width(unit)
    end = span.left + span.cells - cells
    behind = max((at + len(text) + 1 for at, text, _ in placed), default=end)
    for begin in (end, behind, span.left - 1 - cells) if unit else ():
        if 0 <= begin <= span.width - cells and not _touches(begin, unit, placed):
            return [*placed, (begin, unit, MUTED)]
    if _touches(end, unit, crossed):
        end = crossed[0][0] - cells - 1
    kept = [p for p in placed if not _touches(end, unit, [p])]
    fits = unit and end >= span.left and len(kept) > 1
    return [*kept, (end, unit, MUTED)] if fits else placed


def _touches(begin: int, label: str, others: Sequence[_Part]) -> bool:
    """Whether no blank would part a label from one of the others."""
    return any(begin <= at + len(text) and at <= begin + len(label) for at, text, _ in others)


def foot_lines(chart: Chart, span: PlotSpan, glyphs: GlyphSet, rows: int) -> Block:
    """At most ``rows`` lines: bars of findings by the time they began, then the marks.

    The most important bars have a line, those of one name the same. A name without room left of
    its bars ends in an ellipsis. The lowest line with room for it counts the names left out.
    """
    groups = _groups_in(chart.bars, span)
    marks = _marks_in(chart, span)
    marked = bool(marks) and len(groups) < rows
    ranked = sorted(groups, key=_rank)[: max(0, rows - marked)]
    lines = [_bar_line(g, span, glyphs, chart.bar_names) for g in groups if g in ranked]
    left = len(groups) - len(ranked)
    for at in reversed(range(len(lines) if chart.bar_names and left else 0)):
        noted = _noted(lines[at], f"+{left} more", span.width)
        if noted is not None:
            lines[at] = noted
            break

    if not marked:
        return lines

    parts: list[_Part] = []
    rank = {letter: n for n, letter in enumerate("NRlsvc")}
    for mark in sorted(marks, key=lambda m: rank.get(m.letter, len(rank))):
        look = MUTED if mark.letter in "vc" else TEXT
        look = LEVEL_BOLD[Level.BAD] if mark.letter == "N" else look
        parts.append((span.column(mark.x), glyphs.text(safe(mark.letter))[:1], look))
    name = glyphs.text(safe(chart.marks_title))
    if chart.bar_names and cell_width(name) < min(column for column, _, _ in parts):
        parts.append((0, name, MUTED))  # the letters say more than part of a word

    return [*lines, texts_at(span.width, parts)]


def wanted_rows(chart: Chart, span: PlotSpan) -> int:
    """Lines that the bars and marks in view would take, within reason."""
    return min(_MOST_LANES, len(_groups_in(chart.bars, span))) + bool(_marks_in(chart, span))


def _marks_in(chart: Chart, span: PlotSpan) -> list[ChartMark]:
    """Marks and restarts in view."""
    marks = [*chart.marks, *(ChartMark(x, "R") for x in chart.restarts if not chart.ends)]
    return [m for m in marks if span.holds(m.x) and m.letter]


def _groups_in(bars: Sequence[Bar], span: PlotSpan) -> list[list[Bar]]:
    """The bars in view by name, in the order in which the names first appear."""
    found: dict[str, list[Bar]] = {}
    for bar in sorted(bars, key=lambda b: b.since):
        if bar.since <= span.x1 and (bar.until is None or bar.until >= span.x0):
            found.setdefault(bar.title, []).append(bar)
    return list(found.values())


def _rank(group: list[Bar]) -> tuple[bool, bool, bool, float]:
    """Lower is more important: firing bad, resolved bad, watch; then its own, then older."""
    return min((b.level is not Level.BAD, b.over, not b.own, b.since) for b in group)


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
    room = width - margin
    needed = 0
    x0, x1 = whole
    for group in _groups_in(chart.bars, PlotSpan(0, room, width, x0, x1)):
        name = cell_width(glyphs.text(safe(group[0].title))) + 1
        share = (max(group[0].since, x0) - x0) / (x1 - x0) if x1 > x0 else 0.0
        if share < 1:
            needed = max(needed, math.ceil((name - share * room) / (1 - share)))

    return max(least, min(needed, _NAMES_MOST, int(width * _NAMES_SHARE)) - 1)


def _noted(line: Line, note: str, width: int) -> Line | None:
    """The line with a note at its right end, else in its first gap; None without a gap."""
    parts: list[_Part] = []
    at = 0
    for text, look in line:
        if text.strip():
            parts.append((at, text.rstrip(), look))
        at += cell_width(text)
    text = plain(line).ljust(width)
    room = cell_width(note) + 2
    gap = width - room if text.endswith(" " * (room + 1)) else text.find(" " * (room + 1))

    return texts_at(width, [*parts, (gap + 2, note, MUTED)]) if gap >= 0 else None


def _bar_line(group: list[Bar], span: PlotSpan, glyphs: GlyphSet, named: bool) -> Line:
    """The bars of one name behind that name."""
    parts = [_bar(bar, span, glyphs) for bar in group]
    if not named:
        return texts_at(span.width, parts)

    at, body, _ = parts[0]
    room = min(begin for begin, _, _ in parts) - 1
    if group[0].since < span.x0:
        # the name may cover a bar whose beginning is out of sight
        nexts = [begin - 1 for begin, _, _ in parts if begin > at]
        room = max(at - 1, min([at + len(body) - 2, *nexts]))
    name = fit(glyphs.text(safe(group[0].title)), room)
    end = cell_width(name) + 1
    cut = [(max(at, end), body[max(0, end - at) :], look) for at, body, look in parts]
    look = MUTED if all(b.over for b in group) else TEXT
    return texts_at(span.width, [*(part for part in cut if part[1]), (0, name, look)])


def _bar(bar: Bar, span: PlotSpan, glyphs: GlyphSet) -> _Part:
    begin = span.column(bar.since)
    right = span.left + span.cells
    until = span.newest if bar.until is None else bar.until
    end = right if until is None else span.column(until) + 1
    cells = max(begin + 1, min(end, right)) - begin
    head = glyphs.bar if bar.since < span.x0 else glyphs.badge(bar.level)
    look = MUTED if bar.over else LEVEL_LOOK[bar.level]
    return begin, head + glyphs.bar * (cells - 1), look


def has_strip(chart: Chart, height: int) -> bool:
    """Whether a chart of ``height`` lines ends with a strip."""
    is_long = chart.overview and not chart.curve.is_path
    return is_long and height >= (_WHOLE_FROM if chart.window is None else _FROM)


def strip_lines(
    chart: Chart, raw: CurvePoints, whole: tuple[float, float], span: PlotSpan, glyphs: GlyphSet
) -> Block:
    """A sparkline from ``whole[0]`` to ``whole[1]`` on the columns of the plot, and the window as
    a bar on the same columns."""
    first, end = whole
    last = float(raw.x[-1]) if len(raw.x) else end
    least = math.ulp(max(abs(first), abs(end), 1.0))
    unit = max((end - first) / max(1, span.cells - 1), least)  # as the columns of the plot
    digest = Digest(first, unit, span.cells)
    digest.extend(raw.x, raw.y, last)
    spark = spark_of(digest, last, chart.curve.levels, chart.curve.known, glyphs)

    on_whole = PlotSpan(0, span.cells, span.cells, first, end)
    begin = on_whole.cell(span.x0)
    stop = on_whole.cell(span.x1) + 1
    view: Line = [(glyphs.rule * begin, RULE), (glyphs.bar * (stop - begin), ACCENT)]
    view.append((glyphs.rule * (span.cells - stop), RULE))
    margin = (" " * span.left, TEXT)

    return [
        [margin, *spark, (" run", MUTED)],
        [margin, *(part for part in view if part[0]), (" view", MUTED)],
    ]


class _Label(NamedTuple):
    """An entry of the legend."""

    sample: str
    """Sample of the line, with its sign."""
    look: Style
    label: str
    is_band: bool

    @property
    def cells(self) -> int:
        return cell_width(self.sample) + cell_width(self.label)


def legend_height(chart: Chart, width: int, height: int, glyphs: GlyphSet) -> int:
    """Lines of the legend in a chart of ``width`` x ``height`` cells: two where there is room."""
    items = _items(chart, glyphs)
    unnamed = chart.told or chart.ends or not (chart.overlays and items)
    if unnamed or height < _LEGEND_FROM:
        return 0
    needed = sum(i.cells + _GAP for i in items)
    return 2 if height >= _TWO_FROM and needed > width - _GAP else 1


def legend_lines(chart: Chart, left: int, width: int, count: int, glyphs: GlyphSet) -> Block:
    """The names of the lines in their colours from the column ``left`` on, in ``count`` lines.

    Where they do not fit, the notes are left out if the names differ, then the names are cut, and
    those without room are counted.
    """
    if not count:
        return []
    items = _items(chart, glyphs)
    room = width - left
    rows, rest = _rows(items, room, count)
    if rest:
        bare = _items(chart, glyphs, notes=False)
        if len({i.label for i in bare}) == len(bare):
            items = bare
            rows, rest = _rows(items, room, count)
    if rest:
        rows, rest = _rows(_cut(items, room, count), room, count)

    shown: Block = []
    for row in rows:
        line: Line = [(" " * left, TEXT)]
        for item in row:
            line += [(item.sample, item.look), (item.label, TEXT), (" " * _GAP, TEXT)]
        shown.append(line)
    if rest:
        shown[-1].append((f"+{rest}", MUTED))
    return [fit_line(x, width) for x in shown]


def _cut(items: Sequence[_Label], room: int, count: int) -> list[_Label]:
    """The items with names that are short enough for all to have a place, if that can be; in what
    makes them differ none is cut to have one, as long as two have."""
    in_line = -(-len(items) // count)
    lines = [i.label for i in items if not i.is_band]
    band = sum(i.cells + _GAP for i in items if i.is_band)
    each = min(room // in_line, (room - band) // max(1, min(in_line - (band > 0), len(lines))))
    cells = max(_LEAST_NAME, each - _GAP - _SAMPLE)
    whole = longest(without_common(lines, 0))
    names = iter(distinct(tuple(lines), max(cells, whole if 2 * whole <= room else 0)))
    return [i if i.is_band else i._replace(label=next(names)) for i in items]


def _items(chart: Chart, glyphs: GlyphSet, *, notes: bool = True) -> list[_Label]:
    """List what has a name: the curve and the overlays."""
    token = chart.curve.token if chart.curve.known else Token.MUTED
    found = [(chart.label, chart.note, token, chart.curve.sign, "*", False)]
    found += [(o.label, o.note, o.token, o.sign, "+", o.is_band) for o in chart.overlays]
    items = []
    for label, note, token, sign, char, is_band in found:
        if not label:
            continue
        if is_band:
            sample = ": " if glyphs.ascii else _BAND_SAMPLE
        elif glyphs.ascii:
            sample = f"{sign or char} "
        else:
            sample = f"{glyphs.bar} {sign} " if sign else f"{glyphs.bar} "
        text = " ".join(glyphs.text(safe(t)) for t in (label, note if notes else "") if t)
        items.append(_Label(sample, style(token), text, is_band))

    return items


def _rows(items: Sequence[_Label], room: int, count: int) -> tuple[list[list[_Label]], int]:
    """The items in ``count`` lines of ``room`` cells, and how many have no place."""
    rows: list[list[_Label]] = [[] for _ in range(count)]
    row = 0
    used = 0
    for n, item in enumerate(items):
        more = len(items) - n - 1
        while row < count:
            counted = cell_width(f"+{more}") + _GAP if more and row == count - 1 else 0
            if not rows[row] or used + item.cells + counted <= room:
                break
            row += 1
            used = 0
        if row == count:
            return rows, more + 1
        rows[row].append(item)
        used += item.cells + _GAP

    return rows, 0
