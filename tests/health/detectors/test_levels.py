"""What is too high or too low by a limit, or by what the run had before, and what is not."""

import numpy as np
import pytest

from tests.health.detectors.said import Number, first_row, signal

Roles = dict[str, str]
GROWN: dict[str, Number] = {"factor": 3.0}
START: dict[str, Number] = {"share": 0.2}
WORSE: dict[str, Number] = {"factor": 3.0}
TWICE: Roles = {"length": "100x20 400x20"}


@pytest.mark.parametrize(("name", "given"), [("grown", GROWN), ("off_best", WORSE)])
def test_more_rows_are_needed_where_single_ones_scatter_widely(
    name: str, given: dict[str, Number]
) -> None:
    rng = np.random.default_rng(0)
    line = np.concatenate([np.ones(60), np.full(60, 4.0)])
    calm, wild = line * 2 ** (0.1 * rng.standard_normal(120)), line * 2 ** rng.normal(0, 2, 120)
    worth = [np.abs(signal(name, x, {}, **given).evidence()).mean() for x in (calm, wild)]  # type: ignore[arg-type]
    assert worth[0] > 3 * worth[1]


@pytest.mark.parametrize(
    ("name", "given", "near", "far"),
    [("grown", GROWN, 4, 1000), ("off_best", WORSE, 4, 1000), ("below_start", START, 0.1, 1e-4)],
)
@pytest.mark.parametrize("before", [10, 20, 50])
def test_a_farther_jump_takes_hardly_longer(
    name: str, given: dict[str, Number], near: float, far: float, before: int
) -> None:
    def takes(value: float) -> int:
        courses = [(rows, f"1x{before} {value}x{rows}") for rows in range(1, 99)]
        return next(n for n, x in courses if first_row(name, x, {}, **given) is not None)

    assert takes(far) <= takes(near) + 2


def test_the_best_is_a_median_and_never_gets_worse() -> None:
    x = np.abs(np.random.default_rng(1).standard_normal(500)) + np.linspace(3.0, 1.0, 500)
    for factor, sign in ((2.0, -1), (0.5, 1)):
        best = sign * signal("off_best", x, {}, factor=factor).facts["best"]
        assert (np.diff(best[2:]) >= 0).all()
        assert best[-1] < (sign * x).max()


def test_values_at_or_below_zero_are_no_measure_of_the_best() -> None:
    assert signal("off_best", "-1x20 -9x20", {}, factor=2.0).silent
    assert not signal("off_best", "9x20 -1x20", {}, factor=2.0).silent


def test_longer_answers_may_take_longer_and_it_is_said() -> None:
    found = signal("off_best", "1x20 20x20", TWICE, factor=3.0)
    assert found.facts["growth"][-1] == 4.0
    assert found.facts["factor"][-1] == 5.0
    ((flags, note),) = found.notes
    assert flags[-1]
    assert not flags[0]
    assert "{growth} times" in note


def test_the_usual_is_that_of_the_rows_before_and_never_next_to_nothing() -> None:
    usual = signal("spike", "1x20 500x1 1x20", {}, factor=10.0).facts["usual"]
    assert np.isnan(usual[:5]).all()
    assert (usual[5:] == 1.0).all()
    assert signal("spike", "4..8x5 1x200", {}, factor=10.0).facts["usual"][-1] == 5.0
