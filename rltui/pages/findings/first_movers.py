"""The lines of "What moved first"."""

from __future__ import annotations

from rltui.core.text import pad
from rltui.draw.line import (
    ACCENT,
    LEVEL_TOKEN,
    MUTED,
    STRONG,
    TEXT,
    Line,
    column,
    style,
)
from rltui.draw.view import View
from rltui.facts import numbers
from rltui.facts.findings import change_words, moves_of
from rltui.pages.findings.lines import heading
from rltui.session import RunView

#: Below this width there is one word for the change.
_BOTH_VALUES = 58


def first_mover_lines(run: RunView, view: View, width: int, height: int) -> list[Line]:
    """A section with one line per metric, at most ``height`` lines; empty when nothing moved."""
    step, moves = moves_of(run)
    if step is None or not moves or height < 2:
        return []
    glyphs = view.glyphs
    note = f"around {run.step_word} {numbers.step(step)}"
    lines = [heading("What moved first", width, view, note)]
    for rank, move in enumerate(moves[: height - 1], 1):
        title = glyphs.text(run.infos[move.tag].title)
        look = style(LEVEL_TOKEN[run.verdict.level], bold=True) if move.is_setting else TEXT
        line: Line = [(f"{rank} ", ACCENT), column(title, 19, look, ellipsis=glyphs.ellipsis)]
        line.append(column(f"{run.step_word} {numbers.step(move.step)}", 13, MUTED))
        if width < _BOTH_VALUES:
            line.append((glyphs.text(change_words(move)), MUTED))
        else:
            before, after = numbers.value(move.before), numbers.value(move.after)
            line.append((pad(before, 9, right=True) + glyphs.text(" → "), MUTED))
            line.append((pad(after, 9) + " ", look if move.is_setting else STRONG))
        if width >= 69 and move.factor is not None:
            line.append((glyphs.text(numbers.factor(move.factor)), MUTED))
        lines.append(line)

    return lines


def first_mover_sentence(run: RunView, view: View) -> str:
    """ "learning rate × 200 at 30, then KL to old policy × 470"; empty when nothing moved."""
    _, moves = moves_of(run)
    words: list[str] = []
    for move in moves[:2]:
        at = f" at {numbers.step(move.step)}" if not words else ""
        words.append(f"{run.infos[move.tag].title} {change_words(move)}{at}")
    return view.glyphs.text(", then ".join(words))
