"""The layers of a plot, painted from the lowest up.

Order: tint, limit lines, restarts, bands, continuation, outline of the family, superseded branch,
raw line, overlays, upper line with its levels, signs, marks, crosshair, texts, readout. The upper
layer owns a cell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rltui.core.block import BoolArray, FloatArray
from rltui.core.level import Level
from rltui.core.text import cell_width
from rltui.draw.chart.canvas import (
    BAND,
    BLANK,
    RESOLUTION,
    Plot,
    checkerboard,
    encode,
    fill,
    line_raster,
    paint_band,
    paint_line,
    paint_tone,
    path_raster,
    safe,
)
from rltui.draw.chart.chart_model import Chart, Continuation, Curve
from rltui.draw.chart.trace import gap_cells, smooth
from rltui.draw.chart.y_range import Shown, in_order
from rltui.draw.line import (
    ACCENT,
    ACCENT_BOLD,
    LEVEL_BOLD,
    LEVEL_LOOK,
    MUTED,
    RUN_BANDS,
    TITLE,
    Line,
    Style,
    Token,
    line_width,
    on_ground,
    style,
)

_NAN = LEVEL_BOLD[Level.BAD]
_NAN_REST = style(Token.BAD)
_OUTSIDE = TITLE
#: Share of the height that a value may leave the plot by without a mark.
_SLACK = 0.03
#: Cells of a dash and of the gap behind it.
_DASH = 2
#: Cells from one sign of a line to the next.
_SIGN_EACH = 36


def draw_ground(plot: Plot, chart: Chart, shown: Shown) -> None:
    """Tint of the healthy range, limit lines, dotted lines of restarts, the envelope of the
    reference, and the bands of the overlays in a sparser tone."""
    canvas = plot.canvas
    if chart.healthy is not None:
        _tint(plot, *chart.healthy, lined=bool(chart.limits))
    for limit in chart.limits:
        row = plot.row(float(limit.value))
        if row is not None:
            canvas.text(row, 0, plot.glyphs.limit * canvas.width, style(limit.token))
    for x in filter(plot.span.holds, chart.restarts):
        for row in range(canvas.height):
            canvas.put(row, plot.span.cell(x), plot.glyphs.restart_line, MUTED)

    if shown.envelope is not None:
        paint_band(plot, *shown.envelope)
    for other in shown.overlays:
        if other.low is not None and other.high is not None:
            look = style(RUN_BANDS.get(other.curve.token, Token.BAND))
            paint_band(plot, other.low, other.high, look, faint=True)


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
    if last >= first:
        plot.canvas.tint[rows - 1 - last : rows - first] = True


def draw_continuation(plot: Plot, continuation: Continuation | None) -> None:
    """Draw the visible part of the projected trend: a dashed line in the band of its dates.

    Dots beyond the limit are left out: what happens there is not known.
    """
    span = plot.span
    columns = plot.across * span.cells
    height = plot.down * plot.canvas.height
    if continuation is None or span.x1 <= span.x0 or columns < 2:
        return
    x = span.x0 + (span.x1 - span.x0) * np.arange(columns) / (columns - 1)

    def dots(end: float, hidden: BoolArray) -> FloatArray:
        """Heights (columns,) of the straight line that reaches the limit at ``end``; NaN where
        it is ``hidden`` or outside of the plot."""
        share = np.clip((x - continuation.x) / max(end - continuation.x, 1e-300), 0.0, 1.0)
        at = plot.scale.share(continuation.y + (continuation.limit - continuation.y) * share)
        inside = (at >= -1e-9) & (at <= 1 + 1e-9) & ~hidden
        return np.where(inside, np.round(np.clip(at, 0, 1) * (height - 1)), np.nan)

    def paint(raster: BoolArray, look: Style, char: str) -> None:
        """Dots that texts keep off."""
        codes = encode(raster, plot.glyphs.marker, char=char)
        plot.canvas.paint(codes, look)
        plot.canvas.lines |= codes != BLANK

    outside = (x <= continuation.x) | (x > continuation.latest)
    soonest = dots(continuation.earliest, outside)
    last = dots(continuation.latest, outside)
    band = fill(np.minimum(soonest, last), np.maximum(soonest, last), height)
    paint(band if plot.glyphs.ascii else checkerboard(band), BAND, ":")

    middle = (continuation.earliest + continuation.latest) / 2
    gap = np.arange(columns) // plot.across // _DASH % 2 == 1
    dash = dots(middle, outside | gap | (x > middle))
    paint(fill(dash, dash, height), MUTED, "-")


def draw_curves(plot: Plot, shown: Shown, weight: float, *, outlined: bool) -> None:
    """Draw minimum and maximum of the family if ``outlined``, the superseded branch, the raw line,
    the overlays with the first of them on top, and the upper line with its levels. ``weight``: that
    of the moving average."""
    curve = shown.curve
    if curve.is_path:
        for x, y in filter(None, (curve.old, in_order(shown) if weight else None)):
            paint_line(plot, path_raster(plot, x, y), BAND, char=".")
        shown = shown._replace(old=None, under=None)
    for end in (shown.low, shown.high) if outlined else ():
        if end is not None:
            paint_tone(plot, *plot.extents(end, cut=True))
    if shown.old is not None:
        paint_line(plot, line_raster(plot, shown.old, toned=True), BAND, char=".")
    if shown.under is not None:
        look = style(Token.SPARK) if shown.low is not None else BAND
        raster = line_raster(plot, shown.under, toned=shown.crowded)
        paint_line(plot, raster, look, char=":" if shown.crowded else ".")

    drawn = []
    for other in reversed(shown.overlays):
        look = style(other.curve.token)
        sign = other.curve.sign
        cells = _paint_upper(plot, other, weight, look, sign or "+")
        drawn.append((cells, look, sign))
    look = style(curve.token if curve.known else Token.MUTED)
    cells = _paint_upper(plot, shown, weight, look, curve.sign or "*")

    # signs stand on each line, the top one first, at places of its own: lines differ without
    # colours
    lines = [(cells, look, curve.sign), *reversed(drawn)]
    width = plot.canvas.width
    count = max(1, width // _SIGN_EACH)
    for n, (cells, look, sign) in enumerate(lines):
        filled = np.flatnonzero(cells.any(axis=0))
        if not sign or not len(filled):
            continue
        wanted = (np.arange(count) + (n + 0.5) / len(lines)) * width / count
        at = np.minimum(np.searchsorted(filled, wanted), len(filled) - 1)
        for column in set(filled[at].tolist()):
            rows = np.flatnonzero(cells[:, column])
            plot.canvas.put(int(rows[len(rows) // 2]), column, sign, style(look.fg, bold=True))


def _paint_upper(plot: Plot, shown: Shown, weight: float, look: Style, char: str) -> BoolArray:
    """The upper line, or a path, with its levels. Returns the cells (height, width) of it."""
    curve = shown.curve
    if not curve.is_path:
        raster = line_raster(plot, shown.line)
        cells = paint_line(plot, raster, look, char)
        _recolour(plot, raster, curve)
        return cells
    x, y = (smooth(values.astype(np.float64), weight) for values in in_order(shown))
    raster = path_raster(plot, x, y, joined=weight > 0)
    cells = paint_line(plot, raster, look, char)
    codes = encode(raster, plot.glyphs.marker)
    for since, until, level in sorted(curve.levels, key=lambda e: e[2]):
        if level >= Level.WATCH:
            part = slice(int(since), None if until is None else int(until) + 1)
            own = path_raster(plot, x[part], y[part], joined=weight > 0)
            where = encode(own, plot.glyphs.marker) != BLANK
            plot.canvas.paint(codes, LEVEL_LOOK[level], where)
    return cells


def _recolour(plot: Plot, raster: BoolArray, curve: Curve) -> None:
    """The level colours of a line, from the step at which each began."""
    x0 = plot.span.x0
    x1 = plot.span.x1
    width = 2 * plot.span.cells
    grades = np.zeros(width, dtype=np.int64)
    for since, until, level in curve.levels:
        if since > x1 or (until is not None and until < x0):
            continue
        begin = 0
        end = width - 1
        if x1 > x0:
            begin = round(max(0.0, (since - x0) / (x1 - x0)) * (width - 1))
            last = x1 if until is None else min(until, x1)
            end = round((last - x0) / (x1 - x0) * (width - 1))
        grades[begin : end + 1] = np.maximum(grades[begin : end + 1], int(level))
    if not grades.any():
        return

    across, down = RESOLUTION[plot.glyphs.marker]
    graded = grades.reshape(-1, 2 // across, across).max(axis=1)
    dots = raster.reshape(-1, down, plot.span.cells, across).any(axis=1)
    level_of_cell = (dots * graded).max(axis=2)
    codes = encode(raster, plot.glyphs.marker)
    for grade in (Level.WATCH, Level.BAD):
        where = level_of_cell == int(grade)
        if where.any():
            plot.canvas.paint(codes, LEVEL_LOOK[grade], where)


def draw_marks(plot: Plot, shown: Shown) -> None:
    """Marks for values that are outside of the y range or not finite."""
    canvas = plot.canvas
    scale = plot.scale
    glyphs = plot.glyphs
    bottom = canvas.height - 1
    columns = shown.under or shown.line
    if scale.log or (columns.high > scale.high).any() or (columns.low < scale.low).any():
        at = columns.at[columns.inside].astype(np.intp) // 2
        high, low = (scale.share(c[columns.inside]) for c in (columns.high, columns.low))
        for column in set(at[high > 1 + _SLACK].tolist()):
            canvas.put(0, column, glyphs.above, _OUTSIDE)
        for column in set(at[low < -_SLACK].tolist()):
            canvas.put(bottom, column, glyphs.below, _OUTSIDE)

    if shown.curve.is_path:
        return
    kinds = gap_cells(shown.raw, plot.span.x0, plot.span.x1, canvas.width)
    for column in np.flatnonzero(kinds).tolist():
        begins = kinds[column] == 1
        char, look = (glyphs.nan, _NAN) if begins else (glyphs.unchanged, _NAN_REST)
        canvas.put(bottom, column, char, look)
        canvas.lines[bottom, column] = True


def draw_onsets(plot: Plot, chart: Chart) -> None:
    """In a cell of the grid the badge of each level of the curve where it began: on the top row,
    or on the bottom one where the line takes that."""
    canvas = plot.canvas
    levels = chart.curve.levels if chart.ends and not chart.curve.is_path else ()
    for since, _, level in sorted(levels, key=lambda e: e[2]):
        if level < Level.WATCH or not plot.span.holds(since):
            continue
        column = plot.span.cell(since)
        rows = (0, canvas.height - 1)
        row = next((r for r in rows if canvas.free(r, column, column + 1)), None)
        if row is not None:
            canvas.put(row, column, plot.glyphs.badge(level), LEVEL_BOLD[level])


def draw_texts(plot: Plot, chart: Chart, note: str) -> None:
    """The texts of limits at the right end, or where no line of data is; a note on top. A limit
    beyond the range has an arrow at that edge."""
    canvas = plot.canvas
    glyphs = plot.glyphs
    if note:
        text = f" {glyphs.text(note)}"
        canvas.text(0, max(0, canvas.width - len(text)), text[: canvas.width], MUTED)
    for limit in chart.limits:
        value = float(limit.value)
        scale = plot.scale
        arrow = ""
        row = plot.row(value)
        # what has no place on a log axis has none at its edges either
        has_place = np.isfinite(value) and not (scale.log and value <= 0)
        if row is None and limit.sought and has_place:
            is_above = value > (10.0**scale.low if scale.log else scale.low)
            row = 0 if is_above else canvas.height - 1
            arrow = f"{glyphs.above if is_above else glyphs.below} "
        text = f" {arrow}{glyphs.text(safe(limit.text))}"
        width = cell_width(text)
        if row is None or not limit.text or width + 1 > canvas.width:
            continue

        right = canvas.width - width
        for begin in (right, *range(right - 1, 0, -1), 0):
            gap = begin != right
            if canvas.free(row, max(0, begin - 1), min(canvas.width, begin + width + gap)):
                canvas.text(row, begin, text + " " * gap, style(limit.token))
                canvas.lines[row, begin : begin + width] = True  # the readout keeps off it
                break


def draw_crosshair(plot: Plot, chart: Chart, x: float) -> None:
    """The full-height line, which gives way to the data, and the point of a path on it."""
    canvas = plot.canvas
    column = plot.span.cell(x)
    for row in range(canvas.height):
        if not canvas.lines[row, column]:
            canvas.put(row, column, plot.glyphs.vertical, ACCENT)
    y = math.nan if chart.point is None else float(chart.curve.y[chart.point[0]])
    at = plot.row(y) if math.isfinite(y) else None
    if at is not None:
        canvas.put(at, column, plot.glyphs.live, ACCENT_BOLD)


def draw_readout(plot: Plot, x: float, lines: Sequence[Line]) -> None:
    """The box beside the crosshair, where it hides the least of the data."""
    canvas = plot.canvas
    column = plot.span.cell(x)
    lines = [[(plot.glyphs.text(safe(text)), look) for text, look in line] for line in lines]
    width = max(map(line_width, lines), default=0) + 4
    airy = canvas.height >= len(lines) + 4
    height = len(lines) + 2 * airy
    right = column + 2
    left = column - 1 - width
    sides = [left, right] if 2 * column >= canvas.width else [right, left]
    begin = next((s for s in sides if s >= 0 and s + width <= canvas.width), None)
    if not lines or begin is None or height > canvas.height:
        return

    hidden = canvas.lines[:, begin : begin + width].sum(axis=1)
    tops = range(canvas.height - height + 1)
    middle = (canvas.height - height) / 2
    top = min(tops, key=lambda t: (int(hidden[t : t + height].sum()), abs(t - middle)))
    for row in range(height):
        canvas.text(top + row, begin, " " * width, style(bg=Token.SEL))
    for row, line in enumerate(lines, top + airy):
        at = begin + 2
        for text, look in line:
            canvas.text(row, at, text[: begin + width - at], on_ground(look, Token.SEL))
            at += cell_width(text)
