"""Charts for standard output with plotext: the only importer of plotext.

plotext keeps one global figure and fails on infinite values; everything it gets is finite,
decimated to twice the width, and the figure is cleared before and after.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rltui.catalogue.model import TagInfo
from rltui.core.block import FloatArray, IntArray
from rltui.core.errors import UsageError
from rltui.core.fault import NOT_SHOWN
from rltui.core.text import cell_width
from rltui.draw.chart.axis import decades, round_ticks, x_ticks
from rltui.draw.chart.render import smooth
from rltui.draw.line import RUN_TOKENS
from rltui.draw.prose import distinct
from rltui.facts.comparison import Comparison
from rltui.facts.groups import Grouping, Sweep, run_labels, slot_sign
from rltui.facts.x_axis import KINDS, Points, bundle, points_of
from rltui.session import RunView

#: Axis -> what it is called, and what stands there without it.
_AXIS_WORDS = {"wall": "time", "tokens": "tokens"}
_MISSING = {
    "step": "no point",
    "relative": "no times in the log",
    "wall": "no times in the log",
    "tokens": "no token counts in the log",
}

#: Signs on a line.
_SIGNS = 3
#: Lines of a chart below a long legend.
_LEAST_HEIGHT = 5
#: The sign of a band in the legend.
_DOTS = "•"

_Ticks = Sequence[tuple[float, str]]
#: Colours of runs as 256-colour numbers, readable on dark and light backgrounds.
_COLOURS = (75, 79, 140, 175, 143, 250)


def find_tags(runs: Sequence[RunView], name: str) -> list[str]:
    """Tags that ``name`` refers to: a
    tag, a metric key, the title on screen, or a glob over them."""
    found: dict[str, None] = {}
    for run in runs:
        for tag, info in run.infos.items():
            key = info.metric.key if info.metric else ""
            exact = name in (tag, key) or name.lower() == info.title.lower()
            if exact or fnmatch.fnmatchcase(tag, name) or fnmatch.fnmatchcase(key, name):
                found[tag] = None
    return list(found)


@dataclass(frozen=True, slots=True)
class PlotOptions:
    """How charts are drawn."""

    width: int
    """Cells of a line."""
    height: int
    """Lines of a chart."""
    weight: float = 0.0
    """Of the moving average, 0 (none) to below 1."""
    log: bool = False
    axis: str = "step"
    """What the x axis counts: step, relative, wall or tokens."""
    colour: bool = False
    groups: Grouping | None = None


def plot_text(runs: Sequence[RunView], tag: str, options: PlotOptions) -> str:
    """One chart of ``tag`` with a line per run that has it. With groups a line per group, the mean
    over its runs, between two of the standard deviation."""
    plotext = _plotext()
    width, height, groups = options.width, options.height, options.groups
    having = []
    for run in runs:
        with run.walled(NOT_SHOWN):
            if tag in run.infos and _points(run, tag, options.axis) is not None:
                having.append(run)
    if not having:
        return f"{tag}: {_MISSING[options.axis]}\n"
    shape = _Shape(2 * width, options.weight, options.log, options.axis, having[0].infos[tag])
    drawn = _of_runs(having, tag, shape) if groups is None else _of_groups(groups, tag, shape)
    curves = [d.curve for d in drawn]
    if not any(len(c.x) for c in curves):
        why = "no positive value for a log axis" if options.log else "no finite value"
        return f"{tag}: {why}\n"
    many = len(having) > 1 or groups is not None
    legend = _legend(drawn, width) if many else ""
    height = max(_LEAST_HEIGHT, height - legend.count("\n"))
    plotext.clear_figure()
    try:
        plotext.theme("clear")
        plotext.limitsize(False, False)  # the requested size, even without a terminal
        plotext.plotsize(width, height)
        plotext.title(_title(having, tag))
        for line in drawn:
            x, y = line.curve.x.tolist(), line.curve.y.tolist()
            if x:
                plotext.plot(x, y, marker=line.marker, color=line.paint)
        for line in drawn if many else ():
            for place, value in _sign_places(line.curve):
                plotext.text(line.sign, place, value, color=line.paint)
        # what is drawn on a log axis are logarithms: plotext's scale fails on the smallest numbers
        values = np.concatenate([c.y for c in curves])
        low, high = float(values.min()), float(values.max())
        _ticks(plotext.yticks, (decades if options.log else round_ticks)(low, high, height))
        low, high = _span([p for r in having if (p := _points(r, tag, options.axis))])
        _ticks(plotext.xticks, x_ticks(low, high, width - 10, KINDS[options.axis]))
        plotext.xlabel(_x_label(having, options.axis))
        title, _, chart = str(plotext.build()).partition("\n")
        text = f"{title}\n{legend}{chart}"
        if not options.colour:
            text = str(plotext.uncolorize(text))
    finally:
        plotext.clear_figure()

    return text.rstrip("\n") + "\n" + _left_out(curves)


def _plotext() -> Any:
    """Raises UsageError for version 6, which shares no function with 5."""
    import plotext  # only for this output

    if not hasattr(plotext, "plotsize"):
        found = getattr(plotext, "__version__", "another version")
        raise UsageError(f"plot needs plotext 5, not {found}: install 'plotext>=5.3.2,<6'")
    return plotext


def _legend(drawn: Sequence[_Drawn], width: int) -> str:
    """What the lines are, each with the sign on it, in as many lines as that takes."""
    import plotext  # only for this output

    named = [d for d in drawn if d.label and len(d.curve.x)]
    room = max(8, width - 6)
    labels = [f"{d.label} {d.note}".rstrip() for d in named]
    if any(cell_width(label) > room for label in labels):
        labels = [d.label for d in named]
    names = distinct(tuple(labels), room)
    rows, used = [""], 0
    for line, name in zip(named, names, strict=True):
        text = f"{line.sign} {name}" if line.sign else f"{_DOTS} {name}"
        cells = cell_width(text) + 3
        if used and used + cells > width:
            rows.append("")
            used = 0
        rows[-1] += "   " + str(plotext.colorize(text, line.paint))
        used += cells

    return "\n".join(rows) + "\n"


def _sign_places(curve: _Curve) -> list[tuple[float, float]]:
    """Where the sign of a line stands on it: at a third, two thirds and the end."""
    last = len(curve.x) - 1
    at = dict.fromkeys(last * n // _SIGNS for n in range(1, _SIGNS + 1)) if last >= 0 else {}
    return [(float(curve.x[n]), float(curve.y[n])) for n in at]


def _ticks(draw: Callable[[list[float], list[str]], object], ticks: _Ticks) -> None:
    draw([at for at, _ in ticks], [label for _, label in ticks])


def _left_out(curves: Sequence[_Curve]) -> str:
    """What a log axis has no place for, in a line; empty when that is nothing."""
    count, every = sum(c.left_out for c in curves), sum(c.points for c in curves)
    return f"log y leaves out what is not above 0: {count:,} of {every:,} points\n" if count else ""


def _x_label(runs: Sequence[RunView], axis: str) -> str:
    if axis == "step":
        return "row" if {r.step_word for r in runs} == {"row"} else "step"
    return "time since the start" if axis == "relative" else _AXIS_WORDS[axis]


def _span(lines: Sequence[Points]) -> tuple[float, float]:
    """First and last place over the runs."""
    return float(min(x[0] for x, _ in lines)), float(max(x[-1] for x, _ in lines))


def _title(runs: Sequence[RunView], tag: str) -> str:
    """The title of the metric, its unit and the tag."""
    info = runs[0].infos[tag] if runs else None
    if info is None:
        return tag
    unit = f" ({info.unit})" if info.unit else ""
    return f"{info.title}{unit}   {tag}"


@dataclass(frozen=True, slots=True)
class _Curve:
    """The line of one run."""

    x: FloatArray
    y: FloatArray
    """On a log axis the decimal logarithms."""
    points: int
    left_out: int
    """How many of the points have no logarithm."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """How points become a line."""

    columns: int
    """At most two points are kept for each."""
    weight: float
    log: bool
    axis: str
    unit: TagInfo
    """What the tag means where it names the unit of the y axis."""


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A line with its name and colour."""

    curve: _Curve
    label: str
    """Empty for a line that the legend does not name."""
    paint: int
    note: str = ""
    """What follows the label where there is room."""
    sign: str = ""
    """One cell that stands on the line, in place of its colour."""
    marker: str = "braille"


def _of_runs(runs: Sequence[RunView], tag: str, shape: _Shape) -> list[_Drawn]:
    """A line for each run; of more runs than colours those that a comparison draws, the best and
    the last, and the lowest and highest of the rest."""
    labels = dict(zip(runs, run_labels(Sweep(runs)), strict=True))
    own, others = list(runs), []
    if len(runs) > len(_COLOURS):
        rows = Comparison(runs, tag=(runs[0], tag)).rows
        own = [run for row in rows if row.slot < len(RUN_TOKENS) for run in row.runs]
        others = [run for run in runs if run not in own]
    drawn = [
        _Drawn(_curve(*points, shape), labels[run][0], _COLOURS[n], labels[run][1], slot_sign(n))
        for n, (run, points) in enumerate(zip(own, _lines(own, tag, shape), strict=True))
    ]
    rest = bundle(_lines(others, tag, shape))
    if rest is not None:
        label = f"{len(others)} more as a band: lowest, highest"
        for n, values in enumerate(rest.extremes()):
            curve = _curve(rest.x, values, shape)
            drawn.append(_Drawn(curve, "" if n else label, _COLOURS[-1], marker="dot"))

    return drawn


def _of_groups(groups: Grouping, tag: str, shape: _Shape) -> list[_Drawn]:
    """A line and a band for each group of runs."""
    drawn = []
    for n, group in enumerate(groups.groups):
        having = _lines([r for r in group.runs if tag in r.infos], tag, shape)
        found = bundle(having)
        if found is None:
            continue
        paint = _COLOURS[n % len(_COLOURS)]
        label = f"{group.name} (mean of {len(having)})"
        drawn.append(_Drawn(_curve(found.x, found.mean, shape), label, paint, sign=slot_sign(n)))
        if len(having) > 1:
            edges = [_curve(found.x, values, shape) for values in found.spread()]
            drawn += [_Drawn(edge, "", paint, marker="dot") for edge in edges]
    return drawn


def _lines(runs: Sequence[RunView], tag: str, shape: _Shape) -> list[Points]:
    """The points of those runs that have any on the axis, in one unit."""
    found = ((r, _points(r, tag, shape.axis)) for r in runs)
    return [(p[0], p[1] * r.infos[tag].factor_to(shape.unit)) for r, p in found if p is not None]


def _points(run: RunView, tag: str, axis: str) -> Points | None:
    return points_of(run, tag, axis, "" if axis == "step" else KINDS[axis])


def _curve(steps: FloatArray | IntArray, values: FloatArray, shape: _Shape) -> _Curve:
    """Finite points, smoothed, at most two per column: lowest and highest of each."""
    known = np.isfinite(values)
    steps, values = steps[known], values[known]
    points, columns = len(values), shape.columns
    if shape.weight:
        values = smooth(values, shape.weight)
    if shape.log:
        steps, values = steps[values > 0], np.log10(values[values > 0])
    x, left_out = steps.astype(np.float64), points - len(values)
    if len(x) <= 2 * columns:
        return _Curve(x, values, points, left_out)
    edges = np.linspace(0, len(x), columns + 1).astype(np.intp)[:-1]
    picked: set[int] = {0, len(x) - 1}
    for start, stop in zip(edges, [*edges[1:], len(x)], strict=True):
        part = values[start:stop]
        picked.add(int(start + part.argmin()))
        picked.add(int(start + part.argmax()))
    index = np.array(sorted(picked))

    return _Curve(x[index], values[index], points, left_out)
