"""The strip of the whole run below a chart."""

from __future__ import annotations

import numpy as np
import pytest

from rltui.core.level import Level
from rltui.draw.chart.chart_model import Chart, Curve
from rltui.draw.chart.render import render
from rltui.draw.glyph import BRAILLE, glyph_set
from rltui.draw.line import Line, Token, line_width, plain

X = np.arange(1000)
CURVE = Curve(X, np.where(X < 500, 1.0, 5.0), levels=[(500, None, Level.BAD)])


def draw(height: int = 24, width: int = 80, marker: str = "braille", **more: object) -> list[Line]:
    chart = Chart(CURVE, overview=True, first=0, last=999, **more)  # type: ignore[arg-type]
    lines = render(chart, width, height, glyph_set(marker))
    assert [line_width(line) for line in lines] == [width] * height
    return lines


def bar(line: Line) -> tuple[float, float]:
    """Begin and end of the visible part, as shares of the strip."""
    text = "".join("#" if look.fg is Token.ACCENT else "." for part, look in line for _ in part)
    left = len(plain(line)) - len(plain(line).lstrip())
    cells = len(plain(line).rstrip()) - left - len(" view")
    return (text.index("#") - left) / cells, (text.rindex("#") + 1 - left) / cells


@pytest.mark.parametrize("window", [(0, 250), (250, 500), (600, 999), (0, 999)])
def test_the_bar_is_where_the_window_is(window: tuple[int, int]) -> None:
    begin, end = bar(draw(window=window)[-1])
    assert begin == pytest.approx(window[0] / 1000, abs=0.03)
    assert end == pytest.approx(window[1] / 1000, abs=0.03)


def test_the_sparkline_shows_the_whole_run_in_the_colours_of_its_levels() -> None:
    spark = draw(window=(0, 100))[-2]
    assert "run" in plain(spark)
    looks = [look.fg for part, look in spark if part.strip() and "run" not in part]
    assert looks == [Token.SPARK, Token.BADFILL]


@pytest.mark.parametrize(
    ("height", "window", "shown"),
    [(24, None, True), (23, None, False), (12, (0, 100), True), (11, (0, 100), False)],
)
def test_a_low_chart_has_a_strip_only_when_it_is_enlarged(
    height: int, window: tuple[int, int] | None, shown: bool
) -> None:
    last = plain(draw(height, window=window)[-1])
    assert last.rstrip().endswith("view") is shown


def test_ascii_and_a_run_without_points() -> None:
    assert all(plain(line).isascii() for line in draw(marker="ascii", window=(10, 20))[-2:])
    empty = Chart(Curve(np.zeros(0), np.zeros(0)), overview=True, window=(3, 4))
    assert len(render(empty, 60, 20, BRAILLE)) == 20
