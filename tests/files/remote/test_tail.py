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


class FollowedObject:
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
def followed(request: pytest.FixtureRequest) -> FollowedObject:
    return FollowedObject(listed=request.param)


def test_reads_what_is_appended_and_a_few_bytes_before(followed: FollowedObject) -> None:
    assert followed.poll().data == ROWS
    assert followed.poll() == Polled()
    followed.bucket.reads()
    followed.bucket.append(NAME, b"more\n")
    assert followed.poll() == Polled(b"more\n", changed=True)
    assert followed.bucket.reads() == [(len(ROWS) - 64, len(ROWS) + 5)]
    assert (followed.tail.offset, followed.tail.size) == (len(ROWS) + 5, len(ROWS) + 5)
    assert followed.tail.modified == followed.clock.now() - 5.0


def test_nothing_is_asked_between_two_listings(followed: FollowedObject) -> None:
    followed.poll()
    followed.bucket.append(NAME, b"more\n")
    followed.bucket.asked.clear()
    for _ in range(4):
        followed.clock.advance(1.0)
        assert followed.tail.still()
        assert followed.tail.poll(BIG) == Polled()
    assert followed.bucket.asked == []
    followed.clock.advance(1.0)
    assert not followed.tail.still()


def test_a_large_object_comes_in_pieces_of_few_requests(followed: FollowedObject) -> None:
    data = bytes(range(256)) * 80_000
    followed.bucket.put(NAME, data)
    followed.clock.advance(5.0)
    parts = []
    while (polled := followed.tail.poll(BIG)).data:
        parts.append(polled.data)
    assert b"".join(parts) == data
    assert max(map(len, parts)) == BIG
    assert len(followed.bucket.reads()) == 3


def test_replaced_by_a_longer_object(followed: FollowedObject) -> None:
    followed.poll()
    followed.bucket.put(NAME, b"other " * 1000)
    polled = followed.poll()
    assert (polled.data, polled.restarted) == (b"other " * 1000, True)
    assert polled.notes == ((Level.WATCH, "was written anew; read again from its start"),)
    assert followed.tail.generation == 1


def test_replaced_by_an_object_of_the_same_size(followed: FollowedObject) -> None:
    followed.poll()
    followed.bucket.put(NAME, b"Row" + ROWS[3:])
    polled = followed.poll()
    assert (polled.data[:3], polled.restarted) == (b"Row", True)


def test_a_new_version_of_the_same_content_is_no_news(followed: FollowedObject) -> None:
    followed.poll()
    followed.clock.advance(100.0)
    followed.bucket.put(NAME, ROWS)
    polled = followed.poll()
    assert (polled.data, polled.restarted, polled.notes) == (b"", False, ())


def test_truncated(followed: FollowedObject) -> None:
    followed.poll()
    followed.bucket.put(NAME, ROWS[:90])
    polled = followed.poll()
    assert (polled.data, polled.restarted) == (ROWS[:90], True)
    assert "truncated" in polled.notes[0][1]


def test_a_document_starts_over_without_a_note() -> None:
    followed = FollowedObject(whole=True)
    assert followed.poll().data == ROWS
    followed.bucket.put(NAME, ROWS + b"x")
    polled = followed.poll()
    assert (polled.data, polled.restarted, polled.notes) == (ROWS + b"x", True, ())


def test_deleted_and_back(followed: FollowedObject) -> None:
    followed.poll()
    data, _ = followed.bucket.objects.pop(NAME)
    followed.bucket.put("b/runs/other", b"")
    polled = followed.poll()
    assert followed.tail.gone
    assert "deleted" in polled.notes[0][1]
    assert followed.poll() == Polled(), "reported once"
    followed.bucket.put(NAME, data + b"more\n")
    polled = followed.poll()
    assert (polled.data, polled.notes) == (b"more\n", ((Level.OK, "is back"),))


def test_a_server_out_of_reach_is_the_store_s_trouble(followed: FollowedObject) -> None:
    followed.poll()
    followed.bucket.append(NAME, b"more\n")
    followed.bucket.fault = ConnectionError("refused")
    assert followed.poll() == Polled()
    assert [n.level for n in followed.store.notes] == [Level.WATCH]
    followed.bucket.fault = None
    assert followed.poll().data == b"more\n"
    assert [n.level for n in followed.store.notes] == [Level.OK]


def test_no_permission_for_one_object(followed: FollowedObject) -> None:
    class Denied(Bucket):
        def cat_file(self, *_: object, **__: object) -> bytes:
            raise PermissionError("Forbidden")

    followed.bucket.__class__ = Denied
    polled = followed.poll()
    assert polled.notes == ((Level.WATCH, "cannot be read: permission denied: Forbidden"),)
    followed.bucket.__class__ = Bucket
    assert followed.poll().data == ROWS


@pytest.mark.parametrize("skew", [-7200.0, 3600.0, 0.0])
def test_ages_by_the_clock_of_this_machine(skew: float) -> None:
    followed = FollowedObject()
    followed.bucket.skew_s = skew
    followed.poll()
    for _ in range(3):
        followed.bucket.append(NAME, b"more\n")
        followed.poll()
    assert abs(followed.clock.now() - followed.tail.modified) <= 10.0
    assert abs(followed.store.skew_s - skew) <= 10.0
