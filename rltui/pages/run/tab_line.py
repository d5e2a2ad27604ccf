"""The tabs of a run: which there are, and the line that names them."""

from __future__ import annotations

from dataclasses import dataclass

from rltui.core.level import Level
from rltui.draw.line import (
    ACCENT,
    LEVEL_TOKEN,
    MUTED,
    RULE,
    TEXT,
    Line,
    Span,
    Token,
    fit_line,
    line_width,
    style,
)
from rltui.draw.view import View
from rltui.facts.cache import kept
from rltui.facts.findings import marks
from rltui.facts.metrics import ALL, FINDINGS, OVERVIEW, Tab, tabs_of
from rltui.session import RunView

#: Cells of what stands for tabs that are left out.
_MORE = 2


@dataclass(frozen=True, slots=True)
class TabSpot:
    """Where a tab stands on its line, for the mouse and the underline."""

    id: str
    start: int
    end: int


def tab_line(run: RunView, active: str, view: View, width: int) -> tuple[Line, list[TabSpot]]:
    """Line 2 and where each tab stands on it.

    Tabs are shown whole or not at all: the active one, then bad and watch ones and All, then those
    with a key stay longest. An ellipsis at the end stands for those left out.
    """
    tabs, left = tabs_of(run), 2 if width >= 110 else 0
    for gap, form in ((3, "title"), (2, "medium"), (1, "short")):
        if gap == 3 and width < 150:
            continue
        labels = {t.id: _tab_label(run, t, t.id == active, view, form) for t in tabs}
        needed = [line_width(labels[t.id]) + gap for t in tabs if t.key or t.id == active]
        if left + sum(needed) - gap + _MORE <= width:
            break
    shown, x = list(tabs), left + sum(line_width(x) + gap for x in labels.values()) - gap
    while len(shown) > 1 and x + (_MORE if len(shown) < len(tabs) else 0) > width:
        least = min(reversed(shown), key=lambda t: _weight(run, t, active))
        shown.remove(least)
        x -= line_width(labels[least.id]) + gap

    return _place_tabs(shown, labels, len(tabs) - len(shown), view, width, gap, left)


def _weight(run: RunView, tab: Tab, active: str) -> tuple[bool, bool, bool]:
    """The lightest tab is left out first."""
    matters = _level(run, tab) >= Level.WATCH or tab.id == ALL
    return tab.id == active, matters, bool(tab.key)


def _place_tabs(
    tabs: list[Tab],
    labels: dict[str, Line],
    hidden: int,
    view: View,
    width: int,
    gap: int,
    left: int,
) -> tuple[Line, list[TabSpot]]:
    line: Line = [(" " * left, TEXT)] if left else []
    spots: list[TabSpot] = []
    x = left
    for tab in tabs:
        if spots:
            line.append((" " * gap, TEXT))
            x += gap
        end = x + line_width(labels[tab.id])
        spots.append(TabSpot(tab.id, x, end))
        line.extend(labels[tab.id])
        x = end
    if hidden:
        line.append((f" {view.glyphs.ellipsis}", MUTED))

    return fit_line(line, width, ellipsis=view.glyphs.ellipsis), spots


def _tab_label(run: RunView, tab: Tab, active: bool, view: View, form: str) -> Line:
    names = {"title": tab.title, "medium": tab.medium, "short": tab.short}
    name = tab.title if active and form == "short" else names[form]
    look = style(Token.STRONG, bold=True, underline=active and form == "short") if active else TEXT
    line: Line = []
    if tab.key:
        line.append((f"{tab.key} ", style(Token.ACCENT) if active else MUTED))
    line.append((name, look))
    line.extend(_tab_badge(run, view, tab, "" if form == "short" else " "))
    return line


def _tab_badge(run: RunView, view: View, tab: Tab, gap: str) -> list[Span]:
    if tab.id == ALL:
        return [(f" {len(run.infos)}", MUTED)] if gap else []
    if tab.id == FINDINGS:
        return [(f" {sum(marks(run).values())}", MUTED)]
    level = _level(run, tab)
    if level is Level.UNKNOWN and not _is_open(run, tab):
        return []
    return [(gap + view.glyphs.badge(level), style(LEVEL_TOKEN[level]))]


def _level(run: RunView, tab: Tab) -> Level:
    if tab.id in (OVERVIEW, FINDINGS):
        return run.verdict.level
    if tab.category is None:
        return Level.UNKNOWN
    return Level.UNKNOWN if _is_open(run, tab) else run.verdict.category_level(tab.category)


def _is_open(run: RunView, tab: Tab) -> bool:
    """Whether a tab would be ok but for the newest rows of a tag."""
    category = tab.category
    if category is None or run.verdict.category_level(category) is not Level.OK:
        return False
    return kept(run, ("doubt", category), lambda: run.verdict.has_doubt(category))


def tab_rule(spots: list[TabSpot], active: str, view: View, width: int) -> Line:
    """Line 3: a rule with the active tab underlined."""
    glyphs = view.glyphs
    for spot in spots:
        if spot.id == active:
            start, end = max(0, spot.start), min(width, spot.end)
            return [
                (glyphs.rule * start, RULE),
                (glyphs.heavy * (end - start), ACCENT),
                (glyphs.rule * (width - end), RULE),
            ]
    return [(glyphs.rule * width, RULE)]
