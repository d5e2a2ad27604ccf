"""Batches survive the wire, however it is split; garbage is an error that says so."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from rltui.core.batch import (
    Batch,
    Joined,
    Lanes,
    LogClock,
    LogTail,
    MediaKind,
    MediaPlace,
    Note,
    Phase,
    Restart,
    RunKey,
    SourceInfo,
    TextPoint,
)
from rltui.core.block import Block
from rltui.core.level import Level
from rltui.core.text import clean
from rltui.remote.wire import batches
from rltui.remote.wire.batches import PART_BYTES, BatchDecoder, BatchEncoder
from rltui.remote.wire.codec import WireError
from rltui.remote.wire.framing import Frame, FrameReader, FrameWriter, Kind, VersionError
from rltui.sources.follow.reader import Reader
from rltui.sources.follow.resume import HandedOver

FIXTURES = Path(__file__).parents[2] / "fixtures"
TEXTS = st.text(max_size=12).map(clean)
WHOLE = st.integers(0, 1 << 62)
STEPS = st.integers(-(1 << 63), (1 << 63) - 1)
PATHS = st.sampled_from(["/logs/a.jsonl", "/logs/\udcff.csv", "/logs/b c.log"]).map(Path)


@st.composite
def blocks(draw: st.DrawFn) -> Block:
    tags = tuple(draw(st.lists(TEXTS, min_size=1, max_size=4, unique=True)))
    rows = draw(st.integers(0, 6))
    kind = draw(st.sampled_from([np.float32, np.float64]))
    shape = (rows, len(tags))
    absent = draw(st.none() | hnp.arrays(np.bool_, shape))
    values = draw(hnp.arrays(kind, shape))
    if absent is not None:
        values = np.where(absent, kind(0), values)
    steps = draw(hnp.arrays(np.int64, rows))
    return Block(tags, steps, draw(hnp.arrays(np.float64, rows)), values, absent)


SETTINGS = st.none() | st.booleans() | st.integers(-(1 << 63), 1 << 63) | TEXTS
FINITE = st.floats(allow_nan=False, allow_infinity=False)
PHASES = st.builds(Phase, TEXTS, TEXTS, st.none() | WHOLE, st.none() | WHOLE, st.none() | FINITE)
SOURCES = st.builds(
    SourceInfo,
    PATHS,
    TEXTS,
    st.integers(0, 99),
    WHOLE,
    WHOLE,
    WHOLE,
    FINITE,
    st.integers(0, 5),
    st.booleans(),
    st.frozensets(TEXTS, max_size=2),
    st.sampled_from(Joined),
    TEXTS,
    TEXTS,
    st.builds(Lanes, *[st.frozensets(TEXTS, max_size=2)] * 3, local=st.booleans()),
    st.builds(LogClock, FINITE, FINITE, *[st.integers(0, 9)] * 2),
)
BATCHES = st.builds(
    Batch,
    st.builds(RunKey, st.integers(0, 2), TEXTS),
    PATHS,
    SOURCES,
    st.lists(blocks() | st.builds(Restart, STEPS), max_size=3).map(tuple),
    st.lists(st.builds(TextPoint, TEXTS, STEPS, st.floats(allow_nan=False), TEXTS), max_size=2).map(
        tuple
    ),
    st.dictionaries(TEXTS, SETTINGS, max_size=3),
    st.lists(
        st.builds(Note, PATHS, st.none() | WHOLE, st.sampled_from(Level), TEXTS), max_size=2
    ).map(tuple),
    WHOLE,
    *[st.booleans()] * 2,
    WHOLE,
    *[st.booleans()] * 2,
    st.none()
    | st.builds(LogTail, st.lists(TEXTS, max_size=3).map(tuple), WHOLE, st.none() | PHASES, FINITE),
    st.none() | st.integers(-9, 255),
    st.booleans(),
    st.none() | st.integers(0, (1 << 32) - 1),
    st.booleans(),
)


def sent(batches: Sequence[Batch]) -> bytes:
    out: list[bytes] = []
    writer, encoder = FrameWriter(out.append), BatchEncoder()
    for batch in batches:
        for frame in encoder.frames(batch):
            writer.put(frame)
    writer.flush()
    return b"".join(out)


def received(data: bytes, cuts: Sequence[int] = ()) -> list[Batch]:
    reader, decoder = FrameReader(), BatchDecoder(3)
    edges = [0, *sorted(c % (len(data) + 1) for c in cuts), len(data)]
    found = []
    for begin, end in pairwise(edges):
        for frame in reader.feed(data[begin:end]):
            batch = decoder.batch_of(frame)
            if batch is not None:
                found.append(batch)
    return found


def bits(block: Block) -> tuple[object, ...]:
    absent = None if block.absent is None else block.absent.tobytes()
    arrays = (block.steps, block.wall_times, block.values)
    return block.tags, absent, *((a.dtype, a.shape, a.tobytes()) for a in arrays)


def assert_same(one: Batch, other: Batch) -> None:
    assert replace(one, items=()) == replace(other, items=())
    assert [bits(i) if isinstance(i, Block) else i for i in one.items] == [
        bits(i) if isinstance(i, Block) else i for i in other.items
    ]


@given(st.lists(BATCHES, max_size=3), st.lists(st.integers(0, 1 << 20), max_size=4))
def test_batches_survive_any_split(batches: list[Batch], cuts: list[int]) -> None:
    found = received(sent(batches), cuts)
    assert len(found) == len(batches)
    for one, other in zip(batches, found, strict=True):
        assert_same(one, other)


def test_what_is_read_from_real_logs_survives() -> None:
    batches = list(Reader([FIXTURES], handed_over=HandedOver()).read_all())
    found = received(sent(batches))
    assert sum(len(b.items) for b in batches) > 10
    for one, other in zip(batches, found, strict=True):
        assert_same(one, other)


def test_a_large_batch_is_sent_in_parts() -> None:
    rows = 3 * PART_BYTES // 24
    values = np.random.default_rng(0).random((rows, 1))
    block = Block(("loss",), np.arange(rows), np.arange(rows) / 7, values)
    batch = Batch(RunKey(0, "a"), Path("/a"), source(), (block,))
    kinds = [frame.kind for frame in BatchEncoder().frames(batch)]
    assert kinds.count(Kind.BATCH) == 1
    assert kinds.count(Kind.PART) >= 2
    (found,) = received(sent([batch]))
    assert np.array_equal(np.concatenate([b.values for b in found.blocks]), values)
    assert np.array_equal(np.concatenate([b.steps for b in found.blocks]), block.steps)


def source() -> SourceInfo:
    return SourceInfo(Path("/a/x.jsonl"), "jsonl", 0, 9, 9, 1, 0.0)


@given(st.binary(max_size=300))
def test_garbage_is_an_error_or_nothing(garbage: bytes) -> None:
    reader = FrameReader()
    try:
        frames = list(reader.feed(b"rltui-stream 4\n" + garbage))
    except WireError:
        return
    assert all(len(f.record) + len(f.columns) <= 300 * 1100 for f in frames)


@given(BATCHES, st.data())
def test_damaged_payloads_are_errors_or_batches(batch: Batch, data: st.DataObject) -> None:
    frames = list(BatchEncoder().frames(batch))
    decoder = BatchDecoder(3)
    for kind, record, columns in frames:
        at = data.draw(st.integers(0, len(record + columns) - 1))
        damaged = bytearray(record + columns)
        damaged[at : at + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=4))
        try:
            size = len(record)
            found = decoder.batch_of(Frame(kind, bytes(damaged[:size]), bytes(damaged[size:])))
        except WireError:
            continue
        assert found is None or isinstance(found, Batch)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=12) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=20,
)
NAMES = ["items", "run", "run_path", "source", "texts", "hparams", "notes", "tail", "exit", "gone"]


@given(st.dictionaries(st.sampled_from(NAMES), JSON))
def test_hostile_records_are_errors_or_batches(record: dict[str, object]) -> None:
    head = json.dumps(record).encode()
    decoder = BatchDecoder(1)
    try:
        found = decoder.batch_of(Frame(Kind.BATCH, head))
    except WireError:
        return
    assert found is None or isinstance(found, Batch)


def part(*items: dict[str, object], **more: object) -> Frame:
    head = json.dumps({"items": items, **more}).encode()
    return Frame(Kind.PART, head)


def test_items_that_hardly_take_a_byte_of_the_stream_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "_MOST_WAITING", 1 << 20)
    decoder, frame = BatchDecoder(1), part(*[{"restart": 1}] * 1000)
    assert len(frame.record) < 1 << 14
    assert decoder.batch_of(frame) is decoder.batch_of(frame) is None
    with pytest.raises(WireError, match="a batch is too large"):
        decoder.batch_of(frame)


def test_a_record_of_nothing_but_brackets_is_refused() -> None:
    head = b'{"items":[' + b"[]," * 10_000_000 + b"[]]}"
    with pytest.raises(WireError, match="too many values"):
        BatchDecoder(1).batch_of(Frame(Kind.PART, head))


def a_block(tags: tuple[str, ...]) -> Block:
    return Block(tags, np.arange(1), np.zeros(1), np.ones((1, len(tags))))


def test_text_of_a_stranger_is_cleaned() -> None:
    batch = Batch(
        RunKey(0, "a\x1b[2J"),
        Path("/a"),
        source(),
        texts=(TextPoint("t\x9b", 0, 0.0, "one\x1b]0;x\x07\ntwo"),),
        hparams={"k\x1b": "v\x1b"},
        notes=(Note(Path("/a"), None, Level.WATCH, "n\x1b"),),
        tail=LogTail(("l\x1b",), 0),
        media=(MediaPlace("m\x1b", MediaKind.PICTURE, -3, 1 << 40, 9),),
    )
    (found,) = received(sent([batch]))
    assert found.media[0][1:] == batch.media[0][1:]
    shown = [
        found.media[0].tag,
        found.run.name,
        found.texts[0].tag,
        *found.hparams,
        *found.hparams.values(),
    ]
    shown += [found.notes[0].message, *found.tail.lines, *found.texts[0].text.split("\n")]  # type: ignore[union-attr]
    assert all(str(text).isprintable() for text in shown)


def test_lines_before_the_stream_are_noise() -> None:
    data = sent([Batch(RunKey(0, "a"), Path("/a"), source())])
    reader = FrameReader()
    frames = list(reader.feed(b"Welcome to node7!\n" + data))
    assert [f.kind for f in frames] == [Kind.BATCH]


def test_endless_noise_is_no_stream() -> None:
    with pytest.raises(WireError, match="no stream"):
        list(FrameReader().feed(b"y\n" * 40_000))


def test_another_version_is_refused() -> None:
    with pytest.raises(VersionError, match="version 5"):
        list(FrameReader().feed(b"rltui-stream 5\n"))


def test_a_frame_that_claims_to_be_huge_is_refused() -> None:
    claim = zlib.compress(struct.pack("<IBI", 1 << 31, Kind.BATCH, 0) + bytes(1000))
    with pytest.raises(WireError, match="too large"):
        list(FrameReader().feed(b"rltui-stream 4\n" + claim))


def test_a_block_that_claims_to_be_huge_is_refused() -> None:
    record = {"items": [{"tags": ["a"], "rows": 1 << 27}]}
    head = json.dumps(record).encode()
    with pytest.raises(WireError, match="cut off"):
        BatchDecoder(1).batch_of(Frame(Kind.PART, head))


def test_unknown_kinds_are_frames_to_skip() -> None:
    deflate = zlib.compressobj()
    raw = deflate.compress(struct.pack("<IBI", 3, 200, 0) + b"abc") + deflate.flush(
        zlib.Z_SYNC_FLUSH
    )
    (frame,) = FrameReader().feed(b"rltui-stream 4\n" + raw)
    assert frame.kind == 200
