"""A trend drawn on to the limit that it is going to cross: a dashed line and the band around it."""

from __future__ import annotations

import numpy as np

from rltui.core.block import BoolArray, FloatArray
from rltui.draw.chart.chart_model import Continuation
from rltui.draw.chart.plot import Plot
from rltui.draw.chart.raster import BLANK, RESOLUTION, checkerboard, encode, fill
from rltui.draw.line import MUTED, Style, Token, style

_BAND = style(Token.BAND)
#: Cells of a dash and of the gap behind it.
_DASH = 2


def draw_continuation(plot: Plot, ahead: Continuation) -> None:
    """The part of it that is in the window; draws nothing without a cell beyond the newest point.

    Dots of the band that lie beyond the limit are left out: what happens there is not known.
    """
    across, down = RESOLUTION[plot.glyphs.marker]
    columns, height = across * plot.canvas.width, down * plot.canvas.height
    if plot.x1 <= plot.x0 or columns < 2:
        return
    x = plot.x0 + (plot.x1 - plot.x0) * np.arange(columns) / (columns - 1)
    beyond = x > ahead.x
    soonest, last = (_line(ahead, x, end) for end in (ahead.earliest, ahead.latest))
    low, high = np.fmin(soonest, last), np.fmax(soonest, last)
    outside = ~beyond | (x > ahead.latest)
    low, high = (_dots(plot, np.where(outside, np.nan, y), height) for y in (low, high))
    band = fill(low, high, height)
    _paint(plot, band if plot.glyphs.ascii else checkerboard(band), _BAND, ":")
    middle = _line(ahead, x, (ahead.earliest + ahead.latest) / 2)
    cells = np.arange(columns) // across
    gap = outside | (cells // _DASH % 2 == 1) | (x > (ahead.earliest + ahead.latest) / 2)
    dash = _dots(plot, np.where(gap, np.nan, middle), height)
    _paint(plot, fill(dash, dash, height), MUTED, "-")


def _paint(plot: Plot, raster: BoolArray, look: Style, char: str) -> None:
    """Dots that texts keep off."""
    codes = encode(raster, plot.glyphs.marker, char=char)
    plot.canvas.paint(codes, look)
    plot.canvas.lines |= codes != BLANK


def _line(ahead: Continuation, x: FloatArray, end: float) -> FloatArray:
    """The value (n,) at ``x`` of the straight line that reaches the limit at ``end``."""
    share = np.clip((x - ahead.x) / max(end - ahead.x, 1e-300), 0.0, 1.0)
    return ahead.y + (ahead.limit - ahead.y) * share


def _dots(plot: Plot, values: FloatArray, height: int) -> FloatArray:
    """Values as dots above the bottom; NaN outside of the plot."""
    share = plot.scale.share(values)
    inside = (share >= -1e-9) & (share <= 1 + 1e-9)
    return np.where(inside, np.round(np.clip(share, 0, 1) * (height - 1)), np.nan)
