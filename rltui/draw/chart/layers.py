"""The layers of a plot, painted from the lowest up.

Order: tint, limit lines, restarts, outline of the family, superseded branch, raw line, upper line
with its levels, marks, crosshair, texts, readout. The upper layer owns a cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rltui.core.block import BoolArray, FloatArray, IntArray
from rltui.core.level import Level
from rltui.core.text import cell_width
from rltui.draw.chart.canvas import (
    BAND,
    BLANK,
    RESOLUTION,
    Plot,
    by_cell,
    checkerboard,
    encode,
    fill,
    line_raster,
    paint_line,
    paint_outline,
    safe,
)
from rltui.draw.chart.chart_model import Chart, Continuation, Curve
from rltui.draw.chart.foot import DrawnLine
from rltui.draw.chart.trace import Columns, Points, gap_cells
from rltui.draw.chart.y_range import Shown
from rltui.draw.glyph import GlyphSet
from rltui.draw.line import (
    ACCENT,
    LEVEL_TOKEN,
    MUTED,
    STAGE_TOKENS,
    TITLE,
    Line,
    Style,
    Token,
    line_width,
    style,
)

_NAN, _NAN_REST = style(Token.BAD, bold=True), style(Token.BAD)
_OUTSIDE = style(Token.STRONG, bold=True)
#: Cells of a dash and of the gap behind it.
_DASH = 2
#: What fills a cell from below, by eighths.
_EIGHTHS = "▁▂▃▄▅▆▇█"
#: Fills where there is nothing but ascii, or no colour, by part; the last one is that of all
#: other parts. None is a badge, or the line of the usual level.
LETTERS = "#=%:.,"
_BLANK = 255


def draw_ground(plot: Plot, chart: Chart) -> None:
    """Tint of the healthy range, limit lines, dotted lines of restarts."""
    canvas = plot.canvas
    if chart.healthy is not None:
        _tint(plot, *chart.healthy, lined=bool(chart.limits))
    for limit in chart.limits:
        row = plot.row(float(limit.value))
        if row is not None:
            canvas.text(row, 0, plot.glyphs.limit * canvas.width, style(limit.token))
    for x in chart.restarts:
        if plot.holds(x):
            for row in range(canvas.height):
                canvas.put(row, plot.cell(x), plot.glyphs.restart_line, MUTED)


def _tint(plot: Plot, low: float | None, high: float | None, *, lined: bool) -> None:
    """The rows that the range touches; without limit lines only those that lie in it by half, so
    that no row of a low chart looks healthy that is not."""
    rows = plot.canvas.height
    edges = np.array([np.nan if v is None else v for v in (low, high)], dtype=np.float64)
    shares = plot.scale.share(edges)
    if plot.scale.log:  # nothing is below a limit of zero
        shares = np.where(edges <= 0, -1.0, shares)
    bottom = 0.0 if low is None else float(np.nan_to_num(shares[0]))
    top = 1.0 if high is None else float(np.nan_to_num(shares[1], nan=1.0))
    if bottom > 1 or top < 0 or bottom > top:
        return
    dots = plot.down * rows - 1
    within = 0 if lined else plot.down // 2
    first = (round(max(0.0, bottom) * dots) + within) // plot.down
    last = (round(min(1.0, top) * dots) - within) // plot.down
    if last < first:
        return
    plot.canvas.tint[rows - 1 - last : rows - first] = True


def draw_below(plot: Plot, shown: Shown, *, outlined: bool) -> None:
    """What lies below the upper line: the lowest and highest of its family where they are to be
    ``outlined``, superseded branch, raw line."""
    for end in (shown.low, shown.high) if outlined else ():
        if end is not None:
            paint_outline(plot, end)
    if shown.old is not None:
        paint_line(plot, line_raster(plot, shown.old, toned=True), BAND, char=".")
    if shown.under is not None:
        look = style(Token.SPARK) if shown.low is not None else BAND
        raster = line_raster(plot, shown.under, toned=shown.crowded)
        paint_line(plot, raster, look, char=":" if shown.crowded else ".")


def draw_curve(plot: Plot, shown: Shown) -> DrawnLine:
    """The upper line with its levels."""
    curve = shown.curve
    look = style(curve.token if curve.known else Token.MUTED)
    raster = line_raster(plot, shown.line)
    cells = paint_line(plot, raster, look, char=curve.sign or "*")
    _recolour(plot, raster, curve)
    return DrawnLine(cells, look, curve.sign)


def _recolour(plot: Plot, raster: BoolArray, curve: Curve) -> None:
    """The level colours of a line, from the step at which each began."""
    if not curve.levels:
        return
    grades = _grades(plot, curve)
    if not grades.any():
        return
    across = RESOLUTION[plot.glyphs.marker][0]
    cells = plot.canvas.width
    grades = grades.reshape(cells, 2) if across == 2 else grades.reshape(cells, 2).max(1)[:, None]
    set_columns = by_cell(raster, plot.glyphs.marker).any(axis=2)
    level = (set_columns * grades).max(axis=2)
    codes = encode(raster, plot.glyphs.marker)
    for grade in (Level.WATCH, Level.BAD):
        where = level == int(grade)
        if where.any():
            plot.canvas.paint(codes, style(LEVEL_TOKEN[grade]), where)


def _grades(plot: Plot, curve: Curve) -> IntArray:
    """The level (dot columns,) of a curve."""
    width = plot.dot_columns
    out = np.zeros(width, dtype=np.int64)
    span = plot.x1 - plot.x0
    for since, until, level in curve.levels:
        if since > plot.x1 or (until is not None and until < plot.x0):
            continue
        if span <= 0:
            begin, end = 0, width - 1
        else:
            begin = round(max(0.0, (since - plot.x0) / span) * (width - 1))
            last = plot.x1 if until is None else min(until, plot.x1)
            end = round((last - plot.x0) / span * (width - 1))
        out[begin : end + 1] = np.maximum(out[begin : end + 1], int(level))

    return out


def draw_marks(plot: Plot, shown: Shown) -> None:
    """Marks for values that are not finite or outside of the y range."""
    _outside(plot, shown.under or shown.line)
    _gaps(plot, shown.raw)


def _gaps(plot: Plot, raw: Points) -> None:
    canvas, glyphs = plot.canvas, plot.glyphs
    kinds = gap_cells(raw, plot.x0, plot.x1, canvas.width)
    bottom = canvas.height - 1
    for column in np.flatnonzero(kinds).tolist():
        starts = kinds[column] == 1
        char, look = (glyphs.nan, _NAN) if starts else (glyphs.unchanged, _NAN_REST)
        canvas.put(bottom, column, char, look)
        canvas.lines[bottom, column] = True


def _outside(plot: Plot, columns: Columns) -> None:
    """``^`` and ``v`` where values leave the plot."""
    canvas, scale = plot.canvas, plot.scale
    if not scale.log and (columns.high <= scale.high).all() and (columns.low >= scale.low).all():
        return
    at = columns.at[columns.inside].astype(np.intp)
    high = scale.share(columns.high[columns.inside])
    low = scale.share(columns.low[columns.inside])
    slack = 0.03
    for column in set((at[high > 1 + slack] // 2).tolist()):
        canvas.put(0, column, plot.glyphs.above, _OUTSIDE)
    for column in set((at[low < -slack] // 2).tolist()):
        canvas.put(canvas.height - 1, column, plot.glyphs.below, _OUTSIDE)


def draw_texts(plot: Plot, chart: Chart, note: str) -> None:
    """The texts of limits at the right end, or where no line of data is; a note on top."""
    canvas = plot.canvas
    if note:
        text = f" {plot.glyphs.text(note)}"
        canvas.text(0, max(0, canvas.width - len(text)), text[: canvas.width], MUTED)
    for limit in chart.limits:
        place = _place_of(plot, float(limit.value))
        hidden = not limit.sought and plot.row(float(limit.value)) is None
        if place is None or hidden or not limit.text:
            continue
        row, edge = place
        text = f" {edge}{plot.glyphs.text(safe(limit.text))}"
        width = cell_width(text)
        if width + 1 > canvas.width:
            continue
        right = canvas.width - width
        for begin in (right, *range(right - 1, 0, -1), 0):
            inner = text if begin == right else text + " "
            if canvas.free(row, max(0, begin - 1), min(canvas.width, begin + cell_width(inner))):
                canvas.text(row, begin, inner, style(limit.token))
                canvas.lines[row, begin : begin + width] = True  # the readout keeps off it
                break


def _place_of(plot: Plot, value: float) -> tuple[int, str] | None:
    """Row of a limit and the arrow before its text: none in the range, else at the edge beyond
    which it lies. None for what has no place on a log axis."""
    row = plot.row(value)
    if row is not None:
        return row, ""
    if not np.isfinite(value) or (plot.scale.log and value <= 0):
        return None
    if value > (10.0**plot.scale.low if plot.scale.log else plot.scale.low):
        return 0, f"{plot.glyphs.above} "

    return plot.canvas.height - 1, f"{plot.glyphs.below} "


def draw_crosshair(plot: Plot, x: float) -> None:
    """The full-height line, which gives way to the data."""
    canvas, column = plot.canvas, plot.cell(x)
    for row in range(canvas.height):
        if not canvas.lines[row, column]:
            canvas.put(row, column, plot.glyphs.vertical, ACCENT)


def draw_readout(plot: Plot, x: float, lines: Sequence[Line]) -> None:
    """The box beside the crosshair, where it hides the least of the data."""
    canvas, column = plot.canvas, plot.cell(x)
    lines = [[(plot.glyphs.text(safe(text)), look) for text, look in line] for line in lines]
    width = max(map(line_width, lines)) + 4
    airy = canvas.height >= len(lines) + 4
    height = len(lines) + 2 * airy
    right, left = column + 2, column - 1 - width
    sides = [left, right] if 2 * column >= canvas.width else [right, left]
    sides = [s for s in sides if s >= 0 and s + width <= canvas.width]
    if not sides or height > canvas.height:
        return
    begin = sides[0]
    hidden = canvas.lines[:, begin : begin + width].sum(axis=1)
    tops = range(canvas.height - height + 1)
    middle = (canvas.height - height) / 2
    top = min(tops, key=lambda t: (int(hidden[t : t + height].sum()), abs(t - middle)))
    for row in range(height):
        canvas.text(top + row, begin, " " * width, style(Token.TEXT, bg=Token.SEL))
    for row, line in enumerate(lines):
        at = begin + 2
        for text, look in line:
            on_box = style(look.fg, bg=Token.SEL, bold=look.bold, underline=look.underline)
            canvas.text(top + airy + row, at, text[: begin + width - at], on_box)
            at += cell_width(text)


def newest_value(s: Shown, x1: float) -> tuple[float, Style] | None:
    """The newest raw value and its style; None when it is not in the window."""
    raw = s.raw
    if not len(raw.x) or raw.x[-1] > x1:
        return None
    x, value = float(raw.x[-1]), float(raw.y[-1])
    holding = [e[2] for e in s.curve.levels if e[0] <= x and (e[1] is None or e[1] >= x)]
    worst = max(holding, default=Level.UNKNOWN)
    if not np.isfinite(value):
        return value, _NAN
    if worst >= Level.WATCH:
        return value, style(LEVEL_TOKEN[worst], bold=True)

    return value, style(Token.STRONG, bold=True)


def draw_continuation(plot: Plot, ahead: Continuation) -> None:
    """The part of it that is in the window; draws nothing without a cell beyond the newest point.

    Dots of the band that lie beyond the limit are left out: what happens there is not known.
    """
    across, down = RESOLUTION[plot.glyphs.marker]
    columns, height = across * plot.canvas.width, down * plot.canvas.height
    if plot.x1 <= plot.x0 or columns < 2:
        return
    x = plot.x0 + (plot.x1 - plot.x0) * np.arange(columns) / (columns - 1)
    beyond = x > ahead.x
    soonest, last = (_straight(ahead, x, end) for end in (ahead.earliest, ahead.latest))
    low, high = np.fmin(soonest, last), np.fmax(soonest, last)
    outside = ~beyond | (x > ahead.latest)
    low, high = (_dots(plot, np.where(outside, np.nan, y), height) for y in (low, high))
    band = fill(low, high, height)
    _paint_dots(plot, band if plot.glyphs.ascii else checkerboard(band), BAND, ":")
    middle = _straight(ahead, x, (ahead.earliest + ahead.latest) / 2)
    cells = np.arange(columns) // across
    gap = outside | (cells // _DASH % 2 == 1) | (x > (ahead.earliest + ahead.latest) / 2)
    dash = _dots(plot, np.where(gap, np.nan, middle), height)
    _paint_dots(plot, fill(dash, dash, height), MUTED, "-")


def _paint_dots(plot: Plot, raster: BoolArray, look: Style, char: str) -> None:
    """Dots that texts keep off."""
    codes = encode(raster, plot.glyphs.marker, char=char)
    plot.canvas.paint(codes, look)
    plot.canvas.lines |= codes != BLANK


def _straight(ahead: Continuation, x: FloatArray, end: float) -> FloatArray:
    """The value (n,) at ``x`` of the straight line that reaches the limit at ``end``."""
    share = np.clip((x - ahead.x) / max(end - ahead.x, 1e-300), 0.0, 1.0)
    return ahead.y + (ahead.limit - ahead.y) * share


def _dots(plot: Plot, values: FloatArray, height: int) -> FloatArray:
    """Values as dots above the bottom; NaN outside of the plot."""
    share = plot.scale.share(values)
    inside = (share >= -1e-9) & (share <= 1 + 1e-9)
    return np.where(inside, np.round(np.clip(share, 0, 1) * (height - 1)), np.nan)


def draw_onsets(plot: Plot, chart: Chart) -> None:
    """The badge of each level of the curve where it began: on the top row, or on the bottom one
    where the line takes that."""
    canvas = plot.canvas
    for since, _, level in sorted(chart.curve.levels, key=lambda e: e[2]):
        if level < Level.WATCH or not plot.holds(since):
            continue
        column = plot.cell(since)
        rows = (0, canvas.height - 1)
        row = next((r for r in rows if canvas.free(r, column, column + 1)), None)
        if row is not None:
            canvas.put(row, column, plot.glyphs.badge(level), style(LEVEL_TOKEN[level], bold=True))


@dataclass(frozen=True, slots=True, eq=False)
class Stack:
    """What :func:`stack_cells` draws."""

    parts: FloatArray
    """(parts, columns) how much of each part there is, from below; NaN or 0 for none."""
    colours: Sequence[int]
    """Index of each part in the tokens of the stages."""
    top: float
    """What the upper edge of the plot means."""
    usual: float | None = None
    """Where a dotted line is drawn."""


def stack_cells(stack: Stack, rows: int, glyphs: GlyphSet) -> list[Line]:
    """The plot in exactly ``rows`` lines of as many cells as there are columns, from above. A
    column that is higher than the plot ends in the glyph of what lies above."""
    eighths = _eighths(stack, rows)
    above = (np.nansum(stack.parts, axis=0) > stack.top * (1 + 1e-9)).tolist()
    usual = _row_of(stack.usual, stack.top, rows)
    known: dict[bytes, tuple[str, Style]] = {}
    lines = []
    for row in range(rows - 1, -1, -1):
        cells = eighths[:, 8 * row : 8 * row + 8].tobytes()
        line = _Row(glyphs)
        for column in range(len(eighths)):
            parts = cells[8 * column : 8 * column + 8]
            if row == rows - 1 and above[column]:
                line.add(glyphs.above, style(Token.STRONG, bg=_ground(parts), bold=True))
            elif row == usual and len(set(parts)) == 1:
                line.add(glyphs.limit, style(Token.STRONG, bg=_ground(parts)))
            else:
                found = known.get(parts)
                if found is None:
                    found = known[parts] = _cell(parts, glyphs)
                line.add(*found)
        lines.append(line.spans())

    return lines


def _row_of(value: float | None, top: float, rows: int) -> int | None:
    if value is None or not 0 < value < top:
        return None
    return min(rows - 1, int(value / top * rows))


def _eighths(stack: Stack, rows: int) -> NDArray[np.uint8]:
    """(columns, 8 * rows) colour of the part that each eighth of a cell shows, from below."""
    heights = np.nan_to_num(np.cumsum(np.nan_to_num(stack.parts), axis=0) / stack.top)
    edges = heights * rows * 8
    middles = np.arange(rows * 8) + 0.5
    if not len(edges):
        return np.full((stack.parts.shape[1], rows * 8), _BLANK, np.uint8)
    # something that is there at all shows, also where it is less than half an eighth
    edges[-1] = np.where(edges[-1] > 0, np.maximum(edges[-1], 0.6), 0.0)
    part = (edges[:, :, None] <= middles).sum(axis=0)
    colours = np.array([*stack.colours, _BLANK], np.uint8)

    return np.asarray(colours[part])


def _cell(parts: bytes, glyphs: GlyphSet) -> tuple[str, Style]:
    """One cell of eight eighths: the lowest part in front of the largest of the others."""
    first = parts[0]
    if first == _BLANK:
        return " ", style()
    if glyphs.lettered:
        most = max(dict.fromkeys(parts), key=parts.count)
        return (" ", style()) if most == _BLANK else (LETTERS[most], style(STAGE_TOKENS[most]))
    height = next((n for n, p in enumerate(parts) if p != first), 8)
    rest = parts[height:]
    behind = max(dict.fromkeys(rest), key=rest.count) if rest else _BLANK
    ground = None if behind == _BLANK else STAGE_TOKENS[behind]

    return _EIGHTHS[height - 1], style(STAGE_TOKENS[first], bg=ground)


def _ground(parts: bytes) -> Token | None:
    """The ground of a glyph in a cell: its largest part."""
    most = max(dict.fromkeys(parts), key=parts.count)
    return None if most == _BLANK else STAGE_TOKENS[most]


class _Row:
    """One line under construction: neighbours of the same style are one span."""

    def __init__(self, glyphs: GlyphSet) -> None:
        self._spans: list[tuple[list[str], Style]] = []
        self._lettered = glyphs.lettered

    def add(self, char: str, look: Style) -> None:
        if self._lettered and look.bg is not None:
            look = style(look.fg, bold=look.bold)
        if self._spans and self._spans[-1][1] is look:
            self._spans[-1][0].append(char)
        else:
            self._spans.append(([char], look))

    def spans(self) -> Line:
        return [("".join(chars), look) for chars, look in self._spans]


def bar_line(parts: Sequence[tuple[str, float, int]], width: int, glyphs: GlyphSet) -> Line:
    """Shares of one whole side by side in ``width`` cells, each with its label where that fits.

    ``parts``: label, share and index in the tokens of the stages.
    """
    cells = _cells([share for _, share, _ in parts], width)
    line: Line = []
    for (label, _, colour), count in zip(parts, cells, strict=True):
        if not count:
            continue
        text = f" {label}" if len(label) + 2 <= count else ""
        if glyphs.lettered:
            fill = LETTERS[colour] * (count - len(text) - bool(text))
            line += [(f"{text} " if text else "", TITLE), (fill, style(STAGE_TOKENS[colour]))]
        else:
            look = style(Token.STRONG, bg=STAGE_TOKENS[colour])
            if not text:  # blocks keep their colour where a terminal has no grounds
                text, look = "█" * count, style(STAGE_TOKENS[colour])
            line.append((text.ljust(count), look))

    return [span for span in line if span[0]]


def _cells(shares: Sequence[float], width: int) -> list[int]:
    """Whole cells for each share, ``width`` in all."""
    whole = sum(shares)
    if not whole > 0:
        return [0] * len(shares)
    exact = [share / whole * width for share in shares]
    cells = [int(e) for e in exact]
    rest = sorted(range(len(exact)), key=lambda i: cells[i] - exact[i])
    for i in rest[: width - sum(cells)]:
        cells[i] += 1

    return cells
