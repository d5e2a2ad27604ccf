"""Failures that are put into a copy of a run: what is judged, and what is not."""

import math
from collections.abc import Mapping, Sequence

import pytest

from rltui.core.level import Level
from rltui.health.canary import Canary, Failure, Measure, Trial, _pictures, failures, knowledge
from rltui.health.columns import MADE_OF
from rltui.health.detectors.registry import DETECTORS
from rltui.health.plan import Task
from rltui.health.rule import Rule
from rltui.health.rules import load_rules
from rltui.session import JudgedRun
from tests.builders import a_batch
from tests.documents import nodes
from tests.fakes import a_session, grpo_tags

RULES = load_rules()
#: What no case can show: it takes a second run, or a restart.
_UNSHOWN = {"off_reference", "ratio_off.restart", "not_continued.batches", "not_continued.episodes"}


def a_view(tags: Mapping[str, Sequence[float]], **config: object) -> JudgedRun:
    return a_session(a_batch({t: list(x) for t, x in tags.items()}), **config).runs()[0]


def of_run(run: JudgedRun, rules: Sequence[Rule] = RULES) -> dict[str, Failure]:
    assert run.recognition is not None
    return {f.symptom.id: f for f in failures(rules, run.infos, run.recognition)}


def tried(run: JudgedRun, symptom: str, rules: Sequence[Rule] = RULES) -> dict[str, Trial]:
    assert run.recognition is not None
    failure = of_run(run, rules)[symptom]
    trials = Canary().tries(failure, run.data, run.infos, run.recognition)
    return {t.variant.id: t for t in trials}


def test_each_detector_says_what_it_measures_by_and_needs() -> None:
    assert set(knowledge().measure) - {*MADE_OF} == set(DETECTORS)
    for name, needs in knowledge().needs.items():
        roles = {role for need in needs for role in need.split("|")}
        assert roles <= set(MADE_OF if name == "any" else DETECTORS[name].roles), name


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_case_shows_each_failure(rule: Rule) -> None:
    shown = {
        v.id for v in rule.variants if any(p.found for p in _pictures(Task(rule, v, ("x",), {})))
    }
    assert {v.id for v in rule.variants} - shown <= _UNSHOWN


@pytest.fixture(scope="module")
def healthy() -> JudgedRun:
    return a_view(grpo_tags(120))


def test_alarms_of_a_healthy_run_fire_after_the_failure_begins(healthy: JudgedRun) -> None:
    for symptom, failure in of_run(healthy).items():
        trials = tried(healthy, symptom).values()
        spoke = [t for t in trials if t.rows is not None]
        assert spoke or failure.lacking, symptom
        assert all(t.rows and t.rows > 0 and t.level >= Level.WATCH for t in spoke), symptom


def test_the_run_itself_stays_as_it_is(healthy: JudgedRun) -> None:
    before = healthy.series("actor/entropy").values.tolist(), healthy.data.version
    tried(healthy, "entropy_collapse")
    assert (healthy.series("actor/entropy").values.tolist(), healthy.data.version) == before


@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_a_failure_is_as_large_as_the_run(factor: float) -> None:
    """A reward or a time in another unit falls, or grows, by the same share."""
    tags = grpo_tags(120)
    other = {
        t: [v * factor for v in x] if "score" in t or "timing" in t else x for t, x in tags.items()
    }
    for symptom in ("reward_crash", "slow"):
        found = [tried(a_view(t), symptom) for t in (tags, other)]
        assert [(t.level, t.rows) for t in found[0].values()] == [
            (t.level, t.rows) for t in found[1].values()
        ]


@pytest.mark.parametrize(("high", "rows"), [(0.9, True), (1.5, False)])
def test_a_limit_of_the_user_that_nothing_can_reach_keeps_silent(
    healthy: JudgedRun, high: float, rows: bool
) -> None:
    limits = {"watch": {"high": high}, "bad": {"high": high}}
    rules = load_rules(overrides=nodes({"clipfrac_high": limits}))
    trial = tried(healthy, "clip_fraction_high", rules)["clipfrac_high.token"]
    assert (trial.rows is not None) == rows


def test_a_failure_goes_beyond_a_wide_limit_of_the_user(healthy: JudgedRun) -> None:
    rules = load_rules(overrides=nodes({"kl_blowup": {"bad": {"high": 40.0}}}))
    assert tried(healthy, "kl_spike", rules)["kl_blowup.update"].level is Level.BAD


def test_a_run_without_a_metric_is_blind() -> None:
    tags = {t: x for t, x in grpo_tags(60).items() if t != "actor/entropy"}
    found = of_run(a_view(tags))["entropy_collapse"]
    assert (found.watched, found.lacking[0]) == ((), "entropy")


def test_what_an_algorithm_has_not_is_no_blind_spot() -> None:
    tags = {t: x for t, x in grpo_tags(60).items() if not t.startswith("critic/v")}
    without = of_run(a_view(tags))
    assert without.keys().isdisjoint({"critic_failing", "value_loss_explodes", "moe_imbalance"})
    critic = of_run(a_view({**tags, "critic/values/mean": [0.5] * 60}))
    assert critic["critic_failing"].lacking


def test_seldom_failures_count_where_something_of_their_kind_is_logged() -> None:
    tags = grpo_tags(60)
    assert "tool_use_dies" not in of_run(a_view(tags))
    found = of_run(a_view({**tags, "tool_call_counts/min": [1.0] * 60}))
    assert found["tool_use_dies"].lacking == ("tool_calls.mean",)


def test_one_part_alone_cannot_dominate() -> None:
    series = {
        "train/rewards/right/mean": [0.1 * i % 1 for i in range(60)],
        "train/reward": [0.5] * 60,
    }
    one = of_run(
        a_view({**series, "train/kl": [0.01] * 60, "train/completions/mean_length": [9.0] * 60})
    )
    assert "reward_dominated" not in one


def test_too_few_rows_of_a_tag_are_said() -> None:
    tags = {**grpo_tags(60), "val-core/math/acc/mean@1": [0.1, 0.2, 0.3]}
    trial = tried(a_view(tags), "eval_stalls")["eval_stall.falling"]
    assert (trial.rows, trial.early, trial.why) == (None, True, "3 rows so far")


def test_zeros_and_rewards_at_the_bottom_are_said() -> None:
    tags = grpo_tags(60)
    zero = [0.0] * 60
    trial = tried(a_view({**tags, "perf/mfu/actor": zero}), "mfu_low")["mfu_low.fell"]
    assert (trial.rows, trial.why) == (None, "it is 0 now")
    low = [-48.0 + 10.0 * (i == 9) for i in range(60)]
    reward = {t: low if t == "critic/score/mean" else x for t, x in tags.items()}
    assert (
        tried(a_view(reward), "reward_crash")["reward_drop.reward"].why == "it is near its lowest"
    )


def test_values_that_are_not_finite_are_left_out_of_the_copy() -> None:
    tags = grpo_tags(60)
    entropy = [math.nan if i % 3 else v for i, v in enumerate(tags["actor/entropy"])]
    found = tried(a_view({**tags, "actor/entropy": entropy}), "entropy_collapse")
    assert found["entropy_collapse.token"].rows


def test_all_measures_are_in_use() -> None:
    assert set(knowledge().measure.values()) == set(Measure)
