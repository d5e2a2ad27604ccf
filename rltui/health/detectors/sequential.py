"""Sequential tests: evidence is added up row by row, so that what is far beyond its limit is
reported after a few rows and what is barely beyond it after many. Same contract as in
``levels``."""

from __future__ import annotations

import numpy as np

from rltui.core.block import FloatArray, IntArray
from rltui.health.detectors.extent import Window
from rltui.health.detectors.registry import detector
from rltui.health.detectors.signal import Rows, Signal, constant
from rltui.health.detectors.windows import (
    rolling_median,
)


def cusum(score: FloatArray) -> tuple[FloatArray, IntArray]:
    """Page's cumulative sum, never below zero, and the row at which it last left it."""
    n = len(score)
    total = np.cumsum(score)
    lowest = np.minimum(0.0, np.minimum.accumulate(total)) if n else total
    out = total - lowest
    zero = np.where(out <= 0, np.arange(n), -1)
    since = np.maximum.accumulate(zero) + 1 if n else np.zeros(0, dtype=np.int64)
    return out, np.minimum(since, np.arange(n))


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
