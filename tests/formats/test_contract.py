"""What every log format promises; takes every module of FORMATS."""

import math
import struct
from collections.abc import Iterable
from itertools import product
from pathlib import Path

import pytest

from rltui.formats import FORMATS, line_decoder
from rltui.formats.base import Belonging, Format
from tests.formats import contract, encode
from tests.formats.sample import Sample, samples

SAMPLES = samples()


def each(samples: Iterable[Sample]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        "sample", tuple(samples), ids=lambda s: f"{s.format} {s.variant}".strip()
    )


ALL = each(SAMPLES)
#: A broken document is waited for as a whole; one is held as a whole, up to a limit of its own.
STREAMS = each(s for s in SAMPLES if not s.form.document)
TAGGED = each(s for s in SAMPLES if s.tagged is not None)


def points(sample: Sample, data: bytes, piece: int | None = None) -> encode.Points:
    return encode.points_of(encode.feed_all(_decoder(sample), data, piece=piece))


def _decoder(sample: Sample) -> encode.Decoder:
    return sample.form.decoder(None, Path(sample.path))


@pytest.mark.parametrize("form", FORMATS, ids=lambda f: f.name)
def test_every_format_has_a_sample(form: Format) -> None:
    assert form.name in {s.format for s in SAMPLES}
    assert not (form.restarts and form.document)
    assert 1 <= form.precision_rank <= 3


@ALL
def test_claims_its_own_sample_only(sample: Sample) -> None:
    path, head = Path(sample.path), sample.data[:4096]
    claiming = [f.name for f in FORMATS if f.claims_name(path.name) and f.claims(path, head)]
    assert claiming == [sample.format]
    assert isinstance(sample.form.belonging(path.name), Belonging)


@ALL
def test_all_values_arrive_in_order(sample: Sample) -> None:
    found = points(sample, sample.data)
    assert tuple(found) == sample.tags
    for tag in sample.tags:
        assert [p[0] for p in found[tag]] == list(range(sample.steps))
        values = [struct.unpack("<d", p[2])[0] for p in found[tag]]
        for step, value in enumerate(values):
            expected = sample.values[step % len(sample.values)]
            if math.isnan(expected):
                assert math.isnan(value)
            else:
                assert value == pytest.approx(expected, rel=sample.precision)


@ALL
def test_split_at_every_byte_gives_the_same_points(sample: Sample) -> None:
    data = b"".join(sample.rows[: sample.preamble + 3])
    whole = points(sample, data)
    for cut in range(len(data) + 1):
        decoder = _decoder(sample)
        parts = [decoder.feed(data[:cut], more=cut % 2 == 1), decoder.feed(data[cut:])]
        assert encode.points_of(parts) == whole, cut


@ALL
def test_a_line_may_end_in_a_long_piece(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_decoder, "_SEAM", 8)
    assert points(sample, sample.data, 50) == points(sample, sample.data)


@each(s for s in SAMPLES if not (s.late or s.form.document))
def test_points_come_out_as_soon_as_they_are_complete(sample: Sample) -> None:
    decoder = _decoder(sample)
    for number, row in enumerate(sample.rows):
        found = encode.points_of([decoder.feed(row)])
        assert tuple(found) == (() if number < sample.preamble else sample.tags)


@STREAMS
def test_garbage_loses_nothing_that_follows(sample: Sample) -> None:
    first = sample.preamble if sample.form.name != "tfevents" else 0
    for where, piece in product(sorted({max(first, row) for row in (0, 1, 6)}), (None, 7)):
        data = b"".join((*sample.rows[:where], sample.garbage, *sample.rows[where:]))
        parts = encode.feed_all(_decoder(sample), data, piece=piece)
        assert encode.points_of(parts) == points(sample, sample.data), (where, piece)
        notes = [n for p in parts for n in p.notes]
        assert bool(notes) is sample.noted
        if notes:
            assert notes[0].offset == len(b"".join(sample.rows[:where])), (where, piece)


@STREAMS
def test_much_garbage_makes_few_notes(sample: Sample) -> None:
    rows = sample.rows[sample.preamble :] * 100
    preamble = b"".join(sample.rows[: sample.preamble])
    data = preamble + b"".join(sample.garbage + row for row in rows)
    parts = encode.feed_all(_decoder(sample), data)
    count = sum(len(p.notes) for p in parts)
    assert count < 20
    assert bool(count) is sample.noted


@each(s for s in SAMPLES if s.huge is not None)
def test_huge_length_neither_waits_nor_allocates(sample: Sample) -> None:
    assert sample.huge is not None
    decoder = _decoder(sample)
    begin = b"".join(sample.rows[: sample.preamble + 1])
    first = decoder.feed(begin + sample.huge)
    rest = decoder.feed(sample.huge_ends + sample.rows[sample.preamble + 1])
    found = encode.points_of([first, rest])
    assert [p[0] for p in found[sample.tags[0]]][-1] == 1


@TAGGED
def test_tags_are_harmless(sample: Sample) -> None:
    assert sample.tagged is not None
    (tag,) = points(sample, sample.tagged(("\x1b[31mred\u202e../x\u200b💥\t",)))
    assert all(c.isprintable() for c in tag)
    assert "../x" in tag
    assert "💥" in tag


@TAGGED
def test_tags_of_10_kb_are_cut_and_stay_different(sample: Sample) -> None:
    assert sample.tagged is not None
    found = points(sample, sample.tagged(tuple("x" * 10_000 + end for end in "ab")))
    assert len(found) == 2
    assert all(len(t) <= 1024 for t in found)


@STREAMS
@pytest.mark.parametrize("fill", [b"9", b'"x,'], ids=["digits", "quotes"])
def test_a_record_without_end_takes_bounded_memory(sample: Sample, fill: bytes) -> None:
    contract.check_endless_record(lambda: _decoder(sample), sample, fill)


@STREAMS
def test_garbage_without_end_takes_bounded_memory(sample: Sample) -> None:
    contract.check_endless_garbage(lambda: _decoder(sample), sample)


@ALL
def test_points_do_not_change_once_they_are_returned(sample: Sample) -> None:
    contract.check_points_stay(lambda: _decoder(sample), sample)


@ALL
def test_a_last_row_without_its_line_end_is_read_when_the_file_is_over(sample: Sample) -> None:
    whole = points(sample, sample.data)
    decoder = _decoder(sample)
    assert encode.points_of([decoder.feed(sample.data.rstrip(b"\r\n")), decoder.finish()]) == whole
    assert not decoder.finish().items


@ALL
def test_a_file_that_grows_after_its_last_row_was_read_is_to_be_read_again(sample: Sample) -> None:
    data = b"".join(sample.rows[: sample.preamble + 3])
    whole = points(sample, data)
    ends = {end + near for end, byte in enumerate(data) if byte == ord("\n") for near in (0, 1, 2)}
    for cut in sorted({*range(0, len(data), 1 + len(data) // 300), *ends, len(data)}):
        decoder = _decoder(sample)
        parts = [decoder.feed(data[:cut]), decoder.finish()]
        later = [decoder.feed(data[cut:]), decoder.finish()]
        assert decoder.torn is bool(parts[1].items and data[cut:]), cut
        if decoder.torn:
            assert not any(part.items for part in later)
        else:
            assert encode.points_of([*parts, *later]) == whole
