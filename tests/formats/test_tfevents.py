"""Event files: equality with TensorBoard, odd records, corruption, and the fast paths."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensorboard import data_compat, dataclass_compat
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.util import tensor_util

from rltui.formats.base import Options, clean_tag
from rltui.formats.tfevents import TfEvents, event_decoder
from rltui.formats.tfevents.framing import crc32c, masked
from tests import event_files, places
from tests.bytecodes import bytecodes
from tests.formats import encode
from tests.tables import cases

FIXTURES = places.FIXTURES / "tfevents"


def read(data: bytes, *, piece: int | None = None, verify: bool = False) -> encode.Points:
    decoder = TfEvents().decoder(Options(verify=verify))
    return encode.points_of(encode.feed_all(decoder, data, piece=piece))


def loaded(path: Path) -> Iterator[Event]:
    """Every event as TensorBoard loads it; it stops at the first checksum that does not fit."""
    return EventFileLoader(str(path)).Load()


def loaded_unchecked(path: Path) -> Iterator[Event]:
    """As ``loaded``, in half of the time: what an EventFileLoader does with each record."""
    metadata: dict[str, object] = {}
    for event in event_files.events(path.read_bytes()):
        yield from dataclass_compat.migrate_event(data_compat.migrate_event(event), metadata)


def tensorboard_points(events: Iterable[Event]) -> list[tuple[str, int, float, float]]:
    """(tag, step, wall time, value) of every scalar, in file order, as TensorBoard has it."""
    found = []
    plugins: dict[str, str] = {}
    for event in events:
        for value in event.summary.value:
            name = value.metadata.plugin_data.plugin_name
            if plugins.setdefault(value.tag, name) == "scalars" or name == "scalars":
                floats = value.tensor.float_val
                number = floats[0] if len(floats) == 1 else tensor_util.make_ndarray(value.tensor)
                tag = clean_tag(value.tag.encode())
                found.append((tag, event.step, event.wall_time, float(number)))
    return found


def assert_equals_tensorboard(
    path: Path, *, whole: bool = True, load: Callable[[Path], Iterable[Event]] = loaded
) -> None:
    ours = read(path.read_bytes())
    theirs: dict[str, list[tuple[int, float, float]]] = {}
    for tag, step, wall, value in tensorboard_points(load(path)):
        theirs.setdefault(tag, []).append((step, wall, value))
    assert set(theirs) == set(ours) if whole else set(theirs) <= set(ours)
    for tag, expected in theirs.items():
        got = ours[tag] if whole else ours[tag][: len(expected)]
        assert [p[0] for p in got] == [p[0] for p in expected], tag
        values = np.array([struct.unpack("<d", p[2])[0] for p in got])
        np.testing.assert_array_equal(values, np.array([p[2] for p in expected]), tag)
        walls = np.array([p[1] for p in got]) - np.array([p[1] for p in expected])
        assert np.abs(walls).max() < 1.0, tag


@cases(__file__, "equals_tensorboard", "name")
def test_equals_tensorboard(name: str) -> None:
    assert_equals_tensorboard(FIXTURES / f"{name}.tfevents")


def test_goes_on_after_a_corrupt_record_where_tensorboard_stops() -> None:
    path = FIXTURES / "corrupt_record.tfevents"
    assert_equals_tensorboard(path, whole=False)
    ours = read(path.read_bytes())
    assert len(tensorboard_points(loaded(path))) < sum(map(len, ours.values())) == 299


@pytest.mark.parametrize("part", range(2))
def test_the_corpus_equals_tensorboard(corpus: Path, part: int) -> None:
    """Every second file of it."""
    paths = [p for p in sorted(corpus.rglob("*tfevents*")) if p.is_file()]
    assert len(paths) > 50
    for path in paths[part::4]:
        corrupt = path.parent.name == "corrupt_record"
        load = loaded if corrupt else loaded_unchecked
        assert_equals_tensorboard(path, whole=not corrupt, load=load)


# -- kinds of values --------------------------------------------------------------------------

STYLES: dict[str, Callable[..., bytes]] = {
    "simple": encode.simple,
    "float": encode.float_tensor,
    "content": encode.content_tensor,
    "double": encode.double_tensor,
    "half": encode.half_tensor,
    "int": encode.int_tensor,
}


@pytest.mark.parametrize("style", STYLES)
def test_every_style_of_scalar(style: str) -> None:
    data = b"".join(encode.event(s, 1.78e9 + s, STYLES[style](b"a/b", s - 3)) for s in range(300))
    found = read(data)
    assert found == encode.reference(data)
    assert [struct.unpack("<d", p[2])[0] for p in found["a/b"]] == [s - 3 for s in range(300)]


def test_plugin_of_the_first_event_holds_for_all() -> None:
    scalar = [encode.content_tensor(b"s", 1.0), encode.content_tensor(b"s", 2.0, named=False)]
    other = [encode.field(1, b"h") + encode.field(8, b"\x08\x01" + encode.field(5, bytes(4)))]
    first = other[0] + encode.plugin(b"histograms")
    data = b"".join(
        encode.event(i, 1.78e9, v) for i, v in enumerate([first, *scalar, *other * 600, *scalar])
    )
    found = read(data)
    assert set(found) == {"s"}
    assert len(found["s"]) == 4
    assert found == read(data, piece=50)


def test_texts_and_hparams() -> None:
    decoder = TfEvents().decoder()
    decoded = decoder.feed((FIXTURES / "mixed.tfevents").read_bytes())
    assert decoded.texts[0].tag == "config/yaml/text_summary"
    assert decoded.texts[0].text == "lr: 0.001\nalgo: grpo\n[bold]not markup[/bold]"
    decoded = TfEvents().decoder().feed((FIXTURES / "hparams.tfevents").read_bytes())
    assert decoded.hparams == {"lr": 0.001, "bsz": 32.0, "algo": "grpo", "amp": False} or (
        decoded.hparams["lr"] == 0.001 and decoded.hparams["algo"] == "grpo"
    )


def test_texts_are_harmless_and_bounded() -> None:
    nasty = b"one\x1b[2J\ttwo\r\nthree\xff" + b"x" * (1 << 20)
    decoded = TfEvents().decoder().feed(encode.event(3, 1.78e9, encode.text(b"t", nasty)))
    (point,) = decoded.texts
    assert (point.step, point.wall_time) == (3, 1.78e9)
    assert point.text.startswith("one\\x1b[2J    two\nthree\\xff")
    assert len(point.text) < (1 << 18) + 100


def test_session_start_is_a_restart_between_the_points() -> None:
    rows = [encode.event(s, 1.78e9 + s, encode.simple(b"a", s)) for s in (1, 2, 3)]
    decoded = TfEvents().decoder().feed(b"".join([*rows, encode.session_start(2), *rows[1:]]))
    kinds = [type(i).__name__ for i in decoded.items]
    assert kinds == ["Block", "Restart", "Block"]
    assert encode.restarts_of([decoded]) == [2]


def test_a_record_too_long_for_scalars_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_decoder, "_MAX_RECORD", 1000)
    huge = encode.frame(b"\x09" + bytes(8) + encode.field(5, bytes(1000)))
    last = encode.event(2, 1.78e9, encode.simple(b"loss", 1.0))
    found = TfEvents().decoder().feed(encode.header() + huge + last)
    assert [n.message for n in found.notes] == ["record is too long"]
    assert encode.points_of([found]).keys() == {"loss"}


# -- corruption -------------------------------------------------------------------------------


def rows(count: int, tags: int = 8) -> list[bytes]:
    return [
        b"".join(
            encode.event(s, 1.78e9 + s, encode.simple(b"tag/%d" % t, s + t)) for t in range(tags)
        )
        for s in range(1, count + 1)
    ]


@pytest.mark.parametrize("behind", ["rows", "hole", "hole and rows"])
@pytest.mark.parametrize("shuffled", [False, True])
def test_torn_at_every_byte(behind: str, shuffled: bool) -> None:
    """A record of which the end is missing reaches into what follows: it is not believed, and
    what follows is not lost. By template, record by record and by scan."""
    rng, tags = random.Random(3), [b"tag/%d" % t for t in range(8)]
    records = [
        encode.event(step, 1.78e9 + step, encode.simple(tag, step))
        for step in range(1, 90 if shuffled else 20)
        for tag in (rng.sample(tags, 8) if shuffled else tags)
    ]
    first, torn, rest = records[:-19], records[-19], records[-19 + 1 :]
    rest = rest if "rows" in behind else []
    hole = bytes(100) if "hole" in behind else b""
    expected = read(b"".join(first + rest))
    for cut in range(1, len(torn), 6 if shuffled else 2):
        data = b"".join((*first, torn[:cut], hole, *rest))
        piece = 5000 if cut % 4 == 1 else None
        assert read(data, piece=piece) == expected, (cut, piece)


def test_a_last_record_with_a_wrong_checksum_waits_for_what_follows() -> None:
    good = rows(3)
    wrong = good[1][:-1] + bytes([good[1][-1] ^ 1])
    decoder = TfEvents().decoder()
    first = decoder.feed(good[0] + wrong)
    assert sum(map(len, encode.points_of([first]).values())) == 15
    later = decoder.feed(good[2])
    assert sum(map(len, encode.points_of([first, later]).values())) == 24
    assert not first.notes
    assert not later.notes


def test_huge_length_with_a_valid_checksum_is_not_waited_for() -> None:
    head = struct.pack("<Q", 1 << 40)
    bogus = head + struct.pack("<I", masked(crc32c(head)))
    good = rows(4)
    data = b"".join(good[:2]) + bogus + b"".join(good[2:])
    assert read(data) == read(b"".join(good))


@pytest.mark.parametrize("style", ["simple", "content", "double", "mixed"])
def test_every_wrong_bit_of_a_value_is_found_when_asked(style: str) -> None:
    """By template and by scan; of wall time, step and value."""
    rng, shuffled = random.Random(1), style in ("double", "mixed")
    styles = ("simple", "double") if style == "mixed" else (style,)
    records = []
    for step in range(1000, 1060):
        tags = rng.sample(range(30), 20) if shuffled else range(20)
        for tag in tags:
            value = STYLES[styles[tag % len(styles)]](b"t/%d" % tag, rng.random())
            records.append(encode.event(step, 1.78e9 + step, value))
    whole = read(b"".join(records), verify=True)
    assert whole == read(b"".join(records))
    for number in (3, 734, 1199):
        without = read(b"".join(records[:number] + records[number + 1 :]))
        for place in (14, 22, len(records[number]) - 5, len(records[number]) - 1):
            broken = bytearray(records[number])
            if place == len(broken) - 5 and style == "content":
                place -= len(encode.plugin())
            broken[place] ^= 1
            data = b"".join((*records[:number], bytes(broken), *records[number + 1 :]))
            for piece in (None,) if shuffled else (None, 5000):
                found = read(data, verify=True, piece=piece)
                assert found == without, place


# -- fast paths -------------------------------------------------------------------------------


def encoded(steps: list[list[tuple[int, bytes, float]]], style: Callable[..., bytes]) -> bytes:
    return b"".join(
        encode.event(step, 1.78e9 + number, style(tag, value))
        for number, row in enumerate(steps)
        for step, tag, value in row
    )


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("style", ["simple", "content", "double"])
def test_any_order_of_tags(seed: int, style: str) -> None:
    """Random subsets in random order, some with another step: templates do not repeat."""
    rng = random.Random(seed)
    plan = [
        [(s + rng.choice((0, 0, 0, 1)), t, rng.random()) for t in rng.sample(TAGS, 25)]
        for s in range(100, 200)
    ]
    data = encoded(plan, STYLES[style])
    whole = read(data)
    assert whole == encode.reference(data)
    assert read(data, piece=3000) == whole


def test_one_odd_step_within_equal_layouts() -> None:
    """Same bytes but for the step of one tag: the trap of reading rows without looking."""
    rng = random.Random(3)
    plan = []
    for s in range(200, 600):
        odd = rng.randrange(50) if s % 7 == 0 else -1
        plan.append([(s - (k == odd), b"t%02d" % k, rng.random()) for k in range(50)])
    data = encoded(plan, encode.simple)
    assert read(data) == encode.reference(data)


# -- several values in a record, as TF1's merged summaries and writers of JAX have them -----------

MERGED = (encode.simple, encode.float_tensor, encode.content_tensor, encode.double_tensor)
TAGS = [b"group%d/name_%d" % (i % 5, i) for i in range(40)]


def merged(step: int, tags: list[bytes], rng: random.Random, styles: int = 1) -> bytes:
    values = [MERGED[i % styles](t, rng.choice((np.nan, rng.random()))) for i, t in enumerate(tags)]
    return encode.event(step, 1.78e9 + step, *values)


@pytest.mark.parametrize(("size", "styles"), [(2, 1), (3, 4), (10, 4), (40, 1)])
def test_merged_records_of_every_size_and_style(size: int, styles: int) -> None:
    rng = random.Random(size)
    data = b"".join(merged(step, TAGS[:size], rng, styles) for step in range(120))
    expected = encode.reference(data)
    for piece in (None, 3000):
        assert read(data, piece=piece) == expected


@pytest.mark.parametrize("seed", range(2))
def test_merged_records_in_any_order(seed: int) -> None:
    """Among single values, histograms, and records that name a tag twice."""
    rng = random.Random(seed)
    plan = [rng.sample(TAGS, rng.randint(1, 12)) for _ in range(40)]
    records = [encode.header()]
    for step in range(1, 300):
        tags = rng.choice(plan)
        if rng.random() < 0.02:
            tags = [*tags, tags[0]]
        records.append(merged(step + rng.choice((0, 0, 1)), tags, rng, 1 + 2 * seed))
        if step % 50 == 0:
            records.append(encode.event(step, 1.78e9 + step, encode.histogram(b"h")))
    data = b"".join(records)
    expected = encode.reference(data)
    for piece in (None, 997, 1 << 15):
        assert read(data, piece=piece) == expected


@pytest.mark.parametrize("layouts", [1, 20])
def test_no_loop_over_merged_values(layouts: int) -> None:
    """Twice the records take hardly more steps of the interpreter."""
    rng = random.Random(5)
    plan = [rng.sample(TAGS, 10) for _ in range(layouts)]
    records = [merged(step, rng.choice(plan), rng) for step in range(1, 4001)]
    few, many = b"".join(records[:2000]), b"".join(records)
    spent = [bytecodes(lambda d=data: TfEvents().decoder().feed(d)) for data in (few, many)]
    assert spent[1] - spent[0] < 2000 * 10 * 10


def test_records_longer_than_a_block_of_their_checksum() -> None:
    rng = random.Random(1)
    tags = [b"layer_%d/grad_norm" % i for i in range(200)]
    records = [merged(step, tags, rng) for step in range(1, 30)]
    data = b"".join(records)
    assert len(records[0]) > 5000
    assert read(data) == read(data, verify=True) == encode.reference(data)


# -- properties -------------------------------------------------------------------------------

tag_names = st.one_of(
    st.sampled_from([b"a", b"b/c", b"loss", b"actor/kl"]), st.text(max_size=12).map(str.encode)
)
records = st.lists(
    st.tuples(
        st.one_of(st.integers(0, 300), st.integers(-(1 << 63), (1 << 63) - 1)),
        st.floats(1.7e9, 1.7e9 + 30),
        tag_names,
        st.floats(width=32, allow_nan=False),
        st.sampled_from(sorted(STYLES.keys() - {"half", "int"})),
    ),
    max_size=40,
)


@given(records, st.lists(st.integers(1, 400), max_size=12), st.booleans())
def test_arbitrary_records_in_arbitrary_pieces(
    plan: list[tuple[int, float, bytes, float, str]], cuts: list[int], more: bool
) -> None:
    data = b"".join(encode.event(s, w, STYLES[k](t, v)) for s, w, t, v, k in plan * 3)
    decoder, parts, pos = TfEvents().decoder(), [], 0
    for cut in cuts:
        parts.append(decoder.feed(data[pos : pos + cut], more=more))
        pos += cut
    parts.append(decoder.feed(data[pos:]))
    assert encode.points_of(parts) == encode.reference(data)


@given(st.data())
def test_mutated_bytes_never_raise(draw: st.DataObject) -> None:
    base = bytearray(b"".join(rows(12)) + encode.event(1, 1.0, encode.text(b"t", b"hello")))
    for _ in range(draw.draw(st.integers(1, 8))):
        base[draw.draw(st.integers(0, len(base) - 1))] = draw.draw(st.integers(0, 255))
    data = bytes(base)
    assert read(data) == read(data, piece=draw.draw(st.integers(1, 600)))
