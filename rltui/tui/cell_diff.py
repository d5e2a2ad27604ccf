"""Writes to the terminal only the cells that differ from what it shows.

An app derives from :class:`CellDiffApp` instead of ``textual.app.App``; nothing else is needed,
whatever it shows (widgets, screens, modal screens, the palette, notifications). The app calls
:meth:`CellDiffApp.repaint_terminal` where something else wrote to the terminal; after a
suspension and a change of size that happens by itself.

This sits where Textual hands an update of its compositor to the driver, and is the only module
that uses private parts of Textual. Where one is missing, an update is of an unknown kind or the
app has no full screen of its own (inline, headless), it steps aside: Textual writes its own
sequence, and what is known about the terminal is forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from textual import _compositor as compositor
from textual import events, on
from textual.app import App
from textual.geometry import Size
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from rltui.tui.terminal_cells import TerminalCells, UnknownContentError

Result = TypeVar("Result")

#: (row, [(column, strip), ...])
_Rows = Iterator[tuple[int, list[tuple[int, Strip]]]]


class CellDiffApp(App[Result]):
    """An app that writes differences only."""

    _terminal_cells: TerminalCells | None = None
    _terminal_size: tuple[int, int] | None = None
    """Size of the newest layout that was written."""

    def repaint_terminal(self) -> None:
        """Write every cell anew: the terminal shows something else than was written to it."""
        self._forget_terminal()
        self.screen.refresh(layout=True)

    def write_terminal(self, sequence: str) -> None:
        """Write a control sequence that changes no cell."""
        driver = getattr(self, "_driver", None)
        if driver is not None:
            driver.write(sequence)

    def on_mount(self) -> None:
        """Coming back from ctrl+z finds an empty screen."""
        self.app_resume_signal.subscribe(self, lambda _: self.repaint_terminal())

    def on_resize(self, event: events.Resize) -> None:
        """Terminals move or cut what they show when their size changes.

        Textual paints nothing when it changed and changed back.
        """
        self._forget_terminal()
        if event.size == self._terminal_size:
            self.screen.refresh(layout=True)

    def _forget_terminal(self) -> None:
        if self._terminal_cells is not None:
            self._terminal_cells.forget()

    def _display(self, screen: Screen[Any], renderable: Any) -> None:
        """Write an update: the one place where Textual does."""
        if renderable is None or getattr(self, "_batch_count", False):
            super()._display(screen, renderable)  # writes nothing
            return
        moved_to = self.screen.outer_size.clamp_offset(self.cursor_position)
        try:
            text = self._difference(renderable)
        except (AttributeError, TypeError, UnknownContentError):
            text = None
        if text is None:
            self._forget_terminal()
        elif text == "" and moved_to == getattr(self, "_previous_cursor_position", None):
            self.post_display_hook()
            return
        else:  # Textual writes it as its own, with the cursor put in its place
            renderable.render_segments = lambda _: text
        super()._display(screen, renderable)

    def _difference(self, update: object) -> str | None:
        """What to write for an update; None when that is up to Textual."""
        driver, system = self._driver, self.console._color_system
        off = driver is None or driver.is_headless or driver.is_inline
        if off or system is None or self._closed or not self._running:
            return None
        cells = self._terminal_cells = self._terminal_cells or TerminalCells(system)
        if isinstance(update, compositor.LayoutUpdate):
            if self._terminal_size != update.region.size:
                cells.forget()
                self._terminal_size = update.region.size
            return cells.show(_layout_rows(update))
        if isinstance(update, compositor.ChopsUpdate):
            return cells.show(_chops_rows(update))
        return None


class OnceScreen(Screen[Result]):
    """A screen that is laid out and painted once for each change: Textual does both again for
    each widget that asks a bit later."""

    _styled_for: str | None = None

    @on(events.ScreenResume)
    def _restyle(self, event: events.ScreenResume) -> None:
        """Apply styles anew only for another theme: that takes as long as to paint."""
        event.refresh_styles = self._styled_for not in (None, self.app.theme)
        self._styled_for = self.app.theme

    def _compositor_refresh(self) -> None:
        if self is self.app.screen:  # with widgets that changed while the screen was laid out
            late = {w for w in self._compositor.visible_widgets if w._repaint_required}
            for widget in late:
                widget._repaint_required = False
            self._compositor.update_widgets(late)
        super()._compositor_refresh()

    def _refresh_layout(self, size: Size | None = None, scroll: bool = False) -> None:
        asked = {w for w in self.walk_children(Widget) if w._layout_required}
        super()._refresh_layout(size, scroll)
        for widget in self._compositor.visible_widgets.keys() - asked:
            widget._layout_required = False  # its size changed, which moves no other widget


def _layout_rows(update: compositor.LayoutUpdate) -> _Rows:
    """The strips of a whole screen."""
    line: Strip | Iterable[Strip]
    for y, line in enumerate(update.strips, update.region.y):
        x, placed = update.region.x, []
        for strip in (line,) if isinstance(line, Strip) else line:
            placed.append((x, strip))
            x += strip.cell_length
        yield y, placed


def _chops_rows(update: compositor.ChopsUpdate) -> _Rows:
    """The strips of some spans, cut as Textual cuts them."""
    for y, begin, end in update.spans:
        chops = zip(update.chop_ends[y], update.chops[y].items(), strict=False)
        placed = [(x, s, to) for to, (x, s) in chops if s is not None and x < end and to > begin]
        yield y, [(x, s if to <= end else s.crop(0, end - x)) for x, s, to in placed]
