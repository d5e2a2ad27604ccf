"""Detectors of values that are not finite, or stand still. Same contract as in ``levels``."""

from __future__ import annotations

import math

from rltui.core.block import BoolArray, FloatArray, IntArray
from rltui.core.later import np
from rltui.health.detectors.registry import detector
from rltui.health.detectors.signal import CERTAIN, FAINT, NOTHING, Rows, Signal
from rltui.health.detectors.trend import rises
from rltui.health.detectors.windows import newest_of, steps_of

#: Updates that the loss scaler of fp16 may skip at first: it halves its scale each time, and is at
#: 1 after so many from 65536 (torch.amp.GradScaler).
_SCALING = 16
#: What a row that differs takes away: all.
_OTHER_ROW = -math.inf
#: Significant digits of a value that is no rounded one, and how exact a rounded one is.
_DIGITS = 3
_EXACT = 1e-6


@detector(roles=("loss",), finite_is_quiet=True, facts=("count",))
def non_finite(
    rows: Rows,
    *,
    after_finite: bool = False,
    lasts: bool = False,
    patience: int = 0,
    skipped: bool = False,
    taken: bool = False,
    infinite: bool = False,
) -> Signal:
    """NaN or infinite. It is over after as many finite rows as the last stretch had others; what
    comes a third time comes again and again, until it stays away for three times as long as it
    usually did.

    ``after_finite``: only after a finite value was seen; silent until then; ``infinite``: rows that
    are infinite count before, too: what is not measured is NaN. ``lasts``: not once
    the value has come back from it twice, if such rows are not rare: it is not always computed.
    ``patience``: not in so many rows behind a single finite one: it may be measured now and then.
    ``skipped``: only where the finite values of a ``loss`` go on to change behind the first such
    row, so that its update was left out; ``taken``: only where they do not. Neither before the
    first finite row, for as long as a loss scaler may look for its scale.
    """
    wrong = ~np.isfinite(rows.x)
    if after_finite or lasts:
        wrong &= np.logical_or.accumulate(~wrong) | (np.isinf(rows.x) & infinite)
    if lasts:
        back = ~wrong & np.diff(wrong, prepend=False)
        rare = np.cumsum(wrong) <= NOTHING * np.arange(1, rows.count + 1)
        wrong &= (np.cumsum(back) <= 1) | rare
    own = np.arange(rows.count)
    seen = np.cumsum(np.isfinite(rows.x))
    wrong &= (seen != 1) | (np.cumsum(seen) > patience)
    every = wrong
    stretch = np.where(wrong, newest_of(~wrong) + 1, own)
    left_out = _left_out(rows, wrong, stretch)
    scaled = rows.steps - rows.steps[:1] >= _SCALING
    if skipped or taken:
        wrong = wrong & (left_out == skipped) & ((seen > 0) | scaled)
    times = np.cumsum(wrong & np.diff(wrong, prepend=False))
    again = (times > 2) & (not skipped)
    newest = np.maximum(newest_of(wrong), 0)
    lasted = np.minimum(newest - stretch[newest] + 1.0, CERTAIN[1])
    lasted = np.where(again, 3 * (newest + 1) / times, lasted)
    return Signal(
        wrong,
        rows.x,
        np.nan,
        "non-finite values",
        certain=True,
        onset=np.where(again, int(np.argmax(wrong)), stretch) if len(wrong) else own,
        evidence=lambda: CERTAIN[1] * np.where(wrong, 1.0, -1.0 / lasted),
        notes=((again, ", again and again: {count:d} rows, the last at step {step}"),),
        facts={"count": np.cumsum(every) * 1.0},
        silent=(after_finite or lasts) and not (np.isfinite(rows.x) | wrong).any(),
        forgotten=taken and np.isin(stretch, stretch[left_out]),
    )


def _left_out(rows: Rows, wrong: BoolArray, stretch: IntArray) -> BoolArray:
    """(n,) whether a ``loss`` has changed since the first row of the ``stretch`` of ``wrong`` rows
    that a row is in, to another finite value."""
    loss = rows.others.get("loss")
    if loss is None or not wrong.any():
        return np.zeros(rows.count, dtype=bool)
    changes = np.cumsum(np.nan_to_num(steps_of(loss)) != 0)
    return np.asarray(wrong & (changes > changes[stretch]))


@detector(finite_is_quiet=True, facts=("count",))
def never_finite(rows: Rows) -> Signal:
    """No row so far was finite. Forgotten at the first one that is: it was only not known yet."""
    never = np.logical_and.accumulate(~np.isfinite(rows.x))
    return _so_far(never, rows.x, np.nan, "rows without a number", waits=True)


@detector(roles=("reward",), facts=("top", "count"), exact=True)
def always(rows: Rows, *, low: float = 0.0, high: float = math.inf, waits: bool = False) -> Signal:
    """All rows so far lie between ``low`` and ``high``, sign dropped; not while a ``reward`` has
    certainly risen: what is measured after a single update per batch is zero by its definition. A
    zero counts as what its decimals may hide. ``waits``: it ends by itself; not while the rows
    certainly fall, and forgotten once it is over."""
    size = np.abs(rows.x)
    still = np.logical_and.accumulate((size >= low) & (size + rows.hidden <= high))
    if still.any():
        still &= ~rises(rows, "reward")
        if waits:
            still &= ~rises(Rows(-rows.x, rows.steps))
    top = np.where(still, np.maximum.accumulate(size), np.nan)
    return _so_far(still, top, high, "highest so far", waits=waits)


def _so_far(still: BoolArray, top: FloatArray, limit: float, name: str, *, waits: bool) -> Signal:
    """It has held from the first row on; ``waits``: forgotten once it is over."""
    n = len(still)
    return Signal(
        still,
        top,
        limit,
        name,
        facts={"top": top, "count": np.arange(1.0, n + 1)},
        onset=0,
        evidence=lambda: np.where(still, FAINT, _OTHER_ROW),
        forgotten=waits,
    )


@detector(roles=("gradient",), facts=("count",), exact=True)
def unchanged(
    rows: Rows,
    *,
    most: float = math.inf,
    rounded: bool = False,
    lost: float = 0.0,
    after: bool = False,
    at_once: bool = False,
) -> Signal:
    """A value that repeats that of the row before; with ``most``, any value at most that.

    Only while a ``gradient`` norm, if there is one, is zero. A value that is printed with few
    digits may be equal from row to row although weights change: it counts with ``rounded`` only,
    and a zero as what its decimals may hide. With ``lost``: only while it is that share of the
    range so far below its best. Where equal values are usual, it takes more of them. ``after``:
    only once there was something larger; ``at_once``: right behind a value that was not next to
    nothing beside the largest so far: what shrinks passes through what lies between.
    """
    n = rows.count
    equal = np.isinf(most)
    still = np.diff(rows.x, prepend=np.nan) == 0 if equal else rows.x + rows.hidden <= most
    if after:
        still &= np.logical_or.accumulate(~still)
    if at_once:
        large = rows.x > NOTHING * np.maximum.accumulate(rows.x)
        still &= large[newest_of(~still)]
    if equal and not rounded:
        still &= ~_is_rounded(rows.x)
    if lost > 0:
        best = np.maximum.accumulate(rows.x)
        least = np.minimum.accumulate(rows.x)
        still &= (best - rows.x >= lost * (best - least)) & (best > least)
    other = rows.others.get("gradient")
    if other is not None:
        still &= np.abs(other) <= 0
    own = np.arange(n)
    last = newest_of(~still)
    count = np.asarray(own - last + equal, dtype=np.float64)  # the first of equal rows is one
    return Signal(
        still,
        np.where(still, count, np.nan),
        1.0,
        "rows of one value",
        facts={"count": count},
        forgotten=lost > 0,
        calm=None if (rows.x <= most).any() else (most, np.inf),
        onset=np.maximum(own - count.astype(np.int64) + 1, 0),
        evidence=lambda: np.where(
            still, 1.0 if at_once else FAINT / _usual_stretch(still), _OTHER_ROW
        ),
    )


def _usual_stretch(still: BoolArray) -> FloatArray:
    """(n,) how many rows an equal value usually lasted before the stretch that a row is in: a
    running mean is logged again until an episode ends."""
    begins = np.maximum(newest_of(~still), 0)
    others = np.maximum(np.cumsum(~still)[begins] - 1, 1)
    return np.asarray(np.maximum(1.0, begins / others))


def _is_rounded(x: FloatArray) -> BoolArray:
    """Whether each value has fewer significant digits, to within single precision."""
    scale = 10.0 ** (_DIGITS - 2 - np.floor(np.log10(np.abs(x))))
    scaled = np.where(x == 0, 0.0, x * scale)
    return np.asarray(np.abs(scaled - np.round(scaled)) <= _EXACT * np.abs(scaled))
