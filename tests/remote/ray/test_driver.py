"""The driver: who reads what, whoever dies."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from rltui.core.address import RemotePath
from rltui.core.batch import RunKey
from rltui.core.level import Level
from rltui.remote.ray.driver import Driver
from rltui.remote.ray.message import ClusterError, NodeTrouble, Opening, Task
from tests.remote.ray.simulated_cluster import SimulatedCluster
from tests.remote.ray.watcher import FOUND, READS, log, watching


def test_the_node_is_in_the_name_and_the_path(cluster: SimulatedCluster) -> None:
    with watching(cluster, task=Task.ONCE) as watcher:
        watcher.until_ended()
    assert watcher.counts == FOUND
    path = watcher.store.runs[RunKey(0, "n1/a")].path
    assert isinstance(path, RemotePath)
    assert str(path).startswith("ray://auto/n1:/")


def test_rows_that_are_appended_arrive(cluster: SimulatedCluster) -> None:
    with watching(cluster) as watcher:
        watcher.until(FOUND)
        log(cluster.roots["n2"], "c", 5, first=10)
        watcher.until({**FOUND, "n2/c": 15})


def test_one_directory_on_two_nodes_is_read_once(tmp_path: Path) -> None:
    log(tmp_path, "a", 10)
    cluster = SimulatedCluster({"n1": tmp_path, "n2": tmp_path})
    with watching(cluster) as watcher:
        watcher.until({"n1/a": 10})
        del cluster.roots["n1"]
        log(tmp_path, "a", 3, first=10)
        watcher.until({"n1/a": 13})
        assert not watcher.places.notes or watcher.places.notes[-1].level is Level.WATCH


def test_a_node_that_leaves_keeps_its_runs_and_may_come_back(cluster: SimulatedCluster) -> None:
    with watching(cluster) as watcher:
        watcher.until(FOUND)
        root = cluster.roots.pop("n2")
        for _ in range(20):
            watcher.driver.step()
        assert watcher.counts == FOUND
        notes = watcher.store.runs[RunKey(0, "n2/a")].files.notes
        assert [n.message for n in notes] == [
            "n2 has left the cluster; what was read of it is kept"
        ]
        log(root, "a", 7, first=10)
        cluster.roots["n9"], cluster.names["n9"] = root, "n2"  # as another node of that name
        watcher.until({**FOUND, "n2/a": 17})
        assert notes[-1].level is Level.OK
        assert all(n.level is Level.OK for n in watcher.places.notes)


def test_a_node_that_joins_is_read(cluster: SimulatedCluster, tmp_path: Path) -> None:
    with watching(cluster) as watcher:
        watcher.until(FOUND)
        log(tmp_path / "n3", "a", 4)
        cluster.roots["n3"] = tmp_path / "n3"
        watcher.until({**FOUND, "n3/a": 4})


def test_two_nodes_of_one_name_differ(cluster: SimulatedCluster) -> None:
    cluster.names = {"n1": "host", "n2": "host"}
    with watching(cluster, task=Task.ONCE) as watcher:
        watcher.until_ended()
    assert set(watcher.counts) == {"host-n1/a", "host-n1/b", "host-n2/a", "host-n2/c"}


def test_a_new_driver_goes_on_where_the_last_one_ended(cluster: SimulatedCluster) -> None:
    with watching(cluster) as watcher:
        watcher.until(FOUND)
        watcher.driver.close()
        log(cluster.roots["n1"], "a", 5, first=10)
        before = len(watcher.batches)
        watcher.start()
        watcher.until({**FOUND, "n1/a": 15})
        again = [b for b in watcher.batches[before:] if b.run.name != "n1/a" and b.items]
        assert not again


def test_a_log_that_vanished_meanwhile_is_gone(cluster: SimulatedCluster) -> None:
    with watching(cluster) as watcher:
        watcher.until(FOUND)
        watcher.driver.close()
        (cluster.roots["n1"] / "runs" / "a" / "metrics.jsonl").unlink()
        watcher.start()
        run = watcher.store.runs[RunKey(0, "n1/a")]
        end = time.monotonic() + 20
        while not run.files.all_gone and time.monotonic() < end:
            watcher.driver.step()
        assert run.files.all_gone
        assert watcher.counts == FOUND


@pytest.mark.parametrize("seed", range(6))
def test_actors_that_die_at_any_time_lose_and_double_nothing(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    roots = {f"n{i}": tmp_path / f"n{i}" for i in range(3)}
    rows: dict[str, int] = {}
    cluster = SimulatedCluster(dict(roots), random=chance, deadly=0.3)

    def write() -> None:
        for _ in range(chance.randrange(4)):
            node, run = chance.choice(list(roots)), chance.choice("ab")
            more, name = chance.randrange(1, 30), f"{node}/{run}"
            log(roots[node], run, more, first=rows.get(name, 0))
            rows[name] = rows.get(name, 0) + more

    for node, root in roots.items():
        log(root, "a", 1)
        rows[f"{node}/a"] = 1
    with watching(cluster, choose=set if seed % 2 else None) as watcher:
        for _ in range(60):
            write()
            watcher.driver.step()
            if chance.random() < 0.05:
                watcher.driver.close()
                watcher.start()
        cluster.deadly = 0.0
        watcher.until(rows)


def test_a_node_that_cannot_read_is_noted(cluster: SimulatedCluster) -> None:
    with watching(cluster) as watcher:
        watcher.until(FOUND)
        cluster.kill(cluster.actors[0])
        end = time.monotonic() + 10
        while not watcher.places.notes and time.monotonic() < end:
            watcher.driver.step()
        assert watcher.places.notes[0].message == "its reader ended"
        assert any(isinstance(m, NodeTrouble) and m.trouble for m in watcher.messages)


def test_without_nodes_nothing_can_be_read(tmp_path: Path) -> None:
    driver = Driver(Opening("auto", READS), SimulatedCluster({}), lambda _: None)  # type: ignore[arg-type]
    with pytest.raises(ClusterError, match="it has no node"):
        driver.look()
