"""Tables: which columns a row has room for, its line, and heads set into a rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType

from rltui.core.level import Level
from rltui.core.text import cell_width, pad
from rltui.draw.line import (
    LEVEL_LOOK,
    MUTED,
    RULE,
    TEXT,
    TITLE,
    Block,
    Line,
    Span,
    Style,
    fit_line,
    line_width,
    with_end,
)
from rltui.draw.view import View

Cells = dict[str, Span | Line]
"""Column -> what a row has there, of one look or of several."""
Head = tuple[str, int, int]
"""A column head, the cell where it begins, and how far a long title may move it."""
_LEFT: Mapping[str, str] = MappingProxyType({})
#: Cells before the head of numbers that stand on one decimal point, and as far as a title may move
#: it; where a longer head ends.
_INDENT = 3
_LATEST = 5
_END = 8


class Table:
    """Columns of text with a blank between any two, behind signs of ``lead`` cells."""

    def __init__(
        self, cells: Mapping[str, int], align: Mapping[str, str] = _LEFT, lead: int = 2
    ) -> None:
        """``cells`` of each column, in order; one without any is left out. ``align``: ">" is right,
        ">2" right before two blanks, "." on the decimal point; others are left."""
        self.cells = {name: room for name, room in cells.items() if room > 0}
        self.align = align
        self._lead = lead

    def __getitem__(self, column: str) -> int:
        """Cells of a column, 0 for one that is left out."""
        return self.cells.get(column, 0)

    @property
    def width(self) -> int:
        """Cells of a row."""
        return self._lead + sum(self.cells.values()) + len(self.cells) - 1

    def start(self, column: str) -> int:
        """Cells before a column."""
        names = list(self.cells)
        before = names[: names.index(column)]
        return self._lead + sum(self.cells[name] + 1 for name in before)

    def moved(self, cells: int, source: str, to: str) -> Table:
        """The table with some cells of the column ``source`` given to another."""
        changed = {source: self[source] - cells, to: self[to] + cells}
        return Table(self.cells | changed, self.align, self._lead)

    def line(self, signs: Line, cells: Cells) -> Line:
        """A row. A long text ends in an ellipsis; a column without a cell is skipped."""
        line = list(signs)
        last = next(reversed(self.cells))
        before = ""
        for name, room in self.cells.items():
            cell = cells.get(name)
            align = self.align.get(name, "")
            gap = " " * (name != last)
            if isinstance(cell, list):
                line += [(before, TEXT), *fit_line(cell, room)] if before else fit_line(cell, room)
                before = gap
            elif cell is not None:
                text, look = cell
                if align[:1] == ">":
                    blanks = int(align[1:] or 0)
                    text = pad(text, room - blanks, right=True) + " " * blanks
                line.append((before + pad(text, room) + gap, look))
                before = ""
        return line

    def heads(self, words: Mapping[str, str]) -> list[Head]:
        """The ``words`` above their columns, for a rule."""
        found = []
        for name, room in self.cells.items():
            word = words.get(name, "")
            align = self.align.get(name, "")
            begin = self.start(name)
            most = begin + 1
            if align == ".":
                most = begin + _LATEST
                begin += max(0, min(_INDENT, _END - len(word)))
            elif align:
                begin = most = begin + room - int(align[1:] or 0) - cell_width(word)
            if word:
                found.append((word, begin, most))
        return found


@lru_cache(maxsize=64)
def table_for(layouts: str, width: int, lead: int = 2) -> Table:
    """The table for rows of ``width`` cells. ``layouts`` are lines of text: names of the columns,
    each with how it is aligned; then, from wide to narrow, the fewest cells of a row and those of
    each column: "-" leaves it out, "*" takes the rest, "4*" the rest but at least 4."""
    names, *rows = (line.split() for line in layouts.strip().splitlines())
    wanted = next(row[1:] for row in rows if width >= int(row[0]))
    align = dict[str, str]()
    cells = dict[str, int]()
    widest = ""
    for name, room in zip(names, wanted, strict=True):
        column = name.rstrip(".>0123456789")
        align[column] = name[len(column) :]
        cells[column] = int(room.strip("*-") or 0)
        if "*" in room:
            widest = column
    if widest:
        others = Table(cells | {widest: 1}, lead=lead).width - 1
        cells[widest] = max(cells[widest], width - others)
    return Table(cells, align, lead)


def title_lines(left: Line, right: Line, width: int) -> Block:
    """The head of a page: a line with ``right`` at its end, over a rule."""
    return [with_end(left, right, width), [("─" * width, RULE)]]


def heading(
    title: str,
    width: int,
    view: View,
    note: str = "",
    *,
    level: Level | None = None,
    heads: Iterable[Head] = (),
    look: Style = TITLE,
) -> Line:
    """A title, a rule with the column heads set into it, and at the right end a muted note, or
    the badge of a level."""
    title, note = map(view.text, (title, note))
    rule = view.glyphs.rule
    line = [(f"{title} ", look)]
    for head, begin, latest in heads:
        used = line_width(line)
        fill = min(max(begin, used + 1), latest) - 1 - used
        if fill >= 0:
            line += [(rule * fill, RULE), (" ", TEXT), (f"{head} ", MUTED)]
    right: Line = [(f" {note}", MUTED)] if note else []
    if level is not None:
        right = [(" " + view.glyphs.badge(level), LEVEL_LOOK[level])]
    room = width - line_width(line) - line_width(right)
    if room < 0:
        return fit_line([*line, *right], width)

    return [*line, (rule * room, RULE), *right]
