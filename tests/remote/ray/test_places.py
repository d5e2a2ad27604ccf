"""What the session's process makes of the messages of a driver."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from rltui.core.address import parse_logdir
from rltui.core.batch import Batch, Note, RunKey
from rltui.core.errors import UsageError
from rltui.core.level import Level
from rltui.remote import Wishes, open_reader
from rltui.remote.ray import reader
from rltui.remote.ray.message import (
    Node,
    NodeFacts,
    NodeTrouble,
    Placed,
    PlaceNews,
    PlaceState,
    Standing,
    packed,
)
from rltui.remote.ray.place import Place
from rltui.remote.ray.places import Places
from rltui.sources.follow.resume import without_content
from tests.builders import a_batch, a_source

WORKER = f"worker-{'ab12' * 14}-01000000-4711"


def a_place(name: str = "/runs", *, inside: str = "", shared: bool = False) -> Place:
    return Place(0, Path(name), f"host {name}", shared, inside)


def news(
    number: int, *names: str, more: bool = False, state: PlaceState | None = None
) -> PlaceNews:
    batches = [
        Batch(RunKey(0, n), Path("/runs", n), a_source(f"/runs/{n}.jsonl"), more=more)
        for n in names
    ]
    offsets = {(b.run.name, b.source.path): without_content(b) for b in batches}
    return PlaceNews(
        number, state or PlaceState(runs=names, searched=True), packed(batches), offsets
    )


def taken(places: Places, *messages: object) -> list[Batch]:
    return [batch for message in messages for batch in places.take(message)]


@pytest.mark.parametrize(
    ("place", "label", "run", "name"),
    [
        (a_place(), "n1", "a/b", "n1/a/b"),
        (a_place(), "n1", ".", "n1"),
        (a_place(), "n1", ".#2", "n1#2"),
        (a_place(shared=True), "", "a", "a"),
        (a_place(shared=True), "", ".", "."),
        (a_place(inside="/data/x"), "n1", ".", "n1/data/x"),
        (a_place(), "n1", WORKER, "n1/worker-4711-ab12"),
        (a_place(), "n\x1b[1m1", "a", "n�[1m1/a"),
    ],
    ids=["below", "itself", "second", "shared", "root", "held-open", "worker", "escape"],
)
def test_names_of_runs(place: Place, label: str, run: str, name: str) -> None:
    places = Places("auto", None)
    (batch,) = taken(places, Placed(place, label), news(0, run))
    assert batch.run.name.replace("\\x1b", "�") == name


def test_only_chosen_runs_are_handed_over() -> None:
    asked: list[Collection[RunKey]] = []

    def choose(keys: Collection[RunKey]) -> Collection[RunKey]:
        asked.append(keys)
        return [key for key in keys if key.name.endswith("a")]

    places = Places("auto", choose)
    found = taken(places, Placed(a_place(), "n1"), news(0, "a", "b"), news(0, "a", "b"))
    assert [b.run.name for b in found] == ["n1/a", "n1/a"]
    assert len(asked) == 1
    assert places.run_count == 1


def test_runs_that_nobody_reads_are_complete_and_have_a_note() -> None:
    places = Places("auto", None)
    taken(places, Placed(a_place(), "n1"), news(0, "a", "b", more=True))
    lost = places.lost("the cluster cannot be reached")
    assert [(b.run.name, b.more, len(b.notes)) for b in lost] == [
        ("n1/a", False, 1),
        ("n1/b", False, 1),
    ]
    assert str(lost[0].notes[0].path).startswith("ray://auto/n1:/")
    assert places.unread == {0}
    assert places.lost("again") == []
    back = taken(places, Standing(0, "n1"))
    assert [n.level for b in back for n in b.notes] == [Level.OK, Level.OK]
    assert all(b.more for b in back)


def test_trouble_of_nodes_and_directories_is_noted() -> None:
    places = Places("auto", None)
    note = Note(Path("/runs/x"), None, Level.WATCH, "cannot be read")
    state = PlaceState(notes=(note,), failure="/runs: is no log")
    taken(
        places, Placed(a_place(), "n1"), news(0, state=state), NodeTrouble("n1", "its reader ended")
    )
    assert [n.message for n in places.notes] == [
        "its reader ended",
        "cannot be read",
        "/runs: is no log",
    ]
    taken(places, NodeTrouble("n1", ""), NodeTrouble("never seen", ""))
    assert [n.level for n in places.notes] == [Level.OK, Level.WATCH, Level.WATCH]


def a_clock(least: float, most: float) -> NodeFacts:
    return NodeFacts(Node("7", "n1"), 1, (least, most), 0)


@pytest.mark.parametrize(
    ("least", "most", "said"),
    [
        (70.0, 90.0, "the clock of n1 is 70 s ahead of the one here"),
        (-400.0, -300.4, "the clock of n1 is 300 s behind the one here"),
        (-5.0, 200.0, None),
        (-200.0, 59.0, None),
    ],
    ids=["ahead", "behind", "slow-call", "nearly"],
)
def test_a_clock_that_certainly_differs_is_noted(
    least: float, most: float, said: str | None
) -> None:
    places = Places("auto", None)
    taken(places, a_clock(least, most))
    assert [n.message for n in places.notes] == ([said] if said else [])
    taken(places, NodeTrouble("n1", "has left the cluster"))
    assert [n.message for n in places.notes] == ["has left the cluster"]


def test_a_node_may_join_while_clocks_are_looked_at() -> None:
    places = Places("auto", None)

    class Joining(tuple[float, float]):
        def __iter__(self) -> Iterator[float]:
            taken(places, NodeFacts(Node("8", "n2"), 1, (70.0, 90.0), 0))
            return super().__iter__()

    taken(places, NodeFacts(Node("7", "n1"), 1, Joining((70.0, 90.0)), 0))
    assert len(places.notes) == 1
    assert len(places.notes) == 2


def test_a_new_driver_gets_what_is_known() -> None:
    places = Places("auto", None)
    taken(places, Placed(a_place(), "n1"), news(0, "a"))
    ((place, label, offsets),) = places.known
    assert (place, label) == (a_place(), "n1")
    assert [name for name, _ in offsets] == ["a"]


def test_without_ray_one_line_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "find_spec", lambda _: None)
    with pytest.raises(UsageError, match=r"needs ray: .* 'ray\[client\]'"):
        open_reader([parse_logdir("ray:///x")], Wishes())


def test_batches_survive_the_journey() -> None:
    batch = a_batch({"loss": [1.0, 2.0]})
    (found,) = taken(
        places := Places("auto", None),
        Placed(a_place(), "n1"),
        PlaceNews(0, PlaceState(runs=(batch.run.name,), searched=True), packed([batch]), {}),
    )
    assert places.run_count == 1
    assert [b.values.tolist() for b in found.blocks] == [b.values.tolist() for b in batch.blocks]
