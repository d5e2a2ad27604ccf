"""What moved first around a symptom."""

from __future__ import annotations

from rltui.health.first_movers import moved_first, settings_changed
from tests.builders import a_run


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
    (move,) = settings_changed([run.series("lr")], 31)
    assert (move.tag, move.step, move.factor, move.is_setting) == ("lr", 31, 2.0, True)


def test_a_setting_that_returns_to_a_usual_value_did_not_jump() -> None:
    wobble = [6e-4, 1.3e-3, 1.3e-3, 6e-4] * 15
    run = a_run({"lr": [*wobble, 1.3e-3, 1.3e-3]})
    assert settings_changed([run.series("lr")], 61) == []
    run = a_run({"lr": [*wobble, 2.7e-3, 2.7e-3]})
    assert [(m.step, m.after) for m in settings_changed([run.series("lr")], 61)] == [(61, 2.7e-3)]


def test_a_metric_without_a_past_says_nothing() -> None:
    run = a_run({"new": [1.0, 50.0, 60.0]})
    assert moved_first([run.series("new")], 2) == []


def test_nan_is_no_move() -> None:
    run = a_run({"a": [1.0] * 30 + [float("nan")] * 5})
    assert moved_first([run.series("a")], 31) == []
