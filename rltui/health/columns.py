"""The values of the tags of a run as detectors read them; variants that judge the same tag share
them, and what they compute of them."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection, Hashable, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from rltui.catalogue.model import TagInfo
from rltui.core.block import FloatArray, IntArray
from rltui.core.later import np
from rltui.core.level import Direction
from rltui.core.record import entity
from rltui.health.detectors.signal import EARLY, NOTHING, Rows, part_of
from rltui.health.limits import NOISE_ROWS, VISIBLE
from rltui.health.rule import Variant

if TYPE_CHECKING:
    from rltui.store.series import Series

T = TypeVar("T", float, FloatArray)

#: Roles that any detector may have: what it reads is made of these, signs dropped. The value and a
#: ``plus`` together, times a ``times``; as a share of that and a ``rest``; ``per`` the larger of
#: one or two, or a quarter of the distance of two.
MADE_OF = ("plus", "times", "rest", "per", "per_other", "highest", "lowest")
#: Sets of steps for which the values of a tag beside them are kept; most tags share one.
_MOST_BESIDE = 4


@entity
class _Beside:
    """The values of one tag at the steps of another."""

    steps: IntArray
    x: FloatArray
    """The newest value at or before each step; NaN if none yet."""
    kept: dict[Hashable, Any] = field(default_factory=dict)


@entity
class Column:
    """The values of one tag, in the unit and sign of its metric."""

    x: FloatArray
    steps: IntArray
    walls: FloatArray
    kept: dict[Hashable, Any] = field(default_factory=dict)
    base: float = math.nan
    """Divisor of the newest value; NaN where it is made otherwise."""
    beside: deque[_Beside] = field(default_factory=lambda: deque(maxlen=_MOST_BESIDE))


#: Tag, whether its non-finite rows are left out, whether it is :func:`lacking`, and the number of
#: its newest rows that are judged -> its values, for one pass over a run.
Columns = dict[tuple[str, bool, bool, int], Column]


def lacking(x: T) -> T:
    """Complement to 1: turns failures into successes, and any figure that is better when it is
    lower into one that is better when it is higher. Its own inverse."""
    return 1.0 - x


def beside_others(columns: Columns) -> Columns:
    """The few newest that others were compared with, without what was computed of them alone."""
    found = [(k, c) for k, c in columns.items() if any(b.kept for b in c.beside)]
    return {k: replace(c, kept={}) for k, c in found[-_MOST_BESIDE:]}


def since_thrown_back(series: Series) -> Series:
    """The rows since the last restart at which the values are not where they were: another
    environment, episodes that have yet to end, another stage. What was won before is no measure
    for them. All rows where each restart goes on from the values before it."""
    for step in reversed(series.restarts.tolist()):
        at = series.rows_before(step)
        before = series.values[:at]
        after = series.values[at : at + EARLY]
        if at < EARLY or len(after) < EARLY:
            continue
        usual = np.median(np.abs(np.diff(before[-NOISE_ROWS:])))
        change = np.abs(np.median(after) - np.median(before[-EARLY:]))
        if change > VISIBLE * usual:
            return series.since(at)
    return series


def judged_rows(
    variant: Variant,
    info: TagInfo,
    series: Series,
    others: Mapping[str, tuple[Series, TagInfo]],
    columns: Columns,
    hidden: float = 0.0,
) -> tuple[Rows, FloatArray]:
    """The rows of a tag as a variant reads them, and their wall times. ``hidden``: what a zero may
    be at most, as logged."""
    detector = variant.detector
    if detector.anew and len(series.restarts):
        series = since_thrown_back(series)
    rising = detector.rising
    own = _column(info, series, columns, finite=not detector.finite_is_quiet, rising=rising)
    known = {
        role: found
        for role, (other, info_of) in others.items()
        if len((found := _column(info_of, other, columns, finite=True, rising=rising)).x)
    }
    made = variant.roles.keys() & MADE_OF
    if made:
        own = _made(own, made, known)
    aligned = {role: _beside(own.steps, found) for role, found in known.items()}
    others_x = {role: beside.x for role, beside in aligned.items()}
    kept_of = {role: beside.kept for role, beside in aligned.items()}

    restarts = tuple(np.searchsorted(own.steps, series.restarts).tolist())

    hidden *= info.scale
    rows = Rows(
        own.x, own.steps, others_x, restarts, own.kept, kept_of, hidden, bool(made), own.base
    )
    return rows, own.walls


def _made(own: Column, roles: Collection[str], known: Mapping[str, Column]) -> Column:
    """Values made of those of a tag and of others, where all that is needed is known: what is
    added may be missing."""
    base = np.nan * own.x
    other = {r: _beside(own.steps, known[r]).x if r in known else base for r in MADE_OF}
    x = np.abs(own.x) + np.nan_to_num(np.abs(other["plus"]))
    if "times" in roles:
        x *= np.abs(other["times"])
    if "rest" in known:
        x = part_of(x, x + other["rest"])
    if {"per", "per_other", "highest"} & set(roles):
        size = np.fmax(np.abs(other["per"]), np.abs(other["per_other"]))
        distance = other["highest"] - other["lowest"]
        size = np.where(np.isnan(size), 0.25 * distance, size)
        largest = np.fmax.accumulate(np.where(np.isfinite(size), size, 0.0))
        base = np.where(size >= NOTHING * largest, size, 0.0)  # else all is dust
        x = part_of(x, base)
    keep = np.isfinite(x)
    newest = base[keep][-1] if keep.any() else np.nan
    return Column(x[keep], own.steps[keep], own.walls[keep], base=newest)


def _beside(steps: IntArray, other: Column) -> _Beside:
    """The values of another tag at these steps."""
    for known in other.beside:
        if len(known.steps) == len(steps) and np.array_equal(known.steps, steps):
            return known
    x = other.x
    if not np.array_equal(other.steps, steps) or not bool((steps[1:] > steps[:-1]).all()):
        position = np.searchsorted(other.steps, steps, side="right")
        x = np.where(position > 0, x[np.maximum(position - 1, 0)], np.nan)
    found = _Beside(steps, x)
    other.beside.append(found)
    return found


def _column(
    info: TagInfo, series: Series, columns: Columns, *, finite: bool, rising: bool
) -> Column:
    upside_down = rising and info.direction is Direction.DOWN
    key = (info.tag, finite, upside_down, series.count)
    found = columns.pop(key, None)
    if found is None:
        x = np.multiply(series.values, info.factor, dtype=np.float64)
        x = lacking(x) if upside_down else x
        steps = series.steps
        walls = series.wall_times
        keep = np.isfinite(x)
        if finite and not keep.all():
            x = x[keep]
            steps = steps[keep]
            walls = walls[keep]
        found = Column(x, steps, walls)
    columns[key] = found  # the newest one
    return found
