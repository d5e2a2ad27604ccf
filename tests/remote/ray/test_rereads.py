"""A run of a node is read again, to save memory meanwhile."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from rltui.core.batch import RunKey
from rltui.core.errors import UnreachableError, VanishedError
from rltui.remote.ray.message import Again, Reread, Task
from rltui.remote.ray.node_reader import PlaceReader
from rltui.remote.ray.reader import Rereads
from rltui.store import RunData
from tests.remote.ray.simulated_cluster import SimulatedCluster
from tests.remote.ray.watcher import FOUND, Watcher, log, watching

KEY = RunKey(0, "n1/a")


def run_of(watcher: Watcher) -> RunData:
    return watcher.store.runs[KEY]


def values(watcher: Watcher) -> list[float]:
    found: list[float] = run_of(watcher).series("loss").values.tolist()
    return found


def reload(watcher: Watcher) -> None:
    """Unload the run, and load it again from its node."""
    run = run_of(watcher)
    if not run.unloaded:
        run.unload(())
    assert run.unloaded
    requests = watcher.places.requests(run.files.sources)
    assert requests is not None
    for _ in run.load(watcher.rereads.batches(requests)):
        pass
    assert not run.unloaded


@pytest.mark.parametrize("task", [Task.ONCE, Task.FOLLOW], ids=["once", "live"])
def test_the_points_are_the_same(cluster: SimulatedCluster, task: Task) -> None:
    log(cluster.roots["n1"], "a", 30_000, first=10)  # several batches
    with watching(cluster, task=task) as watcher:
        watcher.until({**FOUND, "n1/a": 30_010})
        if task is Task.ONCE:
            watcher.until_ended()
        before = values(watcher)
        reload(watcher)
        assert values(watcher) == before
        if task is Task.FOLLOW:
            log(cluster.roots["n1"], "a", 5, first=30_010)
            watcher.until({**FOUND, "n1/a": 30_015})


def test_it_ends_where_the_store_ends(cluster: SimulatedCluster) -> None:
    with watching(cluster, task=Task.ONCE) as watcher:
        watcher.until_ended()
        log(cluster.roots["n1"], "a", 5, first=10)
        reload(watcher)
        assert len(values(watcher)) == 10


def test_a_piece_follows_a_piece(
    cluster: SimulatedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rltui.remote.ray.node_reader._MOST_BATCHES", 1)
    monkeypatch.setattr("rltui.remote.ray.node_reader._BUDGET_BYTES", 100)
    with watching(cluster) as watcher:
        watcher.until(FOUND)
        before = values(watcher)
        reload(watcher)
        assert values(watcher) == before
        assert sum(isinstance(m, Reread) for m in watcher.messages) > 2


def test_an_actor_that_dies_meanwhile_is_no_end_of_waiting(cluster: SimulatedCluster) -> None:
    with watching(cluster) as watcher:
        watcher.until(FOUND)
        for actor in cluster.actors:
            cluster.kill(actor)
        requests = watcher.places.requests(run_of(watcher).files.sources)
        assert requests is not None
        with pytest.raises(UnreachableError, match=r"its reader ended|nobody reads it now"):
            list(watcher.rereads.batches(requests))
        watcher.until(FOUND)
        log(cluster.roots["n1"], "b", 1, first=10)
        watcher.until({**FOUND, "n1/b": 11})  # it reads again
        reload(watcher)
        assert len(values(watcher)) == 10


@pytest.mark.parametrize("seed", range(4))
def test_actors_that_die_at_any_time_lose_and_double_nothing(
    cluster: SimulatedCluster, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr("rltui.remote.ray.node_reader._MOST_BATCHES", 1)
    monkeypatch.setattr("rltui.remote.ray.node_reader._BUDGET_BYTES", 1000)
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
        reload(watcher)
    except UnreachableError:
        run_of(watcher).give_up()
        watcher.driver.step()
        return False
    return True


def test_a_reader_that_has_just_begun_has_lost_nothing(
    cluster: SimulatedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    with watching(cluster) as watcher:
        watcher.until(FOUND)
        sources = run_of(watcher).files.sources
        monkeypatch.setattr(PlaceReader, "begin", lambda _: None)  # it searches for long
        for actor in cluster.actors:
            cluster.kill(actor)
        begun = len(cluster.actors) + 2
        while len(cluster.actors) < begun or not all(
            a.reader._readers for a in cluster.actors[-2:]
        ):
            watcher.driver.step()
        requests = watcher.places.requests(sources)
        assert requests is not None
        with pytest.raises(UnreachableError, match="its reader has just begun"):
            list(watcher.rereads.batches(requests))


def test_a_node_that_has_left_is_not_asked(cluster: SimulatedCluster) -> None:
    with watching(cluster) as watcher:
        watcher.until(FOUND)
        del cluster.roots["n1"]
        while not run_of(watcher).files.notes:
            watcher.driver.step()
        with pytest.raises(UnreachableError, match="n1 has left the cluster"):
            watcher.places.requests(run_of(watcher).files.sources)


def test_what_its_files_no_longer_hold_is_said(cluster: SimulatedCluster) -> None:
    with watching(cluster, task=Task.ONCE) as watcher:
        watcher.until_ended()
        (cluster.roots["n1"] / "runs/a/metrics.jsonl").write_text("")
        requests = watcher.places.requests(run_of(watcher).files.sources)
        assert requests is not None
        with pytest.raises(VanishedError):
            list(watcher.rereads.batches(requests))


def test_a_file_that_was_deleted_is_known_to_be_lost(cluster: SimulatedCluster) -> None:
    with watching(cluster) as watcher:
        watcher.until(FOUND)
        (cluster.roots["n1"] / "runs/a/metrics.jsonl").unlink()
        while not run_of(watcher).files.all_gone:
            watcher.driver.step()
        assert watcher.places.requests(run_of(watcher).files.sources) is None


def test_the_store_of_a_tracker_cannot_be_read_again(cluster: SimulatedCluster) -> None:
    with watching(cluster, task=Task.ONCE) as watcher:
        watcher.until_ended()
        sources = {p: replace(s, format="mlflow") for p, s in run_of(watcher).files.sources.items()}
        assert watcher.places.requests(sources) is None


def test_nothing_is_asked_before_somebody_looks() -> None:
    asked: list[Again] = []
    rereads = Rereads(asked.append, lambda _n, _b: iter(()), lambda _p: None)
    batches = rereads.batches([Again(0, 0, "a", {})])
    assert not asked
    assert not batches.ready
    (request,) = asked
    rereads.take(Reread(request.id + 1))
    assert not batches.ready
    rereads.fail("the cluster cannot be reached")
    assert batches.ready
    with pytest.raises(UnreachableError, match="the cluster cannot be reached"):
        next(batches)
