"""Detects a value that fell far below its own start. Same contract as in ``levels``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rltui.core.block import BoolArray, FloatArray
from rltui.health.detectors.extent import Extent, Window
from rltui.health.detectors.registry import detector
from rltui.health.detectors.signal import Rows, Signal, constant
from rltui.health.detectors.windows import (
    last_run_start,
    latched,
    rolling_extreme,
    rolling_median,
    start_median,
)


def _may_be_below_start(rows: Rows, given: Mapping[str, Any]) -> bool:
    start = float(rows.x[: given["early"]].max())
    share = max(given["share"], given["cliff_share"])
    return start > 0 and rows.extremes()[0] / start <= share


@detector(
    roles=("reward",),
    facts=("start", "share", "drop", "middle", "span"),
    lower=("share",),
    possible=_may_be_below_start,
)
def below_start(
    rows: Rows,
    *,
    share: float,
    early: int = 5,
    window: Window = 3,
    cliff_share: float = 0.0,
    cliff_drop: float = 1.0,
    cliff_rows: int = 5,
    noise: float = 0.0,
    spared: float = 0.0,
    unit: float = 0.0,
    unit_share: float = 0.01,
) -> Signal:
    """The median of ``window`` rows is under ``share`` of the start: the highest 3-row median
    among the first ``early`` rows, so that a collapse within them is measured by what was before.

    Also after a cliff: a fall by ``cliff_drop`` of the start within ``cliff_rows`` rows (or 5 %
    of those seen, if that is more) to under ``cliff_share`` of it, while it stays under that.
    Not judged: a start at or below zero; one within ``unit_share`` of a multiple of ``unit``; a
    fall by less than ``noise`` times the scatter of single rows; with a ``reward``, rows
    at which that lies above ``spared`` of its range.
    """
    x, n = rows.x, rows.count
    middle, start = rows.median(window), rows.once(("start", early), lambda: _start(x, early))
    with np.errstate(invalid="ignore", divide="ignore"):
        part = np.where(_is_base(start, unit, unit_share), middle / start, np.nan)
        beyond = part <= share
        fall, within, least = np.zeros(n), np.zeros(n), constant(n, share)
        only_cliff = np.zeros(n, dtype=bool)
        if cliff_share > 0:
            fall, within = _fall(part, cliff_rows)
            edge = (fall >= cliff_drop) & (part <= cliff_share)
            held, origin = latched(edge, -part, constant(n, -cliff_share))
            fall, within = fall[origin], within[origin]
            only_cliff = held & ~beyond
            beyond |= held
            least[only_cliff] = cliff_share
        limit = least * start
    if noise > 0:
        beyond &= start - middle >= noise * rows.once("scatter", lambda: _scatter(x))
    excused = np.zeros(n, dtype=bool)
    if spared > 0 and "reward" in rows.others:
        excused = beyond & at_its_best(rows.others["reward"], spared)
        beyond &= ~excused
    known = np.isfinite(part)
    return Signal(
        beyond=beyond,
        statistic=part,
        threshold=np.where(known, least, np.nan),
        name="share of start",
        low=np.where(known, limit, np.nan),
        onset=last_run_start(x <= limit, window),
        window=window,
        facts={"start": start, "share": part, "drop": fall, "middle": middle, "span": within},
        excused=excused,
        notes=(
            (only_cliff, " (after a fall by {drop:%} within {span:d} rows)"),
            (_then_all(excused, beyond), "; still below its limit, but the reward is at its best"),
        ),
    )


def _then_all(excused: BoolArray, beyond: BoolArray) -> BoolArray:
    """(n,) whether each row after the last ``beyond`` one is ``excused``, of which there is one;
    only for the rows from which on all are either."""
    n, last = len(beyond), np.flatnonzero(beyond)
    after = excused[int(last[-1]) + 1 :] if len(last) else excused[:0]
    if not len(after) or not after.all():
        return np.zeros(n, dtype=bool)
    return np.asarray(np.logical_and.accumulate((excused | beyond)[::-1])[::-1])


def _is_base(start: FloatArray, unit: float, unit_share: float) -> BoolArray:
    """Whether something can be measured by this start."""
    judged = start > 0
    if unit > 0:
        multiple = np.maximum(1.0, np.round(start / unit)) * unit
        judged &= np.abs(start - multiple) > unit_share * multiple
    return judged


def _start(x: FloatArray, early: int) -> FloatArray:
    """Highest 3-row median of the first ``early`` rows, of those seen so far."""
    middle: FloatArray = rolling_median(x, 3)
    top: FloatArray = middle.copy()
    top[2:] = np.maximum.accumulate(middle[2:])
    if len(x) > early:
        top[early:] = top[early - 1]
    return np.asarray(top, dtype=np.float64)


def _scatter(x: FloatArray, count: int = 10) -> FloatArray:
    """Standard deviation of the first ``count`` rows, of those seen so far, from the steps between
    neighbours (of a normal distribution): 1.05 times their median, so that one jump does not raise
    it, or 0.89 times their mean over the last 30 rows, if that is more."""
    steps = np.abs(np.diff(x, prepend=x[:1]))
    out = np.zeros(len(x))
    out[1:] = 1.048 * start_median(steps[1:], count - 1)
    total, ends = np.concatenate([[0.0], np.cumsum(steps)]), np.arange(1, len(x) + 1)
    begins = np.maximum(0, ends - 30)
    return np.asarray(np.maximum(out, 0.886 * (total[ends] - total[begins]) / (ends - begins)))


def at_its_best(reward: FloatArray, share: float) -> BoolArray:
    """Whether the 10-row median lies above ``share`` of the range that it has covered."""
    known = np.isfinite(reward)
    if not known.any():
        return known
    begin = int(np.argmax(known))
    middle = rolling_median(reward[begin:], Extent(10, 0.1, 3))
    low, best = np.minimum.accumulate(middle), np.maximum.accumulate(middle)
    out = np.zeros(len(reward), dtype=bool)
    out[begin:] = (best > low) & (middle - low >= share * (best - low))
    return out


def _fall(part: FloatArray, least_rows: int) -> tuple[FloatArray, FloatArray]:
    """How far each row lies under the highest of the last rows (5 % of those seen, at least
    ``least_rows``), and how many rows those are. Window lengths are doubled, so that few windows
    are computed."""
    n = len(part)
    fall, rows, begin, window = np.zeros(n), np.zeros(n), 0, least_rows
    while begin < n:
        end = min(n, 2 * window * 20)
        top = rolling_extreme(part[:end], window + 1, least=False)
        fall[begin:end] = top[begin:] - part[begin:end]
        rows[begin:end] = window
        begin, window = end, 2 * window

    return fall, rows
