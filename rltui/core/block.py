"""Blocks of values: what decoders return and the store keeps.

A block holds several logged rows with the same tags: one matrix of values instead of one Python
object per point. Where the tags of a row differ in step or time, a decoder returns blocks of a
single tag (m = 1) instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
ValueArray = NDArray[np.floating]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """n rows of m tags, in the order of the file.

    Invariants (checked by :func:`make_block`): ``steps`` and ``wall_times`` have n entries,
    ``values`` is (n, m), ``absent`` is None (nothing missing) or (n, m).
    A NaN in ``values`` was logged as NaN; a missing cell is marked in ``absent`` and its value
    is meaningless.
    """

    tags: tuple[str, ...]
    """The m tags, cleaned, no two equal."""
    steps: IntArray
    """(n,) int64, the x axis of the log."""
    wall_times: FloatArray
    """(n,) float64, seconds since the epoch; NaN where the log has none."""
    values: ValueArray
    """(n, m): float32 for event-file floats, float64 for doubles and text logs."""
    absent: BoolArray | None = None
    """(n, m) True where the row has no value for the tag; None when nothing is missing."""

    @property
    def points(self) -> int:
        """Number of values that are present."""
        total = self.values.shape[0] * self.values.shape[1]
        return int(total if self.absent is None else total - np.count_nonzero(self.absent))

    @property
    def nbytes(self) -> int:
        """Bytes held by the arrays."""
        held = self.steps.nbytes + self.wall_times.nbytes + self.values.nbytes
        return int(held + (self.absent.nbytes if self.absent is not None else 0))


def make_block(
    tags: Sequence[str],
    steps: Sequence[int] | IntArray,
    wall_times: Sequence[float] | FloatArray | None,
    values: Sequence[Sequence[float]] | ValueArray,
    absent: BoolArray | None = None,
    *,
    dtype: type[np.floating] | None = None,
) -> Block:
    """Build a block and check its shape.

    ``wall_times`` is None when the log has none. ``dtype`` forces the value type; otherwise an
    array keeps its own and a list becomes float64.
    Raises ValueError when shapes disagree or a tag repeats.
    """
    step_array = np.ascontiguousarray(steps, dtype=np.int64)
    n, m = len(step_array), len(tags)
    value_array = np.asarray(values, dtype=dtype) if dtype else np.asarray(values)
    if value_array.dtype not in (np.float32, np.float64):
        value_array = value_array.astype(np.float64)
    if value_array.ndim == 1 and value_array.size == n * m:
        value_array = value_array.reshape(n, m)
    walls = (
        np.full(n, np.nan)
        if wall_times is None
        else np.ascontiguousarray(wall_times, dtype=np.float64)
    )
    if value_array.shape != (n, m) or walls.shape != (n,):
        raise ValueError(f"block of {n} rows, {m} tags: values {value_array.shape}")
    if absent is not None and absent.shape != (n, m):
        raise ValueError(f"block of {n} rows, {m} tags: absent {absent.shape}")
    if len(set(tags)) != m:
        raise ValueError("a tag stands twice in one block")
    return Block(tuple(tags), step_array, walls, value_array, absent)
