"""A stretch of one log file that was written in one go, as columns (floor 2).

A file is one branch, until the writer says that it starts again or the file is rewritten;
then the next branch begins. Blocks of equal tags are merged as they arrive so that a live
run of one row per read does not end as a million tiny arrays; every point is copied at most
log2(n) times.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from rltui.core.block import Block, BoolArray, FloatArray, IntArray, ValueArray

#: Blocks of more rows than this are not merged any further: copying stops paying.
_MERGE_ROWS = 4096


@dataclass(slots=True, eq=False)
class Branch:
    """Owned by one RunData. ``rank`` orders the branches of a run, oldest first."""

    path: Path
    rank: tuple[int, int, int]
    """(order of the file, generation of its content, restarts told by the writer)."""
    told_start: int | None
    """Step from which the writer said that it starts again; None: judged by the first step."""
    first_step: int | None = None
    """Lowest step of the first block: where the branch begins."""
    last_step: int | None = None
    """Highest step so far."""
    blocks: list[Block] = field(default_factory=list)
    columns: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """tag -> [(index of block, column)], in file order."""

    @property
    def start(self) -> int | None:
        """Step from which this branch supersedes older ones."""
        return self.told_start if self.told_start is not None else self.first_step

    def append(self, block: Block) -> None:
        """Add a block at the end."""
        if not len(block.steps):
            return
        low, high = int(block.steps.min()), int(block.steps.max())
        if self.first_step is None:
            self.first_step = low
        self.last_step = high if self.last_step is None else max(self.last_step, high)
        if self.blocks and _mergeable(self.blocks[-1], block):
            self._merge_into_last(block)
            return
        index = len(self.blocks)
        self.blocks.append(block)
        for column, tag in enumerate(block.tags):
            self.columns.setdefault(tag, []).append((index, column))

    def _merge_into_last(self, block: Block) -> None:
        self.blocks[-1] = _joined(self.blocks[-1], block)
        while len(self.blocks) > 1 and _mergeable(self.blocks[-2], self.blocks[-1]):
            last = self.blocks.pop()
            self.blocks[-1] = _joined(self.blocks[-1], last)
            for tag in last.tags:
                self.columns[tag].pop()

    def points(self, tag: str) -> tuple[IntArray, FloatArray, ValueArray]:
        """Steps, wall times and values (n,) of ``tag`` in file order; empty when it has none."""
        parts = self.columns.get(tag)
        if not parts:
            return np.empty(0, np.int64), np.empty(0), np.empty(0, np.float32)
        steps, walls, values = [], [], []
        for index, column in parts:
            block = self.blocks[index]
            value, keep = block.values[:, column], _present(block, column)
            steps.append(block.steps if keep is None else block.steps[keep])
            walls.append(block.wall_times if keep is None else block.wall_times[keep])
            values.append(value if keep is None else value[keep])
        if len(parts) == 1:
            return steps[0], walls[0], values[0]
        return np.concatenate(steps), np.concatenate(walls), np.concatenate(values)


def _present(block: Block, column: int) -> BoolArray | None:
    return None if block.absent is None else ~block.absent[:, column]


def _mergeable(older: Block, newer: Block) -> bool:
    return (
        older.tags == newer.tags
        and older.values.dtype == newer.values.dtype
        and len(older.steps) <= min(2 * len(newer.steps), _MERGE_ROWS)
    )


def _joined(older: Block, newer: Block) -> Block:
    absent = None
    if older.absent is not None or newer.absent is not None:
        absent = np.concatenate([_absent_of(older), _absent_of(newer)])
    return Block(
        older.tags,
        np.concatenate([older.steps, newer.steps]),
        np.concatenate([older.wall_times, newer.wall_times]),
        np.concatenate([older.values, newer.values]),
        absent,
    )


def _absent_of(block: Block) -> BoolArray:
    if block.absent is not None:
        return block.absent
    return np.zeros(block.values.shape, dtype=bool)
