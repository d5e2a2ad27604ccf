"""Places the points of rows without a step, such as those of sampling engines, in a run.

A point belongs to the step that was running: the first one that was logged after it. Times tell, or
the order of the lines where the training writes into the same log. A clock without a zone is set by
the change time of its file, or by the end of the training where files are copies.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from rltui.core.batch import Batch, Restart, SourceInfo
from rltui.core.block import Block, IntArray
from rltui.store.branch import Branch
from rltui.store.lineage import Lineage
from rltui.store.log_clock import quarters
from rltui.store.points import Points, by_step, concatenate

#: Offsets of time zones are multiples of this, and below that, seconds.
_QUARTER_S = 900.0
_FARTHEST_S = 14.5 * 3600
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
        self.sources: dict[Path, SourceInfo] = {}
        """State of each file of the run when it last had rows."""

    def take(self, batch: Batch) -> tuple[Sequence[Block | Restart], dict[str, None]]:
        """Take the rows beside a training out of a batch; returns the others, and the tags that
        changed here."""
        source = batch.source
        changed = dict[str, None]()
        others = []
        # a reader that goes on knows no earlier rows
        before = self.sources.get(source.path, source)
        source = source._replace(lanes=before.lanes.joined(source.lanes))
        self.sources[source.path] = source
        if not source.lanes.tags:
            return batch.items, changed
        if batch.replaced:
            changed.update(dict.fromkeys(self.replace(source, batch.generation, older_too=False)))
        for item in batch.items:
            if isinstance(item, Restart) or item.tags[0] not in source.lanes.tags:
                others.append(item)
            elif len(item.steps):
                self.append(source, batch.generation, item)
                changed.update(dict.fromkeys(item.tags))
        return others, changed

    def unplaced(self, clock: Points) -> frozenset[str]:
        """The tags whose place in the run nothing tells; none where there is no training.
        ``clock``: one point of each of its steps."""
        lost = [b for b in self.branches if len(clock[0]) and not _is_placed(b, clock)]
        return frozenset(tag for branch in lost for tag in branch.columns)

    def placed(self, tag: str, clock: Points, ended: Mapping[Path, float]) -> Points:
        """The points of a tag at steps of the training, one for each, or on an axis of their own.
        ``ended``: the newest time in each log of the training, -inf without any."""
        having = [b for b in self.branches if tag in b.columns]
        if not len(clock[0]) or not all(_is_placed(b, clock) for b in having):
            # on an axis of seconds since the first one, or of numbers of rows
            _, walls, values = concatenate([b.points(tag) for b in having])
            begin = min(b.earliest for b in self.branches)
            known = bool(np.isfinite(walls).all())
            steps = (walls - begin).astype(np.int64) if known else np.arange(len(walls))
            local = any(self.sources[b.path].lanes.local for b in having)
            return by_step((steps, np.full(len(steps), math.nan) if local else walls, values))
        lags = (self.sources[path].modified - end for path, end in ended.items())
        lag = min(lags, default=0.0)
        at = np.concatenate([self._rows_of(b, b.points(tag), clock, lag) for b in having])
        values = concatenate([b.points(tag) for b in having])[2]
        inside = at >= 0
        if not inside.any():
            return concatenate(())
        # rows of the clock, ascending, and one value for each
        at = at[inside]
        values = values[inside].astype(np.float64)
        order = np.argsort(at, kind="stable")
        rows, begins, counts = np.unique(at[order], return_index=True, return_counts=True)
        sources = self.sources.values()
        most = any(tag in source.lanes.most for source in sources)
        total = any(tag in source.lanes.total for source in sources)
        found = (np.maximum if most else np.add).reduceat(values[order], begins)
        found = found if most or total else found / counts
        return clock[0][rows], clock[1][rows], found

    def _rows_of(self, branch: Branch, points: Points, clock: Points, lag: float) -> IntArray:
        """(n,) the row of the clock at which each point is, -1 outside of the training."""
        steps, walls, _ = points
        if _is_ordered(branch):
            return np.minimum(np.searchsorted(clock[0], steps, side="right"), len(clock[0]) - 1)

        logged = np.maximum.accumulate(clock[1][np.isfinite(clock[1])])
        if self.sources[branch.path].lanes.local:
            walls = walls + self._shift(branch, float(logged[-1]), lag)
        pause = _OUTSIDE * float(np.diff(logged).max()) if len(logged) > 1 else math.inf
        at = np.minimum(np.searchsorted(logged, walls), len(logged) - 1)
        rows = np.flatnonzero(np.isfinite(clock[1]))[at]
        return np.where((walls >= logged[0] - pause) & (walls <= logged[-1] + pause), rows, -1)

    def _shift(self, branch: Branch, end: float, lag: float) -> float:
        """Seconds from the times of a log to the true ones; ``end``: of the training."""
        # lines of other kinds may have followed before the file changed
        behind = self.sources[branch.path].modified - branch.latest
        shift = quarters(behind)
        if lag < _COPIED_S and (branch.latest < _DATED_S or abs(shift) <= _FARTHEST_S):
            return shift
        return round((end - branch.latest) / _QUARTER_S) * _QUARTER_S


def _is_ordered(branch: Branch) -> bool:
    """Whether rows of the training lie between the rows of a log."""
    return branch.whole is not None and branch.whole.last >= 0


def _is_placed(branch: Branch, clock: Points) -> bool:
    timed = branch.earliest <= branch.latest and np.isfinite(clock[1]).any()
    return _is_ordered(branch) or bool(timed)
