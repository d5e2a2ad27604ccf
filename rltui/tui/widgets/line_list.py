"""The list: items of lines, a cursor that stays on its item, scrolling."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import ClassVar, Generic

from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.scrollbar import ScrollBarRender

from rltui.draw.line import Entry, Id, Line, heights_of, items_of
from rltui.tui.widgets.lines import LinePainter


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
        self._drawn: dict[tuple[int, bool], list[Line]] = {}
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
        """First and one-past-last item in sight."""
        top = self.scroll_offset.y
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
        """The items of which a line is in sight."""
        top = self.scroll_offset.y
        first = max(0, bisect_right(self._starts, top) - 1)
        last = bisect_right(self._starts, top + max(1, self._height) - 1)
        entries = [self._entries[i] for i in range(first, last)]
        return [e.id for e in entries if e.id is not None]

    def show(self, entries: Sequence[Entry[Id]], prefer: Id | None = None) -> None:
        """Show other entries, or the same with other lines."""
        lines, top = self._cursor_lines(), self.scroll_offset.y
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
        bar, height = self.vertical_scrollbar, self._height
        self.show_vertical_scrollbar = bar.display = total > height > 0
        bar.window_virtual_size, bar.window_size = total, height
        if in_sight:
            self._reveal()
        self.repaint()

    def _entry_at(self, line: int) -> tuple[int, Entry[Id]] | None:
        """The entry in a line of the list, and its place."""
        index = bisect_right(self._starts, line) - 1
        if index < 0 or line >= self._starts[index] + self._entries[index].height:
            return None
        return index, self._entries[index]

    def line_of(self, y: int) -> Line:
        at = y + self.scroll_offset.y
        found = self._entry_at(at)
        if found is None:
            return []
        index, entry = found
        here = entry.id is not None and entry.id == self.cursor
        lines = self._drawn.get((index, here))
        if lines is None:
            drawn = self.walled(lambda: entry.draw(here), entry.height)
            lines = self._drawn[index, here] = drawn
        return lines[at - self._starts[index]]

    # -- the cursor ------------------------------------------------------------------------

    def put(self, item: Id) -> None:
        """The user puts the cursor on an item."""
        moved, self.chosen = item != self.cursor, item
        if item in self._places:
            self.cursor = item
            self._reveal()
            self.repaint()
        if moved:
            self._tell("on_line_list_moved")

    def move(self, by: int) -> None:
        """Move the cursor by items; without items scroll by lines."""
        if not self._items:
            self.scroll_relative(y=by, animate=False)
            return
        here = self._places.get(self.cursor, 0) if self.cursor is not None else 0
        self._put_at(here + by)

    def move_to_end(self, last: bool) -> None:
        """To the first or the last item."""
        count = len(self._items) or self.virtual_size.height
        self.move(count if last else -count)

    def move_section(self, by: int) -> None:
        """To the first item of the next or previous section: one that follows a heading."""
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
        """Scroll so that the item at the cursor is in sight."""
        lines, at = self._cursor_lines(), self.scroll_offset.y
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
        found = self._entry_at(event.y + self.scroll_offset.y)
        item = found[1].id if found else None
        if item is None:
            return
        if item == self.cursor:
            self.chosen = item
            self.post_message(self.Opened())
        else:
            self.put(item)
