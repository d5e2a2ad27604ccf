"""What the session's process makes of the messages of a driver."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltui.core.address import parse_logdir
from rltui.core.batch import RunKey
from rltui.core.errors import UsageError
from rltui.remote import ReaderOptions, open_reader
from rltui.remote.ray import reader
from rltui.remote.ray.message import Node, NodeFacts, NodeTrouble, Place
from rltui.remote.ray.places import PlacePaths, Places

WORKER = f"worker-{'ab12' * 14}-01000000-4711"


def a_place(name: str = "/runs", *, inside: str = "", shared: bool = False) -> Place:
    return Place(0, Path(name), f"host {name}", shared, inside)


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
    paths = PlacePaths("auto", place, label)
    assert paths.key(RunKey(0, run)).name.replace("\\x1b", "�") == name
    there = Path("/runs/a/x.jsonl")
    assert paths.there(paths.translated(there)) == there


def places_of(*messages: object) -> Places:
    places = Places("auto", ReaderOptions(), lambda _: True)
    for message in messages:
        assert not list(places.receive(message))
    return places


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
    places = places_of(NodeFacts(Node("7", "n1"), 1, (least, most), 0))
    assert [n.message for n in places.notes] == ([said] if said else [])
    places.receive(NodeTrouble("n1", "has left the cluster"))
    assert [n.message for n in places.notes] == ["has left the cluster"]


def test_without_ray_one_line_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "find_spec", lambda _: None)
    with pytest.raises(UsageError, match=r"needs ray: .* 'ray\[client\]'"):
        open_reader([parse_logdir("ray:///x")], ReaderOptions())
