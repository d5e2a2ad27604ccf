"""Lines of styled text, of which every screen is made.

A screen is a list of lines, a line a list of spans, a span a text with a style of *tokens*
(``bad``, ``muted``); only a theme knows which colour a token is. Span texts never contain
control characters or markup (see :mod:`rltui.core.text`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from enum import Enum
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import Generic, TypeVar, overload

from rltui.core.level import Level
from rltui.core.record import entity
from rltui.core.text import cell_width, fit, pad
from rltui.draw.glyph import GlyphSet, ascii_text

Id = TypeVar("Id", bound=Hashable)


class Token(str, Enum):
    """Colour tokens of a theme."""

    BG = "bg"
    RAISED = "raised"
    SEL = "sel"
    LINE = "line"
    MUTED = "muted"
    TEXT = "text"
    STRONG = "strong"
    ACCENT = "accent"
    OK = "ok"
    WATCH = "watch"
    BAD = "bad"
    WATCHFILL = "watchfill"
    BADFILL = "badfill"
    SPARK = "spark"
    SERIES = "series"
    BAND = "band"
    TINT = "tint"
    STAGE_1 = "stage1"
    STAGE_2 = "stage2"
    STAGE_3 = "stage3"
    STAGE_4 = "stage4"
    STAGE_5 = "stage5"
    STAGE_6 = "stage6"
    UNJUDGED = "unjudged"
    RUN_1 = "run1"
    RUN_2 = "run2"
    RUN_3 = "run3"
    RUN_4 = "run4"
    RUN_5 = "run5"
    RUN_1_BAND = "run1band"
    RUN_2_BAND = "run2band"
    RUN_3_BAND = "run3band"
    RUN_4_BAND = "run4band"
    RUN_5_BAND = "run5band"


@entity
class Style:
    """How a span looks; ``bg`` None means the background of the line.

    Made by :func:`style` alone: equal styles are one object, which is compared and hashed by
    its identity, since that happens for every span of a screen.
    """

    fg: Token = Token.TEXT
    bg: Token | None = None
    bold: bool = False
    reverse: bool = False
    """Swap colours: the one way to show a selection without colour."""
    underline: bool = False
    link: str = ""
    """Address that a click opens, in terminals that know links; of ASCII characters."""


def style(
    fg: Token = Token.TEXT,
    *,
    bg: Token | None = None,
    bold: bool = False,
    reverse: bool = False,
    underline: bool = False,
    link: str = "",
) -> Style:
    """The (shared) style of these tokens."""
    return _only(fg, bg, bold, reverse, underline, link)  # the cache must not see how it was called


_only = cache(Style)
TEXT = style()
MUTED = style(Token.MUTED)
STRONG = style(Token.STRONG)
TITLE = style(Token.STRONG, bold=True)
RULE = style(Token.LINE)
ACCENT = style(Token.ACCENT)
ACCENT_BOLD = style(Token.ACCENT, bold=True)

#: The look of a head that says what its table is sorted by.
CHOSEN_HEAD = style(Token.STRONG, bold=True, underline=True)

Span = tuple[str, Style]
Line = list[Span]
Block = list[Line]
"""Lines below each other."""
#: The colours of compared runs, by slot: more lines in one chart cannot be distinguished.
RUN_TOKENS = tuple(Token(f"run{n}") for n in range(1, 6))
#: Token of a group of runs -> that of the band around its line.
RUN_BANDS = {token: Token(f"{token.value}band") for token in RUN_TOKENS}
#: Tokens of the stages of a step; the last one is that of all other stages.
STAGE_TOKENS = tuple(Token(f"stage{n}") for n in range(1, 7))

#: What the badge of a level says, in the order of a legend.
LEVEL_WORDS = {
    Level.OK: "ok",
    Level.WATCH: "watch",
    Level.BAD: "bad",
    Level.UNSURE: "not yet sure",
    Level.UNKNOWN: "not judged",
}
#: Level -> token of its text and badge.
LEVEL_TOKEN = {
    Level.UNKNOWN: Token.MUTED,
    Level.OK: Token.OK,
    Level.UNSURE: Token.WATCHFILL,
    Level.WATCH: Token.WATCH,
    Level.BAD: Token.BAD,
}
LEVEL_LOOK = {level: style(token) for level, token in LEVEL_TOKEN.items()}
LEVEL_BOLD = {level: style(token, bold=True) for level, token in LEVEL_TOKEN.items()}


def alarm_look(level: Level, calm: Style = STRONG) -> Style:
    """The bold colour of a level that alarms, else ``calm``."""
    return LEVEL_BOLD[level] if level >= Level.WATCH else calm


def badge_span(level: Level, glyphs: GlyphSet) -> Span:
    """The badge of a level and a blank; bold where it alarms."""
    return f"{glyphs.badge(level)} ", alarm_look(level, LEVEL_LOOK[level])


def line_width(line: Iterable[Span]) -> int:
    """Width of the line in cells."""
    text = plain(line)
    return len(text) if text.isascii() else cell_width(text)


def plain(line: Iterable[Span]) -> str:
    """The text of the line alone."""
    return "".join([text for text, _ in line])


def ascii_line(line: Line) -> Line:
    """The line in ascii alone. What gets wider takes the blanks behind it, but for one: columns
    stay where they are."""
    out = Line()
    grown = 0
    for text, look in line:
        shown = text
        if not text.isascii():
            shown = ascii_text(text)
            grown += len(shown) - cell_width(text)
        blanks = len(shown) - len(shown.rstrip(" "))
        cut = max(0, min(grown, blanks - 1))
        grown -= cut
        out.append((shown[: len(shown) - cut], look))
    return out


def fit_line(line: Line, width: int) -> Line:
    """The line cut or padded with blanks to exactly ``width`` cells."""
    taken = line_width(line)
    if taken == width:
        return line
    if taken < width:
        return [*line, (" " * (width - taken), TEXT)]
    out: Line = []
    room = width
    for text, look in line:
        if room <= 0:
            break
        taken = cell_width(text)
        if taken > room:
            text = fit(text, room)
            taken = cell_width(text)
        if text:
            out.append((text, look))
        room -= taken
    if room > 0:  # a wide character did not fit
        out.append((" " * room, TEXT))

    return out


def with_end(line: Line, right: Line, width: int) -> Line:
    """The line in ``width`` cells, cut or padded so that ``right`` stands at its end."""
    return [*fit_line(line, width - line_width(right)), *right]


def column(text: str, width: int, look: Style = TEXT, *, right: bool = False) -> Span:
    """``text`` in ``width`` cells, the last of them blank: columns never touch."""
    return pad(text, width - 1, right=right) + " ", look


def on_ground(look: Style, ground: Token) -> Style:
    """The look on another background."""
    return _only(look.fg, ground, look.bold, look.reverse, look.underline, look.link)


def with_ground(line: Line, ground: Token) -> Line:
    """The line on another background, where a span has none of its own."""
    return [(text, look if look.bg else on_ground(look, ground)) for text, look in line]


def joined(cells: Iterable[Span]) -> Line:
    """The cells with neighbours of the same style as one span."""
    runs = groupby(cells, key=itemgetter(1))
    return [("".join(text for text, _ in run), look) for look, run in runs]


def slot_look(slot: int) -> Style:
    """The look of the sign of a slot: its colour, if it has a line of its own."""
    return style(RUN_TOKENS[slot], bold=True) if slot < len(RUN_TOKENS) else MUTED


@entity
class Entry(Generic[Id]):
    """One item of a list, or the lines between items."""

    id: Id | None
    """Names the item, whatever its place; None for headings and blank lines."""
    draw: Callable[[bool], Block]
    """The lines, with the cursor on the item or not. Called for what is visible only."""
    height: int = 1
    """How many lines ``draw`` returns."""


class LazyEntries(Sequence[Entry[Id]]):
    """Entries that are made on access: of thousands a list shows a few dozen."""

    def __init__(
        self,
        ids: Sequence[Id | None],
        heights: Sequence[int],
        make: Callable[[int], Entry[Id]],
    ) -> None:
        """``make`` returns the entry at a place, with the id and the height that stand there."""
        self.ids = ids
        self.heights = heights
        self._make = make

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, at: int) -> Entry[Id]: ...

    @overload
    def __getitem__(self, at: slice) -> list[Entry[Id]]: ...

    def __getitem__(self, at: int | slice) -> Entry[Id] | list[Entry[Id]]:
        places = range(len(self.ids))[at]
        return self._make(places) if isinstance(places, int) else [self._make(n) for n in places]


def heights_of(entries: Sequence[Entry[Id]]) -> Sequence[int]:
    """The height of each entry."""
    return entries.heights if isinstance(entries, LazyEntries) else [e.height for e in entries]


def items_of(entries: Sequence[Entry[Id]]) -> tuple[list[int], list[Id]]:
    """Places and ids of the entries that the cursor can reach, in order."""
    ids = entries.ids if isinstance(entries, LazyEntries) else [e.id for e in entries]
    places = [at for at, item in enumerate(ids) if item is not None]
    return places, [item for item in ids if item is not None]


def fixed(*lines: Line) -> Entry[Id]:
    """An entry of lines that the cursor skips."""
    return Entry(None, lambda _: list(lines), len(lines))


def with_margin(line: Line, width: int, margin: int, *, cursor: bool) -> Line:
    """A row of ``width`` cells behind ``margin`` cells that hold the cursor bar."""
    if not cursor:
        return [(" " * margin, TEXT), *line]
    bar = (" " * (margin - 1) + "▌", ACCENT_BOLD)
    return [bar, *with_ground(fit_line(line, width), Token.SEL)]


def row_entry(item: Id, draw: Callable[[bool], Line], width: int, margin: int) -> Entry[Id]:
    """An item of one line of ``width`` cells behind the cursor bar. ``draw`` returns the line, with
    the cursor on it or not."""

    def lines(cursor: bool) -> Block:
        return [with_margin(draw(cursor), width, margin, cursor=cursor)]

    return Entry(item, lines)


def margin_of(width: int) -> int:
    """Cells before the lines of a page ``width`` cells wide."""
    return 2 if width >= 110 else 1


def indented(lines: Block, margin: int) -> Block:
    """The lines behind a margin."""
    return [[(" " * margin, TEXT), *x] for x in lines]


def side_by_side(left: Block, right: Block, width: int, gap: int, rows: int) -> Block:
    """Two blocks next to each other: the left one ``width`` cells wide, then ``gap`` blanks."""
    blank = (" " * gap, TEXT)
    return [
        [
            *fit_line(left[i] if i < len(left) else [], width),
            blank,
            *(right[i] if i < len(right) else []),
        ]
        for i in range(rows)
    ]


def apart(*blocks: Block) -> Block:
    """The blocks below each other, a blank line between any two that have lines."""
    lines: Block = []
    for block in filter(None, blocks):
        lines += [[], *block] if lines else block
    return lines


def longest(texts: Iterable[str], least: int = 0) -> int:
    """Cells of the longest text."""
    return max([len(t) if t.isascii() else cell_width(t) for t in texts], default=least)
