"""Charts for standard output with plotext: the only importer of plotext.

plotext keeps one global figure and fails on infinite values; everything it gets is finite,
decimated to twice the width, and the figure is cleared before and after.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from rltui.catalogue.model import TagInfo
from rltui.core.block import FloatArray, IntArray, ValueArray
from rltui.core.errors import UsageError
from rltui.core.fault import NOT_SHOWN
from rltui.core.installation import need
from rltui.core.text import cell_width, clean
from rltui.draw.chart.axis import decades, round_ticks, x_ticks
from rltui.draw.chart.trace import smooth
from rltui.draw.line import RUN_TOKENS
from rltui.draw.prose import distinct
from rltui.draw.view import missing_on
from rltui.facts.comparison import Comparison
from rltui.facts.groups import Grouping, Sweep, slot_sign
from rltui.facts.x_axis import KINDS, Points, against_words, axis_of, axis_of_kind, bundle
from rltui.session import JudgedRun

#: Axis -> what it is called.
_AXIS_WORDS = {"relative": "time since the start", "wall": "time"}

#: Signs on a line.
_SIGNS = 3
#: Lines of a chart below a long legend.
_LEAST_HEIGHT = 5
#: The sign of a band in the legend.
_DOTS = "•"

#: Colours of runs as 256-colour numbers, readable on dark and light backgrounds.
_COLOURS = (75, 79, 140, 175, 143, 250)


def find_tags(runs: Sequence[JudgedRun], name: str) -> list[str]:
    """Tags that ``name`` refers to: a tag, a metric key, the title on screen, a glob over tags and
    keys, or else the end of tags (``loss`` of ``train/loss``)."""
    found: dict[str, None] = {}
    ends: dict[str, None] = {}
    for run in runs:
        for tag, info in run.infos.items():
            key = info.key
            exact = name in (tag, key) or name.lower() == info.title.lower()
            if exact or fnmatch.fnmatchcase(tag, name) or fnmatch.fnmatchcase(key, name):
                found[tag] = None
            elif tag.endswith(f"/{name}"):
                ends[tag] = None
    return list(found or ends)


class PlotOptions(NamedTuple):
    """How charts are drawn."""

    width: int
    """Cells of a line."""
    height: int
    """Lines of a chart."""
    weight: float = 0.0
    """Weight of the moving average, 0 (none) to below 1."""
    log: bool = False
    axis: str = "step"
    """Quantity on the x axis: step, relative, wall, tokens or a metric."""
    colour: bool = False
    groups: Grouping | None = None


class _Drawn(NamedTuple):
    """A line with its name and colour."""

    x: FloatArray
    y: FloatArray
    """On a log axis the decimal logarithms."""
    points: int
    left_out: int
    """How many of the points have no logarithm."""
    paint: int
    label: str = ""
    """Empty for a line that the legend does not name."""
    note: str = ""
    """Note after the label where there is room."""
    sign: str = ""
    """One cell that stands on the line, in place of its colour."""
    marker: str = "braille"


def plot_text(runs: Sequence[JudgedRun], tag: str, options: PlotOptions) -> str:
    """One chart of ``tag`` with a line per run that has it. With groups a line per group, the mean
    over its runs, between two of the standard deviation."""
    plotext = _plotext()
    spans: dict[JudgedRun, FloatArray] = {}
    for run in runs:
        with run.isolate_faults(NOT_SHOWN):
            if tag in run.infos and (points := _points(run, tag, options)) is not None:
                spans[run] = np.array([points[0].min(), points[0].max()])

    having = list(spans)
    if not having:
        lacks = f"no {clean(missing_on(options.axis))} in the log"
        return f"{tag}: {'no point' if options.axis == 'step' else lacks}\n"
    unit = having[0].infos[tag]
    grouped = options.groups is not None
    drawn = _of_groups(tag, unit, options) if grouped else _of_runs(having, tag, unit, options)
    if not any(len(d.x) for d in drawn):
        why = "no positive value for a log axis" if options.log else "no finite value"
        return f"{tag}: {why}\n"

    many = len(having) > 1 or grouped
    legend = _legend(plotext, drawn, options.width) if many else ""

    plotext.clear_figure()
    try:
        plotext.theme("clear")
        plotext.limitsize(False, False)  # the requested size, even without a terminal
        height = max(_LEAST_HEIGHT, options.height - legend.count("\n"))
        plotext.plotsize(options.width, height)
        about, counted = _axis_words(having, tag, options)
        plotext.title(f"{unit.title}{f' ({unit.unit})' if unit.unit else ''}   {about}")
        _draw(plotext, drawn, many)

        # what is drawn on a log axis are logarithms: plotext's scale fails on the smallest numbers
        values = np.concatenate([d.y for d in drawn])
        low = float(values.min())
        high = float(values.max())
        ticks = (decades if options.log else round_ticks)(low, high, height)
        plotext.yticks([at for at, _ in ticks], [label for _, label in ticks])
        places = np.array([*spans.values()])
        low = float(places[:, 0].min())
        high = float(places[:, 1].max())
        ticks = x_ticks(low, high, options.width - 10, KINDS.get(options.axis, "number"))
        plotext.xticks([at for at, _ in ticks], [label for _, label in ticks])
        plotext.xlabel(counted)

        title, _, chart = str(plotext.build()).partition("\n")
        text = f"{title}\n{legend}{chart}"
        text = text if options.colour else str(plotext.uncolorize(text))
    finally:
        plotext.clear_figure()

    return text.rstrip("\n") + "\n" + _left_out(drawn)


def _axis_words(runs: Sequence[JudgedRun], tag: str, options: PlotOptions) -> tuple[str, str]:
    """Words of the title beside the name of the metric, and the label of the x axis."""
    series = runs[0].shown(tag)
    axis = axis_of(runs[0], series, options.axis)
    rows = "row" if {r.step_word for r in runs} == {"row"} else "step"
    counted = _AXIS_WORDS.get(options.axis, rows if options.axis == "step" else axis.unit)
    return against_words(axis, series) or tag, counted


def _plotext() -> Any:
    """Raises UsageError where it is missing, and for version 6, which shares no function with 5."""
    need("plot", "plotext>=5.3.2,<6")
    import plotext  # only for this output

    if not hasattr(plotext, "plotsize"):
        found = getattr(plotext, "__version__", "another version")
        raise UsageError(f"plot needs plotext 5, not {found}: install 'plotext>=5.3.2,<6'")
    return plotext


def _left_out(drawn: Sequence[_Drawn]) -> str:
    """Line that counts the points which a log axis has no place for; "" for none."""
    count = sum(d.left_out for d in drawn)
    every = sum(d.points for d in drawn)
    return f"log y leaves out what is not above 0: {count:,} of {every:,} points\n" if count else ""


def _draw(plotext: Any, drawn: Sequence[_Drawn], many: bool) -> None:
    """The lines; of ``many`` each with its sign at a third, two thirds and the end."""
    for line in drawn:
        if len(line.x):
            draw = plotext.scatter if _is_path(line.x) else plotext.plot
            draw(line.x.tolist(), line.y.tolist(), marker=line.marker, color=line.paint)
    for line in drawn if many else ():
        last = len(line.x) - 1
        at = dict.fromkeys(last * n // _SIGNS for n in range(1, _SIGNS + 1)) if last >= 0 else {}
        for n in at:
            plotext.text(line.sign, float(line.x[n]), float(line.y[n]), color=line.paint)


def _legend(plotext: Any, drawn: Sequence[_Drawn], width: int) -> str:
    """Legend of the lines, each with its sign, in as many rows as that takes."""
    named = [d for d in drawn if d.label and len(d.x)]
    room = max(8, width - 6)
    labels = [f"{d.label} {d.note}".rstrip() for d in named]
    if any(cell_width(label) > room for label in labels):
        labels = [d.label for d in named]
    rows = [""]
    used = 0

    for line, name in zip(named, distinct(tuple(labels), room), strict=True):
        text = f"{line.sign or _DOTS} {name}"
        cells = cell_width(text) + 3
        if used and used + cells > width:
            rows.append("")
            used = 0
        rows[-1] += "   " + str(plotext.colorize(text, line.paint))
        used += cells

    return "\n".join(rows) + "\n"


def _of_runs(
    runs: Sequence[JudgedRun], tag: str, unit: TagInfo, options: PlotOptions
) -> list[_Drawn]:
    """A line for each run; of more runs than colours those that a comparison draws, the best and
    the last, and the lowest and highest of the rest."""
    labels = dict(zip(runs, Sweep(runs).labels, strict=True))
    own = list(runs)
    others = []
    if len(runs) > len(_COLOURS):
        rows = Comparison(runs, tag=(runs[0], tag)).rows
        own = [run for row in rows if row.slot < len(RUN_TOKENS) for run in row.runs]
        others = [run for run in runs if run not in own]

    drawn = []
    for n, (run, points) in enumerate(zip(own, _lines(own, tag, unit, options), strict=True)):
        label, note = labels[run]
        drawn.append(_line(points, options, _COLOURS[n], label=label, note=note, sign=slot_sign(n)))

    lines = _lines(others, tag, unit, options)
    dots = _dots(lines, options, _COLOURS[-1], f"{len(others)} more", marker="dot")
    rest = None if dots else bundle(lines)
    if rest is not None:
        label = f"{len(others)} more as a band: lowest, highest"
        for name, values in zip((label, ""), rest.extremes(), strict=True):
            band = (rest.x, values)
            drawn.append(_line(band, options, _COLOURS[-1], label=name, marker="dot"))

    return [*drawn, *dots]


def _of_groups(tag: str, unit: TagInfo, options: PlotOptions) -> list[_Drawn]:
    """A line and a band for each group of runs."""
    drawn = []

    for n, group in enumerate(options.groups.groups if options.groups else ()):
        having = _lines([r for r in group.runs if tag in r.infos], tag, unit, options)
        paint = _COLOURS[n % len(_COLOURS)]
        sign = slot_sign(n)
        dots = _dots(having, options, paint, f"{group.name} ({len(having)} runs)", sign=sign)
        drawn += dots
        found = None if dots else bundle(having)
        if found is None:
            continue
        label = f"{group.name} (mean of {len(having)})"
        mean = (found.x, found.mean)
        drawn.append(_line(mean, options, paint, label=label, sign=sign))
        if len(having) > 1:
            edges = found.spread()
            drawn += [_line((found.x, edge), options, paint, marker="dot") for edge in edges]

    return drawn


def _lines(
    runs: Sequence[JudgedRun], tag: str, unit: TagInfo, options: PlotOptions
) -> list[Points]:
    """The points of those runs that have any on the axis, in one unit."""
    found = ((r, _points(r, tag, options)) for r in runs)
    return [(p[0], p[1] * r.infos[tag].factor_to(unit)) for r, p in found if p is not None]


def _points(run: JudgedRun, tag: str, options: PlotOptions) -> Points | None:
    """The points of a tag; None without any, or when the run lacks times or the metric."""
    kind = KINDS.get(options.axis, "number")
    series = run.shown(tag)
    own = axis_of_kind(run, series, options.axis, "" if kind == "step" else kind)
    points = None if own is None else own.placed(series)[1:]
    return points if points is not None and len(points[0]) else None


def _dots(
    lines: Sequence[Points], options: PlotOptions, paint: int, label: str, **look: str
) -> list[_Drawn]:
    """The points of some runs, if x does not grow: no two runs have the same x then."""
    if not any(_is_path(x) for x, _ in lines):
        return []
    names = [label, *[""] * len(lines)]
    return [_line(p, options, paint, label=n, **look) for p, n in zip(lines, names, strict=False)]


def _is_path(x: FloatArray) -> bool:
    """Whether points are in the order of steps, not of x."""
    return bool((np.diff(x) < 0).any())


def thinned(values: ValueArray, stretches: int) -> IntArray:
    """Places of some finite values, ascending: the ends, and the least and the greatest of so many
    stretches."""
    edges = np.linspace(0, len(values), stretches + 1).astype(np.intp)
    kept = {0, len(values) - 1}
    for begin, end in pairwise(edges.tolist()):
        piece = values[begin:end]
        kept |= {begin + int(piece.argmin()), begin + int(piece.argmax())}
    return np.array(sorted(kept))


def _line(points: Points, options: PlotOptions, paint: int, **look: str) -> _Drawn:
    """Finite points, smoothed, at most two per column: lowest and highest of each."""
    x, y = points
    finite = np.isfinite(y)
    x = x[finite]
    y = y[finite]
    count = len(y)
    if options.weight:
        x = smooth(x, options.weight) if _is_path(x) else x
        y = smooth(y, options.weight)
    if options.log:
        x = x[y > 0]
        y = np.log10(y[y > 0])
    left_out = count - len(y)
    columns = 2 * options.width
    if len(x) > 2 * columns and not _is_path(x):
        kept = thinned(y, columns)
        x = x[kept]
        y = y[kept]

    return _Drawn(x, y, count, left_out, paint, **look)
