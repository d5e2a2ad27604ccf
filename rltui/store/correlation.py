"""Which series move with another one: rank correlation apart from the trend, with a lag.

The series are compared at the steps of the first, of which at most :data:`GRID` are taken. Each is
turned into ranks, so that an outlier counts as little as any other point, and freed of its trend
over the run: two curves that both rise are not related by that. The rest is correlated at the same
step, and a few points earlier and later. A jump, of which the ranks of a few rows say little, is
compared by itself: whether the other one jumped at about the same step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rltui.core.block import FloatArray, IntArray
from rltui.core.medians import median, usual_change
from rltui.store.series import Series

#: Steps at which series are compared.
GRID = 256
#: Points that both must have.
FEWEST = 16
#: The longest lag, as a share of the compared steps.
_LAG_SHARE = 0.05
#: A lag must improve the correlation by this much.
_LAG_GAIN = 0.1
#: Values whose range is below this share of their size are a constant.
_CONSTANT = 1e-6
#: Points on both sides of a jump, and its least size in usual steps between neighbours.
_SIDE = 3
_JUMP = 12.0
#: Share of the variance of the ranks that the trend must leave.
_REST = 1e-3


class Correlation(NamedTuple):
    """How a series moves with another one."""

    r: float
    """-1 to 1, of the ranks without their trend."""
    trend: float
    """-1 to 1, of the ranks themselves at the same step: both may only rise or fall."""
    lag: int
    """Steps by which it follows the other one; negative when it leads."""
    n: float
    """Points in common, as many as they count: neighbours that resemble each other count less."""
    same: bool
    """Whether the values are equal."""
    jump: int
    """1 or -1 when both jump, in the same or the opposite direction; else 0."""
    jump_lag: int
    """Steps from the jump of the other one to its own."""


class Sample(NamedTuple):
    """A series at the steps of another one."""

    values: FloatArray
    """(n,) NaN where there is none."""
    ranks: FloatArray
    """(n,) of variance 1 around 0; 0 where there is no value."""
    rest: FloatArray
    """(n,) the same without trend; 0 throughout where nothing is left."""
    memory: float
    """Correlation of neighbours, 0 to below 1."""
    jump: int | None
    """Index of the step at which it jumps, if it does."""
    up: bool
    """Whether that jump goes up."""


def grid(steps: IntArray) -> IntArray:
    """At most :data:`GRID` of the steps, ascending and each once."""
    if len(steps) > GRID:
        steps = steps[np.linspace(0, len(steps) - 1, GRID).astype(np.int64)]
    return np.unique(steps)


def sample(series: Series, steps: IntArray) -> Sample | None:
    """A series at ``steps``: at each the newest value since the step before.

    None for a constant, and for fewer than 16 values.
    """
    if len(steps) < FEWEST or series.count < FEWEST:
        return None
    values = np.full(len(steps), np.nan)
    last = np.searchsorted(series.steps, steps, side="right")
    new = np.diff(last, prepend=np.searchsorted(series.steps, steps[0], side="left")) > 0
    values[new] = series.values[last[new] - 1]
    there = np.isfinite(values)
    present = values[there]
    size = float(np.abs(present).max(initial=0.0))
    if len(present) < FEWEST or float(np.ptp(present / (size or 1.0))) <= _CONSTANT:
        return None
    found = _scaled(ranks_of(present))
    time = _scaled(np.arange(len(present), dtype=np.float64))
    left = found - time * float(found @ time) / len(time)
    left = _scaled(left) if float(left @ left) > _REST * len(left) else np.zeros(len(left))
    ranks = np.zeros(len(steps))
    rest = np.zeros(len(steps))
    ranks[there] = found
    rest[there] = left
    memory = float(left[1:] @ left[:-1]) / len(left)
    jump, up = _jump(present)
    at = None if jump is None else int(np.flatnonzero(there)[jump])

    return Sample(values, ranks, rest, min(max(memory, 0.0), 0.99), at, up)


def compare(mine: Sample, others: Sequence[Sample], steps: IntArray) -> list[Correlation | None]:
    """How each of ``others`` moves with ``mine``, all at ``steps``; None for fewer than 16 points
    in common."""
    if not others:
        return []
    stride = median(np.diff(steps))
    longest = int(_LAG_SHARE * len(mine.rest))
    lags = range(-longest, longest + 1)
    moved = np.zeros((len(lags), len(mine.rest)))
    known = np.zeros_like(moved)
    present = np.isfinite(mine.values).astype(np.float64)
    for row, lag in enumerate(lags):
        begin = max(lag, 0)
        end = len(mine.rest) + min(lag, 0)
        moved[row, begin:end] = mine.rest[begin - lag : end - lag]
        known[row, begin:end] = present[begin - lag : end - lag]
    there = np.stack([np.isfinite(o.values) for o in others], axis=1).astype(np.float64)
    counts = known @ there
    rests = np.stack([o.rest for o in others], axis=1)
    r = _correlation(moved, known, rests, there, counts)
    ranks = np.stack([o.ranks for o in others], axis=1)
    trend = _correlation(mine.ranks, present, ranks, there, counts[longest])
    out: list[Correlation | None] = []

    for column, other in enumerate(others):
        at = int(np.abs(r[:, column]).argmax())
        if abs(r[at, column]) < abs(r[longest, column]) + _LAG_GAIN:
            at = longest
        memory = mine.memory * other.memory
        n = float(counts[at, column]) * (1 - memory) / (1 + memory)
        same = bool(np.array_equal(mine.values, other.values, equal_nan=True))
        lag = round(lags[at] * stride)
        apart = 0 if mine.jump is None or other.jump is None else other.jump - mine.jump
        both = mine.jump is not None and other.jump is not None and abs(apart) <= max(1, longest)
        jump = both * (1 if mine.up == other.up else -1)
        value = float(r[at, column])
        common = float(trend[column])
        answer = Correlation(value, common, lag, n, same, jump, round(apart * stride))
        out.append(answer if counts[at, column] >= FEWEST else None)

    return out


def _correlation(
    x: FloatArray, x_there: FloatArray, y: FloatArray, y_there: FloatArray, counts: FloatArray
) -> FloatArray:
    """Correlation of the rows of ``x`` with the columns of ``y`` where both are there; 0 where one
    does not vary there or there are too few points."""
    with np.errstate(divide="ignore", invalid="ignore"):
        mean_x = x @ y_there / counts
        mean_y = x_there @ y / counts
        joint = x @ y / counts - mean_x * mean_y
        var_x = x**2 @ y_there / counts - mean_x**2
        var_y = x_there @ y**2 / counts - mean_y**2
        r: FloatArray = np.clip(joint / np.sqrt(var_x * var_y), -1, 1)

    return np.where((counts >= FEWEST) & (var_x > _REST) & (var_y > _REST), r, 0.0)


def _jump(values: FloatArray) -> tuple[int | None, bool]:
    """Index of the first point after the largest jump of values (n,), and whether that goes up.

    The means of the points on either side differ by many times what neighbours usually do.
    """
    size = float(np.abs(values).max()) or 1.0
    totals = np.cumsum(np.concatenate(([0.0], values / size)))
    means = (totals[_SIDE:] - totals[:-_SIDE]) / _SIDE
    shifts = means[_SIDE:] - means[:-_SIDE]
    usual = usual_change(values / size)
    usual = max(usual, float(np.abs(shifts).max()) / 1000)
    large = np.abs(shifts) >= max(_JUMP * usual, float(np.abs(shifts).max()) / 2)
    if not large.any():
        return None, False
    # the shift grows until all points of its later side are beyond the jump
    first = int(large.argmax())
    first += int(np.abs(shifts[first : first + _SIDE]).argmax())

    return first + _SIDE, bool(shifts[first] > 0)


def _scaled(values: FloatArray) -> FloatArray:
    """Values (n,) that vary, with variance 1 around 0."""
    scaled: FloatArray = (values - values.mean()) / values.std()
    return scaled


def ranks_of(values: FloatArray) -> FloatArray:
    """Ranks of values (n,); equal values share the mean of theirs."""
    order = np.argsort(values)
    ordered = values[order]
    first = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    ends = np.append(first[1:], len(values))
    ranks = np.empty(len(values))
    ranks[order] = np.repeat((first + ends - 1) / 2, ends - first)
    return ranks
