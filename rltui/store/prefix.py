"""A run as it was when it stood at a step: a view on the first part of its points, no copy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rltui.core.block import IntArray
from rltui.store.point_table import Extent, PointTable
from rltui.store.points import choose, distinct
from rltui.store.run import LogFile, RunData
from rltui.store.series import Series


class PrefixTable(PointTable):
    """The points of another table up to a step. Takes nothing in."""

    def __init__(self, whole: PointTable, step: int) -> None:
        super().__init__()
        self._whole = whole
        self.lineages, self.derived = whole.lineages, whole.derived
        self._axes, self._tags = whole._axes, whole._tags
        self._cut: dict[str, tuple[Series, int, Series]] = {}
        """Tag -> whole series, step, and what is left of it."""

        # together they have all steps of the run: one series of each kind of row
        clocks: dict[tuple[int, int, int], Series] = {}
        tags = [t for t in whole.tags if t not in whole.off_axis] or list(whole.tags)
        for series in filter(lambda s: s.count, map(whole.series, tags)):
            kind = series.count, int(series.steps[0]), int(series.steps[-1])
            clocks.setdefault(kind, series)
        self._clocks = list(clocks.values())
        logged = [s.steps for s in self._clocks] or [np.empty(0, np.int64)]
        # a stable sort merges arrays that are sorted already
        self.steps: IntArray = distinct(np.sort(np.concatenate(logged), kind="stable"))
        """The steps that were logged on the axis of the run, ascending."""
        self.move_to(step)

    def move_to(self, step: int) -> None:
        """Cut at another step."""
        self.step = step
        self._extent = None
        walls = [s.wall_times[: np.searchsorted(s.steps, step, side="right")] for s in self._clocks]
        newest = (float(w[np.isfinite(w)].max(initial=-np.inf)) for w in walls)
        time = max(newest, default=-np.inf)
        self.time = time if np.isfinite(time) else np.nan
        """Newest wall time up to the step, seconds since the epoch; NaN where there is none."""

    @property
    def tags(self) -> tuple[str, ...]:
        return tuple(t for t in self._whole.tags if self.series(t).count)

    @property
    def extent(self) -> Extent:
        if self._extent is None:
            whole = self._whole.extent
            steps = self.steps[: np.searchsorted(self.steps, self.step, side="right")]
            walls = {p: min(t, self.time) for p, t in whole.last_wall_times.items()}
            self._extent = replace(
                whole,
                last_step=int(steps[-1]) if len(steps) else None,
                restarts=tuple(s for s in whole.restarts if s <= self.step),
                last_wall_times={} if np.isnan(self.time) else walls,
            )
        return self._extent

    def series(self, tag: str) -> Series:
        whole, known = self._whole.series(tag), self._cut.get(tag)
        if known is not None and known[0] is whole and known[1] == self.step:
            return known[2]
        lost = whole.old_points
        count = int(np.searchsorted(whole.steps, self.step, side="right"))
        old = int((lost[0] <= self.step).sum())
        if tag in self.off_axis:
            later = np.flatnonzero(~(whole.wall_times <= self.time))
            count, old = int(later[0]) if len(later) else whole.count, 0
        points, lost = choose(whole.points, slice(count)), choose(lost, slice(old))
        found = Series.of(tag, points, [lost], whole.restarts[whole.restarts <= self.step])
        if known is not None:
            found = found.with_history(known[2])
        self._cut[tag] = whole, self.step, found
        return found

    def logged(self, tag: str) -> int:
        return self.series(tag).count


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
