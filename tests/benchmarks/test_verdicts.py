"""The benchmark of verdicts: labels, score, limits chosen without a framework, a peer."""

from __future__ import annotations

import csv
import json
import stat
from collections.abc import Mapping
from pathlib import Path

import pytest

from benchmarks.verdicts.labels import Failure, Label, judged_rules, read_labels
from benchmarks.verdicts.leave_out import FACTORS, Answers, choose
from benchmarks.verdicts.noise import RESULT
from benchmarks.verdicts.peer import score_peer
from benchmarks.verdicts.replay import Judge, Said
from benchmarks.verdicts.score import alarms_of, cuts, met_by, score

LABELLED = Path(__file__).resolve().parents[1] / "fixtures" / "labelled"
LABELS = read_labels(LABELLED)


@pytest.fixture(scope="module")
def judge() -> Judge:
    return Judge()


@pytest.mark.parametrize("label", LABELS, ids=[x.name for x in LABELS])
def test_a_labelled_run_is_judged_as_labelled(label: Label, judge: Judge) -> None:
    scored = score(label, judge, judged_rules(LABELS), quick=True)
    assert not scored.unreadable
    assert set(scored.hits) == {s.rule for s in label.failures}
    assert scored.alarms == {}


def a_label(*sick: Failure, healthy: bool = False, allowed: str = "") -> Label:
    rules = {s.rule for s in sick} | set(allowed.split())
    return Label(Path("x"), "x", "verl", 100, healthy, sick, frozenset(rules))


def test_a_finding_long_before_the_failure_does_not_meet_it() -> None:
    label = a_label(Failure("kl_blowup", 80, None))
    early, right = Said("kl_blowup", True, 10), Said("kl_blowup", True, 75)
    ((_, met),) = met_by(label, [early, right])
    assert met == [right]


def test_a_tolerated_rule_is_no_alarm() -> None:
    label = a_label(healthy=True, allowed="critic_failing")
    said = [Said("critic_failing", False, 1), Said("kl_blowup", True, 1)]
    assert alarms_of(label, said, frozenset()) == {"kl_blowup": True}


def test_the_prefixes_end_with_the_whole_run() -> None:
    assert cuts(0.25) == (0.25, 0.5, 0.75, 1.0)
    assert len(cuts(0.005)) == 200
    assert cuts(0.3) == (0.3, 0.6, 1.0)


def test_a_run_appears_later_by_prefixes(judge: Judge) -> None:
    (label,) = [x for x in LABELS if x.name == "verl/grpo_lr_nan"]
    scored = score(label, judge, judged_rules(LABELS))
    assert 0.0 <= scored.delays["nan"] <= 0.2
    assert "every 2nd row" in scored.form_hits


def answers(found: Mapping[float, set[str]], alarms: Mapping[float, Mapping[str, bool]]) -> Answers:
    return Answers(
        a_label(),
        {f: frozenset((r, r) for r in found.get(f, set())) for f in FACTORS},
        {f: alarms.get(f, {}) for f in FACTORS},
    )


def test_the_factor_with_most_hits_less_alarms_is_chosen() -> None:
    low = answers({0.5: {"a"}, 0.7: {"a"}}, {0.5: {"a": True}})
    assert choose([low]) == {"a": 0.7}
    assert choose([answers({f: {"a"} for f in FACTORS}, {})]) == {"a": 1.0}


def test_a_peer_is_read_generously(tmp_path: Path) -> None:
    said = [
        {"detector": "kl_drift", "severity": "CRITICAL"},
        {"detector": "plateau", "severity": "WARNING"},
        {"detector": "entropy_collapse", "severity": "INFO"},
    ]
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "log.jsonl").write_text("{}\n")
    program = tmp_path / "doctor"
    (tmp_path / "said").write_text(json.dumps({"findings": said}))
    program.write_text(f"#!/bin/sh\ncat '{tmp_path}/said'\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    sick = Failure("kl_blowup", 1, None)
    label = Label(tmp_path / "run", "run", "verl", 10, False, (sick,), frozenset({"kl_blowup"}))
    scored = score_peer(label, program)
    assert not scored.unreadable
    assert scored.hits == {"kl_blowup": True}
    assert scored.alarms == {"reward_flat_no_learning": False}


def test_every_variant_was_measured_on_noise(judge: Judge) -> None:
    """After a change of the rules: ``python -m benchmarks.verdicts.noise --write``."""
    with RESULT.open(encoding="utf-8", newline="") as file:
        measured = {row[0] for row in list(csv.reader(file))[1:]}
    variants = [v for rule in judge.rules for v in rule.variants]
    assert measured == {v.id for v in variants}
