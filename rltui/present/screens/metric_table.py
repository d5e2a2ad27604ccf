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
    with_ground,
)
from rltui.present.kit.spark import empty_digest, spark_of
from rltui.present.screens.metric_rows import Row, Section, episodes, trend_of
from rltui.present.screens.run_cache import RunCache, RunSeriesCache
from rltui.present.screens.view import View
from rltui.present.screens.x_axis import span_of
from rltui.session import RunView
from rltui.store import Series

_ROWS: RunCache[object, Line] = RunCache()
_SPARKS: RunSeriesCache[Line] = RunSeriesCache()
_DIGESTS: RunSeriesCache[Digest] = RunSeriesCache()

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


@dataclass(frozen=True, slots=True)
class Pane:
    """Lines of a pane and which row each belongs to (None: heading or blank)."""

    lines: list[Line]
    tags: list[str | None]
    every: list[str | None]
    """``tags`` of the whole pane, of which ``lines`` may be a window."""


def row_line(run: RunView, row: Row, columns: Columns, view: View, *, cursor: bool) -> Line:
    """One row, without the margin that holds the cursor bar; kept until the run changes."""
    key = (row.tag, row.level, columns, cursor, view.marker, span_of(run)[2])
    return list(_ROWS.get(run, key, lambda: _row_line(run, row, columns, view, cursor=cursor)))


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
    change = trend_of(run, row.tag)
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
    name = (width, first, last, end, tuple(spans), judged, view.marker)

    def draw(series: Series) -> Line:
        digest = _digest(run, series, empty_digest(first, last, end, width), last)
        return spark_of(digest, last, spans, judged, view.glyphs)

    return _SPARKS.of(run).get(run.shown(tag), draw, name=name)


def _digest(run: RunView, series: Series, empty: Digest, last: int) -> Digest:
    """The points gathered for a sparkline: those that were gathered before are kept."""
    name = (empty.first, empty.unit, empty.width)
    digest = _DIGESTS.of(run).get(series, lambda _: empty, name=name, extend=lambda known, _: known)
    digest.extend(series.steps, series.values, last)
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


def table_pane(
    run: RunView,
    sections: Sequence[Section],
    width: int,
    height: int,
    view: View,
    cursor: str | None,
    *,
    scroll: bool,
    margin: int = 2,
) -> Pane:
    """Sections as lines: ``margin`` cells for the cursor bar, then rows of ``width`` cells.

    With ``scroll`` the rows are a window around the cursor and the heading says which; without
    it, rows that matter least are left out so that every section shows.
    """
    columns = columns_for(width)
    if scroll and len(sections) == 1:
        return _scrolled(run, sections[0], columns, height, view, cursor, margin)
    blanks = height >= 26
    chosen = _fit_sections(sections, height, blanks)
    blanks = blanks and _needed(chosen, True) <= height
    lines: list[Line] = []
    tags: list[str | None] = []
    for i, section in enumerate(chosen):
        if i and blanks:
            lines.append([])
            tags.append(None)
        head = section_line(
            section.title,
            width,
            view,
            level=section.level,
            heads=columns if i == 0 else None,
            spark_head=_spark_head(run, columns),
        )
        lines.append([(" " * margin, TEXT), *head])
        tags.append(None)
        for row in section.rows:
            lines.append(_with_cursor(run, row, columns, view, cursor, margin))
            tags.append(row.tag)
    return _around(Pane(lines, tags, tags), cursor, height)


def _around(pane: Pane, cursor: str | None, height: int) -> Pane:
    """The lines around the cursor, when even the fewest rows are too many for the height."""
    if len(pane.lines) <= height:
        return pane
    at = pane.tags.index(cursor) if cursor in pane.tags else 0
    start = max(0, min(at - height // 2, len(pane.lines) - height))
    visible = slice(start, start + height)
    return Pane(pane.lines[visible], pane.tags[visible], pane.every)


def _with_cursor(
    run: RunView, row: Row, columns: Columns, view: View, cursor: str | None, margin: int
) -> Line:
    here = row.tag == cursor
    line = row_line(run, row, columns, view, cursor=here)
    if not here:
        return [(" " * margin, TEXT), *line]
    bar = (" " * (margin - 1) + view.glyphs.cursor, style(Token.ACCENT, bold=True))
    return [bar, *with_ground(fit_line(line, columns.width), Token.SEL)]


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


def _scrolled(
    run: RunView,
    section: Section,
    columns: Columns,
    height: int,
    view: View,
    cursor: str | None,
    margin: int,
) -> Pane:
    rows = section.rows
    room, key = max(1, height - 1), view.tab
    index = next((i for i, r in enumerate(rows) if r.tag == cursor), 0)
    offset = min(max(view.offset.get(key, 0), index - room + 1), index)
    offset = max(0, min(offset, len(rows) - room))
    view.offset[key] = offset
    shown = rows[offset : offset + room]
    title = f"{section.title} {len(rows)}"
    if len(rows) > room:
        title = f"{section.title} {offset + 1}–{offset + len(shown)} of {len(rows)}"
    head = section_line(
        view.glyphs.text(title),
        columns.width,
        view,
        level=section.level,
        heads=columns,
        spark_head=_spark_head(run, columns),
    )
    lines: list[Line] = [[(" " * margin, TEXT), *head]]
    tags: list[str | None] = [None]
    for row in shown:
        lines.append(_with_cursor(run, row, columns, view, cursor, margin))
        tags.append(row.tag)
    return Pane(lines, tags, tags)
