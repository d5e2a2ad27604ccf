"""How far rows rose or fell from their beginning, and by how much they scatter: means of whole
stretches, in units of their own spread: scale and shift do not matter, and a log with fewer rows
says the same later.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rltui.core.block import BoolArray, FloatArray, IntArray, ValueArray
from rltui.core.later import np
from rltui.health.detectors.signal import CERTAIN, Rows
from rltui.health.detectors.windows import CHUNK_ROWS, looks, steps_of

#: Values that differ by less than this share of the largest one are equal but for float noise.
EQUAL = 1e-9
#: Fewest rows of a mean.
LEAST = 4
#: Rows of :func:`gains`.
GAINS = 9
#: A mean of more than this part of the rows would level the range that was covered; of less than
#: half of it, a dip is a phase of the run.
PARTS = 8
#: A gain in standard deviations of all rows of which a run must be short: a large effect
#: (Cohen 1988).
GAIN = 0.8
#: Half of a gain: a loss that anybody sees. Half of the errors that many looks ask for: those of
#: one comparison.
HALF = 0.5
#: With how many standard errors something is suspected, and with how many it is sure.
SUSPECTED, SURE = (HALF * errors for errors in CERTAIN)


def is_short(size: FloatArray, error: FloatArray) -> BoolArray:
    """(n,) whether a gain of so many standard deviations, with its standard error, is certainly
    less than what is wanted; not where there is no doubt at all: such rows are no measure."""
    return np.asarray((np.maximum(size, 0.0) + SUSPECTED * error <= GAIN) & (error > 0))


def gains(rows: Rows, begin: int = 0, end: int | None = None) -> FloatArray:
    """How the last third of the rows from ``begin`` on differs from their beginning, at each row
    before ``end``: means of the first and last third, standard deviation of all rows; then, from
    the first third, ninth and twenty-seventh to the last third, the difference in such deviations
    and its standard error as if the trend were memory. (9, n)."""
    x = rows.x[begin:end]
    key = "gains", begin, len(x)
    return rows.once(key, lambda: _gains(x, sums_before(x) if begin else sums_of(rows)))


def gain_error(rows: Rows, spread: FloatArray, at: IntArray) -> FloatArray:
    """(m,) standard error of a gain from the first third, by the noise about the trend, at some
    rows at which values differ."""
    noise, memory = noise_of(rows, at)
    of_mean = 2 / np.maximum(1, (at + 1) // 3) * (1 + memory) / (1 - memory)
    found = noise / spread[at] * np.sqrt(of_mean)
    return np.where(at + 1 < PARTS, np.inf, found)  # a trend through a few rows leaves no noise


def gain_now(x: FloatArray) -> tuple[float, float]:
    """Change from the first to the last third in standard deviations of all rows, and its standard
    error by the noise about the trend, at the newest row; (0, inf) of too few finite rows."""
    with np.errstate(over="ignore", invalid="ignore"):
        x = x[np.isfinite(x)]
        third = len(x) // 3
        spread = float(x.std()) if len(x) else 0.0
        if len(x) < PARTS or spread <= EQUAL * float(np.abs(x).max()):
            return 0.0, np.inf
        noise, memory = _noise_about_trend(x, sums_before(x), np.array([len(x)]))[:, 0].tolist()
        error = noise / spread * np.sqrt(2 / third * (1 + memory) / (1 - memory))
        return float(x[-third:].mean() - x[:third].mean()) / spread, float(error)


def gains_of(rows: Rows, role: str) -> FloatArray:
    """:func:`gains` of a metric that is logged beside, with 0 in its gaps. (9, n)."""
    return gains(beside(rows, role))


def pairs_of(found: Sequence[FloatArray] | FloatArray) -> Iterable[tuple[FloatArray, FloatArray]]:
    """Each gain of :func:`gains` with its standard error."""
    return zip(found[::2], found[1::2], strict=True)


def rises(rows: Rows, role: str | None = None) -> BoolArray:
    """(n,) whether the rows, or another metric, are certainly higher in their last third than in
    their first; never without that metric."""
    if role is None:
        return rows.once("rises", lambda: _rises(rows))
    if role not in rows.others:
        return np.zeros(rows.count, dtype=bool)
    return rises(beside(rows, role)) & np.isfinite(rows.others[role])


def _rises(rows: Rows) -> BoolArray:
    _, _, spread, rise, *_ = gains(rows)
    risen: BoolArray = (rise >= GAIN) & (spread > 0) & np.isfinite(rows.x)
    at = np.flatnonzero(risen)
    risen[at] = rise[at] - SUSPECTED * gain_error(rows, spread, at) >= GAIN
    return risen


def no_longer_follows(rows: Rows, role: str, at: IntArray) -> BoolArray:
    """(m,) whether the rows rose with another metric in their first half, but in their second
    certainly gained less than half of what they gained before for as large a rise of it; at some
    rows."""
    early, late, error = _halves(rows, at)
    first, second, doubt = _halves(beside(rows, role), at)
    rose = (early >= SURE * error) & (first >= SURE * doubt)
    expected = early * second / np.where(rose, first, np.inf)
    goes_on = second >= SURE * doubt
    return np.asarray(rose & goes_on & (late + SURE * error <= HALF * expected))


def _halves(rows: Rows, at: IntArray) -> FloatArray:
    """Gains of the rows in their first half and in their second, by means of eighths, and the
    standard error of such a gain by the noise about the trend, at some rows: (3, m)."""
    count = at + 1
    size = np.maximum(1, count // PARTS)
    total = sums_of(rows)[0]
    begin, middle, now = (
        (total[end] - total[end - size]) / size for end in (size, count // 2 + size, count)
    )
    noise, memory = noise_of(rows, at)
    error = np.where(size > 1, noise * np.sqrt(2 / size * (1 + memory) / (1 - memory)), np.inf)
    return np.array([middle - begin, now - middle, error])


def beside(rows: Rows, role: str) -> Rows:
    """The rows of a metric that is logged beside, with 0 in its gaps."""
    known = rows.others[role]
    return rows.once_of(
        role, "rows", lambda: Rows(np.nan_to_num(known, posinf=0.0, neginf=0.0), rows.steps)
    )


def _gains(x: FloatArray, sums: FloatArray) -> FloatArray:
    n = len(x)
    count = np.arange(1, n + 1)
    third = np.maximum(1, count // 3)
    total = sums[0, : n + 1]
    spread, share = _spread(x, sums[:, 1 : n + 1])
    late = (total[count] - total[count - third]) / third
    moves = spread > 0
    out = np.zeros((GAINS, n))
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
    spread[spread <= EQUAL * np.maximum.accumulate(np.abs(x))] = 0.0
    steps = steps / np.maximum(count - 1, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        memory = np.where(spread > 0, 1 - steps / (2 * variance), 0.0)
    memory = np.clip(memory, 0.0, 1 - 1 / np.maximum(count, 2))
    return spread, (1 - memory) / (1 + memory)


def noise_of(rows: Rows, at: IntArray) -> FloatArray:
    """Standard deviation of single rows about the trend of their neighbourhood, and the correlation
    of one with the next, as known at some rows behind the first: (2, m)."""
    asked = np.zeros(rows.count, dtype=bool)
    asked[at] = True
    found, _, rows_of = noise_at_looks(rows, asked)
    return found[:, np.repeat(np.arange(len(rows_of)), rows_of)[at - 1]]


def noise_at_looks(rows: Rows, asked: BoolArray) -> tuple[FloatArray, IntArray, IntArray]:
    """:func:`noise_of` the rows so far at each of the looks (2, k), where a row that it holds for
    is ``asked`` for; the numbers of rows at the looks, and of those that each is for."""
    counts = np.array([look for look, _ in looks(2, rows.count)], dtype=np.int64)
    found = rows.once("noise", lambda: np.full((2, len(counts)), np.nan))
    if len(counts):
        new = np.flatnonzero(np.logical_or.reduceat(asked, counts - 1) & np.isnan(found[0]))
        if len(new):
            found[:, new] = _noise_about_trend(rows.x, sums_of(rows), counts[new])
    return found, counts, np.diff(counts - 1, append=rows.count)


def _noise_about_trend(x: FloatArray, sums: FloatArray, counts: IntArray) -> FloatArray:
    """Noise and memory of the first ``counts`` rows, two at least, in ascending order: about the
    trends of eighths of them, or about one trend before and one after a break, where that leaves
    less: a cliff is no noise. (k,) -> (2, k)."""
    long = counts[counts >= 2 * PARTS]
    size = np.minimum(counts, np.maximum(2 * PARTS, counts // PARTS))
    parts = counts // size
    length = np.repeat(size, parts)
    earlier = np.repeat(np.cumsum(parts) - parts, parts)
    begin = np.repeat(counts % size, parts) + (np.arange(len(length)) - earlier) * length
    at = _breaks(sums, long)
    halves = np.stack([0 * at, at, at, long - at], axis=1)
    begin = np.concatenate([begin, halves[:, :2].ravel()])
    length = np.concatenate([length, halves[:, 2:].ravel()])
    found = _of_rest(x, sums, begin, length, np.concatenate([parts, np.full(len(at), 2)]))
    own = found[:, : len(counts)]
    broken = found[:, len(counts) :]
    noise, memory = found
    left = noise * (1 + memory) / (1 - memory)
    less = left[len(counts) :] < left[len(counts) - len(at) : len(counts)]
    np.copyto(own[:, len(counts) - len(at) :], broken, where=less)
    return own


def sums_of(rows: Rows) -> FloatArray:
    """Sums over the rows before each, as :func:`sums_before`."""
    return rows.once("sums", lambda: sums_before(rows.x))


def sums_before(x: FloatArray) -> FloatArray:
    """Sums of x, t x, x^2 and the squares of steps over the rows before each: (4, n + 1). Of
    distances from the first row, which no later one changes."""
    own = x - x[:1]
    steps = steps_of(x)
    out = np.zeros((4, len(x) + 1))
    terms = (own, own * np.arange(len(x)), own * own, steps * steps)
    for term, total in zip(terms, out, strict=True):
        np.cumsum(term, out=total[1:])
    return out


def _left_over(
    sums: FloatArray, middle: ValueArray, length: IntArray
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
    end = begin + length
    half = 0.5 * (length - 1)
    within = sums.take(end, axis=1) - sums.take(begin, axis=1)
    slope, squares = _left_over(within[:3], begin + half, length)
    mean = within[0] / length
    first = x[begin] - x[0] - mean
    last = x[end - 1] - x[0] - mean
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
    if not len(ends):
        return ends
    at = np.arange(LEAST, int(ends[-1]) - LEAST + 1)
    before = sums[:3, LEAST : LEAST + len(at)]
    left = _left_over(before, 0.5 * (at - 1), at)[1]
    found: list[int] = []
    # of few rows several ends at once
    together = max(1, int(np.searchsorted(ends * np.arange(1, len(ends) + 1), CHUNK_ROWS // LEAST)))
    for some in np.split(ends[:, None], range(together, len(ends))):
        place = at[: int(some[-1, 0]) - 2 * LEAST + 1]
        length: IntArray = np.maximum(some - place, LEAST)
        rest = sums[:3, some] - before[:, None, : len(place)]
        both = left[: len(place)] + _left_over(rest, place + 0.5 * (some - place - 1), length)[1]
        both[some - place < LEAST] = np.inf
        found += (both.argmin(axis=1) + LEAST).tolist()
    return np.array(found, dtype=np.int64)
