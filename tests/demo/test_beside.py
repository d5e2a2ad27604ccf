"""What a demo run of verl leaves beside its log is found and read as that of a real run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rltui.demo import DemoRun
from rltui.sources.side_files.sample_files import find_samples
from rltui.sources.side_files.settings_files import read_settings
from tests.clock import ManualClock


def written(directory: Path, scenario: str, rows: int = 40) -> None:
    with DemoRun(directory, scenario, 1, 40, clock=ManualClock()) as run:
        run.write_history(rows)


def test_settings_are_those_of_the_scenario(tmp_path: Path) -> None:
    for scenario, lr in (("healthy", 1e-6), ("higher-lr", 3e-6)):
        written(tmp_path / scenario, scenario, 1)
        found = read_settings([tmp_path / scenario])
        assert found.files == ("config.yaml",)
        assert found.values["actor_rollout_ref.actor.optim.lr"] == lr
        assert found.values["trainer.total_training_steps"] == 40


def test_a_right_answer_is_scored_as_right(tmp_path: Path) -> None:
    written(tmp_path, "healthy")
    (found,) = find_samples(tmp_path)
    for row in found.load(40).rows:
        sample = found.read(40, row)
        said = dict(sample.texts)["output"].rsplit(" ", 1)[1]
        assert (float(said) == dict(sample.figures)["gts"]) == (row.reward == 1.0)


@pytest.mark.parametrize(("scenario", "shown"), [("nan", "!!!!"), ("truncation", "check again")])
def test_failures_show_in_the_answers(tmp_path: Path, scenario: str, shown: str) -> None:
    written(tmp_path, scenario)
    (found,) = find_samples(tmp_path)
    rows = found.load(40).rows
    assert np.mean([shown in row.preview for row in rows]) > 0.4


def test_other_trainers_leave_none(tmp_path: Path) -> None:
    written(tmp_path, "dpo")
    assert [path.name.split(".")[0] for path in tmp_path.iterdir()] == ["events"]
