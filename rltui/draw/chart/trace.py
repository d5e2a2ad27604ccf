"""From points to dot columns: smoothing, decimation, averages, outlines, joined lines, gaps.

No point is skipped: a column of dots keeps the minimum, the maximum,
the first and the last of all its points, so a spike of one step among a million stays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rltui.core.block import BoolArray, FloatArray, IntArray
from rltui.draw.chart.axis import Scale

#: Every x is cut to this, so that differences and their products with a width stay finite.
FAR = 1e290
NOTHING = np.zeros(0, dtype=np.float64)
#: Points per dot column from which a joined line would be a block.
_CROWDED = 0.75
#: Times that such a line crosses its whole range, at least.
_RESTLESS = 4.0
#: Dot columns on either side in the running median: a share of all, and its bounds.
_SHARE = 1 / 60
_LEAST = 2
_MOST = 6
_LIGHT = np.array([1.0, 2.0, 3.0, 2.0, 1.0]) / 9
#: Shorter series are drawn from all of their points.
LONG = 16_384
#: Most blocks of a long series: beyond that neighbours are merged.
_BLOCKS = 4096
#: LONG and blocks for a line among many: still more blocks than any chart has columns.
LONG_COARSE = 2048
COARSE = 512


class CurvePoints(NamedTuple):
    """A curve: ``x`` (n,) non-decreasing and ``y`` (n,), both float64."""

    x: FloatArray
    y: FloatArray


class DotColumns(NamedTuple):
    """The k dot columns of a window that hold finite points, ascending.

    A neighbour beyond either end of the window is a column too (outside of 0 to width - 1),
    so that a line runs on to the edge.
    """

    at: FloatArray
    """(k,) position in dot columns."""
    first: FloatArray
    last: FloatArray
    low: FloatArray
    high: FloatArray
    broken: BoolArray
    """(k - 1,) True where something that is no number lies between a column and the next."""
    inside: BoolArray
    """(k,) True for columns of the window itself."""


_NO_COLUMNS = DotColumns(
    NOTHING, NOTHING, NOTHING, NOTHING, NOTHING,
    np.zeros(0, dtype=np.bool_), np.zeros(0, dtype=np.bool_),
)  # fmt: skip


def points(x: NDArray[np.generic], y: NDArray[np.generic]) -> CurvePoints:
    """Float64 points, sorted stably by x where they are not; points without an x are dropped."""
    n = min(len(x), len(y))
    fx = np.asarray(x[:n], dtype=np.float64)
    fy = np.asarray(y[:n], dtype=np.float64)
    ordered = n < 2 or bool((fx[1:] >= fx[:-1]).all())

    if not ordered or (n and not (math.isfinite(fx[0]) and math.isfinite(fx[-1]))):
        known = np.isfinite(fx)
        fx = fx[known]
        fy = fy[known]
    if not ordered:
        order = np.argsort(fx, kind="stable")
        fx = fx[order]
        fy = fy[order]
    if len(fx) and (fx[0] < -FAR or fx[-1] > FAR):
        fx = np.clip(fx, -FAR, FAR)
    return CurvePoints(fx, fy)


def smooth(values: FloatArray, weight: float) -> FloatArray:
    """Exponential moving average (n,) without the bias of its start, as TensorBoard has it.

    ``weight`` 0 (raw) to 0.99. What is not finite is skipped and stays what it is.
    """
    if weight <= 0 or not len(values) or bool((values == values[0]).all()):
        return values  # smoothing must leave a constant exactly constant
    finite = np.isfinite(values)
    good = values if finite.all() else values[finite]
    n = len(good)
    if not n:
        return values

    # inside of a block a cumulative sum of weighted values, between blocks a carry
    weight = min(weight, 0.999)
    biggest = max(float(np.abs(good).max()), 1e-300)
    size = min(n, max(1, int(200 / -math.log(weight))))  # weights of a block span e200
    rows = -(-n // size)
    padded = np.zeros(rows * size)
    padded[:n] = good
    padded /= biggest
    decay = weight ** np.arange(size, dtype=np.float64)
    state = np.cumsum(padded.reshape(rows, size) / decay, axis=1)
    state *= decay * (1 - weight)
    carry = 0.0
    passed = weight**size
    carries = np.empty(rows)
    for i, end in enumerate(state[:, -1].tolist()):
        carries[i] = carry
        carry = carry * passed + end
    state += carries[:, None] * (decay * weight)

    line: FloatArray = state.reshape(-1)[:n]
    young = min(n, int(40 / -math.log(weight)) + 1)
    line[:young] /= -np.expm1(np.arange(1, young + 1) * math.log(weight))
    line = np.clip(line, -1.0, 1.0)
    line *= biggest
    if good is values:
        return line
    out: FloatArray = values.copy()
    out[finite] = line
    return out


def decimate(data: CurvePoints, x0: float, x1: float, width: int) -> DotColumns:
    """The points of the window ``x0`` to ``x1`` gathered into ``width`` dot columns."""
    begin = max(0, int(data.x.searchsorted(x0, side="left")) - 1)
    end = int(data.x.searchsorted(x1, side="right")) + 1
    x = data.x[begin:end]
    y = data.y[begin:end]
    finite = np.isfinite(y)
    index: IntArray | None = None
    if not finite.all():
        index = np.flatnonzero(finite)
        x = x[index]
        y = y[index]
    bounds = _column_bounds(x, x0, x1, width)
    filled = np.flatnonzero(bounds[1:] > bounds[:-1])

    # the neighbours beyond the ends lie just before the first point and just after the last one
    unit = (x1 - x0) / max(1, width - 1)
    before = [int(bounds[0]) - 1] if unit > 0 and bounds[0] > 0 else []
    after = [int(bounds[-1])] if unit > 0 and bounds[-1] < len(x) else []
    starts = np.array([*before, *bounds[filled].tolist(), *after], dtype=np.intp)
    if not len(starts):
        return _NO_COLUMNS
    ends = np.append(starts[1:], bounds[-1] + len(after))
    at = np.zeros(len(starts))
    at[len(before) : len(before) + len(filled)] = filled
    inside = np.ones(len(starts), dtype=np.bool_)
    for i, place, bound in ((0, before, -0.01), (-1, after, width - 0.99)):
        if place:
            with np.errstate(over="ignore"):
                far = float(np.clip((x[place[0]] - x0) / unit, -1e12, 1e12))
            at[i] = min(far, bound) if i == 0 else max(far, bound)
            inside[i] = False

    low = np.minimum.reduceat(y[: ends[-1]], starts)
    high = np.maximum.reduceat(y[: ends[-1]], starts)
    broken = np.zeros(len(starts) - 1, dtype=np.bool_)
    if index is not None:
        broken = index[starts[1:]] - index[ends[:-1] - 1] > 1
    return DotColumns(at, y[starts], y[ends - 1], low, high, broken, inside)


def _column_bounds(x: FloatArray, x0: float, x1: float, width: int) -> IntArray:
    """(width + 1,) index into ``x`` of the first point of each dot column, and the end."""
    unit = (x1 - x0) / max(1, width - 1)
    bounds = x.searchsorted(x0 + (np.arange(width + 1) - 0.5) * unit, side="left")
    bounds[0] = x.searchsorted(x0, side="left")
    bounds[-1] = x.searchsorted(x1, side="right")
    if unit <= 0:  # one single step: at the right edge, where the newest belongs
        bounds[:-1] = bounds[0]
    out: IntArray = np.maximum.accumulate(bounds)
    return out


def extents(
    columns: DotColumns, scale: Scale, width: int, height: int, *, cut: bool = False
) -> tuple[FloatArray, FloatArray]:
    """Lowest and highest dot (width,) of a joined line; NaN where there is none.

    Each column takes the dots of its points, and half of the way to either neighbour. Dots beyond
    the scale lie on its edge, or with ``cut`` are left out.
    """
    if not len(columns.at):
        return np.full(width, np.nan), np.full(width, np.nan)
    top = height - 1
    places = np.array([columns.first, columns.last, columns.low, columns.high])
    first, last, *bounds = scale.share(places) * top

    # height of the line between the columns of dots; NaN where it does not run
    edge = np.full(width + 1, np.nan)
    if len(columns.at) > 1:
        place = np.arange(width + 1) - 0.5
        begin, end = (int(x) for x in place.searchsorted(columns.at[[0, -1]], side="right"))
        inner = place[begin:end]
        s = columns.at.searchsorted(inner, side="left") - 1
        share = (inner - columns.at[s]) / (columns.at[s + 1] - columns.at[s])
        line = last[s] + (first[s + 1] - last[s]) * share
        line[columns.broken[s]] = np.nan
        edge[begin:end] = line

    left = edge[:-1]
    right = edge[1:]
    low = np.rint((left + right) / 2)
    high = low.copy()
    own = columns.at[columns.inside].astype(np.intp)
    low[own], high[own] = (np.rint(bound[columns.inside]) for bound in bounds)
    low = np.fmin(low, np.ceil(np.fmin(left, right)))
    high = np.fmax(high, np.ceil(np.fmax(left, right)) - 1)
    if cut:
        beyond = (high < 0) | (low > top)
        low[beyond] = np.nan
        high[beyond] = np.nan
    # np.clip takes longer than both for so few
    return np.minimum(np.maximum(low, 0), top), np.minimum(np.maximum(high, 0), top)


def gap_cells(data: CurvePoints, x0: float, x1: float, cells: int) -> IntArray:
    """(cells,) 0: nothing; 1: non-finite values begin here; 2: they continue.

    Only cells without any finite value continue, so that a line that came back stays visible.
    """
    out = np.zeros(cells, dtype=np.int64)
    begin = int(np.searchsorted(data.x, x0, side="left"))
    end = int(np.searchsorted(data.x, x1, side="right"))
    bad = ~np.isfinite(data.y[begin:end])
    if not bad.any():
        return out
    cell = cell_of(data.x[begin:end], x0, x1, cells)
    count = np.bincount(cell, minlength=cells)
    broken = np.bincount(cell[bad], minlength=cells)

    # NaN lasts until the next number: empty cells in between are part of it
    tail = np.maximum.accumulate(np.where(count > 0, np.arange(cells), -1))
    newest = np.zeros(cells, dtype=np.bool_)
    newest[cell] = bad
    out[(broken > 0) & (broken == count)] = 2
    out[(count == 0) & (tail >= 0) & newest[tail]] = 2

    onset = bad.copy()
    onset[1:] &= ~bad[:-1]
    out[cell[onset]] = 1
    return out


def cell_of(x: FloatArray, x0: float, x1: float, cells: int) -> IntArray:
    """The cell (n,) of each ``x`` (n,) of a window; beyond its ends the first or the last."""
    if not x1 > x0:
        return np.full(len(x), max(0, cells - 1), dtype=np.int64)
    inside = np.clip(x, x0, x1)
    dots = np.rint((inside - x0) / (x1 - x0) * (2 * cells - 1))
    cell: IntArray = np.clip(dots, 0, 2 * cells - 1).astype(np.int64) // 2
    return cell


def is_crowded(
    data: CurvePoints, below: DotColumns, window: tuple[float, float], width: int
) -> bool:
    """Whether the joined line ``below`` of a window in ``width`` dot columns would be a block:
    it has more points than columns, and goes up and down all the time."""
    begin, end = np.searchsorted(data.x, window)
    if int(end - begin) <= _CROWDED * width or not len(below.at):
        return False
    low = below.low
    high = below.high
    with np.errstate(over="ignore"):
        inside = (high / _RESTLESS - low / _RESTLESS).sum()
        between = np.abs(below.first[1:] / _RESTLESS - below.last[:-1] / _RESTLESS).sum()
        return bool(inside + between > high.max() - low.min())


def averaged(
    data: CurvePoints, below: DotColumns, window: tuple[float, float], width: int,
    restarts: Sequence[float],
) -> DotColumns:  # fmt: skip
    """The averaged line at the columns of ``below``, from the points (or means) ``data``."""
    finite = np.isfinite(data.y)
    x, y = (data.x, data.y) if finite.all() else (data.x[finite], data.y[finite])
    bounds = _column_bounds(x, *window, width)
    filled = np.flatnonzero(bounds[1:] > bounds[:-1])
    if not len(filled) or not len(below.at):
        return below

    inside = y[: bounds[-1]]
    size = max(float(np.abs(inside[bounds[0] :]).max()), 1e-300)
    starts = bounds[filled]
    means = np.add.reduceat(inside / size, starts) / (bounds[filled + 1] - starts)
    reach = int(min(_MOST, max(_LEAST, width * _SHARE)))
    cuts = x[starts].searchsorted(np.sort(np.array(restarts, dtype=np.float64)), side="left")
    parts = np.split(means, cuts) if len(cuts) else [means]
    line = np.concatenate([_calmed(part, reach) for part in parts]) * size
    at = np.interp(below.at, filled, line)

    return DotColumns(below.at, at, at, at, at, below.broken, below.inside)


def _calmed(means: FloatArray, reach: int) -> FloatArray:
    """Running median and narrow moving average of values (n,), reflected at the ends."""
    if len(means) < 3 or bool((means == means[0]).all()):
        return means
    reach = min(reach, len(means) - 1)
    x = _reflected(means, reach)
    # the windows as rows on the same memory: the checks of sliding_window_view take 15 µs
    around = np.ndarray((len(means), 2 * reach + 1), x.dtype, x, strides=2 * x.strides)
    middle = np.partition(around, reach, axis=1)[:, reach]
    out: FloatArray = np.convolve(_reflected(middle, 2), _LIGHT, "valid")
    return out


def _reflected(values: FloatArray, by: int) -> FloatArray:
    """Values (n,) with ``by`` < n more at either end, mirrored."""
    return np.concatenate([values[by:0:-1], values, values[-2 : -by - 2 : -1]])


class Outline:
    """The points that show a long series at any size, and the means of its blocks.

    ``index`` (k,): indices of the kept points, ascending; ``centres`` and ``means`` (b,): index of
    the middle point of each block and the mean of its finite values, NaN where it has none.
    """

    def __init__(self, blocks: int = _BLOCKS) -> None:
        """``blocks``: at most that many."""
        self._most = blocks
        self.index: IntArray = np.zeros(0, dtype=np.int64)
        self.centres: IntArray = np.zeros(0, dtype=np.int64)
        self.means: FloatArray = np.zeros(0, dtype=np.float64)
        self._sums: FloatArray = np.zeros((2, 0), dtype=np.float64)
        """Sum and number of the finite values of the full blocks."""
        self._size = 4
        """Points of a block."""
        self._kept: IntArray = np.zeros(0, dtype=np.int64)
        """Indices of the points kept of the full blocks."""
        self._done = 0
        """Points of the full blocks."""

    def extend(self, y: NDArray[np.generic]) -> None:
        """Add the new points. The values (n,) must begin with those of the previous call (see
        ``Series.epoch``)."""
        n = len(y)
        while n > self._most * self._size:
            self._size *= 2
            pairs = self._sums[:, : self._sums.shape[1] // 2 * 2]
            self._sums = pairs.reshape(2, -1, 2).sum(axis=2)
        size = self._size
        if self._done % size:
            # blocks of the former size were closed: the last of them is open again
            self._done -= self._done % size
            self._kept = self._kept[self._kept < self._done]
        if len(self._kept) > 4 * self._most:
            self._kept = _reduced(y, self._kept, size)

        full = n - n % size
        if full > self._done:
            fresh = _reduced(y, np.arange(self._done, full), size)
            self._kept = np.concatenate([self._kept, fresh])
            self._sums = np.concatenate([self._sums, _sums(y[self._done : full], size)], 1)
            self._done = full
        self.index = np.concatenate([self._kept, np.arange(full, n)])

        sums = self._sums
        self.centres = np.arange(sums.shape[1]) * size + size // 2
        if n > full:
            sums = np.concatenate([sums, _sums(y[full:], n - full)], axis=1)
            self.centres = np.append(self.centres, (full + n) // 2)
        with np.errstate(invalid="ignore"):
            self.means = sums[0] / sums[1]


def _sums(y: NDArray[np.generic], size: int) -> FloatArray:
    """(2, blocks) sum and number of the finite values of each ``size`` of ``y``."""
    values = y.astype(np.float64).reshape(-1, size)
    finite = np.isfinite(values)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.stack([np.where(finite, values, 0.0).sum(axis=1), finite.sum(axis=1)])


def _reduced(y: NDArray[np.generic], places: IntArray, size: int) -> IntArray:
    """The ``places`` (n,) to keep: first, last, lowest and highest of each block of ``size``, and
    all of a block with a value that is not finite."""
    values = y[places].astype(np.float64)
    block = places // size
    starts = np.flatnonzero(np.append(True, block[1:] != block[:-1]))
    ends = np.append(starts[1:], len(places))
    number = np.repeat(np.arange(len(starts)), ends - starts)
    keep = np.logical_or.reduceat(~np.isfinite(values), starts)[number]
    keep[starts] = keep[ends - 1] = True

    for extreme in (np.minimum, np.maximum):
        at = np.flatnonzero(values == extreme.reduceat(values, starts)[number])
        if len(at):  # the first of equal ones
            blocks = number[at]
            keep[at[np.append(True, blocks[1:] != blocks[:-1])]] = True
    return places[keep]
