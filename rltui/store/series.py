"""One tag of one run as arrays."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from rltui.core.block import FloatArray, IntArray, ValueArray
from rltui.store.points import (
    Points,
    choose,
    concatenate,
    copied,
    distinct,
    is_prefix,
    no_points,
)

_epochs = count(1)


@dataclass(frozen=True, slots=True, eq=False)
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
    superseded: tuple[Points, ...]
    """The points that were overwritten, in file order, one piece for each branch: views of what was
    read wherever possible, since they are rarely asked for."""
    restarts: IntArray
    """Steps at which a later branch took over, ascending."""
    epoch: int
    """Unique to the history of these points in this process. Changes with everything but an
    append: a restart, a replaced document, a merge that alters or inserts points, points that
    arrive out of order. 0 for a series without any point."""

    @classmethod
    def of(cls, tag: str, kept: Points, lost: Iterable[Points], restarts: IntArray) -> Series:
        """A series with a history of its own, from points sorted by step and superseded ones."""
        return cls(tag, *kept, tuple(p for p in lost if len(p[0])), restarts, next(_epochs))

    @classmethod
    def empty(cls, tag: str) -> Series:
        """A series without points."""
        return cls(tag, *no_points(), (), np.empty(0, np.int64), 0)

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
        return concatenate(self.superseded)

    @property
    def old_count(self) -> int:
        """Number of superseded points."""
        return sum(len(piece[0]) for piece in self.superseded)

    @property
    def count(self) -> int:
        """Number of points, without the superseded ones."""
        return len(self.steps)

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
        """The same points in arrays of their own, which keep no block in memory."""
        old = tuple(copied(piece) for piece in self.superseded)
        return Series(self.tag, *copied(self.points), old, self.restarts, self.epoch)

    def extended(self, points: Points) -> Series:
        """The series with more points; ``points`` begin with those of this one."""
        return Series(self.tag, *points, self.superseded, self.restarts, self.epoch)

    def since(self, row: int) -> Series:
        """The points from a row on."""
        return self.extended(choose(self.points, slice(row, None)))

    def with_history(self, before: Series) -> Series:
        """This series with the epoch of ``before`` if that became this one by appending only."""
        appended = (
            is_prefix(before.points, self.points)
            and before.restarts.tolist() == self.restarts.tolist()
            and before.old_count == self.old_count
            and is_prefix(before.old_points, self.old_points)
        )
        return replace(self, epoch=before.epoch) if appended else self

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
