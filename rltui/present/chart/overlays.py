"""The lines of other runs in a chart, the envelope of the reference, and the legend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rltui.core.block import BoolArray
from rltui.core.text import cell_width
from rltui.present.chart.chart_model import Chart
from rltui.present.chart.plot import Plot, line_raster, paint_band, paint_line
from rltui.present.chart.plot_cells import safe
from rltui.present.chart.y_range import Shown
from rltui.present.kit.glyph import GlyphSet
from rltui.present.kit.line import (
    MUTED,
    RUN_BANDS,
    TEXT,
    Line,
    Style,
    Token,
    fit_line,
    line_width,
    style,
)

#: Lines that a chart needs to spare one for its legend, and two.
_LEGEND_FROM, _TWO_FROM = 8, 16
_GAP = 3
_BAND_SAMPLE = "⢕ "
#: Cells from one sign of a line to the next.
_SIGN_EACH = 36


@dataclass(frozen=True, slots=True, eq=False)
class DrawnLine:
    """A line in a plot."""

    cells: BoolArray
    """(height, width) those that it touches."""
    look: Style
    sign: str
    """One cell that names it; empty for none."""


def draw_grounds(plot: Plot, shown: Shown) -> None:
    """The envelope of the reference, and the bands of the overlays in a sparser tone."""
    if shown.envelope is not None:
        paint_band(plot, *shown.envelope)
    for other in shown.overlays:
        if other.low is not None and other.high is not None:
            look = style(RUN_BANDS.get(other.overlay.token, Token.BAND))
            paint_band(plot, other.low, other.high, look, faint=True)


def draw_overlays(plot: Plot, shown: Shown) -> list[DrawnLine]:
    """The lines of the overlays, the first of them on top."""
    drawn = []
    for other in reversed(shown.overlays):
        look, sign = style(other.overlay.token), other.overlay.sign
        cells = paint_line(plot, line_raster(plot, other.line), look, char=sign or "+")
        drawn.append(DrawnLine(cells, look, sign))
    return drawn


def draw_signs(plot: Plot, lines: Sequence[DrawnLine]) -> None:
    """The signs of lines on these, each at places of its own, to distinguish the lines without
    colours."""
    width = plot.canvas.width
    count = max(1, width // _SIGN_EACH)
    for n, line in enumerate(reversed(lines)):  # the one on top first
        if not line.sign:
            continue
        filled = np.flatnonzero(line.cells.any(axis=0))
        if not len(filled):
            continue
        wanted = (np.arange(count) + (n + 0.5) / len(lines)) * width / count
        at = np.minimum(np.searchsorted(filled, wanted), len(filled) - 1)
        for column in set(filled[at].tolist()):
            rows = np.flatnonzero(line.cells[:, column])
            look = style(line.look.fg, bold=True)
            plot.canvas.put(int(rows[len(rows) // 2]), column, line.sign, look)


def legend_height(chart: Chart, width: int, height: int, glyphs: GlyphSet) -> int:
    """Lines of the legend in a chart of ``width`` x ``height`` cells: two where there is room."""
    named = bool(chart.label) or any(o.label for o in chart.overlays)
    if not (chart.overlays and named) or chart.ends or height < _LEGEND_FROM:
        return 0
    needed = sum(line_width(i) + _GAP for i in _items(chart, glyphs))
    return 2 if height >= _TWO_FROM and needed > width - _GAP else 1


def legend_lines(chart: Chart, left: int, width: int, count: int, glyphs: GlyphSet) -> list[Line]:
    """The names of the lines in their colours from the column ``left`` on, in ``count`` lines;
    those without room are counted."""
    items = _items(chart, glyphs)
    lines: list[Line] = []
    for number in range(count):
        line: Line = [(" " * left, TEXT)]
        room = width - left
        while items:
            used, last = line_width(items[0]), number == count - 1
            counted = cell_width(f"+{len(items) - 1}") + _GAP if last and len(items) > 1 else 0
            if len(line) > 1 and used + counted > room:
                break
            line += [*items.pop(0), (" " * _GAP, TEXT)]
            room -= used + _GAP
        if items and number == count - 1:
            line.append((f"+{len(items)}", MUTED))
        lines.append(fit_line(line, width, ellipsis=glyphs.ellipsis))
    return lines


def _items(chart: Chart, glyphs: GlyphSet) -> list[Line]:
    """The entries of the legend: a sample of the line, and its name."""
    own = chart.curve
    found = []
    if chart.label:
        look = style(own.token if own.known else Token.MUTED)
        found.append((chart.label, look, "" if own.sign else "*"))
    found += [(o.label, style(o.token), "" if o.sign else "+") for o in chart.overlays if o.label]
    items = []
    for label, look, char in found:
        sample = f"{char} " if char else ""  # a label begins with its sign
        if look.fg is Token.BAND:
            sample = ": " if glyphs.ascii else _BAND_SAMPLE
        elif not glyphs.ascii:
            sample = f"{glyphs.bar} "
        items.append([(sample, look), (glyphs.text(safe(label)), TEXT)])
    return items
