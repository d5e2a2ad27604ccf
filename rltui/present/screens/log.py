"""The end of a run's console log, and the words for how a run ended."""

from __future__ import annotations

from pathlib import Path

from rltui.core.stdin import PIPE, PIPE_NAME
from rltui.core.text import clean, fit_middle
from rltui.health.crash import ExitKind, ExitStatus, bare
from rltui.present.kit import numbers
from rltui.present.kit.line import (
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
from rltui.present.kit.prose import paragraph
from rltui.present.screens.view import View
from rltui.session import RunView


def ending_words(ending: ExitStatus) -> str:
    """``crashed: CUDA out of memory``, ``cancelled: time limit of Slurm``."""
    word = "cancelled" if ending.kind is ExitKind.CANCELLED else ending.kind.value
    return f"{word}: {ending.reason}"


def log_head(run: RunView, view: View, width: int) -> list[Line]:
    """Above the log: which file it is, and how the run ended."""
    path = _newest_log(run)
    if path is None:
        return [[("Log ", TITLE)], [(view.glyphs.rule * width, RULE)]]
    head: Line = [("Log ", TITLE)]
    room = max(10, width - 26)
    name = clean(str(path)) if path != PIPE else PIPE_NAME
    head.append((fit_middle(name, room, ellipsis=view.glyphs.ellipsis), MUTED))
    size = run.data.files.sources[path].size
    head = [*fit_line(head, max(10, width - 20)), (f"{size:>9,} bytes", MUTED)]
    return [head, [(view.glyphs.rule * width, RULE)], *_ending_lines(run, width)]


def log_lines(run: RunView, view: View, width: int) -> list[Line]:
    """The last lines of the console log that was written last."""
    path = _newest_log(run)
    if path is None:
        advice = (
            "This run has no console log. One that lies in its directory is found; "
            "name one from elsewhere: rltui watch DIR FILE"
        )
        return paragraph(advice, width, MUTED)
    return _log_lines(run, list(run.data.files.tails[path].lines), view, width)


def _newest_log(run: RunView) -> Path | None:
    data = run.data.files
    return max(data.tails, key=lambda p: data.sources[p].modified, default=None)


def _ending_lines(run: RunView, width: int) -> list[Line]:
    ending = run.verdict.crash
    if ending is None:
        return []
    look = style(LEVEL_TOKEN[run.verdict.exit_level], bold=True)
    lines = paragraph(ending_words(ending), width, look)
    if ending.advice:
        lines += paragraph(ending.advice, width, TEXT)
    return [*lines, []]


def _log_lines(run: RunView, lines: list[str], view: View, width: int) -> list[Line]:
    ending = run.verdict.crash
    telling = ending.line if ending else ""
    shown: list[Line] = []
    for text in lines:
        told = bool(telling) and bare(text).startswith(telling.rstrip("…"))
        look = style(Token.BAD, bold=True) if told else TEXT
        line: Line = [(view.glyphs.text(text), look)]
        shown.append(fit_line(line, width, ellipsis=view.glyphs.ellipsis))
    return shown or [[("nothing yet", MUTED)]]


def crashed_line(run: RunView, view: View) -> Line:
    """Reason and telling line of a run that crashed, for lists; empty when it did not."""
    ending = run.verdict.crash
    if ending is None:
        return []
    line: Line = [(ending_words(ending), style(LEVEL_TOKEN[run.verdict.exit_level], bold=True))]
    step = run.progress.last_step if run.progress else None
    line.append((f"  after {numbers.step(step)}", MUTED))
    if ending.line:
        line.append((f"  {view.glyphs.text(ending.line)}", STRONG))
    return line
