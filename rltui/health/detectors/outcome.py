"""Detects rewards and scores that rise for the wrong reason, or not at
all. Same contract as in ``levels``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from rltui.core.block import FloatArray
from rltui.core.medians import median
from rltui.health.detectors.extent import Window, extent
from rltui.health.detectors.registry import detector
from rltui.health.detectors.signal import HELD_OUT, Rows, Signal, constant
from rltui.health.detectors.windows import (
    last_run_start,
    rolling_count,
    rolling_median,
    start_median,
    usual_step,
)

#: Up to so many ranks the sum of their squares is exact in any order.
_EXACT = 100_000


def _may_be_tied_to_length(rows: Rows, given: Mapping[str, Any]) -> bool:
    length = rows.others.get("length")
    if length is None:
        return False
    low, high = float(length.min()), float(length.max())
    return not (low > 0 and low / high > given["shrunk"] and high / low < given["grown"])


@detector(
    roles=("length",),
    facts=("correlation", "share", "start", "gain"),
    higher=("grown", "correlation", "gain"),
    lower=("shrunk",),
    possible=_may_be_tied_to_length,
)
def tied_to_length(
    rows: Rows,
    *,
    correlation: float,
    shrunk: float = 0.0,
    grown: float = np.inf,
    gain: float = 0.5,
    least_rows: int = 15,
    early: int = 5,
    window: Window = 10,
    growth: float = 1.1,
) -> Signal:
    """A reward that rises with a length that changed a lot: to ``shrunk`` or ``grown`` times its
    start.

    Rank correlation of the rows until the length has covered nine tenths of its way, sign dropped,
    at least ``correlation``: what has arrived only scatters. The reward must have gained ``gain``
    of the range that its median covered. Evaluated each time the run has grown by the factor
    ``growth``; the answer holds until then.
    """
    x, n = rows.x, rows.count
    length = rows.others.get("length")
    tied, gained = constant(n, np.nan), constant(n, np.nan)
    if length is None:
        length = constant(n, np.nan)
    known = np.where(np.isfinite(length), length, 0.0)
    start = start_median(known, early)
    with np.errstate(invalid="ignore", divide="ignore"):
        length_median = rows.once_of(
            "length", ("known median", window), lambda: rolling_median(known, window)
        )
        part = np.where(start > 0, length_median / start, np.nan)
        moved = (part <= shrunk) | (part >= grown)
    look = least_rows
    while look <= n:
        following = max(look + 1, int(look * growth))
        if moved[look - 1 : following - 1].any():
            here = slice(look - 1, min(n, following - 1))
            end = _saturated(length_median[:look], start[look - 1], least_rows)
            tied[here] = rank_correlation(x[:end], known[:end])
            gained[here] = _gain(rows, look, early, extent(window).at(look))
        look = following
    with np.errstate(invalid="ignore"):
        beyond = moved & (np.abs(tied) >= correlation) & (gained >= gain)

    return Signal(
        certain=True,
        beyond=beyond,
        statistic=np.abs(tied),
        threshold=constant(n, correlation),
        name="rank correlation with the length, without sign",
        onset=last_run_start(moved, 1),
        window=window,
        facts={"correlation": tied, "share": part, "start": start, "gain": gained},
    )


def _saturated(middle: FloatArray, start: float, least: int) -> int:
    """Number of rows until the median has covered nine tenths of its way, ``least`` or more."""
    way = middle - start
    far = np.flatnonzero(np.abs(way) >= 0.9 * np.abs(way[-1]))
    return max(least, int(far[0]) + 1) if len(far) else len(middle)


def _gain(rows: Rows, look: int, early: int, late: int) -> float:
    """Late median minus early median of the first rows, as share of the range of the running
    median."""
    x = rows.x[:look]
    span = float(np.ptp(rows.median(early)[:look]))
    if span <= 0:
        return 0.0
    return (median(x[-late:]) - median(x[:early])) / span


def rank_correlation(a: FloatArray, b: FloatArray) -> float:
    """Spearman's rank correlation with ties; NaN when one of them is constant."""
    (ranks, spread), (other, other_spread) = (_ranks(v) for v in (a, b))
    spread *= other_spread
    if spread == 0:
        return float("nan")
    centred = (ranks - ranks.mean()) * (other - other.mean())
    return float(centred.mean()) / spread


def _ranks(x: FloatArray) -> tuple[FloatArray, float]:
    """The rank of each value, from 1 on, equal ones share theirs; and their standard deviation."""
    order = np.argsort(x)
    ordered, ranks = x[order], np.empty(len(x))
    if len(x) <= _EXACT and bool((ordered[1:] > ordered[:-1]).all()):
        ranks[order] = np.arange(1.0, len(x) + 1)
        return ranks, _spread_of_ranks(len(x))
    _, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks = np.asarray((last - 0.5 * (counts - 1))[inverse], dtype=np.float64)
    return ranks, float(ranks.std())


@lru_cache(maxsize=1024)
def _spread_of_ranks(count: int) -> float:
    """The standard deviation of the ranks 1 to ``count`` in any order: all sums are exact."""
    return float(np.arange(1.0, count + 1).std())


@detector(facts=("share",), higher=("share",))
def often_zero(rows: Rows, *, share: float, window: Window = 20, tiny: float = 1e-6) -> Signal:
    """At least ``share`` of the last ``window`` rows are zero (at most ``tiny``)."""
    n = rows.count
    zero = np.abs(rows.x) <= tiny
    part = rolling_count(zero, window) / np.minimum(np.arange(1, n + 1), extent(window).sizes(n))

    return Signal(
        beyond=part >= share,
        statistic=part,
        threshold=constant(n, share),
        name="share of zeros in the last rows",
        onset=last_run_start(rolling_count(zero, window) > 0, window),
        window=window,
        facts={"share": part},
    )


@detector(facts=("first", "best", "gained", "count"))
def stuck_score(
    rows: Rows, *, gain: float, ceiling: float = 0.95, least_rows: int = 6, zero_rows: int = 6
) -> Signal:
    """No evaluation of ``least_rows`` or more was ``gain`` better than the median of the first two.

    Scores whose best is at ``ceiling`` or above cannot improve further. One that has always been
    zero may not have begun: it needs ``zero_rows``.
    """
    n = rows.count
    first = start_median(rows.x, 2)
    best = np.maximum.accumulate(rows.x) if n else rows.x
    need = np.where(best > 0, least_rows, max(least_rows, zero_rows))
    beyond = (best - first < gain) & (best < ceiling) & (np.arange(1, n + 1) >= need)

    return Signal(
        certain=True,
        beyond=beyond,
        statistic=best - first,
        threshold=constant(n, gain),
        name="gain of the best evaluation over the first two",
        onset=np.minimum(np.arange(n), 1),
        facts={"first": first, "best": best, "gained": best - first,
               "count": np.arange(1, n + 1, dtype=np.float64)},
    )  # fmt: skip


@detector(facts=("best", "lost", "middle"), higher=("drop", "noise"))
def under_best(rows: Rows, *, drop: float, window: Window = 2, noise: float = 0.0) -> Signal:
    """The median of ``window`` rows lies ``drop`` below its best so far, and ``noise`` usual steps
    between neighbours, beside their trend."""
    n = rows.count
    middle = rows.median(window)
    best = np.maximum.accumulate(middle) if n else middle
    down = best - middle

    return Signal(
        worth=HELD_OUT,
        beyond=(down >= drop)
        & (down >= noise * rows.once("usual step", lambda: usual_step(rows.x))),
        statistic=best - middle,
        threshold=constant(n, drop),
        name="fall from the best",
        low=best - drop,
        onset=last_run_start(rows.x <= best - drop, window),
        window=window,
        facts={"best": best, "lost": best - middle, "middle": middle},
    )
