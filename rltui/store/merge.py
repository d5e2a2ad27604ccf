"""Several sources of one training as one series: the most exact wins, others fill gaps.

TensorBoard, a JSONL file and the console tell the same values with other digits, and not all
of them tell all steps: a file is torn or was erased by a restart, or it is flushed later than
the console. Where two sources do not agree on the steps that they share, the less exact one is
left out: its x axis is another one.
"""

from __future__ import annotations

from enum import Enum

import numpy as np

from rltui.core.block import BoolArray, FloatArray, IntArray
from rltui.store.branch import Points
from rltui.store.lineage import choose

#: Relative and absolute tolerance by the exactness of the coarser source: consoles print three
#: significant digits (SB3) or three decimals (verl up to 0.4), event files hold float32.
_TOLERANCE = {1: (6e-3, 6e-4), 2: (2e-6, 1e-30), 3: (1e-9, 0.0)}
#: Shares of equal values from which on two sources agree, and below which they do not.
_AGREE, _DISAGREE = 0.6, 0.3
#: Points of each source that are compared at most: the newest of the span that both have.
_COMPARED = 500


class Agreement(Enum):
    """Whether two sources tell the same values."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"
    """They share no steps, or nothing but values that tell nothing (all equal, all tiny)."""


def agreement(points: Points, others: Points, exactness: int) -> Agreement:
    """Whether two sources tell the same values at the steps that they share."""
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
    margin = _margin(b, exactness)
    if _spread(b) <= 4 * float(np.median(margin)):
        return Agreement.UNKNOWN
    share = float(np.mean(np.abs(a - b) <= margin))
    if share >= _AGREE:
        return Agreement.YES
    return Agreement.NO if share < _DISAGREE else Agreement.UNKNOWN


def filled(base: Points, other: Points, exactness: int) -> Points:
    """``base`` with the points of a less exact source at steps that it does not have, and with
    its times where it has none; sorted by step."""
    if not len(other[0]):
        return base
    if not len(base[0]):
        return other
    base, other = _sorted(base), _sorted(other)
    at = _places(base[0], other[0])
    shared = base[0][at] == other[0]
    if not _fits(base, other, at, shared, exactness):
        return base
    base = _timed(base, other)
    if shared.all():
        return base
    more = choose(other, ~shared)
    return _sorted(
        (
            np.concatenate([base[0], more[0]]),
            np.concatenate([base[1], more[1]]),
            np.concatenate([base[2].astype(np.float64), more[2].astype(np.float64)]),
        )
    )


def _places(steps: IntArray, others: IntArray) -> IntArray:
    """(m,) where in ``steps`` (sorted) each of the others stands, or would stand."""
    short = min(len(steps), len(others))
    if np.array_equal(steps[:short], others[:short]):  # the usual case: they log together
        return np.minimum(np.arange(len(others)), len(steps) - 1)
    return np.minimum(np.searchsorted(steps, others), len(steps) - 1)


def _sorted(points: Points) -> Points:
    """The points by step; equal steps stay in the order of the log."""
    if (points[0][1:] >= points[0][:-1]).all():
        return points
    return choose(points, np.argsort(points[0], kind="stable"))


def _newest(points: Points, end: int) -> Points:
    """The last points up to a step."""
    return tuple(column[-_COMPARED:] for column in choose(points, points[0] <= end))  # type: ignore[return-value]


def _fits(base: Points, other: Points, at: IntArray, shared: BoolArray, exactness: int) -> bool:
    """Whether the other source tells the same where it shares steps; ``at``: where in ``base``
    its points would stand."""
    if not shared.any():  # one after the other, not between each other
        return bool(other[0][0] > base[0][-1] or other[0][-1] < base[0][0])
    a, b = base[2][at[shared]].astype(np.float64), other[2][shared].astype(np.float64)
    with np.errstate(invalid="ignore"):
        same = np.abs(a - b) <= _margin(a, exactness)
    same |= ~np.isfinite(a) & ~np.isfinite(b)
    return float(np.mean(same)) >= _AGREE


def _timed(base: Points, other: Points) -> Points:
    """Times of the other source where the base has none."""
    lacking = np.isnan(base[1])
    if not lacking.any() or not np.isfinite(other[1]).any():
        return base
    steps, walls = other[0], other[1]
    at = np.minimum(np.searchsorted(steps, base[0]), len(steps) - 1)
    use: BoolArray = lacking & (steps[at] == base[0])
    return base[0], np.where(use, walls[at], base[1]), base[2]


def _margin(values: FloatArray, exactness: int) -> FloatArray:
    relative, absolute = _TOLERANCE[max(1, min(3, exactness))]
    with np.errstate(invalid="ignore"):
        margin: FloatArray = absolute + relative * np.abs(values)
    return margin


def _spread(values: FloatArray) -> float:
    return float(values.max() - values.min())
