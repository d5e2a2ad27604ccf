"""Framing of records in blocks: any sizes, any pieces, any damage."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rltui.formats.base import DecoderNote, NoteBook
from rltui.formats.tracker_log import leveldb
from rltui.formats.tracker_log.leveldb import BLOCK_BYTES, Framing, RecordReader
from tests.formats.encode_tracker import chunk, log

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
    header = FRAMING.header
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
    raw = FRAMING.header + garbage
    raw += bytes(-len(raw) % BLOCK_BYTES) + chunk(1, b"good")
    found, notes = read(*(raw[i : i + 5000] for i in range(0, len(raw), 5000)))
    assert found == [b"good"]
    assert len(notes) < 10
    assert done < blocks * (2 * leveldb._MAX_SEARCH)


def test_a_broken_file_header_is_said() -> None:
    found, notes = read(b"garbage" + chunk(1, b"a"))
    assert found == [b"a"]
    assert [(n.offset, n.message) for n in notes] == [(0, "broken file header")]
