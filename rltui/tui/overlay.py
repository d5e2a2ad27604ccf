"""Text over a dimmed screen: what help, explanation and log have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.style import Style
from textual.app import ComposeResult
from textual.color import Color
from textual.containers import Vertical
from textual.renderables.background_screen import BackgroundScreen
from textual.screen import ModalScreen

from rltui.draw.line import Entry, Line, Token, fixed, indented, line_width, style
from rltui.draw.view import View
from rltui.tui.keys import OVERLAY, Key, covered
from rltui.tui.screen import ListScreen
from rltui.tui.widgets.line_list import LineList
from rltui.tui.widgets.lines import Lines
from rltui.tui.widgets.status import Status

#: The box: cells beside the text (margins, scroll bar), cells that it has at least.
_FRAME, _LEAST = 4, 44


class _Dimmed(BackgroundScreen):
    """The screen behind: its text in the colour of rules, but for the header."""

    def __init__(self, below: BackgroundScreen, dim: Style) -> None:
        super().__init__(below.screen, Color(0, 0, 0, 0))
        self._dim = dim

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from self._segments(super().__rich_console__(console, options))

    def _segments(self, segments: RenderResult) -> Iterator[Segment]:
        header = True
        for segment in segments:
            assert isinstance(segment, Segment)
            text, _, control = segment
            yield segment if header or control else Segment(text, self._dim)
            header = header and "\n" not in text


class _Raised(LineList[None]):
    GROUND = Token.RAISED


class _Head(Lines):
    GROUND = Token.RAISED


class Overlay(ListScreen, ModalScreen[None], places=(OVERLAY,)):
    """A box of text that scrolls. Esc, q or the key that opened it close it."""

    #: Cells that the box may take of the width, at most.
    MOST = 110

    DEFAULT_CSS = """
    Overlay { background: transparent; align-horizontal: center; layout: vertical; }
    Overlay > #box { height: auto; }
    Overlay #head { height: 2; }
    Overlay > Status { dock: bottom; }
    """

    def compose(self) -> ComposeResult:
        with Vertical(id="box"):
            yield _Head(lambda width, _: indented(self.head(width - _FRAME + 1), 2), id="head")
            yield _Raised(id="text")
        yield Status(self.footer)

    @property
    def keys(self) -> list[Key]:
        return [k for k in super().keys if k.action not in ("help", "explain", "tail")]

    def state_words(self) -> str:
        """Which lines are in sight, when there are more."""
        lines = self.items
        top, rows, total = lines.scroll_offset.y, lines.size.height, lines.virtual_size.height
        return f"↑ ↓  {top + 1}–{min(top + rows, total)} of {total}" if total > rows else ""

    # -- text ------------------------------------------------------------------------------

    def head(self, width: int) -> list[Line]:
        """The lines above the text, which do not scroll."""
        raise NotImplementedError

    def text(self, width: int) -> list[Line]:
        """The text."""
        raise NotImplementedError

    def update(self) -> None:
        width, height = self.size
        room = max(10, min(width - 5, self.MOST))
        head, text = self.head(room), self.text(room)
        cells = max((line_width(x) for x in [*head, *text]), default=0)
        box = self.query_one("#box")
        box.styles.width = min(width - 2, max(cells + _FRAME, _LEAST))
        rows = max(1, min(len(text), height - 3 - len(head)))
        self.query_one("#head").styles.height = len(head)
        self.items.styles.height = rows
        total = rows + len(head)
        box.styles.margin = (1 if height < 30 else max(1, (height - total) // 3), 0, 0, 0)
        entries: list[Entry[None]] = [fixed(x) for x in indented(text, 2)]
        self.items.show(entries)
        self.query_one("#head", Lines).update()
        self.status.update()

    def on_line_list_scrolled(self) -> None:
        self.status.update()

    def render(self) -> RenderableType:
        below = super().render()
        if isinstance(below, BackgroundScreen):
            return _Dimmed(below, self.shell.palette.rich(style(Token.LINE)))
        return below

    # -- keys ------------------------------------------------------------------------------

    def action_close(self) -> None:
        self.dismiss()

    def action_explain(self) -> None:
        """Only what lies over a screen because of a key is closed by that key."""
        self.shell.say(covered("explain", self.place, self.shell.keys))

    def action_tail(self) -> None:
        """As :meth:`action_explain`."""
        self.shell.say(covered("tail", self.place, self.shell.keys))


class ExplainScreen(Overlay):
    """An explanation; the first two lines, its title, do not scroll."""

    MOST = 100

    def __init__(self, explain: Callable[[View, int], list[Line]]) -> None:
        """``explain`` makes the lines at a width."""
        super().__init__()
        self._explain = explain

    def action_explain(self) -> None:
        self.action_close()

    def head(self, width: int) -> list[Line]:
        return self._explain(self.shell.view, width)[:2]

    def text(self, width: int) -> list[Line]:
        return self._explain(self.shell.view, width)[2:]
