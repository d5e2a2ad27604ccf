"""The table and the charts of a comparison: one line, and one curve, for each run or group."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from rltui.core.level import Level
from rltui.core.text import cell_width, counted, fit, pad, spaced
from rltui.draw.chart.chart_model import XY, Chart, Curve
from rltui.draw.chart.render import render
from rltui.draw.chart.trace import smooth
from rltui.draw.line import (
    CHOSEN_HEAD,
    LEVEL_LOOK,
    MUTED,
    RULE,
    RUN_TOKENS,
    STRONG,
    TEXT,
    TITLE,
    Block,
    Entry,
    Line,
    Span,
    Token,
    badge_span,
    fit_line,
    indented,
    line_width,
    longest,
    margin_of,
    row_entry,
    slot_look,
    with_ground,
)
from rltui.draw.marked_runs import Trace, band_of, trace_of, weight_of
from rltui.draw.prose import distinct, paragraph
from rltui.draw.table import Cells, Table
from rltui.draw.view import View, missing_on
from rltui.facts import numbers
from rltui.facts.comparison import (
    Comparison,
    MetricColumn,
    RowId,
    RunRow,
    ends_words,
    group_words,
    verdict_words,
    window_words,
)
from rltui.facts.groups import slot_sign
from rltui.facts.x_axis import KINDS, Axis, against_words, axes_of, axis_of, bundle
from rltui.pages.comparison.tables import Matrix, visible
from rltui.session import JudgedRun
from rltui.store import Series

Made = TypeVar("Made")
#: Cells of a metric: the value and the sign of the best; more for a long title.
_METRIC = numbers.ALIGNED_WIDTH + 1
_WIDEST = 19
#: Cells of the verdict, at most; of sign and badge.
_VERDICT = 28
_SIGNS = 4
#: Right of the chosen metric: cells of the difference, and of what is read at the crosshair, the
#: average and the step of the point.
_DIFFERENCE = 12
_AVERAGE = 11
_SEEN = 10


class ShownMetric(NamedTuple):
    """A metric of a comparison as it is drawn."""

    comparison: Comparison
    metric: MetricColumn
    here: RunRow | None
    """The row at the cursor."""
    view: View

    def axis(self) -> tuple[Axis, Series]:
        """The axis of the runs, and a series on it: those of the first one that has what the axis
        counts."""
        known = [(run, run.shown(tag)) for run, tag in self.tags()]
        axes = [(axis_of(run, series, self.view.axis), series) for run, series in known]
        kind = KINDS.get(self.view.axis, "number")
        first = next(iter(axes), (Axis(), Series.empty("")))
        return next((found for found in axes if found[0].kind == kind), first)

    def tags(self) -> list[tuple[JudgedRun, str]]:
        """The runs that have the metric, with its tag, that at the cursor first."""
        runs = (*(self.here.runs if self.here is not None else ()), *self.comparison.runs)
        return [(run, self.metric.tags[run.key]) for run in runs if run.key in self.metric.tags]


class ComparisonTable:
    """The table at one width: one line for each run or group, and of the metrics those around the
    ``chosen`` one that fit."""

    def __init__(self, comparison: Comparison, chosen: int, width: int, view: View) -> None:
        self._comparison = comparison
        self._chosen = chosen
        self._width = width
        self._view = view
        self._margin = margin_of(width)
        most = _VERDICT if width >= 120 else 18 if width >= 100 else 0
        words = [*map(verdict_words, comparison.rows), "verdict"]
        sizes = {"verdict": min(most, longest(words) + 1), "step": 7 if width >= 80 else 0}
        read = {"apart": _DIFFERENCE} if width >= 60 else {}
        if comparison.cross is not None and width >= 76:
            read |= {"average": _AVERAGE, "seen": _SEEN}
        names = longest([r.name for r in comparison.rows], 8)
        rest = width - self._margin - 1 - Table(sizes | read, lead=_SIGNS).width
        name = max(7, min(names, rest - _METRIC - 2, max(19, rest // 2)))
        widths = [min(_WIDEST, max(_METRIC, cell_width(c.title) + 1)) for c in comparison.columns]
        first, end = visible(widths, chosen, rest - name - 1)

        if end - first == len(widths) and names > name:
            name = min(names, rest - sum(widths) - len(widths) - 1)
        self._visible = {str(index): comparison.columns[index] for index in range(first, end)}
        """The visible metrics by their columns."""
        sizes = {"name": name} | sizes
        for index in range(first, end):
            sizes |= {str(index): widths[index]} | (read if index == chosen else {})
        self._columns = Table(sizes, dict.fromkeys(["step", *self._visible], ">"), _SIGNS)

    def head(self) -> Line:
        """The heads of the columns."""
        comparison = self._comparison
        columns = self._columns
        grouped = comparison.grouping is not None
        cells: Cells = {
            "verdict": ("verdict", MUTED),
            "step": ("runs" if grouped else "step", MUTED),
            "average": (f"smooth {numbers.short(weight_of(self._view))}", MUTED),
            "seen": ("seen at", MUTED),
        }
        for name, metric in self._visible.items():
            here = name == str(self._chosen)
            look = CHOSEN_HEAD if here else MUTED
            title = fit(metric.title, columns[name] - 1)
            blank = " " * (columns[name] - 1 - cell_width(title))
            cells[name] = [(blank, TEXT), (title, look)]
            if here:
                base, word = comparison.base(metric)
                cells["apart"] = "± over runs" if grouped else "" if base is None else word, MUTED
        what = "Group" if grouped else "Run"
        rule = "─" * (columns["name"] + 3 - len(what))
        signs: Line = [(" " * self._margin, TEXT), (f"{what} ", TITLE), (f"{rule} ", RULE)]

        return columns.line(signs, cells)

    def entries(self, rows: list[RunRow]) -> list[Entry[RowId]]:
        """One entry per row."""
        cut = distinct(tuple(r.name for r in rows), self._columns["name"])
        cells = self._width - self._margin - 1
        margin = self._margin
        best = {name: self._comparison.best(metric) for name, metric in self._visible.items()}
        return [
            row_entry(row.id, partial(self._line, row, name, best), cells, margin)
            for row, name in zip(rows, cut, strict=True)
        ]

    def _line(self, row: RunRow, name: str, best: Mapping[str, float | None], cursor: bool) -> Line:
        """Sign, badge, name, verdict and step of a row, then its metrics."""
        glyphs = self._view.glyphs
        level = row.level
        alarm = row.level >= Level.WATCH
        comparison = self._comparison
        look = TITLE if cursor else STRONG if alarm else TEXT
        last = row.runs[0].progress.last_step if row.runs[0].progress else None
        steps = str(len(row.runs)) if isinstance(row.id, str) else numbers.step(last)
        verdict = verdict_words(row)
        cells: Cells = {
            # the blanks have a look of their own: 16 colours reverse the name at the cursor
            "name": [(fit(name, self._columns["name"]), look)],
            "verdict": (verdict, LEVEL_LOOK[level] if alarm else MUTED),
            "step": (steps, MUTED),
        }
        for column, metric in self._visible.items():
            value = comparison.value(row, metric)
            found = best[column]
            is_best = found is not None and value == found
            # in the row at the cursor bold is the look of the name, which 16 colours reverse
            strong = TITLE if is_best and not cursor else STRONG
            text = numbers.aligned(value)
            text = pad(f"{text.rstrip()}*" if is_best else text, _METRIC)
            cells[column] = text, strong if is_best or found is None else TEXT
            if column == str(self._chosen):
                cells["apart"] = _difference(comparison, row, metric), MUTED
                cells |= self._reading(row, metric)
        sign = f"{slot_sign(row.slot)} ", slot_look(row.slot)
        return self._columns.line([sign, badge_span(level, glyphs)], cells)

    def _reading(self, row: RunRow, metric: MetricColumn) -> dict[str, Span]:
        """The average at the crosshair and the step of the newest point there; of a group the mean
        of the averages, and how many of its runs go on there, if any."""
        if not self._columns["seen"]:
            return {}
        cross = self._comparison.cross
        weight = weight_of(self._view)
        found = [metric.reading(r, cross) for r in row.runs] if cross is not None else []
        known = [r for r in found if r is not None]
        mean = np.mean([smooth(r.recent, weight)[-1] for r in known]) if known else None
        last = max(known, key=lambda r: r.seen, default=None)
        seen = last.seen_words if last is not None else ""
        if len(row.runs) > 1 and (going := sum(not r.is_over for r in known)):
            seen = counted(going, "run")
        return {"average": (numbers.aligned(mean), TEXT), "seen": (seen, MUTED)}


def _difference(comparison: Comparison, row: RunRow, metric: MetricColumn) -> str:
    """The spread of a group, or how far a run is from the best or from the reference."""
    if comparison.grouping is not None:
        return comparison.spread_words(row, metric)
    base, word = comparison.base(metric)
    value = comparison.value(row, metric)
    if base is None or value is None or not math.isfinite(value - base):
        return ""
    difference = value - base
    if not difference:
        return word.removeprefix("to ")

    return numbers.signed(difference)


def comparison_header(
    comparison: Comparison, total: int, label: str, order: str, width: int
) -> Line:
    """Line 1: how many runs, what they are grouped and ranked by."""
    shown = len(comparison.runs)
    words = f"{shown} of {total} runs" if shown < total else f"{shown} runs"
    line: Line = [(" Compare ", TITLE), (f" {label}  {words}", TEXT)]
    line.append((f"  by {order}, {window_words(comparison.cross)}   * best", MUTED))
    if comparison.grouping is not None:
        groups = counted(len(comparison.grouping.groups), "group")
        line.append((f"  {groups} by {comparison.grouping.title}", TEXT))
    return with_ground(fit_line(line, width), Token.RAISED)


def lines_of_words(shown: ShownMetric, width: int, height: int) -> Block:
    """All sentences in at most ``height`` lines of ``width`` cells."""
    comparison, metric, here, _ = shown
    found = (
        group_words(comparison, comparison.ordered("metric", metric), metric, here),
        ends_words(comparison),
    )
    text = spaced(*found, by="; ")
    margin = margin_of(width)
    lines = paragraph(text, width - margin - 1, MUTED, limit=height) if text else []

    return indented(lines, margin)


class Curves:
    """Makes the curves and charts of a comparison, each once."""

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison
        rows = comparison.rows
        labels = [(r.name, "") for r in rows]
        if comparison.grouping is None:
            labels = comparison.sweep.labels
        self.labels = {r.id: label for r, label in zip(rows, labels, strict=True)}
        """The name and the note of each row in the legend."""
        self._made: dict[object, Any] = {}

    def _once(self, make: Callable[[], Made], *key: object) -> Made:
        if key not in self._made:
            self._made[key] = make()
        made: Made = self._made[key]
        return made

    def matrix(self, metric: MetricColumn) -> Matrix | None:
        """One metric of the groups; None without groups."""
        comparison = self.comparison
        grouping = comparison.grouping
        if grouping is None:
            return None
        make = partial(Matrix, comparison, grouping, metric)
        return self._once(make, metric, comparison.cross)

    def of(self, row: RunRow, axis: Axis, shown: ShownMetric) -> Curve | None:
        """The curve of a run, or the mean of a group with its band; None without points."""
        _, metric, _, view = shown
        make = partial(_curve, row, axis, shown)
        return self._once(make, row.id, metric, view.axis, axis.kind, view.smooth > 0)

    def banded(self, here: RunRow | None) -> list[RunRow]:
        """The rows without a line of their own: those without a colour but for ``here``."""
        return [r for r in self.comparison.rows if r.slot >= len(RUN_TOKENS) and r is not here]

    def band(self, axis: Axis, shown: ShownMetric) -> tuple[XY, XY] | None:
        """Lowest and highest of the rows without a line of their own."""
        rows = self.banded(shown.here)

        def make() -> tuple[XY, XY] | None:
            curves = [self.of(row, axis, shown) for row in rows]
            found = [c.mean or (c.x, c.y) for c in curves if c is not None and not c.is_path]
            points = [(np.asarray(x, np.float64), np.asarray(y, np.float64)) for x, y in found]
            return band_of(points)

        return self._once(make, shown.metric, *(r.id for r in rows), shown.view.axis, axis.kind)

    def chart(self, shown: ShownMetric, width: int, height: int) -> Block:
        """The chart of one metric, with its title, in ``width`` x ``height`` cells: the row
        ``here`` as the curve, five others as lines, the rest as a band."""
        cross = self.comparison.cross

        def make() -> Block:
            title = _title(shown, len(self.banded(shown.here)), width)
            chart = self._chart(shown)
            if cross is not None:  # the table reads it
                at = np.flatnonzero(np.asarray(chart.curve.x) == cross.x)
                point = (int(at[-1]), "") if len(at) and chart.curve.is_path else None
                chart = replace(chart, crosshair=cross.x, point=point, told=True)
            return [title, *render(chart, width, height - 1, shown.view.glyphs)]

        return self._once(make, *shown[1:], cross, width, height)

    def _chart(self, shown: ShownMetric) -> Chart:
        _, _, here, view = shown
        axis, _ = shown.axis()

        def drawn(row: RunRow) -> Curve | None:
            found = self.of(row, axis, shown)
            token = (*RUN_TOKENS, Token.STRONG)[min(row.slot, len(RUN_TOKENS))]
            name, note = self.labels[row.id]
            sign = slot_sign(row.slot)
            return found and replace(found, token=token, label=name, note=note, sign=sign)

        banded = self.banded(None)
        named = [r for r in self.comparison.rows if r is not here and r not in banded]
        lines = [c for c in map(drawn, named) if c is not None]
        unnamed = (self.of(row, axis, shown) for row in self.banded(here))
        faint = [replace(c, token=Token.BAND) for c in unnamed if c is not None and c.is_path]
        own = None if here is None else drawn(here)
        name, note = ("", "") if here is None else self.labels[here.id]

        return Chart(
            curve=own or Curve(np.empty(0), np.empty(0)),
            label=name,
            note=note,
            overlays=[*sorted(lines, key=lambda o: RUN_TOKENS.index(o.token)), *faint],
            envelope=self.band(axis, shown),
            x_kind=axis.kind,
            x_unit=axis.unit,
            smooth=view.smooth,
            log=view.log_y,
            clip=view.outliers,
        )


def _title(shown: ShownMetric, banded: int, width: int) -> Line:
    comparison, metric, _, view = shown
    axis, series = shown.axis()
    line: Line = [(f"{metric.title} ", TITLE)]
    notes = [metric.info.unit, against_words(axis, series)]

    if comparison.grouping is not None:
        notes.append(f"mean{' ± sd' * axis.grows} of the runs that got there")
    if banded:
        place = "the band" if axis.grows else "grey"
        notes.append(f"{banded} of {len(comparison.rows)} in {place}")
    having = [r for r in comparison.runs if r.key in metric.tags]
    missing = len(comparison.runs) - len(having)

    if missing:
        notes.append(f"not logged by {counted(missing, 'run')}")
    lost = [r for r in having if view.axis not in axes_of(r, view.axis)]
    if 0 < len(lost) < len(having):
        who = f"{lost[0].name} has" if len(lost) == 1 else f"{len(lost)} runs have"
        notes.append(f"{who} no {missing_on(view.axis)}")
    note = spaced(*notes)
    line += [(f"{note} ", MUTED)] if note else []
    line.append(("─" * (width - line_width(line) - 1), RULE))

    return line


def _curve(row: RunRow, axis: Axis, shown: ShownMetric) -> Curve | None:
    """The curve of a run, or the mean of a group with its band."""
    comparison, metric, _, view = shown
    traces: list[Trace] = []
    for run in row.runs:
        tag = metric.tags.get(run.key)
        trace = None if tag is None else trace_of(run, tag, view, axis.kind)
        if tag is not None and trace is not None:
            traces.append(trace.scaled(run.infos[tag].factor_to(metric.info)))
    if not traces:
        return None
    if comparison.grouping is None:
        return traces[0].curve
    if any(t.steps is not None for t in traces):
        # at each step the mean of both x and y over the runs
        paths = [(t.steps.astype(float), *t.points) for t in traces if t.steps is not None]
        known = [(steps, np.where(np.isfinite(y), x, np.nan), y) for steps, x, y in paths]
        across, up = (bundle([(p[0], p[n]) for p in known]) for n in (1, 2))
        return None if across is None or up is None else Curve(across.mean, up.mean, is_path=True)

    gathered = bundle([t.mean or t.points for t in traces])
    if gathered is None:
        return None
    if len(traces) < 2:
        return Curve(gathered.x, gathered.mean)
    below, above = gathered.spread()

    return Curve(gathered.x, gathered.mean, low=(gathered.x, below), high=(gathered.x, above))
