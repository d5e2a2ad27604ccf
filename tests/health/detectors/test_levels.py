"""What is too high or too low by a limit, or by what the run had before, and what is not."""

import numpy as np
import pytest

from tests.health.detectors.said import Number, first_row, signal

Roles = dict[str, str]
HIGH: dict[str, Number] = {"high": 2.0}
GROWN: dict[str, Number] = {"factor": 3.0}
START: dict[str, Number] = {"share": 0.2}
OFTEN: dict[str, Number] = {"high": 0.2}
AT_TOP: dict[str, Number] = {"high": 0.5, "most": 1e-4, "at_top": True}
WORSE: dict[str, Number] = {"factor": 3.0}
LESS: dict[str, Number] = {"factor": 0.5}
SPIKE: dict[str, Number] = {"factor": 10.0}
TWICE: Roles = {"length": "100x20 400x20"}


@pytest.mark.parametrize(
    ("name", "given", "text", "roles", "expected"),
    [
        ("outside", HIGH, "1x20 3x9", {}, 20),
        ("outside", HIGH, "1x20 3x2", {}, None),
        ("outside", HIGH, "1x20 3x9 1x30", {}, "over"),
        ("outside", HIGH, "1x20 -3x9", {}, None),
        ("outside", {**HIGH, "absolute": True}, "1x20 -3x9", {}, 20),
        ("outside", {"low": 0.5, "high": 2.0}, "1x20 0.2x9", {}, 20),
        # rows inside weigh by the nearer limit
        ("outside", {"low": 0.5, "high": 2.0}, "1x20" + " 0.3 0.55" * 9, {}, 20),
        ("outside", {"low": 0.5, "high": 2.0}, "1x20" + " 3.33 1.82" * 9, {}, 20),
        ("outside", {"low": -2.0, "high": -0.5}, "-1x20" + " -0.3 -0.55" * 9, {}, 20),
        ("outside", HIGH, "1x20 90x1 1x1", {}, None),
        ("outside", {**HIGH, "event": True}, "1x20 90x1 1x1", {}, 20),
        ("outside", {**HIGH, "per_unit": 0.1}, "1x20 3x9", {"length": "10x20 60x9"}, None),
        ("outside", {**HIGH, "per_unit": 0.1}, "1x20 3x9", {"length": "10x29"}, 20),
        ("outside", {**HIGH, "per_unit": 0.1}, "1x20 3x9", {}, 20),
        # every critic begins without: a row says little, and none when nothing is left to explain
        ("outside", {"low": 0.0, "explained": True}, "0.5x20 -0.1x9", {}, None),
        ("outside", {"low": 0.0, "explained": True}, "0.5x20 -0.1x40", {}, 20),
        ("outside", {"low": 0.0, "explained": True}, "0.5x20 -1x9", {}, None),
        ("outside", {"low": 0.0, "explained": True}, "0.5x20 -1x40", {"error": "9x60"}, 20),
        ("outside", {"low": 0.0, "explained": True}, "0.5x20 -1x30", {"error": "9x20 0x30"}, None),
        ("outside", {"low": 0.5, "positive": True}, "1x20 0x9", {}, None),
        ("outside", {**HIGH, "least_other": 0.1}, "1x20 3x9", {"other": "0.2x29"}, None),
        ("outside", {**HIGH, "least_other": 0.1}, "1x20 3x9", {"other": "-0.4x29"}, 20),
        ("outside", {**HIGH, "least_other": 0.1}, "1x20 3x9", {}, 20),
        ("quotient", HIGH, "1x20 3x9", {"other": "1x29"}, 20),
        ("quotient", HIGH, "1x20 -3x9", {"other": "-1x29"}, 20),
        ("quotient", HIGH, "1x20 3x9", {"other": "1x20 2x9"}, None),
        ("quotient", HIGH, "1x20 3x9", {"other": "1x29", "spread": "2x29"}, None),
        ("quotient", HIGH, "1x20 3x9", {"other": "1x29", "spread": "nanx29"}, 20),
        ("quotient", HIGH, "1x20 3x9", {"other": "0x29"}, None),
        ("quotient", HIGH, "1x20 3x9", {"spread": "1x29"}, None),
        ("often", OFTEN, "1x30 0x9", {}, 33),
        ("often", OFTEN, "1x30" + " 0 1 1 1 1 1 1" * 9, {}, None),
        ("often", OFTEN, "0 1 1 " * 12, {}, 0),
        ("often", {**OFTEN, "most": 0.3}, "1x30 0.3x9", {}, 33),
        ("often", AT_TOP, "0.7~0.2x30 1x60", {}, 31),
        ("often", AT_TOP, "0.5..2x90", {}, None),
        ("often", AT_TOP, "0x90", {}, None),
        ("grown", {**GROWN, "zero": 1.0}, "1.01x20 1.04x9", {}, 20),
        ("grown", {**GROWN, "zero": 1.0}, "0.99x20 0.96x9", {}, 20),
        ("grown", {**GROWN, "zero": 1.0}, "1.01x20 1.02x9", {}, None),
        ("grown", {**GROWN, "always": 4.0}, "3x20 5x9", {}, 20),
        ("grown", {**GROWN, "always": 4.0}, "5x20", {}, 0),
        ("below_start", START, "5x20 2.1x9", {"bottom": "2x29"}, 20),
        ("below_start", START, "5x20 3x9", {"bottom": "2x29"}, None),
        ("grown", GROWN, "1x20 4x9", {}, 20),
        ("grown", GROWN, "1x20 2x20", {}, None),
        ("grown", GROWN, "-1x20 -4x9", {}, 20),
        ("grown", {**GROWN, "absolute": False}, "-1x20 -4x9", {}, None),
        ("grown", {**GROWN, "floor": 5.0}, "1x20 4x9", {}, None),
        ("grown", {**GROWN, "floor": 5.0}, "1x20 9x9", {}, 20),
        ("grown", {**GROWN, "least_second": 0.5}, "1x20 4x9", {"second": "0x20 1x9"}, 20),
        ("grown", {**GROWN, "least_second": 0.5}, "1x20 4x9", {"second": "0x29"}, None),
        ("grown", {**GROWN, "least_second": 0.5}, "1x20 4x9", {}, None),
        ("below_start", START, "4x20 0.5x9", {}, 20),
        ("below_start", START, "4x20 1x30", {}, None),
        ("below_start", START, "4x3 0.5x9", {}, 3),
        ("below_start", START, "-4x20 -0.5x9", {}, None),
        ("below_start", {**START, "unit": 1.4}, "1.4x20 0.1x9", {}, None),
        ("below_start", {**START, "unit": 1.4}, "2x20 0.1x9", {}, 20),
        ("off_best", WORSE, "9x20 1x20 4x20", {}, 40),
        ("off_best", WORSE, "9x20 1x20 2x20", {}, None),
        ("off_best", WORSE, "4x20 1x1 4x20", {}, None),
        ("off_best", WORSE, "1x20 4x20", TWICE, None),
        ("off_best", WORSE, "1x20 20x20", TWICE, 20),
        ("off_best", {**WORSE, "least_second": 0.5}, "1x20 4x20", {"second": "1x40"}, 20),
        ("off_best", {**WORSE, "least_second": 0.5}, "1x20 4x20", {}, None),
        ("off_best", {"factor": 1.1, "event": True}, "1x20 200", {}, 20),
        ("off_best", {"factor": 1.1}, "1x20 200", {}, None),
        ("off_best", LESS, "1x20 8x20 3x20", {}, 40),
        ("off_best", LESS, "1x20 8x20 5x20", {}, None),
        ("off_best", LESS, "-8x20 -9x20", {}, None),
        ("spike", SPIKE, "1x20 500x1 1x1", {}, 20),
        ("spike", SPIKE, "1x20 5x4", {}, None),
        ("spike", SPIKE, "1x3 500x1", {}, None),
        ("spike", SPIKE, "5x5 5e-9x60 1e-6x9", {}, None),
    ],
)  # fmt: skip
def test_what_is_found_and_from_which_row_on(
    name: str, given: dict[str, Number], text: str, roles: Roles, expected: object
) -> None:
    assert first_row(name, text, roles, **given) == expected


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
