"""Detects that what measures success never rose, or fell and stays down. Same contract as in
``levels``.

Means of whole stretches of the run are compared, in units of their own spread: scale and shift do
not matter, and a log with fewer rows says the same later.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rltui.core.block import BoolArray, FloatArray, IntArray
from rltui.health.detectors.registry import detector
from rltui.health.detectors.signal import CERTAIN, Rows, Signal, after_exploring, constant
from rltui.health.detectors.windows import first_where, latched, looks, newest_of, steps_of

#: Values that differ by less than this share of the largest one are equal but for float noise.
_EQUAL = 1e-9
#: Fewest rows of a mean.
_LEAST = 4
#: Rows of :func:`gains`.
_GAINS = 9
#: A mean of more than this part of the rows would level the range that was covered; of less than
#: half of it, a dip is a phase of the run.
_PARTS = 8

#: A gain in standard deviations of all rows of which a run must be short, as a suspicion and when
#: ``sure``: a large and a medium effect (Cohen 1988).
_GAIN = 0.8, 0.5
#: Share of the range whose loss anybody sees, and of which little of use is left.
_LOST = 0.5, 0.75
#: A share of successes that cannot rise much.
_SOLVED = 0.9

#: What :func:`never_rose` says of a gain that is smaller than its limit.
_TOO_LITTLE = "a change of {gain} standard deviations, a gain needs {threshold}"


def _may_not_have_risen(rows: Rows, given: Mapping[str, Any]) -> bool:
    return not given["equal"] or (rows.count > 1 and bool(rows.x[0] == rows.x[1]))


@detector(
    anew=True,
    rising=True,
    roles=("exploration", "spread"),
    facts=("start", "late", "gain", "count"),
    possible=_may_not_have_risen,
)
def never_rose(
    rows: Rows, *, sure: bool = False, held_out: bool = False, equal: bool = False
) -> Signal:
    """The last third is no better than the first: with 2 standard errors, higher by less than 0.8
    standard deviations of all rows; ``sure``: with 3, by less than 0.5. Once that is certain, it
    holds until the last third is higher by so many standard errors, however little that is, or
    with half as many no longer short of the gain.

    The number of rows counts as what it is worth: a mean over the last hundred episodes, logged
    each time, has as many independent values as its neighbours differ (von Neumann's ratio). A run
    that is certainly above its first ninth or twenty-seventh rose, however early; a share near 1
    cannot rise; a row of a ``held_out`` score is worth two. Rows up to the last one at which
    most actions are random, by the ``exploration`` rate, count only as what a run may rise from:
    what acts at random gains nothing. With ``equal`` only runs of which all rows are the same are
    judged, without it only others; rows that are all equal although a ``spread`` is not zero are no
    measure: they were normalised. What continues another training, see :func:`continues`, may have
    risen in that.
    """
    n, (gain, certainty) = rows.count, wanted(sure=sure)
    begins = after_exploring(rows)
    found = np.full((_GAINS, n), np.nan)
    least = int(3 * (certainty / gain) ** 2 / (1.0 + held_out))
    ends = [*(np.flatnonzero(begins[1:] != begins[:-1]) + 1).tolist(), n]
    for end in ends if n else ():
        begin = int(begins[end - 1])
        if end - begin > least:  # fewer rows are never certain
            found[:, begin + least : end] = gains(rows, begin, end)[:, least:]
    start, late, _, *pairs = found
    size, error = pairs[0], pairs[1] / np.sqrt(1.0 + held_out)
    worst = np.maximum(size, 0.0) if sure else size  # a dip may be no more than that
    risen = is_share(rows.x) & (late >= _SOLVED)
    for change, doubt in (*_pairs(pairs), *(_pairs(gains(rows)[3:]) if begins.any() else ())):
        risen |= (change >= gain) & (change >= certainty * doubt)
    beyond = (worst + certainty * error <= gain) & ~risen
    risen |= ~(size < certainty * error) | ~(worst + 0.5 * certainty * error <= gain)
    held = (newest_of(beyond) > newest_of(risen)) & ~beyond
    beyond |= held
    beyond &= (np.cumsum(rows.x != rows.x[:1]) == 0) == equal
    is_part = continues(rows)
    beyond &= ~is_part
    spread = rows.others.get("spread")
    if spread is not None and equal:
        beyond &= np.cumsum(np.abs(spread) > 0) == 0
    return Signal(
        beyond=beyond,
        statistic=size,
        threshold=constant(n, gain),
        name="gain in standard deviations",
        certain=True,
        held=held,
        forgotten=np.ones(n, dtype=bool),
        whole=True,
        facts={"start": start, "late": late, "gain": size,
               "count": np.arange(1.0, n + 1) - begins},
        notes=(
            (start == late, "no change at all"),
            (size <= -gain, "it got worse"),
            ((size > -gain) & (start != late), _TOO_LITTLE),
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


def _pairs(found: Sequence[FloatArray] | FloatArray) -> Iterable[tuple[FloatArray, FloatArray]]:
    """Each gain of :func:`gains` with its standard error."""
    return zip(found[::2], found[1::2], strict=True)


def is_share(x: FloatArray) -> BoolArray:
    """(n,) whether all rows so far lie between 0 and 1."""
    return np.asarray(np.logical_and.accumulate((x >= 0) & (x <= 1)))


def is_solved(x: FloatArray) -> bool:
    """Whether a share has come near 1 in its last third."""
    return len(x) >= _PARTS and bool(is_share(x)[-1]) and float(x[-len(x) // 3 :].mean()) >= _SOLVED


def wanted(*, sure: bool) -> tuple[float, float]:
    """The gain that is asked for, in standard deviations, and with how many standard errors."""
    return _GAIN[sure], CERTAIN[sure] / 2


def is_short(size: FloatArray, error: FloatArray) -> BoolArray:
    """(n,) whether a gain of so many standard deviations, with its standard error, is certainly
    less than what is wanted; not where there is no doubt at all: such rows are no measure."""
    gain, certainty = wanted(sure=False)
    return np.asarray((np.maximum(size, 0.0) + certainty * error <= gain) & (error > 0))


def gains(rows: Rows, begin: int = 0, end: int | None = None) -> FloatArray:
    """How the last third of the rows from ``begin`` on differs from their beginning, at each row
    before ``end``: means of the first and last third, standard deviation of all rows; then, from
    the first third, ninth and twenty-seventh to the last third, the difference in such deviations
    and its standard error as if the trend were memory. (9, n)."""
    x = rows.x[begin:end]
    key = "gains", begin, len(x)
    return rows.once(key, lambda: _gains(x, _sums(x) if begin else _sums_of(rows)))


def gain_error(rows: Rows, spread: FloatArray, at: IntArray) -> FloatArray:
    """(m,) standard error of a gain from the first third, by the noise about the trend, at some
    rows at which values differ."""
    noise, memory = _noise(rows, at)
    of_mean = 2 / np.maximum(1, (at + 1) // 3) * (1 + memory) / (1 - memory)
    found = noise / spread[at] * np.sqrt(of_mean)
    return np.where(at + 1 < _PARTS, np.inf, found)  # a trend through a few rows leaves no noise


@np.errstate(over="ignore", invalid="ignore")
def gain_now(x: FloatArray) -> tuple[float, float]:
    """Change from the first to the last third in standard deviations of all rows, and its standard
    error by the noise about the trend, at the newest row; (0, inf) of too few finite rows."""
    x = x[np.isfinite(x)]
    third, spread = len(x) // 3, float(x.std()) if len(x) else 0.0
    if len(x) < _PARTS or spread <= _EQUAL * float(np.abs(x).max()):
        return 0.0, np.inf
    noise, memory = _noise_about_trend(x, _sums(x), np.array([len(x)]))[:, 0].tolist()
    error = noise / spread * np.sqrt(2 / third * (1 + memory) / (1 - memory))
    return float(x[-third:].mean() - x[:third].mean()) / spread, float(error)


def gains_of(rows: Rows, role: str) -> FloatArray:
    """:func:`gains` of a metric that is logged beside, with 0 in its gaps. (9, n)."""
    return gains(_beside(rows, role))


def rises(rows: Rows, role: str | None = None) -> BoolArray:
    """(n,) whether the rows, or another metric, are certainly higher in their last third than in
    their first; never without that metric."""
    if role is None:
        return rows.once("rises", lambda: _rises(rows))
    if role not in rows.others:
        return np.zeros(rows.count, dtype=bool)
    return rises(_beside(rows, role)) & np.isfinite(rows.others[role])


def _rises(rows: Rows) -> BoolArray:
    gain, certainty = wanted(sure=False)
    _, _, spread, rise, *_ = gains(rows)
    risen: BoolArray = (rise >= gain) & (spread > 0) & np.isfinite(rows.x)
    at = np.flatnonzero(risen)
    risen[at] = rise[at] - certainty * gain_error(rows, spread, at) >= gain
    return risen


def moved(rows: Rows, role: str) -> BoolArray:
    """(n,) whether another metric has certainly risen or fallen so far; never without it."""
    if role not in rows.others:
        return np.zeros(rows.count, dtype=bool)
    found: BoolArray = rises(rows, role) | fell(_beside(rows, role)).beyond
    return np.logical_or.accumulate(found)


def _beside(rows: Rows, role: str) -> Rows:
    """The rows of a metric that is logged beside, with 0 in its gaps."""
    known = np.nan_to_num(rows.others[role], posinf=0.0, neginf=0.0)
    return rows.once_of(role, "rows", lambda: Rows(known, rows.steps))


def _gains(x: FloatArray, sums: FloatArray) -> FloatArray:
    n = len(x)
    count = np.arange(1, n + 1)
    third = np.maximum(1, count // 3)
    total = sums[0, : n + 1]
    spread, share = _spread(x, sums[:, 1 : n + 1])
    late = (total[count] - total[count - third]) / third
    moves = spread > 0
    out = np.zeros((_GAINS, n))
    for at, part in ((7, 27), (5, 9), (3, 3)):
        size = np.maximum(1, count // part)
        early = total[size] / size
        np.divide(late - early, spread, out=out[at], where=moves)
        early_error = np.where(moves, 1 / size, 0.0)  # equal rows leave no doubt of it
        with np.errstate(divide="ignore", invalid="ignore"):
            out[at + 1] = np.sqrt((early_error + 1 / third) / share)
    out[:3] = early + x[:1], late + x[:1], spread
    return out


def _spread(x: FloatArray, sums: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Standard deviation of the rows so far, 0 of equal ones, and the share of them that is
    independent. ``sums``: those up to each row."""
    count = np.arange(1, len(x) + 1)
    total, _, squares, steps = sums
    variance = np.maximum(squares / count - (total / count) ** 2, 0.0)
    spread = np.sqrt(variance)
    spread[spread <= _EQUAL * np.maximum.accumulate(np.abs(x))] = 0.0
    steps = steps / np.maximum(count - 1, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        memory = np.where(spread > 0, 1 - steps / (2 * variance), 0.0)
    memory = np.clip(memory, 0.0, 1 - 1 / np.maximum(count, 2))
    return spread, (1 - memory) / (1 + memory)


@detector(
    anew=True,
    rising=True,
    facts=("best", "least", "lost", "middle", "count", "won"),
    higher=("sure",),
)
def fell(rows: Rows, *, sure: bool = False, held_out: bool = False) -> Signal:
    """The mean of the newest rows has lost half of the range that such means covered, counted from
    the best one before; ``sure``: three quarters.

    Means of 4, 8, 16 ... rows are tried, of a sixteenth of the rows so far at least: a dip that is
    short beside the run is none. The fall must be 4 (6) times what two such means differ by chance,
    beyond what the best of so many means is by luck; the chance is that of rows that remember the
    ones before, as far as these do. A row of a ``held_out`` score is worth two: so means are of
    half as many. ``won`` is 1 where the best was certainly above the first rows, or farther above
    these than the lowest mean is below them; 0 where there was nothing that could be lost.
    """
    least = _LEAST // (1 + held_out)
    key = "fell", sure, least
    return rows.once(key, lambda: _fell(rows, _LOST[sure], CERTAIN[sure], least))


def _fell(rows: Rows, lost: float, certainty: float, shortest: int) -> Signal:
    n = rows.count
    out, needed = np.full((6, n), np.nan), np.full(n, np.nan)
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
    first = (_sums_of(rows)[0][first_rows] / first_rows + rows.x[:1])[origin]
    best, least = best[origin], least[origin]
    won = best - first
    risen = (won >= needed[origin]) | (won >= first - least)
    part = np.where(found, part, np.where(beyond, (best - short) / (best - least), np.nan))
    return Signal(
        beyond=beyond,
        statistic=part,
        threshold=constant(n, lost),
        name="share of the range lost",
        certain=True,
        forgotten=(best - least < lost * _span(short))
        | (best - chance[origin] < _highest_after(short)),
        low=np.where(beyond, limit[origin], np.nan),
        onset=_fell_since(rows.x, limit, size)[origin] if n else None,
        held=~found,
        facts={"best": best, "least": least, "lost": part, "middle": np.where(found, mean, short),
               "count": np.where(found, size, shortest), "won": risen * 1.0},
    )  # fmt: skip


def _falls(rows: Rows, shortest: int) -> list[tuple[int, FloatArray, FloatArray]]:
    """The falls that are large enough, for one window after the other. The first row with such
    means; from there on the share of the range lost, NaN where it is too little, best mean before,
    lowest and newest one, window, and what chance makes of such means, (6, m), and luck, (m,)."""
    n, window, found = rows.count, shortest, []
    wanted = np.zeros(n, dtype=bool)
    while (first := 2 * window if window == shortest else _LEAST * window) <= n:
        mean, best, least = _means(rows, window, 2 * _PARTS * window)[:, first - 1 :]
        loss = best - mean
        large = (loss >= _LOST[0] * (best - least)) & (loss > _EQUAL * np.abs(best))
        if large.any():
            part = np.where(large, loss / (best - least), np.nan)
            own = slice(first - 1, first - 1 + len(part))
            found.append((own, window, part, best, least, mean))
            wanted[own] |= large
        window *= 2

    known = np.full((2, n), np.nan)
    known[:, wanted] = _noise(rows, np.flatnonzero(wanted))
    inflation, count = (1 + known[1]) / (1 - known[1]), np.arange(1, n + 1)
    out = []
    for own, size, *fall in found:
        chance = known[0, own] * np.sqrt(2 * np.minimum(1.0, inflation[own] / size))
        luck = np.sqrt(2 * np.log(np.maximum(count[own] / (size * inflation[own]), 1.0)))
        out.append((own.start, np.array([*fall, np.full(len(luck), size), chance]), luck))
    return out


def _span(mean: FloatArray) -> float:
    """Distance of the highest and the lowest mean of all: what a fall looks large beside at the
    beginning may be little in the end."""
    known = mean[_LEAST - 1 :]
    return float(np.ptp(known)) if len(known) else 0.0


def _highest_after(mean: FloatArray) -> FloatArray:
    """(n,) highest mean from each row on: what is back there, but for chance, made a fall good."""
    known = np.where(np.isfinite(mean), mean, -np.inf)
    return np.asarray(np.maximum.accumulate(known[::-1])[::-1])


def _noise(rows: Rows, at: IntArray) -> FloatArray:
    """Standard deviation of single rows about the trend of their neighbourhood, and the correlation
    of one with the next, as known at some rows behind the first: (2, m)."""
    counts = np.array([look for look, _ in looks(2, rows.count)], dtype=np.int64)
    found = rows.once("noise", lambda: np.full((2, len(counts)), np.nan))
    look = np.repeat(np.arange(len(counts)), np.diff(counts - 1, append=rows.count))[at - 1]
    new = np.flatnonzero(np.bincount(look, minlength=len(counts)) * np.isnan(found[0]))
    if len(new):
        found[:, new] = _noise_about_trend(rows.x, _sums_of(rows), counts[new])
    return found[:, look]


def _noise_about_trend(x: FloatArray, sums: FloatArray, counts: IntArray) -> FloatArray:
    """Noise and memory of the first ``counts`` rows, two at least, in ascending order: about the
    trends of eighths of them, or about one trend before and one after a break, where that leaves
    less: a cliff is no noise. (k,) -> (2, k)."""
    long = counts[counts >= 2 * _PARTS]
    size = np.minimum(counts, np.maximum(2 * _PARTS, counts // _PARTS))
    parts = counts // size
    length, earlier = np.repeat(size, parts), np.repeat(np.cumsum(parts) - parts, parts)
    begin = np.repeat(counts % size, parts) + (np.arange(len(length)) - earlier) * length
    at = _breaks(sums, long)
    halves = np.stack([0 * at, at, at, long - at], axis=1)
    begin = np.concatenate([begin, halves[:, :2].ravel()])
    length = np.concatenate([length, halves[:, 2:].ravel()])
    found = _of_rest(x, sums, begin, length, np.concatenate([parts, np.full(len(at), 2)]))
    own, broken = found[:, : len(counts)], found[:, len(counts) :]
    noise, memory = found
    left = noise * (1 + memory) / (1 - memory)
    less = left[len(counts) :] < left[len(counts) - len(at) : len(counts)]
    np.copyto(own[:, len(counts) - len(at) :], broken, where=less)
    return own


def _sums_of(rows: Rows) -> FloatArray:
    """Sums over the rows before each, as :func:`_sums`."""
    return rows.once("sums", lambda: _sums(rows.x))


def _sums(x: FloatArray) -> FloatArray:
    """Sums of x, t x, x^2 and the squares of steps over the rows before each: (4, n + 1). Of
    distances from the first row, which no later one changes."""
    own, steps, out = x - x[:1], steps_of(x), np.zeros((4, len(x) + 1))
    terms = (own, own * np.arange(len(x)), own * own, steps * steps)
    for term, total in zip(terms, out, strict=True):
        np.cumsum(term, out=total[1:])
    return out


def _left_over(
    sums: FloatArray, middle: FloatArray, length: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Slope of stretches of rows, and the squares that their trends leave, from the sums over
    them: (k,) each."""
    x, tx, xx = sums
    tx = tx - middle * x
    slope = tx / (length * (length * length - 1.0) / 12)
    return slope, np.maximum(xx - x * x / length - slope * tx, 0.0)


def _of_rest(
    x: FloatArray, sums: FloatArray, begin: IntArray, length: IntArray, parts: IntArray
) -> FloatArray:
    """Standard deviation and memory of what the trends of stretches leave, of so many ``parts`` of
    them together: (2, k)."""
    end, half = begin + length, 0.5 * (length - 1)
    within = sums.take(end, axis=1) - sums.take(begin, axis=1)
    slope, squares = _left_over(within[:3], begin + half, length)
    mean = within[0] / length
    first, last = x[begin] - x[0] - mean, x[end - 1] - x[0] - mean
    # the products of neighbours, by the squares of their differences
    steps = sums[3, end] - sums[3, begin + 1] + slope * (2 * half * slope - 2 * (last - first))
    products = squares - 0.5 * (steps + (first + slope * half) ** 2 + (last - slope * half) ** 2)
    together = np.cumsum(parts) - parts
    squares, products, count = np.add.reduceat([squares, products, length], together, axis=1)
    size = count / parts
    memory = np.divide(products, squares, out=np.zeros(len(parts)), where=squares > 0)
    memory += (2 + 4 * memory) / size  # what the trends take away (Kendall 1954)
    noise = np.sqrt(squares / np.maximum(1, count - 2 * parts))
    return np.array([noise, np.minimum(np.maximum(memory, 0.0), 1 - 1 / size)])


def _breaks(sums: FloatArray, ends: IntArray) -> IntArray:
    """The rows at which two trends, one before and one from there on, leave least of the first so
    many rows, of each of the ``ends``."""
    at = np.arange(_LEAST, max(ends.tolist(), default=0) - _LEAST + 1)
    before = sums[:3, _LEAST : _LEAST + len(at)]
    left = _left_over(before, 0.5 * (at - 1), at)[1]
    found = []
    for end in ends.tolist():
        count = end - 2 * _LEAST + 1
        rest, place = sums[:3, end, None] - before[:, :count], at[:count]
        both = left[:count] + _left_over(rest, 0.5 * (place + end - 1), end - place)[1]
        found.append(int(both.argmin()) + _LEAST)
    return np.array(found, dtype=np.int64)


def _means(rows: Rows, window: int, end: int | None = None) -> FloatArray:
    """Mean of the last ``window`` rows; the highest that ended before these began; and the lowest
    so far; at each row before ``end``: (3, n)."""
    x, total = rows.x[:end], _sums_of(rows)[0]
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
