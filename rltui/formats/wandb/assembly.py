"""Rows of several shapes, in the order of the file, to a few matrices.

The x value of a metric is that of its step metric in the same row, else the last one seen,
else ``_step``. System metrics only have a time: they get the x value of the row before them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from rltui.core.block import BoolArray, FloatArray, IntArray
from rltui.formats.row_sink import RowSink, layout_of
from rltui.formats.wandb.shape import OWN, RUNTIME, TIME, Shape
from rltui.formats.wandb.step_metric import STEP, Axes

#: Steps are int64.
STEPS = float(1 << 63)


@dataclass(slots=True)
class ShapeRows:
    """The rows of one shape."""

    shape: Shape
    index: IntArray
    """(n,) index of each row in the batch."""
    values: FloatArray
    """(n, names of the shape)."""

    def keep(self, fit: BoolArray) -> None:
        """Keep only the rows where ``fit`` (n,) is true."""
        self.index, self.values = self.index[fit], self.values[fit]

    def walls(self, started: float) -> FloatArray:
        """(n,) seconds since the epoch; NaN where unknown."""
        column = self.shape.column
        if TIME in column:
            return np.array(self.values[:, column[TIME]])
        if RUNTIME in column:
            return np.asarray(self.values[:, column[RUNTIME]] + started)
        return np.full(len(self.index), math.nan)


@dataclass(slots=True)
class RunPosition:
    """The position of the run, for later rows without a step metric of their own."""

    last: dict[bytes, float] = field(default_factory=dict)
    """Newest value of each step metric."""
    now: float = 0.0
    """X value of the newest row; before the first row, the step at which the run continues."""
    started: float = math.nan
    """Start of the run, seconds since the epoch."""


def rows_by_shape(order: list[Shape]) -> tuple[list[ShapeRows], int]:
    """Take the rows out of the shapes; ``order``: the shape of each row.

    Also returns the number of rows dropped for broken numbers.
    """
    where: dict[Shape, list[int]] = {}
    for number, shape in enumerate(order):
        where.setdefault(shape, []).append(number)
    tables, dropped = [], 0
    for shape, numbers in where.items():
        table = ShapeRows(shape, np.array(numbers), shape.take())
        if not shape.system:
            fit = np.abs(table.values[:, shape.column[STEP]]) < STEPS
            if not fit.all():
                dropped += len(fit) - int(np.count_nonzero(fit))
                table.keep(fit)
        tables.append(table)
    return tables, dropped


class Assembly:
    """Converts one batch of rows."""

    def __init__(self, tables: list[ShapeRows], count: int, axes: Axes, place: RunPosition) -> None:
        self._tables = tables
        self._axes = axes
        self._place = place
        self._steps = np.full(count, math.nan)
        for table in tables:
            if not table.shape.system:
                self._steps[table.index] = table.values[:, table.shape.column[STEP]]
        self._known: dict[bytes, FloatArray] = {STEP: self._steps}
        self._unfit: list[bytes] = []
        newest = np.where(np.isnan(self._steps), math.nan, self.x(axes.general))
        self._now = _filled(newest, place.now)

    def x(self, axis: bytes) -> FloatArray:
        """(count,) x value of each history row along ``axis``."""
        known = self._known.get(axis)
        if known is None:
            known = self._known[axis] = self._along(axis)
        return known

    def _along(self, axis: bytes) -> FloatArray:
        own = np.full(len(self._steps), math.nan)
        for table in self._tables:
            column = table.shape.column.get(axis)
            if column is not None and not table.shape.system:
                values = table.values[:, column]
                own[table.index] = np.where(np.abs(values) < STEPS, values, math.nan)
        last = self._place.last
        filled = _filled(own, last.get(axis, math.nan))
        x = np.where(np.isnan(filled), self._steps, filled)
        fractions = np.flatnonzero(own != np.floor(own))
        fractions = fractions[~np.isnan(own[fractions])]
        if len(fractions):
            # an epoch or a time; the points before are near its start, mostly at 0
            self._unfit.append(axis)
            x[fractions[0] :] = self._steps[fractions[0] :]
        elif not math.isnan(filled[-1]):
            last[axis] = float(filled[-1])
        return x

    def emit(self, sink: RowSink) -> None:
        """Add each metric once, its points in the order of the file."""
        owners: dict[tuple[bytes, bool], list[int]] = {}
        for number, table in enumerate(self._tables):
            for name in table.shape.names:
                if name not in OWN:
                    owners.setdefault((name, table.shape.system), []).append(number)
        groups: dict[tuple[tuple[int, ...], bytes | None], list[bytes]] = {}
        for (name, system), numbers in owners.items():
            axis = None if system else self._axes.of(name)
            groups.setdefault((tuple(numbers), axis), []).append(name)
        walls = [table.walls(self._place.started) for table in self._tables]
        for (several, axis), names in groups.items():
            x = self._now if axis is None else self.x(axis)
            self._emit_group(sink, several, x, walls, names)

    def _emit_group(
        self,
        sink: RowSink,
        numbers: tuple[int, ...],
        x: FloatArray,
        walls: list[FloatArray],
        names: list[bytes],
    ) -> None:
        tables = [self._tables[n] for n in numbers]
        values = [t.values[:, [t.shape.column[n] for n in names]] for t in tables]
        index, wall, rows = tables[0].index, walls[numbers[0]], values[0]
        if len(tables) > 1:
            index = np.concatenate([t.index for t in tables])
            order = np.argsort(index)
            index = index[order]
            wall = np.concatenate([walls[n] for n in numbers])[order]
            rows = np.concatenate(values)[order]
        if len(index):
            steps = x[index].astype(np.int64)
            sink.rows(layout_of(tuple(names), np.float64), steps, wall, rows)

    def finish(self) -> None:
        """Remember the position of the run."""
        for axis in self._axes.metrics:
            self.x(axis)
        self._place.now = float(self._now[-1])
        for axis in self._unfit:
            self._axes.unfit(axis)


def _filled(values: FloatArray, before: float) -> FloatArray:
    """NaN replaced by the last number before it."""
    places = np.maximum.accumulate(np.where(np.isnan(values), -1, np.arange(len(values))))
    return np.where(places < 0, before, values[places])
