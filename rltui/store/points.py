"""Points as three parallel arrays, and arrays that grow at the end without being copied."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from rltui.core.block import BoolArray, FloatArray, IntArray, ValueArray

#: Steps, wall times and values (n,) each.
Points = tuple[IntArray, FloatArray, ValueArray]

#: Spare room of a growing array, as a fraction of its length, and at least this many points.
_SPARE = 8
_SPARE_LEAST = 16
#: Rows in which gaps show, gaps from which on values may come in a row, and how many times as long
#: as a gap, or as the values between gaps, is something else.
_LEAST_GAPS = 8
_AGAIN = 2
_LONGER = 3
#: Up to this many values are compared as bytes: numpy takes longer to begin.
_FEW = 64


def choose(points: Points, keep: BoolArray | IntArray | slice) -> Points:
    """The chosen points, by mask, index or slice."""
    return points[0][keep], points[1][keep], points[2][keep]


def copied(points: Points) -> Points:
    """The points in arrays of their own."""
    return points[0].copy(), points[1].copy(), points[2].copy()


def concatenate(parts: Sequence[Points]) -> Points:
    """Points one after the other; empty for no parts."""
    if not parts:
        return np.empty(0, np.int64), np.empty(0), np.empty(0, np.float32)
    if len(parts) == 1:
        return parts[0]
    steps, walls, values = zip(*parts, strict=True)
    return np.concatenate(steps), np.concatenate(walls), np.concatenate(values)


def is_sorted(steps: IntArray) -> bool:
    """Whether the steps (n,) never decrease."""
    return len(steps) < 2 or bool((steps[1:] >= steps[:-1]).all())


def distinct(steps: IntArray) -> IntArray:
    """(m,) each of ``steps`` (n,), which never decrease, once; the same array if none repeats."""
    new = steps[1:] != steps[:-1]
    return steps if new.all() else steps[np.concatenate(([True], new))]


def measured(values: ValueArray) -> BoolArray | None:
    """(n,) which values of a metric that is measured now and then were measured; None for a
    metric of which each row has a value.

    Gaps are NaN: at least as many rows as there are values between them, behind which there is a
    value again. What lasts for longer than gaps do, or comes after more values, is none.
    """
    nan = np.isnan(values)
    begins = np.flatnonzero(nan[1:] != nan[:-1]) + 1
    lengths = np.diff(begins, prepend=0, append=len(nan))
    first = int(nan[:1].any())
    own = lengths[first::2]
    gaps = lengths[first + 1 :: 2]
    before = own[:-1][: len(gaps)]
    gaps = gaps[: len(own) - 1]
    if not len(gaps) or before.sum() > gaps.sum() or before.sum() + gaps.sum() < _LEAST_GAPS:
        return None
    if len(gaps) < _AGAIN and before[0] > 1:
        return None

    kept = ~nan
    longest = _LONGER * int(gaps.max())
    if first and lengths[0] > longest:
        kept[: lengths[0]] = True
    if nan[-1] and (lengths[-1] > longest or own[-1] > _LONGER * before.max()):
        kept[-lengths[-1] :] = True
    return kept


def by_step(points: Points) -> Points:
    """The points sorted by step; equal steps stay in the order of the log."""
    if is_sorted(points[0]):
        return points
    return choose(points, np.argsort(points[0], kind="stable"))


def is_prefix(points: Points, of: Points) -> bool:
    """Whether ``of`` begins with ``points``: the same bits, in arrays of the same type."""
    n = len(points[0])
    return n <= len(of[0]) and all(same_bits(a, b[:n]) for a, b in zip(points, of, strict=True))


def same_bits(array: NDArray[np.generic], other: NDArray[np.generic]) -> bool:
    """Whether two arrays of one length have the same bits and the same type."""
    if array.dtype != other.dtype:
        return False
    if len(array) <= _FEW:
        return array.tobytes() == other.tobytes()
    bits = f"i{array.dtype.itemsize}"  # NaN equals itself, which saves two passes
    return np.array_equal(array.view(bits), other.view(bits))


class _Buffer:
    """A buffer with spare room, which several owners may share while they write the same."""

    def __init__(self, values: NDArray[np.generic]) -> None:
        self.values = values
        self.filled = len(values)

    def with_more(self, begin: int, new: NDArray[np.generic]) -> _Buffer:
        """A column with ``new`` from row ``begin`` on: this one, unless another owner has already
        written something else there."""
        there = self.values[begin : min(self.filled, begin + len(new))]
        if len(there) and not same_bits(there, new[: len(there)]):
            return _Buffer(self.values[:begin].copy()).with_more(begin, new)
        end = begin + len(new)
        column = self.values
        if end <= self.filled:
            return self
        dtype = np.promote_types(column.dtype, new.dtype)
        # a column that is a view of a block is not ours to write into
        if column.base is not None or dtype != column.dtype or end > len(column):
            self.values = np.empty(end + max(_SPARE_LEAST, end // _SPARE), dtype)
            self.values[: self.filled] = column[: self.filled]
        self.values[self.filled : end] = new[len(there) :]
        self.filled = end

        return self


class GrowingPoints:
    """Points that are only ever appended.

    :attr:`points` are views of buffers with spare room: what was handed out stays valid and
    unchanged while more is appended, and a point is copied a constant number of times.
    """

    def __init__(self, points: Points, others: Iterable[GrowingPoints] = ()) -> None:
        """``others``: points of which some may have the same steps and times, to share them."""
        self._length = n = len(points[0])
        self._columns = tuple(map(_Buffer, points))
        for other in others:
            axes = other._columns[:2]
            if all(
                n <= c.filled and same_bits(c.values[:n], own)
                for c, own in zip(axes, points, strict=False)
            ):
                self._columns = (*axes, self._columns[2])
                break

    def __deepcopy__(self, memo: object) -> GrowingPoints:
        """A copy that grows in a buffer of its own."""
        return GrowingPoints(self.points)

    @property
    def points(self) -> Points:
        """All points so far, as views."""
        steps, walls, values = (c.values[: self._length] for c in self._columns)
        return steps, walls, values  # type: ignore[return-value]

    @property
    def buffers(self) -> dict[int, int]:
        """Identity and bytes of each buffer, spare room included; others may share it."""
        return {id(c): c.values.nbytes for c in self._columns if c.values.base is None}

    def append(self, points: Points) -> None:
        """Add points at the end; values of a wider type widen the buffer."""
        pairs = zip(self._columns, points, strict=True)
        self._columns = tuple(column.with_more(self._length, new) for column, new in pairs)
        self._length += len(points[0])
