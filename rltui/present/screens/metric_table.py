"""Tables of metrics: columns that line up, one line per row, sections with a rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rltui.core.level import Level
from rltui.core.text import cell_width, fit, fit_middle, pad
from rltui.present.kit import numbers
from rltui.present.kit.bins import Digest
from rltui.present.kit.line import (
    LEVEL_TOKEN,
    MUTED,
    RULE,
    STRONG,
    TEXT,
    TITLE,
    Line,
    Token,
    fit_line,
    line_width,
    style,
)
from rltui.present.kit.spark import empty_digest, spark_of
from rltui.present.screens.entries import Entry, fixed, with_margin
from rltui.present.screens.metric_rows import Row, Section, episodes, memo, trend
from rltui.present.screens.view import View
from rltui.present.screens.x_axis import span_of
from rltui.session import RunView
from rltui.store import Series

#: Units that get a shorter word in narrow panes.
_SHORT_UNITS = {"tok/s/gpu": "tok/s", "ms/tok": "ms/tk", "steps/s": "st/s", "samples/s": "smp/s"}


@dataclass(frozen=True, slots=True)
class Columns:
    """Widths of the columns of a row; 0 leaves one out. The badge always takes 2."""

    name: int
    unit: int
    change: int
    spark: int
    healthy: int
    value: int = 10

    @property
    def width(self) -> int:
        """Cells of the whole row."""
        gaps = bool(self.unit) + bool(self.healthy) + bool(self.spark and not self.change)
        return (
            2 + self.name + self.value + self.unit + self.change + self.spark + self.healthy + gaps
        )


def columns_for(width: int) -> Columns:
    """The columns of a pane ``width`` cells wide."""
    if width >= 84:
        return Columns(19, 10, 10, width - 69, 16)
    if width >= 76:
        return Columns(17, 10, 9, width - 63, 13)
    if width >= 60:
        return Columns(17, 7, 9, width - 59, 12)
    spark_width = 10 if width >= 34 else 0
    return Columns(max(4, width - 12 - spark_width - bool(spark_width)), 0, 0, spark_width, 0)


def row_line(run: RunView, row: Row, columns: Columns, view: View, *, cursor: bool) -> Line:
    """One row, without the margin that holds the cursor bar; kept until the run changes."""
    key = ("row", row.tag, columns, cursor, view.marker, span_of(run)[2])
    held = run.memo.get(key)
    if held is not None and held[0] == run.version and held[1][0] == row.level:
        return list(held[1][1])
    line = _row_line(run, row, columns, view, cursor=cursor)
    run.memo[key] = (run.version, (row.level, line))
    return list(line)


def _row_line(run: RunView, row: Row, columns: Columns, view: View, *, cursor: bool) -> Line:
    glyphs, alarm = view.glyphs, row.level >= Level.WATCH
    token = LEVEL_TOKEN[row.level]
    line: Line = [(f"{glyphs.badge(row.level)} ", style(token, bold=alarm))]
    title = view.glyphs.text(row.title)
    if row.info.metric is None:  # the end of an unknown tag says most
        title = fit_middle(title, columns.name, ellipsis=glyphs.ellipsis)
    name = pad(title, columns.name, ellipsis=glyphs.ellipsis)
    line.append((name, style(Token.STRONG, bold=cursor) if alarm or cursor else TEXT))
    value = numbers.aligned(row.value)
    nonfinite = "NaN" in value or "Inf" in value
    look = style(Token.BAD if nonfinite and row.level < Level.WATCH else token, bold=True)
    line.append((value, look if alarm or nonfinite else STRONG))
    if columns.unit:
        line.append((" " + pad(_unit(row, columns, view), columns.unit), MUTED))
    if columns.change:
        line.append((pad(_change(run, row, columns, view), columns.change), MUTED))
    if columns.spark:
        if not columns.change:
            line.append((" ", TEXT))
        judged = bool(row.judgement.rules) or row.level is not Level.UNKNOWN
        line.extend(spark_line(run, row.tag, columns.spark, view, judged=judged))
    if columns.healthy:
        words = row.judgement.healthy
        if cell_width(words) > columns.healthy or columns.healthy < 16:
            words = row.judgement.healthy_short or words
        words = pad(view.glyphs.text(words), columns.healthy, ellipsis=glyphs.ellipsis)
        line.append((" " + words, MUTED))
    return line


def _unit(row: Row, columns: Columns, view: View) -> str:
    unit = row.info.unit
    if cell_width(unit) > columns.unit:
        unit = _SHORT_UNITS.get(unit, unit)
    return fit(view.glyphs.text(unit), columns.unit, ellipsis=view.glyphs.ellipsis)


def _change(run: RunView, row: Row, columns: Columns, view: View) -> str:
    change = memo(run, row.tag, "trend", trend)
    series = run.shown(row.tag)
    if series.count == 1 and run.points.last_step not in (None, int(series.steps[0])):
        text = f"at {numbers.step(int(series.steps[0]))}"  # the only point, and an old one
        return (" " + text) if columns.change >= 10 else text
    if change is None:
        return ""
    arrow = view.glyphs.up if change > 0 else view.glyphs.down
    text = f"{arrow} {numbers.value(abs(change))}"
    return (" " + text) if columns.change >= 10 else text


def spark_line(run: RunView, tag: str, width: int, view: View, *, judged: bool) -> Line:
    """The sparkline of a tag over the steps of the run, kept until its points change."""
    first, last, end = span_of(run)
    spans = episodes(run, tag)
    name = ("spark", width, first, last, end, tuple(spans), judged, view.marker)

    def draw(series: Series) -> Line:
        digest = _digest(run, series, empty_digest(first, last, end, width), last)
        return spark_of(digest, last, spans, judged, view.glyphs)

    return memo(run, tag, name, draw)


def _digest(run: RunView, series: Series, empty: Digest, last: int) -> Digest:
    """The points gathered for a sparkline: those that were gathered before are kept."""
    key = ("digest", series.tag, empty.first, empty.unit, empty.width)
    held = run.memo.get(key)
    digest = empty
    if held is not None and held[1].grows_to(series.steps, series.values):
        digest = held[1]
    digest.extend(series.steps, series.values, last)
    run.memo[key] = (series.version, digest)
    return digest


def section_line(
    title: str,
    width: int,
    view: View,
    *,
    level: Level | None = None,
    heads: Columns | None = None,
    spark_head: str = "",
    note: str = "",
) -> Line:
    """Heading of a section: bold title, rule, and the worst badge or a note at the right."""
    rule = view.glyphs.rule
    line: Line = [(f"{title} ", TITLE)]
    right: Line = []
    if level is not None and level is not Level.UNKNOWN:
        right = [(" " + view.glyphs.badge(level), style(LEVEL_TOKEN[level]))]
    elif note:
        right = [(f" {note}", MUTED)]
    if heads is not None and heads.spark:
        line = _heads(line, heads, rule, spark_head)
    room = width - line_width(line) - line_width(right)
    if room < 0:
        return fit_line(line, width, ellipsis=view.glyphs.ellipsis)
    return [*line, (rule * room, RULE), *right]


def _heads(line: Line, columns: Columns, rule: str, spark_head: str) -> Line:
    """Column heads set into the rule, each at the place of its column."""
    value_at = 2 + columns.name
    change_at = value_at + columns.value + (columns.unit + 1 if columns.unit else 0)
    spark_at = change_at + columns.change
    healthy_at = spark_at + columns.spark + 1
    heads = [(value_at + 3, "value")]
    if columns.change:
        heads.append((change_at, "change"))
    heads.append((spark_at, fit(spark_head, columns.spark - 1)))
    if columns.healthy:
        heads.append((healthy_at, "healthy"))
    for at, head in heads:
        fill = at - 1 - line_width(line)
        if fill >= 0:
            tail = "  " if head == "value" else " "
            fill -= len(tail) - 1
            line = [*line, (rule * max(0, fill), RULE), (tail[: max(1, len(tail))], TEXT)]
            line.append((f"{head} ", MUTED))
    return line


def table_entries(
    run: RunView, sections: Sequence[Section], columns: Columns, view: View, margin: int
) -> list[Entry[str]]:
    """The rows of some sections, each under its heading; the first one holds the column heads."""
    entries: list[Entry[str]] = []
    for i, section in enumerate(sections):
        head = section_line(
            section.title,
            columns.width,
            view,
            level=section.level,
            heads=columns if i == 0 else None,
            spark_head=_spark_head(run, columns),
        )
        entries.append(fixed([(" " * margin, TEXT), *head]))
        entries += row_entries(run, section.rows, columns, view, margin)
    return entries


def row_entries(
    run: RunView, rows: Sequence[Row], columns: Columns, view: View, margin: int
) -> list[Entry[str]]:
    """One entry per row."""
    return [_entry(run, row, columns, view, margin) for row in rows]


def _entry(run: RunView, row: Row, columns: Columns, view: View, margin: int) -> Entry[str]:
    def draw(cursor: bool) -> list[Line]:
        line = row_line(run, row, columns, view, cursor=cursor)
        return [with_margin(line, columns.width, margin, view, cursor=cursor)]

    return Entry(row.tag, draw)


def fitted(sections: Sequence[Section], height: int) -> tuple[list[Section], bool]:
    """The sections with as many rows as fit, and whether blank lines fit between them.

    Rows that matter least are left out so that every section shows.
    """
    blanks = height >= 26
    chosen = _fit_sections(sections, height, blanks)
    return chosen, blanks and _needed(chosen, True) <= height


def list_head(
    run: RunView,
    section: Section,
    columns: Columns,
    view: View,
    visible: tuple[int, int],
) -> Line:
    """The heading of a list that scrolls: how many rows, or which of them are visible."""
    first, last = visible
    count = len(section.rows)
    title = f"{section.title} {count}"
    if last - first < count:
        title = f"{section.title} {first + 1}–{last} of {count}"
    return section_line(
        view.glyphs.text(title),
        columns.width,
        view,
        level=section.level,
        heads=columns,
        spark_head=_spark_head(run, columns),
    )


def _spark_head(run: RunView, columns: Columns) -> str:
    first, last, _ = span_of(run)
    if columns.spark < 20:
        return "run"
    return f"steps {numbers.step(first)} to {numbers.step(last)}"


def _needed(sections: Sequence[Section], blanks: bool) -> int:
    return sum(1 + len(s.rows) for s in sections) + (len(sections) - 1 if blanks else 0)


def _fit_sections(sections: Sequence[Section], height: int, blanks: bool) -> list[Section]:
    """Leave out the rows that matter least until everything fits: not judged, then ok ones."""
    rows = [list(s.rows) for s in sections]

    def needed() -> int:
        return sum(1 + len(r) for r in rows)

    room = height - (len(sections) - 1 if blanks and needed() <= height - len(sections) + 1 else 0)
    for level in (Level.UNKNOWN, Level.OK, Level.WATCH):
        while needed() > room:
            longest = max(
                (r for r in rows if sum(x.level <= level for x in r) and len(r) > 1),
                key=len,
                default=None,
            )
            if longest is None:
                break
            longest.remove([x for x in longest if x.level <= level][-1])
    return [Section(s.title, tuple(r)) for s, r in zip(sections, rows, strict=True)]
