"""The branches of a run in one log format, and which of their points count.

Restarts. A later file of a run (or a rewritten one) that begins at or below the last step
continues the run on a new branch: for each tag that it logs, it supersedes the points of older
branches from the tag's first step in it on (see :mod:`rltui.store.restarts`). A restart that the
writer declares (SessionLog START) supersedes all tags from there. Superseded points are kept.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rltui.core.batch import SourceInfo
from rltui.core.block import Block, BoolArray, FloatArray, IntArray
from rltui.store.branch import Branch, GrowingBlock
from rltui.store.points import (
    Points,
    by_step,
    choose,
    concatenate,
    is_sorted,
)
from rltui.store.restarts import again, span, starts
from rltui.store.series import Pieces, Series

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


@dataclass(slots=True, eq=False)
class _Join:
    """Tags whose rows that count lie in one block, and what they were made of."""

    structure: int
    """Value of ``Lineage._structure`` then."""
    branches: list[Branch]
    begun: list[list[int]]
    """The rows at which each of them began again."""
    grown: GrowingBlock
    restarts: IntArray
    settled: int
    """Rows of the block up to which this is known to hold."""
    old: list[Block] = field(default_factory=list)
    """The rows that were superseded, in file order."""

    def holds(self, tag: str, structure: int, total: int) -> bool:
        """Whether the tag is one of them, and its new rows follow the others."""
        rows = self.grown.count
        if tag not in self.grown.tags or self.structure != structure:
            return False
        if rows + sum(len(block.steps) for block in self.old) != total:
            return False
        if self.settled != rows and is_sorted(self.grown.points(0)[0]):
            self.settled = rows if self.begun == _begun(self.branches, tag) else -1

        return self.settled == rows


def _begun(branches: list[Branch], tag: str) -> list[list[int]]:
    return [again(b, tag)[1] if tag in b.fell else [] for b in branches]


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
        self._joins: list[_Join] = []

    @property
    def nbytes(self) -> int:
        """Bytes held by the points, merged copies included."""
        return sum({k: n for b in self.branches for k, n in b.buffers.items()}.values())

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
        filled = [branch for branch in self.branches_of(path) if branch.parts]
        for branch in filled:
            branch.time(times(branch.blocks))
        return [tag for branch in filled for tag in branch.columns]

    def clear(self) -> None:
        """Drop all points; what is known of the files stays."""
        self.branches = []
        self._open = {}
        self._structure += 1
        self._assembled = {}
        self._joins = []

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
            series = self._assemble(tag, counting, total)
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

    def _join_of(self, tag: str, total: int) -> _Join | None:
        return next((j for j in self._joins if j.holds(tag, self._structure, total)), None)

    def _extended(self, known: _Assembled, total: int) -> bool:
        """Append the new points of the open branch; False when that is not all that is new, or
        when they do not follow the others."""
        branch = known.open
        series = known.series
        tag = series.tag
        count = 0 if branch is None else branch.count(tag)
        if branch is None or count - known.taken != total - known.total:
            return False
        # the new rows may show that its writer began again, or that it did not
        if tag in branch.fell and self._join_of(tag, total) is None:
            return False
        whole = branch.grown(tag)
        if whole is None or len(whole[0]) != series.count + total - known.total:
            return False
        if whole[2].dtype != series.values.dtype:
            return False
        known.series = series.extended(whole)
        known.total = total
        known.taken = count

        return True

    def _assemble(self, tag: str, counting: list[Branch], total: int) -> Series:
        """The points that count: from the newest branch to the oldest, cut where it supersedes
        older ones."""
        join = self._join_of(tag, total)
        if join is None:
            cuts, restarts = self._cuts(tag, counting)
            points = concatenate([choose(cut.points, cut.counts) for cut in cuts])
            if self.copies or not self.trust.exact or len(cuts) < 2 or not is_sorted(points[0]):
                lost = (choose(cut.points, ~cut.counts) for cut in cuts)
                return Series.of(tag, by_step(points), lost, restarts)
            join = self._join(points, cuts, restarts, tag)
        points = join.grown.points(join.grown.tags.index(tag))

        return Series.of(tag, points, Pieces(join.old, tag), join.restarts)

    def _cuts(self, tag: str, counting: list[Branch]) -> tuple[list[_Cut], IntArray]:
        """The pieces that were written in one go, in file order, and the steps at which one took
        over from older ones."""
        found: list[_Cut] = []
        taken_over: set[int] = set()
        limit: int | None = None
        originals = [b for b in counting if b.path not in self.copies]
        begun = list(zip(originals, starts(originals, tag), strict=True))
        beyond = self._beyond(counting, tag)

        for branch, start in reversed(begun):
            points = branch.points(tag)
            ends = [0, *(again(branch, tag)[1] if tag in branch.fell else ()), len(points[0])]
            pieces = [choose(points, slice(a, b)) for a, b in pairwise(ends)]
            pieces[-1] = concatenate([pieces[-1], *beyond.pop(branch.path, ())])
            for number, points in reversed(list(enumerate(pieces))):
                begun_at = int(points[0][0]) if number else start
                counts = points[0] < (np.inf if limit is None else limit)
                if limit is not None and not counts.all():
                    taken_over.add(limit)
                if len(counts):
                    found.append(_Cut(branch, points, counts, limit is None))
                if begun_at is not None:
                    limit = begun_at if limit is None else min(limit, begun_at)

        # numpy.unique would import numpy.ma, which takes as long as drawing a screen
        return found[::-1], np.array(sorted(taken_over), dtype=np.int64)

    def _join(self, points: Points, cuts: list[_Cut], restarts: IntArray, tag: str) -> _Join:
        """Put the rows that count of a tag, and of those in the same rows, into one block, which
        the newest branch goes on with: nothing is held twice."""
        having = list(dict.fromkeys(cut.branch for cut in cuts))
        beside = [set(b.beside(tag)) for b in having]
        size = [b.count(tag) for b in self.branches]
        tags = tuple(
            t
            for t in having[0].beside(tag)
            if all(t in others for others in beside) and size == [b.count(t) for b in self.branches]
        )

        grown = GrowingBlock(tags, len(points[0]), points[2].dtype)
        begun = _begun(having, tag)
        join = _Join(self._structure, having, begun, grown, restarts, len(points[0]))
        for branch in having:
            is_open = branch is cuts[-1].branch and cuts[-1].is_open
            counts = np.concatenate([cut.counts for cut in cuts if cut.branch is branch])
            join.old += branch.join(grown, counts, is_open=is_open)
        others = (j for j in self._joins if j.structure == self._structure)
        self._joins = [join, *(j for j in others if not set(tags) & {*j.grown.tags})]
        for other in self._assembled.keys() & set(tags) - {tag}:
            self.series(other)  # its arrays keep what was joined before in memory

        return join

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


class _Cut(NamedTuple):
    """Points of a tag that were written in one go."""

    branch: Branch
    points: Points
    counts: BoolArray
    """(n,) which of them no newer one supersedes."""
    is_open: bool
    """Whether nothing is newer."""


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
