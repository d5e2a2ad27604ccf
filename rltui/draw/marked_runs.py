"""Other runs in the chart of a metric: the marked ones, the reference, rows that share a chart, and
what all of them have at the crosshair: as a table, or in one line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from rltui.core.block import IntArray
from rltui.core.level import Level
from rltui.core.record import entity
from rltui.draw.chart.chart_model import XY, Chart, Curve
from rltui.draw.chart.foot import legend_lines
from rltui.draw.chart.trace import COARSE, LONG, LONG_COARSE, Outline, smooth
from rltui.draw.line import (
    ACCENT_BOLD,
    MUTED,
    RUN_TOKENS,
    STRONG,
    TEXT,
    TITLE,
    Block,
    Line,
    Token,
    alarm_look,
    column,
    fit_line,
    line_width,
    longest,
    style,
)
from rltui.draw.prose import distinct
from rltui.draw.table import Cells, Table, table_for
from rltui.draw.view import View
from rltui.facts import numbers, x_axis
from rltui.facts.cache import RunSeriesCache, kept
from rltui.facts.comparison import Crosshair, Reading, reading_at
from rltui.facts.groups import Sweep, slot_of, slot_sign
from rltui.facts.metrics import twin_of
from rltui.session import JudgedRun
from rltui.store import Series

_OUTLINES: RunSeriesCache[Outline] = RunSeriesCache()
#: Weight of the averages as long as the user has chosen none.
WEIGHT = 0.6
#: Cells of line and sign.
_SAMPLE = 4
_LAYOUTS = """
   name value average apart seen
60  1*   12     11     12   11
 0  1*   12      -     12    -
"""
#: The name at least and at most, and what stands beside it where all is in one line.
_NAME = 10
_WIDEST = 40
_LEFT = 12
#: Lines of a chart that spares some for the table, and the percent of them that it may take.
_ROOM = 10
_SHARE = 40


@entity
class Trace:
    """The line of a tag in a chart of several."""

    points: x_axis.Points
    """All points, or the outline of a long series."""
    mean: x_axis.Points | None = None
    """The block means of a long series."""
    steps: IntArray | None = None
    """The steps of the points where these are in their order, not in that of x."""

    @property
    def curve(self) -> Curve:
        """Curve of the trace in a chart."""
        return Curve(*self.points, mean=self.mean, is_path=self.steps is not None)

    def scaled(self, factor: float) -> Trace:
        """The line in another unit."""
        if factor == 1:
            return self
        x, y = self.points
        mean = self.mean
        mean = None if mean is None else (mean[0], mean[1] * factor)
        return Trace((x, y * factor), mean, self.steps)


def trace_of(
    run: JudgedRun, tag: str, view: View, kind: str, *, exact: bool = False
) -> Trace | None:
    """The line of a tag, on an axis of the ``kind``; with ``exact``, or smoothed, all of its
    points."""
    series = run.shown(tag)
    own = x_axis.axis_of_kind(run, series, view.axis, kind)
    if own is None:
        return None
    exact = exact or view.smooth > 0 or not own.grows
    outline = None if exact else outline_of(run, series, coarse=True)
    if outline is None:
        steps, x, y = own.placed(series)
        return Trace((x, y), steps=None if own.grows else steps)
    index = outline.index
    centres = outline.centres
    points = own.places(series.steps[index]), series.values[index].astype(np.float64)

    return Trace(points, (own.places(series.steps[centres]), outline.means))


class Compared(NamedTuple):
    """A run in the chart of a metric, or another row of the same run."""

    run: JudgedRun
    tag: str
    """The metric in this run."""
    factor: float
    """To the unit of the chart."""
    name: str
    note: str
    sign: str
    token: Token | None
    """None for a run that only the band shows."""


def sweep_of(run: JudgedRun, view: View) -> Sweep:
    """The run and the other marked runs."""
    runs = [run, *(m.run for m in view.marked if m.run is not run)]
    key = tuple((r.key, r.name, r.hyperparameters.version, bool(r.settings)) for r in runs)
    return kept(run, ("sweep", key), lambda: Sweep(runs))


def charted(run: JudgedRun, tag: str, view: View) -> list[Compared]:
    """List what the chart of ``tag`` shows: the run itself, then the marked runs that have the
    metric, by slot, and the rows that share the chart."""
    labels = sweep_of(run, view).labels
    rows = _sharing(run, tag, view)
    marked_runs = [m for m in view.marked if m.run is not run]
    others = []
    for marked, (name, note) in zip(marked_runs, labels[1:], strict=True):
        other = x_axis.compared_tag(run, tag, marked.run)
        if other is not None:
            factor = marked.run.infos[other].factor_to(run.infos[tag])
            colour = RUN_TOKENS[marked.slot] if marked.slot < len(RUN_TOKENS) else None
            sign = slot_sign(marked.slot)
            others.append(Compared(marked.run, other, factor, name, note, sign, colour))

    name, note = labels[0]
    sign, token = _own(run, view)
    if rows and not others:
        name = row_label(run, tag)
        note = ""
        sign = slot_sign(sharing(run, tag, view).index(tag))
        token = Token.STRONG
    return [Compared(run, tag, 1.0, name, note, sign, token), *others, *rows]


def sharing(run: JudgedRun, tag: str, view: View) -> tuple[str, ...]:
    """Tags that share a chart with ``tag``, itself among them: those that the user chose; else, by
    itself, the other one of a pair, such as the held-out metric of one of the training."""
    if tag in view.shared or view.marked:
        return view.shared if tag in view.shared else ()
    twin = twin_of(run, tag)
    return () if twin is None else (tag, twin)


def _sharing(run: JudgedRun, tag: str, view: View) -> list[Compared]:
    """The other rows of the same run that share a chart with ``tag``, in the first free
    colours."""
    shared = sharing(run, tag, view)
    taken = {m.slot for m in view.marked}
    free = [token for slot, token in enumerate(RUN_TOKENS) if slot not in taken]
    own_axis = x_axis.has_own_axis(run, tag)
    tags = [t for t in shared if t != tag and t in run.infos]

    return [
        Compared(run, t, 1.0, row_label(run, t), "", slot_sign(shared.index(t)), token)
        for t, token in zip(tags, free, strict=False)
        if x_axis.has_own_axis(run, t) == own_axis
    ]


def row_label(run: JudgedRun, tag: str) -> str:
    """The name of a row in a legend, with its unit."""
    info = run.infos[tag]
    return f"{info.title} {info.unit}".rstrip()


def _lines_of(
    run: JudgedRun, tag: str, others: Sequence[Compared], view: View, *, exact: bool
) -> tuple[list[Curve], list[Trace]]:
    """Split the traces: those with a colour as lines, and all others."""
    kind = x_axis.axis_of(run, run.shown(tag), view.axis).kind
    lines = []
    rest = []

    for other in others:
        line = trace_of(other.run, other.tag, view, kind, exact=exact)
        if line is None:
            continue
        line = line.scaled(other.factor)
        if other.token is not None:
            name = other.name
            note = other.note
            sign = other.sign
            lines.append(replace(line.curve, token=other.token, label=name, note=note, sign=sign))
        else:
            rest.append(line)

    return lines, rest


def with_others(chart: Chart, run: JudgedRun, tag: str, view: View) -> Chart:
    """The chart of ``tag`` with the marked runs other than ``run`` in it, five as lines and more as
    a band, and the rows that share it. In an enlarged one no point is left out."""
    exact = chart.window is not None
    own, *others = charted(run, tag, view)
    lines, rest = _lines_of(run, tag, others, view, exact=exact)
    dots = [replace(t.curve, token=Token.BAND) for t in rest if t.steps is not None]
    lines += dots
    if rest:
        lines.append(_band_label(len(rest), "in grey" if dots else "as a band"))
    if chart.first is not None and chart.last is not None:
        ends = _ends(chart, run, tag, lines, view)
        chart = replace(chart, first=min([chart.first, *ends]), last=max([chart.last, *ends]))
    if not lines:
        return chart

    return replace(
        chart,
        curve=replace(chart.curve, token=own.token or Token.STRONG, sign=own.sign, known=True),
        label=own.name,
        note=own.note,
        overlays=tuple(lines),
        envelope=band_of([t.mean or t.points for t in rest if not dots]) or chart.envelope,
    )


def _ends(
    chart: Chart, run: JudgedRun, tag: str, lines: Sequence[Curve], view: View
) -> list[float]:
    """Where the other runs begin and end. Charts of other metrics stand beside this one, and have
    one range with it, but for tags with steps of their own."""
    if chart.x_kind == "step" and x_axis.has_own_axis(run, tag):
        return [float(x) for o in lines if len(o.x) for x in (o.x[0], o.x[-1])]
    ranges = (x_axis.range_of(m.run, "", view.axis, chart.x_kind) for m in view.marked)
    return [x for found in ranges if found is not None for x in found]


def marks_legend(run: JudgedRun, view: View, width: int) -> Line:
    """The run and the marked ones in one line, for charts without a legend of their own."""
    others = [m for m in view.marked if m.run is not run]
    labels = sweep_of(run, view).labels
    nothing = np.empty(0)
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


def _own(run: JudgedRun, view: View) -> tuple[str, Token]:
    """Sign and colour of the run whose chart it is."""
    slot = slot_of(view.marked, run)
    if slot is None:
        return "", Token.STRONG
    return slot_sign(slot), (*RUN_TOKENS, Token.STRONG)[min(slot, len(RUN_TOKENS))]


def _band_label(count: int, words: str = "as a band") -> Curve:
    """The entry of the legend for runs that only the band shows, or dots in its colour."""
    nothing = np.empty(0)
    return Curve(nothing, nothing, Token.BAND, f"{count} more {words}", is_band=True)


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
    run: JudgedRun, series: Series, axis: x_axis.Axis, axis_name: str
) -> x_axis.Points | None:
    """The points of the reference as far as this run has come, all of a path; None where it has
    none of the kind."""
    reference = run.reference
    info = run.infos[series.tag]
    if reference is None or reference is run:
        return None
    tag = x_axis.compared_tag(run, series.tag, reference)
    if tag is None:
        return None
    shown = reference.shown(tag)
    other = x_axis.axis_of_kind(reference, shown, axis_name, axis.kind)
    if other is None or other.grows != axis.grows:
        return None
    (_, x, y) = other.placed(shown)
    last = run.points.last_step if axis.grows else None
    here = slice(0, None if last is None else int(np.searchsorted(x, axis.place(last), "right")))
    factor = reference.infos[tag].factor_to(info)

    return (x[here], y[here] * factor) if len(x[here]) else None


def reference_envelope(
    run: JudgedRun, series: Series, axis: x_axis.Axis, axis_name: str
) -> tuple[XY, XY] | None:
    """Low and high of the noise of the reference; None where it has none."""
    found = reference_points(run, series, axis, axis_name) if axis.grows else None
    return None if found is None else x_axis.wander(found)


def outline_of(run: JudgedRun, series: Series, *, coarse: bool = False) -> Outline | None:
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


# -- at the crosshair -------------------------------------------------------------------


class _Row(NamedTuple):
    what: Compared
    reading: Reading | None

    @property
    def value(self) -> float:
        return math.nan if self.reading is None else self.reading.value


def told_lines(
    run: JudgedRun, tag: str, step: int | None, view: View, width: int, room: int
) -> Block:
    """The table below a chart that has ``room`` lines with it; see :func:`reading_lines`."""
    if step is None or room < _ROOM:
        return []
    lines = reading_lines(run, tag, step, view, width, max(3, room * _SHARE // 100))
    return [[], *lines] if lines and room >= 2 * _ROOM else lines


def weight_of(view: View) -> float:
    """The weight of the averages at a crosshair."""
    return view.smooth or WEIGHT


def reading_lines(
    run: JudgedRun, tag: str, step: int, view: View, width: int, height: int
) -> Block:
    """A head, and a line for each run in the chart of ``tag``: value, average, difference to the
    reference (without one, to ``run``), and the step where it was seen. At most ``height`` lines,
    else those with the nearest values; one line has values alone. Empty for a run that is alone.
    """
    what = charted(run, tag, view)
    base = run
    reference = run.reference
    other = None if reference is None else x_axis.compared_tag(run, tag, reference)
    if reference is not None and other is not None:
        base = reference
        if all(c.run is not base for c in what):
            factor = base.infos[other].factor_to(run.infos[tag])
            what.append(Compared(base, other, factor, base.name, "", "", Token.BAND))
    if len(what) < 2 or height < 1:
        return []

    cross = Crosshair.at(step, x_axis.axis_of(run, run.shown(tag), view.axis), view.axis)
    rows = [_Row(c, reading_at(c.run, c.tag, cross, c.factor)) for c in what]
    if height > 1:
        return _table(rows, _nearest(rows, base, height - 1, view), base, step, view, width)

    line: Line = []
    for count in range(len(rows), 0, -1):
        line = []
        shown = _nearest(rows, rows[0].what.run, count, view)
        names = distinct(tuple(r.what.name for r in shown), max(_NAME, width // count - _LEFT))
        for row, name in zip(shown, names, strict=True):
            line += [*_sample(row, view), (f"{name} ", TEXT)]
            line.append((f"{numbers.value(row.value)}   ", STRONG))
        if line_width(line) <= width:
            break
    rest = len(rows) - count
    return [fit_line([*line, (f"+{rest}" * bool(rest), MUTED)], width)]


def _nearest(rows: Sequence[_Row], base: JudgedRun, most: int, view: View) -> list[_Row]:
    """The first row, that of ``base`` and those with the nearest values, at most ``most``; in the
    order of the lines at the crosshair, or of the marks."""

    def distance(row: _Row) -> tuple[bool, float]:
        apart = abs(row.value - rows[0].value)
        is_fixed = row is rows[0] or row.what.run is base
        return not is_fixed, math.inf if math.isnan(apart) else apart

    shown = sorted(rows, key=distance)[:most]
    if view.by_value:
        return sorted(shown, key=lambda r: (math.isnan(r.value), -r.value))
    return [r for r in rows if r in shown]


def _sample(row: _Row, view: View) -> Line:
    """A piece of the line with its sign, as in a legend."""
    glyphs = view.glyphs
    token = row.what.token
    stroke = glyphs.limit if token in (None, Token.BAND) else glyphs.bar
    return [(f"{stroke} {row.what.sign or ' '} ", style(token or Token.BAND))]


def _table(
    rows: Sequence[_Row], shown: Sequence[_Row], base: JudgedRun, step: int, view: View, width: int
) -> Block:
    own = rows[0]
    origin = next(r for r in rows if r.what.run is base)
    more = len(rows) - len(shown)
    run = rows[0].what.run
    title = f"at {run.step_word} {numbers.step(step)}" + f"  +{more} more" * bool(more)
    names = [r.what.name + " (ref.)" * (r is origin is not own) for r in shown]
    columns = table_for(_LAYOUTS, width, _SAMPLE)
    room = min(max(_NAME, min(_WIDEST, columns["name"])), longest([*names, title], _NAME) + 1)
    columns = Table(columns.cells | {"name": room - 1}, lead=_SAMPLE)
    heads = {"value": "   value", "average": f"smooth {numbers.short(weight_of(view))}"}
    heads |= {"apart": "to this run" if origin is own else "to reference", "seen": "seen at"}
    above: Cells = {name: (words, MUTED) for name, words in heads.items()}
    lines = [columns.line([column(title, _SAMPLE + room, ACCENT_BOLD)], above)]

    for row, name in zip(shown, distinct(tuple(names), room - 1), strict=True):
        cells = _cells(row, origin, view)
        cells["name"] = name, STRONG if row is own else TEXT
        lines.append(columns.line(_sample(row, view), cells))
    return [fit_line(line, width) for line in lines]


def _cells(row: _Row, origin: _Row, view: View) -> Cells:
    """Value with badge, average, difference to ``origin``, and where it was seen."""
    reading = row.reading
    difference = numbers.MISSING
    if reading is None:
        blank = ("", MUTED)
        missing = (numbers.aligned(None), MUTED)
        return {"value": missing, "average": blank, "apart": blank, "seen": ("not yet", MUTED)}
    level = reading.level
    badge = f" {view.glyphs.badge(level)}" if level >= Level.WATCH else ""
    if row.what.run is not origin.what.run:
        difference = numbers.signed(reading.value - origin.value)
    average = float(smooth(reading.recent, weight_of(view))[-1])
    return {
        "value": (numbers.aligned(reading.value) + badge, alarm_look(level, TITLE)),
        "average": (numbers.aligned(average), TEXT),
        "apart": (difference, TEXT),
        "seen": (reading.seen_words, MUTED),
    }
