"""Run identity: which files of a run belong to another run, and which are duplicates.

Discovery groups files by where they lie; only their points can show whether they come from one
training. They are compared once a run has been read, and again for as long as nothing is proven.

A folder may hold two attempts at one training and the log of one of them resumed. Its steps alone
fit both: it goes on with the attempt whose values it continues.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from rltui.core.batch import Joined, SourceInfo, Sources
from rltui.core.block import FloatArray, IntArray
from rltui.core.medians import usual_change
from rltui.store.branch import Branch, StepSpan
from rltui.store.lineage import Lineage
from rltui.store.merge import agreement
from rltui.store.points import concatenate
from rltui.store.run import RunData

#: At most this many tags with meaningful values are compared between two files.
_TAGS = 12
#: Rows after which a file has shown most of its tags.
_ROWS = 20
#: Points on both sides of the seam to a resumed log that are compared, and the least of them.
_NEAR = 5
_LEAST = 3
#: Tags that are compared there.
_COMPARED_TAGS = 64
#: Distances between points after which an attempt has ended too early to be continued.
_GAP = 3
#: How many times the noise two attempts must differ by, and how many times nearer one must be.
_APART = 3.0
_NEARER = 3.0
#: What :func:`_continued` returns where a log goes on with none of several attempts, or with any.
NONE = -1


class RunIdentity:
    """Compares the files of one run. Owned by the Store."""

    def __init__(self, run: RunData) -> None:
        self._run = run
        self._compared: set[Path] = set()
        """Files that were compared with others of their format."""
        self._searched_at: dict[Path, int] = {}
        """Files -> rows that they had when their original was last searched for."""
        self._compared_at: dict[Path, float] = {}
        """Joined files and copies -> rows that they had when they were last compared; infinite
        for those proven to be of this run."""

    def misplaced_files(self, newest: Path) -> list[Path]:
        """Files whose points are another run. Marks duplicates, whose points count once.

        Compares the files that were not compared before, and ``newest``, which has grown.
        """
        found: list[Path] = []
        sources = self._run.files.by_path
        table = self._run.table
        for lineage in table.lineages.values():
            self._compared -= lineage.freed
            for path in lineage.freed:
                self._searched_at.pop(path, None)
            lineage.freed = set()

            for path in dict.fromkeys(b.path for b in lineage.branches):
                if path in self._compared and path != newest:
                    continue
                rows = sources[path].source.records
                mine = lineage.branches_of(path)
                if path in lineage.copies:  # does it still have the same points?
                    if rows < 2 * self._compared_at.get(path, 0):
                        continue
                    self._compared_at[path] = rows
                    theirs = lineage.branches_of(lineage.copies[path])
                    if len(mine) == len(theirs) and all(map(_equal_points, mine, theirs)):
                        continue
                    table.touch(lineage.mark_copy(path, None))
                original = None
                if rows >= 2 * self._searched_at.get(path, 0):
                    self._searched_at[path] = rows
                    original = _original(path, lineage)
                duplicate = _coinciding(path, lineage.branches, self._compared)
                if original is None and duplicate is not None:
                    if not _equal_points(mine[0], duplicate):
                        found.append(path)
                        continue
                    original = duplicate.path
                if original is not None:
                    table.touch(lineage.mark_copy(path, original))

            self._compared.update(b.path for b in lineage.branches if b.whole is not None)

        return found or self._misplaced_joined()

    def _misplaced_joined(self) -> list[Path]:
        """A joined file with other values than the logs in other formats: one at a time, the last
        one first, since what is left may agree with the others."""
        lineages = self._run.table.lineages
        sources = self._run.files.sources
        for path, source in reversed(sources.items()):
            rows = source.records
            form = source.format
            if len(lineages) < 2 or source.joined is Joined.OWN or form not in lineages:
                continue
            if not rows or rows < 2 * self._compared_at.get(path, 0.5):
                continue
            aside = [(name, s.trust.aside_of) for name, s in lineages.items() if s.trust.aside_of]
            # of logs on two axes it is known that they have the same values
            same = any(form in pair for pair in aside) or same_training(path, lineages, sources)
            self._compared_at[path] = rows if same is None else math.inf
            if same is False:
                return [path]

        return []

    def attempts(
        self, path: Path, runs: Iterable[RunData]
    ) -> list[tuple[list[Path], RunData | None]] | None:
        """Files of this run that belong elsewhere, once it shows which of several attempts a file
        resumes: each list with its run, None for a run that does not exist yet. None for a file
        that does not continue others of its format in this run."""
        file = self._run.files.by_path.get(path)  # None: it has just left
        if file is None or file.source.format not in self._run.table.lineages:
            return None
        source = file.source
        lineage = self._run.table.lineages[file.source.format]
        newer = lineage.branches_of(path)
        if path in lineage.copies or not _goes_on(newer, lineage):
            return None

        own = _attempts_before(newer, lineage)
        folder = source.path.parent
        kind = source.format
        others = (run for run in runs if run is not self._run and kind in run.table.lineages)
        elsewhere = [r for r in others if folder in {path.parent for path in r.files.by_path}]
        theirs = [run.table.lineages[source.format].branches for run in elsewhere]
        found = _continued(newer, [*own, *theirs])
        if found is None or (found == NONE and source.joined is Joined.OWN):
            return []
        owners: dict[int, RunData | None] = {NONE: None, **dict(enumerate(elsewhere, len(own)))}
        if found in owners:
            return [([path], owners[found])]
        del own[found]

        return [(list(dict.fromkeys(b.path for b in attempt)), None) for attempt in own]


def _goes_on(newer: Sequence[Branch], lineage: Lineage) -> bool:
    """Whether some branch begins at a lower step than a log."""
    begun = [b.whole for b in lineage.branches if b.whole is not None]
    whole = newer[0].whole if newer else None
    return whole is not None and min(w.begin for w in begun) < whole.begin


def same_training(path: Path, lineages: Mapping[str, Lineage], sources: Sources) -> bool | None:
    """Whether a file has the same values as the logs of the run in other formats; None when that
    is not known yet."""
    source = sources[path]
    others = [s for p, s in sources.items() if p != path]
    own = {s.format for s in others if s.joined is Joined.OWN}
    branches = lineages[source.format].branches_of(path)
    shared = 0
    # what makes the run decides; logs that only lie beside may be of that other training, too
    for decides in (True, False):
        names = [n for n in lineages if n != source.format and (n in own) is decides]
        votes, compared = _vote(branches, source, [lineages[n] for n in names])
        if votes[True] + votes[False]:
            return votes[True] >= votes[False]
        shared += compared
    # one may begin with an evaluation, the other with a loss: both need rows to show their tags
    rows = max((s.records for s in others), default=0)
    shown = min(rows, source.records) >= _ROWS

    return False if not shared and source.joined is Joined.MAYBE and shown else None


def _vote(
    branches: Sequence[Branch], source: SourceInfo, others: Sequence[Lineage]
) -> tuple[Counter[bool | None], int]:
    """For how many of the tags that a file shares with some lineages the values are the same, and
    the number of these tags."""
    votes: Counter[bool | None] = Counter()
    shared = 0
    tags = dict.fromkeys(t for b in branches for t in b.columns)
    for lineage in others:
        if lineage.trust.off_axis or source.steps_are_row_numbers:
            continue
        rank = min(lineage.trust.precision_rank, source.precision_rank)
        for tag in filter(lineage.has, tags):
            shared += 1
            if tag in source.guessed or lineage.guesses(tag):
                continue
            if shared > 4 * _TAGS or votes[True] + votes[False] >= _TAGS:
                break
            mine = concatenate([b.points(tag) for b in branches])
            votes[agreement(mine, lineage.series(tag).points, rank)] += 1

    return votes, shared


def _original(path: Path, lineage: Lineage) -> Path | None:
    """The older file of which a file is a copy, or a copy made while it was being written: the
    same points at the same times, up to where the shorter one ends."""
    mine = lineage.branches_of(path)
    alike = (b for b in lineage.branches if b.rank < mine[0].rank and _begin_alike(b, mine[0]))
    for other in dict.fromkeys(b.path for b in alike if b.path not in lineage.copies):
        theirs = lineage.branches_of(other)
        if len(theirs) != len(mine) or not any(map(_is_telling, theirs, mine)):
            continue
        pairs = zip(mine, theirs, strict=True)
        if all(
            _begin_alike(a, b) and _equal_points(a, b, times=not _side_by_side(a, b))
            for a, b in pairs
        ):
            return other

    return None


def _begin_alike(branch: Branch, other: Branch) -> bool:
    """Whether two branches begin at the same step, at the same time or side by side."""
    mine = branch.whole
    theirs = other.whole
    if mine is None or theirs is None or branch.declared_start != other.declared_start:
        return False
    first = branch.first_wall_time
    second = other.first_wall_time
    same = first == second or math.isnan(first + second) or _side_by_side(branch, other)
    return mine.begin == theirs.begin and same


def _side_by_side(branch: Branch, other: Branch) -> bool:
    """Whether two branches were written at the same time, as the ranks of a training do; False
    without times."""
    begun = max(branch.first_wall_time, other.first_wall_time)
    return begun < min(branch.last_wall_time, other.last_wall_time)


def _is_telling(branch: Branch, other: Branch) -> bool:
    """Whether most tags are in both, and one of them has values that change."""
    shared = branch.columns.keys() & other.columns.keys()
    if 2 * len(shared) <= min(len(branch.columns), len(other.columns)):
        return False
    return any(len(set(branch.points(t)[2][:_ROWS].tolist())) > 2 for t in shared)


def _coinciding(path: Path, branches: Sequence[Branch], compared: set[Path]) -> Branch | None:
    """The older file with which a file coincides: same first step, the same tags, two rows or more,
    and the spans end at the same place within 2 %. Files with a restart coincide with none.

    A file that was compared before is compared again only while both grow side by side: a
    training that begins anew in its directory passes the place where the older file ended, and
    is still the same run.
    """
    begun = [b for b in branches if b.whole is not None]
    times = Counter(b.path for b in begun)
    alone = {b.path: b for b in begun if times[b.path] == 1}
    mine = alone.get(path)
    if mine is None or mine.whole is None:
        return None
    begin = mine.whole.begin
    last = mine.whole.last
    tags = mine.columns.keys()
    for older in alone.values():
        theirs = older.whole
        if older.rank >= mine.rank or theirs is None or theirs.begin != begin:
            continue
        side_by_side = mine.first_wall_time < older.last_wall_time  # False without times
        if path in compared and not side_by_side:
            continue
        longest = max(last, theirs.last) - begin
        near = longest > 1 and abs(last - theirs.last) <= 0.02 * longest
        others = older.columns.keys()
        if near and 2 * len(tags & others) > len(tags | others):
            return older

    return None


def _equal_points(branch: Branch, other: Branch, *, times: bool = False) -> bool:
    """Whether two files have the same points: copies, or a log that was written twice.

    ``times``: their wall times are the same, too.
    """
    for tag in branch.columns:
        mine = branch.points(tag)
        theirs = other.points(tag)
        common = min(len(mine[0]), len(theirs[0]))
        if not common:
            continue
        if (mine[0][:common] != theirs[0][:common]).any():
            return False
        for column in (1, 2) if times else (2,):
            if not np.array_equal(mine[column][:common], theirs[column][:common], equal_nan=True):
                return False

    return True


def _spacing(steps: IntArray) -> float:
    """The usual distance between two of some steps (n,)."""
    return usual_change(steps) if len(steps) > 1 else 0.0


def _continued(newer: Sequence[Branch], older: Sequence[Sequence[Branch]]) -> int | None:
    """The number of the attempt that a log continues, by the majority of its tags, or NONE; None
    where fewer than two reach to where it begins."""
    votes = [0] * len(older)
    compared = False
    for tag in islice(newer[0].columns, _COMPARED_TAGS):
        steps, _, values = newer[0].points(tag)
        if len(steps) < _LEAST:
            continue
        ends = [_before(a, tag, int(steps[0]), _spacing(steps)) for a in older]
        known = [(n, e) for n, e in enumerate(ends) if e is not None and np.isfinite(e).all()]
        compared = compared or len(known) > 1
        winner = _nearest(values[:_NEAR].astype(float), known)
        if winner is not None:
            votes[winner] += 1
    if not compared:
        return None
    best = max(votes)

    return votes.index(best) if 2 * best > sum(votes) else NONE


def _before(attempt: Sequence[Branch], tag: str, step: int, spacing: float) -> FloatArray | None:
    """The last values before a step; None where the attempt does not reach it."""
    held = [b.points(tag) for b in attempt if tag in b.columns]
    if not held:
        return None
    steps, _, values = concatenate(held)
    kept = steps < step
    gap = _GAP * max(spacing, _spacing(steps), 1)
    if np.count_nonzero(kept) < _LEAST or steps[kept].max() < step - gap:
        return None
    order = np.argsort(steps[kept], kind="stable")[-2 * _NEAR :]
    return values[kept][order].astype(float)


def _nearest(first: FloatArray, ends: Sequence[tuple[int, FloatArray]]) -> int | None:
    """The number of the attempt whose last values are nearest to the first values; None where two
    are about as near."""
    if len(ends) < 2 or not np.isfinite(first).all():
        return None
    noise = max(usual_change(end) for _, end in ends)
    noise = max(noise, usual_change(first))
    centre = float(np.median(first))
    away = sorted((abs(centre - float(np.median(end[-_NEAR:]))), n) for n, end in ends)
    (near, winner), (far, _) = away[:2]
    return winner if far > _APART * noise and far > _NEARER * near and far > 0 else None


def _attempts_before(newer: Sequence[Branch], lineage: Lineage) -> list[list[Branch]]:
    """The branches older than a log, parted where one begins as early as the first."""
    found: list[list[Branch]] = []
    first: StepSpan | None = None
    for branch in lineage.branches:
        whole = branch.whole
        if whole is None or branch in newer or branch.rank > newer[0].rank:
            continue
        stride = _spacing(branch.points(next(iter(branch.columns)))[0])
        if first is None or whole.begin <= first.begin + stride:
            found.append([])
        first = first or whole
        found[-1].append(branch)

    return found
