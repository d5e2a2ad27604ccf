"""The line through points that are denser than the columns of a plot.

Each column of dots takes the mean of its points. A running median over the columns, which keeps
cliffs where they are, and a light average after it leave a line that can be followed; the minimum
and maximum of every column stay visible below it. Nothing is averaged across a restart.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rltui.core.block import FloatArray
from rltui.draw.chart.trace import Columns, Points, column_bounds

#: Points per dot column from which a joined line would be a block.
_CROWDED = 0.75
#: How often it crosses its whole range, at least.
_RESTLESS = 4.0
#: Dot columns on either side that the running median takes in: a share of all, and its bounds.
_SHARE, _LEAST, _MOST = 1 / 60, 2, 6
_LIGHT = np.array([1.0, 2.0, 3.0, 2.0, 1.0]) / 9


def is_crowded(data: Points, below: Columns, window: tuple[float, float], width: int) -> bool:
    """Whether the joined line ``below`` of a window in ``width`` dot columns would be a block:
    it has more points than columns, and goes up and down all the time."""
    begin, end = np.searchsorted(data.x, window)
    if int(end - begin) <= _CROWDED * width or not len(below.at):
        return False
    low, high = below.low, below.high
    with np.errstate(over="ignore"):
        inside = (high / _RESTLESS - low / _RESTLESS).sum()
        between = np.abs(below.first[1:] / _RESTLESS - below.last[:-1] / _RESTLESS).sum()
        return bool(inside + between > high.max() - low.min())


def averaged(
    data: Points, below: Columns, window: tuple[float, float], width: int,
    restarts: Sequence[float],
) -> Columns:  # fmt: skip
    """The averaged line at the columns of ``below``, from the points (or means) ``data``."""
    finite = np.isfinite(data.y)
    x, y = (data.x, data.y) if finite.all() else (data.x[finite], data.y[finite])
    bounds = column_bounds(x, *window, width)
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
    line = np.concatenate([_smoothed(part, reach) for part in parts]) * size
    at = np.interp(below.at, filled, line)
    return Columns(below.at, at, at, at, at, below.broken, below.inside)


def _smoothed(means: FloatArray, reach: int) -> FloatArray:
    """Running median and light average of values (n,), reflected at the ends."""
    if len(means) < 3 or bool((means == means[0]).all()):
        return means
    reach = min(reach, len(means) - 1)
    around = _windows(_reflected(means, reach), 2 * reach + 1)
    middle = np.partition(around, reach, axis=1)[:, reach]
    out: FloatArray = np.convolve(_reflected(middle, 2), _LIGHT, "valid")
    return out


def _windows(x: FloatArray, size: int) -> FloatArray:
    """The windows of ``size`` values as rows on the same memory, not to be written (numpy's
    sliding_window_view takes 15 µs for its checks)."""
    (stride,) = x.strides
    matrix: FloatArray = np.ndarray((len(x) - size + 1, size), x.dtype, x, strides=(stride, stride))
    return matrix


def _reflected(values: FloatArray, by: int) -> FloatArray:
    """Values (n,) with ``by`` < n more at either end, mirrored."""
    return np.concatenate([values[by:0:-1], values, values[-2 : -by - 2 : -1]])
