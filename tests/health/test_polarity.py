"""Which way is good, in every dialect."""

import random
import re
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest

from rltui.catalogue import Catalogue, load_catalogue
from rltui.catalogue.model import TagInfo
from rltui.catalogue.words import better, words_of
from rltui.core.level import Direction, Level
from rltui.health.model import Finding
from rltui.health.rules import load_rules
from rltui.session.session import Choice
from tests.builders import Tags, a_batch
from tests.fakes import a_session

UP, DOWN = Direction.UP, Direction.DOWN
CATALOGUE = load_catalogue()


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("fail_rate", DOWN),
        ("format_error", DOWN),
        ("wer", DOWN),
        ("timeout_rate", DOWN),
        ("perplexity", DOWN),
        ("toxicity_score", DOWN),
        ("no_match", DOWN),
        ("steps_to_success", DOWN),
        ("episode_cost", DOWN),
        ("num_hallucinations", DOWN),
        ("invalidActions", DOWN),
        ("exact_match", UP),
        ("rouge2", UP),
        ("pass@8", UP),
        ("error_free_rate", UP),
        ("error_detection_rate", UP),
        ("non_toxic", UP),
        ("format_error_reward", UP),
        ("gsm8k", UP),
        ("judge_score", UP),
        ("temperature", None),
        ("length", None),
        ("my_task", None),
    ],
)
def test_words_say_which_way_is_good(name: str, way: Direction | None) -> None:
    assert better(words_of(name)) is way


def catch_alls(catalogue: Catalogue) -> list[tuple[str, str]]:
    """Framework and begin of a tag that it takes for any figure of held-out data."""
    found = [("generic", f"{head}/") for head in ("eval", "val", "test", "heldout", "dev")]
    for framework in catalogue.dialects:
        for entry in catalogue.entries(framework):
            pattern = entry.pattern
            free = not pattern.exact and not pattern.suffix and len(pattern.names) == 1
            says = better(words_of(pattern.prefix)) or entry.changes.get("direction") in (UP, DOWN)
            if free and not says and entry.metric.key == "val.score" and not entry.scenarios:
                found.append((framework, pattern.prefix))
    return found


@pytest.mark.parametrize(("framework", "head"), catch_alls(CATALOGUE))
def test_one_table_of_words_for_all_dialects(framework: str, head: str) -> None:
    resolver = CATALOGUE.resolver(framework)
    for name, way in (("judge_acc", UP), ("judge_fail_share", DOWN), ("zzz_share", None)):
        info = resolver.resolve(head + name)
        if way is None:
            key = info.metric.key if info.metric else "val.other"
            assert (key, info.direction) == ("val.other", Direction.NONE), info.tag
        else:
            assert info.direction is way, info.tag


#: Wildcards of a pattern: a capture, anything, one character, one of a set.
WILD = re.compile(r"\{\w+(:int)?.*?\}|\*|\?|\[(.)[^]]*\]")
RISING = [v for r in load_rules() for v in r.variants if v.detector.rising]


def judged_by_a_rise() -> Iterator[tuple[Choice, TagInfo]]:
    """A tag for each entry of each dialect whose meaning has a direction and is read by a rule that
    asks for a rise; `zz` stands for what is free in it."""
    for framework in CATALOGUE.dialects:
        for entry in CATALOGUE.entries(framework):
            algorithm = entry.algorithms[0] if entry.algorithms else None
            tag = WILD.sub(lambda m: m[2] or ("4" if m[1] else "zz"), entry.pattern.text)
            info = CATALOGUE.resolver(framework, algorithm).resolve(tag)
            if info.direction in (UP, DOWN) and any(v.reads(info.key) is not None for v in RISING):
                yield Choice(framework=framework, algorithm=algorithm), info


def test_no_name_contradicts_its_direction() -> None:
    for _, info in judged_by_a_rise():
        assert better(words_of(info.tag.rpartition("/")[2])) in (None, info.direction), info.tag


def course(*ends: float) -> list[float]:
    """From one value to the next, with a little noise."""
    noise, parts = random.Random(7), [np.linspace(a, b, 20) for a, b in pairwise(ends)]
    return [x + 0.004 * noise.gauss(0, 1) for x in np.concatenate(parts)]


RISES = course(0.2, 0.5, 0.8)


def found(choice: Choice, tags: Tags) -> list[Finding]:
    """What is found about the last tag of a run."""
    run = a_session(a_batch(tags), choice=choice).runs()[0]
    return [f for f in run.report.findings if f.is_about([*tags][-1])]


def test_what_gets_better_is_quiet_and_what_gets_worse_is_found() -> None:
    """One tag of each meaning, beside a sibling, without and with a reward that rises."""
    meanings = {
        (i.key, i.direction, i.factor): (choice, i) for choice, i in reversed([*judged_by_a_rise()])
    }
    for choice, info in meanings.values():
        courses = [(0.3, 0.5, 0.8), (0.3, 0.8, 0.05)]
        if info.direction is DOWN:
            courses = [(0.3, 0.2, 0.08), (0.3, 0.05, 0.45)]
        sibling = {info.tag.replace("zz", "yy"): [x / info.factor for x in RISES]}
        good, bad = (
            found(choice, sibling | own) + found(choice, sibling | {"reward": RISES} | own)
            for own in ({info.tag: [x / info.factor for x in course(*c)]} for c in courses)
        )
        assert not good, info.tag
        assert max((f.level for f in bad), default=Level.OK) >= Level.WATCH, info.tag
        facts = [f.evidence.facts for f in bad if "best" in f.evidence.facts]
        assert all((f["best"] > f["middle"]) is (info.direction is UP) for f in facts), info.tag


@pytest.mark.parametrize("framework", ["verl", "trl", "generic"])
def test_what_says_nothing_is_not_judged(framework: str) -> None:
    tag = "val/share_of_b" if framework == "verl" else "eval/share_of_b"
    choice, reward = Choice(framework=framework), {"reward": RISES}
    assert found(choice, reward | {tag: course(0.3, 0.05, 0.45)}) == []
    assert found(choice, reward | {tag: course(0.3, 0.8, 0.05)}) == []
