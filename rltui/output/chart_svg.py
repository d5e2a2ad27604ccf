"""A chart as SVG: what :func:`rltui.draw.chart.render.render` draws in cells, here as vectors.

Its looks are classes of the page that it stands in, so that it has the colours of the reader.
Coordinates are whole numbers, of which two are a pixel where the chart is 360 pixels wide.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, starmap
from typing import NamedTuple

import numpy as np

from rltui.core.block import FloatArray
from rltui.draw.chart.axis import Scale, x_ticks
from rltui.draw.chart.chart_model import Chart
from rltui.draw.chart.trace import DotColumns, gap_cells
from rltui.draw.chart.y_range import Shown, prepare, show, whole_run, y_scale
from rltui.draw.line import Token
from rltui.draw.spark import Episode
from rltui.facts import numbers
from rltui.output.svg import escaped

#: Of the picture, then around the plot: above, below and at the right.
_WIDTH = 720
_HEIGHT = 380
_TOP = 40
_BOTTOM = 40
_RIGHT = 18
#: What is drawn may stand over the edges of the plot so far; a line and a character of text.
_BLEED = 8
_LINE = 24
_CHARACTER = 12
#: Into how many columns points are gathered, and places at which NaN is told.
_COLUMNS = 200
_CELLS = 40
#: Rows of the y axis, which give it 4 to 6 labels; cells of the x axis, which give it 3 to 5.
_ROWS = 13
_X_CELLS = 46
#: Episodes that are shaded, the newest ones.
_EPISODES = 24


class _Plot(NamedTuple):
    """The plot of a chart: its window in units of x, its scale, and its place in the picture."""

    window: tuple[float, float]
    scale: Scale
    left: int
    width: int
    height: int

    def x(self, at: float) -> int:
        """Where a place of the x axis lies in the plot, and beyond either end its edge."""
        first, last = self.window
        share = (at / 2 - first / 2) / (last / 2 - first / 2) if last > first else 1.0
        return round(min(max(share, 0.0), 1.0) * self.width)

    def ys(self, values: FloatArray) -> list[int]:
        """Where values (n,) lie in the plot, 0 at its top; at most its height beyond."""
        share = np.clip(self.scale.share(values), -1.0, 2.0)
        places: list[int] = np.rint((1.0 - share) * self.height).astype(np.int64).tolist()
        return places

    def y(self, value: float) -> int:
        return self.ys(np.array([value]))[0]

    def ticks(self) -> Iterator[tuple[int, str]]:
        last = max(1, self.scale.rows - 1)
        for row, label in self.scale.ticks:
            yield round((1 - row / last) * self.height), label


def chart_svg(chart: Chart, key: str, title: str, about: str, unit: str) -> str:
    """The picture; ``key`` is unique in its page, ``title`` and ``about`` are what a screen reader
    says of it, ``unit`` is that of y. No text needs to be escaped."""
    ready = prepare(chart)
    window = whole_run(chart, ready)
    shown = show(chart, ready, window, _COLUMNS)
    scale, _ = y_scale(chart, shown, window, _ROWS)
    longest = max(len(text) for text in (chart.x_unit, *(label for _, label in scale.ticks)))
    left = _CHARACTER * (longest + 1)
    plot = _Plot(window, scale, left, _WIDTH - left - _RIGHT, _HEIGHT - _TOP - _BOTTOM)

    width = plot.width + 2 * _BLEED
    height = plot.height + 2 * _BLEED
    return "".join(
        (
            f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-labelledby="{key}t {key}d">',
            f'<title id="{key}t">{escaped(title)}</title><desc id="{key}d">{escaped(about)}</desc>',
            *_labels(chart, plot, unit),
            f'<svg x="{left - _BLEED}" y="{_TOP - _BLEED}" width="{width}" height="{height}" ',
            f'viewBox="{-_BLEED} {-_BLEED} {width} {height}">',
            *_ground(chart, plot),
            *_curves(chart, shown, plot),
            *_limits(chart, plot),
            "</svg></svg>",
        )
    )


def _written(look: str, x: int, y: int, text: str) -> str:
    return f'<text class="{look}" x="{x}" y="{y}">{escaped(text)}</text>'


def _labels(chart: Chart, plot: _Plot, unit: str) -> Iterator[str]:
    """Draw the labels around the plot: units, ticks, and the steps at which episodes began."""
    end = plot.left - _CHARACTER
    bottom = _HEIGHT - 10
    yield _written("", plot.left, _LINE, unit) if unit else ""
    yield from (_written("n", end, _TOP + y + 8, label) for y, label in plot.ticks())
    yield _written("n", end, bottom, chart.x_unit)
    for at, label in x_ticks(*plot.window, _X_CELLS, chart.x_kind):
        half = len(label) * _CHARACTER // 2
        x = min(max(plot.x(at), half), plot.width + _RIGHT - half)
        yield _written("m", plot.left + x, bottom, label)

    free = plot.left + (len(unit) + 1) * _CHARACTER if unit else 0
    for since, _, level in _episodes(chart):
        label = f"▼ {numbers.step(since)}"
        half = len(label) * _CHARACTER // 2
        x = min(plot.left + plot.x(since), _WIDTH - half)
        if x - half >= free:
            yield _written(f"m {level.word}", x, _LINE + 6, label)
            free = x + half + _CHARACTER


def _episodes(chart: Chart) -> list[Episode]:
    """The newest episodes of findings, in order of their onset."""
    return sorted(chart.curve.levels, key=lambda episode: episode[0])[-_EPISODES:]


def _ground(chart: Chart, plot: _Plot) -> Iterator[str]:
    """The healthy range, over it the episodes from their onset on, and lines at the ticks."""
    low, high = chart.healthy or (None, None)
    top = 0 if high is None else min(max(plot.y(high), 0), plot.height)
    bottom = plot.height if low is None else min(max(plot.y(low), 0), plot.height)
    if bottom > top and chart.healthy is not None:
        yield f'<rect class="h" y="{top}" width="{plot.width}" height="{bottom - top}"/>'
    for since, until, level in _episodes(chart):
        x = plot.x(since)
        end = plot.width if until is None else plot.x(until)
        box = f'x="{x}" width="{max(end - x, 3)}" height="{plot.height}"'
        yield f'<rect class="e {level.word}" {box}/>'
        yield f'<path class="{level.word}" d="M{x} 0v{plot.height}"/>'
    yield f'<path class="g" d="{"".join(f"M0 {y}h{plot.width}" for y, _ in plot.ticks())}"/>'


def _curves(chart: Chart, shown: Shown, plot: _Plot) -> Iterator[str]:
    """Draw the points that a restart superseded, the range of thinned points, the line, and its
    newest point; over them restarts, and an N where values are not finite."""
    if shown.old is not None:
        yield f'<path class="b" d="{_line(shown.old, plot)}"/>'
    if shown.under is not None:
        yield f'<path class="r" d="{_area(shown.under, plot)}"/>'
    look = "s" if shown.curve.known else "s u"
    yield f'<path class="{look}" d="{_line(shown.line, plot)}"/>'
    finite = np.flatnonzero(np.isfinite(shown.raw.y))
    if len(finite):
        x = float(shown.raw.x[finite[-1]])
        y = float(shown.raw.y[finite[-1]])
        yield f'<circle cx="{plot.x(x)}" cy="{plot.y(y)}" r="6"/>'
    for at in chart.restarts:
        yield f'<path class="c" d="M{plot.x(at)} 0v{plot.height}"/>'
    if len(shown.raw.x):
        for cell in np.flatnonzero(gap_cells(shown.raw, *plot.window, _CELLS) == 1).tolist():
            x = round((cell + 0.5) / _CELLS * plot.width)
            yield _written("m bad", x, plot.height - 8, "N")


def _limits(chart: Chart, plot: _Plot) -> Iterator[str]:
    """Each limit that the y range holds. Its text stands over its right end; under it where
    another line is near, and where there is no room either, at the left of the other text."""
    before = -_HEIGHT
    right = 0
    for y, limit in sorted((plot.y(limit.value), limit) for limit in chart.limits):
        if not 0 <= y <= plot.height:
            continue
        near = y - before < _LINE + 8
        over = y >= _LINE and not (near and y + _LINE < plot.height)
        x = right if over and near else plot.width - 6
        before = y
        right = x - _CHARACTER * len(limit.text)
        look = "l" if limit.token is Token.OK else "l f"
        yield f'<path class="{look}" d="M0 {y}h{plot.width}"/>'
        yield _written("n a", x, y - 8 if over else y + _LINE - 4, limit.text)


def _places(columns: DotColumns, plot: _Plot) -> tuple[list[int], list[slice]]:
    """Where columns (k,) lie, neighbours of the window just outside of it; and the stretches of
    columns without a gap."""
    at = np.clip(columns.at, -1.0, float(_COLUMNS)) / (_COLUMNS - 1) * plot.width
    cuts = [0, *(np.flatnonzero(columns.broken) + 1).tolist(), len(columns.at)]
    return np.rint(at).astype(np.int64).tolist(), list(starmap(slice, pairwise(cuts)))


def _line(columns: DotColumns, plot: _Plot) -> str:
    """Columns joined: each by its first, lowest, highest and last point, so that no spike is
    lost."""
    xs, parts = _places(columns, plot)
    ends = (columns.first, columns.low, columns.high, columns.last)
    ys = [
        (first, *((low, high) if last <= first else (high, low)), last)
        for first, low, high, last in zip(*map(plot.ys, ends), strict=True)
    ]
    return "".join(
        _joined([(x, y) for x, four in zip(xs[part], ys[part], strict=True) for y in four])
        for part in parts
    )


def _area(columns: DotColumns, plot: _Plot) -> str:
    """Area between the lowest and the highest point of each column."""
    xs, parts = _places(columns, plot)
    high, low = (list(zip(xs, plot.ys(y), strict=True)) for y in (columns.high, columns.low))
    return "".join(f"{_joined([*high[part], *reversed(low[part])])}z" for part in parts)


def _joined(path: list[tuple[int, int]]) -> str:
    """A path by its relative coordinates, in which a minus parts numbers as a blank does; a single
    point as a dot."""
    steps = [(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(path) if a != b] or [(0, 0)]
    drawn = "".join(f"{' ' * (n >= 0)}{n}" for step in steps for n in step)
    return f"M{path[0][0]} {path[0][1]}l{drawn.strip()}" if path else ""
