"""A plot: a canvas with what its rows and columns mean, and the lines and bands drawn into it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rltui.core.block import BoolArray, FloatArray
from rltui.draw.chart.axis import Scale
from rltui.draw.chart.plot_cells import Canvas
from rltui.draw.chart.raster import BLANK, RESOLUTION, checkerboard, encode, fill, sparse
from rltui.draw.chart.trace import Columns, area, cell_of, extents
from rltui.draw.glyph import GlyphSet
from rltui.draw.line import Style, Token, style

BAND = style(Token.BAND)
#: Dots above each other from which a toned line is a tone.
_STEEP = 2


@dataclass(frozen=True, slots=True)
class Plot:
    """A canvas with what its rows and columns mean."""

    canvas: Canvas
    scale: Scale
    glyphs: GlyphSet
    x0: float
    x1: float

    @property
    def down(self) -> int:
        """Dots of a cell above each other."""
        return RESOLUTION[self.glyphs.marker][1]

    @property
    def dot_columns(self) -> int:
        """Columns that points are gathered in: two per cell, whatever the marker."""
        return 2 * self.canvas.width

    def row(self, value: float) -> int | None:
        """Row from the top of a value, None outside of the range."""
        row = self.scale.row(value, self.down)
        return None if row is None else self.canvas.height - 1 - row

    def cell(self, x: float) -> int:
        """Column of an x."""
        return int(cell_of(np.array([x], dtype=np.float64), self.x0, self.x1, self.canvas.width)[0])

    def holds(self, x: float) -> bool:
        """True when x is in the window."""
        return self.x0 <= x <= self.x1


def _fold(plot: Plot, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Two dot columns per cell made one where the marker has only one."""
    if RESOLUTION[plot.glyphs.marker][0] == 2:
        return low, high
    low, high = low.reshape(-1, 2), high.reshape(-1, 2)
    return np.fmin(low[:, 0], low[:, 1]), np.fmax(high[:, 0], high[:, 1])


def line_raster(plot: Plot, columns: Columns, *, toned: bool = False) -> BoolArray:
    """The dots of a joined line; ``toned`` makes a tone of what would be a block."""
    height = plot.down * plot.canvas.height
    low, high = _fold(plot, *extents(columns, plot.scale, plot.dot_columns, height))
    raster = fill(low, high, height)
    if toned and not plot.glyphs.ascii:
        beside = np.zeros_like(raster)
        beside[:, 1:] |= raster[:, :-1]
        beside[:, :-1] |= raster[:, 1:]
        block = beside & (high - low >= _STEEP)  # a spike that juts out stays solid
        raster &= checkerboard(raster) | ~block
    return raster


def paint_band(
    plot: Plot, low: Columns, high: Columns, look: Style = BAND, *, faint: bool = False
) -> None:
    """The area between two lines as a tone; ``faint`` makes it sparser."""
    height = plot.down * plot.canvas.height
    bounds = area(low, high, plot.scale, plot.dot_columns, height)
    raster = fill(*_fold(plot, *bounds), height)
    if faint:
        raster = sparse(raster)
    elif not plot.glyphs.ascii:
        raster = checkerboard(raster)
    plot.canvas.paint(encode(raster, plot.glyphs.marker, char=":"), look)


def paint_outline(plot: Plot, columns: Columns) -> None:
    """The part of a line within the y range as a tone that owns no cell."""
    height = plot.down * plot.canvas.height
    bounds = extents(columns, plot.scale, plot.dot_columns, height, cut=True)
    raster = fill(*_fold(plot, *bounds), height)
    if not plot.glyphs.ascii:
        raster = checkerboard(raster)
    plot.canvas.paint(encode(raster, plot.glyphs.marker, char=":"), BAND)


def paint_line(plot: Plot, raster: BoolArray, look: Style, char: str = "*") -> BoolArray:
    """A line that owns every cell it touches; returns these (height, width)."""
    codes = encode(raster, plot.glyphs.marker, char=char)
    touched: BoolArray = codes != BLANK
    plot.canvas.paint(codes, look, touched)
    plot.canvas.lines |= touched
    return touched
