"""Other runs in the chart of a metric: the marked ones, the reference, rows that share a chart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rltui.catalogue.model import counterpart
from rltui.present.chart.chart_model import XY, Chart, Overlay
from rltui.present.kit.line import Token
from rltui.present.screens.marks import RUN_TOKENS, short_names, slot_of, slot_sign
from rltui.present.screens.mean_band import Points, bundle, wander
from rltui.present.screens.view import View
from rltui.present.screens.x_axis import Axis, axis_of, has_own_axis
from rltui.session import RunView
from rltui.store import Series

#: Cells of a name in a legend.
_NAME = 24


@dataclass(frozen=True, slots=True, eq=False)
class Others:
    """What is drawn below the own curve of a chart."""

    label: str = ""
    """Names the own curve."""
    overlays: tuple[Overlay, ...] = ()
    envelope: tuple[XY, XY] | None = None
    """Lowest and highest of the runs that have no line of their own."""


def compared_tag(run: RunView, tag: str, other: RunView) -> str | None:
    """The tag of another run that means the same as ``tag`` of ``run``."""
    return counterpart(run.infos[tag], other.infos)


def points_of(run: RunView, tag: str, axis: str, kind: str = "") -> Points | None:
    """The points of a tag on the axis ``axis``; None without any, or when the run's axis is
    none of the ``kind``: no tokens, no times."""
    series = run.shown(tag)
    if not series.count:
        return None
    own = axis_of(run, series, axis)
    if kind and own.kind != kind:
        return None
    return own.places(series.steps), series.values.astype(np.float64)


def others_of(run: RunView, tag: str, view: View) -> Others:
    """The marked runs other than ``run``, at the metric of ``tag``: five as lines, more as a
    band."""
    others = [m for m in view.marked if m.run is not run]
    names = short_names([run, *(m.run for m in others)], _NAME, view.glyphs.ellipsis)
    kind = axis_of(run, run.shown(tag), view.axis).kind
    lines, rest = [], []
    for marked, name in zip(others, names[1:], strict=True):
        found = compared_tag(run, tag, marked.run)
        points = None if found is None else points_of(marked.run, found, view.axis, kind)
        if found is None or points is None:
            continue
        x, y = points
        y = y * (marked.run.infos[found].scale / run.infos[tag].scale)
        if marked.slot < len(RUN_TOKENS):
            label = f"{slot_sign(marked.slot)} {name}"
            lines.append(Overlay(x, y, RUN_TOKENS[marked.slot], label))
        else:
            rest.append((x, y))
    own = slot_of(view.marked, run)
    label = names[0] if own is None else f"{slot_sign(own)} {names[0]}"
    if rest:
        lines.insert(0, _band_label(len(rest)))
    shared = shared_lines(run, tag, view)
    if shared and not lines:
        label = row_label(run, tag, view)
    return Others(label if lines or shared else "", (*lines, *shared), band_of(rest))


def shared_lines(run: RunView, tag: str, view: View) -> list[Overlay]:
    """The other rows of the same run that share a chart with ``tag``, in the first free
    colours."""
    if tag not in view.shared:
        return []
    taken = {m.slot for m in view.marked}
    free = [token for slot, token in enumerate(RUN_TOKENS) if slot not in taken]
    own_axis = has_own_axis(run, tag)
    tags = [t for t in view.shared if t != tag and t in run.infos]
    lines = []
    for other, token in zip(tags, free, strict=False):
        points = points_of(run, other, view.axis)
        if points is not None and has_own_axis(run, other) == own_axis:
            lines.append(Overlay(*points, token, row_label(run, other, view)))
    return lines


def row_label(run: RunView, tag: str, view: View) -> str:
    """The name of a row in a legend, with its unit."""
    info = run.infos[tag]
    return f"{slot_sign(view.shared.index(tag))} {info.title} {info.unit}".rstrip()


def with_others(chart: Chart, run: RunView, tag: str, view: View) -> Chart:
    """The chart of ``tag`` with the marked runs in it."""
    others = others_of(run, tag, view)
    ends = [float(x) for o in others.overlays if len(o.x) for x in (o.x[0], o.x[-1])]
    first = None if chart.first is None else min([chart.first, *ends])
    last = None if chart.last is None else max([chart.last, *ends])
    return replace(
        chart,
        label=others.label,
        overlays=others.overlays,
        envelope=others.envelope or chart.envelope,
        first=first,
        last=last,
    )


def _band_label(count: int) -> Overlay:
    """The entry of the legend for runs that only the band shows."""
    nothing = np.empty(0)
    return Overlay(nothing, nothing, Token.BAND, f"{count} more as a band")


def band_of(runs: Sequence[Points]) -> tuple[XY, XY] | None:
    """Lowest and highest of many curves; None without any."""
    bundled = bundle(runs)
    if bundled is None:
        return None
    low, high = bundled.extremes()
    return (bundled.x, low), (bundled.x, high)


def versions(view: View) -> tuple[int, ...]:
    """What changes when the marked runs do."""
    return tuple(m.run.version for m in view.marked)


def has_others(tag: str, view: View) -> bool:
    """Whether something else may be drawn in the chart of ``tag``."""
    return bool(view.marked) or tag in view.shared


def reference_points(run: RunView, series: Series, axis: Axis, axis_name: str) -> Points | None:
    """The points of the reference as far as this run has come; None where it has none."""
    reference, info = run.reference, run.infos[series.tag]
    if reference is None or reference is run:
        return None
    tag = compared_tag(run, series.tag, reference)
    ghost = None if tag is None else points_of(reference, tag, axis_name, axis.kind)
    if tag is None or ghost is None:
        return None
    x, y = ghost
    last = run.points.last_step
    here = slice(0, None if last is None else int(np.searchsorted(x, axis.place(last), "right")))
    scale = reference.infos[tag].scale / info.scale
    return (x[here], y[here] * scale) if len(x[here]) else None


def reference_envelope(
    run: RunView, series: Series, axis: Axis, axis_name: str
) -> tuple[XY, XY] | None:
    """How far the reference wanders on its way."""
    found = reference_points(run, series, axis, axis_name)
    return None if found is None else wander(found)
