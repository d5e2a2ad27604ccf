"""The list of runs, and what is shown before there is a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from textual import events
from textual.app import ComposeResult

from rltui.core.batch import RunKey
from rltui.core.text import Names, spaced
from rltui.draw.line import (
    ACCENT_BOLD,
    Block,
    Entry,
    Token,
    fit_line,
    heights_of,
    with_ground,
)
from rltui.facts.groups import toggled
from rltui.facts.run_columns import STATS, column_names, names_in
from rltui.facts.runs import ListedRun, ListedRuns
from rltui.facts.sentences import run_text
from rltui.pages.run.chart_screen import Then, session_app
from rltui.pages.run.header import runs_header
from rltui.pages.run.screen import RunScreen
from rltui.pages.run_actions import RunActions
from rltui.pages.runs.lines import RunRows, preview_height, preview_lines, tiny_lines, waiting_lines
from rltui.session import JudgedRun, Session
from rltui.tui.keys import RUNS, next_of
from rltui.tui.screen import LEAST, NO_WAY_BACK, TINY, Commands, ListScreen
from rltui.tui.shell import Offer, kept_screen
from rltui.tui.widgets.lines import LineList, Lines
from rltui.tui.widgets.status import Status

_ORDERS = ("verdict", "name", "newest")
#: Actions that work before there is a run.
_WITHOUT_RUNS = ("help", "back", "pause", "write", "command", "palette", "suspend", "quit")
#: Runs whose metrics and hyperparameters are offered as columns.
_MOST_OFFERING = 20


class RunsScreen(ListScreen, RunActions, places=(RUNS,)):
    """The first screen. A run that is alone opens by itself."""

    title_words = "Runs"

    DEFAULT_CSS = """
    RunsScreen > #header, RunsScreen > #head { height: 1; }
    """

    def __init__(self, session: Session, from_picker: bool = False) -> None:
        """``from_picker``: Esc leads back to the picker."""
        super().__init__()
        self.session = session
        self._from_picker = from_picker
        self._order = self.shell.state.order
        """One of the orders, behind a minus the other way round."""
        self._listed = ListedRuns()
        self._shown: list[ListedRun] = []
        self._rows: RunRows | None = None
        self._settled = False
        """Whether it is decided to open the only run or to list several."""

    def compose(self) -> ComposeResult:
        yield Lines(self._header, id="header")
        yield Lines(lambda *_: [] if self._rows is None else [self._rows.head()], id="head")
        yield LineList[RunKey](id="runs")
        yield Lines(self._preview, id="preview")
        yield Lines(self._instead, id="instead")
        status = Status(self.footer, lambda: f"{len(self._shown)} of {len(self._listed)}")
        status.filter = self.shell.state.runs_filter
        yield status

    def state_words(self) -> str:
        paused = self.shell.state_words(options=False)
        count = len(self.view.marked)
        marked = f"{count} marked" if count else ""
        order = f"by {self._order.removeprefix('-')}" + ", reversed" * self._order.startswith("-")
        return spaced(paused, marked, order)

    def idle(self, action: str) -> str:
        waits = not self.session.views and action not in _WITHOUT_RUNS
        return "there is no run yet" if waits else ""

    # -- what is shown ---------------------------------------------------------------------

    def refresh_facts(self) -> None:
        self._listed.refresh(self.session.runs())

    def update(self) -> None:
        session = self.session
        width, height = self.size
        text = self.status.filter
        if self._order.removeprefix("-") not in self._orders:
            self._order = _ORDERS[0]
        self.shell.state.order = self._order
        self.shell.state.runs_filter = text
        self._shown = self._listed.shown(self._order, text)
        bare = self.lacks(LEAST)
        listed = bool(session.views) and not bare

        for name, shown in (("#header", not bare), ("#head", listed), ("#runs", listed)):
            self.query_one(name).display = shown
        self.query_one("#instead").display = not listed
        self.query_one("#head").styles.margin = (1 if height > 22 else 0, 0, 0, 0)
        self.status.display = not bare
        entries: Sequence[Entry[RunKey]] = ()
        lines = 0
        share = session.reading()

        if listed:
            hidden = len(self._listed) - len(self._shown)
            view = self.view
            reference = session.reference.run
            everyone = self._listed.names
            self._rows = RunRows(self._shown, view, width, share, reference, everyone, self._order)
            entries = self._rows.entries(hidden, session.reach.notes, session.reach.searching)
            room = height - 4 - sum(heights_of(entries))
            lines = preview_height(width, room) if share is None and height >= TINY[1] else 0
        preview = self.query_one("#preview", Lines)
        preview.styles.height = lines or 1
        preview.display = lines > 0

        if listed:
            self.items.show(entries)
            session.judge.in_sight = tuple(self.items.ids_in_view)
            self._update_preview()

        for name in ("#header", "#head", "#instead"):
            self.query_one(name, Lines).update()
        self.status.update()
        self._settle()

    def _update_preview(self) -> None:
        """Show the run at the cursor under the list, if there is room, and keep its points."""
        preview, run = self.query_one("#preview", Lines), self.chosen_run
        if preview.display:
            if run is not None:
                self.session.memory.shown(run.key)
            preview.update()

    def _preview(self, width: int, height: int) -> Block:
        run = self.chosen_run
        return [] if run is None else preview_lines(run, self.view, width, height)

    @property
    def chosen_run(self) -> JudgedRun | None:
        """The run at the cursor."""
        return self.session.views.get(self.items.cursor) if self.items.cursor else None

    async def _on_click(self, event: events.Click) -> None:
        """A click on the verdict of a run opens it at its findings."""
        is_row = self.items.region.contains_point(event.screen_offset)
        if is_row and self._rows is not None and self._rows.is_verdict(event.screen_x):
            self.action_next_finding()

    def on_line_list_moved(self) -> None:
        self._update_preview()

    def on_line_list_scrolled(self) -> None:
        self.session.judge.in_sight = tuple(self.items.ids_in_view)

    def _header(self, width: int, _: int) -> Block:
        session = self.session
        if not session.views:
            return [with_ground(fit_line([(" rltui", ACCENT_BOLD)], width), Token.RAISED)]
        label = ", ".join(session.naming.labels)
        return [runs_header(self._listed.counts, label, self.view, width, session.run_count)]

    def _instead(self, width: int, height: int) -> Block:
        """The screen before there is a run, or too small for the list."""
        session = self.session
        if not self.lacks(LEAST):
            found = session.run_count
            troubles = session.troubles()
            more = session.naming.missed, session.reach.searching, session.reach.awaited
            return waiting_lines(session.logdirs, found, troubles, width, height, *more)
        return tiny_lines(session.runs(), session.reading(), self.view, width, height)

    # -- opening ---------------------------------------------------------------------------

    def _settle(self) -> None:
        """Once runs have appeared, open the only one. Several are listed, and so is one as long as
        logdirs have not been searched or cannot be read, which the list says above it."""
        session = self.session
        if self._settled or not session.views:
            return
        self._settled = True
        state = session.reader.state
        if session.run_count == 1 and not (state.searching or state.unread or state.out_of_reach):
            self.open_run(next(iter(session.views)))

    def open_run(self, key: RunKey) -> None:
        """Show a run where the user left it."""
        if self.shell.screen is not self:  # a second click may come before the first has opened it
            return
        run = self.session.views[key]
        make = partial(RunScreen, self.session, run, self._from_picker)
        screen = kept_screen(self.shell, "run", make)  # which knows where the user was
        screen.turn_to(run)
        self.items.chosen = key
        self.status.leave(keep=True)
        self.shell.push_screen(screen)

    def action_enter(self) -> None:
        """Open the run at the cursor."""
        if self.items.cursor is not None:
            self.open_run(self.items.cursor)

    @property
    def leads_back(self) -> bool:
        return self._from_picker

    def action_back(self) -> None:
        """Go back: clear the filter, else show the picker."""
        if self.leave_line():
            return
        if self.leads_back:
            self.shell.exit(True)
        else:
            self.say(NO_WAY_BACK)

    def action_order(self) -> None:
        """Sort by the next order: verdict, name, newest, then each column."""
        self._order = next_of(self._orders, self._order.removeprefix("-"))
        self.update()

    def action_other_way(self) -> None:
        """Sort the other way round."""
        plain = self._order.removeprefix("-")
        self._order = plain if plain != self._order else f"-{plain}"
        self.update()

    @property
    def _orders(self) -> Names:
        return (*_ORDERS, *self.view.columns)

    async def action_columns(self) -> None:
        """Ask for the columns, behind those that there are."""
        await self.action_ask(f"columns {self._columns_begun}")

    @property
    def _columns_begun(self) -> str:
        return "".join(f"{text}," for text in self.view.columns)

    def _choose_columns(self, text: str) -> None:
        columns = column_names(text)
        self.set_view(columns=columns)
        self.say(f"o sorts by them, /{columns[0]} > 0.5 filters" if columns else "no columns")

    def action_mark(self) -> None:
        """Mark the run at the cursor, or unmark it; the cursor moves on."""
        run = self.chosen_run
        if run is not None:
            self.set_view(marked=toggled(self.view.marked, run))
            self.items.move(1)

    def action_comparison(self) -> None:
        """Show the marked runs side by side, or all."""
        session_app(self).open_comparison(self._open_and)

    async def action_group(self) -> None:
        """Show groups of the marked runs side by side, or of all."""
        self.action_comparison()
        if (opened := self.shell.screen) is not self:
            opened.call_after_refresh(opened.run_action, "group")

    def _open_and(self, run: JudgedRun, then: Then) -> None:
        self.open_run(run.key)
        if self.shell.is_screen_installed("run"):
            screen = self.shell.get_screen("run", RunScreen)
            screen.call_later(then, screen)

    def _in_run(self, then: Then) -> None:
        """Open the run at the cursor, and go on there."""
        run = self.chosen_run
        if run is not None:
            self._open_and(run, then)

    def action_tab(self, key: str) -> None:
        """Open a tab of the run at the cursor."""
        self._in_run(lambda screen: screen.action_tab(key))

    def action_next_finding(self) -> None:
        """Open the findings of the run at the cursor."""
        self._in_run(lambda screen: screen.action_next_finding())

    def reported(self) -> tuple[Session, JudgedRun | None]:
        return self.session, None

    def copied_text(self) -> str:
        run = self.chosen_run
        return "" if run is None else run_text(run)

    def palette(self) -> Iterator[Offer]:
        yield from session_app(self).offers(self.chosen_run, self._open_and, inside=False)
        yield from super().palette()

    def commands(self) -> Commands:
        mine: Commands = {
            "runs": lambda _: None,
            "columns": self._choose_columns,
        }
        return {**super().commands(), **mine}

    def completions(self) -> list[str]:
        names = names_in(x.run for x in self._shown[:_MOST_OFFERING])
        offered = [*names, *(f"{n}.{stat}" for n in names for stat in STATS)]
        return [*super().completions(), *(f"columns {self._columns_begun}{n}" for n in offered)]
