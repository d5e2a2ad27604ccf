"""The list of the Findings tab: causes, findings, what lies ahead, what could not be judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from rltui.core.text import cell_width, pad
from rltui.draw.line import (
    LEVEL_TOKEN,
    MUTED,
    TEXT,
    Entry,
    Line,
    column,
    fixed,
    indented,
    style,
    with_margin,
)
from rltui.draw.prose import note_lines
from rltui.draw.view import View
from rltui.facts import sentences
from rltui.facts.findings import (
    FindingId,
    FindingRow,
    cause_of,
    finding_rows,
    muted_rows,
    projections,
    steps_words,
)
from rltui.facts.runs import exit_words
from rltui.health.model import Finding, FindingState, Report, Skipped
from rltui.health.symptoms import SETTING_CHANGED
from rltui.pages.findings.lines import (
    calm_lines,
    cause_line,
    counts,
    event_lines,
    finding_line,
    first_mover_lines,
    heading,
    no_verdict,
    suspect_lines,
)
from rltui.session import RunView

if TYPE_CHECKING:
    from rltui.health.projection import Projection

_TITLES = {
    FindingState.FIRING: "Firing",
    FindingState.EXCUSED: "Excused",
    FindingState.RESOLVED: "Resolved",
}


class SkippedId(NamedTuple):
    """Names a rule that could not judge."""

    rule: str


class CauseId(NamedTuple):
    """Names the setting that began the worst story."""

    tag: str


class EndingId(NamedTuple):
    """Names the way in which the run ended."""

    reason: str


class AheadId(NamedTuple):
    """Names a metric that is going to cross its limit."""

    tag: str


#: What the cursor of the list stands on.
ItemId = FindingId | SkippedId | CauseId | EndingId | AheadId


@dataclass(frozen=True, slots=True)
class FindingsLayout:
    """Where the list and the finding at the cursor stand; widths and heights in cells."""

    margin: int
    """Cells left of the list, for the cursor bar."""
    rows: int
    """Width of a line of the list."""
    left: int
    """Width of the list, with its margin and what parts it from the detail."""
    side: int
    """Width of the detail beside the list; 0 when it stands below."""
    list_height: int


def findings_layout(width: int, height: int, lines: int, alone: str = "") -> FindingsLayout:
    """The layout of the tab for a list of ``lines`` lines; ``alone``: the list or the finding at
    the cursor (chart) has all of it."""
    margin = 2 if width >= 110 else 1
    if alone:
        rows, shown = max(1, width - margin - 1), alone == "list"
        return FindingsLayout(margin, rows, width if shown else 0, 0, height if shown else 0)
    if width >= 100:
        rows = 42 if width < 150 else 52
        left = margin + rows + 3
        return FindingsLayout(margin, rows, left, width - left - 2, height)
    listed = min(lines, max(3, height * 2 // 5 if height >= 12 else height))

    return FindingsLayout(margin, max(1, width - margin - 1), width, 0, max(1, listed))


# -- the list --------------------------------------------------------------------------------


def finding_entries(run: RunView, view: View, width: int, margin: int) -> list[Entry[ItemId]]:
    """The list: how the run ended, what caused what fires, what is resolved or not judged."""
    entries = _cause_entries(run, view, width, margin)
    entries += _ending_entries(run, entries, view, width, margin)
    report = run.report
    if report is None:
        return [*entries, fixed([(f"  {no_verdict(run)}", MUTED)])]
    depths, rows = _depths(report), finding_rows(run)
    for state, title in _TITLES.items():
        group = [r for r in rows if r.finding.state is state]
        if not group and title != "Firing":
            continue
        note = counts(run).replace("  ", " ") if title == "Firing" else str(len(group))
        entries += _head(title, note if group else "none", entries, view, width, margin)
        entries += [
            _entry(run, r, depths.get(id(r.finding), 0), width, margin, view) for r in group
        ]
        if not group:
            entries.append(fixed(*indented(calm_lines(run, width, view)[:2], margin)))
    if muted := muted_rows(run):
        entries += _head("Muted", f"{len(muted)}, M unmutes", entries, view, width, margin)
        entries += [_muted_entry(run, r, width, margin, view) for r in muted]
    if ahead := projections(run):
        entries += _head("Ahead", "if the trend continues", entries, view, width, margin)
        entries += [_ahead_entry(run, p, width, margin, view) for p in ahead]
    if troubles := run.troubles:
        entries += _head("Trouble reading", str(len(troubles)), entries, view, width, margin)
        entries.append(fixed(*indented(note_lines(troubles, width), margin)))
    if report.skipped:
        entries += _head("Not judged", str(len(report.skipped)), entries, view, width, margin)
        entries += [_skipped_entry(run, s, width, margin, view) for s in report.skipped]

    return entries


def entries_below(
    run: RunView, view: View, layout: FindingsLayout, above: int
) -> list[Entry[ItemId]]:
    """What has room under a list of ``above`` lines: what moved first, and what happened."""
    lines: list[Line] = []
    room = layout.list_height - above
    if cause_of(run) is None and room >= 4:  # that of a cause is in its detail
        moved = first_mover_lines(run, view, layout.rows, min(room - 1, 9))
        lines += [[], *moved] if moved else []
    happened = event_lines(run, view, layout.rows, room - len(lines) - 1)
    lines += [[], *happened] if happened else []
    return [fixed(x) for x in indented(lines, layout.margin)]


def _head(
    title: str, note: str, above: list[Entry[ItemId]], view: View, width: int, margin: int
) -> list[Entry[ItemId]]:
    blank: list[Entry[ItemId]] = [fixed([])] if above else []
    return [*blank, fixed(*indented([heading(title, width, view, note)], margin))]


def _ending_entries(
    run: RunView, above: list[Entry[ItemId]], view: View, width: int, margin: int
) -> list[Entry[ItemId]]:
    crash = run.verdict.crash
    if crash is None:
        return []
    level = run.verdict.exit_level
    look = style(LEVEL_TOKEN[level], bold=True)
    words = pad(view.glyphs.text(exit_words(crash)), width - 2, ellipsis=view.glyphs.ellipsis)
    line: Line = [(f"{view.glyphs.badge(level)} ", look), (words, look)]

    return [
        *_head("Ended", "", above, view, width, margin),
        _drawn(EndingId(crash.reason), line, width, margin, view),
    ]


def _cause_entries(run: RunView, view: View, width: int, margin: int) -> list[Entry[ItemId]]:
    """The setting that jumped before what fires: the cause stands first."""
    move, line = cause_of(run), cause_line(run, view, width)
    causes = [(move.tag, line)] if move is not None and line else []
    causes += suspect_lines(run, view, width)
    if run.report is None or not causes:
        return []
    story = run.report.diagnosed.stories()[0]
    own = {id(f) for d in story for f in d.findings}
    count = sum(id(r.finding) in own for r in finding_rows(run) if r.is_firing)
    note = f"of {count} finding{'s' if count != 1 else ''}"
    head = _head("Cause", note, [], view, width, margin)

    return [*head, *(_drawn(CauseId(tag), x, width, margin, view) for tag, x in causes)]


def _depths(report: Report) -> dict[int, int]:
    """id of a firing finding -> 1 when it stands below another one that explains it."""
    depths: dict[int, int] = {}
    for story in report.diagnosed.stories():
        if story[0].symptom.id != SETTING_CHANGED:
            firing = [f for d in story for f in d.findings if f.state is FindingState.FIRING]
            depths.update({id(f): 1 for f in firing[1:]})
    return depths


def _drawn(item: ItemId, line: Line, width: int, margin: int, view: View) -> Entry[ItemId]:
    def draw(cursor: bool) -> list[Line]:
        return [with_margin(line, width, margin, view, cursor=cursor)]

    return Entry(item, draw)


def _entry(
    run: RunView, row: FindingRow, depth: int, width: int, margin: int, view: View
) -> Entry[ItemId]:
    indent: Line = [("  " * depth, TEXT)] if depth else []
    line = [*indent, *finding_line(run, row, width - 2 * depth, view, now=True)]
    return _drawn(row.id, line, width, margin, view)


def _muted_entry(
    run: RunView, row: FindingRow, width: int, margin: int, view: View
) -> Entry[ItemId]:
    line: Line = [(text, MUTED) for text, _ in finding_line(run, row, width, view, now=True)]
    return _drawn(row.id, line, width, margin, view)


def _ahead_entry(
    run: RunView, projection: Projection, width: int, margin: int, view: View
) -> Entry[ItemId]:
    words, right = view.glyphs.text, f" {steps_words(projection)}"
    title = words(run.infos[projection.tag].title)
    left = pad(title, width - 2 - cell_width(right), ellipsis=view.glyphs.ellipsis)
    arrow = view.glyphs.down if projection.falling else view.glyphs.up
    line: Line = [(f"{arrow} ", MUTED), (left, TEXT), (words(right), MUTED)]
    return _drawn(AheadId(projection.tag), line, width, margin, view)


def _skipped_entry(
    run: RunView, skipped: Skipped, width: int, margin: int, view: View
) -> Entry[ItemId]:
    line = _skipped_line(run, skipped, width, view)
    return _drawn(SkippedId(skipped.rule), line, width, margin, view)


def _skipped_line(run: RunView, skipped: Skipped, width: int, view: View) -> Line:
    ellipsis = view.glyphs.ellipsis
    name = column(view.glyphs.text(skipped.title), 23, MUTED, ellipsis=ellipsis)
    text = pad(
        view.glyphs.text(why_skipped(run, skipped)), width - 25, right=True, ellipsis=ellipsis
    )
    return [(f"{view.glyphs.unknown} ", MUTED), name, (text, MUTED)]


def why_skipped(run: RunView, skipped: Skipped) -> str:
    """Why a rule could not judge, with the titles of the metrics that it lacks."""
    names = dict.fromkeys(_title_of(run, m) for m in skipped.missing)
    return sentences.why_skipped(skipped, ", ".join(names))


def _title_of(run: RunView, key: str) -> str:
    """Title of a metric; its key when the catalogue does not have it."""
    metric = run.catalogue.metrics.get(key)
    return key if metric is None else metric.title


def row_of(run: RunView, wanted: ItemId | None) -> FindingRow | None:
    """The row of that id."""
    return next((r for r in (*finding_rows(run), *muted_rows(run)) if r.id == wanted), None)


def find(run: RunView, wanted: ItemId | None) -> Finding | None:
    """The worst finding of the row of that id."""
    row = row_of(run, wanted)
    return None if row is None else row.finding


def tag_at(run: RunView, item: ItemId | None) -> tuple[str, int | None] | None:
    """(tag, step) that the item at the cursor is about."""
    finding, cause = find(run, item), cause_of(run)
    if finding is not None and finding.tag in run.infos:
        return finding.tag, finding.since_step
    if isinstance(item, CauseId) and cause is not None and cause.tag == item.tag:
        return cause.tag, cause.step
    if isinstance(item, AheadId | CauseId) and item.tag in run.infos:
        return item.tag, None
    return None
