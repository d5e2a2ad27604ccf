"""Findings under a plot: every name once and left of its bars, whole or with an ellipsis."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui.core.level import Level
from rltui.draw.chart.chart_model import Bar, Chart, Curve
from rltui.draw.chart.render import render
from rltui.draw.glyph import BRAILLE
from rltui.draw.line import plain

X = np.arange(1, 73)
BAD = Level.BAD


def foot(bars: list[Bar], width: int = 60, height: int = 20, **more: object) -> list[str]:
    """The lines below the axis."""
    chart = Chart(Curve(X, np.sin(X)), bars=bars, **more)  # type: ignore[arg-type]
    lines = [plain(line) for line in render(chart, width, height, BRAILLE)]
    unit = next(n for n, line in enumerate(lines) if line.rstrip().endswith("step"))
    return [line.rstrip() for line in lines[unit + 1 :] if line.strip()]


@pytest.mark.parametrize("since", [1, 2, 15, 31, 72])
@pytest.mark.parametrize("until", [None, 72])
def test_a_name_stands_whole_left_of_its_bar(since: int, until: int | None) -> None:
    (line,) = foot([Bar("a long name", BAD, since, until)])
    assert re.fullmatch(r"a long name *✖━*", line)


WINDOWS = st.tuples(st.integers(-50, 900), st.integers(1, 1000)).map(lambda w: (w[0], w[0] + w[1]))
BARS = st.lists(
    st.builds(
        Bar,
        st.sampled_from(["loss", "entropy collapse", "a name that is longer than the margin"]),
        st.just(BAD),
        st.integers(0, 999),
        st.none(),
    ),
    max_size=4,
)


@given(st.lists(WINDOWS, min_size=1, max_size=4), BARS, st.sampled_from([60, 90, 140]))
def test_the_plot_stays_where_it_is_while_one_pans_and_zooms(
    windows: list[tuple[int, int]], bars: list[Bar], width: int
) -> None:
    x = np.arange(1000)
    curve = Curve(x, np.exp(x / 100) - 3)

    def place(window: tuple[int, int] | None) -> tuple[int, int]:
        chart = Chart(curve, bars=bars, overview=True, window=window, first=0, last=999)
        lines = [plain(line) for line in render(chart, width, 24, BRAILLE)]
        axis = next(line for line in lines if "└" in line)
        return axis.index("└"), len(axis.rstrip())

    assert {place(window) for window in windows} == {place(None)}


def test_a_name_covers_a_bar_that_began_before_the_window() -> None:
    spike = Bar("a spike", BAD, 50, 66), Bar("a spike", BAD, 67)
    bars = [Bar("entropy collapse", BAD, 60), *spike]
    chart = Chart(Curve(X, np.sin(X)), bars=bars, overview=True, window=(65, 70))
    text = "\n".join(plain(line) for line in render(chart, 80, 24, BRAILLE))
    assert re.search(r"^a spike ━+ +✖━+ *$", text, re.MULTILINE)
    assert re.search(r"^entropy collapse ━+ *$", text, re.MULTILINE)


def test_what_is_cut_ends_in_an_ellipsis_beside_its_bar() -> None:
    (line,) = foot([Bar("a name that is longer than the chart is wide", BAD, 1)], 30, 9)
    assert re.fullmatch(r"\S.*… ✖━+", line)


def test_lanes_without_room_are_counted() -> None:
    bars = [Bar(f"name {n}", BAD, 30 + n) for n in range(9)]
    lines = foot(bars, height=14)
    assert len(lines) < 9
    assert sum("name" in x for x in lines) == len(lines)
    assert f"+{9 - len(lines)} more" in lines[-1]
    assert "more" not in "".join(foot(bars[:2]))


def test_a_name_stands_once_for_all_of_its_bars() -> None:
    bars = [Bar("spike", BAD, 30, 33, over=True), Bar("spike", BAD, 50, 55), Bar("spike", BAD, 70)]
    (line,) = foot(bars)
    assert line.count("spike") == 1
    assert line.count("✖") == 3
