"""Checksums of payloads, many bytes or many records at once.

A CRC is linear: that of a payload is the XOR of what each of its bytes contributes, which
depends on the byte and its distance from the end only. So it is a look-up per byte in any
order, and for records that repeat only the bytes that change need one.
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
    valid_header,
)

ByteArray = NDArray[np.uint8]
WordArray = NDArray[np.uint32]

#: Longest distance from the end that the table holds; longer payloads are taken in blocks.
_BLOCK_BYTES = 4096
#: Shorter payloads are faster byte by byte.
_SHORT_BYTES = 64
_DELTA = np.uint32(0xA282EAD8)


@lru_cache(maxsize=8)
def _table(distances: int) -> WordArray:
    """(256 * distances,) what byte b contributes from distance d to the end, at 256 d + b."""
    table = np.empty((distances, 256), np.uint32)
    first = table[0] = np.array(TABLE, np.uint32)
    for distance in range(1, distances):
        before = table[distance - 1]
        table[distance] = (before >> 8) ^ first[before & 0xFF]
    return table.reshape(-1)


def table_of(length: int) -> WordArray:
    """A table that is good for payloads of ``length`` bytes (at most _BLOCK_BYTES)."""
    rounded = 128
    while rounded < length:
        rounded *= 2
    return _table(rounded)


@lru_cache(maxsize=4096)
def of_zeros(length: int) -> int:
    """The CRC-32C of so many zero bytes: what a payload has beside its bytes' share."""
    return crc32c(bytes(length))


def long_crc(data: bytes) -> int:
    """CRC-32C of ``data``, about 5 ns a byte."""
    if len(data) < _SHORT_BYTES:
        return crc32c(data)
    content = np.frombuffer(data, np.uint8)
    state = 0xFFFFFFFF
    for begin in range(0, len(data), _BLOCK_BYTES):
        block = content[begin : begin + _BLOCK_BYTES].astype(np.intp)
        for byte in range(min(4, len(block))):
            block[byte] ^= state >> (8 * byte) & 0xFF
        table = table_of(len(block))
        block += np.arange(256 * (len(block) - 1), -1, -256)
        rest = state >> (8 * len(block)) if len(block) < 4 else 0
        state = int(np.bitwise_xor.reduce(table[block])) ^ rest
    return state ^ 0xFFFFFFFF


def fits(data: bytes, pos: int, length: int) -> bool:
    """Whether the payload of the record at ``pos`` has the checksum that follows it."""
    begin = pos + HEADER_BYTES
    told = int.from_bytes(data[begin + length : begin + length + 4], "little")
    crc = long_crc(data[begin : begin + length])
    return ((crc >> 15 | crc << 17) + int(_DELTA)) & 0xFFFFFFFF == told


def believed(data: bytes, pos: int, length: int) -> bool:
    """Whether the record at ``pos`` is followed by another one, or has the right checksum.

    Looked at is what a crash leaves: a record of which the end is missing reaches into what
    was written behind it, and so does one whose end lies in a hole of zeros.
    """
    stop = pos + length + FRAME_BYTES
    if len(data) - stop >= HEADER_BYTES and valid_header(data, stop) >= 0:
        return True
    return fits(data, pos, length)


def told_crcs(data: bytes, places: IntArray, length: int) -> WordArray:
    """(n,) the checksums that follow the payloads at ``places``, as they stand in the file."""
    words: WordArray = np.ndarray((len(data) - 3,), "<u4", data, 0, (1,))
    return words[places + (HEADER_BYTES + length)]


def fit(payloads: ByteArray, told: WordArray) -> BoolArray:
    """(n,) whether payloads (n, length) of one length have the checksums ``told``."""
    length = payloads.shape[1]
    table = table_of(length)
    crcs = np.full(len(payloads), of_zeros(length), np.uint32)
    for column in range(length):
        begin = 256 * (length - 1 - column)
        crcs ^= table[begin : begin + 256][payloads[:, column]]
    same: BoolArray = crcs == unmasked(told)
    return same


def unmasked(told: WordArray) -> WordArray:
    """The plain checksums of masked ones."""
    turned = told - _DELTA
    plain: WordArray = (turned >> np.uint32(17)) | (turned << np.uint32(15))
    return plain
