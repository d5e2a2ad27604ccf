"""What every app of rltui is: one canvas, its palette, coming back from a suspension."""

from __future__ import annotations

from typing import TypeVar

from textual.app import App, ComposeResult

from rltui.present.theme import Theme
from rltui.tui.canvas import Canvas
from rltui.tui.theming import Palette, depth_of

Result = TypeVar("Result")


class CanvasApp(App[Result]):
    """Fills the terminal with a canvas."""

    CSS = "Screen { background: transparent; overflow: hidden; }"
    TITLE = "rltui"

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._shipped = theme
        self.palette: Palette | None = None
        self._canvas = Canvas(self._current_palette)

    def compose(self) -> ComposeResult:
        yield self._canvas

    def _settle_in(self) -> None:
        """Listen to keys; to be called on mount."""
        self.app_resume_signal.subscribe(self, self._resumed)
        self._canvas.focus()

    def _resumed(self, _: object) -> None:
        """Back from ctrl+z: nothing that was painted is there any more."""
        self._canvas.repaint()
        self.screen.refresh(layout=True)

    def _current_palette(self) -> Palette:
        if self.palette is None:
            depth = depth_of(self.console.color_system, self.no_color)
            self.palette = Palette(self._shipped, depth)
        return self.palette
