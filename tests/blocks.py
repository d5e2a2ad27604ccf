"""Blocks for tests, checked."""

from collections.abc import Sequence

import numpy as np

from rltui.core.block import Block, BoolArray, FloatArray, IntArray, ValueArray


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
