"""Where a run was resumed: the steps from which newer points supersede older ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise

import numpy as np

from rltui.core.block import IntArray
from rltui.store.branch import Branch, StepSpan
from rltui.store.points import is_sorted

#: Rows that come again, at least, also from the first step on, and as a share of those that they
#: repeat.
_LEAST = 3
_FROM_START = 2
_SHARE = 0.5
#: With this many returns to the first step it may be a counter that begins anew.
_EPOCHS = 2
#: Share of what a declared restart would supersede that a tag may leave out before it goes on.
_GAP = 0.5


def resumptions(steps: IntArray) -> list[int]:
    """The rows of a tag, in the order of the file (n,), at which its writer began again at a lower
    step and went on from there.

    Then the rows come again, about as many as before. A row that is late alone, or a few that are,
    show no restart; nor do writers that take turns, nor a counter that begins anew with each epoch,
    which is as long as the one before it.
    """
    falls = np.flatnonzero(steps[1:] < steps[:-1]) + 1
    if not len(falls) or len(falls) * _LEAST > len(steps):
        return []
    found: list[int] = []
    ends = [*falls[1:].tolist(), len(steps)]

    for at, end in zip(falls.tolist(), ends, strict=True):
        old = steps[:at]
        again = steps[at:end]
        high = old.max()
        last = min(high, again[-1])
        repeated = np.count_nonzero(again <= high)
        newest = steps[found[-1] if found else 0 : at]
        before = np.count_nonzero((newest >= again[0]) & (newest <= last))
        anew = steps[at] == steps[0] and is_sorted(again) and len(newest) >= _LEAST
        least = _FROM_START if anew else _LEAST
        if repeated >= least and repeated >= _SHARE * before > 0:
            found.append(at)
    # a counter that begins anew with each epoch always comes as far
    from_start = [at for at in found if steps[at] <= steps[0]]
    *whole, end = (steps[a:b].max() for a, b in pairwise([0, *from_start, len(steps)]))
    is_counter = len(from_start) >= _EPOCHS and len({*whole}) == 1 and end <= whole[0]
    return [at for at in found if at not in from_start] if is_counter else found


def again(branch: Branch, tag: str) -> tuple[IntArray, list[int]]:
    """The steps of a tag in the order of the file, and the :func:`resumptions`: the same objects
    until there are more."""
    places = tuple(index for index, _ in branch.columns[tag])
    known = branch.begun.get(places)
    if known is None or len(known[0]) != branch.count(tag):
        steps = branch.points(tag)[0]
        known = branch.begun[places] = steps, resumptions(steps)
    return known


def starts(branches: Iterable[Branch], tag: str) -> list[int | None]:
    """For each branch, oldest first: the step from which it supersedes older points of a tag;
    None where it supersedes none."""
    found: list[int | None] = []
    older: StepSpan | None = None
    for branch in branches:
        own = branch.spans.get(tag)
        start = branch.declared_start
        if own is not None:
            begin = own.begin
            if start is None:
                start = begin
            elif older is not None:
                # the declared step may be on the axis of other tags: then this one goes on far
                # beyond it
                gap = _GAP * (older.last - start)
                start = begin if start < older.first or begin - start > gap else start
            older = own.joined(older)
        found.append(start)

    return found


def first_step(branches: Iterable[Branch], off_axis: Collection[str] = ()) -> int | None:
    """Lowest step of any tag but those of ``off_axis``."""
    if not off_axis:
        return min((b.whole.first for b in branches if b.whole is not None), default=None)
    spans = ((t, r) for b in branches for t, r in b.spans.items())
    return min((r.first for t, r in spans if t not in off_axis), default=None)


def span(
    branches: Sequence[Branch], off_axis: Collection[str] = ()
) -> tuple[int | None, tuple[int, ...]]:
    """The highest step of any tag that no later branch has superseded, but for tags ``off_axis``;
    and the steps, ascending, at which branches took over from older ones, or a writer began again
    in its file: one for each time, the lowest of these tags. ``branches``: oldest first."""
    if not off_axis and not _overlap(branches):
        return max((b.whole.last for b in branches if b.whole is not None), default=None), ()

    highest: list[int] = []
    begun: dict[tuple[int, int], int] = {}
    for tag in dict.fromkeys(t for b in branches for t in b.spans):
        taken_over = starts(branches, tag)
        ends = _ends(branches, tag, taken_over, {} if tag in off_axis else begun)
        limit: int | None = None
        for end, start in zip(reversed(ends), reversed(taken_over), strict=True):
            if end is not None and tag not in off_axis:
                highest.append(end if limit is None else min(end, limit - 1))
            if start is not None:
                limit = start if limit is None else min(limit, start)

    return max(highest, default=None), tuple(sorted(begun.values()))


def _overlap(branches: Sequence[Branch]) -> bool:
    """Whether any branch has, or declares, steps that an older one may have reached, or steps that
    its writer may have logged again."""
    older: StepSpan | None = None
    for branch in branches:
        lowest = (None if branch.whole is None else branch.whole.first, branch.declared_start)
        if older is not None and any(step is not None and step <= older.last for step in lowest):
            return True
        if branch.fell:
            return True
        older = older if branch.whole is None else branch.whole.joined(older)

    return False


def _ends(
    branches: Sequence[Branch],
    tag: str,
    taken_over: Sequence[int | None],
    begun: dict[tuple[int, int], int],
) -> list[int | None]:
    """For each branch: the highest step of a tag since its writer last began again. Notes in
    ``begun`` where something began again: number of the branch and of the time in it -> step."""
    ends: list[int | None] = []
    before: int | None = None

    for index, (branch, start) in enumerate(zip(branches, taken_over, strict=True)):
        began: dict[int, int] = {}
        if start is not None and before is not None and start <= before:
            began[0] = start
        own = branch.spans.get(tag)
        end = None if own is None else own.last
        if tag in branch.fell:
            steps, rows = again(branch, tag)
            began |= {number: int(steps[at]) for number, at in enumerate(rows, 1)}
            end = int(steps[max(rows, default=0) :].max())
        for number, step in began.items():
            begun[index, number] = min(step, begun.get((index, number), step))
        if own is not None:
            before = own.last if before is None else max(before, own.last)
        ends.append(end)

    return ends
