"""Histograms over the steps of a run: a ridge of their outlines, or bands of their quantiles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rltui.core.block import FloatArray
from rltui.core.media import Histogram
from rltui.draw.chart.canvas import BLANK, RESOLUTION, Canvas, PlotSpan, encode, fill
from rltui.draw.chart.chart_model import Chart, Curve
from rltui.draw.chart.foot import axis_lines
from rltui.draw.chart.render import render
from rltui.draw.glyph import GlyphSet
from rltui.draw.line import ACCENT, MUTED, STRONG, TEXT, TITLE, Block, Line, Style, Token, style
from rltui.draw.prose import fact_line
from rltui.facts import numbers

#: From this size a ridge is drawn, below it bands.
RIDGE_CELLS = 60
RIDGE_ROWS = 16
#: Shares of the values below the lines that bound the bands, and of those that a ridge leaves out
#: at either end.
_SHARES = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
_CUT = np.array([0.02, 0.98])
#: Share of the steps that may reach beyond the axis.
_FEW = 0.05
#: Outlines are smoothed over these dots, as is usual for ridges.
_KERNEL = np.array([1.0, 2.0, 3.0, 2.0, 1.0]) / 9
#: Rows that the highest peak of a ridge takes: a share of all, within bounds.
_PEAK = 5
_LEAST_PEAK = 3
_MOST_PEAK = 8
#: Rows from one outline to the next, at least.
_APART = 2
#: Oldest to newest.
_AGES = tuple(map(style, (Token.BAND, Token.SPARK, Token.SERIES)))
_QUARTILES = Token.SPARK, Token.SERIES, Token.SPARK
_HERE = TITLE
_LABEL = 8


def ridge_lines(
    steps: Sequence[int],
    found: Sequence[Histogram],
    at: int,
    glyphs: GlyphSet,
    width: int,
    height: int,
) -> Block:
    """One outline for a step, the newest in front, at the foot; ``at``: the one that stands out.
    All share an axis of values, and a scale of how many lie there. ``steps`` ascend."""
    cells = width - _LABEL - 1
    rows = height - 2
    ends = np.array([h.quantiles(_CUT) for h in found])
    # a few steps with wide tails must not press all others together
    low = float(np.quantile(ends[:, 0], _FEW))
    high = float(np.quantile(ends[:, 1], 1 - _FEW))
    if not low < high:
        pad = abs(low) * 0.01 or 1.0
        low -= pad
        high += pad
    peak = max(_LEAST_PEAK, min(_MOST_PEAK, rows // _PEAK))
    spaces = max(1, (rows - peak) // _APART + 1)
    chosen = np.unique(np.linspace(0, len(found) - 1, min(len(found), spaces)).round().astype(int))
    chosen[np.abs(chosen - at).argmin()] = at
    across, down = RESOLUTION[glyphs.marker]
    borders = np.linspace(low, high, across * cells + 1)
    shares = np.array([np.convolve(_shares(found[i], borders), _KERNEL, "same") for i in chosen])
    tops = shares.max(axis=1)
    most = float(np.quantile(tops[tops > 0], 0.9)) if (tops > 0).any() else 1.0

    raster = np.zeros((down * rows, across * cells), np.bool_)
    owner = np.full((rows, cells), -1)
    labels: list[tuple[str, Style]] = [("", MUTED)] * rows
    gap = (rows - peak) / max(1, len(chosen) - 1)
    for n, (i, share) in enumerate(zip(chosen.tolist(), shares, strict=True)):
        row = rows - 1 - int((len(chosen) - 1 - n) * gap)  # where its base lies, from the top
        y = np.minimum(share / most, 1.0) * (down * peak - 1)
        y = np.where(y >= 0.5, np.round(y), np.nan)  # what is next to nothing has no line
        top = max(0, row + 1 - peak)
        part = raster[down * top : down * (row + 1)]
        part &= ~fill(np.where(np.isnan(y), np.nan, 0), y, len(part))
        beside = np.fmin(np.append(y[1:], np.nan), np.append(np.nan, y[:-1])) + 1
        own = fill(np.fmin(y, beside), y, len(part))
        part |= own
        drawn = own.reshape(-1, down, cells, across).any(axis=(1, 3))
        owner[top : row + 1][drawn] = n
        labels[row] = numbers.step(steps[i]), ACCENT if i == at else MUTED

    canvas = Canvas(cells, rows)
    codes = encode(raster, glyphs.marker)
    for n, i in enumerate(chosen.tolist()):
        look = _HERE if i == at else _AGES[min(2, 3 * n // max(1, len(chosen)))]
        canvas.paint(codes, look, (owner == n) & (codes != BLANK))
    lines = [
        [(text.rjust(_LABEL - 1) + "  ", look), *line]
        for (text, look), line in zip(labels, canvas.rows(), strict=True)
    ]

    span = PlotSpan(_LABEL + 1, cells, width, low, high)
    axis = Chart(Curve(borders, borders), x_kind="number", x_unit="")
    return [*lines, *axis_lines(axis, span, glyphs, None, None)]


def _shares(found: Histogram, borders: FloatArray) -> FloatArray:
    """The share of all values between any two neighbours of ``borders`` (n + 1,); (n,)."""
    edges = found.edges
    if edges[0] == edges[-1]:  # all are the same: nothing to divide
        at = min(max(int(np.searchsorted(borders, edges[0])) - 1, 0), len(borders) - 2)
        alone: FloatArray = np.eye(1, len(borders) - 1, at)[0]
        return alone
    whole = np.concatenate(([0.0], np.cumsum(found.counts)))
    below = np.interp(borders, edges, whole / whole[-1])
    return np.diff(below)


def band_lines(
    steps: Sequence[int],
    found: Sequence[Histogram],
    at: int,
    glyphs: GlyphSet,
    width: int,
    height: int,
) -> Block:
    """The median over the steps between lines that bound the middle half, on the area of the
    middle 90 %."""
    x = np.array(steps)
    low, *bounds, high = np.array([h.quantiles(_SHARES) for h in found]).T
    first, median, third = (Curve(x, y, t) for y, t in zip(bounds, _QUARTILES, strict=True))
    area = (x, low), (x, high)
    chart = Chart(median, overlays=(first, third), envelope=area, crosshair=steps[at], told=True)
    return render(chart, width, height, glyphs)


def quantile_line(found: Histogram, width: int) -> Line:
    """Quantiles and count of one histogram, as many as fit."""
    low, first, middle, third, high = map(numbers.value, found.quantiles(_SHARES).tolist())
    least, most = map(numbers.value, found.edges[[0, -1]].tolist())
    facts = [("median", middle), ("25 to 75 %", f"{first} to {third}")]
    facts += [("5 to 95 %", f"{low} to {high}"), ("min, max", f"{least} to {most}")]
    return fact_line([*facts, ("n", numbers.value(float(found.counts.sum())))], width)


def curve_lines(precision: FloatArray, recall: FloatArray, glyphs: GlyphSet, width: int) -> Block:
    """Precision at eleven levels of recall, (n,) both, as a table with bars."""
    cells = max(4, min(60, width - 30))
    known = np.isfinite(precision) & np.isfinite(recall)
    lines: Block = [[("recall  precision", MUTED)]]
    for level in np.linspace(0, 1, 11):
        reached = precision[known & (recall >= level - 1e-9)]
        best = min(max(float(reached.max()), 0.0), 1.0) if len(reached) else np.nan
        bar = "" if np.isnan(best) else glyphs.heavy * round(best * cells)
        text = "–" if np.isnan(best) else f"{best:.3f}"
        figure: Line = [(f"{level:6.1f}  ", TEXT), (f"{text:>9}  ", STRONG)]
        lines.append([*figure, (bar, style(Token.SERIES))])

    return lines
