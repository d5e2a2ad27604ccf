"""The charts of a comparison: the row at the cursor over the others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rltui.draw.chart.chart_model import XY
from rltui.draw.chart.render import Chart, Curve, render
from rltui.draw.line import MUTED, RULE, RUN_TOKENS, TITLE, Line, Token, beside, indented
from rltui.draw.view import View, missing_on
from rltui.facts.comparison import Column, Comparison, Row
from rltui.facts.groups import run_labels, slot_sign
from rltui.facts.x_axis import KINDS, Axis, axes_of, axis_of, bundle
from rltui.pages.metric.overlays import Trace, band_of, trace_of

#: From this width two charts stand side by side.
_TWO_CHARTS = 150


class Curves:
    """The curves and charts of a comparison, each made once."""

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison
        rows = comparison.rows
        labels = [(r.name, "") for r in rows]
        if comparison.grouping is None:
            labels = run_labels(comparison.sweep)
        self.labels = {r.id: label for r, label in zip(rows, labels, strict=True)}
        """The name and the note of each row in the legend."""
        self._curves: dict[object, Curve | None] = {}
        self._bands: dict[object, tuple[XY, XY] | None] = {}
        self._charts: dict[object, list[Line]] = {}

    def of(self, row: Row, metric: Column, axis: Axis, view: View) -> Curve | None:
        """The curve of a run, or the mean of a group with its band; None without points."""
        key = (row.id, metric, view.axis, axis.kind, view.smooth > 0)
        if key not in self._curves:
            self._curves[key] = _curve(self.comparison, row, metric, axis, view)
        return self._curves[key]

    def banded(self, here: Row | None) -> list[Row]:
        """The rows without a line of their own: those without a colour but for ``here``."""
        return [r for r in self.comparison.rows if r.slot >= len(RUN_TOKENS) and r is not here]

    def band(
        self, metric: Column, here: Row | None, axis: Axis, view: View
    ) -> tuple[XY, XY] | None:
        """Lowest and highest of the rows without a line of their own."""
        rows = self.banded(here)
        key = (metric, tuple(r.id for r in rows), view.axis, axis.kind)
        if key not in self._bands:
            curves = [self.of(row, metric, axis, view) for row in rows]
            found = [c.mean or (c.x, c.y) for c in curves if c is not None]
            points = [(np.asarray(x, np.float64), np.asarray(y, np.float64)) for x, y in found]
            self._bands[key] = band_of(points)
        return self._bands[key]

    def chart(
        self, metric: Column, here: Row | None, view: View, width: int, height: int
    ) -> list[Line]:
        """The chart of one metric, with its title, in ``width`` x ``height`` cells: the row
        ``here`` as the curve, five others as lines, the rest as a band."""
        key = (metric, here, view, width, height)
        if key not in self._charts:
            title = _title(self.comparison, metric, len(self.banded(here)), view, width)
            lines = render(self._chart(metric, here, view), width, height - 1, view.glyphs)
            self._charts[key] = [title, *lines]
        return self._charts[key]

    def _chart(self, metric: Column, here: Row | None, view: View) -> Chart:
        words, axis = view.glyphs.text, _axis(self.comparison, metric, here, view)
        lines: list[Curve] = []
        for row in self.comparison.rows:
            if row is here or row.slot >= len(RUN_TOKENS):
                continue
            found = self.of(row, metric, axis, view)
            if found is not None:
                sign, token = slot_sign(row.slot), RUN_TOKENS[row.slot]
                name, note = map(words, self.labels[row.id])
                band = (found.low, found.high)
                lines.append(Curve(found.x, found.y, token, name, note, sign, *band, found.mean))
        own = None if here is None else self.of(here, metric, axis, view)

        if own is None:
            own = Curve(np.empty(0), np.empty(0))
        elif here is not None:
            token = (*RUN_TOKENS, Token.STRONG)[min(here.slot, len(RUN_TOKENS))]
            own = replace(own, token=token, sign=slot_sign(here.slot))
        name, note = ("", "") if here is None else self.labels[here.id]

        return Chart(
            curve=own,
            label=words(name),
            note=words(note),
            overlays=sorted(lines, key=lambda o: RUN_TOKENS.index(o.token)),
            envelope=self.band(metric, here, axis, view),
            x_kind=axis.kind,
            x_unit=axis.unit,
            smooth=view.smooth,
            log=view.log_y,
            clip=view.outliers,
        )


def comparison_charts(
    curves: Curves, chosen: int, here: Row | None, view: View, width: int, height: int
) -> list[Line]:
    """The chart of the metric ``chosen``, and beside it the next one where there is room."""
    metrics = curves.comparison.columns[chosen : chosen + 2]
    margin = 2 if width >= 110 else 1
    if not metrics:
        return []
    if width < _TWO_CHARTS or len(metrics) < 2:
        width -= margin + 1
        return indented(curves.chart(metrics[0], here, view, width, height), margin)
    half = (width - margin - 4) // 2
    first, second = (curves.chart(m, here, view, half, height) for m in metrics)

    return indented(beside(first, second, half, 3, height), margin)


def _title(comparison: Comparison, metric: Column, banded: int, view: View, width: int) -> Line:
    words = view.glyphs.text
    line: Line = [(f"{words(metric.title)} ", TITLE)]
    notes = [words(metric.info.unit)]

    if comparison.grouping is not None:
        notes.append("mean and standard deviation over runs")
    if banded:
        notes.append(f"{banded} of {len(comparison.rows)} in the band")
    missing = sum(r.key not in metric.tags for r in comparison.runs)

    if missing:
        notes.append(f"not logged by {missing} run{'s' if missing > 1 else ''}")
    notes.append(words(_off_axis_words(comparison, metric, view)))
    note = "  ".join(x for x in notes if x)
    line += [(f"{note} ", MUTED)] if note else []
    used = sum(len(text) for text, _ in line)
    line.append((view.glyphs.rule * max(0, width - used - 1), RULE))

    return line


def _off_axis_words(comparison: Comparison, metric: Column, view: View) -> str:
    """Which runs are not drawn, for they lack what the axis counts."""
    having = [r for r in comparison.runs if r.key in metric.tags]
    lost = [r for r in having if view.axis not in axes_of(r)]
    if not lost or len(lost) == len(having):
        return ""
    who = f"{lost[0].name} has" if len(lost) == 1 else f"{len(lost)} runs have"
    return f"{who} no {missing_on(view.axis)}"


def _axis(comparison: Comparison, metric: Column, here: Row | None, view: View) -> Axis:
    """The axis of the runs: that of the first one that has what the axis counts."""
    first = here.runs if here is not None else ()
    runs = [r for r in (*first, *comparison.runs) if r.key in metric.tags]
    found = (axis_of(r, r.shown(metric.tags[r.key]), view.axis) for r in runs)
    wanted = next((a for a in found if a.kind == KINDS[view.axis]), None)
    if wanted is not None or not runs:
        return wanted or Axis()
    return axis_of(runs[0], runs[0].shown(metric.tags[runs[0].key]), view.axis)


def _curve(
    comparison: Comparison, row: Row, metric: Column, axis: Axis, view: View
) -> Curve | None:
    """The curve of a run, or the mean of a group with its band."""
    traces: list[Trace] = []
    for run in row.runs:
        tag = metric.tags.get(run.key)
        trace = None if tag is None else trace_of(run, tag, view, axis.kind)
        if tag is not None and trace is not None:
            traces.append(trace.scaled(run.infos[tag].factor_to(metric.info)))
    if not traces:
        return None
    if comparison.grouping is None:
        return Curve(*traces[0].points, mean=traces[0].mean)
    gathered = bundle([t.mean or t.points for t in traces])
    if gathered is None or len(traces) < 2:
        return None if gathered is None else Curve(gathered.x, gathered.mean)
    below, above = gathered.spread()

    return Curve(gathered.x, gathered.mean, low=(gathered.x, below), high=(gathered.x, above))
