"""One metric: the large chart with crosshair and zoom, judgement, statistics, meaning."""

from __future__ import annotations

import re

from textual import events
from textual.app import ComposeResult

from rltui.core.block import IntArray
from rltui.core.record import record
from rltui.draw.chart.trace import cell_of
from rltui.draw.chart.y_range import prepare, x_window
from rltui.draw.line import Line, plain
from rltui.draw.metric_chart import WHOLE_RUN, Zoom, chart_of
from rltui.facts.metrics import rows_in, tab_sections
from rltui.facts.sentences import metric_text
from rltui.facts.x_axis import axis_of, span_of
from rltui.pages.metric.lines import explain_tag, metric_lines
from rltui.pages.run.chart_screen import ChartScreen, TabBar, Then
from rltui.session import JudgedRun, Session
from rltui.tui.keys import METRIC
from rltui.tui.overlay import ExplainScreen
from rltui.tui.screen import LEAST, TINY, ShellScreen
from rltui.tui.widgets.lines import Lines
from rltui.tui.widgets.status import Status

#: Columns from which the footer says how the line is drawn.
_ROOMY = 100
_WHOLE = "this is the whole run"
#: The x axis as it is drawn, behind its corner.
_X_AXIS = re.compile(r"(?<=[└+])[─┬┴+-]{9,}")


@record
class Left:
    """Where the screen was left."""

    tab: str
    tag: str
    then: Then | None
    """What the screen of the run does next; None to go back."""


class MetricScreen(ChartScreen, ShellScreen[Left], places=(METRIC,)):
    """The rows of a tab, one at a time."""

    title_words = "Metric"

    DEFAULT_CSS = """
    MetricScreen > #header { height: 1; }
    """

    def __init__(self, session: Session, run: JudgedRun) -> None:
        super().__init__(session, run)
        self._tab = self._tag = self._filter = ""
        self.zoom = WHOLE_RUN
        self._alone = False
        """Whether the chart has all the room."""
        self._pressed = -1
        """The column where a button of the mouse went down in the chart, else -1."""

    def choose(self, run: JudgedRun, tab: str, tag: str, text: str, zoom: Zoom) -> None:
        """Show a row of a tab after the filter ``text``."""
        self.run = run
        self._tab = tab
        self._tag = tag
        self._filter = text
        self.zoom = zoom
        self._alone = False

    def compose(self) -> ComposeResult:
        yield Lines(self.header, id="header")
        yield TabBar(lambda: (self.run, self._tab), self.select_tab)
        yield Lines(self._draw_body, id="body")
        yield Status(self.footer)

    # -- what is shown ---------------------------------------------------------------------

    @property
    def tag(self) -> str | None:
        return self._tag if self._tag in self.run.infos else None

    def state_words(self) -> str:
        words = super().state_words()
        view = self.view
        run = self.run
        tag = self.tag
        if view.smooth or self.size.width < _ROOMY or tag is None:
            return words
        grows = axis_of(run, run.shown(tag), view.axis).grows
        return f"{words}  {'smooth auto' if grows else 'not smoothed'}".lstrip()

    def update(self) -> None:
        self.session.memory.shown(self.run.key)
        bar = self.query_one(TabBar)
        bar.display = not self.lacks(TINY)
        bar.styles.height = 2 if self.size.height >= 30 else 1
        self.status.display = self.query_one("#body").display = not self.lacks(LEAST)
        self.draw_lines()

    def _draw_body(self, width: int, height: int) -> list[Line]:
        run = self.run
        tab = self._tab
        tag = self._tag
        view = self.view
        return metric_lines(run, tab, tag, view, self.zoom, width, height, alone=self._alone)

    def action_maximise(self) -> None:
        """Show the chart alone, or with the facts again."""
        self._alone = not self._alone
        self.update()

    # -- the rows of the tab ---------------------------------------------------------------

    def action_step_metric(self, by: int) -> None:
        """Show the next row of the tab, or the one before, with the same zoom."""
        tags = [r.tag for r in rows_in(tab_sections(self.run, self._tab, self._filter))]
        if tags:
            at = tags.index(self._tag) if self._tag in tags else 0
            before = span_of(self.run, self._tag)
            self._tag = tags[max(0, min(len(tags) - 1, at + by))]
            same_axis = span_of(self.run, self._tag) == before
            self._show_zoom(Zoom(window=self.zoom.window if same_axis else None))

    # -- crosshair and zoom ----------------------------------------------------------------

    @property
    def chosen_step(self) -> int | None:
        return self.zoom.crosshair

    def _show_zoom(self, zoom: Zoom) -> None:
        self.zoom = zoom
        self.update()

    def steps_in_sight(self) -> IntArray | None:
        steps = self.steps()
        window = self.zoom.window
        if steps is None or window is None:
            return steps
        inside = steps[(steps >= window[0]) & (steps <= window[1])]
        return inside if len(inside) else steps

    def show_step(self, step: int | None) -> None:
        window = self.zoom.window
        if window is not None and step is not None and not window[0] <= step <= window[1]:
            first, last, _ = span_of(self.run, self._tag)
            size = window[1] - window[0]
            low = max(float(first), min(step - size / 2, last - size))
            window = low, low + size
        self._show_zoom(Zoom(step, window))

    def action_zoom(self, by: int) -> None:
        """Show half as many steps, around the crosshair or the newest, or (-1) twice as many."""
        if self.steps() is None:
            return
        first, last, _ = span_of(self.run, self.tag or "")
        low = float(first)
        high = float(last)
        x0, x1 = self.zoom.window or (low, high)
        at = self.zoom.crosshair
        half = (x1 - x0) * 2.0**-by / 2
        middle = x1 - half if by > 0 else (x0 + x1) / 2
        centre = middle if at is None else at

        if by > 0 and half * 2 < 4:
            self.say("no further zoom")
            return
        if by < 0 and self.zoom.window is None:
            self.say(_WHOLE)
        x0 = max(low, centre - half)
        x1 = min(high, centre + half)
        self._show_zoom(Zoom(at, None if x0 <= low and x1 >= high else (x0, x1)))

    def action_zoom_all(self) -> None:
        """Show the whole run."""
        if self.zoom.window is None:
            self.say(_WHOLE)
        self._show_zoom(Zoom(self.zoom.crosshair))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """A drag begins, if it is over the chart."""
        within = self.query_one("#body").region.contains_point(event.screen_offset)
        self._pressed = event.screen_x if within else -1

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """It ends: show the steps from one column to the other."""
        steps = self.steps()
        axis = axis_of(self.run, self.run.shown(self._tag), self.view.axis)
        lines = self._draw_body(*self.query_one("#body").size)
        drawn = [m for x in lines if (m := _X_AXIS.search(plain(x)))]
        left, right = sorted((self._pressed, event.screen_x))
        if not 0 <= left < right or steps is None or not (drawn and axis.grows):
            return

        whole = self.zoom == WHOLE_RUN
        chart = chart_of(self.run, self._tag, self.view, zoom=self.zoom, continued=whole)
        window = x_window(chart, prepare(chart))
        begin, end = drawn[-1].span()
        columns = begin + cell_of(axis.places(steps), *window, end - begin)
        inside = steps[(columns >= left) & (columns <= right)]
        if len(inside) > 1:
            self._show_zoom(Zoom(window=(int(inside[0]), int(inside[-1]))))

    # -- out, and more about it ------------------------------------------------------------

    def leave_for_run(self, then: Then | None) -> None:
        self.dismiss(Left(self._tab, self._tag, then))

    def action_back(self) -> None:
        if self.leave_line():
            return
        if self._alone:
            self.action_maximise()
        else:
            self.leave_for_run(None)

    def action_explain(self) -> None:
        """Explain the metric."""
        run = self.run
        tag = self.tag
        if tag is not None:
            self.shell.push_screen(ExplainScreen(lambda v, w: explain_tag(run, tag, v, w)))

    def copied_text(self) -> str:
        return "" if self.tag is None else metric_text(self.run, self.tag, self.zoom.crosshair)
