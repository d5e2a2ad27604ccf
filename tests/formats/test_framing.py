"""Records of an event file: checksums as others compute them, and headers among garbage."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui.formats.tfevents.framing import (
    HEADER_BYTES,
    MAX_PAYLOAD,
    crc32c,
    length_crc,
    masked,
    next_header,
    valid_header,
)


def header(length: int) -> bytes:
    return struct.pack("<QI", length, length_crc(length))


@pytest.mark.parametrize(
    ("data", "crc"),
    [
        (b"", 0),
        (b"123456789", 0xE3069283),  # the check value of the catalogue of CRCs
        (bytes(32), 0x8A9136AA),  # these four: RFC 3720, B.4
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(range(31, -1, -1)), 0x113FDB5C),
    ],
    ids=["none", "check", "zeros", "ones", "up", "down"],
)
def test_checksums_of_the_standard(data: bytes, crc: int) -> None:
    assert crc32c(data) == crc
    assert masked(crc32c(data)) == (((crc >> 15) | (crc << 17)) + 0xA282EAD8) % (1 << 32)


def test_a_longer_payload_than_anybody_writes_is_none() -> None:
    assert valid_header(header(MAX_PAYLOAD), 0) == MAX_PAYLOAD == 256 * 1024 * 1024
    assert valid_header(header(MAX_PAYLOAD + 1), 0) == -1
    assert next_header(header(MAX_PAYLOAD + 1), 0) == -1
    assert next_header(b"x" + header(MAX_PAYLOAD), 0) == 1


def test_a_header_counts_only_where_all_of_it_is_there() -> None:
    data = b"?" + header(7)
    assert next_header(data, 0) == 1
    assert next_header(data, 1) == 1
    assert next_header(data, 2) == -1
    assert next_header(data[:-1], 0) == -1
    assert next_header(b"", 0) == -1
    assert next_header(data + data, 2) == len(data) + 1


@pytest.mark.parametrize("gap", [1012, 1013, 1023, 1024, 1035, 3071, 3072, 3073, 700_000])
def test_a_header_on_the_border_of_two_windows_is_found(gap: int) -> None:
    assert next_header(bytes(gap) + header(9), 0) == gap
    assert next_header(b"??" + bytes(gap) + header(9), 2) == gap + 2


PIECES = st.lists(st.binary(max_size=9) | st.integers(0, 300).map(header) | st.just(bytes(12)))


@given(PIECES.map(b"".join), st.integers(0, 20))
def test_the_first_header_is_found(data: bytes, start: int) -> None:
    places = range(start, len(data) - HEADER_BYTES + 1)
    assert next_header(data, start) == next((p for p in places if valid_header(data, p) > 0), -1)
