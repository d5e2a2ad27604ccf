"""MLflow's file store."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui.trackers import TRACKERS
from rltui.trackers.mlflow_files import MlflowFiles
from tests.clock import ManualClock
from tests.places import FIXTURES
from tests.tables import cases
from tests.trackers.store import (
    BUDGET,
    START,
    MlflowFolder,
    points_of,
    read_all,
    texts_of,
    tick,
    tracker_of,
    values_of,
)

STORE = FIXTURES / "mlflow" / "mlruns"
GRPO = STORE / "998482772944460010" / "208aae40edc8484180ad5d42e2f45531"


def test_what_mlflow_wrote() -> None:
    tracker = next(t for t in TRACKERS if t.name == "mlflow-files")
    assert tracker.claims_directory(GRPO, {p.name for p in GRPO.iterdir()})
    (run,) = tracker.runs(GRPO)
    assert (run.part, run.name) == ("", "replay")
    assert run.size == sum(p.stat().st_size for p in GRPO.rglob("metrics/**/*") if p.is_file())
    (poll,) = read_all(tracker.follow(GRPO, run.part))
    assert poll.decoded.hparams == {"lr": 0.001, "algo": "grpo"}
    assert poll.decoded.exit_code == 0
    found = points_of(poll)
    assert set(found) == {
        *("train/loss", "train/reward", "train/completions/mean_length", "train/train_runtime")
    }
    assert found["train/train_runtime"] == [(250, 1795163851.565, 14.7563)]
    assert [s for s, _, _ in found["train/completions/mean_length"]] == list(range(1, 11))


def test_a_logged_model_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "meta.yaml").write_text("model_id: m-1\nsource_run_id: abc\n")
    (tmp_path / "metrics").mkdir()
    assert not MlflowFiles().claims_directory(tmp_path, {"meta.yaml", "metrics"})


@pytest.mark.parametrize("content", [b"", b"a: [1,\n b", b"\0" * 40])
def test_a_broken_description_costs_name_and_state_alone(tmp_path: Path, content: bytes) -> None:
    store = MlflowFolder(tmp_path)
    store.log("my run", [(1, {"loss": 2.0})])
    (store.path / "meta.yaml").write_bytes(content)
    tracker, names = tracker_of(store), {p.name for p in store.path.iterdir()}
    assert tracker.claims_directory(store.path, names)
    assert [r.name for r in tracker.runs(store.path)] == ["my run"]
    polls = read_all(tracker.follow(store.path, ""))
    assert values_of(*polls) == {"loss": [(1, 2.0)]}
    notes = [n.message for p in polls for n in p.decoded.notes]
    assert notes == ["meta.yaml is broken: name and state of the run are unknown"]


def test_deleted_runs_are_left_out(tmp_path: Path) -> None:
    store = MlflowFolder(tmp_path)
    tracker = tracker_of(store)
    assert len(tracker.runs(store.path)) == 1
    store.meta(lifecycle_stage="deleted")
    assert not tracker.runs(store.path)
    trash = tmp_path / "mlruns" / ".trash" / "1"
    store.meta()
    trash.mkdir(parents=True)
    store.path.rename(trash / "run-id")
    assert not tracker.runs(trash / "run-id")


@cases(__file__, "names")
def test_names(tmp_path: Path, tag: str | None, meta: str, name: str) -> None:
    store = MlflowFolder(tmp_path)
    store.meta(run_name=meta)
    file = store.path / "tags" / "mlflow.runName"
    file.unlink()
    if tag is not None:
        file.write_text(tag)
    assert [r.name for r in tracker_of(store).runs(store.path)] == [name]


def test_two_three_and_five_fields(tmp_path: Path) -> None:
    store = MlflowFolder(tmp_path)
    ms = START * 1000
    store.append("a", f"{ms} 0.5 1\n{ms + 1} 0.25 2 name digest\n{ms + 2} nan 3\n".encode())
    (poll,) = read_all(tracker_of(store).follow(store.path, ""))
    expected = [(1, START + 0.0, 0.5), (2, START + 0.001, 0.25), (3, START + 0.002, math.nan)]
    assert repr(points_of(poll)) == repr({"a": expected})
    assert not poll.decoded.steps_are_row_numbers


def test_lines_without_a_step_are_counted(tmp_path: Path) -> None:
    store = MlflowFolder(tmp_path)
    for row in range(3):
        store.append("a", f"{(START + row) * 1000} {row}\n".encode())
    follower = tracker_of(store).follow(store.path, "")
    polls = read_all(follower)
    store.append("a", f"{(START + 3) * 1000} 3\n".encode())
    polls += read_all(follower)
    assert values_of(*polls) == {"a": [(0, 0.0), (1, 1.0), (2, 2.0), (3, 3.0)]}
    assert all(p.decoded.steps_are_row_numbers for p in polls)


def test_a_torn_line_waits(tmp_path: Path) -> None:
    store = MlflowFolder(tmp_path)
    line = f"{START * 1000} 0.125 7\n".encode()
    store.append("a", line + line[:20])
    follower = tracker_of(store).follow(store.path, "")
    polls = read_all(follower)
    assert values_of(*polls) == {"a": [(7, 0.125)]}
    store.append("a", line[20:])
    polls += read_all(follower)
    assert values_of(*polls) == {"a": [(7, 0.125)] * 2}
    assert not texts_of(*polls)


def test_broken_lines_are_noted_with_their_place(tmp_path: Path) -> None:
    store = MlflowFolder(tmp_path)
    good = f"{START * 1000} 1.0 1\n".encode()
    store.append("a/b", good + b"what is this now here\n" + good + b"1 2 99999999999999999999\n")
    (poll,) = read_all(tracker_of(store).follow(store.path, ""))
    assert values_of(poll) == {"a/b": [(1, 1.0), (1, 1.0)]}
    assert [(n.offset, n.message) for n in poll.decoded.notes] == [
        (len(good), "a/b: not a line of MLflow: 5 fields"),
        (2 * len(good) + 22, "a/b: not a line of MLflow: 3 fields"),
    ]


def test_new_metrics_and_new_folders_are_found(tmp_path: Path) -> None:
    store = MlflowFolder(tmp_path)
    store.log("", [(1, {"a": 1.0})])
    follower = tracker_of(store).follow(store.path, "")
    polls = read_all(follower)
    store.log("", [(2, {"a": 2.0, "deep/er/b": 1.0})])
    polls += read_all(follower)
    store.log("", [(3, {"deep/c": 2.0})])
    polls += read_all(follower)
    found = values_of(*polls)
    assert found == {"a": [(1, 1.0), (2, 2.0)], "deep/er/b": [(2, 1.0)], "deep/c": [(3, 2.0)]}


def test_a_metric_made_within_the_tick_of_a_listing_is_found(tmp_path: Path) -> None:
    clock = ManualClock(START)
    store = MlflowFolder(tmp_path)
    store.log("", [(1, {"a": 1.0})])
    metrics = store.path / "metrics"
    follower = tracker_of(store, clock).follow(store.path, "")
    read_all(follower)
    before = metrics.stat()
    (metrics / "b").write_bytes(f"{START * 1000} 2.0 1\n".encode())
    os.utime(metrics, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert not follower.poll(BUDGET).changed
    clock.advance(2)
    assert values_of(follower.poll(BUDGET)) == {"b": [(1, 2.0)]}


def test_parameters(tmp_path: Path) -> None:
    store = MlflowFolder(tmp_path)
    (store.path / "params" / "lr").write_text("0.5")
    (store.path / "params" / "empty").touch()
    (store.path / "params" / "opt").mkdir()
    (store.path / "params" / "opt" / "na\x1bme").write_text("adam\n")
    tick(store.path / "params")
    store.log("", [(1, {"a": 1.0})])
    follower = tracker_of(store).follow(store.path, "")
    assert read_all(follower)[0].decoded.hparams == {"lr": 0.5, "opt/na\\x1bme": "adam\\x0a"}
    (store.path / "params" / "empty").write_text("now")
    poll = follower.poll(BUDGET)
    assert poll.changed
    assert poll.decoded.hparams == {"empty": "now"}


def test_a_metric_that_is_written_anew_restarts_the_run(tmp_path: Path) -> None:
    store = MlflowFolder(tmp_path)
    store.log("", [(s, {"a": 1.0, "b": 2.0}) for s in range(9)])
    follower = tracker_of(store).follow(store.path, "")
    read_all(follower)
    (store.path / "metrics" / "a").write_bytes(b"")
    store.append("a", f"{START * 1000} 7.0 1\n{START * 1000} 8.0 2\n".encode())
    polls = [follower.poll(BUDGET) for _ in range(12)]
    assert sum(p.restarted for p in polls) == 1
    begun = next(i for i, p in enumerate(polls) if p.restarted)
    found = values_of(*polls[begun:])
    assert found["a"] == [(1, 7.0), (2, 8.0)]
    assert len(found["b"]) == 9


@given(st.binary(max_size=300), st.integers(0, 300))
def test_any_bytes_as_a_metric(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, cut: int
) -> None:
    points = []
    for pieces in ((data,), (data[:cut], data[cut:])):
        store = MlflowFolder(tmp_path_factory.mktemp("metric"))
        follower = tracker_of(store).follow(store.path, "")
        polls = []
        for piece in pieces:
            store.append("m", piece)
            polls += read_all(follower)
        points.append(repr(points_of(*polls)))
    assert points[0] == points[1]
