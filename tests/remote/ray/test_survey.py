"""What a search says of the nodes, and how ``doctor`` shows it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rltui.core.batch import RunKey
from rltui.remote.ray.message import Looked, Search
from rltui.remote.ray.survey import ClusterFacts, cluster_facts
from tests.remote.ray.simulated_cluster import SimulatedCluster
from tests.remote.ray.watcher import Watcher


@contextmanager
def searched(cluster: SimulatedCluster) -> Iterator[Watcher]:
    """A search that is over."""
    watcher = Searcher(cluster, False, None)
    try:
        watcher.driver.receive(Search())
        watcher.until_true(lambda: all(p.searched for p in watcher.roots.roots))
        yield watcher
    finally:
        cluster.close()


class Searcher(Watcher):
    """Reads nothing."""

    def _send(self, message: object) -> bool:
        return False


def surveyed(watcher: Watcher) -> ClusterFacts:
    return cluster_facts(watcher.roots, Looked("", "10.0.0.1:6379", "2.60.0"), 4711)


def test_every_node_and_what_it_has(cluster: SimulatedCluster, tmp_path: Path) -> None:
    (tmp_path / "n3").mkdir()
    cluster.roots["n3"] = tmp_path / "n3"
    with searched(cluster) as watcher:
        facts = surveyed(watcher)
        assert watcher.counts == {}, "no log is read"
    assert (facts.address, facts.version, facts.received) == ("10.0.0.1:6379", "2.60.0", 4711)
    assert [(h.name, h.reader, h.roots, h.runs, h.files) for h in facts.hosts] == [
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
        watcher.roots.roots[0].searched = None
        first, second = surveyed(watcher).hosts
    assert re.fullmatch(r"the search of .*/runs has not ended", first.trouble + second.trouble)
    assert first.reader
    assert second.reader
