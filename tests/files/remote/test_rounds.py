"""Many questions at once, where a server takes them: search, listing, reading."""

from __future__ import annotations

import pytest

from rltui.core.address import RemotePath
from rltui.files.remote.server import RemoteServer
from rltui.files.remote.status import names_by_directory
from rltui.files.remote.store import RemoteStore
from rltui.files.remote.tail import RemoteTail
from tests.clock import ManualClock
from tests.files.bucket import QuickBucket

#: Of a server that lists one directory at a time, and of a store that lists whole trees.
ROOT, FLAT = RemotePath("http:", "b", "runs"), RemotePath("s3:", "b", "runs")
RUNS = [f"run{i:02}" for i in range(40)]


class ListedBucket:
    """Forty runs in a bucket that were listed."""

    def __init__(self, root: RemotePath = ROOT) -> None:
        self.clock = ManualClock()
        self.bucket = QuickBucket(self.clock)
        self.store = RemoteStore(RemoteServer(root, lambda _: self.bucket, lambda: 0.5))
        self.store.use(self.clock, 5.0)
        for run in RUNS:
            self.bucket.put(f"b/runs/{run}/log.jsonl", b"row of " + run.encode())
        self.root = root
        self.store.entries(root)

    def walk(self) -> dict[str, list[str]]:
        """The names of each run, as a search finds them."""
        runs = [e.name for e in self.store.entries(self.root) if e.is_dir()]
        self.store.expect([self.root / r for r in runs], lambda name: False)
        return {r: [e.name for e in self.store.entries(self.root / r)] for r in runs}

    def fresh(self) -> QuickBucket:
        """The bucket, which forgets what it was asked."""
        self.bucket.asked.clear()
        self.bucket.together = 0
        return self.bucket


@pytest.fixture
def listed() -> ListedBucket:
    return ListedBucket()


def test_what_is_expected_is_asked_for_at_once(listed: ListedBucket) -> None:
    bucket = listed.fresh()
    listed.store.expect([ROOT / r for r in RUNS], lambda name: name.endswith(".jsonl"))
    assert (bucket.calls("ls"), bucket.calls("read"), bucket.together) == (40, 40, 16)
    bucket.asked.clear()
    for run in RUNS:
        path = ROOT / run / "log.jsonl"
        assert [e.name for e in listed.store.entries(ROOT / run)] == ["log.jsonl"]
        assert listed.store.read(path, 0, 1 << 16) == b"row of " + run.encode()
    assert bucket.asked == []


def test_directories_whose_time_has_come_are_listed_together(listed: ListedBucket) -> None:
    listed.store.expect([ROOT / r for r in RUNS], lambda name: False)
    for run in RUNS:
        listed.store.entries(ROOT / run)
    listed.clock.advance(5.0)
    bucket = listed.fresh()
    listed.store.entries(ROOT / RUNS[0])
    assert (bucket.calls("ls"), bucket.together) == (41, 16), "the runs and what holds them"
    for run in RUNS:
        listed.store.entries(ROOT / run)
    assert bucket.calls("ls") == 41


def test_what_nobody_wants_any_more_is_not_listed(listed: ListedBucket) -> None:
    listed.store.expect([ROOT / r for r in RUNS], lambda name: False)
    listed.clock.advance(5.0)
    listed.store.entries(ROOT / RUNS[0])
    listed.clock.advance(5.0)
    bucket = listed.fresh()
    listed.store.entries(ROOT / RUNS[0])
    assert bucket.calls("ls") == 1


def test_files_that_have_grown_are_read_together(listed: ListedBucket) -> None:
    listed.store.expect([ROOT / r for r in RUNS], lambda name: False)
    tails = [RemoteTail(ROOT / r / "log.jsonl", store=listed.store) for r in RUNS]
    bucket = listed.fresh()
    assert [t.poll(1 << 20).data for t in tails] == [b"row of " + r.encode() for r in RUNS]
    assert (bucket.calls("read"), bucket.together) == (40, 16)
    for run in RUNS[::2]:
        bucket.append(f"b/runs/{run}/log.jsonl", b" and more of " + run.encode())
    listed.clock.advance(5.0)
    bucket = listed.fresh()
    polled = [t.poll(1 << 20).data for t in tails]
    assert polled[::2] == [b" and more of " + r.encode() for r in RUNS[::2]]
    assert polled[1::2] == [b""] * 20
    assert (bucket.calls("read"), bucket.together) == (20, 16)


def test_one_failure_in_a_round_is_of_one_path(listed: ListedBucket) -> None:
    listed.store.expect([ROOT / r for r in RUNS], lambda name: False)
    tails = [RemoteTail(ROOT / r / "log.jsonl", store=listed.store) for r in RUNS]
    del listed.bucket.objects[f"b/runs/{RUNS[7]}/log.jsonl"]
    found = [t.poll(1 << 20) for t in tails]
    assert [bool(p.data) for p in found] == [r != RUNS[7] for r in RUNS]
    assert found[7].notes


def test_a_server_that_fails_in_a_round_is_out_of_reach(listed: ListedBucket) -> None:
    listed.store.expect([ROOT / r for r in RUNS], lambda name: False)
    for run in RUNS:
        listed.store.entries(ROOT / run)
    listed.bucket.fault = ConnectionResetError("reset")
    listed.clock.advance(5.0)
    bucket = listed.fresh()
    for run in RUNS:
        assert [e.name for e in listed.store.entries(ROOT / run)] == ["log.jsonl"]
    assert bucket.calls("ls") == 41, "one round, then a pause"
    assert len(listed.store.notes) == 1


@pytest.fixture
def flat() -> ListedBucket:
    listed = ListedBucket(FLAT)
    listed.walk()
    listed.clock.advance(5.0)
    listed.fresh()
    return listed


def test_a_tree_is_listed_at_once(flat: ListedBucket) -> None:
    flat.bucket.append(f"b/runs/{RUNS[3]}/log.jsonl", b" more")
    flat.bucket.put("b/runs/new/log.jsonl", b"new")
    flat.bucket.put(f"b/runs/{RUNS[4]}/sub/other.jsonl", b"deep")
    del flat.bucket.objects[f"b/runs/{RUNS[5]}/log.jsonl"]
    assert flat.store.status(FLAT / RUNS[3] / "log.jsonl").st_size == len("row of run03 more")
    assert (flat.bucket.calls("find"), flat.bucket.calls("ls")) == (1, 0)
    names = flat.walk()
    assert set(names) == {*RUNS, "new"} - {RUNS[5]}
    assert names[RUNS[4]] == ["log.jsonl", "sub"]
    assert names["new"] == ["log.jsonl"]
    assert flat.bucket.calls("ls") == 1, "of what is new"
    with pytest.raises(FileNotFoundError):
        flat.store.status(FLAT / RUNS[5] / "log.jsonl")


def test_one_request_for_one_directory(flat: ListedBucket) -> None:
    flat.store.entries(FLAT / RUNS[0])
    assert flat.bucket.calls("find") == 1
    for _ in range(60):
        flat.clock.advance(60.0)
        flat.bucket.append(f"b/runs/{RUNS[0]}/log.jsonl", b".")
        flat.store.entries(FLAT / RUNS[0])
    flat.fresh()
    flat.clock.advance(5.0)
    flat.store.entries(FLAT / RUNS[0])
    assert (flat.bucket.calls("find"), flat.bucket.calls("ls")) == (0, 1)


def test_a_tree_with_directories_of_unknown_size_is_not(flat: ListedBucket) -> None:
    flat.bucket.put(f"b/runs/{RUNS[0]}/checkpoint-1/shard-00001", b"weights")
    flat.walk()
    flat.clock.advance(5.0)
    flat.fresh()
    flat.walk()
    assert (flat.bucket.calls("find"), flat.bucket.calls("ls")) == (0, 41)


def test_another_tree_of_a_bucket_is_listed_while_the_first_is_due() -> None:
    listed = ListedBucket(FLAT)
    listed.clock.advance(10.0)
    listed.bucket.put("b/other/log.jsonl", b"row\n")
    other = RemotePath("s3:", "b", "other")
    assert [e.name for e in listed.store.entries(other)] == ["log.jsonl"]


def test_a_neighbour_whose_name_begins_alike_is_no_part_of_a_tree() -> None:
    top = RemotePath("s3:", "b", "run")
    listed = {
        "b/run/tb/log": {"type": "file", "size": 1},
        "b/run2/log": {"type": "file", "size": 2},
    }
    found = names_by_directory(top, "b/run", listed)
    assert {str(d): list(names) for d, names in found.items()} == {
        "s3://b/run": ["tb"],
        "s3://b/run/tb": ["log"],
    }
