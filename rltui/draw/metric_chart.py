"""A metric of a run as a chart request: curves, limits, findings, restarts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from rltui.core.level import Level
from rltui.core.medians import median
from rltui.core.record import record
from rltui.draw import marked_runs
from rltui.draw.chart.chart_model import XY, Bar, Chart, ChartMark, Continuation, Curve, Limit
from rltui.draw.chart.foot import label_width
from rltui.draw.chart.render import render
from rltui.draw.chart.trace import LONG, smooth
from rltui.draw.line import Line, Token
from rltui.draw.view import View
from rltui.facts import numbers, sentences
from rltui.facts.cache import RunSeriesCache, kept
from rltui.facts.findings import projection_of, steps_words
from rltui.facts.series_stats import change_of, episodes, extent_between, extent_of
from rltui.facts.x_axis import (
    Axis,
    axis_of,
    has_own_axis,
    padded_end,
    range_of,
    span_of,
    timeline,
)
from rltui.health import model as health
from rltui.session import JudgedRun
from rltui.store import Series

if TYPE_CHECKING:
    from rltui.facts.projection import Projection

#: Cells of the y labels and of the right margin of charts below each other: any value fits.
_STACKED_LABELS = 7
_STACKED_MARGIN = 9
Statistics = list[tuple[str, str, str]]
_MEDIANS: RunSeriesCache[tuple[int, float]] = RunSeriesCache()
#: Facts of one line, the most important first: it is cut where it does not fit.
_LINE = ("newest", "smoothed", "NaN or Inf", "max", "min", "change", "median", "mean", "points",
         "start")  # fmt: skip


@record
class Zoom:
    """The crosshair and the visible part of a chart."""

    crosshair: int | None = None
    """The step at the crosshair."""
    window: tuple[float, float] | None = None
    """The visible steps, None for the whole run."""


WHOLE_RUN = Zoom()


def chart_lines(
    run: JudgedRun,
    tag: str,
    view: View,
    width: int,
    height: int,
    *,
    band: tuple[str, str] | None = None,
    zoom: Zoom = WHOLE_RUN,
    stacked: bool = False,
    small: bool = False,
    x_axis: bool = True,
    timeline: str = "named",
    overview: bool = False,
    told: bool = False,
    onset: int | None = None,
) -> list[Line]:
    """The chart of ``tag`` in exactly ``width`` x ``height`` cells.

    ``stacked`` charts have the same columns, so that they line up below each other; ``small``
    ones lack bars, marks and all but the ends of the y axis. ``timeline``: bars and marks with
    names (named), without (unnamed) or not at all (none). ``overview`` adds a strip of the whole
    run; ``told``: see :class:`~rltui.draw.chart.chart_model.Chart`; a line stands at the step
    ``onset``. Kept until the run, the view or the zoom changes.
    """
    about = tag, band, zoom, stacked, small, x_axis, timeline, overview, told, onset
    key = "chart", width, height, view, about, span_of(run, tag)[2], marked_runs.versions(view)

    others = marked_runs.has_others(tag, view)
    marks_onset = onset is not None and not others
    others = others or not (stacked or small or not marked_runs.sharing(run, tag, view))

    def draw() -> list[Line]:
        alone = not (stacked or small) and zoom == WHOLE_RUN
        chart = chart_of(run, tag, view, band=band, zoom=zoom, continued=alone, small=small)
        if others:
            chart = marked_runs.with_others(chart, run, tag, view)
        first = chart.first
        last = chart.end if chart.end is not None else chart.last
        labels = chart.label_width
        margin = chart.margin_width
        place = chart.crosshair

        if stacked:  # room for the names of the bars, which all charts of a run have alike
            labels = _STACKED_LABELS
            margin = _STACKED_MARGIN
            if first is not None and last is not None:
                ends = (first, last)
                labels = label_width(chart, ends, width, view.glyphs, least=labels, margin=margin)
        if marks_onset:
            place = axis_of(run, run.shown(tag), view.axis).place(onset or 0)
        marked = timeline != "none"
        chart = replace(
            chart,
            label_width=labels,
            margin_width=margin,
            crosshair=place,
            bars=chart.bars if marked else (),
            marks=chart.marks if marked else (),
            x_axis=x_axis,
            bar_names=timeline == "named",
            overview=overview,
            told=told or marks_onset,
        )

        return render(chart, width, height, view.glyphs)

    return kept(run, key, draw)


def chart_of(
    run: JudgedRun,
    tag: str,
    view: View,
    *,
    band: tuple[str, str] | None = None,
    zoom: Zoom = WHOLE_RUN,
    continued: bool = False,
    small: bool = False,
) -> Chart:
    """The chart of one tag, ready to be rendered; ``continued`` adds the projection of its trend.
    A ``small`` one lacks bars, marks, limits and all but the ends of the y axis."""
    series = run.shown(tag)
    axis = axis_of(run, series, view.axis)
    limits = run.verdict.judgement(tag).limits
    ends = range_of(run, tag, view.axis, axis.kind)
    first, last = ends or (None, None)
    projection = projection_of(run, tag) if continued and axis.kind == "step" else None
    chart = Chart(
        curve=Curve(np.empty(0), np.empty(0)),
        first=first,
        last=last,
        x_kind=axis.kind,
        x_unit=axis.unit,
        smooth=view.smooth,
        log=view.log_y,
        clip=view.outliers,
        healthy=_healthy(limits),
        limits=() if small else _limits(limits, projection),
        ends=small,
    )
    if not axis.grows:
        return _with_path(chart, run, series, axis, view.axis, zoom)
    to_x = axis.place
    end = chart.end

    if ends is not None and run.is_live:  # space for new points
        end = span_of(run, tag)[2] if axis.kind == "step" else padded_end(*ends)
        if projection is not None:  # and for as much as a third of what there is
            begin, newest = ends
            latest = min(projection.latest, newest + (newest - begin) / 3)
            end = max(end, padded_end(begin, latest))
    marks, marks_title = ([], "marks") if small else _marks(run, tag, to_x)
    # averages, quantiles and readings need every point, and so does a part that is enlarged
    exact = view.smooth > 0 or view.outliers or zoom != WHOLE_RUN

    return replace(
        chart,
        curve=_curve(run, series, band, axis, exact, view.axis),
        envelope=None if band else marked_runs.reference_envelope(run, series, axis, view.axis),
        end=end,
        window=None if zoom.window is None else (to_x(zoom.window[0]), to_x(zoom.window[1])),
        continuation=_continuation(series, projection, run.infos[tag].sign),
        restarts=[to_x(int(s)) for s in series.restarts],
        bars=() if small else _bars(run, tag, to_x),
        marks=marks,
        marks_title=marks_title,
        crosshair=None if zoom.crosshair is None else to_x(zoom.crosshair),
    )


def _with_path(
    chart: Chart, run: JudgedRun, series: Series, axis: Axis, axis_name: str, zoom: Zoom
) -> Chart:
    """The chart with the points in the order of steps. Those beyond the steps that are enlarged are
    dimmed, else those of the reference run are."""
    steps, x, y = axis.placed(series)
    old = marked_runs.reference_points(run, series, axis, axis_name)
    if zoom.window is not None:
        inside = (steps >= zoom.window[0]) & (steps <= zoom.window[1])
        old = x[~inside], y[~inside]
        steps = steps[inside]
        x = x[inside]
        y = y[inside]

    def row(step: float, side: Literal["left", "right"] = "left") -> int:
        return int(np.searchsorted(steps, step, side))

    levels = [
        (row(since), None if until is None else row(until, "right") - 1, level)
        for since, until, level in episodes(run, series.tag)
    ]
    known = bool(run.verdict.judgement(series.tag).rules) or not levels
    chart = replace(chart, curve=Curve(x, y, levels=levels, known=known, old=old, is_path=True))
    cross = zoom.crosshair
    if cross is None:
        return chart
    at = row(cross, "right") - 1
    if at < 0 or steps[at] != cross:
        return chart
    words = f"{run.step_word} {cross:,}"
    return replace(chart, crosshair=float(x[at]), point=(at, words))


def _continuation(
    series: Series, projection: Projection | None, sign: float
) -> Continuation | None:
    steps, values = series.finite()
    if projection is None or not len(steps):
        return None
    limit = projection.limit * (1.0 if sign >= 0 else -1.0)
    newest = float(steps[-1]), float(values[-1])
    return Continuation(*newest, limit, projection.earliest, projection.latest)


def _curve(
    run: JudgedRun,
    series: Series,
    band: tuple[str, str] | None,
    axis: Axis,
    exact: bool,
    axis_name: str,
) -> Curve:
    """The curve of the run with its levels, and dimmed under it the points that a restart
    superseded, else the reference run."""
    to_x = axis.place
    tag = series.tag
    judgement = run.verdict.judgement(series.tag)

    def drawn(points: Series) -> XY:
        outline = None if exact else marked_runs.outline_of(run, points)
        if outline is None:
            return axis.places(points.steps), points.values
        return axis.places(points.steps[outline.index]), points.values[outline.index]

    if series.superseded:
        steps, _, values = series.old_points
        old: XY | None = (axis.places(steps), values)
    else:
        old = marked_runs.reference_points(run, series, axis, axis_name)
    whole = None if exact else marked_runs.outline_of(run, series)
    low, high = [drawn(run.shown(t)) for t in band] if band else (None, None)
    levels = [
        (to_x(since), None if until is None else to_x(until), level)
        for since, until, level in episodes(run, tag)
    ]

    return Curve(
        *drawn(series),
        low=low,
        high=high,
        levels=levels,
        known=bool(judgement.rules) or judgement.level is not Level.UNKNOWN or not levels,
        mean=None if whole is None else (axis.places(series.steps[whole.centres]), whole.means),
        old=old,
    )


def _healthy(limits: Sequence[health.Limit]) -> tuple[float | None, float | None] | None:
    """The range inside of the mildest limit; None where it has no end."""
    shown = limits[0].shown if limits else (None, None)
    return None if shown == (None, None) else shown


def _limits(known: Sequence[health.Limit], projection: Projection | None) -> list[Limit]:
    """The lines of the healthy range and of the bad limits, which the y range need not hold. The
    text of a limit that the trend will cross says when."""
    out = []
    for rank, limit in enumerate(known):
        for above, value in enumerate(limit.shown):
            if value is None:
                continue
            text = sentences.edge_words(limit, value, above=bool(above))
            if not rank and projection is not None and abs(projection.limit) == abs(value):
                text += f", at about {steps_words(projection)}"
            token = Token.MUTED if limit.level is Level.BAD else Token.OK
            out.append(Limit(value, text, token, sought=not rank))
    return out


def _bars(run: JudgedRun, tag: str, to_x: Callable[[float], float]) -> list[Bar]:
    """Findings as bars in the same order under every chart: by when they began. The state of a run
    is in its header and gets none."""
    found = [f for f in run.findings if f.since_step is not None and f.tag is not None]
    own_axis = has_own_axis(run, tag)
    found = [
        f for f in found if f.is_about(tag) or not (own_axis or has_own_axis(run, f.tag or ""))
    ]
    found.sort(key=lambda f: (f.since_step or 0, f.title, f.tag or ""))

    return [
        Bar(
            f.title,
            f.level,
            to_x(f.since_step or 0),
            None if f.until_step is None else to_x(f.until_step),
            not f.fires,
            f.is_about(tag),
        )
        for f in found
    ]


def _marks(run: JudgedRun, tag: str, to_x: Callable[[float], float]) -> tuple[list[ChartMark], str]:
    """The events of the run, and the name of their line: "val" for evaluations alone. None for a
    tag with steps of its own."""
    found = [] if has_own_axis(run, tag) else timeline(run)
    letters = {h.letter for h in found}
    title = "val" if letters == {"v"} else "events" if letters else "restart"
    return [ChartMark(to_x(h.step), h.letter) for h in found], title


def statistics(run: JudgedRun, tag: str, view: View, zoom: Zoom) -> Statistics:
    """(name, value, where) of the visible points, for a table; kept until the run changes."""
    key = ("statistics", tag, view.smooth, zoom.window)
    return kept(run, key, lambda: _facts(run, tag, view.smooth, zoom.window))


def statistics_in_line(run: JudgedRun, tag: str, view: View, zoom: Zoom) -> list[tuple[str, str]]:
    """The statistics as (name, value), the most important first."""
    known = {
        name: value if name == "points" else f"{value} {where}".rstrip()
        for name, value, where in statistics(run, tag, view, zoom)
    }
    return [(name, known[name]) for name in _LINE if name in known]


def _facts(
    run: JudgedRun, tag: str, weight: float, window: tuple[float, float] | None
) -> Statistics:
    series = run.shown(tag)
    extent = extent_of(run, series)
    inside = slice(None)
    if window is not None:
        extent, inside = extent_between(series, *window)
    values = series.values[inside]
    newest = numbers.on_scale(float(values[-1]), extent.size) if len(values) else None
    facts = [("newest", numbers.value(newest), "")]
    if weight:
        known = series.values[: inside.stop]
        finite = known[np.isfinite(known)].astype(np.float64)
        smoothed = float(smooth(finite, weight)[-1]) if len(finite) else None
        facts.append(("smoothed", numbers.value(smoothed), ""))
    if extent.low and extent.high:
        middle = _median(run, series) if window is None else median(values[np.isfinite(values)])
        facts += [("mean", numbers.value(extent.mean), ""), ("median", numbers.value(middle), "")]
        for name, (step, value) in (("min", extent.low), ("max", extent.high)):
            facts.append((name, numbers.value(value), f"at {run.step_word} {numbers.step(step)}"))
        facts.append(("start", numbers.value(extent.start), ""))
    if window is None and (change := change_of(run, tag)) is not None:
        difference, rows = change
        base = f"from the median of {rows} rows"
        facts.append(("change", numbers.change(0, difference), base))
    facts.append(("points", numbers.step(extent.points), "" if extent.nonfinite else "no NaN"))

    if extent.nonfinite:
        facts.append(("NaN or Inf", numbers.step(extent.nonfinite), ""))
    if series.old_count:
        facts.append(("superseded", numbers.step(series.old_count), "by a restart"))

    return facts


def _median(run: JudgedRun, series: Series) -> float:
    """The median; that of a long series is computed again once it has grown by a hundredth."""

    def make(series: Series) -> tuple[int, float]:
        return series.count, median(series.finite()[1])

    def extend(known: tuple[int, float], longer: Series) -> tuple[int, float]:
        return known if known[0] >= LONG and longer.count <= 1.01 * known[0] else make(longer)

    return _MEDIANS.of(run).get(series, make, extend=extend)[1]
