"""Picker of ``rltui watch`` without a path: the logs that were found, to choose from."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rltui.commands.departure import Departure
from rltui.commands.standard_output import tell
from rltui.commands.verbs import Exit
from rltui.core.clock import SystemClock
from rltui.pages.picker.lines import PathDisplay, suggestions_text
from rltui.sources.discovery.suggestions import LogdirFinder

if TYPE_CHECKING:
    from rltui.tui.shell import AppOptions


def _path_display() -> PathDisplay:
    """The working directory and the home directory, as far as there are any."""
    directory = home = None
    with suppress(OSError):
        directory = Path.cwd()
    with suppress(RuntimeError):
        home = Path.home()
    return PathDisplay(directory, home)


def list_suggestions() -> int:
    """Without a terminal: what could be watched, on standard error."""
    paths = _path_display()
    suggestions = LogdirFinder(paths.directory, os.environ, paths.home).find()
    tell(
        "usage: rltui watch LOGDIR...\n"
        "rltui: name a LOGDIR: there is no terminal to choose one on. This was found:\n"
        + suggestions_text(suggestions, paths, SystemClock().now())
    )
    return Exit.USAGE


def pick(
    look: AppOptions, mouse: bool, departure: Departure, before: Path | None
) -> tuple[Path | None, int | None]:
    """The path that the user chose on a screen, None when they left it, and Textual's exit code.
    ``before`` is what they chose the last time: the cursor is there."""
    from rltui.pages.picker.screen import PickerApp  # Textual, only for those who have a terminal

    paths = _path_display()
    finder = LogdirFinder(paths.directory, os.environ, paths.home)
    app = PickerApp(finder.find, paths, SystemClock(), look, before)
    with departure.ending_by(app.exit):
        chosen = app.run(mouse=mouse)
    return None if departure.code else chosen, app.return_code
