"""Charts as lines of styled cells.

:func:`render` draws a :class:`~rltui.draw.chart.chart_model.Chart` into exactly the given cells,
whatever the data.
"""

from __future__ import annotations

import math

import numpy as np

from rltui.core.level import Level
from rltui.draw.chart import foot, layers, y_range
from rltui.draw.chart.axis import Scale
from rltui.draw.chart.canvas import Canvas, Plot, PlotSpan
from rltui.draw.chart.chart_model import Chart
from rltui.draw.chart.trace import CurvePoints, smooth
from rltui.draw.glyph import GlyphSet
from rltui.draw.line import (
    LEVEL_TOKEN,
    MUTED,
    RULE,
    STRONG,
    TEXT,
    TITLE,
    Block,
    Line,
    Token,
    fit_line,
    style,
)
from rltui.facts import numbers

#: Rows and columns reserved for the plot before axes, bars and values get any.
_MIN_ROWS = 3
_MIN_COLUMNS = 10
#: Cells of the y labels and of the value in the right margin, at least: charts do not jitter.
_LABELS = 4
_MARGIN = 7
#: Cells of the y labels where one can zoom: any value fits.
_ZOOMED_LABELS = 7


def render(chart: Chart, width: int, height: int, glyphs: GlyphSet) -> Block:
    """The chart in exactly ``height`` lines of ``width`` cells."""
    if width <= 0 or height <= 0:
        return [[] for _ in range(max(0, height))]
    ready = y_range.prepare(chart)
    named = foot.legend_height(chart, width, height, glyphs)
    strip = foot.STRIP_ROWS if foot.has_strip(chart, height) else 0
    height -= named + strip
    axis = 2 if chart.x_axis and height >= _MIN_ROWS + 2 and width >= _MIN_COLUMNS else 0
    span, rows, shown, scale, note = _layout(chart, ready, width, height - axis, glyphs)
    plot = Plot(Canvas(span.cells, rows), scale, glyphs, span)
    cross = chart.crosshair
    if cross is not None and not span.holds(cross):
        cross = None

    layers.draw_ground(plot, chart, shown)
    layers.draw_continuation(plot, chart.continuation)
    layers.draw_curves(plot, shown, chart.smooth, outlined=not chart.ends)
    layers.draw_marks(plot, shown)
    layers.draw_onsets(plot, chart)
    if cross is not None:
        layers.draw_crosshair(plot, chart, cross)
    layers.draw_texts(plot, chart, note or ("" if len(ready.raw.x) else "no points"))
    if cross is not None:
        layers.draw_readout(plot, cross, _readout(chart, ready, cross))

    lines = _plot_lines(plot, shown, ticked=axis > 0)[:height]
    below: Block = []
    if axis:
        label = None if cross is None else x_text(chart, cross)
        below += foot.axis_lines(chart, span, glyphs, cross, label)
    below += foot.foot_lines(chart, span, glyphs, height - axis - rows)
    below += [[(" " * width, TEXT)]] * (height - len(lines) - len(below))
    del below[height - len(lines) :]
    if strip:
        below += foot.strip_lines(chart, ready.raw, y_range.whole_run(chart, ready), span, glyphs)
    below = [fit_line(line, width) for line in below]

    return [*foot.legend_lines(chart, span.left, width, named, glyphs), *lines, *below]


def _layout(
    chart: Chart, ready: y_range.Prepared, width: int, room: int, glyphs: GlyphSet
) -> tuple[PlotSpan, int, y_range.Shown, Scale, str]:
    """Share out ``width`` x ``room`` cells: columns and rows of the plot, the curve decimated to
    these, the y axis, and a note about it."""
    window = y_range.x_window(chart, ready)
    labels = chart.label_width
    if labels is None:
        labels = _ZOOMED_LABELS if chart.overview else _LABELS
        if chart.bar_names and min(room // 3, room - _MIN_ROWS) > 0:
            whole = y_range.whole_run(chart, ready)
            labels = foot.label_width(chart, whole, width, glyphs, least=labels, margin=_MARGIN)
    rough = PlotSpan(labels + 1, max(1, width - labels - 1 - _MARGIN), width, *window)
    rows = room - max(0, min(room // 3, foot.wanted_rows(chart, rough), room - _MIN_ROWS))
    margin = _margin_width(chart, y_range.in_order(ready), window)

    # the y range needs the curve in dot columns, the number of columns needs the labels
    guess = max(1, width - labels - 1 - margin)
    shown = y_range.show(chart, ready, window, 2 * guess)
    scale, note = y_range.y_scale(chart, shown, window, rows)
    if chart.label_width is None:
        labels = max(labels, max((len(text) for _, text in scale.ticks), default=0))
    left = labels + 1
    if width - left - margin < _MIN_COLUMNS:
        margin = 0
    if width - left < _MIN_COLUMNS:
        left = 1 if width >= _MIN_COLUMNS else 0
    columns = width - left - margin
    if columns != guess:
        shown = y_range.show(chart, ready, window, 2 * columns)

    newest = chart.last if chart.last is not None and chart.last < window[1] else None
    return PlotSpan(left, columns, width, *window, newest), rows, shown, scale, note


def _margin_width(chart: Chart, raw: CurvePoints, window: tuple[float, float]) -> int:
    """Cells for the newest value, if it is in view. A chart with a strip always has them, so that
    zooming does not move its columns."""
    if chart.margin_width is not None:
        return chart.margin_width
    if chart.newest and len(raw.x) and (chart.overview or raw.x[-1] <= window[1]):
        return max(_MARGIN, 1 + len(numbers.value(float(raw.y[-1]))))
    return _MARGIN if chart.overview else 0


def _newest_value(plot: Plot, shown: y_range.Shown) -> tuple[int, Line]:
    """The row at the height of the newest value, and what to write there in the margin."""
    scale = plot.scale
    raw = y_range.in_order(shown)
    bottom = plot.canvas.height - 1
    if not len(raw.x) or raw.x[-1] > plot.span.x1:
        return 0, []
    x = float(raw.x[-1])
    value = float(raw.y[-1])
    row = plot.row(value) if math.isfinite(value) else bottom
    if row is None:
        row = 0 if value > scale.low and not scale.log else bottom

    place = len(raw.x) - 1 if shown.curve.is_path else x
    levels = (e[2] for e in shown.curve.levels if e[0] <= place and (e[1] is None or e[1] >= place))
    worst = max(levels, default=Level.UNKNOWN)
    token = LEVEL_TOKEN[worst] if worst >= Level.WATCH else Token.STRONG
    look = style(token if math.isfinite(value) else Token.BAD, bold=True)
    size = 0.0 if scale.log else abs(scale.high) + abs(scale.low)
    text = plot.glyphs.text(numbers.value(numbers.on_scale(value, size)))
    return row, [(plot.glyphs.newest, STRONG), (text, look)]


def _plot_lines(plot: Plot, shown: y_range.Shown, *, ticked: bool) -> Block:
    """The lines of the plot: label, axis, cells, in the margin the newest value at its height."""
    glyphs = plot.glyphs
    span = plot.span
    labels = dict(plot.scale.ticks)
    margin = span.width - span.left - span.cells
    row, newest = _newest_value(plot, shown) if margin else (0, [])
    newest = [(text[: margin - 1], look) for text, look in newest]
    lines = []
    for y, cells in enumerate(plot.canvas.rows()):
        line: Line = []
        if span.left:
            label = labels.get(plot.canvas.height - 1 - y)
            text = glyphs.text(label) if label else ""
            text = text[: span.left - 1].rjust(span.left - 1)
            if text:
                line.append((text, MUTED))
            tick = ticked and label is not None
            line.append((glyphs.tick_left if tick else glyphs.vertical, RULE))
        line += cells
        if margin:
            line += fit_line(newest, margin) if y == row else [(" " * margin, TEXT)]
        lines.append(line)

    return lines


def x_text(chart: Chart, x: float) -> str:
    """Label of a crosshair at ``x`` on the x axis."""
    if chart.x_kind == "time":
        return numbers.duration(x, tenths=True)
    if chart.x_kind == "clock":
        return numbers.clock(x)
    # a crosshair names its step exactly, also beyond a million
    return f"{x:,.0f}" if x == round(x) and abs(x) < 1e15 else numbers.value(x)


def _readout(chart: Chart, ready: y_range.Prepared, x: float) -> Block:
    """The lines of the readout box: the values at ``x``, of the newest point at or before it."""
    if chart.told:
        return []
    bold = TITLE
    raw = y_range.in_order(ready)
    lines: Block = [[(f"{chart.x_unit} {x_text(chart, x)}".strip(), bold)]]
    at, words = chart.point or (int(np.searchsorted(raw.x, x, side="right")) - 1, "")
    if words:
        lines.insert(0, [(words, bold)])
    if at < 0:
        return lines

    lines.append([("value    ", MUTED), (numbers.value(float(raw.y[at])), bold)])
    if at > 0:
        lines[-1].append((f"  was {numbers.value(float(raw.y[at - 1]))}", MUTED))
    if chart.smooth > 0:
        smoothed = float(smooth(raw.y[: at + 1], chart.smooth)[-1])
        lines.append([("smoothed ", MUTED), (numbers.value(smoothed), STRONG)])
    ends = []
    for side in (ready.low, ready.high):
        i = -1 if side is None else int(np.searchsorted(side.x, x, side="right")) - 1
        if side is not None and i >= 0:
            ends.append(numbers.value(float(side.y[i])))
    if len(ends) == 2:
        lines.append([("min, max ", MUTED), (" to ".join(ends), STRONG)])

    return lines
