"""Histograms, pictures and curves of event files: where they stand, and what is read there."""

import numpy as np
import pytest

from rltui.core.batch import MediaKind, MediaPlace
from rltui.core.media import histogram
from rltui.formats.tfevents import TfEvents
from rltui.formats.tfevents.media import media_in
from tests import event_media
from tests.formats import encode
from tests.tables import cases

EDGES, COUNTS = np.array([-1.0, 0.0, 1.0, 3.0]), np.array([2.0, 5.0, 1.0])
PRECISION, RECALL = np.array([1.0, 0.75, 0.5]), np.array([0.0, 0.5, 1.0])
IMAGE = b"\x89PNG of any kind"
FILE = b"".join(
    (
        encode.header(),
        encode.event(1, 1.78e9, encode.simple(b"loss", 0.5)),
        event_media.record(1, event_media.histogram("old", EDGES, COUNTS)),
        event_media.record(2, event_media.tensor_histogram("new", EDGES, COUNTS)),
        encode.event(2, 1.78e9, encode.simple(b"loss", 0.4)),
        event_media.record(3, event_media.picture("frame", IMAGE)),
        event_media.record(4, event_media.curve("pr", PRECISION, RECALL)),
        event_media.record(5, event_media.pictures("batch", IMAGE, b"another")),
    )
)


def places(data: bytes, piece: int) -> list[MediaPlace]:
    decoder, found = TfEvents().decoder(), list[MediaPlace]()
    for at in range(0, len(data), piece):
        found += decoder.feed(data[at : at + piece], more=at + piece < len(data)).media
    return found


def there(place: MediaPlace, data: bytes = FILE) -> object:
    record = data[place.offset : place.offset + place.length]
    return media_in(record, place.tag, place.kind, place.step)


@pytest.mark.parametrize("piece", [7, 100, 1 << 20])
def test_places_are_found_however_the_file_is_split(piece: int) -> None:
    found = places(FILE, piece)
    kinds = [(p.tag, p.kind.value, p.step) for p in found]
    assert kinds == [
        ("old", "histogram", 1), ("new", "histogram", 2), ("frame", "picture", 3),
        ("pr", "curve", 4), ("batch", "picture", 5),
    ]  # fmt: skip
    for place in found[:2]:
        value = there(place)
        assert value.edges.tolist() == EDGES.tolist()
        assert value.counts.tolist() == COUNTS.tolist()
    assert there(found[2]) == (IMAGE,)
    assert there(found[4]) == (IMAGE, b"another")
    value = there(found[3])
    assert value.precision.tolist() == PRECISION.tolist()
    assert value.recall.tolist() == RECALL.tolist()


def test_what_is_no_longer_there_is_none() -> None:
    place = places(FILE, len(FILE))[0]
    assert there(place._replace(step=9)) is None
    assert there(place._replace(tag="other")) is None
    assert there(place._replace(offset=place.offset + 1)) is None
    assert there(place._replace(length=place.length - 3)) is None, "torn"
    damaged = bytearray(FILE)
    damaged[place.offset + 40] ^= 1
    assert there(place, bytes(damaged)) is None
    assert there(place._replace(kind=MediaKind.CURVE)) is None
    assert there(place._replace(kind=MediaKind.PICTURE)) is None


def test_many_bins_become_few_that_hold_about_as_much() -> None:
    values = np.random.default_rng(1).standard_t(2, 20_000)
    counts, edges = np.histogram(values, 4000)
    found = histogram(edges, counts.astype(np.float64))
    assert len(found.counts) <= 64
    assert found.counts.sum() == len(values)
    shares = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    assert found.quantiles(shares) == pytest.approx(np.quantile(values, shares), abs=0.05)


@cases(__file__, "odd_bins")
def test_odd_bins(edges: list[float], counts: list[float], kept: list[float] | None) -> None:
    found = histogram(np.array(edges, np.float64), np.array(counts, np.float64))
    assert (found and found.counts.tolist()) == kept
    if found is not None:
        assert np.isfinite(found.edges).all()
        assert (np.diff(found.edges) >= 0).all()
        assert np.isfinite(found.quantiles(np.array([0.0, 0.02, 0.98, 1.0]))).all()


def test_a_tensor_of_another_shape_is_none() -> None:
    from tensorboard.util.tensor_util import make_tensor_proto

    for odd in (np.zeros(7), np.zeros((2, 3), np.int32), np.zeros((0, 3))):
        value = event_media.plugin("x", "histograms", make_tensor_proto(odd))
        record = event_media.record(1, value)
        assert media_in(record, "x", MediaKind.HISTOGRAM, 1) is None
