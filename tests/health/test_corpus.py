"""The shipped rules on labelled logs of real frameworks, where that folder is beside the checkout.

Healthy runs must not be called ``bad``, nor watched, unless the label tolerates it; of the
sick ones nearly all must be found, and from the right step on.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest

from rltui.catalogue import load_catalogue
from rltui.core.level import Level
from rltui.core.yaml_document import read_document
from rltui.facts import sentences
from rltui.health.engine import Engine
from rltui.health.model import Finding, FindingState
from rltui.health.rules import load_rules
from rltui.sources.follow.reader import Reader
from rltui.store import Store
from tests.places import DEV

pytestmark = pytest.mark.skipif(not DEV.is_dir(), reason=f"no corpus at {DEV}")

RULES = load_rules()
IDS = {r.id for r in RULES}
#: Rules that the labels of this folder do not mention.
UNLABELLED = {"zero_std_groups", "length_blowup", "reward_drop", "loss_diverging"}


@dataclass(frozen=True)
class Label:
    """One entry of labels.yaml."""

    path: str
    steps: int
    healthy: bool
    sick: dict[str, dict[str, Any]]
    tolerated: frozenset[str]

    def begins(self, failure: str) -> float:
        """A finding since before this step is about something else."""
        entry = self.sick[failure]
        visible = float(entry.get("visible_from_step", 0))
        earliest = float(entry.get("earliest_step", visible))
        return min(visible - 0.1 * self.steps - 5, earliest)


def _labels() -> list[Label]:
    if not DEV.is_dir():
        return []
    found = []
    for entry in read_document(DEV / "labels.yaml").plain():
        if entry.get("kind") == "format":
            continue
        known = {f["sickness"]: f for f in entry.get("findings") or []}
        sick = {s: known.get(s, {}) for s in entry["sickness"] if s != "none"}
        tolerated = frozenset(entry.get("tolerated") or [])
        found.append(Label(entry["path"], entry["steps"], entry["healthy"], sick, tolerated))
    return found


LABELS = _labels()


@cache
def _findings(path: str) -> tuple[Finding, ...]:
    store, catalogue, engine = Store(), load_catalogue(), Engine(RULES)
    for batch in Reader([DEV / path]).read_all():
        store.apply(batch)
    out: list[Finding] = []
    for run in store.runs.values():
        recognition = catalogue.recognise(run.tags)
        resolver = catalogue.resolver(recognition.framework, recognition.algorithm)
        infos = {tag: resolver.resolve(tag) for tag in run.tags}
        out += engine.evaluate(run, infos, recognition, 0.0).findings
    return tuple(out)


def _worst(finding: Finding) -> Level:
    return finding.evidence.worst or finding.level


@pytest.mark.parametrize("label", LABELS, ids=lambda v: v.path)
def test_nothing_breaks(label: Label) -> None:
    assert [f.error for f in _findings(label.path) if f.error] == []


@pytest.mark.parametrize("label", [v for v in LABELS if v.healthy], ids=lambda v: v.path)
def test_a_healthy_run_is_left_alone(label: Label) -> None:
    alarms = [
        f"{_worst(f).word} {f.rule} since {f.since_step}: {sentences.summary(f)}"
        for f in _findings(label.path)
        if f.rule not in label.tolerated
    ]
    assert alarms == []


@pytest.mark.parametrize("label", [v for v in LABELS if not v.healthy], ids=lambda v: v.path)
def test_a_sick_run_is_not_blamed_for_something_else(label: Label) -> None:
    allowed = label.tolerated | label.sick.keys() | UNLABELLED
    firing = (f for f in _findings(label.path) if f.state is FindingState.FIRING)
    alarms = [sentences.summary(f) for f in firing if f.rule not in allowed]
    assert alarms == []


def test_the_failures_are_found() -> None:
    missed = [
        f"{label.path}: {failure}"
        for label in LABELS
        for failure in label.sick.keys() & IDS
        if not any(
            f.rule == failure and (f.since_step or 0) >= label.begins(failure)
            for f in _findings(label.path)
        )
    ]
    total = sum(len(label.sick.keys() & IDS) for label in LABELS)
    assert len(missed) <= 0.1 * total, missed
