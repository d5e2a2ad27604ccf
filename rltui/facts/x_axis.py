"""The x axis of a chart: steps, time since the start, wall time, tokens or any metric.

Findings, restarts and crosshairs are known by step; every other axis is a mapping from steps. One
that grows is interpolated between the points of a series that has both. A metric that also falls
gives each point the newest value since the point before it, and the points are a path in the order
of steps. A tag that counts something else than the steps of its run keeps its own. What happened
to a run is marked on every axis that grows: evaluations, checkpoints, settings that jumped, pauses
in the log, and NaN; the chart itself draws restarts.

The axis of a live run ends a little after its newest point, at a place that moves rarely: new
points fill columns from left to right, and those that are drawn stay where they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from rltui.catalogue.model import Category, counterpart
from rltui.core.block import FloatArray, IntArray
from rltui.core.medians import median
from rltui.core.record import entity
from rltui.facts import numbers
from rltui.facts.cache import RunSeriesCache, per_version
from rltui.facts.run_columns import tag_named
from rltui.health.limits import movement
from rltui.health.symptoms import knowledge
from rltui.session import JudgedRun
from rltui.store import Series

#: Axis -> kind of its labels; that of every other one is "number".
KINDS = {"step": "step", "relative": "time", "wall": "clock"}
#: Places of the x axis at which the curves of runs are averaged.
_PLACES = 240
#: Stretches in which the noise of one run is measured, and the points that each has at least.
_STRETCHES = 40
_LEAST = 4
#: With more marks of one kind than this, none are drawn: every step would have one.
_MOST = 60
#: The log paused when nothing came for this many usual intervals, and for this long (seconds).
_PAUSE = 10.0
_PAUSE_LEAST_S = 60.0
#: Newest intervals that give the usual one.
_RECENT = 200
#: Letter -> what it stands for, in the order of the legend.
LEGEND = {
    "v": "evaluation",
    "c": "checkpoint",
    "R": "restart",
    "l": "setting jumped",
    "s": "log paused",
}
#: The points of a run: places on the x axis (n,) ascending, values (n,), NaN included.
Points = tuple[FloatArray, FloatArray]


@entity
class Axis:
    """A mapping from steps to places; without ``at`` the step is the place."""

    kind: str = "step"
    """How the chart writes its labels: step, time, clock or number."""
    unit: str = "step"
    steps: FloatArray | None = None
    """(n,) ascending steps at which the place is known."""
    at: FloatArray | None = None
    """(n,) the places."""
    grows: bool = True
    """False: nothing is known between the steps, and the points are a path in their order."""

    def place(self, step: float) -> float:
        """Where a step lies; NaN where that is not known."""
        if self.steps is None or self.at is None:
            return float(step)
        if self.grows:
            return float(np.interp(step, self.steps, self.at))
        return float(self.places(np.array([step]))[0])

    def places(self, steps: IntArray | FloatArray) -> FloatArray:
        """Where steps (n,) lie, (n,)."""
        if self.steps is None or self.at is None:
            return steps.astype(np.float64)
        if self.grows:
            return np.interp(steps.astype(np.float64), self.steps, self.at)
        row = np.minimum(np.searchsorted(self.steps, steps), len(self.steps) - 1)
        return np.where(self.steps[row] == steps, self.at[row], np.nan)

    def placed(self, series: Series) -> tuple[IntArray, FloatArray, FloatArray]:
        """Steps, places and values of the points that have a place, in the order of steps."""
        steps = series.steps
        x = self.places(series.steps)
        values = series.values
        if not self.grows:
            known = np.isfinite(x)
            steps = steps[known]
            x = x[known]
            values = values[known]
        return steps, x, values.astype(np.float64)


def padded_end(first: float, last: float) -> float:
    """The end of an axis that grows in jumps: at most a fifth of it is beyond ``last``.

    The lengths are 4, 5, 6 or 7 times a power of two.
    """
    length = last - first
    if not 0 < length < 1e300:
        return last
    unit = 2.0 ** (math.floor(math.log2(length)) - 2)
    return first + math.ceil(length / unit - 1e-9) * unit


def has_own_axis(run: JudgedRun, tag: str) -> bool:
    """Whether a tag counts something else than the steps of the run."""
    return tag in run.points.off_axis


def span_of(run: JudgedRun, tag: str = "") -> tuple[int, int, float]:
    """First step, newest step and end of the x range that all sparklines of a run share, or that
    of a tag with an axis of its own."""
    return _span(run, tag if has_own_axis(run, tag) else "", run.is_live)


@per_version
def _span(run: JudgedRun, own: str, live: bool) -> tuple[int, int, float]:
    first = run.points.first_step or 0
    last = run.points.last_step or 0
    if own:
        steps = run.series(own).steps
        first, last = (int(steps[0]), int(steps[-1])) if len(steps) else (0, 0)
    if not live:
        return first, last, float(last)
    if own:
        return first, last, padded_end(first, last)
    end = padded_end(first, last)
    progress = run.progress
    if progress is not None and progress.total_steps and progress.total_steps >= last:
        end = min(end, float(progress.total_steps))

    return first, last, end


def range_of(run: JudgedRun, tag: str, name: str, kind: str) -> tuple[float, float] | None:
    """First and newest place of a run on the axis ``name``, the same for all of its tags but those
    with steps of their own; None when the run's axis is none of the ``kind``."""
    first, last, _ = span_of(run, tag)
    extent = run.data.extent
    found = _x_tag(run, name)
    if kind == "step":
        return (float(first), float(last)) if run.points.first_step is not None else None
    if kind == "number":
        x = run.shown(found).finite()[1] if found else np.empty(0)
        return (float(x.min()), float(x.max())) if len(x) else None
    if extent.first_wall_time is None or extent.last_wall_time is None:
        return None
    begin = extent.first_wall_time if kind == "time" else 0.0
    return extent.first_wall_time - begin, extent.last_wall_time - begin


def axis_of(run: JudgedRun, series: Series, name: str) -> Axis:
    """The axis ``name`` for a series; steps when the run lacks times, or the metric."""
    if name in ("relative", "wall"):
        known = np.isfinite(series.wall_times)
        if known.sum() > 1:
            begin = run.data.extent.first_wall_time or 0.0
            walls = np.maximum.accumulate(series.wall_times[known])
            steps = series.steps[known].astype(np.float64)
            if name == "wall":
                return Axis("clock", "time", steps, walls)
            return Axis("time", "time", steps, walls - begin)

    tag = _x_tag(run, name)
    if tag is not None and has_own_axis(run, tag) == has_own_axis(run, series.tag):
        return _metric_axis(run, series.tag, tag, "tokens" if name == "tokens" else "")
    return Axis(unit="own step" if has_own_axis(run, series.tag) else run.step_word)


def _x_tag(run: JudgedRun, name: str) -> str | None:
    """The tag of the metric that an axis is named after."""
    if name in KINDS:
        return None
    tokens = run.catalogue.roles.tokens if name == "tokens" else ""
    tags = run.tags_of_metrics((tokens,)) if tokens else [tag_named(run, name)]
    return next((t for t in tags if t is not None and run.points.count(t) > 1), None)


@per_version
def _metric_axis(run: JudgedRun, tag: str, x_tag: str, unit: str) -> Axis:
    """The axis of a metric for the points of a tag; ``unit`` where that is not its title."""
    info = run.infos[x_tag]
    known, x = run.shown(x_tag).finite()
    grows = bool((x[1:] >= x[:-1]).all())
    if not grows:
        steps = run.series(tag).distinct_steps
        row = np.searchsorted(known, steps, side="right") - 1
        is_new = row > np.append(-1, row[:-1])
        known = steps[is_new]
        x = x[row[is_new]]
    if not len(x):
        return Axis(unit=run.step_word)
    unit = unit or f"{info.title} {info.unit}".rstrip()
    return Axis("number", unit, known.astype(np.float64), x, grows)


def against_words(axis: Axis, series: Series) -> str:
    """The metric that a series is plotted against, and how many points that leaves; empty for
    steps and times."""
    if axis.kind != "number" or axis.steps is None:
        return ""
    count = len(axis.steps)
    every = len(series.distinct_steps)
    is_thin = not axis.grows and count < every
    thin = f", {numbers.step(count)} of {numbers.step(every)} points" if is_thin else ""
    return f"against {axis.unit}{thin}"


def axes_of(run: JudgedRun, chosen: str = "") -> tuple[str, ...]:
    """The axes that this run has data for, with the one that the user named; always at least the
    step."""
    names = ["step"]
    roles = run.catalogue.roles
    if run.data.extent.first_wall_time is not None:
        names += ["relative", "wall"]
    against = (run.infos[t].metric for t in run.tags_of_metrics(roles.against))
    offered = dict.fromkeys(("tokens", *(m.key for m in against if m), chosen))
    return (*names, *(n for n in offered if n not in names and _x_tag(run, n)))


def compared_tag(run: JudgedRun, tag: str, other: JudgedRun) -> str | None:
    """The tag of another run that means the same as ``tag`` of ``run``."""
    return counterpart(run.infos[tag], other.infos)


def axis_of_kind(run: JudgedRun, series: Series, axis: str, kind: str) -> Axis | None:
    """The axis of a series with points, if it is of the ``kind``; "" for any. Steps every run has,
    also where another one is compared by steps for want of times."""
    if not series.count:
        return None
    own = axis_of(run, series, "step" if kind == "step" else axis)
    return None if kind and own.kind != kind else own


@entity
class Bundle:
    """Curves at common places."""

    x: FloatArray
    """(k,) ascending."""
    values: FloatArray
    """(runs, k), NaN where a run has no points around a place."""

    @property
    def mean(self) -> FloatArray:
        """(k,) mean over the runs that are there."""
        count = np.isfinite(self.values).sum(axis=0)
        with np.errstate(over="ignore", invalid="ignore"):
            mean: FloatArray = np.nansum(self.values, axis=0) / np.maximum(count, 1)
        return np.where(count > 0, mean, np.nan)

    def spread(self) -> tuple[FloatArray, FloatArray]:
        """Mean minus and plus the standard deviation over the runs, (k,) each."""
        mean = self.mean
        count = np.isfinite(self.values).sum(axis=0)
        with np.errstate(over="ignore", invalid="ignore"):
            squares = np.nansum((self.values - mean) ** 2, axis=0)
            deviation = np.sqrt(squares / np.maximum(count - 1, 1))
            return mean - deviation, mean + deviation

    def extremes(self) -> tuple[FloatArray, FloatArray]:
        """Lowest and highest over the runs, (k,) each."""
        known = np.where(np.isfinite(self.values), self.values, np.nan)
        return np.fmin.reduce(known), np.fmax.reduce(known)


def bundle(runs: Sequence[Points]) -> Bundle | None:
    """The curves of ``runs`` at common places; None without any finite point.

    Runs that were logged at the same few places are taken as they are. Otherwise each run is
    averaged in stretches of the axis, and what it skips is interpolated, never beyond its ends.
    """
    kept = [_finite(points) for points in runs]
    kept = [(x, y) for x, y in kept if len(x)]
    if not kept:
        return None
    first = kept[0][0]
    if len(first) <= _PLACES and all(np.array_equal(x, first) for x, _ in kept):
        return Bundle(first, np.stack([y for _, y in kept]))
    low = min(float(x[0]) for x, _ in kept)
    high = max(float(x[-1]) for x, _ in kept)
    count = min(_PLACES, max(len(x) for x, _ in kept))
    if count < 2 or low == high:
        return Bundle(np.array([low]), np.array([[float(y.mean())] for _, y in kept]))
    edges = np.linspace(low, high, count + 1)
    places = (edges[1:] + edges[:-1]) / 2
    places[0], places[-1] = low, high  # a crosshair at the newest point lies within

    return Bundle(places, np.stack([_at(places, edges, x, y) for x, y in kept]))


def wander(points: Points) -> tuple[Points, Points] | None:
    """The lowest and the highest of one noisy curve, stretch by stretch; None for a curve that is
    too short to have any noise."""
    x, y = _finite(points)
    count = min(_STRETCHES, len(x) // _LEAST)
    if count < 2:
        return None
    starts = np.linspace(0, len(x), count + 1).astype(np.intp)[:-1]
    low = np.minimum.reduceat(y, starts)
    high = np.maximum.reduceat(y, starts)
    middles = np.append(starts[1:], len(x)) + starts
    at = x[middles // 2]
    at[0] = x[0]
    at[-1] = x[-1]
    return (at, low), (at, high)


def _finite(points: Points) -> Points:
    x, y = points
    keep = np.isfinite(y) & np.isfinite(x)
    return (x, y) if keep.all() else (x[keep], y[keep])


def _at(places: FloatArray, edges: FloatArray, x: FloatArray, y: FloatArray) -> FloatArray:
    """A curve averaged between ``edges`` (k + 1,), (k,); NaN beyond its ends."""
    bounds = np.searchsorted(x, edges)
    bounds[-1] = len(x)
    filled = np.flatnonzero(bounds[1:] > bounds[:-1])
    starts = bounds[filled]
    ends = bounds[filled + 1]
    with np.errstate(over="ignore", invalid="ignore"):
        means = np.add.reduceat(y, starts) / (ends - starts)
    out: FloatArray = np.interp(places, places[filled], means)
    out[: filled[0]] = np.nan
    out[filled[-1] + 1 :] = np.nan
    return out


class Mark(NamedTuple):
    """One event of a run."""

    step: int
    letter: str
    """v evaluation, c checkpoint, l setting changed, s log paused, N not finite."""


#: Rows of a series that have been searched, and the steps of those that were found.
_Found = tuple[int, tuple[int, ...]]
_FOUND: RunSeriesCache[_Found] = RunSeriesCache()


@per_version
def timeline(run: JudgedRun) -> Sequence[Mark]:
    """The events of a run in order of steps; kinds with too many are left out."""
    elsewhere = run.points.off_axis
    findings = run.findings
    evaluated = (
        t for t, i in run.infos.items() if i.category is Category.VALIDATION and t not in elsewhere
    )
    clocks = (
        t
        for t in filter(run.points.table.may_have_times, run.infos)
        if (series := run.shown(t)).count > _RECENT // 10 and np.isfinite(series.wall_times[-1])
    )
    kinds = {
        "v": _steps(run, next(evaluated, None)),
        "c": _steps(run, next(iter(run.tags_of_metrics((run.catalogue.roles.checkpoint,))), None)),
        "l": _settings(run),
        "s": _search(run, next(clocks, None), _late_rows),
        "N": [f.since_step for f in findings if f.rule == "nan" and f.tag not in elsewhere],
    }
    found = {
        Mark(step, letter)
        for letter, steps in kinds.items()
        if len(steps) <= _MOST
        for step in steps
        if step is not None
    }

    return sorted(found)


def _steps(run: JudgedRun, tag: str | None) -> Sequence[int]:
    """The distinct steps of a series that is logged rarely."""
    steps = run.shown(tag).steps if tag is not None else np.empty(0, np.int64)
    distinct = steps[np.append(True, steps[1:] != steps[:-1])] if len(steps) else steps
    return distinct.tolist() if len(distinct) <= _MOST else []


def _settings(run: JudgedRun) -> Sequence[int]:
    """Steps at which a setting jumped."""
    steps: set[int] = set()
    if run.report is None:  # the first paint does not wait for what rules know
        return ()
    for tag, info in run.infos.items():
        is_setting = info.category is Category.HYPER and info.key
        if is_setting and info.key not in knowledge().by_design:
            jumps = _search(run, tag, _jumped_rows)
            steps.update(jumps if len(jumps) <= _MOST else ())
    return sorted(steps)


def _search(
    run: JudgedRun, tag: str | None, rows_from: Callable[[Series, int], IntArray]
) -> Sequence[int]:
    """The steps of the rows that ``rows_from`` finds from a row on; only what was appended is
    searched again."""
    if tag is None:
        return ()

    def extended(found: _Found, series: Series) -> _Found:
        rows = rows_from(series, max(0, found[0] - 1))
        return series.count, (*found[1], *series.steps[rows].tolist())[: _MOST + 1]

    name = rows_from.__name__
    series = run.shown(tag)
    return _FOUND.of(run).get(series, lambda s: extended((0, ()), s), name=name, extend=extended)[1]


def _jumped_rows(series: Series, begin: int) -> IntArray:
    """The rows at which a value jumped."""
    limits = movement().setting
    values = series.values[begin:].astype(np.float64)
    old = values[:-1]
    new = values[1:]
    low = np.minimum(np.abs(old), np.abs(new))
    high = np.maximum(np.abs(old), np.abs(new))
    jumped = np.isfinite(old) & np.isfinite(new) & (high >= limits.factor * low) & (old != new)
    rows = begin + 1 + np.flatnonzero(jumped)
    return np.asarray(rows[rows >= limits.least_rows])


def _late_rows(series: Series, begin: int) -> IntArray:
    """The rows before which nothing was logged for unusually long."""
    recent = np.diff(series.wall_times[-_RECENT - 1 :])
    recent = recent[np.isfinite(recent) & (recent > 0)]
    limit = max(_PAUSE_LEAST_S, _PAUSE * median(recent)) if len(recent) else np.inf
    with np.errstate(invalid="ignore"):
        return np.asarray(begin + 1 + np.flatnonzero(np.diff(series.wall_times[begin:]) > limit))
