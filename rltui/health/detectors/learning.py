"""Detects runs that learn nothing, or have stopped learning. Same contract as in ``levels``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rltui.core.block import BoolArray, FloatArray, IntArray
from rltui.health.detectors.decline import at_its_best
from rltui.health.detectors.extent import Window, extent
from rltui.health.detectors.registry import detector
from rltui.health.detectors.signal import HELD_OUT, Rows, Signal, after_exploring, constant
from rltui.health.detectors.windows import (
    last_run_start,
    rolling_count,
    rolling_extreme,
    rolling_median,
    rolling_quartiles,
    since_above,
    start_median,
    usual_step,
)


def _may_be_frozen(rows: Rows, given: Mapping[str, Any]) -> bool:
    """As many values as the quartiles of a window enclose must lie within the allowed spread."""
    low, high = rows.extremes()
    movement, share = rows.others.get("movement"), given["spread_share"]
    if movement is not None and not np.abs(movement).min() > given["unmoved"]:
        share = max(share, given["unmoved_spread_share"], given["unmoved_loss_share"])
    ordered = rows.once("sorted", lambda: np.sort(rows.x))
    least = extent(given["window"]).least
    inner = min(least - 2 * (least // 4), 2 * ((least + 3) // 4))  # of this window, of longer ones
    apart = ordered[inner - 1 :] - ordered[: max(0, rows.count - inner + 1)]
    return bool((apart <= share * (high - low)).any())


@detector(
    anew=True,
    roles=("movement", "exploration"),
    facts=("best", "least", "lost", "spread", "count", "middle"),
    possible=_may_be_frozen,
)
def frozen(
    rows: Rows,
    *,
    below: float,
    window: Window = 30,
    spread_share: float = 0.002,
    unmoved: float = 0.0,
    unmoved_spread_share: float = 0.05,
    unmoved_loss_share: float = 0.0,
    short: Window = 5,
    noise: float = 0.0,
    most_spread: float = 1.0,
    moves: float = 0.0,
    explores: float = 1.0,
) -> Signal:
    """The value hardly moves any more, well below its former level.

    The quartiles of ``window`` rows are closer than ``spread_share`` of the range that the
    ``short``-row median has covered so far, and their median lies ``below`` of that range under the
    best of it.
    With a ``movement`` (update KL) whose median is at most ``unmoved``, sign dropped,
    ``unmoved_spread_share`` is enough, or ``unmoved_loss_share`` of what is lost: the policy is
    frozen, the rest is the environment.
    Only where that range is ``noise`` times the mean step between neighbours of ``window``
    rows, at its highest so far: a value that only jumps has gained nothing to lose. Nor may any of
    the rows lie more than ``most_spread`` of the range above the median: rare hits are no
    standstill. Not judged before the value has changed in the share ``moves`` of ``window`` rows:
    that a running mean is logged twice is no news, nor while a row of the window has an
    ``exploration`` rate above ``explores``. Shifting or scaling the value changes nothing.
    """
    x, n = rows.x, rows.count
    middle, spread = (
        rows.median(window),
        rows.once(("quartiles", window), lambda: rolling_quartiles(x, window)),
    )
    lively = rows.median(short)
    best = np.maximum.accumulate(lively) if n else lively
    span = best - np.minimum.accumulate(lively) if n else lively
    allowed = constant(n, spread_share)
    movement = rows.others.get("movement")
    with np.errstate(invalid="ignore", divide="ignore"):
        lost = np.where(span > 0, (best - middle) / span, 0.0)
    if movement is not None and unmoved > 0:
        size = np.where(np.isfinite(movement), np.abs(movement), np.inf)
        dead = rolling_median(np.minimum(size, 1.0), window) <= unmoved
        allowed[dead] = np.maximum(unmoved_spread_share, unmoved_loss_share * lost[dead])
    with np.errstate(invalid="ignore"):
        still = (spread <= allowed * span) & (span > 0) & (span >= noise * _unrest(x, window))
    highest = rolling_extreme(x, window, least=False)
    still &= np.arange(n) - after_exploring(rows, explores) + 1 >= extent(window).sizes(n)
    still &= (highest - middle <= most_spread * span) & (_most_moves(x, window) >= moves)
    return Signal(
        certain=True,
        beyond=still & (lost >= below),
        statistic=lost,
        threshold=constant(n, below),
        name="share of the range lost",
        onset=_since_alike(x, middle, allowed * span, still & (lost >= below)),
        window=window,
        facts={
            "best": best,
            "lost": lost,
            "least": best - span,
            "spread": spread,
            "count": extent(window).sizes(n).astype(np.float64),
            "middle": middle,
        },
    )


def _unrest(x: FloatArray, window: Window) -> FloatArray:
    """Highest mean step between neighbours in ``window`` rows so far."""
    if len(x) < 2:
        return np.zeros(len(x))
    total = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(x, prepend=x[:1])))])
    ends = np.arange(1, len(x) + 1)
    sizes = np.minimum(ends, extent(window).sizes(len(x)))
    mean = (total[ends] - total[ends - sizes]) / sizes
    return np.asarray(np.maximum.accumulate(mean))


def _most_moves(x: FloatArray, window: Window) -> FloatArray:
    """Highest share of ``window`` rows so far that differ from the row before."""
    n = len(x)
    moved = np.concatenate([np.zeros(min(n, 1), dtype=bool), x[1:] != x[:-1]])
    sizes = extent(window).sizes(n)
    share = rolling_count(moved, window) / sizes
    return np.asarray(np.maximum.accumulate(share))


def _since_alike(
    x: FloatArray, centre: FloatArray, width: FloatArray, flags: BoolArray
) -> IntArray:
    """For the first row of each run of True: since when all rows lie within ``width`` of its
    ``centre``; the row itself for all others."""
    out = np.arange(len(x))
    for row in np.flatnonzero(flags & ~np.concatenate([[False], flags[:-1]])):
        apart = np.flatnonzero(np.abs(x[: row + 1] - centre[row]) > width[row])
        out[row] = int(apart[-1]) + 1 if len(apart) else 0
    return np.minimum(out, np.arange(len(x)))


@detector(
    anew=True,
    roles=("gradient",),
    facts=("start", "share", "gradient_share", "middle"),
    lower=("share", "gradient_share"),
)
def faded(
    rows: Rows, *, share: float, gradient_share: float, early: int = 5, window: Window = 10
) -> Signal:
    """The value and the gradient norm have both fallen to nothing against their start: medians of
    ``window`` rows.

    Without a gradient norm nothing is found: one signal alone is misleading.
    """
    n = rows.count
    part, start = _share(rows.x, early, window)
    gradient = rows.others.get("gradient")
    if gradient is None:
        second = constant(n, np.nan)
    else:
        second, _ = _share(np.where(np.isfinite(gradient), gradient, 0.0), early, window)
    with np.errstate(invalid="ignore"):
        beyond = (part <= share) & (second <= gradient_share)
    return Signal(
        beyond=beyond,
        statistic=part,
        threshold=constant(n, share),
        name="share of start",
        low=share * start,
        onset=last_run_start(rows.x <= share * start, window),
        window=window,
        facts={"start": start, "share": part, "gradient_share": second, "middle": part * start},
    )


def _share(x: FloatArray, early: int, window: Window) -> tuple[FloatArray, FloatArray]:
    start = start_median(x, early)
    with np.errstate(invalid="ignore", divide="ignore"):
        part = rolling_median(x, window) / start
    return np.where(start > 0, part, np.nan), start


@detector(roles=("entropy",), facts=("top", "count"), higher=("least_rows",))
def motionless(
    rows: Rows,
    *,
    limit: float,
    least_rows: int,
    entropy_share: float = 0.01,
    warm_up: float = 0.0,
) -> Signal:
    """Never above ``limit`` (sign dropped) in ``least_rows`` rows or more, yet not all zero.

    Medians of three rows count, so that a single one does not end it. Not while the value has grown
    to ``warm_up`` times its start: a rate that is still rising. With an ``entropy``: and that has
    not moved by ``entropy_share`` of its start, nor by four usual steps between neighbours.
    """
    n = rows.count
    size = rows.median(3, absolute=True)
    top = np.maximum.accumulate(size) if n else size
    beyond = (top <= limit) & (top > 0) & (np.arange(1, n + 1) >= least_rows)
    if warm_up > 0:
        beyond &= size < warm_up * start_median(np.abs(rows.x), 2)
    entropy = rows.others.get("entropy")
    if entropy is not None and n:
        known = np.where(np.isfinite(entropy), entropy, 0.0)
        start = start_median(known, 5)
        wide = np.maximum(entropy_share * np.abs(start), 4.0 * usual_step(known))
        moved = np.abs(rolling_median(known, 5) - start) > wide
        beyond &= ~np.maximum.accumulate(moved)
    return Signal(
        certain=True,
        beyond=beyond,
        statistic=top,
        threshold=constant(n, limit),
        name="highest so far",
        low=constant(n, limit),
        onset=np.zeros(n, dtype=np.int64),
        facts={"top": top, "count": np.arange(1, n + 1, dtype=np.float64)},
    )


@detector(roles=("certain",), facts=("best", "factor", "middle"), higher=("factor", "noise"))
def worse_than_best(
    rows: Rows,
    *,
    factor: float,
    window: Window = 1,
    least_certain: float = 0.0,
    noise: float = 0.0,
) -> Signal:
    """A loss is ``factor`` times its lowest so far (3 rows or more), and above that by ``noise``
    usual steps between neighbours, beside their trend.

    With ``least_certain``: only while the metric ``certain`` is at least that, and never without
    that metric.
    """
    n = rows.count
    middle = rows.median(window)
    best = np.minimum.accumulate(middle) if n else middle
    with np.errstate(invalid="ignore", divide="ignore"):
        times = np.where(best > 0, middle / best, np.nan)
        beyond = (times >= factor) & (np.arange(n) >= 2)
        beyond &= middle - best >= noise * rows.once("usual step", lambda: usual_step(rows.x))
    if least_certain > 0:
        certain = rows.others.get("certain", constant(n, np.nan))
        with np.errstate(invalid="ignore"):
            beyond &= certain >= least_certain
    at_best = np.where(rows.x <= best, np.arange(n), 0)
    since = np.maximum.accumulate(at_best) + 1 if n else at_best
    return Signal(
        zero=1.0,
        worth=HELD_OUT,
        beyond=beyond,
        statistic=times,
        threshold=constant(n, factor),
        name="multiple of the best",
        high=factor * best,
        onset=np.minimum(since, np.arange(n)),
        window=window,
        facts={"best": best, "factor": times, "middle": middle},
    )


@detector(
    roles=("reward",),
    facts=("best", "start", "factor", "growth", "middle"),
    higher=("factor", "start_factor"),
)
def diverged(
    rows: Rows,
    *,
    factor: float,
    start_factor: float,
    window: Window = 10,
    early: int = 10,
    spared: float = 0.0,
    beside_reward: float = 1.0,
    noise: float = 0.0,
) -> Signal:
    """The median of ``window`` rows is ``factor`` times its lowest so far and
    ``start_factor`` times the median of the first ``early`` rows. Not judged: a start at or below
    zero; a rise of less than ``noise`` usual steps between neighbours, beside their trend; with a
    ``reward``, rows at which that lies above ``spared`` of its range. Beside a
    ``reward`` both factors are multiplied by ``beside_reward``: the loss of a value function grows
    with the square of what the agent earns. It began where the plain factors were exceeded.
    """
    x, n = rows.x, rows.count
    reward = rows.others.get("reward")
    excess = 1.0 if reward is None else beside_reward
    middle, start = rows.median(window), start_median(x, early)
    best = np.minimum.accumulate(middle) if n else middle
    known = start > 0
    with np.errstate(invalid="ignore", divide="ignore"):
        times = np.where(best > 0, middle / best, np.inf)
        growth = np.where(known, middle / start, np.nan)
    plain = np.where(
        known, np.maximum(factor * np.maximum(best, 0.0), start_factor * start), np.nan
    )
    limit = excess * plain
    with np.errstate(invalid="ignore"):
        beyond = known & (middle >= limit)
    if noise > 0 and n:
        beyond &= middle - best >= noise * rows.once("usual step", lambda: usual_step(x))
    if spared > 0 and reward is not None:
        beyond &= ~at_its_best(reward, spared)

    return Signal(
        beyond=beyond,
        statistic=middle,
        threshold=limit,
        name=f"median of {window} rows",
        high=limit,
        onset=since_above(x, plain, beyond, window),
        window=window,
        facts={"best": best, "start": start, "middle": middle,
               "factor": np.where(np.isfinite(times), times, np.nan), "growth": growth},
    )  # fmt: skip
