"""A hyperparameter against where a metric got to: one point for each run of a sweep."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rltui.core.level import Level
from rltui.core.text import cell_width, fit, pad
from rltui.draw.chart.axis import Scale, linear_scale, log_scale
from rltui.draw.line import (
    MUTED,
    RULE,
    TEXT,
    Line,
    Span,
    Token,
    alarm_look,
    joined,
    longest,
    style,
)
from rltui.draw.table import heading
from rltui.draw.view import View
from rltui.facts.comparison import Comparison, RunRow
from rltui.facts.groups import setting_of
from rltui.facts.run_columns import as_number
from rltui.pages.comparison.lines import ShownMetric
from rltui.session import JudgedRun

#: Values of a hyperparameter that stand side by side; more are put on an axis of numbers, which is
#: logarithmic from this ratio on.
_SIDE_BY_SIDE, _LOG_FROM = 12, 30.0
#: Cells left of the axis.
_LABELS = 10
#: Cells of the line of a mean at either side.
_MEAN = 4
#: Cells of a value that others are left out for.
_LONGEST = 12


class _Point(NamedTuple):
    text: str
    """The value of the hyperparameter."""
    result: float
    run: JudgedRun


def settings_to_plot(comparison: Comparison) -> list[str]:
    """Hyperparameters in which the runs differ, the one that they are grouped by first."""
    names, by = comparison.sweep.settings, comparison.grouping
    return sorted(names, key=lambda name: by is None or name != by.title)


def scatter_lines(shown: ShownMetric, setting: str, width: int, height: int) -> list[Line]:
    """The chart with its title in ``width`` x ``height`` cells. A bad run, or one to watch, is its
    badge, the runs ``here`` stand out, and a line is the mean over the runs of one value. Runs that
    would share a cell stand side by side."""
    comparison, metric, here, view = shown
    known = ((setting_of(r, setting), metric.at_end(r), r) for r in comparison.runs)
    points = [_Point(t, x, r) for t, x, r in known if t and x is not None and math.isfinite(x)]
    missing = len(comparison.runs) - len(points)
    note = f"not known of {missing} runs  " if missing else ""
    title = f"{metric.title} against {setting}"
    lines = [heading(title, width, view, f"{note}x: the next one")]
    rows, cells = height - 3, width - _LABELS - 1
    if not points or rows < 2 or cells < 8:
        return [*lines, [(f"no run has both {setting} and this metric", MUTED)]][:height]

    results = [p.result for p in points]
    low, high = min(results), max(results)
    scale = (log_scale if view.log_y and low > 0 else linear_scale)(low, high, rows)
    places, labels = _across([p.text for p in points], cells)
    grid = _plotted(list(zip(places, points, strict=True)), scale, cells, here, view)
    ticks = dict(scale.ticks)
    for row in reversed(range(rows)):
        label = pad(ticks.get(row, ""), _LABELS - 1, right=True)
        tick = "┤" if row in ticks else "│"
        lines.append([(f"{label} ", MUTED), (tick, RULE), *joined(grid[row])])

    axis, below = ["─"] * cells, ""
    for x, text in labels:
        axis[x], label = "┬", text
        begin = max(0, min(cells - cell_width(label), x - cell_width(label) // 2))
        if not below or begin > cell_width(below):
            below = pad(below, begin) + label
    blank = " " * _LABELS
    lines.append([(blank, TEXT), ("└" + "".join(axis), RULE)])
    lines.append([(f"{blank} ", TEXT), (below, MUTED)])

    return lines


def _plotted(
    points: Sequence[tuple[int, _Point]], scale: Scale, cells: int, here: RunRow | None, view: View
) -> list[list[Span]]:
    """The cells of the plot, from the bottom row up; ``points`` with their columns."""
    grid: list[list[Span]] = [[(" ", TEXT)] * cells for _ in range(scale.rows)]
    for x in {x for x, _ in points}:
        own = [p.result for at, p in points if at == x]
        mean = scale.row(float(np.mean(own)), 1)
        if len(own) > 1 and mean is not None:
            begin, end = max(0, x - _MEAN), min(cells, x + _MEAN + 1)
            grid[mean][begin:end] = [("─", MUTED)] * (end - begin)
    taken = set[tuple[int, int]]()
    chosen = here.runs if here is not None else ()
    # of two in one cell the later one covers the other
    for at, point in sorted(points, key=lambda p: (p[1].run in chosen, p[1].run.verdict.level)):
        row = scale.row(point.result, 1) or 0
        free = (at + by for by in (0, 1, -1, 2, -2) if (row, at + by) not in taken)
        x = min(cells - 1, max(0, next(free, at)))
        taken.add((row, x))
        grid[row][x] = _mark(point.run, here, view)
    return grid


def _across(texts: Sequence[str], cells: int) -> tuple[list[int], list[tuple[int, str]]]:
    """The cell of each value, and the labels of the axis."""
    values = {text: as_number(text) for text in texts}
    known = sorted(values, key=lambda t: (values[t] is None, values[t] or 0.0, t))
    numbers = [values[t] for t in known]
    if len(known) <= _SIDE_BY_SIDE or None in numbers:
        room = cells / len(known)
        place = {t: int(room * (n + 0.5)) for n, t in enumerate(known)}
        every = max(1, math.ceil((min(_LONGEST, longest(known)) + 1) / room))
        labels = [(place[t], fit(t, max(1, int(room * every) - 1))) for t in known[::every]]
        return [place[t] for t in texts], labels
    x = np.array([float(n) for n in numbers if n is not None])
    if x[0] > 0 and x[-1] / x[0] >= _LOG_FROM:
        x = np.log(x)
    at = np.round((x - x[0]) / (x[-1] - x[0]) * (cells - 5) + 2).astype(int).tolist()
    place = dict(zip(known, at, strict=True))
    labels = [(place[text], text) for text in known]
    return [place[t] for t in texts], labels


def _mark(run: JudgedRun, here: RunRow | None, view: View) -> Span:
    level, glyphs = run.verdict.level, view.glyphs
    chosen = here is not None and run in here.runs
    glyph = glyphs.badge(level) if level >= Level.WATCH else glyphs.live
    if chosen:
        return glyph, style(Token.ACCENT, bold=True, reverse=True)
    return glyph, alarm_look(level)
