"""Running text as lines: wrapped words, and facts in a row."""

from __future__ import annotations

from collections.abc import Iterable

from rltui.core.text import cell_width, fit
from rltui.present.kit.line import MUTED, STRONG, TEXT, Line, Style, line_width


def wrap(text: str, width: int, limit: int | None = None, *, ellipsis: str = "…") -> list[str]:
    """``text`` in lines of at most ``width`` cells, at most ``limit`` lines (then an ellipsis)."""
    if width < 1:
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


def fact_line(facts: Iterable[tuple[str, str]], width: int, *, ellipsis: str = "…") -> Line:
    """(name, value) pairs in a row of at most ``width`` cells; those that do not fit are left
    out whole, and an ellipsis says so."""
    line: Line = []
    pairs = [[(f"{name} ", MUTED), (value, STRONG)] for name, value in facts]
    for at, pair in enumerate(pairs):
        gap: Line = [("   ", TEXT)] if line else []
        more = cell_width(ellipsis) + 3 if at < len(pairs) - 1 else 0
        if line_width([*line, *gap, *pair]) + more > width:
            rest = width - line_width(line) - cell_width(ellipsis)
            return [*line, (" " * min(3, max(0, rest)) * bool(line) + ellipsis, MUTED)]
        line += [*gap, *pair]
    return line
