"""Follows the rows of a run together with its system metrics, which have a table of their own.

System metrics have a time and no step: they get the step of the row that was logged before them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from rltui.core.block import Block, FloatArray, IntArray
from rltui.formats.base import Decoded
from rltui.trackers.base import Followed, Follower


class StepsByTime:
    """The step that a run had reached at a time."""

    def __init__(self) -> None:
        self._walls: FloatArray = np.empty(0)
        """Ascending, seconds since the epoch."""
        self._steps: IntArray = np.empty(0, np.int64)

    def add(self, decoded: Decoded) -> None:
        """Rows that were logged after those of the call before."""
        blocks = [b for b in decoded.items if isinstance(b, Block)]
        if blocks:
            walls = np.concatenate([self._walls, *(b.wall_times for b in blocks)])
            self._walls = np.fmax.accumulate(walls)
            self._steps = np.concatenate([self._steps, *(b.steps for b in blocks)])

    def dated(self, decoded: Decoded) -> Decoded:
        """``decoded`` with the steps of its times; rows before the first step get that one."""
        if not len(self._steps):
            return replace(decoded, items=())
        return replace(decoded, items=tuple(map(self._dated, decoded.items)))

    def _dated(self, item: object) -> Block:
        assert isinstance(item, Block)
        places = np.searchsorted(self._walls, item.wall_times, "right") - 1
        return replace(item, steps=self._steps[np.maximum(places, 0)])


class SystemRowFollower:
    """One run with its system metrics; see :class:`rltui.trackers.base.Follower`."""

    def __init__(self, rows: Callable[[], Follower], system: Callable[[], Follower]) -> None:
        """Both return a fresh follower of their table."""
        self._make = rows, system
        self._rows, self._system = rows(), system()
        self._steps = StepsByTime()
        self._tags: frozenset[str] = frozenset()
        """The system metrics so far."""
        self._gone = False

    @property
    def offset(self) -> int:
        return self._rows.offset + self._system.offset

    @property
    def size(self) -> int:
        return self._rows.size + self._system.size

    @property
    def modified(self) -> float:
        return max(self._rows.modified, self._system.modified)

    def poll(self, budget_bytes: int) -> Followed:
        """As of the protocol; system metrics follow when all rows before them were read."""
        rows = self._rows.poll(budget_bytes)
        if rows.restarted:
            self._steps, self._system = StepsByTime(), self._make[1]()
        self._steps.add(rows.decoded)
        self._gone = rows.gone or (self._gone and not rows.changed)
        if rows.more or self._gone:
            return rows
        system = self._system.poll(budget_bytes)
        if system.restarted:
            return self._again(system, budget_bytes)
        return self._joined(rows, system)

    def _again(self, system: Followed, budget_bytes: int) -> Followed:
        """System metrics that were read are not there any more: read all from the start."""
        self._rows, self._system = (make() for make in self._make)
        self._steps = StepsByTime()
        fresh = self._rows.poll(budget_bytes)
        self._steps.add(fresh.decoded)
        notes = system.notes + fresh.notes
        return replace(fresh, more=True, restarted=True, notes=notes, changed=True)

    def _joined(self, rows: Followed, system: Followed) -> Followed:
        """Both; trouble with the store as a whole is reported by the rows alone."""
        if not system.decoded.records:
            return replace(rows, more=True) if system.more else rows
        dated = self._steps.dated(system.decoded)
        self._tags = self._tags.union(*(b.tags for b in dated.items if isinstance(b, Block)))
        decoded = rows.decoded.then(replace(dated, guessed=self._tags))
        notes = rows.notes + system.notes
        return replace(rows, decoded=decoded, more=system.more, notes=notes, changed=True)
