"""Histograms and images of W&B's logs: where they stand, and what is read there."""

import json
from pathlib import Path

import pytest

from rltui.core.batch import MediaKind, MediaPlace
from rltui.facts.media import read_media
from rltui.formats.tracker_log import Wandb
from rltui.store.media import Kept, MediaKey
from tests.formats.encode_tracker import Row, full_row, wandb_log
from tests.places import FIXTURES
from tests.tables import cases

BINS, COUNTS = [-1.0, 0.0, 1.0, 3.0], [2, 5, 1]
FLAT: Row = {
    ("h", "_type"): "histogram",
    ("h", "bins"): list(BINS),
    ("h", "values"): [float(x) for x in COUNTS],
    "loss": 0.5,
}
WHOLE: Row = {"h": {"_type": "histogram", "bins": BINS, "values": COUNTS}, "loss": 0.5}
PACKED_BINS = {"min": -1.0, "size": 1, "count": 3}
PACKED: Row = {"h": {"_type": "histogram", "values": COUNTS, "packedBins": PACKED_BINS}}


def places(data: bytes, piece: int = 1 << 20) -> list[MediaPlace]:
    decoder, found = Wandb().decoder(), list[MediaPlace]()
    for at in range(0, len(data), piece):
        found += decoder.feed(data[at : at + piece], more=at + piece < len(data)).media
    return found


def read(path: Path, data: bytes, place: MediaPlace) -> object:
    path.write_bytes(data)
    kept = Kept(path, place.step, place.offset, place.length)
    return read_media(MediaKey(place.tag, place.kind), [kept])[kept]


@pytest.mark.parametrize("values", [FLAT, WHOLE, PACKED], ids=["flat", "whole", "packed"])
@pytest.mark.parametrize("piece", [100, 1 << 20])
def test_histograms_of_every_row_are_found_and_read(
    values: Row, piece: int, tmp_path: Path
) -> None:
    long: Row = {"text": "word " * 9000}  # rows lie across blocks
    rows = [full_row(s, 1.78e9 + s, {**values, **(long if s == 1 else {})}) for s in range(4)]
    data = wandb_log(*rows)
    found = places(data, piece)
    assert [(p.tag, p.kind, p.step) for p in found] == [
        ("h", MediaKind.HISTOGRAM, s) for s in range(4)
    ]
    for place in found:
        value = read(tmp_path / "run-é.wandb", data, place)
        assert value.counts.tolist() == COUNTS
        assert value.edges[:3].tolist() == BINS[:3]


@pytest.mark.parametrize("name", ["old_sdk", "stepped"])
def test_histograms_of_real_sdks_are_read(name: str) -> None:
    path = FIXTURES / "wandb" / f"{name}.wandb"
    (place,) = places(path.read_bytes())
    kept = Kept(path, place.step, place.offset, place.length)
    value = read_media(MediaKey(place.tag, place.kind), [kept])[kept]
    assert value.counts.sum() == 3
    assert (value.edges[0], value.edges[-1]) == (1, 3)


def test_a_record_of_any_length_is_not_read(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "run.wandb", 1, 0, 1 << 30)
    kept.path.write_bytes(b"x")
    found = read_media(MediaKey("img", MediaKind.PICTURE), [kept])
    assert found == {kept: "1,073,741,824 bytes are too many to be shown"}


def test_images_are_files_of_the_run_and_of_nothing_else(tmp_path: Path) -> None:
    log, files = tmp_path / "run.wandb", tmp_path / "files"
    a, b = "media/a.png", "media/b.png"
    one = ("img", "_type"), ("img", "path")
    wanted: list[tuple[Row, object]] = [
        (dict(zip(one, ("image-file", a), strict=True)), (files / a,)),
        ({one[0]: "images/separated", ("img", "filenames"): [a, b]}, (files / a, files / b)),
        ({one[0]: "images/separated", ("img", "filenames"): [a, "../secret.png"]}, None),
        (dict(zip(one, ("image-file", str(tmp_path / "secret.png")), strict=True)), None),
    ]
    for values, expected in wanted:
        data = wandb_log(full_row(3, 1.78e9, values))
        (place,) = places(data)
        assert (place.tag, place.kind, place.step) == ("img", MediaKind.PICTURE, 3)
        value = read(log, data, place)
        assert value == expected or (expected is None and isinstance(value, str))


@cases(__file__, "odd_histograms_are_a_sentence", "odd", ids=json.dumps)
def test_odd_histograms_are_a_sentence(odd: dict[str, object], tmp_path: Path) -> None:
    data = wandb_log(full_row(3, 1.78e9, {"h": {"_type": "histogram", **odd}}))
    (place,) = places(data)
    assert isinstance(read(tmp_path / "run.wandb", data, place), str)


def test_a_kind_that_is_nested_deep_is_none() -> None:
    deep: object = "histogram"
    for _ in range(400):
        deep = [deep]
    assert places(wandb_log(full_row(3, 1.78e9, {"h": {"_type": deep, "values": COUNTS}}))) == []


def test_a_damaged_record_is_a_sentence(tmp_path: Path) -> None:
    data = bytearray(wandb_log(full_row(3, 1.78e9, FLAT)))
    (place,) = places(bytes(data))
    data[place.offset + 30] ^= 1
    assert isinstance(read(tmp_path / "run.wandb", bytes(data), place), str)
