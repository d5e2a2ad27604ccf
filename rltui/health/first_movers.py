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
    found = [m for m in (_move(s, step) for s in series) if m is not None]
    known = limits or {}
    material = [m for m in found if not (m.tag in known and _is_trifle(m, known[m.tag]))]
    return sorted(material, key=lambda m: (m.step, -m.size, m.tag))


def settings_changed(
    series: Iterable[Series], step: int, upwards: frozenset[str] = frozenset()
) -> list[Move]:
    """The settings that jumped shortly before ``step``, or with it, the largest jump first.

    Of tags in ``upwards`` (learning rates) only a rise counts.
    """
    found = (_jump(s, step, s.tag in upwards) for s in series)
    return sorted((m for m in found if m is not None), key=lambda m: (-m.size, m.step))


@np.errstate(over="ignore", invalid="ignore")
def moved_between(series: Series, step: int, until: int | None) -> Move | None:
    """How far a metric went from its value before ``step``; None without a finite one, or a
    change."""
    begin = series.rows_before(step)
    end = series.count if until is None else series.rows_until(until)
    values = series.values[begin:end].astype(np.float64)
    if not begin or not len(values):
        return None
    before = float(series.values[begin - 1])
    if not np.isfinite(before):
        return None
    distance = np.abs(values - before)
    farthest = float(values[int(np.argmax(distance))])  # the first that is no number, if any
    return None if farthest == before else Move(series.tag, step, before, farthest)


def has_gained(series: Series) -> bool:
    """Whether nearly all of the newest values lie above those of the start."""
    limits, agreeing = movement().moved, movement().trend.agreeing
    first, last = series.values[: limits.usual_least], series.values[-limits.usual_rows :]
    if series.count < limits.usual_least + limits.usual_rows:
        return False
    return bool(np.mean(last > median(first)) >= agreeing)


def _is_trifle(move: Move, judgement: Judgement) -> bool:
    """Whether the move ends far from the limit that it moves towards."""
    rises = move.after > move.before
    limit = judgement.high if rises else judgement.low
    if limit is None or limit == 0:
        return False
    factor = movement().moved.far_inside
    if rises:
        return 0 <= move.after < limit / factor
    return limit > 0 and move.after > limit * factor


def _around(series: Series, step: int, before: int, after: int) -> tuple[IntArray, FloatArray, int]:
    """Steps and finite values from ``before`` rows before ``step`` to ``after`` rows behind it,
    and the position of the row at ``step``."""
    at = series.rows_before(step)
    begin, end = max(0, at - before), min(series.count, at + after + 1)
    steps, values = series.steps[begin:end], series.values[begin:end].astype(np.float64)
    keep = np.isfinite(values)
    return steps[keep], values[keep], int(np.count_nonzero(keep[: at - begin]))


def _jump(series: Series, step: int, upwards: bool) -> Move | None:
    limits = movement().setting
    least = limits.least_rows
    steps, values, _ = _around(series, step, limits.rows_before + least, 1)
    if len(values) <= least:
        return None
    old, new = values[:-1], values[1:]
    same_sign = old * new > 0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.where(same_sign, new / old, np.where(old == new, 1.0, np.inf))
    grown = ratio >= limits.factor
    jumped = (grown & (old != 0)) if upwards else (grown | (ratio <= 1 / limits.factor))
    # a schedule that ends at 0 gets there in steps as large as the ones before
    rise = np.abs(new) - np.abs(old)
    is_largest = np.append(True, rise[1:] < np.minimum.accumulate(rise)[:-1])
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
    (old, new), limits = jump, movement().setting
    past = past[np.argmax(past >= old) :] if new < old else past
    same = limits.same
    beyond = past >= new * (1 - same) if new > old else past <= new * (1 + same)
    usual = max(limits.least_rows, limits.usual_share * len(past))
    return bool(np.count_nonzero(beyond) >= usual)


def _move(series: Series, step: int) -> Move | None:
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
    drift = float(np.abs(usual[1:] - usual[:-1]).max()) if len(usual) > 1 else 0.0
    limit = max(limits.sigmas * spread, limits.share * abs(centre), limits.drifts * drift)
    far = np.flatnonzero(distance > limit)
    if not len(far):
        return None
    row = begin + int(far[0])
    after = values[row:]
    farthest = after[int(np.argmax(np.abs(after - centre)))]

    return Move(series.tag, int(steps[row]), float(values[row - 1]), float(farthest))
