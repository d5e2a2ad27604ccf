"""Episodes of one level: when a finding begins to fire and when it is over."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rltui.core.block import BoolArray


@dataclass(frozen=True, slots=True)
class Span:
    """Rows of one episode, as indices."""

    first: int
    """First row beyond the limit."""
    sure: int
    """Row at which the rule fired: the last of the first ``hold`` consecutive rows beyond the
    limit."""
    last: int
    """Last row beyond the limit."""
    open: bool
    """Not over: fewer than ``release`` rows have been inside since."""

    @property
    def rows(self) -> int:
        """Rows from the first to the last."""
        return self.last - self.first + 1


def spans(beyond: BoolArray, hold: int, release: int) -> list[Span]:
    """Episodes in the rows so far, oldest first.

    A rule fires after ``hold`` consecutive rows beyond the limit; the episode is over after
    ``release`` consecutive rows that are not.
    """
    n = len(beyond)
    if not beyond.any():
        return []
    edges = np.flatnonzero(np.diff(np.concatenate([[False], beyond, [False]])))
    starts, ends = edges[::2], edges[1::2]
    breaks = np.flatnonzero(starts[1:] - ends[:-1] >= release) + 1
    out: list[Span] = []
    for group in np.split(np.arange(len(starts)), breaks):
        held = group[ends[group] - starts[group] >= hold]
        if not len(held):
            continue
        first, last = int(starts[held[0]]), int(ends[group[-1]]) - 1
        out.append(Span(first, first + hold - 1, last, n - 1 - last < release))
    return out
