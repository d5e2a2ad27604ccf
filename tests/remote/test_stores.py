"""Runs on real servers, read whole and followed: a bucket, a host without rltui, memory."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from rltui.core.address import RemotePath, parse_logdir
from rltui.core.batch import Batch
from rltui.core.clock import SystemClock
from rltui.core.errors import SourceError
from rltui.core.level import Level
from rltui.files import disk
from rltui.remote.ssh.files import HostStore
from rltui.sources.follow.reader import Reader
from rltui.sources.options import Intervals, ReaderOptions
from tests.remote.hub import hub_server
from tests.remote.ssh.far_host import far_host
from tests.remote.stores import (
    AzureShelf,
    FolderShelf,
    GcsShelf,
    MemoryShelf,
    S3Shelf,
    Shelf,
    azure_server,
    gcs_server,
    need_extra,
    s3_server,
)

__all__ = ["far_host"]

#: Polled as fast as possible: what is tested is that everything comes, not when.
QUICK = Intervals(fast_s=0.05, slow_s=0.05, rescan_s=0.2, remote_s=0.1)
_PATIENCE_S = 60.0


def rows(begin: int, end: int) -> bytes:
    found = ({"step": i, "loss": 1.0 / (i + 1), "reward": i * 0.1} for i in range(begin, end))
    return "".join(f"{json.dumps(row)}\n" for row in found).encode()


def points_of(batch: Batch) -> int:
    return sum(block.points for block in batch.blocks)


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    with s3_server() as url:
        yield url


@pytest.fixture(scope="module")
def gcs() -> Iterator[str]:
    with gcs_server() as url:
        yield url


@pytest.fixture(scope="module")
def azure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with azure_server(tmp_path_factory.mktemp("azurite")) as connection:
        yield connection


@pytest.fixture(params=["memory", "s3", "gs", "abfs", "hf", "ssh"])
def shelf(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Shelf]:
    need_extra("fsspec")
    folder = tmp_path / "runs"
    folder.mkdir()
    if request.param == "memory":
        yield MemoryShelf()
    elif request.param == "s3":
        url = request.getfixturevalue("s3")
        monkeypatch.setenv("AWS_ENDPOINT_URL", url)
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "testing")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        yield S3Shelf(url)
    elif request.param == "gs":
        url = request.getfixturevalue("gcs")
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", url)
        # Asks Google for the kind of a bucket, whatever the endpoint.
        monkeypatch.setenv("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")
        yield GcsShelf(url)
    elif request.param == "abfs":
        connection = request.getfixturevalue("azure")
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", connection)
        yield AzureShelf(connection)
    elif request.param == "hf":
        reason = "huggingface_hub is not installed"
        constants = pytest.importorskip("huggingface_hub.constants", reason=reason)
        repository = f"{uuid4().hex}/logs"
        with hub_server(tmp_path, repository) as url:
            template = f"{url}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
            monkeypatch.setattr(constants, "ENDPOINT", url)
            monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
            yield FolderShelf(folder, f"hf://{repository}/runs")
    else:
        request.getfixturevalue("far_host")
        store = HostStore(RemotePath("ssh:", "node7"), SystemClock())
        yield FolderShelf(folder, f"node7:{folder}")
        store.close()


class Following:
    """A reader in its thread, and the points that came."""

    def __init__(self, shelf: Shelf) -> None:
        self.reader = Reader([parse_logdir(shelf.address)], ReaderOptions(watch=QUICK))
        self.batches: list[Batch] = []

    def __enter__(self) -> Following:
        self.reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.reader.stop()

    def steps(self, run: str) -> list[int]:
        """The steps of a run, without those that a rewritten file took back."""
        mine = [b for b in self.batches if b.run.name == run]
        newest = max((b.generation for b in mine), default=0)
        return [int(s) for b in mine if b.generation == newest for x in b.blocks for s in x.steps]

    def until_noted(self, level: Level) -> str:
        """What is wrong with the server, or over, once that is noted."""
        end = time.monotonic() + _PATIENCE_S
        while not (found := [n.message for n in self.reader.state.notes if n.level is level]):
            assert time.monotonic() < end, f"no note of level {level}"
            self.reader.wait(0.05)
        return found[0]

    def until_any(self, wanted: Callable[[Batch], bool]) -> None:
        """Wait for a batch."""
        end = time.monotonic() + _PATIENCE_S
        while not any(map(wanted, self.batches)):
            assert time.monotonic() < end, "no such batch"
            self.reader.wait(0.05)
            self.batches += self.reader.drain()

    def until(self, run: str, last: int) -> list[int]:
        """The steps of a run once its newest is ``last``."""
        end = time.monotonic() + _PATIENCE_S
        while self.steps(run)[-1:] != [last]:
            assert time.monotonic() < end, f"{self.steps(run)[-1:]} is not {last}"
            self.reader.wait(0.05)
            self.batches += self.reader.drain()
        return self.steps(run)


def test_read_whole(shelf: Shelf) -> None:
    shelf.put("a/metrics.jsonl", rows(0, 100))
    shelf.put("b/metrics.jsonl", rows(0, 2000))
    reader = Reader([parse_logdir(shelf.address)])
    assert [run.key.name for run in reader.scan()] == ["a", "b"]
    points: dict[str, int] = {}
    for batch in reader.read_all():
        points[batch.run.name] = points.get(batch.run.name, 0) + points_of(batch)
        assert batch.notes == ()
    assert points == {"a": 200, "b": 4000}
    assert reader.progress()[0] == reader.progress()[1] == len(rows(0, 100)) + len(rows(0, 2000))


def test_followed(shelf: Shelf) -> None:
    shelf.put("a/metrics.jsonl", rows(0, 100))
    with Following(shelf) as live:
        live.until("a", 99)
        shelf.append("a/metrics.jsonl", rows(100, 110))
        assert live.until("a", 109) == list(range(110))
        shelf.put("new/metrics.jsonl", rows(0, 20))
        assert live.until("new", 19) == list(range(20))
        shelf.put("a/metrics.jsonl", rows(500, 700))
        assert live.until("a", 699) == list(range(500, 700))
        shelf.delete("a/metrics.jsonl")
        shelf.append("new/metrics.jsonl", rows(20, 30))
        assert live.until("new", 29) == list(range(30))


def test_what_is_read_is_what_was_appended(shelf: Shelf) -> None:
    shelf.put("a/metrics.jsonl", rows(0, 100))
    path = parse_logdir(shelf.address)
    with Following(shelf) as live:
        live.until("a", 99)
        before = disk.costs(path)
        for i in range(100, 110):
            shelf.append("a/metrics.jsonl", rows(i, i + 1))
            live.until("a", i)
        after = disk.costs(path)
    assert after.reads - before.reads == 10
    assert after.bytes_read - before.bytes_read == len(rows(100, 110)) + 10 * 64


def test_an_address_without_a_log_is_an_error(shelf: Shelf) -> None:
    shelf.put("a/metrics.jsonl", rows(0, 1))
    path = parse_logdir(f"{shelf.address}/none")
    with pytest.raises(SourceError, match="none: no such file or directory"):
        Reader([path]).scan()


def test_mlflow_files_are_read_and_followed(shelf: Shelf) -> None:
    run = "mlruns/1/0a1b"
    shelf.put(f"{run}/meta.yaml", b"run_id: 0a1b\nlifecycle_stage: active\nstatus: RUNNING\n")
    shelf.put(f"{run}/tags/mlflow.runName", b"brave-owl")
    shelf.put(f"{run}/params/lr", b"0.001")
    lines = [f"17000000{i:02}000 {1 / (i + 1)} {i}\n".encode() for i in range(30)]
    shelf.put(f"{run}/metrics/loss", b"".join(lines[:20]))
    shelf.put(f"{run}/metrics/eval/loss", b"".join(lines[:20]))
    with Following(shelf) as live:
        live.until("mlruns/1/brave-owl", 19)
        shelf.append(f"{run}/metrics/loss", b"".join(lines[20:]))
        live.until("mlruns/1/brave-owl", 29)
        shelf.put(f"{run}/metrics/reward", b"".join(lines))
        shelf.put(f"{run}/meta.yaml", b"run_id: 0a1b\nlifecycle_stage: active\nstatus: FAILED\n")
        live.until_any(lambda batch: batch.exit_code == 1)
        live.until_any(lambda batch: any("reward" in b.tags for b in batch.blocks))
    settings = {k: v for batch in live.batches for k, v in batch.hparams.items()}
    assert settings == {"lr": 0.001}
    points = Counter(tag for x in live.batches for b in x.blocks for tag in b.tags for _ in b.steps)
    assert points == {"loss": 30, "eval/loss": 20, "reward": 30}
    assert not [note for batch in live.batches for note in batch.notes]
