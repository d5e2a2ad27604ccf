"""Records of an event file: checksums as others compute them, and headers among garbage.

Framing of records in blocks: any sizes, any pieces, any damage.
"""

from __future__ import annotations

import struct
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rltui.formats.base import DecoderNote, NoteBook
from rltui.formats.tfevents.framing import (
    HEADER_BYTES,
    MAX_PAYLOAD,
    crc32c,
    length_crc,
    masked,
    next_header,
    valid_header,
)
from rltui.formats.tracker_log import leveldb
from rltui.formats.tracker_log.leveldb import BLOCK_BYTES, FILE_HEADER, Framing, RecordReader
from tests.formats.encode_tracker import chunk, log


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


FRAMING = Framing(b":TST", 0xBEE1, 0)
#: How much is left in the first block decides how a record is split.
NEAR_END = [BLOCK_BYTES - 7 - 7 - rest for rest in (*range(16), 22)]


def read(*pieces: bytes) -> tuple[list[bytes], list[DecoderNote]]:
    notes = NoteBook()
    reader = RecordReader(FRAMING, notes)
    found = [payload for piece in pieces for _, payload in reader.feed(piece)]
    return found, list(notes.take())


def cut(data: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({min(p, len(data)) for p in places} | {0, len(data)})
    return [data[a:b] for a, b in pairwise(ends)]


PAYLOADS = st.lists(
    st.one_of(
        st.binary(max_size=60),
        st.integers(0, 3 * BLOCK_BYTES).map(lambda n: bytes(n % 251 for n in range(n))),
        st.sampled_from(NEAR_END).map(bytes),
    ),
    max_size=8,
)


@settings(max_examples=150, deadline=None)
@given(PAYLOADS, st.lists(st.integers(0, 12 * BLOCK_BYTES), max_size=12))
def test_records_of_any_size_in_any_pieces(payloads: list[bytes], places: list[int]) -> None:
    data = log(FRAMING, payloads)
    assert read(*cut(data, places)) == (payloads, [])


@pytest.mark.parametrize("size", [3, 300, 5000])
def test_rows_behind_a_hole_come_as_soon_as_they_are_written(size: int) -> None:
    """What is left of the record that the hole cut looks like the headers of long chunks."""
    rest = b"\x00\x10\x01\x00\x20\x02" * 200
    payloads = [b"first", bytes(size) + rest, *(b"row %d" % n for n in range(30))]
    data = bytearray(log(FRAMING, payloads))
    hole = 7 + 7 + len(payloads[0])
    data[hole : hole + size] = bytes(size)
    end = hole + 7 + len(payloads[1])
    notes = NoteBook()
    reader = RecordReader(FRAMING, notes)
    assert [p for _, p in reader.feed(bytes(data[:end]))] == [b"first"]
    for payload in payloads[2:]:
        begin, end = end, end + 7 + len(payload)
        assert [p for _, p in reader.feed(bytes(data[begin:end]))] == [payload]
    assert [n.offset for n in notes.take()] == [hole]


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_damage_reads_the_same_in_any_pieces(data: st.DataObject) -> None:
    payloads = data.draw(st.lists(st.binary(max_size=3000), min_size=3, max_size=30))
    raw = bytearray(log(FRAMING, payloads))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(7, len(raw)))
        raw[place : place + data.draw(st.integers(0, 40))] = data.draw(st.binary(max_size=40))
    whole = read(bytes(raw))
    places = data.draw(st.lists(st.integers(0, len(raw)), max_size=10))
    assert read(*cut(bytes(raw), places)) == whole


def test_fragments_out_of_order() -> None:
    header = FILE_HEADER.pack(*FRAMING)
    found, notes = read(header + chunk(3, b"x") + chunk(4, b"y") + chunk(1, b"good"))
    assert found == [b"good"]
    assert [n.offset for n in notes] == [7]
    found, notes = read(header + chunk(2, b"open") + chunk(1, b"good") + chunk(4, b"y"))
    assert found == [b"good"]
    assert [n.message for n in notes] == ["record without its end", "record without its beginning"]


def test_garbage_costs_bounded_work(monkeypatch: pytest.MonkeyPatch) -> None:
    done = 0
    real = leveldb.crc32

    def counting(data: bytes, start: int = 0) -> int:
        nonlocal done
        done += len(data)
        return real(data, start)

    monkeypatch.setattr(leveldb, "crc32", counting)
    # every position looks like the header of a chunk of 16 kB
    garbage = b"\x04\x40\x01" * (BLOCK_BYTES * 4)
    blocks = len(garbage) // BLOCK_BYTES
    raw = FILE_HEADER.pack(*FRAMING) + garbage
    raw += bytes(-len(raw) % BLOCK_BYTES) + chunk(1, b"good")
    found, notes = read(*(raw[i : i + 5000] for i in range(0, len(raw), 5000)))
    assert found == [b"good"]
    assert len(notes) < 10
    assert done < blocks * (2 * leveldb._MAX_SEARCH)


def test_a_broken_file_header_is_said() -> None:
    found, notes = read(b"garbage" + chunk(1, b"a"))
    assert found == [b"a"]
    assert [(n.offset, n.message) for n in notes] == [(0, "broken file header")]
