"""Points as three parallel arrays, and arrays that grow at the end without being copied."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rltui.core.block import BoolArray, FloatArray, IntArray, ValueArray

#: Steps, wall times and values (n,) each.
Points = tuple[IntArray, FloatArray, ValueArray]

#: Spare room of a growing array, as a fraction of its length, and at least this many points.
_SPARE, _SPARE_LEAST = 4, 64


def no_points() -> Points:
    """Empty arrays."""
    return np.empty(0, np.int64), np.empty(0), np.empty(0, np.float32)


def choose(points: Points, keep: BoolArray | IntArray | slice) -> Points:
    """The chosen points, by mask, index or slice."""
    return points[0][keep], points[1][keep], points[2][keep]


def copied(points: Points) -> Points:
    """The points in arrays of their own."""
    return points[0].copy(), points[1].copy(), points[2].copy()


def concatenate(parts: Sequence[Points]) -> Points:
    """Points one after the other; empty for no parts."""
    if not parts:
        return no_points()
    if len(parts) == 1:
        return parts[0]
    steps, walls, values = zip(*parts, strict=True)
    return np.concatenate(steps), np.concatenate(walls), np.concatenate(values)


def is_sorted(steps: IntArray) -> bool:
    """Whether the steps (n,) never decrease."""
    return len(steps) < 2 or bool((steps[1:] >= steps[:-1]).all())


def by_step(points: Points) -> Points:
    """The points sorted by step; equal steps stay in the order of the log."""
    if is_sorted(points[0]):
        return points
    return choose(points, np.argsort(points[0], kind="stable"))


def is_prefix(points: Points, of: Points) -> bool:
    """Whether ``of`` begins with ``points``: the same bits, in arrays of the same type."""
    n = len(points[0])
    return n <= len(of[0]) and all(_same_bits(a, b[:n]) for a, b in zip(points, of, strict=True))


def _same_bits(array: NDArray[np.generic], other: NDArray[np.generic]) -> bool:
    if array.dtype != other.dtype:
        return False
    bits = f"i{array.dtype.itemsize}"  # NaN equals itself, which saves two passes
    return np.array_equal(array.view(bits), other.view(bits))


class GrowingPoints:
    """Points that are only ever appended.

    :attr:`points` are views of a buffer with spare room: what was handed out stays valid and
    unchanged while more is appended, and a point is copied a constant number of times.
    """

    def __init__(self, points: Points) -> None:
        self._length = len(points[0])
        self._columns = points

    def __deepcopy__(self, memo: object) -> GrowingPoints:
        """A copy that grows in a buffer of its own."""
        return GrowingPoints(self.points)

    @property
    def points(self) -> Points:
        """All points so far, as views."""
        return choose(self._columns, slice(self._length))

    @property
    def nbytes(self) -> int:
        """Bytes of the buffer, spare room included."""
        return sum(c.nbytes for c in self._columns if c.base is None)

    def append(self, points: Points) -> None:
        """Add points at the end; values of a wider type widen the buffer."""
        end = self._length + len(points[0])
        columns = zip(self._columns, points, strict=True)
        self._columns = tuple(self._with_room(old, new, end) for old, new in columns)  # type: ignore[assignment]
        for column, new in zip(self._columns, points, strict=True):
            column[self._length : end] = new
        self._length = end

    def _with_room(
        self, column: NDArray[np.generic], new: NDArray[np.generic], length: int
    ) -> NDArray[np.generic]:
        dtype = np.promote_types(column.dtype, new.dtype)
        # a column that is a view of a block is not ours to write into
        if column.base is None and dtype == column.dtype and length <= len(column):
            return column
        grown = np.empty(length + max(_SPARE_LEAST, length // _SPARE), dtype)
        grown[: self._length] = column[: self._length]
        return grown
