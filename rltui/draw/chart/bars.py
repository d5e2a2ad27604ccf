"""Findings as bars below a plot: one line for each name, which stands left of its bars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rltui.core.level import Level
from rltui.core.text import cell_width, fit
from rltui.draw.chart.chart_model import Bar, Chart
from rltui.draw.chart.plot_cells import place, safe
from rltui.draw.chart.span import Span
from rltui.draw.glyph import GlyphSet
from rltui.draw.line import LEVEL_TOKEN, MUTED, TEXT, Line, Style, plain, style

#: What the names may take from the plot: a share of the whole width, and cells.
_NAMES_SHARE, _NAMES_MOST = 0.2, 24

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


def label_width(
    chart: Chart,
    whole: tuple[float, float],
    width: int,
    glyphs: GlyphSet,
    *,
    least: int,
    margin: int = 0,
) -> int:
    """Cells of the y labels of a plot in ``width`` cells, of which the right margin takes
    ``margin``: ``least``, and within reason as many as the names of the bars need beside them.

    The width depends on ``whole``, the x range of the whole run: nothing moves sideways when
    another part of it is in view.
    """
    room, needed = width - margin, 0
    x0, x1 = whole
    for group in groups_in(chart.bars, Span(0, room, width, x0, x1)):
        name = cell_width(_name(group, glyphs)) + 1
        share = (max(group.bars[0].since, x0) - x0) / (x1 - x0) if x1 > x0 else 0.0
        if share < 1:
            needed = max(needed, math.ceil((name - share * room) / (1 - share)))
    return max(least, min(needed, _NAMES_MOST, int(width * _NAMES_SHARE)) - 1)


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
        name = fit(_name(group, glyphs), _name_room(group, parts, span), ellipsis=glyphs.ellipsis)
        end = cell_width(name) + 1
        cut = [(max(at, end), body[max(0, end - at) :], look) for at, body, look in parts]
        parts = [*(part for part in cut if part[1]), (0, name, look)]
    return place(span.width, parts)


def _name_room(group: Group, parts: Sequence[_Part], span: Span) -> int:
    """Cells of the name left of the bars. It may cover the first of them where that began before
    the window: there is no beginning to be seen."""
    at, body, _ = parts[0]
    if group.bars[0].since >= span.x0:
        return min(at for at, _, _ in parts) - 1
    nexts = [begin - 1 for begin, _, _ in parts if begin > at]
    return max(at - 1, min([at + len(body) - 2, *nexts]))


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
