"""The visible part of the curves of a chart, and its y range."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rltui.draw.chart.axis import Scale, end_scale, linear_scale, log_scale
from rltui.draw.chart.chart_model import XY, Chart, Curve
from rltui.draw.chart.trace import (
    FAR,
    CurvePoints,
    DotColumns,
    averaged,
    decimate,
    is_crowded,
    points,
    smooth,
)

#: Zero joins the range when it is nearer than this share of the maximum.
_NEAR_ZERO = 0.35
#: A part below zero smaller than this share of the maximum is cut off.
_SLIVER = 0.03
#: Lowest and highest value, of x or y.
Window = tuple[float, float]
LOG_REFUSED = "linear: values ≤ 0"


class Prepared(NamedTuple):
    """All points of a curve, in order; the curve of a chart holds its overlays."""

    curve: Curve
    raw: CurvePoints
    line: CurvePoints
    """The points, smoothed as the chart says."""
    mean: CurvePoints
    """The points that are averaged where they are crowded: block means of a long series, or
    ``line``."""
    low: CurvePoints | None
    high: CurvePoints | None
    old: CurvePoints | None
    overlays: tuple[Prepared, ...] = ()
    envelope: tuple[CurvePoints, CurvePoints] | None = None


class Shown(NamedTuple):
    """A curve in the window, as dot columns; the curve of a chart holds its overlays. Those of a
    path are there for the y range."""

    curve: Curve
    raw: CurvePoints
    """All points, also outside of the window."""
    line: DotColumns
    """The upper line: smoothed, averaged where points are crowded, or raw."""
    low: DotColumns | None
    high: DotColumns | None
    under: DotColumns | None = None
    """The raw line below a smoothed or averaged one."""
    crowded: bool = False
    """Whether the points are so dense that the raw line is drawn as a tone."""
    old: DotColumns | None = None
    overlays: tuple[Shown, ...] = ()
    envelope: tuple[DotColumns, DotColumns] | None = None


def in_order(data: Prepared | Shown) -> CurvePoints:
    """All points in the order in which they came."""
    curve = data.curve
    return CurvePoints(np.asarray(curve.x), np.asarray(curve.y)) if curve.is_path else data.raw


def x_window(chart: Chart, ready: Prepared) -> Window:
    """The visible x range: the zoom window, else the whole run."""
    if chart.window is not None:
        x0, x1 = sorted(map(float, chart.window))
        if math.isfinite(x0) and math.isfinite(x1):
            return max(x0, -FAR), min(x1, FAR)
    return whole_run(chart, ready)


def whole_run(chart: Chart, ready: Prepared) -> Window:
    """The x range when nothing is enlarged: first to newest, from 0 if that is near."""
    every = [p.raw.x for p in (ready, *ready.overlays) if len(p.raw.x)]
    x0 = float(min((x[0] for x in every), default=0.0) if chart.first is None else chart.first)
    x1 = float(max((x[-1] for x in every), default=x0) if chart.last is None else chart.last)
    if not (math.isfinite(x0) and math.isfinite(x1)):
        return 0.0, 1.0

    if chart.end is not None and math.isfinite(chart.end):
        x1 = max(x1, float(chart.end))
    x0, x1 = max(min(x0, x1), -FAR), min(max(x0, x1), FAR)
    if chart.x_kind != "clock" and 0 < x0 <= 0.03 * (x1 - x0):
        x0 = 0.0
    return x0, x1


def prepare(chart: Chart) -> Prepared:
    """The points of everything in a chart, smoothed as it says."""
    low, high = map(_points, chart.envelope or (None, None))
    return _prepared(chart.curve, chart.smooth)._replace(
        overlays=tuple(_prepared(o, chart.smooth) for o in chart.overlays),
        envelope=(low, high) if low is not None and high is not None else None,
    )


def _prepared(curve: Curve, weight: float) -> Prepared:
    raw = points(np.asarray(curve.x), np.asarray(curve.y))
    line = raw if curve.is_path else CurvePoints(raw.x, smooth(raw.y, weight))
    ends = _points(curve.low), _points(curve.high)
    return Prepared(curve, raw, line, _points(curve.mean) or line, *ends, _points(curve.old))


def _points(data: XY | None) -> CurvePoints | None:
    return None if data is None or not len(data[0]) else points(*map(np.asarray, data))


def show(chart: Chart, ready: Prepared, window: Window, width: int) -> Shown:
    """The visible part of a chart in ``width`` dot columns."""

    def columns(data: CurvePoints | None) -> DotColumns | None:
        return None if data is None else decimate(data, *window, width)

    def calm(data: CurvePoints, mean: CurvePoints | None) -> DotColumns:
        """A line in the window; the average of ``mean`` where it would be a solid block."""
        line = decimate(data, *window, width)
        if mean is None or not is_crowded(data, line, window, width):
            return line
        return averaged(mean, line, window, width, chart.restarts if data is ready.line else ())

    below = decimate(ready.raw, *window, width)
    crowded = is_crowded(ready.raw, below, window, width)
    above = None
    if chart.smooth > 0:
        above = calm(ready.line, ready.line)
    elif crowded:
        above = averaged(ready.mean, below, window, width, chart.restarts)

    envelope = None
    if ready.envelope is not None:
        low, high = ready.envelope
        envelope = decimate(low, *window, width), decimate(high, *window, width)
    return Shown(
        ready.curve,
        ready.raw,
        above or below,
        None if ready.low is None else calm(ready.low, ready.low),
        None if ready.high is None else calm(ready.high, ready.high),
        below if above else None,
        crowded,
        columns(ready.old),
        tuple(
            Shown(
                o.curve,
                o.raw,
                calm(o.line, None if o.curve.is_path else o.mean),
                columns(o.low),
                columns(o.high),
            )
            for o in ready.overlays
        ),
        envelope,
    )


def y_scale(chart: Chart, shown: Shown, window: Window, rows: int) -> tuple[Scale, str]:
    """The y axis of a plot, and a note about it (a refused logarithm) or ``""``."""
    # minimum and maximum of the family are no lines of it: from 0 to 1 at every step they would
    # flatten the line between them
    every = [shown.line, shown.under, shown.old, *(shown.envelope or ())]
    for other in shown.overlays:
        every += [other.line, other.low, other.high]
    parts = [c for c in every if c is not None and c.inside.any()]
    if not parts:
        return Scale(0.0, 1.0, rows) if chart.ends else linear_scale(0.0, 1.0, rows), ""

    low = min(float(c.low[c.inside].min()) for c in parts)
    high = max(float(c.high[c.inside].max()) for c in parts)
    if chart.clip:
        low, high = _quantiles(shown.raw, window) or (low, high)
    if chart.log and low > 0:
        low, high = _with_limits(chart, low, high)
        return log_scale(low, high, rows, ends=chart.ends), ""

    note = LOG_REFUSED if chart.log else ""
    low = max(low, -8e307)
    high = min(high, 8e307)
    if low == high:
        return _constant(chart, low, rows), note
    low, high = _with_limits(chart, *_around_zero(low, high))

    return (end_scale if chart.ends else linear_scale)(low, high, rows), note


def _around_zero(low: float, high: float) -> Window:
    """The range with zero included when it is near, and without a sliver beyond zero."""
    if 0 <= low < _NEAR_ZERO * high or 0 < -low < _SLIVER * high:
        return 0.0, high
    if 0 <= -high < -_NEAR_ZERO * low or 0 < high < -_SLIVER * low:
        return low, 0.0
    return low, high


def _quantiles(raw: CurvePoints, window: Window) -> Window | None:
    """The 1 and 99 % quantiles of the raw values in view."""
    begin = int(np.searchsorted(raw.x, window[0], side="left"))
    y = raw.y[begin : int(np.searchsorted(raw.x, window[1], side="right"))]
    values = y[np.isfinite(y)]
    if len(values) < 3:
        return None
    unit = 4.0 if np.abs(values).max() > 1e300 else 1.0  # keeps differences finite
    low, high = np.percentile(values / unit, [1, 99]) * unit
    return (float(low), float(high)) if low < high else None


def _with_limits(chart: Chart, low: float, high: float) -> Window:
    """Limits within one height of the data join the range, but none below zero where no value
    is."""
    height = min(high - low, 1e307)
    floor = low - height
    ceiling = high + height
    if low >= 0:
        floor = max(0.0, floor)
    if chart.log and low > 0:
        ratio = min(high / low, 1e6)
        floor = max(low / max(ratio, 1.5), math.ulp(0.0))
        ceiling = high * max(ratio, 1.5)
    near = [value for value in _limits(chart) if floor <= value <= ceiling]
    return min([low, *near]), max([high, *near])


def _limits(chart: Chart) -> list[float]:
    values = *(li.value for li in chart.limits if li.sought), *(chart.healthy or ())
    return [float(v) for v in values if v is not None and math.isfinite(v)]


def _constant(chart: Chart, value: float, rows: int) -> Scale:
    """The axis of a value that never changes: it lies in the middle, zero at the bottom."""
    if chart.ends:
        low = min(0.0, 2 * value)
        high = max(0.0, 2 * value)
        return end_scale(low, high if high > low else 1.0, rows, constant=value != 0)

    near = [v for v in _limits(chart) if v != 0]
    if value == 0:
        ends = [0.0, min(near, key=abs, default=1.0)]
    else:
        near = [v for v in near if abs(v - value) <= abs(value) and (v > 0 or value < 0)]
        ends = [0.0, 2 * value, *near]
    return linear_scale(min(ends), max(ends), rows)
