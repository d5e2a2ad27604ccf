"""The widget that paints a whole screen of lines.

``show`` compares the new lines with those on screen and writes the cells that differ straight
to the terminal: an idle run costs nothing, a new point a few dozen bytes. Textual paints the
whole widget when the terminal shows something else (at the start, after a change of size, a
theme, a suspension), and while something of its own lies over it (the palette).
"""

from __future__ import annotations

from collections.abc import Callable

from rich.segment import Segment
from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from rltui.core.text import cell_width
from rltui.present.kit.line import Line
from rltui.tui.patch import Patcher
from rltui.tui.theming import Palette

#: Terminals that know synchronised output show what is between at once (DEC mode 2026).
_SYNC_BEGIN, _SYNC_END = "\x1b[?2026h", "\x1b[?2026l"


class Canvas(Widget, can_focus=True):
    """Paints lines of styled spans. The app owns it and calls :meth:`show`."""

    DEFAULT_CSS = "Canvas { width: 100%; height: 100%; }"

    class Clicked(Message):
        """A cell was clicked."""

        def __init__(self, x: int, y: int) -> None:
            super().__init__()
            self.x = x
            self.y = y

    class Scrolled(Message):
        """The wheel was turned; ``by`` is +1 (down) or -1."""

        def __init__(self, by: int) -> None:
            super().__init__()
            self.by = by

    class Resized(Message):
        """The size changed: the app draws anew."""

    class Typed(Message):
        """A key was pressed; the app looks it up."""

        def __init__(self, key: str, character: str | None) -> None:
            super().__init__()
            self.key = key
            self.character = character

    class Pasted(Message):
        """A text was pasted; it is never taken for keys."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, palette: Callable[[], Palette]) -> None:
        super().__init__()
        self._palette = palette
        self._lines: list[Line] = []
        self._strips: dict[int, Strip] = {}
        self._patcher: Patcher | None = None
        self._painted = False
        """Whether the terminal shows ``_lines``, as far as this widget knows."""

    def show(self, lines: list[Line]) -> None:
        """Put ``lines`` on the screen; repaints what differs."""
        old, self._lines = self._lines, lines
        if not self._painted or len(old) != len(lines):
            self.repaint()
        elif not self._write(old, lines):
            self._ask(old, lines)

    def _write(self, old: list[Line], lines: list[Line]) -> bool:
        """Write the difference past Textual's compositor; False when that cannot be done."""
        app = self.app
        driver = getattr(app, "_driver", None)
        covered = app.screen is not self.screen or bool(getattr(app, "_notifications", ()))
        if driver is None or covered or app.is_headless or app.is_inline:
            return False
        if self._patcher is None:
            self._patcher = Patcher(self._palette())
        text = self._patcher.patch(old, lines)
        if text:
            self._strips.clear()
            synchronised = getattr(app, "_sync_available", False)
            driver.write(f"{_SYNC_BEGIN}{text}{_SYNC_END}" if synchronised else text)
        return True

    def _ask(self, old: list[Line], lines: list[Line]) -> None:
        """Have Textual paint the spans that differ."""
        regions = []
        for y, (before, after) in enumerate(zip(old, lines, strict=True)):
            if before is after or before == after:
                continue
            self._strips.pop(y, None)
            start, end = _changed(before, after)
            regions.append(Region(start, y, max(1, min(end, self.size.width) - start), 1))
        if regions:
            self.refresh(*regions)

    def repaint(self) -> None:
        """Forget what is on screen (another theme or size, a suspension)."""
        self._strips.clear()
        self._patcher, self._painted = None, False
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """The strip of one line, exactly as wide as the widget."""
        strip = self._strips.get(y)
        if strip is None:
            palette = self._palette()
            line = self._lines[y] if y < len(self._lines) else []
            segments = [Segment(text, palette.rich(look)) for text, look in line]
            width = self.size.width
            strip = Strip(segments, sum(cell_width(t) for t, _ in line))
            strip = strip.adjust_cell_length(width, palette.ground)
            self._strips[y] = strip
        return strip

    def render_lines(self, crop: Region) -> list[Strip]:
        """Final strips: Textual's style cache has nothing to add."""
        if crop.size == self.size:
            self._painted = True
        return [
            self.render_line(y).crop(crop.x, crop.x + crop.width)
            for y in range(crop.y, crop.y + crop.height)
        ]

    def on_click(self, event: events.Click) -> None:
        self.post_message(self.Clicked(event.x, event.y))

    def on_mouse_scroll_down(self, _: events.MouseScrollDown) -> None:
        self.post_message(self.Scrolled(1))

    def on_mouse_scroll_up(self, _: events.MouseScrollUp) -> None:
        self.post_message(self.Scrolled(-1))

    def on_resize(self, _: events.Resize) -> None:
        self._strips.clear()
        self._painted = False
        self.post_message(self.Resized())

    def on_key(self, event: events.Key) -> None:
        if event.key in ("ctrl+p", "ctrl+c"):
            return
        event.stop()
        event.prevent_default()
        self.post_message(self.Typed(event.key, event.character))

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        text = "".join(c for c in event.text[:200] if c.isprintable())
        self.post_message(self.Pasted(text))


def _changed(before: Line, after: Line) -> tuple[int, int]:
    """First and one-past-last cell in which two lines differ."""
    start = 0
    i = 0
    limit = min(len(before), len(after))
    while i < limit and before[i] == after[i]:
        start += cell_width(before[i][0])
        i += 1
    tail = 0
    j = 1
    while j <= limit - i and before[-j] == after[-j]:
        tail += cell_width(after[-j][0])
        j += 1
    end_before = sum(cell_width(t) for t, _ in before) - tail
    end_after = sum(cell_width(t) for t, _ in after) - tail
    return start, max(end_before, end_after, start + 1)
