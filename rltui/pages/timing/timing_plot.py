"""The stages of every step of a run stacked over each other, below the table of its stages."""

from __future__ import annotations

import math

import numpy as np

from rltui.core.block import FloatArray, IntArray
from rltui.core.medians import median
from rltui.core.text import cell_width
from rltui.draw.chart.axis import nice_ceil
from rltui.draw.chart.canvas import Span
from rltui.draw.chart.foot import axis_lines, foot_lines, label_width
from rltui.draw.chart.stack import Stack, stack_cells
from rltui.draw.line import MUTED, RULE, Line
from rltui.draw.view import View
from rltui.facts import numbers
from rltui.facts.cache import kept
from rltui.facts.timing import Anatomy
from rltui.facts.x_axis import axis_of, is_live, padded_end, span_of
from rltui.pages.findings.lines import heading
from rltui.pages.metric.metric_chart import chart_of
from rltui.pages.timing.timing_table import OTHER, colours_of
from rltui.session import RunView

#: The plot ends at this quantile of its columns if higher ones would squeeze the rest.
_QUANTILE, _SQUEEZED = 0.95, 1.5
#: Cells of the y labels, at least; of the heading beside its note.
_LABELS, _HEADING = 7, 14


def stacked_lines(
    run: RunView, found: Anatomy, view: View, width: int, height: int, *, shares: bool
) -> list[Line]:
    """The stages of every step, stacked: seconds, or shares of the step. Kept until the run
    changes."""
    key = ("stages", width, height, view.glyphs, view.axis, shares, span_of(run)[2])
    return kept(run, key, lambda: _stacked(run, found, view, width, height, shares))


def _stacked(
    run: RunView, found: Anatomy, view: View, width: int, height: int, shares: bool
) -> list[Line]:
    tag = found.total or found.parts[0].tag
    places, (first, last, end) = _places(run, found, tag, view)
    usual = None if shares or math.isnan(found.whole.usual) else found.whole.usual
    head = _every_step(usual, view, width, shares)
    chart = chart_of(run, tag, view)
    below, labels = max(0, min(3, height - 9)), _LABELS
    if below:
        labels = label_width(chart, (first, end), width, view.glyphs, least=_LABELS)
    cells = width - labels - 1
    span = Span(labels + 1, cells, width, first, end, last)
    bars = foot_lines(chart, span, view.glyphs, below)
    rows = height - 3 - len(bars)
    if cells < 10 or rows < 3:
        return [head]
    columns = _columns(found, places, (first, last, end), cells)
    parts, colours = _parts(found, columns)
    if shares:
        with np.errstate(invalid="ignore", divide="ignore"):
            parts = parts / np.nansum(parts, axis=0) * 100
    heights = np.nansum(parts, axis=0)
    regular = heights[~found.is_rare[np.maximum(columns, 0)]]
    top = 100.0 if shares else _top(regular if regular.any() else heights)
    plot = stack_cells(Stack(parts, colours, top, usual), rows, view.glyphs)
    ticks = _ticks(top, rows)
    lines = [head]
    for n, cells_of_row in enumerate(plot):
        label = ticks.get(rows - 1 - n, "")
        edge = view.glyphs.tick_left if label else view.glyphs.vertical
        lines.append([(f"{label:>{labels}}", MUTED), (edge, RULE), *cells_of_row])

    return [*lines, *axis_lines(chart, span, view.glyphs, None, None), *bars]


def _every_step(usual: float | None, view: View, width: int, shares: bool) -> Line:
    """The heading of the plot, which names the line of the usual level where there is room."""
    note = f"{'% of the step' if shares else 'seconds'}, stacked, each column its slowest step"
    if usual is not None:
        more = f"{note}, {view.glyphs.limit} usual {numbers.duration(usual, tenths=True)}"
        note = more if cell_width(more) + _HEADING < width else note
    return heading("Every step", width, view, note)


def _top(heights: FloatArray) -> float:
    """Where the plot ends: at its highest column unless few are far above the others."""
    known = heights[heights > 0]
    if not len(known):
        return 1.0
    most, usual = float(known.max()), float(np.quantile(known, _QUANTILE))
    return usual * 1.05 if most > _SQUEEZED * usual else most


def _ticks(top: float, rows: int) -> dict[int, str]:
    """Row, from the bottom -> its label: the number at the lower edge of the row."""
    step = nice_ceil(top / max(2, min(5, rows // 3)))
    values = [step * n for n in range(int(top / step * 1.0001) + 1) if step * n < top]
    return {
        int(value / top * rows + 1e-6): label
        for value, label in zip(values, numbers.ticks(values, step), strict=True)
    }


def _places(
    run: RunView, found: Anatomy, tag: str, view: View
) -> tuple[FloatArray, tuple[float, float, float]]:
    """Where the steps lie on the x axis, and its beginning, newest place and end."""
    axis = axis_of(run, run.shown(tag), view.axis)
    steps = span_of(run)
    first, last = axis.place(steps[0]), axis.place(steps[1])
    end = steps[2]
    if axis.kind != "step":
        end = padded_end(first, last) if is_live(run) else last
    return axis.places(found.steps), (first, last, end if end > first else first + 1.0)


def _columns(
    found: Anatomy, places: FloatArray, span: tuple[float, float, float], cells: int
) -> IntArray:
    """The row (cells,) that each column shows: the slowest of its steps; where steps are rarer
    than columns the one before it; -1 for none."""
    first, last, end = span
    heights = np.nan_to_num(found.heights, nan=-1.0)
    edges = np.searchsorted(places, first + (end - first) * np.arange(cells + 1) / cells)
    edges[-1] = len(places)
    gaps = np.diff(places)
    gap = 2 * median(gaps) if len(gaps) else 1.0
    out: IntArray = np.full(cells, -1)
    at = -1
    for column in range(cells):
        begin, stop = int(edges[column]), int(edges[column + 1])
        x = first + (end - first) * column / cells
        if stop > begin:
            at = out[column] = begin + int(np.argmax(heights[begin:stop]))
        elif at >= 0 and x <= last and x - places[at] <= gap:
            out[column] = at

    return out


def _parts(found: Anatomy, columns: IntArray) -> tuple[FloatArray, list[int]]:
    """(parts, columns) seconds of the stages and of what none accounts for; their colours. The
    stages that share a colour are one part."""
    colours = colours_of(found)
    known = columns >= 0
    rows = np.maximum(columns, 0)
    stages = found.at(rows)
    rest = np.zeros(len(columns))
    if found.total:
        rest = np.maximum(np.nan_to_num(found.heights[rows]) - stages.sum(axis=0), 0.0)
    named = []
    order = []
    for stage, values in zip(found.parts, stages, strict=True):
        if colours[stage.tag] == OTHER:
            rest = rest + values
        else:
            named.append(values)
            order.append(colours[stage.tag])
    parts = np.array([*named, rest])
    parts[:, ~known] = np.nan

    return parts, [*order, OTHER]
