"""What a chart shows: the visible part of its curves, and its y range."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rltui.core.block import FloatArray
from rltui.draw.chart.axis import Scale, end_scale, linear_scale, log_scale
from rltui.draw.chart.chart_model import XY, Chart, Curve, Overlay
from rltui.draw.chart.trace import (
    FAR,
    Columns,
    Points,
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
LOG_REFUSED = "log y needs values above 0"


@dataclass(frozen=True, slots=True)
class PreparedOverlay:
    """All points of an overlay, in order."""

    overlay: Overlay
    line: Points
    mean: Points
    """What the averaged line comes from: the means of a long series, or the points."""
    low: Points | None
    high: Points | None


@dataclass(frozen=True, slots=True)
class Prepared:
    """All points of a chart, in order."""

    curve: Curve
    raw: Points
    smoothed: Points | None
    mean: Points
    """What the averaged line comes from: the means of a long series, or the points."""
    low: Points | None
    high: Points | None
    old: Points | None
    restarts: Sequence[float]
    overlays: tuple[PreparedOverlay, ...] = ()
    envelope: tuple[Points, Points] | None = None


@dataclass(frozen=True, slots=True)
class ShownOverlay:
    """An overlay in the window, as dot columns."""

    overlay: Overlay
    line: Columns
    low: Columns | None
    high: Columns | None


@dataclass(frozen=True, slots=True)
class Shown:
    """The curves of a chart in the window, as dot columns."""

    curve: Curve
    raw: Points
    """All points, also outside of the window."""
    line: Columns
    """The upper line: smoothed, averaged where points are crowded, or raw."""
    under: Columns | None
    """The raw line below a smoothed one."""
    crowded: bool
    """Whether the points are so dense that the raw line is drawn as a tone."""
    low: Columns | None
    high: Columns | None
    old: Columns | None
    overlays: tuple[ShownOverlay, ...] = ()
    envelope: tuple[Columns, Columns] | None = None


def x_window(chart: Chart, ready: Prepared) -> tuple[float, float]:
    """The visible x range: the zoom window, else the whole run."""
    if chart.window is not None:
        x0, x1 = sorted(map(float, chart.window))
        if math.isfinite(x0) and math.isfinite(x1):
            return max(x0, -FAR), min(x1, FAR)
    return whole_run(chart, ready)


def whole_run(chart: Chart, ready: Prepared) -> tuple[float, float]:
    """The x range when nothing is enlarged: first to newest, from 0 if that is near."""
    every = [p.x for p in (ready.raw, *(o.line for o in ready.overlays)) if len(p.x)]
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


def curve_points(curve: Curve) -> Points:
    """The points of a curve, in order."""
    return points(np.asarray(curve.x), np.asarray(curve.y))


def prepare(chart: Chart) -> Prepared:
    """The points of everything in a chart, smoothed as it says."""
    curve, weight = chart.curve, chart.smooth
    raw = curve_points(curve)
    return Prepared(
        curve=curve,
        raw=raw,
        smoothed=_smoothed(raw, weight) if weight > 0 else None,
        mean=_points(curve.mean) or raw,
        low=_points(curve.low),
        high=_points(curve.high),
        old=_points(curve.old),
        restarts=chart.restarts,
        overlays=tuple(_prepared(o, weight) for o in chart.overlays),
        envelope=None if chart.envelope is None else _both(*chart.envelope),
    )


def _prepared(overlay: Overlay, weight: float) -> PreparedOverlay:
    line = _smoothed(points(overlay.x, overlay.y), weight)
    mean = _points(overlay.mean) or line
    return PreparedOverlay(overlay, line, mean, _points(overlay.low), _points(overlay.high))


def _points(data: XY | None) -> Points | None:
    return None if data is None or not len(data[0]) else points(*map(np.asarray, data))


def _both(low: XY, high: XY) -> tuple[Points, Points] | None:
    bottom, top = _points(low), _points(high)
    return None if bottom is None or top is None else (bottom, top)


def _smoothed(raw: Points, weight: float) -> Points:
    return Points(raw.x, smooth(raw.y, weight))


def show(ready: Prepared, window: tuple[float, float], width: int) -> Shown:
    """The visible part of a chart in ``width`` dot columns."""

    def columns(data: Points | None) -> Columns | None:
        return None if data is None else decimate(data, *window, width)

    ends = None
    if ready.envelope is not None:
        low, high = ready.envelope
        ends = decimate(low, *window, width), decimate(high, *window, width)
    below = decimate(ready.raw, *window, width)
    crowded = is_crowded(ready.raw, below, window, width)
    above = None
    if ready.smoothed is not None:
        above = _calm_line(ready.smoothed, ready.smoothed, window, width, ready.restarts)
    elif crowded:
        above = averaged(ready.mean, below, window, width, ready.restarts)
    return Shown(
        curve=ready.curve,
        raw=ready.raw,
        line=above or below,
        under=below if above else None,
        crowded=crowded,
        low=_end_line(ready.low, window, width),
        high=_end_line(ready.high, window, width),
        old=columns(ready.old),
        overlays=tuple(
            ShownOverlay(
                o.overlay,
                _calm_line(o.line, o.mean, window, width),
                columns(o.low),
                columns(o.high),
            )
            for o in ready.overlays
        ),
        envelope=ends,
    )


def _end_line(data: Points | None, window: tuple[float, float], width: int) -> Columns | None:
    return None if data is None else _calm_line(data, data, window, width)


def _calm_line(
    data: Points,
    mean: Points,
    window: tuple[float, float],
    width: int,
    restarts: Sequence[float] = (),
) -> Columns:
    """A line in the window, where it would be a block the average of ``mean``."""
    line = decimate(data, *window, width)
    crowded = is_crowded(data, line, window, width)
    return averaged(mean, line, window, width, restarts) if crowded else line


def y_scale(
    chart: Chart, shown: Shown, window: tuple[float, float], rows: int
) -> tuple[Scale, str]:
    """The y axis of a plot, and a note about it (a refused logarithm) or ``""``."""
    parts = _parts(shown)
    lows = [float(c.low[c.inside].min()) for c in parts if c.inside.any()]
    highs = [float(c.high[c.inside].max()) for c in parts if c.inside.any()]
    if not lows:
        empty = Scale(0.0, 1.0, rows) if chart.ends else linear_scale(0.0, 1.0, rows)
        return empty, ""
    low, high = min(lows), max(highs)
    if chart.clip:
        low, high = _quantiles(shown, window) or (low, high)
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
    """What the y range holds. A family may go from 0 to 1 at every step: its ends would flatten
    the line between them."""
    every = [shown.line, shown.under, shown.old, *(shown.envelope or ())]
    for other in shown.overlays:
        every += [other.line, other.low, other.high]
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
    """Limits within one height of the data join the range, but none below zero where no value
    is."""
    height = min(high - low, 1e307)
    floor, ceiling = low - height, high + height
    if low >= 0:
        floor = max(0.0, floor)
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
        for v in (*(li.value for li in chart.limits if li.sought), *(chart.healthy or ()))
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
    near = [v for v in near if abs(v - value) <= abs(value) and (v > 0 or value < 0)]
    low, high = min([0.0, 2 * value, *near]), max([0.0, 2 * value, *near])
    return linear_scale(low, high, rows)


def _quantiles(shown: Shown, window: tuple[float, float]) -> tuple[float, float] | None:
    """The 1 and 99 % quantiles of the raw values in view."""
    values = _finite_between(shown.raw, *window)
    if len(values) < 3:
        return None
    unit = 4.0 if np.abs(values).max() > 1e300 else 1.0  # keeps differences finite
    low, high = np.percentile(values / unit, [1, 99]) * unit
    return (float(low), float(high)) if low < high else None


def _finite_between(data: Points, x0: float, x1: float) -> FloatArray:
    begin = int(np.searchsorted(data.x, x0, side="left"))
    end = int(np.searchsorted(data.x, x1, side="right"))
    y = data.y[begin:end]
    inside: FloatArray = y[np.isfinite(y)]
    return inside
