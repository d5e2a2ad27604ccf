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
    """Quantity that a tag measures."""

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
        self._step: int | None = None
        """Step of the newest row with the tag; its value and time follow."""
        self._value = self._seconds = 0.0

    @property
    def clock(self) -> LogClock:
        """The clock of the rows so far."""
        return LogClock(self._seconds, 1.0)

    def times(self, blocks: Sequence[Block]) -> list[FloatArray]:
        """(n,) times of the next blocks, NaN where no row near has the tag."""
        found = [_column(b, self._pace.tag) for b in blocks if self._pace.tag in b.tags]
        steps = np.concatenate([np.empty(0, np.int64), *(column[0] for column in found)])
        values = np.concatenate([np.empty(0), *(column[1] for column in found)])
        seconds = self._seconds + np.cumsum(self._took(steps, values * self._pace.scale))
        fell = self._step is None or (steps < self._step).any()
        knots = np.append([] if fell else [self._step or 0], steps)
        at = np.append([] if fell else [self._seconds], seconds)
        if len(steps):
            self._step = int(steps[-1])
            self._value = values[-1]
            self._seconds = seconds[-1]
        if not len(knots):
            return [np.full(len(b.steps), np.nan) for b in blocks]
        knots = np.maximum.accumulate(knots)

        return [np.interp(b.steps, knots, at, np.nan, np.nan) for b in blocks]

    def _took(self, steps: IntArray, values: FloatArray) -> FloatArray:
        """(n,) seconds since the row before."""
        if self._pace.how is Duration.ROW or not len(steps):
            return values
        if self._pace.how is Duration.ELAPSED:
            risen = np.diff(values, prepend=self._value * self._pace.scale)
            return np.where(risen < 0, values, risen)
        gone = np.maximum(np.diff(steps, prepend=steps[0] if self._step is None else self._step), 0)
        if self._pace.how is Duration.SPEED:
            return gone / np.where(values > 0, values, np.inf)

        return values * np.maximum(gone, 1)


def _column(block: Block, tag: str) -> tuple[IntArray, FloatArray]:
    """Steps and values where the value is a duration."""
    values = block.values[:, block.tags.index(tag)].astype(np.float64)
    known = np.isfinite(values) & (values >= 0)
    if block.absent is not None:
        known &= ~block.absent[:, block.tags.index(tag)]
    return block.steps[known], values[known]
