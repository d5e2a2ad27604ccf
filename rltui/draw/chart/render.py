"""Charts as lines of styled cells.

:func:`render` draws a :class:`~rltui.draw.chart.chart_model.Chart` into exactly the given cells,
whatever the data; :func:`reading_at` returns the values under a crosshair.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rltui.draw.chart.axis import Scale
from rltui.draw.chart.canvas import Canvas, Plot, Span
from rltui.draw.chart.chart_model import Bar, Chart, Curve, Limit, Mark, Overlay
from rltui.draw.chart.foot import (
    ROWS,
    axis_lines,
    draw_grounds,
    draw_overlays,
    draw_signs,
    foot_lines,
    has_strip,
    label_width,
    legend_height,
    legend_lines,
    strip_lines,
    wanted_rows,
)
from rltui.draw.chart.layers import (
    draw_below,
    draw_continuation,
    draw_crosshair,
    draw_curve,
    draw_ground,
    draw_marks,
    draw_onsets,
    draw_readout,
    draw_texts,
    newest_value,
)
from rltui.draw.chart.trace import Points, points, smooth
from rltui.draw.chart.y_range import (
    LOG_REFUSED,
    Prepared,
    Shown,
    curve_points,
    prepare,
    show,
    whole_run,
    x_window,
    y_scale,
)
from rltui.draw.glyph import GlyphSet
from rltui.draw.line import MUTED, RULE, STRONG, TEXT, Line, Style, Token, fit_line, style
from rltui.facts import numbers

__all__ = [
    "LOG_REFUSED", "Bar", "Chart", "Curve", "Limit", "Mark", "Overlay", "Reading",
    "reading_at", "render", "smooth",
]  # fmt: skip

#: Rows and columns reserved for the plot before axes, bars and values get any.
_MIN_ROWS, _MIN_COLUMNS = 3, 10
#: Cells of the y labels and of the value in the right margin, at least: charts do not jitter.
_LABELS, _MARGIN = 4, 7
#: Cells of the y labels where one can zoom: any value fits.
_ZOOMED_LABELS = 7


@dataclass(frozen=True, slots=True)
class Reading:
    """The values at a place on the x axis (the newest point at or before it)."""

    x: float
    value: float
    before: float | None
    smoothed: float | None
    """None when nothing is smoothed."""
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class _Frame:
    """How the cells of a chart are shared out."""

    left: int
    """Cells of labels and axis line."""
    margin: int
    plot_width: int
    plot_height: int
    axis_rows: int
    foot_rows: int


def render(chart: Chart, width: int, height: int, glyphs: GlyphSet) -> list[Line]:
    """The chart in exactly ``height`` lines of ``width`` cells."""
    if width <= 0 or height <= 0:
        return [[] for _ in range(max(0, height))]
    ready = prepare(chart)
    window = x_window(chart, ready)
    named = legend_height(chart, width, height, glyphs)
    strip = ROWS if has_strip(chart, height) else 0
    height -= named + strip
    frame, shown, scale, note = _layout(chart, ready, window, width, height, glyphs)
    canvas = Canvas(frame.plot_width, frame.plot_height)
    plot = Plot(canvas, scale, glyphs, *window)
    cross = chart.crosshair
    if cross is not None and not plot.holds(cross):
        cross = None
    draw_ground(plot, chart)
    draw_grounds(plot, shown)
    if chart.ahead is not None:
        draw_continuation(plot, chart.ahead)
    draw_below(plot, shown, outlined=not chart.ends)
    drawn = [*draw_overlays(plot, shown), draw_curve(plot, shown)]
    draw_signs(plot, drawn)
    draw_marks(plot, shown)
    if chart.ends:
        draw_onsets(plot, chart)
    if cross is not None:
        draw_crosshair(plot, cross)
    draw_texts(plot, chart, note or ("" if len(ready.raw.x) else "no points"))
    if cross is not None:
        draw_readout(plot, cross, _readout(chart, cross))
    span = Span(frame.left, frame.plot_width, width, *window, newest=_newest(chart, window))
    lines = _plot_lines(plot, frame, _margin(plot, shown) if frame.margin else (0, None))
    below: list[Line] = []
    if frame.axis_rows:
        label = None if cross is None else _x_text(chart, cross)
        below += axis_lines(chart, span, glyphs, cross, label)
    below += foot_lines(chart, span, glyphs, frame.foot_rows)
    below += [[(" " * width, TEXT)]] * (height - len(lines) - len(below))
    below = below[: max(0, height - len(lines))]
    if strip:
        below += strip_lines(chart, ready.raw, whole_run(chart, ready), span, glyphs)
    below = [fit_line(line, width, ellipsis=glyphs.ellipsis) for line in below]

    return [*legend_lines(chart, frame.left, width, named, glyphs), *lines[:height], *below]


def _newest(chart: Chart, window: tuple[float, float]) -> float | None:
    """The newest x of the run, when the window reaches beyond it."""
    return chart.last if chart.last is not None and chart.last < window[1] else None


def _layout(
    chart: Chart,
    ready: Prepared,
    window: tuple[float, float],
    width: int,
    height: int,
    glyphs: GlyphSet,
) -> tuple[_Frame, Shown, Scale, str]:
    """The frame, the curve decimated to it, and the y axis."""
    axis_rows = 2 if chart.x_axis and height >= _MIN_ROWS + 2 and width >= _MIN_COLUMNS else 0
    room = height - axis_rows
    labels = _label_width(chart, whole_run(chart, ready), width, room, glyphs)
    rough = Span(labels + 1, max(1, width - labels - 1 - _MARGIN), width, *window)
    foot = max(0, min(room // 3, wanted_rows(chart, rough), room - _MIN_ROWS))
    rows = room - foot
    margin = chart.margin_width
    if margin is None:
        margin = _margin_width(chart, ready.raw, window)
    # the y range needs the curve in dot columns, the number of columns needs the labels
    guess = max(1, width - labels - 1 - margin)
    shown = show(ready, window, 2 * guess)
    scale, note = y_scale(chart, shown, window, rows)
    if chart.label_width is None:
        labels = max(labels, max((len(text) for _, text in scale.ticks), default=0))
    left = labels + 1
    if width - left - margin < _MIN_COLUMNS:
        margin = 0
    if width - left < _MIN_COLUMNS:
        left = 1 if width >= _MIN_COLUMNS else 0
    columns = width - left - margin
    if columns != guess:
        shown = show(ready, window, 2 * columns)

    return _Frame(left, margin, columns, rows, axis_rows, foot), shown, scale, note


def _label_width(
    chart: Chart, whole: tuple[float, float], width: int, rows: int, glyphs: GlyphSet
) -> int:
    """Cells of the y labels, before those are known."""
    if chart.label_width is not None:
        return chart.label_width
    least = _ZOOMED_LABELS if chart.overview else _LABELS
    if not chart.bar_names or min(rows // 3, rows - _MIN_ROWS) <= 0:
        return least
    return label_width(chart, whole, width, glyphs, least=least, margin=_MARGIN)


def _margin_width(chart: Chart, raw: Points, window: tuple[float, float]) -> int:
    """Cells for the newest value, if it is in view. A chart that one can zoom always has them, also
    for the words of its strip: its columns stay."""
    if chart.newest and len(raw.x) and (chart.overview or raw.x[-1] <= window[1]):
        return max(_MARGIN, 1 + len(numbers.value(float(raw.y[-1]))))
    return _MARGIN if chart.overview else 0


def _margin(plot: Plot, shown: Shown) -> tuple[int, tuple[str, Style] | None]:
    """The newest value, and the row at its height."""
    found = newest_value(shown, plot.x1)
    if found is None:
        return 0, None
    value, look = found
    bottom = plot.canvas.height - 1
    row = plot.row(value) if math.isfinite(value) else bottom
    if row is None:
        row = 0 if value > plot.scale.low and not plot.scale.log else bottom
    size = 0.0 if plot.scale.log else abs(plot.scale.high) + abs(plot.scale.low)

    return row, (plot.glyphs.text(numbers.value(numbers.on_scale(value, size))), look)


def _plot_lines(
    plot: Plot, frame: _Frame, newest: tuple[int, tuple[str, Style] | None]
) -> list[Line]:
    """The lines of the plot: label, axis, cells, the newest value in its row."""
    glyphs, labels = plot.glyphs, dict(plot.scale.ticks)
    row, value = newest
    lines = []
    for y, cells in enumerate(plot.canvas.rows()):
        line: Line = []
        if frame.left:
            label = labels.get(frame.plot_height - 1 - y)
            text = glyphs.text(label or "")[: frame.left - 1].rjust(frame.left - 1)
            if text:
                line.append((text, MUTED))
            ticked = label is not None and frame.axis_rows > 0
            line.append((glyphs.tick_left if ticked else glyphs.vertical, RULE))
        line += cells
        if frame.margin:
            right: Line = []
            if value is not None and y == row:
                text, look = value
                right = [(glyphs.newest, STRONG), (text[: frame.margin - 1], look)]
            line += fit_line(right, frame.margin, ellipsis=glyphs.ellipsis)
        lines.append(line)

    return lines


def reading_at(chart: Chart, x: float) -> Reading | None:
    """The values at ``x``; None before the first point."""
    curve, raw = chart.curve, curve_points(chart.curve)
    at = int(np.searchsorted(raw.x, x, side="right")) - 1
    if at < 0:
        return None
    smoothed = float(smooth(raw.y[: at + 1], chart.smooth)[-1]) if chart.smooth > 0 else None
    sides = []
    for side in (curve.low, curve.high):
        data = points(np.asarray(side[0]), np.asarray(side[1])) if side is not None else None
        i = int(np.searchsorted(data.x, x, side="right")) - 1 if data is not None else -1
        sides.append(float(data.y[i]) if data is not None and i >= 0 else None)
    before = float(raw.y[at - 1]) if at > 0 else None

    return Reading(float(raw.x[at]), float(raw.y[at]), before, smoothed, *sides)


def _x_text(chart: Chart, x: float) -> str:
    if chart.x_kind == "time":
        return numbers.duration(x, tenths=True)
    if chart.x_kind == "clock":
        return numbers.clock(x)
    # a crosshair names its step exactly, also beyond a million
    return f"{x:,.0f}" if x == round(x) and abs(x) < 1e15 else numbers.value(x)


def _readout(chart: Chart, x: float) -> Sequence[Line]:
    """The lines of the readout box."""
    bold = style(Token.STRONG, bold=True)
    lines: list[Line] = [[(f"{chart.x_unit} {_x_text(chart, x)}".strip(), bold)]]
    found = reading_at(chart, x)
    if found is None:
        return lines
    lines.append([("value    ", MUTED), (numbers.value(found.value), bold)])
    if found.before is not None:
        lines[-1].append((f"  was {numbers.value(found.before)}", MUTED))
    if found.smoothed is not None:
        lines.append([("smoothed ", MUTED), (numbers.value(found.smoothed), STRONG)])
    if found.low is not None and found.high is not None:
        both = f"{numbers.value(found.low)} to {numbers.value(found.high)}"
        lines.append([("min, max ", MUTED), (both, STRONG)])

    return lines
