"""The grid: one small chart for each metric of a tab, with badge, title and value above it."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rltui.core.level import Level
from rltui.core.text import cell_width
from rltui.draw.chart.canvas import Span, spliced
from rltui.draw.chart.chart_model import Chart
from rltui.draw.chart.render import render
from rltui.draw.chart.y_range import prepare, x_window
from rltui.draw.line import (
    ACCENT,
    LEVEL_TOKEN,
    MUTED,
    STRONG,
    TEXT,
    Line,
    Token,
    fit_line,
    line_width,
    style,
    with_ground,
)
from rltui.draw.prose import distinct
from rltui.draw.view import View
from rltui.facts import numbers
from rltui.facts.cache import is_kept, kept
from rltui.facts.metrics import Row, make_row
from rltui.facts.x_axis import Axis, axis_of, has_own_axis, span_of
from rltui.pages.metric.metric_chart import chart_of
from rltui.pages.metric.overlays import has_others, versions, with_others
from rltui.pages.run.metric_table import short_titles
from rltui.session import RunView

#: Cells of the labels of the y axis, the same for all charts so that their columns line up.
_LABELS = 7
_NO_VALUE = "–"
#: Columns from these widths on; beyond the last one more for each ``_EXTRA`` cells.
_COLUMNS = ((150, 4), (110, 3), (60, 2), (0, 1))
_EXTRA = 40
#: Lines of a chart with its title: at least, and at least with a blank below it.
_LOW, _AIRY = 6, 7
#: Lines of the x axis below the last row.
AXIS = 2
#: Cells before a chart: blank, cursor bar.
MARGIN = 2
#: A chart is about this many times as wide as high, in cells.
_SHAPE = 4.75
#: What a blank place costs against a chart of another shape.
_BLANK = 2.0


@dataclass(frozen=True, slots=True)
class _Frame:
    """The cells of a chart without its title."""

    width: int
    height: int
    axis: int
    """Lines of the x axis, which are the lowest."""


@dataclass(frozen=True, slots=True, eq=False)
class _Plot:
    """The chart of one metric without its title."""

    lines: list[Line]
    height: int
    """Lines of the plot; the x axis follows."""
    chart: Chart


class Pace:
    """How many charts may be drawn now, so that a key need not wait for all of them."""

    def __init__(self) -> None:
        self.waiting: frozenset[str] = frozenset()
        """Tags whose charts have to wait."""
        self._most: float = math.inf
        self._before: dict[str, list[Line]] = {}
        """Tag -> what is shown until its chart is drawn; what was drawn last stands last."""

    def begin(self, most: float) -> None:
        """Before the charts in sight are drawn, at most ``most`` of them, and always the one at
        the cursor."""
        self._most = most

    def choose(self, missing: Sequence[str], cursor: str | None) -> None:
        """Which of the charts that are not drawn yet have to wait: never the one at the cursor, and
        not those that were drawn the longest ago."""
        most = max(self._most, 1) if cursor in missing else self._most
        if len(missing) <= most:
            self.waiting = frozenset()
            return
        drawn = {tag: n for n, tag in enumerate(self._before)}
        queue = sorted(missing, key=lambda tag: (tag != cursor, drawn.get(tag, -1)))
        self.waiting = frozenset(queue[int(most) :])

    def keep(self, tag: str, block: list[Line]) -> None:
        """Note what is shown of a tag."""
        if self._before.get(tag) is not block:
            self._before.pop(tag, None)
            self._before[tag] = block

    def before(self, tag: str, height: int) -> list[Line]:
        """What is shown of a tag until its chart is drawn."""
        block = self._before.get(tag, [])
        return block if len(block) == height else [[]] * height

    def forget(self) -> None:
        """Show nothing in place of what waits."""
        self._before.clear()


def grid_lines(
    run: RunView,
    rows: Sequence[Row],
    cursor: str | None,
    cross: int | None,
    view: View,
    layout: GridLayout,
    pace: Pace | None = None,
) -> list[Line]:
    """The charts of ``rows``, those in sight, with the crosshair at the step ``cross`` in all;
    ``pace`` says how many of them, None for all."""
    pace = pace or Pace()
    rows = [make_row(run, r.tag, r.band) if r.value is None else r for r in rows[: layout.places]]
    names = _names(run, rows, view, layout.width)
    columns: list[list[Line]] = [[] for _ in range(layout.columns)]
    # every line is as wide as its chart: to measure all of them takes as long as a chart
    margin, blank = (" " * MARGIN, TEXT), [(" " * layout.pitch, TEXT)]
    frames = [_frame(layout, place, len(rows)) for place in range(len(rows))]
    keys = [_plot_key(run, row, view, frame) for row, frame in zip(rows, frames, strict=True)]
    missing = [r.tag for r, key in zip(rows, keys, strict=True) if not is_kept(run, key)]
    pace.choose(missing, cursor)
    for place, (row, name, frame) in enumerate(zip(rows, names, frames, strict=True)):
        title = _title(run, row, name, cross, view, layout.width)
        if row.tag in pace.waiting:
            block = pace.before(row.tag, frame.height)
        else:
            block = _chart(run, row, cross, view, frame)
            pace.keep(row.tag, block)
        column = columns[place % layout.columns]
        column.append(_head(title, view, layout.width, cursor=row.tag == cursor))
        column += [[margin, *line] if line else blank for line in block]
        column += [] if frame.axis else [blank] * layout.gap
    total = sum(layout.heights) + layout.axis

    return [
        [span for c in columns for span in (c[y] if y < len(c) else blank)] for y in range(total)
    ]


def in_sight(first: int, shown: int, count: int, view: View) -> str:
    """ "1–20 of 22": which of the charts are in sight, for the footer."""
    if shown >= count:
        return f"{count} charts" if count != 1 else "1 chart"
    return view.glyphs.text(f"{first + 1}–{first + shown} of {count}")


def _head(title: Line, view: View, width: int, *, cursor: bool) -> Line:
    if not cursor:
        return [(" " * MARGIN, TEXT), *title]
    bar = " " * (MARGIN - 1) + view.glyphs.cursor
    return [(bar, style(Token.ACCENT, bold=True)), *with_ground(fit_line(title, width), Token.SEL)]


def _frame(layout: GridLayout, place: int, count: int) -> _Frame:
    """The cells of the chart at a place, of ``count``."""
    below = layout.axis if place + layout.columns >= count else 0
    height = layout.heights[place // layout.columns] - 1 - layout.gap + below
    return _Frame(layout.width, height, below)


def _chart(run: RunView, row: Row, cross: int | None, view: View, frame: _Frame) -> list[Line]:
    """The chart of a metric without its title, with the crosshair where its axis has the step."""
    plot = _plot(run, row, view, frame)
    if cross is None or has_own_axis(run, row.tag):
        return plot.lines
    key = "places", _plot_key(run, row, view, frame)
    span, axis = kept(run, key, lambda: _places(run, row, view, frame, plot.chart))
    at = axis.place(cross)
    return _crossed(plot, span, at, cross, view) if span.holds(at) else plot.lines


def _places(run: RunView, row: Row, view: View, frame: _Frame, chart: Chart) -> tuple[Span, Axis]:
    """Where the steps lie on the lines of a chart; found for the crosshair alone."""
    window = x_window(chart, prepare(replace(chart, smooth=0.0)))
    left = _LABELS + 1
    span = Span(left, max(1, frame.width - left), frame.width, *window)
    return span, axis_of(run, run.shown(row.tag), view.axis)


def _plot_key(run: RunView, row: Row, view: View, frame: _Frame) -> Hashable:
    end = span_of(run, row.tag)[2]
    return "plot", row.tag, row.band, view, frame, end, versions(view)


def _plot(run: RunView, row: Row, view: View, frame: _Frame) -> _Plot:
    """Kept until the run or the view changes; wherever the crosshair and the cursor are."""
    width, height = frame.width, frame.height

    def draw() -> _Plot:
        chart = chart_of(run, row.tag, view, band=row.band, small=True)
        if has_others(row.tag, view):
            chart = with_others(chart, run, row.tag, view)
        chart = replace(chart, newest=False, x_axis=frame.axis > 0, label_width=_LABELS)
        lines = render(chart, width, height, view.glyphs)
        return _Plot(lines, height - frame.axis, chart)

    return kept(run, _plot_key(run, row, view, frame), draw)


def _crossed(plot: _Plot, span: Span, at: float, step: int, view: View) -> list[Line]:
    """The lines of a plot with the crosshair at the place ``at``, which gives way to the data."""
    column = span.column(at)
    bar = view.glyphs.vertical
    lines = [
        spliced(line, column, bar, ACCENT, blank_only=y < plot.height)
        for y, line in enumerate(plot.lines[: plot.height])
    ]
    axis = plot.lines[plot.height :]
    if len(axis) == 2:
        label = f" {numbers.step(step)} "
        begin = max(0, min(column - (len(label) - 1) // 2, span.width - len(label)))
        look = style(Token.ACCENT, bold=True, reverse=True)
        axis = [
            spliced(axis[0], column, view.glyphs.tick_up, ACCENT),
            spliced(axis[1], begin, label, look),
        ]

    return [*lines, *axis]


def _names(run: RunView, rows: Sequence[Row], view: View, width: int) -> tuple[str, ...]:
    """The titles, without the unit that stands beside them, where they fit; else as long as the
    longest unit and value leave room for."""
    short = short_titles([r.title for r in rows], [r.info.unit for r in rows])
    units = [_unit(run, r, t, view, width) for r, t in zip(rows, short, strict=True)]
    titles = [t if u else r.title for r, t, u in zip(rows, short, units, strict=True)]
    rooms = [_room(r, u, width) for r, u in zip(rows, units, strict=True)]
    cuts = distinct(tuple(titles), min(rooms, default=width), view.glyphs.ellipsis)
    found = zip(titles, rooms, cuts, strict=True)
    return tuple(t if cell_width(t) <= room else cut for t, room, cut in found)


def _room(row: Row, unit: str, width: int) -> int:
    """Cells for the name of a chart."""
    value = cell_width(numbers.value(row.value)) if row.value is not None else 1
    return max(4, width - 3 - max(value, 7) - (cell_width(unit) + 1 if unit else 0))


def _unit(run: RunView, row: Row, title: str, view: View, width: int) -> str:
    """The unit; it gives way to the title."""
    unit = "own step" if has_own_axis(run, row.tag) else row.info.unit
    if cell_width(title) + cell_width(unit) + 12 > width:
        return ""
    return view.glyphs.text(unit)


def _title(run: RunView, row: Row, name: str, cross: int | None, view: View, width: int) -> Line:
    """Badge, name, unit and the newest value, or that at the crosshair."""
    glyphs, alarm = view.glyphs, row.level >= Level.WATCH
    token = LEVEL_TOKEN[row.level]
    value, look = row.value, style(token, bold=True) if alarm else STRONG
    if cross is not None:
        value, look = _value_at(run, row, cross), style(Token.ACCENT, bold=True)
    text = glyphs.text(_NO_VALUE if value is None else numbers.value(value))
    if value is not None and not np.isfinite(value) and not alarm:
        look = style(Token.BAD, bold=True)
    line: Line = [(f"{glyphs.badge(row.level)} ", style(token, bold=alarm))]
    line.append((glyphs.text(name), STRONG if alarm else TEXT))
    unit = _unit(run, row, name, view, width)
    right: Line = [(f"{unit} ", MUTED)] if unit else []
    right.append((text, look))
    fill = max(1, width - line_width(line) - line_width(right))

    return fit_line([*line, (" " * fill, TEXT), *right], width, ellipsis=glyphs.ellipsis)


def _value_at(run: RunView, row: Row, step: int) -> float | None:
    """The value at a step, else the one before it."""
    series = run.shown(row.tag)
    at = int(np.searchsorted(series.steps, step, side="right")) - 1
    return float(series.values[at]) if at >= 0 else None


@dataclass(frozen=True, slots=True)
class GridLayout:
    """The charts of a grid, in cells. All have the same width."""

    columns: int
    pitch: int
    """From the left end of a chart to that of the next, with the margin."""
    heights: tuple[int, ...]
    """Lines of each row in sight: title, plot, and the blank below it."""
    gap: int
    """Blank lines below a plot."""
    axis: int
    """Lines of the x axis."""

    @property
    def rows(self) -> int:
        """Rows in sight."""
        return len(self.heights)

    @property
    def places(self) -> int:
        """Charts in sight, at most."""
        return self.columns * self.rows

    @property
    def width(self) -> int:
        """Cells of a chart."""
        return self.pitch - MARGIN

    def place_at(self, x: int, y: int) -> int | None:
        """The place, counted by rows, that holds the cell ``x``, ``y``; None beside them all."""
        column = x // self.pitch
        if column >= self.columns or y < 0:
            return None
        for row, height in enumerate(self.heights):
            if y < height:
                return row * self.columns + column
            y -= height
        return None

    def scrolled(self, top: int, place: int, count: int) -> int:
        """The first row in sight so that ``place`` among ``count`` charts is in sight, ``top`` if
        it is already."""
        row, total = place // self.columns, math.ceil(count / self.columns)
        top = min(max(top, row - self.rows + 1), row)
        return max(0, min(top, total - self.rows))


def grid_layout(width: int, height: int, count: int) -> GridLayout:
    """The layout of ``count`` charts in ``width`` x ``height``: where all fit, that with the best
    shaped charts and the fewest blank places; else as many columns as the width allows."""
    count = max(1, count)
    most = min(_most_columns(width), count)
    axis = AXIS if height >= _LOW + AXIS else 0
    room = max(1, height - axis)
    least = _AIRY if height >= 26 else _LOW
    fit = max(1, room // least)
    complete = [c for c in range(1, most + 1) if math.ceil(count / c) <= fit]
    columns = min(complete, key=lambda c: _cost(c, count, width, room), default=most)
    rows = min(fit, math.ceil(count / columns))
    each, more = divmod(room, rows)
    heights = tuple(each + (i < more) for i in range(rows))

    return GridLayout(columns, max(1, (width - 1) // columns), heights, int(least == _AIRY), axis)


def _most_columns(width: int) -> int:
    columns = next(c for least, c in _COLUMNS if width >= least)
    return columns + max(0, width - _COLUMNS[0][0]) // _EXTRA


def _cost(columns: int, count: int, width: int, room: int) -> float:
    rows = math.ceil(count / columns)
    shape = width / columns / (room / rows)
    blank = 1 - count / (columns * rows)
    return abs(math.log(shape / _SHAPE)) + _BLANK * blank
