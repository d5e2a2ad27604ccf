"""Everything that one run logged, from all its files."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rltui.core.batch import Batch, LogTail, Note, RunKey, SourceInfo
from rltui.core.block import FloatArray
from rltui.store.media import Media
from rltui.store.point_table import PointTable, PrefixTable, RunExtent
from rltui.store.restarts import first_step
from rltui.store.series import Series

#: The most decimals that a log is said to print alone, so many tags besides the one in question
#: that must show them, and their newest rows that are looked at.
_DECIMALS = 6
_WITNESSES = 3
_SHOWN = 100
#: A tag that has been this many times what its decimals hide is next to nothing at zero.
_NEXT_TO_NOTHING = 100.0
#: Times at which rows arrived that are remembered.
_ARRIVALS = 32


class RunData:
    """The points and files of one run. Owned by the Store.

    The points can be unloaded to save memory, and read again; a summary answers meanwhile."""

    def __init__(self, key: RunKey, path: Path) -> None:
        self.key = key
        self.path = path
        self.version = 0
        """Grows with every batch."""
        self.files = RunFiles()
        self.table = PointTable()
        self.media = Media()
        self.unloaded = False
        """Whether the points are not in memory."""
        self.loading = False
        """Whether they are being read again."""
        self.on_missing: Callable[[], None] | None = None
        """Called when points are read that were unloaded."""
        self._counts: dict[str, int] = {}
        """Number of points by tag when they were unloaded, derived series included."""

    def copy(self) -> RunData:
        """The run in its current state, independent of later batches. The points are shared."""
        return deepcopy(self)

    def apply(self, batch: Batch) -> bool:
        """Store one batch; returns whether the set of tags grew."""
        self.version += 1
        self.media.add(batch)
        before = self.table.tag_count
        self.table.add(batch)
        blocks = batch.blocks
        apart = batch.source.lanes.tags | self.off_axis if blocks else frozenset()
        trained = (b for b in blocks if not b.is_of_machine)
        self.files.update(batch, has_rows=any(not apart.issuperset(b.tags) for b in trained))
        return self.table.tag_count != before

    def move(self, path: Path, into: RunData) -> None:
        """Give everything that came from one file to another run."""
        self.version += 1
        into.version += 1
        self.media.move(path, into.media)
        self.table.move(self.files.move(path, into.files), into.table)

    def unload(self, keep: Iterable[str]) -> None:
        """Drop the points, but for the series of a few tags; they can be read again."""
        table = self.table
        self._counts = {t: table.series(t).count for t in (*table.tags, *table.derived)}
        self.unloaded = True
        table.clear(keep)

    def load(self, batches: Iterable[Batch]) -> Iterator[None]:
        """Store what was read again, one batch at each step; loaded after the last one."""
        self.table.clear_logs()
        self.loading = True
        notes = self.files.notes
        for batch in self.table.reload(batches):
            notes.extend(n for n in batch.notes if n not in notes)
            yield
        self.unloaded = self.loading = False

    def give_up(self) -> None:
        """End a :meth:`load` before its end: the points are not in memory, as before it."""
        self.table.clear_logs()
        self.loading = False

    @property
    def tags(self) -> tuple[str, ...]:
        """All logged tags, in the order in which they were first seen."""
        return self.table.tags

    def series(self, tag: str) -> Series:
        """All points of a tag: the same object until they change.

        Empty for an unknown tag, and for points that were unloaded and are not back yet.
        """
        if self.unloaded and not self.table.is_kept(tag):
            if self.on_missing is not None:
                self.on_missing()
            if self.unloaded:
                return Series.empty(tag)

        return self.table.series(tag)

    def count(self, tag: str) -> int:
        """Number of points of a tag, without the superseded ones; also while unloaded."""
        return self._counts.get(tag, 0) if self.unloaded else self.series(tag).count

    def hidden_in_zero(self, tag: str) -> float:
        """Largest value that a zero of a tag may hide: half a unit of the last decimal where all
        numbers of the log have the same few (older versions of verl print ``actor/lr:0.000``), or
        where the tag came down to one unit of it in whole units; else 0.0."""
        own = np.abs(self.series(tag).values).astype(np.float64)
        if not (own == 0).any():
            return 0.0
        passed = np.unique(own)
        is_unit = len(passed) > _WITNESSES and f"{passed[1]:.9e}".startswith("1.000000000e-")
        last = own[:-1][own[1:] == 0].max(initial=0.0)  # what zeros follow
        if is_unit and 0 < last <= passed[1] and _has_decimals(passed / passed[1], 0):
            return float(0.5 * passed[1])
        decimals = 1
        witnesses = 0
        for other in self.tags:
            x = np.abs(self.series(other).values[-_SHOWN:].astype(np.float64))
            x = x[(x > 0) & (x < np.inf)]
            while decimals <= _DECIMALS and not _has_decimals(x, decimals):
                decimals += 1
            witnesses += other != tag and not _has_decimals(x, 0)
        hidden = 0.5 * 10.0**-decimals
        is_small = np.nanmax(own) <= _NEXT_TO_NOTHING * hidden
        few = decimals <= _DECIMALS and witnesses >= _WITNESSES
        return hidden if few and is_small else 0.0

    @property
    def extent(self) -> RunExtent:
        """From where to where the points go, and when they were logged; also while unloaded."""
        return self.table.extent

    @property
    def off_axis(self) -> frozenset[str]:
        """The tags whose steps are not those of the run: they count seconds, episodes, ..."""
        return self.table.off_axis

    @property
    def first_step(self) -> int | None:
        """Lowest step of any tag on the axis of the run."""
        return self.extent.first_step

    @property
    def last_step(self) -> int | None:
        """Newest step on that axis: the highest one that no later branch has superseded."""
        return self.extent.last_step

    def start_of(self, path: Path) -> int | None:
        """Lowest step in one of the files; None while its points are not in memory."""
        return first_step(b for s in self.table.lineages.values() for b in s.branches_of(path))


def _has_decimals(x: FloatArray, decimals: int) -> bool:
    """Whether so many decimals give all values exactly; never those of single precision."""
    scaled = x * 10.0**decimals
    return bool((np.abs(scaled - np.round(scaled)) <= 1e-12 + 1e-15 * scaled).all())


@dataclass(slots=True)
class LogFileState:
    """One file of a run, as of its newest batch."""

    source: SourceInfo
    generation: int = 0
    """How often its content began anew."""
    has_more: bool = False
    """Whether it has not been read to its end yet."""
    gone: bool = False
    """Whether it has vanished."""
    tail: LogTail | None = None
    """Its last lines, if it is a console log."""
    row_modified: float | None = None
    """Its modification time when its newest row was read; None without rows."""
    measured: float = -math.inf
    """Newest time at which a tracker measured the machine, by its own clock."""
    exit_code: int | None = None
    """Exit status of the training, if it is a tracker's and records it."""
    _read: bool = False
    """Whether it has been read to its end, at least once."""
    _complete: bool = False
    """Whether it had been read to its end when the exit status came."""

    def update(self, batch: Batch, *, has_rows: bool) -> bool:
        """Note the state in a batch; returns whether the file was written since it was read."""
        before = self.source
        now = batch.source
        moved = now.modified > before.modified or now.size > before.size
        grew = self._read and moved and not batch.gone
        self._read = self._read or not batch.more
        self.source = now
        self.generation = batch.generation
        self.has_more = batch.more
        self.gone = batch.gone
        if batch.tail is not None:
            self.tail = batch.tail
        if has_rows:
            self.row_modified = now.modified
        for block in batch.blocks:
            if block.is_of_machine:
                self.measured = float(np.fmax.reduce(block.wall_times, initial=self.measured))
        if batch.exit_code is not None:
            self.exit_code = batch.exit_code
            self._complete = not batch.more
        elif batch.items and self._complete:
            self.exit_code = None  # it is written to again: the training was resumed
        elif not batch.more:
            self._complete = self.exit_code is not None

        return grew


class RunFiles:
    """The log files of a run, with their notes. Owned by one RunData."""

    def __init__(self) -> None:
        self.by_path: dict[Path, LogFileState] = {}
        self.notes: list[Note] = []
        self.waiting = 0
        """Further files of the run that have not been read to their end, as of the newest
        batch."""
        self.grew = False
        """Whether the newest batch holds rows that were written while their file was watched."""
        self.grown = deque[float](maxlen=_ARRIVALS)
        """When that was so, the newest times, seconds since the epoch by the session's clock."""

    @property
    def sources(self) -> dict[Path, SourceInfo]:
        """State of each file."""
        return {path: f.source for path, f in self.by_path.items()}

    @property
    def tails(self) -> dict[Path, LogTail]:
        """The last lines of each console log."""
        return {path: f.tail for path, f in self.by_path.items() if f.tail is not None}

    @property
    def generations(self) -> tuple[int, ...]:
        """How often the content of each file began anew."""
        return tuple(f.generation for f in self.by_path.values())

    @property
    def reading(self) -> bool:
        """Whether some file has not been read to its end: no verdict yet."""
        return self.waiting > 0 or any(f.has_more for f in self.by_path.values())

    @property
    def all_gone(self) -> bool:
        """Whether every file has vanished."""
        return bool(self.by_path) and all(f.gone for f in self.by_path.values())

    @property
    def modified(self) -> float | None:
        """Newest modification time, seconds since the epoch; None without files."""
        return max((f.source.modified for f in self.by_path.values()), default=None)

    def expect(self, source: SourceInfo) -> None:
        """Note a file that will be read: until then the run is not complete."""
        self.by_path.setdefault(source.path, LogFileState(source)).has_more = True

    def update(self, batch: Batch, *, has_rows: bool) -> None:
        """Store everything but the points of a batch; ``has_rows``: whether it has some of the
        training, not only of the machines or engines beside it."""
        file = self.by_path.setdefault(batch.source.path, LogFileState(batch.source))
        self.grew = file.update(batch, has_rows=has_rows) and has_rows
        self.waiting = batch.waiting
        # a file that is read again says the same of the same place
        self.notes.extend(n for n in batch.notes if n.offset is None or n not in self.notes)

    def move(self, path: Path, into: RunFiles) -> SourceInfo:
        """Give a file with its notes to another run; returns its state."""
        file = into.by_path[path] = self.by_path.pop(path)
        into.notes.extend(n for n in self.notes if n.path == path)
        self.notes = [n for n in self.notes if n.path != path]
        return file.source


class RunPrefix(RunData):
    """A run as it was at a step. How its logs end is known only at its newest step."""

    def __init__(self, whole: RunData, step: int) -> None:
        super().__init__(whole.key, whole.path)
        self.whole = whole
        self.table: PrefixTable = PrefixTable(whole.table, step)
        self.media = whole.media
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
            path: file if ended else LogFileState(file.source)
            for path, file in self.whole.files.by_path.items()
        }
