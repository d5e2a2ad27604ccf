"""Overview and the category tabs: the list of metrics, and the details of the row at the cursor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.geometry import Size

from rltui.core.record import record
from rltui.core.text import cell_width
from rltui.draw.line import (
    MUTED,
    STRONG,
    TEXT,
    Block,
    Entry,
    Line,
    Token,
    fit_line,
    fixed,
    indented,
    line_width,
    style,
)
from rltui.draw.metric_chart import WHOLE_RUN, chart_lines, statistics_in_line
from rltui.draw.prose import fact_line, paragraph
from rltui.draw.table import Cells, heading, table_for
from rltui.draw.view import PaneLayout, View
from rltui.facts import numbers, sentences
from rltui.facts.metrics import (
    ALL,
    OVERVIEW,
    PINNED,
    TAB_BY_ID,
    Section,
    TagRow,
    rows_in,
    tab_of_parts,
    tab_sections,
    tabs_of,
)
from rltui.facts.timing import Load, anatomy, loads
from rltui.pages.findings.lines import finding_block
from rltui.pages.run.grid import Grid, grid_lines
from rltui.pages.run.grid_layout import MARGIN, grid_layout
from rltui.pages.run.metric_table import columns_for, columns_of, list_head, section_entries
from rltui.pages.run.tab import (
    chart_alone,
    empty_lines,
    first_to_look_at,
    hidden_lines,
    overview_entries,
    side_lines,
    tab_layout,
    tag_to_chart,
    tags_beside,
)
from rltui.pages.run_pane import RunPane
from rltui.session import JudgedRun
from rltui.session.limits import session_limits
from rltui.tui.widgets.lines import Lines


@record
class Arrangement:
    """What the body of a tab shows."""

    grid: bool = False
    """A chart for each row instead of the list."""
    alone: str = ""
    """``chart`` or ``list`` when that has the whole body, else ``""``."""

    @property
    def is_grid(self) -> bool:
        """Whether the charts of all rows are shown."""
        return self.grid and not self.alone


class MetricsPane(RunPane):
    """The body of the run's screen for every tab but Findings."""

    DEFAULT_CSS = """
    MetricsPane { height: 1fr; layout: horizontal; }
    MetricsPane #left { height: 1fr; }
    MetricsPane #head { height: 1; }
    """

    def __init__(self, run: JudgedRun) -> None:
        super().__init__(run, "rows", tab_layout(OVERVIEW, 80, 24, 0))
        self.grid = Grid(run, lambda: self.items.cursor)
        """The charts that can take the place of the list."""
        self._tab = ""
        self._sections: Sequence[Section] = []
        self._arrangement = Arrangement()
        self._top: Block = []
        """The lines above the list."""
        self._columns = columns_for(0)
        """The columns of the list."""
        self._chosen: dict[str, str | None] = {}
        """Tab -> the row that the user put the cursor on."""
        self._first: str | None = None
        """The row that the cursor is on until the user moves it, while the tab is open."""
        self._settled = False
        """Whether the run had a verdict when that row was found."""
        self._media: Any = None
        """The widget for a histogram or picture at the cursor, once there was one."""

    def compose(self) -> ComposeResult:
        with Vertical(id="left"):
            yield Lines(lambda *_: indented(self._top, self._layout.margin), id="top")
            yield Lines(self._draw_head, id="head")
            yield self.items
            yield Lines(self._draw_below, id="below")
        yield Lines(self._draw_side, id="side")
        yield self.grid

    def turn_to(self, run: JudgedRun) -> None:
        """Show another run from now on, each tab with the cursor where it was."""
        self._chosen[self._tab] = self.items.chosen
        self._left[self._run.key] = self._chosen
        self._run, self._chosen, self._tab = run, self._left.get(run.key, {}), ""
        for name in ("#below", "#side"):
            self.query_one(name, Lines).blank()

    @property
    def note(self) -> str:
        """ "Actor 4 of 22": what the filter left; "" before a tab was shown: the window may be too
        small."""
        if not self._tab:
            return ""
        total = len(rows_in(tab_sections(self._run, self._tab)))
        return f"{TAB_BY_ID[self._tab].title} {len(self._rows)} of {total}"

    @property
    def _rows(self) -> list[TagRow]:
        return rows_in(self._sections)

    def show(self, tab: str, text: str, size: Size, arrangement: Arrangement) -> None:
        """Show a tab after the filter ``text``, in a pane of ``size``."""
        run = self._run
        rows = self.items
        view = self.view
        if other := (tab, arrangement) != (self._tab, self._arrangement):
            if self._tab:
                self._chosen[self._tab] = rows.chosen
            rows.chosen = self._chosen.get(tab)
            rows.repaint_all()
        self._tab = tab
        self._arrangement = arrangement
        # the charts out of sight need no values: a live run would read all of its new points
        self._sections = tab_sections(run, tab, text, valued=not arrangement.is_grid)

        if self._sections and (other or not self._settled):
            self._first = first_to_look_at(run, tab, self._sections)
            self._settled = run.report is not None
        count = len(self._rows)

        if arrangement.is_grid and count:
            # a chart for each row, on Overview for those that are pinned, if there are any; the
            # list keeps the cursor, out of sight
            pinned = [s for s in self._sections if s.title == PINNED]
            charted = rows_in(pinned or self._sections)
            if rows.display:
                rows.display = False
                rows.repaint_all()  # nothing of it is painted any more
            # without lines it has the same size for every tab: Textual lays out nothing again
            rows.show([Entry(r.tag, lambda _: [], 0) for r in charted], self._first)
            self.query_one("#left").display = self.query_one("#side").display = False
            self.grid.display = True
            self._show_media()
            self.grid.show(run, charted, size, other=other)
        else:
            self._show_list(text, size, count, hidden_lines(run, tab, text, view) if text else [])
            if other:
                self.query_one("#head", Lines).update()
            self.update_details()

    def _show_list(self, text: str, size: Size, count: int, hidden: Block) -> None:
        """Show the ``count`` rows as a list, and below them the lines ``hidden``."""
        run = self._run
        tab = self._tab
        view = self.view
        cells = tab_layout(tab, size.width, size.height, 0).rows
        self._top = top_lines(run, tab, view, cells, size.height)
        width = size.width
        height = size.height - len(self._top)
        alone = self._arrangement.alone
        keys = run.data.media.keys if tab == ALL else []
        needed = count + max(0, 2 * (len(self._sections) - 1)) + len(hidden)
        needed += len(keys) and len(keys) + 2
        layout = tab_layout(tab, width, height, needed, alone=alone)

        if not count:  # what stands in place of the list has all the width
            rows = max(1, width - layout.margin - 1)
            left = width
            layout = replace(layout, rows=rows, left=left, side=0, below=0)
            layout = replace(layout, list_height=max(1, height))
        entries = self._entries(text, layout, count)
        if keys:
            from rltui.pages.media import media_entries  # heavy

            entries += media_entries(run, text, view, layout.rows, layout.margin)
        self._layout = layout

        shown = {
            "#top": bool(self._top),
            "#left": layout.left > 0,
            "#rows": layout.left > 0,
            "#head": layout.headed and count > 0,
            "#below": layout.below > 0 and count > 0,
            "#side": layout.side > 0 and not (self._media and self._media.display),
        }

        for name, display in shown.items():
            self.query_one(name).display = display
        self.query_one("#top").styles.height = len(self._top) or 1
        self.query_one("#left").styles.width = layout.left
        self.items.styles.height = layout.list_height
        self.grid.display = False
        self.items.show([*entries, *(fixed(x) for x in hidden)], self._first)

    def _entries(self, text: str, layout: PaneLayout, count: int) -> list[Entry[str]]:
        """The ``count`` rows as entries, or what stands in their place."""
        run = self._run
        view = self.view
        if not count:
            return [fixed(x) for x in empty_lines(run, bool(text), layout)]
        if self._tab != OVERVIEW:
            columns = self._columns = columns_of(self._rows, layout.rows)
            return section_entries(run, self._sections, columns, view, layout.margin)
        kept = self.items.chosen or self._first
        return overview_entries(run, self._sections, view, layout, kept)

    def put(self, tab: str, tag: str) -> None:
        """Put the cursor of a tab on a row."""
        self._chosen[tab] = tag
        if tab == self._tab:
            self.items.put(tag)

    def update_details(self) -> None:
        """Draw what depends on the cursor."""
        self._show_media()
        for lines in self.query(Lines):
            if lines.display and (lines.parent is self or self.query_one("#left").display):
                lines.update()

    def _show_media(self) -> None:
        """Show the histogram or picture at the cursor where a chart would be."""
        run = self._run
        cursor = self.items.cursor
        keys = run.data.media.keys if self._tab == ALL else ()
        key = next((k for k in keys if k.id == cursor), None)
        beside = self._layout.side > 0 and not self.grid.display
        shown = beside and key is not None
        if beside and key is not None and self._media is None:
            from rltui.pages.media import MediaView  # heavy

            self._media = MediaView(run, key)
            self.mount(self._media)
        if self._media is not None:
            self._media.display = shown
            self.query_one("#side").display = beside and not shown
        if shown:
            self._media.show(run, key)

    def on_line_list_moved(self) -> None:
        if self.grid.display:
            self.grid.follow()
        else:
            self.update_details()

    def on_line_list_scrolled(self) -> None:
        self.query_one("#head", Lines).update()

    # -- drawing ---------------------------------------------------------------------------

    def _draw_head(self, _width: int, _height: int) -> Block:
        layout = self._layout
        if not self._sections:
            return []
        first, last = (
            min(n, len(self._rows)) for n in self.items.in_view
        )  # media stand below the metrics
        seen = (min(first, last - 1), last)
        head = list_head(self._run, self._sections, self._columns, self.view, seen)
        return [[(" " * layout.margin, TEXT), *head]]

    def _draw_below(self, _width: int, height: int) -> Block:
        cursor = self.items.cursor
        layout = self._layout
        return below_lines(self._run, cursor, self.view, layout, height, self._rows)

    def _draw_side(self, _width: int, height: int) -> Block:
        width = self._layout.side - 1
        view = self.view
        rows = self.items
        tag = tag_to_chart(self._run, self._tab, rows.chosen, rows.cursor)
        if self._arrangement.alone == "chart" and tag is not None:
            cross = self.grid.cross if self._arrangement.grid else None
            return indented(chart_alone(self._run, tag, cross, view, width - 1, height), 2)
        lines = side_lines(self._run, self._tab, tag, view, width, height)
        return indented(lines, 1)


#: Lines about the row at the cursor when charts stand below them, and the least for these.
_ABOUT = 11
_CHARTS_BELOW = 14
#: Lines of the chart under a list, at most.
_LOW_CHART = 20
BALANCE = "balance"
#: Fewest lines of the tab that leave room for it.
_LEAST_HEIGHT = 14
_LOADS = """
    name low> bar high excess
 0   17   7    7*   7     16
"""


def below_lines(
    run: JudgedRun,
    cursor: str | None,
    view: View,
    layout: PaneLayout,
    height: int,
    rows: Sequence[TagRow] = (),
) -> Block:
    """The lines under the list: without a side pane the chart of the row at the cursor, else what
    is known of that row and, if there is room, charts of the other ``rows`` of the list."""
    if cursor not in run.infos or height < 3:
        return []
    info = run.infos[cursor]

    if not layout.side:
        # the title of the chart says what is found, or why there is no tick, instead of the tag
        found = next((f for f in run.findings if f.is_about(cursor)), None)
        why = sentences.no_tick(run.verdict.judgement(cursor)) or info.unit
        note = sentences.short(found) if found and found.fires else why
        if cell_width(f"{info.title}{note}") + 6 > layout.rows:
            note = ""
        chart = chart_lines(run, cursor, view, layout.rows, min(height - 1, _LOW_CHART))
        return indented([heading(info.title, layout.rows, view, note), *chart], layout.margin)

    beside = tags_beside(run, cursor, layout.side - 1)
    others = [r for r in rows if r.tag not in beside]
    charts: Block = []
    if others and height - _ABOUT >= _CHARTS_BELOW:
        places = grid_layout(layout.rows + MARGIN, height - _ABOUT, len(others))
        charts = grid_lines(run, others, None, None, view, places)
    room = height - len(charts) - 1
    lines = _about(run, cursor, view, layout.rows, room - bool(charts))

    return [[], *lines, *([[]] * (room - len(lines))), *charts]


def _about(run: JudgedRun, tag: str, view: View, width: int, height: int) -> Block:
    """Findings, statistics and meaning of a row, in at most ``height`` lines."""
    info = run.infos[tag]
    inner = width - 2
    lines: Block = [[("  ", TEXT), *heading(info.title, width, view, tag)]]
    for finding in run.findings:
        if finding.is_about(tag):
            lines += indented(finding_block(run, finding, view, inner, 2), 2)
    facts = statistics_in_line(run, tag, view, WHOLE_RUN)
    lines += [[], [("  ", TEXT), *fact_line(facts, inner)]]
    if info.meaning and len(lines) + 1 < height:
        limit = height - len(lines) - 1
        lines += [[], *paragraph(info.meaning, inner, indent=2, limit=limit)]

    return [fit_line(x, width + 2) for x in lines[:height]]


def tab_of_devices(run: JudgedRun) -> str:
    """The id of the tab above whose metrics GPUs and nodes stand beside each other."""
    found = {tab.id for tab in tabs_of(run)}
    return next((t for t in ("perf", BALANCE) if t in found), ALL)


def top_lines(run: JudgedRun, tab: str, view: View, width: int, height: int) -> Block:
    """The lines above the rows of a tab ``height`` lines high: on Balance the spread of every load
    and the cost of waiting for the fullest rank, on Perf, else Balance or All, GPUs and nodes,
    elsewhere what earns the reward, where its parts are."""
    if tab == tab_of_parts(run):
        from rltui.pages.run.rewards import earning_lines  # heavy

        return earning_lines(run, view, width, height)
    above: Block = []
    if tab == tab_of_devices(run):
        from rltui.pages.run.devices import device_lines  # heavy

        above = device_lines(run, view, width, height)
    if tab != BALANCE or height - len(above) < _LEAST_HEIGHT or width < 58:
        return above
    found = loads(run)

    if not found:
        return above
    rows = f"newest {session_limits().stages.recent} {run.step_word}s"
    note = f"least, mean and most loaded rank, {rows}"
    lines = [heading("Spread", width, view, note)]

    for load in found:
        same = [x for x in found if run.infos[x.tag].unit == run.infos[load.tag].unit]
        scale = min(x.low for x in same), max(x.high for x in same)
        lines.append(_load_line(load, scale, width))
    lines += [_wait_line(run, load, width) for load in found if not math.isnan(load.wait)]

    return [*above, *lines, []]


def _load_line(load: Load, scale: tuple[float, float], width: int) -> Line:
    """Title, least and largest value of a load, and between them a bar on the ``scale`` of all
    loads in the same unit."""
    columns = table_for(_LOADS, width, 0)
    cells = columns["bar"]
    size = scale[1] - scale[0]
    begin, middle, end = (
        round((value - scale[0]) / size * (cells - 1)) if size > 0 else cells // 2
        for value in (load.low, min(load.mean, load.high), load.high)
    )
    bar = [" "] * cells
    bar[begin : end + 1] = ["─"] * (end - begin + 1)
    bar[middle] = "●"
    excess = f"{numbers.percent(load.excess, whole=True)} above mean" if load.excess > 0 else ""
    row: Cells = {
        "name": (load.title, TEXT),
        "low": (numbers.short(load.low), STRONG),
        "bar": ("".join(bar), style(Token.SERIES)),
        "high": (numbers.short(load.high), STRONG),
        "excess": (excess, MUTED),
    }
    return columns.line([], row)


def _wait_line(run: JudgedRun, load: Load, width: int) -> Line:
    """What the average rank waits for the fullest one, per step."""
    found = anatomy(run)
    wait = numbers.duration(load.wait, tenths=True) if load.wait > 0 else "0 s"
    line: Line = [(f"{load.title}: the others wait ", TEXT), (f"{wait} per step", STRONG)]
    if found is not None and found.length > 0:
        share = numbers.percent(load.wait / found.length, whole=True)
        tail = f", {share} of {numbers.duration(found.length, tenths=True)}"
        if line_width(line) + cell_width(tail) <= width:
            line.append((tail, MUTED))

    return fit_line(line, width)
