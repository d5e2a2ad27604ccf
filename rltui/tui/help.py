"""The keys that work on a screen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rltui.core.level import Level
from rltui.core.text import pad
from rltui.draw.line import (
    LEVEL_TOKEN,
    MUTED,
    RULE,
    STRONG,
    TEXT,
    TITLE,
    Line,
    Token,
    beside,
    fit_line,
    line_width,
    longest,
    style,
)
from rltui.draw.view import View
from rltui.facts.timeline import LEGEND
from rltui.tui.keys import PICKER, Key
from rltui.tui.overlay import Overlay

#: What only this screen has stands first, at the left; what every screen has at the right.
_LEFT, _RIGHT = ("This screen", "Chart"), ("Move", "Everywhere", "Replay")


class HelpScreen(Overlay):
    """Two columns of keys and the legend."""

    def __init__(self, keys: Sequence[Key], place: str, title: str) -> None:
        super().__init__()
        self._shown = keys
        self._of = place
        self._title = title

    def action_help(self) -> None:
        self.action_close()

    def head(self, width: int) -> list[Line]:
        line: Line = [("Keys ", TITLE), (f"on {self._title}", MUTED)]
        close = "Esc close"
        line = [*fit_line(line, max(10, width - len(close))), (close, MUTED)]
        return [line, [(self.shell.view.glyphs.rule * width, RULE)]]

    def text(self, width: int) -> list[Line]:
        return help_lines(self._shown, self._of, self.shell.view, width)


def help_lines(keys: Sequence[Key], place: str, view: View, width: int) -> list[Line]:
    """Two columns of keys and the legend; ``place`` is the screen that the keys are of."""
    words = view.glyphs.text
    keys = [replace(k, shown=words(k.shown)) for k in keys]
    left, right = _column(_LEFT, keys), _column(_RIGHT, keys)
    left += [*([[]] if left else []), *_legend(place, view)]
    column = max(*map(line_width, left), min(40, width // 2 - 2))
    return beside(left, right, column, 3, max(len(left), len(right)))


def _column(groups: Sequence[str], keys: Sequence[Key]) -> list[Line]:
    """The groups below each other."""
    lines: list[Line] = []
    for group in groups:
        if found := _group_lines(group, keys):
            lines += [*([[]] if lines else []), *found]
    return lines


def _group_lines(group: str, keys: Sequence[Key]) -> list[Line]:
    found = [k for k in keys if k.group == group]
    cells = longest([k.shown for k in found]) + 2
    look = style(Token.ACCENT, bold=True)
    rows: list[Line] = [[(pad(k.shown, cells), look), (k.words, TEXT)] for k in found]
    return [[(group, TITLE)], *rows] if rows else []


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
    letters = list(LEGEND.items())
    below = [
        [part for k, word in row for part in ((k, STRONG), (f" {word}  ", TEXT))]
        for row in (letters[:2], letters[2:4], letters[4:])
    ]
    return [[("Badges", TITLE)], badges, marks, [("Below charts", TITLE)], *below]
