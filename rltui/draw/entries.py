"""What a list is made of: items that the cursor can reach, and lines between them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, overload

from rltui.core.text import cell_width
from rltui.draw.line import Line, Token, fit_line, style, with_ground
from rltui.draw.view import View

Id = TypeVar("Id", bound=Hashable)


@dataclass(frozen=True, slots=True, eq=False)
class Entry(Generic[Id]):
    """One item of a list, or what stands between items."""

    id: Id | None
    """Names the item, whatever its place; None for headings and blank lines."""
    draw: Callable[[bool], list[Line]]
    """The lines, with the cursor on the item or not. Called for what is visible only."""
    height: int = 1
    """How many lines ``draw`` returns."""


class LazyEntries(Sequence[Entry[Id]]):
    """Entries that are made when they are asked for: of thousands a list shows a few dozen."""

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
    if isinstance(entries, LazyEntries):
        return entries.heights
    return [e.height for e in entries]


def items_of(entries: Sequence[Entry[Id]]) -> tuple[list[int], list[Id]]:
    """Places and ids of the entries that the cursor can reach, in order."""
    ids = entries.ids if isinstance(entries, LazyEntries) else [e.id for e in entries]
    places = [at for at, item in enumerate(ids) if item is not None]
    return places, [item for item in ids if item is not None]


def fixed(*lines: Line) -> Entry[Id]:
    """Lines that the cursor skips."""
    return Entry(None, lambda _: list(lines), len(lines))


def with_margin(line: Line, width: int, margin: int, view: View, *, cursor: bool) -> Line:
    """A row of ``width`` cells behind ``margin`` cells that hold the cursor bar."""
    if not cursor:
        return [(" " * margin, style()), *line]
    bar = (" " * (margin - 1) + view.glyphs.cursor, style(Token.ACCENT, bold=True))
    return [bar, *with_ground(fit_line(line, width, ellipsis=view.glyphs.ellipsis), Token.SEL)]


def indented(lines: list[Line], margin: int) -> list[Line]:
    """The lines behind a margin."""
    return [[(" " * margin, style()), *x] for x in lines]


def beside(left: list[Line], right: list[Line], width: int, gap: int, rows: int) -> list[Line]:
    """Two blocks next to each other: the left one ``width`` cells wide, then ``gap`` blanks."""
    blank = (" " * gap, style())
    return [
        [
            *fit_line(left[i] if i < len(left) else [], width),
            blank,
            *(right[i] if i < len(right) else []),
        ]
        for i in range(rows)
    ]


def longest(texts: list[str], least: int = 0) -> int:
    """Cells of the longest text."""
    return max((cell_width(t) for t in texts), default=least)
