"""Findings as bars below a plot: one line for each name, which stands left of its bars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rltui.core.level import Level
from rltui.core.text import cell_width, fit
from rltui.present.chart.chart_model import Bar
from rltui.present.chart.plot_cells import place, safe
from rltui.present.chart.span import Span
from rltui.present.kit.glyph import GlyphSet
from rltui.present.kit.line import LEVEL_TOKEN, MUTED, TEXT, Line, Style, plain, style

#: What the names may take from the plot: a share of the whole width, and cells.
_NAMES_SHARE, _NAMES_MOST = 0.4, 26

_Part = tuple[int, str, Style]


@dataclass(frozen=True, slots=True)
class Group:
    """The bars of one name, by when they began."""

    bars: tuple[Bar, ...]

    @property
    def title(self) -> str:
        """The name."""
        return self.bars[0].title

    @property
    def rank(self) -> tuple[bool, bool, bool, float]:
        """Lower is more important: firing bad, resolved bad, watch; then its own, then older."""
        return min((b.level is not Level.BAD, b.over, not b.own, b.since) for b in self.bars)


def groups_in(bars: Sequence[Bar], span: Span) -> list[Group]:
    """The bars in view by name, in the order in which the names first appear."""
    found: dict[str, list[Bar]] = {}
    for bar in sorted(bars, key=lambda b: b.since):
        if bar.since <= span.x1 and (bar.until is None or bar.until >= span.x0):
            found.setdefault(bar.title, []).append(bar)
    return [Group(tuple(same)) for same in found.values()]


def names_width(bars: Sequence[Bar], span: Span, glyphs: GlyphSet) -> int:
    """Cells left of the plot with which every name fits left of its bars, within reason;
    ``span`` is that of a plot without regard to names."""
    room, needed = span.left + span.cells, 0
    for group in groups_in(bars, span):
        since = max(group.bars[0].since, span.x0)
        share = (since - span.x0) / (span.x1 - span.x0) if span.x1 > span.x0 else 0.0
        if share < 1:
            name = cell_width(_name(group, glyphs)) + 1
            needed = max(needed, math.ceil((name - share * room) / (1 - share)))
    return min(needed, _NAMES_MOST, int(span.width * _NAMES_SHARE))


def bar_lines(
    groups: Sequence[Group], span: Span, glyphs: GlyphSet, rows: int, *, named: bool
) -> list[Line]:
    """At most ``rows`` lines of the most important groups, in their order.

    A name without room left of its bars ends in an ellipsis; unless ``named`` there are none. The
    lowest line with room for it counts the groups that are left out.
    """
    ranked = sorted(groups, key=lambda g: g.rank)[: max(0, rows)]
    lines = [_line_of(g, span, glyphs, named=named) for g in groups if g in ranked]
    left = len(groups) - len(ranked)
    for at in reversed(range(len(lines) if named and left else 0)):
        noted = _noted(lines[at], f"+{left} more", span.width)
        if noted is not None:
            lines[at] = noted
            break
    return lines


def _noted(line: Line, note: str, width: int) -> Line | None:
    """The line with a note at its right end, else in its first gap; None without a gap."""
    parts: list[_Part] = []
    at = 0
    for text, look in line:
        if text.strip():
            parts.append((at, text.rstrip(), look))
        at += cell_width(text)
    text, room = plain(line).ljust(width), cell_width(note) + 2
    gap = width - room if text.endswith(" " * (room + 1)) else text.find(" " * (room + 1))
    return place(width, [*parts, (gap + 2, note, MUTED)]) if gap >= 0 else None


def _line_of(group: Group, span: Span, glyphs: GlyphSet, *, named: bool) -> Line:
    parts = [_bar(bar, span, glyphs) for bar in group.bars]
    if named:
        look = MUTED if all(b.over for b in group.bars) else TEXT
        room = min(at for at, _, _ in parts) - 1
        parts.append((0, fit(_name(group, glyphs), room, ellipsis=glyphs.ellipsis), look))
    return place(span.width, parts)


def _name(group: Group, glyphs: GlyphSet) -> str:
    return glyphs.text(safe(group.title))


def _bar(bar: Bar, span: Span, glyphs: GlyphSet) -> _Part:
    look = MUTED if bar.over else style(LEVEL_TOKEN[bar.level])
    begin, right = span.column(bar.since), span.left + span.cells
    until = span.newest if bar.until is None else bar.until
    end = right if until is None else span.column(until) + 1
    end = max(begin + 1, min(end, right))
    body = glyphs.badge(bar.level) + glyphs.bar * (end - begin - 1)
    return begin, glyphs.bar * (end - begin) if bar.since < span.x0 else body, look
