"""Following an object by ranges of what was appended, and each fault it can have."""

from __future__ import annotations

import pytest

from rltui.core.address import RemotePath
from rltui.core.level import Level
from rltui.files.remote.server import RemoteServer
from rltui.files.remote.store import RemoteStore
from rltui.files.remote.tail import RemoteTail
from rltui.files.tail import Polled
from tests.clock import ManualClock
from tests.files.bucket import Bucket

BIG = 1 << 20
ROWS = b"".join(b"row %04d\n" % i for i in range(500))
NAME = "b/runs/a.jsonl"
PATH = RemotePath("s3:", *NAME.split("/"))


class Place:
    """A bucket, its store, and a tail of one object in a directory that was listed."""

    def __init__(self, *, listed: bool = True, whole: bool = False) -> None:
        self.clock = ManualClock()
        self.bucket = Bucket(self.clock)
        self.store = RemoteStore(RemoteServer(PATH, lambda _: self.bucket, lambda: 0.5))
        self.store.use(self.clock, 5.0)
        self.bucket.put(NAME, ROWS)
        if listed:
            self.store.entries(PATH.parent)
        self.tail = RemoteTail(PATH, whole=whole, store=self.store)

    def poll(self, budget: int = BIG) -> Polled:
        """A poll when it is time to ask again."""
        self.clock.advance(5.0)
        return self.tail.poll(budget)


@pytest.fixture(params=[True, False], ids=["listed", "alone"])
def place(request: pytest.FixtureRequest) -> Place:
    return Place(listed=request.param)


def test_reads_what_is_appended_and_a_few_bytes_before(place: Place) -> None:
    assert place.poll().data == ROWS
    assert place.poll() == Polled()
    place.bucket.reads()
    place.bucket.append(NAME, b"more\n")
    assert place.poll() == Polled(b"more\n", changed=True)
    assert place.bucket.reads() == [(len(ROWS) - 64, len(ROWS) + 5)]
    assert (place.tail.offset, place.tail.size) == (len(ROWS) + 5, len(ROWS) + 5)
    assert place.tail.modified == place.clock.now() - 5.0


def test_nothing_is_asked_between_two_listings(place: Place) -> None:
    place.poll()
    place.bucket.append(NAME, b"more\n")
    place.bucket.asked.clear()
    for _ in range(4):
        place.clock.advance(1.0)
        assert place.tail.still()
        assert place.tail.poll(BIG) == Polled()
    assert place.bucket.asked == []
    place.clock.advance(1.0)
    assert not place.tail.still()


def test_a_large_object_comes_in_pieces_of_few_requests(place: Place) -> None:
    data = bytes(range(256)) * 80_000
    place.bucket.put(NAME, data)
    place.clock.advance(5.0)
    parts = []
    while (polled := place.tail.poll(BIG)).data:
        parts.append(polled.data)
    assert b"".join(parts) == data
    assert max(map(len, parts)) == BIG
    assert len(place.bucket.reads()) == 3


def test_replaced_by_a_longer_object(place: Place) -> None:
    place.poll()
    place.bucket.put(NAME, b"other " * 1000)
    polled = place.poll()
    assert (polled.data, polled.restarted) == (b"other " * 1000, True)
    assert polled.notes == ((Level.WATCH, "was written anew; read again from its start"),)
    assert place.tail.generation == 1


def test_replaced_by_an_object_of_the_same_size(place: Place) -> None:
    place.poll()
    place.bucket.put(NAME, b"Row" + ROWS[3:])
    polled = place.poll()
    assert (polled.data[:3], polled.restarted) == (b"Row", True)


def test_a_new_version_of_the_same_content_is_no_news(place: Place) -> None:
    place.poll()
    place.clock.advance(100.0)
    place.bucket.put(NAME, ROWS)
    polled = place.poll()
    assert (polled.data, polled.restarted, polled.notes) == (b"", False, ())


def test_truncated(place: Place) -> None:
    place.poll()
    place.bucket.put(NAME, ROWS[:90])
    polled = place.poll()
    assert (polled.data, polled.restarted) == (ROWS[:90], True)
    assert "truncated" in polled.notes[0][1]


def test_a_document_starts_over_without_a_note() -> None:
    place = Place(whole=True)
    assert place.poll().data == ROWS
    place.bucket.put(NAME, ROWS + b"x")
    polled = place.poll()
    assert (polled.data, polled.restarted, polled.notes) == (ROWS + b"x", True, ())


def test_a_large_document_is_read_to_its_end() -> None:
    place = Place(whole=True)
    data = b"d" * (20 << 20)
    place.bucket.put(NAME, data)
    place.clock.advance(5.0)
    read = 0
    for _ in range(100):
        polled = place.tail.poll(BIG)
        assert not polled.restarted
        read += len(polled.data)
    assert read == len(data)


def test_deleted_and_back(place: Place) -> None:
    place.poll()
    data, _ = place.bucket.objects.pop(NAME)
    place.bucket.put("b/runs/other", b"")
    polled = place.poll()
    assert place.tail.gone
    assert "deleted" in polled.notes[0][1]
    assert place.poll() == Polled(), "reported once"
    place.bucket.put(NAME, data + b"more\n")
    polled = place.poll()
    assert (polled.data, polled.notes) == (b"more\n", ((Level.OK, "is back"),))


def test_deleted_between_listing_and_reading() -> None:
    place = Place()
    place.bucket.objects.clear()
    assert place.tail.poll(BIG).notes
    assert place.tail.gone
    place.bucket.asked.clear()
    assert place.tail.poll(BIG) == Polled()
    assert place.bucket.asked == [], "not asked for again at once"


def test_shorter_than_it_was_listed(place: Place) -> None:
    place.poll()
    place.bucket.append(NAME, b"more\n")
    place.clock.advance(5.0)
    place.store.status(PATH)
    place.bucket.put(NAME, b"new\n")
    assert place.tail.poll(BIG) == Polled()
    assert place.poll().data == b"new\n"


def test_a_server_out_of_reach_is_the_store_s_trouble(place: Place) -> None:
    place.poll()
    place.bucket.append(NAME, b"more\n")
    place.bucket.fault = ConnectionError("refused")
    assert place.poll() == Polled()
    assert [n.level for n in place.store.notes] == [Level.WATCH]
    place.bucket.fault = None
    assert place.poll().data == b"more\n"
    assert [n.level for n in place.store.notes] == [Level.OK]


def test_no_permission_for_one_object(place: Place) -> None:
    class Denied(Bucket):
        def cat_file(self, *_: object, **__: object) -> bytes:
            raise PermissionError("Forbidden")

    place.bucket.__class__ = Denied
    polled = place.poll()
    assert polled.notes == ((Level.WATCH, "cannot be read: permission denied: Forbidden"),)
    place.bucket.__class__ = Bucket
    assert place.poll().data == ROWS


def test_a_server_that_ignores_ranges(place: Place) -> None:
    place.bucket.whole = True
    place.poll()
    place.bucket.append(NAME, b"more\n")
    assert place.poll().data == b"more\n"
    assert any("whole files only" in n.message for n in place.store.notes)


@pytest.mark.parametrize("skew", [-7200.0, 3600.0, 0.0])
def test_ages_by_the_clock_of_this_machine(skew: float) -> None:
    place = Place()
    place.bucket.skew_s = skew
    place.poll()
    for _ in range(3):
        place.bucket.append(NAME, b"more\n")
        place.poll()
    assert abs(place.clock.now() - place.tail.modified) <= 10.0
    assert abs(place.store.skew_s - skew) <= 10.0
