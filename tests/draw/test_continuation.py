"""A trend drawn on to its limit."""

from dataclasses import replace

import numpy as np
import pytest

from rltui.draw.chart.chart_model import Chart, Continuation, Curve, Limit
from rltui.draw.chart.render import render
from rltui.draw.glyph import glyph_set
from rltui.draw.line import line_width, plain
from rltui.draw.metric_chart import chart_lines, chart_of
from rltui.draw.view import View
from rltui.session import JudgedRun
from tests.builders import START, a_batch, a_block, a_source
from tests.fakes import a_session, grpo_clock, grpo_tags

X = np.arange(0, 101)
FALLING = Chart(
    Curve(X, 1.0 - 0.005 * X),
    end=150.0,
    healthy=(0.3, None),
    limits=[Limit(0.3)],
    continuation=Continuation(100, 0.5, 0.3, 130, 145),
)


def text(chart: Chart, marker: str = "ascii") -> list[str]:
    return [plain(x) for x in render(chart, 70, 20, glyph_set(marker))]


def test_a_continuation_leads_from_the_newest_point_to_the_limit() -> None:
    lines = text(replace(FALLING, limits=()))
    dashes = [(r, c) for r, line in enumerate(lines) for c, x in enumerate(line) if x == ":"]
    newest = max(c for line in lines for c, x in enumerate(line) if x == "*")
    rows, columns = zip(*dashes, strict=True)
    assert min(columns) >= newest
    assert list(rows) == sorted(rows)
    left, right = lines[-2].index("+"), lines[-2].rindex("-")
    at = {step: left + (right - left) * step / 150 for step in (100, 145)}
    assert abs(min(columns) - at[100]) <= 3
    assert abs(max(columns) - at[145]) <= 3


def test_without_space_beyond_the_newest_point_nothing_is_drawn() -> None:
    assert text(replace(FALLING, end=None)) == text(replace(FALLING, end=None, continuation=None))


@pytest.mark.parametrize("marker", ["braille", "block", "ascii"])
@pytest.mark.parametrize("limit", [0.3, -5.0, float("1e300")])
@pytest.mark.parametrize("log", [False, True])
def test_any_limit_fits(marker: str, limit: float, log: bool) -> None:
    chart = replace(FALLING, log=log, continuation=Continuation(100, 0.5, limit, 101, 101))
    for width, height in ((1, 1), (12, 5), (70, 20)):
        lines = render(chart, width, height, glyph_set(marker))
        assert len(lines) == height
        assert all(line_width(x) == width for x in lines)


def a_run(**tags: list[float]) -> JudgedRun:
    given = grpo_tags(120, 1, None) | {k.replace("__", "/"): v for k, v in tags.items()}
    block = a_block(given, first=1, walls=[START + 20.0 * s for s in range(1, 121)])
    batch = a_batch(block, source=a_source("run/events.0", modified=START + 2400))
    (run,) = a_session(batch, clock=grpo_clock(120)).runs()
    return run


def test_a_live_run_shows_when_it_reaches_its_limit() -> None:
    run = a_run(actor__entropy=[1.0 - 0.006 * s for s in range(120)])
    chart = chart_of(run, "actor/entropy", View(), continued=True)
    assert chart.end is not None
    assert chart.end > chart.continuation.x
    assert chart.continuation.limit == chart.limits[0].value
    lines = "\n".join(plain(x) for x in chart_lines(run, "actor/entropy", View(), 76, 20))
    assert ", at about 1" in lines


def test_a_steady_metric_and_a_small_chart_have_none() -> None:
    steady = a_run(actor__entropy=[1.0] * 120)
    assert chart_of(steady, "actor/entropy", View(), continued=True).continuation is None
    falling = a_run(actor__entropy=[1.0 - 0.006 * s for s in range(120)])
    small = chart_lines(falling, "actor/entropy", View(), 60, 9, stacked=True)
    assert not any("at about" in plain(x) for x in small)
