"""Stacked areas: heights in eighths, colours, what lies above, letters in ascii."""

from __future__ import annotations

import numpy as np
import pytest

from rltui.core.level import Level
from rltui.draw.chart.stack import LETTERS, Stack, bar_line, stack_cells
from rltui.draw.glyph import ASCII, BRAILLE
from rltui.draw.line import STAGE_TOKENS, Line, Token, line_width, plain


def drawn(
    parts: list[list[float]], rows: int, top: float, usual: float | None = None
) -> list[Line]:
    stack = Stack(np.array(parts), range(len(parts)), top, usual)
    return stack_cells(stack, rows, BRAILLE)


def test_heights_are_eighths_of_a_cell() -> None:
    lines = drawn([[0.125, 0.5, 1.0, 1.5]], 2, 2.0)
    assert [plain(x) for x in lines] == ["   ▄", "▁▄██"]


def test_two_parts_share_a_cell() -> None:
    (line,) = drawn([[0.5], [0.5]], 1, 1.0)
    ((char, look),) = line
    assert (char, look.fg, look.bg) == ("▄", Token.STAGE_1, Token.STAGE_2)


def test_a_part_that_is_hardly_there_shows() -> None:
    (line,) = drawn([[0.001, 0.0, float("nan")]], 1, 1.0)
    assert plain(line) == "▁  "


def test_what_is_higher_than_the_plot_is_marked() -> None:
    lines = drawn([[3.0, 2.0]], 2, 2.0)
    assert [plain(x) for x in lines] == ["^█", "██"]


def test_the_usual_level_is_dotted_where_a_cell_is_of_one_kind() -> None:
    (line,) = drawn([[1.0, 0.5, 0.0]], 1, 1.0, usual=0.5)
    assert plain(line) == "┈▄┈"
    assert line[0][1].bg is Token.STAGE_1


def test_ascii_draws_letters_without_grounds() -> None:
    stack = Stack(np.array([[1.0, 2.0], [1.0, 0.0]]), (0, 1), 2.0)
    lines = stack_cells(stack, 2, ASCII)
    assert [plain(x) for x in lines] == ["=#", "##"]
    assert all(look.bg is None for x in lines for _, look in x)


@pytest.mark.parametrize("width", [1, 7, 40, 113])
@pytest.mark.parametrize("glyphs", [BRAILLE, ASCII])
def test_a_bar_fills_its_width(width: int, glyphs: object) -> None:
    parts = [("generate 61 %", 0.61, 0), ("update 30 %", 0.3, 1), ("other 9 %", 0.09, 5)]
    line = bar_line(parts, width, glyphs)  # type: ignore[arg-type]
    assert line_width(line) == width
    if width == 113:
        assert "generate 61 %" in plain(line)


def test_every_colour_has_a_letter() -> None:
    assert len(LETTERS) == len(STAGE_TOKENS) == len(set(LETTERS))
    assert not set(LETTERS) & {ASCII.limit, ASCII.rule, *map(ASCII.badge, Level)}
