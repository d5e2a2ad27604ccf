"""Harm before alarm: whether a run gets better decides how bad its technical signs are; and what
several rules found is said once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from rltui.catalogue import load_catalogue
from rltui.core.level import Level
from rltui.core.yaml_record import shipped_record
from rltui.health.cases import case_run, parse_series
from rltui.health.engine import Engine
from rltui.health.model import FindingState, Report
from rltui.health.rules import load_rules
from rltui.health.success import Measures
from rltui.health.symptoms import Harm
from tests.health.drawn import Logged, logged

RULES = load_rules()
HARM = {r.id: r.harm for r in RULES}
#: A failure of each kind, beside which the outcome decides.
BROKEN = {"kl.old_new": "0.01x60 2x60", "loss.policy": "1x100 nanx20", "time.step": "1x60 12x60",
          "grad_norm.actor": "1~0.1x60 900x60", "explained_variance": "-0.8~0.1x120"}  # fmt: skip
RISES, FALLS, FLAT = "0..9x120", "0..9x60 9..1x60", "5~1x120"


def parsed(series: Logged | dict[str, str]) -> Logged:
    return {k: parse_series(v) if isinstance(v, str) else v for k, v in series.items()}


def judge(series: Logged | dict[str, str], *rules: str, harm: Harm | None = None) -> Report:
    """``harm``: what all rules are taken for."""
    chosen = [r for r in RULES if not rules or r.id in rules]
    chosen = [r if harm is None else replace(r, harm=harm) for r in chosen]
    return Engine(chosen).evaluate(*case_run(parsed(series)), 0.0)


def levels(outcome: dict[str, str], rule: str) -> tuple[Level, Level | None, Level]:
    """Now, at its worst, and of the tag."""
    report = judge({**BROKEN, **outcome})
    (finding,) = [f for f in report.findings if f.rule == rule]
    assert finding.state is FindingState.FIRING
    return finding.level, finding.evidence.worst, report.tags[finding.tag or ""].level


GETS_BETTER = [{"reward.mean": RISES}, {"episode_return.mean": RISES}]
OTHERS = [{"reward.mean": x} for x in (FALLS, "9..0x120", FLAT, "0 9", "nanx120")]
OTHERS += [{"entropy": "3..2.5x120"}, {}]


@pytest.mark.parametrize("outcome", [*GETS_BETTER, *OTHERS])
def test_a_technical_sign_is_bad_unless_the_run_gets_better(outcome: dict[str, str]) -> None:
    level = Level.WATCH if outcome in GETS_BETTER else Level.BAD
    assert levels(outcome, "kl_blowup") == (level, level, level)


@pytest.mark.parametrize("rule", ["nan", "throughput_drop", "grad_explosion"])
@pytest.mark.parametrize("outcome", [RISES, FALLS])
def test_what_is_fatal_a_defect_or_costs_time_stays(rule: str, outcome: str) -> None:
    assert levels({"reward.mean": outcome}, rule) == (Level.BAD, Level.BAD, Level.BAD)


@pytest.mark.parametrize("key", ["reward.mean", "success_rate", "episode_return.mean"])
def test_a_hindrance_stays_until_the_task_is_solved(key: str) -> None:
    level = Level.BAD if key == "reward.mean" else Level.WATCH
    assert levels({key: "0.1..1x60 1x60"}, "critic_failing") == (level, level, level)


@pytest.mark.parametrize(
    ("score", "reward", "level"),
    [(RISES, FLAT, Level.WATCH), (FLAT, RISES, Level.BAD), ("1 2 3", RISES, Level.WATCH)],
    ids=["the better one rises", "it does not", "it says nothing yet"],
)  # fmt: skip
def test_the_best_measure_that_knows_decides(score: str, reward: str, level: Level) -> None:
    series = {**BROKEN, "val.score": score, "reward.mean": reward}
    assert judge(series, "kl_blowup").level is level


def test_a_finding_about_success_outweighs_a_rise() -> None:
    series = {**BROKEN, "reward.mean": RISES, "entropy": "3x60 0.1x60"}
    rules = [r for r in RULES if r.id in ("kl_blowup", "entropy_collapse")]
    for kind, level in ((Harm.SIGN, Level.WATCH), (Harm.OUTCOME, Level.BAD)):
        taken = [r if r.id == "kl_blowup" else replace(r, harm=kind) for r in rules]
        found = Engine(taken).evaluate(*case_run(parsed(series)), 0.0).firing()
        assert {f.rule: f.level for f in found}["kl_blowup"] is level


def test_a_score_that_is_no_number_is_nothing_beside_one_that_is() -> None:
    series = {"~judge_score": "nanx40", "loss.policy": "0.1x40"}
    assert [f.rule for f in judge(series).firing()] == ["no_outcome"]
    assert not judge({**series, "reward.mean": RISES}).firing()
    held_out = {"reward.mean": "nanx60", "val.accuracy": "0.3~0.02x60"}
    assert judge(held_out, "no_outcome").level is Level.BAD, "a validation is no reward"


HACKED = {
    "reward.mean": "0.2..0.85x150",
    "response_length.mean": "300..1300x150",
    "kl.policy_ref": "0..7x150",
}


@pytest.mark.parametrize(("score", "level"), [("0.2..0.7x150", Level.WATCH), ("", Level.BAD)])
def test_a_reward_that_follows_the_length_proves_nothing(score: str, level: Level) -> None:
    series = {**HACKED, "val.accuracy": score} if score else HACKED
    found = judge(series, "length_hacking", "kl_blowup").firing()
    assert {f.rule: f.level for f in found}["kl_blowup"] is level


@pytest.mark.parametrize("rows", [("0.2x40", "0.01~1e-5x16"), ("0.6x40", "0.01873x16")])
def test_a_lack_of_gain_is_bad_sooner_where_a_sign_tells_why(rows: tuple[str, str]) -> None:
    for key, course in zip(("reward.zero_std_frac", "kl.policy_ref"), rows, strict=True):
        found = judge({"reward.mean": "0.5~0.2x40", key: course}).firing()
        level = Level.BAD if "6" in rows[0] else Level.WATCH
        assert {f.rule: f.level for f in found}["reward_flat_no_learning"] is level


def test_an_episode_that_is_over_was_no_worse_either() -> None:
    report = judge({"kl.old_new": "0.01x40 2x20 0.01x60", "reward.mean": RISES}, "kl_blowup")
    assert {(f.level, f.evidence.worst) for f in report.findings} == {(Level.WATCH, Level.WATCH)}
    assert {f.evidence.threshold for f in report.findings} == {0.1}, "that of its level"


@given(values=logged())
def test_only_levels_change(values: Logged) -> None:
    """Rules that are all taken for costs are not weighed: beside them, what changed is told."""
    rising = {**values, "reward.mean": np.linspace(0.0, 9.0, 120)}
    plain, mild = (judge(rising, harm=h) for h in (Harm.COST, None))
    same = {(f.rule, f.title, f.tag, f.since_step, f.state): f for f in plain.findings}
    for finding in mild.findings:
        place = finding.rule, finding.title, finding.tag, finding.since_step, finding.state
        known = same.get(place)
        if known is not None and finding.level is not known.level:
            levels = known.level, finding.level
            if HARM[finding.rule] is Harm.OUTCOME:
                assert levels == (Level.WATCH, Level.BAD)
            else:
                assert levels == (Level.BAD, Level.WATCH)
                assert HARM[finding.rule] in {Harm.SIGN, Harm.EXHAUSTED, Harm.HACK}


def test_the_measures_of_success_are_metrics_of_the_catalogue() -> None:
    course = shipped_record(Measures, "health", "data", "course.yaml")
    assert set(course.measures) <= set(load_catalogue().metrics)
    assert len(set(course.measures)) == len(course.measures)


# -- what several rules found is said once --------------------------------------------------


CUT = {
    "response_length.mean": "1000x15 1000..5000x60",
    "response_length.clip_ratio": "0.01x15 0..0.4x60",
}


def judge_yielding(series: dict[str, str]) -> Report:
    """By two rules, of which one says the same less exactly."""
    cut, grows = (next(r for r in RULES if r.id == x) for x in ("truncation_high", "length_blowup"))
    rules = [cut, replace(grows, yields_to=(cut.id,))]
    return Engine(rules).evaluate(*case_run(parsed(series)), 0.0)


def test_a_rule_yields_to_one_that_says_the_same_more_exactly() -> None:
    alone = judge(CUT, "length_blowup")
    both = judge_yielding(CUT)
    assert {f.rule for f in alone.findings} == {"length_blowup"}
    assert {f.rule for f in both.findings} == {"truncation_high"}
    assert set(both.judged) == {"length_blowup", "truncation_high"}
    assert both.tags["response_length.mean"] == alone.tags["response_length.mean"]


def test_a_rule_does_not_yield_to_one_that_found_nothing() -> None:
    found = judge_yielding({**CUT, "response_length.clip_ratio": "0..0.15x75"}).findings
    assert [f.rule for f in found] == ["length_blowup"]


def test_what_lasts_does_not_yield_to_what_is_over() -> None:
    found = judge_yielding({**CUT, "response_length.clip_ratio": "0x15 0.4x12 0.06x48"}).findings
    states = {f.rule: f.state for f in found}
    assert states["truncation_high"] is FindingState.RESOLVED
    assert states["length_blowup"] is FindingState.FIRING


def test_rules_yield_to_rules_that_there_are_and_not_in_a_circle() -> None:
    yields = {r.id: set(r.yields_to) for r in RULES if r.yields_to}
    assert yields
    for rule, others in yields.items():
        assert others <= HARM.keys() - {rule}
        assert all(rule not in yields.get(other, ()) for other in others)
