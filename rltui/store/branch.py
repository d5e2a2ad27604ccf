"""A stretch of one log file that was written in one go, as columns.

A file is one branch until the writer declares a restart or the file is rewritten; then the next
branch begins. Blocks with equal tags are merged as they arrive, so that a live run that is read
row by row does not become a million tiny arrays; each point is copied at most log2(n) times.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from rltui.core.block import Block, BoolArray
from rltui.store.points import Points, choose, concatenate, is_sorted

#: Blocks of more rows than this are not merged any further: copying no longer pays off.
_MERGE_ROWS = 4096


@dataclass(slots=True, eq=False)
class Reach:
    """How many points a tag has in a branch, and from where to where they go.

    Each tag has its own: tags of one file may count steps, episodes or seconds.
    """

    count: int
    begin: int
    """Step of the first point in file order, however the file was split into reads."""
    first: int
    """Lowest step."""
    last: int
    """Highest step."""

    def joined(self, other: Reach) -> Reach:
        """Both, where ``other`` is of a later branch."""
        first, last = min(self.first, other.first), max(self.last, other.last)
        return Reach(self.count + other.count, self.begin, first, last)


@dataclass(slots=True, eq=False)
class Branch:
    """Owned by one RunData. ``rank`` orders the branches of a run, oldest first."""

    path: Path
    rank: tuple[int, int, int]
    """(order of the file, generation of its content, restarts declared by the writer)."""
    declared_start: int | None
    """Step of the restart that the writer declared; None: it starts at its first row."""
    begin: int | None = None
    """Step of the first row, however the file was split into reads."""
    first_step: int | None = None
    """Lowest step so far."""
    last_step: int | None = None
    """Highest step so far."""
    blocks: list[Block] = field(default_factory=list)
    columns: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """tag -> [(index of block, column)], in file order."""
    reaches: dict[str, Reach] = field(default_factory=dict)
    """Where the points of each tag are."""
    not_finite: set[str] = field(default_factory=set)
    """Tags that have a NaN or infinite point."""

    def __deepcopy__(self, memo: object) -> Branch:
        """A copy that shares the blocks."""
        return replace(
            self,
            blocks=list(self.blocks),
            columns={tag: list(places) for tag, places in self.columns.items()},
            reaches={tag: replace(reach) for tag, reach in self.reaches.items()},
            not_finite=set(self.not_finite),
        )

    @property
    def first_wall_time(self) -> float:
        """Wall time of the first row; NaN where the log has none."""
        return float(self.blocks[0].wall_times[0]) if self.blocks else math.nan

    @property
    def last_wall_time(self) -> float:
        """Wall time of the newest row; NaN where the log has none."""
        return float(self.blocks[-1].wall_times[-1]) if self.blocks else math.nan

    @property
    def nbytes(self) -> int:
        """Bytes held by the points."""
        return sum(b.nbytes for b in self.blocks)

    def count(self, tag: str) -> int:
        """Number of points of a tag."""
        reach = self.reaches.get(tag)
        return 0 if reach is None else reach.count

    def append(self, block: Block) -> None:
        """Add a block at the end."""
        if not len(block.steps):
            return
        low, high = int(block.steps.min()), int(block.steps.max())
        if self.begin is None:
            self.begin = int(block.steps[0])
        self.first_step = low if self.first_step is None else min(self.first_step, low)
        self.last_step = high if self.last_step is None else max(self.last_step, high)
        self.not_finite.update(_not_finite(block))
        for tag, reach in _reaches(block, low, high):
            known = self.reaches.get(tag)
            if known is None:
                self.reaches[tag] = reach
                continue
            known.count += reach.count
            known.first = min(known.first, reach.first)
            known.last = max(known.last, reach.last)
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

    def points(self, tag: str, start: int = 0) -> Points:
        """Steps, wall times and values (n,) of ``tag`` in file order, from its ``start``-th point
        on; empty when it has none. A view where the points lie in one block.

        Reads only the blocks that hold these points, newest first: a live run whose rows
        alternate between sets of tags has thousands of blocks.
        """
        missing = self.count(tag) - start
        pieces: list[Points] = []
        for part in reversed(self.columns.get(tag, ())):
            if missing <= 0:
                break
            piece = self._part(part)
            surplus = max(0, len(piece[0]) - missing)
            missing -= len(piece[0])
            pieces.append(choose(piece, slice(surplus, None)) if surplus else piece)
        return concatenate(pieces[::-1])

    def _part(self, part: tuple[int, int]) -> Points:
        block, column = self.blocks[part[0]], part[1]
        points = block.steps, block.wall_times, block.values[:, column]
        if block.absent is None:
            return points
        keep = ~block.absent[:, column]
        return points[0][keep], points[1][keep], points[2][keep]


def _reaches(block: Block, low: int, high: int) -> Iterator[tuple[str, Reach]]:
    """Each tag of a block that has points in it; ``low`` and ``high``: its steps."""
    steps = block.steps
    if block.absent is None:
        begin = int(steps[0])
        for tag in block.tags:
            yield tag, Reach(len(steps), begin, low, high)
        return
    in_order = is_sorted(steps)
    for column, tag in enumerate(block.tags):
        there = np.flatnonzero(~block.absent[:, column])
        if len(there):
            begin, last = int(steps[there[0]]), int(steps[there[-1]])
            first = begin
            if not in_order:
                own = steps[there]
                first, last = int(own.min()), int(own.max())
            yield tag, Reach(len(there), begin, first, last)


def _not_finite(block: Block) -> list[str]:
    """The tags of a block with a point that is NaN or infinite."""
    wrong = ~np.isfinite(block.values)
    if not wrong.any():
        return []
    if block.absent is not None:
        wrong &= ~block.absent
    return [block.tags[column] for column in np.flatnonzero(wrong.any(axis=0))]


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
