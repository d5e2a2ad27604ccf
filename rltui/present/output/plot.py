"""Charts for standard output with plotext: the only importer of plotext.

plotext keeps one global figure and fails on infinite values; everything it gets is finite,
decimated to twice the width, and the figure is cleared before and after.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence

import numpy as np

from rltui.core.block import FloatArray
from rltui.present.chart.axis import x_ticks
from rltui.present.chart.render import smooth
from rltui.present.kit.names import distinct
from rltui.session import RunView

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


def plot_text(
    runs: Sequence[RunView],
    tag: str,
    width: int,
    height: int,
    weight: float,
    *,
    log: bool,
    colour: bool,
) -> str:
    """One chart of ``tag`` with a line per run that has it, ``width`` x ``height`` cells."""
    import plotext

    having = [r for r in runs if tag in r.infos and r.series(tag).count]
    plotext.clear_figure()
    try:
        plotext.theme("clear")
        plotext.limitsize(False, False)  # the requested size, even without a terminal
        plotext.plotsize(width, height)
        plotext.title(_title(having, tag))
        names = distinct(tuple(_label(having, r) for r in having), max(8, width // 3))
        drawn = 0
        for number, run in enumerate(having):
            x, y = _points(run, tag, 2 * width, weight, log=log)
            if len(x):
                label = names[number] if len(having) > 1 else None
                paint = _COLOURS[number % len(_COLOURS)]
                plotext.plot(x.tolist(), y.tolist(), marker="braille", label=label, color=paint)
                drawn += 1
        if not drawn:
            why = "no positive value for a log axis" if log else "no finite value"
            return f"{tag}: {why}\n"
        if log:
            plotext.yscale("log")
        low, high = _span(having, tag)
        ticks = x_ticks(low, high, width - 10)
        plotext.xticks([x for x, _ in ticks], [label for _, label in ticks])
        plotext.xlabel("row" if {r.step_word for r in having} == {"row"} else "step")
        text = str(plotext.build())
    finally:
        plotext.clear_figure()
    return (text if colour else str(plotext.uncolorize(text))).rstrip("\n") + "\n"


def _label(runs: Sequence[RunView], run: RunView) -> str:
    """The name of a run, after that of its directory when another run has the same."""
    alone = sum(r.name == run.name for r in runs) == 1
    return run.name if alone else f"{run.logdir_label}/{run.name}"


def _span(runs: Sequence[RunView], tag: str) -> tuple[float, float]:
    """First and last step over the runs."""
    steps = [run.series(tag).steps for run in runs]
    return float(min(s[0] for s in steps)), float(max(s[-1] for s in steps))


def _title(runs: Sequence[RunView], tag: str) -> str:
    info = runs[0].infos[tag] if runs else None
    if info is None:
        return tag
    unit = f" ({info.unit})" if info.unit else ""
    return f"{info.title}{unit}   {tag}"


def _points(
    run: RunView, tag: str, columns: int, weight: float, *, log: bool
) -> tuple[FloatArray, FloatArray]:
    """Finite points, smoothed, at most two per column: lowest and highest of each."""
    steps, values = run.shown(tag).finite()
    if weight:
        values = smooth(values, weight)
    if log:
        steps, values = steps[values > 0], values[values > 0]
    x = steps.astype(np.float64)
    if len(x) <= 2 * columns:
        return x, values
    edges = np.linspace(0, len(x), columns + 1).astype(np.intp)[:-1]
    picked: set[int] = {0, len(x) - 1}
    for start, stop in zip(edges, [*edges[1:], len(x)], strict=True):
        part = values[start:stop]
        picked.add(int(start + part.argmin()))
        picked.add(int(start + part.argmax()))
    index = np.array(sorted(picked))
    return x[index], values[index]
