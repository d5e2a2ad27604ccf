"""Sequential tests: evidence is added up row by row, so that what is far beyond its limit is
reported after a few rows and what is barely beyond it after many. Same contract as in
``levels``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rltui.core.block import BoolArray, FloatArray, IntArray
from rltui.health.detectors.extent import Window, extent
from rltui.health.detectors.rank import windows
from rltui.health.detectors.registry import detector
from rltui.health.detectors.signal import Rows, Signal, constant
from rltui.health.detectors.windows import (
    looks,
    rolling_extreme,
    rolling_median,
    run_start,
    since_above,
    start_median,
    usual_step,
)

#: Most that one row may count for, as multiple of a row that is barely certain; and one of a loss
#: of nearly all.
_MOST_CERTAIN, _MOST_CERTAIN_OF_ALL = 2.0, 4.0


def cusum(score: FloatArray) -> tuple[FloatArray, IntArray]:
    """Page's cumulative sum, never below zero, and the row at which it last left it."""
    n = len(score)
    total = np.cumsum(score)
    lowest = np.minimum(0.0, np.minimum.accumulate(total)) if n else total
    out = total - lowest
    zero = np.where(out <= 0, np.arange(n), -1)
    since = np.maximum.accumulate(zero) + 1 if n else np.zeros(0, dtype=np.int64)
    return out, np.minimum(since, np.arange(n))


def _may_be_fallen(rows: Rows, given: Mapping[str, Any]) -> bool:
    """Some row must count as evidence."""
    window, noise, wander = given["window"], given["noise"], given["wander"]
    _, _, row, _, certainty = _losses(rows, window, noise, wander)
    lost = min(given["lost"], given["counted"], given["nearly_all"])
    return given["evidence"] <= 0 or bool(((row > lost) & (certainty >= 1)).any())


@detector(anew=True, facts=("best", "least", "lost", "middle", "count"), possible=_may_be_fallen)
def fallen(
    rows: Rows,
    *,
    lost: float,
    share: float,
    counted: float = 1.0,
    nearly_all: float = 1.0,
    nearly_all_share: float = 1.0,
    evidence: float = 1.0,
    window: Window = 10,
    noise: float = 4.0,
    wander: float = 8.0,
    gain: float = 0.0,
    contrast: float = 0.0,
) -> Signal:
    """The value has lost the share ``lost`` of the range that its median of ``window`` rows
    covered, counted from its best, and for long enough to be no dip.

    Page's CUSUM: each row adds (share lost - ``lost``), times its certainty where that is positive,
    until the sum reaches ``evidence`` and ``share`` of the rows so far. With ``lost`` at 0.5 a
    complete loss adds a half per row, one of 60 % a tenth. With a lower ``counted``, what is lost
    beyond that is added up, while ``lost`` must be gone now. The certainty is the fall in units of
    ``noise`` usual steps between neighbours or ``wander`` usual falls within an eighth of the rows,
    whichever is larger: below 1 the row adds nothing, above 2 it counts as 2. A second sum, for
    losses above ``nearly_all``, must reach ``nearly_all_share`` only; there the certainty counts up
    to 4. With ``gain``: only after the value had risen by that share of the range from its start.
    With ``contrast``: only while the mean of the rows since the median fell is less than that of as
    many rows before, 5 to 30, by that many standard errors (Welch's t), or while each of 3 to 5
    rows before lies above nineteen of the newest twenty: the best median of a reward that is mostly
    zero is luck. Shifting or scaling the value changes nothing.
    """
    x, n = rows.x, rows.count
    best, low, row, part, certainty = _losses(rows, window, noise, wander)
    with np.errstate(invalid="ignore"):
        span = best - low
        floor = best - lost * span
        won = best - start_median(x, extent(window).least) >= gain * span
    weight, counted = np.minimum(certainty, _MOST_CERTAIN), min(lost, counted)
    beyond, since = _sure(row, weight, part, counted, evidence, share)
    beyond &= part >= lost
    if nearly_all < 1:
        weight = np.minimum(certainty, _MOST_CERTAIN_OF_ALL)
        again, its = _sure(row, weight, part, nearly_all, evidence, nearly_all_share)
        beyond, since = beyond | again, np.where(beyond, since, its)
    beyond &= won
    if contrast > 0 and beyond.any():
        fell = np.minimum(since, run_start(part >= counted))
        beyond &= (_contrast(x, fell) >= contrast) | _apart(x, fell)
    since = np.minimum(since, since_above(-x, -floor, beyond, window))
    return Signal(
        beyond=beyond,
        statistic=part,
        threshold=constant(n, lost),
        name="share of the range lost",
        low=np.where(beyond, floor, np.nan),
        onset=since,
        window=window,
        facts={
            "best": np.where(np.isfinite(best), best, np.nan),
            "least": np.where(np.isfinite(low), low, np.nan),
            "lost": part,
            "middle": rows.median(window),
            "count": (np.arange(n) - since + 1).astype(np.float64),
        },
    )


def _losses(rows: Rows, window: Window, noise: float, wander: float) -> FloatArray:
    """Best and lowest median so far, infinite before the first one; the share of their distance
    that the row has lost, and that its median has; and how certain the fall is: (5, n)."""
    return rows.once(
        ("losses", window, noise, wander), lambda: _make_losses(rows, window, noise, wander)
    )


def _make_losses(rows: Rows, window: Window, noise: float, wander: float) -> FloatArray:
    x, n = rows.x, rows.count
    middle = rows.median(window)
    settled = np.arange(n) >= extent(window).least - 1
    best = np.maximum.accumulate(np.where(settled, middle, -np.inf)) if n else middle
    low = np.minimum.accumulate(np.where(settled, middle, np.inf)) if n else middle
    with np.errstate(invalid="ignore", divide="ignore"):
        span = best - low
        known = settled & (span > 0)
        row = np.where(known, np.clip((best - x) / span, 0.0, 1.0), 0.0)
        usual = np.maximum(noise * usual_step(x), wander * usual_fall(middle))
        certainty = np.where(known & (best > x), (best - x) / usual, 0.0)
        part = np.where(known, (best - middle) / span, 0.0)

    return np.stack([best, low, row, part, certainty])


def _sure(
    row: FloatArray,
    certainty: FloatArray,
    part: FloatArray,
    lost: float,
    evidence: float,
    share: float,
) -> tuple[BoolArray, IntArray]:
    """Where the evidence for a loss above ``lost`` suffices, and since when it grows."""
    weight = np.where(certainty >= 1, certainty, 0.0)
    total, since = cusum((row - lost) * np.where(row > lost, weight, 1.0))
    need = np.maximum(evidence, share * np.arange(1, len(row) + 1))

    return (part >= lost) & (total >= need), since


def _contrast(x: FloatArray, since: IntArray) -> FloatArray:
    """Welch's t of the fall of the mean from the rows before ``since`` to those since, up to each
    row; infinite with fewer than three rows before."""
    n = len(x)
    if not n:
        return x
    ends = np.arange(1, n + 1)
    after = ends - since
    before = np.minimum(np.clip(after, 5, 30), since)
    centred = x - x[0]
    total = np.concatenate([[0.0], np.cumsum(centred)])
    power = np.concatenate([[0.0], np.cumsum(centred * centred)])
    means, errors = [], np.zeros(n)
    for begins, stops, count in ((since - before, since, before), (since, ends, after)):
        size = np.maximum(count, 1)
        mean = (total[stops] - total[begins]) / size
        spread = np.maximum((power[stops] - power[begins]) / size - mean * mean, 0.0)
        errors += spread / np.maximum(size - 1, 1)
        means.append(mean)
    with np.errstate(invalid="ignore", divide="ignore"):
        t = (means[0] - means[1]) / np.sqrt(errors)

    return np.where(before < 3, np.inf, np.nan_to_num(t, nan=0.0))


def _apart(x: FloatArray, since: IntArray) -> BoolArray:
    """Where each of the last 3 to 5 rows before ``since`` lies above all but one of the newest
    twenty, all of them since then. With three such rows by chance less than once in 500 times; too
    few rows, and too much of a fall among them, for a t of use."""
    size, n = 20, len(x)
    if n <= size:
        return np.zeros(n, dtype=bool)
    second = np.partition(windows(x, size), size - 2, axis=1)[:, size - 2]
    highest = np.concatenate([np.full(size - 1, np.inf), second])
    lowest = np.concatenate([[np.inf], rolling_extreme(x, 5, least=True)])[since]
    enough = (since >= 3) & (np.arange(n) - since + 1 >= size)
    return np.asarray(enough & (lowest > highest))


def usual_fall(middle: FloatArray, growth: float = 1.15) -> FloatArray:
    """How far ``middle`` usually falls within an eighth of the rows so far.

    The upper quartile, which is the median for what rises as often. A single fall touches an eighth
    of the pairs, and so never makes itself usual. Infinite for 8 rows; made anew when the rows have
    grown by ``growth``."""
    n = len(middle)
    out = np.full(n, np.inf)
    for look, following in looks(8, n, growth):
        lag = max(2, look // 8)
        falls = np.maximum(0.0, middle[: look - lag] - middle[lag:look])
        falls.sort()
        out[look - 1 : following - 1] = falls[(3 * len(falls)) // 4]

    return out


@detector(
    roles=("error",), facts=("low_rows", "count", "part", "middle"), higher=("evidence", "share")
)
def stays_below(
    rows: Rows,
    *,
    limit: float,
    evidence: float,
    share: float,
    against: float = 0.6,
    window: Window = 10,
    skip: int = 5,
    error_share: float = 0.0,
) -> Signal:
    """The value stays below ``limit``, or hardly ever rises above.

    Page's CUSUM: a row below adds 1, one above takes ``against``; the sum must reach ``evidence``
    and ``share`` of the rows so far. The first ``skip`` rows do not count. The sum starts anew at a
    row whose median of three is the best so far by ``limit``: what still rises is no failure. With
    an ``error`` metric (value loss) and ``error_share``: not while the error is below that share of
    its highest so far, as then there is nothing left to explain.
    """
    x, n = rows.x, rows.count
    middle, short = rows.median(window), rows.median(3)
    low = x < limit
    error = rows.others.get("error")
    if error is not None and error_share > 0:
        known = np.isfinite(error)
        size = rolling_median(np.where(known, error, 0.0), 5)
        low &= ~known | (size >= error_share * np.maximum.accumulate(size))
    record = np.zeros(n, dtype=bool)
    record[1:] = short[1:] > np.maximum.accumulate(short)[:-1] + abs(limit)
    score = np.where(low, 1.0, -against)
    score[:skip] = 0.0
    score[record] = -np.arange(1.0, n + 1)[record]
    total, since = cusum(score)
    count = np.arange(n) - since + 1
    below = np.cumsum(low) - np.concatenate([[0], np.cumsum(low)])[since]
    need = np.maximum(evidence, share * np.arange(1, n + 1))
    return Signal(
        certain=True,
        beyond=(middle < limit) & (total >= need),
        statistic=total,
        threshold=need,
        name=f"rows below {limit:g}, less {against:g} for each above",
        low=constant(n, limit),
        onset=since,
        window=window,
        facts={
            "low_rows": below.astype(np.float64),
            "count": count.astype(np.float64),
            "part": below / count,
            "middle": middle,
        },
    )
