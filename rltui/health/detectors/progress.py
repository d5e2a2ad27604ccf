"""Detects that what measures success never rose, or fell and stays down. Same contract as in
``levels``.

Means of whole stretches of the run are compared, in units of their own spread: scale and shift do
not matter, and a log with fewer rows says the same later.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from rltui.core.block import BoolArray, FloatArray, IntArray
from rltui.health.detectors.registry import detector
from rltui.health.detectors.signal import CERTAIN, Rows, Signal, after_exploring, constant
from rltui.health.detectors.windows import latched, looks

#: Values that differ by less than this share of the largest one are equal but for float noise.
_EQUAL = 1e-9
#: Fewest rows of a mean.
_LEAST = 4
#: A mean of more than this part of the rows would level the range that was covered; of less than
#: half of it, a dip is a phase of the run.
_PARTS = 8

#: A gain in standard deviations of all rows of which a run must be short, as a suspicion and when
#: ``sure``: a large and a medium effect (Cohen 1988).
_GAIN = 0.8, 0.5
#: Share of the range whose loss anybody sees, and of which little of use is left.
_LOST = 0.5, 0.75
#: A share of successes that cannot rise much, and the rate above which most actions are random.
_SOLVED, _AT_RANDOM = 0.9, 0.5

#: What :func:`never_rose` says of a gain that is smaller than its limit.
_TOO_LITTLE = "a change of {gain} standard deviations, a gain needs {threshold}"


@detector(anew=True, roles=("exploration", "spread"), facts=("start", "late", "gain", "count"))
def never_rose(
    rows: Rows,
    *,
    sure: bool = False,
    held_out: bool = False,
    equal: bool = False,
) -> Signal:
    """The last third is no better than the first: with 2 standard errors, higher by less than 0.8
    standard deviations of all rows; ``sure``: with 3, by less than 0.5.

    The number of rows counts as what it is worth: a mean over the last hundred episodes, logged
    each time, has as many independent values as its neighbours differ (von Neumann's ratio). A run
    that is certainly above its first ninth or twenty-seventh rose, however early; a share near 1
    cannot rise; a row of a ``held_out`` score is worth two. Rows up to the last one at which
    most actions are random, by the ``exploration`` rate, do not count: what acts at random gains
    nothing. With ``equal`` only runs of which all rows are the same are judged, without it only
    others; rows that are all equal although a ``spread`` is not zero are no measure: they were
    normalised.
    """
    n, (gain, certainty) = rows.count, wanted(sure=sure)
    begins = after_exploring(rows, _AT_RANDOM)
    found = np.full((5, n), np.nan)
    for begin in np.unique(begins[begins < np.arange(n)]).tolist():
        here = (begins == begin) & (np.arange(n) > begin)
        gained = _gains(rows.x[begin:], gain, certainty)
        found[:, here] = gained[:, here[begin:]]
    start, late, size, error, rose = found
    error = error / np.sqrt(1.0 + held_out)
    with np.errstate(invalid="ignore"):
        beyond = (np.maximum(size, 0.0) + certainty * error <= gain) & (rose == 0)
        beyond &= ~(is_share(rows.x) & (late >= _SOLVED))
    beyond &= (np.cumsum(rows.x != rows.x[:1]) == 0) == equal
    spread = rows.others.get("spread")
    if spread is not None and equal:
        beyond &= np.cumsum(np.nan_to_num(np.abs(spread)) > 0) == 0
    return Signal(
        beyond=beyond,
        statistic=size,
        threshold=constant(n, gain),
        name="gain in standard deviations",
        certain=True,
        forgotten=np.ones(n, dtype=bool),
        whole=True,
        facts={"start": start, "late": late, "gain": size,
               "count": np.arange(1.0, n + 1) - begins},
        notes=(
            (start == late, "no change at all"),
            (size <= -gain, "it fell"),
            ((size > -gain) & (start != late), _TOO_LITTLE),
        ),
    )  # fmt: skip


def is_share(x: FloatArray) -> BoolArray:
    """(n,) whether all rows so far lie between 0 and 1."""
    return np.asarray(np.logical_and.accumulate((x >= 0) & (x <= 1)))


def is_solved(x: FloatArray) -> bool:
    """Whether a share has come near 1 in its last third."""
    return len(x) >= _PARTS and bool(is_share(x)[-1]) and float(x[-len(x) // 3 :].mean()) >= _SOLVED


def wanted(*, sure: bool) -> tuple[float, float]:
    """The gain that is asked for, in standard deviations, and with how many standard errors."""
    return _GAIN[sure], CERTAIN[sure] / 2


def gain_so_far(x: FloatArray) -> FloatArray:
    """Means of the first and last third, their difference in standard deviations of all rows, its
    standard error as if the trend were memory, and by the noise about the trend: (5, n)."""
    found = _gains(x, np.inf, 0.0)
    noise, memory = _noise(x)
    count = np.arange(1, len(x) + 1)
    spread, _ = _spread(x, np.concatenate([[0.0], np.cumsum(x - x[:1])]))
    with np.errstate(divide="ignore", invalid="ignore"):
        of_mean = 2 / np.maximum(1, count // 3) * (1 + memory) / (1 - memory)
        found[4] = np.where(spread > 0, noise / spread * np.sqrt(of_mean), np.inf)
    found[4, : _PARTS - 1] = np.inf  # a trend through so few rows leaves next to no noise
    return found


def gain_now(x: FloatArray) -> tuple[float, float]:
    """Change from the first to the last third in standard deviations of all rows, and its standard
    error by the noise about the trend, at the newest row; (0, inf) of too few finite rows."""
    x = x[np.isfinite(x)]
    third, spread = len(x) // 3, float(x.std()) if len(x) else 0.0
    if len(x) < _PARTS or spread <= _EQUAL * float(np.abs(x).max()):
        return 0.0, np.inf
    noise, memory = _noise_about_trend(x)
    error = noise / spread * np.sqrt(2 / third * (1 + memory) / (1 - memory))
    return float(x[-third:].mean() - x[:third].mean()) / spread, float(error)


def _gains(x: FloatArray, gain: float, certainty: float) -> FloatArray:
    """The same, and whether the run rose by ``gain`` at any time: (5, n)."""
    n = len(x)
    count = np.arange(1, n + 1)
    third = np.maximum(1, count // 3)
    total = np.concatenate([[0.0], np.cumsum(x - x[:1])])
    spread, share = _spread(x, total)
    late = (total[count] - total[count - third]) / third
    out = np.zeros((5, n))
    for part in (27, 9, 3):
        size = np.maximum(1, count // part)
        early = total[size] / size
        with np.errstate(divide="ignore", invalid="ignore"):
            change = np.where(spread > 0, (late - early) / spread, 0.0)
            early_error = np.where(spread > 0, 1 / size, 0.0)  # equal rows leave no doubt of it
            error = np.sqrt((early_error + 1 / third) / share)
        out[4] += (change >= gain) & (change >= certainty * error)
    out[:4] = early + x[:1], late + x[:1], change, error
    return out


def _spread(x: FloatArray, total: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Standard deviation of the rows so far, 0 of equal ones, and the share of them that is
    independent. ``total``: cumulative sums of the distance from the first row."""
    count = np.arange(1, len(x) + 1)
    squares = np.cumsum((x - x[:1]) ** 2)
    variance = np.maximum(squares / count - (total[1:] / count) ** 2, 0.0)
    spread = np.sqrt(variance)
    spread[spread <= _EQUAL * np.maximum.accumulate(np.abs(x))] = 0.0
    steps = np.cumsum(np.diff(x, prepend=x[:1]) ** 2) / np.maximum(count - 1, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        memory = np.where(spread > 0, 1 - steps / (2 * variance), 0.0)
    memory = np.clip(memory, 0.0, 1 - 1 / np.maximum(count, 2))
    return spread, (1 - memory) / (1 + memory)


@detector(anew=True, facts=("best", "least", "lost", "middle", "count"))
def fell(rows: Rows, *, sure: bool = False) -> Signal:
    """The mean of the newest rows has lost half of the range that such means covered, counted from
    the best one before; ``sure``: three quarters.

    Means of 4, 8, 16 ... rows are tried, of a sixteenth of the rows so far at least: a dip that is
    short beside the run is none. The fall must be 4 (6) times what two such means differ by chance,
    beyond what the best of so many means is by luck; the chance is that of rows that remember the
    ones before, as far as these do.
    """
    n, lost, certainty = rows.count, _LOST[sure], CERTAIN[sure]
    out = np.full((5, n), np.nan)
    window, count = _LEAST, np.arange(1, n + 1)
    noise, memory = rows.once("noise", lambda: _noise(rows.x))
    inflation = (1 + memory) / (1 - memory)
    while 2 * window <= n:
        mean, best, least = rows.once(("falls", window), partial(_means, rows.x, window))
        chance = noise * np.sqrt(2 * np.minimum(1.0, inflation / window))
        with np.errstate(invalid="ignore", divide="ignore"):
            part = (best - mean) / (best - least)
            luck = np.sqrt(2 * np.log(np.maximum(count / (window * inflation), 1.0)))
            errors = certainty + luck
            errors *= 1 + (errors**2 + 1) / (4 * count)  # Student's t: the noise is an estimate
            enough = (part >= lost) & (best - mean >= errors * chance)
            enough &= (count >= _LEAST * window) | (window == _LEAST)
            enough &= (2 * _PARTS * window >= count) & (best - mean > _EQUAL * np.abs(best))
            better = enough & ~(part <= out[0])
        out[:, better] = np.stack([part, best, least, mean, np.full(n, window)])[:, better]
        window *= 2
    part, best, least, mean, size = out
    found = np.isfinite(part)
    short = rows.once(("falls", _LEAST), lambda: _means(rows.x, _LEAST))[0]
    limit = best - lost * (best - least)
    beyond, origin = latched(found, -np.nan_to_num(short), -(limit + 0.5 * lost * (best - least)))
    best, least = best[origin], least[origin]
    with np.errstate(invalid="ignore", divide="ignore"):
        part = np.where(found, part, np.where(beyond, (best - short) / (best - least), np.nan))
    return Signal(
        beyond=beyond,
        statistic=part,
        threshold=constant(n, lost),
        name="share of the range lost",
        certain=True,
        forgotten=(best - least < lost * _span(short)) | (best < _highest_after(short)),
        low=np.where(beyond, limit[origin], np.nan),
        onset=_fell_since(rows.x, limit, size)[origin] if n else None,
        held=~found,
        facts={"best": best, "least": least, "lost": part, "middle": np.where(found, mean, short),
               "count": np.where(found, size, _LEAST)},
    )  # fmt: skip


def _span(mean: FloatArray) -> float:
    """Distance of the highest and the lowest mean of all: what a fall looks large beside at the
    beginning may be little in the end."""
    known = mean[_LEAST - 1 :]
    return float(np.ptp(known)) if len(known) else 0.0


def _highest_after(mean: FloatArray) -> FloatArray:
    """(n,) highest mean from each row on: what rose above its best again has made a fall good."""
    known = np.where(np.isfinite(mean), mean, -np.inf)
    return np.asarray(np.maximum.accumulate(known[::-1])[::-1])


def _noise(x: FloatArray) -> FloatArray:
    """Standard deviation of single rows about the trend of their neighbourhood, and the correlation
    of one with the next, at each row: (2, n)."""
    out = np.zeros((2, len(x)))
    for look, following in looks(2, len(x)):
        out[:, look - 1 : following - 1] = np.array(_noise_about_trend(x[:look]))[:, np.newaxis]
    return out


def _noise_about_trend(x: FloatArray) -> tuple[float, float]:
    """The same of all rows: about the trends of eighths of them, or about one trend before and one
    after a break, where that leaves less: a cliff is no noise. At least two rows."""
    size = max(2 * _PARTS, len(x) // _PARTS) if len(x) >= 2 * _PARTS else len(x)
    found = [_of_rest(_rest(x[len(x) % size :].reshape(-1, size)))]
    if len(x) >= 2 * _PARTS:
        at = _break(x)
        found.append(_of_rest(_rest(x[np.newaxis, :at]), _rest(x[np.newaxis, at:])))
    return min(found, key=lambda f: f[0] * (1 + f[1]) / (1 - f[1]))


def _rest(parts: FloatArray) -> FloatArray:
    """Rows beside the trend of their part: (parts, rows of each)."""
    time = np.arange(parts.shape[1]) - (parts.shape[1] - 1) / 2
    rest = parts - parts.mean(axis=1, keepdims=True)
    return np.asarray(rest - np.outer(rest @ time / (time @ time), time))


def _of_rest(*rests: FloatArray) -> tuple[float, float]:
    """Standard deviation and memory of what the trends of some parts leave."""
    squares = sum(float(np.vdot(rest, rest)) for rest in rests)
    products = sum(float((rest[:, 1:] * rest[:, :-1]).sum()) for rest in rests)
    count, parts = sum(rest.size for rest in rests), sum(map(len, rests))
    memory, size = products / squares if squares > 0 else 0.0, count / parts
    memory += (2 + 4 * memory) / size  # what the trends take away (Kendall 1954)
    memory = min(max(memory, 0.0), 1 - 1 / size)
    return float(np.sqrt(squares / max(1, count - 2 * parts))), memory


def _break(x: FloatArray) -> int:
    """The row at which two trends, one before and one from there on, leave least."""
    n = len(x)
    time, values = np.arange(n) - n / 2, x - x.mean()
    sums = np.cumsum([np.ones(n), time, values, time * time, time * values, values**2], axis=1)
    at = np.arange(_LEAST, n - _LEAST + 1)
    left = sums[:, at - 1]
    return int(at[np.argmin(_left_over(left) + _left_over(sums[:, -1:] - left))])


def _left_over(sums: FloatArray) -> FloatArray:
    """Squares that a trend leaves, by the sums of 1, t, x, t^2, t x and x^2: (6, k) -> (k,)."""
    count, t, x, tt, tx, xx = sums
    shared = tx - t * x / count
    return np.asarray(xx - x * x / count - shared * shared / (tt - t * t / count))


def _means(x: FloatArray, window: int) -> FloatArray:
    """Mean of the last ``window`` rows; the highest that ended before these began; and the lowest
    so far: (3, n)."""
    n = len(x)
    total = np.concatenate([[0.0], np.cumsum(x - x[:1])])
    out = np.full((3, n), np.nan)
    mean, best, least = out
    mean[window - 1 :] = (total[window:] - total[:-window]) / window + x[:1]
    best[2 * window - 1 :] = np.maximum.accumulate(mean[window - 1 : n - window])
    least[window - 1 :] = np.minimum.accumulate(mean[window - 1 :])
    return out


def _fell_since(x: FloatArray, limit: FloatArray, size: FloatArray) -> IntArray:
    """For the first row of each stretch with a fall: the row after the last one above its limit
    before most of the newest rows lay below; the row itself for all others."""
    own = np.arange(len(x))
    there = np.isfinite(size)
    for row in np.flatnonzero(there & ~np.concatenate([[False], there[:-1]])[: len(x)]).tolist():
        above = np.flatnonzero(x[: row + 1 - int(size[row]) // 2] >= limit[row])
        own[row] = int(above[-1]) + 1 if len(above) else 0
    return own
