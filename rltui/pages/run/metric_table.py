"""Tables of metrics: columns that line up, one line per row, sections with a rule."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from itertools import accumulate
from types import MappingProxyType
from typing import Any

from rltui.core.level import Level
from rltui.core.text import cell_width, pad, spaced
from rltui.draw.glyph import GlyphSet
from rltui.draw.line import (
    ACCENT,
    LEVEL_BOLD,
    MUTED,
    STRONG,
    TEXT,
    TITLE,
    Block,
    Entry,
    Line,
    alarm_look,
    badge_span,
    fixed,
    longest,
    row_entry,
)
from rltui.draw.metric_chart import chart_lines
from rltui.draw.prose import distinct
from rltui.draw.spark import Digest, Episode, columns_until, spark_of
from rltui.draw.table import Cells, Head, Table, heading, table_for
from rltui.draw.view import View
from rltui.facts import numbers, sentences
from rltui.facts.cache import RunSeriesCache
from rltui.facts.groups import slot_sign
from rltui.facts.metrics import Section, TagRow, rows_in
from rltui.facts.series_stats import episodes, trend_of
from rltui.facts.x_axis import span_of
from rltui.session import JudgedRun
from rltui.store import Series

_LINES: RunSeriesCache[Line] = RunSeriesCache()
_SPARKS: RunSeriesCache[Line] = RunSeriesCache()
_DIGESTS: RunSeriesCache[Digest] = RunSeriesCache()
#: Cells of the healthy column that its head and the badge of a section need.
_LEAST_HEALTHY = 10
#: A sparkline gives none of its cells to names below this.
_LEAST_SPARK = 16
_LAYOUTS = """
    name value. unit change spark healthy
 84   18     10    9      9     *      16
 76   16     10    9      8     *      13
 67   16     10    7      8     *      12
 60   16     10    -      8     *      12
 34   4*     10    -      -    10       -
  0   4*     10    -      -     -       -
"""
_NO_HEADS: Mapping[str, tuple[str, ...]] = MappingProxyType({})
#: Cells that the badge of a section takes of its last column.
_BADGE = 3
#: Units that get a shorter word in narrow panes.
_SHORT_UNITS = {"tok/s/gpu": "tok/s", "ms/tok": "ms/tk", "steps/s": "st/s", "samples/s": "smp/s"}


def columns_for(width: int) -> Table:
    """The columns of a pane ``width`` cells wide, behind the badge."""
    return table_for(_LAYOUTS, width)


def metric_heads(
    columns: Table, spark: str | None, own: Mapping[str, tuple[str, ...]] = _NO_HEADS
) -> list[Head]:
    """The heads of the columns, ``spark`` that of the sparklines; none without these. Those of
    ``own`` win; without ``spark`` there are no others."""
    usual = {} if spark is None else {"value": "value", "change": "change", "healthy": "healthy"}
    words = usual | {"spark": spark or ""}
    for name, forms in own.items():
        room = columns[name] - _BADGE * (name == "healthy")
        words[name] = next((x for x in forms if len(x) <= room), "")
    return columns.heads(words) if columns["spark"] else []


def columns_of(rows: Sequence[TagRow], width: int) -> Table:
    """The columns of a pane with these rows. Names that are too long get the cells that limits
    leave blank and some of those of a wide sparkline."""
    columns = columns_for(width)
    if not columns["healthy"] or not rows:
        return columns
    titles = short_titles(tuple(r.title for r in rows), tuple(r.info.unit for r in rows))
    beside = longest([r.cells[0] for r in rows if r.cells is not None]) - columns["unit"]
    spare = {"spark": columns["spark"] - _LEAST_SPARK, "name": columns["name"] - longest(titles)}
    giving = next((name for name, cells in spare.items() if 0 < beside <= cells), "")
    if giving and columns["unit"]:
        columns = columns.moved(beside, giving, "unit")
    wanted = longest(titles) - columns["name"]
    if wanted <= 0:
        return columns
    healthy = longest([healthy_words(r, columns) for r in rows])
    least = columns["healthy"] if any(r.cells and r.cells[1] for r in rows) else _LEAST_HEALTHY
    limits = max(0, min(wanted, columns["healthy"] - max(healthy, least)))
    spark = max(0, min(wanted - limits, columns["spark"] - _LEAST_SPARK))

    return columns.moved(limits, "healthy", "name").moved(spark, "spark", "name")


def row_names(rows: Sequence[TagRow], columns: Table) -> tuple[str, ...]:
    """The names of neighbouring rows: what differs between them stays visible."""
    titles = tuple(r.title for r in rows)
    if columns["unit"] and longest(titles) > columns["name"]:
        units = [unit_words(r, columns) for r in rows]
        units = [u if cell_width(u) <= columns["unit"] else "" for u in units]
        titles = short_titles(titles, tuple(units))
    return distinct(titles, columns["name"])


@lru_cache
def short_titles(titles: tuple[str, ...], units: tuple[str, ...]) -> tuple[str, ...]:
    """The titles without the unit, which has its own column: "reward best@2, std" in "best@2" is
    "reward, std". One that would be mistaken for another stays whole."""
    short = [
        re.sub(rf" {re.escape(unit)}(?=$|[ ,])", "", title, count=1) if unit else title
        for title, unit in zip(titles, units, strict=True)
    ]
    held = Counter(zip(short, units, strict=True))
    found = zip(titles, short, units, strict=True)
    return tuple(s if held[s, unit] == 1 else title for title, s, unit in found)


def healthy_words(row: TagRow, columns: Table) -> str:
    """The limit in words; narrow columns take the short form."""
    if row.cells is not None and row.cells[1]:
        return row.cells[1]
    judgement = row.judgement
    room = columns.cells.get("healthy", 0)
    if past := sentences.was(judgement, row.value):
        return past
    said = sentences.healthy(judgement)
    if room >= 16 and cell_width(said) <= room:
        return said
    return sentences.healthy_short(judgement) or said


def unit_words(row: TagRow, columns: Table) -> str:
    """The unit, in narrow columns the short form."""
    unit = row.info.unit if row.cells is None else row.cells[0]
    if cell_width(unit) > columns["unit"]:
        unit = _SHORT_UNITS.get(unit, unit) if row.cells is None else ""
    return unit


#: First step, newest step and end of the x range; the episodes: what a sparkline depends on besides
#: its points.
_Course = tuple[tuple[int, int, float], tuple[Episode, ...]]


def _course_of(run: JudgedRun, tag: str) -> _Course:
    return span_of(run, tag), tuple(episodes(run, tag))


def row_line(
    run: JudgedRun, row: TagRow, columns: Table, view: View, *, cursor: bool, name: str = ""
) -> Line:
    """One row, without the margin that holds the cursor bar; kept until its points or what the
    rules say of them change.

    ``name``: its title as cut among its neighbours, see :func:`~rltui.draw.prose.distinct`.
    """
    glyphs = view.glyphs
    level = row.judgement.level
    room = columns.cells
    name = name or row.title
    unit = unit_words(row, columns)
    healthy = healthy_words(row, columns)
    judged = bool(row.judgement.rules) or level is not Level.UNKNOWN
    course = _course_of(run, row.tag)

    def draw(series: Series) -> Line:
        badge = badge_span(level, glyphs)
        title_look = TITLE if cursor else STRONG if level >= Level.WATCH else TEXT
        value = numbers.aligned(row.value)
        unit_shown = unit
        number = value.rstrip()
        if "unit" in room and unit in ("B", "B/s") and number[-1] in "kMGT":
            value = number[:-1].ljust(len(value))
            unit_shown = number[-1] + unit
        nonfinite = "NaN" in value or "Inf" in value
        value_look = alarm_look(level, LEVEL_BOLD[Level.BAD] if nonfinite else STRONG)
        cells: Cells = {
            "name": (name, title_look),
            "value": (value, value_look),
            "unit": (unit_shown, MUTED),
        }
        if "change" in room:
            is_old = series.count == 1 and series.steps[0] != course[0][1]
            cells["change"] = _change(run, series, room["change"], is_old=is_old), MUTED
        if zero := _always_zero(row, series, room):  # there is nothing to see in a sparkline
            return [*columns.line([badge], cells), (zero, MUTED)]
        if "spark" in room:
            cells["spark"] = _spark(run, series, course, room["spark"], glyphs, judged)
        cells["healthy"] = healthy, MUTED
        return columns.line([badge], cells)

    about = name, unit, healthy, row.value, row.info.key, level, judged, cursor, glyphs
    key = course, tuple(room.values()), *about
    return list(_LINES.of(run).get(run.shown(row.tag), draw, name=key))


def _always_zero(row: TagRow, series: Series, room: Mapping[str, int]) -> str:
    """What it means that a value never was anything but 0, where that says something and fits."""
    metric = row.info.metric
    if row.value != 0 or metric is None or not metric.zero or row.level >= Level.WATCH:
        return ""
    words = f"always 0: {metric.zero}"
    cells = room.get("spark", 0) + room.get("healthy", -1) + 1
    return pad(words, cells) if len(words) <= cells and not series.values.any() else ""


def _change(run: JudgedRun, series: Series, cells: int, *, is_old: bool) -> str:
    """The trend, or the step of the only point when that is old; empty when it does not fit."""
    if is_old:
        step = numbers.step(int(series.steps[0]))
        forms = [f"at {step}", f"@{step}"]
    else:
        change = trend_of(run, series)
        if change is None:
            return ""
        forms = [numbers.change(0, change)]

    return next((x for x in forms if cell_width(x) <= cells), "")


def spark_line(run: JudgedRun, tag: str, width: int, view: View, *, judged: bool) -> Line:
    """The sparkline of a tag over the steps of the run, kept until its points change."""
    course = _course_of(run, tag)
    glyphs = view.glyphs
    return _SPARKS.of(run).get(
        run.shown(tag),
        lambda series: _spark(run, series, course, width, glyphs, judged),
        name=(width, course, judged, glyphs),
    )


def _spark(
    run: JudgedRun, series: Series, course: _Course, width: int, glyphs: GlyphSet, judged: bool
) -> Line:
    (first, last, end), found = course
    known = columns_until(first, last, end, width, narrowest=1.0)
    # the binned points: only new ones are added
    digest = _DIGESTS.of(run).get(
        series, lambda _: Digest(*known), name=known, extend=lambda d, _: d
    )
    digest.extend(series.steps, series.values, last)
    return spark_of(digest, last, found, judged, glyphs)


def spark_head(run: JudgedRun, cells: int) -> str:
    """Head of a column of sparklines: the steps of the run, where ``cells`` hold them."""
    first, last, _ = span_of(run)
    steps = f"{run.step_word}s {numbers.step(first)} to {numbers.step(last)}"
    return steps if len(steps) < cells else "run"


def section_entries(
    run: JudgedRun,
    sections: Sequence[Section],
    columns: Table,
    view: View,
    margin: int,
    *,
    whole: bool = False,
) -> list[Entry[str]]:
    """The rows of some sections, each but the first below a blank line and its heading; the first
    heading stands above the list. ``whole``: all below their headings, the first of which holds
    the column heads, without blank lines."""
    entries: list[Entry[str]] = []
    rows = row_entries(run, rows_in(sections), columns, view, margin)
    for i, section in enumerate(sections):
        if whole or i:
            heads = metric_heads(
                columns, None if i else spark_head(run, columns["spark"]), section.heads
            )
            head = heading(section.title, columns.width, view, level=section.level, heads=heads)
            entries += [] if whole else [fixed([])]
            entries.append(fixed([(" " * margin, TEXT), *head]))
        entries += rows[: len(section.rows)]
        del rows[: len(section.rows)]

    return entries


def row_entries(
    run: JudgedRun, rows: Sequence[TagRow], columns: Table, view: View, margin: int
) -> list[Entry[str]]:
    """One entry per row; names that are too long keep the part in which they differ."""
    names = row_names(rows, columns)

    def draw(row: TagRow, name: str, cursor: bool) -> Line:
        line = row_line(run, row, columns, view, cursor=cursor, name=name)
        if row.tag in view.shared:  # the sign of the row is between badge and name
            (badge, look), (title, title_look) = line[:2]
            title = pad(title.rstrip(), columns["name"] - 1)
            sign = (slot_sign(view.shared.index(row.tag)), ACCENT)
            line = [(badge[:-1], look), sign, (f" {title} ", title_look), *line[2:]]
        return line

    width = columns.width
    return [
        row_entry(row.tag, partial(draw, row, name), width, margin)
        for row, name in zip(rows, names, strict=True)
    ]


def fitted(
    sections: Sequence[Section], height: int, kept: str | None
) -> tuple[list[Section], bool]:
    """The sections with as many rows as fit, and whether blank lines fit between them.

    Rows that matter least are left out so that every section shows: first what is not judged,
    then what is ok; that of the tag ``kept`` stays.
    """
    rows = [list(s.rows) for s in sections]
    gaps = len(sections) - 1

    def needed() -> int:
        return len(rows) + sum(map(len, rows))

    blanks = height >= 26
    room = height - gaps * (blanks and needed() <= height - gaps)
    for level in (Level.UNKNOWN, Level.OK, Level.WATCH):
        while needed() > room:
            spare = [[x for x in r if x.level <= level and x.tag != kept] for r in rows]
            choices = [n for n, r in enumerate(rows) if spare[n] and len(r) > 1]
            longest = max(choices, key=lambda n: len(rows[n]), default=None)
            if longest is None:
                break
            rows[longest].remove(spare[longest][-1])
    chosen = [s._replace(rows=tuple(r)) for s, r in zip(sections, rows, strict=True)]

    return chosen, blanks and needed() + gaps <= height


def list_head(
    run: JudgedRun,
    sections: Sequence[Section],
    columns: Table,
    view: View,
    visible: tuple[int, int],
) -> Line:
    """The heading of a list that scrolls: how many rows, or which of them are visible. Of several
    sections it is that of the first visible row."""
    first, last = visible
    ends = list(accumulate(len(s.rows) for s in sections))
    section = sections[min(bisect_right(ends, first), len(sections) - 1)]
    count = ends[-1]
    title = section.title if len(sections) > 1 else f"{section.title} {count}"
    if last - first < count:
        title = f"{section.title} {first + 1}–{last} of {count}"

    heads = metric_heads(columns, spark_head(run, columns["spark"]), section.heads)
    return heading(title, columns.width, view, level=section.level, heads=heads)


def titled_chart(
    run: JudgedRun, tag: str, view: View, width: int, height: int, **options: Any
) -> Block:
    """A chart under its title, with unit and tag; ``options``: see
    :func:`~rltui.draw.metric_chart.chart_lines`."""
    info = run.infos[tag]
    note = sentences.no_tick(run.verdict.judgement(tag)) or spaced(info.unit, tag, by="   ")
    if cell_width(f"{info.title}{note}") + 4 > width:
        note = info.unit
    chart = chart_lines(run, tag, view, width, height - 1, **options)
    return [heading(info.title, width, view, note), *chart]
