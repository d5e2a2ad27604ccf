"""The branches of a run in one log format, and which of their points count.

Restarts. A later file of a run (or a rewritten one) that begins at or below the last step
continues the run on a new branch: for each tag that it logs, it supersedes the points of older
branches from the tag's first step in it on (see :mod:`rltui.store.restarts`). A restart that the
writer declares (SessionLog START) supersedes all tags from there. Superseded points are kept.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rltui.core.batch import SourceInfo
from rltui.core.block import Block, FloatArray, IntArray
from rltui.store.branch import Branch
from rltui.store.points import (
    GrowingPoints,
    Points,
    by_step,
    choose,
    concatenate,
    copied,
    is_sorted,
    same_bits,
)
from rltui.store.restarts import resumptions, span, starts
from rltui.store.series import Series

#: Series that grow of which the next ones may share the steps: as many sets of tags are usual.
_MOST_AXES = 8
#: Superseded pieces of fewer rows than this, on average, are joined.
_SHORT = 64
_rank = attrgetter("rank")
#: Below any step.
_NOWHERE = -(1 << 63)
_NONE = np.empty(0, np.int64)


@dataclass(slots=True, eq=False)
class _Assembled:
    """The series of a tag as of the last read, and what it was made of."""

    structure: int
    """Value of ``Lineage._structure`` then."""
    series: Series
    total: int
    """Points of the tag in all branches."""
    open: Branch | None
    """The branch whose further points are appended; None when they may go anywhere."""
    taken: int
    """Points of that branch that are included."""
    growing: GrowingPoints | None = None


class Lineage:
    """The branches of one log format of a run, and the series made of them. Owned by one
    RunData."""

    def __init__(self) -> None:
        self.branches: list[Branch] = []
        """Oldest first."""
        self.trust = StepTrust()
        self._open: dict[Path, Branch] = {}
        self.copies: dict[Path, Path] = {}
        """Files with the same points as an older one, and that one: only what they have beyond
        it counts."""
        self.freed: set[Path] = set()
        """Copies whose originals were written anew, to be compared again."""
        self._structure = 0
        """Grows with every change of the branches other than an appended block."""
        self._assembled: dict[str, _Assembled] = {}
        self._alike: dict[int, str] = {}
        """Number of points -> the tag that last had as many: others may have its steps."""
        self._growing: deque[GrowingPoints] = deque(maxlen=_MOST_AXES)
        """Series that grow, whose steps others may share."""

    @property
    def nbytes(self) -> int:
        """Bytes held by the points, merged copies included."""
        grown: dict[int, int] = {}
        for assembled in self._assembled.values():
            if assembled.growing is not None:
                grown |= assembled.growing.buffers
        return sum(b.nbytes for b in self.branches) + sum(grown.values())

    @property
    def tags(self) -> list[str]:
        """The tags, in the order in which they were first seen."""
        return list(dict.fromkeys(t for b in self.branches for t in b.spans))

    def has(self, tag: str) -> bool:
        """Whether it has any point of the tag."""
        return any(tag in b.columns for b in self.branches)

    def guesses(self, tag: str) -> bool:
        """Whether none of its files gives the steps of a tag."""
        return not self.trust.exact and all(
            self.trust.guesses(b.path, tag) for b in self.branches if tag in b.columns
        )

    def span(self, off_axis: Collection[str]) -> tuple[int | None, tuple[int, ...]]:
        """See :func:`rltui.store.restarts.span`: copies supersede nothing."""
        originals = [b for b in self.branches if b.path not in self.copies]
        last, begun = span(originals, off_axis)
        ends = [last, *(span([b], off_axis)[0] for b in self.branches if b.path in self.copies)]
        return max((end for end in ends if end is not None), default=None), begun

    # -- adding -----------------------------------------------------------------------------

    def register(self, source: SourceInfo) -> bool:
        """Note the state of a file; returns whether this changes what the steps mean."""
        changed = self.trust.update(source)
        self._structure += changed
        return changed and bool(self.branches)

    def append(self, source: SourceInfo, generation: int, block: Block) -> None:
        """Add a block at the end of a file."""
        branch = self._open.get(source.path)
        if branch is None or branch.rank[1] != generation:
            branch = self.begin(source, generation, None)
        branch.append(block)

    def begin(self, source: SourceInfo, generation: int, declared_start: int | None) -> Branch:
        """Begin a branch, at a step if the writer declares one."""
        older = self._open.get(source.path)
        number = older.rank[2] + 1 if older is not None and older.rank[1] == generation else 0
        branch = Branch(source.path, (source.order, generation, number), declared_start)
        self._open[source.path] = branch
        insort(self.branches, branch, key=_rank)
        self._structure += 1
        return branch

    def replace(self, source: SourceInfo, generation: int, *, older_too: bool) -> set[str]:
        """Drop the points of a file, and those of older files when it is the newest state of one
        document; returns their tags. Content that is read once more leaves that of earlier
        generations alone, which is nowhere else."""
        again = any(b.rank[1] == generation for b in self.branches_of(source.path))
        kept: list[Branch] = []
        dropped: list[Branch] = []
        for branch in self.branches:
            own = branch.path == source.path and not (again and 0 <= branch.rank[1] < generation)
            older = older_too and branch.rank[0] < source.order
            (dropped if own or older else kept).append(branch)
        self.branches = kept
        self._structure += 1
        for branch in dropped:
            self._open.pop(branch.path, None)

        # copies of what is gone are copies no longer
        gone = {b.path for b in dropped}
        free = {copy for copy, original in self.copies.items() if original in gone}
        self.copies = {c: o for c, o in self.copies.items() if c not in free}
        self.freed |= free
        freed = [b for b in self.branches if b.path in free]
        for branch in freed:  # what they hold was written before
            branch.rank = (source.order, -1, branch.rank[2])
        self.branches.sort(key=_rank)

        return {t for b in (*dropped, *freed) for t in b.columns}

    def mark_copy(self, path: Path, of: Path | None) -> set[str]:
        """Count only what a file has beyond another one (None: all); returns its tags."""
        if of is None:
            self.copies.pop(path, None)
        else:
            self.copies[path] = of
        self._structure += 1
        return {t for b in self.branches_of(path) for t in b.columns}

    def branches_of(self, path: Path) -> list[Branch]:
        """The branches of one file, oldest first."""
        return [b for b in self.branches if b.path == path]

    def move(self, path: Path, into: Lineage) -> list[Branch]:
        """Give the branches of a file to another run, the last of them stays open; returns them."""
        moved = self.branches_of(path)
        self.branches = [b for b in self.branches if b.path != path]
        self._structure += 1
        self._open.pop(path, None)
        self.trust.forget(path)
        self.copies = {c: o for c, o in self.copies.items() if path not in (c, o)}
        into.branches = sorted([*into.branches, *moved], key=_rank)
        into._structure += 1
        if moved:
            into._open[path] = moved[-1]

        return moved

    def time(self, path: Path, times: Callable[[Sequence[Block]], list[FloatArray]]) -> list[str]:
        """Give the rows of a file other times; returns its tags."""
        self._structure += 1
        filled = [branch for branch in self.branches_of(path) if branch.blocks]
        for branch in filled:
            branch.time(times(branch.blocks))
        return [tag for branch in filled for tag in branch.columns]

    def clear(self) -> None:
        """Drop all points; what is known of the files stays."""
        self.branches = []
        self._open = {}
        self._structure += 1
        self._assembled = {}
        self._alike = {}
        self._growing.clear()

    # -- points -----------------------------------------------------------------------------

    def series(self, tag: str) -> Series:
        """The points of a tag: the same object until they change.

        Where only the newest branch grew, just its new points are read.
        """
        known = self._assembled.get(tag)
        # without the branches that only guess the steps of a tag which others give
        counting = self.branches
        trust = self.trust
        exact = [] if trust.exact else [b for b in counting if not trust.guesses(b.path, tag)]
        counting = exact if any(tag in b.columns for b in exact) else counting
        total = sum(b.count(tag) for b in counting)
        if (
            known is not None
            and known.structure == self._structure
            and (known.total == total or self._extended(known, total))
        ):
            return known.series
        if len(counting) == 1 and not self.copies and tag not in counting[0].fell:
            series = Series.of(tag, counting[0].points(tag), (), _NONE)
        else:
            series = self._assemble(tag, counting)
        series = self._sharing(series)
        if known is not None:
            series = series.with_history(known.series)
        # the newest branch of the tag, when nothing supersedes what it logs
        branch = None
        taken = 0
        for newest in () if self.copies else reversed(counting):
            if tag in newest.columns:
                branch = newest
                taken = newest.count(tag)
            if branch is not None or newest.declared_start is not None:
                break
        self._assembled[tag] = _Assembled(self._structure, series, total, branch, taken)

        return series

    def _sharing(self, series: Series) -> Series:
        """The series with the steps and times of another one, if they are the same: the tags of a
        log are mostly written row by row."""
        other = self._assembled.get(self._alike.get(series.count, ""))
        self._alike[series.count] = series.tag
        if other is None or other.series.tag == series.tag:
            return series
        steps = other.series.steps
        walls = other.series.wall_times
        own = series.steps.base is None and series.wall_times.base is None
        if not (own and same_bits(series.steps, steps) and same_bits(series.wall_times, walls)):
            return series
        old = series.superseded
        pairs = list(zip(old, other.series.superseded, strict=False))
        if all(same_bits(x, y) for a, b in pairs for x, y in zip(a[:2], b[:2], strict=True)):
            old = (*((*b[:2], a[2]) for a, b in pairs), *old[len(pairs) :])

        return replace(series, steps=steps, wall_times=walls, superseded=old)

    def _extended(self, known: _Assembled, total: int) -> bool:
        """Append the new points of the open branch; False when that is not all that is new, or
        when they do not follow the others."""
        branch = known.open
        series = known.series
        tag = series.tag
        count = 0 if branch is None else branch.count(tag)
        if branch is None or count - known.taken != total - known.total:
            return False
        if tag in branch.fell:
            return False  # the new rows may show that its writer began again, or that it did not
        if count == series.count + total - known.total and branch.grows(tag):
            whole = branch.points(tag)
            if whole[2].dtype == series.values.dtype:
                known.series = series.extended(whole)
                known.growing = None
                known.total = total
                known.taken = count
                return True
        new = branch.points(tag, known.taken)
        if series.count and new[0][0] < series.steps[-1]:
            return False
        if np.promote_types(series.values.dtype, new[2].dtype) != series.values.dtype:
            return False

        if known.growing is None:
            known.growing = GrowingPoints(series.points, self._growing)
            self._growing.append(known.growing)
        known.growing.append(new)
        known.series = series.extended(known.growing.points)
        known.total = total
        known.taken = count

        return True

    def _assemble(self, tag: str, counting: list[Branch]) -> Series:
        """The points that count: from the newest branch to the oldest, cut where it supersedes
        older ones."""
        kept: list[Points] = []
        lost: list[Points] = []
        taken_over: set[int] = set()
        limit: int | None = None
        originals = [b for b in counting if b.path not in self.copies]
        begun = list(zip(originals, starts(originals, tag), strict=True))
        beyond = self._beyond(counting, tag)

        for branch, start in reversed(begun):
            pieces = _pieces(branch, tag)
            pieces[-1] = concatenate([pieces[-1], *beyond.pop(branch.path, ())])
            for number, points in reversed(list(enumerate(pieces))):
                begun_at = int(points[0][0]) if number else start
                if limit is not None and len(points[0]) and points[0].max() >= limit:
                    taken_over.add(limit)
                    points, overwritten = _cut(points, limit)
                    lost.append(overwritten)
                kept.append(points)
                if begun_at is not None:
                    limit = begun_at if limit is None else min(limit, begun_at)

        # numpy.unique would import numpy.ma, which takes as long as drawing a screen
        unique = np.array(sorted(taken_over), dtype=np.int64)
        points = by_step(concatenate([p for p in reversed(kept) if len(p[0])]))

        # short pieces take more memory than their points
        if sum(len(p[0]) for p in lost) < _SHORT * len(lost):
            lost = [concatenate(lost[::-1])]

        return Series.of(tag, points, reversed(lost), unique)

    def _beyond(self, counting: list[Branch], tag: str) -> dict[Path, list[Points]]:
        """Original -> what its copies have beyond it."""
        ends: dict[Path, int] = {}
        found: dict[Path, list[Points]] = {}
        for path, original in self.copies.items():
            end = ends.setdefault(original, self._end_of(original, tag))
            for points in (b.points(tag) for b in counting if b.path == path):
                found.setdefault(original, []).append(choose(points, points[0] > end))
            ends[original] = max(end, self._end_of(path, tag))

        return found

    def _end_of(self, path: Path, tag: str) -> int:
        """Highest step of a tag in a file."""
        spans = (b.spans.get(tag) for b in self.branches_of(path))
        return max((r.last for r in spans if r is not None), default=_NOWHERE)


def _pieces(branch: Branch, tag: str) -> list[Points]:
    """The points of a tag, parted where the writer of the file began again."""
    points = branch.points(tag)
    if tag not in branch.fell or is_sorted(points[0]):
        return [points]
    ends = [0, *resumptions(points[0]), len(points[0])]
    return [choose(points, slice(a, b)) for a, b in pairwise(ends)]


def _cut(points: Points, step: int) -> tuple[Points, Points]:
    """The points before a step, and the others: pieces of the same arrays where the steps never
    decrease and a block holds them, else in arrays of their own."""
    steps = points[0]
    if not is_sorted(steps):
        before = steps < step
        return choose(points, before), choose(points, ~before)
    at = int(np.searchsorted(steps, step))
    first = choose(points, slice(at))
    second = choose(points, slice(at, None))
    if steps.base is None:  # a piece would keep all of it
        return copied(first), copied(second)

    return first, second


class Scale(NamedTuple):
    """The steps of one axis on another one: those of every row lie on a straight line."""

    begin: int
    to: int
    factor: int

    def of(self, steps: IntArray) -> IntArray:
        """Steps (n,) of the log as steps of the run."""
        scaled: IntArray = self.to + (steps - self.begin) * self.factor
        return scaled


class StepTrust:
    """Whether the steps of a lineage are those of the run, and how precise its values are. Owned by
    the Lineage."""

    def __init__(self) -> None:
        self.precision_rank = 0
        """Precision of its format: of several lineages the highest wins (see ``Format``)."""
        self.aside_of: str | None = None
        """The log format that has the same values at other steps, where this one stands aside
        (see :mod:`rltui.store.axes`)."""
        self.scale: Scale | None = None
        """How its steps become those of the other log, if that is certain."""
        self.exact = True
        """Whether all of its files give the steps of all tags."""
        self.files: dict[Path, tuple[bool, Collection[str]]] = {}
        """File -> whether its steps are row numbers, and the tags whose steps it does not give."""

    def update(self, source: SourceInfo) -> bool:
        """Note the state of a file; returns whether this changes what its steps mean."""
        known = self.files.get(source.path)
        new = (source.steps_are_row_numbers, source.guessed)
        self.precision_rank = source.precision_rank
        if known == new:
            return False
        before = self.off_axis
        self.files[source.path] = new
        self._weigh()
        return known is not None or bool(source.guessed) or self.off_axis is not before

    def forget(self, path: Path) -> None:
        """Drop what is known of a file that has gone to another run."""
        self.files.pop(path, None)
        self._weigh()

    def _weigh(self) -> None:
        self.exact = not any(rows or guessed for rows, guessed in self.files.values())

    @property
    def off_axis(self) -> bool:
        """Whether the steps are not those of the run."""
        return self.aside_of is not None or self.row_numbered

    @property
    def row_numbered(self) -> bool:
        """Whether none of its files has steps of its own."""
        return bool(self.files) and all(rows for rows, _ in self.files.values())

    @property
    def is_on_axis(self) -> bool:
        """Whether the steps are those of the run, or can be counted as such."""
        return self.scale is not None or not self.off_axis

    def guesses(self, path: Path, tag: str) -> bool:
        """Whether a file does not give the steps of a tag."""
        rows, guessed = self.files.get(path, (False, ()))
        return rows or tag in guessed
