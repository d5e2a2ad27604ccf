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

VALUES = [
    # from the pictures
    (0.7, "0.700"), (0.994, "0.994"), (1.0, "1.00"), (48.0, "48.0"), (972, "972"),
    (2650, "2,650"), (12_345, "12.3k"), (1_234_567, "1.23M"), (0.0013, "0.0013"),
    (1.3e-4, "1.3e-4"), (-3.0e-5, "-3.0e-5"), (2.68, "2.68"), (0.02, "0.0200"),
    (1.6e-4, "1.6e-4"), (-0.056, "-0.0560"), (-0.0025, "-0.0025"), (1.0e-6, "1.0e-6"),
    (-7.4e-4, "-7.4e-4"), (0.0015, "0.0015"), (0.0743, "0.0743"), (19.6, "19.6"),
    (195, "195"), (9.2e-6, "9.2e-6"), (0.001, "0.0010"), (1.1e-10, "1.1e-10"), (3.82, "3.82"),
    (-1234, "-1.23k"), (1.2e15, "1.2e15"), (0, "0"), (-0.0, "0"),
    # borders, after rounding
    (999.4, "999"), (999.6, "1,000"), (9999.4, "9,999"), (9999.6, "10.0k"), (9_996, "9,996"),
    (99_950, "100k"), (999_600, "1.00M"), (999.4e12, "999T"), (999.6e12, "1.0e15"),
    (0.00996, "0.0100"), (0.09996, "0.100"), (0.9996, "1.00"), (9.996, "10.0"),
    (0.00099, "9.9e-4"), (0.000996, "0.0010"), (-999.4, "-999"), (-999.6, "-1.00k"),
    # what floats bring along
    (np.float32(0.7), "0.700"), (np.float32(0.001), "0.0010"), (np.int64(42), "42.0"),
    (5e-324, "4.9e-324"), (1.7e308, "1.7e308"), (-1.7e308, "-1.7e308"),
    (math.nan, "NaN"), (math.inf, "Inf"), (-math.inf, "-Inf"), (None, "–"),
    (10**400, "Inf"), (-(10**400), "-Inf"), (True, "1.00"),
]  # fmt: skip


TEXTS = {
    "value": VALUES,
    "short": [(0.08, "0.08"), (1, "1"), (2.5, "2.5"), (14, "14"), (1135, "1,135"), (20_000, "20k"),
     (0.015, "0.015"), (1e-6, "1.0e-6"), (0, "0"), (100, "100"), (None, "–")],
    "plain": [(0.0, "0"), (2.4567, "2.46"), (0.17632, "0.176"), (971.6, "972"), (99.96, "100"),
     (1234.5, "1234"), (1.0e-6, "1.0e-6"), (5.62, "5.62"), (-3.0e-5, "-3.0e-5"),
     (1e30, "1.0e30"), (0.001, "0.001"), (0.2, "0.2"), (-0.5, "-0.5"),
     (math.nan, "NaN"), (math.inf, "Inf"), (-math.inf, "-Inf")],
    "factor": [(7.6, "× 7.6"), (200, "× 200"), (468.3, "× 470"), (5.0, "× 5.0"), (6.6, "× 6.6"),
     (0.0715, "× 0.07"), (0.73, "× 0.73"), (0.04, "× 0.04"), (1.3, "× 1.3"), (9.96, "× 10"),
     (12_345, "× 12k"), (1.25e6, "× 1.2e6"), (0.0042, "× 0.004"), (1.3e-4, "× 1.3e-4"),
     (0, "× 0"), (math.inf, "× Inf"), (math.nan, "× NaN"), (None, "–")],
    "duration": [(4, "4 s"), (58, "58 s"), (59.6, "1m00s"), (144, "2m24s"), (3599.6, "1h00m"),
     (11_520, "3h12m"), (187_200, "2d04h"), (86_399, "23h59m"), (100 * 86_400, "100d"),
     (0, "0 s"), (-5, "0 s"), (math.nan, "–"), (math.inf, "–"), (None, "–"), (1e15, "> 270y")],
    "age": [(4, "4 s"), (0.9, "0 s"), (59.9, "59 s"), (2470, "41 m"), (7200, "2 h"),
     (3 * 86_400, "3 d"), (-3, "0 s"), (None, "–"), (math.nan, "–"),
     (729 * 86_400, "729 d"), (2963 * 86_400, "8 y"), (1e300, "2737 y")],
    "step": [(72, "72"), (60_416, "60,416"), (999_999, "999,999"), (1_000_000, "1.00M"),
     (12_345_678, "12.3M"), (0, "0"), (-5, "-5"), (2.5, "2.50"), (10**18, "1.0e18"),
     (None, "–"), (math.nan, "NaN")],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "x", "text"), [(name, *case) for name, cases in TEXTS.items() for case in cases]
)
def test_the_text_of_a_number(name: str, x: float | None, text: str) -> None:
    assert getattr(numbers, name)(x) == text


@pytest.mark.parametrize(
    ("x", "field"),
    [
        (0.7, "    0.700 "), (48.0, "   48.0   "), (972, "  972     "), (2650, "2,650     "),
        (0.0013, "    0.0013"), (-3.0e-5, "   -3.0e-5"), (1.3e-4, "    1.3e-4"),
        (0, "    0     "), (1.0, "    1.00  "), (12_345, "   12.3k  "), (123_456, "  123k    "),
        (-1234, "   -1.23k "), (-123_456, " -123k    "), (1.2e15, "    1.2e15"),
        (1.1e-10, "   1.1e-10"), (-1.2e-100, " -1.2e-100"), (-1.2e-10, "  -1.2e-10"),
        (math.nan, "  NaN     "), (math.inf, "  Inf     "), (-math.inf, " -Inf     "),
        (None, "    –     "),
    ],
)  # fmt: skip
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


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [(0.4468, 0.428, "↓ 0.0188"), (1, 1.0000209, "↑ 2.1e-5"), (1, 1, ""), (None, 1, ""),
     (1, math.nan, ""), (math.inf, 1, ""), (2785, 2650, "↓ 135"), (0.0, -0.0, ""),
     (-1.7e308, 1.7e308, "↑ Inf")],
)  # fmt: skip
def test_change_has_an_arrow_and_no_sign(old: float, new: float, text: str) -> None:
    assert numbers.change(old, new) == text


@pytest.mark.parametrize(
    ("fraction", "whole", "text"),
    [(0.8, False, "80 %"), (1.0, False, "100 %"), (0.0004, False, "0.04 %"), (0.3, False, "30 %"),
     (0.004, True, "< 1 %"), (0.006, True, "< 1 %"), (0.61, True, "61 %"), (0.9999, False, "99 %"),
     (0, True, "0 %"), (7.6, False, "760 %"), (12.345, False, "1,234 %"), (-0.06, False, "-6 %"),
     (None, False, "–"), (math.nan, False, "NaN"), (1e-9, False, "1.0e-7 %")],
)  # fmt: skip
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
