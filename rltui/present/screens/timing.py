"""The Timing tab of a run that logs the stages of its steps: where the time of one step goes, a
table of the stages, and the stages of every step stacked over each other."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from rltui.core.block import FloatArray, IntArray
from rltui.core.level import Level
from rltui.core.text import cell_width
from rltui.present.chart.axis import nice_ceil
from rltui.present.chart.bars import names_width
from rltui.present.chart.foot import axis_lines, foot_lines
from rltui.present.chart.span import Span as PlotSpan
from rltui.present.chart.stack import Stack, bar_line, stack_cells
from rltui.present.kit import numbers
from rltui.present.kit.line import (
    LEVEL_TOKEN,
    MUTED,
    RULE,
    STRONG,
    TEXT,
    TITLE,
    Line,
    fit_line,
    line_width,
    style,
)
from rltui.present.screens.entries import Entry, fixed
from rltui.present.screens.findings import heading
from rltui.present.screens.metric_chart import chart_of
from rltui.present.screens.metric_columns import columns_for
from rltui.present.screens.metric_rows import Row, tab_sections
from rltui.present.screens.metric_table import row_entries, section_line
from rltui.present.screens.run_cache import RunCache
from rltui.present.screens.timing_table import (
    OTHER,
    by_cost,
    colours_of,
    stage_columns,
    stage_entries,
    stage_rows,
)
from rltui.present.screens.view import View
from rltui.present.screens.x_axis import axis_of, is_live, padded_end, span_of
from rltui.session import RunView
from rltui.session.anatomy import Anatomy, anatomy_of
from rltui.session.limits import stage_limits

TIMING = "timing"
#: The plot ends at this quantile of its columns if higher ones would squeeze the rest.
_QUANTILE, _SQUEEZED = 0.95, 1.5
#: Stages below this share of the step are not worth a word.
_NAMED_SHARE = 0.05
#: Cells of the bar on Overview, at least.
_BAR = 70
#: Cells that the names of other times have more than those of metrics.
_LONGER = 6

_ANATOMIES: RunCache[None, Anatomy | None] = RunCache()
_PLOTS: RunCache[object, list[Line]] = RunCache()


def anatomy(run: RunView) -> Anatomy | None:
    """The stages of the steps of a run, kept until it changes; None when none are logged."""
    return _ANATOMIES.get(run, None, lambda: anatomy_of(run))


@dataclass(frozen=True, slots=True)
class TimingLayout:
    """Heights in lines and widths in cells of the parts of the tab."""

    margin: int
    width: int
    """Width of a row."""
    top: int
    """Title and bar of one step, with a blank line where there is room."""
    rows: int
    """Lines of the list, without its heading."""
    plot: int
    """Lines of the stacked area with its heading; 0 for none."""


def timing_layout(width: int, height: int, rows: int) -> TimingLayout:
    """The layout for a list of ``rows`` lines in ``width`` x ``height``."""
    margin = 2 if width >= 110 else 1
    roomy = height >= 24
    top = 3 if roomy else 2 if height >= 8 else 0
    left = height - top - 1
    least = 10 if left >= 18 else 0
    plot = max(least, min(left - rows, max(least, height * 3 // 5)))
    if plot < 8:
        plot = 0
    return TimingLayout(margin, max(10, width - margin - 2), top, max(1, left - plot), plot)


# -- one step --------------------------------------------------------------------------------


def step_lines(run: RunView, found: Anatomy, view: View, width: int) -> list[Line]:
    """What one step takes now, against its usual time, and a bar of its stages."""
    newest = f"median of the newest {min(stage_limits().recent, len(found.steps))}"
    words = [*_title_words(run, found, view), *_slowed_words(run, found, view), (newest, MUTED)]
    line: Line = [("One step", TITLE)]
    for span in words:
        if line_width(line) + cell_width(span[0]) + 2 > width:
            break
        line += [("  ", TEXT), span]
    return [line, bar_line(_shares(run, found), width, view.glyphs)]


def _title_words(run: RunView, found: Anatomy, view: View) -> Line:
    whole = found.whole
    level = run.verdict.tag_level(found.total) if found.total else Level.UNKNOWN
    look = style(LEVEL_TOKEN[level], bold=True) if level >= Level.WATCH else STRONG
    words: Line = [(numbers.duration(whole.now, tenths=True), look)]
    if not math.isnan(whole.drift) and found.usual_steps is not None:
        usual = numbers.duration(whole.usual, tenths=True)
        steps = f"{run.step_word}s {numbers.step_range(*found.usual_steps)}"
        factor = numbers.factor(whole.drift).lstrip("× ")
        as_usual = stage_limits().as_usual
        near = 1 / as_usual < whole.drift < as_usual
        text = f"as usual ({steps})" if near else f"{factor} × its usual {usual} ({steps})"
        words.append((view.glyphs.text(text), MUTED))
    return words


def _slowed_words(run: RunView, found: Anatomy, view: View) -> Line:
    """Which stage lengthened the step, and since when."""
    if found.slowed is None:
        return []
    stage, since = found.slowed
    factor = numbers.factor(found.costs[stage.tag].drift)
    text = f"slower by {run.infos[stage.tag].title} {factor} since {run.step_word} "
    return [(view.glyphs.text(text + numbers.step(since)), TEXT)]


def _shares(run: RunView, found: Anatomy) -> list[tuple[str, float, int]]:
    """Label, share and colour of the named stages, then of all others together."""
    colours, parts, rest = colours_of(found), [], found.other / (found.length or 1.0)
    for stage in by_cost(found):
        share = found.share(stage)
        if stage.depth or math.isnan(share):
            continue
        if colours[stage.tag] == OTHER:
            rest += share
        else:
            label = f"{run.infos[stage.tag].title} {numbers.percent(share, whole=True)}"
            parts.append((label, share, colours[stage.tag]))
    return [*parts, (f"other {numbers.percent(rest, whole=True)}", rest, OTHER)]


def step_line(run: RunView, view: View, width: int) -> Line | None:
    """One step in one line, for Overview: its time and a bar of its stages, or where that is too
    short for their names the longest of them; None without any."""
    found = anatomy(run)
    if found is None or math.isnan(found.whole.now):
        return None
    line: Line = [("One step  ", TITLE), *_title_words(run, found, view)[:1]]
    slowed = _slowed_words(run, found, view)
    for text, look in slowed:
        line += [("  ", TEXT), (text, look)]
    begin = line_width(line)
    if width - begin - 2 >= _BAR:
        return [*line, ("  ", TEXT), *bar_line(_shares(run, found), width - begin - 2, view.glyphs)]
    for label, share, _ in _shares(run, found):
        text = view.glyphs.text(("  " if line_width(line) == begin else ", ") + label)
        if share < _NAMED_SHARE or line_width(line) + cell_width(text) > width:
            break
        line.append((text, MUTED if slowed else TEXT))
    return fit_line(line, width, ellipsis=view.glyphs.ellipsis)


# -- the list --------------------------------------------------------------------------------


def timing_entries(
    run: RunView, found: Anatomy, view: View, width: int, margin: int, text: str
) -> list[Entry[str]]:
    """The stages, and below them the other timings as ordinary rows."""
    rows = stage_rows(run, found, text)
    entries = stage_entries(run, rows, stage_columns(width), view, margin)
    shown = {r.tag for r in rows}
    others = [r for s in tab_sections(run, TIMING, text) for r in s.rows if r.tag not in shown]
    if others:
        columns = columns_for(width)
        if columns.spark >= 2 * _LONGER:  # names such as "reference per token"
            columns = replace(columns, name=columns.name + _LONGER, spark=columns.spark - _LONGER)
        head = section_line(f"Other times {len(others)}", width, view, heads=columns)
        entries += [fixed([]), fixed([(" " * margin, TEXT), *head])]
        entries += row_entries(run, others, columns, view, margin)
    return entries


def timing_rows(run: RunView, found: Anatomy) -> int:
    """Lines of the stages alone."""
    return len(stage_rows(run, found))


def timing_note(run: RunView, found: Anatomy, text: str) -> str:
    """ "Timing 4 of 22": what a filter left."""

    def count(text: str) -> int:
        stages = {r.tag for r in stage_rows(run, found, text) if r.tag is not None}
        return len(stages | {_tag(r) for s in tab_sections(run, TIMING, text) for r in s.rows})

    return f"Timing {count(text)} of {count('')}"


def _tag(row: Row) -> str:
    return row.tag


# -- every step ------------------------------------------------------------------------------


def stacked_lines(
    run: RunView, found: Anatomy, view: View, width: int, height: int, *, shares: bool
) -> list[Line]:
    """The stages of every step, stacked: seconds, or shares of the step. Kept until the run
    changes."""
    key = (width, height, view.glyphs, view.axis, shares, span_of(run)[2])
    return _PLOTS.get(run, key, lambda: _stacked(run, found, view, width, height, shares))


#: Cells of the y labels, at least; of the heading beside its note.
_LABELS, _HEADING = 7, 14


def _stacked(
    run: RunView, found: Anatomy, view: View, width: int, height: int, shares: bool
) -> list[Line]:
    tag = found.total or found.parts[0].tag
    places, (first, last, end) = _places(run, found, tag, view)
    usual = None if shares or math.isnan(found.whole.usual) else found.whole.usual
    head = _every_step(usual, view, width, shares)
    chart = chart_of(run, tag, view)
    span = PlotSpan(_LABELS + 1, width - _LABELS - 1, width, first, end, last)
    if height > 9:
        left = max(span.left, names_width(chart.bars, span, view.glyphs))
        span = replace(span, left=left, cells=width - left)
    cells = span.cells
    bars = foot_lines(chart, span, view.glyphs, max(0, min(3, height - 9)))
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
        lines.append([(f"{label:>{span.left - 1}}", MUTED), (edge, RULE), *cells_of_row])
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
    gap = 2 * float(np.median(gaps)) if len(gaps) else 1.0
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
