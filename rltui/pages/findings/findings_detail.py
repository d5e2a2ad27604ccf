"""The item at the cursor of the Findings tab: what was found, what to check, causes, a chart."""

from __future__ import annotations

from rltui.core.level import Level
from rltui.core.text import cell_width, fit
from rltui.draw.line import (
    LEVEL_TOKEN,
    MUTED,
    RULE,
    STRONG,
    TEXT,
    Line,
    Style,
    column,
    fit_line,
    line_width,
    style,
)
from rltui.draw.prose import distinct, fact_table, paragraph
from rltui.draw.view import View
from rltui.facts import numbers, sentences
from rltui.facts.checks import CheckItem, check_items, then_words
from rltui.facts.findings import (
    FindingRow,
    advice_of,
    ahead_sentence,
    cause_of,
    diagnosis_of,
    ending_advice,
    ending_diagnosis,
    next_step_of,
    projection_of,
    summary_of,
    suspect_of,
    suspect_words,
    title_of,
)
from rltui.facts.metrics import fold
from rltui.facts.runs import exit_words
from rltui.health.model import Diagnosis, Skipped
from rltui.pages.findings.findings_list import (
    AheadId,
    CauseId,
    EndingId,
    ItemId,
    SkippedId,
    row_of,
    why_skipped,
)
from rltui.pages.findings.lines import badge_of, first_mover_lines, heading, since_words, span_words
from rltui.pages.metric.metric_chart import chart_lines
from rltui.pages.run.metric_table import columns_for, row_line, section_line, spark_line
from rltui.session import RunView

#: Look of what stands out although its metric is ok.
_STANDING_OUT = style(LEVEL_TOKEN[Level.WATCH], bold=True)


def detail_lines(
    run: RunView, item: ItemId | None, view: View, width: int, height: int
) -> list[Line]:
    """The item at the cursor: what was found, the next step, what to check, usual causes, a chart.
    What has no room is counted in the last line."""
    lines = _detail(run, item, view, width, height)
    if len(lines) <= height or height < 1:
        return lines
    more = f"  {view.glyphs.ellipsis} {len(lines) - height + 1} more lines: m"
    return [*lines[: height - 1], [(more, MUTED)]]


def _detail(run: RunView, item: ItemId | None, view: View, width: int, height: int) -> list[Line]:
    """All lines of an item; charts and tables take what ``height`` leaves."""
    row = row_of(run, item)
    if row is not None:
        return _finding_detail(run, row, view, width, height)
    if isinstance(item, EndingId):
        return _ending_detail(run, view, width)
    if isinstance(item, CauseId) and run.report is not None:
        cause, leading = cause_of(run), run.report.diagnosed.leading
        if cause is not None and cause.tag == item.tag:
            return _cause_detail(run, run.report.diagnosed.diagnoses[0], view, width, height)
        return (
            [] if leading is None else _suspect_detail(run, item.tag, leading, view, width, height)
        )
    if isinstance(item, AheadId):
        return _ahead_detail(run, item.tag, view, width, height)
    skipped = run.report.skipped if run.report else ()
    found = next((s for s in skipped if SkippedId(s.rule) == item), None)

    return [] if found is None else _skipped_detail(run, found, view, width, height)


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
    names = distinct(tuple(r.title for r in shown), columns.name, view.glyphs.ellipsis)
    lines += [
        row_line(run, row, columns, view, cursor=False, name=name)
        for row, name in zip(shown, names, strict=True)
    ]
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
    return [*lines, *_chart(run, tag, view, width, height - len(lines))]


def _ending_detail(run: RunView, view: View, width: int) -> list[Line]:
    crash = run.verdict.crash
    if crash is None:
        return []
    words, look = view.glyphs.text, style(LEVEL_TOKEN[run.verdict.exit_level], bold=True)
    lines = paragraph(words(exit_words(crash)), width, look)
    if crash.line:
        lines += paragraph(words(crash.line), width, STRONG)
    advice = ending_advice(run, crash)
    lines += next_step_lines(advice, view, width) if advice else []
    diagnosis = ending_diagnosis(run) if run.infos else None
    if diagnosis is not None:
        lines += checks(run, diagnosis, view, width)

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
    lines = [head, *paragraph(words(summary_of(run, diagnosis)), width)]
    lines += next_step_lines(next_step_of(run, diagnosis), view, width)
    lines += checks(run, diagnosis, view, width)
    moved = first_mover_lines(run, view, width, min(7, height - len(lines) - 10))
    lines += [[], *moved] if moved else []
    move = cause_of(run)
    chart = _chart(run, move.tag, view, width, height - len(lines)) if move else []

    return [*lines, *chart]


def _suspect_detail(
    run: RunView, tag: str, diagnosis: Diagnosis, view: View, width: int, height: int
) -> list[Line]:
    words, level, suspect = view.glyphs.text, run.verdict.tag_level(tag), suspect_of(run, tag)
    if suspect is None:
        return []
    lines = [heading(words(run.infos[tag].title), width, view, tag)]
    about = f"{suspect_words(suspect)} ({diagnosis.symptom.title})"
    lines += paragraph(words(about), width, style(LEVEL_TOKEN[level], bold=True))
    lines += next_step_lines(suspect.advice, view, width)
    lines += checks(run, diagnosis, view, width)
    return [*lines, *_chart(run, tag, view, width, height - len(lines))]


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
    lines = [head, *paragraph(words(sentences.summary(finding)), width)]
    diagnosis = diagnosis_of(run, finding)
    lines += next_step_lines(advice_of(run, finding), view, width) if not finding.error else []
    facts = [("since", since_words(run, finding)), ("because", _because(run, diagnosis))]
    facts += [("before", f"{span_words(run, f)}: {sentences.short(f)}") for f in row.earlier]
    facts += [("also", f"{f.tag}: {sentences.short(f)}") for f in row.findings[1:]]
    lines += fact_table([(name, words(text)) for name, text in facts], width, 10)
    if finding.error:
        lines += fact_table([("rule broke", words(finding.error))], width, 12)
    elif diagnosis is not None:
        lines += checks(run, diagnosis, view, width)
    if finding.tag in run.infos:
        lines += _chart(run, finding.tag, view, width, height - len(lines))

    return lines


def _because(run: RunView, diagnosis: Diagnosis | None) -> str:
    """What explains a finding: "learning rate × 200, step 30"."""
    found = run.report.diagnosed.diagnoses if run.report else ()
    top = next((d for d in found if diagnosis and d.symptom.id == diagnosis.explained_by), None)
    if top is None:
        return ""
    since = numbers.step(top.since_step)
    if top.is_over:
        since = f"{numbers.step_range(top.since_step, top.until_step)}, over"
    return f"{title_of(run, top)}, step {since}"


def next_step_lines(advice: str, view: View, width: int) -> list[Line]:
    """What helps, close below the finding: no screen is too low for it."""
    return fact_table([("next step", view.glyphs.text(advice))], width, 10, STRONG)


def checks(run: RunView, diagnosis: Diagnosis, view: View, width: int) -> list[Line]:
    """What to check first and then, and usual causes; a blank line before."""
    causes = view.glyphs.text(diagnosis.symptom.causes)
    table = fact_table([("usual causes", causes)], width, 14)
    return [[], *check_table(run, diagnosis, view, width), *table]


def _chart(run: RunView, tag: str, view: View, width: int, room: int) -> list[Line]:
    """A blank line, the title and the chart of a tag, where there is room for it."""
    if room < 8:
        return []
    info = run.infos[tag]
    note = "   ".join(x for x in (view.glyphs.text(info.unit), info.tag) if x)
    head = heading(view.glyphs.text(info.title), width, view, note)
    return [[], head, *chart_lines(run, tag, view, width, min(room - 2, 34))]


def check_table(run: RunView, diagnosis: Diagnosis, view: View, width: int) -> list[Line]:
    """What to check, under a heading."""
    head = heading("Check", width, view, "now and over the run")
    return [head, *check_lines(run, diagnosis, view, width)]


def check_lines(run: RunView, diagnosis: Diagnosis, view: View, width: int) -> list[Line]:
    """A numbered table of what to check: badge, metric, question, value now, sparkline."""
    glyphs, items = view.glyphs, check_items(run, diagnosis)
    spark = 14 if width >= 84 else 10 if width >= 52 else 0
    name = max((min(19, cell_width(i.title)) for i in items), default=0) + 1
    lines = []
    for rank, item in enumerate(items, 1):
        look = _look(item)
        lead = "first" if rank == 1 else "then" if rank == _then(items) else ""
        line: Line = [(f"{lead:6}", MUTED), (f"{glyphs.badge(item.level)} ", look)]
        line.append(column(glyphs.text(item.title), name, STRONG, ellipsis=glyphs.ellipsis))
        right = _value(run, item, view, spark)
        room = width - line_width(line) - line_width(right) - 1
        parts = [item.ask, then_words(item)]
        if item.level >= Level.WATCH:  # the value that the badge is about
            parts.reverse()
        words = "  ".join(x for x in (*parts, item.hint) if x)
        text = fit(glyphs.text(words), max(0, room), ellipsis=glyphs.ellipsis)
        stands_out = item.hint and item.level is not Level.UNKNOWN  # what no rule judges is quiet
        line.append((text, _STANDING_OUT if stands_out else TEXT))
        lines.append([*fit_line(line, width - line_width(right)), *right])

    return lines


def _look(item: CheckItem) -> Style:
    return style(LEVEL_TOKEN[item.level], bold=item.level >= Level.WATCH)


def _then(items: list[CheckItem]) -> int:
    """Rank of the first item that is not to be checked first."""
    return next((n for n, i in enumerate(items, 1) if not i.first), 0)


def _value(run: RunView, item: CheckItem, view: View, spark: int) -> Line:
    if item.tag is None:
        return [("not logged".rjust(10 + (spark + 1 if spark else 0)), MUTED)]
    now = run.verdict.tag_level(item.tag)  # the badge may be about another time
    look = style(LEVEL_TOKEN[now], bold=True) if now >= Level.WATCH else STRONG
    line: Line = [(numbers.aligned(item.value), look)]
    if spark:
        judged = item.level is not Level.UNKNOWN
        line += [(" ", TEXT), *spark_line(run, item.tag, spark, view, judged=judged)]
    return line
