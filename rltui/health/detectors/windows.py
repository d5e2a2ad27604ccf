"""Robust statistics over the rows up to now: pure, vectorised, causal.

Row i of every result depends on rows up to i only, never on how many will follow: reading a
log at once and reading it row by row give the same numbers.
"""

from __future__ import annotations

from bisect import insort

import numpy as np

from rltui.core.block import BoolArray, FloatArray, IntArray
from rltui.health.detectors.extent import Extent, Window, extent

#: Cells of a window matrix that are sorted at one time; bounds the memory for long runs.
_CHUNK_CELLS = 1 << 20


def _windows(x: FloatArray, size: int) -> FloatArray:
    """The windows of ``size`` rows as a matrix (n - size + 1, size) on the same memory, not to be
    written (numpy's sliding_window_view takes 15 µs for its checks)."""
    x = np.ascontiguousarray(x)
    stride = x.strides[0]
    shape = (len(x) - size + 1, size)
    matrix: FloatArray = np.ndarray(shape, x.dtype, x, strides=(stride, stride))
    return matrix


def rolling_median(x: FloatArray, window: Window) -> FloatArray:
    """Median of the last ``window`` rows, at the beginning of those so far. (n,) -> (n,)."""
    n, size = len(x), extent(window)
    if size.most <= 1 or n == 0:
        return np.array(x, dtype=np.float64)
    if size.least == 3 == size.most:
        return _median_of_3(x)
    out = np.empty(n)
    full = min(n, size.full())
    fixed = size.least == size.most
    out[:full] = _growing_medians(x[:full]) if fixed else _partial_medians(x[:full], size)
    rows = max(1, _CHUNK_CELLS // size.most)
    if full < n:
        view = _windows(x[full - size.most + 1 :], size.most)
        for begin in range(0, len(view), rows):
            part = view[begin : begin + rows]
            out[full + begin : full + begin + len(part)] = _row_medians(part)
    return out


def _partial_medians(x: FloatArray, size: Extent) -> FloatArray:
    """Median of the last rows at each row, while their number still grows."""
    n = len(x)
    if not n:
        return x
    counts = np.minimum(size.sizes(n), np.arange(1, n + 1))
    width = int(counts.max())
    padded = np.concatenate([np.full(width - 1, np.inf), x])
    rows = max(1, _CHUNK_CELLS // width)
    out = np.empty(n)
    for begin in range(0, n, rows):
        count = counts[begin : begin + rows]
        view = _windows(padded[begin : begin + len(count) + width - 1], width)
        cells = np.where(np.arange(width) >= width - count[:, np.newaxis], view, np.inf)
        cells.sort(axis=1)
        own = np.arange(len(count))
        out[begin : begin + rows] = 0.5 * (cells[own, (count - 1) // 2] + cells[own, count // 2])
    return out


def median(x: FloatArray) -> float:
    """Median of a few finite values; np.median takes ten times as long. Not of none."""
    ordered = np.sort(x)
    middle = len(x) // 2
    if len(x) % 2:
        return float(ordered[middle])
    return 0.5 * float(ordered[middle - 1] + ordered[middle])


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


def _row_medians(view: FloatArray) -> FloatArray:
    """Medians of the rows of a matrix without NaN (np.median's search for NaN is expensive)."""
    width = view.shape[1]
    middle = width // 2
    places = (middle,) if width % 2 else (middle - 1, middle)
    parted: FloatArray = np.partition(view, places, axis=1)
    if len(places) == 1:
        return np.asarray(parted[:, middle])
    return np.asarray(0.5 * (parted[:, middle - 1] + parted[:, middle]))


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
    low, high = window // 4, window - 1 - window // 4
    rows = max(1, _CHUNK_CELLS // window)
    view = _windows(x, window)
    for begin in range(0, len(view), rows):
        part = np.partition(view[begin : begin + rows], (low, high), axis=1)
        at = window - 1 + begin
        out[at : at + len(part)] = part[:, high] - part[:, low]
    return out


def start_median(x: FloatArray, early: int) -> FloatArray:
    """Median of the first ``early`` rows, of those seen so far at the beginning."""
    out = np.empty(len(x))
    head = min(early, len(x))
    out[:head] = _growing_medians(x[:head])
    if len(x) > head:
        out[head:] = out[head - 1]
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
    n = len(x)
    if n == 0 or window <= 1:
        return np.array(x, dtype=np.float64)
    pad = np.full(window - 1, np.inf if least else -np.inf)
    view = _windows(np.concatenate([pad, x]), window)
    return np.asarray(view.min(axis=1) if least else view.max(axis=1), dtype=np.float64)


def usual_step(x: FloatArray) -> FloatArray:
    """Highest median step between neighbours so far, in 5 to 30 rows, beside their trend."""
    if len(x) < 2:
        return np.zeros(len(x))
    size, steps = Extent(30, 0.3, 5), np.diff(x)
    usual = rolling_median(np.abs(steps - rolling_median(steps, size)), size)
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
    if n == 0:
        return own
    # the next True at or after each row, taken at the beginning of the window
    following = np.where(flags, own, n)
    following = np.minimum.accumulate(following[::-1])[::-1]
    found = following[np.maximum(0, own - extent(window).sizes(n) + 1)]
    return np.where(found <= own, found, own)


def run_start(flags: BoolArray) -> IntArray:
    """Index of the first row of the run of True that each row belongs to; itself when False."""
    own = np.arange(len(flags))
    if not len(flags):
        return own
    begins = np.where(flags & ~np.concatenate([[False], flags[:-1]]), own, -1)
    return np.where(flags, np.maximum.accumulate(begins), own)


def last_run_start(flags: BoolArray, window: Window) -> IntArray:
    """Where the newest run of True began that reaches into the last ``window`` rows; the row
    itself when there is none."""
    own = np.arange(len(flags))
    if not len(flags):
        return own
    newest = np.maximum.accumulate(np.where(flags, own, -1))
    near = (newest >= 0) & (own - newest < extent(window).sizes(len(flags)))
    return np.where(near, run_start(flags)[np.maximum(newest, 0)], own)


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
