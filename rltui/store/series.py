"""One tag of one run as arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rltui.core.block import FloatArray, IntArray, ValueArray


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """All points of one tag, sorted stably by step; never thinned, NaN and Inf included.

    After a restart the points that the new branch overwrote are in the ``old_*`` arrays:
    kept, drawn dimmed and exported, but judged by nobody.
    """

    tag: str
    steps: IntArray
    """(n,) int64, non-decreasing; equal steps are ordinary (CleanRL logs several episodes)."""
    wall_times: FloatArray
    """(n,) seconds since the epoch, NaN where the log has none."""
    values: ValueArray
    """(n,) float32 or float64."""
    old_steps: IntArray
    old_wall_times: FloatArray
    old_values: ValueArray
    restarts: IntArray
    """Steps at which a later branch took over, ascending."""
    version: int
    """Grows whenever the points change; equal versions mean equal content."""

    @property
    def count(self) -> int:
        """Number of points, without the superseded ones."""
        return len(self.steps)

    @property
    def nonfinite(self) -> int:
        """How many of the values are NaN or infinite."""
        return int(self.values.size - np.count_nonzero(np.isfinite(self.values)))

    @property
    def nbytes(self) -> int:
        """Bytes that this object holds by itself; columns of blocks belong to the blocks."""
        columns = (self.steps, self.wall_times, self.values)
        old = (self.old_steps, self.old_wall_times, self.old_values)
        return sum(c.nbytes for c in (*columns, *old) if c.base is None)

    def apart(self) -> Series:
        """The same points in arrays of their own, which keep no block alive."""
        return replace(
            self,
            steps=self.steps.copy(),
            wall_times=self.wall_times.copy(),
            values=self.values.copy(),
            old_steps=self.old_steps.copy(),
            old_wall_times=self.old_wall_times.copy(),
            old_values=self.old_values.copy(),
        )

    @property
    def last(self) -> tuple[int, float, float] | None:
        """(step, wall time, value) of the newest point, or None."""
        if not len(self.steps):
            return None
        return int(self.steps[-1]), float(self.wall_times[-1]), float(self.values[-1])

    @property
    def mean(self) -> float | None:
        """Mean of the finite values, also of such that their sum is beyond a float; or None."""
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
