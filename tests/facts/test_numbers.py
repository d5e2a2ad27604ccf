"""The formatter: every example of the design, the borders of its rules, and no surprises.

Whether two groups of runs differ by more than their seeds explain.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rltui.core.text import cell_width
from rltui.facts import numbers
from rltui.facts.groups import difference, level_at_end
from tests.builders import a_run
from tests.tables import cases


@cases(__file__, "the_text_of_a_number")
def test_the_text_of_a_number(name: str, x: float | None, text: str) -> None:
    assert getattr(numbers, name)(x) == text


@pytest.mark.parametrize(
    ("x", "text"),
    [(np.float32(0.7), "0.700"), (np.float32(0.001), "0.0010"), (np.int64(42), "42.0"),
     (10**400, "Inf"), (-(10**400), "-Inf"), (True, "1.00")],
)  # fmt: skip
def test_the_text_of_a_number_that_is_no_float(x: float, text: str) -> None:
    assert numbers.value(x) == text


@cases(__file__, "aligned")
def test_aligned(x: float | None, field: str) -> None:
    assert numbers.aligned(x) == field


@given(st.floats())
@example(-9.996e-100)
@example(-999.9999)
def test_any_float_fits_its_field(x: float) -> None:
    field = numbers.aligned(x)
    assert cell_width(field) == 10
    assert field.strip() == numbers.value(x)
    if "." in field and len(numbers.value(x).partition(".")[2]) <= 4:
        assert field[5] == "."


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_value_reads_back(x: float) -> None:
    text = numbers.value(x).replace(",", "")
    for suffix, size in (("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12)):
        if text.endswith(suffix):
            text = repr(float(text[:-1]) * size)
    tolerance = 0.051 if abs(x) < 0.01 or abs(x) >= 9.9e14 else 0.0051
    if abs(x) < 1.79e308:
        assert math.isclose(float(text), x, rel_tol=tolerance, abs_tol=1e-322)


@cases(__file__, "change_has_an_arrow_and_no_sign")
def test_change_has_an_arrow_and_no_sign(old: float, new: float, text: str) -> None:
    assert numbers.change(old, new) == text


@cases(__file__, "percent")
def test_percent(fraction: float | None, whole: bool, text: str) -> None:
    assert numbers.percent(fraction, whole=whole) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(17.4, "17.4 s"), (6.5, "6.5 s"), (0.26, "0.26 s"), (0.026, "26 ms"), (1e-5, "< 1 ms"),
     (59.96, "1m00s"), (59.94, "59.9 s"), (0.9951, "1.0 s"), (144, "2m24s"), (0, "0 s")],
)  # fmt: skip
def test_duration_with_tenths(seconds: float, text: str) -> None:
    assert numbers.duration(seconds, tenths=True) == text


@given(st.floats(), st.booleans())
def test_durations_take_six_cells_at_most(seconds: float, tenths: bool) -> None:
    assert 1 <= cell_width(numbers.duration(seconds, tenths)) <= 6
    assert 1 <= cell_width(numbers.age(seconds)) <= 7


@pytest.mark.parametrize(
    ("first", "last", "text"),
    [(30, 31, "30 to 31"), (44_544, 44_544, "at 44,544"), (1_000_000, 1_000_100, "at 1.00M")],
)
def test_step_range(first: int, last: int, text: str) -> None:
    assert numbers.step_range(first, last) == text


def test_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    noon = 1_800_000_000.0
    assert len(numbers.clock(noon)) == 8
    for odd in (None, math.nan, math.inf, 1e300):
        assert numbers.clock(odd) == "–"


def test_the_last_tenth_stands_for_where_a_run_got_to() -> None:
    series = a_run({"loss": [9.0] * 18 + [2.0, 4.0]}).series("loss")
    assert level_at_end(series) == 3.0


def test_groups_that_do_not_overlap_differ() -> None:
    found = difference(np.array([1.0, 1.1, 1.2, 1.3]), np.array([0.1, 0.2, 0.3, 0.4]))
    assert found.difference == pytest.approx(0.9)
    # 2 of the 70 ways to choose four of eight runs part them as far
    assert found.chance == pytest.approx(2 / 70)
    assert found.is_real


def test_a_few_runs_cannot_tell() -> None:
    found = difference(np.array([1.0, 1.1, 1.2]), np.array([0.1, 0.2, 0.3]))
    assert found.chance == found.rarest == pytest.approx(0.1)
    assert not found.can_tell
    assert not found.is_real


def test_equal_groups_do_not_differ() -> None:
    same = np.full(5, 0.1)
    found = difference(same, same)
    assert (found.difference, found.chance) == (0.0, 1.0)
    assert difference(same, np.empty(0)) is None


def test_chance_is_right_as_often_as_it_says() -> None:
    random = np.random.default_rng(5)
    found = [difference(random.normal(size=5), random.normal(size=5)) for _ in range(300)]
    real = np.mean([f is not None and f.is_real for f in found])
    assert 0.02 < real < 0.08


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_many_runs_are_compared_by_a_sample_of_the_ways(shift: float) -> None:
    random = np.random.default_rng(7)
    found = difference(random.normal(size=60) + shift, random.normal(size=140))
    assert found.is_real == (shift > 0)
    assert found.chance > 0
