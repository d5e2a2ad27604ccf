"""Charts as lines of styled cells.

:func:`render` draws a :class:`~rltui.present.chart.chart_model.Chart` into exactly the given cells,
whatever the data; :func:`readings` returns the values under a crosshair.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rltui.present.chart.axis import Scale
from rltui.present.chart.chart_model import Bar, Chart, Crosshair, Curve, Limit, Mark
from rltui.present.chart.foot import Span, axis_lines, foot_lines, label_line, wanted_rows
from rltui.present.chart.layers import (
    Plot,
    draw_crosshair,
    draw_curves,
    draw_ground,
    draw_marks,
    draw_readout,
    draw_texts,
    newest_value,
)
from rltui.present.chart.plot_cells import Canvas
from rltui.present.chart.trace import Points, points, smooth
from rltui.present.chart.y_range import (
    LOG_REFUSED,
    Prepared,
    Shown,
    curve_points,
    prepare,
    show,
    x_window,
    y_scale,
)
from rltui.present.kit import numbers
from rltui.present.kit.glyph import GlyphSet
from rltui.present.kit.line import MUTED, RULE, STRONG, TEXT, Line, Style, Token, fit_line, style

__all__ = [
    "LOG_REFUSED", "Bar", "Chart", "Crosshair", "Curve", "Limit", "Mark", "Reading",
    "readings", "render", "smooth", "step_labels",
]  # fmt: skip

#: Rows and columns reserved for the plot before axes, bars and values get any.
_MIN_ROWS, _MIN_COLUMNS = 3, 10
#: Cells of the y labels and of the value in the right margin, at least: charts do not jitter.
_LABELS, _MARGIN = 4, 7


@dataclass(frozen=True, slots=True)
class Reading:
    """The values of one curve at a place on the x axis (the newest point at or before it)."""

    curve: Curve
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
    ready = [prepare(c, chart.smooth) for c in chart.curves]
    window = x_window(chart, [r.raw for r in ready])
    frame, shown, scale, note = _layout(chart, ready, window, width, height)
    canvas = Canvas(frame.plot_width, frame.plot_height)
    plot = Plot(canvas, scale, glyphs, *window)
    draw_ground(plot, chart)
    draw_curves(plot, shown)
    draw_marks(plot, shown)
    cross, lines = chart.crosshair, _readout(chart)
    seen = cross is not None and plot.holds(cross.x)
    if cross is not None and seen:
        draw_crosshair(plot, cross.x)
    draw_texts(plot, chart, note or ("" if any(len(r.raw.x) for r in ready) else "no points"))
    if cross is not None and seen and lines:
        draw_readout(plot, cross.x, lines)
    span = Span(frame.left, frame.plot_width, width, *window, newest=_newest(chart, window))
    margin = _margin(plot, shown) if frame.margin else {}
    lines = [_row(plot, scale, frame, margin.get(row), row) for row in range(frame.plot_height)]
    if frame.axis_rows:
        lines += axis_lines(chart, span, glyphs, _cross_label(chart, window))
    lines += foot_lines(chart, span, glyphs, frame.foot_rows)
    blank: Line = [(" " * width, TEXT)]
    lines += [blank] * (height - len(lines))
    return [fit_line(line, width, ellipsis=glyphs.ellipsis) for line in lines[:height]]


def _newest(chart: Chart, window: tuple[float, float]) -> float | None:
    """The newest x of the run, when the window reaches beyond it."""
    return chart.last if chart.last is not None and chart.last < window[1] else None


def _layout(
    chart: Chart, ready: list[Prepared], window: tuple[float, float], width: int, height: int
) -> tuple[_Frame, list[Shown], Scale, str]:
    """The frame, the curves decimated to it, and the y axis."""
    axis_rows = 2 if chart.x_axis and height >= _MIN_ROWS + 2 and width >= _MIN_COLUMNS else 0
    room = height - axis_rows
    limit = room // 3 if chart.foot_rows is None else chart.foot_rows
    rough = Span(0, max(1, width), max(1, width), *window)
    foot = max(0, min(limit, wanted_rows(chart, rough), room - _MIN_ROWS))
    rows = room - foot
    margin = chart.margin_width
    if margin is None:
        margin = _margin_width([r.raw for r in ready], window) if chart.newest else 0
    # the y range needs the curves in dot columns, the number of columns needs the labels
    expected = _LABELS if chart.label_width is None else chart.label_width
    guess = max(1, width - expected - 1 - margin)
    shown = [show(r, window, 2 * guess) for r in ready]
    scale, note = y_scale(chart, shown, rows)
    labels = max((len(text) for _, text in scale.ticks), default=0)
    labels = max(labels, _LABELS) if chart.label_width is None else chart.label_width
    left = labels + 1
    if width - left - margin < _MIN_COLUMNS:
        margin = 0
    if width - left < _MIN_COLUMNS:
        left = 1 if width >= _MIN_COLUMNS else 0
    columns = width - left - margin
    if columns != guess:
        shown = [show(r, window, 2 * columns) for r in ready]
    return _Frame(left, margin, columns, rows, axis_rows, foot), shown, scale, note


def _margin_width(raws: list[Points], window: tuple[float, float]) -> int:
    ends = [float(r.y[-1]) for r in raws if len(r.x) and r.x[-1] <= window[1]]
    return max((max(_MARGIN, 1 + len(numbers.value(v))) for v in ends), default=0)


def _margin(plot: Plot, shown: list[Shown]) -> dict[int, tuple[str, Style]]:
    """Row -> newest value at its height. With several curves the uppermost keeps its place."""
    out: dict[int, tuple[str, Style]] = {}
    for s in reversed(shown):
        found = None if s.curve.ghost else newest_value(s, plot.x1)
        if found is None:
            continue
        value, look = found
        bottom = plot.canvas.height - 1
        row = plot.row(value) if math.isfinite(value) else bottom
        if row is None:
            row = 0 if value > plot.scale.low and not plot.scale.log else bottom
        for place in (row, row - 1, row + 1):
            if place not in out and 0 <= place <= bottom:
                size = 0.0 if plot.scale.log else abs(plot.scale.high) + abs(plot.scale.low)
                text = numbers.value(numbers.on_scale(value, size))
                out[place] = (plot.glyphs.text(text), look)
                break
    return out


def _row(
    plot: Plot, scale: Scale, frame: _Frame, value: tuple[str, Style] | None, row: int
) -> Line:
    """One line of the plot: label, axis, cells, newest value."""
    glyphs = plot.glyphs
    line: Line = []
    if frame.left:
        label = dict(scale.ticks).get(frame.plot_height - 1 - row)
        cells = frame.left - 1
        text = glyphs.text(label or "")[:cells].rjust(cells)
        if text:
            line.append((text, MUTED))
        ticked = label is not None and frame.axis_rows > 0
        line.append((glyphs.tick_left if ticked else glyphs.vertical, RULE))
    line.extend(plot.canvas.row(row))
    if value is not None:
        text, look = value
        line.append((glyphs.newest, STRONG))
        line.append((text[: frame.margin - 1], look))
    return line


def step_labels(chart: Chart, width: int, glyphs: GlyphSet, *, left: int, margin: int = 0) -> Line:
    """The labels of the x axis alone, for below the last row of a grid.

    ``left`` cells are before the plot (labels and axis line), ``margin`` cells after it.
    """
    window = x_window(chart, [curve_points(c) for c in chart.curves])
    cells = max(1, width - left - margin)
    return label_line(chart, Span(left, cells, width, *window), glyphs)


def readings(chart: Chart, x: float) -> list[Reading]:
    """The values of every curve (except ghosts) at ``x``; curves without a point there are left
    out."""
    out: list[Reading] = []
    for curve in chart.curves:
        raw = curve_points(curve)
        at = int(np.searchsorted(raw.x, x, side="right")) - 1
        if curve.ghost or at < 0:
            continue
        smoothed = float(smooth(raw.y[: at + 1], chart.smooth)[-1]) if chart.smooth > 0 else None
        sides = []
        for side in (curve.low, curve.high):
            data = points(np.asarray(side[0]), np.asarray(side[1])) if side is not None else None
            i = int(np.searchsorted(data.x, x, side="right")) - 1 if data is not None else -1
            sides.append(float(data.y[i]) if data is not None and i >= 0 else None)
        before = float(raw.y[at - 1]) if at > 0 else None
        out.append(Reading(curve, float(raw.x[at]), float(raw.y[at]), before, smoothed, *sides))
    return out


def _cross_label(chart: Chart, window: tuple[float, float]) -> str | None:
    cross = chart.crosshair
    if cross is None or not window[0] <= cross.x <= window[1]:
        return None
    return _x_text(chart, cross.x)


def _x_text(chart: Chart, x: float) -> str:
    if chart.x_kind == "time":
        return numbers.duration(x, tenths=True)
    if chart.x_kind == "clock":
        return numbers.clock(x)
    # a crosshair names its step exactly, also beyond a million
    return f"{x:,.0f}" if x == round(x) and abs(x) < 1e15 else numbers.value(x)


def _readout(chart: Chart) -> Sequence[Line]:
    """The lines of the readout box."""
    cross = chart.crosshair
    if cross is None:
        return ()
    if cross.lines is not None:
        return cross.lines
    bold = style(Token.STRONG, bold=True)
    lines: list[Line] = [[(f"{chart.x_unit} {_x_text(chart, cross.x)}".strip(), bold)]]
    found = readings(chart, cross.x)
    if len(found) > 1:
        width = max(len(r.curve.label) for r in found)
        lines += [
            [(r.curve.label.ljust(width + 1), style(r.curve.token)), (numbers.value(r.value), bold)]
            for r in found
        ]
        return lines
    for r in found:
        first: Line = [("value    ", MUTED), (numbers.value(r.value), bold)]
        if r.before is not None:
            first.append((f"  was {numbers.value(r.before)}", MUTED))
        lines.append(first)
        if r.smoothed is not None:
            lines.append([("smoothed ", MUTED), (numbers.value(r.smoothed), STRONG)])
        if r.low is not None and r.high is not None:
            both = f"{numbers.value(r.low)} to {numbers.value(r.high)}"
            lines.append([("min, max ", MUTED), (both, STRONG)])
    return lines
