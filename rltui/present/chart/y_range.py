"""What a chart shows: the visible part of its curves, and its y range."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rltui.core.block import FloatArray
from rltui.present.chart.axis import Scale, end_scale, linear_scale, log_scale
from rltui.present.chart.chart_model import XY, Chart, Curve
from rltui.present.chart.trace import FAR, Columns, Points, decimate, points, smooth

#: Zero joins the range when it is nearer than this share of the maximum.
_NEAR_ZERO = 0.35
#: A part below zero smaller than this share of the maximum is cut off.
_SLIVER = 0.03
LOG_REFUSED = "log y needs values above 0"


@dataclass(frozen=True, slots=True)
class Prepared:
    """All points of one curve, in order."""

    curve: Curve
    raw: Points
    smoothed: Points | None
    low: Points | None
    high: Points | None
    old: Points | None


@dataclass(frozen=True, slots=True)
class Shown:
    """One curve in the window, as dot columns."""

    curve: Curve
    raw: Points
    """All points, also outside of the window."""
    line: Columns
    """The upper line: smoothed, or raw when nothing is smoothed."""
    under: Columns | None
    """The raw line below a smoothed one."""
    low: Columns | None
    high: Columns | None
    old: Columns | None


def x_window(chart: Chart, raw: Points) -> tuple[float, float]:
    """The visible x range: zoom window, else first to newest, from 0 if that is near."""
    if chart.window is not None:
        x0, x1 = sorted(map(float, chart.window))
        if math.isfinite(x0) and math.isfinite(x1):
            return max(x0, -FAR), min(x1, FAR)
    x0 = float(chart.first if chart.first is not None else raw.x[0] if len(raw.x) else 0.0)
    x1 = float(chart.last if chart.last is not None else raw.x[-1] if len(raw.x) else x0)
    if not (math.isfinite(x0) and math.isfinite(x1)):
        return 0.0, 1.0
    if chart.end is not None and math.isfinite(chart.end):
        x1 = max(x1, float(chart.end))
    x0, x1 = max(min(x0, x1), -FAR), min(max(x0, x1), FAR)
    if chart.x_kind != "clock" and 0 < x0 <= 0.03 * (x1 - x0):
        x0 = 0.0
    return x0, x1


def curve_points(curve: Curve) -> Points:
    """The points of a curve, in order."""
    return points(np.asarray(curve.x), np.asarray(curve.y))


def prepare(curve: Curve, weight: float) -> Prepared:
    """The points of a curve with everything that belongs to it, smoothed by ``weight``."""
    raw = curve_points(curve)

    def optional(data: XY | None) -> Points | None:
        if data is None or not len(data[0]):
            return None
        return points(np.asarray(data[0]), np.asarray(data[1]))

    return Prepared(
        curve=curve,
        raw=raw,
        smoothed=Points(raw.x, smooth(raw.y, weight)) if weight > 0 else None,
        low=optional(curve.low),
        high=optional(curve.high),
        old=optional(curve.old),
    )


def show(ready: Prepared, window: tuple[float, float], width: int) -> Shown:
    """The visible part of a curve in ``width`` dot columns."""

    def columns(data: Points | None) -> Columns | None:
        return None if data is None else decimate(data, *window, width)

    below = decimate(ready.raw, *window, width)
    above = columns(ready.smoothed)
    return Shown(
        curve=ready.curve,
        raw=ready.raw,
        line=above or below,
        under=below if above else None,
        low=columns(ready.low),
        high=columns(ready.high),
        old=columns(ready.old),
    )


def y_scale(chart: Chart, shown: Shown, rows: int) -> tuple[Scale, str]:
    """The y axis of a plot, and a note about it (a refused logarithm) or ``""``."""
    parts = _parts(shown)
    lows = [float(c.low[c.inside].min()) for c in parts if c.inside.any()]
    highs = [float(c.high[c.inside].max()) for c in parts if c.inside.any()]
    if not lows:
        empty = Scale(0.0, 1.0, rows) if chart.ends else linear_scale(0.0, 1.0, rows)
        return empty, ""
    low, high = min(lows), max(highs)
    if chart.clip:
        low, high = _quantiles(shown, chart) or (low, high)
    note = ""
    if chart.log and low > 0:
        low, high = _with_limits(chart, low, high)
        return log_scale(low, high, rows, ends=chart.ends), ""
    if chart.log:
        note = LOG_REFUSED
    low, high = max(low, -8e307), min(high, 8e307)
    if low == high:
        return _constant(chart, low, rows), note
    low, high = _with_limits(chart, *_around_zero(low, high))
    return (end_scale if chart.ends else linear_scale)(low, high, rows), note


def _parts(shown: Shown) -> list[Columns]:
    every = (shown.line, shown.under, shown.low, shown.high, shown.old)
    return [c for c in every if c is not None]


def _around_zero(low: float, high: float) -> tuple[float, float]:
    """The range with zero included when it is near, and without a sliver beyond zero."""
    if low >= 0:
        return (0.0, high) if low < _NEAR_ZERO * high else (low, high)
    if high <= 0:
        return (low, 0.0) if -high < -_NEAR_ZERO * low else (low, high)
    if -low < _SLIVER * high:
        return 0.0, high
    if high < -_SLIVER * low:
        return low, 0.0
    return low, high


def _with_limits(chart: Chart, low: float, high: float) -> tuple[float, float]:
    """Limits within one height of the data join the range."""
    height = min(high - low, 1e307)
    floor, ceiling = low - height, high + height
    if chart.log and low > 0:
        ratio = min(high / low, 1e6)
        floor, ceiling = max(low / max(ratio, 1.5), math.ulp(0.0)), high * max(ratio, 1.5)
    for value in _limits(chart):
        if floor <= value <= ceiling and math.isfinite(value):
            low, high = min(low, value), max(high, value)
    return low, high


def _limits(chart: Chart) -> list[float]:
    return [
        float(v)
        for v in (*(li.value for li in chart.limits), *(chart.healthy or ()))
        if v is not None
    ]


def _constant(chart: Chart, value: float, rows: int) -> Scale:
    """A value that never changes lies in the middle, zero at the bottom."""
    if chart.ends:
        low, high = min(0.0, 2 * value), max(0.0, 2 * value)
        return end_scale(low, high if high > low else 1.0, rows, constant=value != 0)
    near = [v for v in _limits(chart) if math.isfinite(v) and v != 0]
    if value == 0:
        reach = min(near, key=abs, default=1.0)
        return linear_scale(min(0.0, reach), max(0.0, reach), rows)
    near = [v for v in near if abs(v - value) <= abs(value)]
    low, high = min([0.0, 2 * value, *near]), max([0.0, 2 * value, *near])
    return linear_scale(low, high, rows)


def _quantiles(shown: Shown, chart: Chart) -> tuple[float, float] | None:
    """The 1 and 99 % quantiles of the raw values in view."""
    values = _finite_between(shown.raw, *x_window(chart, shown.raw))
    if len(values) < 3:
        return None
    low, high = np.percentile(values / 4, [1, 99]) * 4
    return (float(low), float(high)) if low < high else None


def _finite_between(data: Points, x0: float, x1: float) -> FloatArray:
    begin = int(np.searchsorted(data.x, x0, side="left"))
    end = int(np.searchsorted(data.x, x1, side="right"))
    y = data.y[begin:end]
    inside: FloatArray = y[np.isfinite(y)]
    return inside
