"""The grid of charts: which are in sight, and the crosshair that all of them share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.timer import Timer

from rltui.draw.line import Line, indented
from rltui.draw.view import View
from rltui.facts.metrics import Row
from rltui.pages.metric.overlays import marks_legend
from rltui.pages.run.grid import MARGIN, GridLayout, Pace, grid_layout, grid_lines, in_sight
from rltui.session import RunView
from rltui.tui.shell import shell_of
from rltui.tui.widgets.lines import Lines

#: Charts that are drawn between two keys; fewer where marked runs are in them.
_SLICE, _SLICE_MARKED = 4, 1
#: Rows of a log that follow each other within this time are a stream, seconds. In a stream each
#: paint draws one of so many parts of the charts: each is as old as so many paints at most.
_STREAM_S, _PARTS = 1.5, 3
#: Lines that a grid needs to spare one for the names of marked runs.
_LEGEND_FROM = 12


class Grid(Lines):
    """Charts of rows of metrics. The cursor is that of the list that they stand for."""

    class Picked(Message):
        """A chart was clicked."""

        def __init__(self, tag: str) -> None:
            super().__init__()
            self.tag = tag

    def __init__(self, run: RunView, cursor: Callable[[], str | None]) -> None:
        super().__init__(self._draw_charts, id="grid")
        self.display = False
        self._run, self._cursor = run, cursor
        self._rows: Sequence[Row] = ()
        self._layout: GridLayout = grid_layout(80, 20, 0)
        self._top = 0
        """First row of charts in sight."""
        self._revealed: tuple[str | None, GridLayout] | None = None
        self._pace = Pace()
        self._slice = math.inf
        """Charts that may be drawn before the next paint."""
        self._legend = 0
        """Lines above the charts."""
        self._first = 0
        """The first chart that was drawn."""
        self._scheduled = False
        """Whether the next ones will be drawn after the next paint."""
        self._in_turn = False
        """Whether those that wait are to wait for the next rows, or the end of the stream."""
        self._stream: Timer | None = None
        """Runs out at the end of the stream."""
        self._points: dict[str, tuple[int, int]] = {}
        """Tag -> epoch and length of its series, for the charts that were in sight."""
        self._view: View | None = None
        self.cross: int | None = None
        """The step at the crosshair."""

    def show(self, run: RunView, rows: Sequence[Row], size: Size, *, other: bool = False) -> None:
        """Show these rows of a run in ``size``. The charts of ``other`` rows, or in another view,
        appear a few at a time: keys are answered in between."""
        view = shell_of(self).view
        self._legend = int(bool(view.marked) and size.height >= _LEGEND_FROM)
        layout = grid_layout(size.width, size.height - self._legend, len(rows))
        if run is not self._run:
            self.cross = None
        if run is not self._run or layout != self._layout:
            self._pace.forget()
        slowly = other or run is not self._run or view is not self._view
        self._run, self._rows, self._layout, self._view = run, rows, layout, view
        news = self._note_points()
        if slowly:
            self._slice, self._in_turn = 0, False
        elif news:
            self._follow_stream()
        self.update()

    def _note_points(self) -> bool:
        """Returns whether charts that were in sight, and still are, have other points: a new
        verdict alone is no row."""
        first, before = self._top * self._layout.columns, self._points
        series = [self._run.series(r.tag) for r in self._rows[first : first + self._layout.places]]
        self._points = {s.tag: (s.epoch, s.count) for s in series}
        return any(before.get(tag, now) != now for tag, now in self._points.items())

    def _follow_stream(self) -> None:
        """After new rows: all charts are drawn after a quiet spell, some of them in a stream."""
        if self._stream is None:
            self._stream = self.set_timer(_STREAM_S, self._end_stream)
            return
        self._stream.reset()
        if self.cross is None and (self._in_turn or self._slice == math.inf):
            shown = min(self._layout.places, len(self._rows))
            self._slice, self._in_turn = -(-shown // _PARTS), True

    def _end_stream(self) -> None:
        self._stream, self._in_turn = None, False
        self._go_on()

    def _go_on(self) -> None:
        """Draw some of the charts that had to wait."""
        self._scheduled = False
        if self.display:
            self._slice = _SLICE_MARKED if shell_of(self).view.marked else _SLICE
            super().update()

    def update(self) -> None:
        self._reveal()
        if self._in_turn and self.cross is not None:  # which is the same in all of them
            self._slice, self._in_turn = math.inf, False
        super().update()

    def follow(self) -> None:
        """Draw again if the cursor has moved."""
        if self._revealed != (self._cursor(), self._layout):
            self.update()

    @property
    def sight(self) -> str:
        """Which charts are in sight, for the footer."""
        first, count = self._top * self._layout.columns, len(self._rows)
        shown = min(self._layout.places, count - first)
        return in_sight(first, shown, count, shell_of(self).view)

    # -- the cursor ------------------------------------------------------------------------

    @property
    def _place(self) -> int:
        """Where the cursor is among the rows."""
        cursor = self._cursor()
        return next((i for i, r in enumerate(self._rows) if r.tag == cursor), 0)

    def beside(self, right: int, down: int) -> str | None:
        """The tag ``right`` and ``down`` charts away, or the last one before that."""
        if not self._rows:
            return None
        columns, last = self._layout.columns, len(self._rows) - 1
        place = self._place
        wanted = place + right + down * columns
        if down and not 0 <= wanted <= last:
            edge = place % columns + (last // columns) * columns if down > 0 else place % columns
            wanted = min(edge, last)
        return self._rows[max(0, min(last, wanted))].tag

    @property
    def rows_in_sight(self) -> int:
        """Rows of charts in sight."""
        return self._layout.rows

    def _reveal(self) -> None:
        """Scroll so that the chart at the cursor is in sight, once it or the layout is another."""
        now = self._cursor(), self._layout
        if now == self._revealed:
            self._top = self._layout.scrolled(self._top, self._top * self._layout.columns,
                                              len(self._rows))  # fmt: skip
            return
        self._revealed = now
        self._top = self._layout.scrolled(self._top, self._place, len(self._rows))

    # -- drawing ---------------------------------------------------------------------------

    def _draw_charts(self, width: int, _height: int) -> list[Line]:
        first, pace = self._top * self._layout.columns, self._pace
        if first != self._first:
            self._first, self._slice, self._in_turn = first, 0, False
        pace.begin(self._slice)
        lines = grid_lines(
            self._run,
            self._rows[first : first + self._layout.places],
            self._cursor(),
            self.cross,
            shell_of(self).view,
            self._layout,
            pace,
        )
        if not pace.waiting:
            self._slice, self._in_turn = math.inf, False
        elif self._in_turn:
            self._slice = 0
        elif not self._scheduled:
            self._scheduled = True
            self.call_after_refresh(self._go_on)
        if self._legend:
            legend = marks_legend(self._run, shell_of(self).view, width - MARGIN)
            lines = [*indented([legend], MARGIN), *lines]

        return lines

    # -- mouse -----------------------------------------------------------------------------

    def on_click(self, event: events.Click) -> None:
        place = self._layout.place_at(event.x, event.y - self._legend)
        at = None if place is None else self._top * self._layout.columns + place
        if at is not None and at < len(self._rows):
            self.post_message(self.Picked(self._rows[at].tag))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self._scroll(1)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self._scroll(-1)

    def _scroll(self, by: int) -> None:
        columns, count = self._layout.columns, len(self._rows)
        top = max(0, min(self._top + by, -(-count // columns) - self._layout.rows))
        if top != self._top:
            self._top = top
            super().update()
            self.post_message(self.Scrolled())

    class Scrolled(Message):
        """Other charts are in sight."""
