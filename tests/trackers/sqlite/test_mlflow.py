"""MLflow's database."""

import random
from pathlib import Path

import pytest

from rltui.trackers import TRACKERS, Followed
from tests.places import FIXTURES
from tests.trackers.store import (
    BUDGET,
    START,
    MlflowDatabase,
    read_all,
    texts_of,
    tracker_of,
    values_of,
)

FIXTURE = FIXTURES / "mlflow" / "mlflow.db"


def test_what_mlflow_wrote() -> None:
    tracker = next(t for t in TRACKERS if t.name == "mlflow")
    assert tracker.claims_name(FIXTURE.name)
    assert tracker.claims_file(FIXTURE)
    (run,) = tracker.runs(FIXTURE)
    assert run.name == "tiny/replay"
    assert run.modified == 1795164764.697
    (poll,) = read_all(tracker.follow(FIXTURE, run.part))
    assert poll.decoded.hparams == {"lr": 0.001, "algo": "grpo"}
    assert poll.decoded.exit_code == 0
    assert poll.decoded.records == 26 * 6
    found = values_of(poll)
    assert len(found) == 26
    assert [s for s, _ in found["train/reward"]] == [1, 2, 3, 4, 6, 43]
    assert repr(found["train/completions/clipped_ratio"][4]) == "(6, nan)"
    assert found["train/learning_rate"][5] == (43, float("inf"))


def test_runs_have_names_of_their_own_and_deleted_ones_are_left_out(tmp_path: Path) -> None:
    store = MlflowDatabase(tmp_path)
    for run, name in (("aa", "same"), ("bb", "same"), ("cc", ""), ("dd", "gone"), ("ee", "x")):
        store.start(run, name)
        store.log(run, [(1, {"a": 1.0})])
    store.start("ff", "no values")
    store.do(
        "UPDATE runs SET lifecycle_stage = 'deleted' WHERE run_uuid = 'dd'",
        "INSERT INTO experiments VALUES (2, 'old', 'deleted')",
        "UPDATE runs SET experiment_id = 2 WHERE run_uuid = 'ee'",
        "UPDATE runs SET name = '' WHERE run_uuid IN ('aa', 'cc')",
        "INSERT INTO tags VALUES ('mlflow.runName', 'same', 'aa')",
    )
    runs = tracker_of(store).runs(store.path)
    assert [(r.part, r.name) for r in runs] == [
        ("aa", "exp/same"),
        ("bb", "exp/same-bb"),
        ("cc", "exp/cc"),
    ]
    assert all(r.size * 3 <= store.path.stat().st_size for r in runs)


def test_a_deleted_run_is_gone_and_a_restored_one_goes_on(tmp_path: Path) -> None:
    store = MlflowDatabase(tmp_path)
    store.log("r", [(1, {"a": 1.0})])
    follower = tracker_of(store).follow(store.path, "r")
    polls = read_all(follower)
    store.do("UPDATE runs SET lifecycle_stage = 'deleted'")
    gone = follower.poll(BUDGET)
    assert gone.gone
    assert texts_of(gone) == ["was deleted from its store; what was read of it is kept"]
    assert not follower.poll(BUDGET).changed
    store.do("UPDATE runs SET lifecycle_stage = 'active'")
    store.log("r", [(2, {"a": 2.0})])
    polls += read_all(follower)
    assert polls[-1].changed
    assert not polls[-1].gone
    assert values_of(*polls) == {"a": [(1, 1.0), (2, 2.0)]}


def test_parameters_and_their_types(tmp_path: Path) -> None:
    store = MlflowDatabase(tmp_path)
    params = {"lr": "1e-05", "n": "8", "bf16": "True", "name": "gr\x1bpo", "big": "x" * 900}
    store.start("r", params=params)
    store.log("r", [(1, {"a": 1.0})])
    follower = tracker_of(store).follow(store.path, "r")
    (poll,) = read_all(follower)
    assert poll.decoded.hparams == {
        "lr": 1e-05,
        "n": 8,
        "bf16": True,
        "name": "gr\\x1bpo",
        "big": "x" * 500,
    }
    store.log("r", [(2, {"a": 1.0})])
    assert follower.poll(BUDGET).decoded.hparams == {}
    store.do("INSERT INTO params VALUES ('late', '3', 'r')")
    store.log("r", [(3, {"a": 1.0})])
    assert follower.poll(BUDGET).decoded.hparams["late"] == 3


def test_rows_that_are_no_numbers_are_noted_and_left_out(tmp_path: Path) -> None:
    store = MlflowDatabase(tmp_path)
    store.log("r", [(1, {"a": 1.0})])
    store.do(
        "INSERT INTO metrics VALUES ('a', 'text', 1000, 'r', 2, 0)",
        "INSERT INTO metrics VALUES ('a', 2.0, 'noon', 'r', 3, 0)",
        "INSERT INTO metrics VALUES ('a', 3.0, 1000, 'r', 'x', 0)",
        "INSERT INTO metrics VALUES (x'ff', 4.0, 1000, 'r', 5, 0)",
    )
    store.log("r", [(6, {"a": 6.0})])
    polls = read_all(tracker_of(store).follow(store.path, "r"))
    assert values_of(*polls) == {"a": [(1, 1.0), (6, 6.0)], "\\xff": [(5, 4.0)]}
    assert texts_of(*polls) == [f"row of metrics that holds no number: row {n}" for n in (2, 3, 4)]


def test_a_database_of_before_steps(tmp_path: Path) -> None:
    store = MlflowDatabase(tmp_path)
    store.start("r")
    store.do(
        "DROP TABLE metrics",
        "DROP TABLE latest_metrics",
        "CREATE TABLE metrics (key, value, timestamp, run_uuid)",
        f"INSERT INTO metrics VALUES ('a', 1.5, {START * 1000}, 'r')",
    )
    tracker = tracker_of(store)
    assert tracker.claims_file(store.path)
    (run,) = tracker.runs(store.path)
    assert values_of(*read_all(tracker.follow(store.path, run.part))) == {"a": [(0, 1.5)]}


def test_a_long_run_is_listed_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rltui.trackers.sqlite.row_follower._MOST_LISTED", 700)
    monkeypatch.setattr("rltui.trackers.sqlite.row_follower._FEW_NEW", 100)
    store = MlflowDatabase(tmp_path)
    for first in range(0, 5000, 1000):
        store.log("r", [(s, {"a": float(s)}) for s in range(first, first + 1000)])
        store.log("other", [(s, {"a": -1.0}) for s in range(first, first + 1000)])
    follower = tracker_of(store).follow(store.path, "r")
    polls = read_all(follower, 30_000)
    assert [v for _, v in values_of(*polls)["a"]] == [float(s) for s in range(5000)]
    assert len(polls) > 10
    assert not follower.poll(BUDGET).changed


@pytest.mark.parametrize("seed", [5, 16, 62])
def test_no_row_is_lost_or_doubled_while_others_are_deleted(tmp_path: Path, seed: int) -> None:
    """Runs lose all rows, ids are given again, tables are made anew, some rows are not read yet."""
    rng, store = random.Random(seed), MlflowDatabase(tmp_path)
    runs = ("x", "y", "z")
    followers = {run: tracker_of(store).follow(store.path, run) for run in runs}
    polls: dict[str, list[Followed]] = {run: [] for run in runs}
    for step in range(0, 8000, 400):
        run = rng.choice(runs)
        new = range(step, step + rng.choice((1, 50, 400)))
        store.log(run, [(number, {"a": float(number)}) for number in new])
        if rng.random() < 0.3:
            store.do(f"DELETE FROM metrics WHERE run_uuid = '{rng.choice(runs)}'")
        if rng.random() < 0.1:
            store.do(
                "CREATE TABLE copied AS SELECT * FROM metrics",
                "DROP TABLE metrics",
                "ALTER TABLE copied RENAME TO metrics",
            )
        for run in rng.sample(runs, 2):
            polls[run].append(followers[run].poll(rng.choice((1, 5000, BUDGET))))
    for run in runs:
        polls[run] += read_all(followers[run])
        kept = values_of(*read_all(tracker_of(store).follow(store.path, run)))
        if kept:
            assert sorted(values_of(*polls[run])["a"]) == sorted(kept["a"])
