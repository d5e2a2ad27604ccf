"""The findings on Overview, and the body of the Findings tab."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from textual.app import ComposeResult
from textual.containers import Container
from textual.geometry import Size

from rltui.core.batch import RunKey
from rltui.core.level import Level
from rltui.core.text import cell_width, fit, pad
from rltui.draw.line import (
    LEVEL_BOLD,
    MUTED,
    TEXT,
    Block,
    Entry,
    Line,
    column,
    fit_line,
    fixed,
    indented,
    line_width,
    longest,
    row_entry,
    style,
)
from rltui.draw.prose import note_lines, paragraph, trouble_line
from rltui.draw.view import PaneLayout, View
from rltui.facts import sentences
from rltui.facts.findings import (
    FindingId,
    FindingRow,
    cause_of,
    finding_rows,
    muted_rows,
    projections,
    steps_words,
    why_skipped,
    worst_rows,
)
from rltui.facts.runs import exit_words
from rltui.health.model import FindingState, Report
from rltui.health.symptoms import SETTING_CHANGED
from rltui.pages.findings.lines import (
    STORY_NAMES,
    badge_of,
    calm_lines,
    cause_line,
    counts,
    finding_line,
    first_mover_lines,
    first_mover_sentence,
    heading,
    no_verdict,
    span_words,
    story_lines,
    suspect_lines,
    title_words,
)
from rltui.session import RunView
from rltui.tui import later
from rltui.tui.shell import shell_of
from rltui.tui.widgets.lines import LineList, Lines

if TYPE_CHECKING:
    from rltui.health.crash import ExitStatus

_TITLES = {
    FindingState.FIRING: "Firing",
    FindingState.RESOLVED: "Resolved",
}


class CalmId(NamedTuple):
    """Names what is said of a run in which nothing fires."""


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
ItemId = FindingId | CalmId | SkippedId | CauseId | EndingId | ProjectedId


def findings_layout(width: int, height: int, lines: int, alone: str = "") -> PaneLayout:
    """The layout of the tab for a list of ``lines`` lines; ``alone``: the list or the finding at
    the cursor (chart) has all of it."""
    margin = 2 if width >= 110 else 1
    if alone:
        rows, shown = max(1, width - margin - 1), alone == "list"
        return PaneLayout(margin, rows, width if shown else 0, 0, height if shown else 0)
    if width >= 100:
        rows = 42 if width < 150 else 52
        left = margin + rows + 3
        return PaneLayout(margin, rows, left, width - left - 2, height)
    listed = min(lines, max(3, height * 2 // 5 if height >= 12 else height))

    return PaneLayout(margin, max(1, width - margin - 1), width, 0, max(1, listed))


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

    def lines(self, lines: Block) -> None:
        """Lines that the cursor skips."""
        self.append(fixed(*indented(lines, self._margin)))

    def item(self, item: ItemId, line: Line) -> None:
        """An item of one line."""
        self.append(row_entry(item, lambda _: line, self._width, self._margin, self._view))

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
        look = LEVEL_BOLD[level]
        words = pad(glyphs.text(exit_words(crash)), self._width - 2)
        self.head("Ended", "")
        self.item(EndingId(crash.reason), [(f"{glyphs.badge(level)} ", look), (words, look)])

    def findings(self, report: Report) -> None:
        """Findings that fire, are resolved, or muted by the user."""
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
                calm, *judged = calm_lines(run, width, view)[:2]
                self.item(CalmId(), calm)
                self.lines(judged)
        if muted := muted_rows(run):
            self.head("Muted", f"{len(muted)}, M unmutes")

        for row in muted:
            line = finding_line(run, row, width, view, now=True)
            self.item(row.id, [(text, MUTED) for text, _ in line])

    def rest(self, report: Report) -> None:
        """Projections, files that cannot be read, rules that could not judge."""
        run, glyphs, width = self._run, self._view.glyphs, self._width
        words = glyphs.text
        if projected := projections(run):
            self.head("Ahead", "if the trend continues")

        for projection in projected:
            title, right = run.infos[projection.tag].title, f" {steps_words(projection)}"
            left = pad(words(title), width - 2 - cell_width(right))
            arrow = glyphs.down if projection.falling else glyphs.up
            line: Line = [(f"{arrow} ", MUTED), (left, TEXT), (words(right), MUTED)]
            self.item(ProjectedId(projection.tag), line)
        if troubles := run.troubles:
            self.head("Trouble reading", str(len(troubles)))
            self.lines(note_lines(troubles, width))
        if report.skipped:
            self.head("Not judged", str(len(report.skipped)))

        for skipped in report.skipped:
            name = column(words(skipped.title), 23, MUTED)
            why = pad(words(why_skipped(run, skipped)), width - 25, right=True)
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
    """id of each firing finding that is shown indented below the worst one of its story."""
    found: set[int] = set()
    for story in report.diagnosed.stories():
        if story[0].symptom.id != SETTING_CHANGED:
            firing = [f for d in story for f in d.findings if f.state is FindingState.FIRING]
            first = max(firing, key=lambda f: f.level, default=None)
            found |= {id(f) for f in firing if f is not first}
    return found


def entries_below(run: RunView, view: View, layout: PaneLayout, above: int) -> list[Entry[ItemId]]:
    """The section on what moved first, as far as it fits under a list of ``above`` lines; that of a
    cause is in its detail."""
    room = layout.list_height - above
    if cause_of(run) is not None or room < 4:
        return []
    moved = first_mover_lines(run, view, layout.rows, min(room - 1, 9))
    return [fixed(x) for x in indented([[], *moved] if moved else [], layout.margin)]


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


def step_at(run: RunView, item: ItemId | None) -> int | None:
    """The step at which the finding at the cursor was certain, else began, on the run's axis."""
    row, found = row_of(run, item), tag_at(run, item)
    if row is not None and row.finding.tag not in run.points.off_axis:
        return row.finding.certain_step or row.finding.since_step
    return found[1] if found is not None and row is None else None


def short_lines(run: RunView, width: int, view: View, limit: int, spare: int = 0) -> Block:
    """For narrow screens, at most ``limit`` lines: the cause, how it ended, the worst findings,
    what to check first, and the next step, which has up to ``spare`` more where it would be cut."""
    if run.report is None:
        return []
    cause = cause_line(run, view, width)
    top = [*([cause] if cause else []), *ending_lines(run, width, view, 1)]
    moved = first_mover_sentence(run, view)
    middle: Block = []

    if moved and not cause and limit >= 4:
        middle = [[(f"  {pad('moved first', STORY_NAMES)}", MUTED), (moved, TEXT)]]
    firing = [r for r in finding_rows(run) if r.is_firing]
    left = limit - len(top) - len(middle)
    height = min(max(3, limit - 2), max(2, left - len(firing)), left - min(1, len(firing)))
    story = indented(story_lines(run, view, width - 2, height), 2)

    # one line for each firing finding: name, since, shortest evidence
    left -= len(story)
    shown, found = worst_rows(firing, left), Block()
    name_room = longest([title_words(r) for r in shown])
    since_room = longest([span_words(run, r.finding) for r in shown])

    for row in shown:
        glyph, token, bold = badge_of(row.finding, view)
        look = style(token, bold=bold)
        line: Line = [(f"{glyph} ", look), (pad(title_words(row), name_room) + " ", look)]
        line.append((pad(span_words(run, row.finding), since_room) + "  ", MUTED))
        room, words = width - line_width(line), view.glyphs.text(sentences.short(row.finding))
        found.append([*line, (fit(words, room), TEXT)])
    if len(firing) > left and found:
        more = f"  +{len(firing) - left}"
        found[-1] = fit_line(found[-1], width - cell_width(more))
        found[-1] = [*found[-1], (more, MUTED)]

    above = [*top, *found, *middle]
    tallest = limit + spare - len(above)
    story = indented(story_lines(run, view, width - 2, height, tallest=tallest), 2)
    lines = [*above, *story]

    return [fit_line(x, width) for x in lines[: limit + spare]]


def ending_lines(run: RunView, width: int, view: View, limit: int) -> Block:
    """How a run ended that crashed or was cancelled, in at most ``limit`` lines."""
    crash = run.verdict.crash
    if crash is None or limit < 1:
        return []
    level = run.verdict.exit_level
    look = LEVEL_BOLD[level]
    head: Line = [(f"{view.glyphs.badge(level)} ", look)]
    head.append((view.glyphs.text(exit_words(crash)), look))
    text = view.glyphs.text(crash.line or crash.advice)
    body = paragraph(text, width, MUTED, indent=2, limit=min(2, limit - 1))

    return [fit_line(head, width), *(body if limit > 1 else [])]


def findings_pane(
    run: RunView,
    width: int,
    height: int,
    view: View,
    *,
    tallest: int = 0,
    has_checks: bool = False,
) -> Block:
    """The pane of Overview right of the vital signs: causes, findings, and what to check unless the
    list beside it ``has_checks``. ``tallest``: lines that it may have where the next step would be
    cut."""
    report = run.report
    lines: Block = [heading("Findings", width, view, counts(run))]
    troubles = file_lines(run, width, view)
    if report is None:
        lines += [*ending_lines(run, width, view, 3), *troubles]
        return [*lines, [(no_verdict(run), MUTED)]]
    cause = cause_line(run, view, width)
    lines += [cause] if cause else []
    lines += ending_lines(run, width, view, 3 if height >= 10 else 1)

    if not report.findings:
        return [*lines, *calm_lines(run, width, view), *troubles]
    left = height - len(lines) - len(troubles) - 3 * len(finding_rows(run))  # with evidence
    most = max(left, height * 2 // 5) if height >= 5 else 0
    story = story_lines(run, view, width, most, has_checks=has_checks)
    lines += _listed(run, width, height - len(lines) - len(story) - len(troubles), view)
    lines += troubles
    rest = max(height, tallest) - len(lines)

    return [*lines, *story_lines(run, view, width, most, tallest=rest, has_checks=has_checks)]


def file_lines(run: RunView, width: int, view: View) -> Block:
    """One line about the files of a run that could not be read as they are; empty for none."""
    troubles = run.troubles
    return [trouble_line(troubles, width, view.glyphs)] if troubles else []


def _listed(run: RunView, width: int, room: int, view: View) -> Block:
    """The findings in ``room`` lines, with their evidence where it fits."""
    known = finding_rows(run)
    rows = known if len(known) <= room else worst_rows(known, max(0, room - 1))
    hidden = len(known) - len(rows)
    bad = {r.id for r in rows if r.is_firing and r.finding.level is Level.BAD}
    spare = room - len(rows) - bool(hidden)
    lines: Block = []

    for at, row in enumerate(rows):
        lines.append(finding_line(run, row, width, view))
        later_rows = rows[at + 1 :]
        if spare > 0 and width >= 44 and (row.id in bad or spare >= len(later_rows)):
            waiting = sum(r.id in bad for r in later_rows)
            look = TEXT if row.is_firing else MUTED
            limit = max(2 if spare > waiting + 1 else 1, spare - 2 * len(later_rows))
            text = view.glyphs.text(sentences.summary(row.finding))
            body = paragraph(text, width, look, indent=2, limit=limit)
            spare -= len(body)
            lines += body

    return [*lines, [(f"  and {hidden} more on Findings", MUTED)]] if hidden else lines


class FindingsPane(Container):
    """The body of the run's screen for the tab Findings."""

    DEFAULT_CSS = """
    FindingsPane { height: 1fr; layout: vertical; }
    FindingsPane.-wide { layout: horizontal; }
    """

    def __init__(self, run: RunView) -> None:
        super().__init__()
        self.findings = LineList[ItemId](id="findings")
        """The list."""
        self._run = run
        self._layout = findings_layout(80, 24, 0)
        self._left: dict[RunKey, ItemId | None] = {}
        """Run -> the item that the user put the cursor on there."""

    def compose(self) -> ComposeResult:
        yield self.findings
        yield Lines(self._draw_detail, id="detail")

    def turn_to(self, run: RunView) -> None:
        """Show another run from now on, with the cursor where it was."""
        self._left[self._run.key] = self.findings.chosen
        self._run, self.findings.chosen = run, self._left.get(run.key)

    def show(self, size: Size, alone: str) -> None:
        """Show the findings in a pane of ``size``; ``alone``: "list" or "chart", its detail."""
        run, view = self._run, shell_of(self).view
        wide = size.width >= 100 and not alone
        layout = findings_layout(size.width, size.height, 0, alone)
        entries = finding_entries(run, view, layout.rows, layout.margin)

        if wide:
            entries += entries_below(run, view, layout, sum(e.height for e in entries))
        else:
            height = sum(e.height for e in entries)
            layout = findings_layout(size.width, size.height, height, alone)
        self._layout = layout
        self.set_class(wide, "-wide")
        self.findings.display = layout.left > 0
        self.query_one("#detail").display = alone != "list"
        self.findings.styles.width = layout.left
        self.findings.styles.height = layout.list_height
        first = (e.id for e in entries if not isinstance(e.id, CalmId | SkippedId | None))
        self.findings.show(entries, next(first, None))
        self.query_one("#detail", Lines).update()

    def on_line_list_moved(self) -> None:
        self.query_one("#detail", Lines).update()

    def _draw_detail(self, width: int, height: int) -> Block:
        run, view, layout = self._run, shell_of(self).view, self._layout
        margin = 1 if layout.side else layout.margin
        cells = layout.side or width - margin - 1
        lines = later.detail_lines(run, self.findings.cursor, view, cells, height)
        return indented(lines, margin)
