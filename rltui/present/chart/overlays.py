"""The lines of other runs in a chart, the envelope of the reference, and the legend."""

from __future__ import annotations

from rltui.core.text import cell_width
from rltui.present.chart.chart_model import Chart
from rltui.present.chart.plot import Plot, line_raster, paint_band, paint_line
from rltui.present.chart.plot_cells import safe
from rltui.present.chart.y_range import Shown
from rltui.present.kit.glyph import GlyphSet
from rltui.present.kit.line import MUTED, TEXT, Line, Token, fit_line, style

#: Lines that a chart needs to spare one for its legend.
_LEGEND_FROM = 8
_GAP = 3


def draw_grounds(plot: Plot, shown: Shown) -> None:
    """The envelope of the reference, and the bands of the overlays in a sparser tone."""
    if shown.envelope is not None:
        paint_band(plot, *shown.envelope)
    for other in shown.overlays:
        if other.low is not None and other.high is not None:
            paint_band(plot, other.low, other.high, style(other.overlay.token), faint=True)


def draw_overlays(plot: Plot, shown: Shown) -> None:
    """The lines of the overlays, the first of them on top."""
    for other in reversed(shown.overlays):
        paint_line(plot, line_raster(plot, other.line), style(other.overlay.token), char="+")


def has_legend(chart: Chart, height: int) -> bool:
    """Whether a chart of ``height`` lines begins with a legend."""
    named = bool(chart.label) or any(o.label for o in chart.overlays)
    return bool(chart.overlays) and named and not chart.ends and height >= _LEGEND_FROM


def legend_line(chart: Chart, left: int, width: int, glyphs: GlyphSet) -> Line:
    """The names of the lines in their colours from the column ``left`` on; those without room are
    counted."""
    own = style(chart.curve.token if chart.curve.known else Token.MUTED)
    items = [(chart.label, own)] if chart.label else []
    items += [(o.label, style(o.token)) for o in chart.overlays if o.label]
    line: Line = [(" " * left, TEXT)]
    room = width - left
    for n, (label, look) in enumerate(items):
        text = glyphs.text(safe(label))
        rest = len(items) - n
        counted = 0 if rest == 1 else cell_width(f"+{rest - 1}") + _GAP
        if n and cell_width(text) + 2 + counted > room:
            line.append((f"+{rest}", MUTED))
            break
        line += [(f"{glyphs.bar} ", look), (f"{text}{' ' * _GAP}", TEXT)]
        room -= cell_width(text) + 2 + _GAP
    return fit_line(line, width, ellipsis=glyphs.ellipsis)
