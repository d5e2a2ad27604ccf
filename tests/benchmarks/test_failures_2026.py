"""Made failures: what the generator makes is what the table says."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.verdicts.failures_2026 import (
    FAILURES,
    Failure,
    Log,
    Sign,
    framework,
    logs,
    series,
    write,
)
from benchmarks.verdicts.replay import Judge
from tests.tables import cases

BY_ROW = {failure.row: failure for failure in FAILURES}
JUDGE = Judge()


def made(failure: Failure) -> dict[str, Log]:
    return {log.kind: log for log in logs(failure)}


def test_all_rows_of_the_list_have_failing_and_healthy_logs() -> None:
    assert {int(f.row.rstrip("abcdefg")) for f in FAILURES} == set(range(1, 32))
    assert sum(2 + len(f.normal) for f in FAILURES) >= 30
    assert all(f.expects and f.signs for f in FAILURES)


@cases(__file__, "a_sign_goes_so_many_times_to_its_limit")
def test_a_sign_goes_so_many_times_to_its_limit(
    verb: str, limit: object, about: float, goals: tuple[float, ...]
) -> None:
    sign = Sign(series("1 ~0"), verb, limit, about)
    paths = [sign.path(80, strength) for strength in (0.8, 1.2, 2.0)]
    assert [path[-1] for path in paths] == pytest.approx(goals, rel=1e-4)
    assert all((path[:80] == 1).all() for path in paths)


def test_a_spike_lasts_one_row() -> None:
    path = Sign(series("1"), "to", 10, over=1, lasts=1).path(80, 1.2)
    assert np.flatnonzero(path != 1).tolist() == [80]


@pytest.mark.parametrize("row", ["2a", "9a", "10a", "13a", "28a"])
def test_nothing_but_the_sign_tells_a_run_from_its_twin(row: str) -> None:
    failure = BY_ROW[row]
    found = made(failure)
    sick, twin = found["1.2"].values, found["healthy"].values
    other = {name for name, x in sick.items() if not np.array_equal(x, twin[name])}
    sums = {n for n, given in framework(failure.framework).names.items() if str(given)[0] == "="}
    assert other - sums == set(failure.signs)
    for name in failure.signs:
        assert np.array_equal(sick[name][:80], twin[name][:80])
        assert not np.allclose(sick[name][100:], twin[name][100:], rtol=0.02)


@pytest.mark.parametrize("row", ["1a", "7", "9a", "15a", "25", "28b", "29a"])
def test_a_log_is_read_as_one_run_of_its_framework(row: str, tmp_path: Path) -> None:
    log = made(BY_ROW[row])["1.2"]
    (run,) = JUDGE.read(write(log, tmp_path))
    recognition = JUDGE.view(run).recognition
    assert recognition.framework == framework(log.failure.framework).recognised
    if row == "9a":  # the log of ms-swift gets the tags of its event file
        swift = {n: f"train/{n}" for n in log.values} | {"eval_reward": "eval/reward"}
        assert set(swift.values()) <= set(run.tags)
        return
    assert set(log.values) <= set(run.tags)
    (name, *_) = log.failure.signs
    assert run.tags[name][2][-1] == pytest.approx(log.values[name][-1])


def test_a_restarted_run_repeats_its_last_rows_an_hour_later(tmp_path: Path) -> None:
    place = write(made(BY_ROW["7"])["healthy"], tmp_path)
    assert (place / "metrics.jsonl").read_text().count("\n") == 205
    (run,) = JUDGE.read(place)
    steps, walls, _ = run.tags["mismatch_kl/all/mean"]
    assert steps.tolist() == list(range(1, 201))
    assert np.diff(walls).max() > 3600
