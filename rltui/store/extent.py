"""From where to where a run goes: steps, wall times, restarts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rltui.store.branch import Branch
from rltui.store.lineage import Lineage


@dataclass(frozen=True, slots=True)
class Summary:
    """An :class:`Extent` at one moment; all that stays of points that are unloaded."""

    first_step: int | None
    last_step: int | None
    restarts: tuple[int, ...]
    first_wall_time: float | None
    last_wall_time: float | None


class Extent:
    """The extent of all points of a run, worked out when it is read."""

    def __init__(self, lineages: Mapping[str, Lineage]) -> None:
        self._lineages = lineages

    def summary(self) -> Summary:
        """The extent as it is now."""
        return Summary(
            self.first_step,
            self.last_step,
            self.restarts,
            self.first_wall_time,
            self.last_wall_time,
        )

    @property
    def first_step(self) -> int | None:
        """Lowest step of any tag."""
        branches = (b for s in self._with_steps() for b in s.branches)
        return min((b.first_step for b in branches if b.first_step is not None), default=None)

    @property
    def last_step(self) -> int | None:
        """Newest step: the highest one that no later branch has superseded."""
        lasts = (_last_step(s) for s in self._with_steps())
        return max((x for x in lasts if x is not None), default=None)

    @property
    def restarts(self) -> tuple[int, ...]:
        """Steps at which a later branch took over, for any tag, ascending: those of the most
        precise log format that has any."""
        return next((r for s in self._with_steps() if (r := _restarts(s))), ())

    @property
    def first_wall_time(self) -> float | None:
        """Oldest wall time in the logs, or None."""
        firsts = [
            float(np.nanmin(block.wall_times))
            for lineage in self._lineages.values()
            for branch in lineage.branches
            for block in branch.blocks[:1]
            if np.isfinite(block.wall_times).any()
        ]
        return min(firsts, default=None)

    @property
    def last_wall_time(self) -> float | None:
        """Newest wall time in the logs, or None."""
        best = -np.inf
        for lineage in self._lineages.values():
            for branch in lineage.branches:
                for block in branch.blocks[-8:]:
                    if np.isfinite(block.wall_times).any():
                        best = max(best, float(np.nanmax(block.wall_times)))
        return best if np.isfinite(best) else None

    def _with_steps(self) -> list[Lineage]:
        """The lineages with real steps, if any; the most precise first."""
        found = ranked(self._lineages)
        return [s for s in found if not s.steps_are_row_numbers and s.branches] or found


def ranked(lineages: Mapping[str, Lineage]) -> list[Lineage]:
    """The most precise first; those whose steps are row numbers last."""
    return sorted(lineages.values(), key=lambda s: (s.steps_are_row_numbers, -s.precision_rank))


def _last_step(lineage: Lineage) -> int | None:
    last: int | None = None
    limit: int | None = None
    branches = lineage.originals()
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
    branches = lineage.originals()
    starts = (b.start for i, b in enumerate(branches) if _takes_over(branches, i))
    return tuple(sorted({s for s in starts if s is not None}))


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
