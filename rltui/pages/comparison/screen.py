"""Runs side by side: a chart of one metric, and a table of all."""

from __future__ import annotations

from functools import partial
from typing import Any

from textual.app import ComposeResult

from rltui.core.text import spaced
from rltui.draw.line import Block, indented, margin_of
from rltui.draw.metric_chart import WHOLE_RUN
from rltui.facts.comparison import (
    ORDERS,
    Comparison,
    Crosshair,
    MetricColumn,
    RowId,
    RunRow,
    compared_runs,
)
from rltui.facts.groups import toggled
from rltui.facts.runs import runs_matching
from rltui.pages.comparison.lines import (
    ComparisonTable,
    Curves,
    ShownMetric,
    comparison_charts,
    comparison_header,
    comparison_text,
    count_of_lines,
    lines_of_words,
)
from rltui.pages.comparison.scatter import scatter_lines, settings_to_plot
from rltui.pages.hyperparameters import HyperparametersScreen
from rltui.pages.metric.screen import Left, MetricScreen
from rltui.pages.run.chart_screen import Open, Then
from rltui.pages.run_actions import RunActions
from rltui.session import JudgedRun, Session
from rltui.tui.crosshair import CrosshairKeys
from rltui.tui.keys import COMPARISON, next_of
from rltui.tui.screen import LEAST, ChartOptions, ListScreen
from rltui.tui.shell import ShellApp, kept_screen
from rltui.tui.widgets.lines import LineList, Lines
from rltui.tui.widgets.status import Status


class ComparisonScreen(CrosshairKeys, ChartOptions, ListScreen, RunActions, places=(COMPARISON,)):
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
        self._grouped = False
        """Whether the first grouping is to be taken."""
        self._order = ORDERS[0]
        self._chosen = 0
        """Index of the metric at the cursor."""
        self._followed: MetricColumn | None = None
        """The metric that the cursor stays on when the columns change."""
        self._made_for: object = None
        self._comparison = Comparison(())
        self._curves = Curves(self._comparison)
        self._setting = ""
        """The hyperparameter of the scatter; empty for curves."""
        self._rows: list[RunRow] = []
        self._table: ComparisonTable | None = None

    def begin(
        self, opens: Open, at: tuple[JudgedRun, str] | None, text: str, *, grouped: bool = False
    ) -> None:
        """Choose what the screen opens with; see ``open_comparison``. The order of rows stays."""
        self.opens, self._filter = opens, text
        for status in self.query(Status):
            status.filter = text
        if at != self._at or grouped or self._by:
            self._at, self._by, self._grouped, self._made_for = at, "", grouped, None
        if at is not None:
            self._chosen, self._followed = 0, None
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
        comparison, view, (width, height) = self._comparison, self.view, self.size
        for run in comparison.runs:
            self.session.memory.shown(run.key)

        # the table gets the lines that it needs, up to half
        bare = self.lacks(LEAST)
        words = 0 if bare or height < 12 else count_of_lines(comparison, width)
        gap = 1 if height >= 30 else 0
        room = height - 3 - words - gap
        chart = 0 if height < 16 else max(room // 2, room - len(self._rows))
        self.query_one("#head").styles.margin = (gap, 0, 0, 0)

        for name, lines in (("#chart", chart), ("#words", words)):
            part = self.query_one(name)
            part.styles.height, part.display = lines, lines > 0
        self.status.display = not bare

        self._table = ComparisonTable(comparison, self._chosen, width, view)
        self.items.show(self._table.entries(self._rows))
        self.on_line_list_moved()

    def _compare(self) -> None:
        """Compare the runs again if one of them, the grouping or a mark has changed."""
        view, session = self.view, self.session
        runs = runs_matching(compared_runs(session.runs(), view.marked), self.status.filter)
        key = (tuple((r, r.version) for r in runs), self._by, view.marked, session.reference.run)

        if key == self._made_for:
            return
        self._made_for = key
        reference = session.reference.run
        self._comparison = Comparison(
            runs, view.marked, self._by, self._at, reference, self._comparison
        )
        self._curves = Curves(self._comparison)
        self._chosen = self._comparison.index_of(self._followed)

        if self._grouped:
            self._grouped = False
            self._by = self._next_grouping()
            self._compare()
        self._sort()

    def _read(self) -> None:
        """Read the runs at the crosshair, which stands at a step of the one at the cursor."""
        shown, cross = self._charted_metric, None
        if self.cross is not None and shown is not None:
            cross = Crosshair.at(self.cross, shown.axis()[0], self.view.axis)
        if cross != self._comparison.cross:
            self._comparison.read_at(cross)
            self._sort()

    def _sort(self) -> None:
        self._rows = self._comparison.ordered(self._order, self._metric)

    def on_line_list_moved(self) -> None:
        self.draw_lines()

    def _draw_header(self, width: int, _: int) -> Block:
        session = self.session
        label, total = ", ".join(session.naming.labels), len(session.views)
        return [comparison_header(self._comparison, total, label, width)]

    def _draw_chart(self, width: int, height: int) -> Block:
        shown = self._charted_metric
        if self._setting and shown is not None:
            margin = margin_of(width)
            lines = scatter_lines(shown, self._setting, width - margin - 1, height)
            return indented(lines, margin)
        return comparison_charts(self._curves, self._chosen, self._here, self.view, width, height)

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
        here, metric = self._here, self._metric
        runs = (*(here.runs if here is not None else ()), *self._comparison.runs)
        tags = {} if metric is None else metric.tags
        return next(((r, tags[r.key]) for r in runs if r.key in tags), None)

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

    def action_scatter(self) -> None:
        """Plot where the runs got to against a hyperparameter, or their curves again."""
        names = settings_to_plot(self._comparison)
        if not names:
            self.say("the runs differ in no hyperparameter that they log")
        self._setting = names[0] if names and not self._setting else ""
        self.update()

    def action_axis(self) -> None:
        """Choose the next x axis, or of a scatter the next hyperparameter."""
        names = settings_to_plot(self._comparison)
        if not self._setting or not names:
            super().action_axis()
            return
        self._setting = next_of(names, self._setting)
        if len(names) == 1:
            self.say("the runs differ in no other hyperparameter")
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
        self.set_view(marked=toggled(self.view.marked, here.runs[0]))
        if len(self.view.marked) < 2:
            self.say("all runs are compared until two are marked")

    def action_hyperparameters(self) -> None:
        """Show in which hyperparameters the runs differ from the one at the cursor."""
        here, runs = self._here, self._comparison.runs
        if here is not None:
            self.shell.push_screen(HyperparametersScreen(self.session, here.runs[0], runs))

    # -- in and out ------------------------------------------------------------------------

    def action_enter(self) -> None:
        """Open the chosen metric of the run at the cursor; Esc leads back here."""
        here, metric = self._here, self._metric
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
        screen.choose(run, run.infos[tag].category.value, tag, "", WHOLE_RUN)

        def come_back(left: Left | None) -> None:
            if left is not None and left.then is not None:
                self._go_on(screen.run, left.then)

        if self.shell.screen is self:  # a second click may come before the first has opened it
            self.shell.push_screen(screen, come_back)

    def _go_on(self, run: JudgedRun, then: Then) -> None:
        """Leave for the screen of a run."""
        self.dismiss()
        self.opens(run, then)

    def action_runs(self) -> None:
        """Show the list of runs."""
        self.leave_line()
        while len(self.shell.screen_stack) > 1:
            self.shell.pop_screen()

    def copied_text(self) -> str:
        return comparison_text(self._comparison, self._rows)


def open_comparison(
    shell: ShellApp[Any],
    session: Session,
    opens: Open,
    at: tuple[JudgedRun, str] | None = None,
    *,
    grouped: bool = False,
) -> None:
    """Show the marked runs side by side, or all; ``at`` is a run and the tag to begin with.
    ``grouped``: by the first grouping that there is."""
    runs = compared_runs(session.runs(), shell.view.marked)
    if len(runs) < 2:
        reading = session.reading() is not None
        shell.say("the runs are being read" if reading else "there is no other run to compare with")
        return
    text = "" if len(shell.view.marked) > 1 else shell.state.runs_filter
    passing = runs_matching(runs, text)

    if at is not None and at[0] not in passing:
        text = ""
    elif len(passing) < 2:
        shown, total = len(runs_matching(session.runs(), text)), len(session.views)
        some = f", {len(passing)} with values" if len(passing) < shown else ""
        shell.say(f"the filter shows {shown} of {total} runs{some}; Esc clears it")
        return
    screen = kept_screen(shell, "comparison", lambda: ComparisonScreen(session))

    if screen in shell.screen_stack:  # below the metric that it opened
        screen.begin(screen.opens, at, screen.status.filter)
        shell.pop_screen()
        return
    screen.begin(opens, at, text, grouped=grouped)
    shell.push_screen(screen)
