"""SwanLab's transaction logs: scalars, system metrics, console, how it ended."""

from __future__ import annotations

import math
import struct
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rltui.formats.base import Decoded, clean_tag
from rltui.formats.tracker_log import SwanLab
from rltui.formats.tracker_log.leveldb import Framing
from rltui.formats.tracker_log.tracker_decoder import SWANLAB_FRAMING, SwanLabDecoder
from tests.formats import encode
from tests.formats.encode import field
from tests.formats.encode_tracker import log, number, scalar, swanlab_log, swanlab_record
from tests.places import FIXTURES

FIXTURE = FIXTURES / "swanlab" / "nan.swanlab"
WALL = 1.75e9


def decode(*records: bytes) -> Decoded:
    return SwanLabDecoder().feed(swanlab_log(*records))


def points(decoded: Decoded) -> dict[str, list[tuple[int, float]]]:
    return encode.values_of([decoded])


def finish(state: int, error: str = "") -> bytes:
    return swanlab_record(11, number(1, state) + (field(2, error.encode()) if error else b""))


def test_claims_any_version_by_suffix_and_first_bytes() -> None:
    form = SwanLab()
    assert form.claims(Path("run-x.swanlab"), swanlab_log(scalar("a", 1, 1.0)))
    other = log(Framing(b":SWL", 0xE1D6, 1), [scalar("a", 1, 1.0)])
    assert form.claims(Path("run-x.swanlab"), other)
    assert not form.claims(Path("run-x.swanlab"), swanlab_log())
    assert not form.claims(Path("run-x.swanlab"), b"{}")
    assert not form.claims_name("run-x.wandb")
    assert not form.claims_name("swanlab-metadata.json")


def test_another_version_is_said_once() -> None:
    data = log(Framing(SWANLAB_FRAMING.ident, SWANLAB_FRAMING.magic, 1), [scalar("a", 1, 1.0)] * 5)
    parts = encode.feed_all(SwanLabDecoder(), data, piece=10)
    assert encode.points_of(parts) == {}
    notes = [n.message for p in parts for n in p.notes]
    assert notes == ["written in version 1 of its format; only 2 is read"]


def test_nan_and_infinity_of_a_real_run() -> None:
    decoded = SwanLabDecoder().feed(FIXTURE.read_bytes())
    found = points(decoded)
    assert set(found) == {"train/loss", "train/grad_norm"}
    losses = [v for _, v in found["train/loss"]]
    assert math.isnan(losses.pop(1))
    assert losses == [1.0, 0.5, 0.4]
    assert found["train/grad_norm"] == [(1, 2.0), (2, math.inf), (3, -math.inf), (4, 1.5)]
    assert decoded.exit_code == 0
    assert decoded.notes == ()
    assert decoded.hparams == {"swanlab.project": "tiny", "swanlab.name": "replay"}
    assert decoded.tail.lines[0] == "swanlab: Tracking run with swanlab version 0.10.3"
    assert decoded.tail.after_row == 0


SCALARS = st.lists(
    st.tuples(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
        | st.sampled_from(["loss", "k" * 127, "k" * 128, "k" * 300, "ключ", '"\x10\x18\x01'])
        .filter(lambda k: not k.startswith("__swanlab__")),
        st.integers(-3, 300) | st.integers(-(2**63), 2**63 - 1),
        st.floats(),
        st.integers(0, 2**33).map(float) | st.just(WALL + 0.5),
        st.integers(0, 2) | st.integers(0, 2**63),
    ),
    max_size=40,
)  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(SCALARS, st.lists(st.integers(0, 8000), max_size=8))
def test_any_scalars_in_any_pieces(
    scalars: list[tuple[str, int, float, float, int]], places: list[int]
) -> None:
    expected: encode.Points = {}
    records = []
    for key, step, value, wall, kind in scalars:
        records.append(scalar(key, step, value, wall, num=kind, kind=kind))
        point = (step, wall, struct.pack("<d", value))
        expected.setdefault(clean_tag(key), []).append(point)
    data = swanlab_log(*records)
    ends = sorted({min(p, len(data)) for p in places} | {0, len(data)})
    decoder = SwanLabDecoder()
    parts = [decoder.feed(data[a:b]) for a, b in pairwise(ends)]
    assert encode.points_of(parts) == expected
    assert [n for p in parts for n in p.notes] == []


def test_system_metrics_stand_at_the_newest_step() -> None:
    found = points(
        decode(
            scalar("__swanlab__.cpu.pct", 0, 1.0),
            scalar("loss", 40, 0.5),
            scalar("__swanlab__.cpu.pct", 1, 2.0),
            scalar("__swanlab__.cpu.pct", 2, 3.0),
        )
    )
    assert found == {"system/cpu.pct": [(0, 1.0), (40, 2.0), (40, 3.0)], "loss": [(40, 0.5)]}


@pytest.mark.parametrize(("state", "code"), [(1, 0), (2, 1), (3, 1)])
def test_how_it_ended(state: int, code: int) -> None:
    assert decode(scalar("a", 1, 1.0)).exit_code is None
    assert decode(finish(0)).exit_code is None
    assert decode(finish(state)).exit_code == code


@pytest.mark.parametrize(
    "broken", [b"\x13\x00", b"j\xff\xff\xff\xff\x7f", b"\xff" * 20, swanlab_record(13, b"\x0a\x7f")]
)
def test_a_broken_record_costs_itself_only(broken: bytes) -> None:
    decoded = decode(scalar("a", 0, 1.0), broken, scalar("a", 1, 2.0))
    assert points(decoded) == {"a": [(0, 1.0), (1, 2.0)]}
    assert len(decoded.notes) == 1
    assert decoded.records == 3


@settings(max_examples=100, deadline=None)
@given(st.lists(st.binary(max_size=120), max_size=10))
def test_intact_chunks_of_garbage(payloads: list[bytes]) -> None:
    begins = (b"", b"j", b"j\x10\x0a", b"\x5a\x10", b"\x82\x01", b"\x08\x01\x12\x02", b"\x52\x10")
    records = [begins[n % len(begins)] + p for n, p in enumerate(payloads)]
    decoded = decode(*records, scalar("good", 10**6, 1.0))
    assert (10**6, 1.0) in points(decoded)["good"]
