"""The search for commands: Textual's palette, which can be closed at any time."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from textual.command import CommandPalette
from textual.css.query import NoMatches


class CommandSearch(CommandPalette):
    """Textual's search may end just after it was closed. It then finds no list to show its results
    in, which would end the app."""

    def _refresh_command_list(self, *args: Any) -> None:
        with suppress(NoMatches):
            super()._refresh_command_list(*args)
