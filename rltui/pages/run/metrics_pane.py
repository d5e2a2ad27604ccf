"""Overview and the category tabs: the list of metrics and the details of the row at the cursor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.geometry import Size

from rltui.core.batch import RunKey
from rltui.draw.line import TEXT, Entry, Line, fixed, indented
from rltui.facts.metrics import OVERVIEW, PINNED, Row, Section, tab_sections
from rltui.pages.run.grid_widget import Grid
from rltui.pages.run.metric_table import Columns, columns_of, list_head, section_entries
from rltui.pages.run.tab import (
    TabLayout,
    chart_alone,
    empty_lines,
    first_to_look_at,
    hidden_lines,
    list_alone,
    overview_entries,
    shown_of,
    side_lines,
    tab_layout,
    tag_to_chart,
    without_rows,
)
from rltui.pages.run.tab_below import below_lines, top_lines
from rltui.session import RunView
from rltui.tui.shell import shell_of
from rltui.tui.widgets.line_list import LineList
from rltui.tui.widgets.lines import Lines


class MetricsPane(Horizontal):
    """The body of the run's screen for every tab but Findings."""

    DEFAULT_CSS = """
    MetricsPane { height: 1fr; }
    MetricsPane #left { height: 1fr; }
    MetricsPane #head { height: 1; }
    """

    def __init__(self, run: RunView) -> None:
        super().__init__()
        self._run = run
        self._tab = ""
        self._sections: Sequence[Section] = []
        self._layout = tab_layout(OVERVIEW, 80, 24, 0)
        self._arrangement = Arrangement()
        self._top: list[Line] = []
        """What stands above the list."""
        self._chosen: dict[str, str | None] = {}
        """Tab -> the row that the user put the cursor on."""
        self._left: dict[RunKey, dict[str, str | None]] = {}
        """The same of other runs."""
        self._first: str | None = None
        """The row that the cursor is on until the user moves it, while the tab is open."""
        self._settled = False
        """Whether the run had a verdict when that row was found."""

    def compose(self) -> ComposeResult:
        with Vertical(id="left"):
            yield Lines(self._draw_top, id="top")
            yield Lines(self._draw_head, id="head")
            yield LineList[str](id="rows")
            yield Lines(self._draw_below, id="below")
        yield Lines(self._draw_side, id="side")
        yield Grid(self._run, lambda: self.rows.cursor)

    @property
    def rows(self) -> LineList[str]:
        """The list."""
        return self.query_one("#rows", LineList)

    @property
    def grid(self) -> Grid:
        """The charts that can take the place of the list."""
        return self.query_one(Grid)

    def turn_to(self, run: RunView) -> None:
        """Show another run from now on, each tab with the cursor where it was."""
        self._chosen[self._tab] = self.rows.chosen
        self._left[self._run.key] = self._chosen
        self._run, self._chosen, self._tab = run, self._left.get(run.key, {}), ""
        for name in ("#below", "#side"):
            self.query_one(name, Lines).blank()

    @property
    def note(self) -> str:
        """What the filter left; "" before a tab was shown: the window may be too small."""
        if not self._tab:
            return ""
        total = sum(len(s.rows) for s in tab_sections(self._run, self._tab))
        return shown_of(self._sections, total, self._tab)

    def show(self, tab: str, text: str, size: Size, arrangement: Arrangement) -> None:
        """Show a tab after the filter ``text``, in a pane of ``size``."""
        run, rows = self._run, self.rows
        if other := (tab, arrangement) != (self._tab, self._arrangement):
            if self._tab:
                self._chosen[self._tab] = rows.chosen
            rows.chosen = self._chosen.get(tab)
            rows.forget()
        self._tab, self._arrangement = tab, arrangement
        # the charts out of sight need no values: a live run would read all of its new points
        self._sections = tab_sections(run, tab, text, valued=not arrangement.is_grid)
        view = shell_of(self).view
        if self._sections and (other or not self._settled):
            self._first = first_to_look_at(run, tab, self._sections)
            self._settled = run.report is not None
        count = sum(len(s.rows) for s in self._sections)
        if arrangement.is_grid and count:
            self._show_grid(size, other=other)
            return
        lines_needed = count + max(0, 2 * (len(self._sections) - 1))
        hidden = hidden_lines(run, tab, text, view) if text else []
        cells = tab_layout(tab, size.width, size.height, 0).rows
        self._top = top = top_lines(run, tab, view, cells, size.height)
        size = Size(size.width, size.height - len(top))
        self._layout = layout = self._layout_for(size, lines_needed + len(hidden))
        if not count:
            self._layout = layout = without_rows(layout, size.width, size.height)
            lines = empty_lines(run, bool(text), view, layout)
            entries: list[Entry[str]] = [fixed(x) for x in lines]
        elif tab == OVERVIEW:
            kept = rows.chosen or self._first
            entries = overview_entries(run, self._sections, view, layout, kept)
        else:
            entries = section_entries(run, self._sections, self._columns, view, layout.margin)
        entries += [fixed(x) for x in hidden]
        self._lay_out(layout, bool(count), len(top))
        self.grid.display = False
        rows.show(entries, self._first)
        if other:
            self.query_one("#head", Lines).update()
        self.update_details()

    def _layout_for(self, size: Size, rows: int) -> TabLayout:
        if self._arrangement.alone == "list":
            return list_alone(self._tab, size.width, size.height)
        layout = tab_layout(self._tab, size.width, size.height, rows)
        if self._arrangement.alone == "chart":
            return replace(layout, left=0, side=size.width - 1)
        return layout

    def _show_grid(self, size: Size, *, other: bool) -> None:
        """Show a chart for each row; the list keeps the cursor, out of sight."""
        rows = self._charted()
        if self.rows.display:
            self.rows.display = False
            self.rows.forget()  # nothing of it is painted any more
        # without lines the list has the same size for every tab: Textual lays out nothing again
        self.rows.show([Entry(r.tag, lambda _: [], 0) for r in rows], self._first)
        for name in ("#left", "#side"):
            self.query_one(name).display = False
        self.grid.display = True
        self.grid.show(self._run, rows, size, other=other)

    def _charted(self) -> list[Row]:
        """The rows of the grid; on Overview those that are pinned, if there are any."""
        pinned = [s for s in self._sections if s.title == PINNED]
        return [r for s in pinned or self._sections for r in s.rows]

    def put(self, tab: str, tag: str) -> None:
        """Put the cursor of a tab on a row."""
        self._chosen[tab] = tag
        if tab == self._tab:
            self.rows.put(tag)

    def _lay_out(self, layout: TabLayout, filled: bool, top: int) -> None:
        self.query_one("#top").display = top > 0
        self.query_one("#top").styles.height = top or 1
        self.query_one("#left").display = self.rows.display = layout.left > 0
        self.query_one("#left").styles.width = layout.left
        self.query_one("#head").display = layout.headed and filled
        self.rows.styles.height = layout.list_height
        self.query_one("#below").display = layout.below > 0 and filled
        self.query_one("#side").display = layout.side > 0

    def update_details(self) -> None:
        """Draw what depends on the cursor."""
        for lines in self.query(Lines):
            if lines.display and (lines.parent is self or self.query_one("#left").display):
                lines.update()

    def on_line_list_moved(self) -> None:
        if self.grid.display:
            self.grid.follow()
        else:
            self.update_details()

    def on_line_list_scrolled(self) -> None:
        self.query_one("#head", Lines).update()

    @property
    def _columns(self) -> Columns:
        rows = [r for s in self._sections for r in s.rows]
        return columns_of(rows, self._layout.rows, shell_of(self).view)

    # -- drawing ---------------------------------------------------------------------------

    def _draw_top(self, _width: int, _height: int) -> list[Line]:
        return indented(self._top, self._layout.margin)

    def _draw_head(self, _width: int, _height: int) -> list[Line]:
        run, layout = self._run, self._layout
        if not self._sections:
            return []
        visible = self.rows.in_view
        head = list_head(run, self._sections, self._columns, shell_of(self).view, visible)
        return [[(" " * layout.margin, TEXT), *head]]

    def _draw_below(self, _width: int, height: int) -> list[Line]:
        view = shell_of(self).view
        rows = [r for s in self._sections for r in s.rows]
        return below_lines(self._run, self.rows.cursor, view, self._layout, height, rows)

    def _draw_side(self, _width: int, height: int) -> list[Line]:
        width, view = self._layout.side - 1, shell_of(self).view
        tag = tag_to_chart(self._run, self._tab, self.rows.chosen, self.rows.cursor)
        if self._arrangement.alone == "chart" and tag is not None:
            cross = self.grid.cross if self._arrangement.grid else None
            return indented(chart_alone(self._run, tag, cross, view, width - 1, height), 2)
        lines = side_lines(self._run, self._tab, tag, view, width, height)
        return indented(lines, 1)


@dataclass(frozen=True, slots=True)
class Arrangement:
    """What the body of a tab shows."""

    grid: bool = False
    """A chart for each row instead of the list."""
    alone: str = ""
    """``chart`` or ``list`` when that has the whole body, else ``""``."""

    @property
    def is_grid(self) -> bool:
        """Whether the charts of all rows are in sight."""
        return self.grid and not self.alone

    def turned(self) -> Arrangement:
        """The grid instead of the list, or the list again."""
        return Arrangement(grid=not self.grid)

    def maximised(self) -> Arrangement:
        """The chart alone, then the list alone, then both; of a grid the chart alone, then all."""
        order = ("", "chart") if self.grid else ("", "chart", "list")
        return replace(self, alone=order[(order.index(self.alone) + 1) % len(order)])
