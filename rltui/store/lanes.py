"""Places the points of rows without a step, such as those of sampling engines, in a run.

A point belongs to the step that was running: the first one that was logged after it. Times tell, or
the order of the lines where the training writes into the same log. A clock without a zone is set by
the change time of its file, or by the end of the training where files are copies.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from rltui.core.batch import NO_LANES, SourceInfo
from rltui.core.block import FloatArray, IntArray
from rltui.store.branch import Branch
from rltui.store.lineage import Lineage
from rltui.store.points import Points, by_step, concatenate

#: Offsets of time zones are multiples of this, and below that, seconds.
_QUARTER_S, _FARTHEST_S = 900.0, 14.5 * 3600
#: By so much the clock of a file server may be behind, seconds.
_BEHIND_S = 60.0
#: A log of a training that changed so long after its newest row is a copy, seconds.
_COPIED_S = 900.0
#: Clocks with a year show more than this, in seconds.
_DATED_S = 1e9
#: How many of the longest pauses between rows of the training a point may lie outside of it.
_OUTSIDE = 2.0


class RunLanes(Lineage):
    """The rows beside one run. Owned by its PointTable."""

    def __init__(self) -> None:
        super().__init__()
        self._known = NO_LANES
        self._local: set[Path] = set()
        """Files whose times lack a zone."""
        self._behind: dict[Path, float] = {}
        """File -> seconds from its newest time to its change time, the least so far."""

    def note(self, source: SourceInfo) -> None:
        """Note the state of a file after its newest rows."""
        self._known = self._known.joined(source.lanes)
        newest = max((b.latest for b in self.branches_of(source.path)), default=-math.inf)
        if source.lanes.local and math.isfinite(newest):
            self._local.add(source.path)
            behind = source.modified - newest
            self._behind[source.path] = min(behind, self._behind.get(source.path, behind))

    def unplaced(self, clock: Points) -> frozenset[str]:
        """The tags whose place in the run nothing tells; none where there is no training.
        ``clock``: one point of each of its steps."""
        lost = [b for b in self.branches if len(clock[0]) and not _is_placed(b, clock)]
        return frozenset(tag for branch in lost for tag in branch.columns)

    def placed(self, tag: str, clock: Points, lag: float) -> Points:
        """The points of a tag at steps of the training, one for each, or on an axis of their own.
        ``lag``: seconds from the newest row of the training to the change of its log."""
        having = [b for b in self.branches if tag in b.columns]
        if not len(clock[0]) or not all(_is_placed(b, clock) for b in having):
            return self._on_own_axis(tag, having)
        at = np.concatenate([self._rows_of(b, b.points(tag), clock, lag) for b in having])
        values = concatenate([b.points(tag) for b in having])[2]
        inside = at >= 0
        if not inside.any():
            return concatenate(())
        rows, kept = self._gathered(tag, at[inside], values[inside].astype(np.float64))
        return clock[0][rows], clock[1][rows], kept

    def _on_own_axis(self, tag: str, having: list[Branch]) -> Points:
        """The points at seconds since the first one, or at numbers of rows."""
        _, walls, values = concatenate([b.points(tag) for b in having])
        begin = min(b.earliest for b in self.branches)
        known = bool(np.isfinite(walls).all())
        steps = (walls - begin).astype(np.int64) if known else np.arange(len(walls))
        walls = np.full(len(steps), math.nan) if self._local else walls
        return by_step((steps, walls, values))

    def _rows_of(self, branch: Branch, points: Points, clock: Points, lag: float) -> IntArray:
        """(n,) the row of the clock at which each point is, -1 outside of the training."""
        steps, walls, _ = points
        if _is_ordered(branch):
            return np.minimum(np.searchsorted(clock[0], steps, side="right"), len(clock[0]) - 1)

        logged = np.maximum.accumulate(clock[1][np.isfinite(clock[1])])
        if branch.path in self._local:
            walls = walls + self._shift(branch, float(logged[-1]), lag)
        pause = _OUTSIDE * float(np.diff(logged).max()) if len(logged) > 1 else math.inf
        at = np.minimum(np.searchsorted(logged, walls), len(logged) - 1)
        rows = np.flatnonzero(np.isfinite(clock[1]))[at]
        return np.where((walls >= logged[0] - pause) & (walls <= logged[-1] + pause), rows, -1)

    def _shift(self, branch: Branch, end: float, lag: float) -> float:
        """Seconds from the times of a log to the true ones; ``end``: of the training."""
        newest = max(b.latest for b in self.branches_of(branch.path))
        if lag < _COPIED_S:
            # the clock is never behind the change of the file, but other lines may follow
            behind = self._behind[branch.path] + _BEHIND_S
            shift = math.floor(behind / _QUARTER_S) * _QUARTER_S
            if newest < _DATED_S or abs(shift) <= _FARTHEST_S:
                return shift
        return round((end - newest) / _QUARTER_S) * _QUARTER_S

    def _gathered(self, tag: str, at: IntArray, values: FloatArray) -> tuple[IntArray, FloatArray]:
        """Rows of the clock, ascending, and one value for each."""
        order = np.argsort(at, kind="stable")
        rows, begins, counts = np.unique(at[order], return_index=True, return_counts=True)
        how = np.maximum if tag in self._known.most else np.add
        found = how.reduceat(values[order], begins)
        return rows, found / counts if tag in self._known.mean else found


def _is_ordered(branch: Branch) -> bool:
    """Whether rows of the training lie between the rows of a log."""
    return branch.whole is not None and branch.whole.last >= 0


def _is_placed(branch: Branch, clock: Points) -> bool:
    return _is_ordered(branch) or bool(
        branch.earliest <= branch.latest and np.isfinite(clock[1]).any()
    )
