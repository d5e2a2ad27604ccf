"""A block that grows: all rows of some tags as one array for each tag, with room for more.

What the screens and the rules read of a tag is then a view, so that a point is held once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rltui.core.block import Block

#: Spare room, as a fraction of the rows.
_SPARE = 8


class GrowingBlock:
    """Rows of the same tags without absent cells. What was handed out stays as it is while more
    rows are appended. Owned by one branch."""

    def __init__(self, tags: tuple[str, ...], parts: Sequence[Block], rows: int) -> None:
        """``parts``: the blocks of the first rows; their types decide that of the values."""
        dtype = np.result_type(*{p.values.dtype for p in parts})
        room = rows + rows // _SPARE
        self.tags = tags
        self._rows = 0
        self._steps = np.empty(room, np.int64)
        self._walls = np.empty(room)
        self._values = np.empty((len(tags), room), dtype)

    def copy(self) -> GrowingBlock:
        """One of its own, which shares the rows until one of both grows."""
        other = object.__new__(GrowingBlock)
        other.tags, other._rows = self.tags, self._rows
        other._steps, other._walls = self._steps[: self._rows], self._walls[: self._rows]
        other._values = self._values[:, : self._rows]
        return other

    @property
    def block(self) -> Block:
        """All rows so far: views. The values of a tag are contiguous."""
        rows = slice(self._rows)
        return Block(self.tags, self._steps[rows], self._walls[rows], self._values[:, rows].T)

    @property
    def nbytes(self) -> int:
        """Bytes held, with the spare room."""
        return self._steps.nbytes + self._walls.nbytes + self._values.nbytes

    def takes(self, block: Block) -> bool:
        """Whether a block has all of the tags in all of its rows, in a type that fits."""
        if block.tags != self.tags and not set(self.tags) <= set(block.tags):
            return False
        if np.promote_types(block.values.dtype, self._values.dtype) != self._values.dtype:
            return False
        return block.absent is None or not block.absent[:, columns_of(block, self.tags)].any()

    def append(self, block: Block) -> None:
        """Add the rows of a block that has all the tags."""
        begin, end = self._rows, self._rows + len(block.steps)
        if end > len(self._steps):
            self._grow(end)
        self._steps[begin:end] = block.steps
        self._walls[begin:end] = block.wall_times
        if block.tags == self.tags:
            self._values[:, begin:end] = block.values.T
        else:
            self._values[:, begin:end] = block.values.T[columns_of(block, self.tags)]
        self._rows = end

    def _grow(self, rows: int) -> None:
        room, kept = rows + rows // _SPARE, self._rows
        steps, walls = np.empty(room, np.int64), np.empty(room)
        values = np.empty((len(self.tags), room), self._values.dtype)
        steps[:kept], walls[:kept] = self._steps[:kept], self._walls[:kept]
        values[:, :kept] = self._values[:, :kept]
        self._steps, self._walls, self._values = steps, walls, values


def columns_of(block: Block, tags: Sequence[str]) -> list[int]:
    """The columns of some tags in a block."""
    place = {tag: column for column, tag in enumerate(block.tags)}
    return [place[tag] for tag in tags]


def without(block: Block, tags: Sequence[str]) -> Block:
    """The other columns of a block, in arrays of their own."""
    gone = set(tags)
    kept = [column for column, tag in enumerate(block.tags) if tag not in gone]
    names = tuple(block.tags[column] for column in kept)
    if not kept:
        return Block(names, np.empty(0, np.int64), np.empty(0), np.empty((0, 0)))
    absent = None if block.absent is None else block.absent[:, kept]
    return Block(names, block.steps, block.wall_times, block.values[:, kept], absent)
