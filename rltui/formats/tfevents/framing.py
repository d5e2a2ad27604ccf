"""TFRecord framing: length, checksum of the length, payload, checksum of the payload.

Origin: tensorflow/tensorflow:tensorflow/core/lib/io/record_writer.cc. Checksums are CRC-32C
(Castagnoli, reflected polynomial 0x82F63B78), rotated and offset ("masked").
"""

from __future__ import annotations

from functools import lru_cache
from struct import Struct
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

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


def _make_table() -> tuple[int, ...]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return tuple(table)


#: What each byte contributes to a CRC-32C.
TABLE = _make_table()


def crc32c(data: bytes) -> int:
    """CRC-32C of ``data``; about 0.1 us a byte, so for short payloads only (see checksum)."""
    table, crc = TABLE, 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def masked(crc: _Crc) -> _Crc:
    """Checksums, one or an array, as they are stored in the file."""
    return ((crc >> 15 | crc << 17) + _MASK_DELTA) & 0xFFFFFFFF  # type: ignore[return-value]


def masked_crc(data: bytes) -> int:
    """The checksum of ``data`` as it is stored in the file."""
    return masked(crc32c(data))


@lru_cache(maxsize=4096)
def length_crc(length: int) -> int:
    """The checksum of a length field; cached, since lengths repeat."""
    return masked_crc(length.to_bytes(8, "little"))


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
    begin, window = start, _LEAST_WINDOW
    while begin <= len(data) - HEADER_BYTES:
        stop = min(len(data), begin + window + HEADER_BYTES - 1)
        found = _first_in(data, begin, stop)
        if found >= 0:
            return found
        begin, window = begin + window, min(2 * window, _MOST_WINDOW)
    return -1


#: Bytes that are searched at one time: the next header is near, or far behind a hole.
_LEAST_WINDOW, _MOST_WINDOW = 1 << 10, 1 << 18


def _first_in(data: bytes, begin: int, stop: int) -> int:
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
    stored = np.zeros(len(places), np.uint32)
    for offset in range(4):
        stored |= window[places + 8 + offset].astype(np.uint32) << (8 * offset)
    for place in places[crc == stored].tolist():
        if valid_header(data, begin + place) >= 0:
            return begin + int(place)
    return -1


_NP_TABLE: NDArray[np.uint32] = np.array(TABLE, np.uint32)
