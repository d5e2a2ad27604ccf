"""Points as three parallel arrays, and arrays that grow at the end without being copied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rltui.core.block import BoolArray, FloatArray, IntArray, ValueArray

#: Steps, wall times and values (n,) each.
Points = tuple[IntArray, FloatArray, ValueArray]
#: The same, or some of them.
Columns = Sequence[NDArray[Any]]

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


def is_prefix(points: Columns, of: Columns) -> bool:
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
