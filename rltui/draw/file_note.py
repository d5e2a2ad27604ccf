"""What is wrong with a file, in words: in full, with the place."""

from __future__ import annotations

from collections.abc import Sequence

from rltui.core.batch import Note
from rltui.core.level import Level
from rltui.core.text import clean, fit_middle
from rltui.draw.glyph import GlyphSet
from rltui.draw.line import MUTED, Line, Span, Token, fit_line, style
from rltui.draw.prose import hard_wrap
from rltui.facts import numbers

#: Notes that a screen shows; the others are counted.
_MOST = 5


def note_text(note: Note, path: str) -> str:
    """What is wrong with a file, and where in it."""
    at = "" if note.offset is None else f" at byte {numbers.exact(note.offset)}"
    return f"{clean(path)}{at}: {clean(note.message)}"


def troubles_in(notes: Sequence[Note]) -> list[Note]:
    """The notes about what could not be read as it is."""
    return [n for n in notes if n.level >= Level.WATCH]


def trouble_line(
    notes: Sequence[Note], width: int, glyphs: GlyphSet, *, whole: bool = False
) -> Line:
    """The newest of these notes in one line, and the number of the others. ``whole``: with the
    path, not just its name."""
    more, ellipsis = f"  and {len(notes) - 1} more" if len(notes) > 1 else "", glyphs.ellipsis
    path = notes[-1].path
    called = str(path) if whole else path.name or str(path)
    name = fit_middle(clean(called), max(12, width // 3), ellipsis=ellipsis)
    badge = (f"{glyphs.badge(Level.WATCH)} ", style(Token.WATCH, bold=True))
    text = (glyphs.text(f"{name}: {clean(notes[-1].message)}"), style(Token.WATCH))
    return [*fit_line([badge, text], width - len(more), ellipsis=ellipsis), (more, MUTED)]


def trouble_count(notes: Sequence[Note], glyphs: GlyphSet, *, short: bool = False) -> Span:
    """The number of files with such trouble, for the end of a line about something else;
    ``short`` is the badge alone."""
    files, badge = len({n.path for n in notes}), glyphs.badge(Level.WATCH)
    text = badge if short else f"{badge} trouble reading {files} file{'s' * (files > 1)}"
    return text, style(Token.WATCH)


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
