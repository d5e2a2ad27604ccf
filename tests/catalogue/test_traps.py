"""Names that mean different things in different frameworks."""

from __future__ import annotations

import pytest

from rltui.catalogue import Catalogue, Category


@pytest.mark.parametrize(
    ("framework", "tag", "key", "sign"),
    [
        ("verl", "actor/entropy_loss", "entropy", 1),
        ("tinyzero", "actor/entropy_loss", "entropy", 1),
        ("openrlhf", "train/entropy_loss", "entropy", 1),
        ("sb3", "train/entropy_loss", "entropy", -1),
        ("cleanrl", "losses/entropy", "entropy", 1),
        ("trl", "objective/entropy", "entropy.seq_nll", 1),
        ("trl", "train/clip_ratio/region_mean", "clipfrac.policy", 1),
        ("trl", "completions/clipped_ratio", "response_length.clip_ratio", 1),
        ("verl", "response_length/clip_ratio", "response_length.clip_ratio", 1),
        ("trl", "val/clipfrac_avg", "clipfrac.value", 1),
        ("trl", "val/ratio", "ratio.mean", 1),
        ("trl-ppo-classic", "ppo/val/mean", "value.mean", 1),
        ("verl", "val/loss", "val.loss", 1),
        ("trl", "objective/kl", "kl.policy_ref_seq", 1),
        ("trl-ppo-classic", "objective/kl", "kl.policy_ref_seq", 1),
        ("openrlhf", "train/kl", "kl.policy_ref", 1),
        ("openrlhf", "train/ppo_kl", "kl.old_new", 1),
        ("openrlhf", "train/vllm_kl", "kl.rollout_train", 1),
        ("verl", "rollout_corr/kl", "kl.rollout_train", 1),
        ("verl", "critic/kl", "kl.policy_ref", 1),
        ("verl", "critic/score/mean", "reward.raw.mean", 1),
        ("verl", "critic/rewards/mean", "reward.mean", 1),
        ("trl", "rewards/chosen", "dpo.reward_chosen", 1),
        ("trl", "rewards/accuracies", "dpo.accuracy", 1),
        ("trl", "rewards/format_reward/mean", "reward.component.mean", 1),
        ("trl", "rewards/format_reward", "reward.component.mean", 1),
        ("sb3", "time/fps", "sps", 1),
        ("sb3", "train/loss", "loss.total", 1),
        ("transformers", "train/loss", "loss.total", 1),
        ("openrlhf", "train/loss", "loss.preference", 1),
        ("rllib", "ray/tune/learners/default_policy/mean_kl_loss", "kl.old_new", 1),
        ("llama-factory", "accuracy", "dpo.accuracy", 1),
        ("trl", "accuracy", "rm.accuracy", 1),
    ],
)
def test_meaning(framework: str, tag: str, key: str, sign: int, catalogue: Catalogue) -> None:
    info = catalogue.resolver(framework).resolve(tag)
    assert info.metric is not None
    assert info.metric.key == key
    assert info.sign == sign


@pytest.mark.parametrize(
    ("algorithm", "tag", "key"),
    [
        (None, "train/loss", "loss.total"),
        ("GRPO", "train/loss", "loss.total"),
        ("DPO", "train/loss", "loss.preference"),
        ("RM", "train/loss", "rm.loss"),
        ("KTO", "train/kl", "kl.kto"),
        ("GRPO", "train/kl", "kl.policy_ref"),
    ],
)
def test_algorithm_decides(algorithm: str | None, tag: str, key: str, catalogue: Catalogue) -> None:
    info = catalogue.resolver("trl", algorithm).resolve(tag)
    assert info.metric is not None
    assert info.metric.key == key


@pytest.mark.parametrize(
    ("tag", "key", "category"),
    [
        ("eval/loss", "val.loss", Category.VALIDATION),
        ("eval_loss", "val.loss", Category.VALIDATION),
        ("eval/rewards/accuracies", "val.dpo.accuracy", Category.VALIDATION),
        ("eval_rewards/margins", "val.dpo.margin", Category.VALIDATION),
        ("eval/accuracy", "val.rm.accuracy", Category.VALIDATION),
        ("eval/entropy", "val.entropy", Category.VALIDATION),
        ("eval/logits/chosen", "val.dpo.logits", Category.VALIDATION),
        ("eval/runtime", "time.validation", Category.TIMING),
        ("train/train_runtime", "progress.summary", Category.PROGRESS),
        ("train_runtime", "progress.summary", Category.PROGRESS),
        ("train/train_loss", "loss.run", Category.ACTOR),
    ],
)
def test_evaluation_of_hugging_face(
    tag: str, key: str, category: Category, catalogue: Catalogue
) -> None:
    info = catalogue.resolver("trl").resolve(tag)
    assert info.metric is not None
    assert info.metric.key == key
    assert info.category is category
    assert info.tag == tag


@pytest.mark.parametrize("tag", ["mean@8", "mean_8"])
def test_tensorboardx_rewrites_validation_tags(tag: str, catalogue: Catalogue) -> None:
    info = catalogue.resolver("verl").resolve(f"val-core/openai/gsm8k/acc/{tag}")
    assert info.metric is not None
    assert info.metric.key == "val.accuracy"
    assert info.title == "val gsm8k"
    assert info.unit == "mean@8"
    assert info.labels == {"source": "openai/gsm8k", "n": "8"}


def test_families(catalogue: Catalogue) -> None:
    verl, trl = catalogue.resolver("verl"), catalogue.resolver("trl")
    members = [verl.resolve(f"response_length/{s}") for s in ("mean", "max", "min")]
    assert {m.family for m in members} == {"response_length/*"}
    assert [m.stat for m in members] == ["mean", "max", "min"]
    assert verl.resolve("response_length/clip_ratio").family is None
    members = [trl.resolve(f"train/completions/{s}_length") for s in ("mean", "max", "min")]
    assert {m.family for m in members} == {"train/completions/*_length"}
    ended = trl.resolve("train/completions/mean_terminated_length")
    assert ended.family == "train/completions/*_terminated_length"
    assert trl.resolve("train/reward").family is None
    assert trl.resolve("train/reward_std").stat is None
    assert catalogue.resolver("sb3").resolve("train/std").family is None
    unknown = catalogue.resolver("generic").resolve("robot/arm/max")
    assert (unknown.family, unknown.stat) == ("robot/arm/*", "max")


def test_learning_rate_shows_in_actor_too(catalogue: Catalogue) -> None:
    for key in ("lr.actor", "kl.coef"):
        metric = catalogue.metrics[key]
        assert metric.category is Category.HYPER
        assert metric.also is Category.ACTOR


def test_scale(catalogue: Catalogue) -> None:
    assert catalogue.resolver("verl").resolve("train/lr(1e-3)").scale == pytest.approx(1e-3)


@pytest.mark.parametrize(
    "tag",
    [
        "test/collect_time",
        "test/collect_speed",
        "test/lens_stat/std",
        "test/n_collected_episodes",
        "eval/time",
        "eval/reward_std",
        "eval/episodes_per_second",
        "eval/accuracy_variance",
        "val/processing_time",
        "lens_stat/std",
    ],
)
def test_a_time_or_a_spread_is_no_score(tag: str, catalogue: Catalogue) -> None:
    for framework in catalogue.dialects:
        metric = catalogue.resolver(framework).resolve(tag).metric
        assert metric is None or metric.key not in ("val.score", "val.reward.mean", "reward.other")


@pytest.mark.parametrize(
    ("framework", "tag", "key"),
    [
        ("rsl_rl", "Episode_Reward/feet_air_time", "reward.component.mean"),
        ("rsl_rl", "Episode/rew_feet_air_time", "reward.other"),
        ("trl", "rewards/answer_time", "reward.component.mean"),
        ("verl", "val-aux/aime_2024/score/std@16", "val.std"),
        ("sb3", "eval/success_on_time_series", "val.score"),
        ("tianshou", "test/lens_stat/mean", "val.episode_length.mean"),
    ],
)
def test_a_score_may_speak_of_time(
    framework: str, tag: str, key: str, catalogue: Catalogue
) -> None:
    metric = catalogue.resolver(framework).resolve(tag).metric
    assert metric is catalogue.metrics[key]


def test_a_wildcard_in_front_does_not_claim_whatever_ends_alike(catalogue: Catalogue) -> None:
    assert catalogue.explain("foo/bar_kl").tags == ()
    garage = catalogue.resolver("garage")
    assert garage.resolve("TRPO/KL").metric is catalogue.metrics["kl.old_new"]
