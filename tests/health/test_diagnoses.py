"""Stories: findings below what explains them, and the setting that began them."""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

import pytest

from rltui.catalogue import load_catalogue
from rltui.catalogue.model import TagInfo
from rltui.core.level import Level
from rltui.health.cases import parse_series
from rltui.health.diagnoses import Facts, diagnose, story_order
from rltui.health.first_movers import moved_first, settings_changed
from rltui.health.model import Diagnosed, Evidence, Finding, FindingState, Judgement
from rltui.health.rules import load_rules
from rltui.health.symptoms import SETTING_CHANGED, Harm, symptoms
from tests.builders import Tags, a_run
from tests.tables import cases

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


def found_by(text: str) -> Finding:
    """The finding of one entry of diagnoses.yaml."""
    said, _, title = text.partition(" = ")
    rule, metric, steps, *level = said.split()
    since, _, until = steps.partition("-")
    made = finding(rule, int(since) if since != "all" else 1, metric)
    if since == "all":
        made = made._replace(since_step=None)
    if until:
        made = made._replace(until_step=int(until), state=FindingState.RESOLVED)
    level = Level.WATCH if level else Level.BAD
    return made._replace(title=title or rule, level=level)


@cases(__file__, "what_is_told", "case", ids=lambda case: case["name"])
def test_what_is_told_of_findings(case: dict[str, Any]) -> None:
    found = [found_by(text) for text in case["findings"]]
    diagnosed = diagnosed_of(found, {key: [*range(60)] for key in case.get("rises", ())})
    assert stories(diagnosed) == case.get("stories", stories(diagnosed))
    if "order" in case:
        read = [(f.rule, f.until_step) for f in story_order(found, diagnosed)]
        assert [rule + " over" * bool(until) for rule, until in read] == case["order"]
    if "leading" in case:
        assert diagnosed.leading.symptom.id == case["leading"]
    assert case.get("advice", "") in diagnosed.leading.symptom.advice
    assert case.get("symptom", "") in diagnosed.leading.symptom.title
    if "since" in case:
        assert diagnosed.diagnoses[0].since_step == case["since"]
    assert diagnosed.diagnoses[0].level is Level.BAD
    for story in diagnosed.stories():
        assert [d.explained_by for d in story] == [None] + [story[0].symptom.id] * len(story[1:])


def test_titles_of_signs_are_titles_of_their_rules() -> None:
    titles = {r.id: {r.title} | {v.title for v in r.variants} for r in load_rules()}
    named = [s for known in symptoms().values() for s in known.found if s.title is not None]
    assert named
    assert all(s.title in titles[s.rule] for s in named)


def test_rules_and_symptoms_mean_the_same_harm() -> None:
    exhausted = {r.id for r in load_rules() if r.harm is Harm.EXHAUSTED}
    shown = {s.rule for x in symptoms().values() if x.harm is Harm.EXHAUSTED for s in x.found}
    assert exhausted == shown != set()


def test_a_reward_that_fell_since_has_gained_nothing() -> None:
    found = [finding("kl_blowup", 10, "kl.old_new"), finding("eval_stall", 30, "val.accuracy")]
    logged = {"kl.old_new": [0.1] * 60, "val.accuracy": [0.3] * 60}
    run = a_run(logged | {"reward.mean": [0.1] * 10 + [1.0] * 50})
    infos = {t: TagInfo.of_metric(t, METRICS[t]) for t in run.tags}
    own = [["eval_stalls_reward_rises"], ["kl_spike"]]
    for level, told in ((Level.OK, own), (Level.WATCH, [["kl_spike", "eval_stalls"]])):
        facts = Facts(run, infos, (), {"reward.mean": Judgement(level)})
        assert stories(diagnose(found, facts)) == told


def test_a_learning_rate_that_jumps_is_the_cause_of_all_that_follows() -> None:
    rate, kl = [1e-3] * 29 + [1e6] * 31, [0.01, 0.011] * 14 + [0.01, 0.3] + [5.0] * 30
    found = [finding("kl_blowup", 30, "kl.old_new"), finding("truncation_high", 3, "entropy.max")]
    diagnosed = diagnosed_of(found, {"lr.actor": rate, "kl.old_new": kl})
    assert stories(diagnosed) == [[SETTING_CHANGED, "kl_spike"], ["truncation"]]
    setting, effect = diagnosed.moves
    assert (setting.tag, setting.step, setting.is_setting) == ("lr.actor", 30, True)
    assert setting.factor == pytest.approx(1e9)
    assert (effect.tag, effect.after, effect.is_setting) == ("kl.old_new", 0.3, False)
    assert diagnosed.cause == setting
    assert diagnosed.diagnoses[0].level is Level.BAD


@cases(__file__, "schedules")
def test_a_usual_schedule_is_no_cause(key: str, values: str, is_cause: bool) -> None:
    found = [finding("kl_blowup", 30, "kl.old_new")]
    diagnosed = diagnosed_of(found, {key: parse_series(values).tolist()})
    assert (diagnosed.cause is not None) is is_cause


def test_a_factor_says_nothing_across_zero() -> None:
    found = [finding("kl_blowup", 30, "kl.old_new")]
    values = [-0.01, -0.011] * 14 + [-0.01] + [5.0] * 31
    (move,) = diagnosed_of(found, {"kl.old_new": values}).moves
    assert (move.before, move.after, move.factor) == (-0.01, 5.0, None)
    (move,) = diagnosed_of(found, {"kl.old_new": [-0.2] * 29 + [-7.0] * 31}).moves
    assert move.factor is None


def test_an_improvement_did_not_move_first() -> None:
    found = [finding("entropy_collapse", 30)]
    reward = [0.1, 0.11] * 14 + [0.1] + [0.9] * 31
    (move,) = diagnosed_of(found, {"reward.mean": reward}).moves
    assert move.tag == "entropy"


def test_what_drifts_moved_although_it_never_left_its_level_by_far() -> None:
    entropy = [1.0] * 20 + [1.0 - 0.02 * n for n in range(1, 41)]
    (move,) = diagnosed_of([finding("entropy_collapse", 25)], {"entropy": entropy}).moves
    assert (move.tag, move.step) == ("entropy", 25)
    assert (move.before, move.after) == pytest.approx((0.92, 0.9))
    sure = finding("entropy_collapse", 25)._replace(certain_step=45)
    (move,) = diagnosed_of([sure], {"entropy": entropy}).moves
    assert (move.step, move.until, move.after) == (25, 35, pytest.approx(0.7))
    constant = diagnosed_of([finding("entropy_collapse", 25)], {"entropy": [1.0] * 60})
    assert constant.moves == ()


def test_what_moved_before_a_setting_stands_before_it() -> None:
    rate, kl = [1e-3] * 31 + [1.0] * 29, [0.01, 0.011] * 14 + [0.01] + [5.0] * 31
    found = [finding("kl_blowup", 30, "kl.old_new"), finding("entropy_collapse", 33)]
    late = [found[0]._replace(since_step=34), found[1]]
    moves = diagnosed_of(late, {"lr.actor": rate, "kl.old_new": kl}).moves
    assert [(m.tag, m.step) for m in moves][:2] == [("kl.old_new", 30), ("lr.actor", 32)]
    diagnosed = diagnosed_of(late, {"lr.actor": rate, "kl.old_new": kl})
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


@cases(__file__, "the_order_of_reading_of_the_field")
def test_the_order_of_reading_of_the_field(symptom: str, first: str, then: str) -> None:
    checks = symptoms()[symptom].checks
    assert any(first in c.metrics for c in checks if c.first)
    assert any(then in c.metrics for c in checks if not c.first)


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
