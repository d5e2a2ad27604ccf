"""The payload of one event record, parsed as far as scalars need it.

Field numbers (tensorflow/tensorboard:tensorboard/compat/proto/{event,summary,tensor}.proto):
Event wall_time=1 step=2 summary=5 session_log=7; Summary value=1; Value tag=1 simple_value=2
tensor=8 metadata=9; SummaryMetadata plugin_data=1; PluginData plugin_name=1 content=2;
TensorProto dtype=1 shape=2 content=4 float_val=5 double_val=6; SessionLog status=1 (START=1).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct, error

from rltui.formats.protobuf import (
    BYTES,
    FIXED32,
    FIXED64,
    VARINT,
    MalformedError,
    fields,
    integer,
    integer_field,
    last_fields,
    signed,
    varint,
)

_DT_FLOAT, _DT_DOUBLE = 1, 2
_F4, _F8, _U8 = Struct("<f"), Struct("<d"), Struct("<Q")
_SESSION_START = 1
_SUMMARY_KEY, _VALUE_KEY, _TAG_KEY, _SIMPLE_KEY = 0x2A, 0x0A, 0x0A, 0x15
#: Bytes of the key of simple_value and its float.
_SIMPLE_BYTES = 5

#: What a summary value turned out to be.
FLOAT, DOUBLE, TENSOR, OTHER = "f4", "f8", "tensor", ""


@dataclass(slots=True)
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
    elements: int = 1
    """Number of elements according to the tensor's shape."""


@dataclass(slots=True)
class Event:
    """One event record."""

    wall_bits: int = 0
    """The wall time's double as an integer (its bits)."""
    step: int = 0
    step_width: int = 0
    """Bytes of the step's varint; 0 when it is omitted."""
    values: list[Value] = field(default_factory=list)
    restart: bool = False
    plain: bool = True
    """Whether it consists of wall time, step and one summary in this order, as templates need."""

    @property
    def signed_bits(self) -> int:
        """The wall time's bits as a signed integer."""
        return signed(self.wall_bits)


def parse_simple(
    data: bytes, pos: int, length: int
) -> tuple[int, int, list[tuple[bytes, int]]] | None:
    """(step, width of the step, tag and position of each value) of a ``simple_value`` event.

    None unless it is exactly wall time, step and float values; :func:`parse_event` reads the
    others. Almost every record has this shape: this is the hot path.
    """
    end = pos + length
    if length < 20 or data[pos] != 0x09:
        return None
    at, step = pos + 9, 0
    found: list[tuple[bytes, int]] = []
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
            size, inner, tag = data[at + 1], at + 2, data[at + 3]
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
            found.append((data[begin:place], place + 1))
            at = place + _SIMPLE_BYTES
    except (MalformedError, IndexError):
        return None
    return (step, width, found) if at == end else None


def parse_event(data: bytes, pos: int, length: int) -> Event:
    """Parse any event. Raises MalformedError when the payload is not an event."""
    event, end = Event(), pos + length
    order: list[int] = []
    try:
        for number, wire, start, stop in fields(data, pos, end):
            order.append(number)
            if number == 1 and wire == FIXED64:
                event.wall_bits = _U8.unpack_from(data, start)[0]
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


def number_at(data: bytes, value: Value) -> float:
    """The number of a FLOAT or DOUBLE value."""
    return float((_F4 if value.kind == FLOAT else _F8).unpack_from(data, value.pos)[0])


def _value(data: bytes, pos: int, end: int) -> Value:
    value = Value(b"")
    for number, wire, start, stop in fields(data, pos, end):
        if number == 1 and wire == BYTES:
            value.tag = data[start:stop]
        elif number == 2 and wire == FIXED32:
            value.kind, value.pos = FLOAT, start
        elif number == 8 and wire == BYTES:
            value.tensor = (start, stop)
        elif number == 9 and wire == BYTES:
            _metadata(data, start, stop, value)
    if value.tensor is not None and value.kind == OTHER:
        value.kind = TENSOR
        _tensor(data, *value.tensor, value)
    return value


def _metadata(data: bytes, pos: int, end: int, value: Value) -> None:
    plugin = last_fields(data, pos, end).get((1, BYTES))
    found = last_fields(data, *plugin) if plugin else {}
    if (1, BYTES) in found:
        value.plugin = data[slice(*found[1, BYTES])]
    value.content = found.get((2, BYTES))


def _tensor(data: bytes, pos: int, end: int, value: Value) -> None:
    """Find the number of a float or double tensor with one element."""
    dtype, scalars = 0, []
    for number, wire, start, stop in fields(data, pos, end):
        if number == 1 and wire == VARINT:
            dtype = varint(data, start, stop)[0]
        elif number == 2 and wire == BYTES:
            value.elements = _elements(data, start, stop)
        elif number in (4, 5, 6) and wire in (BYTES, FIXED32, FIXED64):
            scalars.append((number, start, stop - start))
    own = {_DT_FLOAT: (5, 4, FLOAT), _DT_DOUBLE: (6, 8, DOUBLE)}.get(dtype)
    if own is None or value.elements != 1 or len(scalars) != 1:
        return
    number, start, size = scalars[0]
    if number in (4, own[0]) and size == own[1]:
        value.kind, value.pos = own[2], start


def _elements(data: bytes, pos: int, end: int) -> int:
    total = 1
    for number, wire, start, stop in fields(data, pos, end):
        if number == 2 and wire == BYTES:
            total *= integer_field(data, start, stop, 1)
    return total
