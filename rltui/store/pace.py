"""Times of the rows of a log without any: the durations that a tag of it logs, summed.

They begin at 0, so that the change time of the log anchors them, see :mod:`rltui.store.log_clock`.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

import numpy as np

from rltui.core.batch import LogClock
from rltui.core.block import Block, FloatArray, IntArray


class Duration(Enum):
    """What a tag measures."""

    ELAPSED = "elapsed"
    """Time since the training began, or since it began anew."""
    STEP = "step"
    """Time of one step,"""
    ROW = "row"
    """or of all steps from row to row."""
    SPEED = "speed"
    """Steps per second."""


class Pace(NamedTuple):
    """A tag that tells how long rows take."""

    tag: str
    how: Duration
    scale: float
    """Seconds in its unit."""


class PacedLog:
    """The durations of one log so far. Owned by the table of its run."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._last: tuple[int, float] | None = None
        """Step and value of the newest row with the tag."""
        self._seconds = 0.0

    @property
    def clock(self) -> LogClock:
        """The clock of the rows so far."""
        return LogClock(self._seconds, 1.0)

    def times(self, blocks: Sequence[Block]) -> list[FloatArray]:
        """(n,) times of the next blocks, NaN where no row near has the tag."""
        columns = [_column(b, self._pace.tag) for b in blocks if self._pace.tag in b.tags]
        steps = np.concatenate([np.empty(0, np.int64), *(c[0] for c in columns)])
        values = np.concatenate([np.empty(0), *(c[1] for c in columns)]) * self._pace.scale
        before, since = self._last, self._seconds
        if len(steps):
            seconds = since + np.cumsum(self._took(steps, values))
            self._last, self._seconds = (int(steps[-1]), float(values[-1])), float(seconds[-1])
        else:
            seconds = values
        if before is not None:
            steps, seconds = np.append(before[0], steps), np.append(since, seconds)
        if not len(steps):
            return [np.full(len(b.steps), np.nan) for b in blocks]
        places = np.maximum.accumulate(steps)
        return [np.interp(b.steps, places, seconds, np.nan, np.nan) for b in blocks]

    def _took(self, steps: IntArray, values: FloatArray) -> FloatArray:
        """(n,) seconds since the row before."""
        step, value = self._last or (int(steps[0]), 0.0)
        gone = np.diff(steps, prepend=step)
        if self._pace.how is Duration.ELAPSED:
            risen = np.diff(values, prepend=value)
            return np.where(risen < 0, values, risen)
        if self._pace.how is Duration.SPEED:
            return np.maximum(gone, 0) / values
        return values * np.maximum(gone, 1) if self._pace.how is Duration.STEP else values


def _column(block: Block, tag: str) -> tuple[IntArray, FloatArray]:
    """Steps and values where the value is a duration."""
    values = block.values[:, block.tags.index(tag)].astype(np.float64)
    known = np.isfinite(values) & (values > 0)
    if block.absent is not None:
        known &= ~block.absent[:, block.tags.index(tag)]
    return block.steps[known], values[known]
