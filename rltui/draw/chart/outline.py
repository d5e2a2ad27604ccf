"""The points of a long series that a picture needs, extended by what is appended.

Blocks of neighbouring points are reduced to their first, lowest, highest and last one: no spike
and no level is lost, and a curve of a million points is drawn from a few thousand. A block with
NaN or infinite values keeps all of its points. The mean of every block is kept beside them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rltui.core.block import FloatArray, IntArray

#: Shorter series are drawn from all of their points.
LONG = 16_384
#: Most blocks of a long series: beyond that neighbours are merged.
_BLOCKS = 4096
#: The same of a line among many: still more blocks than any chart has columns.
LONG_COARSE, COARSE = 2048, 512


class Outline:
    """Outline of one series.

    ``index`` (k,): indices of the kept points, ascending; ``centres`` and ``means`` (b,): index of
    the middle point of each block and the mean of its finite values, NaN where it has none.
    """

    def __init__(self, blocks: int = _BLOCKS) -> None:
        """``blocks``: at most that many."""
        self._most = blocks
        self.index: IntArray = np.zeros(0, dtype=np.int64)
        self.centres: IntArray = np.zeros(0, dtype=np.int64)
        self.means: FloatArray = np.zeros(0, dtype=np.float64)
        self._sums: FloatArray = np.zeros((2, 0), dtype=np.float64)
        """Sum and number of the finite values of the full blocks."""
        self._size = 4
        """Points of a block."""
        self._kept: IntArray = np.zeros(0, dtype=np.int64)
        """What is kept of the full blocks."""
        self._done = 0
        """Points of the full blocks."""

    def extend(self, y: NDArray[np.generic]) -> None:
        """Take in the new points. The values (n,) must begin with those of the previous call
        (see ``Series.epoch``)."""
        n = len(y)
        while n > self._most * self._size:
            self._size *= 2
            pairs = self._sums[:, : self._sums.shape[1] // 2 * 2]
            self._sums = pairs.reshape(2, -1, 2).sum(axis=2)
        if self._done % self._size:
            # blocks of the former size were closed: the last of them is open again
            self._done -= self._done % self._size
            self._kept = self._kept[self._kept < self._done]
        if len(self._kept) > 4 * self._most:
            self._kept = self._kept[_reduced(y, self._kept, self._kept // self._size)]
        full = n - n % self._size
        if full > self._done:
            fresh = np.arange(self._done, full)
            chosen = fresh[_reduced(y, fresh, fresh // self._size)]
            self._kept = np.concatenate([self._kept, chosen])
            self._sums = np.concatenate([self._sums, _sums(y[self._done : full], self._size)], 1)
            self._done = full
        self._take_means(y, n, full)
        self.index = np.concatenate([self._kept, np.arange(full, n)])

    def _take_means(self, y: NDArray[np.generic], n: int, full: int) -> None:
        """Means of the full blocks, and of what follows them."""
        sums, size = self._sums, self._size
        centres = np.arange(sums.shape[1]) * size + size // 2
        if n > full:
            sums = np.concatenate([sums, _sums(y[full:], n - full)], axis=1)
            centres = np.append(centres, (full + n) // 2)
        with np.errstate(invalid="ignore"):
            self.means = sums[0] / sums[1]
        self.centres = centres


def _sums(y: NDArray[np.generic], size: int) -> FloatArray:
    """(2, blocks) sum and number of the finite values of each ``size`` of ``y``."""
    values = y.astype(np.float64).reshape(-1, size)
    finite = np.isfinite(values)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.stack([np.where(finite, values, 0.0).sum(axis=1), finite.sum(axis=1)])


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
