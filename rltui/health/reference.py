"""The course of a past run as a reference for others.

For each metric: where the reference was at the same place (step, time since its start, or
tokens), how widely its rows scatter, and how far it went. Whether another run has left that is for
a rule to say.
"""

from __future__ import annotations

from enum import Enum
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from rltui.catalogue.model import Infos, TagInfo, counterpart, tags_of
from rltui.core.block import FloatArray, IntArray
from rltui.core.level import Direction
from rltui.core.medians import SIGMAS, median, row_medians
from rltui.health.detectors.signal import EARLY
from rltui.health.detectors.windows import rolling_median
from rltui.health.limits import COURSE_ROWS, MOST_PLACES
from rltui.store import RunData, Series

#: The curve of the reference is a median over this share of its rows, and may be reached so much of
#: its length earlier or later.
_SHARE = 0.1


class Alignment(str, Enum):
    """Axis on which rows of different runs are comparable."""

    STEP = "step"
    TIME = "time"
    """Seconds since the first row."""
    TOKENS = "tokens"


class _Course(NamedTuple):
    """One metric of the reference, in its unit: (n,) each."""

    place: FloatArray
    low: FloatArray
    high: FloatArray
    own_low: FloatArray
    """From this place to the next: of the medians that other runs are compared by."""
    own_high: FloatArray
    spread: float
    reach: float

    def at(self, places: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Where it was about these places, least and highest."""
        here = _spans(self.place, places)
        low = np.interp(places, self.place, self.low)
        high = np.interp(places, self.place, self.high)
        return np.minimum(low, self.own_low[here]), np.maximum(high, self.own_high[here])


class Reference:
    """A run to compare with, as it is now: rows that it gets later do not count.

    Holds courses of at most :data:`MOST_PLACES` places, not the points of the run.
    """

    def __init__(
        self,
        run: RunData,
        infos: Infos,
        name: str,
        alignment: Alignment = Alignment.STEP,
        tokens: str = "",
    ) -> None:
        """``tokens`` is the key of the metric that counts them, for that alignment."""
        self.run = run
        self.name = name
        self.alignment = alignment
        self._tokens = tokens
        meant = (info for info in infos.values() if info.metric is not None)
        courses = ((info.tag, self._course(info, infos)) for info in meant)
        self._courses = {tag: course for tag, course in courses if course is not None}
        self._infos = {tag: infos[tag] for tag in self._courses}

    def at_rows(self, run: RunData, infos: Infos, tag: str) -> dict[str, FloatArray]:
        """The reference at each row (n,) of a tag of another run, as roles of a detector.

        ``low`` and ``high``: where it was about there; ``spread``: of its rows around its course
        (one standard deviation); ``reach``: from its least to its highest. A side that is better
        is open. Empty when the reference has no such metric; NaN where it has not been.
        """
        info = infos[tag]
        series = run.series(tag)
        if info.metric is None or series.count == 0 or run is self.run:
            return {}
        tag_there = counterpart(info, self._infos)
        places = self._places(run, infos, series)
        if tag_there is None or places is None:
            return {}
        course = self._courses[tag_there]
        known = (places >= course.place[0]) & (places <= course.place[-1])
        low, high = course.at(places)
        numbers = {
            "low": low if info.direction is not Direction.DOWN else low - np.inf,
            "high": high if info.direction is not Direction.UP else high + np.inf,
            "spread": np.full(len(places), course.spread),
            "reach": np.full(len(places), course.reach),
        }
        return {role: np.where(known, x, np.nan) for role, x in numbers.items()}

    def _course(self, info: TagInfo, infos: Infos) -> _Course | None:
        series = self.run.series(info.tag)
        places = self._places(self.run, infos, series)
        if places is None:
            return None
        x = series.values.astype(np.float64) * info.factor
        known = np.isfinite(x) & np.isfinite(places)
        x = x[known]
        places = places[known]
        n = len(x)
        if n < COURSE_ROWS:
            return None
        at, medians = _blocks(places, x)
        middle = row_medians(_around(medians, max(3, int(_SHARE * len(at)) | 1)))
        near = _around(middle, 2 * max(1, int(_SHARE * len(at))) + 1)
        spread = SIGMAS * median(np.abs(x - np.interp(places, at, middle)))
        # the course is smooth: it alone would make a short burst of the reference itself, seen in
        # an equal run, a departure
        bursts = rolling_median(x, EARLY)
        here = _spans(at, places)
        lowest = np.full(len(at), np.inf)
        highest = np.full(len(at), -np.inf)
        np.minimum.at(lowest, here, bursts)
        np.maximum.at(highest, here, bursts)

        reach = float(np.ptp(np.quantile(middle, (0.02, 0.98))))
        own = lowest, highest, spread, reach
        return _Course(at, near.min(axis=1), near.max(axis=1), *own)

    def _places(self, run: RunData, infos: Infos, series: Series) -> FloatArray | None:
        """Where the rows of a series lie, (n,) ascending; None when the run does not log that."""
        if self.alignment is Alignment.STEP:
            return series.steps.astype(np.float64)
        if self.alignment is Alignment.TIME:
            begin = run.extent.first_wall_time
            known = np.isfinite(series.wall_times)
            if begin is None or not known.any():
                return None
            walls = np.maximum.accumulate(series.wall_times[known]) - begin
            return np.interp(series.steps, series.steps[known], walls)
        for tag in tags_of(infos, self._tokens):
            steps, tokens = run.series(tag).finite()
            if len(tokens) > 1:
                tokens = np.maximum.accumulate(tokens) * infos[tag].scale
                return np.interp(series.steps, steps, tokens)

        return None


def _blocks(places: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Places and medians of at most :data:`MOST_PLACES` runs of neighbouring rows; the first and
    the last place are kept."""
    edges = np.linspace(0, len(x), min(len(x), MOST_PLACES) + 1).astype(np.int64).tolist()
    at = np.array([places[(a + b) // 2] for a, b in pairwise(edges)])
    at[0] = places[0]
    at[-1] = places[-1]
    return at, np.array([median(x[a:b]) for a, b in pairwise(edges)])


def _spans(at: FloatArray, places: FloatArray) -> IntArray:
    """Which of the spans from one place of a course to the next each place lies in."""
    return np.clip(np.searchsorted(at, places, side="right") - 1, 0, len(at) - 1)


def _around(x: FloatArray, window: int) -> FloatArray:
    """(n, ``window``) the values around each one."""
    half = window // 2
    padded = np.concatenate([x[:1].repeat(half), x, x[-1:].repeat(half)])
    return sliding_window_view(padded, window)
