"""A last line that is read before its end has come, and then goes on."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from rltui.formats import Decoded, Decoder
from rltui.formats.table import CsvTable
from tests.formats import encode

CYCLES = "episode,reward\n" + "".join(f"{i % 8},{i / 2}\n" for i in range(16))
#: Enough rows that the choice of the step stands.
LONG = "step,loss\n" + "".join(f"{i},0.5\n" for i in range(250))


def csv() -> Decoder:
    return CsvTable().decoder(None, Path("progress.csv"))


def cut(text: str, rest: str, piece: int | None = None) -> list[Decoded]:
    """What a file gives that is taken for complete at the end of ``text``."""
    decoder = csv()
    parts = [decoder.feed(text.encode()), decoder.finish()]
    return parts + encode.feed_all(decoder, rest.encode(), piece=piece)


def whole(text: str) -> encode.Points:
    return encode.points_of([csv().feed(text.encode())])


def values(points: encode.Points, tag: str) -> list[tuple[int, float]]:
    return [(step, struct.unpack("<d", value)[0]) for step, _, value in points[tag]]


PIECES = pytest.mark.parametrize("piece", [None, 1])


@PIECES
@pytest.mark.parametrize("last", ["0,16.5", "0,", "0,1"])
def test_it_shows_that_a_column_is_no_step(last: str, piece: int | None) -> None:
    rest = "0,16.5\n1,17.5\n2,18.5\n".removeprefix(last)
    found = encode.points_of(cut(CYCLES + last, rest, piece))
    assert found == whole(CYCLES + last + rest)
    assert [step for step, _ in values(found, "reward")] == list(range(1, 20))


@PIECES
def test_half_a_value_gives_way_to_the_whole_one(piece: int | None) -> None:
    text = "step,loss\n1,0.5\n2,0.25\n"
    found = encode.points_of(cut(text + "3,2.3", "456e-05\n4,0.5\n", piece))
    assert values(found, "loss") == [(1, 0.5), (2, 0.25), (3, 2.3456e-05), (4, 0.5)]


@pytest.mark.parametrize(("rest", "torn"), [("456e-05\n251,0.5\n", True), ("\n251,0.5\n", False)])
def test_half_a_value_that_cannot_be_taken_back_is_known(rest: str, torn: bool) -> None:
    decoder = CsvTable().decoder()
    decoder.feed((LONG + "250,2.3").encode())
    assert decoder.open_line
    decoder.finish()
    decoder.feed(rest.encode())
    assert (decoder.open_line, decoder.torn) == (False, torn)


def test_a_line_that_turns_out_to_be_broken_takes_no_other_point_with_it() -> None:
    found = encode.points_of(cut(LONG + "250,2.3", ",9,9\n251,0.5\n"))
    assert values(found, "loss")[250:] == [(250, 2.3), (251, 0.5)]


@PIECES
def test_a_restart_comes_once(piece: int | None) -> None:
    rest = "5\n101,0.25\nstep,loss\n100,0.5\n"
    parts = cut(LONG + "step,loss\n100,0.2", rest, piece)
    assert encode.restarts_of(parts) == [100, 100]
    assert values(encode.points_of(parts), "loss")[250:] == [(100, 0.2), (101, 0.25), (100, 0.5)]
