"""The benchmark of runs that are logged otherwise, on labelled runs of this repository."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from benchmarks.verdicts import invariance
from benchmarks.verdicts.invariance import Changed, Followed, Subject
from benchmarks.verdicts.labels import judged_rules, read_labels
from benchmarks.verdicts.replay import Judge, Logged, Points

LABELS = read_labels(Path(__file__).resolve().parents[1] / "fixtures" / "labelled")
KNOWN = judged_rules(LABELS)


@pytest.fixture(scope="module")
def judge() -> Judge:
    return Judge()


def subject(judge: Judge, name: str) -> Subject:
    (label,) = [x for x in LABELS if x.name == name]
    (run,) = judge.read(label.path)
    found = invariance._subject(label, run, judge, KNOWN)
    assert found is not None
    return found


def points(*values: float) -> Points:
    steps = np.arange(1, len(values) + 1)
    return steps, steps.astype(np.float64), np.array(values)


def test_each_kind_of_change_is_made_of_a_sick_run(judge: Judge) -> None:
    sick = subject(judge, "verl/grpo_lr_nan")
    changes = list(invariance.logged_otherwise(sick, judge, [sick.logged]))
    kinds = Counter(c.kind for c in changes)
    assert kinds["renamed"] >= 1
    assert {"thinned by 2", "cut", "2 rows as one", "spliced"} <= kinds.keys()
    followed = [invariance.follow(sick, c, judge, KNOWN) for c in changes]
    assert all(not f.missed for f in followed if f.kind in ("cut", "steps in samples", "renamed"))
    assert len(invariance.report(followed)) == len(kinds) + 3


def test_another_framework_logs_the_same_metrics(judge: Judge) -> None:
    sick = subject(judge, "verl/grpo_lr_nan")
    for changed in invariance._renamed(sick, judge):
        assert changed.framework != "verl"
        view = judge.view(changed.logged, changed.framework, sick.recognition.algorithm)
        assert view.recognition is not None
        assert view.recognition.scenario == sick.recognition.scenario
        read = {s.metric for s in sick.said if s.metric}
        assert read <= {i.metric.key for i in view.infos.values() if i.metric}


def test_rows_that_come_again_and_means() -> None:
    steps, _, values = invariance._repeated(points(*range(10, 20)), 6)
    assert steps.tolist() == [1, 2, 3, 4, 5, 6, 4, 5, 6, 7, 8, 9, 10]
    assert values[5] == 15.0
    steps, _, values = invariance._means(points(1, 3, 5, 9, 4), 2)
    assert (steps.tolist(), values.tolist()) == ([2, 4], [2.0, 7.0])
    assert len(invariance._means(points(1), 2)[0]) == 0
    assert invariance._gap(points(1, 2, 3), 2, 100)[0].tolist() == [1, 2, 103]


@pytest.mark.parametrize(
    ("values", "natural"), [((0.1, 0.9, 1.0), True), ((-3.0, 8.0, 7.0), False)]
)
def test_rewards_with_a_natural_scale_are_left_alone(
    judge: Judge, values: tuple[float, ...], natural: bool
) -> None:
    tags = {"critic/rewards/mean": points(*values), "actor/entropy": points(1, 2, 3)}
    run = Logged("x", tags, ("jsonl",), {})
    view = judge.view(run, "verl")
    assert view.recognition is not None
    random = np.random.default_rng(0)
    made = Subject(LABELS[0], run, view.infos, view.recognition, (), (), random)
    changed = invariance._earned(made, 10.0, 1.0)
    assert (changed is None) == natural
    if changed is not None:
        assert changed.tags["critic/rewards/mean"][2].tolist() == [-19.0, 91.0, 81.0]
        assert changed.tags["actor/entropy"][2].tolist() == [1, 2, 3]


def test_what_does_not_follow_is_told() -> None:
    label, run = LABELS[0], Logged("x", {}, (), {})
    changed = Changed("renamed", run, "trl")
    lost = Followed(label, changed.kind, changed.framework, True, ("nan",), {})
    assert lost.words == f"labelled/{label.name}, renamed trl: lost nan"
    alarm = Followed(label, "cut", None, True, (), {"nan": True})
    assert alarm.words.endswith("cut: alarm nan!")
    assert Followed(label, "cut", None, True, (), {}).words == ""
