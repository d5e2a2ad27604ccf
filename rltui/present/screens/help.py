"""The help, made from the table of keys."""

from __future__ import annotations

from collections.abc import Sequence

from rltui.core.level import Level
from rltui.core.text import pad
from rltui.present.kit.line import LEVEL_TOKEN, MUTED, TEXT, TITLE, Line, Token, style
from rltui.present.screens.entries import beside
from rltui.present.screens.keys import PICKER, Key
from rltui.present.screens.view import View

_GROUPS = ("Move", "This screen", "Chart", "Everywhere")
_KEY_CELLS = 15


def help_lines(keys: Sequence[Key], place: str, view: View, width: int) -> list[Line]:
    """Two columns of keys and the legend; ``place`` is the screen that the keys are of."""
    column = max(30, (width - 4) // 2)
    left = _group_lines("Move", keys)
    right: list[Line] = []
    for group in _GROUPS[1:]:
        lines = _group_lines(group, keys)
        if lines:
            right += ([[]] if right else []) + lines
    left += [[], *_legend(place, view)]
    return beside(left, right, column, 2, max(len(left), len(right)))


def _group_lines(group: str, keys: Sequence[Key]) -> list[Line]:
    found = [k for k in keys if k.group == group]
    if not found:
        return []
    lines: list[Line] = [[(group, TITLE)]]
    for key in found:
        shown = pad(key.shown, _KEY_CELLS)
        lines.append([(shown, style(Token.ACCENT, bold=True)), (key.words, TEXT)])
    return lines


def _legend(place: str, view: View) -> list[Line]:
    glyphs = view.glyphs
    if place == PICKER:
        live: Line = [(glyphs.live, style(Token.OK)), (" written in the last minute", TEXT)]
        quiet: Line = [(glyphs.stalled, MUTED), (" in use, but quiet", TEXT)]
        return [[("Signs", TITLE)], live, quiet]
    badges: Line = []
    words = {Level.OK: "ok", Level.WATCH: "watch", Level.BAD: "bad", Level.UNKNOWN: "not judged"}
    for level, word in words.items():
        badges += [(glyphs.badge(level), style(LEVEL_TOKEN[level])), (f" {word}  ", TEXT)]
    marks: Line = [
        (glyphs.nan, style(Token.BAD, bold=True)),
        (" not a number  ", TEXT),
        (glyphs.unchanged, MUTED),
        (" never changed", TEXT),
    ]
    return [[("Badges", TITLE)], badges, marks]
