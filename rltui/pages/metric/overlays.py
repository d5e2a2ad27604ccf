"""Other runs in the chart of a metric: the marked ones, the reference, rows that share a chart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from rltui.draw.chart.chart_model import XY, Chart, Curve
from rltui.draw.chart.foot import legend_lines
from rltui.draw.chart.trace import COARSE, LONG, LONG_COARSE, Outline
from rltui.draw.line import RUN_TOKENS, Line, Token
from rltui.draw.view import View
from rltui.facts import x_axis
from rltui.facts.cache import RunSeriesCache, kept
from rltui.facts.groups import Sweep, slot_of, slot_sign
from rltui.session import RunView
from rltui.store import Series

_OUTLINES: RunSeriesCache[Outline] = RunSeriesCache()


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """The line of a tag in a chart of several."""

    points: x_axis.Points
    """All points, or the outline of a long series."""
    mean: x_axis.Points | None = None
    """The block means of a long series."""

    def scaled(self, factor: float) -> Trace:
        """The line in another unit."""
        if factor == 1:
            return self
        (x, y), mean = self.points, self.mean
        return Trace((x, y * factor), None if mean is None else (mean[0], mean[1] * factor))


def trace_of(
    run: RunView, tag: str, view: View, kind: str = "", *, exact: bool = False
) -> Trace | None:
    """The line of a tag, see :func:`points_of`; with ``exact``, or smoothed, all of its points."""
    series = run.shown(tag)
    exact = exact or view.smooth > 0
    outline = None if exact else outline_of(run, series, coarse=True)
    if outline is None:
        found = x_axis.points_of(run, tag, view.axis, kind)
        return None if found is None else Trace(found)
    own = x_axis.axis_of_kind(run, series, view.axis, kind)
    if own is None:
        return None
    steps, values = series.steps, series.values
    points = own.places(steps[outline.index]), values[outline.index].astype(np.float64)

    return Trace(points, (own.places(steps[outline.centres]), outline.means))


class Compared(NamedTuple):
    """A run in the chart of a metric, or another row of the same run."""

    run: RunView
    tag: str
    """The metric in this run."""
    factor: float
    """To the unit of the chart."""
    name: str
    note: str
    sign: str
    token: Token | None
    """None for a run that only the band shows."""


def sweep_of(run: RunView, view: View) -> Sweep:
    """The run and the other marked runs."""
    runs = [run, *(m.run for m in view.marked if m.run is not run)]
    key = tuple((r.key, r.name, r.hyperparameters.version) for r in runs)
    return kept(run, ("sweep", key), lambda: Sweep(runs))


def _others(run: RunView, tag: str, view: View) -> list[Compared]:
    """The marked runs other than ``run`` that have the metric, by slot."""
    others, found = [m for m in view.marked if m.run is not run], []
    for marked, (name, note) in zip(others, sweep_of(run, view).labels[1:], strict=True):
        other = x_axis.compared_tag(run, tag, marked.run)
        if other is not None:
            factor = marked.run.infos[other].factor_to(run.infos[tag])
            token = RUN_TOKENS[marked.slot] if marked.slot < len(RUN_TOKENS) else None
            sign = slot_sign(marked.slot)
            found.append(Compared(marked.run, other, factor, name, note, sign, token))
    return found


def charted(run: RunView, tag: str, view: View) -> list[Compared]:
    """What the chart of ``tag`` shows: the run itself, then the marked runs and the rows that share
    the chart."""
    others, rows = _others(run, tag, view), _sharing(run, tag, view)
    (name, note), (sign, token) = sweep_of(run, view).labels[0], _own(run, view)
    if rows and not others:
        name, note = row_label(run, tag), ""
        sign, token = slot_sign(view.shared.index(tag)), Token.STRONG
    return [Compared(run, tag, 1.0, name, note, sign, token), *others, *rows]


def _sharing(run: RunView, tag: str, view: View) -> list[Compared]:
    """The other rows of the same run that share a chart with ``tag``, in the first free
    colours."""
    if tag not in view.shared:
        return []
    taken = {m.slot for m in view.marked}
    free = [token for slot, token in enumerate(RUN_TOKENS) if slot not in taken]
    own_axis = x_axis.has_own_axis(run, tag)
    tags = [t for t in view.shared if t != tag and t in run.infos]

    return [
        Compared(run, t, 1.0, row_label(run, t), "", slot_sign(view.shared.index(t)), token)
        for t, token in zip(tags, free, strict=False)
        if x_axis.has_own_axis(run, t) == own_axis
    ]


def row_label(run: RunView, tag: str) -> str:
    """The name of a row in a legend, with its unit."""
    info = run.infos[tag]
    return f"{info.title} {info.unit}".rstrip()


def _lines_of(
    run: RunView, tag: str, others: Sequence[Compared], view: View, *, exact: bool
) -> tuple[list[Curve], list[x_axis.Points]]:
    """Those with a colour as lines, the points of all others."""
    kind = x_axis.axis_of(run, run.shown(tag), view.axis).kind
    lines, rest = [], []

    for other in others:
        line = trace_of(other.run, other.tag, view, kind, exact=exact)
        if line is None:
            continue
        line = line.scaled(other.factor)
        if other.token is not None:
            name, note, sign = other.name, other.note, other.sign
            lines.append(Curve(*line.points, other.token, name, note, sign, mean=line.mean))
        else:
            rest.append(line.mean or line.points)

    return lines, rest


def with_others(chart: Chart, run: RunView, tag: str, view: View) -> Chart:
    """The chart of ``tag`` with the marked runs other than ``run`` in it, five as lines and more as
    a band, and the rows that share it. In an enlarged one no point is left out."""
    exact = chart.window is not None
    own, *others = charted(run, tag, view)
    lines, rest = _lines_of(run, tag, others, view, exact=exact)

    if rest:
        lines.append(_band_label(len(rest)))
    if not lines:
        return chart

    ends = [float(x) for o in lines if len(o.x) for x in (o.x[0], o.x[-1])]

    return replace(
        chart,
        curve=replace(chart.curve, token=own.token or Token.STRONG, sign=own.sign, known=True),
        label=own.name,
        note=own.note,
        overlays=tuple(lines),
        envelope=band_of(rest) or chart.envelope,
        first=None if chart.first is None else min([chart.first, *ends]),
        last=None if chart.last is None else max([chart.last, *ends]),
    )


def marks_legend(run: RunView, view: View, width: int) -> Line:
    """The run and the marked ones in one line, for charts without a legend of their own."""
    others = [m for m in view.marked if m.run is not run]
    labels, nothing = sweep_of(run, view).labels, np.empty(0)
    entries = [
        Curve(nothing, nothing, RUN_TOKENS[m.slot], *label, slot_sign(m.slot))
        for m, label in zip(others, labels[1:], strict=True)
        if m.slot < len(RUN_TOKENS)
    ]
    if len(entries) < len(others):
        entries.append(_band_label(len(others) - len(entries)))
    sign, token = _own(run, view)
    chart = Chart(Curve(nothing, nothing, token=token, sign=sign), *labels[0], entries)

    return legend_lines(chart, 0, width, 1, view.glyphs)[0]


def _own(run: RunView, view: View) -> tuple[str, Token]:
    """Sign and colour of the run whose chart it is."""
    slot = slot_of(view.marked, run)
    if slot is None:
        return "", Token.STRONG
    return slot_sign(slot), (*RUN_TOKENS, Token.STRONG)[min(slot, len(RUN_TOKENS))]


def _band_label(count: int) -> Curve:
    """The entry of the legend for runs that only the band shows."""
    nothing = np.empty(0)
    return Curve(nothing, nothing, Token.BAND, f"{count} more as a band", is_band=True)


def band_of(runs: Sequence[x_axis.Points]) -> tuple[XY, XY] | None:
    """Lowest and highest of many curves; None without any."""
    bundled = x_axis.bundle(runs)
    if bundled is None:
        return None
    low, high = bundled.extremes()
    return (bundled.x, low), (bundled.x, high)


def versions(view: View) -> tuple[int, ...]:
    """The versions of the marked runs, for the keys of caches."""
    return tuple(m.run.version for m in view.marked)


def has_others(tag: str, view: View) -> bool:
    """Whether other lines may be drawn in the chart of ``tag``."""
    return bool(view.marked) or tag in view.shared


def reference_points(
    run: RunView, series: Series, axis: x_axis.Axis, axis_name: str
) -> x_axis.Points | None:
    """The points of the reference as far as this run has come; None where it has none."""
    reference, info = run.reference, run.infos[series.tag]
    if reference is None or reference is run:
        return None
    tag = x_axis.compared_tag(run, series.tag, reference)
    ghost = None if tag is None else x_axis.points_of(reference, tag, axis_name, axis.kind)
    if tag is None or ghost is None:
        return None
    x, y = ghost
    last = run.points.last_step
    here = slice(0, None if last is None else int(np.searchsorted(x, axis.place(last), "right")))
    factor = reference.infos[tag].factor_to(info)

    return (x[here], y[here] * factor) if len(x[here]) else None


def reference_envelope(
    run: RunView, series: Series, axis: x_axis.Axis, axis_name: str
) -> tuple[XY, XY] | None:
    """Low and high of the noise of the reference; None where it has none."""
    found = reference_points(run, series, axis, axis_name)
    return None if found is None else x_axis.wander(found)


def outline_of(run: RunView, series: Series, *, coarse: bool = False) -> Outline | None:
    """The outline of a long series; None for a series that is drawn from all of its points. A
    ``coarse`` one suffices for a line among many, which is drawn without its raw points."""
    if series.count < (LONG_COARSE if coarse else LONG):
        return None

    def make(whole: Series) -> Outline:
        return extend(Outline(COARSE) if coarse else Outline(), whole)

    def extend(outline: Outline, longer: Series) -> Outline:
        outline.extend(longer.values)
        return outline

    return _OUTLINES.of(run).get(series, make, name=coarse, extend=extend)
