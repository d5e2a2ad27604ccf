"""First movers: which metrics left their usual level around a symptom, in order.

This is what people do by eye when they compare curves around the step at which a run went wrong.
The usual level of a metric (median and median absolute deviation) is that of the rows just before;
it moved at the first row near the symptom that leaves this level by a wide margin. A setting that
somebody or a schedule changed just before is the cause and stands first.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rltui.core.block import FloatArray, IntArray
from rltui.core.medians import SIGMAS, median
from rltui.health.limits import movement
from rltui.health.model import Judgement, Move
from rltui.store import Series


def moved_first(
    series: Iterable[Series], step: int, limits: dict[str, Judgement] | None = None
) -> list[Move]:
    """The metrics that moved around ``step``, in order; at the same step the larger move first.

    A move that stays far inside the limits of its tag is left out.
    """
    known = limits or {}
    return sorted(
        filter(None, (_move(s, step, known.get(s.tag)) for s in series)),
        key=lambda m: (m.step, -m.size, m.tag),
    )


def settings_changed(
    series: Iterable[Series], step: int, upwards: frozenset[str] = frozenset()
) -> list[Move]:
    """The settings that jumped shortly before ``step``, or with it, the largest jump first.

    Of tags in ``upwards`` (learning rates) only a rise counts.
    """
    return sorted(
        filter(None, (_jump(s, step, s.tag in upwards) for s in series)),
        key=lambda m: (-m.size, m.step),
    )


@np.errstate(over="ignore", invalid="ignore")
def moved_between(series: Series, step: int, until: int) -> Move | None:
    """Course of a metric from the row before ``step`` on: its first value that is nearer to
    that of ``until``, when the move was certain, than to the one before. None without a finite
    value before, or a change."""
    begin = series.rows_before(step)
    end = series.rows_until(until)
    if not 0 < begin < end:
        return None
    values = series.values[begin - 1 : end].astype(np.float64)
    distance = np.abs(values - values[0])
    if distance[-1] == 0 or not np.isfinite(values[0]):
        return None
    farther = np.abs(values - values[-1]) > distance  # never from what is no number
    row = int(np.argmax(~farther[1:]))
    left = int(series.steps[begin + row])
    before, after = values[[0, row + 1]].tolist()
    return Move(series.tag, step, before, after, until=left if left > step else None)


def has_gained(series: Series) -> bool:
    """Whether nearly all of the newest values lie above those of the start."""
    limits = movement().moved
    agreeing = movement().trend.agreeing
    first = series.values[: limits.usual_least]
    last = series.values[-limits.usual_rows :]
    if series.count < limits.usual_least + limits.usual_rows:
        return False
    return bool(np.mean(last > median(first)) >= agreeing)


def _is_trifle(before: float, end: float, judgement: Judgement) -> bool:
    """Whether a move ends far from the limit that it moves towards."""
    rises = end > before
    limit = judgement.high if rises else judgement.low
    if limit is None or limit == 0:
        return False
    factor = movement().moved.far_inside
    if rises:
        return 0 <= end < limit / factor
    return limit > 0 and end > limit * factor


def _around(series: Series, step: int, before: int, after: int) -> tuple[IntArray, FloatArray, int]:
    """Steps and finite values from ``before`` rows before ``step`` to ``after`` rows behind it,
    and the position of the row at ``step``."""
    at = series.rows_before(step)
    begin = max(0, at - before)
    end = min(series.count, at + after + 1)
    steps = series.steps[begin:end]
    values = series.values[begin:end].astype(np.float64)
    keep = np.isfinite(values)
    return steps[keep], values[keep], int(np.count_nonzero(keep[: at - begin]))


def _jump(series: Series, step: int, upwards: bool) -> Move | None:
    limits = movement().setting
    least = limits.least_rows
    steps, values, _ = _around(series, step, limits.rows_before + least, 1)
    if len(values) <= least:
        return None
    old = values[:-1]
    new = values[1:]
    same_sign = old * new > 0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.where(same_sign, new / old, np.where(old == new, 1.0, np.inf))
    grown = ratio >= limits.factor
    jumped = (grown & (old != 0)) if upwards else (grown | (ratio <= 1 / limits.factor))
    # a schedule that ends at 0 gets there in steps as large as the ones before
    rise = np.abs(new) - np.abs(old)
    falls = np.minimum.accumulate(rise)[:-1]
    is_largest = np.append(True, rise[1:] < (1 + limits.same) * falls)
    # and a warm-up goes on at its pace
    goes_on = np.append(rise[1:], 0.0) >= (1 - limits.same) * rise
    jumped &= np.where(rise < 0, is_largest, ~goes_on)
    candidates = np.flatnonzero(jumped[least - 1 :]) + least
    rows = [r for r in candidates if not _was_usual(series, int(steps[r]), values[r - 1 : r + 1])]
    if not rows:
        return None
    with np.errstate(divide="ignore"):
        row = int(max(rows, key=lambda r: abs(np.log(ratio[r - 1]))))

    return Move(series.tag, int(steps[row]), float(values[row - 1]), float(values[row]), True)


def _was_usual(series: Series, step: int, jump: FloatArray) -> bool:
    """Whether many rows before ``step`` had the value after the jump, or one beyond it; of a fall
    those since it first was as high, behind its warm-up."""
    past = series.values[: series.rows_before(step)]
    old, new = jump
    limits = movement().setting
    past = past[np.argmax(past >= old) :] if new < old else past
    same = limits.same
    beyond = past >= new * (1 - same) if new > old else past <= new * (1 + same)
    usual = max(limits.least_rows, limits.usual_share * len(past))
    return bool(np.count_nonzero(beyond) >= usual)


def _move(series: Series, step: int, judgement: Judgement | None) -> Move | None:
    limits = movement().moved
    before = limits.rows_before
    steps, values, at = _around(series, step, before + limits.usual_rows, limits.rows_after)
    begin = max(0, at - before)
    usual = values[:begin]
    if len(usual) < limits.usual_least or begin >= len(values):
        return None
    centre = median(usual)
    distance = np.abs(values[begin:] - centre)
    if float(distance.max()) <= limits.share * abs(centre):
        return None
    spread = SIGMAS * median(np.abs(usual - centre))
    drift = float(np.abs(np.diff(usual)).max(initial=0.0))
    limit = max(limits.sigmas * spread, limits.share * abs(centre), limits.drifts * drift)
    far = np.flatnonzero(distance > limit)
    if not len(far):
        return None
    row = begin + int(far[0])
    before, after = values[row - 1 : row + 1].tolist()
    farthest = values[begin + int(np.argmax(distance))]
    if judgement is not None and _is_trifle(before, farthest, judgement):
        return None

    return Move(series.tag, int(steps[row]), before, after)
