"""Overview and the category tabs: the table at the left, the cursor's chart beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rltui.core.level import Level
from rltui.core.text import cell_width, clean
from rltui.draw.line import (
    ACCENT,
    LEVEL_TOKEN,
    MUTED,
    RULE,
    STRONG,
    TEXT,
    Entry,
    Line,
    Span,
    Token,
    beside,
    fit_line,
    fixed,
    indented,
    line_width,
    style,
)
from rltui.draw.prose import note_lines
from rltui.draw.view import View
from rltui.facts import numbers
from rltui.facts.cache import kept
from rltui.facts.findings import cause_of, finding_rows, marks, worst_story
from rltui.facts.metrics import (
    ALL,
    FINDINGS,
    OVERVIEW,
    TAB_BY_ID,
    Section,
    Tab,
    make_row,
    overview_sections,
    tab_sections,
    tabs_of,
)
from rltui.pages.findings.findings_pane import file_lines, findings_pane, short_lines
from rltui.pages.findings.lines import calm_lines, event_lines, first_mover_lines, heading
from rltui.pages.log.lines import died_lines
from rltui.pages.metric.metric_chart import Zoom, chart_lines
from rltui.pages.run.metric_table import columns_of, fitted, table_entries
from rltui.pages.timing.lines import step_line
from rltui.session import RunView

#: Width of the list pane at screens of at least 150 and 110 cells: eyes do not jump over holes.
_LIST_WIDE, _LIST_MEDIUM = 92, 69
#: What the findings may take of the pane on Overview, percent: more where a chart fits below.
_FINDINGS_SHARE, _FINDINGS_SHARE_TALL, _TALL = 45, 55, 38
#: Lines below the questions from which the line of one step is kept whatever else is there.
_BELOW_AND_STEP = 14
#: Blank, scroll bar, blank: what parts the rows from the pane at the right.
_GAP = 3
#: From this width on the chart pane holds two charts side by side.
_TWO_CHARTS = 80
#: From this height on there are two rows of them.
_TWO_ROWS = 36
#: Lines of a chart of a companion, with its heading.
_SMALL_CHART = 7
#: From this height on Overview has a line more than its rows.
_ONE_MORE = 18
#: Cells of what stands for tabs that are left out.
_MORE = 2


@dataclass(frozen=True, slots=True)
class TabLayout:
    """Where the parts of Overview or a category tab stand; widths and heights in cells."""

    margin: int
    """Cells left of the rows, for the cursor bar."""
    rows: int
    """Width of a row."""
    left: int
    """Width of the list, with its margin and its scroll bar."""
    side: int
    """Width of the pane at the right; 0 for none."""
    list_height: int
    """Height of the list without its heading."""
    below: int
    """Height of what stands under the list; 0 for nothing."""
    headed: bool
    """Whether the heading stands above the list and does not scroll."""


def tab_layout(tab: str, width: int, height: int, rows: int) -> TabLayout:
    """The layout of a tab with ``rows`` rows in ``width`` x ``height``."""
    headed = tab != OVERVIEW
    room = max(1, height - headed)
    if width >= 110:
        cells = _LIST_WIDE if width >= 150 else _LIST_MEDIUM
        below = room - rows if headed and room - rows >= 6 else 0
        side = width - 2 - cells - _GAP
        return TabLayout(2, cells, cells + 4, side, room - below, below, headed)
    cells = max(10, width - 2)
    below = 0
    if headed and width >= 60 and height >= 15:
        least = 7 if height < 17 else 10 if height < 30 else 15
        below = max(least, room - max(rows, 1))

    return TabLayout(1, cells, width, 0, max(1, room - below), below, headed)


def list_alone(tab: str, width: int, height: int) -> TabLayout:
    """The layout of a tab whose list has the whole body."""
    margin, headed = 2 if width >= 110 else 1, tab != OVERVIEW
    cells = max(10, width - margin - 1)
    return TabLayout(margin, cells, width, 0, max(1, height - headed), 0, headed)


def chart_alone(
    run: RunView, tag: str, cross: int | None, view: View, width: int, height: int
) -> list[Line]:
    """The chart of a tag in the whole body, with the crosshair at the step ``cross``."""
    chart = chart_lines(run, tag, view, width, height - 1, zoom=Zoom(cross))
    return [chart_title(run, tag, view, width), *chart]


def without_rows(layout: TabLayout, width: int, height: int) -> TabLayout:
    """The layout of a tab that has no row: what stands in place of the list has all the width."""
    return replace(
        layout,
        rows=max(1, width - layout.margin - 1),
        left=width,
        side=0,
        below=0,
        list_height=max(1, height),
    )


def overview_entries(
    run: RunView,
    sections: Sequence[Section],
    view: View,
    layout: TabLayout,
    kept: str | None = None,
) -> list[Entry[str]]:
    """The whole list of Overview: the questions, and around them what is found. The row of the
    tag ``kept`` is among them whatever the room."""
    top = _short_findings(run, view, layout)
    step = step_line(run, view, layout.rows) if layout.list_height >= _ONE_MORE else None
    room = layout.list_height - len(top) - (step is not None and not layout.side)
    chosen, blanks = fitted(sections, room, kept)
    columns = columns_of([r for s in sections for r in s.rows], layout.rows, view)
    entries: list[Entry[str]] = [fixed(x) for x in indented(top, layout.margin)]
    for i, entry in enumerate(table_entries(run, chosen, columns, view, layout.margin)):
        if blanks and i and entry.id is None:
            entries.append(fixed([]))
        entries.append(entry)
    spare = layout.list_height - len(entries)
    wide = layout.side or layout.rows >= _LIST_WIDE
    below = spare - (2 if step is not None and spare >= _BELOW_AND_STEP else 0)
    lines = _below_overview(run, view, layout.rows, below) if wide else []
    if step is not None and len(lines) < spare:  # it takes the place of nothing that is found
        apart = layout.side and len(lines) + 1 < spare
        lines = [*([[]] if apart else []), step, *lines]

    return [*entries, *(fixed(x) for x in indented(lines, layout.margin))]


def _below_overview(run: RunView, view: View, width: int, height: int) -> list[Line]:
    """What has room under the questions: what moved first, what to check, what happened."""
    lines: list[Line] = []
    if height >= 4 and (moved := first_mover_lines(run, view, width, min(height - 1, 8))):
        lines += [[], *moved]
    story = worst_story(run)
    if story is not None and (room := height - len(lines) - 1) >= 6:
        from rltui.pages.findings.findings_detail import check_table  # imported when it is shown

        lines += [[], *check_table(run, story, view, width)[:room]]
    if happened := event_lines(run, view, width, height - len(lines) - 1):
        lines += [[], *happened]
    return lines


def _short_findings(run: RunView, view: View, layout: TabLayout) -> list[Line]:
    """In one pane: the worst findings above the list, and what moved first."""
    height, width = layout.list_height, layout.rows
    if layout.side or height < 14 or width < 58:
        return []
    troubles = file_lines(run, width, view)
    lines = short_lines(run, width, view, (5 if height >= 20 else 3) - len(troubles))
    return [*(lines or calm_lines(run, width, view)[:1]), *troubles]


def shown_of(sections: Sequence[Section], total: int, tab: str) -> str:
    """ "Actor 4 of 22": what a filter left."""
    count = sum(len(s.rows) for s in sections)
    title = "Overview" if tab == OVERVIEW else TAB_BY_ID[tab].title
    return f"{title} {count} of {total}"


def first_to_look_at(run: RunView, tab: str, sections: Sequence[Section]) -> str:
    """The row that the cursor is on when a tab opens: on Overview what the worst story is about,
    elsewhere the first bad row, else the first watch row, else the first one."""
    rows = [r for s in sections for r in s.rows]
    worst = _worst_tag(run) if tab == OVERVIEW else None
    if any(r.tag == worst for r in rows):
        return worst or ""
    for level in (Level.BAD, Level.WATCH):
        for row in rows:
            if row.level is level:
                return row.tag
    return rows[0].tag


def tag_to_chart(run: RunView, tab: str, chosen: str | None, cursor: str | None) -> str | None:
    """The tag of the chart beside the list: that at the cursor, but on Overview what the worst
    story is about as long as the user has ``chosen`` no row."""
    if tab != OVERVIEW or chosen is not None:
        return cursor
    return _worst_tag(run) or cursor


def _worst_tag(run: RunView) -> str | None:
    """The setting that began the worst story, else the tag of the worst finding."""
    cause = cause_of(run)
    if cause is not None:
        return cause.tag
    firing = [f for r in finding_rows(run) if r.is_firing for f in r.findings]
    worst = max(firing, key=lambda f: f.level, default=None)
    return worst.tag if worst is not None and worst.tag in run.infos else None


def empty_lines(run: RunView, filtered: bool, view: View, layout: TabLayout) -> list[Line]:
    """What stands in place of the list when it has no row."""
    if filtered:
        return [[], [("  no row matches the filter", MUTED)]]
    if run.data.files.reading:
        return [[], [("  reading", MUTED)]]
    if run.verdict.crash is not None:
        return indented(died_lines(run, view, layout.rows - 2, layout.list_height), 2)
    lines: list[Line] = [[], [("  no scalar yet", TEXT)]]
    for source in run.data.files.sources.values():
        size = f"{numbers.exact(source.size)} bytes read, {numbers.exact(source.records)} records"
        lines.append([(f"  {clean(source.path.name)}: {size}", MUTED)])

    return [*lines, *note_lines(run.data.files.notes, layout.rows)]


def hidden_lines(run: RunView, tab: str, text: str, view: View) -> list[Line]:
    """How many rows the filter ``text`` hides, and how many of them are bad."""
    shown = {r.tag for s in tab_sections(run, tab, text) for r in s.rows}
    hidden = [r.tag for s in tab_sections(run, tab) for r in s.rows if r.tag not in shown]
    if not hidden:
        return []
    bad = sum(run.verdict.tag_level(t) is Level.BAD for t in hidden)
    glyph = view.glyphs.badge(Level.BAD if bad else Level.UNKNOWN)
    look = style(LEVEL_TOKEN[Level.BAD], bold=True) if bad else MUTED
    tail = f", {bad} of them bad" if bad else ""
    rows = "row" if len(hidden) == 1 else "rows"

    return [
        [("  ", TEXT), (glyph, look), (f" {len(hidden)} {rows} hidden by the filter{tail}", MUTED)]
    ]


def side_lines(
    run: RunView, tab: str, cursor: str | None, view: View, width: int, height: int
) -> list[Line]:
    """The pane at the right: findings on Overview, and the chart of the tag ``cursor``."""
    lines: list[Line] = []
    if tab == OVERVIEW:
        share = _FINDINGS_SHARE_TALL if height >= _TALL else _FINDINGS_SHARE
        lines = findings_pane(run, width, max(4, height * share // 100), view)
        lines.append([])
    room = height - len(lines)
    if room < 7 or cursor not in run.infos:
        return lines
    others = companions(run, cursor)
    if width >= _TWO_CHARTS and others:
        if room >= _TWO_ROWS and len(others) > 2:
            top = _side_by_side(run, view, width, (room - 1) // 2, [cursor, others[0]])
            low = _side_by_side(run, view, width, (room - 1) // 2, others[1:3], ("none", "none"))
            return [*lines, *top, [], *low]
        return [*lines, *_side_by_side(run, view, width, min(room, 31), [cursor, others[0]])]
    # the first paint, before there is a verdict, does not wait for it
    ready = room >= 31 and run.report is not None
    linked = _linked(run, cursor) if ready else []
    if not linked:
        return [*lines, *_titled_chart(run, cursor, view, width, min(room, 31))]
    height = min(room - len(linked) * _SMALL_CHART - 4, 27)
    lines += _titled_chart(run, cursor, view, width, height, stacked=True)
    lines += [[], heading("moves with it", width, view, "same steps")]
    for tag in linked:
        lines += _small_chart(run, tag, view, width, tag == linked[-1])

    return lines


def _linked(run: RunView, tag: str) -> list[str]:
    """The two tags that move with a tag most clearly."""
    from rltui.pages.metric.related import related  # imported when it is shown

    return [r.tag for r in related(run, tag) if r.is_link][:2]


def _titled_chart(
    run: RunView,
    tag: str,
    view: View,
    width: int,
    height: int,
    *,
    stacked: bool = False,
    timeline: str = "named",
) -> list[Line]:
    chart = chart_lines(run, tag, view, width, height - 1, stacked=stacked, timeline=timeline)
    return [chart_title(run, tag, view, width), *chart]


def _side_by_side(
    run: RunView,
    view: View,
    width: int,
    height: int,
    tags: list[str],
    timelines: tuple[str, str] = ("named", "unnamed"),
) -> list[Line]:
    """Two charts beside each other, three blanks between them; the names of what happened stand
    once."""
    each = (width - 3) // 2
    left, right = (
        _titled_chart(run, tag, view, each, height, timeline=timeline)
        for tag, timeline in zip(tags, timelines, strict=True)
    )
    return beside(left, right, each, 3, height)


def companions(run: RunView, cursor: str) -> list[str]:
    """Vital signs to see beside the one at the cursor: the worst first, then in their order."""
    rows = [r for s in overview_sections(run) for r in s.rows if r.tag != cursor]
    return [r.tag for r in sorted(rows, key=lambda r: -int(max(r.level, Level.OK)))]


def _small_chart(run: RunView, tag: str, view: View, width: int, last: bool) -> list[Line]:
    """Badge and title over a chart of the same steps; the last one has their axis."""
    row = make_row(run, tag)
    look = style(LEVEL_TOKEN[row.level], bold=True)
    head: Line = [(f"{view.glyphs.badge(row.level)} ", look), (view.glyphs.text(row.title), STRONG)]
    rows = _SMALL_CHART - 1 + 2 * last
    chart = chart_lines(run, tag, view, width, rows, stacked=True, small=True, x_axis=last)
    return [head, *chart]


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


@dataclass(frozen=True, slots=True)
class TabSpot:
    """Where a tab stands on its line, for the mouse and the underline."""

    id: str
    start: int
    end: int


def tab_line(run: RunView, active: str, view: View, width: int) -> tuple[Line, list[TabSpot]]:
    """Line 2 and where each tab stands on it.

    Tabs are shown whole or not at all: the active one, then bad and watch ones and All, then those
    with a key stay longest. An ellipsis at the end stands for those left out.
    """
    tabs, left = tabs_of(run), 2 if width >= 110 else 0
    for gap, form in ((3, "title"), (2, "medium"), (1, "short")):
        if gap == 3 and width < 150:
            continue
        labels = {t.id: _tab_label(run, t, t.id == active, view, form) for t in tabs}
        needed = [line_width(labels[t.id]) + gap for t in tabs if t.key or t.id == active]
        if left + sum(needed) - gap + _MORE <= width:
            break
    shown, x = list(tabs), left + sum(line_width(x) + gap for x in labels.values()) - gap
    while len(shown) > 1 and x + (_MORE if len(shown) < len(tabs) else 0) > width:
        least = min(reversed(shown), key=lambda t: _weight(run, t, active))
        shown.remove(least)
        x -= line_width(labels[least.id]) + gap

    return _place_tabs(shown, labels, len(tabs) - len(shown), view, width, gap, left)


def _weight(run: RunView, tab: Tab, active: str) -> tuple[bool, bool, bool]:
    """The lightest tab is left out first."""
    matters = _level(run, tab) >= Level.WATCH or tab.id == ALL
    return tab.id == active, matters, bool(tab.key)


def _place_tabs(
    tabs: list[Tab],
    labels: dict[str, Line],
    hidden: int,
    view: View,
    width: int,
    gap: int,
    left: int,
) -> tuple[Line, list[TabSpot]]:
    line: Line = [(" " * left, TEXT)] if left else []
    spots: list[TabSpot] = []
    x = left
    for tab in tabs:
        if spots:
            line.append((" " * gap, TEXT))
            x += gap
        end = x + line_width(labels[tab.id])
        spots.append(TabSpot(tab.id, x, end))
        line.extend(labels[tab.id])
        x = end
    if hidden:
        line.append((f" {view.glyphs.ellipsis}", MUTED))

    return fit_line(line, width, ellipsis=view.glyphs.ellipsis), spots


def _tab_label(run: RunView, tab: Tab, active: bool, view: View, form: str) -> Line:
    names = {"title": tab.title, "medium": tab.medium, "short": tab.short}
    name = tab.title if active and form == "short" else names[form]
    look = style(Token.STRONG, bold=True, underline=active and form == "short") if active else TEXT
    line: Line = []
    if tab.key:
        line.append((f"{tab.key} ", style(Token.ACCENT) if active else MUTED))
    line.append((name, look))
    line.extend(_tab_badge(run, view, tab, "" if form == "short" else " "))
    return line


def _tab_badge(run: RunView, view: View, tab: Tab, gap: str) -> list[Span]:
    if tab.id == ALL:
        return [(f" {len(run.infos)}", MUTED)] if gap else []
    if tab.id == FINDINGS:
        return [(f" {sum(marks(run).values())}", MUTED)]
    level = _level(run, tab)
    if level is Level.UNKNOWN and not _is_open(run, tab):
        return []
    return [(gap + view.glyphs.badge(level), style(LEVEL_TOKEN[level]))]


def _level(run: RunView, tab: Tab) -> Level:
    if tab.id in (OVERVIEW, FINDINGS):
        return run.verdict.level
    if tab.category is None:
        return Level.UNKNOWN
    return Level.UNKNOWN if _is_open(run, tab) else run.verdict.category_level(tab.category)


def _is_open(run: RunView, tab: Tab) -> bool:
    """Whether a tab would be ok but for the newest rows of a tag."""
    category = tab.category
    if category is None or run.verdict.category_level(category) is not Level.OK:
        return False
    return kept(run, ("doubt", category), lambda: run.verdict.has_doubt(category))


def tab_rule(spots: list[TabSpot], active: str, view: View, width: int) -> Line:
    """Line 3: a rule with the active tab underlined."""
    glyphs = view.glyphs
    for spot in spots:
        if spot.id == active:
            start, end = max(0, spot.start), min(width, spot.end)
            return [
                (glyphs.rule * start, RULE),
                (glyphs.heavy * (end - start), ACCENT),
                (glyphs.rule * (width - end), RULE),
            ]
    return [(glyphs.rule * width, RULE)]
