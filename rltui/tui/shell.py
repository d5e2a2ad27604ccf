"""Base of the app and the picker: view, keys, themes, copying, notices."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar, cast

from textual import events, on
from textual.app import App
from textual.binding import Binding, BindingType
from textual.dom import DOMNode
from textual.driver import Driver
from textual.message import Message
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.widget import Widget

from rltui.core.errors import RltuiError, UsageError
from rltui.core.fault import Fault, wall
from rltui.core.level import Level
from rltui.core.text import Names, clean
from rltui.core.yaml_document import nearest
from rltui.draw.line import Token
from rltui.draw.theme import DEFAULT, Theme, list_themes, load_theme
from rltui.draw.view import View
from rltui.tui import clipboard
from rltui.tui.cell_diff import CellDiffApp
from rltui.tui.command_history import CommandHistory
from rltui.tui.keys import KEYS, Key
from rltui.tui.remembered import ViewState
from rltui.tui.terminal_picture import (
    ASK,
    PictureFrame,
    TerminalAnswer,
    TerminalPicture,
    hear_answers,
    hears,
)
from rltui.tui.theming import Palette, css_variables, depth_of, textual_theme, tokens_of

Result = TypeVar("Result")
Kept = TypeVar("Kept", bound=Screen[Any])
#: Seconds that a notice stays: it hides keys.
_NOTICE_S = 3.0
#: Key of an action without any: no terminal sends it.
NO_KEY = "unbound"
#: The key that quits at once, whatever waits.
_QUIT = "ctrl+c"
#: Seconds after which a key no longer waits for the one before, and how often that is looked at
#: again while it makes work for other widgets.
_PATIENCE_S = 2.0
_ROUNDS = 9


@dataclass(frozen=True)
class AppOptions:
    """Options of an app: view, theme, keys, and the directories of the user's themes."""

    view: View
    theme: Theme
    keys: tuple[Key, ...] = KEYS
    theme_dirs: tuple[Path, ...] = ()


class Offer(NamedTuple):
    """One line of the palette."""

    kind: str
    title: str
    hint: str
    call: Callable[[], object]
    level: Callable[[], Level] | None = None
    """Its badge; asked for when it is in sight."""


class ShellApp(CellDiffApp[Result]):
    """An app of rltui."""

    TITLE = "rltui"
    CSS = """
    * {
        scrollbar-background: $ground; scrollbar-background-hover: $ground;
        scrollbar-background-active: $ground; scrollbar-color: $line;
        scrollbar-color-hover: $muted; scrollbar-color-active: $muted;
    }
    ToastRack { margin: 0; overflow-y: hidden; }
    .takes-text ToastRack { margin: 0 0 1 0; }
    Toast {
        background: $raised; color: $text-token; width: 100%; max-width: 100%; height: 1;
        margin: 0; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(_QUIT, "quit", "quit", show=False, priority=True)
    ]

    def __init_subclass__(cls, *, places: Names = (), **options: Any) -> None:
        """``places`` are the screens of the key table whose ``app.`` actions it carries out."""
        super().__init_subclass__(**options)
        for key in KEYS:
            if key.call.startswith("app.") and set(places) & set(key.where):
                check_handler(key, cls)

    def __init__(self, options: AppOptions) -> None:
        self.view = options.view
        self.keys = options.keys
        self.history = CommandHistory()
        self.logdirs: tuple[Path, ...] = ()
        """Watched directories: nothing is written there."""
        self.state = ViewState()
        """State that screens remember from one start to the next."""
        self._faults: set[Path | str] = set()
        """Reports (else words) of the faults of the program that were shown."""
        self._typed: deque[events.Event] = deque()
        """The key that is being dealt with, and those that wait for what it opens."""
        self._typed_at = 0.0
        self._theme_dirs = options.theme_dirs
        self._tokens: dict[str, Theme] = {options.theme.name: options.theme}
        self._palette: Palette | None = None
        self.picture = TerminalPicture()
        """The picture that the terminal shows, and how it can."""
        self._is_ready = False
        self._frame: PictureFrame | None = None
        super().__init__()
        self.register_theme(textual_theme(options.theme))
        self.set_reactive(App.theme, options.theme.name)
        self.stylesheet.set_variables(self.get_css_variables())
        own = {k.action: ",".join(k.keys) for k in options.keys}
        shipped = {k.action: ",".join(k.keys) for k in KEYS}
        changed = {a: own.get(a) or NO_KEY for a in shipped if own.get(a) != shipped[a]}
        self.set_keymap(changed)

    def search(self, offers: Sequence[Offer], text: str = "") -> bool:
        """Show the palette, for a ``text`` only if that finds anything. Returns whether it did."""
        raise NotImplementedError

    def show_help(self, keys: Sequence[Key], place: str, title: str) -> None:
        """Show the keys of a screen."""
        raise NotImplementedError

    # -- pictures --------------------------------------------------------------------------

    def get_driver_class(self) -> type[Driver]:
        """The driver of the platform, with ears for what the terminal says of pictures."""
        hear_answers()
        contain_faults()
        return super().get_driver_class()

    def frame(self, frame: PictureFrame) -> None:
        """Show the picture of a widget as long as its screen is the upper one, and the terminal
        can; it is asked once."""
        self._frame = frame
        if not self.picture.asked and hears(self._driver):
            self.picture.asked = True
            self.write_terminal(ASK)

    @on(events.Ready)
    def _begin(self) -> None:
        """From now on a fault leaves something to look at."""
        self._is_ready = True
        self.watch_theme()

    @on(events.Resize)
    def _ask_again(self) -> None:
        """Cells may have other pixels now: the terminal is asked again."""
        self.picture.asked = False

    def on_terminal_answer(self, event: TerminalAnswer) -> None:
        """Draw anew once the terminal has said what it can."""
        self.picture.answered(event.answer)
        if self._frame is not None and self._frame.is_attached and self.picture.protocol:
            self._frame.update()

    def post_display_hook(self) -> None:
        """Put the picture over what has just been written."""
        if self.picture.protocol:
            frame = self._frame
            above = frame is not None and frame.is_attached and frame.screen is self.screen
            wanted = frame.placed if frame is not None and above else None
            if change := self.picture.change(wanted, self.written):
                self.write_terminal(change)

    # -- themes ----------------------------------------------------------------------------

    @property
    def tokens(self) -> Theme:
        """The colours of the theme that is shown."""
        held = self._tokens.get(self.theme)
        if held is None:
            held = self._tokens[self.theme] = tokens_of(self.current_theme)
        return held

    @property
    def palette(self) -> Palette:
        """The styles of the theme at what the terminal can show."""
        if self._palette is None or self._palette.theme is not self.tokens:
            depth = depth_of(self.console.color_system, self.no_color)
            self._palette = Palette(self.tokens, depth)
        return self._palette

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Our tokens, for every theme."""
        return css_variables(self.tokens)

    def watch_theme(self) -> None:
        """Show the terminal's own colours as they are, also below an overlay."""
        self.ansi_color = self.palette.depth == "16" or self.tokens.colours[Token.BG] == DEFAULT

    def choose_theme(self, name: str) -> None:
        """Change the theme: one of ours, of the user or of Textual."""
        try:
            theme = load_theme(name, self._theme_dirs)
        except RltuiError as error:
            if name in self.available_themes:
                self.theme = name
                return
            hint = nearest(name, self.themes()) if isinstance(error, UsageError) else None
            unknown = f"no theme {name!r}" + (f"; did you mean {hint!r}?" if hint else "")
            self.say(unknown if isinstance(error, UsageError) else str(error))
            return
        self._tokens[theme.name] = theme
        self.register_theme(textual_theme(theme))
        self.theme = theme.name

    def themes(self) -> list[str]:
        """The names of all themes, ours first."""
        ours = [t.name for t in list_themes(self._theme_dirs)]
        return [*ours, *sorted(set(self.available_themes) - set(ours))]

    # -- faults --------------------------------------------------------------------------------

    def isolate_faults(self, what: str) -> AbstractContextManager[None]:
        """A block whose faults are shown, each once, instead of ending the app."""

        return wall(what, self._tell)

    def _tell(self, fault: Fault) -> None:
        """Show a fault, unless it was shown before."""
        place = fault.report or fault.error
        if place not in self._faults:
            self._faults.add(place)
            self.say(fault.text)

    def _handle_exception(self, error: Exception) -> None:
        """Tell an error that left a handler, a timer or a worker. One that leaves nothing to look
        at, before the first screen or after the last, ends the app with a line."""
        faults = [Fault("internal error", clean(f"{type(error).__name__}: {error}"), None)]
        with suppress(Exception):  # telling may fail as well
            with suppress(RltuiError, MemoryError), wall(faults[0].what, faults.append):
                raise error
            if self._exit:  # the user has left
                return
            if self._is_ready and self._running and self.screen_stack:
                self._tell(faults[-1])
                return
        # Textual prints this instead of a traceback with the values of all variables
        vars(error)["__rich__"] = lambda: faults[-1].text
        super()._handle_exception(error)

    def panic(self, *renderables: Any) -> None:
        """End with a line and an error; Textual also calls it when it can no longer read the
        terminal, with a traceback."""
        self._return_code = 1
        words = "internal error: the terminal can no longer be read"
        super().panic(*(r if hasattr(r, "__rich__") else words for r in renderables))

    async def run_action(self, *args: Any, **options: Any) -> bool:
        """Carry out what a key asks for."""
        with self.isolate_faults("this key failed"):
            return await super().run_action(*args, **options)
        return True

    # -- keys --------------------------------------------------------------------------------

    async def on_event(self, event: events.Event) -> None:
        """Hand a key or a paste on once the key before has been dealt with, so that it goes to the
        prompt or the screen that this one opened."""
        typed = isinstance(event, events.Key | events.Paste) and not event.is_forwarded
        if not typed or getattr(event, "key", "") == _QUIT:
            await super().on_event(event)
            return
        waits = bool(self._typed)
        late = time.monotonic() - self._typed_at > _PATIENCE_S
        self._typed.append(event)
        if waits and late:
            self._typed.popleft()
        if late or not waits:
            await self._hand_on()

    async def _hand_on(self) -> None:
        """Hand on the first of the keys that wait."""
        event = self._typed[0]
        target = self.focused or self.screen
        self._typed_at = time.monotonic()
        if self._notifications:  # they hide keys
            self.clear_notifications()
        await super().on_event(event)
        self._follow(target, partial(self._dealt_with, event, None, _ROUNDS))

    def _follow(self, node: MessagePump | None, then: Callable[[], object]) -> None:
        """Call ``then`` after what is in the queues of a widget and of those above it: each hands
        a key up to its parent, and the last one to the app, which looks for a binding."""
        while node is not None and node is not self:
            above = getattr(node, "parent", None)
            if node.call_later(self._follow, above, then):
                return
            node = above
        self.call_later(then)

    async def _dealt_with(self, event: events.Event, target: Widget | None, rounds: int) -> None:
        """Hand the next key on, once what takes it now has nothing more to do; ``target`` took it
        at the last look."""
        if not self._typed or self._typed[0] is not event:
            return
        now = self.focused or self.screen
        busy = any(n.message_queue_size for n in now.ancestors_with_self if n is not self)
        if rounds and (busy or now is not target):
            self._follow(now, partial(self._dealt_with, event, now, rounds - 1))
            return
        self._typed.popleft()
        if self._typed:
            await self._hand_on()

    # -- everywhere ------------------------------------------------------------------------

    @property
    def replays(self) -> bool:
        """Whether a run is shown as it was."""
        return False

    def state_words(self, *, options: bool = True) -> str:
        """Options of the view that differ from the defaults, for the right end of the footer."""
        return self.view.changed_options() if options else ""

    def say(self, text: str, link: str = "") -> None:
        """A notice over the footer, in place of the one before; ``text`` may come from a log.
        ``link``: what a click opens, see :meth:`rltui.draw.view.View.link`."""
        self.clear_notifications()
        text = clean(text)
        link = "" if "\\" in text else link  # Textual's markup cannot say each backslash
        text = f'[link="{link}"]' + text.replace("[", r"\[") + "[/link]" if link else text
        self.notify(text, timeout=_NOTICE_S, markup=bool(link))

    def copy(self, text: str) -> None:
        """Copy to the clipboard of the terminal and to a file, and say so."""
        # a path may hold bytes that are no UTF-8
        text = text.encode("utf-8", "backslashreplace").decode()
        self.copy_to_clipboard(text)
        path = clipboard.write_file(text, os.environ)
        where = f" (also in {path})" if path is not None else ""
        shown = text.splitlines()[0].replace("\t", "  ")
        self.say(f"copied{where}: {shown}")
        if os.environ.get("TMUX"):
            self.run_worker(partial(clipboard.load_tmux, text, os.environ), thread=True)

    def copy_to_clipboard(self, text: str) -> None:
        """Set the clipboard of the terminal by OSC 52, also through tmux and screen."""
        sequence = clipboard.terminal_sequence(text, os.environ)
        super().copy_to_clipboard(text)
        if sequence.startswith("\x1bP"):
            self.write_terminal(sequence)

    async def action_quit(self) -> None:
        """Leave at once."""
        self.exit()


def contain_faults() -> None:
    """Let an error in a handler of any widget cost the message that it handles. Textual would end
    the widget and the app."""
    dispatch = MessagePump._dispatch_message
    if getattr(dispatch, "is_contained", False):
        return

    async def contained(pump: MessagePump, message: Message) -> None:
        try:
            await dispatch(pump, message)
        except Exception as error:  # noqa: BLE001 - this is the wall
            pump.app._handle_exception(error)

    vars(contained)["is_contained"] = True
    setattr(MessagePump, "_dispatch_message", contained)  # noqa: B010 - a method of a library


def check_handler(key: Key, owner: type) -> None:
    """Raise UsageError when ``owner`` does not carry out the action of a row."""
    method = f"action_{key.method.removeprefix('app.')}"
    if not callable(getattr(owner, method, None)):
        raise UsageError(f"key {key.action!r}: {owner.__name__} has no {method}")


def kept_screen(shell: ShellApp[Any], name: str, make: Callable[[], Kept]) -> Kept:
    """The screen of this name; kept, because making one takes time."""
    if not shell.is_screen_installed(name):
        shell.install_screen(make(), name)
    return cast(Kept, shell.get_screen(name))


def shell_of(node: DOMNode) -> ShellApp[Any]:
    """The app of a widget or screen."""
    app = node.app
    assert isinstance(app, ShellApp)
    return app
