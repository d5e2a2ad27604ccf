"""When the reader on a node answers a call."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest

from rltui.remote.ray import node_reader
from rltui.remote.ray.message import FromNode, ToNode, Wanted
from rltui.remote.ray.node_reader import NodeReader
from rltui.version import __version__

READS = Wanted(("/none",), __version__)


class Time:
    """Stands still but for sleeping."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return 1.7e9 + self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    time = Time()
    monkeypatch.setattr(node_reader, "time", time)
    return time


def a_reader(time: Time, quiet_s: float) -> NodeReader:
    """One whose root has news ``quiet_s`` after each call."""
    reader = NodeReader(READS)
    ready = [False]

    def wait(_patience_s: float) -> bool:
        time.now += quiet_s
        ready[0] = True
        return True

    def fetch() -> FromNode | None:
        had, ready[0] = ready[0], False
        return FromNode(0, b"x") if had else None

    reader._news = SimpleNamespace(clear=lambda: None, wait=wait)  # type: ignore[assignment]
    reader._channels = {0: SimpleNamespace(fetch=fetch)}  # type: ignore[dict-item]
    return reader


@pytest.mark.parametrize(
    ("quiet_s", "between_s"),
    [(0.02, 0.1), (0.09, 0.1), (0.3, 0.3), (4.0, 4.0)],
    ids=["busy", "nearly", "now-and-then", "quiet"],
)
def test_news_are_gathered_only_where_calls_would_be_too_many(
    time: Time, quiet_s: float, between_s: float
) -> None:
    reader = a_reader(time, quiet_s)
    ends = []
    for _ in range(4):
        fetched = reader.fetch_news(5.0, looks=False)
        assert len(fetched.news) == 1
        assert fetched.clock[1] == 1.7e9 + time.now
        ends.append(time.now)
    assert [b - a for a, b in pairwise(ends)] == pytest.approx([between_s] * 3)


def test_a_place_that_is_not_read_here_is_no_error(time: Time) -> None:
    reader = NodeReader(READS)
    assert reader.handle(ToNode(0, 3, b"garbage")) is None
    assert not reader.fetch_news(0.0, looks=False).news


def test_a_path_that_leads_nowhere_does_not_hide_the_others(tmp_path: Path) -> None:
    (tmp_path / "round").symlink_to("round")
    (tmp_path / "runs").mkdir()
    paths = f"{tmp_path}/round", "/~nobody-has-this-name/runs", f"{tmp_path}/runs"
    fetched = NodeReader(replace(READS, logdirs=paths)).fetch_news(0.0, looks=True)
    assert fetched.roots is not None
    assert [root.logdir for root in fetched.roots] == [2]
