"""What happened to a run, as marks on the time axis of every chart.

Evaluations, checkpoints, settings that jumped, pauses in the log, and NaN; restarts are drawn by
the chart itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from rltui.catalogue.model import Category
from rltui.core.block import IntArray
from rltui.core.medians import median
from rltui.facts.cache import RunSeriesCache, per_version
from rltui.health.limits import movement
from rltui.health.symptoms import knowledge
from rltui.session import RunView
from rltui.store import Series

#: With more marks of one kind than this, none are drawn: every step would have one.
_MOST = 60
#: The log paused when nothing came for this many usual intervals, and for this long (seconds).
_PAUSE, _PAUSE_LEAST_S = 10.0, 60.0
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


class Mark(NamedTuple):
    """One event of a run."""

    step: int
    letter: str
    """v evaluation, c checkpoint, l setting changed, s log paused, N not finite."""


#: Rows of a series that have been searched, and the steps of those that were found.
_Found = tuple[int, tuple[int, ...]]
_FOUND: RunSeriesCache[_Found] = RunSeriesCache()


@per_version
def timeline(run: RunView) -> Sequence[Mark]:
    """The events of a run in order of steps; kinds with too many are left out."""
    elsewhere = run.points.off_axis
    findings = run.report.findings if run.report else ()
    evaluated = (
        t for t, i in run.infos.items() if i.category is Category.VALIDATION and t not in elsewhere
    )
    clocks = (
        t
        for t in run.infos
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


def _steps(run: RunView, tag: str | None) -> Sequence[int]:
    """The distinct steps of a series that is logged rarely."""
    steps = run.shown(tag).steps if tag is not None else np.empty(0, np.int64)
    distinct = steps[np.append(True, steps[1:] != steps[:-1])] if len(steps) else steps
    return distinct.tolist() if len(distinct) <= _MOST else []


def _settings(run: RunView) -> Sequence[int]:
    """Steps at which a setting jumped."""
    steps: set[int] = set()
    if run.report is None:  # the first paint does not wait for what rules know
        return ()
    for tag, info in run.infos.items():
        key = info.metric.key if info.metric else ""
        if info.category is Category.HYPER and key and key not in knowledge().by_design:
            jumps = _search(run, tag, _jumped_rows)
            steps.update(jumps if len(jumps) <= _MOST else ())
    return sorted(steps)


def _search(
    run: RunView, tag: str | None, rows_from: Callable[[Series, int], IntArray]
) -> Sequence[int]:
    """The steps of the rows that ``rows_from`` finds from a row on; only what was appended is
    searched again."""
    if tag is None:
        return ()

    def extended(found: _Found, series: Series) -> _Found:
        rows = rows_from(series, max(0, found[0] - 1))
        return series.count, (*found[1], *series.steps[rows].tolist())[: _MOST + 1]

    name, series = rows_from.__name__, run.shown(tag)
    return _FOUND.of(run).get(series, lambda s: extended((0, ()), s), name=name, extend=extended)[1]


def _jumped_rows(series: Series, begin: int) -> IntArray:
    """The rows at which a value jumped."""
    limits = movement().setting
    values = series.values[begin:].astype(np.float64)
    old, new = values[:-1], values[1:]
    low, high = np.minimum(np.abs(old), np.abs(new)), np.maximum(np.abs(old), np.abs(new))
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
