"""Text over a dimmed screen: the base of all overlays, the help and the explanation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from textual.app import ComposeResult
from textual.color import Color
from textual.containers import Vertical
from textual.renderables.background_screen import BackgroundScreen
from textual.screen import ModalScreen

from rltui.core.level import Level
from rltui.core.text import pad
from rltui.draw.glyph import GlyphSet
from rltui.draw.line import (
    ACCENT_BOLD,
    LEVEL_BOLD,
    LEVEL_LOOK,
    LEVEL_WORDS,
    MUTED,
    STRONG,
    TEXT,
    TITLE,
    Block,
    Entry,
    Line,
    Span,
    Token,
    fixed,
    indented,
    line_width,
    longest,
    side_by_side,
    style,
)
from rltui.draw.table import title_lines
from rltui.draw.view import View
from rltui.facts.x_axis import LEGEND
from rltui.tui.keys import OVERLAY, PICKER, Key, covered
from rltui.tui.screen import ListScreen
from rltui.tui.theming import Palette
from rltui.tui.widgets.lines import LineList, Lines
from rltui.tui.widgets.status import Status

#: The box: cells of its margins and scroll bar, and cells that it has at least.
_FRAME = 4
_LEAST = 44
#: Cells beside the box that would show nothing but a sliver of the screen behind.
_SLIVER = 8
#: Groups of keys at the left, which only this screen has, and at the right.
_LEFT = ("This screen", "Chart")
_RIGHT = ("Move", "Everywhere", "Replay")


class _Dimmed(BackgroundScreen):
    """The screen behind: its text in the colour of rules, without colours none; not its header."""

    def __init__(self, below: BackgroundScreen, palette: Palette) -> None:
        super().__init__(below.screen, Color(0, 0, 0, 0))
        self._dim = palette.rich(style(Token.LINE))
        self._blank = palette.depth == "none"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        header = True
        for segment in super().__rich_console__(console, options):
            assert isinstance(segment, Segment)
            text, _, control = segment
            shown = " " * segment.cell_length if self._blank and text != "\n" else text
            yield segment if header or control else Segment(shown, self._dim)
            header = header and "\n" not in text


class RaisedList(LineList[Any]):
    GROUND = Token.RAISED


class _Head(Lines):
    GROUND = Token.RAISED


class Overlay(ListScreen, ModalScreen[None], places=(OVERLAY,)):
    """A box of text that scrolls. Esc, q or the key that opened it close it."""

    #: Cells that the box may take of the width, at most.
    MOST = 110

    DEFAULT_CSS = """
    Overlay, Overlay:ansi { background: transparent; }
    Overlay { align-horizontal: center; layout: vertical; }
    Overlay > #box { height: auto; }
    Overlay #head { height: 2; }
    Overlay > Status { dock: bottom; }
    """

    def compose(self) -> ComposeResult:
        with Vertical(id="box"):
            yield _Head(lambda *_: indented(self.head(self.room), 2), id="head")
            yield RaisedList(id="text")
        yield Status(self.footer)

    @property
    def keys(self) -> list[Key]:
        return [k for k in super().keys if k.action not in ("help", "explain", "tail")]

    def state_words(self) -> str:
        """Which lines are visible, when there are more."""
        lines = self.items
        top = lines.scroll_offset.y
        rows = lines.size.height
        total = lines.virtual_size.height
        return f"↑ ↓  {top + 1}–{min(top + rows, total)} of {total}" if total > rows else ""

    # -- text ------------------------------------------------------------------------------

    @property
    def room(self) -> int:
        """Cells of a line, the same for head and text: they may be parts of one paragraph."""
        return max(10, min(self.size.width - 5, self.MOST))

    def head(self, width: int) -> Block:
        """The lines above the text, which do not scroll."""
        raise NotImplementedError

    def text(self, width: int) -> Block:
        """The text."""
        raise NotImplementedError

    def update(self) -> None:
        width, height = self.size
        head = self.head(self.room)
        text = self.text(self.room)
        cells = max((line_width(x) for x in [*head, *text]), default=0)
        box = self.query_one("#box")
        wanted = max(cells + _FRAME, _LEAST)
        box.styles.width = wanted if wanted < width - _SLIVER else width
        rows = max(1, min(len(text), height - 2 - len(head)))
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
        return _Dimmed(below, self.shell.palette) if isinstance(below, BackgroundScreen) else below

    # -- keys ------------------------------------------------------------------------------

    def action_explain(self) -> None:
        """Say where the key works: it closes only the overlay that it opened."""
        self.say(covered("explain", self.place, self.shell.keys))

    def action_tail(self) -> None:
        """Say where the key works, as :meth:`action_explain` does."""
        self.say(covered("tail", self.place, self.shell.keys))


class ExplainScreen(Overlay):
    """An explanation; the first two lines, its title, do not scroll."""

    MOST = 100

    def __init__(self, explain: Callable[[View, int], Block]) -> None:
        """``explain`` makes the lines at a width."""
        super().__init__()
        self._explain = explain

    action_explain = ListScreen.action_close

    def head(self, width: int) -> Block:
        return self._explain(self.view, width)[:2]

    def text(self, width: int) -> Block:
        return self._explain(self.view, width)[2:]


class HelpScreen(Overlay):
    """The keys of a screen in two columns, and the legend."""

    def __init__(self, keys: Sequence[Key], place: str, title: str) -> None:
        """``place`` is the screen that the keys are of, ``title`` its name."""
        super().__init__()
        self._keys = keys
        self._of = place
        self._title = title

    action_help = ListScreen.action_close

    def head(self, width: int) -> Block:
        line: Line = [("Keys ", TITLE), (f"on {self._title}", MUTED)]
        return title_lines(line, [("Esc close", MUTED)], width)

    def text(self, width: int) -> Block:
        glyphs = self.view.glyphs
        left, right = (_key_lines(groups, self._keys) for groups in (_LEFT, _RIGHT))
        left += [*([[]] if left else []), *_legend(self._of, glyphs)]
        column = max(*map(line_width, left), min(40, width // 2 - 2))
        return side_by_side(left, right, column, 3, max(len(left), len(right)))


def _key_lines(groups: Sequence[str], keys: Sequence[Key]) -> Block:
    """The groups below each other, each under its name."""
    lines: Block = []
    for group in groups:
        rows = [(k.shown, k.words) for k in keys if k.group == group]
        if not rows:
            continue
        if lines:
            lines.append([])
        lines.append([(group, TITLE)])
        cells = longest([shown for shown, _ in rows]) + 2
        lines += [[(pad(shown, cells), ACCENT_BOLD), (words, TEXT)] for shown, words in rows]
    return lines


def _legend(place: str, glyphs: GlyphSet) -> Block:
    if place == PICKER:
        live: Line = [(glyphs.live, style(Token.OK)), (" written in the last minute", TEXT)]
        quiet: Line = [(glyphs.stalled, MUTED), (" in use, but quiet", TEXT)]
        return [[("Signs", TITLE)], live, quiet]

    badges = list[Span]()
    unsure = list[Span]()
    for level, word in LEVEL_WORDS.items():
        line = unsure if level is Level.UNSURE else badges
        line += [(glyphs.badge(level), LEVEL_LOOK[level]), (f" {word}  ", TEXT)]
    nan = (glyphs.nan, LEVEL_BOLD[Level.BAD])
    unchanged = (glyphs.unchanged, MUTED)
    marks: Line = [nan, (" not a number  ", TEXT), unchanged, (" constant", TEXT)]
    letters = list(LEGEND.items())
    below = [
        [part for k, word in row for part in ((k, STRONG), (f" {word}  ", TEXT))]
        for row in (letters[:2], letters[2:4], letters[4:])
    ]
    return [[("Badges", TITLE)], badges, unsure, marks, [("Below charts", TITLE)], *below]
