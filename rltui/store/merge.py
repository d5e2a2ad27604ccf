"""Several logs of one run as one series: the most precise wins, the others fill its gaps.

TensorBoard, a JSONL file and the console log the same values with different precision, and some
steps are missing in some of them: a file is torn, was erased by a restart, or is flushed later
than the console. Where two logs disagree on the steps that they share, the less precise one is
left out: its x axis means something else.
"""

from __future__ import annotations

from enum import Enum

import numpy as np

from rltui.core.block import BoolArray, FloatArray, IntArray
from rltui.store.points import Points, by_step, choose

#: Relative and absolute tolerance by precision rank of the coarser log: consoles print three
#: significant digits (SB3) or three decimals (verl up to 0.4), event files hold float32.
_TOLERANCE = {1: (6e-3, 6e-4), 2: (2e-6, 1e-30), 3: (1e-9, 0.0)}
#: Share of equal values from which two logs agree, and below which they disagree.
_AGREE, _DISAGREE = 0.6, 0.3
#: At most this many points of each log are compared: the newest of the span that both have.
_COMPARED = 500


class Agreement(Enum):
    """Whether two logs have the same values."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"
    """They share no steps, or only values that prove nothing (all equal, all tiny)."""


def agreement(points: Points, others: Points, precision_rank: int) -> Agreement:
    """Whether two logs have the same values at the steps that they share."""
    if not len(points[0]) or not len(others[0]):
        return Agreement.UNKNOWN
    end = min(points[0].max(), others[0].max())
    points, others = _newest(points, end), _newest(others, end)
    _, i, j = np.intersect1d(points[0], others[0], return_indices=True)
    if len(i) < 2:
        return Agreement.UNKNOWN
    a: FloatArray = points[2][i].astype(np.float64)
    b: FloatArray = others[2][j].astype(np.float64)
    known = np.isfinite(a) & np.isfinite(b)
    if np.count_nonzero(known) < 2:
        return Agreement.UNKNOWN
    a, b = a[known], b[known]
    margin = _margin(b, precision_rank)
    if float(np.ptp(b)) <= 4 * float(np.median(margin)):
        return Agreement.UNKNOWN
    share = float(np.mean(np.abs(a - b) <= margin))
    if share >= _AGREE:
        return Agreement.YES
    return Agreement.NO if share < _DISAGREE else Agreement.UNKNOWN


def filled(base: Points, other: Points, precision_rank: int) -> Points:
    """``base`` with the points of a less precise log at steps that it lacks, and with the times
    of that log where it has none. All three are sorted by step."""
    if not len(other[0]):
        return base
    if not len(base[0]):
        return other
    at = _places(base[0], other[0])
    shared = base[0][at] == other[0]
    if not _fits(base, other, at, shared, precision_rank):
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


def _newest(points: Points, end: int) -> Points:
    """The last points up to a step."""
    return tuple(column[-_COMPARED:] for column in choose(points, points[0] <= end))  # type: ignore[return-value]


def _fits(
    base: Points, other: Points, at: IntArray, shared: BoolArray, precision_rank: int
) -> bool:
    """Whether the other log has the same values at shared steps; ``at``: see :func:`_places`."""
    if not shared.any():  # one after the other, not interleaved
        return bool(other[0][0] > base[0][-1] or other[0][-1] < base[0][0])
    a, b = base[2][at[shared]].astype(np.float64), other[2][shared].astype(np.float64)
    with np.errstate(invalid="ignore"):
        same = np.abs(a - b) <= _margin(a, precision_rank)
    same |= ~np.isfinite(a) & ~np.isfinite(b)
    return float(np.mean(same)) >= _AGREE


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
