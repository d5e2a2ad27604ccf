"""From where to where a run goes: steps, wall times, restarts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from rltui.store.branch import Branch
from rltui.store.lineage import Lineage
from rltui.store.takeover import first_step, last_step, restarts


@dataclass(frozen=True, slots=True)
class Extent:
    """From where to where the points of a run go; all that stays of points that are unloaded."""

    first_step: int | None
    """Lowest step of any tag on the axis of the run."""
    last_step: int | None
    """Newest step on that axis: the highest one that no later branch has superseded."""
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


def extent_of(lineages: Mapping[str, Lineage], off_axis: Collection[str] = ()) -> Extent:
    """The extent of all points of a run; ``off_axis``: tags whose steps are not those of it."""
    found = ranked(lineages)
    # the lineages with real steps, if any
    stepped = [s for s in found if not s.trust.off_axis and s.branches] or found
    branches = [b for s in found for b in s.branches]
    firsts = (first_step(s.branches, off_axis) for s in stepped)
    lasts = (_last_step(s, off_axis) for s in stepped)
    timed = [b for b in branches if b.earliest <= b.latest]
    ended: dict[Path, float] = {}
    for branch in timed:
        ended[branch.path] = max(ended.get(branch.path, branch.latest), branch.latest)
    return Extent(
        min((x for x in firsts if x is not None), default=None),
        max((x for x in lasts if x is not None), default=None),
        next((r for s in stepped if (r := restarts(_originals(s)))), ()),
        min((b.earliest for b in timed), default=None),
        ended,
    )


def ranked(lineages: Mapping[str, Lineage]) -> list[Lineage]:
    """The most precise first; those whose steps are not those of the run last."""
    return sorted(lineages.values(), key=lambda s: (s.trust.off_axis, -s.trust.precision_rank))


def _last_step(lineage: Lineage, off_axis: Collection[str]) -> int | None:
    copies = ([b] for b in lineage.branches if b.path in lineage.copies)
    lasts = (last_step(part, off_axis) for part in (_originals(lineage), *copies))
    return max((x for x in lasts if x is not None), default=None)


def _originals(lineage: Lineage) -> list[Branch]:
    """The branches, oldest first, without those of copies."""
    return [b for b in lineage.branches if b.path not in lineage.copies]
