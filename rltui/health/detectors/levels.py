"""Detectors of values that are too high or too low: by a limit, or by what the run had before.

No metric and no limit is named here. A detector answers for one level; a rule calls it once with
its ``watch`` and once with its ``bad`` parameters. The keyword parameters are what a rule may set.
Row i of every answer depends on rows up to i only. Rows add up as evidence
(``rltui.health.judge``): there is no window and no number of rows to wait for.
"""

from __future__ import annotations

import math
from dataclasses import replace

from rltui.core.block import BoolArray, FloatArray, IntArray
from rltui.core.later import np
from rltui.core.medians import median
from rltui.health.detectors.registry import detector
from rltui.health.detectors.signal import (
    ANY,
    CERTAIN,
    EARLY,
    FAINT,
    FAR,
    FEW,
    NOTHING,
    Rows,
    Signal,
    constant,
    part_of,
)
from rltui.health.detectors.trend import GAIN, gains, is_short
from rltui.health.detectors.windows import (
    latched,
    looks,
    newest_of,
    rolling_median,
    start_median,
    steps_of,
)


@detector(
    roles=("length", "error", "other"),
    facts=("middle",),
)
def outside(
    rows: Rows,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    absolute: bool = False,
    event: bool = False,
    explained: bool = False,
    per_unit: float = 0.0,
    settles: bool = False,
    positive: bool = False,
    least_other: float = 0.0,
    certain: bool = False,
) -> Signal:
    """The value is outside ``low`` .. ``high``.

    ``absolute`` drops the sign first; ``event``: one row far beyond the limit is enough, as for an
    update that cannot be taken back; ``explained``: the value is a share of a variance
    that is explained, which every critic begins without: each row says little, and none while the
    ``error`` is next to nothing beside its highest, as then nothing is left to explain;
    ``per_unit``: with a ``length``, the value must also
    exceed this much per unit of length; ``settles``: it stays below ``low`` rather than passes
    through zero, see :func:`_settled`; ``positive``: zero is not measured; ``least_other``: not
    while the ``other``, sign dropped, is less than so many times the value; ``certain``: each row
    counts by itself, and a value that is one of the limits is inside.
    """
    x = np.abs(rows.x) if absolute else rows.x
    n = rows.count
    above, below = (x > high, x < low) if certain else (x >= high, x <= low)
    beyond = above | (below & _settled(rows.x, constant(n, low)) if settles else below)
    if per_unit > 0:
        beyond &= ~(np.abs(x) / rows.other("length") < per_unit)
    excused = np.abs(rows.other("other")) < least_other * np.abs(x)
    beyond &= ~excused & ((x > 0) | (not positive))
    # the limit that is nearer, in powers of two if both have one sign: inside, rows weigh by it
    middle = math.copysign(math.sqrt(low * high), low) if low * high > 0 else (low + high) / 2
    threshold = np.where(x <= middle, low, high)
    if explained:
        size = np.abs(np.nan_to_num(rows.other("error"), nan=np.inf))
        beyond &= size >= NOTHING * np.maximum.accumulate(np.where(np.isfinite(size), size, 0))

    def little() -> FloatArray:
        inside = np.clip(np.abs(x - threshold), FAINT, 1.0)
        return np.where(beyond, FAINT, np.where(x <= low, 0.0, -inside))

    return Signal(
        beyond,
        x,
        threshold,
        "value",
        low=np.where(rows.x < 0, np.nan, low)
        if absolute and np.isinf(high)
        else (-high if absolute else low),
        high=high,
        facts={"middle": rows.x},
        event=event,
        certain=certain,
        evidence=little if explained else None,
        calm=(low, high),
    )


@detector(roles=("other",))
def apart(rows: Rows, *, by: float, zero: float = 0.0, untrained: bool = False) -> Signal:
    """All rows so far lie ``by`` or more above or below ``zero``, where the value belongs, while an
    ``other`` is exactly 0, and never without it. ``untrained``: only where the first row is of the
    first step, before which there was no update."""
    found = outside(rows, low=zero - by, high=zero + by)
    beyond = np.logical_and.accumulate(found.beyond & (rows.other("other") == 0))
    beyond &= (rows.steps[:1] <= 1) | (not untrained)
    return replace(found, beyond=beyond, onset=0, calm=None if beyond.all() else ANY)


@detector(facts=("share",))
def often(rows: Rows, *, high: float, most: float = 0.0, at_top: bool = False) -> Signal:
    """The value is at most ``most`` in more than ``high`` of the newest half of the rows: each
    such row counts, and each other one takes away so much that half of that share breaks even.

    ``at_top``: it is what it was at most before, to within ``most`` of that: something cuts it. No
    value is equal by chance, so it counts as soon as more than ``high`` of the rows since some row
    are, and is none once it is over: a run may begin so.
    """
    n = rows.count
    hit = rows.x <= most
    if at_top:
        top = np.concatenate([[np.nan], np.maximum.accumulate(rows.x)[:-1]])
        hit = (np.abs(rows.x - top) <= most * top) & (top > 0)
    loss = high / (1.0 - high) if at_top else high / (2.0 - high)
    count = np.arange(1, n + 1)
    total = np.concatenate([[0], np.cumsum(hit)])
    begin = count // 2
    if at_top:  # where their evidence was lowest
        so_far = np.concatenate([[0.0], np.cumsum(np.where(hit, 1.0, -loss))])
        begin = newest_of((so_far <= np.minimum.accumulate(so_far))[:-1])
    part = (total[count] - total[begin]) / (count - begin)
    beyond = hit & (part >= high)
    return Signal(
        beyond,
        part,
        high,
        "share of the newest rows",
        facts={"share": part},
        forgotten=at_top,
        evidence=lambda: np.where(beyond, 1.0, np.where(hit, 0.0, -loss)),
        calm=None if at_top else (most, np.inf),
    )


def relative(
    part: FloatArray, factor: float | FloatArray, beyond: BoolArray, *, event: bool = False
) -> FloatArray:
    """Worth of each row as evidence that it is ``factor`` times its base, by the ``part`` that it
    is: 1, and one more each time that it is twice as far from the base, in powers of two, as the
    limit.

    A row is worth as much as it can tell one from the other: where single rows scatter as widely
    as both are apart, it takes many. An ``event`` is no estimate and speaks for itself.
    """
    with np.errstate(all="ignore"):
        twos = np.log2(np.maximum(part, 0.0))
        distance = np.log2(factor)  # beyond the base on the other side, how far does not matter
        side = np.sign(distance)
        highest = abs(distance) * 2 ** FAR[event]  # farther ones are worth no more
        twos = side * np.clip(side * np.nan_to_num(twos), -abs(distance), highest)
        count = np.arange(len(part))
        steps = np.abs(steps_of(twos))  # one jump, however far, is no scatter
        steps = np.cumsum(np.minimum(steps, 2 * abs(distance)) ** 2)
        known = count // 2 if event else count
        noise = np.sqrt(steps[known] / np.maximum(2 * known, 1))
        if event:
            noise[: 2 * EARLY] = 0.0
        # three standard deviations are enough
        worth = np.minimum(1.0, (2 * distance / (CERTAIN[1] * noise)) ** 2)
        far = np.clip(np.abs(np.log2(np.maximum(twos / distance, 0.0))), 0.0, FAR[event])
    return np.where(np.isfinite(part), worth * np.where(beyond, 1.0 + far, -1.0 - far), 0.0)


def half_way(part: FloatArray, factor: float, beyond: BoolArray) -> IntArray | int:
    """(n,) for each row, where the newest cumulative sum of the way from the base to ``factor``
    times that, in logarithms, less a half, began to rise; 0 for all if no row is ``beyond``."""
    if not beyond.any():
        return 0
    with np.errstate(all="ignore"):
        way = np.log2(np.maximum(part, 0.0)) / np.log2(factor)
    farther = np.clip(np.nan_to_num(way), 0.0, 1.0) - 0.5
    so_far = np.concatenate([[0.0], np.cumsum(farther)])
    return newest_of(so_far <= np.minimum.accumulate(so_far))[1:]


@detector(
    roles=("second", "level", "part", "other"),
    facts=("start", "change", "middle"),
)
def grown(
    rows: Rows,
    *,
    factor: float,
    floor: float = 0.0,
    absolute: bool = True,
    least_second: float = 0.0,
    beside: bool = False,
    zero: float = 0.0,
    always: float = math.inf,
    times: float = 1.0,
    stands: bool = False,
) -> Signal:
    """The value is ``factor`` times that of the start, and above ``floor``; or above ``always``,
    whatever its start.

    The start is the median of the first rows. With ``least_second``: only while a ``second`` metric
    is at least that, and never without it; ``beside``: only with one. With a ``level``: only above
    so many ``times`` the largest of that so far, sign dropped. What belongs at ``zero`` is measured
    from there. A value that a ``part`` of it is as large as, signs dropped, may be nothing else.
    ``stands``: only while an ``other`` that should fall, its sign dropped, certainly did not.
    """
    x = rows.x - zero
    x = np.abs(x) if absolute else x
    start = start_median(x, EARLY)
    limit = np.where((start > 0) | (floor > 0), np.maximum(floor, factor * start), np.nan)
    limit = np.fmin(limit, always) if np.isfinite(always) else limit
    limit = np.where(np.abs(rows.x) <= np.abs(rows.other("part")), np.nan, limit)
    beyond = x >= limit
    if least_second:
        beyond &= rows.other("second") >= least_second
    if beside:
        beyond &= np.isfinite(rows.other("second"))
    if "level" in rows.others:
        most = times * np.fmax.accumulate(np.abs(rows.others["level"]))
        limit = np.fmax(limit, most)
        beyond &= x >= most
    if stands:  # the last third is certainly no lower than the first, or higher
        upside_down = Rows(-np.abs(np.nan_to_num(rows.other("other"))), rows.steps)
        _, _, spread, size, error, *_ = gains(upside_down)
        beyond &= (spread > 0) & (is_short(size, error) | (size <= -GAIN))
    base = np.maximum(start, floor / factor)
    base = np.fmin(base, always / factor)
    return Signal(
        beyond,
        x,
        limit,
        "value",
        low=zero - limit if absolute else None,
        high=zero + limit,
        facts={"start": start_median(rows.x, EARLY), "change": part_of(x, start), "middle": rows.x},
        evidence=lambda: relative(part_of(x, base), factor, beyond),
        calm=None if rows.count < EARLY or {"part", "level"} & rows.others.keys() else ANY,
    )


@detector(roles=("bottom",), facts=("start", "share", "middle"))
def below_start(rows: Rows, *, share: float, unit: float = 0.0) -> Signal:
    """The value is under ``share`` of its start: the highest median of three among the first rows,
    so that a collapse within them is measured by what was before.

    Not judged: a start at or below zero; with ``unit``, one that is a multiple of it or three times
    as large: the entropy of a Gaussian begins there and has no natural zero, while that of a choice
    among seventy actions is no larger. Nor, with ``unit``, a value that may be on its way through
    zero, see :func:`_settled`. What has a ``bottom`` is measured from the lowest of that so far.
    Onset: half-way to the limit, except with a ``unit``.
    """
    x = rows.x
    start = rows.once("start", lambda: beginnings(rows.x))
    bottom = np.fmin.accumulate(rows.other("bottom", 0.0))
    x = x - bottom
    start = start - bottom
    judged = start > 0
    if unit > 0:
        judged &= start < 3 * unit
        multiple = np.maximum(1.0, np.round(start / unit)) * unit
        judged &= np.abs(start - multiple) > NOTHING * multiple
    base = np.where(judged, start, np.nan)
    beyond = x <= share * base
    if unit > 0:
        beyond &= _settled(x, base / 4)
    part = part_of(x, base)
    negative = (x < 0) & (unit > 0)
    return Signal(
        beyond,
        part,
        np.where(judged, share, np.nan),
        "share of start",
        low=share * base + bottom,
        onset=None if unit > 0 else half_way(part, share, beyond),
        facts={"start": start + bottom, "share": part, "middle": rows.x},
        evidence=lambda: np.where(negative, -np.inf, relative(part, share, beyond)),
        forgotten=bool(negative.any()),
        calm=None if rows.count < EARLY or "bottom" in rows.others else ANY,
    )


def _settled(x: FloatArray, limit: FloatArray) -> BoolArray:
    """(n,) whether a value stays near zero: all so far are of one sign, and the rows since it fell
    below ``limit`` are as many as its way there from twice that: by then, what passes through zero
    is beyond it."""
    own = np.arange(len(x))
    size = np.abs(x)
    before = newest_of(size > 2 * limit)
    there = np.flatnonzero(size <= limit)
    fell = np.append(there, 2 * len(x))[np.searchsorted(there, before)]
    one = np.logical_and.accumulate(x >= 0) | np.logical_and.accumulate(x <= 0)
    return np.asarray(one & (own - fell >= fell - before - 1))


def beginnings(x: FloatArray) -> FloatArray:
    """Highest median of three of the first rows, of those seen so far."""
    top = rolling_median(x[:EARLY], FEW)
    top[FEW - 1 :] = np.maximum.accumulate(top[FEW - 1 :])
    return top[np.minimum(np.arange(len(x)), EARLY - 1)]


@detector(roles=("second", "length", "learns"), facts=("best", "factor", "growth", "middle"))
def off_best(
    rows: Rows,
    *,
    factor: float,
    least_second: float = 0.0,
    event: bool = False,
    floor: float = 0.0,
) -> Signal:
    """The value is ``factor`` times its best so far: the lowest median of the rows so far if
    ``factor`` is above 1, else the highest. Values at or below zero are no measure.

    With a ``length``, longer answers may take proportionally longer, and shorter ones give
    proportionally less; only above a ``floor``; with ``least_second``: only
    while a ``second`` metric is at least that, and never without it. ``event``: a row is a mean
    over a held-out set, and one that is far beyond suffices. Rows before the first value of
    ``learns``, if that is logged, are no measure: a buffer is filled at another speed.
    Onset: half-way to the limit.
    """
    x = rows.x
    n = rows.count
    upwards = factor > 1
    begin = int(np.argmax(np.isfinite(rows.other("learns", 0.0)))) if n else 0
    best = rows.once(("best", upwards, begin), lambda: _best(x[begin:], upwards=upwards))
    best = np.concatenate([np.full(begin, np.nan), best])
    base = np.where(best > 0, np.maximum(best, floor / factor), np.nan)
    growth = np.ones(n)
    length = rows.others.get("length")
    if length is not None:
        known = np.nan_to_num(length)
        usual = rows.once_of("length", ("usual", upwards), lambda: _best(known, upwards=upwards))
        bound = np.maximum if upwards else np.minimum
        growth = np.where(usual > 0, bound(1.0, known / usual), 1.0)
    limit = factor * base * growth
    beyond = x >= limit if upwards else x <= limit
    if least_second > 0:
        beyond &= rows.other("second") >= least_second
    part = part_of(x / growth, base)
    return Signal(
        beyond,
        part,
        factor,
        "multiple of the best",
        low=None if upwards else limit,
        high=limit if upwards else None,
        onset=half_way(part, factor, beyond),
        facts={"best": base, "factor": part, "growth": growth, "middle": x},
        notes=((np.abs(growth - 1) > NOTHING, ", allowing for answers {growth} times as long"),),
        evidence=lambda: relative(part, factor, beyond, event=event),
        event=event,
        silent=not (best > 0).any(),
    )


def _best(x: FloatArray, *, upwards: bool) -> FloatArray:
    """(n,) lowest (``upwards``) or highest of the medians of the first 1, 2, 3 ... rows and of the
    newest half of them, measured each time they have grown by three tenths."""
    out = np.full(len(x), np.nan)
    best = np.inf if upwards else -np.inf
    pick = min if upwards else max
    for look, following in looks(1, len(x)):
        own = (median(x[:look]), median(x[look // 2 : look]))
        if look >= FEW:
            best = pick(best, *own)
        out[look - 1 : following - 1] = best if np.isfinite(best) else own[0]
    return out


@detector(roles=("spread",), facts=("usual", "factor"))
def spike(rows: Rows, *, factor: float) -> Signal:
    """A row is ``factor`` times the usual: the median of the newest rows before it, measured anew
    when the log has grown by three tenths.

    It is never less than the lower quartile of the first rows: a value that decayed to nothing is
    no measure. Rows that are next to nothing beside the highest median so far carry no signal, nor
    do those without a ``spread`` of what is learned from. What was usual before a spike holds until
    the value is back at half of the limit.
    """
    x = rows.x
    learned = np.where(rows.other("spread") == 0, 0.0, x)
    usual = rows.once(("usual", "spread" in rows.others), lambda: _usual(learned))
    limit = factor * usual
    hit = x >= limit
    held, origin = latched(hit, rows.median(FEW), 0.5 * limit)
    usual = usual[origin]
    limit = limit[origin]
    part = part_of(x, usual)
    threshold = part_of(limit, usual)
    beyond = held & (x >= limit)
    return Signal(
        beyond,
        part,
        threshold,
        "multiple of the median of the rows before",
        high=limit,
        facts={"usual": usual, "factor": part},
        event=True,
        peaked=True,
    )


def _usual(x: FloatArray) -> FloatArray:
    """(n,) median of the rows with signal before each row, at least the lower quartile of the first
    ones; NaN while there are too few. Measured each time these have grown by three tenths."""
    usually = rolling_median(np.maximum(x, 0.0), 4 * EARLY + 1)
    signal = (x > 0) & (x >= NOTHING * np.maximum.accumulate(usually))
    y = x[signal]
    base = np.full(len(y) + 1, np.nan)
    if len(y) >= EARLY:
        floor = float(np.sort(y[:EARLY])[EARLY // 4])
        for look, following in looks(EARLY, len(y)):
            base[look:following] = max(floor, median(y[max(0, look - 4 * EARLY) : look]))
    return base[np.minimum(np.cumsum(signal) - signal, len(y))]
