"""Where trouble began, as a badge in a plot too small for a bar below it."""

from __future__ import annotations

from rltui.core.level import Level
from rltui.draw.chart.chart_model import Chart
from rltui.draw.chart.plot import Plot
from rltui.draw.line import LEVEL_TOKEN, style


def draw_onsets(plot: Plot, chart: Chart) -> None:
    """The badge of each level of the curve where it began: on the top row, or on the bottom one
    where the line takes that."""
    canvas = plot.canvas
    for since, _, level in sorted(chart.curve.levels, key=lambda e: e[2]):
        if level < Level.WATCH or not plot.holds(since):
            continue
        column = plot.cell(since)
        rows = (0, canvas.height - 1)
        row = next((r for r in rows if canvas.free(r, column, column + 1)), None)
        if row is not None:
            canvas.put(row, column, plot.glyphs.badge(level), style(LEVEL_TOKEN[level], bold=True))
