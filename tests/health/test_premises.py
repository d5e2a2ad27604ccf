"""Words of symptoms and rules are true for the run they are told of: over the corpora beside the
project, and for each symptom by itself."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from rltui.catalogue import load_catalogue
from rltui.health.engine import Engine
from rltui.health.model import Diagnosis
from rltui.health.rules import load_rules
from rltui.health.symptoms import FIRST, Symptom, symptoms
from rltui.sources.follow.reader import Reader
from rltui.store import Store
from tests.places import CORPORA, DEV

#: Kind of training -> words for what it does not have.
ABSENT = {
    "classic-rl": r"\b(prompts?|answers? (?:are|that|is)|tokenizer|chat template|teacher|pairs?)\b",
    "distillation": r"\bfilter (prompts|groups)\b",
    **dict.fromkeys(
        ("sft", "preference", "reward-model"),
        r"\b(reward function|environments?|explor\w+|rollouts?|entropy bonus)\b",
    ),
}
#: What may be said only where something was there before.
BACK = r"[Gg]o back|[Rr]esume (?:from|before)|[Cc]ontinue from"
LOGS = sorted(p for d in (DEV, CORPORA / "field") for p in d.glob("*/*" if d == DEV else "*"))


def told(path: Path) -> Iterator[tuple[frozenset[str], list[Diagnosis], int]]:
    """Words for the kind of each run of a log, its open diagnoses, and its first step."""
    store, catalogue, engine = Store(), load_catalogue(), Engine(load_rules())
    for batch in Reader([path]).read_all():
        store.apply(batch)
    for run in store.runs.values():
        recognition = catalogue.recognise(run.tags)
        resolver = catalogue.resolver(recognition.framework, recognition.algorithm)
        infos = {tag: resolver.resolve(tag) for tag in run.tags}
        report = engine.evaluate(run, infos, recognition, 0.0)
        found = [d for d in report.diagnosed.diagnoses if not d.is_over]
        yield recognition.kinds, found, run.first_step or 0


@pytest.mark.skipif(not LOGS, reason=f"no corpus at {CORPORA}")
@pytest.mark.parametrize("path", [p for p in LOGS if p.is_dir()], ids=lambda p: p.name)
def test_what_is_told_of_a_run_speaks_of_what_it_has(path: Path) -> None:
    for kinds, found, _ in told(path):
        facts = {d.symptom.fact for d in found}
        for diagnosis in found:
            words = f"{diagnosis.symptom.causes}; {diagnosis.symptom.advice}"
            for kind in kinds & ABSENT.keys():
                assert not re.search(ABSENT[kind], words), (kind, words)
            if "no update" in facts and diagnosis.symptom.harm.value == "outcome":
                assert "ower the learning rate" not in words


@pytest.mark.parametrize("symptom", symptoms().values(), ids=lambda s: s.id)
def test_who_may_begin_in_the_first_row_is_not_sent_back_to_before_it(symptom: Symptom) -> None:
    sent_back = re.search(rf"{BACK}|checkpoint (?:from )?before", symptom.advice)
    late = {"setting_changed", "stopped", "frozen_sampler"}  # begin behind rows that were right
    assert not sent_back or symptom.at_start or symptom.id in late
    assert not re.search(BACK, symptom.at_start)


def test_words_are_for_kinds_and_facts_that_there_are() -> None:
    scenarios = load_catalogue().scenarios
    kinds = scenarios.keys() | {a.lower() for s in scenarios.values() for a in s.algorithms}
    kinds |= {FIRST, *(s.fact for s in symptoms().values())} - {""}
    kinds |= {v.title for r in load_rules() for v in r.variants}
    for symptom in symptoms().values():
        assert {kind for w in symptom.words for kind in w.kinds} <= kinds
        assert all(symptom.worded(w.kinds) != symptom for w in symptom.words)
