"""Numbers about the points of a metric."""

from __future__ import annotations

import numpy as np

from rltui.present.chart.outline import LONG
from rltui.present.kit import numbers
from rltui.present.screens.metric_chart import Zoom, smoothed_last
from rltui.present.screens.metric_rows import newest_of
from rltui.present.screens.run_cache import RunSeriesCache
from rltui.present.screens.view import View
from rltui.session import RunView
from rltui.store import Series
from rltui.store.series import mean_of

_MEDIANS: RunSeriesCache[tuple[int, float]] = RunSeriesCache()


def statistics(run: RunView, tag: str, view: View, zoom: Zoom) -> list[tuple[str, str, str]]:
    """(name, value, where) of the visible points, the most important first."""
    series = run.shown(tag)
    steps, values = series.steps, series.values
    if zoom.window is not None:
        inside = (steps >= zoom.window[0]) & (steps <= zoom.window[1])
        steps, values = steps[inside], values[inside]
    finite = np.isfinite(values)
    facts = [("newest", numbers.value(newest_of(series)), "")]
    if view.smooth:
        facts.append(("smoothed", numbers.value(smoothed_last(series, view.smooth)), ""))
    if finite.any():
        known, at = values[finite].astype(np.float64), steps[finite]
        median = _median(run, series) if zoom.window is None else float(np.median(known))
        low, high = int(known.argmin()), int(known.argmax())
        facts += [
            ("mean", numbers.value(mean_of(known)), ""),
            ("median", numbers.value(median), ""),
            ("min", numbers.value(known[low]), f"at step {numbers.step(int(at[low]))}"),
            ("max", numbers.value(known[high]), f"at step {numbers.step(int(at[high]))}"),
            ("start", numbers.value(known[0]), ""),
        ]
    nonfinite = int(values.size - np.count_nonzero(finite))
    nan = f"{numbers.step(nonfinite)} NaN or Inf" if nonfinite else "no NaN"
    facts.append(("points", numbers.step(values.size), nan))
    if len(series.old_steps):
        facts.append(("superseded", numbers.step(len(series.old_steps)), "by a restart"))
    return facts


def _median(run: RunView, series: Series) -> float:
    """The median; that of a long series is taken anew when it has grown by a hundredth."""

    def make(series: Series) -> tuple[int, float]:
        return series.count, float(np.median(series.finite()[1]))

    def extend(known: tuple[int, float], longer: Series) -> tuple[int, float]:
        return known if known[0] >= LONG and longer.count <= 1.01 * known[0] else make(longer)

    return _MEDIANS.of(run).get(series, make, extend=extend)[1]
