"""Running text as lines: wrapped words, facts in a row, notes about files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rltui.core.batch import Note
from rltui.core.level import Level
from rltui.core.text import cell_width, clean, fit, fit_middle, pad
from rltui.draw.glyph import GlyphSet
from rltui.draw.line import (
    MUTED,
    STRONG,
    TEXT,
    Line,
    Span,
    Style,
    Token,
    fit_line,
    line_width,
    style,
)
from rltui.facts import numbers

#: Where an imperative sentence may end early: "Lower the rate, use fewer epochs; then ...".
_CLAUSE_END = re.compile(r"[.?,;](?= )")
#: The rest of a sentence that asks.
_QUESTION = re.compile(r"[^.;]*\?")
#: Notes that a screen shows; the others are counted.
_MOST = 5


def wrap(text: str, width: int, limit: int | None = None, *, ellipsis: str = "…") -> list[str]:
    """``text`` in lines of at most ``width`` cells, at most ``limit`` lines (then an ellipsis)."""
    if width < 1 or (limit is not None and limit < 1):
        return []
    lines: list[str] = []
    current = ""
    for word in text.split():
        candidate = f"{current} {word}" if current else word
        if cell_width(candidate) <= width:
            current = candidate
            continue
        if current:
            lines.append(current)
        current = fit(word, width, ellipsis=ellipsis)
    if current:
        lines.append(current)
    if limit is not None and len(lines) > limit:
        kept = lines[:limit]
        kept[-1] = fit(kept[-1] + " " + ellipsis, width, ellipsis=ellipsis)
        if not kept[-1].endswith(ellipsis):
            kept[-1] = fit(kept[-1], width - 1, ellipsis="") + ellipsis
        return kept

    return lines


def hard_wrap(text: str, width: int, limit: int | None = None, *, ellipsis: str = "…") -> list[str]:
    """``text`` with its own line ends and blanks in lines of at most ``width`` cells: broken at a
    blank in the second half of a line, else anywhere; at most ``limit`` lines."""
    lines: list[str] = []
    for line in text.split("\n") if width > 0 else ():
        while cell_width(line) > width and (limit is None or len(lines) <= limit):
            size = len(fit(line, width, ellipsis="")) or 1
            blank = line.rfind(" ", size // 2, size + 1)
            end = blank if blank > 0 else size
            lines.append(line[:end])
            line = line[end:].removeprefix(" ")
        lines.append(line)
        if limit is not None and len(lines) > limit:
            last = fit(lines[limit - 1], width - cell_width(ellipsis), ellipsis="")
            return [*lines[: limit - 1], last + ellipsis]
    return lines


def whole_clauses(text: str, width: int, limit: int = 1, *, ellipsis: str = "…") -> list[str]:
    """``text`` in at most ``limit`` lines: as many whole clauses as fit and an ellipsis for the
    rest, else cut. A question and what stands in brackets are not parted."""
    lines = wrap(text, width)
    if len(lines) <= limit:
        return lines
    kept: list[str] = []
    for end in _CLAUSE_END.finditer(text):
        head = text[: end.start()] + ("?" if end[0] == "?" else "")
        parted = end[0] in ",;" and _QUESTION.match(text, end.end())
        if head.count("(") == head.count(")") and not parted:
            lines = wrap(f"{head} {ellipsis}", width)
            kept = lines if len(lines) <= limit else kept
    return kept or wrap(text, width, limit, ellipsis=ellipsis)


def paragraph(
    text: str,
    width: int,
    look: Style = TEXT,
    *,
    indent: int = 0,
    limit: int | None = None,
    ellipsis: str = "…",
) -> list[Line]:
    """Wrapped text as lines."""
    margin: Line = [(" " * indent, TEXT)] if indent else []
    return [
        [*margin, (line, look)] for line in wrap(text, width - indent, limit, ellipsis=ellipsis)
    ]


def fact_table(
    facts: Iterable[tuple[str, str]], width: int, names: int, look: Style = TEXT
) -> list[Line]:
    """(name, text) pairs below each other, the texts wrapped beside ``names`` cells of names;
    without those that have no text."""
    lines: list[Line] = []
    for name, text in facts:
        for at, line in enumerate(paragraph(text, width - names, look)):
            lines.append([(pad("" if at else name, names), MUTED), *line])
    return lines


def fact_line(facts: Iterable[tuple[str, str]], width: int) -> Line:
    """(name, value) pairs in a row of at most ``width`` cells, the most important first: the last
    ones are left out where they do not fit."""
    pairs: list[Line] = [[(f"{name} ", MUTED), (value, STRONG)] for name, value in facts]
    while pairs and sum(map(line_width, pairs)) + 2 * (len(pairs) - 1) > width:
        pairs.pop()
    spare = width - sum(map(line_width, pairs))
    gap = " " * min(3, spare // max(1, len(pairs) - 1))
    return [span for at, pair in enumerate(pairs) for span in ([(gap, TEXT)] if at else []) + pair]


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
