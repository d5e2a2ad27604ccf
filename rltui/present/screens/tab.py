"""Overview and the category tabs: the table at the left, the cursor's chart beside it."""

from __future__ import annotations

import numpy as np

from rltui.core.level import Level
from rltui.core.text import cell_width, clean
from rltui.health.model import FindingState
from rltui.present.chart.outline import LONG
from rltui.present.kit import numbers, sentences
from rltui.present.kit.line import (
    LEVEL_TOKEN,
    MUTED,
    STRONG,
    TEXT,
    Line,
    fit_line,
    line_at,
    style,
)
from rltui.present.kit.prose import fact_line, paragraph
from rltui.present.screens.findings import (
    calm_lines,
    findings_pane,
    heading,
    short_lines,
    span_words,
)
from rltui.present.screens.first_movers import moved_lines, moved_sentence
from rltui.present.screens.frame_model import Body
from rltui.present.screens.metric_chart import chart_lines, outline_of
from rltui.present.screens.metric_rows import Section, make_row, overview_sections, tab_sections
from rltui.present.screens.metric_table import Pane, table_pane
from rltui.present.screens.run_cache import RunCache, RunSeriesCache
from rltui.present.screens.view import OVERVIEW, View
from rltui.session import RunView
from rltui.store import Series

#: Width of the list pane at screens of at least 150 and 110 cells: eyes do not jump over holes.
_LIST_WIDE, _LIST_MEDIUM = 92, 69
_SECTIONS: RunCache[tuple[str, str], list[Section]] = RunCache()
_MEDIANS: RunSeriesCache[tuple[int, float]] = RunSeriesCache()
_GAP = 3
#: From this width on the chart pane holds two charts side by side.
_TWO_CHARTS = 80
#: Lines of a chart of a companion, with its heading.
_SMALL_CHART = 7


def tab_body(run: RunView, view: View, width: int, height: int) -> Body:
    """Overview or a category tab in ``width`` x ``height``."""
    sections = cached_sections(run, view)
    items = [r.tag for s in sections for r in s.rows]
    if not items:
        return _empty(run, view, width)
    cursor = view.cursor.get(view.tab)
    if cursor not in items or view.tab not in view.moved:
        cursor = view.cursor[view.tab] = _first_to_look_at(sections)
    if width >= 110:
        body = _two_panes(run, view, width, height, sections, cursor)
    else:
        body = _one_pane(run, view, width, height, sections, cursor)
    total = len(_unfiltered(run, view))
    body.note = f"{sections[0].title if len(sections) == 1 else 'Overview'} {len(items)} of {total}"
    return body


def cached_sections(run: RunView, view: View) -> list[Section]:
    """The sections of the tab, kept until the run or the filter changes."""
    return list(_SECTIONS.get(run, (view.tab, view.filter), lambda: tab_sections(run, view)))


def _unfiltered(run: RunView, view: View) -> list[str]:
    text, view.filter = view.filter, ""
    try:
        return [r.tag for s in cached_sections(run, view) for r in s.rows]
    finally:
        view.filter = text


def _first_to_look_at(sections: list[Section]) -> str:
    """The first bad row, else the first watch row, else the first row."""
    rows = [r for s in sections for r in s.rows]
    for level in (Level.BAD, Level.WATCH):
        for row in rows:
            if row.level is level:
                return row.tag
    return rows[0].tag


def _empty(run: RunView, view: View, width: int) -> Body:
    del width
    if view.filter:
        return Body([[], [("  no row matches the filter", MUTED)]], note="0 rows")
    if run.data.files.reading:
        return Body([[], [("  reading", MUTED)]])
    lines: list[Line] = [[], [("  no scalar yet", TEXT)]]
    for source in run.data.files.sources.values():
        size = f"{numbers.exact(source.size)} bytes read, {numbers.exact(source.records)} records"
        lines.append([(f"  {clean(source.path.name)}: {size}", MUTED)])
    lines += [[(f"  {clean(n.path.name)}: {n.message}", MUTED)] for n in run.data.files.notes[:5]]
    return Body(lines)


def _items(sections: list[Section], pane: Pane, scroll: bool) -> tuple[list[str], list[int]]:
    """What the cursor can reach, and where sections begin in it."""
    if scroll:
        return [r.tag for s in sections for r in s.rows], [0]
    items = [t for t in pane.every if t is not None]
    starts, count, fresh = [], 0, True
    for tag in pane.every:
        if tag is None:
            fresh = True
        else:
            if fresh:
                starts.append(count)
            fresh = False
            count += 1
    return items, starts


def _two_panes(
    run: RunView, view: View, width: int, height: int, sections: list[Section], cursor: str
) -> Body:
    list_width = _LIST_WIDE if width >= 150 else _LIST_MEDIUM
    overview = view.tab == OVERVIEW
    scroll = len(sections) == 1
    room = height
    pane = table_pane(run, sections, list_width, room, view, cursor, scroll=scroll)
    left = list(pane.lines)
    spare = height - len(left) - 1
    if not overview and spare >= 5:
        left += [[], *_about(run, cursor, view, list_width, spare)]
    if overview and spare >= 3:
        moved = moved_lines(run, view, list_width, min(spare, 8))
        left += [[], *([("  ", TEXT), *x] for x in moved)] if moved else []
    left += _hidden(run, view)
    pane_width = width - 2 - list_width - _GAP - 1
    right = _right_pane(run, view, pane_width, height, cursor)
    lines = [
        [*fit_line(line_at(left, i), 2 + list_width), (" " * _GAP, TEXT), *line_at(right, i)]
        for i in range(height)
    ]
    items, starts = _items(sections, pane, scroll)
    hits = {y: t for y, t in enumerate(pane.tags) if t is not None}
    return Body(lines, items, hits, starts)


def _hidden(run: RunView, view: View) -> list[Line]:
    """How many rows a filter hides, and how many of them are bad."""
    if not view.filter:
        return []
    shown = {r.tag for s in cached_sections(run, view) for r in s.rows}
    hidden = [t for t in _unfiltered(run, view) if t not in shown]
    bad = sum(run.verdict.judgement(t).level is Level.BAD for t in hidden)
    if not hidden:
        return []
    glyph = view.glyphs.badge(Level.BAD if bad else Level.UNKNOWN)
    look = style(LEVEL_TOKEN[Level.BAD], bold=True) if bad else MUTED
    tail = f", {bad} of them bad" if bad else ""
    rows = "row" if len(hidden) == 1 else "rows"
    return [
        [("  ", TEXT), (glyph, look), (f" {len(hidden)} {rows} hidden by the filter{tail}", MUTED)]
    ]


def _right_pane(run: RunView, view: View, width: int, height: int, cursor: str) -> list[Line]:
    lines: list[Line] = []
    if view.tab == OVERVIEW:
        lines = findings_pane(run, width, max(4, height * 45 // 100), view)
        lines.append([])
    room = height - len(lines)
    if room < 7:
        return lines
    companions = _companions(run, cursor)
    if width >= _TWO_CHARTS and companions:
        return [*lines, *_side_by_side(run, view, width, min(room, 31), [cursor, companions[0]])]
    ill = [t for t in companions if run.verdict.judgement(t).level >= Level.WATCH][:2]
    if not ill or room < 31:
        return [*lines, *_titled_chart(run, cursor, view, width, min(room, 31))]
    lines += _titled_chart(run, cursor, view, width, min(room - len(ill) * _SMALL_CHART - 2, 27))
    lines += [[], heading("moves with it", width, view, "same steps")]
    for tag in ill:
        lines += _small_chart(run, tag, view, width)
    return lines


def _titled_chart(run: RunView, tag: str, view: View, width: int, height: int) -> list[Line]:
    chart = chart_lines(run, tag, view, width, height - 1)
    return [chart_title(run, tag, view, width), *chart]


def _side_by_side(run: RunView, view: View, width: int, height: int, tags: list[str]) -> list[Line]:
    """Two charts beside each other, three blanks between them."""
    each = (width - 3) // 2
    left, right = (_titled_chart(run, t, view, each, height) for t in tags)
    return [
        [*fit_line(line_at(left, i), each), ("   ", TEXT), *line_at(right, i)]
        for i in range(height)
    ]


def _companions(run: RunView, cursor: str) -> list[str]:
    """Vital signs to see beside the one at the cursor: ill ones first, then in their order."""
    rows = [r for s in overview_sections(run) for r in s.rows if r.tag != cursor]
    return [r.tag for r in sorted(rows, key=lambda r: -int(max(r.level, Level.OK)))]


def _small_chart(run: RunView, tag: str, view: View, width: int) -> list[Line]:
    """Badge, title and newest value over a chart of the same steps."""
    row = make_row(run, tag)
    look = style(LEVEL_TOKEN[row.level], bold=True)
    left: Line = [(f"{view.glyphs.badge(row.level)} ", look), (view.glyphs.text(row.title), STRONG)]
    value = numbers.value(row.value)
    head = [*fit_line(left, width - cell_width(value) - 1), (f" {value}", look)]
    return [head, *chart_lines(run, tag, view, width, _SMALL_CHART - 1, small=True)]


def chart_title(run: RunView, tag: str, view: View, width: int) -> Line:
    """Title, rule, unit and tag above a chart."""
    info = run.infos[tag]
    words = view.glyphs.text
    title = words(info.title)
    room = width - cell_width(title) - 4
    note = "   ".join(x for x in (words(info.unit), info.tag) if x)
    if cell_width(note) > room:
        note = words(info.unit)
    return heading(title, width, view, note)


def _one_pane(
    run: RunView, view: View, width: int, height: int, sections: list[Section], cursor: str
) -> Body:
    margin = 1
    pane_width = max(10, width - 2 * margin)
    overview = view.tab == OVERVIEW
    top: list[Line] = []
    if overview and height >= 14 and width >= 60:
        limit = 4 if height >= 20 else 3
        sentence = moved_sentence(run, view)
        lines = short_lines(run, pane_width, view, limit - 1 if sentence else limit)
        if lines and sentence:
            lines.append([("  moved first  ", MUTED), (sentence, TEXT)])
        if not lines:
            lines = calm_lines(run, pane_width, view)[:1]
        top = [[(" " * margin, TEXT), *x] for x in lines]
    scroll = len(sections) == 1
    chart_height = 0
    if not overview and width >= 60 and height >= 17:
        chart_height = 9 if height < 30 else 14
    room = height - len(top) - (chart_height + 1 if chart_height else 0)
    pane = table_pane(run, sections, pane_width, room, view, cursor, scroll=scroll, margin=margin)
    lines = [*top, *pane.lines, *_hidden(run, view)]
    hits = {y + len(top): t for y, t in enumerate(pane.tags) if t is not None}
    if chart_height:
        spare = height - len(lines) - 1
        lines.append([(" " * margin, TEXT), *_narrow_title(run, cursor, view, pane_width)])
        lines += [
            [(" " * margin, TEXT), *x]
            for x in chart_lines(run, cursor, view, pane_width, min(max(spare, 4), 20))
        ]
    items, starts = _items(sections, pane, scroll)
    return Body(lines[:height], items, hits, starts)


def _narrow_title(run: RunView, tag: str, view: View, width: int) -> Line:
    """At 80 cells the title of the chart says what is found instead of the tag."""
    info = run.infos[tag]
    findings = run.report.findings if run.report else ()
    found = next((f for f in findings if f.tag == tag), None)
    words = view.glyphs.text
    note = words(
        sentences.short(found) if found and found.state is FindingState.FIRING else info.unit
    )
    title = words(info.title)
    if cell_width(note) > width - cell_width(title) - 6:
        note = ""
    return heading(title, width, view, note)


def _about(run: RunView, tag: str, view: View, width: int, height: int) -> list[Line]:
    """Below a short table: what the rules say of the row at the cursor, numbers, meaning."""
    info = run.infos[tag]
    words = view.glyphs.text
    lines: list[Line] = [[("  ", TEXT), *heading(words(info.title), width, view, info.tag)]]
    inner = width - 2
    for finding in run.report.findings if run.report else ():
        if finding.tag != tag:
            continue
        over = finding.state is FindingState.RESOLVED
        glyph = view.glyphs.over if over else view.glyphs.badge(finding.level)
        look = MUTED if over else style(LEVEL_TOKEN[finding.level], bold=True)
        since = f"   {span_words(finding)}"
        lines.append([("  ", TEXT), (f"{glyph} {words(finding.title)}", look), (since, MUTED)])
        text = words(sentences.summary(finding))
        lines += paragraph(text, inner, indent=4, limit=2, ellipsis=view.glyphs.ellipsis)
    lines.append([])
    facts = _statistics(run, tag)
    lines.append([("  ", TEXT), *fact_line(facts, inner, ellipsis=view.glyphs.ellipsis)])
    if info.meaning:
        lines.append([])
        lines += paragraph(words(info.meaning), inner, indent=2, ellipsis=view.glyphs.ellipsis)
    return [fit_line(x, width + 2, ellipsis=view.glyphs.ellipsis) for x in lines[:height]]


def _median(run: RunView, series: Series) -> float:
    """The median; that of a long series is taken anew when it has grown by a hundredth."""

    def make(series: Series) -> tuple[int, float]:
        return series.count, float(np.median(series.finite()[1]))

    def extend(known: tuple[int, float], longer: Series) -> tuple[int, float]:
        return known if known[0] >= LONG and longer.count <= 1.01 * known[0] else make(longer)

    return _MEDIANS.of(run).get(series, make, extend=extend)[1]


def _statistics(run: RunView, tag: str) -> list[tuple[str, str]]:
    """(name, value) of all points, the most telling first."""
    series = run.shown(tag)
    index = outline_of(run, series)  # holds the extremes
    steps = series.steps if index is None else series.steps[index]
    values = series.values if index is None else series.values[index]
    whole = np.isfinite(values)
    steps, values = steps[whole], values[whole].astype(np.float64)
    facts: list[tuple[str, str]] = []
    last = series.last
    if last is not None:
        facts.append(("newest", numbers.value(last[2])))
    if len(values):
        high = int(values.argmax())
        facts += [
            ("min", numbers.value(values.min())),
            ("median", numbers.value(_median(run, series))),
            ("max", numbers.value(values[high])),
            ("at step", numbers.step(int(steps[high]))),
        ]
    counts = [("points", series.count), ("NaN", series.nonfinite)]
    return facts + [(name, numbers.step(count)) for name, count in counts]
