"""trackio's database."""

from __future__ import annotations

import math
import shutil
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rltui.trackers import TRACKERS
from tests import places
from tests.trackers.store import (
    BUDGET,
    TrackioDatabase,
    points_of,
    read_all,
    texts_of,
    tick,
    tracker_of,
    values_of,
)

FIXTURES = places.FIXTURES / "trackio"


def _rows(store: TrackioDatabase, *metrics: str | bytes) -> None:
    """Rows with this JSON, at steps 0, 1, ..."""
    with closing(store.connect()) as connection:
        for step, text in enumerate(metrics):
            store.insert(connection, "r", step, text if isinstance(text, bytes) else text.encode())
    tick(store.path)


def test_what_trackio_wrote(tmp_path: Path) -> None:
    path = Path(shutil.copy(FIXTURES / "tiny.db", tmp_path))
    tracker = next(t for t in TRACKERS if t.name == "trackio")
    assert tracker.claims_file(path)
    (run,) = tracker.runs(path)
    assert run.name == "tiny/replay"
    (poll,) = read_all(tracker.follow(path, run.part))
    assert poll.decoded.hparams == {
        "lr": 0.001,
        "algo": "grpo",
        "seed": 1,
        "model/hidden": 48,
        "model/layers": 2,
    }
    found = points_of(poll)
    assert len(found) == 26
    assert found["train/entropy"][0] == (1, 1795164832.589583, 3.8196041584014893)
    assert [s for s, _, _ in found["train/reward"]] == list(range(1, 9))
    assert {p.name for p in tmp_path.iterdir()} == {"tiny.db"}


@pytest.mark.parametrize("ids", [True, False])
def test_runs(tmp_path: Path, ids: bool) -> None:
    store = TrackioDatabase(tmp_path, ids=ids)
    for run in ("b/../x", "a", "\x1b[31m", "..", "/etc"):
        store.log(run, [(1, {"a": 1.0})])
    tracker = tracker_of(store)
    runs = tracker.runs(store.path)
    assert sorted(r.name for r in runs) == sorted(
        ["proj/b/../x", "proj/a", "proj/\\x1b[31m", "proj/..", "proj/etc"]
    )
    assert all("/" not in r.part for r in runs)
    for run in runs:
        assert values_of(*read_all(tracker.follow(store.path, run.part))) == {"a": [(1, 1.0)]}


def test_settings_that_change_are_reported(tmp_path: Path) -> None:
    store = TrackioDatabase(tmp_path)
    store.log("r", [(1, {"a": 1.0})])
    follower = tracker_of(store).follow(store.path, "r")
    assert read_all(follower)[0].decoded.hparams == {}
    store.configure("r", {"lr": 0.1, "_Created": "now", "m": {"x\x1b": True}})
    poll = follower.poll(BUDGET)
    assert poll.changed
    assert poll.decoded.hparams == {"lr": 0.1, "m/x\\x1b": True}
    store.configure("r", {"lr": 0.2})
    assert follower.poll(BUDGET).decoded.hparams == {"lr": 0.2}


def test_values_of_all_kinds(tmp_path: Path) -> None:
    store = TrackioDatabase(tmp_path)
    _rows(
        store,
        '{"a": 1, "b": true, "c": null, "d": "text", "e": [1, 2]}',
        '{"a": 2, "img": {"_type": "trackio.image", "width": 3}, "n": {"x": 1.5}}',
        '{"a": NaN, "b": -Infinity}',
        "{}",
        '{"a": 123456789012345678901234567890}',
    )
    polls = read_all(tracker_of(store).follow(store.path, "r"))
    found = values_of(*polls)
    assert repr(found.pop("c")) == "[(0, nan)]"
    assert repr(found["a"].pop(2)) == "(2, nan)"
    assert found == {
        "a": [(0, 1.0), (1, 2.0), (4, 1.2345678901234568e29)],
        "b": [(0, 1.0), (2, -math.inf)],
        "n/x": [(1, 1.5)],
    }
    assert not texts_of(*polls)


def test_broken_rows_are_noted_and_left_out(tmp_path: Path) -> None:
    store = TrackioDatabase(tmp_path)
    long = b'{"a": "' + b"x" * (4 << 20) + b'"}'
    nested = b'{"a": ' * 100_000
    _rows(store, '{"a": 1}', "{", "[1]", b"\xff\xfe", long, nested, '{"a": 2}')
    polls = read_all(tracker_of(store).follow(store.path, "r"))
    assert values_of(*polls) == {"a": [(0, 1.0), (6, 2.0)]}
    assert texts_of(*polls) == [
        *(f"row that is no JSON object: row {n}" for n in (2, 3, 4)),
        "row that is too long: row 5",
        "row that is no JSON object: row 6",
    ]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.binary(max_size=40) | st.sampled_from([b'{"a": 1}', b'{"a": "NaN", "b": 2}'])))
def test_any_bytes_as_rows(tmp_path_factory: pytest.TempPathFactory, rows: list[bytes]) -> None:
    store = TrackioDatabase(tmp_path_factory.mktemp("rows"))
    _rows(store, *rows)
    tracker = tracker_of(store)
    whole, pieces = (read_all(tracker.follow(store.path, "r"), b) for b in (BUDGET, 1))
    assert repr(values_of(*whole)) == repr(values_of(*pieces))


def test_the_step_of_the_trainer_takes_the_place_of_the_count(tmp_path: Path) -> None:
    store = TrackioDatabase(tmp_path)
    _rows(
        store,
        '{"train/loss": 1.0, "train/global_step": 10}',
        '{"eval/loss": 1.5, "train/global_step": 10}',
        '{"mine": 5.0}',
        '{"train/loss": 0.5, "train/global_step": 20}',
    )
    found = values_of(*read_all(tracker_of(store).follow(store.path, "r"), 1))
    assert found["train/loss"] == [(10, 1.0), (20, 0.5)]
    assert found["eval/loss"] == [(10, 1.5)]
    assert found["mine"] == [(10, 5.0)]


def test_a_renamed_run_is_read_again_and_a_deleted_one_is_gone(tmp_path: Path) -> None:
    """trackio writes the rows of a renamed run as new ones (rename_run)."""
    store = TrackioDatabase(tmp_path)
    store.log("r", [(s, {"a": float(s)}) for s in range(5)])
    store.log("other", [(1, {"a": 1.0})])
    tracker = tracker_of(store)
    follower, other = (tracker.follow(store.path, part) for part in ("r", "other"))
    read_all(follower)
    read_all(other)
    names = "run_id, timestamp, step, metrics"
    store.do(
        "CREATE TEMP TABLE moved AS SELECT * FROM metrics WHERE run_id = 'r'",
        "DELETE FROM metrics WHERE run_id = 'r'",
        f"INSERT INTO metrics ({names}, run_name) SELECT {names}, 'new' FROM moved",
    )
    polls = read_all(follower)
    assert polls[0].restarted
    assert values_of(*polls)["a"] == [(s, float(s)) for s in range(5)]
    assert not other.poll(BUDGET).changed
    store.do("DELETE FROM metrics WHERE run_id = 'r'")
    assert follower.poll(BUDGET).gone
