"""The lines of other runs in a chart, the envelope of the reference, and the legend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rltui.core.block import BoolArray
from rltui.core.text import cell_width
from rltui.draw.chart.canvas import Plot, line_raster, paint_band, paint_line, safe
from rltui.draw.chart.chart_model import Chart
from rltui.draw.chart.y_range import Shown
from rltui.draw.glyph import GlyphSet
from rltui.draw.line import (
    MUTED,
    RUN_BANDS,
    TEXT,
    Line,
    Style,
    Token,
    fit_line,
    style,
)
from rltui.draw.names import distinct

#: Lines that a chart needs to spare one for its legend, and two.
_LEGEND_FROM, _TWO_FROM = 8, 16
_GAP = 3
#: Cells before a name in the legend, at most, and of a name, at least.
_SAMPLE, _LEAST_NAME = 4, 7
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
    items = _items(chart, glyphs)
    if not (chart.overlays and items) or chart.ends or height < _LEGEND_FROM:
        return 0
    needed = sum(i.cells + _GAP for i in items)
    return 2 if height >= _TWO_FROM and needed > width - _GAP else 1


def legend_lines(chart: Chart, left: int, width: int, count: int, glyphs: GlyphSet) -> list[Line]:
    """The names of the lines in their colours from the column ``left`` on, in ``count`` lines.

    Where they do not fit, the notes are left out if the names differ, then the names are cut, and
    those without room are counted.
    """
    items = _items(chart, glyphs)
    rows, rest = _rows(items, width - left, count)
    names = [i.name for i in items]
    if rest and len(set(names)) == len(names):
        items = [replace(i, note="") for i in items]
        rows, rest = _rows(items, width - left, count)
    if rest and count:
        rows, rest = _rows(_cut(items, width - left, count, glyphs), width - left, count)
    lines: list[Line] = []
    for row in rows:
        line: Line = [(" " * left, TEXT)]
        for item in row:
            line += [(item.sample, item.look), (item.label, TEXT), (" " * _GAP, TEXT)]
        lines.append(line)
    if rest and lines:
        lines[-1].append((f"+{rest}", MUTED))

    return [fit_line(x, width, ellipsis=glyphs.ellipsis) for x in lines]


@dataclass(frozen=True, slots=True, eq=False)
class _Item:
    """An entry of the legend."""

    sample: str
    """Of the line, with its sign."""
    look: Style
    name: str
    note: str
    is_band: bool

    @property
    def label(self) -> str:
        return f"{self.name} {self.note}" if self.note else self.name

    @property
    def cells(self) -> int:
        return cell_width(self.sample) + cell_width(self.label)


def _items(chart: Chart, glyphs: GlyphSet) -> list[_Item]:
    own = chart.curve
    found = []
    if chart.label:
        token = own.token if own.known else Token.MUTED
        found.append((chart.label, chart.note, token, own.sign, "*", False))
    overlays = (o for o in chart.overlays if o.label)
    found += [(o.label, o.note, o.token, o.sign, "+", o.is_band) for o in overlays]
    items = []
    for label, note, token, sign, char, is_band in found:
        if is_band:
            sample = ": " if glyphs.ascii else _BAND_SAMPLE
        elif glyphs.ascii:
            sample = f"{sign or char} "
        else:
            sample = f"{glyphs.bar} {sign} " if sign else f"{glyphs.bar} "
        name, text = glyphs.text(safe(label)), glyphs.text(safe(note))
        items.append(_Item(sample, style(token), name, text, is_band))

    return items


def _rows(items: Sequence[_Item], room: int, count: int) -> tuple[list[list[_Item]], int]:
    """The items in ``count`` lines of ``room`` cells, and how many have no place."""
    rows: list[list[_Item]] = [[] for _ in range(count)]
    row, used = 0, 0
    for n, item in enumerate(items):
        more = len(items) - n - 1
        while row < count:
            counted = cell_width(f"+{more}") + _GAP if more and row == count - 1 else 0
            if not rows[row] or used + item.cells + counted <= room:
                break
            row, used = row + 1, 0
        if row == count:
            return rows, more + 1
        rows[row].append(item)
        used += item.cells + _GAP

    return rows, 0


def _cut(items: Sequence[_Item], room: int, count: int, glyphs: GlyphSet) -> list[_Item]:
    """The items with names that are short enough for all to have a place, if that can be."""
    in_line = -(-len(items) // count)
    named = [i for i in items if not i.is_band]
    band = sum(i.cells + _GAP for i in items if i.is_band)
    each = min(room // in_line, (room - band) // max(1, min(in_line - (band > 0), len(named))))
    cells = max(_LEAST_NAME, each - _GAP - _SAMPLE)
    names = iter(distinct(tuple(i.label for i in named), cells, glyphs.ellipsis))
    return [i if i.is_band else replace(i, name=next(names), note="") for i in items]
