"""Numbers and templates."""

from __future__ import annotations

import math

import pytest

from rltui.health.words import fields_of, fill, number


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


def test_fill() -> None:
    values = {"a": 0.12, "n": 3.0, "word": "x", "none": None}
    text = fill("{a} {a:%} {n:d} {word} {none} {{}}", values)
    assert text == "0.12 12 % 3 x – {}"


def test_fields() -> None:
    assert fields_of("{a:%} of {b}") == [("a", "%"), ("b", "")]
    with pytest.raises(ValueError, match="conversions"):
        fields_of("{a!r}")
