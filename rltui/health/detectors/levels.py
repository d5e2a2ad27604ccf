"""Detectors of levels, rises and spikes: pure functions of the rows so far.

No metric and no limit is named here. A detector answers for one level; a rule calls it once with
its ``watch`` and once with its ``bad`` parameters. The keyword parameters are what a rule may set.
Row i of every answer depends on rows up to i only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rltui.core.block import FloatArray, IntArray
from rltui.health.detectors.extent import Window, extent
from rltui.health.detectors.registry import detector
from rltui.health.detectors.signal import Rows, Signal, constant
from rltui.health.detectors.windows import (
    first_true_within,
    last_run_start,
    latched,
    rolling_count,
    rolling_extreme,
    rolling_median,
    start_median,
    start_quartile,
)


@detector(all_rows=True, finite_is_quiet=True, facts=("count",))
def non_finite(rows: Rows, *, after_finite: bool = False) -> Signal:
    """NaN or infinite. ``after_finite``: only after a finite value was seen; silent until then."""
    wrong = ~np.isfinite(rows.x)
    never = bool(wrong.all())
    if after_finite:
        wrong &= np.maximum.accumulate(~wrong) if len(wrong) else wrong

    return Signal(
        certain=True,
        beyond=wrong,
        statistic=rows.x,
        threshold=constant(rows.count, np.nan),
        name="non-finite values",
        facts={"count": np.cumsum(wrong).astype(np.float64)},
        silent=after_finite and never,
    )


def _may_be_outside(rows: Rows, given: Mapping[str, Any]) -> bool:
    low, high = rows.extremes()
    if given["absolute"]:
        low, high = min(abs(low), abs(high)) if low * high > 0 else 0.0, max(abs(low), abs(high))
    return bool(high >= given["high"] or low <= given["low"])


@detector(
    roles=("length",),
    facts=("middle",),
    higher=("high", "after"),
    lower=("low",),
    possible=_may_be_outside,
)
def outside(
    rows: Rows,
    *,
    low: float = -np.inf,
    high: float = np.inf,
    window: Window = 3,
    absolute: bool = False,
    after: int = 0,
    per_unit: float = 0.0,
) -> Signal:
    """The median of ``window`` rows is outside ``low`` .. ``high``.

    ``absolute`` drops the sign first; ``after`` leaves out this many rows at the beginning of the
    run; ``per_unit``: with a ``length``, the median must also exceed this much per unit of length.
    """
    x = np.abs(rows.x) if absolute else rows.x
    middle = rows.median(window, absolute=absolute)
    above, below = middle >= high, middle <= low
    beyond = above | below
    length = rows.others.get("length")
    if per_unit > 0 and length is not None:
        with np.errstate(invalid="ignore", divide="ignore"):
            small = np.abs(middle) / length < per_unit
        beyond &= ~small
    beyond[: max(0, after)] = False
    raw = np.where(below, x <= low, x >= high)
    n = rows.count

    return Signal(
        beyond=beyond,
        statistic=middle,
        threshold=np.where(below | ~np.isfinite(high), low, high),
        name=_median_name(window),
        low=constant(n, -high if absolute else low),
        high=constant(n, high),
        onset=last_run_start(raw, window),
        window=window,
        facts={"middle": middle},
    )


@detector(
    roles=("second", "ceiling"),
    facts=("start", "change", "middle"),
    higher=("factor", "floor", "headroom", "least_second"),
)
def grown(
    rows: Rows,
    *,
    factor: float,
    floor: float,
    early: int = 10,
    window: Window = 3,
    absolute: bool = True,
    least_second: float = 0.0,
    headroom: float = 0.0,
) -> Signal:
    """The median of ``window`` rows is ``factor`` times that of the start, and above ``floor``.

    The start is the median of the first ``early`` rows. With ``least_second``: only while a
    ``second`` metric is at least that (median of as many rows), and never without it. With
    ``headroom`` and a ``ceiling`` (the highest that this metric has been): or the median has
    covered that share of the way from the start to it, as ``factor`` may be beyond the ceiling.
    """
    x = np.abs(rows.x) if absolute else rows.x
    middle, start = rows.median(window, absolute=absolute), start_median(x, early)
    limit = np.maximum(floor, factor * start)
    ceiling = rows.others.get("ceiling")
    if headroom > 0 and ceiling is not None and rows.count:
        top = np.maximum.accumulate(np.where(np.isfinite(ceiling), ceiling, -np.inf))
        way = np.where(top > start, start + headroom * (top - start), np.inf)
        limit = np.minimum(limit, np.maximum(floor, way))
    beyond = middle >= limit
    if least_second > 0:
        second = rows.others.get("second", constant(rows.count, np.nan))
        known = np.where(np.isfinite(second), second, 0.0)
        beyond &= rolling_median(known, window) >= least_second

    return Signal(
        beyond=beyond,
        statistic=middle,
        threshold=limit,
        name=_median_name(window),
        low=-limit if absolute else None,
        high=limit,
        onset=last_run_start(x >= limit, window),
        window=window,
        facts={"start": start, "change": _ratio(middle, start), "middle": middle},
    )


@detector(facts=("base", "rise", "middle"), higher=("amount",))
def rise(rows: Rows, *, amount: float, within: int = 10, window: int = 3) -> Signal:
    """The median of ``window`` rows rose by ``amount`` within ``within`` rows, and stays there.

    It ends when the median falls below its level before the rise plus half of ``amount``.
    """
    middle = rows.median(window)
    base = rolling_extreme(middle, within + 1, least=True)
    climb = middle - base
    held, origin = latched(climb >= amount, middle, base + 0.5 * amount)
    came_from = base[origin]
    quick = last_run_start(rows.x - base >= 0.75 * amount, within)

    return Signal(
        beyond=held,
        statistic=np.where(held, middle - came_from, climb),
        threshold=constant(rows.count, amount),
        name=f"rise of the {_median_name(window)}",
        high=came_from + amount,
        onset=quick[origin] if rows.count else None,
        window=within + window,
        facts={"base": came_from, "rise": middle - came_from, "middle": middle},
        held=middle - came_from < amount,
        peaked=True,
    )


def _may_be_spike(rows: Rows, given: Mapping[str, Any]) -> bool:
    low, high = rows.extremes()
    return high >= given["above"] and (low <= 0 or high >= given["factor"] * low)


@detector(facts=("usual", "factor"), higher=("factor", "times", "above"), possible=_may_be_spike)
def spike(
    rows: Rows,
    *,
    factor: float,
    times: int = 1,
    within: Window = 10,
    before: Window = 20,
    early: int = 5,
    start_share: float = 1.0,
    signal_share: float = 0.01,
    above: float = 0.0,
) -> Signal:
    """A row is ``factor`` times the usual, ``times`` within ``within`` rows, and above ``above``.

    The usual is the median of the ``before`` rows before it, but never less than ``start_share`` of
    the lower quartile of the first ``early`` rows: a value that decayed to nothing is no usable
    baseline, nor is one that had begun to rise. Rows under ``signal_share`` of the highest so far
    carry no signal and count for neither. A spike keeps its baseline until the value has fallen
    below half of the limit again.
    """
    x, n = rows.x, rows.count
    usual = rows.once(
        ("usual", before, early, start_share, signal_share),
        lambda: _usual(x, before, early, start_share, signal_share),
    )
    limit = np.maximum(factor * usual, above)
    with np.errstate(invalid="ignore"):
        hit = (x >= limit) & (usual > 0)
    enough = hit & (rolling_count(hit, within) >= times)
    held, origin = latched(enough, rows.median(3), 0.5 * limit)
    base = usual[origin]
    first = first_true_within(hit, within)

    return Signal(
        worth=times,
        beyond=held,
        statistic=_ratio(x, base),
        threshold=_ratio(limit[origin], base),
        name="multiple of the median of the rows before",
        high=limit[origin],
        onset=first[origin] if n else None,
        window=within,
        facts={"usual": base, "factor": _ratio(x, base)},
        held=x < limit[origin],
        peaked=True,
    )


def _usual(
    x: FloatArray, before: Window, early: int, start_share: float, signal_share: float
) -> FloatArray:
    """Median of the rows with signal before each row, at least ``start_share`` of the start;
    NaN while there are fewer than ``early``."""
    usual = np.full(len(x), np.nan)
    if not len(x):
        return usual
    signal = (x > 0) & (x >= signal_share * np.maximum.accumulate(x))
    y = x[signal]
    base = np.maximum(rolling_median(y, before), start_share * start_quartile(y, early))
    seen: IntArray = np.cumsum(signal) - signal
    ready = seen >= early
    usual[ready] = base[seen[ready] - 1]

    return usual


def _ratio(a: FloatArray, b: FloatArray) -> FloatArray:
    """a / b, NaN where b is zero or unknown."""
    with np.errstate(invalid="ignore", divide="ignore"):
        out = a / b
    return np.where(np.isfinite(out), out, np.nan)


def _median_name(window: Window) -> str:
    if window == 1:
        return "value"
    size = extent(window)
    return f"{size.most}-row median" if size.least == size.most else "rolling median"
