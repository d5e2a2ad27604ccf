"""Findings: what is wrong, what was wrong, what could not be judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from rltui.core.level import Level
from rltui.core.text import cell_width, fit, pad
from rltui.health.model import Finding, FindingState, Skipped
from rltui.present.kit import numbers, sentences
from rltui.present.kit.line import (
    LEVEL_TOKEN,
    MUTED,
    RULE,
    STRONG,
    TEXT,
    TITLE,
    Line,
    Token,
    column,
    fit_line,
    line_width,
    style,
)
from rltui.present.kit.prose import fact_table, paragraph
from rltui.present.screens.entries import Entry, fixed, indented, with_margin
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


#: What the cursor of the list stands on.
ItemId = FindingId | SkippedId


def finding_id(finding: Finding) -> FindingId:
    """The id of a finding."""
    return FindingId(finding.rule, finding.tag, finding.since_step)


def heading(title: str, width: int, view: View, note: str = "") -> Line:
    """A bold title, a rule, and a muted note at the right end."""
    left: Line = [(f"{title} ", TITLE)]
    right: Line = [(f" {note}", MUTED)] if note else []
    room = width - line_width(left) - line_width(right)
    if room < 0:
        return fit_line([*left, *right], width, ellipsis=view.glyphs.ellipsis)
    return [*left, (view.glyphs.rule * room, RULE), *right]


def counts(run: RunView) -> str:
    """ "3 bad  2 watch  1 over", or "none"."""
    if run.report is None:
        return "none" if run.verdict.crash is not None else "reading"
    firing = run.report.firing()
    parts = [
        (sum(f.level is Level.BAD for f in firing), "bad"),
        (sum(f.level is Level.WATCH for f in firing), "watch"),
        (len(run.report.resolved()), "over"),
    ]
    return "  ".join(f"{n} {word}" for n, word in parts if n) or "none"


def finding_look(finding: Finding) -> tuple[str, Token, bool]:
    """(kind of badge: level or over, colour, bold)."""
    if finding.state is FindingState.RESOLVED:
        return "over", Token.MUTED, False
    return "level", LEVEL_TOKEN[finding.level], True


def badge_of(finding: Finding, view: View) -> tuple[str, Token, bool]:
    """Glyph, colour and weight of a finding's badge."""
    kind, token, bold = finding_look(finding)
    glyph = view.glyphs.over if kind == "over" else view.glyphs.badge(finding.level)
    return glyph, token, bold


def span_words(finding: Finding, *, now: bool = False) -> str:
    """ "since 31", "30 to 31, over"; with ``now``: "31 to now"."""
    since = numbers.step(finding.since_step)
    if finding.state is FindingState.RESOLVED:
        tail = "" if now else ", over"
        return f"{since} to {numbers.step(finding.until_step)}{tail}"
    return f"{since} to now" if now else f"since {since}"


def finding_line(finding: Finding, width: int, view: View, *, now: bool = False) -> Line:
    """One line: badge, title, since when at the right end."""
    glyph, token, bold = badge_of(finding, view)
    right = span_words(finding, now=now)
    room = width - cell_width(right) - 3
    title = pad(view.glyphs.text(finding.title), room, ellipsis=view.glyphs.ellipsis)
    look = style(token, bold=bold)
    return [(f"{glyph} ", look), (title, look), (f" {right}", MUTED)]


def short_lines(run: RunView, width: int, view: View, limit: int) -> list[Line]:
    """For narrow screens: one line per firing finding, name, since, shortest evidence."""
    report = run.report
    if report is None:
        return []
    firing = report.firing()
    lines: list[Line] = []
    name_room = max((cell_width(f.title) for f in firing[:limit]), default=0)
    since_room = max((cell_width(span_words(f)) for f in firing[:limit]), default=0)
    for finding in firing[:limit]:
        glyph, token, bold = badge_of(finding, view)
        look = style(token, bold=bold)
        line: Line = [(f"{glyph} ", look), (pad(finding.title, name_room) + " ", look)]
        line.append((pad(span_words(finding), since_room) + "  ", MUTED))
        room = width - line_width(line)
        text = fit(view.glyphs.text(sentences.short(finding)), room, ellipsis=view.glyphs.ellipsis)
        lines.append([*line, (text, TEXT)])
    if len(firing) > limit and lines:
        more = f"  +{len(firing) - limit}"
        room = width - cell_width(more)
        lines[-1] = [*fit_line(lines[-1], room, ellipsis=view.glyphs.ellipsis), (more, MUTED)]
    return lines


def _no_verdict(run: RunView) -> str:
    if run.verdict.crash is not None:
        return "died before its first row: no verdict"
    return "no verdict before the run has been read"


def findings_pane(run: RunView, width: int, height: int, view: View) -> list[Line]:
    """The findings beside the vital signs on Overview."""
    report = run.report
    lines: list[Line] = [heading("Findings", width, view, counts(run))]
    if report is None:
        return [*lines, [(_no_verdict(run), MUTED)]]
    if not report.findings:
        return [*lines, *calm_lines(run, width, view)]
    roomy = height >= 2 * len(report.findings) + 1 and width >= 44
    spare = height - 2 * len(report.findings) - 1
    for finding in report.findings:
        lines.append(finding_line(finding, width, view))
        if roomy:
            over = finding.state is FindingState.RESOLVED
            text = view.glyphs.text(sentences.summary(finding))
            look = MUTED if over else TEXT
            limit = 2 if spare > 0 else 1
            sentence = paragraph(
                text, width, look, indent=2, limit=limit, ellipsis=view.glyphs.ellipsis
            )
            spare -= len(sentence) - 1
            lines += sentence
    if len(lines) > height:
        hidden = len(lines) - height + 1
        lines = [*lines[: height - 1], [(f"  and {hidden} more on Findings", MUTED)]]
    return lines


def calm_lines(run: RunView, width: int, view: View) -> list[Line]:
    """Nothing is wrong: what was judged, and what could not be."""
    report = run.report
    if report is None:
        return []
    glyphs = view.glyphs
    if not report.judged:
        lines: list[Line] = [[(f"{glyphs.unknown} ", MUTED), ("no rule can judge this run", TEXT)]]
    else:
        lines = [
            [(f"{glyphs.ok} ", style(Token.OK)), ("nothing to report", TEXT)],
            _fact("judged", _judged(run), width, view),
        ]
    if report.skipped:
        names = ", ".join(s.title for s in report.skipped)
        if cell_width(names) > width - 14:
            names = f"{len(report.skipped)} rules, listed on Findings"
        lines.append(_fact("not judged", names, width, view))
    return lines


def _judged(run: RunView) -> str:
    report = run.report
    count = len(report.judged) if report else 0
    rules = "rule" if count == 1 else "rules"
    first, last = run.data.first_step, run.data.last_step
    steps = (
        "" if first is None else f", {run.step_word}s {numbers.step(first)} to {numbers.step(last)}"
    )
    return f"{count} {rules}{steps}"


def _fact(name: str, text: str, width: int, view: View) -> Line:
    words = fit(view.glyphs.text(text), width - 14, ellipsis=view.glyphs.ellipsis)
    return [("  ", TEXT), (pad(name, 12), MUTED), (words, TEXT)]


def advice_lines(finding: Finding, view: View, width: int) -> list[Line]:
    """Evidence and what to look at first."""
    evidence = finding.evidence
    facts = [("since", _since_words(finding))]
    if evidence.value is not None:
        known = {word: evidence.facts.get(word) for word in ("watch", "bad")}
        limits = [f"{k} {numbers.value(x)}" for k, x in known.items() if isinstance(x, float)]
        facts.append(("evidence", f"{evidence.statistic} {numbers.value(evidence.value)}"))
        facts.append(("limits", ", ".join(limits)))
    facts.append(("steps", _steps_words(finding)))
    facts.append(("tag", finding.tag or ""))
    if finding.advice:
        facts.append(("check", finding.advice))
    if finding.error:
        facts.append(("rule broke", finding.error))
    return fact_table([(name, view.glyphs.text(text)) for name, text in facts], width, 10)


def _since_words(finding: Finding) -> str:
    if finding.since_step is None:
        return ""
    text = f"step {numbers.step(finding.since_step)}"
    if finding.state is FindingState.RESOLVED:
        return f"{text}, over at {numbers.step(finding.until_step)}"
    return f"{text}, and still so"


def _steps_words(finding: Finding) -> str:
    evidence = finding.evidence
    return f"{numbers.step(evidence.step_first)} to {numbers.step(evidence.step_last)}"


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


def finding_entries(run: RunView, view: View, width: int, margin: int) -> list[Entry[ItemId]]:
    """The list: what fires, what is over, and what could not be judged."""
    report = run.report
    if report is None:
        return [fixed([(f"  {_no_verdict(run)}", MUTED)])]
    entries: list[Entry[ItemId]] = []
    for title, group in (("Firing", report.firing()), ("Over", report.resolved())):
        if not group and title == "Over":
            continue
        note = counts(run).replace("  ", " ") if title == "Firing" else str(len(group))
        head = heading(title, width, view, note if group else "none")
        entries += [fixed([])] if entries else []
        entries.append(fixed(*indented([head], margin)))
        entries += [_entry(f, width, margin, view) for f in group]
        if not group:
            entries.append(fixed(*indented(calm_lines(run, width, view)[:2], margin)))
    if report.skipped:
        head = heading("Not judged", width, view, str(len(report.skipped)))
        entries += [fixed([]), fixed(*indented([head], margin))]
        entries += [_skipped_entry(run, s, width, margin, view) for s in report.skipped]
    return entries


def _entry(finding: Finding, width: int, margin: int, view: View) -> Entry[ItemId]:
    def draw(cursor: bool) -> list[Line]:
        line = finding_line(finding, width, view, now=True)
        return [with_margin(line, width, margin, view, cursor=cursor)]

    return Entry(finding_id(finding), draw)


def _skipped_entry(
    run: RunView, skipped: Skipped, width: int, margin: int, view: View
) -> Entry[ItemId]:
    def draw(cursor: bool) -> list[Line]:
        line = _skipped_line(run, skipped, width, view)
        return [with_margin(line, width, margin, view, cursor=cursor)]

    return Entry(SkippedId(skipped.rule), draw)


def find(run: RunView, wanted: ItemId | None) -> Finding | None:
    """The finding of that id."""
    findings = run.report.findings if run.report else ()
    return next((f for f in findings if finding_id(f) == wanted), None)


def find_skipped(run: RunView, wanted: ItemId | None) -> Skipped | None:
    """The rule of that id that could not judge."""
    skipped = run.report.skipped if run.report else ()
    return next((s for s in skipped if SkippedId(s.rule) == wanted), None)


def finding_block(finding: Finding, view: View, width: int, limit: int) -> list[Line]:
    """A finding among the facts of a metric: since when, and what was found in ``limit`` lines."""
    text, ellipsis = view.glyphs.text(sentences.summary(finding)), view.glyphs.ellipsis
    evidence = paragraph(text, width, TEXT, indent=2, limit=limit, ellipsis=ellipsis)
    return [finding_line(finding, width, view), *evidence]


def _skipped_line(run: RunView, skipped: Skipped, width: int, view: View) -> Line:
    ellipsis = view.glyphs.ellipsis
    name = column(view.glyphs.text(skipped.title), 23, MUTED, ellipsis=ellipsis)
    text = pad(view.glyphs.text(_why(run, skipped)), width - 25, right=True, ellipsis=ellipsis)
    return [(f"{view.glyphs.unknown} ", MUTED), name, (text, MUTED)]


def _why(run: RunView, skipped: Skipped) -> str:
    names = dict.fromkeys(_title_of(run, m) for m in skipped.missing)
    return sentences.why_skipped(skipped, ", ".join(names))


def skipped_detail(run: RunView, skipped: Skipped, view: View, width: int) -> list[Line]:
    """A rule that could not judge: its title, and why in full."""
    title = view.glyphs.text(skipped.title)
    head = heading(title, width, view, skipped.rule)
    why = paragraph(view.glyphs.text(f"not judged: {_why(run, skipped)}"), width)
    return [head, *why]


def finding_detail(
    run: RunView, finding: Finding | None, view: View, width: int, height: int
) -> list[Line]:
    """The finding at the cursor: sentence, evidence, advice, chart."""
    if finding is None:
        return []
    glyph, token, bold = badge_of(finding, view)
    title: Line = [(f"{glyph} ", style(token, bold=bold)), (finding.title, style(token, bold=bold))]
    room = width - line_width(title) - cell_width(finding.rule) - 2
    head: Line = [*title, (" ", TEXT), (view.glyphs.rule * max(0, room), RULE)]
    head.append((f" {finding.rule}", MUTED))
    lines = [head, *paragraph(view.glyphs.text(sentences.summary(finding)), width, STRONG), []]
    lines += advice_lines(finding, view, width)
    left = height - len(lines) - 2
    if finding.tag in run.infos and left >= 8:
        info = run.infos[finding.tag]
        note = "   ".join(x for x in (info.unit, info.tag) if x)
        lines += [[], heading(view.glyphs.text(info.title), width, view, note)]
        lines += chart_lines(run, finding.tag, view, width, min(left, 24))
    return lines[:height]


def _title_of(run: RunView, key: str) -> str:
    """Title of a metric; its key when the catalogue does not have it."""
    metric = run.catalogue.metrics.get(key)
    return key if metric is None else metric.title
