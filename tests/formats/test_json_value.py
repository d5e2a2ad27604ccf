"""Durations, shares, fractions and dates as logs write them."""

from __future__ import annotations

import pytest

from rltui.formats.json_value import fraction_of, number_of, seconds_of, wall_of


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0:01:03", 63.0),
        ("3 days, 17:51:32", 323492.0),
        ("1 day, 0:00:01", 86401.0),
        ("0:00:01.500000", 1.5),
        ("6s", 6.0),
        ("46m 13s", 2773.0),
        ("1h 2m 3s", 3723.0),
        ("2d 1h", 176400.0),
        ("0.5s", 0.5),
        ("", None),
        ("s", None),
        ("12:30", None),
        ("soon", None),
    ],
)
def test_durations(text: str, seconds: float | None) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize(
    ("text", "number"),
    [("0.5", 0.5), (" 1e-3 ", 0.001), ("2.28%", 2.28), ("1_0", None), ("7s", 7.0), ("a", None)],
)
def test_numbers(text: str, number: float | None) -> None:
    assert number_of(text) == number


def test_fractions() -> None:
    assert fraction_of("5/200") == (5, 200)
    assert fraction_of(" 10 / 438 ") == (10, 438)
    assert [fraction_of(v) for v in ("5/", "a/b", "-1/2", "1/2/3", 5, None)] == [None] * 6


@pytest.mark.parametrize(
    ("value", "wall"),
    [
        (1.78e9, 1.78e9),
        (1780000000500, 1780000000.5),
        ("2026-05-28T20:26:40Z", 1.78e9),
        ("2026-05-28 20:26:40.500+00:00", 1780000000.5),
        (12.5, None),
        (-1.78e9, None),
        (float("nan"), None),
        (True, None),
        ("2026-13-99 99:99:99", None),
        ("yesterday", None),
        (None, None),
    ],
)
def test_wall_times(value: object, wall: float | None) -> None:
    assert wall_of(value) == wall
