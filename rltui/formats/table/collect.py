"""Columns of numbers to blocks, with the step and wall time of each row.

Columns present in the same rows share a block, so that sparse tables (Lightning: one row per
metric) store no empty cells.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from rltui.core.batch import Restart
from rltui.core.block import Block, BoolArray, FloatArray
from rltui.formats.naming import is_ray_gap
from rltui.formats.table.table_column import Columns, TableKind

#: Steps are below this in absolute value.
_STEPS = float(1 << 63)
#: Times beyond this are milliseconds.
_MILLISECONDS_FROM = 1e12


@dataclass(slots=True)
class TableRows:
    """Rows below one header: the values of each numeric column, by position."""

    count: int
    values: dict[int, FloatArray]
    absent: dict[int, BoolArray]
    """Where a column has no value; missing for columns that are complete."""
    walls: FloatArray | None = None
    """Wall times, where the column has them as text."""

    def followed_by(self, rows: TableRows) -> TableRows | None:
        """These rows and others, in arrays of their own; None where they have different columns."""
        if rows.values.keys() != self.values.keys() or (rows.walls is None) != (self.walls is None):
            return None
        values = {i: np.concatenate([x, rows.values[i]]) for i, x in self.values.items()}
        absent = {
            i: np.concatenate([self._absent(i), rows._absent(i)])
            for i in self.absent.keys() | rows.absent.keys()
        }
        walls = None
        if self.walls is not None and rows.walls is not None:
            walls = np.concatenate([self.walls, rows.walls])
        return TableRows(self.count + rows.count, values, absent, walls)

    def _absent(self, column: int) -> BoolArray:
        absent = self.absent.get(column)
        return np.zeros(self.count, np.bool_) if absent is None else absent


class BlockCollector:
    """Makes the blocks of one table; owned by its decoder."""

    def __init__(self) -> None:
        self.items: list[Block | Restart] = []
        self._last_step: int | None = None
        self._again = False
        self._row = 0
        """Rows so far of a table without a step."""
        self._env_steps = 0.0
        self._began = math.nan
        self._clock = -math.inf
        """Of Monitor: steps so far, start of the environment, newest time since then."""

    def header_again(self) -> None:
        """The header was repeated: if the steps go back next, the training restarted."""
        self._again = True

    def environment_began(self, time: float) -> None:
        """The start of the environment, from the comment of a Monitor file."""
        self._began, self._clock = time, -math.inf

    def start_over(self) -> None:
        """Forget the rows so far: they come once more, with another step."""
        self.items, self._last_step, self._row = [], None, 0

    def take(self, columns: Columns, rows: TableRows) -> bool:
        """Store the rows as blocks; False when rows without a step were skipped."""
        steps, has_step = self._steps_in(columns, rows)
        walls, timed = self._walls(columns, rows)
        if not has_step.any():
            return False
        first, last = (int(s) for s in steps[has_step][[0, -1]])
        if self._again:
            self._again = False
            if columns.steps and self._last_step is not None and first <= self._last_step:
                self.items.append(Restart(first))
        self._last_step = last
        for here, numbers in _groups(columns, rows, has_step, timed):
            chosen = [rows.values[columns.metrics[n]][here] for n in numbers]
            tags = tuple(columns.tags[n] for n in numbers)
            whole = steps[here].astype(np.int64)
            self.items.append(Block(tags, whole, walls[here], np.column_stack(chosen)))
        return bool(has_step.all())

    def _steps_in(self, columns: Columns, rows: TableRows) -> tuple[FloatArray, BoolArray]:
        """(count,) steps and (count,) whether the row has one."""
        if not columns.steps:
            begin, self._row = self._row + 1, self._row + rows.count
            return np.arange(begin, begin + rows.count, dtype=np.float64), np.ones(rows.count, bool)
        steps, has_step = np.zeros(rows.count), np.zeros(rows.count, bool)
        for i in columns.steps:
            if i not in rows.values:
                continue
            values = rows.values[i]
            here = ~has_step & (np.abs(values) < _STEPS)
            if i in rows.absent:
                here &= ~rows.absent[i]
            if columns.kind is TableKind.RAY and i != columns.steps[-1]:
                here &= values != 0
            steps[here] = values[here]
            has_step |= here
        if columns.kind is TableKind.MONITOR:
            steps = np.cumsum(np.concatenate(([self._env_steps], steps)))[1:]
            self._env_steps = float(steps[-1])
            has_step &= np.abs(steps) < _STEPS
        return steps, has_step

    def _walls(self, columns: Columns, rows: TableRows) -> tuple[FloatArray, BoolArray]:
        """(count,) wall times, NaN for none, and (count,) whether the wall column has one."""
        if rows.walls is not None:
            return rows.walls, np.ones(rows.count, bool)
        walls, timed = np.full(rows.count, math.nan), np.zeros(rows.count, bool)
        if columns.wall not in rows.values:
            return walls, timed
        values = rows.values[columns.wall]
        if columns.kind is TableKind.MONITOR:
            return self._monitor_walls(values), timed
        scaled = np.where(values > _MILLISECONDS_FROM, values / 1000, values)
        timed = (scaled > 1e9) & (scaled < 1e11)
        if columns.wall in rows.absent:
            timed &= ~rows.absent[columns.wall]
        walls[timed] = scaled[timed]
        return walls, timed

    def _monitor_walls(self, elapsed: FloatArray) -> FloatArray:
        """The start plus the time since then. NaN once that time falls back: another process
        appended, whose start is unknown."""
        walls = self._began + elapsed
        before = np.concatenate(([self._clock], elapsed[:-1]))
        back = np.flatnonzero(elapsed < before)
        if len(back):
            self._began = math.nan
            walls[back[0] :] = math.nan
        self._clock = float(elapsed[-1])
        return walls


def _groups(
    columns: Columns, rows: TableRows, has_step: BoolArray, timed: BoolArray
) -> Iterable[tuple[BoolArray, list[int]]]:
    """(count,) rows, and the metrics (indices of ``columns.metrics``) present in all of them."""
    groups: dict[bytes, tuple[BoolArray, list[int]]] = {}
    for number, column in enumerate(columns.metrics):
        if column not in rows.values:
            continue
        here = has_step
        if column in rows.absent:
            here = here & ~rows.absent[column]
        if column == columns.wall:
            here = here & ~timed
        if columns.kind is TableKind.RAY and is_ray_gap(columns.tags[number], math.nan):
            here = here & ~np.isnan(rows.values[column])
        if here.any():
            groups.setdefault(here.tobytes(), (here, []))[1].append(number)
    return groups.values()
