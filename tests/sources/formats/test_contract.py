"""What every log format promises; takes every module of FORMATS."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from pathlib import Path

import pytest

from rltui.sources.formats import FORMATS, Decoded, Format
from tests.sources import encode

TAGS = ("loss", "actor/kl", "val-core/x y/mean@8", "[red]bold[/red]")


@dataclass(frozen=True)
class Sample:
    """Some rows of one format: (step, {tag: value}) written as bytes."""

    name: str
    path: str
    rows: tuple[bytes, ...]
    garbage: bytes
    huge: bytes
    """The beginning of a record with an absurd length."""

    @property
    def data(self) -> bytes:
        return b"".join(self.rows)


VALUES = (0.5, -2.0, math.nan, math.inf, -math.inf, 0.0, 1e-30, 3.0e38)


def _tfevents() -> Sample:
    def row(step: int) -> bytes:
        value = VALUES[step % len(VALUES)]
        return b"".join(
            encode.event(step, 1.78e9 + step, encode.simple(t.encode(), value)) for t in TAGS
        )

    huge = struct.pack("<QI", 1 << 60, 12345)
    path = "events.out.tfevents.1780000000.host"
    rows = (encode.header(), *(row(s) for s in range(12)))
    return Sample("tfevents", path, rows, b"\x00garbage\xff\x09\x0a" * 3, huge)


def _jsonl() -> Sample:
    def row(step: int) -> bytes:
        value = VALUES[step % len(VALUES)]
        word = {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, repr(value))
        word = "NaN" if math.isnan(value) else word
        cells = ",".join(f'"{t}":{word}' for t in TAGS)
        return f'{{"step":{step},"data":{{{cells}}}}}\n'.encode()

    rows = tuple(row(s) for s in range(12))
    return Sample("jsonl", "run.jsonl", rows, b"\x00garb{age\xff\n", b'{"step":' + b"9" * 1000)


SAMPLES = {s.name: s for s in (_tfevents(), _jsonl())}
ALL = pytest.mark.parametrize("form", FORMATS, ids=lambda f: f.name)


def points(form: Format, data: bytes, piece: int | None = None) -> encode.Points:
    return encode.points_of(encode.feed_all(form.decoder(), data, piece=piece))


@ALL
def test_every_format_has_a_sample(form: Format) -> None:
    assert form.name in SAMPLES


@ALL
def test_claims_its_own_sample_only(form: Format) -> None:
    for sample in SAMPLES.values():
        path = Path(sample.path)
        assert form.claims(path, sample.data[:4096]) == (sample.name == form.name)
        assert form.claims_name(sample.path) == (sample.name == form.name)


@ALL
def test_all_values_arrive_in_order(form: Format) -> None:
    found = points(form, SAMPLES[form.name].data)
    assert tuple(found) == TAGS
    for tag in TAGS:
        assert [p[0] for p in found[tag]] == list(range(12))
        values = [struct.unpack("<d", p[2])[0] for p in found[tag]]
        for step, value in enumerate(values):
            expected = VALUES[step % len(VALUES)]
            if math.isnan(expected):
                assert math.isnan(value)
            else:
                assert value == pytest.approx(expected, rel=1e-6)


@ALL
def test_split_at_every_byte_gives_the_same_points(form: Format) -> None:
    sample = SAMPLES[form.name]
    data = b"".join(sample.rows[:6])
    whole = points(form, data)
    for cut in range(len(data) + 1):
        for more in (False, True):
            decoder = form.decoder()
            parts = [decoder.feed(data[:cut], more=more), decoder.feed(data[cut:])]
            assert encode.points_of(parts) == whole, cut


@ALL
def test_grows_by_one_byte(form: Format) -> None:
    sample = SAMPLES[form.name]
    decoder = form.decoder()
    parts = [decoder.feed(sample.data[i : i + 1]) for i in range(len(sample.data))]
    assert encode.points_of(parts) == points(form, sample.data)
    assert sum(p.records for p in parts) == sum(
        p.records for p in encode.feed_all(form.decoder(), sample.data)
    )


@ALL
def test_points_come_out_as_soon_as_they_are_complete(form: Format) -> None:
    decoder = form.decoder()
    for step, row in enumerate(SAMPLES[form.name].rows):
        found = encode.points_of([decoder.feed(row)])
        if form.name == "tfevents" and step == 0:
            assert not found
        else:
            assert tuple(found) == TAGS


@ALL
@pytest.mark.parametrize("where", [0, 1, 6])
@pytest.mark.parametrize("piece", [None, 1, 7, 100])
def test_garbage_loses_nothing_that_follows(form: Format, where: int, piece: int | None) -> None:
    sample = SAMPLES[form.name]
    data = b"".join((*sample.rows[:where], sample.garbage, *sample.rows[where:]))
    parts = encode.feed_all(form.decoder(), data, piece=piece)
    assert encode.points_of(parts) == points(form, sample.data)
    notes = [n for p in parts for n in p.notes]
    assert notes
    assert notes[0].offset == len(b"".join(sample.rows[:where]))


@ALL
def test_much_garbage_makes_few_notes(form: Format) -> None:
    sample = SAMPLES[form.name]
    data = b"".join(sample.garbage + row for row in sample.rows * 100)
    parts = encode.feed_all(form.decoder(), data)
    assert 0 < sum(len(p.notes) for p in parts) < 20


@ALL
def test_empty_input_gives_nothing(form: Format) -> None:
    decoder = form.decoder()
    assert decoder.feed(b"") == Decoded()
    assert decoder.feed(b"", more=True) == Decoded()
    assert not decoder.holds_row


@ALL
def test_huge_length_neither_waits_nor_allocates(form: Format) -> None:
    sample = SAMPLES[form.name]
    decoder = form.decoder()
    first = decoder.feed(sample.rows[0] + sample.rows[1] + sample.huge)
    tail = b"" if form.name == "tfevents" else b"\n"
    rest = decoder.feed(tail + sample.rows[2])
    found = encode.points_of([first, rest])
    assert [p[0] for p in found[TAGS[0]]][-1] == (1 if form.name == "tfevents" else 2)


@ALL
def test_tags_are_harmless(form: Format) -> None:
    nasty = "\x1b[31mred\u202e../x\u200b💥\t"
    if form.name == "tfevents":
        data = encode.event(1, 1.78e9, encode.simple(nasty.encode(), 1.0))
    else:
        escaped = nasty.replace("\x1b", "\\u001b").replace("\t", "\\t")
        data = f'{{"step":1,"{escaped}":1.0}}\n'.encode()
    (tag,) = points(form, data)
    assert all(c.isprintable() for c in tag)
    assert "../x" in tag
    assert "💥" in tag


@ALL
def test_tags_of_10_kb_are_cut_and_stay_different(form: Format) -> None:
    names = [("x" * 10_000 + end) for end in "ab"]
    if form.name == "tfevents":
        data = b"".join(encode.event(1, 1.78e9, encode.simple(n.encode(), 1.0)) for n in names)
    else:
        data = f'{{"step":1,"{names[0]}":1.0,"{names[1]}":1.0}}\n'.encode()
    found = points(form, data)
    assert len(found) == 2
    assert all(len(t) <= 1024 for t in found)
