"""Replays of a TRL run through the clients of the trackers, against its own logs."""

import math
from pathlib import Path

import pytest

from rltui.formats.tfevents import TfEvents
from rltui.trackers import TRACKERS, Followed
from tests.places import DEV
from tests.trackers.store import Points, points_of, read_all

pytestmark = pytest.mark.skipif(not DEV.is_dir(), reason=f"no corpus at {DEV}")

#: Store, rows that were replayed, and values that were changed on purpose: (tag, step).
REPLAYS = {
    "mlflow_file/mlruns/998482772944460010/208aae40edc8484180ad5d42e2f45531": (250, set()),
    "mlflow_sqlite/mlflow.db": (
        45,
        {("train/completions/clipped_ratio", 6), ("train/learning_rate", 43)},
    ),
    "trackio/trackio/tiny.db": (60, set()),
}


def _read(path: Path) -> Points:
    for tracker in TRACKERS:
        if path.is_dir():
            claimed = tracker.claims_directory(path, {p.name for p in path.iterdir()})
        else:
            claimed = tracker.claims_name(path.name) and tracker.claims_file(path)
        if claimed:
            (run,) = tracker.runs(path)
            return points_of(*read_all(tracker.follow(path, run.part)))
    raise AssertionError(f"nobody claims {path}")


def _original() -> Points:
    """The values of the run as TensorBoard's event file has them (float32)."""
    (path,) = (DEV / "trl" / "grpo_short_hack" / "runs").iterdir()
    return points_of(Followed(TfEvents().decoder().feed(path.read_bytes())))


@pytest.mark.parametrize("store", REPLAYS)
def test_a_replayed_run_has_the_values_of_the_original(store: str) -> None:
    rows, changed = REPLAYS[store]
    found = _read(DEV / store)
    original = {t: [p for p in points if p[0] <= rows] for t, points in _original().items()}
    assert found.keys() == {tag for tag, points in original.items() if points}
    compared = 0
    for tag, points in found.items():
        assert [s for s, _, _ in points] == [s for s, _, _ in original[tag]]
        for (step, _, value), (_, _, expected) in zip(points, original[tag], strict=True):
            if (tag, step) not in changed:
                assert math.isclose(value, expected, rel_tol=1e-6, abs_tol=1e-30), (tag, step)
                compared += 1
    assert compared >= rows * 26 - 2
