"""Points as three parallel arrays, and arrays that grow at the end without being copied."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from rltui.core.block import BoolArray, FloatArray, IntArray, ValueArray

#: Steps, wall times and values (n,) each.
Points = tuple[IntArray, FloatArray, ValueArray]

#: Spare room of a growing array, as a fraction of its length, and at least this many points.
_SPARE, _SPARE_LEAST = 8, 16
#: Up to this many values are compared as bytes: numpy takes longer to begin.
_FEW = 64


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


def cut(points: Points, step: int) -> tuple[Points, Points]:
    """The points before a step, and the others: pieces of the same arrays where the steps never
    decrease and a block holds them, else in arrays of their own."""
    steps = points[0]
    if not is_sorted(steps):
        before = steps < step
        return choose(points, before), choose(points, ~before)
    at = int(np.searchsorted(steps, step))
    pieces = choose(points, slice(at)), choose(points, slice(at, None))
    if steps.base is None:  # a piece would keep all of it
        return copied(pieces[0]), copied(pieces[1])
    return pieces


def is_sorted(steps: IntArray) -> bool:
    """Whether the steps (n,) never decrease."""
    return len(steps) < 2 or bool((steps[1:] >= steps[:-1]).all())


def distinct(steps: IntArray) -> IntArray:
    """(m,) each of ``steps`` (n,), which never decrease, once; the same array if none repeats."""
    new = steps[1:] != steps[:-1]
    return steps if new.all() else steps[np.concatenate(([True], new))]


def by_step(points: Points) -> Points:
    """The points sorted by step; equal steps stay in the order of the log."""
    if is_sorted(points[0]):
        return points
    return choose(points, np.argsort(points[0], kind="stable"))


def is_prefix(points: Points, of: Points) -> bool:
    """Whether ``of`` begins with ``points``: the same bits, in arrays of the same type."""
    n = len(points[0])
    return n <= len(of[0]) and all(_same_bits(a, b[:n]) for a, b in zip(points, of, strict=True))


def sharing_axes(points: Points, other: Points) -> Points:
    """The points with the steps and times of ``other`` if these are the same; does not compare
    pieces of blocks."""
    if len(points[0]) != len(other[0]):
        return points
    steps, walls = (_shared(a, b) for a, b in zip(points[:2], other[:2], strict=True))
    return steps, walls, points[2]  # type: ignore[return-value]


def _shared(array: NDArray[np.generic], other: NDArray[np.generic]) -> NDArray[np.generic]:
    if array.base is None:
        return other if _same_bits(array, other) else array
    same = array.__array_interface__["data"] == other.__array_interface__["data"]
    return other if same and array.strides == other.strides else array


def _same_bits(array: NDArray[np.generic], other: NDArray[np.generic]) -> bool:
    if array.dtype != other.dtype:
        return False
    if len(array) <= _FEW:
        return array.tobytes() == other.tobytes()
    bits = f"i{array.dtype.itemsize}"  # NaN equals itself, which saves two passes
    return np.array_equal(array.view(bits), other.view(bits))


class _Column:
    """A buffer with spare room, which several owners may share while they write the same."""

    def __init__(self, values: NDArray[np.generic]) -> None:
        self.values = values
        self.filled = len(values)

    def begins_with(self, values: NDArray[np.generic]) -> bool:
        """Whether these are its first values, to the bit."""
        n = len(values)
        return n <= self.filled and _same_bits(self.values[:n], values)

    def with_more(self, begin: int, new: NDArray[np.generic]) -> _Column:
        """A column with ``new`` from row ``begin`` on: this one, unless another owner has already
        written something else there."""
        there = self.values[begin : min(self.filled, begin + len(new))]
        if len(there) and not _same_bits(there, new[: len(there)]):
            return _Column(self.values[:begin].copy()).with_more(begin, new)
        end = begin + len(new)
        if end > self.filled:
            self.values = self._with_room(np.promote_types(self.values.dtype, new.dtype), end)
            self.values[self.filled : end] = new[len(there) :]
            self.filled = end
        return self

    def _with_room(self, dtype: np.dtype[np.generic], length: int) -> NDArray[np.generic]:
        # a column that is a view of a block is not ours to write into
        column = self.values
        if column.base is None and dtype == column.dtype and length <= len(column):
            return column
        grown = np.empty(length + max(_SPARE_LEAST, length // _SPARE), dtype)
        grown[: self.filled] = column[: self.filled]
        return grown


class GrowingPoints:
    """Points that are only ever appended.

    :attr:`points` are views of buffers with spare room: what was handed out stays valid and
    unchanged while more is appended, and a point is copied a constant number of times.
    """

    def __init__(self, points: Points, beside: Iterable[GrowingPoints] = ()) -> None:
        """``beside``: points of which some may have the same steps and times, to share them."""
        self._length = len(points[0])
        self._columns: tuple[_Column, _Column, _Column]
        steps, walls, values = (_Column(c) for c in points)
        for other in beside:
            its_steps, its_walls, _ = other._columns
            if its_steps.begins_with(points[0]) and its_walls.begins_with(points[1]):
                steps, walls = its_steps, its_walls
                break
        self._columns = steps, walls, values

    def __deepcopy__(self, memo: object) -> GrowingPoints:
        """A copy that grows in a buffer of its own."""
        return GrowingPoints(self.points)

    @property
    def points(self) -> Points:
        """All points so far, as views."""
        return choose(tuple(c.values for c in self._columns), slice(self._length))  # type: ignore[arg-type]

    @property
    def buffers(self) -> dict[int, int]:
        """Identity and bytes of each buffer, spare room included; others may share it."""
        return {id(c): c.values.nbytes for c in self._columns if c.values.base is None}

    def append(self, points: Points) -> None:
        """Add points at the end; values of a wider type widen the buffer."""
        steps, walls, values = (
            c.with_more(self._length, new) for c, new in zip(self._columns, points, strict=True)
        )
        self._columns = steps, walls, values
        self._length += len(points[0])
