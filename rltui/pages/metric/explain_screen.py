"""What the metric or finding at the cursor means."""

from __future__ import annotations

from collections.abc import Callable

from rltui.draw.line import Line
from rltui.draw.view import View
from rltui.tui.overlay import Overlay


class ExplainScreen(Overlay):
    """An explanation; the first two lines, its title, do not scroll."""

    MOST = 100

    def __init__(self, explain: Callable[[View, int], list[Line]]) -> None:
        """``explain`` makes the lines at a width."""
        super().__init__()
        self._explain = explain

    def action_explain(self) -> None:
        self.action_close()

    def head(self, width: int) -> list[Line]:
        return self._explain(self.shell.view, width)[:2]

    def text(self, width: int) -> list[Line]:
        return self._explain(self.shell.view, width)[2:]
