"""Where a trend leads: the step at which a metric crosses its limit if it goes on like this.

A line of Theil and Sen through the newest part of the run, thinned to medians of a few blocks. It
is drawn out only where the trend is clear (nearly all pairs of blocks agree on the direction), and
not further than the run is long. The band comes from the slopes of the pairs, so it is wider where
the trend is less even.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rltui.core.block import FloatArray
from rltui.core.medians import median, row_medians
from rltui.health.limits import movement
from rltui.health.model import Judgement
from rltui.store import Series


class Projection(NamedTuple):
    """A limit that a metric is going to cross."""

    tag: str
    limit: float
    """In units of the tag as logged."""
    falling: bool
    earliest: int
    latest: int
    """Steps between which it crosses the limit."""


def project(series: Series, judgement: Judgement) -> Projection | None:
    """When ``series`` crosses a limit of its judgement; None without a clear trend to one.

    Reads the newest part of the series once: O(n).
    """
    if judgement.low is None and judgement.high is None:
        return None
    steps, values = series.finite()
    limits = movement().trend
    rows = max(limits.least_rows, int(limits.share * len(values)))
    if len(values) < rows + limits.least_rows // 2:
        return None
    x, y = _blocks(steps[-rows:].astype(np.float64), values[-rows:], limits.blocks)
    # the slopes of all pairs of points that differ in place
    first, second = np.triu_indices(len(x), 1)
    run = x[second] - x[first]
    apart = run > 0
    slopes = (y[second] - y[first])[apart] / run[apart]
    falling = bool(median(slopes) < 0) if len(slopes) else False
    limit = judgement.low if falling else judgement.high
    agreeing = np.count_nonzero(slopes < 0 if falling else slopes > 0)
    still = not len(slopes)  # the steps do not advance
    if still or limit is None or agreeing < limits.agreeing * len(slopes):
        return None
    left = limit - float(y[-1])
    if (left >= 0) if falling else (left <= 0):
        return None  # it is there already
    with np.errstate(divide="ignore"):
        ahead = left / np.quantile(slopes, (limits.band_low, limits.band_high))
    soonest = float(ahead.min())
    last = float(ahead.max())
    seen = float(steps[-1]) - float(steps[0])
    if not 0 < soonest <= last <= seen:
        return None
    at = float(x[-1])
    earliest = max(int(steps[-1]) + 1, round(at + soonest))

    return Projection(series.tag, limit, falling, earliest, max(earliest, round(at + last)))


def _blocks(x: FloatArray, y: FloatArray, most: int) -> tuple[FloatArray, FloatArray]:
    """Means of the places and medians of the values of at most ``most`` blocks, of which the
    first ones have one row more where they cannot all be as long."""
    parts = min(most, len(x))
    size, longer = divmod(len(x), parts)
    cut = longer * (size + 1)
    pairs = [(x[:cut].reshape(longer, size + 1), y[:cut].reshape(longer, size + 1))] * bool(longer)
    pairs.append((x[cut:].reshape(parts - longer, size), y[cut:].reshape(parts - longer, size)))
    places = np.concatenate([p.mean(axis=1) for p, _ in pairs])
    return places, np.concatenate([row_medians(v) for _, v in pairs])
