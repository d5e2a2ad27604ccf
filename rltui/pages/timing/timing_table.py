"""The stages of a step as a table: now, share, usual, drift, per token, sparkline."""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import numpy as np

from rltui.core.block import FloatArray, IntArray
from rltui.core.level import Level
from rltui.core.medians import median
from rltui.core.record import record
from rltui.core.text import cell_width, words_match
from rltui.draw.chart.axis import nice_ceil
from rltui.draw.chart.canvas import PlotSpan
from rltui.draw.chart.foot import axis_lines, foot_lines, label_width
from rltui.draw.chart.stack import LETTERS, Stack, stack_cells
from rltui.draw.line import (
    MUTED,
    RULE,
    STAGE_TOKENS,
    STRONG,
    TEXT,
    TITLE,
    Block,
    Entry,
    Line,
    alarm_look,
    badge_span,
    fixed,
    row_entry,
    style,
)
from rltui.draw.metric_chart import chart_of
from rltui.draw.table import Cells, Table, heading, table_for
from rltui.draw.view import View
from rltui.facts import numbers
from rltui.facts.timing import Anatomy, Cost, Stage
from rltui.facts.x_axis import axis_of, padded_end, span_of
from rltui.pages.run.metric_table import spark_head, spark_line
from rltui.session import JudgedRun
from rltui.session.limits import session_limits

#: Stages with a colour of their own; what is left shares the last one.
NAMED = 5
OTHER = len(STAGE_TOKENS) - 1
_STAGES = """
    name now. share>2 usual. drift per_token spark
100   26   10    8      10     8       12      *
 72   18   10    8      10     8        -      *
 50   4*   10    8       -     8        -      -
  0   4*   10    8       -     -        -      -
"""
_HEADS = {"now": "now, s", "share": "share", "usual": "usual", "middle": "p50", "most": "max"}
_HEADS |= {"drift": "drift", "per_token": "ms per token"}
#: Columns of a spread over samples.
SPREAD = "middle", "tail", "most"
#: Cells of the swatch and the badge before a row.
LEAD = 4
#: The plot ends at this quantile of its columns if higher ones would squeeze the rest.
_QUANTILE = 0.95
_SQUEEZED = 1.5
#: Cells of the y labels, at least; of the heading without its note.
_LABELS = 7
_HEADING = 14


def stage_columns(width: int) -> Table:
    """The columns of a table ``width`` cells wide."""
    return table_for(_STAGES, width, LEAD)


@record
class StageRow:
    """One row: a stage, what no stage accounts for, or the whole step."""

    tag: str | None
    title: str
    cost: Cost
    share: float = math.nan
    colour: int | None = None
    level: Level = Level.UNKNOWN
    per_token: tuple[float, bool] = (math.nan, True)
    """Milliseconds, and whether they were logged."""
    depth: int = 0
    spread: tuple[float, float, float] = (math.nan,) * 3
    """Median, tail and maximum over samples."""


def colours_of(anatomy: Anatomy) -> dict[str, int]:
    """Stage tag -> index of its colour. The longest stages of the average step have a colour of
    their own, in the order of the catalogue; a stage inside another has the colour of that."""
    longest = sorted(anatomy.parts, key=lambda s: -_sortable(anatomy.costs[s.tag].per_step))
    named = {s.tag for s in longest[:NAMED]}
    own = [s.tag for s in anatomy.parts if s.tag in named]
    out: dict[str, int] = {}
    for stage in anatomy.stages:
        if stage.depth:
            out[stage.tag] = out[stage.within]
        else:
            out[stage.tag] = own.index(stage.tag) if stage.tag in named else OTHER

    return out


def _sortable(number: float) -> float:
    return -1.0 if math.isnan(number) else number


def by_cost(anatomy: Anatomy) -> list[Stage]:
    """The stages, longest first, each followed by those inside it."""

    def inside(tag: str) -> list[Stage]:
        found = [s for s in anatomy.stages if s.within == tag]
        found.sort(key=lambda s: -_sortable(anatomy.costs[s.tag].per_step))
        return [x for s in found for x in (s, *inside(s.tag))]

    return inside("")


def stage_rows(run: JudgedRun, anatomy: Anatomy, text: str = "") -> list[StageRow]:
    """The rows whose title or tag passes the filter ``text``."""
    colours = colours_of(anatomy)
    rows = []
    for stage in by_cost(anatomy):
        tag = stage.tag
        cost = anatomy.costs[stage.tag]
        title = run.infos[tag].title + (f", 1 in {cost.every:,.0f}" if cost.every > 1 else "")
        level = run.verdict.tag_level(tag)
        per_token = anatomy.per_token(stage)
        share = anatomy.share(stage)
        rows.append(StageRow(tag, title, cost, share, colours[tag], level, per_token, stage.depth))
    if anatomy.total and anatomy.other > 0:
        share = anatomy.other / anatomy.length
        rows.append(StageRow(None, "other", Cost(anatomy.other, math.nan), share, OTHER))
    return with_whole(run, anatomy, rows, text)


def with_whole(run: JudgedRun, anatomy: Anatomy, rows: list[StageRow], text: str) -> list[StageRow]:
    """The rows that pass the filter ``text``, the whole step as the last of them."""
    if anatomy.total:
        level = run.verdict.tag_level(anatomy.total)
        rows.append(StageRow(anatomy.total, "whole step", anatomy.whole, level=level))
    return [r for r in rows if words_match(f"{r.title} {r.tag or ''}", text)]


def stage_entries(
    run: JudgedRun, rows: list[StageRow], columns: Table, view: View, margin: int
) -> list[Entry[str]]:
    """One entry per row."""
    entries: list[Entry[str]] = []
    for row in rows:
        draw = partial(stage_line, run, row, columns, view)
        entry = row_entry(row.tag or "", draw, columns.width, margin)
        entries.append(entry if row.tag else fixed(*entry.draw(False)))
    return entries


def stage_line(run: JudgedRun, row: StageRow, columns: Table, view: View, cursor: bool) -> Line:
    """One row, without the margin that holds the cursor bar."""
    glyphs = view.glyphs
    cost = row.cost
    level = row.level
    badge = ("  ", TEXT) if row.tag is None else badge_span(level, glyphs)
    swatch = "  ", TEXT
    if row.colour is not None:
        fill = LETTERS[row.colour] if glyphs.lettered else "█"
        swatch = f"{fill} ", style(STAGE_TOKENS[row.colour])
    calm = TITLE if cursor else MUTED if row.depth else TEXT
    look = STRONG if level >= Level.WATCH and not cursor else calm
    limit = session_limits().stages.slower
    is_material = cost.drift > limit or cost.drift < 1 / limit
    drift_look = alarm_look(level, STRONG if is_material else MUTED)
    value, logged = row.per_token
    per_token = numbers.aligned(_or_none(value))
    if not (logged or math.isnan(value)):
        per_token = f"{'~' + per_token.lstrip():>{len(per_token.rstrip())}}"
    cells: Cells = {
        "name": ("  " * row.depth + row.title, look),
        "now": (numbers.aligned(_or_none(cost.now)), alarm_look(level)),
        "share": (numbers.percent(_or_none(row.share), whole=True), TEXT),
        "usual": (numbers.aligned(_or_none(cost.usual)), MUTED),
        "drift": (numbers.factor(_or_none(cost.drift)), drift_look),
        "per_token": (per_token, MUTED),
    }
    for name, value in zip(SPREAD, row.spread, strict=True):
        cells[name] = "" if math.isnan(value) else numbers.aligned(value), TEXT
    if columns["spark"] and row.tag is not None:
        judged = bool(run.verdict.judgement(row.tag).rules) or level is not Level.UNKNOWN
        cells["spark"] = spark_line(run, row.tag, columns["spark"], view, judged=judged)

    return columns.line([swatch, badge], cells)


def _or_none(number: float) -> float | None:
    return None if math.isnan(number) else number


def stages_head(
    run: JudgedRun, columns: Table, width: int, view: View, title: str = "Stages", tail: str = ""
) -> Line:
    """The heading of the table: the heads of its columns set into the rule. ``tail``: which
    quantile the column of the tail holds."""
    words = _HEADS | {"spark": spark_head(run, columns["spark"]), "tail": tail}
    return heading(title, width, view, heads=columns.heads(words))


def stacked_lines(
    run: JudgedRun, found: Anatomy, view: View, width: int, height: int, *, shares: bool
) -> Block:
    """The stages of every step, stacked: seconds, or shares of the step."""
    usual = None if shares or math.isnan(found.whole.usual) else found.whole.usual
    # the heading names the line of the usual level where there is room
    note = f"{'% of the step' if shares else 'seconds'}, stacked, each column its slowest step"
    if usual is not None:
        more = f"{note}, {view.glyphs.limit} usual {numbers.duration(usual, tenths=True)}"
        note = more if cell_width(more) + _HEADING < width else note
    lines = [heading("Every step", width, view, note)]
    frame = frame_of(run, found, view, width, height)
    if frame is None:
        return lines
    parts, colours = _parts(found, frame.columns)

    if shares:
        with np.errstate(invalid="ignore", divide="ignore"):
            parts = parts / np.nansum(parts, axis=0) * 100
    heights = np.nansum(parts, axis=0)
    regular = heights[~found.is_rare[np.maximum(frame.columns, 0)]]
    top = 100.0 if shares else top_of(regular if regular.any() else heights)

    # row, from the bottom -> its label: the number at the lower edge of the row
    step = nice_ceil(top / max(2, min(5, frame.rows // 3)))
    values = [step * n for n in range(int(top / step * 1.0001) + 1) if step * n < top]
    places = [int(value / top * frame.rows + 1e-6) for value in values]
    ticks = dict(zip(places, numbers.ticks(values, step), strict=True))
    plot = stack_cells(Stack(parts, colours, top, usual), frame.rows, view.glyphs)
    for n, cells_of_row in enumerate(plot):
        label = ticks.get(frame.rows - 1 - n, "")
        edge = "┤" if label else "│"
        lines.append([(f"{label:>{frame.labels}}", MUTED), (edge, RULE), *cells_of_row])

    return [*lines, *frame.below]


class Frame(NamedTuple):
    """What surrounds a plot of every step."""

    columns: IntArray
    """The step that each column shows, as a row of the anatomy; -1 for none."""
    rows: int
    """Lines of the plot itself."""
    labels: int
    """Cells left of it."""
    below: Block
    """The axis, and bars of findings."""


def frame_of(
    run: JudgedRun, found: Anatomy, view: View, width: int, height: int, least: int = _LABELS
) -> Frame | None:
    """The frame of a plot in ``width`` x ``height`` with a heading; None where that is too small.
    Labels have at least ``least`` cells."""
    # where the steps lie on the x axis, its beginning, newest place and end
    tag = found.total or found.parts[0].tag
    axis = axis_of(run, run.shown(tag), view.axis)
    (first_step, last_step, end) = span_of(run)
    if not axis.grows:
        return frame_of(run, found, view._replace(axis="step"), width, height, least)
    first = axis.place(first_step)
    last = axis.place(last_step)
    if axis.kind != "step":
        end = padded_end(first, last) if run.is_live else last
    end = end if end > first else first + 1.0

    chart = chart_of(run, tag, view)
    below = max(0, min(3, height - 9))
    labels = least
    if below:
        labels = label_width(chart, (first, end), width, view.glyphs, least=least)
    cells = width - labels - 1
    span = PlotSpan(labels + 1, cells, width, first, end, last)
    bars = foot_lines(chart, span, view.glyphs, below)
    rows = height - 3 - len(bars)

    if cells < 10 or rows < 3:
        return None
    columns = _columns(found, axis.places(found.steps), (first, last, end), cells)
    axis_below = axis_lines(chart, span, view.glyphs, None, None)
    return Frame(columns, rows, labels, [*axis_below, *bars])


def top_of(heights: FloatArray) -> float:
    """Where the plot ends: at its highest column unless few are far above the others."""
    known = heights[heights > 0]
    if not len(known):
        return 1.0
    most = float(known.max())
    usual = float(np.quantile(known, _QUANTILE))
    return usual * 1.05 if most > _SQUEEZED * usual else most


def _columns(
    found: Anatomy, places: FloatArray, span: tuple[float, float, float], cells: int
) -> IntArray:
    """The row (cells,) that each column shows: the slowest of its steps; where steps are rarer
    than columns the one before it; -1 for none."""
    first, last, end = span
    heights = np.nan_to_num(found.heights, nan=-1.0)
    edges = np.searchsorted(places, first + (end - first) * np.arange(cells + 1) / cells)
    edges[-1] = len(places)
    gaps = np.diff(places)
    gap = 2 * median(gaps) if len(gaps) else 1.0
    out: IntArray = np.full(cells, -1)
    at = -1

    for cell in range(cells):
        begin = int(edges[cell])
        stop = int(edges[cell + 1])
        x = first + (end - first) * cell / cells
        if stop > begin:
            at = out[cell] = begin + int(np.argmax(heights[begin:stop]))
        elif at >= 0 and x <= last and x - places[at] <= gap:
            out[cell] = at

    return out


def _parts(found: Anatomy, columns: IntArray) -> tuple[FloatArray, list[int]]:
    """(parts, columns) seconds of the stages and of what none accounts for; their colours. The
    stages that share a colour are one part."""
    colours = colours_of(found)
    known = columns >= 0
    rows = np.maximum(columns, 0)
    stages = found.at(rows)
    rest = np.zeros(len(columns))

    if found.total:
        rest = np.maximum(np.nan_to_num(found.heights[rows]) - stages.sum(axis=0), 0.0)
    named = []
    order = []

    for stage, values in zip(found.parts, stages, strict=True):
        if colours[stage.tag] == OTHER:
            rest = rest + values
        else:
            named.append(values)
            order.append(colours[stage.tag])
    parts = np.array([*named, rest])
    parts[:, ~known] = np.nan

    return parts, [*order, OTHER]
