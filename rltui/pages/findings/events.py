"""What happened to a run, in order of steps: settings that jumped, findings, how it ended."""

from __future__ import annotations

from collections.abc import Iterator

from rltui.core.level import Level
from rltui.draw.line import LEVEL_TOKEN, MUTED, TEXT, Line, column, style
from rltui.draw.prose import paragraph
from rltui.draw.view import View
from rltui.facts import numbers
from rltui.facts.findings import FindingRow, cause_of, change_words, finding_rows
from rltui.facts.runs import exit_words
from rltui.pages.findings.lines import heading, title_words
from rltui.session import RunView

#: Cells of the step.
_STEP = 10


def event_lines(run: RunView, view: View, width: int, height: int) -> list[Line]:
    """A section with a line or two per step at which something happened, at most ``height``
    lines; empty when nothing did, or without room for most of it."""
    by_step: dict[int, list[tuple[str, Level]]] = {}
    for step, text, level in _events(run):
        by_step.setdefault(step, []).append((text, level))
    if not by_step or height < 3:
        return []
    lines = [heading("What happened", width, view, f"by {run.step_word}")]
    for step in sorted(by_step):
        found = by_step[step]
        level = max(level for _, level in found)
        look = style(LEVEL_TOKEN[level], bold=level >= Level.WATCH) if level else MUTED
        mark: Line = [(f"{view.glyphs.badge(level) if level else view.glyphs.over} ", look)]
        words = view.glyphs.text(", ".join(text for text, _ in found))
        body = paragraph(words, width - _STEP - 2, TEXT, limit=2, ellipsis=view.glyphs.ellipsis)
        lines.append([*mark, column(numbers.step(step), _STEP, MUTED), *body[0]])
        lines += [[(" " * (_STEP + 2), TEXT), *line] for line in body[1:]]
    return lines if len(lines) <= height else []


def _events(run: RunView) -> Iterator[tuple[int, str, Level]]:
    """(step, words, level; unknown for what is resolved)."""
    cause, elsewhere = cause_of(run), run.points.off_axis
    if cause is not None and run.report is not None:
        level = run.report.diagnosed.diagnoses[0].level
        yield cause.step, f"{run.infos[cause.tag].title} {change_words(cause)}", level
    for row in finding_rows(run):
        if row.finding.since_step is not None and row.finding.tag not in elsewhere:
            level = row.finding.level if row.is_firing else Level.UNKNOWN
            yield row.finding.since_step, _words(row), level
    crash, last = run.verdict.crash, run.data.last_step
    if crash is not None and last is not None:
        yield last, exit_words(crash), run.verdict.exit_level


def _words(row: FindingRow) -> str:
    """ "KL blow-up (resolved at 33)"."""
    until = row.finding.until_step
    return title_words(row) + ("" if until is None else f" (resolved at {numbers.step(until)})")
