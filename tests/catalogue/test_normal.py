"""Spellings of one name, redundant prefixes, and names that must not be mistaken."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltui.catalogue import Catalogue, Category, load_catalogue
from rltui.catalogue.guess import guess_category
from rltui.catalogue.normal import normal


@pytest.mark.parametrize(
    ("tag", "form"),
    [
        ("Loss / Value loss", "loss_value_loss"),
        ("AverageEpRet", "average_ep_ret"),
        ("LossPi", "loss_pi"),
        ("EVAfter", "ev_after"),
        ("KL", "kl"),
        ("train/ep-len.mean", "train_ep_len_mean"),
        ("% time spent exploring", "%_time_spent_exploring"),
        ("Fps (10 sec)", "fps_10_sec"),
        ("/", ""),
    ],
)
def test_normal_form(tag: str, form: str) -> None:
    assert normal(tag) == form


def key_of(
    catalogue: Catalogue, framework: str, tag: str, scenario: str | None = None
) -> str | None:
    metric = catalogue.resolver(framework, None, scenario).resolve(tag).metric
    return metric.key if metric else None


def test_milliseconds_are_scaled(catalogue: Catalogue) -> None:
    info = catalogue.resolver("generic").resolve("timing/step_time_ms")
    assert info.metric is catalogue.metrics["time.step"]
    assert (info.scale, info.unit) == (0.001, "ms")


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("kl", "kl.policy_ref"),
        ("entropy", "entropy"),
        ("reward", "reward.mean"),
        ("loss", "loss.total"),
        ("grad_norm", "grad_norm.actor"),
        ("lr", "lr.actor"),
        ("return", "episode_return.mean"),
    ],
)
@pytest.mark.parametrize(
    "form",
    [
        *("{}", "train/{}", "Train/mean_{}", "{}_mean", "train/avg_{}", "average_{}", "ppo/{}"),
        *("grpo/{}", "agent/{}", "batch/{}", "update/{}", "{}/train", "{}_epoch", "train_{}_step"),
    ],
)
def test_plain_names_of_own_scripts(name: str, key: str, form: str, catalogue: Catalogue) -> None:
    tag = form.format(name)
    meant = {"grpo/loss": "loss.policy"}.get(tag, key)
    assert key_of(catalogue, "generic", tag, "generic") == meant


@pytest.mark.parametrize("tag", ["epoch/time", "step/count", "batch/size", "agent/episode", "step"])
def test_a_word_of_the_loop_is_not_left_out_of_what_it_counts(
    tag: str, catalogue: Catalogue
) -> None:
    counts = (None, "hyper.batch_size", "progress.step")
    assert key_of(catalogue, "generic", tag, "generic") in counts


def test_a_tag_of_the_user_in_a_known_framework(catalogue: Catalogue) -> None:
    own = catalogue.resolver("cleanrl").resolve("Mean Episode Return")
    assert own.metric is catalogue.metrics["episode_return.mean"]
    assert own.added
    assert not catalogue.resolver("cleanrl").resolve("charts/SPS").added
    assert key_of(catalogue, "trl-ppo-classic", "kl", "llm-rl") is None


def test_two_meanings_of_one_normal_form_are_none(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(
        "id: mine\nentries:\n  - source: me\n    tags:\n"
        "      a/reward: reward.mean\n      a_reward: episode_return.mean\n"
        "      b/loss: loss.value\n      b_loss: loss.value\n"
    )
    resolver = load_catalogue((tmp_path,)).resolver("mine")
    assert resolver.resolve("A Reward").metric is not None  # as most loops would write it
    assert resolver.resolve("a.reward").metric is None
    assert resolver.resolve("B.Loss").metric is not None


def test_one_monitor_file_does_not_make_a_run_of_sb3(catalogue: Catalogue) -> None:
    assert catalogue.recognise(["monitor/r", "monitor/l"]).framework == "sb3"
    assert catalogue.recognise(["monitor/r", "monitor/l", "loss"]).framework == "generic"
    assert catalogue.recognise(["monitor/r", "monitor/l", "eprewmean"]).framework == "baselines"


@pytest.mark.parametrize(
    ("tag", "category"),
    [
        ("num_env_steps_sampled", Category.PROGRESS),
        ("num_env_steps_sampled_throughput_per_sec", Category.PERF),
        ("Loss / Value thing", Category.CRITIC),
        ("reward_valid_rate", Category.CRITIC),
        ("valid/thing", Category.VALIDATION),
        ("custom/eval_thing", Category.VALIDATION),
        ("clip_thing", Category.ACTOR),
        ("MaxVVals", Category.CRITIC),
        ("batch_thing", Category.HYPER),
        ("gpu.0.temp", Category.SYSTEM),
    ],
)
def test_category_from_words(tag: str, category: Category) -> None:
    assert guess_category(tag) is category


@pytest.mark.parametrize(
    ("tag", "title"),
    [
        ("train/param_noise_di...", "noise distance"),
        ("rollout/return_hist...", "return hist..."),  # or its spread
        ("train/p...", "p..."),
    ],
)
def test_a_name_cut_short_by_a_console(tag: str, title: str, catalogue: Catalogue) -> None:
    assert catalogue.resolver("baselines").resolve(tag).title == title
