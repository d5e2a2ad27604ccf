"""The last line: keys that work here, or a line that takes text (a filter, a command)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input

from rltui.core.text import cell_width, clean, fit, pad, spaced
from rltui.draw.line import ACCENT, MUTED, Line, Token, plain, with_ground
from rltui.tui.command_history import CommandHistory, Completion, matching
from rltui.tui.keys import filter_line, key_at
from rltui.tui.widgets.lines import Lines

#: Longer texts are cut: nobody types them.
_MOST = 200
#: Cells that are kept for the text.
_LEAST_CELLS = 20
#: Commands that are shown while one is typed.
_MOST_OFFERED = 6
_HINTS = {
    "filter": "Enter keep  Esc clear  !word without",
    "command": "Tab completes  ↑ earlier ones",
    "search": "Enter open  Esc close",
}


NONE_OFFERED: Mapping[str, str] = MappingProxyType({})


class Prompt(Input):
    """An input of one line; keys that move in a list are left to the screen."""

    DEFAULT_CSS = """
    Prompt, Prompt:focus { border: none; height: 1; width: 1fr; padding: 0; background: $sel; }
    """

    def on_key(self, event: events.Key) -> None:
        """Backspace on an empty line leaves it, as in other programs; in the line of a command
        Tab completes, and up and down lead through the commands that were entered."""
        status = self.parent
        assert isinstance(status, Status)
        if event.key == "backspace" and not self.value:
            event.prevent_default()
            status.leave()
        elif status.editing == "command" and event.key in ("tab", "up", "down"):
            event.prevent_default()
            event.stop()
            self.value = status.suggestion(event.key, self.value)
            self.cursor_position = len(self.value)


class Status(Horizontal):
    """The footer of a screen. It owns the filter and the line of a command."""

    DEFAULT_CSS = """
    Status { height: 1; }
    Status > #sign { width: 2; }
    """

    class Filtered(Message):
        """The filter changed."""

    class Entered(Message):
        """A command was entered."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, keys: Callable[[int], Line], note: Callable[[], str] = str) -> None:
        """``keys`` draws the footer at a width; ``note`` says what the filter left."""
        super().__init__()
        self._completion = Completion()
        self._candidates: Sequence[str] = ()
        self._offered = NONE_OFFERED
        self._history = CommandHistory()
        self._draw_keys = keys
        self._note = note
        self.editing = ""
        """"filter", "command" or "search" while text is taken, else ""."""
        self.filter = ""

    def compose(self) -> ComposeResult:
        yield Lines(lambda width, _: [self.line(width)], id="keys")

    def _lay_out(self) -> None:
        for part in self.children:
            part.display = bool(self.editing) != (part.id == "keys")
        self.screen.set_class(bool(self.editing), "takes-text")  # notices keep off the line

    def update(self) -> None:
        """Draw again."""
        for lines in self.query(Lines):
            lines.update()

    # -- drawing ---------------------------------------------------------------------------

    def line(self, width: int) -> Line:
        """Line while no text is taken."""
        if not self.filter:
            return self._draw_keys(width)
        note = self._note()
        return filter_line(self.filter, width, f"{note}  Esc clear" if note else "Esc clear")

    def _sign(self, _width: int, _height: int) -> list[Line]:
        sign = {"command": ":", "search": ">"}.get(self.editing, "/")
        return [with_ground([(f" {sign}", ACCENT)], Token.SEL)]

    def _hint_text(self) -> str:
        """The rows that the filter leaves or completions of the command, and keys."""
        words = [_HINTS.get(self.editing, "")]
        if self.editing in ("filter", "search"):
            words.insert(0, self._note())
        for prompt in self.query(Prompt) if self.editing == "command" else ():
            fitting = matching(prompt.value, self._candidates) if prompt.value else ()
            if prompt.value in self._offered:
                others = (word for text, word in self._offered.items() if text != prompt.value)
                words = [f"{self._offered[prompt.value]}  Tab: {', '.join(others)}"]
            elif fitting and fitting != (prompt.value,):
                begin = prompt.value.rfind(" ") + 1  # what all share but the last word
                words = [x[begin:] for x in fitting[:_MOST_OFFERED]]
        return spaced(*words) + " "

    def _hint(self, width: int, _: int) -> list[Line]:
        text = self._hint_text()
        if cell_width(text) > width:
            text = fit(text, width - 1) + " "
        return [with_ground([(pad(text, width, right=True), MUTED)], Token.SEL)]

    def show_note(self) -> None:
        """Show the hint again, after the number of rows that the filter leaves has changed."""
        for hint in self.query("#hint").results(Lines):
            room = max(0, self.size.width - _LEAST_CELLS)
            hint.styles.width = min(room, len(self._hint_text()))
            hint.update()

    def on_click(self, event: events.Click) -> None:
        """Press the key that is clicked in the footer."""
        name = "" if self.editing else key_at(plain(self.line(self.size.width)), event.screen_x)
        if name:
            self.app.post_message(events.Key(name, None))

    # -- editing ---------------------------------------------------------------------------

    async def edit_command(
        self,
        text: str,
        candidates: Sequence[str],
        history: CommandHistory,
        offered: Mapping[str, str],
    ) -> None:
        """Ask for a command, with ``text`` as its beginning. Tab completes it to one of
        ``candidates``; in place of ``text`` it puts the next of the commands ``offered``, of which
        the hint says what each is for."""
        self._completion = Completion(offered)
        self._candidates = candidates
        self._history = history
        self._offered = offered
        history.begin()
        await self.edit("command", text)

    def suggestion(self, key: str, text: str) -> str:
        """The text that Tab, up or down put in place of ``text``."""
        if key == "tab":
            return self._completion.complete(text, self._candidates)
        found = self._history.move(-1 if key == "up" else 1, text)
        return text if found is None else found

    async def edit(self, what: str, text: str = "") -> None:
        """Ask for a ``filter``, for a ``search`` that is one, too, but ends like a ``command``, or
        for such a one with ``text`` as its beginning."""
        prompt = next(iter(self.query(Prompt)), None)
        if prompt is None:  # made when it is needed first
            prompt = Prompt(max_length=_MOST, select_on_focus=False)
            prompt.cursor_blink = False  # which would paint twice a second
            await self.mount(Lines(self._sign, id="sign"), prompt, Lines(self._hint, id="hint"))
        if self.screen is not self.app.screen:  # which nobody sees: it would take keys later
            self._lay_out()
            return
        self.editing = what
        with prompt.prevent(Input.Changed):
            prompt.value = text if what == "command" else self.filter
        prompt.cursor_position = len(prompt.value)
        self._lay_out()
        self.update()
        self.show_note()
        self.screen.set_focus(prompt)  # at once: keys follow

    def leave(self, *, keep: bool = False) -> bool:
        """End the input, and without ``keep`` clear the filter. Returns whether it did either."""
        active = bool(self.editing or self.filter)
        kind = self.editing
        self.editing = ""
        if not keep and kind != "command" and self.filter:
            self._set_filter("")
        self._lay_out()
        self.screen.set_focus(None)
        self.update()
        return active

    def _set_filter(self, text: str) -> None:
        self.filter = clean(text)
        self.post_message(self.Filtered())

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.editing == "command":
            self.show_note()
        if self.editing in ("filter", "search") and event.value != self.filter:
            self._set_filter(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        kind = self.editing
        if kind != "search":
            self.leave(keep=True)
        if kind == "command":
            self._history.add(event.value)
        if kind != "filter":
            self.post_message(self.Entered(event.value))
