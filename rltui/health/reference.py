"""The course of a past run as a reference for others.

For each metric: where the reference was at the same place (step, time since its start, or
tokens), how widely its rows scatter, and how far it went. Whether another run has left that is for
a rule to say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

import numpy as np

from rltui.catalogue.model import TagInfo
from rltui.core.block import FloatArray, IntArray
from rltui.core.level import Direction
from rltui.health.detectors.windows import rolling_extreme, rolling_median
from rltui.store import RunData, Series

#: The curve of the reference is a median over this share of its rows, ...
_SMOOTHED = 0.1
#: ... and may be reached this share of its length earlier or later.
_SHIFTED = 0.1
#: Fewer rows show no course.
_LEAST_ROWS = 8
#: A normal distribution's standard deviation in median absolute deviations.
_MAD = 1.4826

#: How far a metric may go unnoticed: where up is good only a low value is worse, ...
_WORSE = {Direction.UP: -1.0, Direction.DOWN: 1.0}


class Alignment(str, Enum):
    """What makes two rows of different runs comparable."""

    STEP = "step"
    TIME = "time"
    """Seconds since the first row."""
    TOKENS = "tokens"


@dataclass(frozen=True, slots=True, eq=False)
class _Course:
    """One metric of the reference, in its unit: (n,) each."""

    place: FloatArray
    low: FloatArray
    high: FloatArray
    spread: float
    reach: float


class Reference:
    """A run to compare with; it may still grow. Keeps what it computes."""

    def __init__(
        self,
        run: RunData,
        infos: Mapping[str, TagInfo],
        name: str,
        alignment: Alignment = Alignment.STEP,
        tokens: str = "",
    ) -> None:
        """``tokens`` is the key of the metric that counts them, for that alignment."""
        self.run = run
        self.name = name
        self.alignment = alignment
        self._tokens = tokens
        self._infos = infos
        self._courses: dict[str, tuple[tuple[int, int], _Course | None]] = {}
        """Tag of another run -> epoch and length of the series, and its course."""

    def at_rows(
        self, run: RunData, infos: Mapping[str, TagInfo], tag: str
    ) -> dict[str, FloatArray]:
        """The reference at each row (n,) of a tag of another run, as roles of a detector.

        ``low`` and ``high``: where it was about there; ``spread``: of its rows around its course
        (one standard deviation); ``reach``: from its least to its highest; ``worse``: -1 where
        only a low value is worse, 1 where only a high one is, else 0. Empty when the reference
        has no such metric; NaN where it has not been.
        """
        info, series = infos[tag], run.series(tag)
        if info.metric is None or series.count == 0 or run is self.run:
            return {}
        course = self._course_of(tag, info)
        places = self._places(run, infos, series)
        if course is None or places is None:
            return {}
        known = (places >= course.place[0]) & (places <= course.place[-1])
        numbers = {
            "low": np.interp(places, course.place, course.low),
            "high": np.interp(places, course.place, course.high),
            "spread": np.full(len(places), course.spread),
            "reach": np.full(len(places), course.reach),
            "worse": np.full(len(places), _WORSE.get(info.direction, 0.0)),
        }
        return {role: np.where(known, x, np.nan) for role, x in numbers.items()}

    def _course_of(self, tag: str, info: TagInfo) -> _Course | None:
        """The course of the same tag, else of the first tag of the same metric."""
        same = self._infos.get(tag)
        if same is None or same.metric != info.metric:
            same = next((i for i in self._infos.values() if i.metric == info.metric), None)
        if same is None:
            return None
        series = self.run.series(same.tag)
        content, kept = (series.epoch, series.count), self._courses.get(tag)
        if kept is None or kept[0] != content:
            kept = self._courses[tag] = content, self._course(same)
        return kept[1]

    def _course(self, info: TagInfo) -> _Course | None:
        series = self.run.series(info.tag)
        places = self._places(self.run, self._infos, series)
        if places is None:
            return None
        x = series.values.astype(np.float64) * (info.sign * info.scale)
        known = np.isfinite(x) & np.isfinite(places)
        x, places = x[known], places[known]
        n = len(x)
        if n < _LEAST_ROWS:
            return None
        middle = _centred_median(x, max(3, int(_SMOOTHED * n) | 1))
        shift = 2 * max(1, int(_SHIFTED * n)) + 1
        low, high = (_centred_extreme(middle, shift, least=least) for least in (True, False))
        ends = np.quantile(middle, (0.02, 0.98))
        spread = _MAD * float(np.median(np.abs(x - middle)))
        return _Course(places, low, high, spread, float(ends[1] - ends[0]))

    def _places(
        self, run: RunData, infos: Mapping[str, TagInfo], series: Series
    ) -> FloatArray | None:
        """Where the rows of a series lie, (n,) ascending; None when the run cannot tell."""
        if self.alignment is Alignment.STEP:
            return series.steps.astype(np.float64)
        if self.alignment is Alignment.TIME:
            begin, known = run.first_wall_time, np.isfinite(series.wall_times)
            if begin is None or not known.any():
                return None
            walls = np.maximum.accumulate(series.wall_times[known]) - begin
            return _interpolated(series.steps, series.steps[known], walls)
        for tag, info in infos.items():
            if info.metric is not None and info.metric.key == self._tokens:
                steps, tokens = run.series(tag).finite()
                if len(tokens) > 1:
                    return _interpolated(series.steps, steps, np.maximum.accumulate(tokens))
        return None


def _interpolated(steps: IntArray, at: IntArray, places: FloatArray) -> FloatArray:
    return np.interp(steps.astype(np.float64), at.astype(np.float64), places)


def _centred_median(x: FloatArray, window: int) -> FloatArray:
    half = window // 2
    padded = np.concatenate([x[:1].repeat(half), x, x[-1:].repeat(half)])
    return rolling_median(padded, window)[2 * half :]


def _centred_extreme(x: FloatArray, window: int, *, least: bool) -> FloatArray:
    half = window // 2
    padded = np.concatenate([x[:1].repeat(half), x, x[-1:].repeat(half)])
    return rolling_extreme(padded, window, least=least)[2 * half :]
