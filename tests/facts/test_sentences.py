"""The numbers of one sentence belong together: they come from one row of the run."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rltui.core.block import FloatArray
from rltui.core.level import Level
from rltui.facts.sentences import (
    bounds,
    facts,
    limits,
    listed,
    run_text,
    short,
    summary,
    why_skipped,
)
from rltui.health.cases import case_run, parse_series
from rltui.health.engine import Engine
from rltui.health.model import Evidence, Finding, FindingState, Skipped, Words
from rltui.health.rule import Rule
from rltui.health.rules import load_rules
from tests.builders import a_batch
from tests.fakes import a_session
from tests.tables import cases

RULES = load_rules()

_EVIDENCE = Evidence("", None, None, 0, 0)
_FINDING = Finding(
    "rule", "title", Level.BAD, FindingState.FIRING, None, "actor/entropy", 1, None, None,
    _EVIDENCE, None, "",
)  # fmt: skip


def findings(rule: str, scenario: str = "llm-rl", **series: str) -> list[Finding]:
    """Findings of one rule; double underscore is a dot."""
    values = {key.replace("__", "."): parse_series(text) for key, text in series.items()}
    return findings_of(rule, values, scenario)


def findings_of(
    rule: str, values: dict[str, FloatArray], scenario: str = "llm-rl"
) -> list[Finding]:
    rules = [r for r in RULES if r.id == rule]
    return list(Engine(rules).evaluate(*case_run(values, scenario=scenario), 0.0).findings)


def number_of(finding: Finding, name: str) -> float:
    value = facts(finding.evidence)[name]
    assert isinstance(value, (int, float)), name
    return float(value)


@cases(__file__, "what_is_said", "case", ids=lambda case: case["name"])
def test_what_is_said_of_a_finding(case: dict[str, Any]) -> None:
    values = {key: parse_series(text) for key, text in case["series"].items()}
    found = findings_of(case["rule"], values)
    (finding,) = [f for f in found if f.title == case.get("title", f.title)]
    said, evidence = summary(finding), finding.evidence
    assert case["summary"] in said
    assert case.get("without", "no such words") not in said
    assert case.get("short", "") in short(finding)
    assert finding.state.value == case.get("state", finding.state.value)
    assert evidence.value == pytest.approx(case.get("value", evidence.value), nan_ok=True)
    assert evidence.step_last == case.get("step", evidence.step_last)
    if finding.until_step is not None:
        assert evidence.step_last <= finding.until_step


def test_the_level_of_a_limit_is_named_and_the_words_of_a_tag_are_kept() -> None:
    levels = {"watch": 1.0, "bad": 2.0, "tag": "time limit/floor"}
    words = Words("{tag} is 3; limit 2", "{tag}: floor 2", "", "")
    finding = _FINDING._replace(words=words, evidence=replace(_EVIDENCE, facts=levels))
    assert summary(finding) == "time limit/floor is 3; bad limit 2"
    assert short(finding) == "time limit/floor: bad below 2"


def findings_of_cases(rule: Rule) -> Iterator[Finding]:
    for case in rule.read_cases():
        series = {k: parse_series(t) for k, t in case.series.items()}
        made = case_run(series, scenario=case.scenario)
        yield from Engine([rule]).evaluate(*made, 0.0).findings


def test_value_and_threshold_of_every_case_are_of_one_row() -> None:
    for finding in (finding for rule in RULES for finding in findings_of_cases(rule)):
        assert finding.evidence.step_first <= finding.evidence.step_last
        if finding.until_step is not None:
            assert finding.evidence.step_last <= finding.until_step
        value, threshold = finding.evidence.value, finding.evidence.threshold
        if value is None or threshold is None:
            continue
        assert number_of(finding, "value") == value
        others = [finding.evidence.facts[k] for k in ("watch", "bad")]
        assert threshold in others
        assert np.isfinite(value)


def test_fields_are_filled_by_their_form() -> None:
    words = Words("{a} {a:%} {n:d} {tag} {none} {at}", "{n:d}", "", "")
    row: dict[str, Any] = {"tag": "x", "at": 16_384, "step": 1, "before": 0.0, "threshold": None}
    evidence = Evidence("", None, None, 0, 0, {"a": 0.12, "n": 3.0, "none": None}, row)
    found = _FINDING._replace(words=words, evidence=evidence)
    assert (summary(found), short(found)) == ("0.12 12 % 3 x – 16,384", "3")


def test_an_evaluation_below_its_start_is_not_milder_after_a_deeper_fall() -> None:
    fallen = "0.07..0.63x30 0.63..-0.1x10"
    for then in ("-0.1x10", "-0.1..-1.2x5 -0.6x20"):
        (found,) = findings("eval_stall", "classic-rl", val__reward__mean=f"{fallen} {then}")
        assert found.level is Level.BAD
        assert number_of(found, "lost") > 0.75


def test_other_tags_of_an_episode_are_named_or_counted() -> None:
    words = Words("entropy low", "low", "", "")
    same = "; the same for "
    for others, text in (((), ""), (("b",), same + "b"), (("b", "c"), same + "2 other tags")):
        found = _FINDING._replace(words=words, evidence=replace(_EVIDENCE, others=others))
        assert summary(found) == "entropy low" + text


def test_what_no_rule_found_has_a_sentence_too() -> None:
    facts: dict[str, float | int | str | None] = {"limit_s": 150.0, "interval_s": 30.0}
    evidence = replace(_EVIDENCE, value=3600.0, facts=facts)
    stalled = _FINDING._replace(rule="stalled", evidence=evidence)
    assert summary(stalled) == "no row for 1 h; rows usually come every 30 s"
    ended = replace(
        _EVIDENCE, value=None, facts={"reason": "CUDA out of memory", "line": "E {oom}"}
    )
    crashed = _FINDING._replace(rule="crashed", evidence=ended)
    assert summary(crashed) == short(crashed) == "CUDA out of memory: E {oom}"
    broken = _FINDING._replace(error="ValueError: no")
    assert summary(broken) == "this rule broke on actor/entropy: ValueError: no"


@pytest.mark.parametrize(
    ("skipped", "missing", "text"),
    [
        (Skipped("r", "R", ("entropy",)), "entropy", "no entropy"),
        (Skipped("r", "R", rows=150), "", "not applicable in 150 rows"),
        (Skipped("r", "R", rows=1), "", "not applicable in 1 row"),
        (Skipped("r", "R", broke=True), "", "the rule broke"),
    ],
    ids=["missing", "silent", "one", "broke"],
)
def test_why_a_rule_could_not_judge(skipped: Skipped, missing: str, text: str) -> None:
    assert why_skipped(skipped, missing) == text


@cases(__file__, "a_stall_says_how_often_rows_came")
def test_a_stall_says_how_often_rows_came(interval: float | None, words: str) -> None:
    known = replace(_EVIDENCE, value=60.0, facts={"limit_s": 60.0, "interval_s": interval})
    text = summary(_FINDING._replace(evidence=known))
    assert text.endswith(words)
    assert " 0 s" not in text


@cases(__file__, "both_limits_are_named_where_they_are_known")
def test_both_limits_are_named_where_they_are_known(
    metric: str, values: str, expected: str
) -> None:
    rule = {"kl.old_new": "kl_blowup", "entropy": "entropy_collapse"}.get(metric, "critic_failing")
    kind = "classic-rl" if rule == "critic_failing" else "llm-rl"
    run = case_run({metric: parse_series(values)}, scenario=kind)
    report = Engine([r for r in RULES if r.id == rule]).evaluate(*run, 0.0)
    assert limits(report.tags[metric]) == expected


def test_a_limit_has_the_comma_of_the_values_beside_it() -> None:
    assert (bounds(None, 1033.4), bounds(None, 10168.4)) == ("≤ 1,033", "≤ 10.2k")
    assert bounds(-2500.0, 0.5) == "-2.5k to 0.5"  # as -2500 stands there
    assert bounds(999.0, None) == "≥ 999"


def test_a_copied_path_holds_no_control_character() -> None:
    (run,) = a_session(a_batch({"loss": [1.0]}, run="x\x1b[5mblink\x9b0m")).runs()
    path = run_text(run).split("\t")[2]
    assert path.isprintable()
    assert path.endswith(r"x\x1b[5mblink\u009b0m")


def test_a_list_says_once_what_titles_share() -> None:
    assert listed(["KL", "value loss", "value loss, raw"]) == "KL, value loss (also raw)"
    assert listed(["clip frac., low", "clip frac., high"]) == "clip frac. (low, high)"
    assert listed(["a, max", "b", "b"]) == "a, max; b"
    told = ["GPU use 3 % (does it wait, for what?)", "GPU use 3 % (does it wait, or not?)"]
    assert listed(told) == "; ".join(told), "remarks are whole"


def test_a_value_before_is_finite() -> None:
    (found,) = findings("nan", loss__policy="0.5x10 nanx20")
    row = found.evidence.row | {"before": float("nan")}
    unknown = facts(replace(found.evidence, row=row))
    assert (unknown["was"], unknown["from"]) == ("", "")
