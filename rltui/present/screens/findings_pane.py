"""What is found, on Overview: beside the vital signs, or above them on narrow screens."""

from __future__ import annotations

from rltui.core.level import Level
from rltui.core.text import cell_width, fit, pad
from rltui.health.model import FindingState
from rltui.present.kit import sentences
from rltui.present.kit.line import (
    LEVEL_TOKEN,
    MUTED,
    TEXT,
    Line,
    fit_line,
    line_width,
    style,
)
from rltui.present.kit.prose import paragraph
from rltui.present.screens.diagnosis import check_paragraph, worst_story
from rltui.present.screens.findings import (
    badge_of,
    calm_lines,
    cause_line,
    counts,
    finding_line,
    heading,
    no_verdict,
    span_words,
)
from rltui.present.screens.first_movers import first_mover_sentence
from rltui.present.screens.log import exit_words
from rltui.present.screens.view import View
from rltui.session import RunView


def short_lines(run: RunView, width: int, view: View, limit: int) -> list[Line]:
    """For narrow screens, at most ``limit`` lines: the cause, how it ended, the worst findings,
    and what to check first."""
    if run.report is None:
        return []
    cause = cause_line(run, view, width)
    top = [*([cause] if cause else []), *ending_lines(run, width, view, 1)]
    check = check_paragraph(run, view, width - 1, 1)
    foot: list[Line] = [[(" ", TEXT), *x] for x in check]
    moved = first_mover_sentence(run, view)
    if moved and not cause and limit >= 4:
        foot.insert(0, [("  moved first ", MUTED), (moved, TEXT)])
    room = max(1, limit - len(top) - len(foot))
    lines = [*top, *_firing_lines(run, width, view, room), *foot]
    ellipsis = view.glyphs.ellipsis
    return [fit_line(x, width, ellipsis=ellipsis) for x in lines[:limit]]


def _firing_lines(run: RunView, width: int, view: View, limit: int) -> list[Line]:
    """One line per firing finding: name, since, shortest evidence."""
    firing = run.report.firing() if run.report else ()
    shown = run.report.worst(min(limit, len(firing))) if run.report else ()
    lines: list[Line] = []
    name_room = max((cell_width(f.title) for f in shown), default=0)
    since_room = max((cell_width(span_words(f)) for f in shown), default=0)
    for finding in shown:
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
    """The findings beside the vital signs on Overview, causes first, and what to check."""
    report = run.report
    lines: list[Line] = [heading("Findings", width, view, counts(run))]
    if report is None:
        return [*lines, *ending_lines(run, width, view, 3), [(no_verdict(run), MUTED)]]
    cause = cause_line(run, view, width)
    lines += [cause] if cause else []
    lines += ending_lines(run, width, view, 3 if height >= 10 else 1)
    if not report.findings:
        return [*lines, *calm_lines(run, width, view)]
    check = check_paragraph(run, view, width, 4 if height >= 12 else 2)
    room = height - len(lines) - len(check)
    lines += _listed(run, width, room, view)
    return [*lines, *check] if worst_story(run) else lines


def _listed(run: RunView, width: int, room: int, view: View) -> list[Line]:
    """The findings in ``room`` lines, with their evidence where it fits."""
    if run.report is None:
        return []
    known = run.report.findings
    findings = known if len(known) <= room else run.report.worst(max(0, room - 1))
    hidden = len(known) - len(findings)
    bad = [f for f in findings if f.state is FindingState.FIRING and f.level is Level.BAD]
    spare = room - len(findings) - bool(hidden)
    lines: list[Line] = []
    for finding in findings:
        lines.append(finding_line(finding, width, view))
        wanted = finding in bad or spare >= len(findings) - len(lines)
        if spare > 0 and width >= 44 and wanted:
            over = finding.state is FindingState.RESOLVED
            text = view.glyphs.text(sentences.summary(finding))
            look = MUTED if over else TEXT
            limit = 2 if spare > len(findings) else 1
            ellipsis = view.glyphs.ellipsis
            body = paragraph(text, width, look, indent=2, limit=limit, ellipsis=ellipsis)
            spare -= len(body)
            lines += body
    return [*lines, [(f"  and {hidden} more on Findings", MUTED)]] if hidden else lines
