"""Sentences on a comparison: whether groups differ, and what makes runs hard to compare."""

from __future__ import annotations

from rltui.draw.entries import indented
from rltui.draw.line import MUTED, Line
from rltui.draw.prose import paragraph
from rltui.draw.view import View
from rltui.facts.comparison import Column, Comparison, Row, ends_words, group_words, settings_words

#: Lines of the sentences on groups, and the width from which two suffice.
_ON_GROUPS, _WIDE = 3, 100


def count_of_lines(comparison: Comparison, width: int) -> int:
    """Lines that the sentences take."""
    if comparison.grouping is not None:
        return _ON_GROUPS - (width >= _WIDE)
    return 1 if comparison.sweep.settings or ends_words(comparison) else 0


def lines_of_words(
    comparison: Comparison, metric: Column, here: Row | None, view: View, width: int, height: int
) -> list[Line]:
    """All sentences in at most ``height`` lines of ``width`` cells."""
    found = (
        group_words(comparison, comparison.ordered("metric", metric), metric, here),
        settings_words(comparison, here),
        ends_words(comparison),
    )
    text = view.glyphs.text("; ".join(x for x in found if x))
    margin = 2 if width >= 110 else 1
    lines = paragraph(text, width - margin - 1, MUTED, limit=height) if text else []
    return indented(lines, margin)
