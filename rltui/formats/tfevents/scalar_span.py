"""Single scalar records, and runs of them, found one by one."""

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


class ScalarSpan(NamedTuple):
    """The position of one scalar record in the buffer, and its content."""

    start: int
    """Position of the record's header."""
    length: int
    """Bytes of the payload."""
    tag: bytes
    kind: str
    value_pos: int
    step: int
    step_width: int
    bits: int
    """The wall time's double as a signed integer."""
    value: float
    free: bool = True
    """Whether the record alone shows that it is a scalar, without the records before it."""

    @property
    def stop(self) -> int:
        """Position behind the record."""
        return self.start + self.length + FRAME_BYTES


def scalar_at(
    data: bytes, pos: int, length: int, plugins: Mapping[bytes, bytes], verify: bool = False
) -> ScalarSpan | None:
    """The record at ``pos`` when it is wall time, step and one float or double scalar.

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
        tag, step, width, place = simple
        bits = _I8.unpack_from(data, payload + 1)[0]
        number = _F4.unpack_from(data, place)[0]
        return ScalarSpan(pos, length, tag, FLOAT, place, step, width, bits, number)
    try:
        event = parse_event(data, payload, length)
    except MalformedError:
        return None
    if not event.plain or not is_number(event.values[0], plugins):
        return None
    value, bits = event.values[0], event.signed_bits
    return ScalarSpan(
        pos,
        length,
        value.tag,
        value.kind,
        value.pos,
        event.step,
        event.step_width,
        bits,
        number_at(data, value),
        value.plugin == SCALARS,
    )


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
    """Consecutive scalar records of one step group with distinct tags."""

    step_group: StepGroup
    scalars: list[ScalarSpan] = field(default_factory=list)
    torn: bool = False
    """Whether it ended because the data ended."""

    @property
    def size(self) -> int:
        """Bytes from the first record to behind the last."""
        return self.scalars[-1].stop - self.scalars[0].start


def collect_run(
    data: bytes,
    scalar: ScalarSpan,
    step_group: StepGroup,
    plugins: Mapping[bytes, bytes],
    verify: bool,
) -> ScalarRun:
    """The run that begins with the intact record ``scalar``; ``step_group`` precedes it."""
    run = ScalarRun(step_group.next(scalar.step, scalar.bits), [scalar])
    step_group, width, tags, end = run.step_group, scalar.step_width, {scalar.tag}, len(data)
    while True:
        pos = scalar.stop
        length = valid_header(data, pos) if end - pos >= HEADER_BYTES else -1
        run.torn = end - pos < HEADER_BYTES or (length >= 0 and pos + length + FRAME_BYTES > end)
        if length < 0 and len(run.scalars) > 1 and not is_intact(data, scalar.start, scalar.length):
            run.scalars.pop()
        if length < 0 or run.torn:
            return run
        following = scalar_at(data, pos, length, plugins, verify)
        if (
            following is None
            or following.tag in tags
            or following.step != step_group.step
            or following.step_width != width
            or not step_group.holds(following.bits)
        ):
            return run
        scalar = following
        tags.add(scalar.tag)
        run.scalars.append(scalar)
