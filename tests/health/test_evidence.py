"""The numbers of a finding: beyond their limit, and those of the points that it names."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rltui.catalogue.guess import unknown_tag
from rltui.catalogue.model import Recognition
from rltui.core.block import FloatArray
from rltui.core.level import Level
from rltui.facts import numbers, sentences
from rltui.health.cases import case_run
from rltui.health.columns import MADE_OF
from rltui.health.engine import Engine
from rltui.health.model import Finding, FindingState, Report, Side
from rltui.health.rule import Variant
from rltui.health.rules import load_rules
from tests.health.drawn import READ, RULES, Logged, logged
from tests.tables import cases

#: Detectors whose statistic is wrong when it is low; that of all others when it is high.
LOW = {"always", "below_start", "never_fell", "never_rose", "parted"}
#: Detectors that look either way: the side of the limit tells.
EITHER = {"outside", "off_best"}
SCENARIOS = ["llm-rl", "classic-rl", "sft", "preference", "reward-model", "generic"]


def judged(values: Logged, scenario: str) -> list[Finding]:
    run, infos, recognition = case_run(values, scenario=scenario)
    return list(Engine(RULES).evaluate(run, infos, recognition, 0.0).findings)


def variant_of(finding: Finding) -> Variant:
    rule = next(r for r in RULES if r.id == finding.rule)
    return next(v for v in rule.variants if v.title == finding.title and finding.words is v.words)


def is_beyond(finding: Finding, value: float, threshold: float) -> bool:
    name = variant_of(finding).detector.name
    if name == "outside" and finding.evidence.side is Side.BOTH:
        return abs(value) >= abs(threshold)
    low = finding.evidence.side is Side.LOW if name in EITHER else name in LOW
    return value <= threshold if low else value >= threshold


@settings(max_examples=150)
@given(values=logged(), scenario=st.sampled_from(SCENARIOS))
def test_the_evidence_is_never_inside_its_own_limit(values: Logged, scenario: str) -> None:
    for finding in judged(values, scenario):
        value, threshold = finding.evidence.value, finding.evidence.threshold
        assert finding.error is None
        if value is not None and threshold is not None:
            what = f"{finding.rule} {finding.title}: {value} against {threshold}"
            assert is_beyond(finding, value, threshold), what


@settings(max_examples=150)
@given(values=logged(), scenario=st.sampled_from(SCENARIOS))
def test_the_numbers_are_those_of_the_points_that_are_named(values: Logged, scenario: str) -> None:
    for finding in judged(values, scenario):
        if variant_of(finding).roles.keys() & set(MADE_OF):
            continue  # made of the points of several tags
        x, row, evidence = values[finding.tag], finding.evidence.row, finding.evidence
        assert 1 <= row["since"] <= row["at"] <= row["until"] <= len(x)
        assert row["rows"] == row["until"] - row["since"] + 1
        assert evidence.step_first <= evidence.step_last == row["step"] <= row["until"]
        for name, step in (("first", "since"), ("peak", "at"), ("now", "step"), ("after", "step")):
            assert row[name] == x[row[step] - 1], name
        assert row["before"] == x[max(0, row["since"] - 2)]
        assert evidence.latest in (None, x[-1])
        assert np.abs(row["peak"]) <= np.abs(x[row["since"] - 1 : row["until"]]).max()


def test_statistic_and_limit_follow_from_the_points_up_to_their_step() -> None:
    """No later point is in them: the log that ends there gives the same."""
    checked = 0
    for finding, values, scenario in drawn():
        if finding.state is not FindingState.FIRING:
            continue
        until = finding.evidence.step_last
        past = judged({k: x[:until] for k, x in values.items()}, scenario)
        same = [f for f in past if key(f) == key(finding) and f.evidence.step_last == until]
        checked += bool(same)
        for before in same:
            assert before.evidence.value == finding.evidence.value, finding.title
            assert before.evidence.threshold == finding.evidence.threshold, finding.title
    assert checked >= 60


def test_a_sentence_has_no_number_besides_its_evidence() -> None:
    checked = 0
    for finding, _, _ in drawn():
        known = {*numbers_in(variant_of(finding).words.summary)}
        known |= {str(len(finding.evidence.others)), *numbers_in(" ".join(finding.evidence.others))}
        for value in sentences.facts(finding.evidence).values():
            if isinstance(value, str):
                known |= {*numbers_in(value)}
            elif value is not None:
                known |= {*numbers_in(shown_as(value))}
        found = numbers_in(sentences.summary(finding))
        assert set(found) <= known, sentences.summary(finding)
        checked += len(found)
    assert checked >= 300


def shown_as(value: float) -> str:
    """Every way in which a template shows a number."""
    whole = numbers.step(round(value) if math.isfinite(value) else value)
    return " ".join((numbers.plain(value), numbers.plain(100 * value), whole))


def numbers_in(text: str) -> list[str]:
    return re.findall(r"\d+(?:[,.]\d+)*(?:e[-+]?\d+)?[kMGT]?", text)


def key(finding: Finding) -> tuple[object, ...]:
    return finding.state, finding.title, finding.tag, finding.level, finding.words


def drawn() -> Iterator[tuple[Finding, Logged, str]]:
    rng = np.random.default_rng(1)
    for scenario in SCENARIOS * 12:
        values = {k: pieces(rng) for k in rng.choice(READ, 12, replace=False).tolist()}
        for finding in judged(values, scenario):
            yield finding, values, scenario


def pieces(rng: np.random.Generator) -> FloatArray:
    """120 rows at a few levels."""
    parts = []
    for _ in range(int(rng.integers(1, 5))):
        level = float(rng.choice([0.0, 1e-3, 0.02, 0.1, 0.3, 0.9, 1.0, 2.0, 30.0, -0.5, -20.0]))
        spread = float(rng.choice([0.0, 0.01, 0.5])) * abs(level)
        parts.append(level + spread * rng.standard_normal(int(rng.integers(5, 40))))
    return np.resize(np.concatenate(parts), 120)


# -- a nan in a tag that nobody knows is still a nan ---------------------------------------


NAN = math.nan
NAN_RULES = [r for r in load_rules() if r.id == "nan"]


def report(tag: str, values: list[float]) -> Report:
    import numpy as np

    run, _, recognition = case_run({tag: np.array(values)})
    return Engine(NAN_RULES).evaluate(run, {tag: unknown_tag(tag)}, recognition, 0.0)


@cases(__file__, "the_name_of_an_unknown_tag_decides_the_level")
@pytest.mark.parametrize("wrong", [NAN, math.inf])
def test_the_name_of_an_unknown_tag_decides_the_level(tag: str, level: str, wrong: float) -> None:
    (finding,) = report(tag, [1.0] * 10 + [wrong]).findings
    assert (finding.rule, finding.tag, finding.since_step) == ("nan", tag, 11)
    assert finding.level is Level[level]


def test_all_finite_or_never_finite_is_quiet() -> None:
    assert report("custom/score", [1.0] * 10).findings == ()
    assert report("custom/score", [NAN] * 10).findings == ()


def test_a_value_that_comes_and_goes_is_not_computed_at_each_row() -> None:
    values = [1.0, NAN, 1.0, NAN, 1.0, NAN, NAN]
    found = report("custom/score", values * 3).findings
    assert all(f.state is FindingState.RESOLVED for f in found)


def test_a_rate_may_be_undefined() -> None:
    assert report("Fps (10 sec)", [1.0] * 10 + [NAN]).findings == ()


def test_finite_numbers_that_nobody_knows_are_no_verdict() -> None:
    assert report("custom/score", [1.0] * 10).level is Level.UNKNOWN


def test_every_tag_is_named_once() -> None:
    import numpy as np

    values = np.array([1.0] * 10 + [NAN])
    run, infos, known = case_run({"loss.total": values, "custom/score": values})
    infos["custom/score"] = unknown_tag("custom/score")
    assert isinstance(known, Recognition)
    (finding,) = Engine(NAN_RULES).evaluate(run, infos, known, 0.0).findings
    assert (finding.level, finding.tag) == (Level.BAD, "loss.total")
    assert finding.evidence.others == ("custom/score",)
