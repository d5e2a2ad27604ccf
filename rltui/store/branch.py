"""A stretch of one log file that was written in one go, as columns.

A file is one branch until the writer declares a restart or the file is rewritten; then the next
branch begins. A live run that is read row by row would become a million tiny arrays: the blocks of
a tag become one that grows, once the tag is read or lies in many small ones.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rltui.core.block import Block, BoolArray, FloatArray, IntArray
from rltui.core.installation import release
from rltui.store.points import Points, choose, concatenate, is_sorted

#: Points of a tag in several blocks that are worth one which grows: small ones take more memory
#: than their points, and a run that restarts has many.
_GROWING_ROWS = 8
#: Newest rows that are searched first for cells that are not absent.
_RECENT_ROWS = 4096
#: Blocks of this size are worth the millisecond it takes to give their memory back.
_RELEASE_BYTES = 1 << 22
#: Spare room, as a fraction of the rows.
_SPARE = 8


class StepSpan(NamedTuple):
    """How many points a tag has in a branch, and from where to where they go.

    Each tag has its own: tags of one file may count steps, episodes or seconds.
    """

    size: int
    """Number of points."""
    begin: int
    """Step of the first point in file order, however the file was split into reads."""
    first: int
    """Lowest step."""
    last: int
    """Highest step."""

    @classmethod
    def of(cls, steps: IntArray) -> StepSpan:
        """The span of steps (n,) in file order; n > 0."""
        return cls(len(steps), int(steps[0]), int(steps.min()), int(steps.max()))

    def joined(self, other: StepSpan | None) -> StepSpan:
        """The union with the span of earlier points, if there are any."""
        if other is None:
            return self
        first = min(self.first, other.first)
        last = max(self.last, other.last)
        return StepSpan(self.size + other.size, other.begin, first, last)


@dataclass(slots=True, eq=False)
class Branch:
    """Blocks of one file that were written in one go. Owned by one RunData; ``rank`` orders the
    branches of a run, oldest first."""

    path: Path
    rank: tuple[int, int, int]
    """(order of the file, generation of its content, restarts declared by the writer)."""
    declared_start: int | None
    """Step of the restart that the writer declared; None: it starts at its first row."""
    whole: StepSpan | None = None
    """Where its rows are, whatever their tags; None while it has none."""
    blocks: list[Block] = field(default_factory=list)
    columns: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """tag -> [(index of block, column)], in file order."""
    spans: dict[str, StepSpan] = field(default_factory=dict)
    """Where the points of each tag are."""
    fell: set[str] = field(default_factory=set)
    """Tags that may have a step below one before it; the steps of all others never decrease."""
    not_finite: set[str] = field(default_factory=set)
    """Tags that have a NaN or infinite point."""
    first_wall_time: float = math.nan
    """Wall time of the first row; NaN where the log has none."""
    last_wall_time: float = math.nan
    """Wall time of the newest row; NaN where the log has none."""
    earliest: float = math.inf
    """Lowest wall time; infinite without any."""
    latest: float = -math.inf
    """Highest wall time of a row that is not of the machine alone."""
    _growing: dict[int, GrowingBlock] = field(default_factory=dict)
    """Index of a block -> the one that grows and is seen through it."""

    def __deepcopy__(self, memo: object) -> Branch:
        """A copy that shares the blocks."""
        return replace(
            self,
            blocks=list(self.blocks),
            columns={tag: list(places) for tag, places in self.columns.items()},
            spans=dict(self.spans),
            fell=set(self.fell),
            not_finite=set(self.not_finite),
            _growing={index: grown.copy() for index, grown in self._growing.items()},
        )

    @property
    def nbytes(self) -> int:
        """Bytes held by the points."""
        fixed = (b.nbytes for i, b in enumerate(self.blocks) if i not in self._growing)
        return sum(fixed) + sum(grown.nbytes for grown in self._growing.values())

    def count(self, tag: str) -> int:
        """Number of points of a tag."""
        span = self.spans.get(tag)
        return 0 if span is None else span.size

    def grows(self, tag: str) -> bool:
        """Whether all points of a tag lie in one block that grows, and in each of its rows."""
        parts = self.columns.get(tag, ())
        if len(parts) != 1 or parts[0][0] not in self._growing:
            return False
        return self.count(tag) == len(self.blocks[parts[0][0]].steps)

    def append(self, block: Block) -> None:
        """Add a block at the end."""
        if not len(block.steps):
            return
        rows = StepSpan.of(block.steps)
        walls = block.wall_times
        self.whole = rows.joined(self.whole)
        if not self.blocks:
            self.first_wall_time = float(walls[0])
        self.last_wall_time = float(walls[-1])
        known = walls[np.isfinite(walls)]
        if len(known):
            self.earliest = min(self.earliest, float(known.min()))
            if not block.is_of_machine:
                self.latest = max(self.latest, float(known.max()))
        wrong = ~np.isfinite(block.values)
        if wrong.any():
            if block.absent is not None:
                wrong &= ~block.absent
            self.not_finite.update(block.tags[c] for c in np.flatnonzero(wrong.any(axis=0)))

        in_order = is_sorted(block.steps)
        earlier, joined = None, rows  # most tags have the same rows
        for column, tag in enumerate(block.tags):
            span = rows
            before = self.spans.get(tag)
            if block.absent is not None:
                there = block.steps[~block.absent[:, column]]
                if not len(there):
                    continue
                span = StepSpan.of(there)
            if not in_order or (before is not None and span.begin < before.last):
                self.fell.add(tag)
            if span is not rows or before is not earlier:
                earlier = before
                joined = span.joined(before)
            self.spans[tag] = joined
        self._keep(block)

    def time(self, walls: Sequence[FloatArray]) -> None:
        """Give the rows of each block other times."""
        for index, (block, own) in enumerate(zip(self.blocks, walls, strict=True)):
            self.blocks[index] = replace(block, wall_times=own)
            if index in self._growing:
                self._growing[index].time(own)
        filled = [own for own in walls if len(own)]
        self.first_wall_time, self.last_wall_time = float(filled[0][0]), float(filled[-1][-1])
        known = np.concatenate(filled)
        known = known[np.isfinite(known)]
        self.earliest = float(known.min(initial=math.inf))
        self.latest = float(known.max(initial=-math.inf))

    def _keep(self, block: Block) -> None:
        """Append the columns to the blocks that grow, and what belongs to none as a new one."""
        rest = block
        for index, grown in list(self._growing.items()):
            if grown.fits(rest):
                grown.append(rest)
                self.blocks[index] = grown.block
                rest = without(rest, grown.tags)
            elif not set(grown.tags).isdisjoint(rest.tags):
                del self._growing[index]  # later rows of some of its tags are elsewhere
        if not rest.tags:
            return
        for column, tag in enumerate(rest.tags):
            self.columns.setdefault(tag, []).append(_place(len(self.blocks), column))
        self.blocks.append(rest)
        if len(rest.steps) < _GROWING_ROWS <= len(self.columns[rest.tags[0]]):
            self._gather(rest.tags[0])

    def points(self, tag: str, start: int = 0) -> Points:
        """Steps, wall times and values (n,) of ``tag`` in file order, from its ``start``-th point
        on; empty when it has none. A view where the points lie in one block.

        Reads only the blocks that hold these points, newest first: a live run whose rows
        alternate between sets of tags has thousands of blocks.
        """
        missing = self.count(tag) - start
        if len(self.columns.get(tag, ())) > 1 and self.count(tag) >= _GROWING_ROWS:
            self._gather(tag)
        pieces: list[Points] = []

        for index, column in reversed(self.columns.get(tag, ())):
            if missing <= 0:
                break
            block = self.blocks[index]
            points = block.steps, block.wall_times, block.values[:, column]
            absent = None if block.absent is None else block.absent[:, column]
            if absent is None or not absent.any():
                piece = choose(points, slice(max(0, len(block.steps) - missing), None))
            else:
                begin = max(0, len(absent) - _RECENT_ROWS)
                if len(absent) - begin - np.count_nonzero(absent[begin:]) < missing:
                    begin = 0
                piece = choose(points, begin + np.flatnonzero(~absent[begin:])[-missing:])
            missing -= len(piece[0])
            pieces.append(piece)

        return concatenate(pieces[::-1])

    def _gather(self, tag: str) -> None:
        """Make one block that grows of all rows of a tag, and of the tags that lie in the same
        blocks."""
        places = [index for index, _ in self.columns[tag]]
        blocks = [self.blocks[index] for index in places]
        tags = tuple(t for t in blocks[0].tags if [i for i, _ in self.columns[t]] == places)
        grown = GrowingBlock(tags, blocks)
        del blocks  # each is released as soon as it is copied
        for index in places:
            grown.append(self.blocks[index])
            rest = self.blocks[index] = without(self.blocks[index], tags)
            for column, other in enumerate(rest.tags):
                parts = self.columns[other]
                parts[bisect_left(parts, (index, -1))] = index, column
        self._growing[len(self.blocks)] = grown
        self.columns.update({t: [_place(len(self.blocks), i)] for i, t in enumerate(tags)})
        self.blocks.append(grown.block)
        if grown.nbytes > _RELEASE_BYTES:
            release()


@lru_cache(maxsize=1 << 14)
def _place(block: int, column: int) -> tuple[int, int]:
    """(block, column) as one shared object: thousands of runs have the same columns."""
    return block, column


class GrowingBlock:
    """Rows of the same tags. What was handed out stays as it is while more rows are appended.
    Owned by one branch."""

    def __init__(self, tags: tuple[str, ...], parts: Sequence[Block]) -> None:
        """``parts``: the blocks of the first rows, which decide the type and the first room."""
        rows = sum(len(p.steps) for p in parts)
        room = rows + rows // _SPARE
        self.tags = tags
        self._rows = 0
        self._steps = np.empty(room, np.int64)
        self._walls = np.empty(room)
        self._values = np.empty((len(tags), room), np.result_type(*{p.values.dtype for p in parts}))
        self._absent: BoolArray | None = None
        """(m, room) like the values; None while no cell is absent."""

    def copy(self) -> GrowingBlock:
        """A copy that shares the rows until either one grows."""
        other = object.__new__(GrowingBlock)
        rows = slice(self._rows)
        other.tags = self.tags
        other._rows = self._rows
        other._steps = self._steps[rows]
        other._walls = self._walls[rows]
        other._values = self._values[:, rows]
        other._absent = None if self._absent is None else self._absent[:, rows]

        return other

    @property
    def block(self) -> Block:
        """All rows so far: views. The values of a tag are contiguous."""
        rows = slice(self._rows)
        absent = None if self._absent is None else self._absent[:, rows].T
        values = self._values[:, rows].T
        return Block(self.tags, self._steps[rows], self._walls[rows], values, absent)

    @property
    def nbytes(self) -> int:
        """Bytes held, with the spare room."""
        held = self._steps.nbytes + self._walls.nbytes + self._values.nbytes
        return held + (0 if self._absent is None else self._absent.nbytes)

    def fits(self, block: Block) -> bool:
        """Whether a block has all of the tags, in a type that fits."""
        if block.tags != self.tags and not set(self.tags) <= set(block.tags):
            return False
        return bool(np.promote_types(block.values.dtype, self._values.dtype) == self._values.dtype)

    def append(self, block: Block) -> None:
        """Add the rows of a block that has all the tags."""
        begin = self._rows
        end = self._rows + len(block.steps)
        if end > len(self._steps):
            room = end + _SPARE + end // _SPARE
            for name in ("_steps", "_walls", "_values", "_absent"):
                old = getattr(self, name)
                if old is not None:
                    larger = np.empty((*old.shape[:-1], room), old.dtype)
                    larger[..., : self._rows] = old[..., : self._rows]
                    setattr(self, name, larger)
        columns: list[int] | slice = slice(None)
        if block.tags != self.tags:
            place = {tag: column for column, tag in enumerate(block.tags)}
            columns = [place[tag] for tag in self.tags]
        self._steps[begin:end] = block.steps
        self._walls[begin:end] = block.wall_times
        self._values[:, begin:end] = block.values.T[columns]
        if block.absent is not None and self._absent is None:
            self._absent = np.zeros(self._values.shape, np.bool_)
        if self._absent is not None:
            self._absent[:, begin:end] = False if block.absent is None else block.absent.T[columns]
        self._rows = end

    def time(self, walls: FloatArray) -> None:
        """Give the rows so far other times."""
        self._walls = np.append(walls, self._walls[len(walls) :])


def without(block: Block, tags: Sequence[str]) -> Block:
    """The other columns of a block, in arrays of their own."""
    gone = set(tags)
    kept = [column for column, tag in enumerate(block.tags) if tag not in gone]
    if not kept:
        return Block((), np.empty(0, np.int64), np.empty(0), np.empty((0, 0)))
    names = tuple(block.tags[column] for column in kept)
    absent = None if block.absent is None else block.absent[:, kept]

    return Block(names, block.steps, block.wall_times, block.values[:, kept], absent)
