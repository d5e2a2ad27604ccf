"""The screen on which a person chooses what to watch.

Searches run on threads of their own, so that a file system that hangs never blocks a key. It
opens no log.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from textual.app import ComposeResult
from textual.message import Message
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
from rltui.tui.keys import PICKER, Key
from rltui.tui.screen import ListScreen
from rltui.tui.shell import Look, ShellApp
from rltui.tui.widgets.line_list import LineList
from rltui.tui.widgets.lines import Lines
from rltui.tui.widgets.status import Status

#: Ages move on.
_AGE_S = 1.0
#: A search that ran out of time is continued: it gets further, as long as it finds more.
_CONTINUE_S = 0.3


class PickerScreen(ListScreen, places=(PICKER,)):
    """Ends the app with the path that was chosen."""

    DEFAULT_CSS = """
    PickerScreen > #header { height: 1; }
    """

    class Found(Message):
        """A search is over, or has failed."""

        def __init__(self, suggestions: Suggestions | None, error: Exception | None = None) -> None:
            super().__init__()
            self.suggestions = suggestions
            self.error = error

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
        self._searching = False
        self._choices = Choices()
        self._shown: list[Suggestion] = []
        self.suggestions: Suggestions | None = None
        """What the newest search found; None before the first one is over."""

    def compose(self) -> ComposeResult:
        yield Lines(lambda width, _: [picker_header(self.shell.view, width)], id="header")
        yield LineList[Path](id="suggestions")
        yield Status(self.footer, self._note)

    def on_mount(self) -> None:
        """Start searching."""
        self.set_interval(_AGE_S, self.update)
        self.set_interval(RESCAN_S, self.action_rescan)
        self.action_rescan()

    @property
    def items(self) -> LineList[Path]:
        return self.query_one("#suggestions", LineList)

    @property
    def title_words(self) -> str:
        return "the list of logs"

    # -- searching -------------------------------------------------------------------------

    def action_rescan(self) -> None:
        """Search, unless a search is under way."""
        if not self._searching:
            self._searching = True
            # A daemon: one that hangs on a dead file system must not keep rltui from ending.
            threading.Thread(target=self._find, name="rltui-search", daemon=True).start()

    def _find(self) -> None:
        try:
            message = self.Found(self._search())
        except Exception as error:  # noqa: BLE001 - raised where it is seen
            message = self.Found(None, error)
        with contextlib.suppress(RuntimeError):  # the loop may be closed already
            self.post_message(message)

    def on_picker_screen_found(self, message: Found) -> None:
        """Show what was found; an unexpected failure ends the app, so that it is seen."""
        self._searching = False
        if message.error is not None:
            raise message.error
        before, self.suggestions = self.suggestions, message.suggestions
        if message.suggestions is not None:
            self._choices = choices_of(message.suggestions)
        if _counts(before) != _counts(message.suggestions) and _cut_short(message.suggestions):
            self.set_timer(_CONTINUE_S, self.action_rescan)
        self.update()

    # -- what is shown ---------------------------------------------------------------------

    def update(self) -> None:
        width, height = self.size
        paths = self._path_display
        self._shown = shown = self._choices.shown(self.status.filter, paths)
        view, now, room = self.shell.view, self._clock.now(), max(1, height - 2)
        self.items.show(
            suggestion_entries(
                self.suggestions, self._choices, shown, view, paths, now, width, room
            ),
            self._before,
        )
        for lines in self.query(Lines):
            lines.update()

    def _note(self) -> str:
        return f"{len(self._shown)} of {len(self._choices.items)}"

    def state_words(self) -> str:
        """Why the suggestion at the cursor is offered."""
        return next((s.origin for s in self._shown if s.path == self.items.cursor), "")

    def on_line_list_moved(self) -> None:
        self.status.update()

    def action_enter(self) -> None:
        """End with the suggestion at the cursor."""
        if self.items.cursor is not None:
            self.shell.exit(self.items.cursor)


def _counts(suggestions: Suggestions | None) -> list[tuple[Path, int]]:
    return sorted((o.path, o.runs) for o in suggestions.items) if suggestions is not None else []


def _cut_short(suggestions: Suggestions | None) -> bool:
    return suggestions is not None and any(o.partial for o in suggestions.items)


class PickerApp(ShellApp[Path], places=(PICKER,)):
    """Returns the path that was chosen, or None when the user left."""

    def __init__(
        self,
        search: Callable[[], Suggestions],
        paths: PathDisplay,
        clock: Clock,
        look: Look,
        before: Path | None = None,
    ) -> None:
        """``before`` is where the cursor starts, if the search finds it."""
        super().__init__(look)
        self._first = PickerScreen(search, paths, clock, before)

    def get_default_screen(self) -> Screen[Any]:
        return self._first

    def open_help(self, keys: Sequence[Key], place: str, title: str) -> None:
        from rltui.tui.overlay import HelpScreen  # imported once it is needed

        self.push_screen(HelpScreen(keys, place, title))
