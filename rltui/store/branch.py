"""A stretch of one log file that was written in one go, as columns.

A file is one branch until the writer declares a restart or the file is rewritten; then the next
branch begins. Blocks with equal tags are merged as they arrive, so that a live run that is read
row by row does not become a million tiny arrays; each point is copied at most log2(n) times.
Once a tag of some rows is read, its blocks become one that grows: see :mod:`.growing_block`.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from rltui.core.block import Block, BoolArray, FloatArray
from rltui.core.installation import release
from rltui.store.points import Points, choose, concatenate, is_sorted

#: Blocks of more rows than this are not merged any further: copying no longer pays off.
_MERGE_ROWS = 4096
#: Points of a tag in several blocks that are worth one which grows.
_GROWING_ROWS = 64
#: Blocks of this size are worth the millisecond it takes to give their memory back.
_RELEASE_BYTES = 1 << 22
#: Spare room, as a fraction of the rows.
_SPARE = 8


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

    def add(self, other: Reach) -> None:
        """Go on with later points."""
        self.count += other.count
        self.first, self.last = min(self.first, other.first), max(self.last, other.last)


@dataclass(slots=True, eq=False)
class Branch:
    """Owned by one RunData. ``rank`` orders the branches of a run, oldest first."""

    path: Path
    rank: tuple[int, int, int]
    """(order of the file, generation of its content, restarts declared by the writer)."""
    declared_start: int | None
    """Step of the restart that the writer declared; None: it starts at its first row."""
    whole: Reach | None = None
    """Where its rows are, whatever their tags; None while it has none."""
    blocks: list[Block] = field(default_factory=list)
    columns: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """tag -> [(index of block, column)], in file order."""
    reaches: dict[str, Reach] = field(default_factory=dict)
    """Where the points of each tag are."""
    fell: set[str] = field(default_factory=set)
    """Tags with a step below one before it."""
    not_finite: set[str] = field(default_factory=set)
    """Tags that have a NaN or infinite point."""
    first_wall_time: float = math.nan
    """Wall time of the first row; NaN where the log has none."""
    last_wall_time: float = math.nan
    """Wall time of the newest row; NaN where the log has none."""
    earliest: float = math.inf
    """Lowest wall time; infinite without any."""
    latest: float = -math.inf
    """Highest wall time."""
    _growing: dict[int, GrowingBlock] = field(default_factory=dict)
    """Index of a block -> the one that grows and is seen through it."""
    _scattered: dict[str, int] = field(default_factory=dict)
    """Tag whose blocks could not become one -> its points then."""

    def __deepcopy__(self, memo: object) -> Branch:
        """A copy that shares the blocks."""
        return replace(
            self,
            blocks=list(self.blocks),
            columns={tag: list(places) for tag, places in self.columns.items()},
            reaches={tag: replace(reach) for tag, reach in self.reaches.items()},
            fell=set(self.fell),
            not_finite=set(self.not_finite),
            _growing={index: grown.copy() for index, grown in self._growing.items()},
            _scattered=dict(self._scattered),
        )

    @property
    def nbytes(self) -> int:
        """Bytes held by the points."""
        fixed = (b.nbytes for i, b in enumerate(self.blocks) if i not in self._growing)
        return sum(fixed) + sum(grown.nbytes for grown in self._growing.values())

    def count(self, tag: str) -> int:
        """Number of points of a tag."""
        reach = self.reaches.get(tag)
        return 0 if reach is None else reach.count

    def grows(self, tag: str) -> bool:
        """Whether all points of a tag lie in one block that grows."""
        parts = self.columns.get(tag, ())
        return len(parts) == 1 and parts[0][0] in self._growing

    def append(self, block: Block) -> None:
        """Add a block at the end."""
        if not len(block.steps):
            return
        low, high = int(block.steps.min()), int(block.steps.max())
        rows = Reach(len(block.steps), int(block.steps[0]), low, high)
        self.whole = rows if self.whole is None else self.whole.joined(rows)
        self._take_times(block.wall_times)
        self.not_finite.update(_not_finite(block))
        in_order = is_sorted(block.steps)
        for tag, reach in _reaches(block, low, high, in_order=in_order):
            known = self.reaches.get(tag)
            if not in_order or (known is not None and reach.begin < known.last):
                self.fell.add(tag)
            if known is None:
                self.reaches[tag] = reach
            else:
                known.add(reach)
        rest = self._grow(block)
        if rest.tags:
            self._keep(rest)

    def _take_times(self, walls: FloatArray) -> None:
        if not self.blocks:
            self.first_wall_time = float(walls[0])
        self.last_wall_time = float(walls[-1])
        there = walls[np.isfinite(walls)]
        if len(there):
            self.earliest = min(self.earliest, float(there.min()))
            self.latest = max(self.latest, float(there.max()))

    def _grow(self, block: Block) -> Block:
        """Append what belongs to blocks that grow; returns the rest."""
        rest = block
        for index, grown in list(self._growing.items()):
            if grown.fits(rest):
                grown.append(rest)
                self.blocks[index] = grown.block
                rest = without(rest, grown.tags)
            elif not set(grown.tags).isdisjoint(rest.tags):
                del self._growing[index]  # later rows of some of its tags are elsewhere
        return rest

    def _keep(self, block: Block) -> None:
        last = len(self.blocks) - 1
        if self.blocks and last not in self._growing and _mergeable(self.blocks[last], block):
            self._merge_into_last(block)
            return
        index = len(self.blocks)
        self.blocks.append(block)
        for column, tag in enumerate(block.tags):
            self.columns.setdefault(tag, []).append(_place(index, column))

    def _merge_into_last(self, block: Block) -> None:
        self.blocks[-1] = _joined(self.blocks[-1], block)
        while (
            len(self.blocks) > 1
            and len(self.blocks) - 2 not in self._growing
            and _mergeable(self.blocks[-2], self.blocks[-1])
        ):
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
        self._gather(tag)
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

    def _gather(self, tag: str) -> None:
        """Make one block that grows of all rows of a tag and of the tags beside it, if they have
        some rows in several blocks and none of them is absent."""
        parts, count = self.columns.get(tag, ()), self.count(tag)
        if len(parts) < 2 or count < max(_GROWING_ROWS, 2 * self._scattered.get(tag, 0)):
            return
        places = [index for index, _ in parts]
        blocks = [self.blocks[index] for index in places]
        gone = set().union(*map(_partly_absent, blocks))
        if tag in gone:
            self._scattered[tag] = count
            return
        together = (t for t in blocks[0].tags if [i for i, _ in self.columns[t]] == places)
        tags = tuple(t for t in together if t not in gone)
        grown = GrowingBlock(tags, blocks, count)
        del blocks  # each is released as soon as it is copied
        for index in places:
            grown.append(self.blocks[index])
            self._take_out(index, tags)
        self._growing[len(self.blocks)] = grown
        self.columns.update({t: [(len(self.blocks), i)] for i, t in enumerate(tags)})
        self.blocks.append(grown.block)
        if grown.nbytes > _RELEASE_BYTES:
            release()

    def _take_out(self, index: int, tags: tuple[str, ...]) -> None:
        """Drop some columns of a block."""
        rest = without(self.blocks[index], tags)
        self.blocks[index] = rest
        for column, tag in enumerate(rest.tags):
            places = self.columns[tag]
            places[bisect_left(places, (index, -1))] = index, column

    def _part(self, part: tuple[int, int]) -> Points:
        block, column = self.blocks[part[0]], part[1]
        points = block.steps, block.wall_times, block.values[:, column]
        if block.absent is None:
            return points
        keep = ~block.absent[:, column]
        return points[0][keep], points[1][keep], points[2][keep]


@lru_cache(maxsize=1 << 14)
def _place(block: int, column: int) -> tuple[int, int]:
    """One object for all runs: thousands have the same columns in their only block."""
    return block, column


def _reaches(block: Block, low: int, high: int, *, in_order: bool) -> Iterator[tuple[str, Reach]]:
    """Each tag of a block that has points in it; ``low`` and ``high``: its steps, which are
    ``in_order`` or not."""
    steps = block.steps
    if block.absent is None:
        begin = int(steps[0])
        for tag in block.tags:
            yield tag, Reach(len(steps), begin, low, high)
        return
    for column, tag in enumerate(block.tags):
        there = np.flatnonzero(~block.absent[:, column])
        if len(there):
            begin, last = int(steps[there[0]]), int(steps[there[-1]])
            first = begin
            if not in_order:
                own = steps[there]
                first, last = int(own.min()), int(own.max())
            yield tag, Reach(len(there), begin, first, last)


def _partly_absent(block: Block) -> list[str]:
    """The tags of a block that are absent in some of its rows."""
    if block.absent is None:
        return []
    return [block.tags[column] for column in np.flatnonzero(block.absent.any(axis=0))]


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

    def fits(self, block: Block) -> bool:
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
