"""The Findings tab: causes and findings in a list, and the one at the cursor in detail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from rltui.core.text import cell_width, pad
from rltui.health.model import Diagnosis, Finding, FindingState, Report, Skipped
from rltui.health.symptoms import SETTING_CHANGED
from rltui.present.kit import numbers, sentences
from rltui.present.kit.line import (
    LEVEL_TOKEN,
    MUTED,
    RULE,
    STRONG,
    TEXT,
    Line,
    column,
    line_width,
    style,
)
from rltui.present.kit.prose import fact_table, paragraph
from rltui.present.screens.diagnosis import (
    cause_of,
    check_lines,
    diagnosis_of,
    effects_of,
    summary_of,
    title_of,
)
from rltui.present.screens.entries import Entry, fixed, indented, with_margin
from rltui.present.screens.findings import (
    badge_of,
    calm_lines,
    cause_line,
    counts,
    finding_line,
    heading,
    no_verdict,
    since_words,
)
from rltui.present.screens.first_movers import first_mover_lines
from rltui.present.screens.log import exit_words
from rltui.present.screens.metric_chart import chart_lines
from rltui.present.screens.view import View
from rltui.session import RunView


class FindingId(NamedTuple):
    """Names a finding within a run, the same as long as its episode lives."""

    rule: str
    tag: str | None
    since_step: int | None


class SkippedId(NamedTuple):
    """Names a rule that could not judge."""

    rule: str


class CauseId(NamedTuple):
    """Names the setting that began the worst story."""

    tag: str


class EndingId(NamedTuple):
    """Names the way in which the run ended."""

    reason: str


#: What the cursor of the list stands on.
ItemId = FindingId | SkippedId | CauseId | EndingId


def finding_id(finding: Finding) -> FindingId:
    """The id of a finding."""
    return FindingId(finding.rule, finding.tag, finding.since_step)


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


def findings_layout(width: int, height: int, lines: int) -> FindingsLayout:
    """The layout of the tab for a list of ``lines`` lines."""
    margin = 2 if width >= 110 else 1
    if width >= 100:
        rows = 42 if width < 150 else 52
        left = margin + rows + 3
        return FindingsLayout(margin, rows, left, width - left - 2, height)
    listed = min(lines, max(3, height // 2 if height >= 12 else height))
    return FindingsLayout(margin, max(1, width - margin - 1), width, 0, max(1, listed))


# -- the list --------------------------------------------------------------------------------


def finding_entries(run: RunView, view: View, width: int, margin: int) -> list[Entry[ItemId]]:
    """The list: how the run ended, what caused what fires, what is over or not judged."""
    entries = _cause_entries(run, view, width, margin)
    entries += _ending_entries(run, entries, view, width, margin)
    report = run.report
    if report is None:
        return [*entries, fixed([(f"  {no_verdict(run)}", MUTED)])]
    depths = _depths(report)
    for title, group in (("Firing", report.firing()), ("Over", report.resolved())):
        if not group and title == "Over":
            continue
        note = counts(run).replace("  ", " ") if title == "Firing" else str(len(group))
        entries += _head(title, note if group else "none", entries, view, width, margin)
        entries += [_entry(f, depths.get(id(f), 0), width, margin, view) for f in group]
        if not group:
            entries.append(fixed(*indented(calm_lines(run, width, view)[:2], margin)))
    if report.skipped:
        entries += _head("Not judged", str(len(report.skipped)), entries, view, width, margin)
        entries += [_skipped_entry(run, s, width, margin, view) for s in report.skipped]
    return entries


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
    if move is None or not line:
        return []
    count = len(effects_of(run, run.report.diagnosed.diagnoses[0])) if run.report else 0
    note = f"of {count} finding{'s' if count != 1 else ''}"
    head = _head("Cause", note, [], view, width, margin)
    return [*head, _drawn(CauseId(move.tag), line, width, margin, view)]


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


def _entry(finding: Finding, depth: int, width: int, margin: int, view: View) -> Entry[ItemId]:
    indent: Line = [("  " * depth, TEXT)] if depth else []
    line = [*indent, *finding_line(finding, width - 2 * depth, view, now=True)]
    return _drawn(finding_id(finding), line, width, margin, view)


def _skipped_entry(
    run: RunView, skipped: Skipped, width: int, margin: int, view: View
) -> Entry[ItemId]:
    line = _skipped_line(run, skipped, width, view)
    return _drawn(SkippedId(skipped.rule), line, width, margin, view)


def _skipped_line(run: RunView, skipped: Skipped, width: int, view: View) -> Line:
    ellipsis = view.glyphs.ellipsis
    name = column(view.glyphs.text(skipped.title), 23, MUTED, ellipsis=ellipsis)
    text = pad(view.glyphs.text(_why(run, skipped)), width - 25, right=True, ellipsis=ellipsis)
    return [(f"{view.glyphs.unknown} ", MUTED), name, (text, MUTED)]


def _why(run: RunView, skipped: Skipped) -> str:
    names = dict.fromkeys(_title_of(run, m) for m in skipped.missing)
    return sentences.why_skipped(skipped, ", ".join(names))


def _title_of(run: RunView, key: str) -> str:
    """Title of a metric; its key when the catalogue does not have it."""
    metric = run.catalogue.metrics.get(key)
    return key if metric is None else metric.title


def find(run: RunView, wanted: ItemId | None) -> Finding | None:
    """The finding of that id."""
    findings = run.report.findings if run.report else ()
    return next((f for f in findings if finding_id(f) == wanted), None)


def tag_at(run: RunView, item: ItemId | None) -> tuple[str, int | None] | None:
    """(tag, step) that the item at the cursor is about."""
    finding, cause = find(run, item), cause_of(run)
    if finding is not None and finding.tag in run.infos:
        return finding.tag, finding.since_step
    if isinstance(item, CauseId) and cause is not None and cause.tag == item.tag:
        return cause.tag, cause.step
    return None


# -- the item at the cursor ------------------------------------------------------------------


def detail_lines(
    run: RunView, item: ItemId | None, view: View, width: int, height: int
) -> list[Line]:
    """The item at the cursor: what was found, what to check first, usual causes, a chart."""
    finding = find(run, item)
    if finding is not None:
        return _finding_detail(run, finding, view, width, height)
    if isinstance(item, EndingId):
        return _ending_detail(run, view, width)[:height]
    if isinstance(item, CauseId) and run.report is not None and cause_of(run) is not None:
        return _cause_detail(run, run.report.diagnosed.diagnoses[0], view, width, height)
    skipped = run.report.skipped if run.report else ()
    found = next((s for s in skipped if SkippedId(s.rule) == item), None)
    return [] if found is None else _skipped_detail(run, found, view, width)[:height]


def _skipped_detail(run: RunView, skipped: Skipped, view: View, width: int) -> list[Line]:
    """A rule that could not judge: its title, and why in full."""
    title = view.glyphs.text(skipped.title)
    head = heading(title, width, view, skipped.rule)
    why = paragraph(view.glyphs.text(f"not judged: {_why(run, skipped)}"), width)
    return [head, *why]


def _ending_detail(run: RunView, view: View, width: int) -> list[Line]:
    crash = run.verdict.crash
    if crash is None:
        return []
    words, look = view.glyphs.text, style(LEVEL_TOKEN[run.verdict.exit_level], bold=True)
    lines = paragraph(words(exit_words(crash)), width, look)
    if crash.line:
        lines += paragraph(words(crash.line), width, STRONG)
    if crash.advice:
        lines += [[], *paragraph(words(crash.advice), width)]
    return [*lines, [], [("t shows the end of the log", MUTED)]]


def _cause_detail(
    run: RunView, diagnosis: Diagnosis, view: View, width: int, height: int
) -> list[Line]:
    words, look = view.glyphs.text, style(LEVEL_TOKEN[diagnosis.level], bold=True)
    head: Line = [(f"{view.glyphs.badge(diagnosis.level)} ", look)]
    head += [(f"{words(title_of(run, diagnosis))} ", look)]
    note = f" {diagnosis.symptom.id}"
    room = width - line_width(head) - cell_width(note)
    head += [(view.glyphs.rule * max(0, room), RULE), (note, MUTED)]
    lines = [head, *paragraph(words(summary_of(run, diagnosis)), width, STRONG)]
    lines += _checks(run, diagnosis, diagnosis.symptom.advice, view, width)
    moved = first_mover_lines(run, view, width, min(7, height - len(lines) - 10))
    lines += [[], *moved] if moved else []
    move = cause_of(run)
    chart = _chart(run, move.tag, view, width, height - len(lines)) if move else []
    return [*lines, *chart][:height]


def _finding_detail(
    run: RunView, finding: Finding, view: View, width: int, height: int
) -> list[Line]:
    glyph, token, bold = badge_of(finding, view)
    look, words = style(token, bold=bold), view.glyphs.text
    title: Line = [(f"{glyph} ", look), (words(finding.title), look)]
    room = width - line_width(title) - cell_width(finding.rule) - 2
    head: Line = [*title, (" ", TEXT), (view.glyphs.rule * max(0, room), RULE)]
    head.append((f" {finding.rule}", MUTED))
    lines = [head, *paragraph(words(sentences.summary(finding)), width, STRONG)]
    diagnosis = diagnosis_of(run, finding)
    facts = [("since", since_words(run, finding)), ("because", _because(run, diagnosis))]
    lines += fact_table([(name, words(text)) for name, text in facts], width, 10)
    if finding.error:
        lines += fact_table([("rule broke", words(finding.error))], width, 12)
    elif diagnosis is not None:
        lines += _checks(run, diagnosis, finding.advice, view, width)
    elif finding.advice:
        lines += fact_table([("advice", words(finding.advice))], width, 10)
    if finding.tag in run.infos:
        lines += _chart(run, finding.tag, view, width, height - len(lines))
    return lines[:height]


def _because(run: RunView, diagnosis: Diagnosis | None) -> str:
    """What explains a finding: "learning rate × 200, step 30"."""
    found = run.report.diagnosed.diagnoses if run.report else ()
    top = next((d for d in found if diagnosis and d.symptom.id == diagnosis.explained_by), None)
    if top is None:
        return ""
    return f"{title_of(run, top)}, step {numbers.step(top.since_step)}"


def _checks(run: RunView, diagnosis: Diagnosis, advice: str, view: View, width: int) -> list[Line]:
    symptom, words = diagnosis.symptom, view.glyphs.text
    head = heading("Check", width, view, "now and over the run")
    facts = [("usual", symptom.causes), ("advice", advice or symptom.advice)]
    table = fact_table([(name, words(text)) for name, text in facts], width, 10)
    return [[], head, *check_lines(run, diagnosis, view, width), *table]


def _chart(run: RunView, tag: str, view: View, width: int, room: int) -> list[Line]:
    """A blank line, the title and the chart of a tag, where there is room for it."""
    if room < 10:
        return []
    info = run.infos[tag]
    note = "   ".join(x for x in (view.glyphs.text(info.unit), info.tag) if x)
    head = heading(view.glyphs.text(info.title), width, view, note)
    return [[], head, *chart_lines(run, tag, view, width, min(room - 2, 24))]
