"""Each story of the demo is judged as it is meant to be, at its end and when the screen opens.

What a demo run of verl leaves beside its log is found and read as that of a real run.
"""

import os
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from rltui.core.errors import UsageError
from rltui.core.installation import shipped
from rltui.core.level import Level, RunState
from rltui.demo import SCENARIOS, DemoRun, demo_runs
from rltui.session import JudgedRun, Session
from rltui.sources.side_files.sample_files import find_samples
from rltui.sources.side_files.settings_files import read_settings
from tests.clock import ManualClock

NOW = 1_800_000_000.0
SINGLE = [s for s in SCENARIOS.values() if not s.runs]


def judged(logdir: Path, scenario: str, history: int, total: int) -> list[JudgedRun]:
    clock = ManualClock(NOW)
    for run in demo_runs(logdir, scenario, total, clock=clock):
        with closing(run):
            run.write_history(history)
        if run.scenario.ending != "hang":
            for path in run.directory.iterdir():
                os.utime(path, (NOW, NOW))
    session = Session([logdir], clock=clock)
    session.judge.prepare()
    session.scan()
    session.read_all()
    session.refresh_progress()  # as watching does
    return session.runs()


def fired(run: JudgedRun) -> dict[str, Level]:
    return {f.rule: f.level for f in run.report.firing()}


@pytest.mark.parametrize("scenario", SINGLE, ids=lambda s: s.id)
def test_the_rule_that_is_meant_finds_it(scenario, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (run,) = judged(tmp_path / "demo", scenario.id, 200, 200)
    found = fired(run)
    if scenario.rule is None:
        assert found == ({"stalled": Level.WATCH} if scenario.ending == "hang" else {})
    else:
        assert scenario.rule in found
    recognised = {"verl": "GRPO", "sb3": "PPO", "trl": "DPO"}
    assert run.recognition.framework == scenario.trainer
    assert run.recognition.algorithm == recognised[scenario.trainer]


@pytest.mark.parametrize(
    "scenario",
    [s for s in SINGLE if s.history > 120 or (s.onset in (1, 50) and s.rule)],
    ids=lambda s: s.id,
)
def test_a_failure_of_the_demo_shows_when_the_screen_opens(scenario, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (run,) = judged(tmp_path / "demo", scenario.id, scenario.history, 400)
    assert scenario.rule in fired(run)


def test_each_family_of_rules_has_a_story() -> None:
    """Except those that need a reference run or tools, or repeat another one."""
    shown = {s.rule for s in SCENARIOS.values()}
    without = set()
    for path in (shipped("health", "data") / "rules").glob("*.yaml"):
        rules = {x.split(":")[1].strip() for x in path.read_text().splitlines() if "- id:" in x}
        if not rules & shown:
            without.add(path.stem)
    assert without == {"components", "preference", "reference"}


def test_a_crash_says_why(tmp_path: Path) -> None:
    (run,) = judged(tmp_path / "demo", "crash", 400, 400)
    assert run.verdict.crash.reason == "CUDA out of memory"
    assert run.progress.state is RunState.CRASHED
    assert run.points.last_step == 112


def test_a_run_that_has_ended_writes_nothing_more(tmp_path: Path) -> None:
    with closing(DemoRun(tmp_path, "crash", 1, 40, clock=ManualClock(NOW))) as run:
        run.write_history(5)
        assert not (tmp_path / "train.log").exists()
        while run.write_step():
            pass
        assert run.finished
        assert run.step == 11
        assert "CUDA out of memory" in (tmp_path / "train.log").read_text()


def test_seeds_of_two_settings(tmp_path: Path) -> None:
    runs = judged(tmp_path / "demo", "seeds", 160, 200)
    assert len(runs) == 8
    assert len({r.name.rpartition("_")[0] for r in runs}) == 2
    bad = [r.name for r in runs if r.verdict.level is Level.BAD]
    assert bad == ["lr-3e-6_seed-3"]
    healthy = [r for r in runs if r.name not in bad]

    def reward(run: JudgedRun) -> float:
        return float(run.series("critic/score/mean").values[-50:].mean())

    lower = [reward(r) for r in healthy if "1e-6" in r.name]
    higher = [reward(r) for r in healthy if "3e-6" in r.name]
    assert max(lower) < min(higher)
    assert len(set(lower)) == 4
    with pytest.raises(UsageError, match="several runs"):
        DemoRun(tmp_path, "seeds", 1)


def written(directory: Path, scenario: str, rows: int = 40) -> None:
    with closing(DemoRun(directory, scenario, 1, 40, clock=ManualClock())) as run:
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
