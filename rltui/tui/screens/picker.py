"""The screen on which a person chooses what to watch.

Searches run on threads of their own, so that a file system that hangs never blocks a key. It
opens no log.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from pathlib import Path

from textual.app import ComposeResult
from textual.message import Message

from rltui.core.clock import Clock
from rltui.present.kit.line import Line
from rltui.present.screens.keys import PICKER
from rltui.present.screens.picker import (
    RESCAN_S,
    offer_detail,
    offer_entries,
    offers_shown,
    picker_header,
)
from rltui.present.screens.suggestion_lines import Around
from rltui.sources.discovery.suggestions import Offer, Offers
from rltui.tui.screens.screen import ListScreen
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

        def __init__(self, offers: Offers | None, error: Exception | None = None) -> None:
            super().__init__()
            self.offers = offers
            self.error = error

    def __init__(self, search: Callable[[], Offers], around: Around, clock: Clock) -> None:
        """``search`` is called on other threads, one at a time."""
        super().__init__()
        self._search = search
        self._around = around
        self._clock = clock
        self._searching = False
        self._shown: list[Offer] = []
        self.offers: Offers | None = None
        """What the newest search found; None before the first one is over."""

    def compose(self) -> ComposeResult:
        yield Lines(lambda width, _: [picker_header(self.shell.view, width)], id="header")
        yield LineList[Path](id="offers")
        yield Lines(self._detail, id="detail")
        yield Status(self.footer, self._note)

    def on_mount(self) -> None:
        """Start searching."""
        self.set_interval(_AGE_S, self.update)
        self.set_interval(RESCAN_S, self.action_rescan)
        self.action_rescan()

    @property
    def items(self) -> LineList[Path]:
        return self.query_one("#offers", LineList)

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
        before, self.offers = self.offers, message.offers
        if _counts(before) != _counts(message.offers) and _cut_short(message.offers):
            self.set_timer(_CONTINUE_S, self.action_rescan)
        self.update()

    # -- what is shown ---------------------------------------------------------------------

    def update(self) -> None:
        width, height = self.size
        self._shown = offers_shown(self.offers, self.status.filter, self._around)
        view, now, room = self.shell.view, self._clock.now(), max(1, height - 2)
        entries = offer_entries(self.offers, self._shown, view, self._around, now, width, room)
        self.items.styles.height = min(room, sum(e.height for e in entries))
        self.items.show(entries)
        for lines in self.query(Lines):
            lines.update()

    def _detail(self, width: int, height: int) -> list[Line]:
        chosen = next((o for o in self._shown if o.path == self.items.cursor), None)
        now = self._clock.now()
        return offer_detail(chosen, self.shell.view, self._around, now, width, height)

    def _note(self) -> str:
        total = len(self.offers.offers) if self.offers is not None else 0
        return f"{len(self._shown)} of {total}"

    def on_line_list_moved(self) -> None:
        self.query_one("#detail", Lines).update()

    def action_enter(self) -> None:
        """End with the offer at the cursor."""
        if self.items.cursor is not None:
            self.shell.exit(self.items.cursor)


def _counts(offers: Offers | None) -> list[tuple[Path, int]]:
    return sorted((o.path, o.runs) for o in offers.offers) if offers is not None else []


def _cut_short(offers: Offers | None) -> bool:
    return offers is not None and any(o.partial for o in offers.offers)
