"""Which way is good, in every dialect."""

import random
import re
from functools import cache
from itertools import pairwise, product

import numpy as np
import pytest

from rltui.catalogue import load_catalogue
from rltui.catalogue.model import TagInfo
from rltui.catalogue.words import better, words_of
from rltui.core.level import Direction, Level
from rltui.health.model import Finding
from rltui.health.rules import load_rules
from rltui.session.session import Choice
from tests.builders import Tags, a_batch
from tests.fakes import a_session
from tests.tables import cases

UP, DOWN = Direction.UP, Direction.DOWN
CATALOGUE = load_catalogue()


@cases(__file__, "words_say_which_way_is_good")
def test_words_say_which_way_is_good(names: str, way: str | None) -> None:
    assert {name: better(words_of(name)) for name in names.split()} == dict.fromkeys(
        names.split(), way and Direction(way)
    )


#: Wildcards of a pattern: a capture, anything, one character, one of a set.
WILD = re.compile(r"\{\w+(:int)?.*?\}|\*|\?|\[(.)[^]]*\]")
RISING = [v for r in load_rules() for v in r.variants if v.detector.rising]


@cache
def judged_by_a_rise() -> list[tuple[Choice, TagInfo]]:
    """Tags for each entry of each dialect whose meaning has a direction and is read by a rule that
    asks for a rise: with a name that says nothing in place of what is free, and with others."""
    out = []
    for framework in CATALOGUE.dialects:
        for entry, name in product(CATALOGUE.entries(framework), ("zz", "zz_acc", "zz_fail_share")):
            algorithm = entry.algorithms[0] if entry.algorithms else None
            tag = WILD.sub(lambda m, name=name: m[2] or ("4" if m[1] else name), entry.pattern.text)
            info = CATALOGUE.resolver(framework, algorithm).resolve(tag)
            by_name = info.key == "val.score" and entry.changes.get("direction") not in (UP, DOWN)
            by_name &= tag.endswith(name)
            told = info.direction in (UP, DOWN) and (name == "zz" or by_name)
            if told and any(variant.reads(info.key) is not None for variant in RISING):
                out.append((Choice(framework=framework, algorithm=algorithm), info))
    named = product(("eval", "val", "test", "heldout", "dev"), ("zz_acc", "zz_fail_share", "ppl"))
    infos = map(CATALOGUE.resolver("generic").resolve, map("/".join, named))
    return [*out, *((Choice(framework="generic"), info) for info in infos)]


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
        (i.key, i.direction, i.factor): (choice, i) for choice, i in reversed(judged_by_a_rise())
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
