"""The whole run below an enlarged chart, and where in it the visible part lies."""

from __future__ import annotations

import math

from rltui.draw.bins import Digest
from rltui.draw.chart.chart_model import Chart
from rltui.draw.chart.span import Span
from rltui.draw.chart.trace import Points
from rltui.draw.glyph import GlyphSet
from rltui.draw.line import ACCENT, MUTED, RULE, TEXT, Line
from rltui.draw.spark import spark_of

#: Lines of the strip.
ROWS = 2
#: Lines that a chart needs for it: when enlarged, and when the whole run is in view.
_FROM, _WHOLE_FROM = 12, 24


def has_strip(chart: Chart, height: int) -> bool:
    """Whether a chart of ``height`` lines ends with a strip."""
    return chart.overview and height >= (_WHOLE_FROM if chart.window is None else _FROM)


def strip_lines(
    chart: Chart, raw: Points, whole: tuple[float, float], span: Span, glyphs: GlyphSet
) -> list[Line]:
    """A sparkline from ``whole[0]`` to ``whole[1]`` on the columns of the plot, and the window as
    a bar on the same columns."""
    first, end = whole
    last = float(raw.x[-1]) if len(raw.x) else end
    least = math.ulp(max(abs(first), abs(end), 1.0))
    unit = max((end - first) / max(1, span.cells - 1), least)  # as the columns of the plot
    digest = Digest(first, unit, span.cells)
    digest.extend(raw.x, raw.y, last)
    spark = spark_of(digest, last, chart.curve.levels, chart.curve.known, glyphs)
    on_whole = Span(0, span.cells, span.cells, first, end)
    begin, stop = on_whole.column(span.x0), on_whole.column(span.x1) + 1
    view: Line = [(glyphs.rule * begin, RULE), (glyphs.bar * (stop - begin), ACCENT)]
    view.append((glyphs.rule * (span.cells - stop), RULE))
    margin: Line = [(" " * span.left, TEXT)]
    return [
        [*margin, *spark, (" run", MUTED)],
        [*margin, *(part for part in view if part[0]), (" view", MUTED)],
    ]
