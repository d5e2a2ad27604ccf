"""The tabs of a run; a click selects one."""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.message import Message

from rltui.draw.line import Line
from rltui.pages.run.tab_line import TabSpot, tab_line, tab_rule
from rltui.session import RunView
from rltui.tui.shell import shell_of
from rltui.tui.widgets.lines import Lines


class TabBar(Lines):
    """One line of tabs, and where there is room a rule that underlines the active one."""

    DEFAULT_CSS = "TabBar { height: 1; }"

    class Selected(Message):
        """A tab was clicked."""

        def __init__(self, tab: str) -> None:
            super().__init__()
            self.tab = tab

    def __init__(self, shown: Callable[[], tuple[RunView, str]]) -> None:
        """``shown`` returns the run and its active tab."""
        super().__init__(self._tabs)
        self._shown = shown
        self.spots: list[TabSpot] = []
        """Where the tabs stand."""

    def _tabs(self, width: int, height: int) -> list[Line]:
        run, tab = self._shown()
        view = shell_of(self).view
        line, self.spots = tab_line(run, tab, view, width)
        return [line, tab_rule(self.spots, tab, view, width)][:height]

    def on_click(self, event: events.Click) -> None:
        for spot in self.spots:
            if spot.start <= event.x < spot.end:
                self.post_message(self.Selected(spot.id))
