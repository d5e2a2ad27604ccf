"""Findings as bars below a plot: one name per line, beside its bars and never inside of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rltui.core.level import Level
from rltui.core.text import cell_width, fit
from rltui.present.chart.chart_model import Bar
from rltui.present.chart.plot_cells import place, safe
from rltui.present.chart.span import Span
from rltui.present.kit.glyph import GlyphSet
from rltui.present.kit.line import LEVEL_TOKEN, MUTED, TEXT, Line, Style, plain, style

#: Cells left of a bar in which the beginning of its name says enough.
_ENOUGH = 12

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


def rows_of(group: Group, span: Span, glyphs: GlyphSet) -> int:
    """Lines that a group takes: 2 where its name has no room beside its bars."""
    return 1 if _beside(group, span, glyphs) is not None else 2


def bar_lines(
    groups: Sequence[Group], span: Span, glyphs: GlyphSet, rows: int, *, named: bool
) -> list[Line]:
    """At most ``rows`` lines of the most important groups, in their order.

    A name without room beside its bars gets a line of its own while there are lines, else it is
    cut, or stands for them where too little would be left. Unless ``named`` the names are blank.
    The lowest line with room for it counts the groups that are left out.
    """
    ranked = sorted(groups, key=lambda g: g.rank)[: max(0, rows)]
    spare, tall = rows - len(ranked), set()
    for group in ranked:
        if spare > 0 and rows_of(group, span, glyphs) == 2:
            tall.add(group.title)
            spare -= 1
    lines: list[Line] = []
    for group in (g for g in groups if g in ranked):
        lines += _lines_of(group, span, glyphs, tall=group.title in tall, named=named)
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
    text, room = plain(line).ljust(width), cell_width(note) + 1
    gap = width - room if text.endswith(" " * (room + 1)) else text.find(" " * (room + 1))
    return place(width, [*parts, (gap + 1, note, MUTED)]) if gap >= 0 else None


def _cut(name: str, room: int, glyphs: GlyphSet) -> str:
    """As many whole words of a name as fit, where these say enough; else its beginning."""
    if cell_width(name) <= room:
        return name
    words = fit(name, room, ellipsis="").rpartition(" ")[0]
    if cell_width(words) >= _ENOUGH // 2:
        return words + glyphs.ellipsis
    return fit(name, room, ellipsis=glyphs.ellipsis)


def _lines_of(group: Group, span: Span, glyphs: GlyphSet, *, tall: bool, named: bool) -> list[Line]:
    name = glyphs.text(safe(group.title))
    look = MUTED if all(b.over for b in group.bars) else TEXT
    parts = [_bar(bar, span, glyphs) for bar in group.bars]
    at = _beside(group, span, glyphs)
    if at is not None:
        words = [(at, name, look)] if named else []
        return [place(span.width, [*parts, *words])]
    first, body, bar_look = parts[0]
    if tall:
        begin = max(0, min(first, span.width - cell_width(name)))
        name = fit(name, span.width - begin, ellipsis=glyphs.ellipsis)
        above = place(span.width, [(begin, name, look)] if named else [])
        return [above, place(span.width, parts)]
    if not named:
        return [place(span.width, parts)]
    if first >= _ENOUGH:
        return [place(span.width, [*parts, (0, _cut(name, first - 1, glyphs), look)])]
    begin = max(0, min(first, span.width - cell_width(name) - 2))
    name = fit(name, span.width - begin - 2, ellipsis=glyphs.ellipsis)
    return [place(span.width, [(begin, body[:1], bar_look), (begin + 2, name, look)])]


def _beside(group: Group, span: Span, glyphs: GlyphSet) -> int | None:
    """Where the whole name fits on the line of its bars, None for nowhere."""
    width = cell_width(glyphs.text(safe(group.title)))
    parts = [_bar(bar, span, glyphs) for bar in group.bars]
    if width + 1 <= min(at for at, _, _ in parts):
        return 0
    end = max(at + len(body) for at, body, _ in parts)
    return end + 1 if end + 1 + width <= span.width else None


def _bar(bar: Bar, span: Span, glyphs: GlyphSet) -> _Part:
    look = MUTED if bar.over else style(LEVEL_TOKEN[bar.level])
    begin, right = span.column(bar.since), span.left + span.cells
    until = span.newest if bar.until is None else bar.until
    end = right if until is None else span.column(until) + 1
    end = max(begin + 1, min(end, right))
    body = glyphs.badge(bar.level) + glyphs.bar * (end - begin - 1)
    return begin, glyphs.bar * (end - begin) if bar.since < span.x0 else body, look
