"""What the x axis of a chart counts: steps, time since the start, wall time or tokens (floor 5).

Findings, restarts and crosshairs are known by step; every other axis is a mapping from steps,
interpolated between the points of a series that has both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rltui.core.block import FloatArray, IntArray
from rltui.session import RunView
from rltui.store import Series


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """A mapping from steps to places; without ``at`` the step is the place."""

    kind: str = "step"
    """How the chart writes its labels: step, time, clock or number."""
    unit: str = "step"
    steps: FloatArray | None = None
    """(n,) ascending steps at which the place is known."""
    at: FloatArray | None = None
    """(n,) the places."""

    def place(self, step: float) -> float:
        """Where a step lies."""
        if self.steps is None or self.at is None:
            return float(step)
        return float(np.interp(step, self.steps, self.at))

    def places(self, steps: IntArray) -> FloatArray:
        """Where steps (n,) lie, (n,)."""
        if self.steps is None or self.at is None:
            return steps.astype(np.float64)
        return np.interp(steps.astype(np.float64), self.steps, self.at)


def axis_of(run: RunView, series: Series, name: str) -> Axis:
    """The axis ``name`` for a series; steps when the run cannot tell (no times, no tokens)."""
    if name in ("relative", "wall"):
        known = np.isfinite(series.wall_times)
        if known.sum() > 1:
            begin = run.data.first_wall_time or 0.0
            walls = np.maximum.accumulate(series.wall_times[known])
            steps = series.steps[known].astype(np.float64)
            if name == "wall":
                return Axis("clock", "time", steps, walls)
            return Axis("time", "time", steps, walls - begin)
    if name == "tokens":
        for tag in run.tags_of_metrics((run.roles.tokens,)):
            steps_at, tokens = run.series(tag).finite()
            if len(tokens) > 1:
                return Axis("number", "tokens", steps_at.astype(np.float64), tokens)
    return Axis()


def axes_of(run: RunView) -> tuple[str, ...]:
    """The axes that this run has something for; always at least the step."""
    names = ["step"]
    if run.data.first_wall_time is not None:
        names += ["relative", "wall"]
    if run.tags_of_metrics((run.roles.tokens,)):
        names.append("tokens")
    return tuple(names)
