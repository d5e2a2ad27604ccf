"""What one log format says of a run: the branches of its files, and which count.

Restarts. A later file of a run (or a rewritten one) that begins at or below the last step
continues the run on a new branch: for each tag that it logs, it supersedes what older
branches say from its first step on. A writer that says where it starts again (SessionLog
START) supersedes all tags from there. Superseded points are kept.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rltui.core.batch import SourceInfo
from rltui.core.block import Block, BoolArray, FloatArray, IntArray, ValueArray
from rltui.store.branch import Branch, Points


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """All points of one tag, as one kind of source tells them, in the order of the branches."""

    kept: Points
    lost: Points
    """Superseded points."""
    restarts: IntArray
    """Steps at which a later branch took over, ascending."""


#: Before any step.
_NOWHERE = -(1 << 63)


class Lineage:
    """Owned by one RunData."""

    def __init__(self) -> None:
        self.branches: list[Branch] = []
        """Oldest first."""
        self.exactness = 0
        self._counted: dict[Path, bool] = {}
        self._open: dict[Path, Branch] = {}
        self._copies: dict[Path, Path] = {}
        """Files that say the same as an older one, and that one: only what they have beyond
        it counts."""
        self._tags: dict[str, None] = {}

    @property
    def counted(self) -> bool:
        """Whether its steps are row numbers, because none of its files tells any."""
        return bool(self._counted) and all(self._counted.values())

    def has(self, tag: str) -> bool:
        """Whether it has any point of the tag."""
        return any(tag in b.columns for b in self.branches)

    @property
    def _counting(self) -> list[Branch]:
        if not self._copies:
            return self.branches
        return [b for b in self.branches if b.path not in self._copies]

    # -- taking in --------------------------------------------------------------------------

    def know(self, source: SourceInfo) -> bool:
        """Learn of a file; whether this changes what its steps mean."""
        before, self.exactness = self.counted, source.exactness
        self._counted[source.path] = source.counted
        return self.counted is not before and bool(self.branches)

    def append(self, source: SourceInfo, generation: int, block: Block) -> None:
        """Add a block at the end of a file."""
        branch = self._open.get(source.path)
        if branch is None or branch.rank[1] != generation:
            self.begin(source, generation, None)
            branch = self._open[source.path]
        branch.append(block)
        self._tags.update(dict.fromkeys(block.tags))

    def begin(self, source: SourceInfo, generation: int, told_start: int | None) -> Collection[str]:
        """Begin a branch; returns the tags that this changes."""
        older = self._open.get(source.path)
        same = older is not None and older.rank[1] == generation
        part = older.rank[2] + 1 if same and older is not None else 0
        branch = Branch(source.path, (source.order, generation, part), told_start)
        self._open[source.path] = branch
        insort(self.branches, branch, key=_rank)
        return () if told_start is None else self._tags

    def replace(self, source: SourceInfo, *, older_too: bool) -> set[str]:
        """Drop what a file said so far, and what older files said if it is the newest state of
        one document; returns their tags."""
        rank = source.order if older_too else -1
        dropped = [b for b in self.branches if b.path == source.path or b.rank[0] < rank]
        self.branches = [b for b in self.branches if b not in dropped]
        for branch in dropped:
            self._open.pop(branch.path, None)
        return {t for b in dropped for t in b.columns}

    def mark_copy(self, path: Path, of: Path | None) -> set[str]:
        """Count of a file only what it has beyond another one (None: all); returns its tags."""
        if of is None:
            self._copies.pop(path, None)
        else:
            self._copies[path] = of
        return {t for b in self.branches if b.path == path for t in b.columns}

    def original(self, path: Path) -> Path | None:
        """The file that a file is a copy of."""
        return self._copies.get(path)

    def branches_of(self, path: Path) -> list[Branch]:
        """What a file said, oldest first."""
        return [b for b in self.branches if b.path == path]

    def take(self, path: Path) -> list[Branch]:
        """Remove and return the branches of a file."""
        moved = [b for b in self.branches if b.path == path]
        self.branches = [b for b in self.branches if b.path != path]
        self._open.pop(path, None)
        self._counted.pop(path, None)
        self._copies = {c: o for c, o in self._copies.items() if path not in (c, o)}
        return moved

    def give(self, branches: Sequence[Branch]) -> None:
        """Add the branches of a file of another run; the last of them goes on."""
        self.branches.extend(branches)
        self.branches.sort(key=_rank)
        for branch in branches:
            self._open[branch.path] = branch
            self._tags.update(dict.fromkeys(branch.columns))

    def clear(self) -> None:
        """Forget all points; what was learned about the files stays."""
        self.branches = []
        self._open = {}

    # -- steps ------------------------------------------------------------------------------

    @property
    def first_step(self) -> int | None:
        """Lowest step of any tag."""
        firsts = (b.first_step for b in self.branches if b.first_step is not None)
        return min(firsts, default=None)

    @property
    def last_step(self) -> int | None:
        """Newest step: the highest one that no later branch has superseded."""
        last: int | None = None
        limit: int | None = None
        branches = self._counting
        for index in range(len(branches) - 1, -1, -1):
            branch = branches[index]
            if branch.last_step is not None:
                end = branch.last_step if limit is None else min(branch.last_step, limit - 1)
                last = end if last is None else max(last, end)
            if _takes_over(branches, index) and branch.start is not None:
                limit = branch.start if limit is None else min(limit, branch.start)
        beyond = [b.last_step for b in self.branches if b.path in self._copies]
        return max((x for x in (last, *beyond) if x is not None), default=None)

    @property
    def restarts(self) -> tuple[int, ...]:
        """Steps at which a later branch took over, for any tag, ascending."""
        branches = self._counting
        starts = (b.start for i, b in enumerate(branches) if _takes_over(branches, i))
        return tuple(sorted({s for s in starts if s is not None}))

    # -- points -----------------------------------------------------------------------------

    def told(self, tag: str) -> Told:
        """The points of a tag."""
        kept: list[Points] = []
        lost: list[Points] = []
        restarts: list[int] = []
        limit: int | None = None
        for branch in reversed(self.branches):
            points = branch.points(tag)
            if branch.path in self._copies:
                points = choose(points, points[0] > self._end_of(self._copies[branch.path]))
                kept[:0] = [points] if len(points[0]) else []
                continue
            if limit is not None and len(points[0]):
                live = points[0] < limit
                if not live.all():
                    restarts.append(limit)
                    lost.insert(0, choose(points, ~live))
                    points = choose(points, live)
            if len(points[0]):
                kept.insert(0, points)
            if branch.start is not None and (
                tag in branch.columns or branch.told_start is not None
            ):
                limit = branch.start if limit is None else min(limit, branch.start)
        # numpy.unique would import numpy.ma, for as long as a screen takes to draw
        unique = np.array(sorted(set(restarts)), dtype=np.int64)
        return Told(concatenate(kept), concatenate(lost), unique)

    def _end_of(self, path: Path) -> int:
        """Highest step of a file."""
        lasts = (b.last_step for b in self.branches_of(path) if b.last_step is not None)
        return max(lasts, default=_NOWHERE)


def _rank(branch: Branch) -> tuple[int, int, int]:
    return branch.rank


def _takes_over(branches: Sequence[Branch], index: int) -> bool:
    branch = branches[index]
    start = branch.start
    if start is None:
        return False
    for older in branches[:index]:
        if older.last_step is None or older.last_step < start:
            continue
        if branch.told_start is not None or not branch.columns.keys().isdisjoint(older.columns):
            return True
    return False


def choose(points: Points, keep: BoolArray | IntArray) -> Points:
    """The chosen ones of some points."""
    return points[0][keep], points[1][keep], points[2][keep]


def concatenate(parts: Sequence[tuple[IntArray, FloatArray, ValueArray]]) -> Points:
    """Points one after the other; empty for no parts."""
    if not parts:
        return np.empty(0, np.int64), np.empty(0), np.empty(0, np.float32)
    if len(parts) == 1:
        return parts[0]
    steps, walls, values = zip(*parts, strict=True)
    return np.concatenate(steps), np.concatenate(walls), np.concatenate(values)
