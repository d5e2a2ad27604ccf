"""Episodes of one level: when a finding begins to fire and when it is over."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rltui.core.block import BoolArray, IntArray
from rltui.health.detectors.extent import Window, extent


class Span(NamedTuple):
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


def spans(
    beyond: BoolArray, hold: Window, release: int, twice: BoolArray | None = None
) -> list[Span]:
    """Episodes in the rows so far, oldest first.

    A rule fires after ``hold`` consecutive rows beyond the limit, by its size at the row at which
    they are complete; the episode is over after ``release`` consecutive rows that are not. Rows
    that are also in ``twice`` (far beyond) count as two, but for the first: it may be alone.
    """
    n = len(beyond)
    if not beyond.any():
        return []
    edges = np.flatnonzero(np.diff(np.concatenate([[False], beyond, [False]])))
    starts, ends = edges[::2], edges[1::2]
    breaks = np.flatnonzero(starts[1:] - ends[:-1] >= release) + 1
    weight = np.ones(n, dtype=np.int64) if twice is None else 1 + (beyond & twice)
    held_for = _held_for(starts, ends, extent(hold).sizes(n), weight)
    out: list[Span] = []
    for group in np.split(np.arange(len(starts)), breaks):
        held = group[held_for[group] > 0]
        if not len(held):
            continue
        first, last = int(starts[held[0]]), int(ends[group[-1]]) - 1
        sure = first + int(held_for[held[0]]) - 1
        out.append(Span(first, sure, last, n - 1 - last < release))
    return out


def _held_for(starts: IntArray, ends: IntArray, need: IntArray, weight: IntArray) -> IntArray:
    """Rows after which each run of rows beyond the limit was long enough; 0 if it never was."""
    out = np.zeros(len(starts), dtype=np.int64)
    for i, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        # the need grows more slowly than the run of rows: it is met once and for all
        length = need[start : start + int(need[end - 1])]
        counted = np.cumsum(weight[start : start + len(length)]) - weight[start] + 1
        met = np.flatnonzero(counted >= length)
        if len(met) and start + met[0] < end:
            out[i] = met[0] + 1
    return out
