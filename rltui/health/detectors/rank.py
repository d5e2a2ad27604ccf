"""Order statistics of sliding windows, exact, without a branch per value.

The windows of a short series are sorted one by one, by numpy's vector instructions: a full sort
takes a sixth of the time of np.partition, which goes without them when asked for two ranks.

In a long series neighbouring windows share nearly all of their values, so they are sorted together:
the sorted window of 2k rows is the merge of the two sorted windows of k rows that it consists of,
for all rows at once. Merging is a fixed sequence of minima and maxima (Batcher's odd-even merge;
Knuth, The Art of Computer Programming 3, 5.3.4), which numpy applies to whole columns. The calls
cost more than they save where there are few windows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rltui.core.block import FloatArray

#: Rows that are sorted at a time: their columns fit into the cache of a core.
_CHUNK_ROWS = 4096
#: Fewer windows than this multiple of their size are sorted one by one, and so are longer ones,
#: whose columns would be too many.
_LEAST_SIZES, _MOST_SIZE = 100, 128
#: Cells of a window matrix that are sorted at one time; bounds the memory for long windows.
_CHUNK_CELLS = 1 << 20


def windows(x: FloatArray, size: int) -> FloatArray:
    """The windows of ``size`` rows as a matrix (n - size + 1, size) on the same memory, not to be
    written (numpy's sliding_window_view takes 15 µs for its checks)."""
    x = np.ascontiguousarray(x)
    stride = x.strides[0]
    shape = (len(x) - size + 1, size)
    matrix: FloatArray = np.ndarray(shape, x.dtype, x, strides=(stride, stride))
    return matrix


def is_short(count: int, size: int) -> bool:
    """Whether that many windows of ``size`` rows are sorted one by one."""
    return count < _LEAST_SIZES * size or size > _MOST_SIZE


def ranked(x: FloatArray, size: int, ranks: Sequence[int]) -> list[FloatArray]:
    """The values of some ranks (from 0, the smallest) in each window of ``size`` rows.

    (n,) -> one (n - size + 1,) per rank; n >= size. NaN counts as the largest value.
    """
    count = len(x) - size + 1
    x = np.asarray(x, dtype=np.float64)
    if is_short(count, size) or size < 2 or np.isnan(x).any():
        return _one_by_one(x, size, ranks)
    if count <= _CHUNK_ROWS:
        return _selected(x, size, ranks)
    out = [np.empty(count) for _ in ranks]
    for begin in range(0, count, _CHUNK_ROWS):
        parts = _selected(x[begin : begin + _CHUNK_ROWS + size - 1], size, ranks)
        for column, part in zip(out, parts, strict=True):
            column[begin : begin + len(part)] = part

    return out


def _one_by_one(x: FloatArray, size: int, ranks: Sequence[int]) -> list[FloatArray]:
    view = windows(x, size)
    out = [np.empty(len(view)) for _ in ranks]
    rows = max(1, _CHUNK_CELLS // size)
    for begin in range(0, len(view), rows):
        cells = view[begin : begin + rows].copy()
        cells.sort(axis=1)
        for column, rank in zip(out, ranks, strict=True):
            column[begin : begin + rows] = cells[:, rank]
    return out


def _selected(x: FloatArray, size: int, ranks: Sequence[int]) -> list[FloatArray]:
    """The last merge is not carried out: of it only some ranks are needed."""
    count, half = len(x) - size + 1, (size + 1) // 2
    known = {1: [x]}
    first = [c[:count] for c in _sorted(x, half, known)]
    second = [c[half : half + count] for c in _sorted(x, size - half, known)]
    return [_of_two(first, second, rank) for rank in ranks]


def _sorted(x: FloatArray, size: int, known: dict[int, list[FloatArray]]) -> list[FloatArray]:
    """``size`` columns (n - size + 1,): the smallest value of each window, the next, ..."""
    if size not in known:
        count, half = len(x) - size + 1, (size + 1) // 2
        first, second = _sorted(x, half, known), _sorted(x, size - half, known)
        known[size] = _merged([c[:count] for c in first], [c[half : half + count] for c in second])
    return known[size]


def _merged(a: list[FloatArray], b: list[FloatArray]) -> list[FloatArray]:
    """The columns of two sorted windows as those of one."""
    if not a or not b:
        return a or b
    if len(a) == len(b) == 1:
        return [np.minimum(a[0], b[0]), np.maximum(a[0], b[0])]
    odd, even = _merged(a[::2], b[::2]), _merged(a[1::2], b[1::2])
    out = [odd[0]]
    for one, other in zip(even, odd[1:], strict=False):
        out += [np.minimum(one, other), np.maximum(one, other)]
    return out + even[len(odd) - 1 :] + odd[len(even) + 1 :]


def _of_two(a: list[FloatArray], b: list[FloatArray], rank: int) -> FloatArray:
    """The value of a rank in the union of two sorted windows: of all ways to take rank + 1 values
    from their beginnings, the one with the smallest largest value."""
    out: FloatArray | None = None
    for of_a in range(max(0, rank + 1 - len(b)), min(len(a), rank + 1) + 1):
        of_b = rank + 1 - of_a
        if not of_a:
            largest = b[of_b - 1]
        elif not of_b:
            largest = a[of_a - 1]
        else:
            largest = np.maximum(a[of_a - 1], b[of_b - 1])
        out = largest if out is None else np.minimum(out, largest)
    assert out is not None

    return out
