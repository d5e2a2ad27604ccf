"""The points of one run by tag: the lineages of its log formats, merged into series."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, groupby, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rltui.core.batch import NO_CLOCK, Batch, Restart, SourceInfo, Sources, blocks_in
from rltui.core.block import MACHINE, Block, IntArray
from rltui.core.text import Names
from rltui.store.axes import AxisCheck
from rltui.store.branch import Branch
from rltui.store.lanes import RunLanes
from rltui.store.lineage import Lineage
from rltui.store.log_clock import shift_of
from rltui.store.merge import filled
from rltui.store.pace import Pace, PacedLog
from rltui.store.points import Points, choose, concatenate, distinct, measured
from rltui.store.restarts import first_step
from rltui.store.series import Derived, DerivedSeries, Series


class PointTable:
    """Owned by one RunData. Each log format is one :class:`Lineage`; :meth:`series` joins them."""

    def __init__(self) -> None:
        self.lineages: dict[str, Lineage] = {}
        """Log format -> what was logged in it."""
        self.derived: dict[str, DerivedSeries] = {}
        """The derived series, by tag."""
        self._beside = RunLanes()
        """Rows logged beside the training, in any format."""
        self._shifts: dict[Path, float] = {}
        """Log -> seconds from its times to the true ones."""
        self._pace: Pace | None = None
        self.paced: dict[Path, PacedLog] = {}
        """The logs whose times are sums of durations."""
        self._clock: Points | None = None
        """See :meth:`_find_clock`; None once points have changed."""
        self._axes = AxisCheck(self.lineages)
        self._extent: RunExtent | None = None
        """None once points have changed."""
        self._tags: dict[str, None] = {}
        """All tags in the order in which they were first seen, those of :attr:`_axes` that are
        doubles too."""
        self._series: dict[str, Series] = {}
        """Series as of the last read."""
        self._stale: set[str] = set()
        """Tags whose points have changed since."""
        self._merged: set[str] = set()
        """Tags to whose series several log formats contributed."""

    # -- taking in --------------------------------------------------------------------------

    def add(self, batch: Batch) -> None:
        """Take the points of one batch in."""
        changed = self._add(batch)
        self._tags.update(changed)
        if changed:
            self.touch(changed)
            self.touch(self._beside.tags)
        if len(self.lineages) > 1 and self._axes.settle_logs():
            self.touch(self._tags)
        if self._axes.settle_tags():
            self.touch(())
        if batch.replaced:
            self._forget_lost_tags()

    def reload(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Take in what was read again, one batch at each step; the tags stay as they are."""
        for batch in batches:
            self._add(batch)
            yield batch
        self._series, self._extent, self._clock = {}, None, None

    def _add(self, batch: Batch) -> dict[str, None]:
        """Give the points to their lineage; returns the tags that changed."""
        changed: dict[str, None] = {}  # a set would lose the order of the log
        source = batch.source
        if not batch.items and not batch.replaced and source.clock == NO_CLOCK:
            return changed
        items, beside = self._beside.take(batch)
        changed.update(beside)
        if beside and not items and source.format not in self.lineages:
            return changed
        lineage = self.lineages.setdefault(source.format, Lineage())
        if lineage.register(source):
            changed.update(self._tags)
        if batch.replaced:
            dropped = lineage.replace(source, batch.generation, older_too=batch.document)
            changed.update(dict.fromkeys(dropped))
        items, others = self._timed(batch, lineage, items)
        changed.update(dict.fromkeys(others))
        for item in items:
            if isinstance(item, Restart):
                lineage.begin(source, batch.generation, item.step)
                changed.update(dict.fromkeys(lineage.tags))
            elif len(item.steps):
                lineage.append(source, batch.generation, item)
                self._axes.count(source.format, len(item.steps))
                changed.update(dict.fromkeys(item.tags))
        return changed

    def time_by(self, pace: Pace, sources: Sources) -> None:
        """Give the rows of logs without times those that a tag tells; the first one counts."""
        if self._pace is not None:
            return
        self._pace = pace
        for lineage in self.lineages.values():
            for path in {b.path for b in lineage.branches} & sources.keys():
                if not any(b.earliest <= b.latest for b in lineage.branches_of(path)):
                    paced = self.paced[path] = PacedLog(pace)
                    lineage.time(path, paced.times)
                    self._set_clock(sources[path]._replace(clock=paced.clock), lineage)
        self.touch(self._tags)

    def _timed(
        self, batch: Batch, lineage: Lineage, items: Sequence[Block | Restart]
    ) -> tuple[list[Block | Restart], list[str]]:
        """The items with their true times, and the tags whose older points get others."""
        source, path = batch.source, batch.source.path
        if batch.replaced:
            self.paced.pop(path, None)
        timed = any(b.earliest <= b.latest for b in lineage.branches_of(path))
        if self._pace is not None and path not in self.paced and not timed:
            undated = all(np.isnan(b.wall_times).all() for b in blocks_in(items))
            if undated:
                self.paced[path] = PacedLog(self._pace)
        paced = self.paced.get(path)
        found: list[Block | Restart] = []
        for restarts, group in groupby(items, lambda item: isinstance(item, Restart)):
            some = list(group)
            if paced is not None and not restarts:
                own = blocks_in(some)
                walls = paced.times(own)
                some = [replace(b, wall_times=w) for b, w in zip(own, walls, strict=True)]
            found += some
        if paced is not None:
            source = source._replace(clock=NO_CLOCK if batch.more else paced.clock)
        changed = self._set_clock(source, lineage)
        shift = self._shifts.get(path, 0.0)
        for at, item in enumerate(found if shift else ()):
            if isinstance(item, Block):
                found[at] = replace(item, wall_times=item.wall_times + shift)
        return found, changed

    def _set_clock(self, source: SourceInfo, lineage: Lineage) -> list[str]:
        """Learn how far the times in a log are off; returns the tags whose times this changes."""
        if source.clock == NO_CLOCK:
            return []
        known = self._shifts.get(source.path)
        shift = self._shifts[source.path] = shift_of(source, known)
        by = shift - (known or 0.0)
        if not by:
            return []
        return lineage.time(source.path, lambda blocks: [b.wall_times + by for b in blocks])

    def touch(self, tags: Iterable[str]) -> None:
        """Mark the points of some tags as changed."""
        self._stale.update(tags)
        for tag in self._stale & self._series.keys() - self._merged:
            if self._series[tag].values.base is not None:
                del self._series[tag]  # it would keep in memory what it was a view of
        self._extent = self._clock = None

    def move(self, source: SourceInfo, into: PointTable) -> None:
        """Give the points of a file to another run."""
        moved = self._beside.move(source.path, into._beside)
        into._beside.sources[source.path] = source
        into._shifts |= {p: s for p, s in self._shifts.items() if p == source.path}
        lineage = self.lineages.get(source.format)
        if lineage is not None or not source.lanes.tags:
            other = into.lineages.setdefault(source.format, Lineage())
            other.register(source)
            moved += lineage.move(source.path, other) if lineage is not None else []
        into._tags.update(dict.fromkeys(t for b in moved for t in b.columns))
        for table in (self, into):
            table._axes.forget()
            # what is left may count differently now: copies lose their original, steps their
            # meaning
            table.touch(table._tags)
        self._forget_lost_tags()

    def clear(self, keep: Iterable[str]) -> None:
        """Drop the points, but for detached series of some tags; the tags and the extent stay."""
        self._extent = self.extent
        kept = {tag: self.series(tag).detached() for tag in keep if tag in self._tags}
        self.clear_logs()
        self._series, self._stale = kept, set()
        self.derived.update({t: DerivedSeries(d.derived) for t, d in self.derived.items()})

    def clear_logs(self) -> None:
        """Drop what was read of every log, nothing else."""
        for log in self._logs:
            log.clear()
        self.paced = {path: PacedLog(self._pace) for path in self.paced if self._pace}

    def _forget_lost_tags(self) -> None:
        kept = {t for b in self._branches() for t in b.columns}
        for tag in self._tags.keys() - kept:
            del self._tags[tag]

    # -- reading ----------------------------------------------------------------------------

    @property
    def tags(self) -> Names:
        """All logged tags, in the order in which they were first seen."""
        return self.some_tags(len(self._tags))

    @property
    def tag_count(self) -> int:
        """Number of logged tags."""
        return len(self._tags) - len(self._axes.doubles & self._tags.keys())

    def some_tags(self, most: int, names: Collection[str] = ()) -> Names:
        """The tags that were seen first, at most so many, and the logged ones of ``names``."""
        doubles = self._axes.doubles
        first = islice((t for t in self._tags if t not in doubles), most)
        wanted = (t for t in names if t in self._tags and t not in doubles)
        return tuple(dict.fromkeys(chain(first, wanted)))

    @property
    def off_axis(self) -> frozenset[str]:
        """The tags whose steps are not those of the run: they count seconds, episodes, ..."""
        if not self._beside.branches:
            return self._axes.off_axis
        return self._axes.off_axis | self._beside.unplaced(self._find_clock())

    @property
    def counts_rows(self) -> bool:
        """Whether the steps are row numbers, because no log has steps."""
        trusts = [s.trust for s in self.lineages.values() if s.trust.files]
        return bool(trusts) and all(t.row_numbered for t in trusts)

    @property
    def extent(self) -> RunExtent:
        """From where to where the points go; the same object until they change."""
        if self._extent is not None:
            return self._extent
        if self._beside.branches and not len(self._find_clock()[0]):
            own = np.concatenate([self.series(tag).steps for tag in self._beside.tags])
            self._extent = RunExtent(int(own.min()), int(own.max()), (), None, {})
            return self._extent

        timed = [b for b in self._branches(self.lineages.values()) if b.earliest <= b.latest]
        ended: dict[Path, float] = {}
        for branch in timed:
            ended[branch.path] = max(ended.get(branch.path, branch.latest), branch.latest)
        found = self._ranked()
        # the lineages with real steps, if any
        found = [s for s in found if not s.trust.off_axis and s.branches] or found
        steps: list[int] = []
        restarts: tuple[int, ...] = ()
        for lineage in found:
            last, begun = lineage.span(self.off_axis)
            steps += [] if last is None else [last]
            restarts = restarts or begun
        firsts = [first_step(s.branches, self.off_axis) for s in found]

        self._extent = RunExtent(
            min((first for first in firsts if first is not None), default=None),
            max(steps, default=None),
            restarts,
            min((b.earliest for b in timed), default=None),
            ended,
        )
        return self._extent

    def may_have_times(self, tag: str) -> bool:
        """Whether some point of the files with a tag has a wall time, or none is in memory.
        Builds no series."""
        having = [b for b in self._branches() if tag in b.columns]
        return not having or any(b.earliest <= b.latest for b in having)

    def derive(self, derived: Derived) -> None:
        """Add a series under ``derived.tag`` that follows from two logged ones."""
        known = self.derived.get(derived.tag)
        if known is None or known.derived != derived:
            self.derived[derived.tag] = DerivedSeries(derived)

    def is_kept(self, tag: str) -> bool:
        """Whether the series of a tag is known without reading any point."""
        return tag in self._series and tag not in self._stale

    def series(self, tag: str) -> Series:
        """All points of a tag: the same object until they change. Empty for an unknown tag."""
        derived = self.derived.get(tag)
        if derived is not None:
            own = derived.derived
            return derived.of(self.series(own.first), self.series(own.second))
        if tag not in self._tags:
            return Series.empty(tag)
        if tag in self._stale or tag not in self._series:
            series, before = self._build(tag), self._series.get(tag)
            # NaN may mean that a row lies between two measurements
            kept = None if self.is_finite(tag) else measured(series.values)
            if kept is not None:
                points = choose(series.points, kept)
                series = Series.of(tag, points, series.superseded, series.restarts)
                series = series if before is None else series.with_history(before)
            self._series[tag] = series
            self._stale.discard(tag)

        return self._series[tag]

    def is_finite(self, tag: str) -> bool:
        """Whether all logged points of a tag are known to be finite; builds no series."""
        known = tag in self._tags and not any(tag in b.not_finite for b in self._branches())
        return known or tag in self.derived

    def logged(self, tag: str) -> int:
        """Number of points of a tag in all files, superseded ones too; merges nothing."""
        return sum(b.count(tag) for b in self._branches())

    def origins(self, tag: str) -> tuple[Path, ...]:
        """The files that have points of a tag, the most trusted first."""
        derived = self.derived.get(tag)
        if derived is not None:
            own = derived.derived
            return tuple(dict.fromkeys((*self.origins(own.first), *self.origins(own.second))))
        logs = (*self._ranked(), self._beside)
        branches = [b for s in logs for b in s.branches if tag in b.columns]

        return tuple(dict.fromkeys(b.path for b in branches))

    @property
    def nbytes(self) -> int:
        """Bytes held by points, as they were read and as they were last merged."""
        held = sum(s.nbytes for s in self._logs)
        merged: dict[int, int] = {}  # several series may share their steps
        for series in self._series.values():
            merged |= series.buffers
        return held + sum(merged.values())

    @property
    def _logs(self) -> tuple[Lineage, ...]:
        return (*self.lineages.values(), self._beside)

    def _branches(self, logs: Iterable[Lineage] | None = None) -> list[Branch]:
        return [b for s in (self._logs if logs is None else logs) for b in s.branches]

    def _build(self, tag: str) -> Series:
        having = [s for s in self._ranked() if s.has(tag)]
        having.sort(key=lambda s: s.guesses(tag))
        if not having:
            if not self._beside.has(tag):
                return Series.empty(tag)
            # it was logged beside the training
            ended = {b.path: b.latest for b in self._branches(self.lineages.values())}
            placed = self._beside.placed(tag, self._find_clock(), ended)
            known = self._series.get(tag)
            series = Series.of(tag, placed, (), np.empty(0, np.int64))
            return series if known is None else series.with_history(known)
        best, first = having[0], having[0].series(tag)
        # a log that does not give its steps adds nothing to one that does
        others = [s for s in having[1:] if s.trust.is_on_axis and not s.guesses(tag)]
        before = self._series.get(tag) if tag in self._merged else None
        if not others and best.trust.scale is None:
            self._merged.discard(tag)
            return first
        points = _scaled(best, first.points)
        for other in others:
            proven = other.trust.scale is not None or self._axes.on_one_axis(best, other)
            more, rank = _scaled(other, other.series(tag).points), other.trust.precision_rank
            points = filled(points, more, rank, proven=proven)
        old = (_scaled(best, piece) for piece in first.superseded)
        series = Series.of(tag, points, old, first.restarts)
        self._merged.add(tag)

        return series if before is None else series.with_history(before)

    def _find_clock(self) -> Points:
        """The newest point of each step of the tag with most points, preferably with times; no
        points without a training."""
        for lineage in self._ranked() if self._clock is None else ():
            counts = {t: sum(b.count(t) for b in lineage.branches) for t in lineage.tags}
            own = (t for t in counts.keys() - self._axes.off_axis if not t.startswith(MACHINE))
            most = max(own, key=counts.__getitem__, default="")
            steps, walls, values = _scaled(lineage, lineage.series(most).points)
            newest = np.append(steps[1:] != steps[:-1], [True] * bool(len(steps)))
            if self._clock is None or not np.isfinite(self._clock[1]).any():
                self._clock = choose((steps, walls, values), newest)

        return concatenate(()) if self._clock is None else self._clock

    def _ranked(self) -> list[Lineage]:
        """The most precise first; those whose steps are not those of the run last."""
        return sorted(
            self.lineages.values(), key=lambda s: (s.trust.off_axis, -s.trust.precision_rank)
        )


def _scaled(lineage: Lineage, points: Points) -> Points:
    """Points with the steps of the run."""
    scale = lineage.trust.scale
    return points if scale is None else (scale.of(points[0]), points[1], points[2])


class RunExtent(NamedTuple):
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


class PrefixTable(PointTable):
    """The points of another table up to a step. Takes nothing in."""

    def __init__(self, whole: PointTable, step: int) -> None:
        super().__init__()
        self._whole = whole
        self.lineages = whole.lineages
        self.derived = whole.derived
        self._axes, self._tags, self._beside = whole._axes, whole._tags, whole._beside
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
    def tags(self) -> Names:
        return tuple(t for t in self._whole.tags if self.series(t).count)

    @property
    def extent(self) -> RunExtent:
        if self._extent is None:
            whole = self._whole.extent
            steps = self.steps[: np.searchsorted(self.steps, self.step, side="right")]
            walls = {p: min(t, self.time) for p, t in whole.last_wall_times.items()}
            self._extent = whole._replace(
                last_step=int(steps[-1]) if len(steps) else None,
                restarts=tuple(s for s in whole.restarts if s <= self.step),
                last_wall_times={} if np.isnan(self.time) else walls,
            )

        return self._extent

    def series(self, tag: str) -> Series:
        whole = self._whole.series(tag)
        known = self._cut.get(tag)
        if known is not None and known[0] is whole and known[1] == self.step:
            return known[2]
        lost = whole.old_points
        count = whole.rows_until(self.step)
        old = int((lost[0] <= self.step).sum())
        if tag in self.off_axis:
            later = np.flatnonzero(~(whole.wall_times <= self.time))
            count = int(later[0]) if len(later) else whole.count
            old = 0
        points = choose(whole.points, slice(count))
        lost = choose(lost, slice(old))
        found = Series.of(tag, points, [lost], whole.restarts[whole.restarts <= self.step])
        if known is not None:
            found = found.with_history(known[2])
        self._cut[tag] = whole, self.step, found

        return found

    def logged(self, tag: str) -> int:
        return self.series(tag).count
