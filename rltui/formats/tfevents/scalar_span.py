"""Records of nothing but scalars, and runs of them, found one by one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from struct import Struct
from typing import NamedTuple

from rltui.formats.protobuf import MalformedError
from rltui.formats.tfevents.checksum import checksum_fits, is_intact
from rltui.formats.tfevents.event_record import (
    DOUBLE,
    FLOAT,
    Value,
    number_at,
    parse_event,
    parse_simple,
)
from rltui.formats.tfevents.framing import FRAME_BYTES, HEADER_BYTES, valid_header

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
