"""System metrics of trackio: rows with a time in a table of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltui.trackers import Follower
from tests.trackers.store import (
    BUDGET,
    TrackioDatabase,
    points_of,
    read_all,
    texts_of,
    tracker_of,
    values_of,
)

TAG = "system/gpu/0/utilization"


def _system(*seconds: float) -> list[tuple[float, dict[str, float]]]:
    return [(at, {"gpu/0/utilization": at * 10}) for at in seconds]


@pytest.fixture(params=[True, False], ids=["ids", "names"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> TrackioDatabase:
    found = TrackioDatabase(tmp_path, ids=request.param)
    if not found.ids:
        found.create_system()
    return found


def _follow(store: TrackioDatabase) -> Follower:
    return tracker_of(store).follow(store.path, "r")


def test_they_have_the_step_of_the_row_before_them(store: TrackioDatabase) -> None:
    store.log("r", [(s, {"a": float(s)}) for s in (5, 10, 15)])
    store.log_system("r", _system(1, 5, 9, 10.5, 40))
    store.log_system("other", _system(7))
    polls = read_all(_follow(store))
    assert values_of(*polls) == {
        "a": [(5, 5.0), (10, 10.0), (15, 15.0)],
        TAG: [(5, 10.0), (5, 50.0), (5, 90.0), (10, 105.0), (15, 400.0)],
    }
    walls = [wall for _, wall, _ in points_of(*polls)[TAG]]
    assert [wall - walls[0] for wall in walls] == [0, 4, 8, 9.5, 39]
    assert polls[-1].decoded.guessed == {TAG}
    assert [run.part for run in tracker_of(store).runs(store.path)] == ["r"]


def test_they_come_as_they_are_written(store: TrackioDatabase) -> None:
    store.log("r", [(1, {"a": 1.0})])
    follower = _follow(store)
    polls = read_all(follower)
    store.log_system("r", _system(2))
    polls += read_all(follower)
    assert polls[-1].changed
    store.log("r", [(3, {"a": 3.0})])
    polls += read_all(follower)
    store.log_system("r", [(4, {"cpu/utilization": 7.0})])
    polls += read_all(follower)
    assert polls[-1].decoded.guessed == {TAG, "system/cpu/utilization"}
    assert values_of(*polls) == {
        "a": [(1, 1.0), (3, 3.0)],
        TAG: [(1, 20.0)],
        "system/cpu/utilization": [(3, 7.0)],
    }
    assert not follower.poll(BUDGET).changed
    assert not texts_of(*polls)


def test_a_database_that_gets_the_table_later(tmp_path: Path) -> None:
    store = TrackioDatabase(tmp_path, ids=False)
    store.log("r", [(s, {"a": float(s)}) for s in range(9)])
    follower = _follow(store)
    polls = read_all(follower)
    assert set(points_of(*polls)) == {"a"}
    store.create_system()
    store.log_system("r", _system(4))
    polls += read_all(follower)
    assert values_of(*polls)[TAG] == [(4, 40.0)]
    assert not texts_of(*polls)


def test_system_metrics_that_are_deleted_are_read_again(store: TrackioDatabase) -> None:
    store.log("r", [(s, {"a": float(s)}) for s in range(3)])
    store.log_system("r", _system(1, 2))
    follower = _follow(store)
    polls = read_all(follower)
    store.do("DELETE FROM system_metrics")
    store.log_system("r", _system(2.5))
    polls += read_all(follower)
    assert values_of(*polls) == {"a": [(0, 0.0), (1, 1.0), (2, 2.0)], TAG: [(2, 25.0)]}
    assert sum(p.restarted for p in polls) == 1
