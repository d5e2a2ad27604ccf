"""Protobuf's wire format: varints and the fields of a message. Knows no message.

See https://protobuf.dev/programming-guides/encoding.
"""

from __future__ import annotations

from collections.abc import Iterator

#: Wire types.
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class MalformedError(ValueError):
    """The bytes are not the message that was expected."""


def varint(data: bytes, pos: int, end: int) -> tuple[int, int]:
    """(value, position behind it). Raises MalformedError when it is torn or too long."""
    value = shift = 0
    while pos < end:
        byte = data[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, pos
        shift += 7
        if shift > 63:
            break

    raise MalformedError("broken varint")


def signed(value: int) -> int:
    """A 64-bit varint as a signed integer."""
    return value - (1 << 64) if value >> 63 else value


def integer(data: bytes, start: int, stop: int) -> int:
    """The signed integer of a varint field between two positions."""
    return signed(varint(data, start, stop)[0])


def encoded(value: int) -> bytes:
    """A non-negative integer as a varint."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def fields(data: bytes, pos: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """(field number, wire type, start, end) of each field of the message in ``data[pos:end]``.

    The span of a varint is its bytes, that of a length-delimited field its content.
    Raises MalformedError where the message is broken, after the fields before it.
    """
    while pos < end:
        key, pos = varint(data, pos, end)
        number, wire = key >> 3, key & 7
        start = pos
        if wire == VARINT:
            _, pos = varint(data, pos, end)
        elif wire == BYTES:
            length, start = varint(data, pos, end)
            pos = start + length
        elif wire == FIXED32:
            pos += 4
        elif wire == FIXED64:
            pos += 8
        else:
            raise MalformedError(f"wire type {wire}")
        if pos > end or not number:
            raise MalformedError("field beyond the end")
        yield number, wire, start, pos


def last_fields(data: bytes, start: int, stop: int) -> dict[tuple[int, int], tuple[int, int]]:
    """(field number, wire type) -> (start, end) of the last such field of a message.

    Raises MalformedError when the message is broken.
    """
    return {(number, wire): (a, b) for number, wire, a, b in fields(data, start, stop)}


def integer_field(data: bytes, start: int, stop: int, number: int) -> int:
    """The varint field of this number in a message; 0 when it is omitted."""
    found = last_fields(data, start, stop).get((number, VARINT))
    return integer(data, *found) if found else 0


def timestamp(data: bytes, start: int, stop: int) -> float:
    """A ``google.protobuf.Timestamp`` as seconds since the epoch."""
    seconds, nanos = (integer_field(data, start, stop, number) for number in (1, 2))
    return seconds + nanos / 1e9
