"""One tag of one run as arrays."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import field, replace
from itertools import count
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from rltui.core.block import Block, FloatArray, IntArray, ValueArray
from rltui.core.record import entity
from rltui.store.points import Points, choose, concatenate, copied, distinct, is_prefix

_epochs = count(1)


class Pieces:
    """The points of a tag in some blocks that have it in each row: views that are made when they
    are asked for, since short ones take more memory than their points."""

    def __init__(self, blocks: Sequence[Block], tag: str) -> None:
        self._blocks = blocks
        self._tag = tag

    def __len__(self) -> int:
        return len(self._blocks)

    def __iter__(self) -> Iterator[Points]:
        for block in self._blocks:
            yield block.steps, block.wall_times, block.values[:, block.tags.index(self._tag)]


@entity
class Series:
    """All points of one tag, sorted stably by step; never thinned, NaN and Inf included.

    After a restart the points that the new branch overwrote are ``superseded``: kept, drawn dimmed
    and exported, but never judged.

    Whoever caches something made from a series compares ``epoch`` and ``count``: both equal
    means the same content; the same epoch and more points means that points were appended and
    nothing else changed.
    """

    tag: str
    steps: IntArray
    """(n,) int64, non-decreasing; equal steps are ordinary (CleanRL logs several episodes)."""
    wall_times: FloatArray
    """(n,) seconds since the epoch, NaN where the log has none."""
    values: ValueArray
    """(n,) float32 or float64."""
    superseded: tuple[Points, ...] | Pieces
    """The points that were overwritten, in file order, in pieces: views of what was read wherever
    possible, since they are rarely asked for."""
    restarts: IntArray
    """Steps at which a later branch took over, ascending."""
    epoch: int
    """Unique to the history of these points in this process. Changes with everything but an
    append: a restart, a replaced document, a merge that alters or inserts points, points that
    arrive out of order. 0 for a series without any point."""
    course: int
    """An ``epoch`` of steps and values alone: it stays where only times change."""
    count: int = field(init=False)
    """Number of points, without the superseded ones. No property: it is asked all the time."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "count", len(self.steps))

    @classmethod
    def of(cls, tag: str, kept: Points, lost: Iterable[Points], restarts: IntArray) -> Series:
        """A series with a history of its own, from points sorted by step and superseded ones."""
        old = lost if isinstance(lost, Pieces) else tuple(p for p in lost if len(p[0]))
        epoch = next(_epochs)
        return cls(tag, *kept, old, restarts, epoch, epoch)

    @classmethod
    def empty(cls, tag: str) -> Series:
        """A series without points."""
        return cls(tag, *concatenate(()), (), np.empty(0, np.int64), 0, 0)

    def __deepcopy__(self, memo: object) -> Series:
        """Itself: it never changes."""
        return self

    @property
    def points(self) -> Points:
        """Steps, wall times and values."""
        return self.steps, self.wall_times, self.values

    @property
    def old_points(self) -> Points:
        """Steps, wall times and values of the superseded points: a copy if there are several
        pieces."""
        return concatenate(tuple(self.superseded))

    @property
    def old_count(self) -> int:
        """Number of superseded points."""
        return sum(len(piece[0]) for piece in self.superseded)

    def rows_before(self, step: float) -> int:
        """Number of rows before a step."""
        return int(np.searchsorted(self.steps, step))

    def rows_until(self, step: float) -> int:
        """Number of rows up to a step, those at it included."""
        return int(np.searchsorted(self.steps, step, "right"))

    @property
    def distinct_steps(self) -> IntArray:
        """(m,) the steps at which something was logged, ascending, each once."""
        return distinct(self.steps)

    @property
    def nonfinite(self) -> int:
        """How many of the values are NaN or infinite."""
        return int(self.values.size - np.count_nonzero(np.isfinite(self.values)))

    @property
    def buffers(self) -> dict[int, int]:
        """Identity and bytes of the arrays that are not columns of blocks; other series may share
        them."""
        columns = (c for piece in (self.points, *self.superseded) for c in piece)
        return {id(c): c.nbytes for c in columns if c.base is None}

    def detached(self) -> Series:
        """Copy the points into arrays of their own, which keep no block in memory."""
        old = tuple(copied(piece) for piece in self.superseded)
        return replace(self.extended(copied(self.points)), superseded=old)

    def extended(self, points: Points) -> Series:
        """The series with more points; ``points`` begin with those of this one."""
        steps, walls, values = points
        return replace(self, steps=steps, wall_times=walls, values=values)

    def since(self, row: int) -> Series:
        """The points from a row on."""
        return self.extended(choose(self.points, slice(row, None)))

    def with_history(self, before: Series) -> Series:
        """This series with the epoch of ``before`` if that became this one by appending only; with
        its course if the times of that were other ones."""
        old, known = before.old_points, self.old_points
        appended = (
            is_prefix(before.points[::2], self.points[::2])
            and before.restarts.tolist() == self.restarts.tolist()
            and before.old_count == self.old_count
            and is_prefix(old[::2], known[::2])
        )
        timed = is_prefix(before.points[1:2], self.points[1:2]) and is_prefix(old[1:2], known[1:2])
        if not appended:
            return self
        return replace(self, epoch=before.epoch if timed else self.epoch, course=before.course)

    def negated(self) -> Series:
        """The points with the opposite sign; its epoch changes when that of this one does."""
        old = tuple((steps, walls, -values) for steps, walls, values in self.superseded)
        return replace(self, values=-self.values, superseded=old, epoch=-self.epoch)

    @property
    def last(self) -> tuple[int, float, float] | None:
        """(step, wall time, value) of the newest point, or None."""
        if not len(self.steps):
            return None
        return int(self.steps[-1]), float(self.wall_times[-1]), float(self.values[-1])

    @property
    def mean(self) -> float | None:
        """Mean of the finite values, even where their sum overflows a float; None without any."""
        return mean_of(self.finite()[1])

    def finite(self) -> tuple[IntArray, FloatArray]:
        """Steps and values (float64) of the finite points only."""
        keep = np.isfinite(self.values)
        return self.steps[keep], self.values[keep].astype(np.float64)


def mean_of(values: FloatArray) -> float | None:
    """Mean of finite values (n,), scaled so that no sum overflows; None when there are none."""
    if not len(values):
        return None
    largest = float(np.abs(values).max())
    return float((values / largest).mean()) * largest if largest else 0.0


T = TypeVar("T")

#: Tags beyond this are dropped all together.
_MOST = 4096
#: Values of one tag: some names contain the last step, which moves on with each row.
_MOST_NAMES = 4


class SeriesCache(Generic[T]):
    """One value per tag and name, valid for one epoch and length of the series."""

    def __init__(self) -> None:
        self._kept: dict[str, dict[Hashable, tuple[int, int, T]]] = {}
        """Tag -> name -> epoch, length and value, the oldest first."""

    def get(
        self,
        series: Series,
        make: Callable[[Series], T],
        *,
        name: Hashable = None,
        extend: Callable[[T, Series], T] | None = None,
    ) -> T:
        """The value for a series, made when it is not known.

        ``name`` distinguishes several values of one tag, of which the newest few are kept.
        ``extend`` turns the value of a series into that of the same series with points appended;
        without it that is made anew.
        """
        values = self._kept.get(series.tag, {})
        kept = values.get(name)
        if kept is None or kept[0] != series.epoch:
            value = make(series)
        elif kept[1] == series.count:
            return kept[2]
        else:
            value = make(series) if extend is None else extend(kept[2], series)
        values.pop(name, None)
        while len(values) >= _MOST_NAMES:
            del values[next(iter(values))]
        values[name] = (series.epoch, series.count, value)
        if len(self._kept) >= _MOST and series.tag not in self._kept:
            self._kept.clear()
        self._kept[series.tag] = values

        return value


class Derived(NamedTuple):
    """How one series follows from two others of the same run."""

    how: str
    """``difference`` (first minus second) or ``ratio`` (first over second)."""
    first: str
    second: str
    """Tags."""

    @property
    def tag(self) -> str:
        """Name in place of a tag: ``critic/score/max - critic/score/min``."""
        return f"{self.first} {'-' if self.how == 'difference' else '/'} {self.second}"

    def points(self, first: Points, second: Points) -> Points:
        """The points at the steps that both have, one per step (the last of each).

        A ratio by zero is left out: it means nothing, and is no NaN that the run logged.
        """
        steps, walls = first[:2]
        a = first[2].astype(np.float64)
        b = second[2].astype(np.float64)
        if distinct(steps) is not steps or not np.array_equal(steps, second[0]):
            steps, i, j = np.intersect1d(steps[::-1], second[0][::-1], return_indices=True)
            i = len(a) - 1 - i
            j = len(b) - 1 - j
            walls = walls[i]
            a = a[i]
            b = b[j]
        with np.errstate(all="ignore"):
            values = a - b if self.how == "difference" else np.where(b == 0, np.nan, a / b)

        return choose((steps, walls, values), np.isfinite(values))


class DerivedSeries:
    """The series of one :class:`Derived`, made anew when one of the other two has changed."""

    def __init__(self, derived: Derived) -> None:
        self.derived = derived
        self._parents: tuple[Series, Series] | None = None
        """The two series as of the last read."""
        self._series = Series.empty(derived.tag)

    def of(self, first: Series, second: Series) -> Series:
        """The series for the present state of the two series that it follows from."""
        known = self._parents
        if known is None or known[0] is not first or known[1] is not second:
            points = self.derived.points(first.points, second.points)
            made = Series.of(self.derived.tag, points, (), first.restarts)
            self._parents, self._series = (first, second), made.with_history(self._series)
        return self._series
