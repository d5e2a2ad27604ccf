"""Series that nobody logs but that follow from two logged ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rltui.core.block import FloatArray
from rltui.store.points import GrowingPoints, Points, choose, is_prefix, no_points
from rltui.store.series import Series


def _difference(a: FloatArray, b: FloatArray) -> FloatArray:
    return a - b


def _ratio(a: FloatArray, b: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(b == 0, np.nan, a / b)


_HOW: dict[str, tuple[str, Callable[[FloatArray, FloatArray], FloatArray]]] = {
    "difference": ("-", _difference),
    "ratio": ("/", _ratio),
}


@dataclass(frozen=True, slots=True)
class Derived:
    """How one series follows from two others of the same run."""

    how: str
    """``difference`` (first minus second) or ``ratio`` (first over second)."""
    first: str
    second: str
    """Tags."""

    @property
    def tag(self) -> str:
        """Name in place of a tag: ``critic/score/max - critic/score/min``."""
        return f"{self.first} {_HOW[self.how][0]} {self.second}"

    def points(self, first: Points, second: Points) -> Points:
        """The points at the steps that both have, one per step (the last of each).

        A ratio by zero is left out: it means nothing, and is no NaN that the run logged.
        """
        steps, i, j = np.intersect1d(first[0][::-1], second[0][::-1], return_indices=True)
        i, j = len(first[0]) - 1 - i, len(second[0]) - 1 - j
        a, b = first[2][i].astype(np.float64), second[2][j].astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            values = _HOW[self.how][1](a, b)
        keep = np.isfinite(values)
        return steps[keep], first[1][i][keep], values[keep]


class DerivedSeries:
    """The series of one :class:`Derived`, extended by what was appended to the other two."""

    def __init__(self, derived: Derived) -> None:
        self.derived = derived
        self._parents: tuple[Series, Series] | None = None
        """The two series as of the last read."""
        self._growing = GrowingPoints(no_points())
        self._series = Series.empty(derived.tag)

    def of(self, first: Series, second: Series) -> Series:
        """The series for the present state of the two series that it follows from."""
        before, self._parents = self._parents, (first, second)
        if before is None or not self._extend(*before, first, second):
            self._growing = GrowingPoints(self.derived.points(first.points, second.points))
            self._series = Series.of(self.derived.tag, self._growing.points, (), first.restarts)
        return self._series

    def _extend(self, first0: Series, second0: Series, first: Series, second: Series) -> bool:
        """Append what is new; False when earlier points may be affected."""
        if (first0.epoch, second0.epoch) != (first.epoch, second.epoch):
            return False
        if (first0.count, second0.count) == (first.count, second.count):
            return True
        if not first0.count or not second0.count:
            return False
        # new points can only meet others at or after the step that both had reached
        reached = min(int(first0.steps[-1]), int(second0.steps[-1]))
        new = self.derived.points(_since(first, reached), _since(second, reached))
        known = self._growing.points
        again = choose(known, slice(int(np.searchsorted(known[0], reached)), None))
        if not is_prefix(again, new):
            return False
        self._growing.append(choose(new, slice(len(again[0]), None)))
        self._series = self._series.extended(self._growing.points)
        return True


def _since(series: Series, step: int) -> Points:
    return choose(series.points, slice(int(np.searchsorted(series.steps, step)), None))
