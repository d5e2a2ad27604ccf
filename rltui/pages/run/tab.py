"""Layout and lines of Overview and the category tabs, and the line of tabs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rltui.catalogue.model import Category
from rltui.core.level import Level, worst
from rltui.core.record import record
from rltui.core.text import clean, counted, fit
from rltui.draw.line import (
    ACCENT,
    LEVEL_BOLD,
    LEVEL_LOOK,
    MUTED,
    RULE,
    STRONG,
    TEXT,
    Block,
    Entry,
    Line,
    Token,
    badge_span,
    fit_line,
    fixed,
    indented,
    line_width,
    margin_of,
    side_by_side,
    style,
)
from rltui.draw.marked_runs import has_others, told_lines
from rltui.draw.metric_chart import Zoom, chart_lines
from rltui.draw.prose import note_lines
from rltui.draw.table import heading
from rltui.draw.view import PaneLayout, View
from rltui.facts import metrics, numbers
from rltui.facts.cache import kept
from rltui.facts.findings import marks
from rltui.facts.lanes import lanes
from rltui.facts.story import main_story
from rltui.facts.verdict_sentence import outcome_tag
from rltui.pages.findings.findings_pane import file_lines, timeline_lines
from rltui.pages.findings.lines import died_lines
from rltui.pages.run.metric_table import columns_of, fitted, section_entries, titled_chart
from rltui.pages.timing.pane import step_line
from rltui.session import JudgedRun

#: Width of the list pane at screens of at least 150 and 110 cells: eyes do not jump over holes.
_LIST_WIDE = 92
_LIST_MEDIUM = 69
_LIST_NARROW = 44
#: From this width on Overview has a pane at the right.
_SPLIT = 76
#: Blank, scroll bar, blank between the rows and the pane at the right.
_GAP = 3
#: From this width on the chart pane holds two charts side by side.
_TWO_CHARTS = 80
#: From this height on there are two rows of them.
_TWO_ROWS = 36
#: Lines of a chart on Overview with its heading, at least and at most.
_LEAST_CHART = 6
_MOST_CHART = 18
#: Lines of a chart of a companion, with its heading.
_SMALL_CHART = 7
#: From this height on Overview has a line more than its rows.
_ONE_MORE = 18
#: Cells of what stands for tabs that are left out.
_MORE = 2


def tab_layout(tab: str, width: int, height: int, rows: int, *, alone: str = "") -> PaneLayout:
    """The layout of a tab with ``rows`` rows in ``width`` x ``height``; ``alone``: the list or the
    chart has all of it."""
    headed = tab != metrics.OVERVIEW
    room = max(1, height - headed)
    margin = margin_of(width)
    if alone == "list":
        return PaneLayout(margin, max(10, width - margin - 1), width, 0, room, headed=headed)
    below = 0

    if width >= 110 or (width >= _SPLIT and not headed):
        cells = _LIST_WIDE if width >= 150 else _LIST_MEDIUM if width >= 110 else _LIST_NARROW
        below = room - rows if headed and room - rows >= 6 else 0
        left = cells + 4
        side = width - 2 - cells - _GAP
    else:
        cells = max(10, width - 2)
        left = width
        side = 0
        if headed and width >= 60 and height >= 15:
            least = 7 if height < 17 else 10 if height < 30 else 15
            below = max(least, room - max(rows, 1))
    if alone == "chart":
        left = 0
        side = width - 1

    return PaneLayout(margin, cells, left, side, max(1, room - below), below, headed=headed)


def chart_alone(
    run: JudgedRun, tag: str, cross: int | None, view: View, width: int, height: int
) -> Block:
    """The chart of a tag in the whole body, with the crosshair at the step ``cross``."""
    told = told_lines(run, tag, cross, view, width, height)
    zoom = Zoom(cross)
    room = height - len(told)
    is_told = bool(told)
    return [*titled_chart(run, tag, view, width, room, zoom=zoom, told=is_told), *told]


def overview_entries(
    run: JudgedRun,
    sections: Sequence[metrics.Section],
    view: View,
    layout: PaneLayout,
    wanted: str | None = None,
) -> list[Entry[str]]:
    """The whole list of Overview: its questions with the rows that answer them, the parts of a
    step. The row of the tag ``wanted`` is shown in any case."""
    height = layout.list_height
    width = layout.rows
    step = step_line(run, view, width) if height >= _ONE_MORE else None
    top = [] if layout.side else file_lines(run, width, view)
    chosen, blanks = fitted(sections, height - len(top), wanted)
    columns = columns_of(metrics.rows_in(sections), width)
    entries: list[Entry[str]] = [fixed(x) for x in indented(top, layout.margin)]

    for i, entry in enumerate(
        section_entries(run, chosen, columns, view, layout.margin, whole=True)
    ):
        if blanks and i and entry.id is None:
            entries.append(fixed([]))
        entries.append(entry)

    spare = height - len(entries)
    lines = [[], step] if step is not None and spare > 1 else []
    lines += _blind_lines(run, width, spare - len(lines))
    if lines:
        entries.append(fixed(*indented(lines, layout.margin)))
    return entries


def _blind_lines(run: JudgedRun, width: int, room: int) -> Block:
    """The failures that its names cannot show, if there is room for it."""
    if room < 2 or run.report is None:
        return []
    from rltui.facts.alarms import blind_words  # heavy

    words = fit(blind_words(run), width)
    return [[], [(words, MUTED)]] if words else []


def first_to_look_at(run: JudgedRun, tab: str, sections: Sequence[metrics.Section]) -> str:
    """The row that the cursor is on when a tab opens: on Overview what the worst story is about,
    elsewhere the first bad row, else the first watch row, else the first one."""
    rows = metrics.rows_in(sections)
    worst = _worst_tag(run) if tab == metrics.OVERVIEW else None
    if any(r.tag == worst for r in rows):
        return worst or ""
    return max(rows, key=lambda r: r.level if r.level >= Level.WATCH else Level.UNKNOWN).tag


def tag_to_chart(run: JudgedRun, tab: str, chosen: str | None, cursor: str | None) -> str | None:
    """The tag of the chart right of the list: that at the cursor, but on Overview that of the worst
    story as long as the user has ``chosen`` no row."""
    if tab != metrics.OVERVIEW or chosen is not None:
        return cursor
    return _worst_tag(run) or cursor


def _worst_tag(run: JudgedRun) -> str | None:
    """The setting that began the worst story, else the tag of its worst finding, the first one."""
    story = main_story(run)
    if story is None:
        return None
    firing = [row.finding for row in story.rows if row.is_firing]
    worst = min(firing, key=lambda f: (-f.level, f.since_step or math.inf), default=None)
    setting = None if story.setting is None else story.setting.tag
    tag = setting or (worst.tag if worst is not None else None)
    return tag if tag in run.infos else None


def empty_lines(run: JudgedRun, filtered: bool, layout: PaneLayout) -> Block:
    """The lines in place of a list without rows."""
    if filtered:
        return [[], [("  no row matches the filter", MUTED)]]
    if run.data.files.reading:
        return [[], [("  reading", MUTED)]]
    if run.verdict.crash is not None:
        return indented(died_lines(run, layout.rows - 2, layout.list_height), 2)
    lines: Block = [[], [("  no scalar yet", TEXT)]]
    for source in run.data.files.sources.values():
        size = f"{numbers.exact(source.size)} bytes read, {numbers.exact(source.records)} records"
        lines.append([(f"  {clean(source.path.name)}: {size}", MUTED)])

    return [*lines, *note_lines(run.data.files.notes, layout.rows)]


def hidden_lines(run: JudgedRun, tab: str, text: str, view: View) -> Block:
    """How many rows the filter ``text`` hides, and how many of them are bad."""
    shown = {r.tag for r in metrics.rows_in(metrics.tab_sections(run, tab, text))}
    hidden = {r.tag for r in metrics.rows_in(metrics.tab_sections(run, tab))} - shown
    if not hidden:
        return []
    bad = sum(run.verdict.tag_level(t) is Level.BAD for t in hidden)
    badge = badge_span(Level.BAD if bad else Level.UNKNOWN, view.glyphs)
    words = f"{counted(len(hidden), 'row')} hidden by the filter"
    return [[("  ", TEXT), badge, (words + f", {bad} of them bad" * bool(bad), MUTED)]]


def side_lines(
    run: JudgedRun,
    tab: str,
    cursor: str | None,
    view: View,
    width: int,
    height: int,
) -> Block:
    """The pane at the right: the chart of the tag ``cursor``, on Overview below that of the outcome
    and above the timeline."""
    if tab == metrics.OVERVIEW:
        return _overview_side(run, cursor, view, width, height)
    if height < 7 or cursor not in run.infos:
        return []
    others = companions(run, cursor)
    if width >= _TWO_CHARTS and others:
        has_four = height >= _TWO_ROWS and len(others) > 2
        high = (height - 1) // 2 if has_four else min(height, 31)
        lines = _side_by_side(run, view, width, high, [cursor, others[0]])
        if has_four:
            lines += [[], *_side_by_side(run, view, width, high, others[1:3], ("none", "none"))]
        return lines
    linked = _linked(run, cursor) if height >= 31 else []
    tall = min(height - len(linked) * _SMALL_CHART - 4, 27) if linked else min(height, 31)
    lines = titled_chart(run, cursor, view, width, tall, stacked=bool(linked))

    if linked:
        lines += [[], heading("moves with it", width, view, "same steps")]
    for tag in linked:  # the last one has the axis of all
        row = metrics.make_row(run, tag)
        last = tag == linked[-1]
        badge = (f"{view.glyphs.badge(row.level)} ", LEVEL_BOLD[row.level])
        lines.append([badge, (row.title, STRONG)])
        rows = _SMALL_CHART - 1 + 2 * last
        lines += chart_lines(run, tag, view, width, rows, stacked=True, small=True, x_axis=last)

    return lines


def _overview_side(
    run: JudgedRun, cursor: str | None, view: View, width: int, height: int
) -> Block:
    """Charts of the outcome and, below it, of ``cursor``, with one line at the onset of the worst
    story through both; below them what happened, in order of time."""
    story = main_story(run)
    charts = max(2 * _LEAST_CHART, height // 2)
    # it does not depend on the cursor: a key shows it as it was drawn
    key = "timeline", width, height, view, len(run.faults)
    told = kept(run, key, lambda: timeline_lines(run, view, width, height - charts))
    room = height - len(told) - bool(told)
    wanted = dict.fromkeys([outcome_tag(run), cursor, *companions(run, cursor or "")])
    # the names of marked runs need a larger chart
    count = 1 if has_others(cursor or "", view) else max(2, room // _MOST_CHART + 1)
    tags = [tag for tag in wanted if tag is not None and tag in run.infos][:count]
    onset = None if story is None else story.onset
    lines: Block = []

    for place, tag in enumerate(tags):
        left = len(tags) - place
        tall = min(_MOST_CHART, (room - len(lines)) // left)
        if tall < _LEAST_CHART - 1:
            continue
        own = onset if tag not in run.points.off_axis else None
        lines += titled_chart(
            run, tag, view, width, tall, stacked=True, timeline="none", x_axis=left == 1, onset=own
        )
    return [*lines, *[[]] * bool(lines and told), *told]


def tags_beside(run: JudgedRun, cursor: str, width: int) -> list[str]:
    """The tags whose charts stand in a pane of ``width`` right of the list."""
    return [cursor, *(companions(run, cursor)[:3] if width >= _TWO_CHARTS else ())]


def _linked(run: JudgedRun, tag: str) -> list[str]:
    """The two tags that move with a tag most clearly; none for the first paint, which does not wait
    for it: before there is a verdict."""
    if run.report is None:
        return []
    from rltui.pages.metric.lines import related  # heavy

    return [other.tag for other in related(run, tag) if other.is_linked][:2]


def _side_by_side(
    run: JudgedRun,
    view: View,
    width: int,
    height: int,
    tags: list[str],
    timelines: tuple[str, str] = ("named", "unnamed"),
) -> Block:
    """Two charts side by side, three blanks between them; only the left one names its events."""
    each = (width - 3) // 2
    left, right = (
        titled_chart(run, tag, view, each, height, timeline=timeline)
        for tag, timeline in zip(tags, timelines, strict=True)
    )

    return side_by_side(left, right, each, 3, height)


def companions(run: JudgedRun, cursor: str) -> list[str]:
    """The other vital signs than that at the cursor: the worst first, then in their order."""
    rows = [r for r in metrics.rows_in(metrics.overview_sections(run)) if r.tag != cursor]
    return [r.tag for r in sorted(rows, key=lambda r: -max(r.judgement.level, Level.OK))]


@record
class TabSpot:
    """Where a tab is on its line, for the mouse and the underline."""

    id: str
    start: int
    end: int


def tab_line(run: JudgedRun, active: str, view: View, width: int) -> tuple[Line, list[TabSpot]]:
    """Line 2, and where each tab is on it.

    Tabs are shown whole or not at all: the active one, then bad and watch ones and All, then those
    with a key stay longest. An ellipsis at the end stands for those left out.
    """
    tabs = metrics.tabs_of(run)
    left = 2 if width >= 110 else 0
    for gap, form in ((3, "title"), (2, "medium"), (1, "short")):
        if gap == 3 and width < 150:
            continue
        labels = {t.id: _tab_label(run, t, t.id == active, view, form) for t in tabs}
        cells = {tab: line_width(label) for tab, label in labels.items()}
        needed = [cells[t.id] + gap for t in tabs]
        if left + sum(needed) - gap + _MORE <= width:
            break

    shown = list(tabs)
    x = left + sum(cells.values()) + gap * (len(cells) - 1)
    while len(shown) > 1 and x + _MORE * (len(shown) < len(tabs)) > width:
        least = min(reversed(shown), key=lambda tab: _weight(run, tab, active))
        shown.remove(least)
        x -= cells[least.id] + gap

    line: Line = [(" " * left, TEXT)] if left else []
    spots = list[TabSpot]()
    x = left
    for tab in shown:
        if spots:
            line.append((" " * gap, TEXT))
        spots.append(TabSpot(tab.id, x, x + cells[tab.id]))
        line += labels[tab.id]
        x += cells[tab.id] + gap
    if len(shown) < len(tabs):
        line.append((" …", MUTED))

    return fit_line(line, width), spots


def _weight(run: JudgedRun, tab: metrics.Tab, active: str) -> tuple[bool, bool, bool]:
    """Sort key of a tab: the one with the least weight is left out first."""
    matters = _level(run, tab) >= Level.WATCH or tab.id == metrics.ALL
    return tab.id == active, matters, bool(tab.key)


def _tab_label(run: JudgedRun, tab: metrics.Tab, active: bool, view: View, form: str) -> Line:
    """Key, name and badge of a tab; ``form``: with its title, its medium or its short name."""
    is_short = form == "short"
    name = {"title": tab.title, "medium": tab.medium, "short": tab.short}[form]
    look = style(Token.STRONG, bold=True, underline=is_short) if active else TEXT
    line: Line = [(f"{tab.key} ", ACCENT if active else MUTED)] if tab.key else []
    line.append((tab.title if active and is_short else name, look))

    if tab.id == metrics.ALL:
        return line if is_short else [*line, (f" {len(run.infos)}", MUTED)]
    if tab.id == metrics.FINDINGS:
        found = sum(marks(run).values())  # in brackets where the next key is a number
        return [*line, (f"({found})" if is_short else f" {found}", MUTED)]
    level = _level(run, tab)
    gap = "" if is_short else " "
    if level is Level.UNKNOWN:
        return line

    return [*line, (gap + view.glyphs.badge(level), LEVEL_LOOK[level])]


def _level(run: JudgedRun, tab: metrics.Tab) -> Level:
    if tab.id in (metrics.OVERVIEW, metrics.FINDINGS):
        return run.verdict.mark
    if tab.category is None:
        return Level.UNKNOWN
    level = run.verdict.categories.get(tab.category, Level.UNKNOWN)
    if tab.category is not Category.TIMING or run.report is None:
        return level
    timers = (t.tag for lane in lanes(run) for t in lane.timers)  # some are of other tabs
    return worst((level, *map(run.verdict.tag_level, timers)))


def tab_rule(spots: list[TabSpot], active: str, width: int) -> Line:
    """Line 3: a rule with the active tab underlined."""
    start, end = next(((s.start, s.end) for s in spots if s.id == active), (0, 0))
    start = max(0, start)
    end = min(width, end)
    rest = "─" * (width - end)
    return [("─" * start, RULE), ("━" * (end - start), ACCENT), (rest, RULE)]
