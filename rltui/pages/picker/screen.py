"""The screen on which a person chooses what to watch.

Searches run on threads of their own, so that a file system that hangs never blocks a key. It
opens no log.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from textual.app import ComposeResult
from textual.screen import Screen

from rltui.core.clock import Clock
from rltui.pages.picker.lines import (
    RESCAN_S,
    Choices,
    PathDisplay,
    choices_of,
    picker_header,
    suggestion_entries,
)
from rltui.sources.discovery.suggestions import Suggestion, Suggestions
from rltui.tui.full_shell import FullShell
from rltui.tui.keys import PICKER
from rltui.tui.screen import ListScreen, ReadingScreen
from rltui.tui.shell import AppOptions
from rltui.tui.widgets.lines import LineList, Lines
from rltui.tui.widgets.status import Status

#: Seconds between two updates of the ages.
_AGE_S = 1.0
#: Seconds until a search that ran out of time is continued, as long as it finds more.
_CONTINUE_S = 0.3


class PickerScreen(ListScreen, ReadingScreen, places=(PICKER,)):
    """Lists logs, and ends the app with the path that the user chose."""

    title_words = "the list of logs"

    DEFAULT_CSS = """
    PickerScreen > #header { height: 1; }
    """

    def __init__(
        self,
        search: Callable[[], Suggestions],
        paths: PathDisplay,
        clock: Clock,
        before: Path | None = None,
    ) -> None:
        """``search`` is called on other threads, one at a time. The cursor starts on ``before``."""
        super().__init__()
        self._search = search
        self._path_display = paths
        self._clock = clock
        self._before = before
        self._choices = Choices()
        self._counts: list[tuple[Path, int]] = []
        """Runs at each place of the newest search."""
        self._shown: list[Suggestion] = []
        self.suggestions: Suggestions | None = None
        """What the newest search found; None before the first one is over."""

    def compose(self) -> ComposeResult:
        yield Lines(lambda width, _: [picker_header(width)], id="header")
        yield LineList[Path](id="suggestions")
        yield Status(self.footer, lambda: f"{len(self._shown)} of {len(self._choices.items)}")

    def on_mount(self) -> None:
        """Start searching."""
        self.set_interval(_AGE_S, self.update)
        self.set_interval(RESCAN_S, self.action_rescan)
        self.action_rescan()

    # -- searching -------------------------------------------------------------------------

    def action_rescan(self) -> None:
        """Search, unless a search is under way."""
        if not self.reading:
            self.read(lambda: partial(self._show_found, self._search()))

    def _show_found(self, found: Suggestions) -> None:
        before = self._counts
        self._counts = sorted((o.path, o.runs) for o in found.items)
        self.suggestions, self._choices = found, choices_of(found)
        if before != self._counts and any(o.partial for o in found.items):
            self.set_timer(_CONTINUE_S, self.action_rescan)

    # -- what is shown ---------------------------------------------------------------------

    def update(self) -> None:
        width, height = self.size
        paths = self._path_display
        self._shown = self._choices.shown(self.status.filter, paths)
        now = self._clock.now()
        room = max(1, height - 2)
        found = self.suggestions, self._choices, self._shown, self.view
        self.items.show(suggestion_entries(*found, paths, now, width, room), self._before)
        self.draw_lines()

    def state_words(self) -> str:
        """Why the suggestion at the cursor is offered."""
        return next((s.origin for s in self._shown if s.path == self.items.cursor), "")

    def on_line_list_moved(self) -> None:
        self.status.update()

    def action_enter(self) -> None:
        """End with the suggestion at the cursor."""
        if self.items.cursor is not None:
            self.shell.exit(self.items.cursor)


class PickerApp(FullShell[Path], places=(PICKER,)):
    """Returns the path that the user chose, or None when the user left."""

    def __init__(
        self,
        search: Callable[[], Suggestions],
        paths: PathDisplay,
        clock: Clock,
        options: AppOptions,
        before: Path | None = None,
    ) -> None:
        """``before`` is where the cursor starts, if the search finds it."""
        super().__init__(options)
        self._first = PickerScreen(search, paths, clock, before)

    def get_default_screen(self) -> Screen[Any]:
        return self._first
