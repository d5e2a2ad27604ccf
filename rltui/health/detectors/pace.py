"""Detects slow steps and uneven load. Same contract as in ``levels``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from rltui.health.detectors.extent import Extent, Window, extent
from rltui.health.detectors.registry import detector
from rltui.health.detectors.signal import Rows, Signal, constant
from rltui.health.detectors.windows import last_run_start, rolling_median, start_median


def _may_be_above_best(rows: Rows, given: Mapping[str, Any]) -> bool:
    low, high = rows.extremes()
    return low <= 0 or high / low >= given["factor"]


@detector(
    roles=("length",), facts=("best", "factor", "growth", "middle"), possible=_may_be_above_best
)
def above_best(rows: Rows, *, factor: float, window: Window = 10) -> Signal:
    """The median of ``window`` rows is ``factor`` times the lowest median of twice as many rows.

    With a ``length``, longer answers may take proportionally longer.
    """
    n = rows.count
    middle = rows.median(window)
    size = extent(window)
    long = Extent(2 * size.most, 2 * size.share, 2 * size.least)
    usual = rows.median(long)
    settled = np.where(np.arange(n) >= size.least - 1, usual, np.inf)
    best = np.minimum.accumulate(settled) if n else middle
    growth = np.ones(n)
    length = rows.others.get("length")
    if length is not None and n:
        known = np.where(np.isfinite(length), length, 0.0)
        lengths, usual_lengths = (
            rows.once_of("length", ("known median", w), partial(rolling_median, known, w))
            for w in (window, long)
        )
        at_best = np.maximum.accumulate(np.where(settled <= best, np.arange(n), 0))
        base = usual_lengths[at_best]
        growth = np.where(base > 0, np.maximum(1.0, lengths / np.where(base > 0, base, 1.0)), 1.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        times = np.where(np.isfinite(best) & (best > 0), middle / (best * growth), np.nan)
        limit = factor * best * growth
    with np.errstate(invalid="ignore"):
        beyond = times >= factor

    return Signal(
        beyond=beyond,
        statistic=times,
        threshold=constant(n, factor),
        name="multiple of the best rolling median",
        high=np.where(np.isfinite(limit), limit, np.nan),
        onset=last_run_start(rows.x >= limit, window),
        window=window,
        facts={"best": best, "factor": times, "growth": growth, "middle": middle},
        notes=((growth > 1.005, ", though answers are {growth} times as long"),),
    )


@detector(
    roles=("total",), facts=("start", "share"), higher=("share", "rise", "headroom", "least_rise")
)
def share_grown(
    rows: Rows,
    *,
    share: float,
    rise: float,
    headroom: float = 1.0,
    least_rise: float = 0.0,
    window: Window = 10,
    early: int = 10,
) -> Signal:
    """The share of a ``total`` is ``share`` or more, and ``rise`` above its start.

    Or it has covered the share ``headroom`` of the way from its start to all of the total, and
    ``least_rise``: what begins at 0.7 cannot rise by 0.4. Medians of ``window`` rows; the start is
    the median of the first ``early`` rows.
    """
    n = rows.count
    total = rows.others.get("total", constant(n, np.nan))
    with np.errstate(invalid="ignore", divide="ignore"):
        part = np.where(total > 0, rows.x / total, 0.0)
    part = np.where(np.isfinite(part), np.minimum(part, 1.0), 0.0)
    middle, start = rolling_median(part, window), start_median(part, early)
    way = np.minimum(rise, np.maximum(least_rise, headroom * (1.0 - start)))
    limit = np.maximum(share, start + way)

    return Signal(
        beyond=middle >= limit,
        statistic=middle,
        threshold=limit,
        name="rolling median of the share",
        onset=last_run_start(part >= limit, window),
        window=window,
        facts={"start": start, "share": middle},
    )


@detector(roles=("other",), facts=("quotient",), higher=("high",))
def quotient(rows: Rows, *, high: float, window: Window = 10) -> Signal:
    """The median of ``window`` rows of the value divided by an ``other`` one is ``high``."""
    n = rows.count
    other = rows.others.get("other", constant(n, np.nan))
    with np.errstate(invalid="ignore", divide="ignore"):
        times = np.where(other > 0, rows.x / other, np.nan)
    times = np.where(np.isfinite(times), times, 0.0)
    middle = rolling_median(times, window)

    return Signal(
        beyond=middle >= high,
        statistic=middle,
        threshold=constant(n, high),
        name="rolling median of the quotient",
        onset=last_run_start(times >= high, window),
        window=window,
        facts={"quotient": middle},
    )
