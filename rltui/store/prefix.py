"""A run as it was when it stood at a step: a view on the first part of its points, no copy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from rltui.core.block import IntArray
from rltui.store.point_table import Extent, PointTable
from rltui.store.points import choose, distinct
from rltui.store.run import LogFile, RunData
from rltui.store.series import Derived, DerivedSeries, Series


class PrefixTable(PointTable):
    """The points of another table up to a step. Takes nothing in."""

    def __init__(self, whole: PointTable, step: int) -> None:
        super().__init__()
        self._whole = whole
        self._cut: dict[str, tuple[Series, int, Series]] = {}
        """Tag -> whole series, step, and what is left of it."""
        self._clocks = _clocks(whole)
        self.steps: IntArray = _steps_of(self._clocks)
        """The steps that were logged on the axis of the run, ascending."""
        self.step = step
        self.time = np.nan
        """Newest wall time up to the step, seconds since the epoch; NaN where there is none."""
        self.move_to(step)

    def move_to(self, step: int) -> None:
        """Cut at another step."""
        self.step = step
        self._extent = None
        walls = [s.wall_times[: _count(s, step)] for s in self._clocks]
        self.time = max((float(w[np.isfinite(w)].max(initial=-np.inf)) for w in walls), default=0)
        if not np.isfinite(self.time):
            self.time = np.nan

    @property
    def tags(self) -> tuple[str, ...]:
        return tuple(t for t in self._whole.tags if self.series(t).count)

    @property
    def off_axis(self) -> frozenset[str]:
        return self._whole.off_axis

    @property
    def counts_rows(self) -> bool:
        return self._whole.counts_rows

    @property
    def derived(self) -> Mapping[str, DerivedSeries]:
        return self._whole.derived

    @property
    def extent(self) -> Extent:
        if self._extent is None:
            whole = self._whole.extent
            steps = self.steps[: np.searchsorted(self.steps, self.step, side="right")]
            walls = {p: min(t, self.time) for p, t in whole.last_wall_times.items()}
            last = int(steps[-1]) if len(steps) else None
            self._extent = (
                0,
                replace(
                    whole,
                    last_step=last,
                    restarts=tuple(s for s in whole.restarts if s <= self.step),
                    last_wall_times={} if np.isnan(self.time) else walls,
                ),
            )
        return self._extent[1]

    def derive(self, derived: Derived) -> None:
        self._whole.derive(derived)

    def is_kept(self, tag: str) -> bool:
        return self._whole.is_kept(tag)

    def series(self, tag: str) -> Series:
        whole, known = self._whole.series(tag), self._cut.get(tag)
        if known is not None and known[0] is whole and known[1] == self.step:
            return known[2]
        found = self._part(whole, known)
        self._cut[tag] = whole, self.step, found
        return found

    def _part(self, whole: Series, known: tuple[Series, int, Series] | None) -> Series:
        """The first part of a series; its epoch stays while points are appended only."""
        lost = whole.old_points
        count, old = _count(whole, self.step), int((lost[0] <= self.step).sum())
        if whole.tag in self.off_axis:
            later = np.flatnonzero(~(whole.wall_times <= self.time))
            count, old = int(later[0]) if len(later) else whole.count, 0
        points, lost = choose(whole.points, slice(count)), choose(lost, slice(old))
        restarts = whole.restarts[whole.restarts <= self.step]
        if known is not None and known[0].epoch == whole.epoch:
            before = known[2]
            same = (before.old_count, len(before.restarts)) == (old, len(restarts))
            if same and count == before.count:
                return before
            if same and 0 < before.count < count:
                return before.extended(points)

        return Series.of(whole.tag, points, [lost], restarts)

    def is_finite(self, tag: str) -> bool:
        return self._whole.is_finite(tag)

    def logged(self, tag: str) -> int:
        return self.series(tag).count

    def origins(self, tag: str) -> tuple[Path, ...]:
        return self._whole.origins(tag)


class RunPrefix(RunData):
    """A run as it was at a step. How its logs end is known only at its newest step."""

    def __init__(self, whole: RunData, step: int) -> None:
        super().__init__(whole.key, whole.path)
        self.whole = whole
        self.table: PrefixTable = PrefixTable(whole.table, step)
        self.move_to(step)

    @property
    def step(self) -> int:
        """Where it stands."""
        return self.table.step

    def move_to(self, step: int) -> None:
        """Show another step."""
        self.version += 1
        self.table.move_to(step)
        ended = step >= (self.whole.last_step or 0)
        self.files.notes = self.whole.files.notes
        self.files.by_path = {
            path: file if ended else LogFile(file.source)
            for path, file in self.whole.files.by_path.items()
        }


def _count(series: Series, step: int) -> int:
    """Number of points up to a step."""
    return int(np.searchsorted(series.steps, step, side="right"))


def _clocks(table: PointTable) -> list[Series]:
    """Series on the axis of the run that have all of its steps together: one of each kind of
    row."""
    own = [t for t in table.tags if t not in table.off_axis] or list(table.tags)
    found: dict[tuple[int, int, int], Series] = {}
    for tag in own:
        series = table.series(tag)
        if series.count:
            found.setdefault((series.count, int(series.steps[0]), int(series.steps[-1])), series)
    return list(found.values())


def _steps_of(clocks: Sequence[Series]) -> IntArray:
    """The steps of all of these series."""
    if not clocks:
        return np.empty(0, np.int64)
    if len(clocks) == 1:
        return clocks[0].distinct_steps
    # a stable sort merges arrays that are sorted already
    return distinct(np.sort(np.concatenate([s.steps for s in clocks]), kind="stable"))
