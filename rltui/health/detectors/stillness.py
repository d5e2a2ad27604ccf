"""Detectors of values that break off, stand still or sink. Same contract as in ``levels``."""

from __future__ import annotations

from functools import partial

import numpy as np

from rltui.core.block import BoolArray, FloatArray
from rltui.core.medians import median
from rltui.health.detectors.extent import Window, extent
from rltui.health.detectors.registry import detector
from rltui.health.detectors.signal import Rows, Signal, constant
from rltui.health.detectors.windows import (
    last_run_start,
    rolling_extreme,
    rolling_median,
    run_start,
)


@detector(all_rows=True, finite_is_quiet=True, facts=("count",))
def broke_off(rows: Rows, *, gaps: int = 2) -> Signal:
    """NaN or infinite after a finite value. Not judged once the value has come back from ``gaps``
    such stretches: it is not computed at every row."""
    wrong = ~np.isfinite(rows.x)
    n = rows.count
    seen = np.maximum.accumulate(~wrong) if n else ~wrong
    wrong &= seen
    back = ~wrong & np.concatenate([[False], wrong[:-1]]) if n else wrong

    return Signal(
        beyond=wrong & (np.cumsum(back) < gaps),
        certain=True,
        statistic=rows.x,
        threshold=constant(n, np.nan),
        name="non-finite values",
        facts={"count": np.cumsum(wrong).astype(np.float64)},
        silent=not seen.any(),
    )


@detector(facts=("top", "count"), higher=("least_rows",))
def never_above(rows: Rows, *, least_rows: int, limit: float = 0.0) -> Signal:
    """No row of ``least_rows`` or more was above ``limit``, sign dropped."""
    n = rows.count
    top = np.maximum.accumulate(np.abs(rows.x)) if n else rows.x
    count = np.arange(1, n + 1, dtype=np.float64)

    return Signal(
        beyond=(top <= limit) & (count >= least_rows),
        certain=True,
        statistic=np.where(top <= limit, count, np.nan),
        threshold=constant(n, least_rows),
        name="rows at or below the limit",
        onset=np.zeros(n, dtype=np.int64),
        facts={"top": top, "count": count},
    )


@detector(roles=("gradient",), facts=("count",), higher=("window",))
def unchanged(
    rows: Rows,
    *,
    window: int,
    width: float = 0.0,
    most: float = np.inf,
    gradient: float = 0.0,
    digits: int = 0,
) -> Signal:
    """The same value, to within ``width`` of its size, in ``window`` rows, and at most ``most``.

    With a ``gradient`` norm: only while that is at most ``gradient``. A value that is printed with
    few digits may be equal from row to row although weights change; with ``digits``, only one of
    at least this many significant digits counts.
    """
    n = rows.count
    high = rolling_extreme(rows.x, window, least=False)
    low = rolling_extreme(rows.x, window, least=True)
    still = (high - low <= width * np.abs(high)) & (high <= most)
    still[: window - 1] = False
    if digits > 0:
        still &= ~_is_rounded(rows.x, digits - 1)
    other = rows.others.get("gradient")
    if other is not None:
        size = np.where(np.isfinite(other), np.abs(other), np.inf)
        still &= rolling_extreme(size, window, least=False) <= gradient
    since = run_start(still)
    count = np.arange(n) - since + window
    return Signal(
        certain=True,
        beyond=still,
        statistic=np.where(still, count, np.nan),
        threshold=constant(n, window),
        name="rows of one value",
        onset=np.where(still, np.maximum(since - window + 1, 0), np.arange(n)),
        window=window,
        facts={"count": count.astype(np.float64)},
    )


def _is_rounded(x: FloatArray, digits: int) -> BoolArray:
    """Whether each value has at most ``digits`` significant digits, to within single precision."""
    with np.errstate(divide="ignore"):
        scale = 10.0 ** (digits - 1 - np.floor(np.log10(np.abs(x))))
    scaled = np.where(x != 0, x * np.where(x != 0, scale, 1.0), 0.0)
    return np.asarray(np.abs(scaled - np.round(scaled)) <= 1e-6 * np.abs(scaled))


@detector(facts=("usual", "middle", "share"), lower=("share",))
def under_usual(
    rows: Rows, *, share: float, window: Window = 10, usual: int = 20, noise: float = 3.0
) -> Signal:
    """The median of ``window`` rows is ``share`` of the usual, or less, and ``noise`` robust
    standard deviations of the rows so far below it.

    The usual is the upper quartile of the rows so far, once there are ``usual`` of them: the best
    ones are luck. Quartile and deviation are made anew each time the rows have grown by a tenth,
    but not at a row beyond the limit: a fall that lasts does not become usual. Not judged while
    nothing but zeros has been logged.
    """
    n = rows.count
    middle = rows.median(window)
    level, limit = _base(rows, middle, usual, share, noise)
    known = level > 0
    with np.errstate(invalid="ignore", divide="ignore"):
        part = np.where(known, middle / level, np.nan)
        beyond = middle <= limit
        raw = rows.x <= limit
    return Signal(
        beyond=beyond,
        statistic=part,
        threshold=constant(n, share),
        name="share of the upper quartile",
        low=limit,
        onset=last_run_start(raw, window),
        window=window,
        facts={"usual": np.where(known, level, np.nan), "middle": middle, "share": part},
        silent=not known.any(),
    )


def _base(
    rows: Rows, middle: FloatArray, least: int, share: float, noise: float
) -> tuple[FloatArray, FloatArray]:
    """Upper quartile of the rows so far, and the limit under it, each (n,); NaN until there are
    ``least`` rows, and the limit while the quartile is not above zero."""
    level, limit = np.full(rows.count, np.nan), np.full(rows.count, np.nan)
    look, usual, low = least, np.nan, np.nan
    while look <= rows.count:
        following, seen = max(look + 1, int(look * 1.1)), rows.x[:look]
        if not middle[look - 1] <= low:
            usual, spread = rows.once(("usual", look), partial(_usual, seen)).tolist()
            low = min(share * usual, usual - noise * spread) if usual > 0 else np.nan
        level[look - 1 : following - 1], limit[look - 1 : following - 1] = usual, low
        look = following

    return level, limit


def _usual(x: FloatArray) -> FloatArray:
    """Upper quartile and robust standard deviation."""
    return np.array([np.quantile(x, 0.75), 1.4826 * median(np.abs(x - median(x)))])


@detector(facts=("best", "middle", "share"), lower=("share",))
def lost_gain(
    rows: Rows, *, share: float, window: Window = 5, noise: float = 4.0, least_rows: int = 10
) -> Signal:
    """The median of ``window`` rows, once well above zero, is ``share`` of its best or less.

    Well above zero: its best is ``noise`` times the usual step between neighbours. From
    ``least_rows`` rows on.
    """
    n = rows.count
    middle = rows.median(window)
    settled = np.where(np.arange(n) >= extent(window).least - 1, middle, -np.inf)
    best = np.maximum.accumulate(settled) if n else middle
    step = np.zeros(n)
    if n > 1:
        step[1:] = rolling_median(np.abs(np.diff(rows.x)), 30)
    was = (best > 0) & (best >= noise * step) & (np.arange(n) >= least_rows - 1)
    was = np.maximum.accumulate(was) if n else was
    with np.errstate(invalid="ignore", divide="ignore"):
        part = np.where(best > 0, middle / best, np.nan)
        limit = np.where(best > 0, share * best, np.nan)
        beyond = was & (part <= share)
        raw = rows.x <= limit
    return Signal(
        beyond=beyond,
        statistic=part,
        threshold=constant(n, share),
        name="share of the best",
        low=np.where(was, limit, np.nan),
        onset=last_run_start(raw, window),
        window=window,
        facts={"best": np.where(best > 0, best, np.nan), "middle": middle, "share": part},
        silent=not (best > 0).any(),
    )
