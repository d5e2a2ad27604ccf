"""All runs in memory (floor 2). The main thread owns it; :meth:`Store.apply` is the only way in.

Restarts. A later file of a run (or a rewritten one) that begins at or below the last step
continues the run on a new branch: for each tag that it logs, it supersedes what older
branches say from its first step on. A writer that says where it starts again (SessionLog
START) supersedes all tags from there. Superseded points are kept.

Two files of one directory that begin at the same step and whose spans coincide are not a
resumed run but two runs; the later one is then shown as a run of its own, ``NAME#2``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from rltui.core.batch import Batch, Note, Restart, RunKey, SourceInfo, TextPoint
from rltui.core.block import BoolArray, FloatArray, IntArray, ValueArray
from rltui.store.branch import Branch
from rltui.store.derived import Derived
from rltui.store.series import Series

#: Characters of logged texts that are kept per run.
_TEXT_CHARACTERS = 1 << 20


@dataclass(frozen=True, slots=True)
class Changes:
    """What one or several batches changed; falsy when nothing did (then nobody repaints)."""

    runs: frozenset[RunKey] = frozenset()
    series: frozenset[tuple[RunKey, str]] = frozenset()
    new_runs: bool = False
    new_tags: frozenset[RunKey] = frozenset()
    """Runs whose set of tags grew."""

    def __bool__(self) -> bool:
        return bool(self.runs or self.new_runs)

    def __or__(self, other: Changes) -> Changes:
        return Changes(
            self.runs | other.runs,
            self.series | other.series,
            self.new_runs or other.new_runs,
            self.new_tags | other.new_tags,
        )


class RunData:
    """Everything that one run logged."""

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
        self.texts: list[TextPoint] = []
        self.hparams: dict[str, object] = {}
        self.version = 0
        self._branches: list[Branch] = []
        self._open: dict[Path, Branch] = {}
        self._versions: dict[str, int] = {}
        self._cache: dict[str, Series] = {}
        self._derived: dict[str, Derived] = {}
        self._judged: set[Path] = set()

    @property
    def tags(self) -> tuple[str, ...]:
        """All tags, in the order in which they were first seen."""
        return tuple(self._versions)

    @property
    def reading(self) -> bool:
        """Whether some file has not been read to its end: no verdict yet."""
        return bool(self.pending) or self.waiting > 0

    @property
    def first_step(self) -> int | None:
        """Lowest step of any tag."""
        return min((b.first_step for b in self._branches if b.first_step is not None), default=None)

    @property
    def last_step(self) -> int | None:
        """Newest step: the highest one that no later branch has superseded."""
        last: int | None = None
        limit: int | None = None
        for index in range(len(self._branches) - 1, -1, -1):
            branch = self._branches[index]
            if branch.last_step is not None:
                end = branch.last_step if limit is None else min(branch.last_step, limit - 1)
                last = end if last is None else max(last, end)
            if self._takes_over(index) and branch.start is not None:
                limit = branch.start if limit is None else min(limit, branch.start)
        return last

    @property
    def restarts(self) -> tuple[int, ...]:
        """Steps at which a later branch took over, for any tag, ascending."""
        steps: set[int] = set()
        for i, branch in enumerate(self._branches):
            if branch.start is not None and self._takes_over(i):
                steps.add(branch.start)
        return tuple(sorted(steps))

    @property
    def first_wall_time(self) -> float | None:
        """Oldest wall time that the logs carry, or None."""
        firsts = [
            float(np.nanmin(block.wall_times))
            for branch in self._branches
            for block in branch.blocks[:1]
            if np.isfinite(block.wall_times).any()
        ]
        return min(firsts, default=None)

    @property
    def last_wall_time(self) -> float | None:
        """Newest wall time that the logs themselves carry, or None."""
        best = -np.inf
        for branch in self._branches:
            for block in branch.blocks[-8:]:
                if np.isfinite(block.wall_times).any():
                    best = max(best, float(np.nanmax(block.wall_times)))
        return best if np.isfinite(best) else None

    @property
    def modified(self) -> float | None:
        """Newest modification time of the run's files, seconds since the epoch."""
        return max((s.modified for s in self.sources.values()), default=None)

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
        derived = self._derived.get(tag)
        if derived is None:
            series = self._build(tag, version)
        else:
            first, second = self.series(derived.first), self.series(derived.second)
            series = derived.series(first, second, version)
        self._cache[tag] = series
        return series

    def apply(self, batch: Batch) -> tuple[frozenset[str], bool]:
        """Take one batch in. Returns the tags that changed and whether a tag is new."""
        source = batch.source
        self.version += 1
        self.sources[source.path] = source
        self.waiting = batch.waiting
        (self.pending.add if batch.more else self.pending.discard)(source.path)
        (self.gone.add if batch.gone else self.gone.discard)(source.path)
        self.notes.extend(batch.notes)
        self._take_texts(batch.texts)
        self.hparams.update(batch.hparams)
        known = len(self._versions)
        changed: dict[str, None] = {}  # a set would lose the order of the log
        for item in batch.items:
            if isinstance(item, Restart):
                changed.update(
                    dict.fromkeys(self._begin_branch(source, batch.generation, item.step))
                )
                continue
            if len(item.steps):
                self._branch_for(source, batch.generation).append(item)
                changed.update(dict.fromkeys(item.tags))
        for tag in changed:
            self._versions[tag] = self.version
        return frozenset(changed), len(self._versions) > known

    def _take_texts(self, texts: tuple[TextPoint, ...]) -> None:
        """Keep the newest texts of the run, as many as fit: samples may come with every step."""
        self.texts.extend(texts)
        held = 0
        for index in range(len(self.texts) - 1, -1, -1):
            held += len(self.texts[index].text)
            if held > _TEXT_CHARACTERS:
                del self.texts[: index + 1]
                break

    def split_coinciding(self, newest: Path) -> list[Path]:
        """Files whose points are another run: same first step and same span as an older file.

        Judges the files that were not judged before, and ``newest``, which has grown. Of two
        files that grow at the same time one may come to coincide later; a file that begins
        after the other has ended is judged once, when it has first been read: a resumed run
        passes the place where the older one died, and is still the same run.
        """
        spans: dict[Path, Branch | None] = {}
        for branch in self._branches:
            if branch.begin is not None:
                # A file with several branches is a resumed one.
                spans[branch.path] = None if branch.path in spans else branch
        alone = {path: branch for path, branch in spans.items() if branch is not None}
        out: list[Path] = []
        for path in [p for p in alone if p == newest or p not in self._judged]:
            older = [b for b in alone.values() if b.rank < alone[path].rank]
            if any(self._is_twin(alone[path], other) for other in older):
                out.append(path)
        self._judged.update(alone)
        return out

    def _is_twin(self, branch: Branch, older: Branch) -> bool:
        return (
            branch.begin == older.begin
            and (branch.path not in self._judged or branch.first_wall_time < older.last_wall_time)
            and _coincide(branch, older)
            and _alike(set(branch.columns), set(older.columns))
        )

    def take_branches(self, path: Path, into: RunData) -> None:
        """Move everything that came from ``path`` into another run."""
        moved = [b for b in self._branches if b.path == path]
        self._branches = [b for b in self._branches if b.path != path]
        self._open.pop(path, None)
        self.version += 1
        into.version += 1
        into.sources[path] = self.sources.pop(path)
        if path in self.pending:
            self.pending.discard(path)
            into.pending.add(path)
        if path in self.gone:
            self.gone.discard(path)
            into.gone.add(path)
        into.notes.extend(n for n in self.notes if n.path == path)
        self.notes = [n for n in self.notes if n.path != path]
        for branch in moved:
            into._branches.append(branch)
            into._open[path] = branch
            for tag in branch.columns:
                into._versions[tag] = into.version
                self._versions[tag] = self.version
        kept = {t for b in self._branches for t in b.columns}
        self._versions = {t: v for t, v in self._versions.items() if t in kept}

    def _branch_for(self, source: SourceInfo, generation: int) -> Branch:
        branch = self._open.get(source.path)
        if branch is not None and branch.rank[1] == generation:
            return branch
        self._begin_branch(source, generation, None)
        return self._open[source.path]

    def _begin_branch(
        self, source: SourceInfo, generation: int, told_start: int | None
    ) -> set[str]:
        older = self._open.get(source.path)
        same = older is not None and older.rank[1] == generation
        part = older.rank[2] + 1 if same and older is not None else 0
        branch = Branch(source.path, (source.order, generation, part), told_start)
        self._open[source.path] = branch
        self._branches.append(branch)
        self._branches.sort(key=lambda b: b.rank)
        if told_start is None:
            return set()
        return {t for b in self._branches for t in b.columns}

    def _takes_over(self, index: int) -> bool:
        branch = self._branches[index]
        start = branch.start
        if start is None:
            return False
        for older in self._branches[:index]:
            if older.last_step is None or older.last_step < start:
                continue
            if branch.told_start is not None or not branch.columns.keys().isdisjoint(older.columns):
                return True
        return False

    def _build(self, tag: str, version: int) -> Series:
        kept: list[tuple[IntArray, FloatArray, ValueArray]] = []
        lost: list[tuple[IntArray, FloatArray, ValueArray]] = []
        restarts: list[int] = []
        limit: int | None = None
        for branch in reversed(self._branches):
            points = branch.points(tag)
            if limit is not None and len(points[0]):
                live = points[0] < limit
                if not live.all():
                    restarts.append(limit)
                    lost.insert(0, _choose(points, ~live))
                    points = _choose(points, live)
            if len(points[0]):
                kept.insert(0, points)
            if branch.start is not None and (
                tag in branch.columns or branch.told_start is not None
            ):
                limit = branch.start if limit is None else min(limit, branch.start)
        steps, walls, values = _concatenate(kept)
        if len(steps) > 1 and (np.diff(steps) < 0).any():
            order = np.argsort(steps, kind="stable")
            steps, walls, values = steps[order], walls[order], values[order]
        unique = np.unique(np.array(restarts, dtype=np.int64))
        return Series(tag, steps, walls, values, *_concatenate(lost), unique, version)


class Store:
    """The runs of all logdirs, in the order in which they were first seen."""

    def __init__(self) -> None:
        self.runs: dict[RunKey, RunData] = {}
        self._moved: dict[tuple[RunKey, Path], RunKey] = {}

    def add_run(self, key: RunKey, path: Path) -> RunData:
        """The run of ``key``, made when it is new (a run may exist before its first point)."""
        run = self.runs.get(key)
        if run is None:
            run = self.runs[key] = RunData(key, path)
        return run

    def apply(self, batch: Batch) -> Changes:
        """Take one batch in; says what changed."""
        key = self._moved.get((batch.run, batch.source.path), batch.run)
        new_run = key not in self.runs
        run = self.add_run(key, batch.run_path)
        tags, new_tag = run.apply(batch)
        changes = Changes(
            frozenset({key}),
            frozenset((key, t) for t in tags),
            new_run,
            frozenset({key}) if new_tag else frozenset(),
        )
        if not batch.more and not run.reading and len(run.sources) > 1:
            changes |= self._split(run, batch.source.path)
        return changes

    def _split(self, run: RunData, newest: Path) -> Changes:
        changes = Changes()
        for path in run.split_coinciding(newest):
            number = 2
            while (key := replace(run.key, name=f"{run.key.name}#{number}")) in self.runs:
                number += 1
            other = self.add_run(key, run.path)
            run.take_branches(path, other)
            self._moved[(run.key, path)] = key
            keys = frozenset({run.key, key})
            touched = frozenset((k, t) for k in keys for t in self.runs[k].tags)
            changes |= Changes(keys, touched, True, keys)
        return changes


def _coincide(branch: Branch, older: Branch) -> bool:
    """Whether two spans from one step end at the same place, within 2 %, and have 2 rows."""
    if branch.begin is None or branch.last_step is None or older.last_step is None:
        return False
    longest = max(branch.last_step, older.last_step) - branch.begin
    return longest > 1 and abs(branch.last_step - older.last_step) <= 0.02 * longest


def _alike(tags: set[str], others: set[str]) -> bool:
    return 2 * len(tags & others) > len(tags | others)


def _choose(
    points: tuple[IntArray, FloatArray, ValueArray], keep: BoolArray
) -> tuple[IntArray, FloatArray, ValueArray]:
    return points[0][keep], points[1][keep], points[2][keep]


def _concatenate(
    parts: list[tuple[IntArray, FloatArray, ValueArray]],
) -> tuple[IntArray, FloatArray, ValueArray]:
    if not parts:
        return np.empty(0, np.int64), np.empty(0), np.empty(0, np.float32)
    if len(parts) == 1:
        return parts[0]
    steps, walls, values = zip(*parts, strict=True)
    return np.concatenate(steps), np.concatenate(walls), np.concatenate(values)
