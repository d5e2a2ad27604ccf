"""From where to where a run goes: steps, wall times, restarts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rltui.core.block import Block, FloatArray
from rltui.store.branch import Branch
from rltui.store.lineage import Lineage


@dataclass(frozen=True, slots=True)
class Extent:
    """From where to where the points of a run go; all that stays of points that are unloaded."""

    first_step: int | None
    """Lowest step of any tag."""
    last_step: int | None
    """Newest step: the highest one that no later branch has superseded."""
    restarts: tuple[int, ...]
    """Steps at which a later branch took over, for any tag, ascending: those of the most
    precise log format that has any."""
    first_wall_time: float | None
    """Oldest wall time in the logs, or None."""
    last_wall_times: Mapping[Path, float]
    """Newest wall time in each log that has times."""

    @property
    def last_wall_time(self) -> float | None:
        """Newest wall time in the logs, or None."""
        return max(self.last_wall_times.values(), default=None)


def extent_of(lineages: Mapping[str, Lineage]) -> Extent:
    """The extent of all points of a run."""
    found = ranked(lineages)
    # the lineages with real steps, if any
    stepped = [s for s in found if not s.steps_are_row_numbers and s.branches] or found
    branches = [b for s in found for b in s.branches]
    firsts = [b.first_step for s in stepped for b in s.branches if b.first_step is not None]
    lasts = [x for s in stepped if (x := _last_step(s)) is not None]
    began = _wall_times(block for b in branches for block in b.blocks[:1])
    ended: dict[Path, float] = {}
    for branch in branches:
        for walls in _wall_times(branch.blocks[-8:]):
            ended[branch.path] = max(ended.get(branch.path, -np.inf), float(np.nanmax(walls)))
    return Extent(
        min(firsts, default=None),
        max(lasts, default=None),
        next((r for s in stepped if (r := _restarts(s))), ()),
        min((float(np.nanmin(walls)) for walls in began), default=None),
        ended,
    )


def _wall_times(blocks: Iterable[Block]) -> list[FloatArray]:
    """The wall times of the blocks that have any."""
    return [b.wall_times for b in blocks if np.isfinite(b.wall_times).any()]


def ranked(lineages: Mapping[str, Lineage]) -> list[Lineage]:
    """The most precise first; those whose steps are row numbers last."""
    return sorted(lineages.values(), key=lambda s: (s.steps_are_row_numbers, -s.precision_rank))


def _last_step(lineage: Lineage) -> int | None:
    last: int | None = None
    limit: int | None = None
    branches = _originals(lineage)
    for index in range(len(branches) - 1, -1, -1):
        branch = branches[index]
        if branch.last_step is not None:
            end = branch.last_step if limit is None else min(branch.last_step, limit - 1)
            last = end if last is None else max(last, end)
        if _takes_over(branches, index) and branch.start is not None:
            limit = branch.start if limit is None else min(limit, branch.start)
    beyond = [b.last_step for b in lineage.branches if b.path in lineage.copies]
    return max((x for x in (last, *beyond) if x is not None), default=None)


def _restarts(lineage: Lineage) -> tuple[int, ...]:
    branches = _originals(lineage)
    starts = (b.start for i, b in enumerate(branches) if _takes_over(branches, i))
    return tuple(sorted({s for s in starts if s is not None}))


def _originals(lineage: Lineage) -> list[Branch]:
    """The branches, oldest first, without those of copies."""
    return [b for b in lineage.branches if b.path not in lineage.copies]


def _takes_over(branches: Sequence[Branch], index: int) -> bool:
    """Whether a branch supersedes points of an older one."""
    branch = branches[index]
    start = branch.start
    if start is None:
        return False
    for older in branches[:index]:
        if older.last_step is None or older.last_step < start:
            continue
        if branch.declared_start is not None or not branch.columns.keys().isdisjoint(older.columns):
            return True
    return False
