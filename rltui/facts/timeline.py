"""What happened to a run, as marks on the time axis of every chart.

Evaluations, checkpoints, settings that jumped, pauses in the log, and NaN; restarts are drawn by
the chart itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rltui.catalogue.model import Category
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


@dataclass(frozen=True, slots=True)
class Happening:
    """One event of a run."""

    step: int
    letter: str
    """v evaluation, c checkpoint, l setting changed, s log paused, N not finite."""


@dataclass(frozen=True, slots=True)
class _Jumps:
    """Rows of a series at which its value jumped, extended by what is appended."""

    rows: int = 0
    steps: tuple[int, ...] = ()

    def extended(self, series: Series) -> _Jumps:
        begin, limits = max(0, self.rows - 1), movement().setting
        values = series.values[begin:].astype(np.float64)
        old, new = values[:-1], values[1:]
        low, high = np.minimum(np.abs(old), np.abs(new)), np.maximum(np.abs(old), np.abs(new))
        jumped = np.isfinite(old) & np.isfinite(new) & (high >= limits.factor * low) & (old != new)
        rows = begin + 1 + np.flatnonzero(jumped)
        found = series.steps[rows[rows >= limits.least_rows]].tolist()
        return _Jumps(series.count, (*self.steps, *found)[: _MOST + 1])


@dataclass(frozen=True, slots=True)
class _Pauses:
    """Rows of a series that came unusually late, extended by what is appended."""

    rows: int = 0
    steps: tuple[int, ...] = ()

    def extended(self, series: Series) -> _Pauses:
        recent = np.diff(series.wall_times[-_RECENT - 1 :])
        recent = recent[np.isfinite(recent) & (recent > 0)]
        if not len(recent):
            return _Pauses(series.count, self.steps)
        limit = max(_PAUSE_LEAST_S, _PAUSE * median(recent))
        begin = max(0, self.rows - 1)
        gaps = np.diff(series.wall_times[begin:])
        with np.errstate(invalid="ignore"):
            rows = begin + 1 + np.flatnonzero(gaps > limit)
        found = series.steps[rows].tolist()
        return _Pauses(series.count, (*self.steps, *found)[: _MOST + 1])


_PAUSES: RunSeriesCache[_Pauses] = RunSeriesCache()
_JUMPS: RunSeriesCache[_Jumps] = RunSeriesCache()


@per_version
def timeline(run: RunView) -> Sequence[Happening]:
    """The events of a run in order of steps; kinds with too many are left out."""
    kinds = {
        "v": _logged_at(run, Category.VALIDATION),
        "c": _at_metric(run, run.catalogue.roles.checkpoint),
        "l": _settings(run),
        "s": _pauses(run),
        "N": _non_finite(run),
    }
    found = [
        Happening(step, letter)
        for letter, steps in kinds.items()
        if len(steps) <= _MOST
        for step in dict.fromkeys(steps)
    ]
    return sorted(found, key=lambda h: (h.step, h.letter))


def _non_finite(run: RunView) -> list[int]:
    """Where values ceased to be finite."""
    findings = run.report.findings if run.report else ()
    return [
        f.since_step
        for f in findings
        if f.rule == "nan" and f.since_step is not None and f.tag not in run.points.off_axis
    ]


def _logged_at(run: RunView, category: Category) -> list[int]:
    """The steps of the first tag of a category; nothing when they are too many to be useful."""
    elsewhere = run.points.off_axis
    tags = (t for t, i in run.infos.items() if i.category is category and t not in elsewhere)
    tag = next(tags, None)
    return [] if tag is None else _steps(run.shown(tag))


def _at_metric(run: RunView, key: str) -> list[int]:
    tags = run.tags_of_metrics((key,))
    return _steps(run.shown(tags[0])) if tags else []


def _steps(series: Series) -> list[int]:
    """The distinct steps of a series that is logged rarely."""
    steps = series.steps
    if not len(steps):
        return []
    distinct = steps[np.append(True, steps[1:] != steps[:-1])]
    return distinct.tolist() if len(distinct) <= _MOST else []


def _settings(run: RunView) -> list[int]:
    steps: list[int] = []
    if run.report is None:  # the first paint does not wait for what rules know
        return steps
    for tag, info in run.infos.items():
        key = info.metric.key if info.metric else ""
        if info.category is Category.HYPER and key and key not in knowledge().by_design:
            series = run.shown(tag)
            jumps = _JUMPS.of(run).get(series, _Jumps().extended, extend=_Jumps.extended)
            if len(jumps.steps) <= _MOST:
                steps += jumps.steps
    return sorted(set(steps))


def _pauses(run: RunView) -> list[int]:
    """Steps of the rows before which nothing was logged for unusually long."""
    tag = next((t for t in run.infos if _is_clock(run.shown(t))), None)
    if tag is None:
        return []
    pauses = _PAUSES.of(run).get(run.shown(tag), _Pauses().extended, extend=_Pauses.extended)
    return list(pauses.steps)


def _is_clock(series: Series) -> bool:
    """Whether a series is logged throughout with times."""
    return series.count > _RECENT // 10 and bool(np.isfinite(series.wall_times[-1]))
