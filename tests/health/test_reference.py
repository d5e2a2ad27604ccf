"""A run beside a good past one."""

from __future__ import annotations

import numpy as np
import pytest

from rltui.catalogue import load_catalogue
from rltui.catalogue.model import TagInfo
from rltui.core.level import Level
from rltui.health.model import Finding
from rltui.health.reference import Compared, departure
from rltui.present.kit import sentences
from tests.builders import START, Tags, a_block, a_run

METRICS = load_catalogue().metrics
TOKENS = "progress.tokens_total"
VITAL = ("reward.mean", "entropy", "lr.actor", "time.step")


def compared(tags: Tags, *, every: int = 1, walls: list[float] | None = None) -> Compared:
    rows = max(len(v) for v in tags.values())
    run = a_run(a_block(tags, steps=[every * s for s in range(1, rows + 1)], walls=walls))
    return Compared(run, {t: TagInfo.of_metric(t, METRICS[t]) for t in run.tags})


def course(rows: int = 100, seed: int = 1, top: float = 1.0) -> list[float]:
    """A reward that rises from 0 to ``top``, with some noise."""
    noise = np.random.default_rng(seed).normal(0, 0.02, rows)
    return [top * (1 - np.exp(-s / 30)) + n for s, n in enumerate(noise.tolist())]


def against(own: Compared, reference: Compared) -> Finding | None:
    return departure(own, reference, VITAL)


def test_another_seed_of_the_same_run_stays_on_its_course() -> None:
    assert (
        against(compared({"reward.mean": course(60, 2)}), compared({"reward.mean": course()}))
        is None
    )


def test_a_run_that_falls_behind_is_found_where_it_left() -> None:
    own = [*course(40, 2), *course(40, 2)[:1] * 30]
    found = against(compared({"reward.mean": own}), compared({"reward.mean": course()}))
    assert found is not None
    assert (found.rule, found.level, found.tag) == ("off_reference", Level.WATCH, "reward.mean")
    assert found.since_step == pytest.approx(41, abs=2)
    text = sentences.summary(found)
    assert text.startswith("reward ")
    assert "the reference run had" in text
    facts = found.evidence.facts
    assert float(facts["low"] or 0) > float(found.evidence.value or 0)


def test_better_than_the_reference_is_no_finding() -> None:
    better = compared({"reward.mean": course(60, 2, top=3.0)})
    assert against(better, compared({"reward.mean": course()})) is None


def test_a_setting_comes_first_and_the_others_are_named() -> None:
    reference = compared(
        {"reward.mean": course(), "lr.actor": [1e-3] * 100, "entropy": [2.0] * 100}
    )
    own = compared({"reward.mean": [0.0] * 60, "lr.actor": [1e-2] * 60, "entropy": [0.5] * 60})
    found = against(own, reference)
    assert found is not None
    assert found.tag == "lr.actor"
    assert "; also " in sentences.summary(found)
    assert "entropy" in sentences.summary(found)


def test_how_fast_a_machine_is_does_not_matter() -> None:
    slow, fast = compared({"time.step": [9.0] * 60}), compared({"time.step": [1.0] * 60})
    assert against(slow, fast) is None


def test_runs_are_aligned_by_tokens_when_both_log_them() -> None:
    reference: Tags = {"reward.mean": course()}
    quarter: Tags = {"reward.mean": np.repeat(course(12, 2), 4).tolist()}  # as much per 4 steps
    assert against(compared(quarter), compared(reference)) is not None
    reference = {**reference, TOKENS: [400.0 * s for s in range(1, 101)]}
    quarter = {**quarter, TOKENS: [100.0 * s for s in range(1, 49)]}
    assert against(compared(quarter), compared(reference)) is None


def test_runs_are_aligned_by_time_when_their_steps_count_different_things() -> None:
    reference = compared({"reward.mean": course()}, every=2048)
    slow = [START + 2048.0 * s for s in range(1, 61)]
    found = against(compared({"reward.mean": [0.0] * 60}, walls=slow), reference)
    assert found is not None
    assert found.evidence.facts["axis"] == "time"
    assert against(compared({"reward.mean": course(60, 2)}, walls=slow), reference) is None


def test_beyond_the_end_of_the_reference_there_is_nothing_to_compare() -> None:
    own = compared({"reward.mean": [*course(40, 2), *[0.0] * 40]})
    assert against(own, compared({"reward.mean": course(45)})) is None
