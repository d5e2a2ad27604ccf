"""Numbers and templates."""

from __future__ import annotations

import math

import pytest

from rltui.health.words import fields_of, fill, number, whole


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"), (2.4567, "2.46"), (0.17632, "0.176"), (971.6, "972"), (99.96, "100"),
        (1234.5, "1234"), (1.0e-6, "1.0e-6"), (5.62, "5.62"), (-3.0e-5, "-3.0e-5"),
        (1e30, "1.0e30"),
        (0.001, "0.001"), (0.2, "0.2"), (math.nan, "nan"), (math.inf, "inf"), (-math.inf, "-inf"),
    ],
)  # fmt: skip
def test_number(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "1"), (16_384, "16,384"), (999_999, "999,999"), (1_580_000, "1.58M"), (2.0, "2"),
        (1_200_000, "1.20M"), (-16_384, "-16,384"), (3.4e9, "3.40G"), (math.inf, "inf"),
    ],
)  # fmt: skip
def test_whole_numbers_are_those_of_the_screen(value: float, text: str) -> None:
    assert whole(value) == text
    assert fill("{n:d}", {"n": value}) == text


def test_steps_are_whole_numbers() -> None:
    assert fill("{at} {x}", {"at": 123_456, "x": 123_456.0}) == "123,456 1.2e5"


def test_fill() -> None:
    values = {"a": 0.12, "n": 3.0, "word": "x", "none": None}
    text = fill("{a} {a:%} {n:d} {word} {none} {{}}", values)
    assert text == "0.12 12 % 3 x – {}"


def test_fields() -> None:
    assert fields_of("{a:%} of {b}") == [("a", "%"), ("b", "")]
    with pytest.raises(ValueError, match="conversions"):
        fields_of("{a!r}")
