"""What every tracker must do, whatever its store is."""

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from rltui.core.level import Level
from rltui.trackers import TRACKERS, Follower, Tracker
from tests.clock import ManualClock
from tests.trackers.store import (
    BUDGET,
    START,
    MlflowDatabase,
    MlflowFolder,
    TrackioDatabase,
    Writer,
    points_of,
    read_all,
    texts_of,
    tracker_of,
    values_of,
)

WRITERS: dict[str, Callable[[Path], Writer]] = {
    "mlflow-files": MlflowFolder,
    "mlflow": MlflowDatabase,
    "trackio": TrackioDatabase,
    "trackio-old": lambda path: TrackioDatabase(path, ids=False),
}


@pytest.fixture(params=WRITERS)
def writer(request: pytest.FixtureRequest, tmp_path: Path) -> Writer:
    return WRITERS[request.param](tmp_path)


def opened(writer: Writer, clock: ManualClock | None = None) -> tuple[Tracker, Follower]:
    """The tracker, and a follower of the only run."""
    tracker = tracker_of(writer, clock)
    (run,) = tracker.runs(writer.path)
    return tracker, tracker.follow(writer.path, run.part)


def rows(first: int, last: int) -> list[tuple[int, dict[str, float]]]:
    return [(s, {"train/loss": s / 8, "reward": -float(s)}) for s in range(first, last + 1)]


def claimed(tracker: Tracker, path: Path) -> bool:
    if path.is_dir():
        return tracker.claims_directory(path, {p.name for p in path.iterdir()})
    return tracker.claims_name(path.name) and tracker.claims_file(path)


def test_exactly_one_tracker_claims_a_store(writer: Writer) -> None:
    writer.log("r", rows(1, 2))
    assert [claimed(t, writer.path) for t in TRACKERS].count(True) == 1


def test_values_come_in_order_with_step_and_time(writer: Writer) -> None:
    writer.log("r", [(3, {"a": 1.0}), (1, {"a": 2.0}), (1, {"a": 0.5}), (7, {"a": 3.0})])
    _, follower = opened(writer)
    found = points_of(*read_all(follower))
    assert [(s, v) for s, _, v in found["a"]] == [(3, 1.0), (1, 2.0), (1, 0.5), (7, 3.0)]
    walls = [w for _, w, _ in found["a"]]
    assert [w - walls[0] for w in walls] == [0, -2, -2, 4]
    assert abs(walls[0] - START) < 86400 * 10


def test_appended_rows_come_once(writer: Writer) -> None:
    writer.log("r", rows(1, 3))
    _, follower = opened(writer)
    polls = read_all(follower)
    for step in range(4, 9):
        writer.log("r", rows(step, step))
        polls += read_all(follower)
        assert polls[-1].changed
    writer.log("r", [(9, {"late": 1.0})])
    polls += read_all(follower)
    expected = [(s, s / 8) for s in range(1, 9)]
    assert values_of(*polls)["train/loss"] == expected
    assert values_of(*polls)["late"] == [(9, 1.0)]
    assert not texts_of(*polls)


def test_nothing_is_opened_when_nothing_has_changed(
    writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer.log("r", rows(1, 3))
    clock = ManualClock()
    _, follower = opened(writer, clock)
    read_all(follower)
    clock.advance(60)
    read_all(follower)
    clock.advance(60)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a file was opened")

    for name in ("sqlite3.connect", "os.open", "os.scandir", "io.open"):
        monkeypatch.setattr(name, refuse)
    followed = follower.poll(BUDGET)
    assert not followed.changed
    assert not followed.more


def test_points_do_not_depend_on_the_budget(writer: Writer) -> None:
    content = [
        (s, {"a": float(s), **({"b": s / 3} if s % 3 else {}), f"c{s % 5}": 1.0})
        for s in range(200)
    ]
    writer.log("r", content)
    tracker, follower = opened(writer)
    whole = points_of(*read_all(follower))
    assert sum(map(len, whole.values())) == 200 + 133 + 200
    for budget in (1, 700, 5000, 30_000):
        (run,) = tracker.runs(writer.path)
        polls = read_all(tracker.follow(writer.path, run.part), budget)
        assert points_of(*polls) == whole
    assert len(polls) < 20


def test_a_small_budget_leaves_more(writer: Writer) -> None:
    writer.log("r", rows(1, 2000))
    _, follower = opened(writer)
    first = follower.poll(20_000)
    assert first.more
    assert 0 < follower.offset < follower.size
    rest = read_all(follower, 20_000)
    assert follower.offset == follower.size
    assert len(values_of(first, *rest)["reward"]) == 2000


def test_nan_and_infinity(writer: Writer) -> None:
    logged = [1.0, math.nan, math.inf, -math.inf, 0.0, 1e308]
    writer.log("r", [(s, {"a": v}) for s, v in enumerate(logged)])
    _, follower = opened(writer)
    found = [v for _, v in values_of(*read_all(follower))["a"]]
    assert repr(found) == repr(logged)


def test_names_are_made_harmless(writer: Writer) -> None:
    hostile = "a\x1b[31mred\u202e"
    writer.log("r", [(1, {hostile: 1.0, "train/ok [x]@8": 2.0})])
    _, follower = opened(writer)
    assert set(values_of(*read_all(follower))) == {"a\\x1b[31mred\\u202e", "train/ok [x]@8"}


def test_a_store_that_begins_anew_restarts(writer: Writer) -> None:
    writer.log("r", rows(1, 30))
    _, follower = opened(writer)
    read_all(follower)
    writer.begin_anew()
    writer.log("r", [(s, {"train/loss": 9.0, "reward": 0.0}) for s in range(1, 3)])
    polls = read_all(follower)
    assert polls[0].restarted
    assert values_of(*polls)["train/loss"] == [(1, 9.0), (2, 9.0)]
    assert any(level is Level.WATCH for p in polls for level, _ in p.notes)
    writer.log("r", rows(3, 3))
    assert values_of(*read_all(follower))["train/loss"] == [(3, 3 / 8)]


def test_a_deleted_store_is_reported_once_and_may_come_back(writer: Writer, tmp_path: Path) -> None:
    writer.log("r", rows(1, 3))
    _, follower = opened(writer)
    polls = read_all(follower)
    aside = tmp_path / "aside"
    writer.path.rename(aside)
    gone = follower.poll(BUDGET)
    assert gone.gone
    assert gone.changed
    assert texts_of(gone) == ["was deleted or moved; what was read of it is kept"]
    again = follower.poll(BUDGET)
    assert again.gone
    assert not again.changed
    aside.rename(writer.path)
    writer.log("r", rows(4, 4))
    back = read_all(follower)
    assert not back[0].gone
    assert texts_of(*back) == ["is back"]
    assert len(values_of(*polls, *back)["reward"]) == 4


def test_the_end_of_a_run(writer: Writer) -> None:
    if isinstance(writer, TrackioDatabase):
        pytest.skip("trackio does not record it")
    writer.log("r", rows(1, 3))
    _, follower = opened(writer)
    assert [p.decoded.exit_code for p in read_all(follower)] == [None]
    writer.finish("r", failed=True)
    (ended,) = read_all(follower)
    assert ended.decoded.exit_code == 1
    assert ended.changed
    writer.finish("r")
    assert follower.poll(BUDGET).decoded.exit_code == 0


def test_a_run_that_is_unreadable_is_reported_once(writer: Writer) -> None:
    writer.log("r", rows(1, 3))
    clock = ManualClock()
    _, follower = opened(writer, clock)
    read_all(follower)
    target = writer.path / "meta.yaml" if writer.path.is_dir() else writer.path
    content = target.read_bytes()
    target.unlink()
    target.mkdir()
    polls = []
    for _ in range(5):
        polls.append(follower.poll(BUDGET))
        clock.advance(1)
    assert len(texts_of(*polls)) == 1
    target.rmdir()
    target.write_bytes(content)
    writer.log("r", rows(4, 4))
    assert values_of(*read_all(follower))["reward"] == [(4, -4.0)]
