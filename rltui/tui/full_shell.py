"""The shell that has help and a palette: what every app of rltui is.

Both are screens, which know the shell; so the shell cannot know them.
"""

from __future__ import annotations

from collections.abc import Sequence

from rltui.tui.keys import Key
from rltui.tui.shell import Offer, Result, ShellApp, kept_screen


class FullShell(ShellApp[Result]):
    """Opens help and the palette, which are imported when they are first used."""

    def show_help(self, keys: Sequence[Key], place: str, title: str) -> None:
        from rltui.tui.overlay import HelpScreen  # heavy

        self.push_screen(HelpScreen(keys, place, title))

    def action_command_palette(self) -> None:
        """Search all that the screen offers."""
        if (palette := getattr(self.screen, "palette", None)) is not None:
            self.search([*palette()])

    def search(self, offers: Sequence[Offer], text: str = "") -> bool:
        from rltui.tui.palette import PaletteScreen  # heavy

        found = kept_screen(self, "palette", PaletteScreen).begin(offers, text)
        if found or not text:
            self.push_screen("palette")
        return found
