"""What the x axis of a chart counts: steps, time since the start, wall time or tokens.

Findings, restarts and crosshairs are known by step; every other axis is a mapping from steps,
interpolated between the points of a series that has both. A tag that counts something else than
the steps of its run keeps its own.

The axis of a live run ends a little after its newest point, at a place that moves rarely: new
points fill columns from left to right, and those that are drawn stay where they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rltui.core.block import FloatArray, IntArray
from rltui.core.level import RunState
from rltui.present.screens.run_cache import RunCache
from rltui.session import RunView
from rltui.store import Series

#: Axis -> kind of its labels.
KINDS = {"step": "step", "relative": "time", "wall": "clock", "tokens": "number"}

_SPANS: RunCache[tuple[bool, str], tuple[int, int, float]] = RunCache()


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


def padded_end(first: float, last: float) -> float:
    """The end of an axis that grows in jumps: at most a fifth of it is beyond ``last``.

    The lengths are 4, 5, 6 or 7 times a power of two.
    """
    length = last - first
    if not 0 < length < 1e300:
        return last
    unit = 2.0 ** (math.floor(math.log2(length)) - 2)
    return first + math.ceil(length / unit - 1e-9) * unit


def is_live(run: RunView) -> bool:
    """Whether more points are expected, judging by the age of the newest."""
    return run.progress is not None and run.progress.state is RunState.LIVE


def has_own_axis(run: RunView, tag: str) -> bool:
    """Whether a tag counts something else than the steps of the run."""
    return tag in run.points.off_axis


def span_of(run: RunView, tag: str = "") -> tuple[int, int, float]:
    """First step, newest step and end of the x range that all sparklines of a run share, or that
    of a tag with an axis of its own."""
    own = tag if has_own_axis(run, tag) else ""
    return _SPANS.get(run, (is_live(run), own), lambda: _span(run, own))


def _span(run: RunView, own: str) -> tuple[int, int, float]:
    first, last = run.points.first_step or 0, run.points.last_step or 0
    if own:
        steps = run.series(own).steps
        first, last = (int(steps[0]), int(steps[-1])) if len(steps) else (0, 0)
    if not is_live(run):
        return first, last, float(last)
    if own:
        return first, last, padded_end(first, last)
    end, progress = padded_end(first, last), run.progress
    if progress is not None and progress.total_steps and progress.total_steps >= last:
        end = min(end, float(progress.total_steps))
    return first, last, end


def axis_of(run: RunView, series: Series, name: str) -> Axis:
    """The axis ``name`` for a series; steps when the run lacks times or tokens."""
    if name in ("relative", "wall"):
        known = np.isfinite(series.wall_times)
        if known.sum() > 1:
            begin = run.data.extent.first_wall_time or 0.0
            walls = np.maximum.accumulate(series.wall_times[known])
            steps = series.steps[known].astype(np.float64)
            if name == "wall":
                return Axis("clock", "time", steps, walls)
            return Axis("time", "time", steps, walls - begin)
    if has_own_axis(run, series.tag):
        return Axis(unit="own step")
    if name == "tokens":
        for tag in run.tags_of_metrics((run.catalogue.roles.tokens,)):
            steps_at, tokens = run.series(tag).finite()
            if len(tokens) > 1:
                return Axis("number", "tokens", steps_at.astype(np.float64), tokens)
    return Axis(unit=run.step_word)


def axes_of(run: RunView) -> tuple[str, ...]:
    """The axes that this run has data for; always at least the step."""
    names = ["step"]
    if run.data.extent.first_wall_time is not None:
        names += ["relative", "wall"]
    if run.tags_of_metrics((run.catalogue.roles.tokens,)):
        names.append("tokens")
    return tuple(names)
