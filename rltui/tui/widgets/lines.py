"""Widgets that paint lines of styled text: a block of lines, and a list with a cursor."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import ClassVar, Generic

from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBarRender
from textual.strip import Strip

from rltui.core.fault import NOT_SHOWN, PASSING, reported
from rltui.draw.line import (
    TEXT,
    Block,
    Entry,
    Id,
    Line,
    Token,
    ascii_line,
    fit_line,
    heights_of,
    items_of,
    style,
    with_ground,
)
from rltui.draw.prose import wrap
from rltui.draw.view import View
from rltui.tui.shell import shell_of
from rltui.tui.theming import Palette


class LinePainter(ScrollView, can_focus=False, inherit_bindings=False):
    """Paints :meth:`line_of` each row and repaints only the rows that differ.

    A scroll view also where nothing scrolls: Textual lays a screen out a second time when the
    size of any other widget changes.
    """

    DEFAULT_CSS = "LinePainter { overflow: hidden hidden; }"

    ALLOW_SELECT = False
    GROUND: Token | None = None
    """The background where a span has none of its own; None for that of the theme."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._painted: dict[int, tuple[Line, Line, Strip | None]] = {}
        """Row of the widget -> its line as drawn and as painted, and the strip; None instead of the
        strip until Textual has painted the change."""
        self._rows_seen: set[int] = set()
        """Rows of the widget that were painted in full since it was hidden."""
        self._painted_for: Size | None = None
        """The size of the widget when these lines were drawn."""
        self._palette: Palette | None = None

    @property
    def view(self) -> View:
        """The options of the view."""
        return shell_of(self).view

    @property
    def cells(self) -> int:
        """How wide a line may be."""
        return self.size.width

    @property
    def top(self) -> int:
        """The line in the first row of the widget."""
        return 0

    def line_of(self, at: int) -> Line:
        """The line ``at`` its place among all lines, of any width."""
        raise NotImplementedError

    def isolate_faults(self, draw: Callable[[], Block], height: int | None = None) -> Block:
        """The lines that ``draw`` returns; if it fails, the reason in ``height`` lines."""
        try:  # not the context manager: there is one for each line of a list
            return draw()
        except PASSING:
            raise
        except Exception as error:  # noqa: BLE001 - this is the wall
            fault = reported(error, NOT_SHOWN)
        limit = self.size.height if height is None else height
        words = wrap(fault.text, max(1, self.size.width - 2), limit)
        lines: Block = [[(f" {text}", style(Token.WATCH))] for text in words]
        return lines + [[]] * ((height or 0) - len(lines))

    def repaint(self) -> None:
        """Paint the rows that differ from what was painted last."""
        self._check_size()
        if not self._painted:
            if self.display:  # Textual may have painted what was valid before a change of size
                self.refresh()
            return
        top = self.top
        changed = list[Region]()
        frame = self._frame
        for y, (drawn, old, _) in list(self._painted.items()):
            line = self.line_of(top + y)
            if line == drawn:
                continue  # to finish a line takes ten times as long as to compare it
            new = self._finished(line, *frame)
            if new != old:
                self._painted[y] = line, new, None
                changed.append(Region(0, y, frame[1], 1))
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
        top = self.top
        frame = self._frame
        width = self.size.width
        found = []
        if crop.width >= width:
            self._rows_seen.update(range(crop.y, crop.bottom))
        for y in range(crop.y, crop.bottom):
            drawn, line, strip = self._painted.get(y) or (None, None, None)
            if drawn is None or line is None:
                drawn = self.line_of(top + y)
                line = self._finished(drawn, *frame)
            if strip is None:
                strip = Strip(palette.segments(line), width)
                self._painted[y] = drawn, line, strip
            found.append(strip.crop(crop.x, crop.right))
        return found

    @property
    def _frame(self) -> tuple[bool, int, int]:
        """Whether only ascii may be printed, how wide a line may be, and how wide the widget is."""
        return self.view.glyphs.ascii, self.cells, self.size.width

    def _finished(self, drawn: Line, in_ascii: bool, cells: int, width: int) -> Line:
        """A line as wide as the widget, in the characters that may be printed."""
        if in_ascii:
            drawn = ascii_line(drawn)
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

    def __init__(self, draw: Callable[[int, int], Block], *, id: str | None = None) -> None:
        """``draw`` is called with the size in cells, when something is to be painted."""
        super().__init__(id=id)
        self._draw = draw
        self._lines: Block | None = None

    def update(self) -> None:
        """Draw again, and paint what differs."""
        self._lines = None
        self.repaint()

    def blank(self) -> None:
        """Show nothing until the next update."""
        self.repaint_all()
        self._lines = []

    def line_of(self, at: int) -> Line:
        if self._lines is None:
            self._lines = self.isolate_faults(lambda: self._draw(self.size.width, self.size.height))
        return self._lines[at] if at < len(self._lines) else []

    def invalidate(self) -> None:
        super().invalidate()
        self._lines = None


class _BlockBar(ScrollBarRender):
    """A thumb of whole cells: no glyph that a font may lack."""

    VERTICAL_BARS: ClassVar[list[str]] = [" "] * 8


class LineList(LinePainter, Generic[Id], can_focus=False, inherit_bindings=False):
    """Shows entries. Only those that are visible are drawn.

    The cursor is on the item that the user chose, wherever it moves to; as long as that item is
    not among the entries it is on the one that :meth:`show` prefers.
    """

    DEFAULT_CSS = """
    LineList {
        height: 1fr; overflow-x: hidden; overflow-y: auto;
        scrollbar-gutter: stable; scrollbar-size-vertical: 1;
    }
    """

    class Opened(Message):
        """The item at the cursor is to be opened."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._entries: Sequence[Entry[Id]] = ()
        self._starts: list[int] = []
        """First line of each entry."""
        self._items: list[int] = []
        """Entries that the cursor can reach."""
        self._places: dict[Id, int] = {}
        """Item -> its place in ``_items``."""
        self._drawn: dict[tuple[int, bool], Block] = {}
        self.chosen: Id | None = None
        """The item that the user put the cursor on."""
        self.cursor: Id | None = None
        """The item at the cursor; None for an empty list."""

    def on_mount(self) -> None:
        self.vertical_scrollbar.renderer = _BlockBar  # type: ignore[misc]

    # -- what is shown ---------------------------------------------------------------------

    @property
    def cells(self) -> int:
        return self.scrollable_content_region.width

    @property
    def in_view(self) -> tuple[int, int]:
        """First and one-past-last visible item."""
        top = self.top
        starts = [self._starts[i] for i in self._items]
        first = bisect_right(starts, top - 1)
        return first, max(first, bisect_right(starts, top + max(1, self._height) - 1))

    @property
    def _height(self) -> int:
        """Lines of the list: as it was laid out, or as it is about to be."""
        styled = self.styles.height
        return self.size.height if styled is None or styled.cells is None else styled.cells

    @property
    def ids_in_view(self) -> list[Id]:
        """The items of which a line is visible."""
        top = self.top
        first = max(0, bisect_right(self._starts, top) - 1)
        last = bisect_right(self._starts, top + max(1, self._height) - 1)
        entries = [self._entries[i] for i in range(first, last)]
        return [e.id for e in entries if e.id is not None]

    def show(self, entries: Sequence[Entry[Id]], prefer: Id | None = None) -> None:
        """Show other entries, or the same with other lines."""
        lines = self._cursor_lines()
        top = self.top
        in_sight = lines is None or (lines[0] < top + self.size.height and lines[1] > top)
        self._entries = entries
        self._starts = [0, *accumulate(heights_of(entries))]
        total = self._starts.pop()
        self._items, ids = items_of(entries)
        self._places = dict(zip(ids, range(len(ids)), strict=True))
        wanted = [i for i in (self.chosen, prefer) if i is not None and i in self._places]
        self.cursor = wanted[0] if wanted else ids[0] if ids else None
        self._drawn.clear()
        # a width that never changes: with another one Textual would lay out and paint again
        self.virtual_size = Size(1, total)
        # the bar comes or goes in the layout that follows: Textual would find out after that, and
        # lay out and paint once more
        bar = self.vertical_scrollbar
        height = self._height
        self.show_vertical_scrollbar = bar.display = total > height > 0
        bar.window_virtual_size = total
        bar.window_size = height
        if in_sight:
            self._reveal()
        self.repaint()

    def _entry_at(self, line: int) -> tuple[int, Entry[Id]] | None:
        """The entry in a line of the list, and its place."""
        index = bisect_right(self._starts, line) - 1
        if index < 0 or line >= self._starts[index] + self._entries[index].height:
            return None
        return index, self._entries[index]

    @property
    def top(self) -> int:
        return self.scroll_offset.y

    def line_of(self, at: int) -> Line:
        found = self._entry_at(at)
        if found is None:
            return []
        index, entry = found
        here = entry.id is not None and entry.id == self.cursor
        lines = self._drawn.get((index, here))
        if lines is None:
            drawn = self.isolate_faults(lambda: entry.draw(here), entry.height)
            lines = self._drawn[index, here] = drawn
        return lines[at - self._starts[index]]

    # -- the cursor ------------------------------------------------------------------------

    def put(self, item: Id) -> None:
        """The user puts the cursor on an item."""
        moved = item != self.cursor
        self.chosen = item
        if item in self._places:
            self.cursor = item
            self._reveal()
            self.repaint()
        if moved:
            self._tell("on_line_list_moved")

    def move(self, by: int, *, around: bool = False) -> None:
        """Move the cursor by items, or ``around`` the end; without items scroll by lines."""
        if not self._items:
            self.scroll_relative(y=by, animate=False)
            return
        here = self._places.get(self.cursor, 0) if self.cursor is not None else 0
        self._put_at((here + by) % len(self._items) if around else here + by)

    def move_to_end(self, last: bool) -> None:
        """Move the cursor to the first or the last item."""
        count = len(self._items) or self.virtual_size.height
        self.move(count if last else -count)

    def move_section(self, by: int) -> None:
        """Move to the first item of the next or previous section: one that follows a heading."""
        starts = [n for n, i in enumerate(self._items) if not i or self._entries[i - 1].id is None]
        here = self._places.get(self.cursor, 0) if self.cursor is not None else 0
        if not starts:
            return
        if by > 0:
            self._put_at(next((s for s in starts if s > here), starts[0]))
        else:
            self._put_at(next((s for s in reversed(starts) if s < here), starts[-1]))

    def _put_at(self, place: int) -> None:
        item = self._entries[self._items[max(0, min(len(self._items) - 1, place))]].id
        if item is not None:
            self.put(item)

    # -- scrolling -------------------------------------------------------------------------

    def _cursor_lines(self) -> tuple[int, int] | None:
        """First and one-past-last line of the item at the cursor; that of the first item begins at
        0, with its heading. None without an item."""
        place = self._places.get(self.cursor) if self.cursor is not None else None
        if place is None:
            return None
        index = self._items[place]
        top = 0 if place == 0 else self._starts[index]
        return top, self._starts[index] + self._entries[index].height

    def _reveal(self) -> None:
        """Scroll so that the item at the cursor is visible."""
        lines = self._cursor_lines()
        at = self.top
        if lines is None or not self.size.height:
            return
        least = lines[1] - self.size.height
        wanted = max(least, min(max(at, least), max(lines[0], 0)))
        if wanted != at:
            # forced: a list that was short until now has no scroll bar yet
            self.scroll_to(y=wanted, animate=False, immediate=True, force=True)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if round(old_value) != round(new_value):
            self._painted.clear()
            self._tell("on_line_list_scrolled")

    def _tell(self, handler: str) -> None:
        """Call the handler of the nearest ancestor that has one. Not as a message, which arrives
        after the list has been painted: what depends on the cursor is painted together with it."""
        for node in self.ancestors:
            if (told := getattr(node, handler, None)) is not None:
                told()
                return

    def on_resize(self, event: events.Resize) -> None:
        super().on_resize(event)
        self._reveal()
        self._tell("on_line_list_scrolled")

    # -- mouse -----------------------------------------------------------------------------

    def on_click(self, event: events.Click) -> None:
        """A click chooses an item, a second one opens it."""
        found = self._entry_at(event.y + self.top)
        item = found[1].id if found else None
        if item is None:
            event.stop()
        elif item == self.cursor:
            self.chosen = item
            self.post_message(self.Opened())
        else:
            self.put(item)
