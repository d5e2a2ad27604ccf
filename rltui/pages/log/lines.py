"""The end of a run's console log, and how the run ended."""

from __future__ import annotations

from rltui.core.address import PIPE, PIPE_NAME
from rltui.core.text import clean, fit_middle, words_match
from rltui.draw.line import (
    LEVEL_TOKEN,
    MUTED,
    RULE,
    STRONG,
    TEXT,
    TITLE,
    Line,
    Token,
    fit_line,
    style,
)
from rltui.draw.prose import paragraph
from rltui.draw.view import View
from rltui.facts import numbers
from rltui.facts.runs import exit_words, last_lines, newest_log
from rltui.session import RunView
from rltui.tui import later


def log_head(run: RunView, view: View, width: int) -> list[Line]:
    """Above the log: which file it is, and how the run ended."""
    path, head, rule = newest_log(run), [("Log ", TITLE)], [(view.glyphs.rule * width, RULE)]
    if path is None:
        return [head, rule]
    name = clean(str(path)) if path != PIPE else PIPE_NAME
    shown = fit_middle(name, max(10, width - 26))
    size = (f"{run.data.files.sources[path].size:>9,} bytes", MUTED)
    head = [*fit_line([*head, (shown, MUTED)], max(10, width - 20)), size]
    return [head, rule, *_ending_lines(run, width)]


def died_lines(run: RunView, view: View, width: int, height: int) -> list[Line]:
    """Why a job died before its first row, and the end of its log."""
    head = [*_ending_lines(run, width), [("no row of metrics; the log ends with", MUTED)], []]
    return [*head, *log_lines(run, view, width)[-max(1, height - len(head)) :]]


def log_lines(run: RunView, view: View, width: int, text: str = "", shift: int = 0) -> list[Line]:
    """The last lines of the console log that was written last, after the filter ``text``, without
    their first ``shift`` characters."""
    if newest_log(run) is None:
        advice = (
            "This run has no console log. One that lies in its directory is found; "
            "name one from elsewhere: rltui watch DIR FILE"
        )
        return paragraph(advice, width, MUTED)
    ending, glyphs = run.verdict.crash, view.glyphs
    cause = ending.line.rstrip("…") if ending else ""
    shown: list[Line] = []

    for line in last_lines(run):
        if words_match(line, text):
            is_cause = bool(cause) and later.bare(line).startswith(cause)
            look = style(Token.BAD, bold=True) if is_cause else TEXT
            shown.append(fit_line([(glyphs.text(line)[shift:], look)], width))

    return shown or [[("no line matches the filter" if text else "nothing yet", MUTED)]]


def _ending_lines(run: RunView, width: int) -> list[Line]:
    ending = run.verdict.crash
    if ending is None:
        return []
    look = style(LEVEL_TOKEN[run.verdict.exit_level], bold=True)
    advice = paragraph(ending.advice, width, TEXT) if ending.advice else []
    return [*paragraph(exit_words(ending), width, look), *advice, []]


def crashed_line(run: RunView, view: View) -> Line:
    """Reason and last line of a run that crashed, for lists; empty when it did not."""
    ending = run.verdict.crash
    if ending is None:
        return []
    step = run.progress.last_step if run.progress else None
    when = "before the first row" if step is None else f"after {numbers.step(step)}"
    look = style(LEVEL_TOKEN[run.verdict.exit_level], bold=True)
    said: Line = [(f"  {view.glyphs.text(ending.line)}", STRONG)] if ending.line else []
    return [(exit_words(ending), look), (f"  {when}", MUTED), *said]
