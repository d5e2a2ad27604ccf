"""The app that returns what to watch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from textual.screen import Screen

from rltui.core.clock import Clock
from rltui.pages.picker.screen import PickerScreen
from rltui.pages.picker.suggestion_lines import PathDisplay
from rltui.sources.discovery.suggestions import Suggestions
from rltui.tui.keys import PICKER
from rltui.tui.shell import Look, ShellApp


class PickerApp(ShellApp[Path], places=(PICKER,)):
    """Returns the path that was chosen, or None when the user left."""

    def __init__(
        self,
        search: Callable[[], Suggestions],
        paths: PathDisplay,
        clock: Clock,
        look: Look,
        before: Path | None = None,
    ) -> None:
        """``before`` is where the cursor starts, if the search finds it."""
        super().__init__(look)
        self._first = PickerScreen(search, paths, clock, before)

    def get_default_screen(self) -> Screen[Any]:
        return self._first
