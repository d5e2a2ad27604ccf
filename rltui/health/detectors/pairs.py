"""Detectors that compare a metric with a second one. Same contract as in ``levels``."""

from __future__ import annotations

import math

from rltui.core.block import BoolArray, FloatArray, IntArray
from rltui.core.later import np
from rltui.core.medians import usual_change
from rltui.health.detectors.levels import beginnings
from rltui.health.detectors.progress import fell, is_share
from rltui.health.detectors.registry import detector
from rltui.health.detectors.signal import (
    EARLY,
    FAINT,
    NOTHING,
    Rows,
    Signal,
    constant,
    part_of,
)
from rltui.health.detectors.trend import (
    EQUAL,
    GAIN,
    SUSPECTED,
    gain_error,
    gains,
    gains_of,
    is_short,
    no_longer_follows,
    rises,
)
from rltui.health.detectors.windows import looks, newest_of, rolling_median, start_median

#: A small effect (Cohen 1988: 0.2 standard deviations) in log-odds (Chinn 2000: times pi / sqrt 3).
_SMALL = 0.36
#: A rank correlation of which four fifths of the variance are a trend.
_TIED = 0.9


@detector(
    rising=True,
    roles=("reward",),
    facts=("start", "late", "was", "reached", "count"),
    possible=lambda rows, _: bool(rises(rows, "reward").any()),
)
def parted(rows: Rows, *, share: bool = False) -> Signal:
    """A held-out score has not risen, or fell, while the training reward did: the last third of
    the score is certainly not higher than its first, as in :func:`never_rose`, that of the
    ``reward`` is. Or it rose with the reward and no longer follows: in the second half of the rows
    it certainly gained less than half of what it gained in the first for as large a rise.

    Never without a ``reward``; constant scores are not judged: they may not be
    measured. ``share``: the score is one. It has not risen either where it did not certainly, and
    gained certainly less than a small effect in log-odds. Other scores are in the unit of the
    reward: one below them only comes after.
    """
    n = rows.count
    start, late, spread, size, error, *_ = gains(rows)
    was = reached = constant(n, np.nan)
    if "reward" in rows.others:
        was, reached, *_ = gains_of(rows, "reward")
    flat = is_short(size, error)
    fallen = fell(rows).beyond
    rose = rises(rows, "reward") & (spread > 0)
    beyond = rose & (start != late) & (flat | fallen | (size <= -GAIN))
    at = np.flatnonzero(beyond)
    steep = size[at] + SUSPECTED * gain_error(rows, spread, at) <= -GAIN
    beyond[at] = fallen[at] | steep | flat[at]
    left = np.zeros(n, dtype=bool)
    if rose.any():
        at = np.flatnonzero(rose & ~beyond & (share | (rows.others["reward"] > late)))
        left[at] = no_longer_follows(rows, "reward", at)
        beyond[at] = share & _gains_little(rows, at)
    return Signal(
        beyond | left,
        size,
        GAIN,
        "gain in standard deviations",
        certain=True,
        whole=True,
        forgotten=True,
        facts={"start": start, "late": late, "was": was, "reached": reached,
               "count": np.arange(1.0, n + 1)},
        notes=((left, ", but hardly at all in the second half"),),
    )  # fmt: skip


def _gains_little(rows: Rows, at: IntArray) -> BoolArray:
    """(m,) whether a share did not certainly rise, and certainly by less than a small effect, in
    log-odds; at some rows."""
    start, late, spread, size, *_ = gains(rows)[:, at]
    doubt = SUSPECTED * gain_error(rows, gains(rows)[2], at)
    gain = np.log(late * (1 - start) / (start * (1 - late)))
    most = gain + doubt * spread / (late * (1 - late))
    return np.asarray((size < doubt) & (most <= _SMALL) & is_share(rows.x)[at])


@detector(
    roles=("length",),
    facts=("correlation", "share"),
    # no median of it is farther
    possible=lambda rows, given: (
        not rows.other("length").max() < given["moved"] * (1 - EQUAL) * rows.other("length").min()
        and bool((gains(rows)[3] >= GAIN).any())
    ),
)
def tied_to_length(rows: Rows, *, moved: float, correlation: float = _TIED) -> Signal:
    """A reward that rises with a length that changed a lot: its newest value is ``moved`` times the
    lowest of its :func:`beginnings`, or the ``moved``-th part of the highest.

    Rank correlation of all rows so far, sign dropped, at least ``correlation``; the reward must
    have risen from its first to its last third.
    """
    x = rows.x
    n = rows.count
    tied = constant(n, np.nan)
    length = np.nan_to_num(rows.other("length"))
    middle = rolling_median(length, EARLY)
    start = beginnings(length)
    start = np.where(middle < start, start, -beginnings(-length))
    part = part_of(middle, start)
    far = (part <= 1 / moved) | (part >= moved)
    risen = gains(rows)[3] >= GAIN
    if (far & risen).any():
        for look, following in looks(2 * EARLY, n):
            if far[look - 1 : following - 1].any():
                tied[look - 1 : following - 1] = rank_correlation(x[:look], length[:look])
    tied[~far] = np.nan
    beyond = far & (np.abs(tied) >= correlation) & risen
    return Signal(
        beyond,
        np.abs(tied),
        correlation,
        "rank correlation with the length, without sign",
        facts={"correlation": tied, "share": part},
    )


def rank_correlation(a: FloatArray, b: FloatArray) -> float:
    """Spearman's rank correlation with ties; NaN when one of them is constant."""
    from rltui.store.correlation import ranks_of  # who explains a rule needs none

    ranks = ranks_of(a)
    other = ranks_of(b)
    spread = float(ranks.std() * other.std())
    centred = (ranks - ranks.mean()) * (other - other.mean())
    return float(centred.mean()) / spread if spread else np.nan


@detector(roles=("other",), facts=("middle", "behind"))
def behind(rows: Rows, *, gap: float) -> Signal:
    """An ``other`` lies ``gap`` below the mean of the newest quarter of the rows, and gains
    nothing: its own mean over these is hardly higher than over the quarter before. Means of a few
    rows say little; rows at which it seems to gain take little away, as it will where it varies."""
    n = rows.count
    other = rows.other("other")
    count = np.arange(1, n + 1)
    quarter = np.maximum(1, count // 4)
    sums = np.cumsum(np.insert([rows.x, np.nan_to_num(other)], 0, 0.0, axis=1), axis=1)
    middle = sums[:, count - quarter]
    usual, now = (sums[:, count] - middle) / quarter
    before = (middle[1] - sums[1, np.maximum(0, count - 2 * quarter)]) / quarter
    apart = usual - other >= gap
    beyond = apart & (now <= before + NOTHING)
    return Signal(
        beyond,
        usual - other,
        gap,
        "gap",
        facts={"middle": rows.x, "behind": other},
        evidence=lambda: np.where(
            beyond, np.minimum(1.0, quarter / EARLY), np.where(apart, -FAINT, -1.0)
        ),
        forgotten=True,
    )


@detector(
    roles=("sampled",),
    facts=("start", "change", "middle", "correlation", "pace", "end"),
)
def climbs(
    rows: Rows,
    *,
    correlation: float = _TIED,
    factor: float = math.inf,
    floor: float = 0.0,
    full: float = math.inf,
) -> Signal:
    """The value, its sign dropped, grows without end: it is ``factor`` times its start and above
    ``floor``, or as much again as it has risen in the newest half of the rows so far takes it to
    where it is ``full``; and in that half, as in all rows, its rank correlation with their number
    is ``correlation`` or more, so that four fifths of its variance are a trend: it neither jumps
    nor settles. Not where what is ``sampled`` has certainly moved since the value was a
    ``factor``-th of that: only a policy that changes does that.

    ``end``: the step at which, at the ``pace`` of that half, it is full, without a limit twice as
    much.
    """
    n = rows.count
    x = np.abs(rows.x)
    steps = rows.steps.astype(np.float64)
    start = start_median(x, EARLY)
    risen = x - x[np.arange(n) // 2]
    high = np.maximum(floor, factor * start)
    far = (x >= high) | (risen >= full - x)
    tied = constant(n, np.nan)
    pace = constant(n, np.nan)
    for look, following in looks(4 * EARLY, n):
        if far[look - 1 : following - 1].any():
            half = slice(look // 2, look)
            both = (rank_correlation(steps[part], x[part]) for part in (slice(look), half))
            together = min(both)
            if together >= correlation:
                grew = int(newest_of(x[:look] <= x[look - 1] / factor)[-1]) + 1
                known = rows.other("sampled")[grew:look]
                known = known[np.isfinite(known)]
                policy = Rows(known, np.arange(len(known)))
                moved = (rises(policy) | fell(policy).beyond).any()
                together = np.nan if moved else together
            tied[look - 1 : following - 1] = together
            late = slice(look - EARLY, look)
            early = slice(look // 2, look // 2 + EARLY)
            went = steps[late].mean() - steps[early].mean()
            pace[look - 1 : following - 1] = (x[late].mean() - x[early].mean()) / went
    tied[~far] = pace[~far] = np.nan
    beyond = tied >= correlation
    left = (full if np.isfinite(full) else 2 * x) - x
    return Signal(
        beyond,
        tied,
        correlation,
        "rank correlation with the number of rows",
        facts={"start": start, "change": part_of(x, start), "middle": rows.x,
               "correlation": tied, "pace": pace, "end": steps + left / pace},
        forgotten=True,
        calm=None if n < EARLY or np.isfinite(full) else (-high, high),
    )  # fmt: skip


@detector(roles=("length",), facts=("start", "after"))
def not_continued(rows: Rows, *, times: float, share: float, episodes: bool = False) -> Signal:
    """The first rows after the newest restart are below the last ones before it, by ``times`` the
    usual difference of neighbours and ``share`` of the range until then. It is over where the rows
    that follow are back; later ones may have learned it once more.

    Of ``episodes`` the short ones end first: not judged until their mean ``length`` is back within
    ``share``, nor where it is not logged. A lost policy that ends episodes early looks the same,
    and is not found.
    """
    n = rows.count
    middle = rows.median(EARLY)
    onset = np.arange(n)
    start, limit, after = (constant(n, np.nan) for _ in range(3))
    lengths = rows.other("length", np.nan if episodes else 0.0)
    for row in rows.restarts:
        if row < 2 * EARLY:
            continue
        usual = np.median(lengths[row - EARLY : row])
        back = lengths[row:] >= usual - share * usual
        seen = row + int(back.argmax()) + EARLY - 1
        settled = seen + EARLY
        if seen >= n or not back.any():
            continue
        known = rows.x[:row]
        onset[row:] = row
        lost = max(times * usual_change(known), share * float(np.ptp(known)))
        start[row:] = np.median(known[-EARLY:])
        after[row:] = middle[seen]
        limit[row:] = start[row] - lost
        after[row:seen] = np.nan
        if settled < n:
            after[settled:] = max(middle[seen], middle[settled])
    return Signal(
        after < limit,
        after,
        limit,
        "first rows after the restart",
        onset=onset,
        facts={"start": start, "after": after},
        certain=True,
        window=EARLY,
        silent=not np.isfinite(after).any(),
    )


@detector(roles=("top",), facts=("middle", "limit_so_far", "share"))
def pinned(rows: Rows, *, share: float) -> Signal:
    """The value is ``share`` of the highest ``top`` so far or more, and ``top`` itself is there:
    everything ends at one limit.

    Only where the value began below that: what is as long as the limit from the first row on may
    be meant so.
    """
    known = np.nan_to_num(rows.other("top"), nan=-np.inf)
    limit = np.maximum.accumulate(known)
    part = part_of(rows.x, limit)
    beyond = (part >= share) & (known >= limit)
    beyond &= start_median(rows.x, EARLY) < share * share * limit
    return Signal(
        beyond,
        part,
        share,
        "share of the limit",
        high=np.where(limit > 0, share * limit, np.nan),
        facts={"middle": rows.x, "limit_so_far": limit, "share": part},
    )


@detector(facts=("start", "share", "most"))
def share_grown(rows: Rows, *, share: float, factor: float) -> Signal:
    """It is a share, of ``share`` or more, and what it leaves has shrunk to one ``factor``-th since
    the start: nothing takes over that had nearly all from the start."""
    part = np.minimum(rows.x, 1.0)
    start = start_median(part, EARLY)
    limit = np.maximum(share, 1.0 - (1.0 - start) / factor)
    judged = start < 0.5 * (1.0 + share)
    return Signal(
        (part >= limit) & judged,
        part,
        limit,
        "share",
        facts={"start": start, "share": part, "most": np.where(judged, limit, np.nan)},
    )


@detector(roles=("total",), facts=("share", "count", "usual", "longest"))
def few_take(rows: Rows, *, share: float, factor: float, stage: bool = False) -> Signal:
    """Few rows, each ``factor`` times the median of those before, make up ``share`` of the sum of
    all, of a ``stage`` that of a ``total``, by what they are above it. Two at least, a tenth of the
    rows at most, none that come in equal distances, as validations do, and none that go on."""
    n = rows.count
    usual = rows.median(4 * EARLY + 1)
    slow = rows.x > factor * usual
    above = np.cumsum(np.where(slow, rows.x - usual, 0.0))
    total = rows.other("total") if stage else rows.x
    part = part_of(above, np.cumsum(np.nan_to_num(total)))
    at = np.flatnonzero(slow)
    count = np.cumsum(slow)
    even = np.zeros(n, dtype=np.int64)
    apart = np.diff(at, prepend=-1)
    even[at[1:]] = np.abs(np.diff(apart)) <= 1
    row = np.arange(n)
    is_over = row - newest_of(slow) >= EARLY
    beyond = (part >= share) & (count >= 2) & (10 * count <= row + 1) & is_over
    beyond &= 2 * np.cumsum(even) < count
    least = np.min(rows.x[-4 * EARLY :], initial=np.inf)  # no median that includes them is lower
    return Signal(
        beyond,
        part,
        share,
        "share of the sum",
        certain=True,
        silent=stage and "total" not in rows.others,
        onset=int(at[0]) if len(at) else 0,
        calm=None if len(at) or n <= 4 * EARLY else (least, factor * least),
        facts={
            "share": part,
            "count": count.astype(np.float64),
            "usual": usual,
            "longest": np.maximum.accumulate(np.where(slow, rows.x, 0.0)),
        },
    )


@detector(
    roles=("low", "high", "spread", "reach"),
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
    middle = rows.median(EARLY)
    low, high, spread, reach = (rows.other(r) for r in ("low", "high", "spread", "reach"))
    band = spreads * spread + reach_share * reach
    below = low - middle
    above = middle - high
    distance = np.maximum(np.maximum(below, above), 0.0)
    share = distance / band
    return Signal(
        distance > band,
        share,
        1.0,
        "distance from the reference in bands",
        low=low - band,
        high=high + band,
        window=EARLY,
        facts={"usual": np.where(below > above, low, high), "beyond": share, "middle": middle},
        silent=bool(np.isnan(band).all()),
    )
