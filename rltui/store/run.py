"""Everything that one run logged, from all its sources."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rltui.core.batch import Batch, Joined, LogTail, Note, Restart, RunKey, SourceInfo, TextPoint
from rltui.store.branch import Branch
from rltui.store.derived import Derived
from rltui.store.facts import Facts
from rltui.store.identity import equal_points, same_training, twin_of
from rltui.store.lineage import Lineage
from rltui.store.merge import Agreement, filled
from rltui.store.series import Series


@dataclass(frozen=True, slots=True)
class Summary:
    """What stays of a run whose points were unloaded to save memory."""

    first_step: int | None
    last_step: int | None
    restarts: tuple[int, ...]
    first_wall_time: float | None
    last_wall_time: float | None
    counts: dict[str, int]


class RunData:
    """Owned by the Store. Each log format is one :class:`Lineage`; :meth:`series` joins them."""

    def __init__(self, key: RunKey, path: Path) -> None:
        self.key = key
        self.path = path
        self.sources: dict[Path, SourceInfo] = {}
        self.pending: set[Path] = set()
        """Files that have not been read to their end yet."""
        self.waiting = 0
        """Further files of the run that nobody has read to their end, as of the newest batch."""
        self.gone: set[Path] = set()
        self.notes: list[Note] = []
        self.facts: dict[Path, Facts] = {}
        """What its files told beside points."""
        self.version = 0
        self._lineages: dict[str, Lineage] = {}
        self._versions: dict[str, int] = {}
        self._cache: dict[str, Series] = {}
        self._derived: dict[str, Derived] = {}
        self._judged: set[Path] = set()
        self._asked: dict[Path, float] = {}
        """Joined files and how many rows they had when it was last asked whether they are of
        this run; infinite when they have shown it."""
        self._unloaded: Summary | None = None
        self.on_missing: Callable[[RunKey], None] | None = None
        """Called when points are asked for that were unloaded."""

    @property
    def tags(self) -> tuple[str, ...]:
        """All tags, in the order in which they were first seen."""
        return tuple(self._versions)

    @property
    def reading(self) -> bool:
        """Whether some file has not been read to its end: no verdict yet."""
        return bool(self.pending) or self.waiting > 0

    @property
    def _ranked(self) -> list[Lineage]:
        """The most exact first; those whose steps are row numbers last."""
        return sorted(self._lineages.values(), key=lambda s: (s.counted, -s.exactness))

    @property
    def _stepped(self) -> list[Lineage]:
        """Those whose steps mean something, if any."""
        ranked = self._ranked
        return [s for s in ranked if not s.counted and s.branches] or ranked

    @property
    def first_step(self) -> int | None:
        """Lowest step of any tag."""
        if self._unloaded is not None:
            return self._unloaded.first_step
        firsts = (s.first_step for s in self._stepped)
        return min((f for f in firsts if f is not None), default=None)

    @property
    def last_step(self) -> int | None:
        """Newest step: the highest one that no later branch has superseded."""
        if self._unloaded is not None:
            return self._unloaded.last_step
        lasts = (s.last_step for s in self._stepped)
        return max((x for x in lasts if x is not None), default=None)

    @property
    def restarts(self) -> tuple[int, ...]:
        """Steps at which a later branch took over, for any tag, ascending: as the most exact
        source that knows of any tells it."""
        if self._unloaded is not None:
            return self._unloaded.restarts
        return next((s.restarts for s in self._stepped if s.restarts), ())

    @property
    def first_wall_time(self) -> float | None:
        """Oldest wall time that the logs carry, or None."""
        if self._unloaded is not None:
            return self._unloaded.first_wall_time
        firsts = [
            float(np.nanmin(block.wall_times))
            for branch in self._branches()
            for block in branch.blocks[:1]
            if np.isfinite(block.wall_times).any()
        ]
        return min(firsts, default=None)

    @property
    def last_wall_time(self) -> float | None:
        """Newest wall time that the logs themselves carry, or None."""
        if self._unloaded is not None:
            return self._unloaded.last_wall_time
        best = -np.inf
        for branch in self._branches():
            for block in branch.blocks[-8:]:
                if np.isfinite(block.wall_times).any():
                    best = max(best, float(np.nanmax(block.wall_times)))
        return best if np.isfinite(best) else None

    @property
    def hparams(self) -> dict[str, object]:
        """Settings that its files tell as such."""
        return {k: v for f in self.facts.values() for k, v in f.hparams.items()}

    @property
    def texts(self) -> list[TextPoint]:
        """Its texts, file by file, as far as they are kept."""
        return [t for f in self.facts.values() for t in f.texts]

    @property
    def tails(self) -> dict[Path, LogTail]:
        """How its console logs end."""
        return {p: f.tail for p, f in self.facts.items() if f.tail is not None}

    @property
    def modified(self) -> float | None:
        """Newest modification time of the run's files, seconds since the epoch."""
        return max((s.modified for s in self.sources.values()), default=None)

    def _branches(self) -> list[Branch]:
        return [b for s in self._lineages.values() for b in s.branches]

    # -- series -----------------------------------------------------------------------------

    def tag_version(self, tag: str) -> int:
        """Version of the points of ``tag``; 0 when it was never logged."""
        derived = self._derived.get(tag)
        if derived is not None:
            return max(self.tag_version(derived.first), self.tag_version(derived.second))
        return self._versions.get(tag, 0)

    def derive(self, derived: Derived) -> None:
        """Offer a series under ``derived.tag`` that follows from two logged ones."""
        self._derived[derived.tag] = derived

    def series(self, tag: str) -> Series:
        """All points of ``tag``; cached until new points arrive. Empty for an unknown tag."""
        version = self.tag_version(tag)
        cached = self._cache.get(tag)
        if cached is not None and cached.version == version:
            return cached
        if self._unloaded is not None:
            if self.on_missing is not None:
                self.on_missing(self.key)
            if self._unloaded is not None:
                return self._build(tag, -version)  # nothing, and known to be out of date
            version = self.tag_version(tag)
        derived = self._derived.get(tag)
        if derived is None:
            series = self._build(tag, version)
        else:
            first, second = self.series(derived.first), self.series(derived.second)
            series = derived.series(first, second, version)
        self._cache[tag] = series
        return series

    def count(self, tag: str) -> int:
        """Number of points of a tag, without the superseded ones; also when unloaded."""
        if self._unloaded is not None:
            return self._unloaded.counts.get(tag, 0)
        return self.series(tag).count

    def logged(self, tag: str) -> int:
        """Number of points of a tag in all sources, superseded ones too; costs no joining."""
        return sum(b.count(tag) for b in self._branches())

    def origins(self, tag: str) -> tuple[Path, ...]:
        """The files that tell the points of a tag, the most believed first."""
        derived = self._derived.get(tag)
        if derived is not None:
            return tuple(
                dict.fromkeys((*self.origins(derived.first), *self.origins(derived.second)))
            )
        branches = [b for s in self._ranked for b in s.branches if tag in b.columns]
        return tuple(dict.fromkeys(b.path for b in branches))

    def _build(self, tag: str, version: int) -> Series:
        telling = [s for s in self._ranked if s.has(tag)]
        if not telling:
            telling = [Lineage()]
        told = telling[0].told(tag)
        kept = told.kept
        for other in telling[1:]:
            if not other.counted:
                kept = filled(kept, other.told(tag).kept, other.exactness)
        steps, walls, values = kept
        if len(steps) > 1 and (np.diff(steps) < 0).any():
            order = np.argsort(steps, kind="stable")
            steps, walls, values = steps[order], walls[order], values[order]
        return Series(tag, steps, walls, values, *told.lost, told.restarts, version)

    # -- taking in --------------------------------------------------------------------------

    def apply(self, batch: Batch) -> tuple[frozenset[str], bool]:
        """Take one batch in. Returns the tags that changed and whether the set of tags did."""
        source = batch.source
        self.version += 1
        self.sources[source.path] = source
        self.facts.setdefault(source.path, Facts()).take(batch)
        self.waiting = batch.waiting
        (self.pending.add if batch.more else self.pending.discard)(source.path)
        (self.gone.add if batch.gone else self.gone.discard)(source.path)
        self.notes.extend(batch.notes)
        known = len(self._versions)
        changed = self._take_items(batch)
        for tag in changed:
            self._versions[tag] = self.version
        if batch.replaced:
            self._forget_lost_tags()
        return frozenset(changed), len(self._versions) != known

    def _take_items(self, batch: Batch) -> dict[str, None]:
        changed: dict[str, None] = {}  # a set would lose the order of the log
        if not batch.items and not batch.replaced:
            return changed
        source = batch.source
        lineage = self._lineages.setdefault(source.format, Lineage())
        if lineage.know(source):
            changed.update(dict.fromkeys(self._versions))
        if batch.replaced:
            dropped = lineage.replace(source, older_too=batch.document)
            changed.update(dict.fromkeys(dropped))
        for item in batch.items:
            if isinstance(item, Restart):
                told = lineage.begin(source, batch.generation, item.step)
                changed.update(dict.fromkeys(told))
            elif len(item.steps):
                lineage.append(source, batch.generation, item)
                changed.update(dict.fromkeys(item.tags))
        return changed

    def _forget_lost_tags(self) -> None:
        kept = {t for b in self._branches() for t in b.columns}
        self._versions = {t: v for t, v in self._versions.items() if t in kept}

    # -- memory -----------------------------------------------------------------------------

    @property
    def nbytes(self) -> int:
        """Bytes held by points, as they were read and as they were last asked for."""
        held = sum(b.nbytes for b in self._branches())
        return held + sum(s.nbytes for s in self._cache.values())

    @property
    def unloaded(self) -> bool:
        """Whether the points have been given up for now."""
        return self._unloaded is not None

    @property
    def generations(self) -> tuple[int, ...]:
        """How often the content of each file began anew."""
        return tuple(f.generation for f in self.facts.values())

    def unload(self, keep: Iterable[str]) -> None:
        """Give the points up, but for the series of a few tags; they can be read again."""
        kept = {tag: self.series(tag).apart() for tag in keep if tag in self._versions}
        self._unloaded = Summary(
            self.first_step,
            self.last_step,
            self.restarts,
            self.first_wall_time,
            self.last_wall_time,
            {tag: self.count(tag) for tag in (*self._versions, *self._derived)},
        )
        for lineage in self._lineages.values():
            lineage.clear()
        self._cache = kept

    def load(self, batches: Iterable[Batch]) -> Iterator[None]:
        """Take in what was read again, one batch at each step; loaded after the last one."""
        for lineage in self._lineages.values():
            lineage.clear()
        for batch in batches:
            self._take_items(batch)
            self.notes.extend(n for n in batch.notes if n not in self.notes)
            yield
        self._unloaded = None
        self.version += 1
        self._versions = dict.fromkeys(self._versions, self.version)
        self._cache = {}

    # -- what does not belong here ----------------------------------------------------------

    def strangers(self, newest: Path) -> list[Path]:
        """Files whose points are another run. Leaves out files that say the same as another.

        Judges the files that were not judged before, and ``newest``, which has grown.
        """
        found: list[Path] = []
        for lineage in self._lineages.values():
            for path in dict.fromkeys(b.path for b in lineage.branches):
                if path in self._judged and path != newest:
                    continue
                if lineage.original(path) is not None and self._is_copy_still(lineage, path):
                    continue
                twin = twin_of(path, lineage.branches, self._judged)
                if twin is None:
                    continue
                mine = lineage.branches_of(path)[0]
                if equal_points(mine, twin):
                    self._mark_copy(lineage, path, twin.path)
                else:
                    found.append(path)
            self._judged.update(b.path for b in lineage.branches if b.begin is not None)
        if found:
            return found
        # one at a time, the last one first: what is left may agree with the others
        joined = reversed(self._joined())
        return [p for p in (next((p for p in joined if self._is_stranger(p)), None),) if p]

    def _mark_copy(self, lineage: Lineage, path: Path, of: Path | None) -> None:
        for tag in lineage.mark_copy(path, of):
            self._versions[tag] = self.version

    def _is_copy_still(self, lineage: Lineage, path: Path) -> bool:
        """Whether a copy still says the same; asked again when it has twice the rows."""
        rows = self.sources[path].records
        original = lineage.original(path)
        if original is None or rows < 2 * self._asked.get(path, 0):
            return True
        self._asked[path] = rows
        mine, theirs = lineage.branches_of(path), lineage.branches_of(original)
        if len(mine) == len(theirs) == 1 and equal_points(mine[0], theirs[0]):
            return True
        self._mark_copy(lineage, path, None)
        return False

    def _joined(self) -> list[Path]:
        """Joined files that have twice the rows that they had when they were last judged."""
        found = []
        for source in self.sources.values():
            if source.joined is not Joined.OWN and source.format in self._lineages:
                rows = source.records
                if rows and rows >= 2 * self._asked.get(source.path, 0.5):
                    found.append(source.path)
        return found

    def _is_stranger(self, path: Path) -> bool:
        if len(self._lineages) < 2:
            return False
        answer = same_training(path, self._lineages, self.sources)
        sure = answer is not Agreement.UNKNOWN
        self._asked[path] = np.inf if sure else self.sources[path].records
        return answer is Agreement.NO

    def give(self, path: Path, into: RunData) -> None:
        """Move everything that came from ``path`` into another run."""
        self.version += 1
        into.version += 1
        source = into.sources[path] = self.sources.pop(path)
        into.facts[path] = self.facts.pop(path)
        for mine, theirs in ((self.pending, into.pending), (self.gone, into.gone)):
            if path in mine:
                mine.discard(path)
                theirs.add(path)
        into.notes.extend(n for n in self.notes if n.path == path)
        self.notes = [n for n in self.notes if n.path != path]
        lineage = self._lineages.get(source.format)
        moved = lineage.take(path) if lineage is not None else []
        other = into._lineages.setdefault(source.format, Lineage())
        other.know(source)
        other.give(moved)
        for tag in (t for b in moved for t in b.columns):
            into._versions[tag] = into.version
            self._versions[tag] = self.version
        self._forget_lost_tags()
