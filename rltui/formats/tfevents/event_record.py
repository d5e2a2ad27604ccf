"""The payload of one event record, parsed as far as scalars need it, and records of scalars only.

Field numbers (tensorflow/tensorboard:tensorboard/compat/proto/{event,summary,tensor}.proto):
Event wall_time=1 step=2 summary=5 session_log=7; Summary value=1; Value tag=1 simple_value=2
tensor=8 metadata=9; SummaryMetadata plugin_data=1; PluginData plugin_name=1 content=2;
TensorProto dtype=1 shape=2 content=4 float_val=5 double_val=6; SessionLog status=1 (START=1).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from struct import Struct, error
from typing import Any, NamedTuple

import numpy as np

from rltui.core.block import IntArray
from rltui.core.record import state
from rltui.formats.tfevents.framing import (
    BYTES,
    FIXED32,
    FIXED64,
    FRAME_BYTES,
    HEADER_BYTES,
    VARINT,
    MalformedError,
    checksum_fits,
    fields,
    integer,
    integer_field,
    last_fields,
    signed,
    varint,
)

_DT_FLOAT = 1
_DT_DOUBLE = 2
_F4 = Struct("<f")
_F8 = Struct("<d")
_I8 = Struct("<q")
_SESSION_START = 1
_SUMMARY_KEY = 0x2A
_VALUE_KEY = 0x0A
_TAG_KEY = 0x0A
_SIMPLE_KEY = 0x15
#: Bytes of the key of simple_value and its float.
_SIMPLE_BYTES = 5
#: What a summary value turned out to be.
FLOAT = "f4"
DOUBLE = "f8"
TENSOR = "tensor"
OTHER = ""
#: Bytes of a number, and its type.
WIDTH = {FLOAT: 4, DOUBLE: 8}
DTYPES: dict[str, Any] = {FLOAT: np.float32, DOUBLE: np.float64}
SCALARS = b"scalars"

_MASK64 = (1 << 64) - 1
#: Doubles of the years 2004 to 2038 that lie a second apart differ by this many units.
SECOND_BITS = 1 << 22


class StepGroup(NamedTuple):
    """Consecutive records with the same step, within a second of the first of them.

    All get the wall time of the first, so that a row needs only one. The rule depends only on
    earlier records, hence not on how a file is split. Wall times are compared as the integers of
    their bits: a second is 2**22 units in the years 2004 to 2038, and more before 2004.
    """

    step: int
    bits: int
    """Bits of the wall time's double as a signed integer."""
    open: bool = True
    """False before the first record."""

    def next(self, step: int, bits: int) -> StepGroup:
        """The group of the next record."""
        if self.open and step == self.step and self.holds(bits):
            return self
        return StepGroup(step, bits)

    def holds(self, bits: int) -> bool:
        """Whether a wall time lies within a second of the group's."""
        return (bits - self.bits + SECOND_BITS - 1) & _MASK64 < 2 * SECOND_BITS - 1

    @property
    def wall(self) -> float:
        """Seconds since the epoch."""
        return float(_F8.unpack(_I8.pack(self.bits))[0])


NO_GROUP = StepGroup(0, 0, False)


def group_walls(steps: IntArray, bits: IntArray, step_group: StepGroup) -> IntArray:
    """Wall time (bits) of the step group of each of these records, which follow ``step_group``."""
    begins = np.ones(len(steps), bool)
    begins[1:] = steps[1:] != steps[:-1]
    begins[0] = not (step_group.open and step_group.step == steps[0])
    if begins.all():
        return bits
    rows = np.arange(len(steps))
    firsts = np.maximum.accumulate(np.where(begins, rows, -1))
    walls = np.where(firsts < 0, step_group.bits, bits[firsts])
    near = (bits - walls + (SECOND_BITS - 1)).view(np.uint64) < 2 * SECOND_BITS - 1
    # records of one step that span more than a second are several groups
    for first in sorted(set(firsts[~near].tolist())):
        segment = rows[np.searchsorted(firsts, first) : np.searchsorted(firsts, first, "right")]
        inner = step_group if first < 0 else NO_GROUP
        for row, wall in zip(segment.tolist(), bits[segment].tolist(), strict=True):
            inner = inner.next(int(steps[row]), wall)
            walls[row] = inner.bits

    return walls


@state
class Value:
    """One ``Summary.Value``. Positions are absolute in the buffer that was parsed."""

    tag: bytes
    kind: str = OTHER
    """FLOAT or DOUBLE: a number at ``pos``; TENSOR: another tensor; OTHER: not a tensor."""
    pos: int = -1
    tensor: tuple[int, int] | None = None
    plugin: bytes | None = None
    content: tuple[int, int] | None = None
    """Span of the plugin's own data."""
    message: tuple[int, int, int] | None = None
    """Field number and span of an image (4) or a histogram (5) that is no tensor."""

    def is_number(self, plugins: Mapping[bytes, bytes]) -> bool:
        """Whether it is a float or double scalar.

        A tensor belongs to the plugin that it names itself, or else to the one that the first
        event of its tag named; without either, its type and shape decide.
        """
        if self.kind not in (FLOAT, DOUBLE):
            return False
        return self.tensor is None or (self.plugin or plugins.get(self.tag, SCALARS)) == SCALARS

    def number_in(self, data: bytes) -> float:
        """The number of a FLOAT or DOUBLE value."""
        return float((_F4 if self.kind == FLOAT else _F8).unpack_from(data, self.pos)[0])


@state
class Event:
    """One event record."""

    bits: int = 0
    """Bits of the wall time's double as a signed integer."""
    step: int = 0
    step_width: int = 0
    """Bytes of the step's varint; 0 when it is omitted."""
    values: list[Value] = field(default_factory=list)
    restart: bool = False
    plain: bool = True
    """Whether it consists of wall time, step and one summary in this order, as templates need."""


def parse_event(data: bytes, pos: int, length: int) -> Event:
    """Parse any event. Raises MalformedError when the payload is not an event."""
    event = Event()
    end = pos + length
    order: list[int] = []
    try:
        for number, wire, start, stop in fields(data, pos, end):
            order.append(number)
            if number == 1 and wire == FIXED64:
                event.bits = _I8.unpack_from(data, start)[0]
            elif number == 2 and wire == VARINT:
                event.step = integer(data, start, stop)
                event.step_width = stop - start
            elif number == 5 and wire == BYTES:
                for inner, kind, a, b in fields(data, start, stop):
                    if inner == 1 and kind == BYTES:
                        event.values.append(_value(data, a, b))
            elif number == 7 and wire == BYTES:
                event.restart = integer_field(data, start, stop, 1) == _SESSION_START
    except (error, IndexError) as problem:
        raise MalformedError(str(problem)) from problem

    event.plain = order in ([1, 2, 5], [1, 5])
    return event


def _value(data: bytes, pos: int, end: int) -> Value:
    value = Value(b"")
    for number, wire, start, stop in fields(data, pos, end):
        if number == 1 and wire == BYTES:
            value.tag = data[start:stop]
        elif number == 2 and wire == FIXED32:
            value.kind = FLOAT
            value.pos = start
        elif number == 8 and wire == BYTES:
            value.tensor = (start, stop)
        elif number == 9 and wire == BYTES:
            own = last_fields(data, start, stop).get((1, BYTES))
            found = last_fields(data, *own) if own else {}
            if (1, BYTES) in found:
                value.plugin = data[slice(*found[1, BYTES])]
            value.content = found.get((2, BYTES))
        elif number in (4, 5) and wire == BYTES:
            value.message = number, start, stop

    if value.tensor is not None and value.kind == OTHER:
        value.kind = TENSOR
        _find_number(data, *value.tensor, value)
    return value


def _find_number(data: bytes, pos: int, end: int, value: Value) -> None:
    """Find the number of a float or double tensor with one element."""
    dtype = 0
    elements = 1
    scalars = []
    for number, wire, start, stop in fields(data, pos, end):
        if number == 1 and wire == VARINT:
            dtype = varint(data, start, stop)[0]
        elif number == 2 and wire == BYTES:
            sizes = (f[2:] for f in fields(data, start, stop) if f[:2] == (2, BYTES))
            elements = math.prod(integer_field(data, a, b, 1) for a, b in sizes)
        elif number in (4, 5, 6) and wire in (BYTES, FIXED32, FIXED64):
            scalars.append((number, start, stop - start))

    own = {_DT_FLOAT: (5, FLOAT), _DT_DOUBLE: (6, DOUBLE)}.get(dtype)
    if own is None or (elements, len(scalars)) != (1, 1):
        return
    number, start, size = scalars[0]
    if number in (4, own[0]) and size == WIDTH[own[1]]:
        value.kind = own[1]
        value.pos = start


class Scalar(NamedTuple):
    """One number of a record."""

    tag: bytes
    kind: str
    """FLOAT or DOUBLE."""
    pos: int
    """Its position in the buffer."""
    number: float


class ScalarSpan(NamedTuple):
    """The position of one record of scalars in the buffer, and its content."""

    start: int
    """Position of the record's header."""
    length: int
    """Bytes of the payload."""
    step: int
    step_width: int
    bits: int
    """The wall time's double as a signed integer."""
    scalars: tuple[Scalar, ...]
    """At least one; no two have the same tag."""
    free: bool = True
    """Whether the record alone shows that it has only scalars, without the records before it."""

    @property
    def key(self) -> tuple[bytes, int]:
        """Key of its template: the first tag and the payload's length."""
        return self.scalars[0].tag, self.length

    @property
    def stop(self) -> int:
        """Position behind the record."""
        return self.start + self.length + FRAME_BYTES


def scalar_at(
    data: bytes, pos: int, length: int, plugins: Mapping[bytes, bytes], verify: bool = False
) -> ScalarSpan | None:
    """The record at ``pos`` when it is wall time, step and float or double scalars.

    ``plugins`` has the plugins that tags named earlier in the file. None for anything else,
    broken payloads included, and, with ``verify``, those with a wrong checksum.
    """
    span = _simple_span(data, pos, length)
    if span is None:
        try:
            event = parse_event(data, pos + HEADER_BYTES, length)
        except MalformedError:
            return None
        values = event.values
        if not event.plain or not all(value.is_number(plugins) for value in values):
            return None
        scalars = tuple(Scalar(v.tag, v.kind, v.pos, v.number_in(data)) for v in values)
        free = all(v.tensor is None or v.plugin == SCALARS for v in values)
        span = ScalarSpan(pos, length, event.step, event.step_width, event.bits, scalars, free)

    count = len(span.scalars)
    if count != 1 and not 0 < len({s.tag for s in span.scalars}) == count:
        return None
    return None if verify and not checksum_fits(data, pos, length) else span


def _simple_span(data: bytes, start: int, length: int) -> ScalarSpan | None:
    """The record at ``start`` if it is exactly wall time, step and ``simple_value`` numbers.

    :func:`parse_event` reads the others. Almost every record has this shape: this is the hot path.
    """
    pos = start + HEADER_BYTES
    end = pos + length
    if length < 20 or data[pos] != 0x09:
        return None
    at = pos + 9
    step = 0
    unpack = _F4.unpack_from
    found: list[Scalar] = []
    try:
        if data[at] == 0x10:
            step, at = varint(data, at + 1, end)
            step = signed(step)
        width = max(0, at - pos - 10)
        if data[at] != _SUMMARY_KEY:
            return None
        size, at = varint(data, at + 1, end)
        if size != end - at:
            return None
        while at < end:
            # a value is its tag and its number; lengths of one byte are the rule
            size = data[at + 1]
            inner = at + 2
            tag = data[at + 3]
            begin = at + 4
            if (size | tag) & 0x80:
                size, inner = varint(data, at + 1, end)
                tag, begin = varint(data, inner + 1, end)
            place = begin + tag
            if (
                data[at] != _VALUE_KEY
                or data[inner] != _TAG_KEY
                or inner + size != place + _SIMPLE_BYTES
                or data[place] != _SIMPLE_KEY
            ):
                return None
            number = unpack(data, place + 1)[0]
            found.append(Scalar(data[begin:place], FLOAT, place + 1, number))
            at = place + _SIMPLE_BYTES
    except (MalformedError, IndexError, error):
        return None
    bits = _I8.unpack_from(data, pos + 1)[0]
    span = ScalarSpan(start, length, step, width, bits, tuple(found))
    return span if at == end else None
