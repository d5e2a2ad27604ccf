"""Summary of the series of a metric: newest value, levels over the steps, trend, extent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from rltui.core.level import Level
from rltui.core.medians import median
from rltui.facts import numbers
from rltui.facts.cache import RunSeriesCache, per_version
from rltui.session import JudgedRun
from rltui.store import Series
from rltui.store.series import mean_of

#: Points that the newest one is compared with for the change column.
_TREND_POINTS = 10
#: Points that give the usual range and noise of a metric.
_RECENT_POINTS = 2000
#: A change below this share of the p5-p95 range is not shown.
_MATERIAL = 0.02
#: Only values below this are compared with the scale of their series.
_TINY = 1e-9

#: (since step, until step or None for now, level).
Episode = tuple[int, int | None, Level]

_TRENDS: RunSeriesCache[float | None] = RunSeriesCache()


def newest_of(run: JudgedRun, series: Series) -> float | None:
    """The newest value as shown: 0 for what the scale of the series makes a rounding error."""
    value = float(series.values[-1]) if series.count else None
    if value is None or not 0 < abs(value) < _TINY:
        return value
    return numbers.on_scale(value, extent_of(run, series).size)


def episodes(run: JudgedRun, tag: str) -> Sequence[Episode]:
    """The episodes of what the rules found on this tag, and since when it is the cause of what
    fires."""
    return _episodes(run).get(tag, ())


@per_version
def _episodes(run: JudgedRun) -> Mapping[str | None, Sequence[Episode]]:
    """Tag -> its episodes, for the tags that have some."""
    report = run.report
    found = dict[str | None, list[Episode]]()
    if report is None:
        return found
    for finding in report.findings:
        since = finding.since_step
        if since is None:
            continue
        for tag in {finding.tag, *finding.evidence.others}:
            found.setdefault(tag, []).append((since, finding.until_step, finding.level))
    cause = report.diagnosed.cause
    if cause is not None:
        found[cause.tag] = [(cause.step, None, report.diagnosed.diagnoses[0].level)]
    return found


def trend_of(run: JudgedRun, series: Series) -> float | None:
    """The trend of a series of a run as shown, kept until its points change."""
    return _TRENDS.of(run).get(series, trend)


def change_of(run: JudgedRun, tag: str) -> tuple[float, int] | None:
    """The trend of a tag, and how many rows before the newest one it is against."""
    series = run.shown(tag)
    change = trend_of(run, series)
    return None if change is None else (change, _before(series.count))


def _before(rows: int) -> int:
    return min(_TREND_POINTS, rows // 4 + 1)


def trend(series: Series) -> float | None:
    """Newest value minus the median of the few before; None when not material.

    Material means: at least 2 % of the p5-p95 range, and more than the usual difference
    between neighbours (median absolute first difference).
    """
    recent = series.values[-_RECENT_POINTS:]
    if len(recent) < 5 or not np.isfinite(recent[-1]):
        return None
    values = recent[np.isfinite(recent)].astype(np.float64)
    if len(values) < 5:
        return None
    before = values[-1 - _before(len(values)) : -1]
    change = float(values[-1]) - median(before)
    if change == 0 or abs(change) < 2.0 * median(np.abs(values[1:] - values[:-1])):
        return None

    # As numpy.quantile, without its price for a few values.
    places = np.array([0.05, 0.95]) * (len(values) - 1)
    low, high = np.interp(places, np.arange(len(values)), np.sort(values)).tolist()
    return None if abs(change) < _MATERIAL * (high - low) else change


class Extent(NamedTuple):
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
        new = _extent(series, self.points, None)
        points = self.points + new.points
        nonfinite = self.nonfinite + new.nonfinite
        if new.mean is None or new.low is None or new.high is None:
            return self._replace(points=points, nonfinite=nonfinite)
        if self.mean is None or self.low is None or self.high is None:
            return new._replace(points=points, nonfinite=nonfinite)
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


def extent_of(run: JudgedRun, series: Series) -> Extent:
    """The extent of a whole series of a run."""
    return _EXTENTS.of(run).get(series, Extent().extended, extend=Extent.extended)


def extent_between(series: Series, first: float, last: float) -> tuple[Extent, slice]:
    """The extent of the points at the steps from ``first`` to ``last``, and where they are."""
    begin = series.rows_before(first)
    end = series.rows_until(last)
    return _extent(series, begin, end), slice(begin, end)


def _extent(series: Series, begin: int, end: int | None) -> Extent:
    steps = series.steps[begin:end]
    values = series.values[begin:end]
    finite = np.isfinite(values)
    count = int(np.count_nonzero(finite))
    points = len(values)
    nonfinite = len(values) - count
    if not count:
        return Extent(points, nonfinite)
    at = steps[finite]
    known = values[finite].astype(np.float64)
    low = int(known.argmin())
    high = int(known.argmax())

    return Extent(
        points,
        nonfinite,
        float(known[0]),
        mean_of(known),
        (int(at[low]), float(known[low])),
        (int(at[high]), float(known[high])),
    )
