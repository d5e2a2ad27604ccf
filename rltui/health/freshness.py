"""Whether the answer of a variant still holds for a series that has grown.

A short series is judged after each row. A long one is judged again when a row is news, else when
it has grown by a share or some time has passed: what a live row costs does not depend on how many
are stored. No verdict on all rows of a log depends on this; while a long log grows, a slow change
shows this much later.
"""

from __future__ import annotations

import math
from enum import Enum
from typing import NamedTuple

import numpy as np

from rltui.core.block import ValueArray
from rltui.health.report import Answer
from rltui.store import Series

#: A series of up to this many rows is judged after each of them.
SHORT_ROWS = 2_000
#: A longer one after it has grown by this share, or after this many seconds per 10,000 rows.
_GROWTH = 0.002
PATIENCE_S = 5.0
#: A row is news when it lies outside the range of as many rows, widened on both sides by this share
#: of it. The newest rows do not count, so that a jump stays news until it has been judged for as
#: many rows as rules wait for.
_MARGIN = 0.25
_NEWEST = 64


class Freshness(Enum):
    """Age of an answer: must it be judged again?"""

    CURRENT = "current"
    """Nothing changed."""
    WAITS = "waits"
    """Rows were added that need not be judged yet."""
    DUE = "due"
    """It is time to judge them, when there is time."""
    STALE = "stale"
    """To be judged now."""


class Kept(NamedTuple):
    """An answer, and what it was computed from."""

    answer: Answer
    made_at: float
    """Seconds since the epoch."""
    content: tuple[tuple[int, int, int], ...]
    """Epoch, length and course of each series."""
    usual: tuple[tuple[float, float], ...]
    """Range of each series in which a row is no news; empty for short series."""

    @classmethod
    def of(cls, answer: Answer, series: list[Series], now: float) -> Kept:
        """``series``: the judged one and those that the variant compares it with."""
        long = series[0].count > SHORT_ROWS
        return cls(answer, now, _content(series), tuple(map(_usual, series)) if long else ())

    def held(self, series: list[Series]) -> Kept | None:
        """This answer, kept where only such rows were added that change nothing, see
        :class:`~rltui.health.judge.Outcome`; else None. What it is compared with may have grown
        behind the rows that were judged."""
        outcome = self.answer.outcome
        content = _content(series)
        if outcome is None or outcome.calm is None or len(content) > len(self.content):
            return None
        low, high, factor = outcome.calm
        own = series[0]
        judged = self.content[0][1]
        added = own.values[judged:].tolist()
        if not (added and all(low < factor * x < high for x in added)):
            return None
        last = own.steps[judged - 1]
        for other, (_, count, course) in zip(series, self.content, strict=True):
            late = other is not own and other.count > count and other.steps[count] <= last
            if late or other.course != course:
                return None
        return self._replace(content=content)

    def freshness(self, series: list[Series], now: float) -> Freshness:
        """Compares with the present state of the same series. Reads the new rows alone."""
        content = _content(series)
        if content == self.content:
            return Freshness.CURRENT
        other = len(content) != len(self.content)  # a tag came that the variant compares with
        pairs = list(zip(content, self.content, strict=not other))
        added = [new - old for (_, new, _), (_, old, _) in pairs]
        if other or not self.usual or min(added) < 0:
            return Freshness.STALE
        if any(new[0] != old[0] for new, old in pairs):
            return Freshness.DUE  # points arrived out of order: which rows are new is not known
        for one, more, usual in zip(series, added, self.usual, strict=True):
            low, high = _range(one.values[-more:]) if more else usual
            if not (math.isnan(low) or (usual[0] <= low and high <= usual[1])):
                return Freshness.STALE
        rows = series[0].count
        patience = PATIENCE_S * rows / 10_000
        if max(added) >= _GROWTH * rows or not 0 <= now - self.made_at < patience:
            return Freshness.DUE

        return Freshness.WAITS


def _content(series: list[Series]) -> tuple[tuple[int, int, int], ...]:
    return tuple((s.epoch, s.count, s.course) for s in series)


def _usual(series: Series) -> tuple[float, float]:
    low, high = _range(series.values[-SHORT_ROWS - _NEWEST : -_NEWEST])
    margin = _MARGIN * (high - low)
    return low - margin, high + margin


def _range(values: ValueArray) -> tuple[float, float]:
    """Lowest and highest of the values that are numbers; NaN if there are none."""
    if not len(values):
        return math.nan, math.nan
    return float(np.fmin.reduce(values)), float(np.fmax.reduce(values))
