"""Names that mean different things in different frameworks."""

from __future__ import annotations

import pytest

from rltui.catalogue import Catalogue, Category


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


def test_a_wildcard_in_front_does_not_claim_whatever_ends_alike(catalogue: Catalogue) -> None:
    assert catalogue.explain("foo/bar_kl").tags == ()
    garage = catalogue.resolver("garage")
    assert garage.resolve("TRPO/KL").metric is catalogue.metrics["kl.old_new"]
