"""The payload of one event record, parsed as far as scalars need it.

Field numbers (tensorflow/tensorboard:tensorboard/compat/proto/{event,summary,tensor}.proto):
Event wall_time=1 step=2 summary=5 session_log=7; Summary value=1; Value tag=1 simple_value=2
tensor=8 metadata=9; SummaryMetadata plugin_data=1; PluginData plugin_name=1 content=2;
TensorProto dtype=1 shape=2 content=4 float_val=5 double_val=6; SessionLog status=1 (START=1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from struct import Struct, error
from typing import NamedTuple

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
from rltui.formats.tfevents.framing import (
    FRAME_BYTES,
    HEADER_BYTES,
    checksum_fits,
    is_intact,
    valid_header,
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


SCALARS = b"scalars"
#: Bytes of a number.
WIDTH = {FLOAT: 4, DOUBLE: 8}
_F4, _F8, _I8 = Struct("<f"), Struct("<d"), Struct("<q")
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
        """What a template for it is found by: the first tag and the payload's length."""
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
    scalar = _scalar_at(data, pos, length, plugins)
    return None if scalar is None or (verify and not checksum_fits(data, pos, length)) else scalar


def _scalar_at(
    data: bytes, pos: int, length: int, plugins: Mapping[bytes, bytes]
) -> ScalarSpan | None:
    payload = pos + HEADER_BYTES
    simple = parse_simple(data, payload, length)
    if simple is not None:
        step, width, found = simple
        bits = _I8.unpack_from(data, payload + 1)[0]
        unpack = _F4.unpack_from
        scalars = tuple([Scalar(tag, FLOAT, at, unpack(data, at)[0]) for tag, at in found])
        span = ScalarSpan(pos, length, step, width, bits, scalars)
        return span if _are_distinct(scalars) else None
    try:
        event = parse_event(data, payload, length)
    except MalformedError:
        return None
    if not event.plain or not all(is_number(value, plugins) for value in event.values):
        return None
    scalars = tuple(Scalar(v.tag, v.kind, v.pos, number_at(data, v)) for v in event.values)
    free = all(v.tensor is None or v.plugin == SCALARS for v in event.values)
    span = ScalarSpan(pos, length, event.step, event.step_width, event.signed_bits, scalars, free)
    return span if _are_distinct(scalars) else None


def _are_distinct(scalars: tuple[Scalar, ...]) -> bool:
    """Whether there are any and no two have the same tag."""
    return len(scalars) == 1 or 0 < len({s.tag for s in scalars}) == len(scalars)


def is_number(value: Value, plugins: Mapping[bytes, bytes]) -> bool:
    """Whether a value is a float or double scalar.

    A tensor belongs to the plugin that it names itself, or else to the one that the first
    event of its tag named; without either, its type and shape decide.
    """
    if value.kind not in (FLOAT, DOUBLE):
        return False
    if value.tensor is None:
        return True
    return (value.plugin or plugins.get(value.tag, SCALARS)) == SCALARS


@dataclass(slots=True)
class ScalarRun:
    """Consecutive records of scalars of one step group with distinct tags."""

    step_group: StepGroup
    spans: list[ScalarSpan] = field(default_factory=list)
    torn: bool = False
    """Whether it ended because the data ended."""

    @property
    def size(self) -> int:
        """Bytes from the first record to behind the last."""
        return self.spans[-1].stop - self.spans[0].start

    @property
    def scalars(self) -> list[Scalar]:
        """The numbers of all records."""
        return [scalar for span in self.spans for scalar in span.scalars]


def collect_run(
    data: bytes,
    span: ScalarSpan,
    step_group: StepGroup,
    plugins: Mapping[bytes, bytes],
    verify: bool,
) -> ScalarRun:
    """The run that begins with the intact record ``span``; ``step_group`` precedes it."""
    run = ScalarRun(step_group.next(span.step, span.bits), [span])
    step_group, width, end = run.step_group, span.step_width, len(data)
    tags = {scalar.tag for scalar in span.scalars}
    while True:
        pos = span.stop
        length = valid_header(data, pos) if end - pos >= HEADER_BYTES else -1
        run.torn = end - pos < HEADER_BYTES or (length >= 0 and pos + length + FRAME_BYTES > end)
        if length < 0 and len(run.spans) > 1 and not is_intact(data, span.start, span.length):
            run.spans.pop()
        if length < 0 or run.torn:
            return run
        following = scalar_at(data, pos, length, plugins, verify)
        if (
            following is None
            or not tags.isdisjoint(more := [scalar.tag for scalar in following.scalars])
            or following.step != step_group.step
            or following.step_width != width
            or not step_group.holds(following.bits)
        ):
            return run
        span = following
        tags.update(more)
        run.spans.append(span)
