"""Detects that what measures success never rose, or fell and stays down. Same contract as in
``levels``."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rltui.core.block import BoolArray, FloatArray, IntArray
from rltui.health.detectors.registry import detector
from rltui.health.detectors.signal import (
    CERTAIN,
    EARLY,
    NOTHING,
    Rows,
    Signal,
    after_exploring,
    constant,
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
    noise_of,
    pairs_of,
    rises,
    sums_of,
)
from rltui.health.detectors.windows import first_where, latched, newest_of

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
    found = np.full((GAINS, n), np.nan)
    least = int(3 * (SUSPECTED / GAIN) ** 2 / (1.0 + held_out))
    ends = [*(np.flatnonzero(begins[1:] != begins[:-1]) + 1).tolist(), n]
    for end in ends if n else ():
        begin = int(begins[end - 1])
        if end - begin > least:  # fewer rows are never certain
            found[:, begin + least : end] = gains(rows, begin, end)[:, least:]
    start, late, _, *pairs = found
    size = pairs[0]
    error = pairs[1] / np.sqrt(1.0 + held_out)
    worst = np.maximum(size, 0.0) if sure else size  # a dip may be no more than that
    least_rise = 0.0 if sure else GAIN
    risen = is_share(rows.x) & (late >= _SOLVED) & share
    for change, doubt in (*pairs_of(pairs), *(pairs_of(gains(rows)[3:]) if begins.any() else ())):
        risen |= (change >= least_rise) & (change >= SUSPECTED * doubt)
    likely = SUSPECTED * (HALF if sure else 1.0) * error
    beyond = (worst + certainty * error <= GAIN) & (size < likely) & ~risen
    risen |= ~(size < SUSPECTED * error) | ~(worst + 0.5 * certainty * error <= GAIN)
    held = (newest_of(beyond) > newest_of(risen)) & ~beyond
    beyond |= held
    beyond &= ((np.cumsum(rows.x != rows.x[:1]) == 0) == equal) & np.isfinite(late)
    is_part = continues(rows)
    beyond &= ~is_part
    spread = rows.others.get("spread")
    if spread is not None and equal:
        beyond &= np.cumsum(np.abs(spread) > 0) == 0
    length = rows.others.get("length")
    if length is not None and equal:
        differ = np.fmin.accumulate(length) != np.fmax.accumulate(length)
        beyond &= differ | (rows.x <= 0)
    return Signal(
        beyond=beyond,
        statistic=size,
        threshold=constant(n, GAIN),
        name="gain in standard deviations",
        certain=True,
        forgotten=np.ones(n, dtype=bool),
        whole=True,
        facts={"start": start, "late": late, "gain": size,
               "count": np.arange(1.0, n + 1) - begins},
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
    for begin, fall, luck in rows.once(("falls", shortest), lambda: _falls(rows, shortest)):
        end = begin + len(luck)
        part, best, _, mean, _, chance = fall
        errors = certainty + luck
        # Student's t: the noise is an estimate
        errors *= 1 + (errors**2 + 1) / (4 * np.arange(begin + 1, end + 1))
        sure = (part >= lost) & (best - mean >= errors * chance)
        # of two windows at one row the one that lost more, of equal ones the shorter
        more = sure & ~(part <= out[0, begin:end])
        np.copyto(out[:, begin:end], fall, where=more)
        np.copyto(needed[begin:end], errors * chance, where=more)

    part, best, least, mean, size, chance = out
    found = np.isfinite(part)
    short = rows.once(("short", shortest), lambda: _means(rows, shortest)[0])
    limit = best - lost * (best - least)
    beyond, origin = latched(found, -short, -(limit + 0.5 * lost * (best - least)))
    first_rows = np.nan_to_num(size, nan=1.0).astype(np.int64)
    first = (sums_of(rows)[0][first_rows] / first_rows + rows.x[:1])[origin]
    best = best[origin]
    least = least[origin]
    won = best - first
    risen = (won >= needed[origin]) | (won >= first - least)
    part = np.where(found, part, np.where(beyond, (best - short) / (best - least), np.nan))
    middle = np.where(found, mean, short)
    gone = middle < first  # then what is lost is more than what was gained
    # what a fall looks large beside at the beginning may be little in the end; and what is back
    # there, but for chance, made it good
    span = float(np.ptp(short[LEAST - 1 :])) if n >= LEAST else 0.0
    known = np.where(np.isfinite(short), short, -np.inf)
    later = np.maximum.accumulate(known[::-1])[::-1]
    return Signal(
        beyond=beyond,
        statistic=part,
        threshold=constant(n, lost),
        name="share of the range lost",
        certain=True,
        forgotten=(best - least < lost * span) | (best - chance[origin] < later),
        low=np.where(beyond, limit[origin], np.nan),
        onset=_fell_since(rows.x, limit, size)[origin] if n else None,
        held=~found,
        facts={"best": best, "least": least, "lost": part, "middle": middle, "begun": first,
               "count": np.where(found, size, shortest), "won": risen * 1.0},
        notes=((gone & risen, ", worse than where it began, {begun}"),
               (~gone, ": {lost:%} of its range lost, limit {threshold:%}")),
    )  # fmt: skip


def _falls(rows: Rows, shortest: int) -> list[tuple[int, FloatArray, FloatArray]]:
    """The falls that are large enough, for one window after the other. The first row with such
    means; from there on the share of the range lost, NaN where it is too little, best mean before,
    lowest and newest one, window, and what chance makes of such means, (6, m), and luck, (m,)."""
    n = rows.count
    window = shortest
    found = []
    wanted = np.zeros(n, dtype=bool)
    while (first := 2 * window if window == shortest else LEAST * window) <= n:
        mean, best, least = _means(rows, window, 2 * PARTS * window)[:, first - 1 :]
        loss = best - mean
        large = (loss >= _LOST[0] * (best - least)) & (loss > EQUAL * np.abs(best))
        if large.any():
            part = np.where(large, loss / (best - least), np.nan)
            own = slice(first - 1, first - 1 + len(part))
            found.append((own, window, part, best, least, mean))
            wanted[own] |= large
        window *= 2

    known = np.full((2, n), np.nan)
    known[:, wanted] = noise_of(rows, np.flatnonzero(wanted))
    inflation = (1 + known[1]) / (1 - known[1])
    count = np.arange(1, n + 1)
    out = []
    for own, size, *fall in found:
        chance = known[0, own] * np.sqrt(2 * np.minimum(1.0, inflation[own] / size))
        luck = np.sqrt(2 * np.log(np.maximum(count[own] / (size * inflation[own]), 1.0)))
        out.append((own.start, np.array([*fall, np.full(len(luck), size), chance]), luck))
    return out


def _means(rows: Rows, window: int, end: int | None = None) -> FloatArray:
    """Mean of the last ``window`` rows; the highest that ended before these began; and the lowest
    so far; at each row before ``end``: (3, n)."""
    x = rows.x[:end]
    total = sums_of(rows)[0]
    n = len(x)
    out = np.empty((3, n))
    out[:, : 2 * window - 1] = np.nan
    mean, best, least = out
    mean[window - 1 :] = (total[window : n + 1] - total[: max(0, n + 1 - window)]) / window + x[:1]
    best[2 * window - 1 :] = np.maximum.accumulate(mean[window - 1 : n - window])
    least[window - 1 :] = np.minimum.accumulate(mean[window - 1 :])
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
