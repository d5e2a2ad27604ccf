"""What moved first around a symptom."""

from __future__ import annotations

from rltui.core.level import Level
from rltui.health.first_movers import anchor, moved_first
from rltui.health.model import Evidence, Finding, FindingState
from tests.builders import a_run


def finding(
    since: int, level: Level = Level.BAD, state: FindingState = FindingState.FIRING
) -> Finding:
    evidence = Evidence("median", 1.0, 0.5, since, since + 1)
    return Finding(
        "rule", "title", level, state, "entropy", "actor/entropy", since, None, None,
        evidence, None, "",
    )  # fmt: skip


def test_the_anchor_is_where_most_bad_findings_begin_together() -> None:
    late, over = finding(46), finding(30, state=FindingState.RESOLVED)
    assert anchor([finding(22), finding(31), finding(31), late, over]) == 30


def test_what_was_over_long_before_is_not_the_beginning() -> None:
    early = [finding(1, state=FindingState.RESOLVED), finding(6, state=FindingState.RESOLVED)]
    assert anchor([*early, finding(17), finding(18), finding(20)]) == 17


def test_watch_findings_count_only_without_bad_ones() -> None:
    assert anchor([finding(5, Level.WATCH), finding(50)]) == 50
    assert anchor([finding(5, Level.WATCH)]) == 5


def test_nothing_fires_nothing_moved() -> None:
    assert anchor([]) is None
    assert anchor([finding(9, state=FindingState.RESOLVED)]) is None


def test_metrics_are_ranked_by_when_they_left_their_usual_level() -> None:
    flat = [1.0, 1.1] * 20
    run = a_run({
        "late": [*flat, 1.0, 1.1, 50.0, 60.0, 60.0],
        "first": [*flat, 9.0, 9.0, 9.0, 9.0, 9.0],
        "quiet": [*flat, 1.0, 1.1, 1.0, 1.1, 1.0],
    })  # fmt: skip
    moves = moved_first((run.series(t) for t in run.tags), 41)
    assert [(m.tag, m.step) for m in moves] == [("first", 41), ("late", 43)]
    assert (moves[0].before, moves[0].after) == (1.1, 9.0)


def test_what_a_schedule_sets_comes_first_at_the_same_step() -> None:
    run = a_run({"kl": [0.01] * 30 + [9.0], "lr": [1e-3] * 30 + [2e-3]})
    series = [run.series("kl"), run.series("lr")]
    assert [m.tag for m in moved_first(series, 31)] == ["kl", "lr"]
    assert [m.tag for m in moved_first(series, 31, frozenset({"lr"}))] == ["lr", "kl"]


def test_a_metric_without_a_past_says_nothing() -> None:
    run = a_run({"new": [1.0, 50.0, 60.0]})
    assert moved_first([run.series("new")], 2) == []


def test_nan_is_no_move() -> None:
    run = a_run({"a": [1.0] * 30 + [float("nan")] * 5})
    assert moved_first([run.series("a")], 31) == []
