"""The end of a run's console log."""

from __future__ import annotations

from rltui.draw.line import Line
from rltui.pages.findings.lines import log_head, log_lines
from rltui.session import RunView
from rltui.tui.keys import LOG
from rltui.tui.overlay import Overlay


class LogScreen(Overlay, places=(LOG,)):
    """Shows the end of the log, and follows it until the user scrolls back."""

    MOST = 10_000

    def __init__(self, run: RunView) -> None:
        super().__init__()
        self._run = run
        self._follows = True
        self._at = 0
        """First visible line."""
        self._shift = 0
        """Characters of each line that are scrolled out at the left."""

    action_tail = Overlay.action_close

    def head(self, width: int) -> list[Line]:
        return log_head(self._run, self.shell.view, width)

    def text(self, width: int) -> list[Line]:
        return log_lines(self._run, self.shell.view, width, self.status.filter, self._shift)

    def update(self) -> None:
        super().update()
        if self._follows:
            self.call_after_refresh(self._to_end)

    def _to_end(self) -> None:
        if self._follows:
            self.items.scroll_end(animate=False)

    def on_line_list_scrolled(self) -> None:
        """Follow the log while its end is visible; stop once the user scrolls back."""
        at = self.items.scroll_offset.y
        if at >= self.items.max_scroll_y:
            self._follows = True
        elif at < self._at:
            self._follows = False
        self._at = at
        super().on_line_list_scrolled()

    def action_scroll_sideways(self, by: int) -> None:
        """Scroll by half the width, as far as the longest line reaches."""
        tails = self._run.data.files.tails.values()
        longest = max((len(line) for tail in tails for line in tail.lines), default=0)
        step = self.size.width // 2
        self._shift = max(0, min(self._shift + by * step, longest - step))
        self.update()
