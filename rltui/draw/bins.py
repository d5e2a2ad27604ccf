"""The points of a series gathered in columns, extended by what is appended.

A series of a million points is read once; from then on a repaint reads the new points only.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rltui.core.block import FloatArray, IntArray

#: Above this many points the median is taken from a regular sample.
_MEDIAN_SAMPLE = 4096


class Digest:
    """Extremes and newest value of the points per column, of ``width`` columns.

    Column i begins at ``first + i * unit``; points outside of ``first`` to the ``last`` of
    :meth:`extend` are left out. NaN and infinities are no extremes.
    """

    def __init__(self, first: float, unit: float, width: int) -> None:
        self.first, self.unit, self.width = first, unit, width
        self.high: FloatArray = np.full(width, -np.inf)
        self.low: FloatArray = np.full(width, np.inf)
        self.newest: FloatArray = np.full(width, np.nan)
        """The last value of each column."""
        self.count: IntArray = np.zeros(width, dtype=np.int64)
        self.good: IntArray = np.zeros(width, dtype=np.int64)
        """Number of finite points per column."""
        self.middle = 0.0
        """Approximate median; changes rarely."""
        self._begin = 0
        self._taken = 0
        self._median_of = 0

    def extend(self, x: NDArray[np.generic], y: NDArray[np.generic], last: float) -> None:
        """Take in the new points up to ``last``. x (n,) non-decreasing and y (n,) must begin
        with the points of the previous call (see ``Series.epoch``)."""
        if not self._taken:
            self._begin = self._taken = int(np.searchsorted(x, self.first, side="left"))
        end = int(np.searchsorted(x, last, side="right"))
        if end <= self._taken:
            return
        part = slice(self._taken, end)
        self._gather(x[part], y[part].astype(np.float64))
        self._taken = end
        self._find_middle(y)

    def _gather(self, x: NDArray[np.generic], y: FloatArray) -> None:
        bounds = self._bounds(x)
        filled = np.flatnonzero(bounds[1:] > bounds[:-1])
        starts, ends = bounds[filled], bounds[filled + 1]
        finite = np.isfinite(y)
        self.newest[filled] = y[ends - 1]
        self.count[filled] += ends - starts
        if finite.all():
            self.good[filled] += ends - starts
            high, low = y, y
        else:
            self.good[filled] += np.add.reduceat(finite.astype(np.int64), starts)
            high, low = np.where(finite, y, -np.inf), np.where(finite, y, np.inf)
        self.high[filled] = np.maximum(self.high[filled], np.maximum.reduceat(high, starts))
        self.low[filled] = np.minimum(self.low[filled], np.minimum.reduceat(low, starts))

    def _bounds(self, x: NDArray[np.generic]) -> IntArray:
        """(width + 1,) index of the first point of each column; the last entry is the end."""
        starts = self.first + np.arange(self.width + 1) * self.unit
        if x.dtype.kind in "iu":
            starts = np.clip(np.ceil(starts - 1e-9), -9.2e18, 9.2e18).astype(np.int64)
        bounds = np.searchsorted(x, starts, side="left")
        bounds[0], bounds[-1] = 0, len(x)
        return np.maximum.accumulate(bounds)

    def _find_middle(self, y: NDArray[np.generic]) -> None:
        """The median of the first 4, 5, 6 or 7 times a power of two points."""
        many = self._taken - self._begin
        unit = max(1, 1 << max(0, int(math.log2(many)) - 2))
        many -= many % unit
        if many == self._median_of:
            return
        self._median_of = many
        stride = max(1, many // _MEDIAN_SAMPLE)
        sample = y[self._begin : self._begin + many : stride]
        sample = sample[np.isfinite(sample)]
        half = len(sample) // 2
        self.middle = float(np.partition(sample, half)[half]) if len(sample) else 0.0
