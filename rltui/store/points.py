"""Points as three parallel arrays, and arrays that grow at the end without being copied."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rltui.core.block import BoolArray, FloatArray, IntArray, ValueArray
from rltui.store.point_table import Extent, PointTable
from rltui.store.run import LogFile, RunData
from rltui.store.series import Derived, DerivedSeries, Series

#: Steps, wall times and values (n,) each.
Points = tuple[IntArray, FloatArray, ValueArray]

#: Spare room of a growing array, as a fraction of its length, and at least this many points.
_SPARE, _SPARE_LEAST = 8, 16
#: Up to this many values are compared as bytes: numpy takes longer to begin.
_FEW = 64


def no_points() -> Points:
    """Empty arrays."""
    return np.empty(0, np.int64), np.empty(0), np.empty(0, np.float32)


def choose(points: Points, keep: BoolArray | IntArray | slice) -> Points:
    """The chosen points, by mask, index or slice."""
    return points[0][keep], points[1][keep], points[2][keep]


def copied(points: Points) -> Points:
    """The points in arrays of their own."""
    return points[0].copy(), points[1].copy(), points[2].copy()


def concatenate(parts: Sequence[Points]) -> Points:
    """Points one after the other; empty for no parts."""
    if not parts:
        return no_points()
    if len(parts) == 1:
        return parts[0]
    steps, walls, values = zip(*parts, strict=True)
    return np.concatenate(steps), np.concatenate(walls), np.concatenate(values)


def cut(points: Points, step: int) -> tuple[Points, Points]:
    """The points before a step, and the others: pieces of the same arrays where the steps never
    decrease and a block holds them, else in arrays of their own."""
    steps = points[0]
    if not is_sorted(steps):
        before = steps < step
        return choose(points, before), choose(points, ~before)
    at = int(np.searchsorted(steps, step))
    pieces = choose(points, slice(at)), choose(points, slice(at, None))
    if steps.base is None:  # a piece would keep all of it
        return copied(pieces[0]), copied(pieces[1])
    return pieces


def is_sorted(steps: IntArray) -> bool:
    """Whether the steps (n,) never decrease."""
    return len(steps) < 2 or bool((steps[1:] >= steps[:-1]).all())


def distinct(steps: IntArray) -> IntArray:
    """(m,) each of ``steps`` (n,), which never decrease, once; the same array if none repeats."""
    new = steps[1:] != steps[:-1]
    return steps if new.all() else steps[np.concatenate(([True], new))]


def by_step(points: Points) -> Points:
    """The points sorted by step; equal steps stay in the order of the log."""
    if is_sorted(points[0]):
        return points
    return choose(points, np.argsort(points[0], kind="stable"))


def is_prefix(points: Points, of: Points) -> bool:
    """Whether ``of`` begins with ``points``: the same bits, in arrays of the same type."""
    n = len(points[0])
    return n <= len(of[0]) and all(_same_bits(a, b[:n]) for a, b in zip(points, of, strict=True))


def sharing_axes(points: Points, other: Points) -> Points:
    """The points with the steps and times of ``other`` if these are the same; does not compare
    pieces of blocks."""
    if len(points[0]) != len(other[0]):
        return points
    steps, walls = (_shared(a, b) for a, b in zip(points[:2], other[:2], strict=True))
    return steps, walls, points[2]  # type: ignore[return-value]


def _shared(array: NDArray[np.generic], other: NDArray[np.generic]) -> NDArray[np.generic]:
    if array.base is None:
        return other if _same_bits(array, other) else array
    same = array.__array_interface__["data"] == other.__array_interface__["data"]
    return other if same and array.strides == other.strides else array


def _same_bits(array: NDArray[np.generic], other: NDArray[np.generic]) -> bool:
    if array.dtype != other.dtype:
        return False
    if len(array) <= _FEW:
        return array.tobytes() == other.tobytes()
    bits = f"i{array.dtype.itemsize}"  # NaN equals itself, which saves two passes
    return np.array_equal(array.view(bits), other.view(bits))


class _Column:
    """A buffer with spare room, which several owners may share while they write the same."""

    def __init__(self, values: NDArray[np.generic]) -> None:
        self.values = values
        self.filled = len(values)

    def begins_with(self, values: NDArray[np.generic]) -> bool:
        """Whether these are its first values, to the bit."""
        n = len(values)
        return n <= self.filled and _same_bits(self.values[:n], values)

    def with_more(self, begin: int, new: NDArray[np.generic]) -> _Column:
        """A column with ``new`` from row ``begin`` on: this one, unless another owner has already
        written something else there."""
        there = self.values[begin : min(self.filled, begin + len(new))]
        if len(there) and not _same_bits(there, new[: len(there)]):
            return _Column(self.values[:begin].copy()).with_more(begin, new)
        end = begin + len(new)
        if end > self.filled:
            self.values = self._with_room(np.promote_types(self.values.dtype, new.dtype), end)
            self.values[self.filled : end] = new[len(there) :]
            self.filled = end
        return self

    def _with_room(self, dtype: np.dtype[np.generic], length: int) -> NDArray[np.generic]:
        # a column that is a view of a block is not ours to write into
        column = self.values
        if column.base is None and dtype == column.dtype and length <= len(column):
            return column
        grown = np.empty(length + max(_SPARE_LEAST, length // _SPARE), dtype)
        grown[: self.filled] = column[: self.filled]
        return grown


class GrowingPoints:
    """Points that are only ever appended.

    :attr:`points` are views of buffers with spare room: what was handed out stays valid and
    unchanged while more is appended, and a point is copied a constant number of times.
    """

    def __init__(self, points: Points, beside: Iterable[GrowingPoints] = ()) -> None:
        """``beside``: points of which some may have the same steps and times, to share them."""
        self._length = len(points[0])
        self._columns: tuple[_Column, _Column, _Column]
        steps, walls, values = (_Column(c) for c in points)
        for other in beside:
            its_steps, its_walls, _ = other._columns
            if its_steps.begins_with(points[0]) and its_walls.begins_with(points[1]):
                steps, walls = its_steps, its_walls
                break
        self._columns = steps, walls, values

    def __deepcopy__(self, memo: object) -> GrowingPoints:
        """A copy that grows in a buffer of its own."""
        return GrowingPoints(self.points)

    @property
    def points(self) -> Points:
        """All points so far, as views."""
        return choose(tuple(c.values for c in self._columns), slice(self._length))  # type: ignore[arg-type]

    @property
    def buffers(self) -> dict[int, int]:
        """Identity and bytes of each buffer, spare room included; others may share it."""
        return {id(c): c.values.nbytes for c in self._columns if c.values.base is None}

    def append(self, points: Points) -> None:
        """Add points at the end; values of a wider type widen the buffer."""
        steps, walls, values = (
            c.with_more(self._length, new) for c, new in zip(self._columns, points, strict=True)
        )
        self._columns = steps, walls, values
        self._length += len(points[0])


class PrefixTable(PointTable):
    """The points of another table up to a step. Takes nothing in."""

    def __init__(self, whole: PointTable, step: int) -> None:
        super().__init__()
        self._whole = whole
        self._cut: dict[str, tuple[Series, int, Series]] = {}
        """Tag -> whole series, step, and what is left of it."""
        self._clocks = _clocks(whole)
        self.steps: IntArray = _steps_of(self._clocks)
        """The steps that were logged on the axis of the run, ascending."""
        self.step = step
        self.time = np.nan
        """Newest wall time up to the step, seconds since the epoch; NaN where there is none."""
        self.move_to(step)

    def move_to(self, step: int) -> None:
        """Cut at another step."""
        self.step = step
        self._extent = None
        walls = [s.wall_times[: _count(s, step)] for s in self._clocks]
        self.time = max((float(w[np.isfinite(w)].max(initial=-np.inf)) for w in walls), default=0)
        if not np.isfinite(self.time):
            self.time = np.nan

    @property
    def tags(self) -> tuple[str, ...]:
        return tuple(t for t in self._whole.tags if self.series(t).count)

    @property
    def off_axis(self) -> frozenset[str]:
        return self._whole.off_axis

    @property
    def counts_rows(self) -> bool:
        return self._whole.counts_rows

    @property
    def derived(self) -> Mapping[str, DerivedSeries]:
        return self._whole.derived

    @property
    def extent(self) -> Extent:
        if self._extent is None:
            whole = self._whole.extent
            steps = self.steps[: np.searchsorted(self.steps, self.step, side="right")]
            walls = {p: min(t, self.time) for p, t in whole.last_wall_times.items()}
            last = int(steps[-1]) if len(steps) else None
            self._extent = (
                0,
                replace(
                    whole,
                    last_step=last,
                    restarts=tuple(s for s in whole.restarts if s <= self.step),
                    last_wall_times={} if np.isnan(self.time) else walls,
                ),
            )
        return self._extent[1]

    def derive(self, derived: Derived) -> None:
        self._whole.derive(derived)

    def is_kept(self, tag: str) -> bool:
        return self._whole.is_kept(tag)

    def series(self, tag: str) -> Series:
        whole, known = self._whole.series(tag), self._cut.get(tag)
        if known is not None and known[0] is whole and known[1] == self.step:
            return known[2]
        found = self._part(whole, known)
        self._cut[tag] = whole, self.step, found
        return found

    def _part(self, whole: Series, known: tuple[Series, int, Series] | None) -> Series:
        """The first part of a series; its epoch stays while points are appended only."""
        lost = whole.old_points
        count, old = _count(whole, self.step), int((lost[0] <= self.step).sum())
        if whole.tag in self.off_axis:
            later = np.flatnonzero(~(whole.wall_times <= self.time))
            count, old = int(later[0]) if len(later) else whole.count, 0
        points, lost = choose(whole.points, slice(count)), choose(lost, slice(old))
        restarts = whole.restarts[whole.restarts <= self.step]
        if known is not None and known[0].epoch == whole.epoch:
            before = known[2]
            same = (before.old_count, len(before.restarts)) == (old, len(restarts))
            if same and count == before.count:
                return before
            if same and 0 < before.count < count:
                return before.extended(points)

        return Series.of(whole.tag, points, [lost], restarts)

    def is_finite(self, tag: str) -> bool:
        return self._whole.is_finite(tag)

    def logged(self, tag: str) -> int:
        return self.series(tag).count

    def origins(self, tag: str) -> tuple[Path, ...]:
        return self._whole.origins(tag)


class RunPrefix(RunData):
    """A run as it was at a step. How its logs end is known only at its newest step."""

    def __init__(self, whole: RunData, step: int) -> None:
        super().__init__(whole.key, whole.path)
        self.whole = whole
        self.table: PrefixTable = PrefixTable(whole.table, step)
        self.move_to(step)

    @property
    def step(self) -> int:
        """Where it stands."""
        return self.table.step

    def move_to(self, step: int) -> None:
        """Show another step."""
        self.version += 1
        self.table.move_to(step)
        ended = step >= (self.whole.last_step or 0)
        self.files.notes = self.whole.files.notes
        self.files.by_path = {
            path: file if ended else LogFile(file.source)
            for path, file in self.whole.files.by_path.items()
        }


def _count(series: Series, step: int) -> int:
    """Number of points up to a step."""
    return int(np.searchsorted(series.steps, step, side="right"))


def _clocks(table: PointTable) -> list[Series]:
    """Series on the axis of the run that have all of its steps together: one of each kind of
    row."""
    own = [t for t in table.tags if t not in table.off_axis] or list(table.tags)
    found: dict[tuple[int, int, int], Series] = {}
    for tag in own:
        series = table.series(tag)
        if series.count:
            found.setdefault((series.count, int(series.steps[0]), int(series.steps[-1])), series)
    return list(found.values())


def _steps_of(clocks: Sequence[Series]) -> IntArray:
    """The steps of all of these series."""
    if not clocks:
        return np.empty(0, np.int64)
    if len(clocks) == 1:
        return clocks[0].distinct_steps
    # a stable sort merges arrays that are sorted already
    return distinct(np.sort(np.concatenate([s.steps for s in clocks]), kind="stable"))
