"""The app: life cycle, ticks, keys. It knows no metric and no threshold."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

from textual.app import SystemCommand
from textual.message import Message
from textual.screen import Screen

from rltui.core.errors import RltuiError
from rltui.core.text import clean
from rltui.present.kit.theme import Theme, list_themes, load_theme
from rltui.present.screens.frame import draw
from rltui.present.screens.keys import key_map
from rltui.present.screens.view import View
from rltui.session import Session
from rltui.tui.canvas import Canvas
from rltui.tui.canvasapp import CanvasApp
from rltui.tui.navigation import Navigator
from rltui.tui.pace import Pace

#: While the reader is ahead of the screen: pause between two drains, and between two paints,
#: which is also so many times what the last one took.
_BUSY_S, _BUSY_PAINT_S, _BUSY_PAINT_REST = 0.005, 0.25, 10.0
#: Ages and states move on their own; the header repaints only when its text changes.
_AGE_INTERVAL_S = 1.0
#: With more runs than this their ages are looked at every so many seconds only.
_MANY_RUNS, _AGE_MANY = 100, 5


class RltuiApp(CanvasApp[None]):
    """Shows a session. The reader thread is started on mount and joined on exit."""

    ENABLE_COMMAND_PALETTE = True

    def __init__(
        self, session: Session, view: View, theme: Theme, theme_dirs: tuple[Path, ...] = ()
    ) -> None:
        super().__init__(theme)
        self.session = session
        self.view = view
        self.navigator = Navigator(session, view)
        self._theme_dirs = theme_dirs
        self._last_paint = 0.0
        self._rest_s = 0.0
        self._seconds = 0
        self._pace = Pace()
        self._paint_due = False
        self._unpainted = False
        self._begun = False
        """Whether something that was logged has been painted."""
        self._keys = key_map(view.keys)

    # -- life ------------------------------------------------------------------------------

    def on_mount(self) -> None:
        """Start reading and ticking."""
        self._settle_in()
        self.session.on_news(self._wake)
        self.session.start()
        self.set_interval(_AGE_INTERVAL_S, self._age)
        self._pull()

    def on_unmount(self) -> None:
        """End the reader thread."""
        self.session.stop()

    class News(Message):
        """The reader thread has something to drain."""

    def _wake(self) -> None:
        """Called on the reader thread; the loop may be closed already."""
        with contextlib.suppress(RuntimeError):
            self.post_message(self.News())

    def on_rltui_app_news(self) -> None:
        """Something may be drained."""
        self._news()

    # -- news ------------------------------------------------------------------------------

    def _news(self) -> None:
        """The reader has something: paint now after a quiet spell, else join the next paint.

        While files are read for the first time everything is taken in at once: the reader
        would have to wait.
        """
        if self._paint_due:
            return
        loading = self.session.reading() is not None
        wait = _BUSY_S if loading else self._pace.wait(self.session.clock.monotonic())
        self._paint_due = True
        if wait <= 0:
            self.call_later(self._pull)
        else:
            self.set_timer(wait, self._pull)

    def _pull(self) -> None:
        self._paint_due = False
        if self.view.paused:
            return
        # verdicts come after the first paint: the rules are loaded by the first of them
        first = not self._begun
        changes = self.session.drain(verdicts=not first)
        self._unpainted = self._unpainted or bool(changes)
        if changes.new_runs:
            self.navigator.tell_new_run()
        now = self.session.clock.monotonic()
        if self.session.busy:
            # More is queued: take it in soon, let keys in between, paint now and then.
            self._paint_due = True
            self.set_timer(_BUSY_S, self._pull)
        loading = self.session.busy or self.session.reading() is not None
        rested = not loading or now - self._last_paint >= self._rest_s
        if rested and (self._unpainted or not self.navigator.frame.lines):
            self.navigator.settle()
            self.paint()
            self._unpainted, self._last_paint = False, self.session.clock.monotonic()
            self._rest_s = max(_BUSY_PAINT_S, _BUSY_PAINT_REST * (self._last_paint - now))
            self._pace.spend(now)
            if first and self.session.views:
                self._begin()

    def _begin(self) -> None:
        """The first values stand on the screen: judge them, and do what can wait."""
        self._begun = True
        self.set_timer(_BUSY_S, self._pull)

    def _age(self) -> None:
        if self.view.paused:
            return
        if self._unpainted or self.session.unsettled:
            self._news()
        self._seconds += 1
        slow = len(self.session.views) > _MANY_RUNS and self._seconds % _AGE_MANY
        if not slow and self.session.refresh_progress():
            self.paint()

    def paint(self) -> None:
        """Draw the present screen; the canvas repaints what differs."""
        width, height = self._canvas.size
        if not width or not height:
            return
        frame = draw(self.session, self.view, width, height)
        self.navigator.frame, self.navigator.height = frame, height
        self._canvas.show(frame.lines)

    def on_canvas_resized(self) -> None:
        """Draw at the new size."""
        self.paint()

    # -- input -----------------------------------------------------------------------------

    def on_canvas_typed(self, message: Canvas.Typed) -> None:
        """A key: text while a line is edited, else an action of the key table."""
        self.view.message = ""
        if self.view.editing:
            self._edit(message.key, message.character)
        else:
            self._act(message.key, message.character)
        self.paint()

    def on_canvas_pasted(self, message: Canvas.Pasted) -> None:
        """A pasted text goes into the line that is edited, else nowhere."""
        if self.view.editing:
            self._insert(message.text)
            self.paint()

    def _insert(self, text: str) -> None:
        field = "filter" if self.view.editing == "filter" else "command"
        setattr(self.view, field, (getattr(self.view, field) + text)[:200])

    def _act(self, key: str, character: str | None) -> None:
        screen = self.view.key_screen
        action = self._keys.get((screen, key)) or self._keys.get((screen, character or ""))
        if self.view.overlay and action in ("quit", "help", "explain"):
            action = "back"
        if action is None:
            return
        if action == "tab":
            self.navigator.tab_by_key(key)
        elif action == "focus":
            self.navigator.do_focus(back=key == "shift+tab")
        elif (method := self.navigator.action(action)) is not None:
            method()
        elif action == "quit":
            self.exit()
        elif action == "copy":
            self._copy()
        elif action == "suspend":
            self.action_suspend_process()
        elif action == "palette":
            self.action_command_palette()

    def _edit(self, key: str, character: str | None) -> None:
        view, field = self.view, "filter" if self.view.editing == "filter" else "command"
        text = getattr(view, field)
        if key == "escape":
            setattr(view, field, "")
            view.editing = ""
        elif key == "enter":
            view.editing = ""
            if field == "command":
                self._command(text)
        elif key in ("up", "down"):
            (self.navigator.do_up if key == "up" else self.navigator.do_down)()
        elif key in ("backspace", "ctrl+h"):
            setattr(view, field, text[:-1])
        elif key == "ctrl+u":
            setattr(view, field, "")
        elif character and character.isprintable():
            self._insert(character)

    def _command(self, text: str) -> None:
        request = self.navigator.run_command(text)
        if request == "quit":
            self.exit()
        elif request and request.startswith("theme"):
            self.set_theme(request.partition(" ")[2])

    def _copy(self) -> None:
        from rltui.present.screens.clipboard import row_text

        text = row_text(self.session, self.view)
        if text:
            self.copy_to_clipboard(text)
            shown = text.splitlines()[0].replace("\t", "  ")
            self.view.message = f"copied: {clean(shown)}"

    def set_theme(self, name: str) -> None:
        """Change the theme; an unknown name or a broken file is told in the footer."""
        try:
            self._shipped = load_theme(name, self._theme_dirs)
        except RltuiError as error:
            self.view.message = str(error)
            return
        self.palette = None
        self._canvas.repaint()
        self.paint()

    async def action_quit(self) -> None:
        """ctrl+c and ctrl+q leave at once."""
        self.exit()

    def action_help_quit(self) -> None:
        """Textual shows a hint on ctrl+c; here it quits."""
        self.exit()

    def on_canvas_clicked(self, message: Canvas.Clicked) -> None:
        """A tab or a row was clicked."""
        frame = self.navigator.frame
        for spot in frame.tabs:
            if message.y == 1 and spot.start <= message.x < spot.end:
                self.navigator.select_tab(spot.id)
        if message.y in frame.hits:
            self.navigator.open_item(frame.hits[message.y])
        self.paint()

    def on_canvas_scrolled(self, message: Canvas.Scrolled) -> None:
        """The wheel moves the cursor."""
        (self.navigator.do_down if message.by > 0 else self.navigator.do_up)()
        self.paint()

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The palette: tabs and themes, whatever the screen."""
        del screen
        from rltui.present.screens.view import TABS

        for tab in TABS:
            yield SystemCommand(f"Tab {tab.title}", "show this tab", lambda t=tab.id: self._go(t))
        for theme in list_themes(self._theme_dirs)[0]:
            name = theme.name
            yield SystemCommand(f"Theme {name}", "colours", lambda n=name: self.set_theme(n))
        yield SystemCommand("Quit", "leave; the training is never touched", self.exit)

    def _go(self, tab: str) -> None:
        self.navigator.select_tab(tab)
        self.paint()
