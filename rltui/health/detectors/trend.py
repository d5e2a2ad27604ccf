"""Detects that a value does not rise: rank trends with a band of equivalence. Same contract as in
``levels``."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from rltui.core.block import BoolArray, FloatArray, IntArray
from rltui.core.medians import median, row_medians
from rltui.health.detectors.registry import detector
from rltui.health.detectors.signal import Rows, Signal, after_exploring, constant
from rltui.health.detectors.windows import looks, rolling_median

#: A rank trend further below zero is a fall, which is another finding.
_FALLING = 2.5
#: A rank trend above this rises.
_RISING = 2.0
#: A rank trend further from zero than this is none by chance.
_MOVED = 3.0
#: Most values that a rank trend compares in pairs; longer series are averaged in blocks.
_MOST_RANKED = 100
#: The ends of a series of at most this many rows are sorted together for all looks.
_MOST_TOGETHER = 2048


def rank_trend(x: FloatArray) -> float:
    """Mann-Kendall's z of a series, of block means when it is long."""
    if len(x) > _MOST_RANKED:
        edges = np.linspace(0, len(x), _MOST_RANKED + 1).astype(np.int64)
        x = np.add.reduceat(x, edges[:-1]) / np.diff(edges)
    n = len(x)
    if n < 3:
        return 0.0
    higher = x > x[:, np.newaxis]  # [i, j]: row j is higher than row i
    unlike = int(np.count_nonzero(higher))
    up = int(np.count_nonzero(higher & _pairs(n)))
    return (2 * up - unlike) / math.sqrt(n * (n - 1) * (2 * n + 5) / 18)


@lru_cache(maxsize=_MOST_RANKED)
def _pairs(n: int) -> BoolArray:
    """Where the column comes after the row, (n, n)."""
    return np.asarray(np.tri(n, dtype=bool).T & ~np.eye(n, dtype=bool))


#: What :func:`no_gain` says of a gain that is smaller than its limit.
_TOO_LITTLE = "the change is {gain} times the spread of single rows, a gain needs {threshold}"


@detector(
    anew=True, roles=("length", "loss", "exploration"), facts=("start", "late", "gain", "count")
)
def no_gain(
    rows: Rows,
    *,
    noise_share: float,
    rise_share: float = 1.0,
    least_rows: int = 400,
    long_rows: int = 100,
    long_steps: float = np.inf,
    moved_rows: int = 20,
    moved_factor: float = np.inf,
    trend: float = 1.0,
    certain: float = 0.0,
    certain_rows: int = 400,
    growth: float = 1.1,
    explores: float = 1.0,
) -> Signal:
    """The last third is not better than the first tenth: higher by less than ``noise_share`` of the
    spread of single rows (1.48 times the median distance from the median), without a rank trend
    upwards (Mann-Kendall z below ``trend``).

    Judged from ``least_rows`` on; from ``long_rows`` on if these cover ``long_steps`` steps; with a
    ``length``, from ``moved_rows`` on if that has changed by ``moved_factor`` from its first to its
    last third: then the policy moves, and the reward does not. Without such a second sign and
    before ``certain_rows`` the gain must be below ``noise_share`` by ``certain`` standard errors:
    few noisy rows show nothing. A ``loss`` that is exactly zero in all rows is a second sign. With
    an ``exploration`` rate, the rows up to the last one at which that is above ``explores`` count
    for none of these: what acts at random gains nothing. A run that rose by ``rise_share`` of the
    spread in any tenth and fell again does not count. Once found, it is over when both level and
    trend (z above 2) show a gain: one alone is noise. Evaluated each time the run has grown by the
    factor ``growth``; the answer holds until then. It began in the middle of the last third that
    was no better, the row that its median stands for; a value without any noise of which no tenth
    is better than the first never gained, so it began with its first row that counts. Before
    ``least_rows`` that count, only a finding is an answer: that nothing was found is no praise.
    """
    x, n = rows.x, rows.count
    beyond, onset, found = np.zeros(n, dtype=bool), np.arange(n), False
    start, late, gain = (np.full(n, np.nan) for _ in range(3))
    length = rows.others.get("length") if np.isfinite(moved_factor) else None
    begins, first = after_exploring(rows, explores), least_rows
    idle = _zero_rows(rows.others.get("loss"))
    if np.isfinite(long_steps):
        first = min(first, long_rows)
    if length is not None:
        first = min(first, moved_rows)
    ends = rows.once(("ends", first, growth), lambda: _all_ends(x, first, growth)).tolist()
    for (look, following), (a, b, noise) in zip(looks(first, n, growth), ends, strict=True):
        here = slice(look - 1, following - 1)
        start[here], late[here], gain[here] = a, b, _gain(a, b, noise)
        begin, least = int(begins[look - 1]), bool(gain[look - 1] < noise_share)
        if found or (least and _best_block(rows, look) - a < rise_share * max(noise, 1e-300)):
            span, own = rows.steps[look - 1] - rows.steps[min(begin, look - 1)], look - begin
            z = _trend(rows, look)
            if own < least_rows and not (own >= long_rows and span >= long_steps):
                may_move = least and -_FALLING < z < 0.0 and own >= moved_rows
                found = may_move and length is not None and _moved(length[:look], moved_factor)
            elif found:
                found = least or z < _RISING
            else:
                is_noisy = idle < look < certain_rows and bool(np.ptp(x[:look]) > 0)
                margin = certain * _uncertainty(look) if is_noisy else 0.0
                found = z < trend and bool(gain[look - 1] + margin < noise_share)
        beyond[here] = found
        if found:
            never = noise == 0 and _best_block(rows, look) <= a
            began = begin if never else look - look // 6
            onset[here] = onset[look - 2] if beyond[look - 2] else began
    return Signal(
        beyond=beyond,
        statistic=gain,
        threshold=constant(n, noise_share),
        name="gain in units of the spread",
        onset=onset,
        silent=not bool(beyond.any()) and (n == 0 or n - int(begins[-1]) < least_rows),
        notes=(
            (gain <= -noise_share, "it fell"),
            ((gain > -noise_share) & (start != late), _TOO_LITTLE),
            (start == late, "no change at all"),
        ),
        facts={"start": start, "late": late, "gain": gain, "count": np.arange(1.0, n + 1)},
    )


def _gain(start: float, late: float, noise: float) -> float:
    """The gain in units of the spread of single rows; infinite where these have none."""
    if noise > 0:
        return (late - start) / noise
    return math.inf if late > start else 0.0


def _zero_rows(loss: FloatArray | None) -> int:
    """Number of rows before the first one whose loss is not exactly zero; 0 of no loss."""
    if loss is None or not np.isfinite(loss).any():
        return 0
    other = np.flatnonzero(np.isfinite(loss) & (loss != 0.0))
    return int(other[0]) if len(other) else len(loss)


@detector(anew=True, facts=("start", "late", "fall", "trend", "count"))
def declining(
    rows: Rows, *, trend: float, fall: float, least_rows: int = 12, growth: float = 1.1
) -> Signal:
    """The value falls steadily, from the start or later, however slowly.

    Mann-Kendall's z of all rows so far, divided by the factor by which the memory of the residuals
    inflates it (that of an AR(1) process), is below ``-trend``, and the median of the last third
    lies ``fall`` times the spread of single rows under that of the first. Evaluated each time the
    run has grown by the factor ``growth``; the answer holds until then.
    """
    x, n = rows.x, rows.count
    start, late, z, size = (np.full(n, np.nan) for _ in range(4))
    for look, following in looks(least_rows, n, growth):
        here = slice(look - 1, following - 1)
        third = look // 3
        a, b = median(x[:third]), median(x[look - third : look])
        start[here], late[here] = a, b
        if a <= b:
            size[here] = 0.0
            continue
        line = np.interp(np.arange(look), [third / 2, look - third / 2], [a, b])
        rest = x[:look] - line
        spread = 1.4826 * median(np.abs(rest - median(rest)))
        size[here] = (a - b) / spread if spread > 0 else np.inf
        if size[look - 1] >= fall:
            z[here] = _trend(rows, look) / _inflation(rest)
    with np.errstate(invalid="ignore"):
        beyond = (z <= -trend) & (size >= fall)
    return Signal(
        beyond=beyond,
        statistic=-z,
        threshold=constant(n, trend),
        name="rank trend downwards",
        onset=_left(x, start, late, beyond),
        facts={
            "start": start,
            "late": late,
            "fall": size,
            "trend": z,
            "count": np.arange(1, n + 1, dtype=np.float64),
        },
    )


def _inflation(rest: FloatArray) -> float:
    """Factor by which the memory of residuals inflates the spread of a mean: for AR(1)."""
    centred = rest - rest.mean()
    power = float(centred @ centred)
    memory = float(centred[1:] @ centred[:-1]) / power if power > 0 else 0.0
    memory = min(max(memory, 0.0), 0.95)
    return float(np.sqrt((1 + memory) / (1 - memory)))


def _left(x: FloatArray, start: FloatArray, late: FloatArray, flags: BoolArray) -> IntArray:
    """For the first row of each run of True: the row after the last one at which the value was in
    the upper half between its ``start`` and its ``late``; the row itself for all others."""
    out = np.arange(len(x))
    short = rolling_median(x, 3)
    for row in np.flatnonzero(flags & ~np.concatenate([[False], flags[:-1]])).tolist():
        above = np.flatnonzero(short[: row + 1] >= 0.5 * (start[row] + late[row]))
        out[row] = min(row, int(above[-1]) + 1) if len(above) else 0
    return out


def _all_ends(x: FloatArray, first: int, growth: float) -> FloatArray:
    """:func:`_ends` at each look, (looks, 3)."""
    counts = [look for look, _ in looks(first, len(x), growth)]
    if not counts or len(x) > _MOST_TOGETHER:
        return np.array([_ends(x[:look]) for look in counts], dtype=np.float64).reshape(-1, 3)
    begin, begin_spread = _medians_and_spreads(x, [(0, min(n, max(3, n // 10))) for n in counts])
    end, end_spread = _medians_and_spreads(x, [(n - n // 3, n) for n in counts])
    return np.stack([begin, end, 1.4826 * np.maximum(begin_spread, end_spread)], axis=1)


def _medians_and_spreads(
    x: FloatArray, parts: list[tuple[int, int]]
) -> tuple[FloatArray, FloatArray]:
    """Medians of some parts of a short series, (k,), and the medians of the distances from them:
    the parts are sorted together, as rows of a matrix with infinity behind their values."""
    first, last = np.array(parts).T
    counts = last - first
    place = first[:, np.newaxis] + np.arange(counts.max())
    absent = place >= last[:, np.newaxis]
    cells = x[np.minimum(place, len(x) - 1)]
    cells[absent] = np.inf
    centre = _middle(cells, counts)
    cells = np.abs(cells - centre[:, np.newaxis])

    return centre, _middle(cells, counts)


def _middle(cells: FloatArray, counts: IntArray) -> FloatArray:
    """Medians of the first ``counts`` values of each row, the others of which are infinite. Sorts
    the rows."""
    cells.sort(axis=1)
    row = np.arange(len(cells))
    return np.asarray(0.5 * (cells[row, (counts - 1) // 2] + cells[row, counts // 2]))


def _ends(x: FloatArray) -> tuple[float, float, float]:
    """Medians of the first tenth and the last third, spread of single rows."""
    n = len(x)
    first, last = x[: max(3, n // 10)], x[n - n // 3 :]
    a, b = median(first), median(last)
    noise = 1.4826 * max(median(np.abs(first - a)), median(np.abs(last - b)))
    return a, b, noise


def _uncertainty(rows: int) -> float:
    """Standard error of the difference of the two medians, in spreads of single rows."""
    return 1.2533 * float(np.sqrt(1 / max(3, rows // 10) + 1 / max(1, rows // 3)))


def _trend(rows: Rows, look: int) -> float:
    """:func:`rank_trend` of the first rows; found once for all levels."""
    return float(
        rows.once(("rank trend", look), lambda: np.array([rank_trend(rows.x[:look])])).item()
    )


def _best_block(rows: Rows, look: int) -> float:
    """:func:`best_block` of the first rows; found once for all levels."""
    return float(
        rows.once(("best block", look), lambda: np.array([best_block(rows.x[:look])])).item()
    )


def best_block(x: FloatArray) -> float:
    """Highest median of ten blocks, of fewer where they would have less than five rows. The blocks
    at the beginning have one row more where they cannot all have as many."""
    size, longer = divmod(len(x), min(10, max(1, len(x) // 5)))
    split = longer * (size + 1)
    best = float(row_medians(x[split:].reshape(-1, size)).max())
    if not longer:
        return best
    return max(best, float(row_medians(x[:split].reshape(-1, size + 1)).max()))


def _moved(length: FloatArray, factor: float) -> bool:
    """Whether the last third is ``factor`` times the first one, or less than the inverse, and by a
    rank trend, not by chance."""
    known = length[np.isfinite(length)]
    third = len(known) // 3
    if third == 0:
        return False
    a, b = median(known[:third]), median(known[-third:])
    return a > 0 and b > 0 and max(a / b, b / a) >= factor and abs(rank_trend(known)) >= _MOVED
