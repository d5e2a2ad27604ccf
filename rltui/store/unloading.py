"""Gives up the points of a run to save memory, and takes them in again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from rltui.core.batch import Batch
from rltui.store.extent import Summary
from rltui.store.files import RunFiles
from rltui.store.point_table import PointTable


class Unloading:
    """Owned by one RunData."""

    def __init__(self, table: PointTable, files: RunFiles) -> None:
        self._table = table
        self._files = files
        self.summary: Summary | None = None
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
        self.summary = table.extent.summary()
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
