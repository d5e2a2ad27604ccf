"""The best guess at a reward without a usual name; names of experiments in front of all tags; what
settings say of the updates."""

import math
from collections.abc import Sequence

import pytest

from rltui.core.batch import Batch
from rltui.core.level import Level
from rltui.health.model import Report
from rltui.session import JudgedRun
from tests.builders import a_batch
from tests.fakes import a_session
from tests.tables import cases

#: Won, and lost for good.
LOST = [*(x / 50 for x in range(100)), *[0.05, 0.06] * 40]
RISES = [x / 180 for x in range(180)]


def a_view(**tags: Sequence[float]) -> JudgedRun:
    names = {tag.replace("__", "/"): values for tag, values in tags.items()}
    (run,) = a_session(a_batch(names)).runs()
    return run


def guessed(run: JudgedRun) -> dict[str, str]:
    return {t: i.metric.key for t, i in run.infos.items() if i.guessed and i.metric}


@cases(__file__, "what_looks_like_a_reward_is_judged_as_a_guess", "tag")
def test_what_looks_like_a_reward_is_judged_as_a_guess(tag: str) -> None:
    run = a_view(**{tag: LOST, "another_loss": RISES})
    assert list(guessed(run)) == [tag.replace("__", "/")]
    (info,) = (i for i in run.infos.values() if i.guessed)
    assert info.title.endswith("(guessed)")
    assert run.report.level is Level.WATCH
    assert "reward_drop" in {f.rule for f in run.report.firing()}


@cases(__file__, "a_time_a_spread_or_a_part_is_not_taken_for_the_reward", "tag")
def test_a_time_a_spread_or_a_part_is_not_taken_for_the_reward(tag: str) -> None:
    assert not guessed(a_view(**{tag: LOST, "another_loss": RISES}))


def test_of_several_the_most_general_one_is_taken() -> None:
    run = a_view(red_team_reward=RISES, mean_task_reward=RISES, task_score=RISES)
    assert list(guessed(run)) == ["mean_task_reward"]


def test_not_a_number_is_bad_whatever_it_means() -> None:
    run = a_view(adversary_reward=[*RISES, *[math.nan] * 20])
    assert run.report.level is Level.BAD


def test_a_guess_excuses_nothing() -> None:
    falls = [1.0] * 20 + [0.02] * 160
    with_guess = a_view(rollout__x=RISES, adversary_reward=RISES, entropy=falls, timesteps=RISES)
    without = a_view(rollout__x=RISES, entropy=falls, timesteps=RISES)
    assert guessed(with_guess)
    assert with_guess.report.level is without.report.level is Level.BAD


def test_a_plain_kl_is_judged_where_nothing_says_of_what() -> None:
    kl = [0.01, 0.012] * 50 + [3.7, 3.6] * 20
    run = a_view(train__kl=kl, train__reward=RISES[:140], train__loss=[1.0] * 140)
    assert guessed(run) == {"train/kl": "kl.policy_ref"}
    (finding, *_) = run.report.firing()
    assert (finding.rule, finding.level) == ("kl_blowup", Level.WATCH)


def test_the_name_of_an_experiment_in_front_of_all_tags_is_left_out() -> None:
    run = a_view(**{f"ppo_seed_3_{name}": RISES for name in ("reward", "value_loss", "entropy")})
    keys = {tag: info.metric.key for tag, info in run.infos.items() if info.metric}
    assert keys == {
        "ppo_seed_3_reward": "reward.mean",
        "ppo_seed_3_value_loss": "loss.value",
        "ppo_seed_3_entropy": "entropy",
    }


def test_the_framework_is_recognised_behind_the_name_of_an_experiment() -> None:
    names = ("critic/rewards/mean", "actor/pg_loss", "actor/ppo_kl", "actor/pg_clipfrac")
    run = a_view(**{f"exp7/{name}": RISES for name in names})
    assert run.recognition.framework == "verl"


@pytest.mark.parametrize("head", ["timers/", "eval_", "reward_"])
def test_what_says_something_of_the_figure_stays(head: str) -> None:
    run = a_view(**{f"{head}{name}": RISES for name in ("kl", "entropy", "value_loss", "ratio")})
    known = {i.metric.key for i in run.infos.values() if i.metric}
    assert not known & {"kl.policy_ref", "entropy", "loss.value", "ratio.mean"}


#: A clip that stops much of updates that move the policy little.
_CLIPPED = {
    "actor/pg_clipfrac": [0.4] * 60,
    "actor/pg_clipfrac_lower": [0.0] * 60,
    "actor/ppo_kl": [8e-4] * 60,
    "critic/score/mean": [0.3 + x / 200 for x in range(60)],
}
_POLICY = "actor_rollout_ref.actor."
_GSPO = {f"{_POLICY}policy_loss.loss_mode": "gspo", f"{_POLICY}clip_ratio_high": 4e-4}


def report(*batches: Batch) -> Report:
    (run,) = a_session(*batches).runs()
    assert run.report is not None
    return run.report


def found(*batches: Batch) -> set[str]:
    return {f.rule for f in report(*batches).firing()}


def test_a_clip_of_sequences_is_not_judged_by_the_limit_of_tokens() -> None:
    assert not found(a_batch(_CLIPPED)), "the update KL contradicts"
    far = _CLIPPED | {"actor/ppo_kl": [0.02] * 60}
    assert found(a_batch(far)) == {"clipfrac_high"}
    said = report(a_batch(far, hparams=_GSPO))
    assert not said.findings
    assert "actor/pg_clipfrac" not in said.tags  # nor is the range in the documentation for it
    wide = _GSPO | {f"{_POLICY}clip_ratio_high": 0.2}
    assert found(a_batch(_CLIPPED, hparams=wide)) == {"clipfrac_high"}


def test_settings_that_are_logged_later_count() -> None:
    assert found(a_batch(_CLIPPED), a_batch(source="settings", hparams=_GSPO)) == set()


def test_flow_grpo_has_no_second_clip() -> None:
    logged = _CLIPPED | {f"actor/pg_clipfrac_{side}": [0.3] * 60 for side in ("higher", "lower")}
    assert found(a_batch(logged | {"critic/rewards/zero_std_ratio": [0.0] * 60})) == set()
