"""What is wrong with a file, in words: in full, with the place."""

from __future__ import annotations

from collections.abc import Sequence

from rltui.core.batch import Note
from rltui.core.text import clean
from rltui.present.kit import numbers
from rltui.present.kit.line import MUTED, Line, Token, style
from rltui.present.kit.prose import hard_wrap

#: Notes that a screen shows; the others are counted.
_MOST = 5


def note_text(note: Note, path: str) -> str:
    """What is wrong with a file, and where in it."""
    at = "" if note.offset is None else f" at byte {numbers.exact(note.offset)}"
    return f"{clean(path)}{at}: {note.message}"


def note_lines(notes: Sequence[Note], width: int) -> list[Line]:
    """The first notes in full, wrapped at ``width`` cells; the number of the others."""
    lines: list[Line] = []
    for note in notes[:_MOST]:
        text = hard_wrap(note_text(note, str(note.path)), max(1, width - 4))
        marks = ["  ! ", *["    "] * len(text)]
        lines += [
            [(mark, style(Token.WATCH)), (part, MUTED)]
            for mark, part in zip(marks, text, strict=False)
        ]
    if len(notes) > _MOST:
        lines.append([(f"    and {len(notes) - _MOST} more", MUTED)])
    return lines
