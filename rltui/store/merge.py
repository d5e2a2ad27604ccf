"""Several logs of one run as one series: the most precise wins, the others fill its gaps.

TensorBoard, a JSONL file and the console log the same values with different precision, and some
steps are missing in some of them: a file is torn, was erased by a restart, or is flushed later
than the console. Where two logs disagree on the steps that they share, the less precise one is
left out: its x axis means something else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np

from rltui.core.block import BoolArray, FloatArray, IntArray, ValueArray
from rltui.core.medians import median
from rltui.store.branch import Branch, Reach
from rltui.store.points import Points, by_step, choose

#: Relative and absolute tolerance by precision rank of the coarser log: consoles print three
#: significant digits (SB3) or three decimals (verl up to 0.4), event files hold float32.
_TOLERANCE = {1: (6e-3, 6e-4), 2: (2e-6, 1e-30), 3: (1e-9, 0.0)}
#: Share of equal values from which two logs agree, and below which they disagree.
_AGREE, _DISAGREE = 0.6, 0.3
#: Values below this, and above its inverse, say nothing of the digits of a column.
_TINY = 1e-200
#: Significant digits with which tables are printed. With more than six, float32 is coarser.
_DIGITS = (3, 4, 5, 6)
#: At most this many points of each log are compared: the newest of the span that both have.
_COMPARED = 500
#: Values that must be equal in the same order; twice as many where one log is rounded.
_IN_ORDER = 3
#: Share of them that must be equal, and places where one log may begin within the other.
_ALL_BUT_TORN, _STARTS = 0.9, 64
#: Rows that come again, at least, and as a share of those that they repeat.
_LEAST, _SHARE = 3, 0.5
#: With this many returns to the first step it is a counter that begins anew.
_EPOCHS = 2
#: Share of what a declared restart would supersede that a tag may leave out before it goes on.
_GAP = 0.5


def agreement(points: Points, others: Points, precision_rank: int) -> bool | None:
    """Whether two logs have the same values at the steps that they share; None where they share no
    steps, or only values that prove nothing (all equal, all tiny)."""
    if not len(points[0]) or not len(others[0]):
        return None
    end = min(points[0].max(), others[0].max())
    points, others = (
        choose(choose(p, p[0] <= end), slice(-_COMPARED, None)) for p in (points, others)
    )
    _, i, j = np.intersect1d(points[0], others[0], return_indices=True)
    if len(i) < 2:
        return None
    a: FloatArray = points[2][i].astype(np.float64)
    b: FloatArray = others[2][j].astype(np.float64)
    known = np.isfinite(a) & np.isfinite(b)
    if np.count_nonzero(known) < 2:
        return None
    a, b = a[known], b[known]
    margin = np.maximum(_margin(b, precision_rank), np.maximum(_half_unit(a), _half_unit(b)))
    if float(np.ptp(b)) <= 4 * median(margin):
        return None
    share = float(np.mean(np.abs(a - b) <= margin))
    if share >= _AGREE:
        return True

    return False if share < _DISAGREE else None


def same_in_order(
    values: ValueArray, others: ValueArray, precision_rank: int, *, need_change: bool = True
) -> tuple[bool | None, int]:
    """Whether two logs have the same values in the same order, whatever the steps; and with
    which of the other values the first ones begin (negative: how many come before them).

    None: values that hardly change prove nothing, unless ``need_change`` is False.
    """
    a: FloatArray = values[:_COMPARED].astype(np.float64)
    b: FloatArray = others[:_COMPARED].astype(np.float64)
    needed = _IN_ORDER if precision_rank > 1 else 2 * _IN_ORDER
    if need_change and min(_changes(a, precision_rank), _changes(b, precision_rank)) < needed - 1:
        return None, 0
    if min(len(a), len(b)) < needed:
        return None, 0
    later = np.flatnonzero(_equal(np.full(len(b), a[0]), b, precision_rank))
    earlier = np.flatnonzero(_equal(np.full(len(a), b[0]), a, precision_rank))
    for start in (0, *np.concatenate([later, -earlier])[:_STARTS].tolist()):
        mine, theirs = (a, b[start:]) if start >= 0 else (a[-start:], b)
        size = min(len(mine), len(theirs))
        if size < needed or 2 * size < min(len(a), len(b)):
            continue
        same = _equal(mine[:size], theirs[:size], precision_rank)
        if float(np.mean(same)) >= _ALL_BUT_TORN:
            return True, start
    return False, 0


def _changes(values: FloatArray, precision_rank: int) -> int:
    """How often the values change by more than what was rounded."""
    known = values[np.isfinite(values)]
    if len(known) < 2:
        return 0
    with np.errstate(over="ignore"):
        changed = np.abs(np.diff(known)) > 2 * _margin(known[1:], precision_rank)
    return int(np.count_nonzero(changed))


def _equal(a: FloatArray, b: FloatArray, precision_rank: int) -> BoolArray:
    """Where values are equal but for what was rounded."""
    margin = _margin(a, precision_rank)
    with np.errstate(invalid="ignore", over="ignore"):
        same: BoolArray = np.abs(a - b) <= margin
        if not same.all():
            same = np.abs(a - b) <= np.maximum(margin, np.maximum(_half_unit(a), _half_unit(b)))
    same |= ~np.isfinite(a) & ~np.isfinite(b)
    return same


def filled(base: Points, other: Points, precision_rank: int, *, proven: bool = True) -> Points:
    """``base`` with the points of a less precise log at steps that it lacks, and with the times
    of that log where it has none. All three are sorted by step.

    ``proven``: the two have one x axis. Otherwise the same values at other steps are left out.
    """
    if not len(other[0]):
        return base
    if not len(base[0]):
        return other
    at = _places(base[0], other[0])
    shared = base[0][at] == other[0]
    if not _fits(base, other, at, shared, precision_rank):
        return base
    if not (proven or shared.any()) and _repeats(base, other, precision_rank):
        return base
    base = _timed(base, other)
    if shared.all():
        return base
    more = choose(other, ~shared)

    return by_step(
        (
            np.concatenate([base[0], more[0]]),
            np.concatenate([base[1], more[1]]),
            np.concatenate([base[2].astype(np.float64), more[2].astype(np.float64)]),
        )
    )


def _places(steps: IntArray, others: IntArray) -> IntArray:
    """(m,) index in ``steps`` (sorted) at which each of the others is, or would be inserted."""
    short = min(len(steps), len(others))
    if np.array_equal(steps[:short], others[:short]):  # the usual case: both log every row
        return np.minimum(np.arange(len(others)), len(steps) - 1)
    return np.minimum(np.searchsorted(steps, others), len(steps) - 1)


def _fits(
    base: Points, other: Points, at: IntArray, shared: BoolArray, precision_rank: int
) -> bool:
    """Whether the other log has the same values at shared steps; ``at``: see :func:`_places`."""
    if not shared.any():  # one after the other, not interleaved
        return bool(other[0][0] > base[0][-1] or other[0][-1] < base[0][0])
    a, b = base[2][at[shared]].astype(np.float64), other[2][shared].astype(np.float64)
    return float(np.mean(_equal(a, b, precision_rank))) >= _AGREE


def _repeats(base: Points, other: Points, precision_rank: int) -> bool:
    """Whether one begins with the values of the other."""
    size = min(len(base[0]), len(other[0]), _COMPARED)
    a, b = base[2][:size].astype(np.float64), other[2][:size].astype(np.float64)
    return bool(_equal(a, b, precision_rank).all())


def _timed(base: Points, other: Points) -> Points:
    """``base`` with the times of the other log where it has none."""
    lacking = np.isnan(base[1])
    if not lacking.any() or not np.isfinite(other[1]).any():
        return base
    steps, walls = other[0], other[1]
    at = np.minimum(np.searchsorted(steps, base[0]), len(steps) - 1)
    use: BoolArray = lacking & (steps[at] == base[0])
    return base[0], np.where(use, walls[at], base[1]), base[2]


def _margin(values: FloatArray, precision_rank: int) -> FloatArray:
    relative, absolute = _TOLERANCE[max(1, min(3, precision_rank))]
    with np.errstate(invalid="ignore"):
        margin: FloatArray = absolute + relative * np.abs(values)
    return margin


def _half_unit(values: FloatArray) -> FloatArray:
    """(n,) half a unit of the last digit with which values were printed: of the fewest significant
    digits that give all of them. Zero where they were not rounded to so few."""
    telling = np.isfinite(values) & (np.abs(values) > _TINY) & (np.abs(values) < 1 / _TINY)
    power = np.floor(np.log10(np.where(telling, np.abs(values), 1.0)))
    sample, size = values[telling], power[telling]
    for digits in _DIGITS:
        places = sample / 10.0 ** (size - digits + 1)
        # float32 holds seven digits, so a value printed with six is off by less than this
        if (np.abs(places - np.round(places)) <= 1e-7 * 10.0**digits).all():
            half: FloatArray = 0.51 * 10.0 ** (power - digits + 1)
            return half

    return np.zeros(len(values))


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
