"""Conditions: how they are read, when a run meets them, and what is learned from good runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui.catalogue import load_catalogue
from rltui.core.errors import DocumentError
from rltui.core.yaml_document import Node
from rltui.facts.gate import (
    Condition,
    Known,
    Others,
    Outcome,
    job_of,
    judge,
    learned,
    left_out,
    read_conditions,
)
from rltui.session import JudgedRun
from tests.builders import START, a_batch, a_source, steps
from tests.clock import ManualClock
from tests.fakes import a_session, grpo_tags
from tests.tables import cases

#: Runs have ended days ago.
LATER = ManualClock(START + 1e6)
Read = Callable[..., tuple[Condition, ...]]
KNOWN = Known(load_catalogue().metrics, {"kl_blowup", "entropy_collapse", "grad_explosion"})


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """The conditions of a file with these lines."""

    def conditions(*lines: str) -> tuple[Condition, ...]:
        path = tmp_path / "expect.yaml"
        path.write_text("expect:\n" + "".join(f"  - '{line}'\n" for line in lines))
        return read_conditions(path, KNOWN)

    return conditions


def a_view(tags: dict[str, list[float]], name: str = "job_s1") -> JudgedRun:
    batch = a_batch(steps(1, tags), run=name, source=f"{name}/events.0")
    (run,) = a_session(batch, clock=LATER).runs()
    return run


@pytest.fixture(scope="module")
def run() -> JudgedRun:
    """Ten rows of verl whose reward goes from 0.1 to 1.0; its KL is not finite at one step."""
    rise = [n / 10 for n in range(1, 11)]
    return a_view({
        "critic/rewards/mean": rise, "actor/entropy": rise[::-1], "my own/tag": rise,
        "actor/ppo_kl": [0.01] * 4 + [float("nan")] + [0.01] * 5, "actor/pg_loss": [1e308] * 10,
    })  # fmt: skip


@cases(__file__, "a_number_is_measured_and_compared")
def test_a_number_is_measured_and_compared(
    text: str, value: float, run: JudgedRun, read: Read
) -> None:
    ends = [f"{value - 0.01} and {value + 0.01}", f"{value + 0.01} and {value + 1}"]
    inside, outside = read(*(f"{text} between {e}" for e in ends))
    found = judge(inside, run, Others())
    assert found.met
    assert found.value == pytest.approx(value)
    assert not judge(outside, run, Others()).met


@pytest.mark.parametrize(
    ("text", "met"),
    [("<= 1", True), ("< 1", False), (">= 1", True), ("> 1", False), ("== 1", True),
     ("< -1e3", False)],
)  # fmt: skip
def test_a_limit_is_met_or_not(text: str, met: bool, run: JudgedRun, read: Read) -> None:
    (condition,) = read(f"reward.mean last {text}")
    assert judge(condition, run, Others()).met is met


@cases(__file__, "what_cannot_be_measured_is_not_met_and_says_why")
def test_what_cannot_be_measured_is_not_met_and_says_why(
    text: str, words: str, run: JudgedRun, tmp_path: Path
) -> None:
    known = Known({**KNOWN.metrics, "length.response.mean": KNOWN.metrics["entropy"]}, ())
    path = tmp_path / "expect.yaml"
    path.write_text('expect: ["' + text.replace("\x1b", "\\x1b") + '"]')
    (condition,) = read_conditions(path, known)
    outcome = judge(condition, run, Others())
    assert (outcome.met, outcome.words) == (False, words)


def test_a_run_without_rows_meets_nothing(read: Read) -> None:
    empty = a_view({})
    for condition in read("no bad", "steps >= 0", "state is ended", "entropy last > 0"):
        assert judge(condition, empty, Others()) == Outcome(False, "the run has no row")


def test_a_verdict_is_a_condition(read: Read) -> None:
    sick = a_view(grpo_tags(60, collapse=30))
    bad, rule, other, blind = read(
        "no bad", "no entropy_collapse", "no grad_explosion", "no kl_blowup"
    )
    assert not judge(bad, sick, Others()).met
    assert judge(rule, sick, Others()).words.startswith("entropy collapse (bad since 3")
    assert judge(other, sick, Others()).met
    calm = a_view({"actor/entropy": grpo_tags(60)["actor/entropy"]})
    assert not judge(blind, calm, Others()).met
    assert judge(blind, calm, Others()).words.startswith("kl_blowup cannot judge: kl.")
    assert judge(rule, calm, Others()).met
    assert judge(bad, a_view(grpo_tags(60)), Others()).met


def test_what_is_not_logged_is_left_out_where_the_file_says_so(run: JudgedRun, read: Read) -> None:
    asked = ("reward.max last > 1", "tag mine last > 1", "no grad_explosion")
    for always, maybe in zip(read(*asked), read(*(f"{t} if logged" for t in asked)), strict=True):
        said = judge(always, run, Others())
        assert not said.met, always
        assert judge(maybe, run, Others()) == said._replace(met=True, skipped=True)
    # what is logged and cannot be measured is not met all the same
    for text in ("kl.old_new max < 1", "reward.mean at 11 > 1", "entropy last > 9"):
        (condition,) = read(f"{text} if logged")
        outcome = judge(condition, run, Others())
        assert (outcome.met, outcome.skipped) == (False, False)


def test_a_reference_gives_the_limits(run: JudgedRun, read: Read) -> None:
    share, exact, none = read(
        "reward.mean last within 10 % of reference",
        "reward.mean last within 0.3 of reference",
        "tag my own/tag last within 1 of reference",
    )
    others = Others(a_view({"critic/rewards/mean": [0.8], "actor/entropy": [1.0]}))
    assert judge(share, run, others).met is False
    assert judge(share, run, others).words.endswith("allowed: 0.72 to 0.88")
    assert judge(exact, run, others).met is True
    assert judge(none, run, others).words == "the reference has no such my own/tag"


def test_good_runs_give_the_limits(read: Read) -> None:
    (condition,) = read("reward.mean last like last 8 good runs")
    good = [a_view({"critic/rewards/mean": [0.5 + n / 100]}) for n in (-2, -1, 0, 1, 2)]
    for last, met in ((0.5, True), (0.6, True), (9.0, True), (0.1, False)):
        found = judge(condition, a_view({"critic/rewards/mean": [last]}), Others(None, good))
        assert found.met is met, found


@cases(__file__, "a_mistake_has_its_line")
def test_a_mistake_has_its_line(text: str, words: str, read: Read) -> None:
    with pytest.raises(DocumentError, match=r"expect\.yaml:3:5: .*") as raised:
        read("no bad", text)
    assert words in str(raised.value)


E, SMALL = Path("e.yaml"), a_view({"loss": [1.0]})


@given(st.text(max_size=60) | st.from_regex(r"(no|state is|tag|steps) [\w<>= .%]{0,40}"))
def test_any_text_is_a_condition_or_an_error_of_the_document(text: str) -> None:
    node = Node([Node(text, E, 1, 1)], E, 1, 1)
    root = Node({Node("expect", E, 1, 1): node}, E, 1, 1)
    with patch("rltui.facts.gate.read_document", lambda path: root):
        try:
            (found,) = read_conditions(E, KNOWN)
        except DocumentError:
            return
    assert isinstance(judge(found, SMALL, Others()), Outcome)


def test_what_is_learned_is_met_by_what_it_was_learned_from(tmp_path: Path) -> None:
    random, runs = np.random.default_rng(3), []
    for seed in range(8):
        tags = {t: [x * random.normal(1, 0.02) for x in v] for t, v in grpo_tags(60).items()}
        tags["actor/lr"] = [1e-6] * 60
        runs.append(a_view({**tags, "actor/kl_coef": [float(seed)] * 60}, f"job_s{seed}"))
    assert left_out(runs) == {}
    assert len({job_of(r) for r in runs}) == 1
    found = dict(learned(runs))
    path = tmp_path / "expect.yaml"
    path.write_text("expect:\n" + "".join(f"  - {c}\n" for c in found))
    conditions = read_conditions(path, KNOWN)
    assert all(judge(c, r, Others()).met for c in conditions for r in runs)
    assert {"no bad", "steps >= 60", "lr.actor mean == 1e-06"} <= found.keys()
    assert not [c for c in found if c.startswith(("time.", "kl.coef"))]
    hot = a_view({**grpo_tags(60), "actor/entropy": [3.0] * 60})
    failed = [c.text for c in conditions if not judge(c, hot, Others()).met]
    assert any(text.startswith("entropy mean between") for text in failed)


@pytest.mark.parametrize("source", ["g  8", "\x1b[1m", "g"])
def test_nothing_is_learned_of_names_that_no_condition_can_have(source: str, read: Read) -> None:
    tag, other = f"val-core/{source}/reward/mean@1", "val-core/math/reward/mean@1"
    rises = [np.linspace(seed, seed + 1, 30) / 9 for seed in range(4)]
    runs = [a_view({**grpo_tags(30), other: [*(0.5 + x)], tag: [*(0.3 + x)]}) for x in rises]
    texts = [text for text, _ in learned(runs)]
    assert any(other in text for text in texts)
    assert any(source in text for text in texts) is (source == "g")
    assert all(judge(c, r, Others()).met for c in read(*texts) for r in runs)


def test_nothing_is_learned_from_bad_unfinished_and_empty_runs() -> None:
    rows = {"s1": 60, "s2": 60, "s3": 40, "s4": 60, "s5": 0, "other": 40}
    batches = [
        a_batch(steps(1, grpo_tags(n, collapse=30 if name == "s4" else None)), run=name,
                source=a_source(f"{name}/events.0", modified=START))
        for name, n in rows.items()
    ]  # fmt: skip
    fresh = a_session(*batches, clock=ManualClock(START + 10)).runs()
    assert [job_of(r)[2] for r in fresh] == ["other", *["s*"] * 5]
    assert {key.name: why for key, why in left_out(fresh).items()} == {
        "s3": "live at 40, others got to 60", "s4": "bad", "s5": "no row",
    }  # fmt: skip
    assert {key.name for key in left_out(a_session(*batches, clock=LATER).runs())} == {"s4", "s5"}
