"""A run beside a good past one: whether it has left the course that the reference run took.

Both are aligned by tokens where both log them, else by step, or by the time since the start where
their steps count different things. Around the smoothed course of the reference lies an envelope as
wide as its own noise, and never narrower than a quarter of the range that it covered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from rltui.catalogue.model import Category, TagInfo, select
from rltui.core.block import FloatArray
from rltui.core.level import Direction, Level
from rltui.health.model import Evidence, Finding, FindingState, Side, Words
from rltui.store import RunData, Series

#: Id of the findings, as rules have one.
RULE = "off_reference"
#: Rows of the rolling median of the run, and the share of rows of that of the reference.
_ROWS, _SHARE = 5, 0.05
#: Half the width of the envelope: this many robust standard deviations of the reference around its
#: course, this share of the range of its course, this share of its largest value.
_SIGMAS, _RANGE, _SCALE = 4.0, 0.25, 0.05
#: Newest consecutive rows that must be outside: at least this many, and this share of all.
_HOLD, _HOLD_SHARE = 5, 0.05
#: Steps per row may differ by this factor and still count the same thing.
_SAME_STEPS = 5.0
#: How fast a run is depends on its machine.
_NOT_COMPARED = (Category.TIMING, Category.PERF, Category.SYSTEM, Category.BALANCE)
#: Most metrics that are named beside the first.
_NAMED = 3
_TOKENS = "progress.tokens_total"
_WORDS = Words(
    "{name} {value} at step {step}; the reference run had {low} to {high} at the same {axis}{also}",
    "{name} {value}; reference {low} to {high}",
    "",
    "",
)


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """A run and the meaning of its tags."""

    run: RunData
    infos: Mapping[str, TagInfo]

    def tags(self) -> dict[str, str]:
        """Metric key -> its first tag that has points."""
        found: dict[str, str] = {}
        for tag, info in self.infos.items():
            if info.metric is not None and self.run.count(tag):
                found.setdefault(info.metric.key, tag)
        return found

    def values(self, tag: str) -> tuple[Series, FloatArray]:
        """The series of a tag, and its values in units of the metric (n,)."""
        series, info = self.run.series(tag), self.infos[tag]
        return series, series.values.astype(np.float64) * (info.sign * info.scale)


#: Places of the points of a series on the axis that two runs share, (n,).
_Place = Callable[[Series], FloatArray]


def departure(run: Compared, reference: Compared, vital: tuple[str, ...]) -> Finding | None:
    """The finding, of level watch, that vital signs are outside of the envelope now: about a
    setting if one is, else about the one that left first. None while all are inside.

    ``vital``: metric keys to compare; those that both runs log are.
    """
    own, other = run.tags(), reference.tags()
    both = [
        k
        for k in select(vital, own.keys())
        if k in other and run.infos[own[k]].category not in _NOT_COMPARED
    ]
    if not both:
        return None
    axis, place, other_place = _axis(run, reference, own, other, both[0])
    found = []
    for key in both:
        course = _course(reference, other[key], other_place)
        if course is not None:
            finding = _departure(run, own[key], place, course, axis)
            if finding is not None:
                found.append(finding)
    return _first(found, run.infos)


def _first(found: list[Finding], infos: Mapping[str, TagInfo]) -> Finding | None:
    """The first of several departures, with the names of the others."""

    def rank(finding: Finding) -> tuple[bool, int]:
        setting = infos[finding.tag or ""].category is Category.HYPER
        return not setting, finding.since_step or 0

    if not found:
        return None
    first, *others = sorted(found, key=rank)
    names = [infos[f.tag or ""].title for f in others]
    also = f"; also {', '.join(names[:_NAMED])}" if names else ""
    also += f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    evidence = replace(first.evidence, facts={**first.evidence.facts, "also": also})
    return replace(first, evidence=evidence)


def _axis(
    run: Compared, reference: Compared, own: Mapping[str, str], other: Mapping[str, str], key: str
) -> tuple[str, _Place, _Place]:
    """What both runs are aligned by, and how their points are placed on it."""
    if _TOKENS in own and _TOKENS in other:
        return "tokens", _by_tokens(run, own[_TOKENS]), _by_tokens(reference, other[_TOKENS])
    first, second = run.run.series(own[key]), reference.run.series(other[key])
    strides = sorted((_stride(first), _stride(second)))
    timed = all(np.isfinite(s.wall_times).all() for s in (first, second))
    if strides[1] > _SAME_STEPS * strides[0] and timed:
        return "time", _by_time(first), _by_time(second)
    return "step", _by_step, _by_step


def _stride(series: Series) -> float:
    if series.count < 2:
        return 1.0
    return max(1.0, float(series.steps[-1] - series.steps[0]) / (series.count - 1))


def _by_step(series: Series) -> FloatArray:
    return series.steps.astype(np.float64)


def _by_time(clock: Series) -> _Place:
    return lambda series: series.wall_times - clock.wall_times[0]


def _by_tokens(compared: Compared, tag: str) -> _Place:
    steps, tokens = compared.run.series(tag).finite()
    return lambda series: np.interp(series.steps.astype(np.float64), steps, tokens)


@dataclass(frozen=True, slots=True, eq=False)
class _Course:
    """The way of the reference on the shared axis."""

    x: FloatArray
    y: FloatArray
    width: float
    """Half the width of the envelope."""


def _course(reference: Compared, tag: str, place: _Place) -> _Course | None:
    series, values = reference.values(tag)
    x = place(series)
    keep = np.isfinite(values) & np.isfinite(x)
    x, values = x[keep], values[keep]
    if len(values) < 2 * _HOLD:
        return None
    y = _smoothed(values, max(_ROWS, int(_SHARE * len(values)) | 1))
    noise = 1.4826 * float(np.median(np.abs(values - y)))
    covered = float(np.quantile(y, 0.95) - np.quantile(y, 0.05))
    width = max(_SIGMAS * noise, _RANGE * covered, _SCALE * float(np.abs(y).max()))
    return _Course(x, y, width)


def _smoothed(values: FloatArray, rows: int) -> FloatArray:
    """The centred rolling median (n,)."""
    half = rows // 2
    padded = np.pad(values, half, mode="edge")
    return np.asarray(np.median(np.lib.stride_tricks.sliding_window_view(padded, rows), axis=1))


def _departure(
    run: Compared, tag: str, place: _Place, course: _Course, axis: str
) -> Finding | None:
    series, values = run.values(tag)
    x = place(series)
    keep = np.isfinite(values) & np.isfinite(x) & (x >= course.x[0]) & (x <= course.x[-1])
    values, steps, x, walls = values[keep], series.steps[keep], x[keep], series.wall_times[keep]
    hold = max(_HOLD, int(_HOLD_SHARE * len(values)))
    if len(values) < 2 * hold or not keep[-1]:
        return None
    y = _smoothed(values, _ROWS)
    centre = np.interp(x, course.x, course.y)
    outside = _outside(run.infos[tag].direction, y - centre, course.width)
    inside = np.flatnonzero(~outside)
    begin = int(inside[-1]) + 1 if len(inside) else 0
    if len(values) - begin < hold:
        return None
    low, high = float(centre[-1]) - course.width, float(centre[-1]) + course.width
    wall = float(walls[begin])
    info = run.infos[tag]
    return Finding(
        RULE, "off the reference run", Level.WATCH, FindingState.FIRING,
        info.metric.key if info.metric else None, tag, int(steps[begin]),
        wall if np.isfinite(wall) else None, None,
        _evidence(info.title, y, steps, begin, (low, high), axis), _WORDS,
        "Compare settings and data of the two runs around this step.",
    )  # fmt: skip


def _outside(direction: Direction, difference: FloatArray, width: float) -> np.ndarray:
    """Which rows are outside of the envelope on a side that is not better."""
    if direction is Direction.UP:
        return difference < -width
    if direction is Direction.DOWN:
        return difference > width
    return np.abs(difference) > width


def _evidence(
    name: str,
    y: FloatArray,
    steps: np.ndarray,
    begin: int,
    envelope: tuple[float, float],
    axis: str,
) -> Evidence:
    low, high = envelope
    value = float(y[-1])
    up = value > high
    return Evidence(
        f"{_ROWS}-row median",
        value,
        high if up else low,
        int(steps[begin]),
        int(steps[-1]),
        facts={"low": low, "high": high, "axis": axis, "name": name},
        row={
            "value": value,
            "step": int(steps[-1]),
            "before": float(y[max(0, begin - 1)]),
            "rows": len(y) - begin,
        },
        side=Side.HIGH if up else Side.LOW,
        newest=True,
        has_before=begin > 0,
    )
