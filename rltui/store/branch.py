"""A stretch of one log file that was written in one go, as columns.

A file is one branch until the writer declares a restart or the file is rewritten; then the next
branch begins. A live run that is read row by row would become a million tiny arrays: the blocks of
a tag become one that grows, once the tag is read or lies in many small ones.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rltui.core.block import Block, BoolArray, FloatArray, IntArray, ValueArray
from rltui.core.installation import release
from rltui.store.points import Points, concatenate, is_sorted

#: Points of a tag in several blocks that are worth one which grows: small ones take more memory
#: than their points, and a run that restarts has many.
_GROWING_ROWS = 8
#: Arrays of a block that grows.
_COLUMNS = ("_steps", "_walls", "_values")
#: Blocks of this size are worth the millisecond it takes to give their memory back.
_RELEASE_BYTES = 1 << 18
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
    parts: list[Block | Window] = field(default_factory=list)
    """Its rows by tags."""
    columns: dict[str, Sequence[tuple[int, int]]] = field(default_factory=dict)
    """tag -> [(index of part, column)], in file order."""
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
    begun: dict[tuple[int, ...], tuple[IntArray, list[int]]] = field(default_factory=dict)
    """See :func:`rltui.store.restarts.again`."""
    _growing: dict[int, GrowingBlock] = field(default_factory=dict)
    """Index of a part -> the block that grows and is seen through it."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Branch:
        """A copy that shares the blocks."""
        return replace(
            self,
            parts=deepcopy(self.parts, memo),
            columns={t: [*p] if isinstance(p, list) else p for t, p in self.columns.items()},
            spans=dict(self.spans),
            fell=set(self.fell),
            not_finite=set(self.not_finite),
            begun={},
            _growing=deepcopy(self._growing, memo),
        )

    @property
    def blocks(self) -> list[Block]:
        """Its rows by tags."""
        return [self._block(index) for index in range(len(self.parts))]

    @property
    def buffers(self) -> dict[int, int]:
        """Identity and bytes of what holds the points; other branches may share it."""
        held = (part if isinstance(part, Block) else part.grown for part in self.parts)
        return {id(h): h.nbytes for h in held}

    def _block(self, index: int) -> Block:
        part = self.parts[index]
        return part if isinstance(part, Block) else part.grown.rows(part.begin, part.end)

    def count(self, tag: str) -> int:
        """Number of points of a tag."""
        span = self.spans.get(tag)
        return 0 if span is None else span.size

    def grown(self, tag: str) -> Points | None:
        """All rows of a tag in the block in which its newest ones are, if that grows: with those of
        older branches that it continues."""
        index, column = self.columns[tag][-1]
        grown = self._growing.get(index)
        return None if grown is None else grown.points(column)

    def append(self, block: Block) -> None:
        """Add a block at the end."""
        if not len(block.steps):
            return
        rows = StepSpan.of(block.steps)
        walls = block.wall_times
        self.whole = rows.joined(self.whole)
        if not self.parts:
            self.first_wall_time = float(walls[0])
        self.last_wall_time = float(walls[-1])
        known = walls[np.isfinite(walls)]
        if len(known):
            self.earliest = min(self.earliest, float(known.min()))
            if not block.is_of_machine:
                self.latest = max(self.latest, float(known.max()))

        for part in whole_blocks(block):
            wrong = ~np.isfinite(part.values)
            if wrong.any():
                self.not_finite.update(part.tags[c] for c in np.flatnonzero(wrong.any(axis=0)))
            in_order = is_sorted(part.steps)
            rows = StepSpan.of(part.steps)
            earlier, joined = None, rows  # most tags have the same rows
            for tag in part.tags:
                before = self.spans.get(tag)
                if not in_order or (before is not None and rows.begin < before.last):
                    self.fell.add(tag)
                if before is not earlier:
                    earlier = before
                    joined = rows.joined(before)
                self.spans[tag] = joined
            self._keep(part)

    def time(self, walls: Sequence[FloatArray]) -> None:
        """Give the rows of each block other times."""
        for index, (block, own) in enumerate(zip(self.blocks, walls, strict=True)):
            part = self.parts[index]
            if isinstance(part, Window):
                part.grown.time(part.begin, own)
            else:
                self.parts[index] = replace(block, wall_times=own)
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
                rest = without(rest, grown.tags)
            elif not set(grown.tags).isdisjoint(rest.tags):
                self._close(index)  # later rows of some of its tags are elsewhere
        if not rest.tags:
            return
        for column, tag in enumerate(rest.tags):
            places = self.columns.get(tag, ())
            if not isinstance(places, list):  # shared with other branches
                places = self.columns[tag] = [*places]
            places.append(_place(len(self.parts), column))
        self.parts.append(rest)
        if len(rest.steps) < _GROWING_ROWS <= len(self.columns[rest.tags[0]]):
            self._gather(rest.tags[0])

    def _close(self, index: int) -> None:
        """Let a block grow no more, as far as this branch is concerned."""
        grown = self._growing.pop(index, None)
        part = self.parts[index]
        if grown is not None and isinstance(part, Window):
            self.parts[index] = part._replace(end=grown.count)

    def points(self, tag: str) -> Points:
        """Steps, wall times and values (n,) of ``tag`` in file order; empty when it has none. A
        view where the points lie in one block."""
        places = self.columns.get(tag, ())
        # those that a join has parted stay so
        if len(places) > 1 and self.count(tag) >= _GROWING_ROWS and isinstance(places, list):
            self._gather(tag)
        blocks = [(self._block(index), column) for index, column in self.columns.get(tag, ())]
        return concatenate([(b.steps, b.wall_times, b.values[:, column]) for b, column in blocks])

    def _gather(self, tag: str) -> None:
        """Make one block that grows of all rows of a tag, and of the tags that lie in the same
        blocks."""
        places = [index for index, _ in self.columns[tag]]
        dtype = np.result_type(*{self._block(index).values.dtype for index in places})
        rows = self.count(tag)
        self.join(
            GrowingBlock(tuple(self.beside(tag)), rows, dtype),
            np.ones(rows, np.bool_),
            is_open=True,
        )

    def beside(self, tag: str) -> list[str]:
        """The tags that lie in the same blocks as a tag, with it."""
        if tag not in self.columns:
            return []
        places = [index for index, _ in self.columns[tag]]
        return [
            t
            for t in self._block(places[0]).tags
            if [index for index, _ in self.columns[t]] == places
        ]

    def join(self, grown: GrowingBlock, counts: BoolArray, *, is_open: bool) -> list[Block]:
        """Move the rows that count (n,) of the tags of a block, which lie in the same blocks, to
        its end, and return the others, which become blocks of their own."""
        tags = grown.tags
        found: list[Block | Window] = []
        free: list[int] = []
        self.begun.clear()
        for index, _ in self.columns[tags[0]]:
            self._close(index)
            part = self.parts[index]
            block = self._block(index)
            here = counts[: len(block.steps)]
            counts = counts[len(here) :]
            ends = [0, *(np.flatnonzero(here[1:] != here[:-1]) + 1).tolist(), len(here)]
            for rows in (slice(a, b) for a, b in pairwise(ends)):
                begin = grown.count
                steps, walls, values = block.steps[rows], block.wall_times[rows], block.values[rows]
                if here[rows.start]:
                    grown.append(Block(block.tags, steps, walls, values))
                    last = found[-1] if found else None
                    if isinstance(last, Window):
                        found[-1] = last._replace(end=grown.count)
                    else:
                        found.append(Window(grown, begin, grown.count))
                elif part is block and len(ends) == 2 and block.tags == tags:
                    found.append(block)
                else:
                    columns = [block.tags.index(tag) for tag in tags]
                    values = np.array(values[:, columns], order="F")
                    found.append(Block(tags, steps.copy(), walls.copy(), values))
            rest = self.parts[index] = without(block, tags)
            for column, other in enumerate(rest.tags):
                places = self.columns[other] = [*self.columns[other]]
                places[bisect_left(places, (index, -1))] = index, column
            if not rest.tags:
                free.append(index)
            del block, part  # each is released as soon as it is copied
        free = [*free, *range(len(self.parts), len(self.parts) + len(found))][: len(found)]
        self.parts += [_NOTHING] * (free[-1] + 1 - len(self.parts))
        for index, part in zip(free, found, strict=True):
            self.parts[index] = part
        if is_open and isinstance(part, Window):
            self.parts[index] = part._replace(end=None)
            self._growing[index] = grown
            if grown.nbytes > _RELEASE_BYTES:
                release()
        self.columns.update({t: _Places(tuple(free), i) for i, t in enumerate(tags)})

        return [part for part in found if isinstance(part, Block)]


@lru_cache(maxsize=1 << 14)
def _place(part: int, column: int) -> tuple[int, int]:
    """(part, column) as one shared object: thousands of runs have the same columns."""
    return part, column


@lru_cache(maxsize=1 << 12)
class _Places(Sequence[tuple[int, int]]):
    """(part, column) of some parts, which tags share."""

    __slots__ = ("column", "parts")

    def __init__(self, parts: tuple[int, ...], column: int) -> None:
        self.parts = parts
        self.column = column

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, at: int) -> tuple[int, int]:  # type: ignore[override]
        return self.parts[at], self.column


class Window(NamedTuple):
    """Some rows of a block that grows."""

    grown: GrowingBlock
    begin: int
    end: int | None
    """None: all that it grows by."""


class GrowingBlock:
    """Rows of the same tags. What was handed out stays as it is while more rows are appended.
    Owned by the branches whose rows are in it, of which one appends."""

    def __init__(self, tags: tuple[str, ...], rows: int, dtype: np.dtype[np.floating]) -> None:
        """With room for so many rows, and some more."""
        room = rows + rows // _SPARE
        self.tags = tags
        self.count = 0
        """Rows so far."""
        self._steps = np.empty(room, np.int64)
        self._walls = np.empty(room)
        self._values: ValueArray = np.empty((len(tags), room), dtype)

    def __deepcopy__(self, memo: object) -> GrowingBlock:
        """A copy that shares the rows until either one grows."""
        other = copy(self)
        for name in _COLUMNS:
            setattr(other, name, getattr(self, name)[..., : self.count])
        return other

    def rows(self, begin: int, end: int | None) -> Block:
        """Some of the rows so far: views. The values of a tag are contiguous."""
        rows = slice(begin, self.count if end is None else end)
        return Block(self.tags, self._steps[rows], self._walls[rows], self._values[:, rows].T)

    def points(self, column: int) -> Points:
        """Steps, wall times and values of a tag: views."""
        rows = slice(self.count)
        return self._steps[rows], self._walls[rows], self._values[column, rows]

    @property
    def nbytes(self) -> int:
        """Bytes held, with the spare room."""
        return self._steps.nbytes + self._walls.nbytes + self._values.nbytes

    def fits(self, block: Block) -> bool:
        """Whether a block has all of the tags, in a type that fits."""
        if block.tags != self.tags and not set(self.tags) <= set(block.tags):
            return False
        return bool(np.promote_types(block.values.dtype, self._values.dtype) == self._values.dtype)

    def append(self, block: Block) -> None:
        """Add the rows of a block that has all the tags."""
        begin = self.count
        end = self.count + len(block.steps)
        if end > len(self._steps):
            room = end + _SPARE + end // _SPARE
            for name in _COLUMNS:
                old = getattr(self, name)
                larger = np.empty((*old.shape[:-1], room), old.dtype)
                larger[..., : self.count] = old[..., : self.count]
                setattr(self, name, larger)
        columns: list[int] | slice = slice(None)
        if block.tags != self.tags:
            place = {tag: column for column, tag in enumerate(block.tags)}
            columns = [place[tag] for tag in self.tags]
        self._steps[begin:end] = block.steps
        self._walls[begin:end] = block.wall_times
        self._values[:, begin:end] = block.values.T[columns]
        self.count = end

    def time(self, begin: int, walls: FloatArray) -> None:
        """Give rows other times."""
        self._walls = self._walls.copy()
        self._walls[begin : begin + len(walls)] = walls


def without(block: Block, tags: Sequence[str]) -> Block:
    """The other columns of a block, in arrays of their own."""
    gone = set(tags)
    kept = [column for column, tag in enumerate(block.tags) if tag not in gone]
    if not kept:
        return _NOTHING
    names = tuple(block.tags[column] for column in kept)
    return Block(names, block.steps, block.wall_times, block.values[:, kept])


def whole_blocks(block: Block) -> list[Block]:
    """The points of a block as blocks of the tags that are in the same rows."""
    if block.absent is None:
        return [block]
    alike: dict[bytes, list[int]] = {}
    for column, absent in enumerate(block.absent.T):
        alike.setdefault(absent.tobytes(), []).append(column)
    found: list[Block] = []
    for columns in alike.values():
        there = ~block.absent[:, columns[0]]
        values = block.values[there][:, columns]
        tags = tuple(block.tags[column] for column in columns)
        found.append(Block(tags, block.steps[there], block.wall_times[there], values))

    return [part for part in found if len(part.steps)]


_NOTHING = Block((), np.empty(0, np.int64), np.empty(0), np.empty((0, 0)))
