"""Reads wandb's history and system records row by row; converts them in bulk."""

from __future__ import annotations

import math

from rltui.core.batch import Restart, TextPoint
from rltui.core.block import Block
from rltui.formats.base import MAX_TEXT, NoteBook, clean_tag, clean_text
from rltui.formats.protobuf import BYTES, fields, timestamp
from rltui.formats.row_sink import RowSink
from rltui.formats.tracker_log.assembly import STEPS, Assembly, Axes
from rltui.formats.tracker_log.wandb_row import (
    NUMBERS,
    STEP,
    TIME,
    RowTemplate,
    Shape,
    all_cells,
    is_rest,
    item_bytes,
    item_of,
    name_of,
    quick_cells,
    read_row,
    token_of,
)

#: Shapes of rows remembered at once.
_MAX_SHAPES = 1 << 10


class History:
    """Owned by one decoder."""

    def __init__(self, notes: NoteBook) -> None:
        self._notes = notes
        self._sink = RowSink()
        self._axes = Axes()
        self._shapes: dict[tuple[frozenset[bytes], bool], Shape] = {}
        self._templates: dict[frozenset[bytes], RowTemplate] = {}
        self._template: RowTemplate | None = None
        """That of the previous row."""
        self._find = quick_cells
        self._order: list[Shape] = []
        """The shape of each row that has not been flushed."""
        self._since = 0
        """Position in the file of the first of them."""
        self._new_texts: list[tuple[int, bytes, float, str]] = []
        """(row number, name, wall time, text) of those rows."""
        self._texts: list[TextPoint] = []

    def row(self, data: bytes, start: int, stop: int, offset: int) -> None:
        """Read a ``HistoryRecord``. Raises MalformedError when it is not one."""
        if not self._order:
            self._since = offset
        cells = self._find(data, start, stop)
        found = dict(cells)
        template, picked = self._template, None
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
                is_rest(data, stop, size - picked[1])
                or is_rest(data, stop, size - sum(map(item_bytes, cells)))
            )
        ):
            self._other_row(data, start, stop, offset)
            return
        self._template = template
        template.shape.texts.append(picked[0])
        self._order.append(template.shape)

    def _other_row(self, data: bytes, start: int, stop: int, offset: int) -> None:
        """A row of a new shape, or one that needs the general path."""
        row = read_row(data, start, stop)
        if row.broken:
            self._notes.add(offset, "broken value in a row")
        if STEP not in row.numbers:
            self._notes.add(offset, "row without a step")
            return
        shape = self._add(row.numbers)
        if row.plain and len(shape.names) == len(row.numbers):
            heads = tuple(row.heads[name] for name in shape.names)
            template = RowTemplate(heads, tuple(row.words), shape)
            known = frozenset(heads + tuple(row.words))
            if known in self._templates:
                self._find = all_cells  # the row has heads that the quick pattern misses
            self._templates[known] = self._template = template
        try:
            wall = float(row.numbers.get(TIME, b""))
        except ValueError:
            wall = math.nan
        for name, text in row.texts.items():
            place = len(self._order) - 1
            self._new_texts.append((place, name, wall, clean_text(text[:MAX_TEXT])))

    def _add(self, numbers: dict[bytes, bytes], *, system: bool = False) -> Shape:
        key = (frozenset(numbers), system)
        shape = self._shapes.get(key)
        if shape is None:
            if len(self._shapes) >= _MAX_SHAPES:
                self._flush()
                self._shapes, self._templates, self._template = {}, {}, None
            shape = self._shapes[key] = Shape(list(numbers), system=system)
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
                head, value = item_of(data, a, b)
                name = b".".join(name_of(head)).removeprefix(b"system.")
                if name and NUMBERS.fullmatch(value) and b"," not in value:
                    numbers[b"system/" + name] = value
        if numbers:
            self._add({TIME: token_of(wall), **numbers}, system=True)

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

    def points(self) -> tuple[tuple[Block | Restart, ...], tuple[TextPoint, ...]]:
        """Blocks and texts since the last call, in file order."""
        self._flush()
        texts, self._texts = tuple(self._texts), []
        return self._sink.take(), texts

    def _flush(self) -> None:
        """Pass the rows to the sink."""
        order, self._order = self._order, []
        texts, self._new_texts = self._new_texts, []
        if not order:
            return
        assembly = Assembly(order, self._axes)
        if assembly.dropped:
            self._notes.add(self._since, "row with broken numbers, here or later")
        assembly.emit(self._sink)
        for number, name, wall, text in texts:
            x = float(assembly.x(self._axes.of(name))[number])
            if abs(x) < STEPS:
                self._texts.append(TextPoint(clean_tag(name), int(x), wall, text))
        assembly.finish()
