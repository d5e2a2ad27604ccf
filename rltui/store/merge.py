"""Several logs of one run as one series: the most precise wins, the others fill its gaps.

TensorBoard, a JSONL file and the console log the same values with different precision, and some
steps are missing in some of them: a file is torn, was erased by a restart, or is flushed later
than the console. Where two logs disagree on the steps that they share, the less precise one is
left out: its x axis means something else.
"""

from __future__ import annotations

import numpy as np

from rltui.core.block import BoolArray, FloatArray, ValueArray
from rltui.core.medians import median
from rltui.store.points import Points, by_step, choose

#: Relative and absolute tolerance by precision rank of the coarser log: consoles print three
#: significant digits (SB3) or three decimals (verl up to 0.4), event files hold float32.
_TOLERANCE = {1: (6e-3, 6e-4), 2: (2e-6, 1e-30), 3: (1e-9, 0.0)}
#: Share of equal values from which two logs agree, and below which they disagree.
_AGREE = 0.6
_DISAGREE = 0.3
#: Values below this, and above its inverse, say nothing of the digits of a column.
_TINY = 1e-200
#: Significant digits with which tables are printed. With more than six, float32 is coarser.
_DIGITS = (3, 4, 5, 6)
#: At most this many points of each log are compared: the newest of the span that both have.
_COMPARED = 500
#: Values that must be equal in the same order; twice as many where one log is rounded.
_IN_ORDER = 3
#: Share of them that must be equal, and places where one log may begin within the other.
_ALL_BUT_TORN = 0.9
_STARTS = 64


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
    a = a[known]
    b = b[known]
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
    if min(len(a), len(b)) < needed:
        return None, 0
    for column in (a, b) if need_change else ():
        known = column[np.isfinite(column)]
        with np.errstate(over="ignore"):
            changed = np.abs(np.diff(known)) > 2 * _margin(known[1:], precision_rank)
        if np.count_nonzero(changed) < needed - 1:
            return None, 0

    later = np.flatnonzero(_equal(np.full(len(b), a[0]), b, precision_rank))
    earlier = np.flatnonzero(_equal(np.full(len(a), b[0]), a, precision_rank))
    for start in (0, *np.concatenate([later, -earlier])[:_STARTS].tolist()):
        mine, theirs = (a, b[start:]) if start >= 0 else (a[-start:], b)
        size = min(len(mine), len(theirs))
        if size < needed or 2 * size < min(len(a), len(b)):
            continue
        if float(np.mean(_equal(mine[:size], theirs[:size], precision_rank))) >= _ALL_BUT_TORN:
            return True, start

    return False, 0


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
    if not len(other[0]) or not len(base[0]):
        return base if len(base[0]) else other
    steps = base[0]
    more_steps = other[0]
    short = min(len(steps), len(more_steps))
    if np.array_equal(steps[:short], more_steps[:short]):  # the usual case: both log every row
        at = np.minimum(np.arange(len(more_steps)), len(steps) - 1)
    else:
        at = np.minimum(np.searchsorted(steps, more_steps), len(steps) - 1)
    shared = steps[at] == more_steps

    a = base[2].astype(np.float64)
    b = other[2].astype(np.float64)
    if shared.any():
        if float(np.mean(_equal(a[at[shared]], b[shared], precision_rank))) < _AGREE:
            return base
    else:
        size = min(short, _COMPARED)
        interleaved = more_steps[0] <= steps[-1] and more_steps[-1] >= steps[0]
        if interleaved or not (proven or not _equal(a[:size], b[:size], precision_rank).all()):
            return base

    lacking = np.isnan(base[1])
    if lacking.any() and np.isfinite(other[1]).any():
        there = np.minimum(np.searchsorted(more_steps, steps), len(more_steps) - 1)
        use = lacking & (more_steps[there] == steps)
        base = steps, np.where(use, other[1][there], base[1]), base[2]
    if shared.all():
        return base
    more = choose(other, ~shared)

    return by_step(
        (
            np.concatenate([steps, more[0]]),
            np.concatenate([base[1], more[1]]),
            np.concatenate([a, b[~shared]]),
        )
    )


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
    sample = values[telling]
    size = power[telling]
    for digits in _DIGITS:
        places = sample / 10.0 ** (size - digits + 1)
        # float32 holds seven digits, so a value printed with six is off by less than this
        if (np.abs(places - np.round(places)) <= 1e-7 * 10.0**digits).all():
            half: FloatArray = 0.51 * 10.0 ** (power - digits + 1)
            return half

    return np.zeros(len(values))
