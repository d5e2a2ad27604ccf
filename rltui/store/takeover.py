"""From which step on a branch of a log supersedes older ones, tag by tag, and where a file itself
shows that its writer began again.

A writer that begins again at or below the last step of a tag takes over from there. What another
tag counts (episodes beside environment steps) does not matter, so each tag is compared with itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np

from rltui.core.block import IntArray
from rltui.store.branch import Branch, Reach

#: Rows that come again, at least, and as a share of those that they repeat.
_LEAST, _SHARE = 3, 0.5
#: With this many returns to the first step it is a counter that begins anew.
_EPOCHS = 2
#: Share of what a declared restart would supersede that a tag may leave out before it goes on.
_GAP = 0.5


def resumptions(steps: IntArray) -> list[int]:
    """The rows of a tag, in the order of the file (n,), at which its writer began again at a lower
    step and went on from there.

    Then the rows come again, about as many as before. A row that is late alone, or a few that are,
    show no restart; nor do writers that take turns, nor a counter that begins anew with each epoch.
    """
    falls = np.flatnonzero(steps[1:] < steps[:-1]) + 1
    if not len(falls) or len(falls) * _LEAST > len(steps):
        return []
    found = []
    ends = [*falls[1:].tolist(), len(steps)]
    for at, end in zip(falls.tolist(), ends, strict=True):
        old, again = steps[:at], steps[at:end]
        high = old.max()
        last = min(high, again[-1])
        repeated = np.count_nonzero(again <= high)
        before = np.count_nonzero((old >= again[0]) & (old <= last))
        if repeated >= _LEAST and repeated >= _SHARE * before > 0:
            found.append(at)
    anew = [at for at in found if steps[at] <= steps[0]]

    return found if len(anew) < _EPOCHS else [at for at in found if at not in anew]


def starts(branches: Iterable[Branch], tag: str) -> list[int | None]:
    """For each branch, oldest first: the step from which it supersedes older points of a tag;
    None where it supersedes none."""
    found: list[int | None] = []
    older: Reach | None = None
    for branch in branches:
        reach = branch.reaches.get(tag)
        found.append(_start(branch, reach, older))
        if reach is not None:
            older = reach if older is None else older.joined(reach)
    return found


def _start(branch: Branch, reach: Reach | None, older: Reach | None) -> int | None:
    begin, declared = None if reach is None else reach.begin, branch.declared_start
    if declared is None or begin is None or older is None:
        return begin if declared is None else declared
    # the declared step may be on the axis of other tags: then this tag goes on far beyond it
    elsewhere = declared < older.first or begin - declared > _GAP * (older.last - declared)
    return begin if elsewhere else declared


def last_step(branches: Sequence[Branch], off_axis: Collection[str] = ()) -> int | None:
    """Highest step of any tag that no later branch has superseded; ``branches``: oldest first.
    Tags of ``off_axis`` do not count."""
    if not off_axis and not _overlap(branches) and not any(b.fell for b in branches):
        return max((b.whole.last for b in branches if b.whole is not None), default=None)
    tags = _tags(branches, off_axis)
    return max((end for t in tags for end in _ends(branches, t)), default=None)


def first_step(branches: Iterable[Branch], off_axis: Collection[str] = ()) -> int | None:
    """Lowest step of any tag but those of ``off_axis``."""
    if not off_axis:
        return min((b.whole.first for b in branches if b.whole is not None), default=None)
    reaches = ((t, r) for b in branches for t, r in b.reaches.items())
    return min((r.first for t, r in reaches if t not in off_axis), default=None)


def _ends(branches: Sequence[Branch], tag: str) -> Iterator[int]:
    limit: int | None = None
    for branch, start in zip(reversed(branches), reversed(starts(branches, tag)), strict=True):
        reach = branch.reaches.get(tag)
        if reach is not None:
            last = _end(branch, reach, tag)
            yield last if limit is None else min(last, limit - 1)
        if start is not None:
            limit = start if limit is None else min(limit, start)


def _end(branch: Branch, reach: Reach, tag: str) -> int:
    """The highest step of a tag since its writer last began again."""
    if tag not in branch.fell:
        return reach.last
    steps = branch.points(tag)[0]
    return int(steps[max(resumptions(steps), default=0) :].max())


def restarts(branches: Sequence[Branch]) -> tuple[int, ...]:
    """The steps, ascending, at which branches took over from older ones, or a writer began again in
    its file: one for each time, the lowest of the tags."""
    if not _overlap(branches) and not any(b.fell for b in branches):
        return ()
    found: dict[tuple[int, int], int] = {}
    for tag in _tags(branches):
        last: int | None = None
        for index, start in enumerate(starts(branches, tag)):
            branch = branches[index]
            began = {0: start} if start is not None and last is not None and start <= last else {}
            if tag in branch.fell:
                steps = branch.points(tag)[0]
                began |= {n: int(steps[at]) for n, at in enumerate(resumptions(steps), 1)}
            for number, step in began.items():
                found[index, number] = min(step, found.get((index, number), step))
            reach = branch.reaches.get(tag)
            if reach is not None:
                last = reach.last if last is None else max(last, reach.last)

    return tuple(sorted(set(found.values())))


def _overlap(branches: Sequence[Branch]) -> bool:
    """Whether any branch has, or declares, steps that an older one may have reached."""
    older: Reach | None = None
    for branch in branches:
        whole, declared = branch.whole, branch.declared_start
        if older is not None:
            lowest = (None if whole is None else whole.first, declared)
            if any(step is not None and step <= older.last for step in lowest):
                return True
        if whole is not None:
            older = whole if older is None else older.joined(whole)
    return False


def _tags(branches: Iterable[Branch], without: Collection[str] = ()) -> Iterable[str]:
    return dict.fromkeys(t for b in branches for t in b.reaches if t not in without)
