"""One run: its tabs, with the metrics or the findings of each."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from textual.app import ComposeResult
from textual.geometry import Size

from rltui.core.batch import RunKey
from rltui.core.text import spaced
from rltui.draw.line import Block
from rltui.draw.metric_chart import WHOLE_RUN, Zoom
from rltui.facts.findings import finding_rows
from rltui.facts.metrics import FINDINGS as FINDINGS_TAB
from rltui.facts.metrics import OVERVIEW, TAB_BY_ID, tab_of, tabs_of
from rltui.facts.sentences import finding_text, metric_text
from rltui.facts.timing import anatomy
from rltui.health.model import MutedFinding
from rltui.pages.findings.findings_pane import FindingsPane, steps_at, tag_at
from rltui.pages.findings.lines import row_of
from rltui.pages.run.chart_screen import ChartScreen, TabBar, Then, session_app
from rltui.pages.run.grid import Grid
from rltui.pages.run.header import sentence_lines
from rltui.pages.run.metrics_pane import Arrangement, MetricsPane
from rltui.pages.timing.pane import TIMING as TIMING_TAB
from rltui.pages.timing.pane import TimingPane
from rltui.session import JudgedRun, Session
from rltui.tui.crosshair import NO_METRIC
from rltui.tui.keys import FINDINGS, GRID, LIST, TIMING, next_of
from rltui.tui.screen import LEAST, NO_WAY_BACK, TINY, ListScreen
from rltui.tui.shell import kept_screen
from rltui.tui.widgets.lines import LineList, Lines
from rltui.tui.widgets.status import Status

if TYPE_CHECKING:
    from rltui.pages.metric.screen import Left


class GridKeys(ChartScreen, ListScreen):
    """Moving among charts that stand side by side, and how the body of a tab is divided."""

    def __init__(self, session: Session, run: JudgedRun) -> None:
        super().__init__(session, run)
        self.metrics = MetricsPane(run)
        """The pane of every tab but Findings."""
        self._arrangements: dict[str, Arrangement] = {}
        """How Overview, Findings and ("") the other tabs are divided."""

    @property
    def tab(self) -> str:
        """The tab that is shown."""
        raise NotImplementedError

    @property
    def _arranged(self) -> str:
        """The key of the present arrangement: Overview and Findings have their own."""
        return self.tab if self.tab in (OVERVIEW, FINDINGS_TAB) else ""

    @property
    def arrangement(self) -> Arrangement:
        """How the present tab is divided."""
        return self._arrangements.get(self._arranged, Arrangement())

    def _arrange_as(self, arrangement: Arrangement) -> None:
        self._arrangements[self._arranged] = arrangement
        self.update()

    def action_grid(self) -> None:
        """Show a grid of charts instead of the list, or the list again."""
        self._arrange_as(Arrangement(grid=not self.arrangement.grid))

    def action_maximise(self) -> None:
        """Show the chart alone, the list alone, then both; of a grid the chart alone, then all."""
        now = self.arrangement
        order = ("", "chart") if now.grid else ("", "chart", "list")
        self._arrange_as(replace(now, alone=next_of(order, now.alone)))

    def leave_part(self) -> bool:
        """Remove the crosshair of the grid, else show all panes. Returns whether it did either."""
        grid = self.metrics.grid
        arrangement = self.arrangement
        if self._shows_grid and grid.cross is not None:
            grid.cross = None
            self.update()
            return True
        if arrangement.alone:
            self._arrange_as(Arrangement(grid=arrangement.grid))
            return True

        return False

    # -- moving ----------------------------------------------------------------------------

    @property
    def _shows_grid(self) -> bool:
        return self.place == GRID and self.metrics.grid.display

    def _step(self, right: int, down: int) -> None:
        """Move the cursor between charts, or along the list where these are not visible."""
        if not self._shows_grid:
            self.items.move(right + down)
        elif (tag := self.metrics.grid.neighbour(right, down)) is not None:
            self.items.put(tag)
            self.status.update()

    def action_move(self, by: int) -> None:
        self._step(0, by)

    def action_chart_sideways(self, by: int) -> None:
        """Move the cursor to the chart on the left or on the right."""
        self._step(by, 0)

    def action_move_half(self, by: int) -> None:
        if self._shows_grid:
            self._step(0, by * max(1, self.metrics.grid.grid_layout.rows // 2))
        else:
            super().action_move_half(by)

    def on_grid_scrolled(self) -> None:
        self.status.update()

    def on_grid_picked(self, event: Grid.Picked) -> None:
        """A click chooses a chart, a second one opens it."""
        if event.tag == self.items.cursor:
            self.items.chosen = event.tag
            self.action_enter()
        else:
            self.items.put(event.tag)

    @property
    def chosen_step(self) -> int | None:
        if self.place == GRID:
            return self.metrics.grid.cross
        return steps_at(self.run, self.items.cursor)[0] if self.tab == FINDINGS_TAB else None

    @property
    def replayed_step(self) -> int | None:
        is_finding = self.place != GRID and self.tab == FINDINGS_TAB
        return steps_at(self.run, self.items.cursor)[1] if is_finding else self.chosen_step

    def show_step(self, step: int | None) -> None:
        self.metrics.grid.cross = step
        self.update()


class RunScreen(GridKeys, places=(LIST, GRID, TIMING, FINDINGS)):
    """Overview, the category tabs, All and Findings of one run."""

    DEFAULT_CSS = """
    RunScreen > #header { height: 1; }
    RunScreen > #sentence { height: auto; }
    """

    def __init__(self, session: Session, run: JudgedRun, from_picker: bool = False) -> None:
        """``from_picker``: from a run that is alone Esc leads back to the picker."""
        super().__init__(session, run)
        self.timing, self.findings = TimingPane(run), FindingsPane(run)
        self._from_picker = from_picker
        self._said: Block = []
        """The sentence about the run, drawn."""
        self._chosen = self._tab_left(run)
        """The tab that the user chose."""
        self._tabs: dict[RunKey, str] = {}
        """The tab that the user left another run at."""

    def compose(self) -> ComposeResult:
        yield Lines(self.header, id="header")
        yield Lines(lambda *_: self._said, id="sentence")
        yield TabBar(lambda: (self.run, self.tab), self.select_tab)
        yield self.metrics
        yield self.timing
        yield self.findings
        status = Status(
            self.footer, lambda: (self.timing if self.has_stages else self.metrics).note
        )
        status.filter = self.shell.state.filter
        yield status

    def _tab_left(self, run: JudgedRun) -> str:
        """The tab that a run was left at, in an earlier start."""
        tab = self.shell.state.tabs.get(run.key.name, OVERVIEW)
        return tab if tab in TAB_BY_ID else OVERVIEW

    def turn_to(self, run: JudgedRun) -> None:
        """Show another run where the user left it."""
        if run is self.run:
            return
        self._tabs[self.run.key] = self._chosen
        self.run, self._chosen = run, self._tabs.get(run.key) or self._tab_left(run)
        for pane in (self.metrics, self.timing, self.findings):
            pane.turn_to(run)

    # -- what is shown ---------------------------------------------------------------------

    @property
    def tab(self) -> str:
        """The tab that is shown: the chosen one, or Overview while the run has nothing for it."""
        chosen = self._chosen
        return chosen if chosen == OVERVIEW or TAB_BY_ID[chosen] in tabs_of(self.run) else OVERVIEW

    @property
    def place(self) -> str:
        if self.tab == FINDINGS_TAB:
            return FINDINGS
        if self.has_stages:
            return TIMING
        return GRID if self.arrangement.grid else LIST

    @property
    def has_stages(self) -> bool:
        """Whether the tab shows the stages of a step."""
        return self.tab == TIMING_TAB and anatomy(self.run) is not None

    @property
    def title_words(self) -> str:
        return TAB_BY_ID[self.tab].title

    @property
    def items(self) -> LineList[Any]:
        """The list of the present tab."""
        if self.tab == FINDINGS_TAB:
            return self.findings.items
        return self.timing.items if self.has_stages else self.metrics.items

    @property
    def tag(self) -> str | None:
        """The tag at the cursor."""
        if self.tab == FINDINGS_TAB:
            return None
        tag: str | None = self.items.cursor
        return tag if tag in self.run.infos else None

    def state_words(self) -> str:
        charts = self.tab != FINDINGS_TAB
        words = super().state_words() if charts else self.shell.state_words(options=False)
        if self.place != GRID or self.arrangement.alone:
            return words
        return spaced(self.metrics.grid.sight, words)

    def update(self) -> None:
        state = self.shell.state
        width, height = self.size
        state.filter = self.status.filter
        state.tabs.pop(self.run.key.name, None)
        if self._chosen != OVERVIEW:
            state.tabs[self.run.key.name] = self._chosen  # the newest stands last
        self.session.memory.shown(self.run.key)

        bare = self.lacks(LEAST)
        tiny = self.lacks(TINY)
        tabs = 0 if tiny else 2 if height >= 30 else 1
        sentence = self.query_one("#sentence", Lines)
        self._said = [] if bare or tiny else sentence_lines(self.run, self.view, width, height)
        said = len(self._said)
        sentence.display = said > 0
        sentence.styles.height = said or 1
        bar = self.query_one(TabBar)
        is_findings = self.tab == FINDINGS_TAB
        bar.display = tabs > 0
        bar.styles.height = tabs or 1
        self.status.display = not bare
        has_stages = self.has_stages
        self.findings.display = is_findings and not bare
        self.timing.display = has_stages and not bare
        self.metrics.display = not (is_findings or has_stages or bare)

        body = Size(width, height - 2 - tabs - said)
        if bare or body.height <= 0:
            pass
        elif is_findings:
            self.findings.show(body, self.arrangement.alone)
        elif has_stages:
            self.timing.show(self.status.filter, body)
        else:
            self.metrics.show(self.tab, self.status.filter, body, self.arrangement)
        self.query_one("#header", Lines).update()
        sentence.update()
        bar.update()
        self.status.update()

    # -- tabs ------------------------------------------------------------------------------

    def select_tab(self, tab: str) -> None:
        """Show a tab; says so when the run has nothing for it."""
        if TAB_BY_ID[tab] not in tabs_of(self.run):
            self.say(f"no {TAB_BY_ID[tab].title.lower()} metrics in this run")
            return
        self._chosen = tab
        self.update()

    def action_step_tab(self, by: int) -> None:
        ids = [t.id for t in tabs_of(self.run)]
        self.select_tab(next_of(ids, self.tab, by))

    action_turn = action_step_tab

    def action_shares(self) -> None:
        """Plot shares of the step, or seconds."""
        self.timing.shares = not self.timing.shares
        self.timing.query_one("#plot", Lines).update()

    def action_step_section(self, by: int) -> None:
        """Move the cursor to the next section, or the one before."""
        self.items.move_section(by)

    # -- in and out ------------------------------------------------------------------------

    def action_enter(self) -> None:
        """Open the metric at the cursor, or the one that a finding is about."""
        if self.tab != FINDINGS_TAB:
            key = next((k for k in self.run.data.media.keys if k.id == self.items.cursor), None)
            if self.tag is not None:
                self.open_metric(self.tab, self.tag)
            elif key is not None:
                from rltui.pages.media import MediaScreen  # heavy

                self.shell.push_screen(MediaScreen(self.session, self.run, key))
            else:
                self.say(NO_METRIC)
        elif (found := tag_at(self.run, self.items.cursor)) is not None:
            tag, step = found
            self.open_metric(tab_of(self.run.infos[tag]), tag, Zoom(step))
        else:
            self.say("no metric belongs to this line")

    def _show_zoom(self, zoom: Zoom) -> None:
        self.open_metric(self.tab, self.tag or "", zoom)

    def open_metric(self, tab: str, tag: str, zoom: Zoom = WHOLE_RUN) -> None:
        """Show the large chart of a row, with a crosshair or a part of it."""
        from rltui.pages.metric.screen import MetricScreen  # heavy

        run = self.run
        screen = kept_screen(self.shell, "metric", lambda: MetricScreen(self.session, run))
        screen.choose(run, tab, tag, self.status.filter, zoom)
        if self.shell.screen is self:  # a second click may come before the first has opened it
            self.shell.push_screen(screen, self._come_back)

    def open_elsewhere(self, run: JudgedRun, then: Then) -> None:
        self.turn_to(run)
        self.update()
        then(self)

    def _come_back(self, left: Left | None) -> None:
        if left is not None:
            self.metrics.put(left.tab, left.tag)
            if left.then is not None:
                left.then(self)

    @property
    def leads_back(self) -> bool:
        return self._from_picker or len(self.session.views) > 1

    def action_back(self) -> None:
        """Go back: clear the filter, else show the list of runs if there are several, else the
        picker."""
        if self.leave_line() or self.leave_part():
            return
        if not self.leads_back:
            self.say(NO_WAY_BACK)
        elif len(self.session.views) > 1:
            self.action_runs()
        else:
            self.shell.exit(True)

    def action_runs(self) -> None:
        self.leave_line()
        self.dismiss()

    def action_next_finding(self) -> None:
        """Go to the next firing (else resolved) finding in the list of findings."""
        rows = finding_rows(self.run)
        if not rows and self.run.verdict.crash is None:
            self.say("no findings")
            return
        ids = [r.id for r in rows if r.is_firing] or [r.id for r in rows]
        here = self.items.cursor if self.tab == FINDINGS_TAB else None
        self._chosen = FINDINGS_TAB
        if not ids:  # how it ended stands there
            self.update()
            return
        if ids == [here]:
            self.say("this is the only finding")
        self.items.chosen = chosen = next_of(ids, here)
        self.update()
        self.items.put(chosen)

    def action_share_chart(self) -> None:
        """Draw the row at the cursor in one chart with the other marked rows, or alone again."""
        tag = self.tag
        view = self.view
        if tag is None:
            self.say(NO_METRIC)
            return
        rest = tuple(t for t in view.shared if t != tag)
        shared = rest if tag in view.shared else (*view.shared, tag)
        self.set_view(shared=shared)

    def action_mute(self) -> None:
        """Mute the finding at the cursor, which then has no part in the verdict, or unmute it."""
        row = row_of(self.run, self.items.cursor) if self.tab == FINDINGS_TAB else None
        if row is None:
            super().action_mute()
            return
        self._mute(MutedFinding.of(row.finding))

    def action_undo(self) -> None:
        """Take the newest mute or unmuting or range back."""
        undo = session_app(self).undo
        if undo is None:
            self.say("nothing to undo")
        else:
            undo(self)

    def _mute(self, finding: MutedFinding) -> None:
        muted = self.session.run_list.mutes.toggle(finding)
        session_app(self).undo = lambda screen: screen._mute(finding)
        session_app(self).remember()
        self.update()
        words = "muted in all runs here; u takes it back" if muted else "no longer muted"
        self.say(f"{finding.title}: {words}")

    # -- more about it ---------------------------------------------------------------------

    def action_explain(self) -> None:
        """Explain the metric or finding at the cursor."""
        from rltui.pages.findings.findings_detail import detail_lines  # heavy
        from rltui.pages.metric.lines import explain_tag  # heavy
        from rltui.tui.overlay import ExplainScreen  # heavy

        run = self.run
        tag = self.tag
        if tag is None and self.tab == FINDINGS_TAB:
            row = row_of(run, self.items.cursor)
            if row is not None:
                about = row.id
                shown = ExplainScreen(lambda v, w: detail_lines(run, about, v, w, 0))
                self.shell.push_screen(shown)
                return
            found = tag_at(run, self.items.cursor)
            tag = found[0] if found is not None else None
        if tag is None:
            self.say("nothing to explain at the cursor")
            return
        self.shell.push_screen(ExplainScreen(lambda v, w: explain_tag(run, tag, v, w)))

    def copied_text(self) -> str:
        if self.tag is not None:
            return metric_text(self.run, self.tag)
        if self.tab != FINDINGS_TAB:
            return ""
        from rltui.output.brief import story_text  # heavy

        row = row_of(self.run, self.items.cursor)
        story = story_text(self.run, row.finding.rule if row is not None else "")
        return story or (finding_text(self.run, row.finding) if row is not None else "")

    def show_step(self, step: int | None) -> None:
        if self.place == GRID:
            super().show_step(step)
        elif self.tag is not None:
            self._show_zoom(Zoom(step))
