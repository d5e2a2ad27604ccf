"""The lanes of a run that samples while it trains: a table, and a strip for each over the steps."""

from __future__ import annotations

import math

import numpy as np

from rltui.draw.chart.stack import Stack, stack_cells
from rltui.draw.line import MUTED, RULE, Line
from rltui.draw.table import Table, heading, table_for
from rltui.draw.view import View
from rltui.facts import numbers
from rltui.facts.lanes import ORDER, Lane, Timer, course, lanes
from rltui.facts.timers import TRAINER, WAITING, title_of
from rltui.facts.timing import Anatomy, Cost, cost_of
from rltui.pages.timing.timing_table import (
    LEAD,
    OTHER,
    SPREAD,
    StageRow,
    frame_of,
    top_of,
    with_whole,
)
from rltui.session import JudgedRun

#: Cells left of the strips: the longest name of a lane.
_LABELS = 12
_LANES = """
    name now. share>2 middle. tail. most. spark
100   26   10    8      10     10    10     *
 72   18   10    8       -     10    10     *
 50   4*   10    8       -      -    10     -
  0   4*   10    8       -      -     -     -
"""


def lane_columns(run: JudgedRun, width: int) -> Table:
    """The columns of a table ``width`` cells wide; one that no timer fills leaves its cells to the
    sparklines, or to the names."""
    columns = table_for(_LANES, width, LEAD)
    tail = tail_name(run)
    spreads = [_spread(t, tail) for lane in lanes(run) for t in lane.timers]
    wide = "spark" if columns["spark"] else "name"
    for at, name in enumerate(SPREAD):
        if columns[name] and all(math.isnan(spread[at]) for spread in spreads):
            columns = columns.moved(columns[name] + 1, name, wide)
    return columns


def tail_name(run: JudgedRun) -> str:
    """Which quantile most timers log, "p95" before others."""
    names = [t.tail_name for lane in lanes(run) for t in lane.timers if t.tail_name]
    return max(names, key=lambda n: (n == "p95", names.count(n)), default="p95")


def _colour(lane: Lane) -> int:
    """Waiting has the colour of what no stage accounts for."""
    return OTHER if lane.name == WAITING else ORDER.index(lane.name)


def lane_rows(run: JudgedRun, found: Anatomy, text: str = "") -> list[StageRow]:
    """Each lane, its timers below it, and the whole step; those that pass the filter ``text``."""
    rows = []
    tail = tail_name(run)
    for lane in lanes(run):
        busy = Cost(lane.busy * found.length, math.nan)
        colour = _colour(lane)
        rows.append(StageRow(None, lane.name, busy, lane.busy, colour))
        for timer in lane.timers:
            tag = timer.tag
            share = timer.share
            every = cost_of(run, tag, len(found.steps)).every if share >= 0 else 1.0
            title = title_of(run, tag) + (f", 1 in {every:,.0f}" if every > 1 else "")
            cost = Cost(timer.now, math.nan, every)
            level = run.verdict.tag_level(tag)
            spread = _spread(timer, tail)
            rows.append(StageRow(tag, title, cost, share, colour, level, depth=1, spread=spread))
    return with_whole(run, found, rows, text)


def _spread(timer: Timer, tail: str) -> tuple[float, float, float]:
    return timer.middle, timer.tail if timer.tail_name == tail else math.nan, timer.most


def lane_shares(run: JudgedRun) -> list[tuple[str, float, int]]:
    """Label, share and colour of what the trainer does in a step: it works, waits, or else."""
    found = [lane for lane in lanes(run) if lane.name in (TRAINER, WAITING)]
    left = 1.0
    shares = []
    for lane in found:  # waits that overlap with work are in the table only
        if (share := min(lane.busy, left)) > 0:
            shares.append((lane.name, share, _colour(lane)))
            left -= share
    shares.append(("other", left, OTHER))
    return [(f"{n} {numbers.percent(x, whole=True)}", x, colour) for n, x, colour in shares]


def lane_strips(
    run: JudgedRun, found: Anatomy, view: View, width: int, height: int, *, shares: bool
) -> list[Line]:
    """A strip for each lane, as high as a step is long: what it does in each step."""
    note = f"{'% of the step' if shares else 'seconds'}, each column its slowest step"
    lines = [heading("Every step", width, view, note)]
    frame = frame_of(run, found, view, width, height, _LABELS)
    shown = lanes(run)
    if frame is None or frame.rows < len(shown):
        return lines
    rows = np.maximum(frame.columns, 0)
    known = frame.columns >= 0
    steps = np.where(known, found.heights[rows], np.nan)
    top = 100.0 if shares else top_of(steps)
    ceiling = "100 %" if shares else numbers.duration(top, tenths=True)
    each, more = divmod(frame.rows, len(shown))

    for at, lane in enumerate(shown):
        values = np.where(known, course(run, found, lane)[rows], np.nan)
        with np.errstate(invalid="ignore", divide="ignore"):
            parts = values / steps * 100 if shares else values
        stack = Stack(parts[None, :], [_colour(lane)], top)
        count = each + (at < more)
        for n, cells in enumerate(stack_cells(stack, count - (count > 2), view.glyphs)):
            label = lane.name if n == 0 else ceiling if n == 1 and not at else ""
            lines.append([(f"{label:>{frame.labels}}", MUTED), ("│", RULE), *cells])
        if count > 2:
            lines.append([(" " * frame.labels, MUTED), ("│", RULE)])

    return [*lines, *frame.below]
