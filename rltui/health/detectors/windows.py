"""Robust statistics over the rows up to now: pure, vectorised, causal.

Row i of every result depends on rows up to i only, never on how many will follow: reading a
log at once and reading it row by row give the same numbers.
"""

from __future__ import annotations

from bisect import insort
from functools import lru_cache

from rltui.core.block import BoolArray, FloatArray, IntArray
from rltui.core.later import np
from rltui.core.medians import row_medians

#: Rows whose windows are sorted at a time; bounds the memory for long runs.
CHUNK_ROWS = 1 << 14
#: By how much a log grows before what is usual in it is measured anew.
_GROWTH = 1.3


def rolling_median(x: FloatArray, window: int) -> FloatArray:
    """Median of the last ``window`` rows, at the beginning of those so far. (n,) -> (n,)."""
    out = np.array(x, dtype=np.float64)
    head = min(window - 1, len(x))
    out[:head] = _growing_medians(out[:head])
    if len(x) >= window > 1:
        view = np.lib.stride_tricks.sliding_window_view(x, window)
        for begin in range(0, len(view), CHUNK_ROWS):
            part = view[begin : begin + CHUNK_ROWS]
            out[head + begin : head + begin + CHUNK_ROWS] = row_medians(part)
    return out


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


def steps_of(x: FloatArray) -> FloatArray:
    """(n,) how much each row is above the one before, the first one 0."""
    out = np.zeros(len(x))
    np.subtract(x[1:], x[:-1], out=out[1:])
    return out


@lru_cache(maxsize=64)
def looks(first: int, rows: int) -> tuple[tuple[int, int], ...]:
    """(look, next one): the numbers of rows at which something is evaluated that costs too much to
    do so at each row. From ``first`` on, each time the log has grown by three tenths; what is found
    at a look holds for the rows ``look - 1`` to ``next - 2``."""
    out = []
    look = first
    while look <= rows:
        following = max(look + 1, int(look * _GROWTH))
        out.append((look, following))
        look = following
    return tuple(out)


def start_median(x: FloatArray, early: int) -> FloatArray:
    """Median of the first ``early`` rows, of those seen so far at the beginning."""
    out = np.empty(len(x))
    head = min(early, len(x))
    out[:head] = _growing_medians(x[:head])
    out[head:] = out[head - 1] if head else np.nan
    return out


def newest_of(those: BoolArray) -> IntArray:
    """(n,) the newest of ``those`` rows so far; -1 for none."""
    rows = np.where(those, np.arange(len(those)), -1)
    return np.asarray(np.maximum.accumulate(rows))


def latched(trigger: BoolArray, value: FloatArray, level: FloatArray) -> tuple[BoolArray, IntArray]:
    """From each trigger on, True while ``value`` stays at or above ``level`` of that trigger.

    Returns the flags and, per row, the index of the trigger that holds it (itself when none).
    """
    out = trigger.copy()
    origin = np.arange(len(trigger))
    # those that are over at the next row hold nothing
    lasting = trigger[:-1] & ~(value[1:] < level[:-1])
    row = 0
    while row < len(lasting):
        row += int(lasting[row:].argmax())
        if not lasting[row]:
            break
        end = first_where(np.less, value, level[row], row + 1)
        out[row:end] = True
        origin[row:end] = row
        row = end

    return out, origin


def first_where(holds: np.ufunc, value: FloatArray, level: float, begin: int = 0) -> int:
    """Index of the first row from ``begin`` on for which this holds beside ``level``, or the number
    of rows. Searches ever larger stretches: episodes are short, runs may be long."""
    stretch = 64
    while begin < len(value):
        found = holds(value[begin : begin + stretch], level)
        first = int(found.argmax())
        if found[first]:
            return begin + first
        begin += stretch
        stretch *= 4
    return len(value)
