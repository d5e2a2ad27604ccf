"""Findings under a plot: every name once, whole or with an ellipsis, never inside of a bar."""

from __future__ import annotations

import re

import numpy as np
import pytest

from rltui.core.level import Level
from rltui.present.chart.render import Bar, Chart, Curve, Mark, render
from rltui.present.kit.glyph import glyph_set
from rltui.present.kit.line import plain

BRAILLE = glyph_set("braille")
X = np.arange(1, 73)
BAD = Level.BAD


def foot(bars: list[Bar], width: int = 60, height: int = 20, **more: object) -> list[str]:
    """The lines below the axis."""
    chart = Chart(Curve(X, np.sin(X)), bars=bars, **more)  # type: ignore[arg-type]
    lines = [plain(line) for line in render(chart, width, height, BRAILLE)]
    unit = next(n for n, line in enumerate(lines) if line.rstrip().endswith("step"))
    return [line.rstrip() for line in lines[unit + 1 :] if line.strip()]


def test_a_name_stands_left_of_its_bar_or_after_it() -> None:
    assert foot([Bar("kl", BAD, 31)])[0].startswith("kl  ")
    late, early = foot([Bar("over early", BAD, 2, 20, over=True), Bar("kl", BAD, 40)])[::-1]
    assert early.lstrip().endswith("━ over early")
    assert late.startswith("kl")


@pytest.mark.parametrize("since", [1, 15])
def test_a_name_without_room_beside_its_bar_has_a_line_of_its_own(since: int) -> None:
    name, bar = foot([Bar("a long name of a finding", BAD, since)])
    assert name.strip() == "a long name of a finding"
    assert re.fullmatch(r" *✖━+", bar)
    assert name.index("a") == bar.index("✖")


def test_with_too_few_lines_the_name_stands_for_its_bar() -> None:
    bars = [Bar(f"a long name, number {n}", BAD, 1) for n in range(3)]
    lines = foot(bars, height=11)
    assert [line.strip() for line in lines] == [f"✖ a long name, number {n}" for n in range(3)]


def test_what_is_cut_ends_in_an_ellipsis() -> None:
    name, _ = foot([Bar("a name that is longer than the chart is wide", BAD, 1)], 30, 9)
    assert name.endswith("…")
    bars = [Bar(f"a name that is cut, number {n}", BAD, 30) for n in range(3)]
    for line in foot(bars, height=11):
        assert re.fullmatch(r"a name that is cut,…\s*✖━+", line), "whole words"


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


def test_unnamed_bars_take_the_same_lines() -> None:
    bars = [Bar("a long name of a finding", BAD, 1), Bar("kl", BAD, 40)]
    marks = [Mark(30, "v")]

    def lines(named: bool) -> list[str]:
        chart = Chart(Curve(X, np.sin(X)), bars=bars, marks=marks, bar_names=named)
        return [plain(line) for line in render(chart, 60, 20, BRAILLE)]

    def bare(line: str) -> str:
        return re.sub(r"[a-z]{2,}|\ba\b", lambda found: " " * len(found[0]), line)

    assert lines(False)[-4:] == [bare(line) for line in lines(True)[-4:]]
