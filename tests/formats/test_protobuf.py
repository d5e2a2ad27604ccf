"""Protobuf's wire format by hand, against Google's own encoder."""

from __future__ import annotations

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st

from rltui.formats.protobuf import (
    BYTES,
    FIXED32,
    FIXED64,
    VARINT,
    MalformedError,
    encoded,
    fields,
    integer,
    timestamp,
    varint,
)


@given(st.integers(0, (1 << 64) - 1), st.binary(max_size=3))
def test_a_varint_comes_back(value: int, behind: bytes) -> None:
    data = b"\xff" + encoded(value) + behind
    assert varint(data, 1, len(data)) == (value, len(data) - len(behind))


@given(st.integers(-(1 << 63), (1 << 63) - 1), st.integers(0, 999_999_999))
def test_a_timestamp_is_read_as_google_writes_it(seconds: int, nanos: int) -> None:
    data = Timestamp(seconds=seconds, nanos=nanos).SerializeToString()
    assert timestamp(data, 0, len(data)) == seconds + nanos / 1e9


def test_fields_of_every_wire_type() -> None:
    data = b"\x08\xac\x02" + b"\x11" + bytes(8) + b"\x1a\x02hi" + b"\x25" + bytes(4)
    assert list(fields(data, 0, len(data))) == [
        (1, VARINT, 1, 3),
        (2, FIXED64, 4, 12),
        (3, BYTES, 14, 16),
        (4, FIXED32, 17, 21),
    ]
    assert integer(data, 1, 3) == 300


@pytest.mark.parametrize(
    "data",
    [b"\x80" * 11 + b"\x01", b"\x80", b"\x1a\x05hi", b"\x0b", b"\x11\x00", b"\x00\x01"],
    ids=["long varint", "torn varint", "beyond the end", "group", "torn double", "field 0"],
)
def test_what_is_no_message_is_refused(data: bytes) -> None:
    with pytest.raises(MalformedError):
        list(fields(data, 0, len(data)))


@given(st.binary(max_size=64))
def test_garbage_is_read_within_its_bounds(data: bytes) -> None:
    try:
        spans = [(start, stop) for _, _, start, stop in fields(data, 0, len(data))]
    except MalformedError:
        return
    assert all(0 < start <= stop <= len(data) for start, stop in spans)
