"""Everything that one run logged, from all its files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from pathlib import Path

from rltui.core.batch import Batch, RunKey
from rltui.store.extent import Extent
from rltui.store.files import RunFiles
from rltui.store.point_table import PointTable
from rltui.store.series import Series


class Unloading:
    """Frees the points of a run to save memory, and takes them in again. Owned by one RunData."""

    def __init__(self, table: PointTable, files: RunFiles) -> None:
        self._table = table
        self._files = files
        self.summary: Extent | None = None
        """The extent of the points while they are not in memory."""
        self.counts: dict[str, int] = {}
        """Number of points by tag then, derived series included."""
        self.loading = False
        """Whether the points are being taken in again."""
        self.on_missing: Callable[[], None] | None = None
        """Called when points are read that were unloaded."""

    @property
    def unloaded(self) -> bool:
        """Whether the points are not in memory."""
        return self.summary is not None

    def unload(self, keep: Iterable[str]) -> None:
        """Give the points up, but for the series of a few tags; they can be read again."""
        table = self._table
        self.summary = table.extent
        self.counts = {t: table.series(t).count for t in (*table.tags, *table.derived)}
        table.clear(keep)

    def load(self, batches: Iterable[Batch]) -> Iterator[None]:
        """Take in what was read again, one batch at each step; loaded after the last one."""
        for lineage in self._table.lineages.values():
            lineage.clear()
        self.loading = True
        notes = self._files.notes
        for batch in self._table.reload(batches):
            notes.extend(n for n in batch.notes if n not in notes)
            yield
        self.summary, self.loading = None, False

    def give_up(self) -> None:
        """End a :meth:`load` before its end: the points are not in memory, as before it."""
        for lineage in self._table.lineages.values():
            lineage.clear()
        self.loading = False


class RunData:
    """Owned by the Store. Reads of points answer from a summary while they are unloaded."""

    def __init__(self, key: RunKey, path: Path) -> None:
        self.key = key
        self.path = path
        self.version = 0
        """Grows with every batch."""
        self.files = RunFiles()
        self.table = PointTable()
        self.memory = Unloading(self.table, self.files)

    def copy(self) -> RunData:
        """The run as it is now, whatever this one takes in later. The points are shared."""
        return deepcopy(self)

    def apply(self, batch: Batch) -> bool:
        """Take one batch in; returns whether the set of tags grew."""
        self.version += 1
        self.files.take(batch)
        known = self.table.tag_count
        self.table.take(batch)
        return self.table.tag_count != known

    def move(self, path: Path, into: RunData) -> None:
        """Give everything that came from one file to another run."""
        self.version += 1
        into.version += 1
        self.table.move(self.files.move(path, into.files), into.table)

    @property
    def tags(self) -> tuple[str, ...]:
        """All logged tags, in the order in which they were first seen."""
        return self.table.tags

    def series(self, tag: str) -> Series:
        """All points of a tag: the same object until they change.

        Empty for an unknown tag, and for points that were unloaded and are not back yet.
        """
        if self.memory.unloaded and not self.table.is_kept(tag):
            if self.memory.on_missing is not None:
                self.memory.on_missing()
            if self.memory.unloaded:
                return Series.empty(tag)
        return self.table.series(tag)

    def count(self, tag: str) -> int:
        """Number of points of a tag, without the superseded ones; also while unloaded."""
        if self.memory.unloaded:
            return self.memory.counts.get(tag, 0)
        return self.series(tag).count

    @property
    def _extent(self) -> Extent:
        return self.memory.summary or self.table.extent

    @property
    def off_axis(self) -> frozenset[str]:
        """The tags whose steps are not those of the run: they count seconds, episodes, ..."""
        return self.table.off_axis

    @property
    def first_step(self) -> int | None:
        """Lowest step of any tag on the axis of the run."""
        return self._extent.first_step

    @property
    def last_step(self) -> int | None:
        """Newest step on that axis: the highest one that no later branch has superseded."""
        return self._extent.last_step

    @property
    def restarts(self) -> tuple[int, ...]:
        """Steps at which a later branch took over, for any tag, ascending."""
        return self._extent.restarts

    def start_of(self, path: Path) -> int | None:
        """Lowest step in one of the files; None while its points are not in memory."""
        branches = (b for lineage in self.table.lineages.values() for b in lineage.branches)
        steps = [b.first_step for b in branches if b.path == path and b.first_step is not None]
        return min(steps, default=None)

    @property
    def first_wall_time(self) -> float | None:
        """Oldest wall time in the logs, or None."""
        return self._extent.first_wall_time

    @property
    def last_wall_time(self) -> float | None:
        """Newest wall time in the logs, or None."""
        return self._extent.last_wall_time

    @property
    def last_wall_times(self) -> Mapping[Path, float]:
        """Newest wall time in each log that has times."""
        return self._extent.last_wall_times
