"""Runs side by side: a chart of one metric, and a table of all."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from textual.app import ComposeResult

from rltui.core.text import spaced
from rltui.draw.line import Block, apart, indented, margin_of
from rltui.draw.metric_chart import WHOLE_RUN
from rltui.facts.comparison import (
    ORDERS,
    Comparison,
    Crosshair,
    MetricColumn,
    RowId,
    RunRow,
    compared_runs,
    ends_words,
)
from rltui.facts.groups import is_unread, toggled
from rltui.facts.metrics import tab_of
from rltui.facts.runs import runs_matching
from rltui.output.markdown import comparison_table
from rltui.pages.comparison.lines import (
    ComparisonTable,
    Curves,
    ShownMetric,
    comparison_header,
    lines_of_words,
)
from rltui.pages.comparison.tables import Matrix, matrix_lines, settings_lines, settings_table
from rltui.pages.hyperparameters import side_files
from rltui.pages.metric.screen import Left, MetricScreen
from rltui.pages.run.chart_screen import Open, Then
from rltui.pages.run_actions import RunActions
from rltui.session import JudgedRun, Session
from rltui.sources.side_files.settings_files import FileSettings
from rltui.tui.crosshair import CrosshairKeys
from rltui.tui.keys import COMPARISON, next_of
from rltui.tui.screen import LEAST, ChartOptions, ListScreen, ReadingScreen, Work
from rltui.tui.shell import ShellApp, kept_screen
from rltui.tui.widgets.lines import LineList, Lines
from rltui.tui.widgets.status import Status

#: Lines of the curves at least, below a table.
_LEAST_CHART = 8
#: Lines of the sentences on groups.
_ON_GROUPS = 3
#: What stands above the table of runs, in the order of the key.
_CURVES, _MATRIX, _SETTINGS = range(3)


class ComparisonScreen(
    CrosshairKeys, ChartOptions, ListScreen, ReadingScreen, RunActions, places=(COMPARISON,)
):
    """The cursor moves over runs and, sideways, over metrics."""

    title_words = "Comparison"

    DEFAULT_CSS = """
    ComparisonScreen > #header, ComparisonScreen > #head { height: 1; }
    """

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session
        self.opens: Open = lambda _run, _then: None
        self._filter = ""
        """The filter that the screen opens with."""
        self._at: tuple[JudgedRun, str] | None = None
        """The run and the tag that the cursor begins on."""
        self._by = ""
        """Title of the grouping; empty for none."""
        self._order = ORDERS[0]
        self._chosen = 0
        """Index of the metric at the cursor."""
        self._followed: MetricColumn | None = None
        """The metric that the cursor stays on when the columns change."""
        self._made_for: object = None
        self._comparison = Comparison(())
        self._curves = Curves(self._comparison)
        self._kind = _CURVES
        """The kind of block above the table."""
        self._rows: list[RunRow] = []
        self._table: ComparisonTable | None = None

    def begin(self, opens: Open, at: tuple[JudgedRun, str] | None, text: str) -> None:
        """Choose what the screen opens with; see ``open_comparison``. The order of rows stays."""
        self.opens = opens
        self._filter = text
        for status in self.query(Status):
            status.filter = text
        if at != self._at or self._by:
            self._at = at
            self._by = ""
            self._made_for = None
            self._kind = _CURVES
        if at is not None:
            self._chosen = 0
            self._followed = None
            self._sort()

    def compose(self) -> ComposeResult:
        yield Lines(self._draw_header, id="header")
        yield Lines(self._draw_chart, id="chart")
        yield Lines(lambda *_: [self._table.head()] if self._table else [], id="head")
        yield LineList[RowId](id="rows")
        yield Lines(self._draw_words, id="words")
        status = Status(
            self.footer, lambda: f"{len(self._comparison.runs)} of {len(self.session.views)}"
        )
        status.filter = self._filter
        yield status

    def state_words(self) -> str:
        return spaced(self.shell.state_words(), f"by {self._order}")

    @property
    def _metric(self) -> MetricColumn | None:
        columns = self._comparison.columns
        return columns[self._chosen] if self._chosen < len(columns) else None

    @property
    def _charted_metric(self) -> ShownMetric | None:
        metric = self._metric
        if metric is None:
            return None
        return ShownMetric(self._comparison, metric, self._here, self.view)

    @property
    def _here(self) -> RunRow | None:
        return next((r for r in self._rows if r.id == self.items.cursor), None)

    @property
    def chosen_run(self) -> JudgedRun | None:
        here = self._here
        return here.runs[0] if here is not None and len(here.runs) == 1 else None

    @property
    def charted_runs(self) -> tuple[JudgedRun, ...]:
        return self._comparison.runs

    # -- what is shown ---------------------------------------------------------------------

    def update(self) -> None:
        self._compare()
        self._read()
        comparison = self._comparison
        view = self.view
        width, height = self.size
        for run in comparison.runs:
            self.session.memory.shown(run.key)

        # the table gets the lines that it needs, up to half
        bare = self.lacks(LEAST)
        words = bool(ends_words(comparison)) if comparison.grouping is None else _ON_GROUPS
        words *= not bare and height >= 12
        gap = 1 if height >= 30 else 0
        room = height - 3 - words - gap
        hidden = height < 16 and self._kind == _CURVES
        chart = 0 if hidden else max(room // 2, room - len(self._rows))
        self.query_one("#head").styles.margin = (gap, 0, 0, 0)

        for name, lines in (("#chart", chart), ("#words", words)):
            part = self.query_one(name)
            part.styles.height = lines
            part.display = lines > 0
        self.status.display = not bare

        self.read_on()
        self._table = ComparisonTable(comparison, self._chosen, width, view)
        self.items.show(self._table.entries(self._rows))
        self.on_line_list_moved()

    def _compare(self) -> None:
        """Compare the runs again if one of them, the grouping or a mark has changed."""
        view = self.view
        session = self.session
        reference = session.reference.run
        runs = compared_runs(session.runs(), view.marked, reference)
        runs = runs_matching(runs, self.status.filter)
        key = (tuple((r, r.version) for r in runs), self._by, view.marked, reference)

        if key == self._made_for:
            return
        self._made_for = key
        self._comparison = Comparison(
            runs, view.marked, self._by, self._at, reference, self._comparison
        )
        self._curves = Curves(self._comparison)
        self._chosen = self._comparison.index_of(self._followed)

        self._sort()

    def _read(self) -> None:
        """Read the runs at the crosshair, which stands at a step of the one at the cursor."""
        shown = self._charted_metric
        cross = None
        if self.cross is not None and shown is not None:
            cross = Crosshair.at(self.cross, shown.axis()[0], self.view.axis)
        if cross != self._comparison.cross:
            self._comparison.read_at(cross)
            self._sort()

    def _sort(self) -> None:
        self._rows = self._comparison.ordered(self._order, self._metric)

    on_line_list_moved = ListScreen.draw_lines

    def _draw_header(self, width: int, _: int) -> Block:
        session = self.session
        label = ", ".join(session.naming.labels)
        total = len(session.views)
        metric = self._metric
        by = self._order if metric is None or self._order != ORDERS[0] else metric.title
        return [comparison_header(self._comparison, total, label, by, width)]

    def _draw_chart(self, width: int, height: int) -> Block:
        matrix = self._matrix
        shown = self._charted_metric
        margin = margin_of(width)
        room = width - margin - 1
        lines = Block()
        if self._kind == _SETTINGS:
            lines = settings_lines(self._comparison, self.view, room, height)
        elif matrix is not None:
            lines = matrix_lines(matrix, self.view, room, height)
        rest = height - len(lines) - bool(lines)
        if shown is not None and (rest >= _LEAST_CHART or not lines):
            lines = apart(lines, self._curves.chart(shown, room, rest))
        return indented(lines, margin)

    def _draw_words(self, width: int, height: int) -> Block:
        shown = self._charted_metric
        return [] if shown is None else lines_of_words(shown, width, height)

    # -- moving ----------------------------------------------------------------------------

    def action_step_column(self, by: int) -> None:
        """Choose the metric on the right, or on the left."""
        last = max(0, len(self._comparison.columns) - 1)
        if not 0 <= self._chosen + by <= last:
            self.say(f"this is the {'first' if by < 0 else 'last'} metric")
            return
        self._chosen += by
        self._followed = self._metric
        self._sort()
        self.update()

    # -- crosshair -------------------------------------------------------------------------

    def charted(self) -> tuple[JudgedRun, str] | None:
        """The run at the cursor, else the first one that has the metric."""
        shown = self._charted_metric
        return None if shown is None else next(iter(shown.tags()), None)

    def reported(self) -> tuple[Session, JudgedRun | None]:
        return self.session, None

    def action_back(self) -> None:
        """Clear the filter, else remove the crosshair, else go back."""
        if self.cross is None:
            super().action_back()
        elif not self.leave_line():
            self.show_step(None)

    # -- what is compared ------------------------------------------------------------------

    def action_order(self) -> None:
        """Sort by the next order: metric, name, verdict."""
        self._order = next_of(ORDERS, self._order)
        self._sort()
        self.update()

    def action_matrix(self) -> None:
        """Show the next kind: curves, groups as a matrix, settings that differ."""
        self._show_kind((self._kind + 1) % (_SETTINGS + 1))

    def _show_kind(self, kind: int) -> None:
        tables = self._comparison.sweep.tables
        if self._kind == _MATRIX:
            self._by = ""
        if kind == _MATRIX and not self._by and tables:
            self._by = tables[0].title
        self._kind = kind if self._by or kind != _MATRIX else _SETTINGS
        self.update()

    def action_axis(self) -> None:
        """Choose the next x axis, or the hyperparameters of the matrix."""
        if self._kind != _MATRIX:
            super().action_axis()
            return
        titles = [g.title for g in self._comparison.sweep.tables]
        if titles:
            self._by = next_of(titles, self._by)
            self.update()

    def action_group(self) -> None:
        """Group the runs in the next way, or not at all."""
        self._by = self._next_grouping()
        self.update()

    def _next_grouping(self) -> str:
        """Title of the grouping after the present one; empty for none."""
        titles = ["", *(g.title for g in self._comparison.sweep.groupings)]
        if len(titles) == 1:
            self.say("no groups: most runs share no name or setting")
        return next_of(titles, self._by, absent=0)

    def action_mark(self) -> None:
        """Mark the run at the cursor, or unmark it."""
        here = self._here
        if here is None or len(here.runs) > 1:
            self.say("B ends the groups; runs are marked one by one")
            return
        if here.runs[0].key not in self.session.views:
            self.say("the reference is always compared; c sets another, or none")
            return
        self.set_view(marked=toggled(self.view.marked, here.runs[0]))
        if len(self.view.marked) < 2:
            self.say("all runs are compared until two are marked")

    def action_hyperparameters(self) -> None:
        """Show in which hyperparameters the runs differ, or their curves again."""
        self._show_kind(_CURVES if self._kind == _SETTINGS else _SETTINGS)

    def wanted(self) -> Work | None:
        """Read the files beside logs that hold no hyperparameters."""
        if self._kind == _CURVES:
            return None
        session = self.session
        runs = self._comparison.runs
        unread = [r for r in runs if is_unread(r) and not r.data.files.reading]

        def take(found: Mapping[JudgedRun, FileSettings]) -> None:
            for run, settings in found.items():
                session.learned(run, settings.values)
            tables = self._comparison.sweep.tables
            if self._kind == _MATRIX and tables and self._by == tables[0].title:
                self._compare()  # the main settings may be known only now
                self._show_kind(_MATRIX)

        return side_files(session, unread, take) if unread else None

    # -- in and out ------------------------------------------------------------------------

    def action_enter(self) -> None:
        """Open the chosen metric of the run at the cursor; Esc leads back here."""
        here = self._here
        metric = self._metric
        if here is None:
            return
        if len(here.runs) > 1:
            self.action_group()
            return
        run = here.runs[0]
        tag = None if metric is None else metric.tags.get(run.key)

        if tag is None:
            self._go_on(run, lambda _screen: None)
            return
        make = partial(MetricScreen, self.session, run)
        screen = kept_screen(self.shell, "compared metric", make)
        screen.choose(run, tab_of(run.infos[tag]), tag, "", WHOLE_RUN)

        def come_back(left: Left | None) -> None:
            if left is not None and left.then is not None:
                self._go_on(screen.run, left.then)

        if self.shell.screen is self:  # a second click may come before the first has opened it
            self.shell.push_screen(screen, come_back)

    def _go_on(self, run: JudgedRun, then: Then) -> None:
        """Leave for the screen of a run."""
        if run.key not in self.session.views:
            self.say(f"{run.name} is in another directory: rltui PATH opens it")
            return
        self.dismiss()
        self.opens(run, then)

    def action_runs(self) -> None:
        """Show the list of runs."""
        self.leave_line()
        while len(self.shell.screen_stack) > 1:
            self.shell.pop_screen()

    @property
    def _matrix(self) -> Matrix | None:
        metric = self._metric
        if self._kind != _MATRIX or metric is None:
            return None
        return self._curves.matrix(metric)

    def copied_text(self) -> str:
        if self._kind == _SETTINGS:
            return "\n".join(map("\t".join, settings_table(self._comparison)))
        if (matrix := self._matrix) is not None:
            return matrix.text()
        return comparison_table(self._comparison, self._rows, self._comparison.columns)


def open_comparison(
    shell: ShellApp[Any],
    session: Session,
    opens: Open,
    at: tuple[JudgedRun, str] | None = None,
) -> None:
    """Show the marked runs side by side, or all; ``at`` is a run and the tag to begin with."""
    runs = compared_runs(session.runs(), shell.view.marked, session.reference.run)
    if len(runs) < 2:
        reading = session.reading() is not None
        shell.say("the runs are being read" if reading else "there is no other run to compare with")
        return
    text = "" if len(shell.view.marked) > 1 else shell.state.runs_filter
    passing = runs_matching(runs, text)
    if len(passing) < 2 or (at is not None and at[0] not in passing):
        text = ""
    screen = kept_screen(shell, "comparison", lambda: ComparisonScreen(session))

    if screen in shell.screen_stack:  # below the metric that it opened
        screen.begin(screen.opens, at, screen.status.filter)
        shell.pop_screen()
        return
    screen.begin(opens, at, text)
    shell.push_screen(screen)
