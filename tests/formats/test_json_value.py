"""Durations, shares, fractions and dates as logs write them."""

from __future__ import annotations

import pytest

from rltui.formats.json_value import seconds_of, wall_of


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
