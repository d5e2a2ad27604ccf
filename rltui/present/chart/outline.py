"""The points of a long series that a picture needs, kept up to date by what is new.

Blocks of neighbouring points are reduced to their first, lowest, highest and last one: no spike
and no level is lost, and a curve of a million points is drawn from a few thousand. A block with
values that are no numbers keeps all of its points.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rltui.core.block import IntArray

#: Shorter series are drawn from all of their points.
LONG = 16_384
#: Blocks of a long series: more than this and neighbours are put together.
_BLOCKS = 4096
#: Points that are compared to see whether a series only grew.
_PROBES = 64


class Outline:
    """Of one series. ``index`` (k,) are the places of the kept points, ascending."""

    def __init__(self) -> None:
        self.index: IntArray = np.zeros(0, dtype=np.int64)
        self._size = 4
        """Points of a block."""
        self._kept: IntArray = np.zeros(0, dtype=np.int64)
        """What is kept of the full blocks."""
        self._done = 0
        """Points of the full blocks."""
        self._probes: tuple[IntArray, NDArray[np.generic], NDArray[np.generic]] | None = None

    def follows(self, x: NDArray[np.generic], y: NDArray[np.generic]) -> bool:
        """Whether these are the points so far, with others behind them."""
        if self._probes is None or self._done > len(x):
            return False
        at, steps, values = self._probes
        return bool(np.array_equal(x[at], steps) and np.array_equal(y[at], values, equal_nan=True))

    def extend(self, x: NDArray[np.generic], y: NDArray[np.generic]) -> None:
        """Take in the points that are new: x (n,), y (n,)."""
        n = len(y)
        while n > _BLOCKS * self._size:
            self._size *= 2
        if self._done % self._size:
            # blocks of the former size were closed: the last of them is open again
            self._done -= self._done % self._size
            self._kept = self._kept[self._kept < self._done]
        if len(self._kept) > 4 * _BLOCKS:
            self._kept = self._kept[_reduced(y, self._kept, self._kept // self._size)]
        full = n - n % self._size
        if full > self._done:
            fresh = np.arange(self._done, full)
            chosen = fresh[_reduced(y, fresh, fresh // self._size)]
            self._kept = np.concatenate([self._kept, chosen])
            self._done = full
        self.index = np.concatenate([self._kept, np.arange(full, n)])
        at = np.linspace(0, max(0, self._done - 1), min(self._done, _PROBES)).astype(np.int64)
        self._probes = (at, x[at], y[at])


def _reduced(y: NDArray[np.generic], places: IntArray, block: IntArray) -> IntArray:
    """Which of ``places`` (n,) to keep, as indices into it; ``block`` (n,) ascends."""
    values = y[places].astype(np.float64)
    starts = np.flatnonzero(np.append(True, block[1:] != block[:-1]))
    ends = np.append(starts[1:], len(places))
    number = np.repeat(np.arange(len(starts)), ends - starts)
    whole = np.isfinite(values)
    broken = np.logical_or.reduceat(~whole, starts)
    low, high = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
    lowest, highest = (
        _first_of(values == low[number], number),
        _first_of(values == high[number], number),
    )
    keep = broken[number]
    for places_kept in (starts, ends - 1, lowest, highest):
        keep[places_kept] = True
    return np.flatnonzero(keep)


def _first_of(hit: NDArray[np.bool_], number: IntArray) -> IntArray:
    """The first place of a hit in each block that has one."""
    at = np.flatnonzero(hit)
    if not len(at):
        return at
    blocks = number[at]
    first: IntArray = at[np.append(True, blocks[1:] != blocks[:-1])]
    return first
