"""The findings on Overview, and the body of the Findings tab."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.geometry import Size

from rltui.core.text import cell_width
from rltui.draw.line import (
    MUTED,
    TEXT,
    Block,
    Entry,
    Line,
    fixed,
    indented,
    margin_of,
    with_end,
    with_margin,
)
from rltui.draw.prose import note_lines, paragraph, trouble_line
from rltui.draw.table import heading
from rltui.draw.view import PaneLayout, View
from rltui.facts.findings import (
    finding_rows,
    marks_words,
    muted_rows,
    projections,
    steps_words,
    why_skipped,
)
from rltui.facts.story import Story, main_story, rows_shown, stories, story_blaming
from rltui.health.model import Report
from rltui.pages.findings.lines import (
    CalmId,
    HeadId,
    ItemId,
    ProjectedId,
    SkippedId,
    calm_lines,
    counts,
    finding_line,
    head_lines,
    no_verdict,
    row_of,
    timeline_line,
)
from rltui.pages.run_pane import RunPane
from rltui.session import JudgedRun
from rltui.tui.widgets.lines import Lines

#: Lines that a heading and two checks need; cells of the title of the timeline.
_LEAST_CHECKS = 4
_TITLED = 12


def findings_layout(width: int, height: int, lines: int, alone: str = "") -> PaneLayout:
    """The layout of the tab for a list of ``lines`` lines; ``alone``: the list or the finding at
    the cursor (chart) has all of it."""
    margin = margin_of(width)
    if alone:
        rows = max(1, width - margin - 1)
        shown = alone == "list"
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

    def __init__(self, run: JudgedRun, view: View, width: int, margin: int) -> None:
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

    def item(self, item: ItemId, *lines: Line) -> None:
        """An item of these lines."""
        cells = self._width
        margin = self._margin

        def draw(cursor: bool) -> Block:
            return [with_margin(line, cells, margin, cursor=cursor) for line in lines]

        self.append(Entry(item, draw, len(lines)))

    def findings(self) -> None:
        """Findings that fire, each story below what began it; those that are resolved, or muted by
        the user."""
        run = self._run
        view = self._view
        width = self._width
        firing = [story for story in stories(run) if any(row.is_firing for row in story.rows)]
        crash = run.verdict.crash
        if firing or crash is None:
            self.head("Firing", "" if crash else counts(run) if firing else "none")
        for story in firing:
            self.firing(story)
        if not firing:
            calm, *judged = calm_lines(run, width, view)
            self.item(CalmId(), calm)
            self.lines(judged)

        over = [r for story in stories(run) for r in story.rows if not r.is_firing]
        muted = muted_rows(run)
        for title, note, rows in (("Resolved", "", over), ("Muted", ", M unmutes", muted)):
            if rows:
                self.head(title, f"{len(rows)}{note}")
            for row in rows:
                block = finding_line(run, row, width, view, now=True)
                look = MUTED if note else None
                self.item(row.id, *([(text, look or own) for text, own in x] for x in block))

    def firing(self, story: Story) -> None:
        """What fires of a story, below what began it, or how the run ended."""
        heads = head_lines(story, self._view, self._width)
        for item, lines in heads:
            self.item(item, *lines)
        for place, row in enumerate(row for row in story.rows if row.is_firing):
            depth = 2 * bool(heads or place)
            block = finding_line(self._run, row, self._width - depth, self._view, now=True)
            self.item(row.id, *indented(block, depth))

    def rest(self, report: Report) -> None:
        """Projections, files that cannot be read, rules that could not judge."""
        run = self._run
        glyphs = self._view.glyphs
        width = self._width
        if projected := projections(run):
            self.head("Ahead", "if the trend continues")

        for projection in projected:
            title = run.infos[projection.tag].title
            right = f" {steps_words(projection)}"
            arrow = "↓" if projection.falling else "↑"
            left: Line = [(f"{arrow} ", MUTED), (title, TEXT)]
            self.item(ProjectedId(projection.tag), with_end(left, [(right, MUTED)], width))
        if troubles := run.troubles:
            self.head("Trouble reading", str(len(troubles)))
            self.lines(note_lines(troubles, width))
        if report.skipped:
            self.head("Not judged", str(len(report.skipped)))

        for skipped in report.skipped:
            # the item itself says all of it
            why = why_skipped(run, skipped)
            short = "not logged" * bool(skipped.missing)
            room = width - 3 - cell_width(skipped.title)
            right = next((f" {x}" for x in (why, short) if cell_width(x) < room), "")
            named: Line = [(f"{glyphs.unknown} ", MUTED), (skipped.title, MUTED)]
            self.item(SkippedId(skipped.rule), with_end(named, [(right, MUTED)], width))


def finding_entries(run: JudgedRun, view: View, width: int, margin: int) -> list[Entry[ItemId]]:
    """The list: how the run ended, what caused what fires, what is resolved or not judged."""
    entries = _Entries(run, view, width, margin)
    report = run.report
    for story in stories(run):
        if story.crash is not None:
            entries.head("Ended", marks_words(run))
            entries.firing(story)
    if report is None:
        entries.append(fixed([(f"  {no_verdict(run)}", MUTED)]))
    else:
        entries.findings()
        entries.rest(report)

    return entries


def tag_at(run: JudgedRun, item: ItemId | None) -> tuple[str, int | None] | None:
    """(tag, step) that the item at the cursor is about."""
    row = row_of(run, item)
    if row is not None and row.finding.tag in run.infos:
        return row.finding.tag, row.finding.since_step
    if not isinstance(item, ProjectedId | HeadId) or item.tag not in run.infos:
        return None
    story = story_blaming(run, item.tag)
    setting = story.setting if story is not None else None
    return item.tag, setting.step if setting is not None and setting.tag == item.tag else None


def steps_at(run: JudgedRun, item: ItemId | None) -> tuple[int | None, int | None]:
    """Steps at which what the cursor is on began, and was certain, on the run's axis."""
    row = row_of(run, item)
    found = tag_at(run, item)
    if row is not None and row.finding.tag not in run.points.off_axis:
        onset = row.finding.since_step
        return onset, row.finding.certain_step or onset
    onset = found[1] if found is not None and row is None else None
    return onset, onset


def timeline_lines(run: JudgedRun, view: View, width: int, height: int) -> Block:
    """Causes and findings of a run in order of time, in at most ``height`` lines;
    below it what to check, and which files could not be read."""
    troubles = file_lines(run, width, view)
    room = height - len(troubles) - 1
    story = main_story(run)
    if story is None or room < 1:
        return troubles[: max(0, height)]
    # the sentence above tells how the run ended
    heads = [
        line
        for each in stories(run)
        for item, block in head_lines(each, view, width)
        for line in (block if item.tag else ())
    ]
    known = finding_rows(run)
    if not (heads or known):
        return troubles[: max(0, height)]
    for count in range(max(0, min(room, len(known))), -1, -1):  # as many as have room
        rows = sorted(rows_shown(run, count), key=lambda r: r.finding.since_step or 0)
        told = [timeline_line(row, width, view) for row in rows]
        hidden = len(known) - count
        spare = room - len(heads) - bool(hidden) - sum(len(block) for block, _ in told)
        if spare >= 0:
            break
    note = counts(run)
    note = note if len(note) + _TITLED < width else marks_words(run)
    lines = [heading("Timeline", width, view, note), *heads]
    for block, said in told:
        body = paragraph(said, width, TEXT, indent=2)
        body = body if len(body) <= spare else []
        spare -= len(body)
        lines += [*block, *body]

    if hidden:
        lines = [*lines[:room], [(f"  and {hidden} more on Findings", MUTED)]]
    if story.checks and spare > _LEAST_CHECKS:
        from rltui.pages.findings.findings_detail import check_table  # heavy

        lines += [[], *check_table(story, view, width, spare - 1)]
    return [*lines, *troubles]


def file_lines(run: JudgedRun, width: int, view: View) -> Block:
    """One line about the files of a run that could not be read as they are; empty for none."""
    troubles = run.troubles
    return [trouble_line(troubles, width, view.glyphs)] if troubles else []


class FindingsPane(RunPane):
    """The body of the run's screen for the tab Findings."""

    DEFAULT_CSS = """
    FindingsPane { height: 1fr; layout: vertical; }
    FindingsPane.-wide { layout: horizontal; }
    """

    def __init__(self, run: JudgedRun) -> None:
        super().__init__(run, "findings", findings_layout(80, 24, 0))
        self._room = 0, 0, 0
        """(lines of the list, width and height of the pane)."""

    def compose(self) -> ComposeResult:
        yield self.items
        yield Lines(self._draw_detail, id="detail")

    def show(self, size: Size, alone: str) -> None:
        """Show the findings in a pane of ``size``; ``alone``: "list" or "chart", its detail."""
        wide = size.width >= 100 and not alone
        layout = findings_layout(size.width, size.height, 0, alone)
        entries = finding_entries(self._run, self.view, layout.rows, layout.margin)

        lines = sum(e.height for e in entries)
        if not wide:
            layout = findings_layout(size.width, size.height, lines, alone)
        self._layout = layout
        self._room = (lines, *size)
        self.set_class(wide, "-wide")
        self.items.display = layout.left > 0
        self.query_one("#detail").display = alone != "list"
        self.items.styles.width = layout.left
        first = (e.id for e in entries if not isinstance(e.id, CalmId | SkippedId | None))
        self.items.show(entries, next(first, None))
        self.on_line_list_moved()

    def on_line_list_moved(self) -> None:
        """Draw the item at the cursor; a list that is cut gets the lines that it leaves."""
        lines, width, height = self._room
        listed = self._layout.list_height
        if 0 < listed < min(lines, height):
            detail = self._draw_detail(width, height - listed)
            listed = min(lines, height - len(detail))
        self.items.styles.height = listed
        self.query_one("#detail", Lines).update()

    def _draw_detail(self, width: int, height: int) -> Block:
        layout = self._layout
        margin = 1 if layout.side else layout.margin
        cells = layout.side or width - margin - 1
        from rltui.pages.findings.findings_detail import detail_lines  # heavy

        lines = detail_lines(self._run, self.items.cursor, self.view, cells, height)
        return indented(lines, margin)
