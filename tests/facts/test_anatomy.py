"""Where the time of a step goes, as the frameworks log it."""

import pytest

from rltui.facts import sentences
from rltui.facts.timing import Anatomy, anatomy
from rltui.session import JudgedRun
from tests.builders import Tags, a_batch, a_block
from tests.fakes import a_session, next_step

N = 40
VERL: Tags = {
    "timing_s/gen": [4.0] * N,
    "timing_s/old_log_prob": [1.0] * N,
    "timing_s/update_actor": [3.0] * N,
    "timing_s/step": [10.0] * N,
    "perf/total_num_tokens": [1000.0] * N,
    "timing_per_token_ms/gen": [0.5] * N,
}


def the_run(tags: Tags) -> JudgedRun:
    return a_session(a_batch(a_block(tags))).runs()[0]


def the_anatomy(tags: Tags) -> Anatomy:
    found = anatomy(the_run(tags))
    assert found is not None
    return found


def shares(found: Anatomy) -> dict[str, float]:
    return {s.tag: round(found.share(s), 3) for s in found.stages}


def test_stages_and_what_they_leave_make_up_the_step() -> None:
    found = the_anatomy(VERL)
    assert found.total == "timing_s/step"
    assert shares(found) == {
        "timing_s/gen": 0.4,
        "timing_s/old_log_prob": 0.1,
        "timing_s/update_actor": 0.3,
    }
    assert found.other == pytest.approx(2.0)
    assert found.length == pytest.approx(10.0)


def test_an_unknown_timer_that_contains_others_is_no_stage() -> None:
    found = the_anatomy({**VERL, "timing_s/rollout_and_update": [7.5] * N})
    assert "timing_s/rollout_and_update" not in shares(found)
    found = the_anatomy({**VERL, "timing_s/dump_rollouts": [1.5] * N})
    assert shares(found)["timing_s/dump_rollouts"] == 0.15


def test_an_occasional_stage_counts_with_its_part_of_the_average_step() -> None:
    rare = [50.0 if s % 10 == 0 else None for s in range(1, N + 1)]
    found = the_anatomy({**VERL, "timing_s/testing": rare})
    stage = next(s for s in found.parts if s.tag == "timing_s/testing")
    cost = found.costs[stage.tag]
    assert (cost.now, cost.every, cost.per_step) == (50.0, 10.0, 5.0)
    assert found.share(stage) == pytest.approx(5 / 15)
    assert found.heights[:10].tolist() == [10.0] * 9 + [58.0]


def test_which_stage_made_the_step_slow_and_since_when() -> None:
    slow = [4.0] * 28 + [14.0] * 12
    step = [10.0] * 28 + [20.0] * 12
    found = the_anatomy({**VERL, "timing_s/gen": slow, "timing_s/step": step})
    assert found.whole.drift == pytest.approx(2.0)
    assert (found.slowed[0].tag, found.slowed[1]) == ("timing_s/gen", 29)
    assert found.usual_steps == (5, 20)
    assert the_anatomy(VERL).slowed is None


def test_a_slowdown_that_is_found_has_the_onset_of_its_story() -> None:
    slow = [4.0] * 20 + [4.0 + 10 * n for n in range(1, 41)]
    step = [10.0] * 20 + [10.0 + 10 * n for n in range(1, 41)]
    run = the_run({"timing_s/gen": slow, "timing_s/step": step})
    found = anatomy(run)
    (story,) = run.report.diagnosed.diagnoses
    assert story.symptom.id == "slow"
    assert (found.slowed[0].tag, found.slowed[1]) == ("timing_s/gen", story.since_step)


@pytest.mark.parametrize(("tools", "leaf"), [(12.0, "tool_calls"), (6.0, "")])
def test_what_takes_most_of_the_stage_is_named(tools: float, leaf: str) -> None:
    slow = {"timing_s/gen": [4.0] * 28 + [14.0] * 12, "timing_s/step": [10.0] * 28 + [20.0] * 12}
    inside = {"timing_s/agent_loop/slowest/tool_calls": [2.0] * 28 + [tools] * 12}
    found = the_anatomy({**VERL, **slow, **inside})
    tag = f"timing_s/agent_loop/slowest/{leaf}" if leaf else "timing_s/gen"
    assert (found.slowed[0].tag, found.slowed[1]) == (tag, 29)


@pytest.mark.parametrize(("tools", "leaf"), [(18.0, "tool calls, slowest"), (4.0, "generate")])
def test_a_finding_names_the_leaf_and_not_the_stage_that_contains_it(
    tools: float, leaf: str
) -> None:
    run = the_run(
        {
            "timing_s/gen": [4.0] * 40 + [20.0] * 20,
            "timing_s/agent_loop/slowest/tool_calls": [2.0] * 40 + [tools] * 20,
            "timing_s/agent_loop/slowest/response_length": [1.0] * 40 + [900.0] * 20,
            "actor/pg_clipfrac": [0.01] * 60,
            "timing_s/step": [10.0] * 40 + [22.0] * 20,
        }
    )
    (found,) = (f for f in run.report.findings if f.rule == "timing_bottleneck")
    assert sentences.short(found).startswith(f"{leaf} {'81.8' if tools > 4 else '90.9'} % of")
    assert leaf in next_step(run)


def test_time_per_token_is_as_logged_or_worked_out() -> None:
    found = the_anatomy(VERL)
    per_token = {s.tag: found.per_token(s) for s in found.stages}
    assert per_token["timing_s/gen"] == (0.5, True)
    assert per_token["timing_s/old_log_prob"] == (pytest.approx(1.0), False)


def test_milliseconds_are_seconds() -> None:
    tags: Tags = {
        "ray/tune/time_this_iter_s": [10.0] * N,
        "ray/tune/timers/sample_time_ms": [8000.0] * N,
        "ray/tune/timers/learn_time_ms": [1000.0] * N,
        "ray/tune/timers/training_iteration_time_ms": [9500.0] * N,
        "ray/tune/training_iteration": [1.0] * N,
        "ray/tune/timesteps_total": [1.0] * N,
        "ray/tune/episode_reward_mean": [1.0] * N,
    }
    found = the_anatomy(tags)
    assert sorted(shares(found).values()) == [0.1, 0.8]
    assert found.other == pytest.approx(1.0)


def test_timers_of_something_shorter_are_no_stages_of_the_step() -> None:
    tags: Tags = {
        "ray/tune/time_this_iter_s": [55.0] * N,
        "ray/tune/timers/learn_time_ms": [8.6] * N,
        "ray/tune/timesteps_total": [1.0] * N,
        "ray/tune/episode_reward_mean": [1.0] * N,
    }
    assert anatomy(the_run(tags)) is None


@pytest.mark.parametrize("newest", [5.0, float("nan")])
def test_a_slowdown_of_stages_alone_is_seen_beside_an_occasional_one(newest: float) -> None:
    rare = [30.0 if s % 10 == 0 else None for s in range(1, N + 1)]
    stages: Tags = {
        "timing_s/gen": [10.0] * 28 + [40.0] * 12,
        "timing_s/update_actor": [5.0] * 30 + [newest] * 10,
        "actor/entropy": [1.0] * N,
    }
    plain, found = the_anatomy(stages), the_anatomy({**stages, "timing_s/testing": rare})
    assert (found.slowed[0].tag, found.slowed[1]) == ("timing_s/gen", 29)
    assert found.whole == plain.whole
    assert found.whole.drift == (3.0 if newest == 5.0 else 4.0)


@pytest.mark.parametrize(
    "tags",
    [
        {"loss": [1.0] * N},
        {"timing_s/step": [1.0] * N},
        {"train/loss": [1.0] * N, "eval/runtime": [None] * 20 + [1.0] * 20},
        {"timing_s/step": [1.0] * N, "timing_s/testing": [None] * 30 + [1.0] * 10},
    ],
)
def test_a_run_without_stages_has_no_anatomy(tags: Tags) -> None:
    assert anatomy(the_run(tags)) is None


def test_the_simulation_of_rl_games_is_inside_the_sampling() -> None:
    found = the_anatomy({
        "performance/step_inference_time": [3.0] * N,
        "performance/step_time": [2.0] * N,
        "performance/rl_update_time": [1.0] * N,
        "performance/step_inference_rl_update_fps": [1000.0] * N,
        "losses/a_loss": [0.1] * N,
        "rewards/iter": [1.0] * N,
    })  # fmt: skip
    assert found.whole.now == pytest.approx(4.0)
    assert [s.tag.split("/")[1] for s in found.parts] == ["step_inference_time", "rl_update_time"]
    inside = next(s for s in found.stages if s.tag == "performance/step_time")
    assert inside.within == "performance/step_inference_time"
