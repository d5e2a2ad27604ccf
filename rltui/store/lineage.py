"""What one log format says of a run: the branches of its files, and which count (floor 2).

Restarts. A later file of a run (or a rewritten one) that begins at or below the last step
continues the run on a new branch: for each tag that it logs, it supersedes what older
branches say from its first step on. A writer that says where it starts again (SessionLog
START) supersedes all tags from there. Superseded points are kept.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rltui.core.batch import SourceInfo
from rltui.core.block import BoolArray, FloatArray, IntArray, ValueArray
from rltui.store.branch import Branch, Points


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """All points of one tag, as one kind of source tells them, in the order of the branches."""

    kept: Points
    lost: Points
    """Superseded points."""
    restarts: IntArray
    """Steps at which a later branch took over, ascending."""


class Lineage:
    """Owned by one RunData."""

    def __init__(self) -> None:
        self.branches: list[Branch] = []
        """Oldest first."""
        self.exactness = 0
        self.counted = False
        self._open: dict[Path, Branch] = {}
        self._left_out: set[Path] = set()
        """Files that say the same as an older one."""

    @property
    def tags(self) -> Collection[str]:
        """All tags, in the order in which they were first seen."""
        return dict.fromkeys(t for b in self._counting for t in b.columns)

    def has(self, tag: str) -> bool:
        """Whether it has any point of the tag."""
        return any(tag in b.columns for b in self._counting)

    @property
    def _counting(self) -> list[Branch]:
        if not self._left_out:
            return self.branches
        return [b for b in self.branches if b.path not in self._left_out]

    # -- taking in --------------------------------------------------------------------------

    def branch_for(self, source: SourceInfo, generation: int) -> Branch:
        """The branch to which the next block of a file belongs."""
        branch = self._open.get(source.path)
        if branch is not None and branch.rank[1] == generation:
            return branch
        self.begin(source, generation, None)
        return self._open[source.path]

    def begin(self, source: SourceInfo, generation: int, told_start: int | None) -> set[str]:
        """Begin a branch; returns the tags that this changes."""
        older = self._open.get(source.path)
        same = older is not None and older.rank[1] == generation
        part = older.rank[2] + 1 if same and older is not None else 0
        branch = Branch(source.path, (source.order, generation, part), told_start)
        self._open[source.path] = branch
        self.branches.append(branch)
        self.branches.sort(key=lambda b: b.rank)
        if told_start is None:
            return set()
        return {t for b in self.branches for t in b.columns}

    def replace(self, source: SourceInfo) -> set[str]:
        """Drop what older files, and older contents of this one, said; returns their tags."""
        older = [b for b in self.branches if b.path == source.path or b.rank[0] < source.order]
        self.branches = [b for b in self.branches if b not in older]
        for branch in older:
            self._open.pop(branch.path, None)
        return {t for b in older for t in b.columns}

    def leave_out(self, path: Path) -> set[str]:
        """Do not count a file that says the same as an older one; returns its tags."""
        self._left_out.add(path)
        return {t for b in self.branches if b.path == path for t in b.columns}

    def left_out(self, path: Path) -> bool:
        """Whether a file is not counted."""
        return path in self._left_out

    def take(self, path: Path) -> list[Branch]:
        """Remove and return the branches of a file."""
        moved = [b for b in self.branches if b.path == path]
        self.branches = [b for b in self.branches if b.path != path]
        self._open.pop(path, None)
        return moved

    def give(self, branches: Sequence[Branch]) -> None:
        """Add the branches of a file of another run; the last of them goes on."""
        self.branches.extend(branches)
        self.branches.sort(key=lambda b: b.rank)
        for branch in branches:
            self._open[branch.path] = branch

    def clear(self) -> None:
        """Forget all points; what was learned about the files stays."""
        self.branches = []
        self._open = {}

    # -- steps ------------------------------------------------------------------------------

    @property
    def first_step(self) -> int | None:
        """Lowest step of any tag."""
        firsts = (b.first_step for b in self._counting if b.first_step is not None)
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
        return last

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
        for branch in reversed(self._counting):
            points = branch.points(tag)
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
        unique = np.unique(np.array(restarts, dtype=np.int64))
        return Told(concatenate(kept), concatenate(lost), unique)


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
