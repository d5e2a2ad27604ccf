"""The shipped rules: their own cases, their reasons, the width of their words."""

import re
from collections import Counter

import pytest

from rltui.catalogue import load_catalogue
from rltui.core.level import Level
from rltui.core.text import cell_width
from rltui.facts import sentences
from rltui.health.cases import case_run, parse_series, run_cases
from rltui.health.engine import Engine
from rltui.health.rule import Rule
from rltui.health.rules import load_rules
from tests.tables import cases

RULES = load_rules()
VARIANTS = [(r, v) for r in RULES for v in r.variants]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_cases(rule: Rule) -> None:
    results = run_cases([rule])
    wrong = [f"{r.path}:{r.line}: {r.message}" for r in results if r.message]
    assert not wrong, "\n".join(wrong)
    for finding in (finding for result in results for finding in result.findings):
        summary, short = sentences.summary(finding), sentences.short(finding)
        assert "\n" not in summary
        assert "–" not in summary, f"a field without a value: {summary}"
        assert cell_width(short) <= 45, short
        assert finding.fires or not re.search(r"\bnow\b", summary), summary


def test_each_rule_has_a_firing_a_quiet_and_a_nearly_firing_case() -> None:
    for rule in RULES:
        seen = Counter(case.expect for case in rule.read_cases())
        assert seen[Level.BAD] + seen[Level.WATCH] >= 1, rule.id
        assert seen[Level.OK] >= 2, rule.id


def test_each_threshold_says_where_it_comes_from() -> None:
    without = {
        (variant.id, name)
        for _, variant in VARIANTS
        for parameters in variant.levels.values()
        for name, value in parameters.items()
        if not isinstance(value, bool)  # a choice of kind, no threshold
        and not {"", name} & set(variant.sources)
    }
    assert without == set()


def test_healthy_column_fits() -> None:
    for case in (case for rule in RULES for case in rule.read_cases()):
        series = {k: parse_series(t) for k, t in case.series.items()}
        report = Engine(RULES).evaluate(*case_run(series), 0.0)
        for judgement in report.tags.values():
            short = sentences.healthy_short(judgement)
            assert cell_width(short) <= 12, (case, short)


def test_all_metrics_are_in_the_catalogue() -> None:
    load_rules(metrics=load_catalogue().metrics)


def test_rules_cover_what_other_programs_rely_on() -> None:
    assert {
        "nan", "kl_blowup", "entropy_collapse", "clipfrac_high", "ratio_off", "grad_explosion",
        "critic_failing", "truncation_high",
    } <= {r.id for r in RULES}  # fmt: skip


@cases(__file__, "scale_and_shift_of_a_reward_change_nothing")
@pytest.mark.parametrize(("scale", "shift"), [(100.0, 0.0), (0.01, 0.0), (1.0, -50.0), (7.0, 30.0)])
def test_scale_and_shift_of_a_reward_change_nothing(
    key: str, text: str, scale: float, shift: float
) -> None:
    text = text.replace("20..200~30x100", "20..200x50 150~30x50")
    values = parse_series(text)
    rules = [r for r in RULES if r.id == "reward_flat_no_learning"]
    plain = Engine(rules).evaluate(*case_run({key: values}), 0.0)
    other = Engine(rules).evaluate(*case_run({key: values * scale + shift}), 0.0)
    as_seen = [(f.rule, f.title, f.level, f.state, f.since_step) for f in plain.findings]
    assert as_seen == [(f.rule, f.title, f.level, f.state, f.since_step) for f in other.findings]


def test_what_is_said_of_the_held_out_loss_is_one_fact() -> None:
    titles = {v.title for r, v in VARIANTS if r.id == "eval_stall" and "val.loss" in v.metrics}
    assert titles == {"eval loss rising"}
