"""From which row on values are judged by what was won before."""

from __future__ import annotations

import pytest

from rltui.health.columns import since_thrown_back
from rltui.store.series import Series
from tests.builders import a_run, steps


def resumed(before: list[float], *parts: tuple[int, list[float]]) -> Series:
    run = a_run({"reward": before}, *(steps(first, {"reward": rows}) for first, rows in parts))
    return run.series("reward")


def rising(first: float, rows: int) -> list[float]:
    return [first + 0.01 * i + 0.002 * (i % 3) for i in range(rows)]


def test_a_restart_that_goes_on_from_the_same_values_keeps_the_past() -> None:
    series = resumed(rising(0.1, 100), (80, rising(0.89, 60)))
    assert len(series.restarts)
    assert since_thrown_back(series) is series


@pytest.mark.parametrize("level", [-5.0, 9.0])
def test_a_restart_at_another_level_begins_anew(level: float) -> None:
    series = resumed(rising(0.1, 100), (80, rising(level, 60)))
    judged = since_thrown_back(series)
    assert judged.steps.tolist() == list(range(80, 140))
    assert judged.values[0] == pytest.approx(level)


def test_the_last_of_several_counts() -> None:
    series = resumed(rising(0.1, 100), (80, rising(-5, 60)), (120, rising(-4.6, 60)))
    assert since_thrown_back(series).steps[0] == 80


def test_a_few_rows_behind_a_restart_show_nothing() -> None:
    series = resumed(rising(0.1, 100), (80, [-5.0] * 4))
    assert since_thrown_back(series) is series
