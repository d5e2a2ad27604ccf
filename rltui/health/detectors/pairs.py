"""Detectors that compare a metric with a second one. Same contract as in ``levels``."""

from __future__ import annotations

from bisect import insort

import numpy as np

from rltui.core.block import FloatArray, IntArray
from rltui.core.medians import median
from rltui.health.detectors.extent import Window, extent
from rltui.health.detectors.registry import detector
from rltui.health.detectors.signal import HELD_OUT, Rows, Signal, constant
from rltui.health.detectors.windows import last_run_start, rolling_median, start_median, usual_step

#: Rows whose median is compared, of the run and of the reference alike.
COMPARED_ROWS = 5
#: Up to this many numbers are kept in order one by one: numpy takes longer to begin.
_FEW = 500


@detector(
    roles=("reward",), facts=("best", "start", "middle", "lost", "rise", "count"), higher=("lost",)
)
def left_behind(
    rows: Rows,
    *,
    lost: float,
    rise: float = 0.0,
    noise: float = 3.0,
    window: Window = 1,
    least_rows: int = 4,
    gain: float = 0.0,
    run_share: float = 0.0,
    below_start: bool = False,
) -> Signal:
    """A held-out score has fallen from its best while the training reward went on rising.

    The median of ``window`` rows has lost the share ``lost`` of the range that it has covered, and
    ``noise`` times the median step between neighbours. With ``gain``: its best lay that share of
    the range and as many steps above its start. With ``rise``: the ``reward`` has gained
    that share of its own range since the score was best; never without a ``reward``. With
    ``below_start``: the score is also below its first value, and the range is that up to its best:
    what falls on and on does not widen it. With ``run_share``: so it was in four
    of five of that share of the rows, the newest ones, which noise with a memory seldom is. Shift
    and scale of both change nothing.
    """
    n = rows.count
    least_window = extent(window).least
    middle, settled = rows.median(window), np.arange(n) >= least_window - 1
    best = _running(np.where(settled, middle, -np.inf), np.maximum)
    least = _running(np.where(settled, middle, np.inf), np.minimum)
    at_best = _newest_best(np.where(settled, middle, -np.inf))
    reach = best - (least[at_best] if below_start and n else least)
    fall, gained = best - middle, _gain_since(rows, at_best)
    with np.errstate(invalid="ignore", divide="ignore"):
        part = np.where(settled & (reach > 0), fall / reach, 0.0)
        floor = np.where(settled, best - lost * reach, np.nan)
    start, certain = start_median(rows.x, least_window), noise * _own_step(rows)
    beyond = (part >= lost) & (fall > 0) & (fall >= certain)
    beyond &= np.arange(n) >= least_rows - 1
    if rise > 0:
        beyond &= gained >= rise
    if gain > 0:
        beyond &= best - start >= np.maximum(gain * (best - least), certain)
    if below_start:
        beyond &= middle < start
    if run_share > 0:
        beyond &= _mostly(beyond, run_share)
    return Signal(
        worth=HELD_OUT,
        beyond=beyond,
        statistic=part,
        threshold=constant(n, lost),
        name="share of the range lost",
        low=np.where(beyond, floor, np.nan),
        onset=last_run_start(rows.x <= floor, window),
        window=window,
        facts={"best": np.where(settled, best, np.nan), "start": start, "middle": middle,
               "lost": part, "count": _count(n),
               "rise": np.where(np.isfinite(gained), gained, 0.0)},
    )  # fmt: skip


@detector(roles=("reward",), facts=("start", "best", "rise", "count"))
def flat_beside(
    rows: Rows, *, rise: float, noise: float = 2.0, least_rows: int = 8, ceiling: float = np.inf
) -> Signal:
    """A held-out score never rose above its start while the training reward did.

    The best of ``least_rows`` rows or more lies less than ``noise`` median steps between
    neighbours above the median of the first two, and below ``ceiling``; the ``reward`` has gained
    the share ``rise`` of its range, and as many of its own steps. Scores that never moved at all
    are not judged: they may not be measured. Never without a ``reward``.
    """
    n = rows.count
    start, best = start_median(rows.x, 2), _running(rows.x, np.maximum)
    gained, step = _gain_since(rows, np.zeros(n, dtype=np.int64)), _own_step(rows)
    beyond = (best - start <= noise * step) & (step > 0) & (best < ceiling)
    beyond &= (gained >= rise) & (np.arange(n) >= least_rows - 1)
    return Signal(
        certain=True,
        beyond=beyond,
        statistic=best - start,
        threshold=noise * step,
        name="gain of the best row over the first two",
        onset=np.minimum(np.arange(n), 1),
        facts={"start": start, "best": best, "rise": np.where(np.isfinite(gained), gained, 0.0),
               "count": _count(n)},
    )  # fmt: skip


@detector(roles=("train",), facts=("best", "factor", "train_best", "train_now"))
def overtaken(
    rows: Rows, *, factor: float, train_share: float, least_rows: int = 2, noise: float = 0.0
) -> Signal:
    """A held-out loss is ``factor`` times its lowest while the training loss (``train``) has
    fallen to ``train_share`` of what it was at that row. ``least_rows`` may be 2, because two
    signals agree; from the fourth row on, the loss must also lie ``noise`` usual steps between
    neighbours, beside their trend, above its lowest, as the best of many rows is luck. Not judged
    without the training loss, or where one of the two is not positive.
    """
    n = rows.count
    best, at_best = _running(rows.x, np.minimum), _newest_best(-rows.x)
    train = rows.others.get("train", constant(n, np.nan))
    then = train[at_best] if n else train
    with np.errstate(invalid="ignore", divide="ignore"):
        times = np.where(best > 0, rows.x / best, np.nan)
        part = np.where(then > 0, train / then, np.nan)
        beyond = (times >= factor) & (part <= train_share) & (np.arange(n) >= least_rows - 1)
        beyond &= rows.x - best >= noise * rows.once("usual step", lambda: usual_step(rows.x))

    return Signal(
        certain=True,
        beyond=beyond,
        statistic=times,
        threshold=constant(n, factor),
        name="multiple of the best",
        high=factor * best,
        onset=np.minimum(at_best + 1, np.arange(n)),
        facts={"best": best, "factor": times, "train_best": then, "train_now": train},
    )


@detector(roles=("score", "spread"), facts=("middle", "size", "share"), higher=("share",))
def dominates(rows: Rows, *, share: float, window: Window = 10) -> Signal:
    """The value is ``share`` of a ``score`` or more (medians of ``window`` rows, signs dropped).

    A score near zero is measured by its ``spread`` where that is larger. Never without a score.
    """
    n = rows.count
    middle = np.abs(rows.median(window))
    sizes = [
        np.abs(rolling_median(np.where(np.isfinite(other), other, 0.0), window))
        for role in ("score", "spread")
        if (other := rows.others.get(role)) is not None
    ]
    size = np.maximum.reduce(sizes) if sizes else constant(n, np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        part = np.where(size > 0, middle / size, np.nan)
        beyond = (part >= share) & ("score" in rows.others)

    return Signal(
        beyond=beyond,
        statistic=part,
        threshold=constant(n, share),
        name="share of the score, rolling medians",
        high=share * size,
        low=-share * size,
        onset=last_run_start(np.abs(rows.x) >= share * size, window),
        window=window,
        facts={"middle": rows.median(window), "size": size, "share": part},
    )


@detector(
    roles=("spread", "top", "bottom"), facts=("middle", "size", "usual"), higher=("share", "factor")
)
def off_centre(
    rows: Rows, *, share: float, factor: float = 5.0, window: Window = 5, early: int = 20
) -> Signal:
    """A mean that belongs near zero lies ``share`` of the spread away from it, and ``factor``
    times as far as in the first ``early`` rows (median of ``window`` rows, signs dropped).

    The spread is that of ``spread``, else a quarter of the distance from ``top`` to ``bottom``;
    without either nothing is found.
    """
    n = rows.count
    middle = rows.median(window)
    usual, size = start_median(np.abs(rows.x), early), _spread(rows, window)
    limit = np.maximum(share * size, factor * usual)
    with np.errstate(invalid="ignore"):
        beyond = (np.abs(middle) >= limit) & (size > 0)
        raw = np.abs(rows.x) >= limit
    return Signal(
        beyond=beyond,
        statistic=np.abs(middle),
        threshold=limit,
        name="rolling median without sign",
        low=-limit,
        high=limit,
        onset=last_run_start(raw, window) if n else None,
        window=window,
        facts={"middle": middle, "size": size, "usual": usual},
    )


@detector(roles=("top",), facts=("middle", "limit_so_far", "share"))
def pinned(rows: Rows, *, share: float, window: int = 10, below: float = 0.8) -> Signal:
    """In each of the last ``window`` rows the value is ``share`` of the highest ``top`` so far or
    more, and ``top`` itself is there: everything ends at one limit.

    Only where the value has been under ``below`` of that limit before: what is as long as the
    limit from the first row on may be meant so.
    """
    n = rows.count
    top = rows.others.get("top", constant(n, np.nan))
    known = np.where(np.isfinite(top), top, -np.inf)
    limit = _running(known, np.maximum)
    with np.errstate(invalid="ignore", divide="ignore"):
        part = np.where((limit > 0) & np.isfinite(limit), rows.x / limit, np.nan)
        least = rolling_median(np.where(np.isfinite(part), part, 0.0), window)
        at_limit = (part >= share) & (known >= limit)
        was_below = np.minimum.accumulate(np.where(np.isfinite(part), part, np.inf)) <= below
    held = _run_length(at_limit) >= window

    return Signal(
        certain=True,
        beyond=held & was_below,
        statistic=least,
        threshold=constant(n, share),
        name=f"{window}-row median of the share of the limit",
        high=np.where(np.isfinite(limit), share * limit, np.nan),
        onset=last_run_start(at_limit, window),
        window=window,
        facts={"middle": rows.median(window), "limit_so_far": limit, "share": least},
    )


@detector(
    roles=("low", "high", "spread", "reach", "worse"),
    facts=("usual", "beyond", "middle"),
    reference=True,
)
def off_course(rows: Rows, *, spreads: float, reach_share: float) -> Signal:
    """The median of five rows lies beyond where the reference run was at about the same place:
    its smoothed course, and the medians of its own five rows just there. By more than ``spreads``
    standard deviations of its rows and ``reach_share`` of the way that its curve went. Only in
    the direction that is worse, where there is one.

    The statistic is the distance from the course in such bands. Not judged where the reference
    has no rows. Two runs of one configuration differ by their seeds, hence both margins.
    """
    middle = rows.median(COMPARED_ROWS)
    low, high, spread, reach, worse = (
        rows.others.get(role, np.full(rows.count, np.nan))
        for role in ("low", "high", "spread", "reach", "worse")
    )
    band = spreads * spread + reach_share * reach
    with np.errstate(divide="ignore", invalid="ignore"):
        below = np.where(worse <= 0, low - middle, -np.inf)
        above = np.where(worse >= 0, middle - high, -np.inf)
        distance = np.maximum(np.maximum(below, above), 0.0)
        beyond = (distance > band) & np.isfinite(band)
        share = np.where(band > 0, distance / band, np.where(distance > 0, np.inf, 0.0))
    known = np.isfinite(band)
    return Signal(
        beyond=beyond,
        statistic=np.where(known, share, np.nan),
        threshold=np.where(known, 1.0, np.nan),
        name="distance from the reference in bands",
        low=np.where(known & (worse <= 0), low - band, np.nan),
        high=np.where(known & (worse >= 0), high + band, np.nan),
        window=COMPARED_ROWS,
        facts={
            "usual": np.where(below > above, low, high),
            "beyond": share,
            "middle": middle,
        },
        silent=not known.any(),
    )


def _spread(rows: Rows, window: Window) -> FloatArray:
    """The spread of what a row is the mean of, NaN where it is not known."""
    spread = rows.others.get("spread")
    if spread is None:
        top, bottom = rows.others.get("top"), rows.others.get("bottom")
        if top is None or bottom is None:
            return constant(rows.count, np.nan)
        spread = 0.25 * (top - bottom)
    return rolling_median(np.where(np.isfinite(spread), np.abs(spread), 0.0), window)


def _running(x: FloatArray, extreme: np.ufunc) -> FloatArray:
    """Running maximum or minimum."""
    return np.asarray(extreme.accumulate(x), dtype=np.float64) if len(x) else x


def _newest_best(x: FloatArray) -> IntArray:
    """(n,) index of the row that is the highest so far, the newest of equals."""
    own = np.arange(len(x))
    if not len(x):
        return own
    return np.asarray(np.maximum.accumulate(np.where(x >= np.maximum.accumulate(x), own, 0)))


def _gain_since(rows: Rows, since: IntArray) -> FloatArray:
    """(n,) gain of the ``reward`` since the row ``since``, as share of the range it has covered;
    NaN where it is not known, or less than three of its usual steps."""
    reward, n = rows.others.get("reward"), rows.count
    if reward is None or not n:
        return constant(n, np.nan)
    known = np.isfinite(reward)
    if not known.any():
        return constant(n, np.nan)
    filled = reward.copy()
    filled[: int(np.argmax(known))] = reward[int(np.argmax(known))]
    smooth = rolling_median(filled, 3)
    span = _running(smooth, np.maximum) - _running(smooth, np.minimum)
    gain = smooth - smooth[since]
    with np.errstate(invalid="ignore", divide="ignore"):
        step = rows.once_of("reward", "step of its medians", lambda: _median_step(smooth))
        certain = known & (span > 0) & (gain >= 3.0 * step)
        return np.where(certain, gain / span, np.nan)


def _own_step(rows: Rows) -> FloatArray:
    return rows.once("median step", lambda: _median_step(rows.x))


def _median_step(x: FloatArray) -> FloatArray:
    """(n,) median distance between neighbours in the rows so far; renewed each time their number
    has grown by a tenth."""
    steps, out, look = np.abs(np.diff(x)), np.zeros(len(x)), 1
    known = bool(np.isfinite(steps[:_FEW]).all())
    few = steps[:_FEW].tolist() if known else []
    ordered: list[float] = []
    while look < len(x):
        following = max(look + 1, int(look * 1.1))
        if look <= len(few):
            for step in few[len(ordered) : look]:
                insort(ordered, step)
            out[look:following] = (ordered[(look - 1) // 2] + ordered[look // 2]) / 2
        else:
            out[look:following] = median(steps[:look])
        look = following

    return out


def _mostly(
    flags: np.ndarray[tuple[int], np.dtype[np.bool_]], share: float
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """(n,) whether four of five of the newest rows are True: ``share`` of those so far."""
    ends = np.arange(1, len(flags) + 1)
    rows = np.maximum(1, np.ceil(share * ends)).astype(np.int64)
    total = np.concatenate([[0], np.cumsum(flags)])
    return np.asarray(total[ends] - total[ends - rows] >= 0.8 * rows)


def _run_length(flags: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> IntArray:
    """(n,) how many rows in a row have been True, up to each."""
    own = np.arange(len(flags))
    if not len(flags):
        return own
    return np.asarray(own - np.maximum.accumulate(np.where(flags, -1, own)))


def _count(n: int) -> FloatArray:
    return np.arange(1, n + 1, dtype=np.float64)
