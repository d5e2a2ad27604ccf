"""The extremes, mean and NaN count of a metric, extended by what is appended."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rltui.facts.run_cache import RunSeriesCache
from rltui.session import RunView
from rltui.store import Series
from rltui.store.series import mean_of


@dataclass(frozen=True, slots=True)
class Extent:
    """Facts about the points of a series, or a part of it. Only finite values count, but for
    ``points`` and ``nonfinite``."""

    points: int = 0
    nonfinite: int = 0
    start: float | None = None
    """The first value; None while no value is finite, as are those below."""
    mean: float | None = None
    low: tuple[int, float] | None = None
    high: tuple[int, float] | None = None
    """(step, value) of the first of the lowest and of the highest values."""

    @property
    def size(self) -> float:
        """The largest magnitude; 0 without a finite value."""
        return max(abs(e[1]) for e in (self.low, self.high)) if self.low and self.high else 0.0

    def extended(self, series: Series) -> Extent:
        """With the points of a series that were appended since."""
        return self._joined(_extent(series, self.points, None))

    def _joined(self, new: Extent) -> Extent:
        points, nonfinite = self.points + new.points, self.nonfinite + new.nonfinite
        if new.mean is None or new.low is None or new.high is None:
            return replace(self, points=points, nonfinite=nonfinite)
        if self.mean is None or self.low is None or self.high is None:
            return replace(new, points=points, nonfinite=nonfinite)
        share = (new.points - new.nonfinite) / (points - nonfinite)
        return Extent(
            points,
            nonfinite,
            self.start,
            self.mean * (1 - share) + new.mean * share,
            min(self.low, new.low, key=lambda e: e[1]),
            max(self.high, new.high, key=lambda e: e[1]),
        )


_EXTENTS: RunSeriesCache[Extent] = RunSeriesCache()


def extent_of(run: RunView, series: Series) -> Extent:
    """The extent of a whole series of a run."""
    return _EXTENTS.of(run).get(series, Extent().extended, extend=Extent.extended)


def extent_between(series: Series, first: float, last: float) -> tuple[Extent, slice]:
    """The extent of the points at the steps from ``first`` to ``last``, and where they are."""
    begin = int(np.searchsorted(series.steps, first, "left"))
    end = int(np.searchsorted(series.steps, last, "right"))
    return _extent(series, begin, end), slice(begin, end)


def _extent(series: Series, begin: int, end: int | None) -> Extent:
    steps, values = series.steps[begin:end], series.values[begin:end]
    finite = np.isfinite(values)
    count = int(np.count_nonzero(finite))
    points, nonfinite = len(values), len(values) - count
    if not count:
        return Extent(points, nonfinite)
    at, known = steps[finite], values[finite].astype(np.float64)
    low, high = int(known.argmin()), int(known.argmax())
    return Extent(
        points,
        nonfinite,
        float(known[0]),
        mean_of(known),
        (int(at[low]), float(known[low])),
        (int(at[high]), float(known[high])),
    )
