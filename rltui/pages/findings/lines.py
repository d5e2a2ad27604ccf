"""Lines about findings, causes and events that several tabs show."""

from __future__ import annotations

from typing import NamedTuple

from rltui.core.address import PIPE, PIPE_NAME
from rltui.core.level import Level
from rltui.core.text import cell_width, clean, counted, fit_middle, spaced, words_match
from rltui.draw.line import (
    ACCENT_BOLD,
    LEVEL_BOLD,
    LEVEL_TOKEN,
    MUTED,
    TEXT,
    TITLE,
    Block,
    Line,
    Span,
    Style,
    Token,
    badge_span,
    fit_line,
    indented,
    style,
    with_end,
)
from rltui.draw.prose import ended_lines, fact_table, paragraph
from rltui.draw.table import title_lines
from rltui.draw.view import View
from rltui.facts import findings, numbers, sentences, story_words
from rltui.facts.findings import FindingId, FindingRow, finding_rows, muted_rows
from rltui.facts.runs import (
    calm_words,
    certain_words,
    exit_words,
    last_lines,
    newest_log,
    since_step,
    since_words,
    why_unknown,
)
from rltui.facts.story import Story, stories
from rltui.formats.log_sign import bare
from rltui.health.model import Finding, FindingState
from rltui.session import JudgedRun


def counts(run: JudgedRun) -> str:
    """ "3 bad, 2 watch, 1 resolved", or "none"."""
    if run.report is None:
        return findings.marks_words(run) or ("none" if run.verdict.crash is not None else "reading")
    over = sum(not row.is_firing for row in findings.finding_rows(run))
    resolved = f"{over} resolved" if over else ""
    return spaced(findings.marks_words(run), resolved, muted_words(run), by=", ") or "none"


def muted_words(run: JudgedRun) -> str:
    """ "muted 2"; "" for none."""
    count = len(findings.muted_rows(run))
    return f"muted {count}" if count else ""


def badge_of(finding: Finding, view: View) -> tuple[str, Token, bool]:
    """Glyph, colour and weight of a finding's badge."""
    if finding.state is not FindingState.FIRING:
        return view.glyphs.over, Token.MUTED, False
    return view.glyphs.badge(finding.level), LEVEL_TOKEN[finding.level], True


def span_words(run: JudgedRun, finding: Finding, *, now: bool = False) -> str:
    """ "since 31", "since row 31", "30 to 31, resolved"; with ``now``: "31 to now"; ", bad at 40"
    where it is milder now. "the whole run" for a finding without an onset."""
    if finding.since_step is None:
        return since_words(run, finding)
    worst = finding.evidence.worst or finding.level
    at = finding.evidence.row.get("at")
    eased = f", {worst.word} at {numbers.step(at)}" if worst > finding.level and at else ""
    if finding.state is not FindingState.FIRING:
        tail = "" if now else f", {finding.state.value}"
        return f"{numbers.step_range(finding.since_step, finding.until_step)}{tail}"
    since = f"{since_step(run, finding)} to now" if now else since_words(run, finding)
    return since + eased


class HeadId(NamedTuple):
    """Names the head of a story: a setting that is its cause, or with "" how the run ended."""

    tag: str


class CalmId(NamedTuple):
    """Names what is said of a run in which nothing fires."""


class SkippedId(NamedTuple):
    """Names a rule that could not judge."""

    rule: str


class ProjectedId(NamedTuple):
    """Names a metric that is going to cross its limit."""

    tag: str


#: What the cursor of the list stands on.
ItemId = FindingId | CalmId | SkippedId | HeadId | ProjectedId


def row_of(run: JudgedRun, wanted: ItemId | None) -> FindingRow | None:
    """The row of that id."""
    return next((r for r in (*finding_rows(run), *muted_rows(run)) if r.id == wanted), None)


def head_lines(story: Story, view: View, width: int) -> list[tuple[HeadId, Block]]:
    """Heads of a story that are no findings, in the colour of the story: how the run ended, the
    setting that jumped, settings that are likely causes."""
    glyphs = view.glyphs
    look = LEVEL_BOLD[story.level]
    mark = glyphs.badge(story.level)
    told = [("", exit_words(story.crash), "")] if story.crash is not None else []
    setting = story.setting
    top = story.top

    if setting is not None and top is not None:
        look, mark = (MUTED, glyphs.over) if top.is_over else (look, mark)
        change = f" {numbers.plain(setting.before)} → {numbers.plain(setting.after)}"
        when = f"at {numbers.step(setting.step)}"
        when = numbers.step_range(setting.step, top.until_step) if top.is_over else when
        told.append((setting.tag, story_words.title(story, top), f"{change}  {when}"))
    for tag, said in story_words.suspect_words(story).items():
        name, bracket, usual = said.partition(" (")
        told.append((tag, name, bracket + usual))

    lines = []
    for tag, title, right in told:
        if 2 + cell_width(title) + cell_width(right) > width:
            right = right[right.rfind("  ") :] if "  " in right else ""
        block = ended_lines([(f"{mark} ", look)], title, look, [(right, look)], width)
        lines.append((HeadId(tag), block))
    return lines


def title_words(row: findings.FindingRow) -> str:
    """ "reward dropped (3 times)"."""
    return f"{row.finding.title} ({row.times} times)" if row.times > 1 else row.finding.title


def finding_line(
    run: JudgedRun, row: findings.FindingRow, width: int, view: View, *, now: bool = False
) -> Block:
    """Badge, title, since when at the right end: one line, more for a long title."""
    mark, look = _mark(row, view)
    right = span_words(run, row.finding, now=now)
    return ended_lines([mark], title_words(row), look, [(f" {right}", MUTED)], width)


def _mark(row: findings.FindingRow, view: View) -> tuple[Span, Style]:
    """The badge of a row, and the look of its title."""
    glyph, token, bold = badge_of(row.finding, view)
    look = style(token, bold=bold)
    return (f"{glyph} ", look), look


def timeline_line(row: findings.FindingRow, width: int, view: View) -> tuple[Block, str]:
    """Badge, title, evidence if it fits, steps at the right end: one line, more for a long title;
    and the evidence that did not fit."""
    finding = row.finding
    mark, look = _mark(row, view)
    until = "" if finding.fires else f"–{numbers.step(finding.until_step)}"
    right = "" if finding.since_step is None else f"  {numbers.step(finding.since_step)}{until}"
    title = title_words(row)
    said = sentences.short(finding)
    if cell_width(said) <= width - cell_width(right) - cell_width(title) - 4:
        line: Line = [mark, (title, look), (f"  {said}", TEXT)]
        return [with_end(line, [(right, MUTED)], width)], ""
    return ended_lines([mark], title, look, [(right, MUTED)], width), said


def no_verdict(run: JudgedRun) -> str:
    if run.verdict.crash is not None:
        return "ended before its first row: no verdict"
    return "judging…" if run.infos else "no verdict before the run has been read"


def calm_lines(run: JudgedRun, width: int, view: View) -> Block:
    """The lines for a run without a finding, and how many rules judged."""
    report = run.report
    glyphs = view.glyphs
    if report is None:
        return []
    is_unknown = report.calm is Level.UNKNOWN
    mark = Level.UNKNOWN if is_unknown or run.verdict.crash is not None else run.verdict.mark
    said = why_unknown(run) if is_unknown else ""
    lines = ended_lines([badge_span(mark, glyphs)], said or calm_words(run), TEXT, [], width)

    judged = counted(len(report.judged), "rule")
    begin = run.data.first_step
    if begin is not None:
        end = numbers.step(run.data.last_step)
        judged += f", {run.step_word}s {numbers.step(begin)} to {end}"
    facts = [("judged", "" if is_unknown else judged)]
    return [*lines, *indented(fact_table(facts, width - 2, 12), 2)]


def finding_block(run: JudgedRun, finding: Finding, view: View, width: int, limit: int) -> Block:
    """A finding among the facts of a metric: since when, and what was found in ``limit`` lines."""
    text = sentences.summary(finding)
    evidence = paragraph(text, width, TEXT, indent=2, limit=limit)
    row = findings.FindingRow(findings.FindingId(finding.rule, finding.title, 0), finding)
    return [*finding_line(run, row, width, view), *evidence]


def evidence_facts(run: JudgedRun, finding: Finding, *, whole: bool) -> list[tuple[str, str]]:
    """(name, text): since when, and of the ``whole`` what was compared with which limits, and the
    tag; whether the rule broke."""
    evidence = finding.evidence
    facts = [("since", onset_words(run, finding))]
    if whole and evidence.value is not None:
        facts.append(("evidence", f"{evidence.statistic} {numbers.value(evidence.value)}"))
        judgement = run.verdict.judgement(finding.tag or "")
        facts.append(("limits", sentences.limits(judgement)))
    facts.append(("tag", (finding.tag or "") if whole else ""))
    return [*facts, ("rule broke", finding.error or "")]


def onset_words(run: JudgedRun, finding: Finding) -> str:
    """ "step 31, certain at 40, 59 steps ago"; when it is resolved, its last step instead."""
    if finding.since_step is None:
        return since_words(run, finding)
    text = f"{run.step_word} {numbers.step(finding.since_step)}{certain_words(finding)}"
    if finding.state is not FindingState.FIRING:
        return f"{text}, {finding.state.value} at {numbers.step(finding.until_step)}"
    last = run.data.last_step
    ago = 0 if last is None else last - finding.since_step
    return f"{text}, {numbers.step(ago)} {run.step_word}s ago" if ago > 0 else f"{text}, the newest"


def log_head(run: JudgedRun, view: View, width: int) -> Block:
    """Above the log: which file it is, and how the run ended."""
    path = newest_log(run)
    if path is None:
        return title_lines([("Log ", TITLE)], [], width)
    name = clean(str(path)) if path != PIPE else PIPE_NAME
    shown = fit_middle(name, max(10, width - 26)), style(Token.MUTED, link=view.link(path))
    size = (f"{run.data.files.sources[path].size:>9,} bytes", MUTED)
    head = title_lines([("Log ", TITLE), shown], [size], width)
    for story in stories(run):
        if story.crash is not None:
            step = paragraph(story_words.action(story), width, TEXT)
            ended = [line for _, block in head_lines(story, view, width) for line in block]
            return [*head, *ended, *step, []]
    return head


def died_lines(run: JudgedRun, width: int, height: int) -> Block:
    """The end of the log of a job that died before its first row."""
    head: Block = [[("no row of metrics; the log ends with", MUTED)], []]
    return [*head, *log_lines(run, width)[-max(1, height - 2) :]]


def log_lines(
    run: JudgedRun,
    width: int,
    text: str = "",
    shift: int = 0,
    marked: int | None = None,
) -> Block:
    """The last lines of the console log that was written last, after the filter ``text``, without
    their first ``shift`` characters; the one at the place ``marked`` stands out."""
    if newest_log(run) is None:
        advice = (
            "This run has no console log. One that lies in its directory is found; "
            "name one from elsewhere: rltui watch DIR FILE"
        )
        return paragraph(advice, width, MUTED)
    ending = run.verdict.crash
    cause = ending.line.rstrip("…") if ending else ""
    shown: Block = []

    for at, line in enumerate(last_lines(run)):
        if words_match(line, text):
            is_cause = bool(cause) and bare(line).startswith(cause)
            look = ACCENT_BOLD if at == marked else TEXT
            look = LEVEL_BOLD[Level.BAD] if is_cause else look
            shown.append(fit_line([(line[shift:], look)], width))

    return shown or [[("no line matches the filter" if text else "nothing yet", MUTED)]]
