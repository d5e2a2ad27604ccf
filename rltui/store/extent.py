"""From where to where a run goes: steps, wall times, restarts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rltui.core.block import Block, FloatArray
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
    began = _wall_times(block for b in branches for block in b.blocks[:1])
    ended: dict[Path, float] = {}
    for branch in branches:
        for walls in _wall_times(branch.blocks[-8:]):
            ended[branch.path] = max(ended.get(branch.path, -np.inf), float(np.nanmax(walls)))
    return Extent(
        min((x for x in firsts if x is not None), default=None),
        max((x for x in lasts if x is not None), default=None),
        next((r for s in stepped if (r := restarts(_originals(s)))), ()),
        min((float(np.nanmin(walls)) for walls in began), default=None),
        ended,
    )


def _wall_times(blocks: Iterable[Block]) -> list[FloatArray]:
    """The wall times of the blocks that have any."""
    return [b.wall_times for b in blocks if np.isfinite(b.wall_times).any()]


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
