"""A plot of cells: code points and styles as arrays, painted from the lowest layer up."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rltui.core.block import BoolArray
from rltui.core.text import cell_width, clean
from rltui.draw.chart.raster import BLANK, CodeArray
from rltui.draw.line import TEXT, Line, Style, Token, style


class Canvas:
    """``height`` rows of ``width`` cells, row 0 at the top. Whoever paints last owns a cell."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.codes: CodeArray = np.full((height, width), BLANK, dtype=np.uint32)
        self._looks: NDArray[np.int16] = np.zeros((height, width), dtype=np.int16)
        self.tint = np.zeros(height, dtype=np.bool_)
        """(height,) rows on the ground of the healthy range."""
        self.lines = np.zeros((height, width), dtype=np.bool_)
        """(height, width) cells that belong to a line of data: texts keep off them."""
        self._styles: list[Style] = [TEXT]
        self._ids: dict[Style, int] = {TEXT: 0}

    def look(self, wanted: Style) -> int:
        """The number of a style on this canvas."""
        found = self._ids.get(wanted)
        if found is None:
            found = self._ids[wanted] = len(self._styles)
            self._styles.append(wanted)
        return found

    def paint(self, codes: CodeArray, wanted: Style, where: BoolArray | None = None) -> None:
        """Own the cells (height, width) of ``where``, by default those that are not blank."""
        mask = codes != BLANK if where is None else where
        np.copyto(self.codes, codes, where=mask)
        self._looks[mask] = self.look(wanted)

    def put(self, row: int, column: int, char: str, wanted: Style) -> None:
        """One character, if the place is on the canvas."""
        if 0 <= row < self.height and 0 <= column < self.width:
            self.codes[row, column] = ord(char)
            self._looks[row, column] = self.look(wanted)

    def text(self, row: int, column: int, text: str, wanted: Style) -> None:
        """A clean text; what lies outside is cut. What is not one cell wide becomes ``?``."""
        for char in text:
            width = cell_width(char)
            if not width:
                continue
            for _ in range(width):
                self.put(row, column, char if width == 1 else "?", wanted)
                column += 1

    def free(self, row: int, begin: int, end: int) -> bool:
        """True when no line of data touches the cells ``begin`` to ``end`` of a row."""
        return (
            0 <= row < self.height
            and 0 <= begin <= end <= self.width
            and not bool(self.lines[row, begin:end].any())
        )

    def rows(self) -> list[Line]:
        """The rows as spans of equal style."""
        text = self.codes.astype("<u4", copy=False).tobytes().decode("utf-32-le")
        looks, begins = self._looks, np.ones((self.height, self.width), dtype=np.bool_)
        begins[:, 1:] = looks[:, 1:] != looks[:, :-1]
        starts = np.flatnonzero(begins)
        wanted = looks.ravel()[starts].tolist()
        cuts = [*starts.tolist(), len(text)]
        tinted = [_tinted(s) for s in self._styles] if self.tint.any() else []
        grounds = [tinted if t else self._styles for t in self.tint.tolist()]
        lines: list[Line] = [[] for _ in range(self.height)]
        for look, begin, end in zip(wanted, cuts, cuts[1:], strict=False):
            row = begin // self.width
            lines[row].append((text[begin:end], grounds[row][look]))
        return lines


def _tinted(wanted: Style) -> Style:
    """A style on the ground of the healthy range."""
    if wanted.bg is not None or wanted.reverse:
        return wanted
    return style(wanted.fg, bg=Token.TINT, bold=wanted.bold, underline=wanted.underline)


def safe(text: str) -> str:
    """``text`` fit for a terminal. What was cleaned on its way in stays as it is."""
    return text if text.isprintable() else clean(text)


def place(width: int, parts: list[tuple[int, str, Style]]) -> Line:
    """One line of ``width`` cells with (clean) texts at columns.

    A part that overlaps one before it in the list is left out, one that leaves the line is cut.
    """
    taken = [False] * max(0, width)
    kept: list[tuple[int, str, Style]] = []
    for column, text, look in parts:
        if column < 0 or not text:
            continue
        while text and column + cell_width(text) > width:
            text = text[:-1]
        end = column + cell_width(text)
        if not text or any(taken[column:end]):
            continue
        taken[column:end] = [True] * (end - column)
        kept.append((column, text, look))
    line: Line = []
    at = 0
    for column, text, look in sorted(kept, key=lambda part: part[0]):
        if column > at:
            line.append((" " * (column - at), TEXT))
        line.append((text, look))
        at = column + cell_width(text)
    if at < width:
        line.append((" " * (width - at), TEXT))
    return line
