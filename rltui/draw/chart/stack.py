"""Shares of a whole: stacked areas on the columns of a plot, and one bar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rltui.core.block import FloatArray
from rltui.draw.glyph import GlyphSet
from rltui.draw.line import STAGE_TOKENS, TEXT, TITLE, Line, Span, Token, joined, style

#: What fills a cell from below, by eighths.
_EIGHTHS = "▁▂▃▄▅▆▇█"
#: Letters that fill the parts in ascii or without colours; the last one is that of all other
#: parts. None of them is a badge or the glyph of the usual level.
LETTERS = "#=%:.,"
_BLANK = 255


class Stack(NamedTuple):
    """Input of :func:`stack_cells`."""

    parts: FloatArray
    """(parts, columns) how much of each part there is, from below; NaN or 0 for none."""
    colours: Sequence[int]
    """Index of each part in the tokens of the stages."""
    top: float
    """The value at the upper edge of the plot."""
    usual: float | None = None
    """The value of the dotted line; None for none."""


def stack_cells(stack: Stack, rows: int, glyphs: GlyphSet) -> list[Line]:
    """The plot in exactly ``rows`` lines of as many cells as there are columns, from above. A
    column that is higher than the plot ends in the glyph of what lies above."""
    parts = np.nan_to_num(stack.parts)
    edges = np.nan_to_num(np.cumsum(parts, axis=0) / stack.top) * rows * 8
    if len(edges):
        # something that is there at all shows, also where it is less than half an eighth
        edges[-1] = np.where(edges[-1] > 0, np.maximum(edges[-1], 0.6), 0.0)
    # (columns, 8 * rows) colour of the part that each eighth of a cell shows, from below
    part = (edges[:, :, None] <= np.arange(rows * 8) + 0.5).sum(axis=0)
    eighths = np.array([*stack.colours, _BLANK], np.uint8)[part]

    above = (parts.sum(axis=0) > stack.top * (1 + 1e-9)).tolist()
    usual = None
    if stack.usual is not None and 0 < stack.usual < stack.top:
        usual = min(rows - 1, int(stack.usual / stack.top * rows))
    found: dict[bytes, Span] = {}
    lines = []
    for row in range(rows - 1, -1, -1):
        data = eighths[:, 8 * row : 8 * row + 8].tobytes()
        line: Line = []
        for column in range(len(eighths)):
            cell = data[8 * column : 8 * column + 8]
            if row == rows - 1 and above[column]:
                line.append(_on_largest(cell, glyphs.above, glyphs, bold=True))
            elif row == usual and len(set(cell)) == 1:
                line.append(_on_largest(cell, glyphs.limit, glyphs))
            else:
                if cell not in found:
                    found[cell] = _cell(cell, glyphs)
                line.append(found[cell])
        lines.append(joined(line))

    return lines


def _largest(parts: bytes) -> int:
    """The part that has the most of the eighths; of equal ones the lowest."""
    return max(dict.fromkeys(parts), key=parts.count)


def _on_largest(parts: bytes, char: str, glyphs: GlyphSet, *, bold: bool = False) -> Span:
    """A glyph in a cell, on the ground of its largest part."""
    most = _largest(parts)
    ground = None if most == _BLANK or glyphs.lettered else STAGE_TOKENS[most]
    return char, style(Token.STRONG, bg=ground, bold=bold)


def _cell(parts: bytes, glyphs: GlyphSet) -> Span:
    """One cell of eight eighths: the lowest part in front of the largest of the others."""
    first = parts[0]
    most = _largest(parts)
    if first == _BLANK or (glyphs.lettered and most == _BLANK):
        return " ", TEXT
    if glyphs.lettered:
        return LETTERS[most], style(STAGE_TOKENS[most])

    height = next((n for n, p in enumerate(parts) if p != first), 8)
    behind = _largest(parts[height:]) if height < 8 else _BLANK
    ground = None if behind == _BLANK else STAGE_TOKENS[behind]
    return _EIGHTHS[height - 1], style(STAGE_TOKENS[first], bg=ground)


def bar_line(parts: Sequence[tuple[str, float, int]], width: int, glyphs: GlyphSet) -> Line:
    """Shares of one whole side by side in ``width`` cells, each with its label where that fits.

    ``parts``: label, share and index in the tokens of the stages.
    """
    whole = sum(share for _, share, _ in parts)
    exact = [share / whole * width if whole > 0 else 0.0 for _, share, _ in parts]
    cells = [int(e) for e in exact]
    largest_rest = sorted(range(len(exact)), key=lambda i: cells[i] - exact[i])
    for i in largest_rest[: width - sum(cells)] if whole > 0 else ():
        cells[i] += 1

    line: Line = []
    for (label, _, colour), count in zip(parts, cells, strict=True):
        text = f" {label}" if len(label) + 2 <= count else ""
        if glyphs.lettered:
            fill = LETTERS[colour] * (count - len(text) - bool(text))
            line += [(f"{text} " if text else "", TITLE), (fill, style(STAGE_TOKENS[colour]))]
        elif text:
            line.append((text.ljust(count), style(Token.STRONG, bg=STAGE_TOKENS[colour])))
        else:  # blocks keep their colour where a terminal has no grounds
            line.append(("█" * count, style(STAGE_TOKENS[colour])))

    return [span for span in line if span[0]]
