"""The driver and the session's side: who reads what, whoever dies."""

from __future__ import annotations

import random
from collections.abc import Collection
from pathlib import Path

import pytest

from rltui.core.address import RemotePath
from rltui.core.batch import RunKey
from rltui.core.errors import UnreachableError
from rltui.core.level import Level
from rltui.remote.ray import node_reader
from rltui.remote.ray.driver import ClockOffset, Driver
from rltui.remote.ray.messages import Alive, ClusterError, NodeFacts, NodeTrouble, Opening
from tests.remote.ray.simulated_cluster import SimulatedCluster
from tests.remote.ray.watcher import FOUND, READS, Watcher, log, watching


def test_the_node_is_in_the_name_and_the_path(cluster: SimulatedCluster) -> None:
    with watching(cluster, follow=False) as watcher:
        watcher.until_ended()
    assert watcher.counts == FOUND
    assert watcher.roots.run_count == 4
    path = watcher.run("n1/a").path
    assert isinstance(path, RemotePath)
    assert str(path).startswith("ray://auto/n1:/")


def test_one_directory_on_two_nodes_is_read_once(tmp_path: Path) -> None:
    log(tmp_path, "a", 10)
    cluster = SimulatedCluster({"n1": tmp_path, "n2": tmp_path})
    with watching(cluster) as watcher:
        watcher.until({"n1/a": 10})
        del cluster.roots["n1"]
        log(tmp_path, "a", 3, first=10)
        watcher.until({"n1/a": 13})
        assert not watcher.roots.notes or watcher.roots.notes[-1].level is Level.WATCH


def test_a_node_that_leaves_keeps_its_runs_and_may_come_back(cluster: SimulatedCluster) -> None:
    with watching(cluster) as watcher:
        watcher.until(FOUND)
        root = cluster.roots.pop("n2")
        notes = watcher.run("n2/a").files.notes
        watcher.until_true(lambda: notes)
        assert watcher.counts == FOUND
        assert [n.message for n in notes] == [
            "n2 has left the cluster; what was read of it is kept"
        ]
        with pytest.raises(UnreachableError, match="n2 has left the cluster"):
            watcher.roots.wanted(watcher.run("n2/a").files.sources, ())
        log(root, "a", 7, first=10)
        cluster.roots["n9"], cluster.names["n9"] = root, "n2"  # as another node of that name
        watcher.until({**FOUND, "n2/a": 17})
        assert notes[-1].level is Level.OK
        assert all(n.level is Level.OK for n in watcher.roots.notes)


def test_two_nodes_of_one_name_differ(cluster: SimulatedCluster) -> None:
    cluster.names = {"n1": "host", "n2": "host"}
    with watching(cluster, follow=False) as watcher:
        watcher.until_ended()
    assert set(watcher.counts) == {"host-n1/a", "host-n1/b", "host-n2/a", "host-n2/c"}


def test_a_new_driver_goes_on_where_the_last_one_ended(cluster: SimulatedCluster) -> None:
    with watching(cluster) as watcher:
        watcher.until(FOUND)
        watcher.end()
        log(cluster.roots["n1"], "a", 5, first=10)
        before = len(watcher.batches)
        watcher.start()
        watcher.until({**FOUND, "n1/a": 15})
        again = [b for b in watcher.batches[before:] if b.run.name != "n1/a" and b.items]
        assert not again


def test_a_log_that_vanished_meanwhile_is_gone(cluster: SimulatedCluster) -> None:
    with watching(cluster) as watcher:
        watcher.until(FOUND)
        watcher.end()
        (cluster.roots["n1"] / "runs" / "a" / "metrics.jsonl").unlink()
        watcher.start()
        run = watcher.run("n1/a")
        watcher.until_true(lambda: run.files.all_gone)
        assert watcher.counts == FOUND
        assert watcher.roots.wanted(run.files.sources, ()) is None, "it cannot be read again"


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
                watcher.end()
                watcher.start()
        cluster.deadly = 0.0
        watcher.until(rows)


def test_a_node_that_cannot_read_is_noted(cluster: SimulatedCluster) -> None:
    with watching(cluster) as watcher:
        watcher.until(FOUND)
        cluster.kill(cluster.actors[0])
        watcher.until_true(lambda: watcher.roots.notes)
        assert watcher.roots.notes[0].message == "its reader ended"
        assert any(isinstance(m, NodeTrouble) and m.trouble for m in watcher.messages)


def test_what_is_read_once_is_not_waited_for_for_ever(cluster: SimulatedCluster) -> None:
    with watching(cluster, follow=False) as watcher:
        cluster.deadly = 1.0
        watcher.until_ended()


def test_without_nodes_nothing_can_be_read() -> None:
    driver = Driver(Opening("auto", READS), SimulatedCluster({}), lambda _: None)  # type: ignore[arg-type]
    with pytest.raises(ClusterError, match="it has no node"):
        driver.look()


# -- which runs ---------------------------------------------------------------------------------


class Asked:
    """Chooses runs by the end of their names, and remembers what it was asked."""

    def __init__(self, end: str) -> None:
        self.end = end
        self.questions: list[frozenset[str]] = []

    def __call__(self, keys: Collection[RunKey]) -> Collection[RunKey]:
        self.questions.append(frozenset(key.name for key in keys))
        return [key for key in keys if key.name.endswith(self.end)]


def test_only_chosen_runs_are_read(cluster: SimulatedCluster) -> None:
    asked = Asked("/a")
    with watching(cluster, follow=False, choose=asked) as watcher:
        watcher.until_ended()
        assert watcher.counts == {"n1/a": 10, "n2/a": 10}
        assert watcher.roots.run_count == 2
        assert {path.parts[-2] for p in watcher.roots.roots for path in p.files._files} == {"a"}
    assert asked.questions == [frozenset(FOUND)], "names depend on all runs"


def test_a_run_that_is_chosen_later_is_read(cluster: SimulatedCluster) -> None:
    asked = Asked("/a")
    with watching(cluster, choose=asked) as watcher:
        watcher.until({"n1/a": 10, "n2/a": 10})
        asked.end = ""
        log(cluster.roots["n1"], "new", 3)  # a search of n1; n2 is told without one
        watcher.until_true(lambda: watcher.counts.get("n1/new") == 3)
        log(cluster.roots["n2"], "later", 3)
        watcher.until({**FOUND, "n1/new": 3, "n2/later": 3})


@pytest.mark.parametrize("driver", [False, True], ids=["actor", "driver"])
def test_who_is_started_again_asks_again(cluster: SimulatedCluster, driver: bool) -> None:
    with watching(cluster, choose=Asked("/a")) as watcher:
        watcher.until({"n1/a": 10, "n2/a": 10})
        if driver:
            watcher.end()
        for actor in cluster.actors:
            cluster.kill(actor)
        log(cluster.roots["n1"], "a", 5, first=10)
        if driver:
            watcher.start()
        watcher.until({"n1/a": 15, "n2/a": 10})


@pytest.mark.parametrize("waits", [False, True], ids=["left", "hangs"])
def test_a_search_that_does_not_end_is_not_waited_for_for_ever(
    cluster: SimulatedCluster, monkeypatch: pytest.MonkeyPatch, waits: bool
) -> None:
    feed = node_reader.Channel.feed

    def hangs(channel: node_reader.Channel, data: bytes) -> None:
        if "n2" not in str(channel._stream._logdirs[0]):
            feed(channel, data)

    monkeypatch.setattr(node_reader.Channel, "feed", hangs)
    with watching(cluster, choose=Asked("a")) as watcher:
        for _ in range(10):
            watcher.driver.step()
        assert not watcher.counts
        if waits:
            watcher.receive(Alive())  # nothing was said for five seconds
        else:
            del cluster.roots["n2"]
        watcher.until({"n1/a": 10})


# -- reading again ------------------------------------------------------------------------------


def values(watcher: Watcher) -> list[float]:
    found: list[float] = watcher.run("n1/a").series("loss").values.tolist()
    return found


@pytest.mark.parametrize("follow", [False, True], ids=["once", "live"])
def test_the_points_are_the_same(cluster: SimulatedCluster, follow: bool) -> None:
    log(cluster.roots["n1"], "a", 30_000, first=10)  # several batches
    with watching(cluster, follow=follow) as watcher:
        watcher.until({**FOUND, "n1/a": 30_010})
        before = values(watcher)
        log(cluster.roots["n1"], "a", 5, first=30_010)
        watcher.reload("n1/a")
        assert values(watcher)[:30_010] == before
        if follow:
            watcher.until({**FOUND, "n1/a": 30_015})


@pytest.mark.parametrize("seed", range(2))
def test_reading_again_loses_nothing_whoever_dies(cluster: SimulatedCluster, seed: int) -> None:
    log(cluster.roots["n1"], "a", 200, first=10)
    with watching(cluster) as watcher:
        watcher.until({**FOUND, "n1/a": 210})
        before, failures, successes = values(watcher), 0, 0
        cluster.random, cluster.deadly = random.Random(seed), 0.1
        while not (failures and successes > 2):
            if reloaded(watcher):
                successes += 1
                assert values(watcher) == before
            else:
                failures += 1


def reloaded(watcher: Watcher) -> bool:
    """Load the run again; whether its node did not fail meanwhile."""
    try:
        watcher.reload("n1/a")
    except UnreachableError:
        watcher.run("n1/a").give_up()
        watcher.driver.step()
        return False
    return True


# -- clocks -------------------------------------------------------------------------------------


def test_the_bounds_hold_whatever_delays_a_call() -> None:
    chance, ahead, now = random.Random(1), 33.0, 1.7e9
    clock = ClockOffset()
    before = clock.bounds_s
    for _ in range(50):
        there, took, back = (chance.expovariate(1 / 5) for _ in range(3))
        begun = now + there
        clock.measured(now, begun + took + back, (begun + ahead, begun + took + ahead))
        least, most = clock.bounds_s
        assert before[0] <= least <= ahead <= most <= before[1]
        before, now = clock.bounds_s, now + 10
    assert before[1] - before[0] < 2


def test_a_clock_that_is_set_is_measured_anew() -> None:
    clock = ClockOffset()
    clock.measured(100.0, 101.0, (200.2, 200.5))
    clock.measured(110.0, 111.0, (110.2, 110.5))
    assert clock.bounds_s == (110.5 - 111.0, 110.2 - 110.0)
    known = clock.bounds_s
    clock.measured(120.0, 121.0, (120.5, 180.0))  # set during the call
    assert clock.bounds_s == known


def test_a_node_whose_clock_is_wrong_is_noted(cluster: SimulatedCluster) -> None:
    cluster.clock_offsets = {"n2": -3600.0}
    with watching(cluster) as watcher:
        (note,) = watcher.roots.notes
        assert note.message.startswith("the clock of n2 is 3")
        assert note.message.endswith(" s behind the one here")
        watcher.until(FOUND)
        facts = [m for m in watcher.messages if isinstance(m, NodeFacts)]
    assert {m.node.name for m in facts} == {"n1", "n2"}
