"""Many curves as one: the mean and the band of a group of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rltui.core.block import FloatArray

#: Places of the x axis at which the curves of runs are averaged.
_PLACES = 240
#: Stretches in which the noise of one run is measured, and the points that each has at least.
_STRETCHES, _LEAST = 40, 4

#: The points of a run: places on the x axis (n,) ascending, values (n,), NaN included.
Points = tuple[FloatArray, FloatArray]


@dataclass(frozen=True, slots=True, eq=False)
class Bundle:
    """Curves at common places."""

    x: FloatArray
    """(k,) ascending."""
    values: FloatArray
    """(runs, k), NaN where a run has no points around a place."""

    @property
    def mean(self) -> FloatArray:
        """(k,) mean over the runs that are there."""
        count = np.isfinite(self.values).sum(axis=0)
        with np.errstate(over="ignore", invalid="ignore"):
            mean: FloatArray = np.nansum(self.values, axis=0) / np.maximum(count, 1)
        return np.where(count > 0, mean, np.nan)

    def spread(self) -> tuple[FloatArray, FloatArray]:
        """Mean minus and plus the standard deviation over the runs, (k,) each."""
        mean, count = self.mean, np.isfinite(self.values).sum(axis=0)
        with np.errstate(over="ignore", invalid="ignore"):
            squares = np.nansum((self.values - mean) ** 2, axis=0)
            deviation = np.sqrt(squares / np.maximum(count - 1, 1))
            return mean - deviation, mean + deviation

    def extremes(self) -> tuple[FloatArray, FloatArray]:
        """Lowest and highest over the runs, (k,) each."""
        empty = ~np.isfinite(self.values).any(axis=0)
        low = np.where(np.isnan(self.values), np.inf, self.values).min(axis=0)
        high = np.where(np.isnan(self.values), -np.inf, self.values).max(axis=0)
        return np.where(empty, np.nan, low), np.where(empty, np.nan, high)


def bundle(runs: Sequence[Points]) -> Bundle | None:
    """The curves of ``runs`` at common places; None without any finite point.

    Runs that were logged at the same few places are taken as they are. Otherwise each run is
    averaged in stretches of the axis, and what it skips is interpolated, never beyond its ends.
    """
    kept = [_finite(points) for points in runs]
    kept = [(x, y) for x, y in kept if len(x)]
    if not kept:
        return None
    first = kept[0][0]
    if len(first) <= _PLACES and all(np.array_equal(x, first) for x, _ in kept):
        return Bundle(first, np.stack([y for _, y in kept]))
    low, high = min(float(x[0]) for x, _ in kept), max(float(x[-1]) for x, _ in kept)
    count = min(_PLACES, max(len(x) for x, _ in kept))
    if count < 2 or low == high:
        return Bundle(np.array([low]), np.array([[float(y.mean())] for _, y in kept]))
    edges = np.linspace(low, high, count + 1)
    places = (edges[1:] + edges[:-1]) / 2
    return Bundle(places, np.stack([_at(places, edges, x, y) for x, y in kept]))


def wander(points: Points) -> tuple[Points, Points] | None:
    """The lowest and the highest of one noisy curve, stretch by stretch; None for a curve that is
    too short to have any noise."""
    x, y = _finite(points)
    count = min(_STRETCHES, len(x) // _LEAST)
    if count < 2:
        return None
    starts = np.linspace(0, len(x), count + 1).astype(np.intp)[:-1]
    low, high = np.minimum.reduceat(y, starts), np.maximum.reduceat(y, starts)
    middles = np.append(starts[1:], len(x)) + starts
    at = x[middles // 2]
    at[0], at[-1] = x[0], x[-1]
    return (at, low), (at, high)


def _finite(points: Points) -> Points:
    x, y = points
    keep = np.isfinite(y) & np.isfinite(x)
    return (x, y) if keep.all() else (x[keep], y[keep])


def _at(places: FloatArray, edges: FloatArray, x: FloatArray, y: FloatArray) -> FloatArray:
    """A curve averaged between ``edges`` (k + 1,), (k,); NaN beyond its ends."""
    bounds = np.searchsorted(x, edges)
    bounds[-1] = len(x)
    filled = np.flatnonzero(bounds[1:] > bounds[:-1])
    starts, ends = bounds[filled], bounds[filled + 1]
    with np.errstate(over="ignore", invalid="ignore"):
        means = np.add.reduceat(y, starts) / (ends - starts)
    out: FloatArray = np.interp(places, places[filled], means)
    out[: filled[0]] = np.nan
    out[filled[-1] + 1 :] = np.nan
    return out
