"""Who is busy and who waits where a run trains while it samples."""

import numpy as np
import pytest

from rltui.facts.lanes import Lane, course, lanes, waste
from rltui.facts.timers import is_asynchronous
from rltui.facts.timing import anatomy
from rltui.session import JudgedRun
from tests.builders import Tags, a_batch, a_block
from tests.fakes import a_session, next_step

N = 40
VERL: Tags = {
    "timing_s/gen": [60.0] * N,
    "timing_s/update_actor": [30.0] * N,
    "timing_s/param_sync": [8.0] * N,
    "timing_s/step": [100.0] * N,
    "timing_s/agent_loop/tool_calls/mean": [16.0] * N,
    "timing_s/agent_loop/tool_calls/max": [90.0] * N,
    "timing_s/agent_loop/compute_score/mean": [1.0] * N,
    "fully_async/processing_time/avg": [20.0] * N,
    "fully_async/processing_time/tp50": [15.0] * N,
    "fully_async/processing_time/tp95": [70.0] * N,
    "fully_async/processing_time/max": [95.0] * N,
    "fully_async/rollouter/idle_ratio": [0.1] * N,
    "fully_async/trainer/idle_ratio": [0.6] * N,
    "actor/pg_clipfrac": [0.01] * N,
}
SLIME: Tags = {
    "perf/train_time": [40.0] * N,
    "perf/actor_train_time": [36.0] * N,
    "perf/train_wait_time": [30.0] * N,
    "perf/wait_time_ratio": [0.43] * N,
    "perf/step_time": [70.0] * N,
    "perf/rollout_time": [68.0] * N,
    "train/ppo_kl": [0.01] * N,
    "rollout/raw_reward": [0.3] * N,
}
GPUS = {"trainer.n_gpus_per_node": 8, "trainer.nnodes": 2,
        "rollout.n_gpus_per_node": 8, "rollout.nnodes": 6}  # fmt: skip


def the_run(tags: Tags, **config: object) -> JudgedRun:
    return a_session(a_batch(a_block(tags), hparams=config)).runs()[0]


def by_name(run: JudgedRun) -> dict[str, Lane]:
    return {lane.name: lane for lane in lanes(run)}


def test_each_timer_is_in_its_lane_with_its_tail() -> None:
    found = by_name(the_run(VERL))
    assert {n: [t.tag.split("/", 1)[1] for t in lane.timers] for n, lane in found.items()} == {
        "trainer": ["update_actor", "param_sync"],
        "sampler": ["processing_time/avg"],
        "environment": ["agent_loop/compute_score/mean"],
        "tools": ["agent_loop/tool_calls/mean"],
        "waiting": ["gen", "rollouter/idle_ratio"],
    }
    (sample,) = found["sampler"].timers
    assert sample[1:] == (20.0, pytest.approx(np.nan, nan_ok=True), 15.0, 70.0, "p95", 95.0)
    assert found["tools"].timers[0].most == 90.0
    assert {n: round(lane.busy, 2) for n, lane in found.items() if lane.busy >= 0} == {
        "trainer": 0.4,
        "sampler": 0.9,
        "waiting": 0.6,
    }


def test_what_a_step_wastes_and_the_leaf_are_told() -> None:
    idle = "wasted: trainer waits 60 %, sampler idles 10 %"
    assert waste(the_run(VERL)) == (idle, "", "; tool calls 80 % of a sample")
    # 0.6 x 16 and 0.1 x 48 GPUs for 100 s
    assert waste(the_run(VERL, **GPUS)).gpu_hours == " = 0.4 GPU-hours a step"
    slow = {"timing_s/gen": [5.0] * 20 + [60.0] * 20, "timing_s/step": [45.0] * 20 + [100.0] * 20}
    run = the_run({**VERL, **slow})
    assert run.report is not None
    assert f"{idle}; tool calls 80 %" in next_step(run)


def test_the_course_of_a_lane_is_busy_seconds_of_each_step() -> None:
    run = the_run(VERL)
    found, parts = anatomy(run), by_name(run)
    assert found is not None
    seconds = {name: float(course(run, found, lane)[-1]) for name, lane in parts.items()}
    expected = {"trainer": 40, "sampler": 90, "environment": 1, "tools": 16, "waiting": 60}
    assert seconds == pytest.approx(expected)


def test_a_run_that_samples_and_trains_in_turns_has_no_lanes() -> None:
    turns = {"perf/train_wait_time": [70.0] * N, "perf/step_time": [110.0] * N}
    assert is_asynchronous(the_run(SLIME))
    assert not is_asynchronous(the_run({**SLIME, **turns}))
    assert lanes(the_run({**SLIME, **turns})) == ()
    own = {t: v for t, v in VERL.items() if not t.startswith("fully_async")}
    assert lanes(the_run(own)) == ()
    assert waste(the_run(own)) == ("", "", "")


def test_sampling_beside_the_trainer_is_no_stage_of_its_step() -> None:
    run = the_run(SLIME)
    found = anatomy(run)
    assert [s.tag for s in found.stages] == ["perf/actor_train_time", "perf/train_wait_time"]
    assert [t.tag for t in by_name(run)["sampler"].timers] == ["perf/rollout_time"]


@pytest.mark.parametrize("lag", [0.0, 1.5])
def test_a_lag_of_the_weights_tells_asynchronous_training(lag: float) -> None:
    tags: Tags = {
        "timeperf/rollout": [30.0] * N,
        "timeperf/train_step": [50.0] * N,
        "ppo_actor/update/version_stats/sample_staleness_theta_avg": [lag] * N,
    }
    run = the_run(tags)
    assert {n: [t.tag for t in lane.timers] for n, lane in by_name(run).items()} == (
        {"trainer": ["timeperf/train_step"], "waiting": ["timeperf/rollout"]} if lag else {}
    )
