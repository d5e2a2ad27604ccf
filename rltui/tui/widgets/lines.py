"""Painting lines of styled text, and the widget that paints a block of them."""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from rltui.core.fault import NOT_SHOWN, Fault, wall
from rltui.draw.glyph import ascii_text
from rltui.draw.line import TEXT, Line, Token, fit_line, line_width, style, with_ground
from rltui.draw.prose import wrap
from rltui.tui.shell import shell_of
from rltui.tui.theming import Palette


class LinePainter(ScrollView, can_focus=False, inherit_bindings=False):
    """Paints :meth:`line_of` each row and repaints only the cells that differ.

    A scroll view also where nothing scrolls: Textual lays a screen out a second time when the
    size of any other widget changes.
    """

    DEFAULT_CSS = "LinePainter { overflow: hidden hidden; }"

    ALLOW_SELECT = False
    GROUND: Token | None = None
    """The background where a span has none of its own; None for that of the theme."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._painted: dict[int, tuple[Line, Line, Strip | None]] = {}
        """Row of the widget -> its line as drawn and as painted, and the strip; None instead of the
        strip until Textual has painted the change."""
        self._rows_seen: set[int] = set()
        """Rows of the widget that were painted in full since it was hidden."""
        self._painted_for: Size | None = None
        """The size of the widget when these lines were drawn."""
        self._palette: Palette | None = None

    @property
    def cells(self) -> int:
        """How wide a line may be."""
        return self.size.width

    def line_of(self, y: int) -> Line:
        """The line in row ``y`` of the widget, of any width."""
        raise NotImplementedError

    def walled(self, draw: Callable[[], list[Line]], height: int | None = None) -> list[Line]:
        """The lines that ``draw`` returns; if it fails, the reason in ``height`` lines."""
        faults: list[Fault] = []
        with wall(NOT_SHOWN, faults.append):
            return draw()
        limit = self.size.height if height is None else height
        words = wrap(faults[0].text, max(1, self.size.width - 2), limit)
        lines: list[Line] = [[(f" {text}", style(Token.WATCH))] for text in words]
        return lines + [[]] * ((height or 0) - len(lines))

    def repaint(self) -> None:
        """Paint the cells that differ from what was painted last."""
        self._check_size()
        if not self._painted:
            if self.display:  # Textual may have painted what was valid before a change of size
                self.refresh()
            return
        cells, changed = self.cells, []
        for y, (drawn, old, _) in list(self._painted.items()):
            line = self.line_of(y)
            if line == drawn:
                continue  # to finish a line takes ten times as long as to compare it
            new = self._finished(line)
            if new is not old and new != old:
                self._painted[y] = line, new, None
                start, end = _span(old, new)
                changed.append(Region(start, y, max(1, min(end, cells) - start), 1))
        if changed:
            self.refresh(*changed)

    def repaint_all(self) -> None:
        """Paint everything anew."""
        self.invalidate()
        self.refresh()

    def _check_size(self) -> None:
        """Drop what was drawn for another size. Textual paints a new layout before it tells the
        widgets their sizes: without this a key would paint twice."""
        if self.size != self._painted_for:
            self._painted_for = self.size
            self.invalidate()

    def invalidate(self) -> None:
        """Draw everything anew at the next paint."""
        self._painted.clear()

    def render_lines(self, crop: Region) -> list[Strip]:
        """The strips of some rows, without Textual's styles of the widget."""
        palette = shell_of(self).palette
        self._check_size()
        if palette is not self._palette:
            self._palette = palette
            self._painted.clear()
        width, found = self.size.width, []
        if crop.width >= width:
            self._rows_seen.update(range(crop.y, crop.bottom))
        for y in range(crop.y, crop.bottom):
            drawn, line, strip = self._painted.get(y) or (None, None, None)
            if drawn is None or line is None:
                drawn = self.line_of(y)
                line = self._finished(drawn)
            if strip is None:
                strip = Strip(palette.segments(line), width)
                self._painted[y] = drawn, line, strip
            found.append(strip.crop(crop.x, crop.right))
        return found

    def _finished(self, drawn: Line) -> Line:
        """A line as wide as the widget, in the characters that may be printed."""
        glyphs, cells, width = shell_of(self).view.glyphs, self.cells, self.size.width
        if glyphs.ascii:
            drawn = [(ascii_text(text), look) for text, look in drawn]
        line = fit_line(drawn, cells)
        if width != cells:
            line = [*line, (" " * (width - cells), TEXT)]  # the place of the scroll bar
        return line if self.GROUND is None else with_ground(line, self.GROUND)

    def on_resize(self, _: events.Resize) -> None:
        self._check_size()

    def on_hide(self) -> None:
        self._rows_seen.clear()

    def on_show(self) -> None:
        """Paint all lines: Textual may paint a widget that is shown again only where it changed
        while hidden."""
        if len(self._rows_seen) < self.size.height:
            self.refresh()


class Lines(LinePainter):
    """A block of lines from a pure function of its width and height."""

    DEFAULT_CSS = "Lines { width: 1fr; height: 1fr; }"

    def __init__(
        self,
        draw: Callable[[int, int], list[Line]],
        *,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        """``draw`` is called with the size in cells, when something is to be painted."""
        super().__init__(id=id, classes=classes)
        self._draw = draw
        self._lines: list[Line] | None = None

    def update(self) -> None:
        """Draw again, and paint what differs."""
        self._lines = None
        self.repaint()

    def blank(self) -> None:
        """Show nothing until the next update."""
        self.repaint_all()
        self._lines = []

    def line_of(self, y: int) -> Line:
        if self._lines is None:
            self._lines = self.walled(lambda: self._draw(self.size.width, self.size.height))
        return self._lines[y] if y < len(self._lines) else []

    def invalidate(self) -> None:
        super().invalidate()
        self._lines = None


def _span(before: Line, after: Line) -> tuple[int, int]:
    """First and one-past-last cell in which two lines differ."""
    first, last = 0, 0
    limit = min(len(before), len(after))
    while first < limit and before[first] == after[first]:
        first += 1
    while last < limit - first and before[-1 - last] == after[-1 - last]:
        last += 1
    start = line_width(before[:first])
    ends = (line_width(line[first : len(line) - last]) for line in (before, after))
    return start, start + max(ends)
