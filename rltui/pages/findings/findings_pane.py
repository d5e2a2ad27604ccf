"""The findings on Overview, and the body of the Findings tab."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Container
from textual.geometry import Size

from rltui.core.batch import RunKey
from rltui.core.level import Level
from rltui.core.text import cell_width, fit, pad
from rltui.draw.line import (
    LEVEL_TOKEN,
    MUTED,
    TEXT,
    Line,
    fit_line,
    indented,
    line_width,
    longest,
    style,
)
from rltui.draw.prose import paragraph, trouble_line
from rltui.draw.view import View
from rltui.facts import sentences
from rltui.facts.findings import finding_rows, worst_rows
from rltui.facts.runs import exit_words
from rltui.pages.findings.findings_list import (
    ItemId,
    entries_below,
    finding_entries,
    findings_layout,
)
from rltui.pages.findings.lines import (
    STORY_NAMES,
    badge_of,
    calm_lines,
    cause_line,
    counts,
    finding_line,
    first_mover_sentence,
    heading,
    no_verdict,
    span_words,
    story_lines,
    title_words,
)
from rltui.session import RunView
from rltui.tui import later
from rltui.tui.shell import shell_of
from rltui.tui.widgets.line_list import LineList
from rltui.tui.widgets.lines import Lines


def short_lines(run: RunView, width: int, view: View, limit: int) -> list[Line]:
    """For narrow screens, at most ``limit`` lines: the cause, how it ended, the worst findings,
    what to check first, and the next step."""
    if run.report is None:
        return []
    cause = cause_line(run, view, width)
    top = [*([cause] if cause else []), *ending_lines(run, width, view, 1)]
    moved, ellipsis = first_mover_sentence(run, view), view.glyphs.ellipsis
    middle: list[Line] = []

    if moved and not cause and limit >= 4:
        middle = [[(f"  {pad('moved first', STORY_NAMES)}", MUTED), (moved, TEXT)]]
    firing = [r for r in finding_rows(run) if r.is_firing]
    left = limit - len(top) - len(middle)
    height = min(3, max(2, left - len(firing)), left - min(1, len(firing)))
    story = indented(story_lines(run, view, width - 2, height), 2)

    # one line for each firing finding: name, since, shortest evidence
    left -= len(story)
    shown, found = worst_rows(firing, left), list[Line]()
    name_room = longest([title_words(r) for r in shown])
    since_room = longest([span_words(run, r.finding) for r in shown])

    for row in shown:
        glyph, token, bold = badge_of(row.finding, view)
        look = style(token, bold=bold)
        line: Line = [(f"{glyph} ", look), (pad(title_words(row), name_room) + " ", look)]
        line.append((pad(span_words(run, row.finding), since_room) + "  ", MUTED))
        room, words = width - line_width(line), view.glyphs.text(sentences.short(row.finding))
        found.append([*line, (fit(words, room, ellipsis=ellipsis), TEXT)])
    if len(firing) > left and found:
        more = f"  +{len(firing) - left}"
        found[-1] = fit_line(found[-1], width - cell_width(more), ellipsis=ellipsis)
        found[-1] = [*found[-1], (more, MUTED)]

    lines = [*top, *found, *middle, *story]

    return [fit_line(x, width, ellipsis=ellipsis) for x in lines[:limit]]


def ending_lines(run: RunView, width: int, view: View, limit: int) -> list[Line]:
    """How a run ended that crashed or was cancelled, in at most ``limit`` lines."""
    crash, ellipsis = run.verdict.crash, view.glyphs.ellipsis
    if crash is None or limit < 1:
        return []
    level = run.verdict.exit_level
    look = style(LEVEL_TOKEN[level], bold=True)
    head: Line = [(f"{view.glyphs.badge(level)} ", look)]
    head.append((view.glyphs.text(exit_words(crash)), look))
    text = view.glyphs.text(crash.line or crash.advice)
    body = paragraph(text, width, MUTED, indent=2, limit=min(2, limit - 1), ellipsis=ellipsis)

    return [fit_line(head, width, ellipsis=ellipsis), *(body if limit > 1 else [])]


def findings_pane(run: RunView, width: int, height: int, view: View) -> list[Line]:
    """The pane of Overview right of the vital signs: causes, findings, what to check."""
    report = run.report
    lines: list[Line] = [heading("Findings", width, view, counts(run))]
    if report is None:
        return [*lines, *ending_lines(run, width, view, 3), [(no_verdict(run), MUTED)]]
    cause = cause_line(run, view, width)
    lines += [cause] if cause else []
    lines += ending_lines(run, width, view, 3 if height >= 10 else 1)

    if not report.findings:
        return [*lines, *calm_lines(run, width, view), *file_lines(run, width, view)]
    story = story_lines(run, view, width, height * 2 // 5 if height >= 5 else 0)
    troubles = file_lines(run, width, view)
    lines += _listed(run, width, height - len(lines) - len(story) - len(troubles), view)

    return [*lines, *troubles, *story]


def file_lines(run: RunView, width: int, view: View) -> list[Line]:
    """One line about the files of a run that could not be read as they are; empty for none."""
    troubles = run.troubles
    return [trouble_line(troubles, width, view.glyphs)] if troubles else []


def _listed(run: RunView, width: int, room: int, view: View) -> list[Line]:
    """The findings in ``room`` lines, with their evidence where it fits."""
    known = finding_rows(run)
    rows = known if len(known) <= room else worst_rows(known, max(0, room - 1))
    hidden = len(known) - len(rows)
    bad = {r.id for r in rows if r.is_firing and r.finding.level is Level.BAD}
    spare = room - len(rows) - bool(hidden)
    lines: list[Line] = []

    for at, row in enumerate(rows):
        lines.append(finding_line(run, row, width, view))
        if spare > 0 and width >= 44 and (row.id in bad or spare >= len(rows) - at - 1):
            waiting, look = (
                sum(r.id in bad for r in rows[at + 1 :]),
                TEXT if row.is_firing else MUTED,
            )
            limit, ellipsis = 2 if spare > waiting + 1 else 1, view.glyphs.ellipsis
            text = view.glyphs.text(sentences.summary(row.finding))
            body = paragraph(text, width, look, indent=2, limit=limit, ellipsis=ellipsis)
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
        self.findings.show(entries)
        self.query_one("#detail", Lines).update()

    def on_line_list_moved(self) -> None:
        self.query_one("#detail", Lines).update()

    def _draw_detail(self, width: int, height: int) -> list[Line]:
        run, view, layout = self._run, shell_of(self).view, self._layout
        margin = 1 if layout.side else layout.margin
        cells = layout.side or width - margin - 1
        lines = later.detail_lines(run, self.findings.cursor, view, cells, height)
        return indented(lines, margin)
