"""Framework and algorithm from the names of tags.

Names that mean different things in different frameworks.
Recognition on logs that real frameworks wrote (skipped where they are absent).
"""

import json
import re
from contextlib import suppress
from pathlib import Path

import pytest
from google.protobuf.message import DecodeError

from rltui.catalogue import Catalogue, Category
from rltui.catalogue.guess import names_score
from tests.event_files import events
from tests.ids import path_id
from tests.places import DEV
from tests.tables import cases

VERL = [
    "actor/pg_loss", "actor/ppo_kl", "actor/grad_norm", "actor/entropy_loss", "critic/score/mean",
    "critic/rewards/mean", "critic/advantages/mean", "response_length/mean", "timing_s/gen",
    "timing_s/step", "timing_per_token_ms/gen",
]  # fmt: skip
#: Metrics by which success is judged.
SCORES = {"val.score", "val.reward.mean", "val.accuracy", "val.success_rate", "reward.mean"}
TRL = ["train/loss", "train/grad_norm", "train/learning_rate", "train/epoch"]
GRPO = [*TRL, "train/reward", "train/reward_std", "train/kl", "train/completions/mean_length"]
SEVERAL = {"VERL": VERL, "TRL": TRL, "GRPO": GRPO}


@cases(__file__, "names")
def test_names(
    tags: list[str], framework: str, algorithm: str | None, scenario: str, catalogue: Catalogue
) -> None:
    found = catalogue.recognise([one for tag in tags for one in SEVERAL.get(tag, [tag])])
    assert (found.framework, found.algorithm, found.scenario.id) == (framework, algorithm, scenario)
    assert found.reasons


BESIDE = ["learning_rate", "grad_norm", "epoch", "eval_loss", "loss"]


@cases(__file__, "test_companions_do_not_outvote_what_tells_the_algorithm")
def test_companions_do_not_outvote_what_tells_the_algorithm(
    own: list[str], algorithm: str, scenario: str, catalogue: Catalogue
) -> None:
    for beside in (BESIDE, [f"train/{name}" for name in BESIDE[:3]] + ["eval/loss", "train/loss"]):
        found = catalogue.recognise([*own, *beside])
        assert (found.algorithm, found.scenario.id) == (algorithm, scenario), found.reasons
    if len(own) > 1:
        assert catalogue.recognise(own).algorithm == algorithm


@pytest.mark.parametrize("beside", [[], BESIDE])
@pytest.mark.parametrize(
    "tag",
    ["rm/eval_accuracy", "eval_accuracy", "eval/accuracy", "rm/val_accuracy", "val_accuracy",
     "eval/rm/accuracy", "eval_rm_accuracy", "rm/heldout_accuracy", "test/accuracy", "val/acc"],
)  # fmt: skip
def test_the_held_out_accuracy_of_a_reward_model(
    tag: str, beside: list[str], catalogue: Catalogue
) -> None:
    known = catalogue.recognise(["rm/loss", "rm/accuracy", tag, *beside])
    info = catalogue.resolver(known.framework, known.algorithm, known.scenario.id).resolve(tag)
    assert info.metric.key == "val.rm.accuracy"


@cases(__file__, "tensorboardx_replaces_signs_in_tags")
def test_tensorboardx_replaces_signs_in_tags(
    framework: str, tags: list[str], catalogue: Catalogue
) -> None:
    written = [re.sub(r"[^-/\w.]", "_", tag) for tag in tags]
    assert catalogue.recognise(tags).framework == framework
    assert catalogue.recognise(written).framework == framework
    resolver = catalogue.resolver(framework)
    for tag, cleaned in zip(tags, written, strict=True):
        meant = resolver.resolve(tag).metric
        assert meant is not None
        assert resolver.resolve(cleaned).metric == meant, cleaned


def test_the_user_wins(catalogue: Catalogue) -> None:
    found = catalogue.recognise(VERL, framework="sb3", algorithm="sac")
    assert (found.framework, found.title, found.algorithm) == ("sb3", "SB3", "SAC")
    assert found.scenario.id == "classic-rl"


def test_an_algorithm_by_option_selects_the_scenario(catalogue: Catalogue) -> None:
    assert catalogue.recognise(["x"], algorithm="dpo").scenario.id == "preference"


@pytest.mark.parametrize("tag", ["mean@8", "mean_8"])
def test_tensorboardx_rewrites_validation_tags(tag: str, catalogue: Catalogue) -> None:
    info = catalogue.resolver("verl").resolve(f"val-core/openai/gsm8k/acc/{tag}")
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


@cases(__file__, "no_wildcard_makes_a_score_of_a_time_a_spread_or_a_count", "end")
def test_no_wildcard_makes_a_score_of_a_time_a_spread_or_a_count(
    end: str, catalogue: Catalogue
) -> None:
    for framework in catalogue.dialects:
        patterns = (e.pattern for e in catalogue.entries(framework))
        fronts = {p.prefix for p in patterns if not p.exact and p.prefix.endswith("/")}
        for front in (f for f in fronts if not names_score(f)):  # reward/time is what time costs
            metric = catalogue.resolver(framework).resolve(front + end).metric
            assert metric is None or metric.key not in SCORES, (framework, front)


@cases(__file__, "a_time_or_a_spread_is_no_score", "tag")
def test_a_time_or_a_spread_is_no_score(tag: str, catalogue: Catalogue) -> None:
    for framework in catalogue.dialects:
        metric = catalogue.resolver(framework).resolve(tag).metric
        assert metric is None or metric.key not in ("val.score", "val.reward.mean", "reward.other")


def test_a_wildcard_in_front_does_not_claim_whatever_ends_alike(catalogue: Catalogue) -> None:
    assert catalogue.explain("foo/bar_kl").tags == ()
    garage = catalogue.resolver("garage")
    assert garage.resolve("TRPO/KL").metric is catalogue.metrics["kl.old_new"]


FRAMEWORKS = {
    "sb3": "sb3",
    "cleanrl": "cleanrl",
    "trl": "trl",
    "trl_old_ppo": "trl-ppo-classic",
    "verl": "verl",
    "rllib": "rllib",
    "writers": "generic",
}
ALGORITHMS = ("grpo", "dpo", "kto", "reward", "sft", "ppo", "dqn", "sac")
#: RLOO writes exactly the tags of GRPO: names do not distinguish them.
NAMED = {"reward": "RM"}


def _logs() -> list[Path]:
    if not DEV.is_dir():
        return []
    found = [*DEV.rglob("*tfevents*"), *DEV.rglob("*.jsonl"), *DEV.rglob("trainer_state.json")]
    return sorted(p for p in found if p.relative_to(DEV).parts[0] in FRAMEWORKS)


def _tags(path: Path) -> set[str]:
    if path.name == "trainer_state.json":
        return {k for row in json.loads(path.read_text())["log_history"] for k in row}
    if path.suffix == ".jsonl":
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        return {k for row in rows for k in row.get("data", row)}
    tags: set[str] = set()
    with suppress(DecodeError):  # some are damaged on purpose
        for event in events(path.read_bytes()):
            tags.update(v.tag for v in event.summary.value)
    return {t for t in tags if not t.startswith("_hparams_/")}


@pytest.mark.skipif(not DEV.is_dir(), reason=f"no corpus at {DEV}")
@pytest.mark.parametrize("path", _logs(), ids=lambda p: path_id(p.relative_to(DEV)))
def test_log(path: Path, catalogue: Catalogue) -> None:
    tags = _tags(path)
    if not tags:
        pytest.skip("no scalar tag in this file")
    top, name = path.relative_to(DEV).parts[:2]
    found = catalogue.recognise(tags)
    assert found.framework == FRAMEWORKS[top]
    kind = next(
        (a for a in ALGORITHMS if name.startswith(a) or "__" + a + "__" in path.parts[-2]), None
    )
    if kind is not None and top != "writers":
        assert found.algorithm == NAMED.get(kind, kind.upper())
    resolver = catalogue.resolver(found.framework, found.algorithm)
    unknown = [t for t in tags if resolver.resolve(t).metric is None]
    if top not in ("writers", "rllib"):
        assert unknown == []
