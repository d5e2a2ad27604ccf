"""What a terminal must be told so that it shows other lines.

Only cells that differ are written, all of one style before those of the next: a change of
colour costs as much as twenty digits, moving the cursor as much as eight. It knows what stands
on the screen from its caller only, and writes nothing itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rltui.core.text import cell_width, narrow
from rltui.present.kit.line import Line, Style
from rltui.tui.theming import Palette

_RESET = "\x1b[0m"
_BOLD, _DIM, _UNDERLINE, _REVERSE = 1, 2, 4, 8
#: Attribute -> code that sets it; 22 ends both bold and dim.
_SET = ((_BOLD, "1"), (_DIM, "2"), (_UNDERLINE, "4"), (_REVERSE, "7"))
#: A gap of so many bytes is written again rather than jumped over.
_GAP_BYTES = 4


@dataclass(frozen=True, slots=True)
class _Ink:
    """What a style means to a terminal; blanks show no foreground, theirs is None."""

    fg: tuple[str, ...] | None
    bg: tuple[str, ...]
    flags: int

    def shows(self, blank: _Ink) -> bool:
        """Whether a blank of the ink ``blank`` looks the same when written with this one."""
        return self.bg == blank.bg and not self.flags & (_UNDERLINE | _REVERSE)


_START = _Ink(("39",), ("49",), 0)

#: (line, column, text) of cells of one ink.
_Run = tuple[int, int, str]


class Patcher:
    """Turns differences between lines into control sequences, for one palette."""

    def __init__(self, palette: Palette) -> None:
        self._palette = palette
        self._inks: dict[Style, tuple[_Ink, _Ink]] = {}
        self._same: dict[_Ink, _Ink] = {}

    def patch(self, before: list[Line], after: list[Line]) -> str:
        """The text that turns a screen of ``before`` into one of ``after``; "" when equal.

        Both have the same number of lines, and lines of the same width.
        """
        groups: dict[_Ink, list[_Run]] = {}
        odd: list[list[tuple[_Ink, _Run]]] = []
        for y, (old, new) in enumerate(zip(before, after, strict=True)):
            if old is new or old == new:
                continue
            x, old, new = _trimmed(old, new)
            was, now = self._cells(old), self._cells(new)
            if len(was[0]) != len(now[0]) or not narrow(was[0]) or not narrow(now[0]):
                odd.append(self._whole(y, x, new))
                continue
            for ink, run in _runs(y, x, was, now):
                groups.setdefault(ink, []).append(run)
        if not groups and not odd:
            return ""
        out = _Writer()
        for ink in sorted(groups, key=lambda i: (i.bg, i.flags, i.fg or ())):
            out.ink(ink)
            for run in groups[ink]:
                out.run(*run)
        for line in odd:
            for ink, run in line:
                out.ink(ink)
                out.run(*run)
        return out.text()

    def _ink(self, look: Style) -> tuple[_Ink, _Ink]:
        """The ink of a style, and that of its blanks; equal inks are one object."""
        held = self._inks.get(look)
        if held is None:
            rich = self._palette.rich(look)
            flags = (
                _BOLD * bool(rich.bold)
                + _DIM * bool(rich.dim)
                + _UNDERLINE * bool(rich.underline)
                + _REVERSE * bool(rich.reverse)
            )
            fg = rich.color.get_ansi_codes(True) if rich.color else ("39",)
            bg = rich.bgcolor.get_ansi_codes(False) if rich.bgcolor else ("49",)
            ink = _Ink(fg, bg, flags)
            blank = ink if flags & (_UNDERLINE | _REVERSE) else _Ink(None, bg, 0)
            ink, blank = self._same.setdefault(ink, ink), self._same.setdefault(blank, blank)
            held = self._inks[look] = (ink, blank)
        return held

    def _cells(self, spans: Line) -> tuple[str, list[_Ink]]:
        """The characters of narrow spans, and the ink of each."""
        inks: list[_Ink] = []
        for text, look in spans:
            ink, blank = self._ink(look)
            if blank is ink or " " not in text:
                inks.extend([ink] * len(text))
            elif text.isspace():
                inks.extend([blank] * len(text))
            else:
                inks.extend([blank if c == " " else ink for c in text])
        return "".join([text for text, _ in spans]), inks

    def _whole(self, y: int, x: int, spans: Line) -> list[tuple[_Ink, _Run]]:
        """Spans with characters of odd widths: written in one go, from left to right."""
        out: list[tuple[_Ink, _Run]] = []
        for text, look in spans:
            out.append((self._ink(look)[0], (y, x, text)))
            x += cell_width(text)
        return out


def _trimmed(old: Line, new: Line) -> tuple[int, Line, Line]:
    """Without the spans that are equal at both ends: first column, rest of old, rest of new."""
    first, most, x = 0, min(len(old), len(new)), 0
    while first < most and old[first] == new[first]:
        x += cell_width(old[first][0])
        first += 1
    last = 0
    while last < most - first and old[-1 - last] == new[-1 - last]:
        last += 1
    return x, old[first : len(old) - last], new[first : len(new) - last]


def _runs(
    y: int, x0: int, was: tuple[str, list[_Ink]], now: tuple[str, list[_Ink]]
) -> Iterable[tuple[_Ink, _Run]]:
    """The cells that differ, joined to runs of one ink."""
    text, inks = now
    changed = [
        i
        for i, (a, b, c, d) in enumerate(zip(was[0], text, was[1], inks, strict=True))
        if a != b or c is not d
    ]
    if not changed:
        return
    begin = end = changed[0]
    ink = inks[begin]
    for i in changed:
        joined = _joined(ink, inks[i])
        if joined is not None and i > end:
            joined = _over(joined, text, inks, end, i)
        if joined is None:
            yield ink, (y, x0 + begin, text[begin:end])
            begin, joined = i, inks[i]
        ink, end = joined, i + 1
    yield ink, (y, x0 + begin, text[begin:end])


def _joined(one: _Ink, other: _Ink) -> _Ink | None:
    """The ink in which cells of both inks can be written, or None."""
    if one is other or (other.fg is None and one.shows(other)):
        return one
    return other if one.fg is None and other.shows(one) else None


def _over(ink: _Ink, text: str, inks: list[_Ink], begin: int, end: int) -> _Ink | None:
    """The ink in which the unchanged cells between can be written too, if it pays."""
    if end - begin > _GAP_BYTES or len(text[begin:end].encode()) > _GAP_BYTES:
        return None
    found: _Ink | None = ink
    for i in range(begin, end):
        found = _joined(found, inks[i]) if found is not None else None
    return found


class _Writer:
    """Collects control sequences and knows where the cursor is and how it writes."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._ink = _START
        self._y = self._x = -1

    def ink(self, wanted: _Ink) -> None:
        """Write in this ink from now on: tells only what differs."""
        held = self._ink
        codes: list[str] = []
        lost, flags = held.flags & ~wanted.flags, held.flags
        if lost & (_BOLD | _DIM):
            codes.append("22")
            flags &= ~(_BOLD | _DIM)
        if lost & _UNDERLINE:
            codes.append("24")
        if lost & _REVERSE:
            codes.append("27")
        codes += [code for flag, code in _SET if wanted.flags & flag & ~flags]
        if wanted.fg is not None and wanted.fg != held.fg:
            codes += wanted.fg
        if wanted.bg != held.bg:
            codes += wanted.bg
        if codes:
            self._parts.append(f"\x1b[{';'.join(codes)}m")
        self._ink = _Ink(held.fg if wanted.fg is None else wanted.fg, wanted.bg, wanted.flags)

    def run(self, y: int, x: int, text: str) -> None:
        """Write ``text`` at a place."""
        if (y, x) != (self._y, self._x):
            if y == self._y and x > self._x:
                far = x - self._x
                self._parts.append("\x1b[C" if far == 1 else f"\x1b[{far}C")
            else:
                self._parts.append(f"\x1b[{y + 1};{x + 1}H")
        self._parts.append(text)
        self._y, self._x = y, x + cell_width(text)

    def text(self) -> str:
        """Everything, with the style put back."""
        return "".join(self._parts) + _RESET
