"""Detects that what measures success never rose, or fell and stays down. Same contract as in
``levels``."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

from rltui.core.block import BoolArray, FloatArray, IntArray
from rltui.core.later import np
from rltui.health.detectors.registry import detector
from rltui.health.detectors.signal import (
    CERTAIN,
    EARLY,
    NOTHING,
    Rows,
    Signal,
    after_exploring,
)
from rltui.health.detectors.trend import (
    EQUAL,
    GAIN,
    GAINS,
    HALF,
    LEAST,
    PARTS,
    SURE,
    SUSPECTED,
    beside,
    gain_error,
    gains,
    gains_of,
    noise_at_looks,
    pairs_of,
    rises,
    sums_of,
)
from rltui.health.detectors.windows import CHUNK_ROWS, first_where, latched, newest_of

#: Share of the range whose loss anybody sees, and of which little of use is left.
_LOST = HALF, 0.75
#: A share of successes that cannot rise much.
_SOLVED = 0.9
#: What :func:`never_rose` says of a gain that is smaller than its limit.
_TOO_LITTLE = "no more than its noise"


def _may_not_have_risen(rows: Rows, given: Mapping[str, Any]) -> bool:
    return not given.get("equal") or (rows.count > 1 and bool(rows.x[0] == rows.x[1]))


@detector(
    anew=True,
    rising=True,
    roles=("exploration", "spread", "policy", "length"),
    facts=("start", "late", "gain", "count"),
    possible=_may_not_have_risen,
)
def never_rose(
    rows: Rows,
    *,
    sure: bool = False,
    held_out: bool = False,
    equal: bool = False,
    share: bool = False,
) -> Signal:
    """The last third is no better than the first: higher by less than 0.8 standard deviations of
    all rows, with 2 standard errors, and by less than 2 of these; ``sure``: with 4, 3 where all
    rows are the same, by less than one, and nothing speaks for any rise, however small, by 2; 2
    suffice beside a ``policy`` that :func:`stays`. Once that is certain, it holds until the
    last third is higher by 2 standard errors, however little that is, or with half as many as at
    first no longer short of the gain.

    The number of rows counts as what it is worth: a mean over the last hundred episodes, logged
    each time, has as many independent values as its neighbours differ (von Neumann's ratio). A run
    that is certainly above its first ninth or twenty-seventh rose, however early; a row of a
    ``held_out`` score is worth two, and a ``share`` of successes near 1 cannot rise. Rows up to the
    last one at which most actions are random, by the ``exploration`` rate, count only as what a run
    may rise from: what acts at random gains nothing. With ``equal`` only runs of which all rows are
    the same are judged, without it only others; rows that are all equal although a ``spread`` is
    not zero are no measure: they were normalised; and a return above zero that is the same in
    episodes of one ``length`` may be the highest there is. What continues another training, see
    :func:`continues`, may have risen in that.
    """
    n = rows.count
    alone = SURE if equal else CERTAIN[0]
    certainty = np.where(stays(rows, "policy") | (not sure), SUSPECTED, alone)
    begins = after_exploring(rows)
    count = np.arange(1.0, n + 1) - begins
    # fewer rows are never certain
    least = int(3 * (SUSPECTED / GAIN) ** 2 / (1.0 + held_out))
    found = gains(rows)
    if begins.any():
        found = np.full((GAINS, n), np.nan)
        for end in [*(np.flatnonzero(begins[1:] != begins[:-1]) + 1).tolist(), n]:
            begin = int(begins[end - 1])
            if end - begin > least:
                found[:, begin:end] = gains(rows, begin, end)
    few = count <= least
    start, late, size = np.where(few, np.nan, found[[0, 1, 3]])
    error = found[4] / np.sqrt(1.0 + held_out)
    worst = np.maximum(size, 0.0) if sure else size  # a dip may be no more than that
    least_rise = 0.0 if sure else GAIN
    risen = is_share(rows.x) & (late >= _SOLVED) if share else np.zeros(n, dtype=bool)
    for every in [found, gains(rows)] if begins.any() else [found]:
        for change, doubt in pairs_of(every[3:]):
            risen |= (change >= least_rise) & (change >= SUSPECTED * doubt)
    likely = SUSPECTED * (HALF if sure else 1.0) * error
    beyond = (worst + certainty * error <= GAIN) & (size < likely) & ~risen
    if beyond.any():
        risen |= ~(size < SUSPECTED * error) | ~(worst + 0.5 * certainty * error <= GAIN)
        beyond |= newest_of(beyond) > newest_of(risen)
    same = np.logical_and.accumulate(rows.x == rows.x[:1])
    beyond &= (same == equal) & np.isfinite(late)
    is_part = continues(rows)
    beyond &= ~is_part
    if equal:
        length = rows.other("length")
        differ = np.fmin.accumulate(length) != np.fmax.accumulate(length)
        spreads = np.logical_or.accumulate(np.abs(rows.other("spread")) > 0)
        beyond &= (differ | (rows.x <= 0)) & ~spreads
    return Signal(
        beyond=beyond,
        statistic=size,
        threshold=GAIN,
        name="gain in standard deviations",
        certain=True,
        forgotten=True,
        whole=True,
        facts={"start": start, "late": late, "gain": size, "count": count},
        notes=(
            (start == late, "no change at all"),
            (size <= -GAIN, "it got worse"),
            ((size > -GAIN) & (start != late), _TOO_LITTLE),
        ),
        silent=bool(is_part.all()),
    )  # fmt: skip


def continues(rows: Rows) -> BoolArray:
    """(n,) whether the rows so far are the smaller part of a training: more of its steps lie before
    the first row than behind it."""
    first = rows.steps[:1]
    return np.asarray(rows.steps - first < first)


@detector(roles=("reward", "explained"), facts=("start", "late", "gain", "count"))
def never_fell(rows: Rows, *, sure: bool = False, explains: float = 0.0) -> Signal:
    """A value that should fall did not: :func:`never_rose`, upside down. Not while the last third
    of an ``explained`` variance is above ``explains``; without one, not while a ``reward`` has
    certainly risen: what is predicted then grows."""
    down = Rows(-rows.x, rows.steps, kept=rows.once("upside down", dict[Hashable, Any]))
    found = never_rose(down, sure=sure)
    facts = {**found.facts, "start": -found.facts["start"], "late": -found.facts["late"]}
    if "explained" in rows.others:
        excused = gains_of(rows, "explained")[1] > explains
    else:
        excused = rises(rows, "reward")
    return replace(found, beyond=found.beyond & ~excused, facts=facts, notes=())


def is_share(x: FloatArray) -> BoolArray:
    """(n,) whether all rows so far lie between 0 and 1."""
    return np.asarray(np.logical_and.accumulate((x >= 0) & (x <= 1)))


def is_solved(x: FloatArray, *, share: bool) -> bool:
    """Whether a share of successes has come near 1 in its last third; of anything else, whether
    most rows of its last third are its maximum, and the first row is not: no mean comes back to
    exactly that unless it can get no higher."""
    late = x[-len(x) // 3 :]
    if len(x) < (EARLY if share else PARTS):
        return False
    if share:
        return bool(is_share(x)[-1]) and float(late.mean()) >= _SOLVED
    return float(np.median(late)) == float(x.max()) > float(x[0])


def stays(rows: Rows, role: str) -> BoolArray:
    """(n,) whether another metric has certainly changed by less than a hundredth from its first
    third to its last; never without it, nor where all its rows are the same: then it is not
    measured."""
    still = np.zeros(rows.count, dtype=bool)
    if role in rows.others:
        other = beside(rows, role)
        start, late, spread, *_ = gains(other)
        at = np.flatnonzero((spread > 0) & (np.abs(late - start) <= NOTHING * np.abs(start)))
        doubt = SUSPECTED * gain_error(other, spread, at) * spread[at]
        still[at] = np.abs(late - start)[at] + doubt <= NOTHING * np.abs(start[at])
    return still


@detector(
    anew=True,
    rising=True,
    facts=("best", "least", "lost", "middle", "count", "won", "begun"),
)
def fell(
    rows: Rows, *, sure: bool = False, held_out: bool = False, untrained: bool = False
) -> Signal:
    """The mean of the newest rows has lost half of the range that such means covered, counted from
    the best one before; ``sure``: three quarters.

    Means of 4, 8, 16 ... rows are tried, of a sixteenth of the rows so far at least: a dip that is
    short beside the run is none. The fall must be 4 (6) times what two such means differ by chance,
    beyond what the best of so many means is by luck; the chance is that of rows that remember the
    ones before, as far as these do. A row of a ``held_out`` score is worth two: so means are of
    half as many. ``won`` is 1 where the best was certainly above the first rows, or farther above
    these than the lowest mean is below them; 0 where there was nothing that could be lost: not
    beyond then where the first rows are of an ``untrained`` policy, unless that part of a return
    that is never negative is gone, or the rows continue another training.
    """
    least = LEAST // (1 + held_out)
    key = "fell", sure, least
    found = rows.once(key, lambda: _fell(rows, _LOST[sure], CERTAIN[sure], least))
    if not untrained:
        return found
    best = found.facts["best"]
    middle = found.facts["middle"]
    is_positive = np.logical_and.accumulate(rows.x >= 0)
    most_of_it = is_positive & (middle <= (1 - _LOST[sure]) * best)
    had = (found.facts["won"] > 0) | continues(rows) | most_of_it
    return replace(found, beyond=found.beyond & had)


def _fell(rows: Rows, lost: float, certainty: float, shortest: int) -> Signal:
    n = rows.count
    out = np.full((6, n), np.nan)
    needed = np.full(n, np.nan)
    for begin, falls, luck in rows.once(("falls", shortest), lambda: _falls(rows, shortest)):
        part, best, _, mean, _, chance = falls
        own = slice(begin, begin + part.shape[1])
        errors = certainty + luck
        # Student's t: the noise is an estimate
        errors *= 1 + (errors**2 + 1) / (4 * np.arange(own.start + 1, own.stop + 1))
        errors *= chance
        sure = (part >= lost) & (best - mean >= errors)
        for at in np.flatnonzero(sure.any(axis=1)).tolist():
            # of two windows at one row the one that lost more, of equal ones the shorter
            more = sure[at] & ~(part[at] <= out[0, own])
            np.copyto(out[:, own], falls[:, at], where=more)
            np.copyto(needed[own], errors[at], where=more)

    part, best, least, mean, size, chance = out
    found = np.isfinite(part)
    short = rows.once(("short", shortest), lambda: _means(rows, [(shortest, n, n)])[0, 0])
    middle = np.where(found, mean, short)
    beyond = found
    low = part
    first = np.repeat(rows.x[:1], n)
    onset = np.arange(n)
    risen, forgotten = np.zeros((2, n), dtype=bool)
    if found.any():
        limit = best - lost * (best - least)
        beyond, origin = latched(found, -short, -(limit + 0.5 * lost * (best - least)))
        first_rows = np.nan_to_num(size, nan=1.0).astype(np.int64)
        first = (sums_of(rows)[0][first_rows] / first_rows + first)[origin]
        best = best[origin]
        least = least[origin]
        won = best - first
        risen = (won >= needed[origin]) | (won >= first - least)
        part = np.where(found, part, np.where(beyond, (best - short) / (best - least), np.nan))
        # what a fall looks large beside at the beginning may be little in the end; and what is
        # back there, but for chance, made it good
        span = float(np.ptp(short[LEAST - 1 :])) if n >= LEAST else 0.0
        known = np.where(np.isfinite(short), short, -np.inf)
        later = np.maximum.accumulate(known[::-1])[::-1]
        forgotten = (best - least < lost * span) | (best - chance[origin] < later)
        low = np.where(beyond, limit[origin], np.nan)
        onset = _fell_since(rows.x, limit, size)[origin]
    gone = middle < first  # then what is lost is more than what was gained
    return Signal(
        beyond=beyond,
        statistic=part,
        threshold=lost,
        name="share of the range lost",
        certain=True,
        forgotten=forgotten,
        low=low,
        onset=onset,
        held=~found,
        facts={"best": best, "least": least, "lost": part, "middle": middle, "begun": first,
               "count": np.where(found, size, shortest), "won": risen * 1.0},
        notes=((gone & risen, ", worse than where it began, {begun}"),
               (~gone, ": {lost:%} of its range lost, limit {threshold:%}")),
    )  # fmt: skip


def _falls(rows: Rows, shortest: int) -> list[tuple[int, FloatArray, FloatArray]]:
    """The falls that are large enough, for some windows after the others. The first row with such
    means; from there on the share of the range lost, NaN where it is too little, best mean before,
    lowest and newest one, window, and what chance makes of such means, (6, k, m), and luck,
    (k, m)."""
    n = rows.count
    windows = [(shortest, 2 * shortest, 2 * PARTS * shortest)]
    while (first := 2 * LEAST * windows[-1][0]) <= n:
        windows.append((first // LEAST, first, 2 * windows[-1][-1]))
    found = []
    wanted = np.zeros(n, dtype=bool)
    some = max(1, CHUNK_ROWS // (PARTS * max(n, 1)))
    for group in (windows[at : at + some] for at in range(0, len(windows), some)):
        begin = group[0][1] - 1
        mean, best, least = _means(rows, group)[..., begin:]
        loss = best - mean
        large = (loss >= _LOST[0] * (best - least)) & (loss > EQUAL * np.abs(best))
        asked = large.any(axis=0)
        if asked.any():
            found.append((begin, np.array(group)[:, :1], large, loss, best, least, mean))
            wanted[begin : begin + len(asked)] |= asked

    (noise, memory), counts, rows_of = noise_at_looks(rows, wanted)
    inflation = (1 + memory) / (1 - memory)
    out = []
    for begin, size, large, loss, best, least, mean in found:
        end = begin + loss.shape[1]
        chance = noise * np.sqrt(2 * np.minimum(1.0, inflation / size))
        memorable = size * inflation
        # at the first row that a look is for there is least luck
        bound = (CERTAIN[0] + _luck(counts, memorable)) * chance * (1 - EQUAL)
        known = np.repeat([bound, chance, memorable], rows_of, axis=2)
        bound, chance, memorable = known[..., begin - 1 : end - 1]
        may = large & (loss >= bound)
        if may.any():
            part = np.where(may, loss / (best - least), np.nan)
            sizes = np.broadcast_to(size, part.shape)
            luck = _luck(np.arange(begin + 1, end + 1), memorable)
            out.append((begin, np.array([part, best, least, mean, sizes, chance]), luck))
    return out


def _luck(count: IntArray, size: FloatArray) -> FloatArray:
    """By how many times their chance the best of the means of so many rows is above others."""
    return np.asarray(np.sqrt(2 * np.log(np.maximum(count / size, 1.0))))


def _means(rows: Rows, windows: list[tuple[int, int, int]]) -> FloatArray:
    """Mean of the last so many rows, for each of some windows, with the number of rows from which
    and up to which it is tried; from there on, the highest that ended before these began; and the
    lowest so far: (3, k, n)."""
    total = sums_of(rows)[0]
    out = np.full((3, len(windows), min(rows.count, windows[-1][-1])), np.nan)
    for at, (window, first, end) in enumerate(windows):
        mean, best, least = out[:, at, :end]
        own = mean[window - 1 :]
        own[:] = (total[window:][: len(own)] - total[: len(own)]) / window + rows.x[:1]
        np.maximum.accumulate(own[:-window], out=best[2 * window - 1 :])
        np.minimum.accumulate(own, out=least[window - 1 :])
        best[: first - 1] = np.nan
    return out


def _fell_since(x: FloatArray, limit: FloatArray, size: FloatArray) -> IntArray:
    """For the first row of each stretch with a fall: the row after the last one above its limit
    before most of the newest rows lay below; the row itself for all others."""
    own = np.arange(len(x))
    there = np.isfinite(size)
    for row in np.flatnonzero(there & ~np.concatenate([[False], there[:-1]])[: len(x)]).tolist():
        before = x[: row + 1 - int(size[row]) // 2]
        own[row] = len(before) - first_where(np.greater_equal, before[::-1], limit[row])
    return own
