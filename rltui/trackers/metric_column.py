"""Columns of single metrics made into few blocks.

Trackers keep each metric by itself. Metrics that were logged together have the same steps and
times, and share a block: one matrix in place of a pair of axes for each tag.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from rltui.core.block import Block, FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """New points of one tag, in the order in which they were logged; arrays of (n,)."""

    tag: str
    """Cleaned; no two columns of one call have the same."""
    steps: IntArray
    walls: FloatArray
    """Seconds since the epoch."""
    values: FloatArray


def blocks_of(columns: Iterable[Column]) -> tuple[Block, ...]:
    """Blocks that hold the columns; those with equal steps and times share one."""
    groups: dict[tuple[bytes, bytes], list[Column]] = {}
    for column in columns:
        if len(column.steps):
            key = column.steps.tobytes(), column.walls.tobytes()
            groups.setdefault(key, []).append(column)
    return tuple(
        Block(
            tuple(c.tag for c in group),
            group[0].steps,
            group[0].walls,
            np.stack([c.values for c in group], axis=1),
        )
        for group in groups.values()
    )
