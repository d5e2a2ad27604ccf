"""The base of the panes of a run's screen."""

from __future__ import annotations

from typing import Any

from textual.containers import Container

from rltui.core.batch import RunKey
from rltui.draw.view import PaneLayout, View
from rltui.session import JudgedRun
from rltui.tui.shell import shell_of
from rltui.tui.widgets.lines import LineList, Lines


class RunPane(Container):
    """The body of the screen of a run for some of its tabs."""

    def __init__(self, run: JudgedRun, name: str, layout: PaneLayout) -> None:
        """``name`` is the id of the list in it; ``layout`` is that until the first one is shown."""
        super().__init__()
        self.items: LineList[Any] = LineList(id=name)
        """The list."""
        self._run = run
        self._layout = layout
        self._left: dict[RunKey, Any] = {}
        """Run -> what the user put the cursor on there."""

    @property
    def view(self) -> View:
        """The options of the view."""
        return shell_of(self).view

    def turn_to(self, run: JudgedRun) -> None:
        """Show another run from now on, with the cursor where it was."""
        self._left[self._run.key] = self.items.chosen
        self._run, self.items.chosen = run, self._left.get(run.key)
        for lines in self.query(Lines):
            lines.blank()
