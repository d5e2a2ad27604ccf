"""Writing over part of a finished line."""

from __future__ import annotations

import pytest

from rltui.draw.chart.canvas import spliced
from rltui.draw.line import ACCENT, MUTED, TEXT, Line, Token, plain, style

LINE: Line = [("ab  ", TEXT), ("  cd", MUTED)]


@pytest.mark.parametrize(
    ("column", "expected"), [(0, "XY    cd"), (3, "ab XY cd"), (6, "ab    XY")]
)
def test_a_text_takes_the_place_of_what_was_there(column: int, expected: str) -> None:
    assert plain(spliced(LINE, column, "XY", ACCENT)) == expected


def test_the_rest_keeps_its_look() -> None:
    assert spliced(LINE, 3, "X", ACCENT) == [("ab ", TEXT), ("X", ACCENT), ("  cd", MUTED)]


def test_data_is_left_alone() -> None:
    assert spliced(LINE, 1, "X", ACCENT, blank_only=True) is LINE
    assert plain(spliced(LINE, 4, "X", ACCENT, blank_only=True)) == "ab  X cd"


def test_the_ground_of_the_healthy_range_stays() -> None:
    tinted: Line = [("   ", style(bg=Token.TINT))]
    assert spliced(tinted, 1, "X", ACCENT)[1] == ("X", style(Token.ACCENT, bg=Token.TINT))
