"""The screen on which a person chooses what to watch: keys, ticks, painting.

Searches run on threads of their own, so that a file system that hangs never blocks a key; the
text comes from :mod:`rltui.present.screens.picker`. It opens no log: the path that was chosen
is the result of the app.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from pathlib import Path

from textual.message import Message

from rltui.core.clock import Clock
from rltui.present.kit.theme import Theme
from rltui.present.screens.frame_model import Frame
from rltui.present.screens.keys import PICKER, key_map
from rltui.present.screens.picker import RESCAN_S, draw_picker, suggestions_shown
from rltui.present.screens.suggestion_lines import PathDisplay, suggestion_id
from rltui.present.screens.view import View
from rltui.sources.discovery.suggestions import Suggestions
from rltui.tui.canvas import Canvas
from rltui.tui.canvasapp import CanvasApp

#: Ages move on.
_AGE_S = 1.0
#: A search that ran out of time is continued: it gets further, as long as it finds more.
_CONTINUE_S = 0.3


class PickerApp(CanvasApp[Path]):
    """Returns the path that was chosen, or None when the user left."""

    ENABLE_COMMAND_PALETTE = False

    def __init__(
        self,
        search: Callable[[], Suggestions],
        view: View,
        theme: Theme,
        paths: PathDisplay,
        clock: Clock,
    ) -> None:
        """``search`` is called on other threads, one at a time."""
        super().__init__(theme)
        self._search = search
        self.view = view
        view.screen = PICKER
        self._path_display = paths
        self._clock = clock
        self._keys = key_map(view.keys)
        self._frame = Frame([], [], {}, [])
        self._searching = False
        self.suggestions: Suggestions | None = None
        """What the newest search found; None before the first one is over."""

    # -- life ------------------------------------------------------------------------------

    def on_mount(self) -> None:
        """Start searching."""
        self._settle_in()
        self.set_interval(_AGE_S, self.paint)
        self.set_interval(RESCAN_S, self._look)
        self._look()

    # -- searching -------------------------------------------------------------------------

    class Found(Message):
        """A search is over, or has failed."""

        def __init__(self, suggestions: Suggestions | None, error: Exception | None = None) -> None:
            super().__init__()
            self.suggestions = suggestions
            self.error = error

    def _look(self) -> None:
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

    def on_picker_app_found(self, message: Found) -> None:
        """Show what was found; an unexpected failure ends the app, so that it is seen."""
        self._searching = False
        if message.error is not None:
            raise message.error
        before, self.suggestions = self.suggestions, message.suggestions
        if _counts(before) != _counts(message.suggestions) and _cut_short(message.suggestions):
            self.set_timer(_CONTINUE_S, self._look)
        self.paint()

    # -- drawing ---------------------------------------------------------------------------

    def paint(self) -> None:
        """Draw; the canvas repaints what differs."""
        width, height = self._canvas.size
        if width and height:
            now = self._clock.now()
            self._frame = draw_picker(
                self.suggestions, self.view, self._path_display, now, width, height
            )
            self._canvas.show(self._frame.lines)

    def on_canvas_resized(self) -> None:
        """Draw at the new size."""
        self.paint()

    # -- input -----------------------------------------------------------------------------

    def on_canvas_typed(self, message: Canvas.Typed) -> None:
        """A key: text while the filter is edited, else an action of the key table."""
        if self.view.editing:
            self._edit(message.key, message.character)
        else:
            key, character = message.key, message.character
            self._act(self._keys.get((PICKER, key)) or self._keys.get((PICKER, character or "")))
        self.paint()

    def on_canvas_pasted(self, message: Canvas.Pasted) -> None:
        """A pasted text goes into the filter while that is edited, else nowhere."""
        if self.view.editing:
            self.view.filter = (self.view.filter + message.text)[:200]
            self.paint()

    def _act(self, action: str | None) -> None:
        view, page = self.view, max(1, self._canvas.size.height // 2)
        if view.overlay and action in ("quit", "help", "back"):
            view.overlay, view.overlay_offset = "", 0
        elif view.overlay:
            by = {"up": -1, "down": 1, "half_up": -page, "half_down": page}.get(action or "", 0)
            view.overlay_offset = max(0, view.overlay_offset + by)
        elif action == "quit":
            self.exit()
        elif action == "help":
            view.overlay = "help"
        elif action == "back":
            view.filter = ""
        elif action == "filter":
            view.editing = "filter"
        elif action == "rescan":
            self._look()
        elif action == "enter":
            self._choose()
        elif action == "suspend":
            self.action_suspend_process()
        else:
            last = len(self._frame.items)
            moves = {"up": -1, "down": 1, "half_up": -page, "half_down": page}
            self._move({**moves, "first": -last, "last": last}.get(action or "", 0))

    def _edit(self, key: str, character: str | None) -> None:
        view = self.view
        if key == "escape":
            view.editing = view.filter = ""
        elif key == "enter":
            view.editing = ""
        elif key in ("up", "down"):
            self._move(-1 if key == "up" else 1)
        elif key in ("backspace", "ctrl+h"):
            view.filter = view.filter[:-1]
        elif key == "ctrl+u":
            view.filter = ""
        elif character and character.isprintable():
            view.filter = (view.filter + character)[:200]

    def _move(self, by: int) -> None:
        items = self._frame.items
        if not items or not by:
            return
        here = self.view.cursor.get(PICKER)
        index = items.index(here) if here in items else 0
        self._put(items[max(0, min(len(items) - 1, index + by))])

    def _put(self, item: str) -> None:
        self.view.cursor[PICKER] = item
        self.view.moved.add(PICKER)

    def _choose(self) -> None:
        """End with the suggestion at the cursor."""
        for suggestion in suggestions_shown(self.suggestions, self.view, self._path_display):
            if suggestion_id(suggestion) == self.view.cursor.get(PICKER):
                self.exit(suggestion.path)

    def on_canvas_clicked(self, message: Canvas.Clicked) -> None:
        """Put the cursor on a row; a second time chooses it."""
        item = self._frame.hits.get(message.y)
        if item is not None and item == self.view.cursor.get(PICKER):
            self._choose()
        elif item is not None:
            self._put(item)
        self.paint()

    def on_canvas_scrolled(self, message: Canvas.Scrolled) -> None:
        """The wheel moves the cursor."""
        self._move(message.by)
        self.paint()

    async def action_quit(self) -> None:
        """ctrl+c and ctrl+q leave at once."""
        self.exit()

    def action_help_quit(self) -> None:
        """Textual shows a hint on ctrl+c; here it quits."""
        self.exit()


def _counts(suggestions: Suggestions | None) -> list[tuple[Path, int]]:
    return sorted((o.path, o.runs) for o in suggestions.items) if suggestions is not None else []


def _cut_short(suggestions: Suggestions | None) -> bool:
    return suggestions is not None and any(o.partial for o in suggestions.items)
