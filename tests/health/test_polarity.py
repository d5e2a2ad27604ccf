"""Which way is good: held-out figures that are better when lower, in every dialect."""

import random

import pytest

from rltui.catalogue import Catalogue, load_catalogue
from rltui.catalogue.words import better, words_of
from rltui.core.level import Direction, Level
from rltui.health.model import Finding
from rltui.session.session import Choice
from tests.builders import a_batch
from tests.fakes import a_session
from tests.tables import cases

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


def course(first: float, middle: float, last: float, rows: int = 40) -> list[float]:
    """From one value to the next, with a little noise."""
    noise, half = random.Random(7), rows // 2
    ends = [(first, middle)] * half + [(middle, last)] * half
    return [
        a + (b - a) * (n % half) / half + 0.004 * noise.gauss(0, 1) for n, (a, b) in enumerate(ends)
    ]


def found(tag: str, values: list[float], framework: str) -> list[Finding]:
    """What is found about a tag of a run whose training reward rises."""
    reward = course(0.2, 0.5, 0.8)
    choice = Choice(framework=framework)
    run = a_session(a_batch({"reward": reward, tag: values}), choice=choice).runs()[0]
    return [f for f in run.report.findings if f.is_about(tag)]


@cases(__file__, "less_of_it_is_better")
def test_less_of_it_is_better(framework: str, tag: str) -> None:
    assert found(tag, course(0.3, 0.2, 0.08), framework) == []
    worse = found(tag, course(0.3, 0.05, 0.45), framework)
    assert max(f.level for f in worse) >= Level.WATCH
    facts = {k: v for f in worse for k, v in f.evidence.facts.items()}
    if "best" in facts:
        assert facts["best"] < 0.12 < facts["middle"]


@pytest.mark.parametrize("framework", ["verl", "trl", "generic"])
def test_what_says_nothing_is_not_judged(framework: str) -> None:
    tag = "val/share_of_b" if framework == "verl" else "eval/share_of_b"
    assert found(tag, course(0.3, 0.05, 0.45), framework) == []
    assert found(tag, course(0.3, 0.8, 0.05), framework) == []
