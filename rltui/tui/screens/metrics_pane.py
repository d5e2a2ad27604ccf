"""Overview and the category tabs: the list of metrics and the details of the row at the cursor."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.geometry import Size

from rltui.core.batch import RunKey
from rltui.present.kit.line import TEXT, Line
from rltui.present.screens.entries import Entry, fixed, indented
from rltui.present.screens.metric_rows import Section, tab_sections
from rltui.present.screens.metric_table import columns_for, list_head, row_entries
from rltui.present.screens.tab import (
    TabLayout,
    below_lines,
    empty_lines,
    first_to_look_at,
    hidden_lines,
    overview_entries,
    shown_of,
    side_lines,
    tab_layout,
    tag_to_chart,
    without_rows,
)
from rltui.present.screens.tabs import OVERVIEW
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
        self._sections: list[Section] = []
        self._layout = tab_layout(OVERVIEW, 80, 24, 0)
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
            yield Lines(self._draw_head, id="head")
            yield LineList[str](id="rows")
            yield Lines(self._draw_below, id="below")
        yield Lines(self._draw_side, id="side")

    @property
    def rows(self) -> LineList[str]:
        """The list."""
        return self.query_one("#rows", LineList)

    def turn_to(self, run: RunView) -> None:
        """Show another run from now on, each tab with the cursor where it was."""
        self._chosen[self._tab] = self.rows.chosen
        self._left[self._run.key] = self._chosen
        self._run, self._chosen, self._tab = run, self._left.get(run.key, {}), ""
        for name in ("#below", "#side"):
            self.query_one(name, Lines).blank()

    @property
    def note(self) -> str:
        """What the filter left."""
        total = sum(len(s.rows) for s in tab_sections(self._run, self._tab))
        return shown_of(self._sections, total, self._tab)

    def show(self, tab: str, text: str, size: Size) -> None:
        """Show a tab after the filter ``text``, in a pane of ``size``."""
        run, rows = self._run, self.rows
        if other := tab != self._tab:
            if self._tab:
                self._chosen[self._tab] = rows.chosen
            rows.chosen = self._chosen.get(tab)
            rows.forget()
        self._tab = tab
        self._sections = tab_sections(run, tab, text)
        view = shell_of(self).view
        if self._sections and (other or not self._settled):
            self._first = first_to_look_at(run, tab, self._sections)
            self._settled = run.report is not None
        count = sum(len(s.rows) for s in self._sections)
        hidden = hidden_lines(run, tab, text, view) if text else []
        self._layout = layout = tab_layout(tab, size.width, size.height, count + len(hidden))
        if not count:
            self._layout = layout = without_rows(layout, size.width, size.height)
            lines = empty_lines(run, bool(text), view, layout)
            entries: list[Entry[str]] = [fixed(x) for x in lines]
        elif tab == OVERVIEW:
            kept = rows.chosen or self._first
            entries = overview_entries(run, self._sections, view, layout, kept)
        else:
            columns = columns_for(layout.rows)
            found = [r for s in self._sections for r in s.rows]
            entries = row_entries(run, found, columns, view, layout.margin)
        entries += [fixed(x) for x in hidden]
        self._arrange(layout, bool(count))
        rows.show(entries, self._first)
        if other:
            self.query_one("#head", Lines).update()
            self.call_after_refresh(self.update_details)  # the list is seen before its charts
        else:
            self.update_details()

    def put(self, tab: str, tag: str) -> None:
        """Put the cursor of a tab on a row."""
        self._chosen[tab] = tag
        if tab == self._tab:
            self.rows.put(tag)

    def _arrange(self, layout: TabLayout, filled: bool) -> None:
        self.query_one("#left").styles.width = layout.left
        self.query_one("#head").display = layout.headed and filled
        self.rows.styles.height = layout.list_height
        self.query_one("#below").display = layout.below > 0 and filled
        self.query_one("#side").display = layout.side > 0

    def update_details(self) -> None:
        """Draw what depends on the cursor."""
        for lines in self.query(Lines):
            lines.update()

    def on_line_list_moved(self) -> None:
        self.update_details()

    def on_line_list_scrolled(self) -> None:
        self.query_one("#head", Lines).update()

    # -- drawing ---------------------------------------------------------------------------

    def _draw_head(self, _width: int, _height: int) -> list[Line]:
        run, layout = self._run, self._layout
        if not self._sections:
            return []
        columns = columns_for(layout.rows)
        visible = self.rows.in_view
        head = list_head(run, self._sections[0], columns, shell_of(self).view, visible)
        return [[(" " * layout.margin, TEXT), *head]]

    def _draw_below(self, _width: int, height: int) -> list[Line]:
        view = shell_of(self).view
        return below_lines(self._run, self.rows.cursor, view, self._layout, height)

    def _draw_side(self, _width: int, height: int) -> list[Line]:
        width, view = self._layout.side - 1, shell_of(self).view
        tag = tag_to_chart(self._run, self._tab, self.rows.chosen, self.rows.cursor)
        lines = side_lines(self._run, self._tab, tag, view, width, height)
        return indented(lines, 1)
