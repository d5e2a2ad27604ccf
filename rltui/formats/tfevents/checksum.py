"""Checksums of payloads, of long ones or of many records at once.

A CRC is linear: that of a payload is the XOR of what each of its bytes contributes, which depends
only on the byte and its distance from the end. So it takes one look-up per byte, in any order.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from rltui.core.block import BoolArray, IntArray
from rltui.formats.tfevents.framing import (
    FRAME_BYTES,
    HEADER_BYTES,
    TABLE,
    crc32c,
    masked,
    valid_header,
)

ByteArray = NDArray[np.uint8]
WordArray = NDArray[np.uint32]

#: Bytes of a payload that are summed at a time: the table for them takes 4 MB.
MAX_BYTES = 4096
#: Shorter payloads are faster byte by byte.
_SHORT_BYTES = 64


@lru_cache(maxsize=8)
def _table(distances: int) -> WordArray:
    """(256 * distances,) what byte b contributes from distance d to the end, at 256 d + b."""
    table = np.empty((distances, 256), np.uint32)
    first = table[0] = np.array(TABLE, np.uint32)
    for distance in range(1, distances):
        before = table[distance - 1]
        table[distance] = (before >> 8) ^ first[before & 0xFF]
    return table.reshape(-1)


def _table_of(length: int) -> WordArray:
    """A table for payloads of ``length`` bytes, at most MAX_BYTES."""
    return _table(max(128, 1 << (length - 1).bit_length()))


def _long_crc(data: bytes) -> int:
    """CRC-32C of ``data``, about 5 ns a byte."""
    if len(data) < _SHORT_BYTES:
        return crc32c(data)
    content = np.frombuffer(data, np.uint8)
    state = 0xFFFFFFFF
    for begin in range(0, len(data), MAX_BYTES):
        block = content[begin : begin + MAX_BYTES].astype(np.intp)
        for byte in range(min(4, len(block))):
            block[byte] ^= state >> (8 * byte) & 0xFF
        table = _table_of(len(block))
        block += np.arange(256 * (len(block) - 1), -1, -256)
        rest = state >> (8 * len(block)) if len(block) < 4 else 0
        state = int(np.bitwise_xor.reduce(table[block])) ^ rest
    return state ^ 0xFFFFFFFF


def checksum_fits(data: bytes, pos: int, length: int) -> bool:
    """Whether the payload of the record at ``pos`` has the checksum stored behind it."""
    begin = pos + HEADER_BYTES
    stored = int.from_bytes(data[begin + length : begin + length + 4], "little")
    return masked(_long_crc(data[begin : begin + length])) == stored


def checksums_fit(data: bytes, places: IntArray, length: int) -> BoolArray:
    """The same for each record at ``places`` (n,), all with payloads of ``length`` bytes; about
    6 ns a byte."""
    if length > MAX_BYTES:
        return np.array([checksum_fits(data, place, length) for place in places.tolist()], bool)
    windows: ByteArray = np.ndarray((len(data) - length + 1, length), np.uint8, data, 0, (1, 1))
    words: WordArray = np.ndarray((len(data) - 3,), "<u4", data, 0, (1,))
    payload = places + HEADER_BYTES
    columns = np.ascontiguousarray(windows[payload].T)
    table = _table_of(length)
    crcs = np.full(len(places), crc32c(bytes(length)), np.uint32)
    for column, content in enumerate(columns):
        begin = 256 * (length - 1 - column)
        crcs ^= table[begin : begin + 256].take(content, mode="clip")
    same: BoolArray = masked(crcs) == words[payload + length]
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
