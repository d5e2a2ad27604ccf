"""Robust statistics over the rows up to now: pure, vectorised, causal.

Row i of every result depends on rows up to i only, never on how many will follow: reading a
log at once and reading it row by row give the same numbers.
"""

from __future__ import annotations

from bisect import insort
from functools import lru_cache

import numpy as np

from rltui.core.block import BoolArray, FloatArray, IntArray
from rltui.health.detectors.extent import Extent, Window, extent
from rltui.health.detectors.rank import is_short, ranked, windows

#: Cells of a window matrix that are sorted at one time; bounds the memory for long runs.
_CHUNK_CELLS = 1 << 20


def rolling_median(x: FloatArray, window: Window) -> FloatArray:
    """Median of the last ``window`` rows, at the beginning of those so far. (n,) -> (n,)."""
    size = extent(window)
    n = len(x)
    if size.most <= 1 or n == 0:
        return np.array(x, dtype=np.float64)
    if size.least == 3 == size.most:
        return _median_of_3(x)
    full = min(n, size.full())
    if is_short(n - full, size.most):
        return _sorted_medians(x, size)
    out = np.empty(n)
    out[:full] = _sorted_medians(x[:full], size)
    middle = ((size.most - 1) // 2, size.most // 2)
    found = ranked(x[full - size.most + 1 :], size.most, middle[size.most % 2 :])
    out[full:] = found[0] if len(found) == 1 else 0.5 * (found[0] + found[1])

    return out


def _sorted_medians(x: FloatArray, size: Extent) -> FloatArray:
    """Median of the last rows at each row; each window is sorted."""
    n = len(x)
    if not n:
        return x
    width = min(size.most, n)
    padded = np.concatenate([np.full(width - 1, np.inf), x])
    rows = max(1, _CHUNK_CELLS // width)
    out = np.empty(n)
    for begin in range(0, n, rows):
        end = min(n, begin + rows)
        middle, absent = _growth(size, width, begin, end)
        cells = windows(padded[begin : end + width - 1], width).copy()
        if len(absent):
            cells[: len(absent)][absent] = np.inf
        cells.sort(axis=1)
        low, high = cells.ravel()[middle]
        out[begin:end] = 0.5 * (low + high)

    return out


@lru_cache(maxsize=32)
def _growth(size: Extent, width: int, begin: int, end: int) -> tuple[IntArray, BoolArray]:
    """For rows ``begin`` to ``end``: where their two middle values are in a matrix of ``width``
    sorted cells per row, (2, rows), and which cells are none of their window, (k, width): of the
    first rows only, up to the last one whose window is smaller than the rows that there are."""
    there = np.minimum(np.arange(begin + 1, end + 1), width)
    counts = np.minimum(size.sizes(end)[begin:], there)
    first = width * np.arange(len(counts))
    middle = np.stack([first + (counts - 1) // 2, first + counts // 2])
    smaller = np.flatnonzero(counts < there)
    grown = counts[: smaller[-1] + 1 if len(smaller) else 0]
    return middle, np.arange(width) < width - grown[:, np.newaxis]


def _growing_medians(x: FloatArray) -> list[float]:
    """Medians of the first 1, 2, ... rows of a few."""
    ordered: list[float] = []
    out = []
    for value in x.tolist():
        insort(ordered, value)
        middle = len(ordered) // 2
        odd = len(ordered) % 2
        out.append(ordered[middle] if odd else 0.5 * (ordered[middle - 1] + ordered[middle]))
    return out


@lru_cache(maxsize=64)
def looks(first: int, rows: int, growth: float) -> tuple[tuple[int, int], ...]:
    """(look, next one): the numbers of rows at which something is evaluated that costs too much to
    do so at each row. From ``first`` on, each time the log has grown by the factor ``growth``; what
    is found at a look holds for the rows ``look - 1`` to ``next - 2``."""
    out, look = [], first
    while look <= rows:
        following = max(look + 1, int(look * growth))
        out.append((look, following))
        look = following
    return tuple(out)


def _median_of_3(x: FloatArray) -> FloatArray:
    out = np.array(x, dtype=np.float64)
    if len(x) > 1:
        out[1] = 0.5 * (x[0] + x[1])
    if len(x) > 2:
        a, b, c = x[:-2], x[1:-1], x[2:]
        out[2:] = np.maximum(np.minimum(a, b), np.minimum(np.maximum(a, b), c))
    return out


def rolling_quartiles(x: FloatArray, window: Window) -> FloatArray:
    """Distance of the quartiles of the last ``window`` rows; NaN until there are that many."""
    out = np.empty(len(x))
    for begin, end, size in extent(window).pieces(len(x)):
        first = max(0, begin - size + 1)
        out[begin:end] = _fixed_quartiles(x[first:end], size)[begin - first :]
    return out


def _fixed_quartiles(x: FloatArray, window: int) -> FloatArray:
    out = np.full(len(x), np.nan)
    if window < 4 or len(x) < window:
        return out
    low, high = ranked(x, window, (window // 4, window - 1 - window // 4))
    out[window - 1 :] = high - low
    return out


def start_median(x: FloatArray, early: int) -> FloatArray:
    """Median of the first ``early`` rows, of those seen so far at the beginning."""
    out = np.empty(len(x))
    head = min(early, len(x))
    out[:head] = _growing_medians(x[:head])
    out[head:] = out[head - 1] if head else np.nan
    return out


def start_quartile(x: FloatArray, early: int) -> FloatArray:
    """Lower quartile of the first ``early`` rows, of those seen so far at the beginning."""
    out = np.empty(len(x))
    for row in range(min(early, len(x))):
        out[row:] = np.sort(x[: row + 1])[row // 4]
    return out


def rolling_extreme(x: FloatArray, window: Window, *, least: bool) -> FloatArray:
    """Lowest (``least``) or highest of the last ``window`` rows."""
    out = np.empty(len(x))
    for begin, end, size in extent(window).pieces(len(x)):
        first = max(0, begin - size + 1)
        out[begin:end] = _fixed_extreme(x[first:end], size, least=least)[begin - first :]
    return out


def _fixed_extreme(x: FloatArray, window: int, *, least: bool) -> FloatArray:
    pick = np.minimum if least else np.maximum
    out, size = np.array(x, dtype=np.float64), 1
    while size < min(window, len(x)):  # of the last ``size`` rows; twice as many by two of those
        more = min(size, window - size)
        out[more:] = pick(out[more:], out[:-more])
        size += more
    return out


def usual_step(x: FloatArray) -> FloatArray:
    """Highest median step between neighbours so far, in 5 to 30 rows, beside their trend."""
    if len(x) < 2:
        return np.zeros(len(x))
    size, steps = Extent(30, 0.3, 5), np.diff(x)
    usual = rolling_median(np.abs(steps - rolling_median(steps, size)), size).copy()
    usual[:3] = 0.0
    return np.concatenate([[0.0], np.maximum.accumulate(usual)])


def rolling_count(flags: BoolArray, window: Window) -> IntArray:
    """How many of the last ``window`` rows are True."""
    total = np.concatenate([[0], np.cumsum(flags)])
    n = len(flags)
    ends = np.arange(1, n + 1)
    begins = np.maximum(0, ends - extent(window).sizes(n))
    return np.asarray(total[ends] - total[begins], dtype=np.int64)


def first_true_within(flags: BoolArray, window: Window) -> IntArray:
    """Index of the first True among the last ``window`` rows; the row itself when none."""
    n = len(flags)
    own = np.arange(n)
    if not flags.any():
        return own
    # the next True at or after each row, taken at the beginning of the window
    following = np.where(flags, own, n)
    following = np.minimum.accumulate(following[::-1])[::-1]
    found = following[np.maximum(0, own - extent(window).sizes(n) + 1)]
    return np.where(found <= own, found, own)


def run_start(flags: BoolArray) -> IntArray:
    """Index of the first row of the run of True that each row belongs to; itself when False."""
    own = np.arange(len(flags))
    if not flags.any():
        return own
    begins = np.where(flags & ~np.concatenate([[False], flags[:-1]]), own, -1)
    return np.where(flags, np.maximum.accumulate(begins), own)


def last_run_start(flags: BoolArray, window: Window) -> IntArray:
    """Where the newest run of True began that reaches into the last ``window`` rows; the row
    itself when there is none."""
    own = np.arange(len(flags))
    if not flags.any():
        return own
    newest = np.maximum.accumulate(np.where(flags, own, -1))
    near = (newest >= 0) & (own - newest < extent(window).sizes(len(flags)))
    return np.where(near, run_start(flags)[np.maximum(newest, 0)], own)


def since_above(x: FloatArray, limit: FloatArray, flags: BoolArray, window: Window) -> IntArray:
    """For the first row of each run of True: where the newest run of rows at or above its ``limit``
    began, of those that reach into its ``window``; the row itself for all others."""
    out = np.arange(len(x))
    for row in np.flatnonzero(flags & ~np.concatenate([[False], flags[:-1]])):
        out[row] = last_run_start(x[: row + 1] >= limit[row], window)[-1]
    return out


def latched(trigger: BoolArray, value: FloatArray, level: FloatArray) -> tuple[BoolArray, IntArray]:
    """From each trigger on, True while ``value`` stays at or above ``level`` of that trigger.

    Returns the flags and, per row, the index of the trigger that holds it (itself when none).
    """
    out, origin = trigger.copy(), np.arange(len(trigger))
    starts = np.flatnonzero(trigger)
    position = 0
    while position < len(starts):
        row = int(starts[position])
        end = _first_below(value, level[row], row + 1)
        out[row:end] = True
        origin[row:end] = row
        position = int(np.searchsorted(starts, end))

    return out, origin


def _first_below(value: FloatArray, level: float, begin: int) -> int:
    """Index of the first row from ``begin`` on that is below, or the number of rows. Searches ever
    larger stretches: episodes are short, runs may be long."""
    stretch = 64
    while begin < len(value):
        found = np.flatnonzero(value[begin : begin + stretch] < level)
        if len(found):
            return begin + int(found[0])
        begin, stretch = begin + stretch, 4 * stretch
    return len(value)
