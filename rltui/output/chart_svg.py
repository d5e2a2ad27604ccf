"""A chart as SVG: what :func:`rltui.draw.chart.render.render` draws in cells, here as vectors.

Its looks are classes of the page that it stands in, so that it has the colours of the reader.
Coordinates are whole numbers, of which two are a pixel where the chart is 360 pixels wide.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from rltui.core.block import FloatArray
from rltui.core.level import Level
from rltui.draw.chart.axis import Scale, x_ticks
from rltui.draw.chart.chart_model import Chart
from rltui.draw.chart.trace import DotColumns, gap_cells
from rltui.draw.chart.y_range import Shown, prepare, show, whole_run, y_scale
from rltui.draw.line import Token
from rltui.facts import numbers
from rltui.output.svg import escaped

_WIDTH, _HEIGHT = 720, 380
#: Room above the plot, below it, at its right, and at its left for a label of so many characters.
_TOP, _BOTTOM, _RIGHT, _GAP, _CHARACTER = 40, 40, 18, 14, 12
#: By how much what is drawn may stand over the edges of the plot.
_BLEED = 8
#: Into how many columns points are gathered, and places at which NaN is told.
_COLUMNS, _CELLS = 200, 40
#: Rows of the y axis, which give it 4 to 6 labels; cells of the x axis, which give it 3 to 5.
_ROWS, _X_CELLS = 13, 46
#: Height of a line of text.
_LINE = 24
#: Episodes that are shaded, the newest ones; units between the labels of two onsets.
_EPISODES, _APART = 24, 110

_Path = list[tuple[int, int]]


class _Plot(NamedTuple):
    """The plot of a chart: its window in units of x, its scale, and its place in the picture."""

    window: tuple[float, float]
    scale: Scale
    left: int

    @property
    def width(self) -> int:
        return _WIDTH - self.left - _RIGHT

    @property
    def height(self) -> int:
        return _HEIGHT - _TOP - _BOTTOM

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
        return self.ys(np.array([value], dtype=np.float64))[0]

    def xs(self, columns: DotColumns) -> list[int]:
        """Where columns (k,) lie; the neighbours beyond the window just outside of it."""
        at = np.clip(columns.at, -1.0, float(_COLUMNS)) / (_COLUMNS - 1) * self.width
        places: list[int] = np.rint(at).astype(np.int64).tolist()
        return places


def chart_svg(chart: Chart, key: str, title: str, about: str, unit: str = "") -> str:
    """The picture; ``key`` is unique in its page, ``title`` and ``about`` are what a screen reader
    says of it, ``unit`` is that of y. No text needs to be escaped."""
    ready = prepare(chart)
    window = whole_run(chart, ready)
    shown = show(chart, ready, window, _COLUMNS)
    scale, _ = y_scale(chart, shown, window, _ROWS)
    longest = max((len(label) for _, label in scale.ticks), default=0)
    plot = _Plot(window, scale, _GAP + _CHARACTER * max(longest, len(chart.x_unit)))

    inner = [*_shades(chart, plot), *_grid(plot), *_curves(shown, plot), *_limits(chart, plot)]
    inner += [*_events(chart, shown, plot)]
    return "".join(
        (
            f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-labelledby="{key}t {key}d">'
            f'<title id="{key}t">{escaped(title)}</title>'
            f'<desc id="{key}d">{escaped(about)}</desc>',
            *_labels(chart, plot, unit),
            f'<svg x="{plot.left - _BLEED}" y="{_TOP - _BLEED}" width="{plot.width + 2 * _BLEED}" '
            f'height="{plot.height + 2 * _BLEED}" viewBox="{-_BLEED} {-_BLEED} '
            f'{plot.width + 2 * _BLEED} {plot.height + 2 * _BLEED}">',
            *inner,
            "</svg></svg>",
        )
    )


def _labels(chart: Chart, plot: _Plot, unit: str) -> Iterator[str]:
    """What stands around the plot: units, ticks, and the steps at which episodes began."""
    end, last = plot.left - _GAP, plot.scale.rows - 1
    if unit:
        yield f'<text x="{end + _GAP}" y="24">{escaped(unit)}</text>'
    for row, label in plot.scale.ticks:
        y = _TOP + round((1 - row / last) * plot.height) + 8 if last else _TOP
        yield f'<text class="n" x="{end}" y="{y}">{escaped(label)}</text>'
    bottom = _HEIGHT - 10
    yield f'<text class="n" x="{end}" y="{bottom}">{escaped(chart.x_unit)}</text>'
    for at, label in x_ticks(*plot.window, _X_CELLS, chart.x_kind):
        half = len(label) * _CHARACTER // 2
        x = plot.left + min(max(plot.x(at), half), plot.width + _RIGHT - half)
        yield f'<text class="m" x="{x}" y="{bottom}">{escaped(label)}</text>'

    free = plot.left + (len(unit) + 1) * _CHARACTER if unit else 0
    for since, _, level in sorted(_episodes(chart), key=lambda e: e[0]):
        label = f"▼ {numbers.step(since)}"
        x = plot.left + plot.x(since)
        half = len(label) * _CHARACTER // 2
        x = min(max(x, half), _WIDTH - half)
        if x - half >= free:
            yield f'<text class="m o {level.word}" x="{x}" y="30">{label}</text>'
            free = x + max(half, _APART - half)


def _episodes(chart: Chart) -> Sequence[tuple[float, float | None, Level]]:
    """The newest episodes of a finding."""
    return sorted(chart.curve.levels, key=lambda e: e[0])[-_EPISODES:]


def _shades(chart: Chart, plot: _Plot) -> Iterator[str]:
    """The healthy range, and over it the episodes from their onset on."""
    low, high = chart.healthy or (None, None)
    if low is not None or high is not None:
        top = 0 if high is None else min(max(plot.y(high), 0), plot.height)
        bottom = plot.height if low is None else min(max(plot.y(low), 0), plot.height)
        if bottom > top:
            yield f'<rect class="h" y="{top}" width="{plot.width}" height="{bottom - top}"/>'
    for since, until, level in _episodes(chart):
        x = plot.x(since)
        end = plot.width if until is None else plot.x(until)
        yield (
            f'<rect class="e {level.word}" x="{x}" width="{max(end - x, 3)}" '
            f'height="{plot.height}"/><path class="o {level.word}" d="M{x} 0v{plot.height}"/>'
        )


def _grid(plot: _Plot) -> Iterator[str]:
    last = plot.scale.rows - 1
    rows = (round((1 - row / last) * plot.height) for row, _ in plot.scale.ticks if last)
    yield f'<path class="g" d="{"".join(f"M0 {y}h{plot.width}" for y in rows)}"/>'


def _curves(shown: Shown, plot: _Plot) -> Iterator[str]:
    """What a restart superseded, the range of thinned points, and the line."""
    if shown.old is not None:
        yield f'<path class="b" d="{_line(shown.old, plot)}"/>'
    if shown.under is not None:
        yield f'<path class="r" d="{_area(shown.under, plot)}"/>'
    look = "s" if shown.curve.known else "s u"
    yield f'<path class="{look}" d="{_line(shown.line, plot)}"/>'
    finite = np.flatnonzero(np.isfinite(shown.raw.y))
    if len(finite):
        x, y = float(shown.raw.x[finite[-1]]), float(shown.raw.y[finite[-1]])
        yield f'<circle cx="{plot.x(x)}" cy="{plot.y(y)}" r="6"/>'


def _limits(chart: Chart, plot: _Plot) -> Iterator[str]:
    """Each limit that the y range holds. Its text stands over its right end; under it where
    another line is near, and where there is no room either, at the left of the other text."""
    before, right = -_HEIGHT, 0
    for y, limit in sorted((plot.y(limit.value), limit) for limit in chart.limits):
        if not 0 <= y <= plot.height:
            continue
        over, near = y >= _LINE, y - before < _LINE + 8
        if over and near and y + _LINE < plot.height:
            over = False
        x = right if over and near else plot.width - 6
        before, right = y, x - _CHARACTER * len(limit.text)
        look = "l" if limit.token is Token.OK else "l f"
        yield f'<path class="{look}" d="M0 {y}h{plot.width}"/>'
        at = y - 8 if over else y + _LINE - 4
        yield f'<text class="n a" x="{x}" y="{at}">{escaped(limit.text)}</text>'


def _events(chart: Chart, shown: Shown, plot: _Plot) -> Iterator[str]:
    """Restarts as dotted lines, and where values are not finite an N at the bottom."""
    for at in chart.restarts:
        yield f'<path class="c" d="M{plot.x(at)} 0v{plot.height}"/>'
    if not len(shown.raw.x):
        return
    for cell in np.flatnonzero(gap_cells(shown.raw, *plot.window, _CELLS) == 1).tolist():
        x = round((cell + 0.5) / _CELLS * plot.width)
        yield f'<text class="m o bad" x="{x}" y="{plot.height - 8}">N</text>'


def _parts(columns: DotColumns) -> Iterator[slice]:
    """The stretches of columns without a gap."""
    cuts = np.flatnonzero(columns.broken) + 1
    for begin, end in zip([0, *cuts], [*cuts, len(columns.at)], strict=True):
        yield slice(int(begin), int(end))


def _line(columns: DotColumns, plot: _Plot) -> str:
    """Columns joined: each by its first, lowest, highest and last point, so that no spike is
    lost."""
    xs = plot.xs(columns)
    ends = (columns.first, columns.low, columns.high, columns.last)
    first, low, high, last = (plot.ys(y) for y in ends)
    drawn = []
    for part in _parts(columns):
        path: _Path = []
        for i in range(part.start, part.stop):
            between = (low[i], high[i]) if last[i] <= first[i] else (high[i], low[i])
            path += [(xs[i], y) for y in (first[i], *between, last[i])]
        drawn.append(_joined(path))
    return "".join(drawn)


def _area(columns: DotColumns, plot: _Plot) -> str:
    """What lies between the lowest and the highest point of each column."""
    xs, low, high = plot.xs(columns), plot.ys(columns.low), plot.ys(columns.high)
    drawn = []
    for part in _parts(columns):
        over = list(zip(xs[part], high[part], strict=True))
        under = list(zip(xs[part], low[part], strict=True))
        drawn.append(_joined([*over, *reversed(under)]) + "z")
    return "".join(drawn)


def _joined(path: _Path) -> str:
    """A path by its relative coordinates; a single point as a dot."""
    kept = [p for n, p in enumerate(path) if not n or p != path[n - 1]]
    if not kept:
        return ""
    steps = (
        f"{x - before[0]}{'' if y - before[1] < 0 else ' '}{y - before[1]}"
        for before, (x, y) in pairwise(kept)
    )
    return f"M{kept[0][0]} {kept[0][1]}l{_packed(steps) if len(kept) > 1 else '0 0'}"


def _packed(pairs: Iterator[str]) -> str:
    """Pairs of numbers; a minus parts them as a blank does."""
    out = ""
    for pair in pairs:
        out += pair if not out or pair[0] == "-" else f" {pair}"
    return out
