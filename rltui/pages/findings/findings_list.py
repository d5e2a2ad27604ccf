"""The list of the Findings tab: causes, findings, projections, what could not be judged."""

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
from rltui.health.model import FindingState, Report, Skipped
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
    from rltui.health.crash import ExitStatus

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


class ProjectedId(NamedTuple):
    """Names a metric that is going to cross its limit."""

    tag: str


#: What the cursor of the list stands on.
ItemId = FindingId | SkippedId | CauseId | EndingId | ProjectedId


@dataclass(frozen=True, slots=True)
class FindingsLayout:
    """Where the list and the finding at the cursor stand; widths and heights in cells."""

    margin: int
    """Cells left of the list, for the cursor bar."""
    rows: int
    """Width of a line of the list."""
    left: int
    """Width of the list, with its margin and the gap before the detail."""
    side: int
    """Width of the detail right of the list; 0 when it stands below."""
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


class _Entries(list[Entry[ItemId]]):
    """Builds the list, section by section."""

    def __init__(self, run: RunView, view: View, width: int, margin: int) -> None:
        super().__init__()
        self._run = run
        self._view = view
        self._width = width
        self._margin = margin

    def head(self, title: str, note: str) -> None:
        """Begin a section."""
        if self:
            self.append(fixed([]))
        self.lines([heading(title, self._width, self._view, note)])

    def lines(self, lines: list[Line]) -> None:
        """Lines that the cursor skips."""
        self.append(fixed(*indented(lines, self._margin)))

    def item(self, item: ItemId, line: Line) -> None:
        """An item of one line."""
        width, margin, view = self._width, self._margin, self._view
        self.append(
            Entry(item, lambda cursor: [with_margin(line, width, margin, view, cursor=cursor)])
        )

    def causes(self, report: Report) -> None:
        """The setting that jumped before the firing findings, and likely causes among settings."""
        run, view, width = self._run, self._view, self._width
        move, line = cause_of(run), cause_line(run, view, width)
        causes = [(move.tag, line)] if move is not None and line else []
        causes += suspect_lines(run, view, width)
        if causes:
            own = {id(f) for d in report.diagnosed.stories()[0] for f in d.findings}
            count = sum(id(r.finding) in own for r in finding_rows(run) if r.is_firing)
            self.head("Cause", f"of {count} finding{'s' if count != 1 else ''}")
        for tag, line in causes:
            self.item(CauseId(tag), line)

    def ending(self, crash: ExitStatus) -> None:
        """How the run ended."""
        glyphs, level = self._view.glyphs, self._run.verdict.exit_level
        look = style(LEVEL_TOKEN[level], bold=True)
        words = pad(glyphs.text(exit_words(crash)), self._width - 2, ellipsis=glyphs.ellipsis)
        self.head("Ended", "")
        self.item(EndingId(crash.reason), [(f"{glyphs.badge(level)} ", look), (words, look)])

    def findings(self, report: Report) -> None:
        """Findings that fire, are excused, resolved, or muted by the user."""
        run, view, width = self._run, self._view, self._width
        explained, rows = _explained(report), finding_rows(run)
        for state, title in _TITLES.items():
            group = [r for r in rows if r.finding.state is state]
            if not group and title != "Firing":
                continue
            note = counts(run).replace("  ", " ") if title == "Firing" else str(len(group))
            self.head(title, note if group else "none")
            for row in group:
                depth = 2 * (id(row.finding) in explained)
                line = finding_line(run, row, width - depth, view, now=True)
                self.item(row.id, [(" " * depth, TEXT), *line] if depth else line)
            if not group:
                self.lines(calm_lines(run, width, view)[:2])
        if muted := muted_rows(run):
            self.head("Muted", f"{len(muted)}, M unmutes")

        for row in muted:
            line = finding_line(run, row, width, view, now=True)
            self.item(row.id, [(text, MUTED) for text, _ in line])

    def rest(self, report: Report) -> None:
        """Projections, files that cannot be read, rules that could not judge."""
        run, glyphs, width = self._run, self._view.glyphs, self._width
        words, ellipsis = glyphs.text, glyphs.ellipsis
        if projected := projections(run):
            self.head("Ahead", "if the trend continues")

        for projection in projected:
            title, right = run.infos[projection.tag].title, f" {steps_words(projection)}"
            left = pad(words(title), width - 2 - cell_width(right), ellipsis=ellipsis)
            arrow = glyphs.down if projection.falling else glyphs.up
            line: Line = [(f"{arrow} ", MUTED), (left, TEXT), (words(right), MUTED)]
            self.item(ProjectedId(projection.tag), line)
        if troubles := run.troubles:
            self.head("Trouble reading", str(len(troubles)))
            self.lines(note_lines(troubles, width))
        if report.skipped:
            self.head("Not judged", str(len(report.skipped)))

        for skipped in report.skipped:
            name = column(words(skipped.title), 23, MUTED, ellipsis=ellipsis)
            why = pad(words(why_skipped(run, skipped)), width - 25, right=True, ellipsis=ellipsis)
            line = [(f"{glyphs.unknown} ", MUTED), name, (why, MUTED)]
            self.item(SkippedId(skipped.rule), line)


def finding_entries(run: RunView, view: View, width: int, margin: int) -> list[Entry[ItemId]]:
    """The list: how the run ended, what caused what fires, what is resolved or not judged."""
    entries, report, crash = _Entries(run, view, width, margin), run.report, run.verdict.crash
    if report is not None:
        entries.causes(report)
    if crash is not None:
        entries.ending(crash)
    if report is None:
        entries.append(fixed([(f"  {no_verdict(run)}", MUTED)]))
    else:
        entries.findings(report)
        entries.rest(report)

    return entries


def _explained(report: Report) -> set[int]:
    """id of each firing finding that stands indented below the one that explains it."""
    found: set[int] = set()
    for story in report.diagnosed.stories():
        if story[0].symptom.id != SETTING_CHANGED:
            firing = [f for d in story for f in d.findings if f.state is FindingState.FIRING]
            found |= {id(f) for f in firing[1:]}
    return found


def entries_below(
    run: RunView, view: View, layout: FindingsLayout, above: int
) -> list[Entry[ItemId]]:
    """The sections on what moved first and what happened, as far as they fit under a list of
    ``above`` lines."""
    lines: list[Line] = []
    room = layout.list_height - above
    if cause_of(run) is None and room >= 4:  # that of a cause is in its detail
        moved = first_mover_lines(run, view, layout.rows, min(room - 1, 9))
        lines += [[], *moved] if moved else []
    happened = event_lines(run, view, layout.rows, room - len(lines) - 1)
    lines += [[], *happened] if happened else []
    return [fixed(x) for x in indented(lines, layout.margin)]


def why_skipped(run: RunView, skipped: Skipped) -> str:
    """Why a rule could not judge, with the titles of the metrics that it lacks; the key of one
    that the catalogue does not have."""
    found = {key: run.catalogue.metrics.get(key) for key in skipped.missing}
    names = dict.fromkeys(key if m is None else m.title for key, m in found.items())
    return sentences.why_skipped(skipped, ", ".join(names))


def row_of(run: RunView, wanted: ItemId | None) -> FindingRow | None:
    """The row of that id."""
    return next((r for r in (*finding_rows(run), *muted_rows(run)) if r.id == wanted), None)


def tag_at(run: RunView, item: ItemId | None) -> tuple[str, int | None] | None:
    """(tag, step) that the item at the cursor is about."""
    row, cause = row_of(run, item), cause_of(run)
    if row is not None and row.finding.tag in run.infos:
        return row.finding.tag, row.finding.since_step
    if isinstance(item, CauseId) and cause is not None and cause.tag == item.tag:
        return cause.tag, cause.step
    if isinstance(item, ProjectedId | CauseId) and item.tag in run.infos:
        return item.tag, None
    return None
