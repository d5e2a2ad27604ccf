"""The points of one run by tag: the lineages of its log formats, merged into series."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from rltui.core.batch import Batch, Restart, SourceInfo
from rltui.store.axes import AxisCheck
from rltui.store.branch import Branch
from rltui.store.lineage import Lineage
from rltui.store.merge import filled, first_step, last_step, restarts
from rltui.store.points import Points
from rltui.store.series import Derived, DerivedSeries, Series


@dataclass(frozen=True, slots=True, eq=False)
class _Built:
    """A series as of the last read."""

    series: Series
    changed_at: int
    """Value of ``PointTable._changed_at`` of the tag then."""
    is_merged: bool
    """Whether several log formats contributed."""


class PointTable:
    """Owned by one RunData. Each log format is one :class:`Lineage`; :meth:`series` joins them."""

    def __init__(self) -> None:
        self.lineages: dict[str, Lineage] = {}
        """Log format -> what was logged in it."""
        self._axes = AxisCheck(self.lineages)
        self._extent: tuple[int, Extent] | None = None
        """The extent, and the clock at which it was worked out."""
        self._clock = 0
        self._changed_at: dict[str, int] = {}
        """Tag -> when its points last changed; in the order in which tags were first seen."""
        self._series: dict[str, _Built] = {}
        self._derived: dict[str, DerivedSeries] = {}

    # -- taking in --------------------------------------------------------------------------

    def add(self, batch: Batch) -> frozenset[str]:
        """Take the points of one batch in; returns the tags that changed."""
        changed = self._add(batch)
        self.touch(changed)
        if len(self.lineages) > 1 and self._axes.settle_logs():
            changed = dict.fromkeys(self._changed_at)
            self.touch(changed)
        if self._axes.settle_tags():
            self.touch(())
        if batch.replaced:
            self._forget_lost_tags()
        return frozenset(changed)

    def reload(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Take in what was read again, one batch at each step; the tags stay as they are."""
        for batch in batches:
            self._add(batch)
            yield batch
        self._series, self._extent = {}, None

    def _add(self, batch: Batch) -> dict[str, None]:
        changed: dict[str, None] = {}  # a set would lose the order of the log
        if not batch.items and not batch.replaced:
            return changed
        source = batch.source
        lineage = self.lineages.setdefault(source.format, Lineage())
        if lineage.register(source):
            changed.update(dict.fromkeys(self._changed_at))
        if batch.replaced:
            dropped = lineage.replace(source, batch.generation, older_too=batch.document)
            changed.update(dict.fromkeys(dropped))
        for item in batch.items:
            if isinstance(item, Restart):
                superseded = lineage.begin(source, batch.generation, item.step)
                changed.update(dict.fromkeys(superseded))
            elif len(item.steps):
                lineage.append(source, batch.generation, item)
                self._axes.count(source.format, len(item.steps))
                changed.update(dict.fromkeys(item.tags))

        return changed

    def touch(self, tags: Iterable[str]) -> None:
        """Mark the points of some tags as changed."""
        self._clock += 1
        self._changed_at.update(dict.fromkeys(tags, self._clock))

    def move(self, source: SourceInfo, into: PointTable) -> None:
        """Give the points of a file to another run."""
        lineage = self.lineages.get(source.format)
        other = into.lineages.setdefault(source.format, Lineage())
        other.register(source)
        moved = lineage.move(source.path, other) if lineage is not None else []
        for table in (self, into):
            table._axes.forget()
        # what is left may count differently now: copies lose their original, steps their meaning
        self.touch(self.tags)
        into.touch((*into.tags, *(t for b in moved for t in b.columns)))
        self._forget_lost_tags()

    def clear(self, keep: Iterable[str]) -> None:
        """Drop the points, but for detached series of some tags; the set of tags stays."""
        kept = {tag: self.series(tag).detached() for tag in keep if tag in self._changed_at}
        self.clear_logs()
        self._series = {t: _Built(s, self._changed_at[t], False) for t, s in kept.items()}
        self._derived = {t: DerivedSeries(d.derived) for t, d in self._derived.items()}

    def clear_logs(self) -> None:
        """Drop what was read of every log, nothing else."""
        for lineage in self.lineages.values():
            lineage.clear()

    def _forget_lost_tags(self) -> None:
        kept = {t for b in self._branches() for t in b.columns}
        self._changed_at = {t: v for t, v in self._changed_at.items() if t in kept}

    # -- reading ----------------------------------------------------------------------------

    @property
    def tags(self) -> tuple[str, ...]:
        """All logged tags, in the order in which they were first seen."""
        return self.some_tags(len(self._changed_at))

    @property
    def tag_count(self) -> int:
        """Number of logged tags."""
        return len(self._changed_at) - len(self._axes.doubles & self._changed_at.keys())

    def some_tags(self, most: int, names: Collection[str] = ()) -> tuple[str, ...]:
        """The tags that were seen first, at most so many, and the logged ones of ``names``."""
        doubles = self._axes.doubles
        first = islice((t for t in self._changed_at if t not in doubles), most)
        wanted = (t for t in names if t in self._changed_at and t not in doubles)
        return tuple(dict.fromkeys(chain(first, wanted)))

    @property
    def off_axis(self) -> frozenset[str]:
        """The tags whose steps are not those of the run: they count seconds, episodes, ..."""
        return self._axes.off_axis

    @property
    def counts_rows(self) -> bool:
        """Whether the steps are row numbers, because no log has steps."""
        trusts = [s.trust for s in self.lineages.values() if s.trust.is_known]
        return bool(trusts) and all(t.row_numbered for t in trusts)

    @property
    def derived(self) -> Mapping[str, DerivedSeries]:
        """The derived series, by tag."""
        return self._derived

    @property
    def extent(self) -> Extent:
        """From where to where the points go; the same object until they change."""
        if self._extent is None or self._extent[0] != self._clock:
            self._extent = self._clock, extent_of(self.lineages, self.off_axis)
        return self._extent[1]

    def derive(self, derived: Derived) -> None:
        """Add a series under ``derived.tag`` that follows from two logged ones."""
        known = self._derived.get(derived.tag)
        if known is None or known.derived != derived:
            self._derived[derived.tag] = DerivedSeries(derived)

    def is_kept(self, tag: str) -> bool:
        """Whether the series of a tag is known without reading any point."""
        kept = self._series.get(tag)
        return kept is not None and kept.changed_at == self._changed_at.get(tag)

    def series(self, tag: str) -> Series:
        """All points of a tag: the same object until they change. Empty for an unknown tag."""
        derived = self._derived.get(tag)
        if derived is not None:
            own = derived.derived
            return derived.of(self.series(own.first), self.series(own.second))
        changed_at = self._changed_at.get(tag)
        if changed_at is None:
            return Series.empty(tag)
        kept = self._series.get(tag)
        if kept is None or kept.changed_at != changed_at:
            kept = self._series[tag] = self._build(tag, changed_at, kept)

        return kept.series

    def is_finite(self, tag: str) -> bool:
        """Whether all logged points of a tag are known to be finite; builds no series."""
        known = tag in self._changed_at and tag not in self._derived
        return known and not any(tag in b.not_finite for b in self._branches())

    def logged(self, tag: str) -> int:
        """Number of points of a tag in all files, superseded ones too; merges nothing."""
        return sum(b.count(tag) for b in self._branches())

    def origins(self, tag: str) -> tuple[Path, ...]:
        """The files that have points of a tag, the most trusted first."""
        derived = self._derived.get(tag)
        if derived is not None:
            own = derived.derived
            return tuple(dict.fromkeys((*self.origins(own.first), *self.origins(own.second))))
        branches = [b for s in ranked(self.lineages) for b in s.branches if tag in b.columns]
        return tuple(dict.fromkeys(b.path for b in branches))

    @property
    def nbytes(self) -> int:
        """Bytes held by points, as they were read and as they were last merged."""
        held = sum(s.nbytes for s in self.lineages.values())
        merged: dict[int, int] = {}  # several series may share their steps
        for kept in self._series.values():
            merged |= kept.series.buffers
        return held + sum(merged.values())

    def _branches(self) -> list[Branch]:
        return [b for s in self.lineages.values() for b in s.branches]

    def _build(self, tag: str, changed_at: int, known: _Built | None) -> _Built:
        having = [s for s in ranked(self.lineages) if s.has(tag)]
        if len(having) > 1:
            having.sort(key=lambda s: s.guesses(tag))
        if not having:
            return _Built(Series.empty(tag), changed_at, False)
        best, first = having[0], having[0].series(tag)
        # a log that does not give its steps adds nothing to one that does
        others = [s for s in having[1:] if _on_axis(s) and not s.guesses(tag)]
        if not others and best.trust.scale is None:
            return _Built(first, changed_at, False)
        points = _scaled(best, first.points)
        for other in others:
            proven = other.trust.scale is not None or self._axes.on_one_axis(best, other)
            more, rank = _scaled(other, other.series(tag).points), other.trust.precision_rank
            points = filled(points, more, rank, proven=proven)
        old = (_scaled(best, piece) for piece in first.superseded)
        series = Series.of(tag, points, old, first.restarts)
        if known is not None and known.is_merged:
            series = series.with_history(known.series)

        return _Built(series, changed_at, True)


def _on_axis(lineage: Lineage) -> bool:
    """Whether the steps of a log are those of the run, or can be counted as such."""
    return lineage.trust.scale is not None or not lineage.trust.off_axis


def _scaled(lineage: Lineage, points: Points) -> Points:
    """Points with the steps of the run."""
    scale = lineage.trust.scale
    return points if scale is None else (scale.of(points[0]), points[1], points[2])


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
    timed = [b for s in found for b in s.branches if b.earliest <= b.latest]
    ended: dict[Path, float] = {}
    for branch in timed:
        ended[branch.path] = max(ended.get(branch.path, branch.latest), branch.latest)

    return Extent(
        _best(min, (first_step(s.branches, off_axis) for s in stepped)),
        _best(max, (_last_step(s, off_axis) for s in stepped)),
        next((r for s in stepped if (r := restarts(_originals(s)))), ()),
        min((b.earliest for b in timed), default=None),
        ended,
    )


def _best(choose: Callable[[list[int]], int], steps: Iterable[int | None]) -> int | None:
    known = [step for step in steps if step is not None]
    return choose(known) if known else None


def ranked(lineages: Mapping[str, Lineage]) -> list[Lineage]:
    """The most precise first; those whose steps are not those of the run last."""
    return sorted(lineages.values(), key=lambda s: (s.trust.off_axis, -s.trust.precision_rank))


def _last_step(lineage: Lineage, off_axis: Collection[str]) -> int | None:
    copies = ([b] for b in lineage.branches if b.path in lineage.copies)
    return _best(max, (last_step(part, off_axis) for part in (_originals(lineage), *copies)))


def _originals(lineage: Lineage) -> list[Branch]:
    """The branches, oldest first, without those of copies."""
    return [b for b in lineage.branches if b.path not in lineage.copies]
