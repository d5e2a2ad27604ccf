"""The last line: keys that work here, and the state of the view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rltui.core.text import cell_width, fit
from rltui.draw.line import ACCENT, MUTED, TEXT, Line, Token, fit_line, style, with_ground
from rltui.draw.view import View
from rltui.tui.keys import Key


def footer_line(keys: Sequence[Key], view: View, width: int, right: str = "") -> Line:
    """The footer words of ``keys`` as far as they fit, and ``right`` at the right end."""
    words = view.glyphs.text
    shown, right = [replace(k, footer_key=words(_name(k))) for k in keys if k.footer], words(right)
    order = {k.action: i for i, k in enumerate(shown)}
    room = width - (cell_width(right) + 3 if right else 1) - 1
    while len(shown) > 2 and _width(shown) > room:
        shown.remove(max(shown, key=lambda k: k.rank))
    shown.sort(key=lambda k: (k.action != "help", k.action == "quit", k.rank, order[k.action]))
    line: Line = [(" ", TEXT)]
    for i, key in enumerate(shown):
        line.append((("  " if i else "") + _name(key), style(Token.ACCENT, bold=True)))
        line.append((f" {key.footer}", TEXT))
    line = fit_line(line, width - cell_width(right) - 1) if right else line
    if right:
        line = [*line, (fit(right, width), MUTED)]
    return with_ground(fit_line(line, width), Token.RAISED)


def filter_line(text: str, width: int, right: str) -> Line:
    """A filter that stays in force after it was typed."""
    line: Line = [(" /", ACCENT), (text, style(Token.STRONG))]
    gap = width - sum(cell_width(t) for t, _ in line) - cell_width(right) - 1
    if gap > 0:
        line = [*line, (" " * gap, TEXT), (right, MUTED)]
    return with_ground(fit_line(line, width), Token.SEL)


def _name(key: Key) -> str:
    return key.footer_key or key.shown.split("  ")[0]


def _width(keys: Sequence[Key]) -> int:
    return sum(cell_width(_name(k)) + 1 + cell_width(k.footer) + 2 for k in keys)
