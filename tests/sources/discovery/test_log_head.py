"""What is remembered of files that are still there."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltui.core.address import RemotePath
from rltui.files import disk
from rltui.files.remote.server import RemoteServer
from rltui.files.remote.store import RemoteStore
from rltui.formats.base import Options
from rltui.formats.console import Console
from rltui.sources.discovery.log_head import HeadReader
from tests.clock import ManualClock

ROOT = RemotePath("s3:", "heads", "runs")
KIB = 1 << 10


class Settings:
    """A log in a bucket that has no row yet."""

    def __init__(self) -> None:
        from tests.files.bucket import Bucket

        self.clock = ManualClock()
        self.bucket = Bucket(self.clock)
        store = RemoteStore(RemoteServer(ROOT, lambda _: self.bucket, lambda: 0.5))
        store.use(self.clock, 5.0)
        disk.offer(ROOT, store)
        self.path: Path = ROOT / "train.log"
        self.heads = HeadReader(Options())

    def reads_at(self, kib: int) -> list[tuple[int, int]]:
        """What is asked for, in KiB, to look for a step when it has this size."""
        self.bucket.put("heads/runs/train.log", b"lr=1e-6\n" * (kib * KIB // 8))
        self.clock.advance(60.0)
        self.bucket.reads()
        assert self.heads.span(self.path, Console()) is None
        return [(begin // KIB, end // KIB) for begin, end in self.bucket.reads()]


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> Settings:
    pytest.importorskip("fsspec", reason="the extra remote is not installed")
    monkeypatch.setattr("rltui.files.disk._OFFERED", {})
    return Settings()


def test_of_a_log_elsewhere_more_is_read_until_it_shows_a_step(settings: Settings) -> None:
    assert settings.reads_at(10) == [(0, 16)]
    assert settings.reads_at(40) == [(0, 16), (0, 1024)]


def test_a_log_elsewhere_without_a_step_is_read_again_when_it_has_doubled(
    settings: Settings,
) -> None:
    sizes = (40, 60, 79, 80, 159, 1200, 2400, 9600)
    reads = {kib: settings.reads_at(kib) for kib in sizes}
    assert {kib: len(found) for kib, found in reads.items() if found} == {40: 2, 80: 2, 1200: 2}
    assert reads[1200] == [(0, 16), (0, 1024)]
