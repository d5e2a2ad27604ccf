"""What a search says of the nodes, and how ``doctor`` shows it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rltui.core.batch import RunKey
from rltui.output.doctor_report import doctor_text
from rltui.remote.ray.message import Looked, NodeTrouble, Search, Searched
from rltui.remote.ray.survey import ClusterFacts, Survey
from tests.remote.ray.simulated_cluster import SimulatedCluster
from tests.remote.ray.watcher import Watcher


@contextmanager
def searched(cluster: SimulatedCluster) -> Iterator[Watcher]:
    """A search that is over."""
    watcher = Searcher(cluster, False, None)
    try:
        watcher.driver.receive(Search())
        watcher.until_true(lambda: noted(watcher).complete)
        yield watcher
    finally:
        cluster.close()


class Searcher(Watcher):
    """Reads nothing."""

    def _send(self, message: object) -> bool:
        return False


def noted(watcher: Watcher) -> Survey:
    survey = Survey("auto")
    survey.note(Looked(address="10.0.0.1:6379", version="2.60.0"))
    for message in watcher.messages:
        survey.note(message)
    return survey


def surveyed(watcher: Watcher) -> ClusterFacts:
    return noted(watcher).facts(4711)


def test_every_node_and_what_it_has(cluster: SimulatedCluster, tmp_path: Path) -> None:
    (tmp_path / "n3").mkdir()
    cluster.roots["n3"] = tmp_path / "n3"
    with searched(cluster) as watcher:
        facts = surveyed(watcher)
        assert watcher.counts == {}, "no log is read"
    assert (facts.address, facts.version, facts.received) == ("10.0.0.1:6379", "2.60.0", 4711)
    assert [(h.name, h.reader, h.places, h.runs, h.files) for h in facts.hosts] == [
        ("n1", True, 1, 2, 2),
        ("n2", True, 1, 2, 2),
        ("n3", True, 0, 0, 0),
    ]
    log = tmp_path / "n1/runs/a/metrics.jsonl"
    assert facts.hosts[0].size == 2 * log.stat().st_size
    assert facts.hosts[0].memory_bytes > 1 << 20
    assert [run.key for run in facts.runs] == [
        RunKey(0, f"n{n}/{run}") for n, run in ((1, "a"), (1, "b"), (2, "a"), (2, "c"))
    ]
    (file,) = facts.runs[0].files
    assert str(file.path) == f"ray://auto/n1:{log}"
    assert file.kind == "jsonl"


def test_nodes_of_one_name_are_told_apart(cluster: SimulatedCluster) -> None:
    cluster.names = {"n1": "host", "n2": "host"}
    with searched(cluster) as watcher:
        facts = surveyed(watcher)
    assert [(h.name, h.runs) for h in facts.hosts] == [("host-n1", 2), ("host-n2", 2)]


def test_a_search_that_has_not_ended_is_said(cluster: SimulatedCluster) -> None:
    with searched(cluster) as watcher:
        watcher.messages = [
            m for m in watcher.messages if not (isinstance(m, Searched) and m.place == 0)
        ]
        first, second = surveyed(watcher).hosts
    assert re.fullmatch(r"the search of .*/runs has not ended", first.trouble + second.trouble)
    assert first.reader
    assert second.reader


def document(facts: ClusterFacts, error: str | None = None) -> dict[str, Any]:
    """As of ``doctor --json``."""
    logdir: dict[str, Any] = {
        "path": "ray://auto/runs",
        "error": error,
        "filesystem": None,
        "inotify": False,
        "why": "a reader on each node watches, and sends what is new",
        "runs": [],
        "unreadable": [],
        "not_read": [],
        "not_named": 0,
        "requests": None,
        "streamed": True,
        "cluster": {
            "address": facts.address,
            "ray": facts.version,
            "nodes": [asdict(host) for host in facts.hosts],
            "bytes_received": facts.received,
        },
    }
    terminal = {"is_terminal": {}, "columns": 80, "rows": 24, "colours": "16", "encoding": "utf-8"}
    return {
        "rltui": "1",
        "python": "3",
        "platform": "x",
        "packages": {},
        "extras": {},
        "missing": {},
        "terminal": {**terminal, "marker": "braille", "mouse": True, "environment": {}},
        "config": {"path": "c", "read": True, "errors": []},
        "formats": {"logs": [], "trackers": []},
        "logdirs": [logdir],
    }


def test_doctor_names_the_nodes(cluster: SimulatedCluster, tmp_path: Path) -> None:
    (tmp_path / "n3").mkdir()
    cluster.roots["n3"] = tmp_path / "n3"
    with searched(cluster) as watcher:
        watcher.take(NodeTrouble("n2", "its reader ended"))
        watcher.take(NodeTrouble("n4\x1b[1m", "rltui cannot run there"))
        text = doctor_text(document(surveyed(watcher)))
    size = 2 * (tmp_path / "n1/runs/a/metrics.jsonl").stat().st_size
    assert "cluster      10.0.0.1:6379, Ray 2.60.0\n" in text
    assert "nodes        4, 2 of them with a reader\n" in text
    assert f"n1: 2 runs, from 2 files with {size} bytes\n" in text
    assert "n3: does not have the path\n" in text
    assert "✖ n2: its reader ended\n" in text
    assert "rltui cannot run there\n" in text
    assert "2 actors without a CPU, each of at most" in text
    assert "4,711 bytes received for this search\n" in text
    assert "\x1b" not in text


def test_doctor_says_that_no_node_has_the_path() -> None:
    facts = ClusterFacts("10.0.0.1:6379", "2.60.0", (), (), (), 0)
    text = doctor_text(document(facts, error="no node of the cluster has this path"))
    assert "✖ no node of the cluster has this path\n  cluster      10.0.0.1:6379" in text
