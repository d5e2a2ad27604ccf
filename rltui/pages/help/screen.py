"""The keys that work on a screen."""

from __future__ import annotations

from collections.abc import Sequence

from rltui.draw.line import MUTED, RULE, TITLE, Line, fit_line
from rltui.pages.help.keys import Key
from rltui.pages.help.lines import help_lines
from rltui.tui.overlay import Overlay


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
