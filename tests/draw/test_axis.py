"""Axes: round ticks, evenly spaced, in one format. The strip of the whole run below a chart."""

from __future__ import annotations

import itertools
import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui.core.level import Level
from rltui.draw.chart.axis import end_scale, linear_scale, log_scale, round_ticks, x_ticks
from rltui.draw.chart.chart_model import Chart, Curve
from rltui.draw.chart.render import render
from rltui.draw.glyph import BRAILLE, glyph_set
from rltui.draw.line import Line, Token, line_width, plain
from rltui.facts import numbers
from tests.tables import cases

FINITE = st.floats(allow_nan=False, allow_infinity=False)


@cases(__file__, "test_ticks_of_a_plot")
def test_ticks_of_a_plot(low: float, high: float, rows: int, labels: list[str]) -> None:
    assert [label for _, label in linear_scale(low, high, rows).ticks] == labels


@given(FINITE, FINITE, st.integers(1, 120))
def test_a_linear_scale_holds_its_range_with_even_ticks(a: float, b: float, rows: int) -> None:
    low, high = sorted((a, b))
    scale = linear_scale(low, high, rows)
    assert scale.rows == rows
    assert scale.low < scale.high
    if abs(low) < 1e300 and abs(high) < 1e300:
        room = max(abs(low), abs(high), 1e-280) * 1e-6
        assert scale.low <= low + room
        assert scale.high >= high - room
    where = [row for row, _ in scale.ticks]
    assert where == sorted(set(where))
    assert len({b - a for a, b in itertools.pairwise(where)}) <= 1
    assert all(0 <= row < rows for row in where)
    assert len(where) <= 8


@given(st.floats(min_value=5e-324, max_value=1.7e308), st.floats(1, 1e12), st.integers(1, 60))
def test_a_log_scale_never_fails(low: float, ratio: float, rows: int) -> None:
    high = min(low * ratio, 1.7e308)
    scale = log_scale(low, high, rows)
    assert scale.low < scale.high
    assert len({row for row, _ in scale.ticks}) == len(scale.ticks)
    assert all(0 <= row < rows for row, _ in scale.ticks)
    assert np.isfinite(scale.share(np.array([low, high]))).all()


def test_log_ticks() -> None:
    def labels(low: float, high: float, rows: int) -> list[str]:
        return [label for _, label in log_scale(low, high, rows).ticks]

    assert log_scale(1e-6, 3, 12).ticks == ((0, "1e-6"), (3, "1e-4"), (7, "0.01"), (10, "1"))
    assert labels(1e-6, 3, 19) == ["1e-6", "1e-5", "1e-4", "0.001", "0.01", "0.1", "1"]
    assert labels(2, 30, 19) == ["2", "5", "10", "20"]
    assert labels(0.004, 0.6, 19) == ["0.005", "0.01", "0.02", "0.05", "0.1", "0.2", "0.5"]
    assert labels(1.1, 1.9, 19) == ["1.2", "1.4", "1.6", "1.8"]


def test_ends() -> None:
    assert end_scale(0, 3.82, 6).ticks == ((0, "0"), (5, "3.82"))
    assert end_scale(0, 0.04, 6, constant=True).ticks == ((2, "0.0200"),)


@cases(__file__, "test_labels_share_a_format")
def test_labels_share_a_format(values: list[float], step: float, labels: list[str]) -> None:
    assert numbers.ticks(values, step) == labels


@cases(__file__, "test_x_ticks")
def test_x_ticks(first: float, last: float, cells: int, kind: str, labels: list[str]) -> None:
    assert [label for _, label in x_ticks(first, last, cells, kind)] == labels


@cases(__file__, "test_round_ticks")
def test_round_ticks(low: float, high: float, labels: list[str]) -> None:
    found = round_ticks(low, high, 16)
    assert [label for _, label in found] == labels
    assert all(low - 1e-6 <= at <= high + 1e-6 for at, _ in found)


@pytest.mark.parametrize(("kind", "first"), [("clock", 1.79e9), ("time", 864_000.0)])
def test_ticks_of_times_differ(kind: str, first: float) -> None:
    for span, cells in product([3, 50, 200, 3000, 9e4, 2e5, 1e6, 1e8], [30, 100]):
        labels = [label for _, label in x_ticks(first, first + span, cells, kind)]
        assert len(labels) >= 2, (span, cells)
        assert len(set(labels)) == len(labels), (span, cells)


@given(FINITE, FINITE, st.integers(0, 400), st.sampled_from(["step", "time", "clock", "number"]))
def test_x_ticks_of_anything(a: float, b: float, cells: int, kind: str) -> None:
    first, last = sorted((a, b))
    ticks = x_ticks(first, last, cells, kind)
    assert len(ticks) <= max(1, cells)
    assert all(math.isfinite(x) for x, _ in ticks)


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
