"""From points to dot columns: smoothing, decimation, joined lines, gaps.

No point is skipped: a column of dots keeps the minimum, the maximum,
the first and the last of all its points, so a spike of one step among a million stays.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rltui.core.block import BoolArray, FloatArray, IntArray
from rltui.draw.chart.axis import Scale


@dataclass(frozen=True, slots=True)
class Points:
    """A curve: ``x`` (n,) non-decreasing and ``y`` (n,), both float64."""

    x: FloatArray
    y: FloatArray


@dataclass(frozen=True, slots=True)
class Columns:
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


#: No x beyond this: so differences and their products with a width stay finite.
FAR = 1e290
NOTHING = np.zeros(0, dtype=np.float64)
_NO_COLUMNS = Columns(
    NOTHING, NOTHING, NOTHING, NOTHING, NOTHING,
    np.zeros(0, dtype=np.bool_), np.zeros(0, dtype=np.bool_),
)  # fmt: skip


def points(x: NDArray[np.generic], y: NDArray[np.generic]) -> Points:
    """Float64 points, sorted stably by x where they are not; points without an x are dropped."""
    n = min(len(x), len(y))
    fx, fy = np.asarray(x[:n], dtype=np.float64), np.asarray(y[:n], dtype=np.float64)
    if n > 1 and not bool((fx[1:] >= fx[:-1]).all()):
        known = np.isfinite(fx)
        fx, fy = fx[known], fy[known]
        order = np.argsort(fx, kind="stable")
        fx, fy = fx[order], fy[order]
    elif n and not (math.isfinite(fx[0]) and math.isfinite(fx[-1])):
        known = np.isfinite(fx)
        fx, fy = fx[known], fy[known]
    if len(fx) and (fx[0] < -FAR or fx[-1] > FAR):
        fx = np.clip(fx, -FAR, FAR)
    return Points(fx, fy)


def smooth(values: FloatArray, weight: float) -> FloatArray:
    """Exponential moving average (n,) without the bias of its start, as TensorBoard has it.

    ``weight`` 0 (raw) to 0.99. What is not finite is skipped and stays what it is.
    """
    if weight <= 0 or not len(values) or bool((values == values[0]).all()):
        return values  # smoothing must leave a constant exactly constant
    weight = min(weight, 0.999)
    finite = np.isfinite(values)
    if finite.all():
        return _smooth_finite(values, weight)
    out: FloatArray = values.copy()
    out[finite] = _smooth_finite(values[finite], weight)
    return out


def _smooth_finite(values: FloatArray, weight: float) -> FloatArray:
    """Blockwise: inside of a block a cumulative sum of weighted values, between blocks a carry."""
    n = len(values)
    if not n:
        return values
    biggest = max(float(np.abs(values).max()), 1e-300)
    size = min(n, max(1, int(200 / -math.log(weight))))  # weights of a block span e200
    rows = -(-n // size)
    padded = np.zeros(rows * size)
    padded[:n] = values
    padded /= biggest
    block = padded.reshape(rows, size)
    decay = weight ** np.arange(size, dtype=np.float64)
    state = np.cumsum(block / decay, axis=1)
    state *= decay * (1 - weight)
    carry, passed = 0.0, weight**size
    carries = np.empty(rows)
    for i, end in enumerate(state[:, -1].tolist()):
        carries[i] = carry
        carry = carry * passed + end
    state += carries[:, None] * (decay * weight)
    out: FloatArray = state.reshape(-1)[:n]
    young = min(n, int(40 / -math.log(weight)) + 1)
    out[:young] /= -np.expm1(np.arange(1, young + 1) * math.log(weight))
    out = np.clip(out, -1.0, 1.0)
    out *= biggest
    return out


def decimate(data: Points, x0: float, x1: float, width: int) -> Columns:
    """The points of the window ``x0`` to ``x1`` gathered into ``width`` dot columns."""
    begin = max(0, int(data.x.searchsorted(x0, side="left")) - 1)
    end = int(data.x.searchsorted(x1, side="right")) + 1
    x, y = data.x[begin:end], data.y[begin:end]
    finite = np.isfinite(y)
    index: IntArray | None = None
    if not finite.all():
        index = np.flatnonzero(finite)
        x, y = x[index], y[index]
    if not len(x):
        return _NO_COLUMNS
    unit = (x1 - x0) / max(1, width - 1)
    return _gather(x, y, index, column_bounds(x, x0, x1, width), (x0, unit))


def column_bounds(x: FloatArray, x0: float, x1: float, width: int) -> IntArray:
    """(width + 1,) index into ``x`` of the first point of each dot column, and the end."""
    unit = (x1 - x0) / max(1, width - 1)
    bounds = x.searchsorted(x0 + (np.arange(width + 1) - 0.5) * unit, side="left")
    bounds[0] = x.searchsorted(x0, side="left")
    bounds[-1] = x.searchsorted(x1, side="right")
    if unit <= 0:  # one single step: at the right edge, where the newest belongs
        bounds[:-1] = bounds[0]
    out: IntArray = np.maximum.accumulate(bounds)
    return out


def _gather(
    x: FloatArray, y: FloatArray, index: IntArray | None, bounds: IntArray,
    place: tuple[float, float],
) -> Columns:  # fmt: skip
    filled = np.flatnonzero(bounds[1:] > bounds[:-1])
    starts, ends = bounds[filled], bounds[filled + 1]
    inside_y = y[: bounds[-1]]
    low = np.minimum.reduceat(inside_y, starts) if len(filled) else NOTHING
    high = np.maximum.reduceat(inside_y, starts) if len(filled) else NOTHING
    at, first, last = filled.astype(np.float64), y[starts], y[ends - 1]
    inside = np.ones(len(filled), dtype=np.bool_)
    x0, unit = place
    if unit > 0:
        for where, i in (("left", int(bounds[0]) - 1), ("right", int(bounds[-1]))):
            if not 0 <= i < len(x):
                continue
            with np.errstate(over="ignore"):
                position = float(np.clip((x[i] - x0) / unit, -1e12, 1e12))
            j = 0 if where == "left" else len(at)
            position = (
                min(position, -0.01) if where == "left" else max(position, len(bounds) - 1.99)
            )
            at = np.insert(at, j, position)
            first, last = np.insert(first, j, y[i]), np.insert(last, j, y[i])
            low, high = np.insert(low, j, y[i]), np.insert(high, j, y[i])
            inside = np.insert(inside, j, False)
            starts, ends = np.insert(starts, j, i), np.insert(ends, j, i + 1)
    if index is None:
        broken = np.zeros(max(0, len(at) - 1), dtype=np.bool_)
    else:
        broken = index[starts[1:]] - index[ends[:-1] - 1] > 1
    return Columns(at, first, last, low, high, broken, inside)


def extents(
    columns: Columns, scale: Scale, width: int, height: int, *, cut: bool = False
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
    edge = _edges(columns, first, last, width)
    left, right = edge[:-1], edge[1:]
    low = np.rint((left + right) / 2)
    high = low.copy()
    own = columns.at[columns.inside].astype(np.intp)
    low[own], high[own] = (np.rint(bound[columns.inside]) for bound in bounds)
    low = np.fmin(low, np.ceil(np.fmin(left, right)))
    high = np.fmax(high, np.ceil(np.fmax(left, right)) - 1)
    if cut:
        beyond = (high < 0) | (low > top)
        low[beyond], high[beyond] = np.nan, np.nan
    # np.clip takes longer than both for so few
    return np.minimum(np.maximum(low, 0), top), np.minimum(np.maximum(high, 0), top)


def _edges(columns: Columns, first: FloatArray, last: FloatArray, width: int) -> FloatArray:
    """Height of the line (width + 1,) between the columns of dots; NaN where it does not run."""
    edge = np.full(width + 1, np.nan)
    if len(columns.at) < 2:
        return edge
    place = np.arange(width + 1) - 0.5
    # the places between the first column and the last one
    begin, end = (int(x) for x in place.searchsorted(columns.at[[0, -1]], side="right"))
    inner = place[begin:end]
    s = columns.at.searchsorted(inner, side="left") - 1
    share = (inner - columns.at[s]) / (columns.at[s + 1] - columns.at[s])
    line = last[s] + (first[s + 1] - last[s]) * share
    if columns.broken.any():
        line[columns.broken[s]] = np.nan
    edge[begin:end] = line
    return edge


def area(low: Columns, high: Columns, scale: Scale, width: int, height: int) -> tuple[
    FloatArray, FloatArray
]:  # fmt: skip
    """Lowest and highest dot (width,) of a band between two curves; NaN where there is none."""
    bottom, _ = extents(low, scale, width, height)
    _, top = extents(high, scale, width, height)
    return np.fmin(bottom, top), np.fmax(bottom, top)


def gap_cells(data: Points, x0: float, x1: float, cells: int) -> IntArray:
    """(cells,) 0: nothing; 1: non-finite values begin here; 2: they continue.

    Only cells without any finite value continue, so that a line that came back stays visible.
    """
    out = np.zeros(cells, dtype=np.int64)
    begin = int(np.searchsorted(data.x, x0, side="left"))
    end = int(np.searchsorted(data.x, x1, side="right"))
    bad = ~np.isfinite(data.y[begin:end])
    if not bad.any():
        return out
    x = data.x[begin:end]
    cell = cell_of(x, x0, x1, cells)
    count = np.bincount(cell, minlength=cells)
    broken = np.bincount(cell[bad], minlength=cells)
    onset = bad.copy()
    onset[1:] &= ~bad[:-1]
    last_bad = np.zeros(cells, dtype=np.bool_)
    # NaN lasts until the next number: empty cells in between are part of it
    tail = np.maximum.accumulate(np.where(count > 0, np.arange(cells), -1))
    newest = np.zeros(cells, dtype=np.bool_)
    newest[cell] = bad
    last_bad[tail >= 0] = newest[tail[tail >= 0]]
    out[(broken > 0) & (broken == count)] = 2
    out[(count == 0) & last_bad] = 2
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
