"""The item at the cursor of the Findings tab: what was found, what to check, causes, a chart."""

from __future__ import annotations

from rltui.core.text import cell_width
from rltui.health.model import Diagnosis, Skipped
from rltui.present.kit import numbers, sentences
from rltui.present.kit.line import LEVEL_TOKEN, MUTED, RULE, STRONG, TEXT, Line, line_width, style
from rltui.present.kit.prose import fact_table, paragraph
from rltui.present.screens.ahead import ahead_sentence, projection_of
from rltui.present.screens.diagnosis import (
    cause_of,
    check_table,
    diagnosis_of,
    ending_diagnosis,
    summary_of,
    title_of,
)
from rltui.present.screens.finding_rows import FindingRow
from rltui.present.screens.findings import badge_of, heading, since_words
from rltui.present.screens.findings_list import (
    AheadId,
    CauseId,
    EndingId,
    ItemId,
    SkippedId,
    row_of,
    why_skipped,
)
from rltui.present.screens.first_movers import first_mover_lines
from rltui.present.screens.log import exit_words
from rltui.present.screens.metric_chart import chart_lines
from rltui.present.screens.metric_rows import fold
from rltui.present.screens.metric_table import columns_for, row_line, section_line
from rltui.present.screens.view import View
from rltui.session import RunView


def detail_lines(
    run: RunView, item: ItemId | None, view: View, width: int, height: int
) -> list[Line]:
    """The item at the cursor: what was found, what to check first, usual causes, a chart."""
    row = row_of(run, item)
    if row is not None:
        return _finding_detail(run, row, view, width, height)
    if isinstance(item, EndingId):
        return _ending_detail(run, view, width)[:height]
    if isinstance(item, CauseId) and run.report is not None and cause_of(run) is not None:
        return _cause_detail(run, run.report.diagnosed.diagnoses[0], view, width, height)
    if isinstance(item, AheadId):
        return _ahead_detail(run, item.tag, view, width, height)
    skipped = run.report.skipped if run.report else ()
    found = next((s for s in skipped if SkippedId(s.rule) == item), None)
    return [] if found is None else _skipped_detail(run, found, view, width, height)[:height]


def _skipped_detail(
    run: RunView, skipped: Skipped, view: View, width: int, height: int
) -> list[Line]:
    """A rule that could not judge: its title, why in full, and what has been judged."""
    title = view.glyphs.text(skipped.title)
    head = heading(title, width, view, skipped.rule)
    why = paragraph(view.glyphs.text(f"not judged: {why_skipped(run, skipped)}"), width)
    lines = [head, *why]
    lines += _judged_lines(run, view, width, height - len(lines))
    headline = run.headline()
    chart = _chart(run, headline, view, width, height - len(lines)) if headline else []
    return [*lines, *chart]


def _judged_lines(run: RunView, view: View, width: int, room: int) -> list[Line]:
    """The rows that rules have judged, with their limits, in ``room`` lines."""
    rows = fold(run, (t for t in run.infos if run.verdict.judgement(t).rules))
    if not rows or room < 4:
        return []
    shown = rows if len(rows) <= room - 2 else rows[: room - 3]
    columns = columns_for(width)
    lines = [[], section_line("Judged", columns.width, view, heads=columns, spark_head="run")]
    lines += [row_line(run, row, columns, view, cursor=False) for row in shown]
    more = len(rows) - len(shown)
    return [*lines, [(f"  and {more} more in the tabs", MUTED)]] if more else lines


def _ahead_detail(run: RunView, tag: str, view: View, width: int, height: int) -> list[Line]:
    projection = projection_of(run, tag) if tag in run.infos else None
    if projection is None:
        return []
    words = view.glyphs.text
    lines = [heading(words(run.infos[tag].title), width, view, tag)]
    lines += paragraph(words(ahead_sentence(run, projection)), width, STRONG)
    lines += paragraph("A straight line through the newest part of the run; no finding yet.", width)
    return [*lines, *_chart(run, tag, view, width, height - len(lines))][:height]


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
    diagnosis = ending_diagnosis(run) if run.infos else None
    lines += checks(run, diagnosis, view, width) if diagnosis is not None else []
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
    lines += checks(run, diagnosis, view, width)
    moved = first_mover_lines(run, view, width, min(7, height - len(lines) - 10))
    lines += [[], *moved] if moved else []
    move = cause_of(run)
    chart = _chart(run, move.tag, view, width, height - len(lines)) if move else []
    return [*lines, *chart][:height]


def _finding_detail(
    run: RunView, row: FindingRow, view: View, width: int, height: int
) -> list[Line]:
    finding = row.finding
    glyph, token, bold = badge_of(finding, view)
    look, words = style(token, bold=bold), view.glyphs.text
    title: Line = [(f"{glyph} ", look), (words(finding.title), look)]
    room = width - line_width(title) - cell_width(finding.rule) - 2
    head: Line = [*title, (" ", TEXT), (view.glyphs.rule * max(0, room), RULE)]
    head.append((f" {finding.rule}", MUTED))
    lines = [head, *paragraph(words(sentences.summary(finding)), width, STRONG)]
    diagnosis = diagnosis_of(run, finding)
    facts = [("since", since_words(run, finding)), ("because", _because(run, diagnosis))]
    facts += [("also", f"{f.tag}: {sentences.short(f)}") for f in row.findings[1:]]
    lines += fact_table([(name, words(text)) for name, text in facts], width, 10)
    if finding.error:
        lines += fact_table([("rule broke", words(finding.error))], width, 12)
    elif diagnosis is not None:
        lines += checks(run, diagnosis, view, width)
    elif finding.advice:
        lines += fact_table([("next step", words(finding.advice))], width, 14)
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


def checks(run: RunView, diagnosis: Diagnosis, view: View, width: int) -> list[Line]:
    """What to check first and then, usual causes, and what helps; a blank line before."""
    symptom, words = diagnosis.symptom, view.glyphs.text
    facts = [("usual causes", symptom.causes), ("next step", symptom.advice)]
    table = fact_table([(name, words(text)) for name, text in facts], width, 14)
    return [[], *check_table(run, diagnosis, view, width), *table]


def _chart(run: RunView, tag: str, view: View, width: int, room: int) -> list[Line]:
    """A blank line, the title and the chart of a tag, where there is room for it."""
    if room < 8:
        return []
    info = run.infos[tag]
    note = "   ".join(x for x in (view.glyphs.text(info.unit), info.tag) if x)
    head = heading(view.glyphs.text(info.title), width, view, note)
    return [[], head, *chart_lines(run, tag, view, width, min(room - 2, 34))]
