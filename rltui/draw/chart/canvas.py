"""Cells of a plot: code points and styles as arrays, painted from the lowest layer up.

:class:`Canvas` holds the cells, :class:`Plot` knows which values its rows and columns stand for,
:class:`PlotSpan` where the plot lies on the lines of its chart. Dots become cells by way of
rasters: boolean arrays (height, width) of the dots of braille, half blocks or ASCII.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rltui.core.block import BoolArray, FloatArray
from rltui.core.text import cell_width, clean, fit
from rltui.draw.chart.axis import Scale
from rltui.draw.chart.chart_model import Array
from rltui.draw.chart.trace import DotColumns, cell_of, extents
from rltui.draw.glyph import GlyphSet
from rltui.draw.line import TEXT, Line, Style, Token, on_ground, style

CodeArray = NDArray[np.uint32]
#: Marker -> dots per cell, across and down.
RESOLUTION = {"braille": (2, 4), "block": (1, 2), "ascii": (1, 1)}
BLANK = 0x20
_EMPTY_BRAILLE = 0x2800
#: (256,) code point of a braille cell by the bits of its dots.
_BRAILLE = np.arange(_EMPTY_BRAILLE, _EMPTY_BRAILLE + 256, dtype=np.uint32)
_BRAILLE[0] = BLANK
_HALVES = np.array([BLANK, ord("▀"), ord("▄"), ord("█")], dtype=np.uint32)
BAND = style(Token.BAND)
#: Columns of a toned line with more dots than this are thinned out.
_STEEP = 2


class Canvas:
    """``height`` rows of ``width`` cells, row 0 at the top. The last layer painted owns a cell."""

    def __init__(self, width: int, height: int) -> None:
        self.width = width
        self.height = height
        self.codes: CodeArray = np.full((height, width), BLANK, dtype=np.uint32)
        self._looks: NDArray[np.int16] = np.zeros((height, width), dtype=np.int16)
        self.tint = np.zeros(height, dtype=np.bool_)
        """(height,) rows on the ground of the healthy range."""
        self.lines = np.zeros((height, width), dtype=np.bool_)
        """(height, width) cells that belong to a line of data: texts keep off them."""
        self._styles: list[Style] = [TEXT]
        self._ids: dict[Style, int] = {TEXT: 0}

    def style_id(self, wanted: Style) -> int:
        """The number of a style on this canvas."""
        found = self._ids.get(wanted)
        if found is None:
            found = self._ids[wanted] = len(self._styles)
            self._styles.append(wanted)
        return found

    def paint(self, codes: CodeArray, wanted: Style, where: BoolArray | None = None) -> None:
        """Put codes and a style into the cells (height, width) of ``where``, by default those
        that are not blank."""
        mask = codes != BLANK if where is None else where
        np.copyto(self.codes, codes, where=mask)
        self._looks[mask] = self.style_id(wanted)

    def put(self, row: int, column: int, char: str, wanted: Style) -> None:
        """Put one character, if the place is on the canvas."""
        if 0 <= row < self.height and 0 <= column < self.width:
            self.codes[row, column] = ord(char)
            self._looks[row, column] = self.style_id(wanted)

    def text(self, row: int, column: int, text: str, wanted: Style) -> None:
        """Put a clean text; what lies outside is cut. What is not one cell wide becomes ``?``."""
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
        looks = self._looks
        begins = np.ones((self.height, self.width), dtype=np.bool_)
        begins[:, 1:] = looks[:, 1:] != looks[:, :-1]
        starts = np.flatnonzero(begins)
        wanted = looks.ravel()[starts].tolist()
        cuts = [*starts.tolist(), len(text)]
        tinted = [s if s.bg or s.reverse else on_ground(s, Token.TINT) for s in self._styles]
        grounds = [tinted if t else self._styles for t in self.tint.tolist()]
        lines: list[Line] = [[] for _ in range(self.height)]
        for look, begin, end in zip(wanted, cuts, cuts[1:], strict=False):
            row = begin // self.width
            lines[row].append((text[begin:end], grounds[row][look]))
        return lines


def safe(text: str) -> str:
    """``text`` fit for a terminal. What was cleaned on its way in stays as it is."""
    return text if text.isprintable() else clean(text)


def texts_at(width: int, parts: list[tuple[int, str, Style]]) -> Line:
    """One line of ``width`` cells with (clean) texts at columns.

    A part that overlaps one before it in the list is left out, one that leaves the line is cut.
    """
    taken = [False] * max(0, width)
    kept: list[tuple[int, int, str, Style]] = []
    for column, text, look in parts:
        if column < 0 or not text:
            continue
        text = fit(text, width - column, ellipsis="")
        end = column + cell_width(text)
        if not text or any(taken[column:end]):
            continue
        taken[column:end] = [True] * (end - column)
        kept.append((column, end, text, look))
    line: Line = []
    at = 0
    for column, end, text, look in sorted(kept, key=lambda part: part[0]):
        if column > at:
            line.append((" " * (column - at), TEXT))
        line.append((text, look))
        at = end
    if at < width:
        line.append((" " * (width - at), TEXT))

    return line


def fill(low: FloatArray, high: FloatArray, height: int) -> BoolArray:
    """(height, w) raster, top row first, with the dots ``low`` to ``high`` (w,) of each column set.

    Dots count from 0 at the bottom; a column whose bounds are NaN stays empty.
    """
    row = np.arange(height - 1, -1, -1, dtype=np.float64)[:, None]
    raster: BoolArray = (row >= low) & (row <= high)
    return raster


def checkerboard(raster: BoolArray) -> BoolArray:
    """The raster with every other dot removed: a tone instead of a filled area."""
    height, width = raster.shape
    toned: BoolArray = raster & ((np.arange(height)[:, None] + np.arange(width)) % 2 == 0)
    return toned


def encode(raster: BoolArray, marker: str, *, char: str = "*") -> CodeArray:
    """(H, W) code points of the cells of a raster; blank where no dot is set.

    ``char`` is what a set cell becomes with the ascii marker.
    """
    if marker == "ascii":
        plain: CodeArray = np.where(raster, ord(char), BLANK).astype(np.uint32)
        return plain
    if marker == "block":
        halves: CodeArray = _HALVES[raster[0::2] + 2 * raster[1::2].astype(np.intp)]
        return halves
    dots = raster.view(np.uint8)
    left = dots[:, 0::2]
    right = dots[:, 1::2]
    both = left | right << 3
    bits = both[0::4] | both[1::4] << 1 | both[2::4] << 2 | left[3::4] << 6 | right[3::4] << 7
    braille: CodeArray = _BRAILLE[bits]

    return braille


def spliced(line: Line, column: int, text: str, look: Style, *, blank_only: bool) -> Line:
    """``line``, whose characters are all one cell wide, with ``text`` at ``column``; with
    ``blank_only`` unchanged where there is a character already."""
    out: Line = []
    at = 0
    end = column + len(text)
    for part, own in line:
        before = part[: max(0, column - at)]
        after = part[max(0, end - at) :]
        covered = part[len(before) : len(part) - len(after)]
        if covered and blank_only and covered.strip(" "):
            return line
        if before:
            out.append((before, own))
        if at <= column < at + len(part):
            if own.bg is not None and not look.reverse:
                look = on_ground(look, own.bg)
            out.append((text, look))
        if after:
            out.append((after, own))
        at += len(part)

    return out


class PlotSpan(NamedTuple):
    """Where the plot lies on the lines of its chart, and the x range of its columns."""

    left: int
    """Cells before the first column of the plot."""
    cells: int
    width: int
    """Cells of the whole line."""
    x0: float
    x1: float
    newest: float | None = None
    """The newest x of the run when the window reaches beyond it: bars end there."""

    def cell(self, x: float) -> int:
        """The column of ``x`` in the plot; outside of the window its nearest end."""
        return int(cell_of(np.array([x], dtype=np.float64), self.x0, self.x1, self.cells)[0])

    def column(self, x: float) -> int:
        """The column of ``x`` on the whole line."""
        return self.left + self.cell(x)

    def holds(self, x: float) -> bool:
        """True when ``x`` is in the window."""
        return self.x0 <= x <= self.x1


class Plot(NamedTuple):
    """A canvas with the y axis of its rows and the x range of its columns."""

    canvas: Canvas
    scale: Scale
    glyphs: GlyphSet
    span: PlotSpan

    @property
    def across(self) -> int:
        """Dots of a cell from left to right."""
        return RESOLUTION[self.glyphs.marker][0]

    @property
    def down(self) -> int:
        """Dots of a cell from top to bottom."""
        return RESOLUTION[self.glyphs.marker][1]

    def row(self, value: float) -> int | None:
        """Row from the top of a value, None outside of the range."""
        row = self.scale.row(value, self.down)
        return None if row is None else self.canvas.height - 1 - row

    def extents(self, columns: DotColumns, *, cut: bool = False) -> tuple[FloatArray, FloatArray]:
        """Lowest and highest dot (2 * width,) of a line: points are gathered in two columns per
        cell, whatever the marker."""
        height = self.down * self.canvas.height
        return extents(columns, self.scale, 2 * self.canvas.width, height, cut=cut)

    def fill(self, low: FloatArray, high: FloatArray) -> BoolArray:
        """The raster with the dots ``low`` to ``high`` (2 * width,) of each column set."""
        if self.across == 1:
            low = low.reshape(-1, 2)
            high = high.reshape(-1, 2)
            low = np.fmin(low[:, 0], low[:, 1])
            high = np.fmax(high[:, 0], high[:, 1])
        return fill(low, high, self.down * self.canvas.height)


def line_raster(plot: Plot, columns: DotColumns, *, toned: bool = False) -> BoolArray:
    """The dots of a joined line; ``toned`` thins out the parts that would be a solid block."""
    raster = plot.fill(*plot.extents(columns))
    if toned and not plot.glyphs.ascii:
        block = np.zeros_like(raster)
        block[:, 1:] |= raster[:, :-1]
        block[:, :-1] |= raster[:, 1:]
        block &= raster.sum(axis=0) > _STEEP  # a spike that juts out stays solid
        raster &= checkerboard(raster) | ~block
    return raster


def path_raster(plot: Plot, x: Array, y: Array, *, joined: bool = False) -> BoolArray:
    """The dots of points (n,) in any order of x; ``joined`` by straight lines in their order.

    Lines that are longer than all dots would hide the points, and fill the memory: there are none.
    """
    width = plot.across * plot.canvas.width
    height = plot.down * plot.canvas.height
    x0 = plot.span.x0
    x1 = plot.span.x1
    known = np.isfinite(y)
    with np.errstate(over="ignore"):
        across = (x[known].astype(np.float64) - x0) / (x1 - x0 or 1.0)
    places = np.array([across, plot.scale.share(y[known].astype(np.float64))])
    places = np.clip(np.nan_to_num(places, nan=-1), -1, 2) * [[width - 1], [height - 1]]
    moves = np.diff(places)
    count = np.ceil(np.abs(moves).max(axis=0)).astype(np.intp) + 1
    if joined and 0 < count.sum() <= width * height:
        start = np.repeat(np.arange(len(count)), count)
        share = (np.arange(len(start)) - (np.cumsum(count) - count)[start]) / count[start]
        places = np.append(places[:, start] + moves[:, start] * share, places[:, -1:], axis=1)
    column, row = np.rint(places).astype(np.intp)
    inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
    raster = np.zeros((height, width), dtype=np.bool_)
    raster[height - 1 - row[inside], column[inside]] = True
    if not joined and len(x) < width and plot.down > 1:  # one dot is hard to see
        raster[1:] |= raster[:-1]
        raster[:, 1:] |= raster[:, :-1]
    return raster


def paint_tone(
    plot: Plot, low: FloatArray, high: FloatArray, look: Style = BAND, *, faint: bool = False
) -> None:
    """The dots ``low`` to ``high`` (2 * width,) as a tone; ``faint`` makes it sparser."""
    raster = plot.fill(low, high)
    if faint:
        height, width = raster.shape
        raster = raster & ((np.arange(height)[:, None] + 2 * np.arange(width)) % 4 == 0)
    elif not plot.glyphs.ascii:
        raster = checkerboard(raster)
    plot.canvas.paint(encode(raster, plot.glyphs.marker, char=":"), look)


def paint_band(
    plot: Plot, low: DotColumns, high: DotColumns, look: Style = BAND, *, faint: bool = False
) -> None:
    """The area between two lines as a tone."""
    bottom = plot.extents(low)[0]
    top = plot.extents(high)[1]
    paint_tone(plot, np.fmin(bottom, top), np.fmax(bottom, top), look, faint=faint)


def paint_line(plot: Plot, raster: BoolArray, look: Style, char: str) -> BoolArray:
    """Paint a line over every cell that it touches. Returns these cells (height, width)."""
    codes = encode(raster, plot.glyphs.marker, char=char)
    touched: BoolArray = codes != BLANK
    plot.canvas.paint(codes, look, touched)
    plot.canvas.lines |= touched
    return touched
