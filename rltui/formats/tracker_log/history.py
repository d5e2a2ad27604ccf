"""wandb's history and system records: read row by row, converted in bulk to a few matrices.

The x value of a metric is that of its step metric in the same row, else the last one seen,
else ``_step``. System metrics only have a time: they get the x value of the row before them.
"""

from __future__ import annotations

import math

import numpy as np

from rltui.core.batch import MediaPlace, Restart, TextPoint
from rltui.core.block import Block, FloatArray, IntArray
from rltui.formats.base import MAX_TEXT, NoteBook, clean_tag, clean_text
from rltui.formats.row_sink import RowSink, layout_of
from rltui.formats.tfevents.framing import BYTES, fields, integer_field, last_fields, timestamp
from rltui.formats.tracker_log import wandb_row
from rltui.formats.tracker_log.leveldb import bytes_of
from rltui.formats.tracker_log.media import media_of_row

Points = tuple[tuple[Block | Restart, ...], tuple[TextPoint, ...], tuple[MediaPlace, ...]]
"""Blocks, texts, and places of histograms and images."""
#: Steps are int64.
STEPS = float(1 << 63)
#: Definitions kept at most.
_MAX_EXACT = 1 << 16
_MAX_GLOBS = 1 << 8
_MAX_AXES = 64
_MAX_KNOWN = 1 << 16
#: Shapes of rows remembered at once.
_MAX_SHAPES = 1 << 10


class Axes:
    """The x axis of each metric, ``define_metric(name, step_metric=...)``, and how far the run is.
    Owned by one decoder.

    Without a definition it is ``_step``, the number of the history row. Hugging Face's trainer
    defines ``*`` by ``train/global_step``; the SDK then writes that metric into every row.
    """

    def __init__(self) -> None:
        self._exact: dict[bytes, bytes] = {}
        self._globs: dict[bytes, bytes] = {}
        self._unfit: set[bytes] = set()
        """Step metrics with fractions (epochs), which cannot be steps."""
        self.metrics: set[bytes] = set()
        """Metrics that are the x axis of some metric."""
        self._known: dict[bytes, bytes] = {}
        """Metric -> its x axis, as far as asked."""
        self.last: dict[bytes, float] = {}
        """Newest value of each step metric."""
        self.now = 0.0
        """X value of the newest row; before the first row, the step at which the run continues."""
        self.started = math.nan
        """Start of the run, seconds since the epoch."""

    def define(self, data: bytes, start: int, stop: int) -> None:
        """Read a ``MetricRecord``: name 1, glob_name 2, step_metric 4, control 9 (overwrite 1).

        Raises MalformedError when it is not one.
        """
        found = last_fields(data, start, stop)
        name, glob, axis = (data[slice(*found.get((n, BYTES), (0, 0)))] for n in (1, 2, 4))
        overwrite = integer_field(data, *found.get((9, BYTES), (0, 0)), 1)
        table = self._exact
        most = _MAX_EXACT
        if not name:
            if (2, BYTES) not in found:
                return
            table = self._globs
            name = glob.removesuffix(b"*")
            most = _MAX_GLOBS

        if table.get(name, b"") == axis or not (axis or overwrite) or len(table) >= most:
            return
        if axis and axis != wandb_row.STEP and axis not in self._unfit and axis not in self.metrics:
            if len(self.metrics) + len(self._unfit) >= _MAX_AXES:
                return
            self.metrics.add(axis)

        table[name] = axis
        self._known.clear()

    def unfit(self, axis: bytes) -> None:
        """Stop using ``axis``."""
        self._unfit.add(axis)
        self.metrics.discard(axis)
        self._known.clear()

    def of(self, name: bytes) -> bytes:
        """The x axis of a metric: its own definition, or that of the longest matching glob; of an
        empty name that of metrics without a definition of their own."""
        axis = self._known.get(name)
        if axis is None:
            axis = self._exact.get(name, b"")
            if not axis and self._globs:
                fitting = [g for g in self._globs if name.startswith(g)]
                axis = self._globs[max(fitting, key=len)] if fitting else b""
            if not axis or axis in self._unfit:
                axis = wandb_row.STEP
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            self._known[name] = axis
        return axis


class _Batch:
    """Converts one batch of rows; ``order``: the shape of each row."""

    def __init__(self, order: list[wandb_row.Shape], axes: Axes) -> None:
        self._axes = axes
        self._tables: list[tuple[wandb_row.Shape, IntArray, FloatArray]] = []
        """Each shape, the index of each of its rows in the batch (n,), and their values (n, m)."""
        self._steps = np.full(len(order), math.nan)
        self.dropped = 0
        """Rows left out for broken numbers."""
        where: dict[wandb_row.Shape, list[int]] = {}
        for number, shape in enumerate(order):
            where.setdefault(shape, []).append(number)

        for shape, numbers in where.items():
            index = np.array(numbers)
            values = shape.values()
            if not shape.system:
                fit = np.abs(values[:, shape.column[wandb_row.STEP]]) < STEPS
                self.dropped += len(fit) - int(np.count_nonzero(fit))
                index = index[fit]
                values = values[fit]
                self._steps[index] = values[:, shape.column[wandb_row.STEP]]
            self._tables.append((shape, index, values))

        self._known: dict[bytes, FloatArray] = {wandb_row.STEP: self._steps}
        self._unfit: list[bytes] = []
        newest = np.where(np.isnan(self._steps), math.nan, self.x(axes.of(b"")))
        self._now = _filled(newest, axes.now)

    def x(self, axis: bytes) -> FloatArray:
        """(count,) x value of each history row along ``axis``."""
        known = self._known.get(axis)
        if known is not None:
            return known
        own = np.full(len(self._steps), math.nan)
        for shape, index, values in self._tables:
            if axis in shape.column and not shape.system:
                x = values[:, shape.column[axis]]
                own[index] = np.where(np.abs(x) < STEPS, x, math.nan)

        last = self._axes.last
        filled = _filled(own, last.get(axis, math.nan))
        x = self._known[axis] = np.where(np.isnan(filled), self._steps, filled)
        fractions = np.flatnonzero((own != np.floor(own)) & ~np.isnan(own))
        if len(fractions):
            # an epoch or a time; the points before are near its start, mostly at 0
            self._unfit.append(axis)
            x[fractions[0] :] = self._steps[fractions[0] :]
        elif not math.isnan(filled[-1]):
            last[axis] = float(filled[-1])
        return x

    def emit(self, sink: RowSink) -> None:
        """Add each metric once, its points in the order of the file, and remember how far the
        run is."""
        owners: dict[tuple[bytes, bool], list[int]] = {}
        for number, (shape, _, _) in enumerate(self._tables):
            for name in shape.names:
                if name not in wandb_row.OWN:
                    owners.setdefault((name, shape.system), []).append(number)

        groups: dict[tuple[tuple[int, ...], bytes | None], list[bytes]] = {}
        for (name, system), numbers in owners.items():
            axis = None if system else self._axes.of(name)
            groups.setdefault((tuple(numbers), axis), []).append(name)

        for (several, axis), names in groups.items():
            x = self._now if axis is None else self.x(axis)
            self._emit_group(sink, several, x, names)

        for axis in self._axes.metrics:
            self.x(axis)
        self._axes.now = float(self._now[-1])
        for axis in self._unfit:
            self._axes.unfit(axis)

    def _emit_group(
        self, sink: RowSink, numbers: tuple[int, ...], x: FloatArray, names: list[bytes]
    ) -> None:
        """Add metrics that occur in the same tables."""
        indexes = []
        walls = []
        rows = []
        for shape, index, values in (self._tables[n] for n in numbers):
            column = shape.column
            wall = np.full(len(index), math.nan)  # seconds since the epoch
            if wandb_row.TIME in column:
                wall = np.array(values[:, column[wandb_row.TIME]])
            elif wandb_row.RUNTIME in column:
                wall = values[:, column[wandb_row.RUNTIME]] + self._axes.started
            indexes.append(index)
            walls.append(wall)
            rows.append(values[:, [column[n] for n in names]])

        index = indexes[0]
        wall = walls[0]
        values = rows[0]
        if len(numbers) > 1:
            index = np.concatenate(indexes)
            order = np.argsort(index)
            index = index[order]
            wall = np.concatenate(walls)[order]
            values = np.concatenate(rows)[order]
        if len(index):
            sink.rows(layout_of(tuple(names), np.float64), x[index].astype(np.int64), wall, values)


def _filled(values: FloatArray, before: float) -> FloatArray:
    """NaN replaced by the last number before it."""
    places = np.maximum.accumulate(np.where(np.isnan(values), -1, np.arange(len(values))))
    return np.where(places < 0, before, values[places])


class History:
    """Collects the history and system rows of one file into blocks. Owned by one decoder."""

    def __init__(self, notes: NoteBook) -> None:
        self._notes = notes
        self._sink = RowSink()
        self._axes = Axes()
        self._shapes: dict[tuple[frozenset[bytes], bool], wandb_row.Shape] = {}
        self._templates: dict[frozenset[bytes], wandb_row.RowTemplate] = {}
        self._template: wandb_row.RowTemplate | None = None
        """Template of the previous row."""
        self._find = wandb_row.quick_cells
        self._order: list[wandb_row.Shape] = []
        """The shape of each row that has not been flushed."""
        self._since = 0
        """Position in the file of the first of them."""
        self._new: list[tuple[bytes, TextPoint | MediaPlace]] = []
        """Name -> text, histogram or image of those rows, whose step is the number of its row."""
        self._placed: list[TextPoint | MediaPlace] = []
        """Texts and media with their own steps."""

    def row(self, data: bytes, start: int, stop: int, offset: int) -> None:
        """Read a ``HistoryRecord``. Raises MalformedError when it is not one."""
        if not self._order:
            self._since = offset
        cells = self._find(data, start, stop)
        found = dict(cells)
        template = self._template
        picked = None
        try:
            if template is None or template.size != len(found):
                template = self._templates[frozenset(found)]
            picked = template.pick(found)
        except KeyError:
            template = self._templates.get(frozenset(found))
            picked = template.pick(found) if template is not None else None

        size = stop - start
        if (
            template is None
            or picked is None
            or len(cells) != template.size
            or not (
                wandb_row.is_rest(data, stop, size - picked[1])
                or wandb_row.is_rest(data, stop, size - sum(map(wandb_row.item_bytes, cells)))
            )
        ):
            self._other_row(data, start, stop, offset)
            return

        self._template = template
        template.shape.texts.append(picked[0])
        self._order.append(template.shape)

    def _other_row(self, data: bytes, start: int, stop: int, offset: int) -> None:
        """A row of a new shape, or one that needs the general path."""
        row = wandb_row.read_row(data, start, stop)
        if row.broken:
            self._notes.add(offset, "broken value in a row")
        if wandb_row.STEP not in row.numbers:
            self._notes.add(offset, "row without a step")
            return

        shape = self._add(row.numbers)
        if row.plain and len(shape.names) == len(row.numbers):
            heads = tuple(row.heads[name] for name in shape.names)
            template = wandb_row.RowTemplate(heads, tuple(row.words), shape)
            known = frozenset(heads + tuple(row.words))
            if known in self._templates:
                self._find = wandb_row.all_cells  # the row has heads that the quick pattern misses
            self._templates[known] = self._template = template

        try:
            wall = float(row.numbers.get(wandb_row.TIME, b""))
        except ValueError:
            wall = math.nan

        number = len(self._order) - 1
        for name, text in row.texts.items():
            shown = clean_text(text[:MAX_TEXT])
            self._new.append((name, TextPoint(clean_tag(name), number, wall, shown)))

        size = bytes_of(len(data))
        for name, (kind, _) in media_of_row(data, start, stop).items():
            self._new.append((name, MediaPlace(clean_tag(name), kind, number, offset, size)))

    def _add(self, numbers: dict[bytes, bytes], *, system: bool = False) -> wandb_row.Shape:
        key = (frozenset(numbers), system)
        shape = self._shapes.get(key)
        if shape is None:
            if len(self._shapes) >= _MAX_SHAPES:
                self._flush()
                self._shapes = {}
                self._templates = {}
                self._template = None
            shape = self._shapes[key] = wandb_row.Shape(list(numbers), system=system)
        shape.texts.append(b",".join([numbers[name] for name in shape.names]))
        self._order.append(shape)
        return shape

    def system(self, data: bytes, start: int, stop: int) -> None:
        """Read a ``StatsRecord``: timestamp 2, item 3. Raises MalformedError when it is not one."""
        numbers: dict[bytes, bytes] = {}
        wall = math.nan
        for number, wire, a, b in fields(data, start, stop):
            if number == 2 and wire == BYTES:
                wall = timestamp(data, a, b)
            elif number == 3 and wire == BYTES:
                head, value = wandb_row.item_of(data, a, b)
                name = b".".join(wandb_row.name_of(head)).removeprefix(b"system.")
                if name and wandb_row.NUMBERS.fullmatch(value) and b"," not in value:
                    numbers[b"system/" + name] = value

        if numbers:
            self._add({wandb_row.TIME: wandb_row.token_of(wall), **numbers}, system=True)

    def begin(self, started: float, step: int) -> None:
        """The run began at ``started`` (NaN: unknown) and continues at ``step``."""
        self._flush()
        if not math.isnan(started):
            self._axes.started = started
        if not self._axes.now:
            self._axes.now = float(step)

    def define(self, data: bytes, start: int, stop: int) -> None:
        """Read a ``MetricRecord``. Raises MalformedError when it is not one."""
        self._flush()
        self._axes.define(data, start, stop)

    def points(self) -> Points:
        """Everything since the last call, in file order."""
        self._flush()
        placed = self._placed
        self._placed = []
        texts = tuple(found for found in placed if isinstance(found, TextPoint))
        media = tuple(found for found in placed if isinstance(found, MediaPlace))
        return self._sink.take(), texts, media

    def _flush(self) -> None:
        """Pass the rows to the sink."""
        order = self._order
        self._order = []
        new = self._new
        self._new = []
        if not order:
            return
        batch = _Batch(order, self._axes)
        if batch.dropped:
            self._notes.add(self._since, "row with broken numbers, here or later")

        for name, found in new:
            x = float(batch.x(self._axes.of(name))[found.step])
            if abs(x) < STEPS:
                self._placed.append(found._replace(step=int(x)))
        batch.emit(self._sink)
