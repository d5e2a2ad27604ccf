"""Series that nobody logs but that follow from two logged ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rltui.core.block import FloatArray
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

    def series(self, first: Series, second: Series, version: int) -> Series:
        """The points at the steps that both have, one per step (the last of each).

        A ratio by zero is left out: it says nothing, and is no NaN that the run logged.
        """
        steps, i, j = np.intersect1d(first.steps[::-1], second.steps[::-1], return_indices=True)
        i, j = len(first.steps) - 1 - i, len(second.steps) - 1 - j
        a, b = first.values[i].astype(np.float64), second.values[j].astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            values = _HOW[self.how][1](a, b)
        keep = np.isfinite(values)
        nothing = np.empty(0)
        return Series(
            self.tag,
            steps[keep],
            first.wall_times[i][keep],
            values[keep],
            np.empty(0, np.int64),
            nothing,
            nothing,
            first.restarts,
            version,
        )
