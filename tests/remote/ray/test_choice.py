"""Nodes read the runs that the session has chosen, and no others."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from rltui.core.batch import RunKey
from rltui.remote.ray.message import Alive, Chosen, Placed, PlaceNews, PlaceState, Standing, Task
from rltui.remote.ray.place import Place
from rltui.remote.ray.places import Places
from tests.remote.ray.simulated_cluster import SimulatedCluster
from tests.remote.ray.watcher import FOUND, log, watching


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
    with watching(cluster, task=Task.ONCE, choose=asked) as watcher:
        watcher.until_ended()
        assert watcher.counts == {"n1/a": 10, "n2/a": 10}
        assert watcher.places.run_count == 2
        sent = [m for m in watcher.messages if isinstance(m, PlaceNews)]
    assert {path.parts[-2] for news in sent for _, path in news.offsets} == {"a"}
    assert asked.questions == [frozenset(FOUND)]


def test_a_run_that_appears_is_read_if_it_is_chosen(cluster: SimulatedCluster) -> None:
    with watching(cluster, choose=Asked("/a")) as watcher:
        watcher.until({"n1/a": 10, "n2/a": 10})
        log(cluster.roots["n1"], "x/a", 3)
        log(cluster.roots["n1"], "x/b", 3)
        watcher.until({"n1/a": 10, "n2/a": 10, "n1/x/a": 3})
        assert watcher.places.run_count == 3


def test_an_actor_that_is_started_again_asks_again(cluster: SimulatedCluster) -> None:
    with watching(cluster, choose=Asked("/a")) as watcher:
        watcher.until({"n1/a": 10, "n2/a": 10})
        for actor in cluster.actors:
            cluster.kill(actor)
        log(cluster.roots["n1"], "a", 5, first=10)
        watcher.until({"n1/a": 15, "n2/a": 10})


def test_a_new_driver_asks_again(cluster: SimulatedCluster) -> None:
    with watching(cluster, choose=Asked("/a")) as watcher:
        watcher.until({"n1/a": 10, "n2/a": 10})
        watcher.driver.close()
        log(cluster.roots["n2"], "a", 5, first=10)
        watcher.start()
        watcher.until({"n1/a": 10, "n2/a": 15})


def two_places(choose: Asked) -> Places:
    places = Places("auto", choose)
    for name in ("n1", "n2"):
        places.take(Placed(Place(0, Path("/runs"), name, False), name))
    return places


def found(place: int, *runs: str, question: int) -> PlaceNews:
    state = PlaceState(runs=runs, searched=True, question=question)
    return PlaceNews(place, state, b"", {})


def test_nothing_is_chosen_before_all_places_were_searched() -> None:
    asked = Asked("a")
    places = two_places(asked)
    places.take(Alive())
    places.take(found(0, "a", "b", question=7))
    assert places.answers() == []
    places.take(found(1, "c", question=8))
    assert places.answers() == [Chosen(0, ("a",), 7), Chosen(1, (), 8)]
    assert asked.questions == [{"n1/a", "n1/b", "n2/c"}]
    places.take(found(0, "a", "b", question=0))
    assert places.answers() == []


def test_a_place_that_nobody_reads_is_not_waited_for() -> None:
    places = two_places(Asked("a"))
    places.take(found(0, "a", question=7))
    places.take(Standing(1, "", "n2 has left the cluster"))
    assert places.answers() == [Chosen(0, ("a",), 7)]


def test_a_search_that_hangs_is_waited_for_some_seconds() -> None:
    places = two_places(Asked("a"))
    places.take(found(0, "a", question=7))
    places.take(Alive())
    assert places.answers() == [Chosen(0, ("a",), 7)]


def test_a_run_that_is_chosen_later_is_told() -> None:
    asked = Asked("a")
    places = two_places(asked)
    places.take(found(0, "a", "b", question=7))
    places.take(found(1, "c", question=8))
    places.answers()
    asked.end = ""
    places.take(found(1, "c", "d", question=9))
    assert places.answers() == [Chosen(0, ("a", "b"), 0), Chosen(1, ("c", "d"), 9)]
