"""What runs have at one place of the x axis: that of a crosshair."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

import numpy as np

from rltui.core.block import FloatArray
from rltui.core.level import Level, worst
from rltui.facts.metrics import episodes
from rltui.facts.x_axis import axis_of_kind
from rltui.session import RunView

#: Points before the crosshair that an average counts; the weight of older ones is next to nothing.
_AVERAGED = 2_000


class Crosshair(NamedTuple):
    """A place at which curves are read."""

    step: int
    """The step of the run in which it was chosen."""
    x: float
    """Where that lies on the axis."""
    axis: str = "step"
    """What the axis counts: step, relative, wall or tokens."""
    kind: str = "step"
    """See :class:`~rltui.facts.x_axis.Axis`."""


class Reading(NamedTuple):
    """What a run has there."""

    recent: FloatArray
    """(n,) the values up to there, NaN included, as many as an average may count."""
    seen: int
    """The step of the newest of them."""
    is_over: bool
    """Whether the crosshair lies beyond the newest point."""
    level: Level
    """The worst of what the rules found at that step."""

    @property
    def value(self) -> float:
        """Of the newest point at or before the crosshair; may be NaN."""
        return float(self.recent[-1])


def reading_at(run: RunView, tag: str, cross: Crosshair, factor: float = 1.0) -> Reading | None:
    """The reading of a tag, times ``factor``; None before its first point, and for a run without
    what the axis counts."""
    series = run.shown(tag)
    axis = axis_of_kind(run, series, cross.axis, cross.kind)
    if axis is None:
        return None
    # a search by place: to map every step of a long run takes longer than a key may
    steps, x = series.steps, cross.x
    end = bisect_right(range(len(steps)), x, key=lambda n: axis.place(float(steps[n])))
    if not end:
        return None
    recent = series.values[max(0, end - _AVERAGED) : end].astype(np.float64) * factor
    seen = int(steps[end - 1])
    levels = (e[2] for e in episodes(run, tag) if e[0] <= seen and (e[1] is None or seen <= e[1]))

    is_over = end == len(steps) and axis.place(seen) < x
    return Reading(recent, seen, is_over, worst(levels))
