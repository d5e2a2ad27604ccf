"""The grid: one small chart for each metric of a tab, with badge, title and value above it."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.timer import Timer

from rltui.core.level import Level
from rltui.core.record import record
from rltui.core.text import Names, cell_width
from rltui.draw.chart.canvas import PlotSpan, spliced
from rltui.draw.chart.chart_model import Chart
from rltui.draw.chart.foot import axis_lines
from rltui.draw.chart.render import render, x_text
from rltui.draw.chart.y_range import prepare, x_window
from rltui.draw.line import (
    ACCENT,
    ACCENT_BOLD,
    LEVEL_BOLD,
    MUTED,
    STRONG,
    TEXT,
    Block,
    Line,
    alarm_look,
    badge_span,
    fit_line,
    indented,
    line_width,
    with_margin,
)
from rltui.draw.marked_runs import (
    charted,
    has_others,
    marks_legend,
    reading_lines,
    versions,
    with_others,
)
from rltui.draw.metric_chart import chart_of
from rltui.draw.prose import distinct
from rltui.draw.view import View
from rltui.facts import numbers
from rltui.facts.cache import is_kept, kept
from rltui.facts.metrics import TagRow, make_row
from rltui.facts.x_axis import Axis, axis_of, has_own_axis, span_of
from rltui.pages.run.grid_layout import MARGIN, GridLayout, grid_layout
from rltui.pages.run.metric_table import short_titles
from rltui.session import JudgedRun
from rltui.tui.widgets.lines import Lines

#: Cells of the labels of the y axis, the same for all charts so that their columns line up.
_LABELS = 7
#: Charts that are drawn between two keys; fewer where marked runs are in them.
_SLICE = 4
_SLICE_MARKED = 1
#: Seconds between two charts that are drawn out of sight after a key.
_AHEAD_S = 0.015
#: Rows of a log less than _STREAM_S seconds apart are a stream. During one each paint draws one of
#: _PARTS parts of the charts, so that no chart is older than _PARTS paints.
_STREAM_S = 1.5
_PARTS = 3
#: Lines that a grid needs to spare one for the names of marked runs.
_LEGEND_FROM = 12
#: Lines that it needs for a table of what the runs have at the crosshair, and its rows at most.
_TABLE_FROM = 28
_MOST_READ = 6


@record
class _Frame:
    """The cells of a chart without its title."""

    width: int
    height: int
    axis: int
    """Lines of the x axis, which are the lowest."""


@dataclass(slots=True, eq=False)
class _DrawnChart:
    """The chart of one metric without its title."""

    lines: Block
    chart: Chart
    x: tuple[PlotSpan, Axis] | None = None
    """Where the steps lie on the lines; found for the crosshair alone."""


class DrawQueue:
    """Limits how many charts are drawn now, so that a key need not wait for all of them."""

    def __init__(self) -> None:
        self.most: float = math.inf
        """Charts that may be drawn; the one at the cursor is drawn at any rate."""
        self.waiting: frozenset[str] = frozenset()
        """Tags whose charts have to wait."""
        self.shown: dict[str, Block] = {}
        """Tag -> what is shown until its chart is drawn; what was drawn last comes last."""

    def choose(self, run: JudgedRun, keys: dict[str, Hashable], cursor: str | None) -> None:
        """Choose which of the charts that are not drawn yet (tag -> key) wait: never the one at
        the cursor; first those that were drawn most recently."""
        missing = [tag for tag, key in keys.items() if not is_kept(run, key)]
        most = max(self.most, 1) if cursor in missing else self.most
        if len(missing) <= most:
            self.waiting = frozenset()
            return
        drawn = {tag: n for n, tag in enumerate(self.shown)}
        queue = sorted(missing, key=lambda tag: (tag != cursor, drawn.get(tag, -1)))
        self.waiting = frozenset(queue[int(most) :])

    def keep(self, tag: str, block: Block) -> None:
        """Note what is shown of a tag."""
        if self.shown.get(tag) is not block:
            self.shown.pop(tag, None)
            self.shown[tag] = block


def grid_lines(
    run: JudgedRun,
    rows: Sequence[TagRow],
    cursor: str | None,
    cross: int | None,
    view: View,
    layout: GridLayout,
    queue: DrawQueue | None = None,
) -> Block:
    """The charts of those ``rows`` that fit, each with the crosshair at the step ``cross``;
    ``queue`` limits how many of them are drawn, None draws all."""
    queue = queue or DrawQueue()
    rows = [make_row(run, r.tag, r.band) if r.value is None else r for r in rows[: layout.places]]
    frames = []
    for place in range(len(rows)):
        below = layout.axis if place + layout.columns >= len(rows) else 0
        height = layout.heights[place // layout.columns] - 1 - layout.gap + below
        frames.append(_Frame(layout.width, height, below))
    keys: dict[str, Hashable] = {
        r.tag: ("plot", r.tag, r.band, view, frame, span_of(run, r.tag)[2], versions(view))
        for r, frame in zip(rows, frames, strict=True)
    }
    queue.choose(run, keys, cursor)

    # every line is as wide as its chart: to measure all of them takes as long as a chart
    margin = (" " * MARGIN, TEXT)
    blank = [(" " * layout.pitch, TEXT)]
    columns: list[Block] = [[] for _ in range(layout.columns)]
    names = _names(run, rows, view, layout.width)

    for place, (row, name, frame) in enumerate(zip(rows, names, frames, strict=True)):
        block = queue.shown.get(row.tag, [])
        if row.tag not in queue.waiting:
            block = _chart(run, row, cross, view, frame, keys[row.tag])
            queue.keep(row.tag, block)
        elif len(block) != frame.height:
            block = [[]] * frame.height
        title = _title(run, row, name, cross, view, layout.width)
        column = columns[place % layout.columns]
        column.append(with_margin(title, layout.width, MARGIN, cursor=row.tag == cursor))
        column += [[margin, *line] if line else blank for line in block]
        column += [] if frame.axis else [blank] * layout.gap
    total = sum(layout.heights) + layout.axis

    return [
        [span for c in columns for span in (c[y] if y < len(c) else blank)] for y in range(total)
    ]


def _chart(
    run: JudgedRun, row: TagRow, cross: int | None, view: View, frame: _Frame, key: Hashable
) -> Block:
    """The chart of a metric without its title, with the crosshair where its axis has the step. The
    plot is kept until the run or the view changes, wherever crosshair and cursor are."""

    def draw() -> _DrawnChart:
        chart = chart_of(run, row.tag, view, band=row.band, small=True)
        if has_others(row.tag, view):
            chart = with_others(chart, run, row.tag, view)
        chart = replace(chart, newest=False, x_axis=frame.axis > 0, label_width=_LABELS)
        return _DrawnChart(render(chart, frame.width, frame.height, view.glyphs), chart)

    plot = kept(run, key, draw)
    if cross is None or has_own_axis(run, row.tag):
        return plot.lines
    if plot.x is None:
        window = x_window(plot.chart, prepare(replace(plot.chart, smooth=0.0)))
        left = _LABELS + 1
        span = PlotSpan(left, max(1, frame.width - left), frame.width, *window)
        plot.x = span, axis_of(run, run.shown(row.tag), view.axis)
    span, axis = plot.x
    at = axis.place(cross)
    if not span.holds(at):
        return plot.lines

    # the crosshair gives way to the data
    column = span.column(at)
    height = frame.height - frame.axis
    lines = [
        spliced(line, column, "│", ACCENT, blank_only=y < height)
        for y, line in enumerate(plot.lines[:height])
    ]
    below = plot.lines[height:]
    if len(below) == 2:
        below = axis_lines(plot.chart, span, view.glyphs, at, x_text(plot.chart, at))

    return [*lines, *below]


def _names(run: JudgedRun, rows: Sequence[TagRow], view: View, width: int) -> Names:
    """The titles, without the unit that follows them, where they fit; else as long as the longest
    unit and value leave room for."""
    titles = []
    rooms = []
    short = short_titles(tuple(r.title for r in rows), tuple(r.info.unit for r in rows))
    for row, title in zip(rows, short, strict=True):
        unit = _unit(run, row, title, view, width)
        value = cell_width(numbers.value(row.value)) if row.value is not None else 1
        titles.append(title if unit else row.title)
        rooms.append(max(4, width - 3 - max(value, 7) - (cell_width(unit) + 1 if unit else 0)))
    cuts = distinct(tuple(titles), min(rooms, default=width))
    found = zip(titles, rooms, cuts, strict=True)

    return tuple(t if cell_width(t) <= room else cut for t, room, cut in found)


def _unit(run: JudgedRun, row: TagRow, title: str, view: View, width: int) -> str:
    """The unit, of a tag with steps of its own how far these go; it gives way to the title."""
    unit = row.info.unit
    if has_own_axis(run, row.tag) and view.axis not in ("relative", "wall"):
        last = max(span_of(c.run, c.tag)[1] for c in charted(run, row.tag, view))
        unit = f"own step, to {numbers.step(last)}"
    fits = cell_width(title) + cell_width(unit) + 12 <= width
    return unit if fits else ""


def _title(
    run: JudgedRun, row: TagRow, name: str, cross: int | None, view: View, width: int
) -> Line:
    """Badge, name, unit and the newest value, or that at the crosshair, else the one before it."""
    glyphs = view.glyphs
    alarm = row.level >= Level.WATCH
    value = row.value
    look = alarm_look(row.level)
    if cross is not None:
        series = run.shown(row.tag)
        at = int(np.searchsorted(series.steps, cross, side="right")) - 1
        value = float(series.values[at]) if at >= 0 else None
        look = ACCENT_BOLD
    if value is not None and not np.isfinite(value) and not alarm:
        look = LEVEL_BOLD[Level.BAD]
    line = [badge_span(row.level, glyphs), (name, STRONG if alarm else TEXT)]
    unit = _unit(run, row, name, view, width)
    right: Line = [(f"{unit} ", MUTED)] if unit else []
    right.append(("–" if value is None else numbers.value(value), look))
    fill = max(1, width - line_width(line) - line_width(right))
    return fit_line([*line, (" " * fill, TEXT), *right], width)


class Grid(Lines):
    """Charts of rows of metrics. The cursor is that of the list that they stand for."""

    class Picked(Message):
        """A chart was clicked."""

        def __init__(self, tag: str) -> None:
            super().__init__()
            self.tag = tag

    class Scrolled(Message):
        """Other charts are visible."""

    def __init__(self, run: JudgedRun, cursor: Callable[[], str | None]) -> None:
        super().__init__(self._draw_charts, id="grid")
        self.display = False
        self._run = run
        self._cursor = cursor
        self._rows: Sequence[TagRow] = ()
        self.grid_layout: GridLayout = grid_layout(80, 20, 0)
        self._top = 0
        """First visible row of charts."""
        self._revealed: tuple[str | None, GridLayout] | None = None
        self._queue = DrawQueue()
        self._slice = math.inf
        """Charts that may be drawn before the next paint."""
        self._legend = 0
        """Lines above the charts."""
        self._first = 0
        """The first chart that was drawn."""
        self._scheduled = False
        """Whether the next ones will be drawn after the next paint."""
        self._in_turn = False
        """Whether waiting charts are drawn with the next rows or at the end of the stream."""
        self._stream: Timer | None = None
        """Runs out at the end of the stream."""
        self._points: dict[str, tuple[int, int]] = {}
        """Tag -> epoch and length of its series, for the charts that were visible."""
        self._view: View | None = None
        self.cross: int | None = None
        """The step at the crosshair."""
        self._version = 0
        """Version of the run at the last key."""

    def show(
        self, run: JudgedRun, rows: Sequence[TagRow], size: Size, *, other: bool = False
    ) -> None:
        """Show these rows of a run in ``size``. Charts of ``other`` rows or in another view appear
        a few at a time, so that keys are answered in between."""
        view = self.view
        if run is not self._run:
            self.cross = None
        runs = {run.key, *(m.run.key for m in view.marked)}
        cross = self.cross
        if cross is not None and run.reference is not None:
            runs.add(run.reference.key)
        # where there is room, with the crosshair a table of what the runs have there
        high = 1 if cross is None or size.height < _TABLE_FROM else 1 + min(len(runs), _MOST_READ)
        self._legend = 0 if len(runs) < 2 or size.height < _LEGEND_FROM else high
        layout = grid_layout(size.width, size.height - self._legend, len(rows))
        slowly = other or run is not self._run or view is not self._view
        if run is not self._run or layout != self.grid_layout:
            self._queue.shown.clear()
            slowly = slowly or bool(view.marked)
        self._run = run
        self._rows = rows
        self.grid_layout = layout
        self._view = view

        # a new verdict alone is no row: only other points of charts that are still in sight are
        before = self._points
        first = self._top * layout.columns
        series = [run.series(r.tag) for r in rows[first : first + layout.places]]
        self._points = {s.tag: (s.epoch, s.count) for s in series}
        if slowly:
            self._slice = 0
            self._in_turn = False
        elif any(before.get(tag, now) != now for tag, now in self._points.items()):
            self._follow_stream()
        self.update()

    def _follow_stream(self) -> None:
        """After new rows: all charts are drawn after a quiet spell, some of them in a stream."""
        if self._stream is None:
            self._stream = self.set_timer(_STREAM_S, self._end_stream)
            return
        self._stream.reset()
        if self.cross is None and (self._in_turn or self._slice == math.inf):
            shown = min(self.grid_layout.places, len(self._rows))
            self._slice = -(-shown // _PARTS)
            self._in_turn = True

    def _end_stream(self) -> None:
        self._stream = None
        self._in_turn = False
        self._go_on()

    def _go_on(self) -> None:
        """Draw some of the charts that had to wait."""
        self._scheduled = False
        if self.display:
            self._slice = _SLICE_MARKED if self.view.marked else _SLICE
            super().update()

    def update(self) -> None:
        # after a change of cursor or layout scroll to the chart at the cursor
        now = (self._cursor(), self.grid_layout)
        columns = self.grid_layout.columns
        place = self._top * columns if now == self._revealed else self._place
        self._revealed = now
        self._top = self.grid_layout.scrolled(self._top, place, len(self._rows))
        if self._in_turn and self.cross is not None:  # which is the same in all of them
            self._slice = math.inf
            self._in_turn = False
        super().update()

    def follow(self) -> None:
        """Draw again if the cursor has moved."""
        if self._revealed != (self._cursor(), self.grid_layout):
            self.update()
            self._version = self._run.version
            self._ahead.reset()
            self._ahead.resume()

    @property
    def sight(self) -> str:
        """ "1–20 of 22": which charts are visible, for the footer."""
        first = self._top * self.grid_layout.columns
        count = len(self._rows)
        shown = min(self.grid_layout.places, count - first)
        if shown >= count:
            return f"{count} charts" if count != 1 else "1 chart"
        return f"{first + 1}–{first + shown} of {count}"

    @property
    def _place(self) -> int:
        """Where the cursor is among the rows."""
        cursor = self._cursor()
        return next((i for i, r in enumerate(self._rows) if r.tag == cursor), 0)

    def neighbour(self, right: int, down: int) -> str | None:
        """The tag ``right`` and ``down`` charts away, or the last one before that."""
        if not self._rows:
            return None
        columns = self.grid_layout.columns
        last = len(self._rows) - 1
        place = self._place
        wanted = place + right + down * columns
        if down and not 0 <= wanted <= last:
            edge = place % columns + (last // columns) * columns if down > 0 else place % columns
            wanted = min(edge, last)
        return self._rows[max(0, min(last, wanted))].tag

    def on_mount(self) -> None:
        self._ahead = self.set_interval(_AHEAD_S, self.draw_ahead, pause=True)

    def draw_ahead(self) -> None:
        """Draw one more chart that the next key may show. A new row ends this: the charts of a live
        run would soon be outdated."""
        layout = self.grid_layout
        columns = layout.columns
        half = layout.rows // 2
        for by in (1, half, -1, -half):
            place = self._place + by * columns
            top = layout.scrolled(self._top, place, len(self._rows))
            queue = DrawQueue()
            queue.most = _SLICE_MARKED
            grid_lines(self._run, self._rows[top * columns :], None, None, self.view, layout, queue)
            if queue.waiting and self._version == self._run.version:
                return
        self._ahead.pause()

    def _draw_charts(self, width: int, _height: int) -> Block:
        first = self._top * self.grid_layout.columns
        queue = self._queue
        view = self.view
        if first != self._first:
            self._first = first
            self._slice = 0
            self._in_turn = False
        queue.most = self._slice
        rows = self._rows[first : first + self.grid_layout.places]
        cursor = self._cursor()
        lines = grid_lines(self._run, rows, cursor, self.cross, view, self.grid_layout, queue)
        if not queue.waiting:
            self._slice = math.inf
            self._in_turn = False
        elif self._in_turn:
            self._slice = 0
        elif not self._scheduled:
            self._scheduled = True
            self.call_after_refresh(self._go_on)
        if not self._legend:
            return lines

        # the names of the runs, with the crosshair what they have there in the chart at the cursor
        run = self._run
        legend = Block()
        room = width - MARGIN
        if self.cross is not None and cursor in run.infos:
            legend = reading_lines(run, cursor, self.cross, view, room, self._legend)
        if not legend and view.marked:
            legend = [marks_legend(run, view, room)]
        blank: Block = [[]] * (self._legend - len(legend))
        return [*indented([*legend, *blank], MARGIN), *lines]

    # -- mouse -----------------------------------------------------------------------------

    def on_click(self, event: events.Click) -> None:
        place = self.grid_layout.place_at(event.x, event.y - self._legend)
        at = None if place is None else self._top * self.grid_layout.columns + place
        if at is not None and at < len(self._rows):
            self.post_message(self.Picked(self._rows[at].tag))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._scroll(event, 1)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._scroll(event, -1)

    def _scroll(self, event: events.MouseEvent, by: int) -> None:
        event.stop()
        columns = self.grid_layout.columns
        count = len(self._rows)
        top = max(0, min(self._top + by, -(-count // columns) - self.grid_layout.rows))
        if top != self._top:
            self._top = top
            super().update()
            self.post_message(self.Scrolled())
