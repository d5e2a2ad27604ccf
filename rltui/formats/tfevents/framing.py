"""TFRecord framing: length, checksum of the length, payload, checksum of the payload.

Origin: tensorflow/tensorflow:tensorflow/core/lib/io/record_writer.cc. Checksums are CRC-32C
(Castagnoli, reflected polynomial 0x82F63B78), rotated and offset ("masked"). A CRC is linear: that
of a payload is the XOR of what each of its bytes contributes, which depends only on the byte and
its distance from the end. So long payloads, and many at once, take one look-up per byte, in any
order.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from struct import Struct
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from rltui.core.block import BoolArray, IntArray

ByteArray = NDArray[np.uint8]
WordArray = NDArray[np.uint32]
#: length (uint64), masked checksum of its 8 bytes (uint32), little endian.
HEADER = Struct("<QI")
HEADER_BYTES = HEADER.size
#: Bytes of a record besides its payload: the header and the payload's checksum.
FRAME_BYTES = HEADER_BYTES + 4
#: Longer payloads are rejected even when the checksum of the length fits: nobody logs such a
#: record, and waiting for it would hold the whole file in memory.
MAX_PAYLOAD = 1 << 28

_MASK_DELTA = 0xA282EAD8
_Crc = TypeVar("_Crc", int, NDArray[np.uint32])
#: Bytes of a payload that are summed at a time: the table for them takes 4 MB.
MAX_BYTES = 4096
#: Shorter payloads are faster byte by byte.
_SHORT_BYTES = 64
#: Bytes that are searched at one time: the next header is near, or far behind a hole.
_LEAST_WINDOW = 1 << 10
_MOST_WINDOW = 1 << 18
#: Wire types.
VARINT = 0
FIXED64 = 1
BYTES = 2
FIXED32 = 5


#: What each byte contributes to a CRC-32C.
_NP_TABLE: WordArray = np.arange(256, dtype=np.uint32)
for _ in range(8):
    _NP_TABLE = (_NP_TABLE >> 1) ^ (_NP_TABLE & 1) * np.uint32(0x82F63B78)
_TABLE = _NP_TABLE.tolist()


@lru_cache(maxsize=8)
def _table(distances: int) -> WordArray:
    """(256 * distances,) what byte b contributes from distance d to the end, at 256 d + b."""
    table = np.empty((distances, 256), np.uint32)
    table[0] = _NP_TABLE
    for distance in range(1, distances):
        before = table[distance - 1]
        table[distance] = (before >> 8) ^ _NP_TABLE[before & 0xFF]
    return table.reshape(-1)


def _table_of(length: int) -> WordArray:
    """A table for payloads of ``length`` bytes, at most MAX_BYTES."""
    return _table(max(128, 1 << (length - 1).bit_length()))


def crc32c(data: bytes) -> int:
    """CRC-32C of ``data``; 0.1 us a byte for short payloads, about 5 ns for long ones."""
    state = 0xFFFFFFFF
    if len(data) < _SHORT_BYTES:
        table = _TABLE
        for byte in data:
            state = table[(state ^ byte) & 0xFF] ^ (state >> 8)
        return state ^ 0xFFFFFFFF

    content = np.frombuffer(data, np.uint8)
    for begin in range(0, len(data), MAX_BYTES):
        block = content[begin : begin + MAX_BYTES].astype(np.intp)
        for byte in range(min(4, len(block))):
            block[byte] ^= state >> (8 * byte) & 0xFF
        words = _table_of(len(block))
        block += np.arange(256 * (len(block) - 1), -1, -256)
        rest = state >> (8 * len(block)) if len(block) < 4 else 0
        state = int(np.bitwise_xor.reduce(words[block])) ^ rest
    return state ^ 0xFFFFFFFF


def masked(crc: _Crc) -> _Crc:
    """Checksums, one or an array, as they are stored in the file."""
    return ((crc >> 15 | crc << 17) + _MASK_DELTA) & 0xFFFFFFFF  # type: ignore[return-value]


@lru_cache(maxsize=4096)
def length_crc(length: int) -> int:
    """The checksum of a length field as it is stored; cached, since lengths repeat."""
    return masked(crc32c(length.to_bytes(8, "little")))


def valid_header(data: bytes, pos: int) -> int:
    """Payload length of the record at ``pos``, or -1 when there is no record header.

    ``data`` must hold 12 bytes from ``pos`` on.
    """
    length, crc = HEADER.unpack_from(data, pos)
    return length if length <= MAX_PAYLOAD and length_crc(length) == crc else -1


def next_header(data: bytes, start: int) -> int:
    """Position of the first record header at or after ``start``, or -1.

    Only headers whose 12 bytes are in ``data`` are found. Empty payloads are ignored, so that
    a hole of zero bytes is skipped quickly.
    """
    begin = start
    size = _LEAST_WINDOW
    while begin <= len(data) - HEADER_BYTES:
        stop = min(len(data), begin + size + HEADER_BYTES - 1)
        window = np.frombuffer(data, np.uint8, stop - begin, begin)
        count = len(window) - HEADER_BYTES + 1
        # MAX_PAYLOAD < 2**29: the upper three bytes of a length are zero
        high = window[5 : 5 + count] | window[6 : 6 + count] | window[7 : 7 + count]
        low = window[:count] | window[1 : 1 + count] | window[2 : 2 + count] | window[3 : 3 + count]
        places = np.flatnonzero((high == 0) & (low != 0))

        crc = np.full(len(places), 0xFFFFFFFF, np.uint32)
        for offset in range(8):
            crc = _NP_TABLE[(crc ^ window[places + offset]) & 0xFF] ^ (crc >> 8)
        crc = masked(crc ^ np.uint32(0xFFFFFFFF))
        stored = words_of(data)[places + (begin + 8)]
        for place in places[crc == stored].tolist():
            if valid_header(data, begin + place) >= 0:
                return begin + int(place)
        begin += size
        size = min(2 * size, _MOST_WINDOW)

    return -1


def words_of(data: bytes) -> WordArray:
    """(n - 3,) the four bytes from each of n positions on as a number, without a copy."""
    words: WordArray = np.ndarray((len(data) - 3,), "<u4", data, 0, (1,))
    return words


def checksum_fits(data: bytes, pos: int, length: int) -> bool:
    """Whether the payload of the record at ``pos`` has the checksum stored behind it."""
    begin = pos + HEADER_BYTES
    stored = int.from_bytes(data[begin + length : begin + length + 4], "little")
    return masked(crc32c(data[begin : begin + length])) == stored


def checksums_fit(data: bytes, places: IntArray, length: int) -> BoolArray:
    """Whether the payload of each record at ``places`` (n,), all of ``length`` bytes, has the
    checksum stored behind it; about 6 ns a byte."""
    if length > MAX_BYTES:
        return np.array([checksum_fits(data, place, length) for place in places.tolist()], bool)
    windows: ByteArray = np.ndarray((len(data) - length + 1, length), np.uint8, data, 0, (1, 1))
    payload = places + HEADER_BYTES
    columns = np.ascontiguousarray(windows[payload].T)
    table = _table_of(length)
    crcs = np.full(len(places), crc32c(bytes(length)), np.uint32)
    for column, content in enumerate(columns):
        begin = 256 * (length - 1 - column)
        crcs ^= table[begin : begin + 256].take(content, mode="clip")

    same: BoolArray = masked(crcs) == words_of(data)[payload + length]
    return same


def is_intact(data: bytes, pos: int, length: int) -> bool:
    """Whether the record at ``pos`` is followed by another one, or has the right checksum.

    This catches what a crash leaves behind: a record whose end is missing, or lies in a hole of
    zeros, so that its length reaches into whatever was written next.
    """
    stop = pos + length + FRAME_BYTES
    if len(data) - stop >= HEADER_BYTES and valid_header(data, stop) >= 0:
        return True
    return checksum_fits(data, pos, length)


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
        number = key >> 3
        wire = key & 7
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
