"""How often a server is asked, and what is known of it while it does not answer."""

from __future__ import annotations

import errno
import subprocess
import sys
import time

import pytest

from rltui.core.address import RemotePath
from rltui.core.errors import UsageError
from rltui.core.installation import to_add
from rltui.core.level import Level
from rltui.files.remote.server import RemoteServer
from rltui.files.remote.store import RemoteStore, check_installed, store_of
from tests import places
from tests.clock import ManualClock
from tests.files.bucket import Bucket

ROOT = RemotePath("s3:", "b", "runs")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def bucket(clock: ManualClock) -> Bucket:
    bucket = Bucket(clock)
    for name in ("a", "b", "c"):
        bucket.put(f"b/runs/{name}/log.jsonl", b"row\n")
    return bucket


@pytest.fixture
def store(bucket: Bucket, clock: ManualClock) -> RemoteStore:
    store = RemoteStore(RemoteServer(ROOT, lambda _: bucket, lambda: 0.5))
    store.use(clock, 5.0)
    return store


def test_one_listing_answers_for_all_files(store: RemoteStore, bucket: Bucket) -> None:
    for i in range(100):
        bucket.put(f"b/runs/a/{i}.jsonl", b"x" * i)
    assert len(store.entries(ROOT / "a")) == 101
    assert [store.status(ROOT / "a" / f"{i}.jsonl").st_size for i in range(100)] == list(range(100))
    assert len(bucket.asked) == 1


def test_directories_on_the_way_are_listed_not_probed(store: RemoteStore, bucket: Bucket) -> None:
    store.entries(ROOT)
    for name in ("x/y/z", "a/none", "a/log.jsonl/below", "b/x/y"):
        with pytest.raises(FileNotFoundError) as found:
            store.status(ROOT / name)
        assert found.value.errno == errno.ENOENT
    assert store.status(ROOT / "c" / "log.jsonl").st_size == 4
    assert (bucket.calls("info"), bucket.calls("ls")) == (0, 4)


def test_a_quiet_directory_is_listed_ever_more_rarely(
    store: RemoteStore, bucket: Bucket, clock: ManualClock
) -> None:
    counts = []
    for _ in range(4):
        bucket.asked.clear()
        for _ in range(600):
            clock.advance(1.0)
            store.entries(ROOT / "a")
        counts.append(bucket.calls("ls"))
    assert counts[0] in range(25, 60)
    assert counts[-1] == 10, "once a minute"
    bucket.append("b/runs/a/log.jsonl", b"row\n")
    bucket.asked.clear()
    for _ in range(100):
        clock.advance(1.0)
        store.entries(ROOT / "a")
    assert bucket.calls("ls") in range(8, 21), "every five seconds once it changes"


def test_a_file_without_a_time_changed_when_that_was_seen(
    store: RemoteStore, bucket: Bucket, clock: ManualClock
) -> None:
    path = ROOT / "a" / "log.jsonl"
    bucket.dated = False
    first = store.status(path)
    assert first.st_mtime == pytest.approx(clock.now())
    clock.advance(60.0)
    assert store.status(path) == first
    bucket.append("b/runs/a/log.jsonl", b"row\n")
    clock.advance(60.0)
    assert store.status(path).st_mtime == pytest.approx(clock.now())


def test_throttling_pauses_everything_and_is_said_once(
    store: RemoteStore, bucket: Bucket, clock: ManualClock
) -> None:
    before = [entry.stat() for entry in store.entries(ROOT)]
    bucket.fault = OSError(errno.EIO, "SlowDown: Please reduce your request rate.")
    bucket.asked.clear()
    for _ in range(300):
        clock.advance(1.0)
        assert [entry.stat() for entry in store.entries(ROOT)] == before, "what is known stays"
    assert 6 <= len(bucket.asked) <= 12, "pauses that double, up to a minute"
    (note,) = store.notes
    assert note.level is Level.WATCH
    assert "fewer requests" in note.message
    bucket.fault = None
    at = time.strftime("%H:%M:%S", time.localtime(clock.now() - 295))  # of the first list
    assert note.message.startswith(f"cannot be read since {at}: ")
    clock.advance(90.0)
    assert [entry.stat() for entry in store.entries(ROOT)] == before
    assert [n.level for n in store.notes] == [Level.OK]


def test_without_permission_one_directory_is_not_listed_again_at_once(
    store: RemoteStore, bucket: Bucket
) -> None:
    bucket.fault = PermissionError("AccessDenied")
    for _ in range(3):
        with pytest.raises(PermissionError, match="AccessDenied"):
            store.entries(ROOT)
    assert len(bucket.asked) == 1
    assert store.notes == ()


def test_a_beginning_is_read_once(store: RemoteStore, bucket: Bucket, clock: ManualClock) -> None:
    path = ROOT / "a" / "log.jsonl"
    store.entries(ROOT / "a")
    assert store.read(path, 0, 1 << 16) == b"row\n"
    assert store.read(path, 0, 4) == store.read(path, 0, 1 << 16) == b"row\n"
    assert bucket.calls("read") == 1
    bucket.append("b/runs/a/log.jsonl", b"new\n")
    clock.advance(60.0)
    store.status(path)
    assert store.read(path, 0, 1 << 16) == b"row\nnew\n"


def test_an_own_connection_is_opened_anew_after_a_failure(
    bucket: Bucket, clock: ManualClock
) -> None:
    opened: list[RemotePath] = []

    def connect(path: RemotePath) -> Bucket:
        opened.append(path)
        return bucket

    store = RemoteStore(RemoteServer(ROOT, connect, lambda: 0.5))
    store.use(clock, 5.0)
    store.entries(ROOT)
    bucket.fault = EOFError()
    clock.advance(60.0)
    store.entries(ROOT)
    bucket.fault = None
    clock.advance(60.0)
    store.entries(ROOT)
    assert len(opened) == 2


@pytest.fixture
def _not_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forgets what other tests have imported for their addresses."""
    registry = sys.modules["fsspec.registry"]._registry if "fsspec" in sys.modules else {}
    for scheme in list(registry):
        monkeypatch.delitem(registry, scheme)
    for name in [name for name in sys.modules if name.startswith("fsspec.implementations.")]:
        monkeypatch.delitem(sys.modules, name)


@pytest.mark.usefixtures("_not_imported")
@pytest.mark.parametrize("missing", ["fsspec.registry", "s3fs"])
def test_one_command_adds_all_that_an_address_needs(
    monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(UsageError) as found:
        check_installed(ROOT)
    said = f"s3://b/runs: needs fsspec and s3fs: {to_add('fsspec', 's3fs')}"
    assert str(found.value) == said


@pytest.mark.usefixtures("_not_imported")
@pytest.mark.parametrize(
    ("scheme", "missing", "named"),
    [("gs", "gcsfs", "fsspec and gcsfs"), ("oci", "ocifs", "fsspec and ocifs")],
)
def test_without_the_package_of_a_protocol(
    monkeypatch: pytest.MonkeyPatch, scheme: str, missing: str, named: str
) -> None:
    pytest.importorskip("fsspec", reason="the extra 'remote' is not installed")
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(UsageError, match=f"{scheme}://b/runs: needs {named}: "):
        check_installed(RemotePath(f"{scheme}:", "b", "runs"))


def test_what_a_package_logs_is_not_printed() -> None:
    program = """
import logging
from rltui.core.address import parse_logdir
from rltui.files.remote.store import filesystem_of
filesystem_of(parse_logdir("memory://runs"))
logging.getLogger("fsspec.asyn").error("with a traceback")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=places.ROOT, capture_output=True, check=True
    )
    assert (done.stdout, done.stderr) == (b"", b"")


def test_an_unknown_protocol() -> None:
    with pytest.raises(UsageError, match="fsspec knows no protocol s4://"):
        check_installed(RemotePath("s4:", "b", "runs"))


def test_other_hosts_have_readers_of_their_own() -> None:
    with pytest.raises(OSError, match="read on another host"):
        store_of(RemotePath("ssh:", "node77", "runs"))
