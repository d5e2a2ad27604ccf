"""Stories: findings below what explains them, and the setting that began them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

import pytest

from rltui.catalogue import load_catalogue
from rltui.catalogue.model import TagInfo
from rltui.core.level import Level
from rltui.health.diagnoses import Facts, diagnose, story_order
from rltui.health.first_movers import moved_first, settings_changed
from rltui.health.model import Diagnosed, Evidence, Finding, FindingState, Judgement
from rltui.health.rules import load_rules
from rltui.health.symptoms import SETTING_CHANGED, Harm, symptoms
from tests.builders import Tags, a_run

METRICS = load_catalogue().metrics
RULES = {r.id for r in load_rules()}
#: Rules that are not shipped yet but have their place in the order of cause and effect.
EXPECTED = {
    "reward_hacking", "abort_high", "advantage_off", "kl_penalty_dominates", "margin_collapse",
    "turns_runaway", "mfu_low", "stalled", "stopped", "no_update", "off_reference",
}  # fmt: skip


def finding(
    rule: str,
    since: int,
    metric: str = "entropy",
    *,
    until: int | None = None,
    level: Level = Level.BAD,
) -> Finding:
    evidence = Evidence("median", 1.0, 0.5, since, since + 1)
    state = FindingState.FIRING if until is None else FindingState.RESOLVED
    return Finding(
        rule, rule, level, state, metric, metric, since, None, until, evidence, None, ""
    )  # fmt: skip


def diagnosed_of(findings: Sequence[Finding], tags: Tags | None = None) -> Diagnosed:
    """The diagnosis of a run of 60 rows whose tags are metric keys."""
    logged = {f.metric: [1.0, 1.1] * 30 for f in findings if f.metric} | dict(tags or {})
    run = a_run(logged)
    infos = {t: TagInfo.of_metric(t, METRICS[t]) for t in run.tags}
    return diagnose(findings, Facts(run, infos, tuple(infos), {}))


def stories(diagnosed: Diagnosed) -> list[list[str]]:
    return [[d.symptom.id for d in s] for s in diagnosed.stories()]


def test_an_effect_is_folded_below_its_cause() -> None:
    found = [
        finding("reward_drop", 33, "reward.mean"),
        finding("entropy_collapse", 31),
        finding("kl_blowup", 30, "kl.old_new"),
    ]
    diagnosed = diagnosed_of(found)
    assert stories(diagnosed) == [["kl_spike", "entropy_collapse", "reward_crash"]]
    assert [f.rule for f in story_order(found, diagnosed)] == [
        "kl_blowup", "entropy_collapse", "reward_drop",
    ]  # fmt: skip


def test_a_rule_without_a_symptom_stands_among_those_of_its_level() -> None:
    found = [
        finding("throughput_drop", 30, "time.step", level=Level.WATCH),
        finding("my_rule", 31),
        finding("my_note", 2, level=Level.WATCH),
        finding("entropy_collapse", 32),
        finding("my_old_rule", 1, until=3),
    ]
    assert [f.rule for f in story_order(found, diagnosed_of(found))] == [
        "entropy_collapse", "my_rule", "throughput_drop", "my_note", "my_old_rule",
    ]  # fmt: skip


def test_a_reward_that_never_moved_comes_before_what_the_update_shows() -> None:
    flat = finding("reward_flat_no_learning", 1, "reward.mean")
    clipped = finding("clipfrac_high", 1, "clipfrac.policy")
    assert stories(diagnosed_of([clipped, flat])) == [["clip_fraction_high", "not_learning"]]
    found = [clipped, flat._replace(title="reward never moved")]
    assert stories(diagnosed_of(found)) == [["reward_never_moved", "clip_fraction_high"]]


def test_titles_of_signs_are_titles_of_their_rules() -> None:
    titles = {r.id: {r.title} | {v.title for v in r.variants} for r in load_rules()}
    named = [s for known in symptoms().values() for s in known.found if s.title is not None]
    assert named
    assert all(s.title in titles[s.rule] for s in named)


def test_a_cause_that_is_over_still_explains_what_began_then() -> None:
    found = [finding("entropy_collapse", 31), finding("kl_blowup", 30, "kl.old_new", until=33)]
    diagnosed = diagnosed_of(found)
    assert stories(diagnosed) == [["kl_spike", "entropy_collapse"]]
    assert diagnosed.diagnoses[0].level is Level.BAD
    assert [f.rule for f in story_order(found, diagnosed)] == ["entropy_collapse", "kl_blowup"]


def test_what_began_long_before_or_after_is_a_story_of_its_own() -> None:
    early = finding("entropy_collapse", 5)
    over = finding("kl_blowup", 20, "kl.old_new", until=22)
    late = finding("reward_drop", 50, "reward.mean")
    assert stories(diagnosed_of([early, over])) == [["entropy_collapse"], ["kl_spike"]]
    assert stories(diagnosed_of([over, late])) == [["reward_crash"], ["kl_spike"]]


def test_bad_stories_come_before_those_to_watch() -> None:
    found = [
        finding("kl_blowup", 50, "kl.old_new", level=Level.WATCH),
        finding("throughput_drop", 10, "time.step"),
    ]
    assert stories(diagnosed_of(found)) == [["slow"], ["kl_spike"]]


def test_of_equally_bad_stories_the_one_that_does_most_harm_comes_first() -> None:
    found = [
        finding("truncation_high", 50, "response_length.clip_ratio"),
        finding("throughput_drop", 30, "time.step"),
        finding("critic_failing", 20, "explained_variance"),
        finding("eval_stall", 40, "val.accuracy"),
        finding("nan", 55, "loss.policy"),
    ]
    assert stories(diagnosed_of(found)) == [
        ["not_finite"], ["eval_stalls"], ["critic_failing"], ["slow"], ["truncation"],
    ]  # fmt: skip


def test_within_a_story_the_bad_comes_before_the_watch_that_began_it() -> None:
    follows = finding("length_hacking", 20, "reward.mean", level=Level.WATCH)
    cut = finding("truncation_high", 40, "response_length.clip_ratio")
    over = finding("truncation_high", 4, "response_length.clip_ratio", until=9)
    diagnosed = diagnosed_of([follows, cut, over])
    assert stories(diagnosed) == [["length_bias", "truncation"]]
    assert story_order([over, follows, cut], diagnosed) == [cut, follows, over]
    assert diagnosed.leading is not None
    assert diagnosed.leading.symptom.id == "truncation"


def test_rules_and_symptoms_mean_the_same_harm() -> None:
    exhausted = {r.id for r in load_rules() if r.harm is Harm.EXHAUSTED}
    shown = {s.rule for x in symptoms().values() if x.harm is Harm.EXHAUSTED for s in x.found}
    assert exhausted == shown != set()


def test_the_harm_of_a_story_is_that_of_its_worst_effect_that_goes_on() -> None:
    far = finding("kl_blowup", 20, "kl.policy_ref")
    critic = finding("critic_failing", 4, "explained_variance")
    fell = finding("eval_stall", 30, "val.accuracy", level=Level.WATCH)
    effect = ["kl_reference_high", "eval_stalls"]
    assert stories(diagnosed_of([critic, far, fell])) == [effect, ["critic_failing"]]
    over = finding("eval_stall", 30, "val.accuracy", until=40)
    assert stories(diagnosed_of([critic, far, over])) == [["critic_failing"], effect]


def test_one_slowdown_is_one_story_with_one_onset() -> None:
    stage, step = ("timing_bottleneck", "time.gen"), ("throughput_drop", "time.step")
    for first, second in ((stage, step), (step, stage)):
        found = [finding(first[0], 30, first[1]), finding(second[0], 45, second[1])]
        (diagnosis,) = diagnosed_of(found).diagnoses
        assert (diagnosis.symptom.id, diagnosis.since_step) == ("slow", 30)


def test_a_reward_server_that_is_slow_has_nothing_to_do_with_truncation() -> None:
    found = [
        finding("truncation_high", 5, "response_length.clip_ratio"),
        finding("timing_bottleneck", 40, "time.reward"),
    ]
    assert stories(diagnosed_of(found)) == [["slow"], ["truncation"]]


def test_a_reward_that_rises_without_an_evaluation_is_not_blamed_on_the_updates() -> None:
    found = [
        finding("kl_blowup", 10, "kl.policy_ref"),
        finding("reward_hacking", 20, "val.accuracy"),
    ]
    hacking, far = diagnosed_of(found).stories()
    assert [hacking[0].symptom.id, far[0].symptom.id] == [
        "eval_stalls_reward_rises", "kl_reference_high",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("reward", "level", "own"),
    [
        ([0.1] * 10 + [1.0] * 50, Level.OK, True),
        ([0.1] * 10 + [1.0] * 50, Level.WATCH, False),
        ([0.1, 0.2] * 30, Level.OK, False),
    ],
    ids=["gained", "fallen since", "flat"],
)
def test_an_evaluation_that_falls_beside_a_reward_that_gained_is_a_story_of_its_own(
    reward: list[float], level: Level, own: bool
) -> None:
    found = [finding("kl_blowup", 10, "kl.old_new"), finding("eval_stall", 30, "val.accuracy")]
    logged = {"reward.mean": reward, "kl.old_new": [0.1] * 60, "val.accuracy": [0.3] * 60}
    run = a_run(logged)
    infos = {t: TagInfo.of_metric(t, METRICS[t]) for t in run.tags}
    facts = Facts(run, infos, (), {"reward.mean": Judgement(level)})
    told = [["eval_stalls_reward_rises"], ["kl_spike"]] if own else [["kl_spike", "eval_stalls"]]
    assert stories(diagnose(found, facts)) == told


@pytest.mark.parametrize(("since", "count"), [(1, 1), (3, 1), (30, 2)])
def test_what_is_about_the_whole_run_began_with_it(since: int, count: int) -> None:
    whole = finding("reward_flat_no_learning", 1, "reward.mean")._replace(
        since_step=None, title="reward never moved"
    )
    still = finding("kl_blowup", since, "kl.old_new")
    assert stories(diagnosed_of([whole])) == [["reward_never_moved"]]
    critic = finding("critic_failing", since, "explained_variance")
    flat = whole._replace(title="flat")
    assert len(stories(diagnosed_of([flat, critic]))) == count
    assert len(stories(diagnosed_of([whole, still]))) == 2
    spread = finding("zero_std_groups", since, "reward.std")
    assert stories(diagnosed_of([whole, spread])) == [["reward_never_moved", "no_spread"]]


def test_the_earlier_of_two_stories_that_can_cause_each_other_takes_in_the_other() -> None:
    cut = finding("truncation_high", 10, "response_length.clip_ratio")
    longer = finding("length_blowup", 30, "response_length.mean")
    assert stories(diagnosed_of([cut, longer])) == [["truncation", "length_grows"]]
    assert stories(diagnosed_of([longer, cut._replace(since_step=40)])) == [
        ["length_grows", "truncation"]
    ]


def test_what_is_joined_to_a_symptom_shows_it_only_beside_what_does() -> None:
    loss = finding("eval_stall", 20, "val.loss")
    beside = diagnosed_of([finding("dpo_overfit", 30, "val.dpo.accuracy"), loss])
    assert stories(beside) == [["overfit_to_pairs"]]
    assert beside.diagnoses[0].since_step == 20
    assert stories(diagnosed_of([loss])) == [["eval_loss_rises"]]


def test_three_symptoms_of_one_update_are_one_diagnosis() -> None:
    loss, gradient = ("loss_diverging", "loss.total"), ("grad_explosion", "grad_norm.actor")
    found = [finding(rule, 30, metric) for rule, metric in (loss, gradient)]
    assert stories(diagnosed_of(found)) == [["update_blew_up"]]
    apart = [finding(*loss[:1], 5, loss[1]), finding(gradient[0], 50, gradient[1])]
    assert stories(diagnosed_of(apart)) == [["loss_diverges"], ["gradient_explosion"]]


def test_a_learning_rate_that_jumps_is_the_cause_of_all_that_follows() -> None:
    rate, kl = [1e-3] * 29 + [1e6] * 31, [0.01, 0.011] * 14 + [0.01] + [5.0] * 31
    found = [finding("kl_blowup", 30, "kl.old_new"), finding("truncation_high", 3, "entropy.max")]
    diagnosed = diagnosed_of(found, {"lr.actor": rate, "kl.old_new": kl})
    assert stories(diagnosed) == [[SETTING_CHANGED, "kl_spike"], ["truncation"]]
    setting, effect = diagnosed.moves
    assert (setting.tag, setting.step, setting.is_setting) == ("lr.actor", 30, True)
    assert setting.factor == pytest.approx(1e9)
    assert (effect.tag, effect.is_setting) == ("kl.old_new", False)
    assert diagnosed.cause == setting
    assert diagnosed.diagnoses[0].level is Level.BAD


@pytest.mark.parametrize(
    "rate",
    [[i * 1e-5 for i in range(1, 61)], [1e-3] * 29 + [1e-5] * 31, [1e-3] * 60],
    ids=["warm-up", "decay", "constant"],
)
def test_a_usual_schedule_is_no_cause(rate: list[float]) -> None:
    found = [finding("kl_blowup", 30, "kl.old_new")]
    assert diagnosed_of(found, {"lr.actor": rate}).cause is None


def test_a_setting_that_follows_the_symptom_is_no_cause() -> None:
    found = [finding("kl_blowup", 30, "kl.old_new")]
    coefficient = [0.1] * 35 + [0.4] * 25
    assert diagnosed_of(found, {"kl.coef": coefficient}).cause is None


def test_a_factor_says_nothing_across_zero() -> None:
    found = [finding("kl_blowup", 30, "kl.old_new")]
    values = [-0.01, -0.011] * 14 + [-0.01] + [5.0] * 31
    (move,) = diagnosed_of(found, {"kl.old_new": values}).moves
    assert (move.before, move.after, move.factor) == (-0.01, 5.0, None)


def test_an_improvement_did_not_move_first() -> None:
    found = [finding("entropy_collapse", 30)]
    reward = [0.1, 0.11] * 14 + [0.1] + [0.9] * 31
    (move,) = diagnosed_of(found, {"reward.mean": reward}).moves
    assert move.tag == "entropy"


def test_what_drifts_moved_although_it_never_left_its_level_by_far() -> None:
    entropy = [1.0] * 20 + [1.0 - 0.02 * n for n in range(1, 41)]
    (move,) = diagnosed_of([finding("entropy_collapse", 25)], {"entropy": entropy}).moves
    assert (move.tag, move.step) == ("entropy", 25)
    assert (move.before, move.after) == pytest.approx((0.92, 0.2))
    constant = diagnosed_of([finding("entropy_collapse", 25)], {"entropy": [1.0] * 60})
    assert constant.moves == ()


def test_what_moved_before_a_setting_stands_before_it() -> None:
    rate, kl = [1e-3] * 31 + [1.0] * 29, [0.01, 0.011] * 14 + [0.01] + [5.0] * 31
    found = [finding("kl_blowup", 30, "kl.old_new"), finding("entropy_collapse", 33)]
    late = [found[0]._replace(since_step=34), found[1]]
    moves = diagnosed_of(late, {"lr.actor": rate, "kl.old_new": kl}).moves
    assert [(m.tag, m.step) for m in moves][:2] == [("kl.old_new", 30), ("lr.actor", 32)]
    diagnosed = diagnosed_of(late, {"lr.actor": rate, "kl.old_new": kl})
    assert diagnosed.cause is not None
    assert diagnosed.cause.tag == "lr.actor"


def test_a_move_to_what_is_no_number_has_no_factor() -> None:
    found = [finding("nan", 30, "loss.policy")]
    (move,) = diagnosed_of(found, {"loss.policy": [0.5] * 29 + [float("nan")] * 31}).moves
    assert (move.step, move.before, move.factor) == (30, 0.5, None)


def test_without_findings_there_is_no_diagnosis() -> None:
    assert diagnosed_of([]) == Diagnosed()
    broken = finding("entropy_collapse", 3, level=Level.UNKNOWN)._replace(error="it broke")
    assert diagnosed_of([broken]).diagnoses == ()


def test_every_rule_shows_a_symptom_and_every_key_is_known() -> None:
    shown = {sign.rule for s in symptoms().values() for sign in s.found if sign.rule}
    assert shown - EXPECTED <= RULES
    assert shown >= RULES - {"stalled", "not_continued"}, "these are told by themselves"
    for symptom in symptoms().values():
        keys = [k for c in symptom.checks for k in c.metrics] + list(symptom.logged)
        for key in keys + [m for sign in symptom.found for m in sign.metrics]:
            assert any(fnmatchcase(known, key) for known in METRICS), (symptom.id, key)


def test_causes_stand_before_what_they_explain() -> None:
    known = symptoms()
    for symptom in known.values():
        for name in set(symptom.explains) - {"*"}:
            assert known[name].order > symptom.order, (symptom.id, name)
        for name in symptom.begins:
            assert known[name].order < symptom.order, (symptom.id, name)
        assert any(c.first for c in symptom.checks)
        assert all((symptom.causes, symptom.advice, symptom.source))


@pytest.mark.parametrize(
    ("symptom", "first", "then"),
    [
        ("reward_crash", "entropy", "clipfrac.policy"),
        ("kl_spike", "kl.old_new", "lr.actor"),
        ("eval_stalls", "response_length.mean", "abort_ratio"),
        ("slow", "time.gen", "balance.max_min"),
        ("out_of_memory", "balance.max", "response_length.max"),
        ("update_blew_up", "lr.actor", "grad_norm.actor"),
        ("policy_ratio_high", "clipfrac.policy", "lr.actor"),
        ("length_collapse", "reward.mean", "entropy"),
        ("rm_accurate_ppo_flat", "rm.accuracy", "rm.reward.mean"),
        ("value_loss_explodes", "explained_variance", "return.mean"),
    ],
)
def test_the_order_of_reading_of_the_field(symptom: str, first: str, then: str) -> None:
    checks = symptoms()[symptom].checks
    assert any(first in c.metrics for c in checks if c.first)
    assert any(then in c.metrics for c in checks if not c.first)


def test_what_is_over_explains_nothing_that_began_before_it() -> None:
    over = finding("grad_explosion", 10, "grad_norm.actor", until=15)
    far, short = finding("kl_blowup", 4, "kl.policy_ref"), finding("length_collapse", 12)
    diagnosed = diagnosed_of([over, far, short])
    assert stories(diagnosed) == [["kl_reference_high", "length_collapse"], ["gradient_explosion"]]
    assert diagnosed.leading is not None
    assert diagnosed.leading.symptom.id == "kl_reference_high"


def test_a_cause_begins_no_later_than_its_effect() -> None:
    late, early = finding("kl_blowup", 30, "kl.old_new"), finding("entropy_collapse", 24)
    assert [len(s) for s in stories(diagnosed_of([late, early]))] == [1, 1]
    noticed = finding("entropy_collapse", 28)
    assert [len(s) for s in stories(diagnosed_of([late, noticed]))] == [2]


@pytest.mark.parametrize(
    ("level", "state", "leads"),
    [
        (Level.BAD, FindingState.RESOLVED, "kl_spike"),
        (Level.WATCH, FindingState.RESOLVED, "entropy_collapse"),
    ],
)
def test_a_cause_that_is_over_leads_unless_it_was_milder(
    level: Level, state: FindingState, leads: str
) -> None:
    over = finding("kl_blowup", 30, "kl.old_new", until=33, level=level)._replace(state=state)
    diagnosed = diagnosed_of([finding("entropy_collapse", 31), over])
    assert stories(diagnosed) == [["kl_spike", "entropy_collapse"]]
    assert diagnosed.leading is not None
    assert diagnosed.leading.symptom.id == leads


@pytest.mark.parametrize(
    ("since", "level", "head"),
    [
        (29, Level.BAD, "length_collapse"),
        (30, Level.BAD, "kl_reference_high"),
        (29, Level.WATCH, "kl_reference_high"),
    ],
)
def test_a_story_begins_with_the_earlier_of_two_that_can_cause_each_other(
    since: int, level: Level, head: str
) -> None:
    found = [
        finding("kl_blowup", 30, "kl.policy_ref"),
        finding("reward_drop", 32, "reward.mean"),
        finding("length_collapse", since, "response_length.mean", level=level),
    ]
    story = diagnosed_of(found).diagnoses
    assert story[0].symptom.id == head
    assert [d.explained_by for d in story] == [None, head, head]


def test_updates_that_change_nothing_come_before_a_critic_that_does_not_learn() -> None:
    critic = finding("critic_failing", 31, "explained_variance")
    still = finding("reward_flat_no_learning", 30, "kl.old_new")
    assert stories(diagnosed_of([critic, still])) == [["no_update", "critic_failing"]]
    flat = finding("reward_flat_no_learning", 30, "reward.mean")
    assert stories(diagnosed_of([critic, flat])) == [["critic_failing", "not_learning"]]


@pytest.mark.parametrize(("rate", "word"), [(1e-9, "Raise"), (0.5, "Lower"), (1e-4, "")])
def test_a_setting_far_from_usual_brings_its_own_advice(rate: float, word: str) -> None:
    found = [
        finding("reward_flat_no_learning", 20, "kl.old_new"),
        finding("kl_blowup", 20, "kl.old_new"),
    ]
    own = found[:1] if rate < 1e-4 else found[1:]
    diagnosed = diagnosed_of(own, {"lr.actor": [rate] * 60})
    assert bool(diagnosed.suspects) is bool(word)
    for suspect in diagnosed.suspects:
        assert suspect.advice.startswith(f"{word} the learning rate")


def test_a_setting_that_went_back_was_the_cause() -> None:
    rate = [1e-3] * 29 + [1e6] * 10 + [1e-3] * 21
    diagnosed = diagnosed_of([finding("kl_blowup", 30, "kl.old_new")], {"lr.actor": rate})
    setting = diagnosed.diagnoses[0]
    assert (setting.symptom.id, setting.until_step) == (SETTING_CHANGED, 39)
    assert diagnosed.leading is not None
    assert diagnosed.leading.symptom.id == "kl_spike"


#: The sections of the Training Metrics Glossary, by what they are about; 12 lists symptoms.
_SECTIONS = (
    *("", "validation", "actor", "critic", "length", "preference", "reward_model", "turns"),
    *("balance", "timing", "perf"),
)


def test_a_cited_section_of_the_glossary_is_about_what_is_checked() -> None:
    variants = [(r.id, v) for r in load_rules() for v in r.variants]
    for symptom in symptoms().values():
        glossary = re.sub(r"Telemetry, sections? \d+( and \d+)?", "", symptom.source)
        found = re.findall(r"sections? (\d+)(?:\.\d)?(?: and (\d+))?", glossary)
        numbers = {int(n) for pair in found for n in pair if n}
        patterns = [m for c in symptom.checks for m in c.metrics]
        shown_by = {sign.rule for sign in symptom.found}
        patterns += [m for rule, v in variants if rule in shown_by for m in v.metrics]
        checked = {
            METRICS[key].category.value for key in METRICS for p in patterns if fnmatchcase(key, p)
        }
        checked |= {m.also.value for m in METRICS.values() if m.also and m.key in patterns}
        assert {_SECTIONS[n] for n in numbers - {12}} <= checked, symptom.id


# -- what moved first around a symptom -----------------------------------------------------


def test_metrics_are_ranked_by_when_they_left_their_usual_level() -> None:
    flat = [1.0, 1.1] * 20
    run = a_run({
        "late": [*flat, 1.0, 1.1, 50.0, 60.0, 60.0],
        "first": [*flat, 9.0, 9.0, 9.0, 9.0, 9.0],
        "quiet": [*flat, 1.0, 1.1, 1.0, 1.1, 1.0],
    })  # fmt: skip
    moves = moved_first((run.series(t) for t in run.tags), 41)
    assert [(m.tag, m.step) for m in moves] == [("first", 41), ("late", 43)]
    assert (moves[0].before, moves[0].after) == (1.1, 9.0)


def test_what_a_schedule_sets_comes_first_at_the_same_step() -> None:
    run = a_run({"kl": [0.01] * 30 + [9.0], "lr": [1e-3] * 30 + [2e-3]})
    series = [run.series("kl"), run.series("lr")]
    assert [m.tag for m in moved_first(series, 31)] == ["kl", "lr"]
    (move,) = settings_changed([run.series("lr")], 31)
    assert (move.tag, move.step, move.factor, move.is_setting) == ("lr", 31, 2.0, True)


def test_a_setting_that_returns_to_a_usual_value_did_not_jump() -> None:
    wobble = [6e-4, 1.3e-3, 1.3e-3, 6e-4] * 15
    run = a_run({"lr": [*wobble, 1.3e-3, 1.3e-3]})
    assert settings_changed([run.series("lr")], 61) == []
    run = a_run({"lr": [*wobble, 2.7e-3, 2.7e-3]})
    assert [(m.step, m.after) for m in settings_changed([run.series("lr")], 61)] == [(61, 2.7e-3)]


def test_a_metric_without_a_past_says_nothing() -> None:
    run = a_run({"new": [1.0, 50.0, 60.0]})
    assert moved_first([run.series("new")], 2) == []


def test_nan_is_no_move() -> None:
    run = a_run({"a": [1.0] * 30 + [float("nan")] * 5})
    assert moved_first([run.series("a")], 31) == []
