"""Numbers about the points of a metric."""

from __future__ import annotations

import numpy as np

from rltui.core.medians import median
from rltui.draw.chart.trace import LONG
from rltui.draw.view import View
from rltui.facts import numbers
from rltui.facts.cache import RunSeriesCache, kept
from rltui.facts.metrics import Extent, extent_between, extent_of, newest_of
from rltui.pages.metric.metric_chart import Zoom, smoothed_last
from rltui.session import RunView
from rltui.store import Series

Facts = list[tuple[str, str, str]]

_MEDIANS: RunSeriesCache[tuple[int, float]] = RunSeriesCache()
#: Facts of one line, the most important first: it is cut where it does not fit.
_LINE = ("newest", "smoothed", "NaN or Inf", "max", "min", "median", "mean", "points", "start")


def statistics(run: RunView, tag: str, view: View, zoom: Zoom) -> Facts:
    """(name, value, where) of the visible points, for a table; kept until the run changes."""
    key = ("statistics", tag, view.smooth, zoom.window)
    return kept(run, key, lambda: _facts(run, run.shown(tag), view.smooth, zoom.window))


def statistics_in_line(run: RunView, tag: str, view: View, zoom: Zoom) -> list[tuple[str, str]]:
    """The same as (name, value), the most important first."""
    known = {}
    for name, value, where in statistics(run, tag, view, zoom):
        known[name] = value if name == "points" else f"{value} {where}".rstrip()
    return [(name, known[name]) for name in _LINE if name in known]


def _facts(
    run: RunView, series: Series, weight: float, window: tuple[float, float] | None
) -> Facts:
    facts = [("newest", numbers.value(newest_of(run, series)), "")]
    if weight:
        facts.append(("smoothed", numbers.value(smoothed_last(series, weight)), ""))
    if window is None:
        extent = extent_of(run, series)
        middle = _median(run, series) if extent.low else None
    else:
        extent, inside = extent_between(series, *window)
        values = series.values[inside]
        middle = median(values[np.isfinite(values)]) if extent.low else None
    facts += _of_extent(extent, middle, run.step_word)
    if series.old_count:
        facts.append(("superseded", numbers.step(series.old_count), "by a restart"))
    return facts


def _of_extent(extent: Extent, middle: float | None, step_word: str) -> Facts:
    facts = []
    if extent.low and extent.high:
        facts = [("mean", numbers.value(extent.mean), ""), ("median", numbers.value(middle), "")]
        for name, (step, value) in (("min", extent.low), ("max", extent.high)):
            facts.append((name, numbers.value(value), f"at {step_word} {numbers.step(step)}"))
        facts.append(("start", numbers.value(extent.start), ""))
    facts.append(("points", numbers.step(extent.points), "" if extent.nonfinite else "no NaN"))
    if extent.nonfinite:
        facts.append(("NaN or Inf", numbers.step(extent.nonfinite), ""))
    return facts


def _median(run: RunView, series: Series) -> float:
    """The median; that of a long series is taken anew when it has grown by a hundredth."""

    def make(series: Series) -> tuple[int, float]:
        return series.count, median(series.finite()[1])

    def extend(known: tuple[int, float], longer: Series) -> tuple[int, float]:
        return known if known[0] >= LONG and longer.count <= 1.01 * known[0] else make(longer)

    return _MEDIANS.of(run).get(series, make, extend=extend)[1]
