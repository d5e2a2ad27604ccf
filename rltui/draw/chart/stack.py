"""A stacked area: in each column the parts of one whole, in eighths of a cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rltui.core.block import FloatArray
from rltui.draw.glyph import GlyphSet
from rltui.draw.line import STAGE_TOKENS, TITLE, Line, Style, Token, style

#: What fills a cell from below, by eighths.
_EIGHTHS = "▁▂▃▄▅▆▇█"
#: Fills where there is nothing but ascii, or no colour, by part; the last one is that of all
#: other parts. None is a badge, or the line of the usual level.
LETTERS = "#=%:.,"
_BLANK = 255


@dataclass(frozen=True, slots=True, eq=False)
class Stack:
    """What :func:`stack_cells` draws."""

    parts: FloatArray
    """(parts, columns) how much of each part there is, from below; NaN or 0 for none."""
    colours: Sequence[int]
    """Index of each part in the tokens of the stages."""
    top: float
    """What the upper edge of the plot means."""
    usual: float | None = None
    """Where a dotted line is drawn."""


def stack_cells(stack: Stack, rows: int, glyphs: GlyphSet) -> list[Line]:
    """The plot in exactly ``rows`` lines of as many cells as there are columns, from above. A
    column that is higher than the plot ends in the glyph of what lies above."""
    eighths = _eighths(stack, rows)
    above = (np.nansum(stack.parts, axis=0) > stack.top * (1 + 1e-9)).tolist()
    usual = _row_of(stack.usual, stack.top, rows)
    known: dict[bytes, tuple[str, Style]] = {}
    lines = []
    for row in range(rows - 1, -1, -1):
        cells = eighths[:, 8 * row : 8 * row + 8].tobytes()
        line = _Row(glyphs)
        for column in range(len(eighths)):
            parts = cells[8 * column : 8 * column + 8]
            if row == rows - 1 and above[column]:
                line.add(glyphs.above, style(Token.STRONG, bg=_ground(parts), bold=True))
            elif row == usual and len(set(parts)) == 1:
                line.add(glyphs.limit, style(Token.STRONG, bg=_ground(parts)))
            else:
                found = known.get(parts)
                if found is None:
                    found = known[parts] = _cell(parts, glyphs)
                line.add(*found)
        lines.append(line.spans())

    return lines


def _row_of(value: float | None, top: float, rows: int) -> int | None:
    if value is None or not 0 < value < top:
        return None
    return min(rows - 1, int(value / top * rows))


def _eighths(stack: Stack, rows: int) -> NDArray[np.uint8]:
    """(columns, 8 * rows) colour of the part that each eighth of a cell shows, from below."""
    heights = np.nan_to_num(np.cumsum(np.nan_to_num(stack.parts), axis=0) / stack.top)
    edges = heights * rows * 8
    middles = np.arange(rows * 8) + 0.5
    if not len(edges):
        return np.full((stack.parts.shape[1], rows * 8), _BLANK, np.uint8)
    # something that is there at all shows, also where it is less than half an eighth
    edges[-1] = np.where(edges[-1] > 0, np.maximum(edges[-1], 0.6), 0.0)
    part = (edges[:, :, None] <= middles).sum(axis=0)
    colours = np.array([*stack.colours, _BLANK], np.uint8)
    return np.asarray(colours[part])


def _cell(parts: bytes, glyphs: GlyphSet) -> tuple[str, Style]:
    """One cell of eight eighths: the lowest part in front of the largest of the others."""
    first = parts[0]
    if first == _BLANK:
        return " ", style()
    if glyphs.lettered:
        most = max(dict.fromkeys(parts), key=parts.count)
        return (" ", style()) if most == _BLANK else (LETTERS[most], style(STAGE_TOKENS[most]))
    height = next((n for n, p in enumerate(parts) if p != first), 8)
    rest = parts[height:]
    behind = max(dict.fromkeys(rest), key=rest.count) if rest else _BLANK
    ground = None if behind == _BLANK else STAGE_TOKENS[behind]
    return _EIGHTHS[height - 1], style(STAGE_TOKENS[first], bg=ground)


def _ground(parts: bytes) -> Token | None:
    """The ground of a glyph in a cell: its largest part."""
    most = max(dict.fromkeys(parts), key=parts.count)
    return None if most == _BLANK else STAGE_TOKENS[most]


class _Row:
    """One line under construction: neighbours of the same style are one span."""

    def __init__(self, glyphs: GlyphSet) -> None:
        self._spans: list[tuple[list[str], Style]] = []
        self._lettered = glyphs.lettered

    def add(self, char: str, look: Style) -> None:
        if self._lettered and look.bg is not None:
            look = style(look.fg, bold=look.bold)
        if self._spans and self._spans[-1][1] is look:
            self._spans[-1][0].append(char)
        else:
            self._spans.append(([char], look))

    def spans(self) -> Line:
        return [("".join(chars), look) for chars, look in self._spans]


def bar_line(parts: Sequence[tuple[str, float, int]], width: int, glyphs: GlyphSet) -> Line:
    """Shares of one whole side by side in ``width`` cells, each with its label where that fits.

    ``parts``: label, share and index in the tokens of the stages.
    """
    cells = _cells([share for _, share, _ in parts], width)
    line: Line = []
    for (label, _, colour), count in zip(parts, cells, strict=True):
        if not count:
            continue
        text = f" {label}" if len(label) + 2 <= count else ""
        if glyphs.lettered:
            fill = LETTERS[colour] * (count - len(text) - bool(text))
            line += [(f"{text} " if text else "", TITLE), (fill, style(STAGE_TOKENS[colour]))]
        else:
            look = style(Token.STRONG, bg=STAGE_TOKENS[colour])
            if not text:  # blocks keep their colour where a terminal has no grounds
                text, look = "█" * count, style(STAGE_TOKENS[colour])
            line.append((text.ljust(count), look))

    return [span for span in line if span[0]]


def _cells(shares: Sequence[float], width: int) -> list[int]:
    """Whole cells for each share, ``width`` in all."""
    whole = sum(shares)
    if not whole > 0:
        return [0] * len(shares)
    exact = [share / whole * width for share in shares]
    cells = [int(e) for e in exact]
    rest = sorted(range(len(exact)), key=lambda i: cells[i] - exact[i])
    for i in rest[: width - sum(cells)]:
        cells[i] += 1
    return cells
