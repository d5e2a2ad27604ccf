"""Writes to the terminal only the cells that differ from what it shows.

An app derives from :class:`CellDiffApp` instead of ``textual.app.App``; nothing else is needed,
whatever it shows (widgets, screens, modal screens, the palette, notifications). The app calls
:meth:`CellDiffApp.repaint_terminal` where something else wrote to the terminal; after a
suspension and a change of size that happens by itself.

This sits where Textual hands an update of its compositor to the driver, and is the only module
that uses private parts of Textual. Where one is missing, an update is of an unknown kind or the
app has no full screen of its own (inline, headless), it steps aside: Textual writes its own
sequence, and what is known about the terminal is forgotten. (:mod:`rltui.tui.terminal_picture`
replaces Textual's parser of input, and leaves it where it is missing.)
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

from rich.cells import cell_len
from rich.color import ColorSystem
from textual import _compositor as compositor
from textual import events, on
from textual.app import App
from textual.geometry import Region, Size
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

#: Characters that every terminal shows in exactly one cell: Latin, Greek, Cyrillic, punctuation,
#: arrows, operators, box drawing, blocks, braille.
PLAIN = re.compile(
    "[ -~\u00a1-\u00ac\u00ae-\u02ff\u0370-\u0377\u037a-\u037f\u0384-\u038a\u038e-\u03a1"
    "\u03a3-\u0482\u2010-\u2027\u2030-\u205e\u2190-\u22ff\u2500-\u25fc\u2714\u2716\u2718"
    "\u2800-\u28ff]*"
)
#: A cell that nothing is known about, and the right half of a wide character.
_UNKNOWN = "\x00"
_RIGHT_HALF = "\x01"
#: A gap of unchanged cells up to this many bytes is written again rather than jumped over.
_GAP_BYTES = 4
#: Attribute code -> the code that ends it. One code may end several.
_ENDED_BY = {
    "1": "22", "2": "22", "3": "23", "4": "24", "5": "25", "6": "25", "7": "27", "8": "28",
    "9": "29", "21": "24", "51": "54", "52": "54", "53": "55",
}  # fmt: skip
#: Attributes that a blank cell shows: lines, boxes, reverse.
_SEEN_ON_BLANKS = frozenset({"4", "7", "9", "21", "51", "52", "53"})
#: What a link may be made of: no control character ends its sequence early.
_ADDRESS = re.compile("[!-~]*")
_SGR = re.compile(r"\x1b\[([\d;]*)mx")


class UnknownContentError(ValueError):
    """A strip holds something that cannot be mapped to cells."""


class Ink(NamedTuple):
    """One look of cells, as codes of SGR. Its order is that in which inks are written."""

    bg: str = "49"
    attributes: tuple[str, ...] = ()
    fg: str = "39"
    """Empty for blanks, which show no foreground."""
    link: str = ""
    """Address that a click opens."""

    def shows(self, blank: Ink) -> bool:
        """Whether a blank of the ink ``blank`` looks the same when written in this one."""
        alike = self.bg == blank.bg and self.link == blank.link
        return alike and _SEEN_ON_BLANKS.isdisjoint(self.attributes)

    def joined(self, other: Ink) -> Ink | None:
        """The ink in which cells of both inks can be written, or None."""
        if self is other or (not other.fg and self.shows(other)):
            return self
        return other if not self.fg and other.shows(self) else None


#: The look of a terminal that was set to nothing.
_START = Ink()


class _Row:
    """Characters and inks of the cells of a row, and the strips that put them there."""

    __slots__ = ("cells", "inks", "strips")

    def __init__(self) -> None:
        self.cells: list[str] = []
        self.inks: list[Ink] = []
        self.strips: dict[int, Strip] = {}

    def splice(self, begin: int, cells: list[str], inks: list[Ink]) -> list[int]:
        """Put cells in; returns the columns that differ from what was there."""
        end = begin + len(cells)
        missing = end - len(self.cells)
        self.cells += [_UNKNOWN] * missing
        self.inks += [_START] * missing
        was = self.cells[begin:end]
        were = self.inks[begin:end]
        if was == cells and were == inks:
            return []
        columns = zip(range(begin, end), was, cells, were, inks, strict=True)
        changed = [x for x, a, b, c, d in columns if a != b or c is not d]
        self.cells[begin:end] = cells
        self.inks[begin:end] = inks

        # half of a wide character was overwritten: terminals blank the other half
        halves = [begin - 1] if was[0] == _RIGHT_HALF and begin else []
        halves += [end] if self.cells[end : end + 1] == [_RIGHT_HALF] else []
        for x in halves:
            self.cells[x] = " "
            self.strips.clear()
        return changed + halves


class TerminalCells:
    """The cells that a terminal shows, and the shortest text that makes it show others. It writes
    nothing itself.

    Only cells that differ are written, all of one ink before those of the next: a change of colour
    costs as much as twenty digits, moving the cursor as much as eight. A row that holds anything
    but narrow characters is rewritten from its first change to its end, because terminals disagree
    about the width of emoji; each odd cluster is followed by an absolute move of the cursor, so
    that the rest of the row is where it belongs whatever the terminal made of it. No control
    character of a strip's text reaches the terminal.
    """

    def __init__(self, color_system: ColorSystem) -> None:
        self._color_system = color_system
        self._rows: list[_Row] = []
        self.written: list[Region] = []
        """Where cells were to be written last."""

    def forget(self) -> None:
        """Forget what the terminal shows, so that whatever comes next is written."""
        self._rows.clear()

    def show(self, rows: Iterable[tuple[int, Iterable[tuple[int, Strip]]]]) -> str:
        """The control sequences that put strips on the screen; "" when they are there already.

        ``rows`` yields (row, [(column, strip), ...]). The style is the default one before and
        after. Raises UnknownContentError, after which the picture is worthless.
        """
        runs: dict[Ink, list[tuple[int, int, str]]] = {}
        rewritten: list[tuple[int, int]] = []
        self.written.clear()
        for y, strips in rows:
            while len(self._rows) <= y:
                self._rows.append(_Row())
            row = self._rows[y]
            before = "".join(row.cells)
            changed = self._put(row, strips)
            if not changed:
                continue
            begin = min(changed)
            end = max(changed) + 1
            if before and PLAIN.fullmatch(before) and PLAIN.fullmatch("".join(row.cells)):
                for ink, x, text in _runs(row, changed):
                    runs.setdefault(ink, []).append((y, x, text))
            else:
                rewritten.append((y, begin))
                end = len(row.cells)
            self.written.append(Region(begin, y, end - begin, 1))
        if not runs and not rewritten:
            return ""

        out = _Writer()
        for ink in sorted(runs):
            for y, x, text in runs[ink]:
                out.write(y, x, text, ink)
        for y, begin in rewritten:
            cells = self._rows[y].cells
            for x in range(begin, len(cells)):
                if cells[x] not in (_UNKNOWN, _RIGHT_HALF):
                    wide = cells[x + 1 : x + 2] == [_RIGHT_HALF]
                    out.cluster(y, x, cells[x], 1 + wide, self._rows[y].inks[x])

        return out.text()

    def _put(self, row: _Row, strips: Iterable[tuple[int, Strip]]) -> list[int]:
        """Apply strips to a row; returns the columns that changed."""
        changed: list[int] = []
        for x, strip in strips:
            if row.strips.get(x) == strip:
                continue
            cells, inks = self._cells(strip)
            if not cells:
                continue
            end = x + len(cells)
            apart = {n: s for n, s in row.strips.items() if n >= end or n + s.cell_length <= x}
            row.strips = {**apart, x: strip}
            changed += row.splice(x, cells, inks)
        return changed

    def _cells(self, strip: Strip) -> tuple[list[str], list[Ink]]:
        """One character or cluster per cell of a strip, and the ink of each."""
        cells: list[str] = []
        inks: list[Ink] = []
        for text, style, control in strip:
            if control:
                raise UnknownContentError(text)
            chars: Iterable[str] = text
            if not PLAIN.fullmatch(text):
                chars = []
                for cluster, width in split_clusters(text):
                    chars += [cluster, _RIGHT_HALF][:width]
            begin = len(cells)
            cells += chars
            # Rich keeps the codes of a style that was rendered once; there is no public way to
            # them. What a style means to an app (its meta data) does not matter.
            codes: str | None = "" if style is None else getattr(style, "_ansi", None)
            if codes is None and style is not None:
                found = _SGR.search(style.render("x", color_system=self._color_system))
                codes = found[1] if found else ""
            link = (style and style.link) or ""
            ink, blank = _inks(codes or "", link if _ADDRESS.fullmatch(link) else "")
            if blank is ink or " " not in text:
                inks += [ink] * (len(cells) - begin)
            else:
                inks += [blank if c == " " else ink for c in chars]
        return cells, inks


@lru_cache(maxsize=4096)
def _inks(codes: str, link: str) -> tuple[Ink, Ink]:
    """The ink of SGR codes as Rich writes them and of a link, and that of its blanks. Equal ones
    are one object as long as they are in use."""
    attributes = set()
    fg = _START.fg
    bg = _START.bg
    rest = codes.split(";") if codes else []
    while rest:
        code = rest.pop(0)
        if code in ("38", "48"):
            count = 2 if rest[0] == "5" else 4
            code, rest = ";".join([code, *rest[:count]]), rest[count:]
        if code in _ENDED_BY:
            attributes.add(code)
        elif code.startswith(("3", "9")):
            fg = code
        else:
            bg = code
    ink = Ink(bg, tuple(sorted(attributes)), fg, link)
    return ink, ink if attributes & _SEEN_ON_BLANKS else _blank(bg, link)


@lru_cache(maxsize=4096)
def _blank(bg: str, link: str) -> Ink:
    return Ink(bg, (), "", link)


@lru_cache(maxsize=2048)
def split_clusters(text: str) -> tuple[tuple[str, int], ...]:
    """Split a text into what a terminal shows as one character each, and the width of it (1 or 2
    cells).

    Widths are those that Textual lays out with. Control characters are left out, and so is
    what has no width and nothing before it.
    """
    out: list[tuple[str, int]] = []
    for char in text:
        if unicodedata.category(char) == "Cc":
            continue
        width = cell_len(char)
        if out:
            held, held_width = out[-1]
            together = cell_len(held + char)
            if width == 0 or together < held_width + width:
                out[-1] = (held + char, together)
                continue
        if width:
            out.append((char, width))
    if sum(width for _, width in out) != cell_len(text):
        raise UnknownContentError(text)

    return tuple(out)


def _runs(row: _Row, changed: list[int]) -> Iterator[tuple[Ink, int, str]]:
    """The changed cells of a row of plain characters, joined to runs of one ink (ink, column,
    text); unchanged cells between them are written too where that is shorter."""
    cells = row.cells
    inks = row.inks
    begin = end = changed[0]
    ink = inks[begin]
    for x in changed:
        if x == end and inks[x] is ink:  # nearly always
            end += 1
            continue
        joined = ink.joined(inks[x])
        if x > end:
            short = len("".join(cells[end:x]).encode()) <= _GAP_BYTES
            for between in inks[end:x] if short else ():
                joined = joined and joined.joined(between)
            joined = joined if short else None
        if joined is None:
            yield ink, begin, "".join(cells[begin:end])
            begin = x
            joined = inks[x]
        ink = joined
        end = x + 1
    yield ink, begin, "".join(cells[begin:end])


class _Writer:
    """Collects control sequences; knows where the cursor is and the ink in use."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._ink = _START
        self._y = self._x = -1

    def write(self, y: int, x: int, text: str, ink: Ink) -> None:
        """Write narrow characters at a place."""
        self._use(ink)
        if y != self._y or not 0 <= self._x <= x:
            self._parts.append(f"\x1b[{y + 1};{x + 1}H")
        elif x > self._x:
            far = x - self._x
            self._parts.append("\x1b[C" if far == 1 else f"\x1b[{far}C")
        self._parts.append(text)
        self._y, self._x = y, x + len(text)

    def cluster(self, y: int, x: int, text: str, width: int, ink: Ink) -> None:
        """Write one character of a width that terminals may not agree about."""
        settled = len(text) == 1 and ord(text) < 0x10000
        if not settled:  # a terminal that draws it narrower must not leave what was there
            self.write(y, x, " " * width, ink)
        self.write(y, x, text, ink)
        self._x = x + width if settled else -1

    def _use(self, wanted: Ink) -> None:
        """Write in this ink from now on."""
        held = self._ink
        if wanted == held or (not wanted.fg and held.shows(wanted)):
            return
        wanted = wanted._replace(fg=wanted.fg or held.fg)
        ended = {_ENDED_BY[a] for a in held.attributes if a not in wanted.attributes}
        kept = {a for a in held.attributes if _ENDED_BY[a] not in ended}
        codes = sorted(ended) + [a for a in wanted.attributes if a not in kept]
        if wanted.fg != held.fg:
            codes.append(wanted.fg)
        if wanted.bg != held.bg:
            codes.append(wanted.bg)
        if codes:
            plain = wanted[:3] == _START[:3]
            self._parts.append("\x1b[0m" if plain else f"\x1b[{';'.join(codes)}m")
        if wanted.link != held.link:
            self._parts.append(f"\x1b]8;;{wanted.link}\x1b\\")
        self._ink = wanted

    def text(self) -> str:
        """Everything, with the default style put back."""
        self._use(_START)
        return "".join(self._parts)


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

    @property
    def written(self) -> list[Region]:
        """Where the newest update has written cells."""
        return [] if self._terminal_cells is None else self._terminal_cells.written

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
        """Text to write for an update; None when that is up to Textual."""
        driver = self._driver
        system = self.console._color_system
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
        x = update.region.x
        placed = []
        for strip in (line,) if isinstance(line, Strip) else line:
            placed.append((x, strip))
            x += strip.cell_length
        yield y, placed


def _chops_rows(update: compositor.ChopsUpdate) -> _Rows:
    """The strips that some spans touch: whole, since to cut one takes as long as to compare it."""
    for y, begin, end in update.spans:
        chops = zip(update.chop_ends[y], update.chops[y].items(), strict=False)
        yield y, [(x, s) for to, (x, s) in chops if s is not None and x < end and to > begin]
