"""Records of an event file: checksums as others compute them, and headers among garbage."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui.formats.tfevents import framing
from rltui.formats.tfevents.framing import (
    FRAME_BYTES,
    HEADER_BYTES,
    MAX_PAYLOAD,
    crc32c,
    length_crc,
    masked,
    masked_crc,
    next_header,
    valid_header,
)
from tests.places import FIXTURES


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
    assert masked_crc(data) == (((crc >> 15) | (crc << 17)) + 0xA282EAD8) % (1 << 32)


def test_the_table_is_that_of_the_polynomial() -> None:
    """Bytes as polynomials over GF(2), reflected, times x^8 modulo Castagnoli's."""

    def remainder(value: int) -> int:
        for _ in range(8):
            value = value >> 1 if value % 2 == 0 else (value >> 1) ^ 0x82F63B78
        return value

    assert framing._make_table() == framing.TABLE == tuple(map(remainder, range(256)))


def test_many_checksums_are_masked_at_once() -> None:
    crcs = [0, 1, 0x7FFF, 0x8000, 0xFFFFFFFF, 0xE3069283]
    many = masked(np.array(crcs, np.uint32))
    assert many.tolist() == [masked(c) for c in crcs]


def test_records_of_a_writer() -> None:
    """Every record of a file of TensorBoard's writer, by both of its checksums."""
    data = (FIXTURES / "tfevents" / "tb_summary_writer.tfevents").read_bytes()
    pos = records = 0
    while pos < len(data):
        length = valid_header(data, pos)
        assert length == struct.unpack_from("<Q", data, pos)[0]
        payload = data[pos + HEADER_BYTES : pos + HEADER_BYTES + length]
        end = pos + length + FRAME_BYTES
        assert struct.unpack("<I", data[end - 4 : end])[0] == masked_crc(payload)
        assert next_header(data, pos) == pos
        pos, records = end, records + 1
    assert records > 2


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


@pytest.mark.parametrize("wrong", range(8, 12))
def test_a_wrong_byte_of_the_checksum_is_seen(wrong: int) -> None:
    data = bytearray(header(7))
    data[wrong] ^= 0x10
    assert next_header(bytes(data), 0) == valid_header(bytes(data), 0) == -1


@pytest.mark.parametrize("length", [1, 0xFF, 0x100, 0x1_0000, 0x100_0000, 0x0102_0304])
def test_any_byte_of_the_length_may_be_zero(length: int) -> None:
    assert next_header(bytes(5) + header(length), 0) == 5


def test_empty_payloads_are_passed_over() -> None:
    assert valid_header(header(0), 0) == 0
    assert next_header(header(0) * 3 + header(1), 0) == 3 * HEADER_BYTES


@pytest.mark.parametrize("gap", [1012, 1013, 1023, 1024, 1035, 3071, 3072, 3073, 700_000])
def test_a_header_on_the_border_of_two_windows_is_found(gap: int) -> None:
    assert next_header(bytes(gap) + header(9), 0) == gap
    assert next_header(b"??" + bytes(gap) + header(9), 2) == gap + 2


PIECES = st.lists(st.binary(max_size=9) | st.integers(0, 300).map(header) | st.just(bytes(12)))


@given(PIECES.map(b"".join), st.integers(0, 20))
def test_the_first_header_is_found(data: bytes, start: int) -> None:
    places = range(start, len(data) - HEADER_BYTES + 1)
    assert next_header(data, start) == next((p for p in places if valid_header(data, p) > 0), -1)


def test_a_header_that_is_near_is_found_without_a_look_at_all_that_follows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searched: list[int] = []
    search = framing._first_in

    def counted(data: bytes, begin: int, stop: int) -> int:
        searched.append(stop - begin)
        return search(data, begin, stop)

    monkeypatch.setattr(framing, "_first_in", counted)
    header = (24).to_bytes(8, "little") + framing.length_crc(24).to_bytes(4, "little")
    data = b"\xff" * 50 + header + b"\xff" * (1 << 20)
    assert framing.next_header(data, 0) == 50
    assert min(searched) > 0
    assert sum(searched) < 2000
    far = b"\xff" * (1 << 20) + header
    assert framing.next_header(far, 0) == 1 << 20
