"""What a terminal shows, cell by cell, and the shortest text that makes it show something else.

Only cells that differ are written, all of one ink before those of the next: a change of colour
costs as much as twenty digits, moving the cursor as much as eight. A row that holds anything but
narrow characters is rewritten from its first change to its end, because terminals disagree about
the width of emoji; each odd cluster is followed by an absolute move of the cursor, so that the
rest of the row stands where it belongs whatever the terminal made of it.

No control character of a strip's text reaches the terminal.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from rich.cells import cell_len
from rich.color import ColorSystem
from textual.strip import Strip

from rltui.tui.theming import START, Ink, InkTable

#: Characters that every terminal shows in exactly one cell: Latin, Greek, Cyrillic, punctuation,
#: arrows, operators, box drawing, blocks, braille.
PLAIN = re.compile(
    "[ -~\u00a1-\u00ac\u00ae-\u02ff\u0370-\u0377\u037a-\u037f\u0384-\u038a\u038e-\u03a1"
    "\u03a3-\u0482\u2010-\u2027\u2030-\u205e\u2190-\u22ff\u2500-\u25fc\u2714\u2716\u2718"
    "\u2800-\u28ff]*"
)
#: A cell that nothing is known about, and the right half of a wide character.
_UNKNOWN, _RIGHT_HALF = "\x00", "\x01"
#: Clusters of several code points are kept in rows under one code point of this private plane.
_FIRST_NAME, _LAST_NAME = 0x100000, 0x10FFFD
#: A gap of unchanged cells up to this many bytes is written again rather than jumped over.
_GAP_BYTES = 4

#: (row, column, text) of narrow cells of one ink.
_Run = tuple[int, int, str]


class UnknownContentError(ValueError):
    """A strip holds something that cannot be mapped to cells."""


class _Row:
    """Characters (one per cell) and inks of a row, and the strips that put them there."""

    __slots__ = ("inks", "strips", "text")

    def __init__(self) -> None:
        self.text = ""
        self.inks: list[Ink] = []
        self.strips: dict[int, tuple[int, Strip]] = {}

    def disclaim(self, begin: int, end: int) -> None:
        """Forget the strips that these cells came from."""
        strips = self.strips
        for x in [x for x, (to, _) in strips.items() if x < end and to > begin]:
            del strips[x]

    def splice(self, begin: int, text: str, inks: list[Ink]) -> list[int]:
        """Put cells in; returns the columns that differ from what was there."""
        end, missing = begin + len(text), begin + len(text) - len(self.text)
        if missing > 0:
            self.text += _UNKNOWN * missing
            self.inks += [START] * missing
        was, were = self.text[begin:end], self.inks[begin:end]
        if was == text and were == inks:
            return []
        changed = [
            x
            for x, (a, b, c, d) in enumerate(zip(was, text, were, inks, strict=True), begin)
            if a != b or c is not d
        ]
        self.text = self.text[:begin] + text + self.text[end:]
        self.inks[begin:end] = inks
        if was[0] == _RIGHT_HALF and begin:
            changed.append(self._blank(begin - 1))
        if self.text[end : end + 1] == _RIGHT_HALF:
            changed.append(self._blank(end))
        return changed

    def _blank(self, x: int) -> int:
        """Half of a wide character was overwritten: terminals blank the other half."""
        self.text = self.text[:x] + " " + self.text[x + 1 :]
        self.disclaim(x, x + 1)
        return x


class TerminalCells:
    """The picture of a terminal. It writes nothing itself."""

    def __init__(self, color_system: ColorSystem) -> None:
        self._inks = InkTable(color_system)
        self._rows: list[_Row] = []
        self._names: dict[str, str] = {}
        self._clusters: dict[str, str] = {}

    def forget(self) -> None:
        """Nothing is known about what the terminal shows: whatever comes next is written."""
        self._rows.clear()

    def show(self, rows: Iterable[tuple[int, Iterable[tuple[int, Strip]]]]) -> str:
        """The control sequences that put strips on the screen; "" when they are there already.

        ``rows`` yields (row, [(column, strip), ...]). The style is the default one before and
        after. Raises UnknownContentError, after which the picture is worthless.
        """
        runs: dict[Ink, list[_Run]] = {}
        rewritten: list[tuple[int, int]] = []
        for y, strips in rows:
            while len(self._rows) <= y:
                self._rows.append(_Row())
            row = self._rows[y]
            before, changed = row.text, self._put(row, strips)
            if not changed:
                continue
            if not (PLAIN.fullmatch(before) and before and PLAIN.fullmatch(row.text)):
                rewritten.append((y, min(changed)))
                continue
            for ink, run in _runs(y, row, changed):
                runs.setdefault(ink, []).append(run)
        if not runs and not rewritten:
            return ""
        out = _Writer()
        for ink in sorted(runs, key=lambda i: i.order):
            out.ink(ink)
            for run in runs[ink]:
                out.run(*run)
        for y, begin in rewritten:
            self._rewrite(out, y, begin)
        return out.text()

    def _put(self, row: _Row, strips: Iterable[tuple[int, Strip]]) -> list[int]:
        """Apply strips to a row; returns the columns that changed."""
        changed: list[int] = []
        for x, strip in strips:
            held = row.strips.get(x)
            if held is not None and held[1] is strip:
                continue
            text, inks = self._cells(strip)
            if text:
                row.disclaim(x, x + len(text))
                changed += row.splice(x, text, inks)
                row.strips[x] = (x + len(text), strip)
        return changed

    def _cells(self, strip: Strip) -> tuple[str, list[Ink]]:
        """One character per cell of a strip, and the ink of each."""
        inks: list[Ink] = []
        texts: list[str] = []
        pair = self._inks.pair
        for text, style, control in strip:
            if control:
                raise UnknownContentError(text)
            if not PLAIN.fullmatch(text):
                text = self._named(text)
            ink, blank = pair(style)
            texts.append(text)
            if blank is ink or " " not in text:
                inks += [ink] * len(text)
            elif text.isspace():
                inks += [blank] * len(text)
            else:
                inks += [blank if c == " " else ink for c in text]
        return "".join(texts), inks

    def _named(self, text: str) -> str:
        """One character per cell of a text of any characters."""
        cells: list[str] = []
        for cluster, width in split_clusters(text):
            name = cluster
            if len(cluster) > 1 or ord(cluster) >= _FIRST_NAME:
                name = self._names.get(cluster) or self._name(cluster)
            cells += (name, _RIGHT_HALF) if width == 2 else (name,)
        return "".join(cells)

    def _name(self, cluster: str) -> str:
        code = _FIRST_NAME + len(self._names)
        if code > _LAST_NAME:  # never seen; everything starts anew
            self._names.clear()
            self._clusters.clear()
            raise UnknownContentError(cluster)
        name = self._names[cluster] = chr(code)
        self._clusters[name] = cluster
        return name

    def _rewrite(self, out: _Writer, y: int, begin: int) -> None:
        """Write a row from a column to its end, from left to right."""
        row = self._rows[y]
        x, end = begin, len(row.text)
        while x < end:
            cell, ink = row.text[x], row.inks[x]
            if cell in (_UNKNOWN, _RIGHT_HALF):
                x += 1
            elif not PLAIN.fullmatch(cell):
                wide = row.text[x + 1 : x + 2] == _RIGHT_HALF
                out.ink(ink)
                out.cluster(y, x, self._clusters.get(cell, cell), 2 if wide else 1)
                x += 1
            else:
                to = x + 1
                while (
                    to < end
                    and PLAIN.fullmatch(row.text[to])
                    and (joined := _joined(ink, row.inks[to])) is not None
                ):
                    ink, to = joined, to + 1
                out.ink(ink)
                out.run(y, x, row.text[x:to])
                x = to


@lru_cache(maxsize=2048)
def split_clusters(text: str) -> tuple[tuple[str, int], ...]:
    """What a terminal shows as one character each, and the width of it (1 or 2 cells).

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


def _runs(y: int, row: _Row, changed: list[int]) -> Iterable[tuple[Ink, _Run]]:
    """The changed cells of a row of plain characters, joined to runs of one ink."""
    text, inks = row.text, row.inks
    begin = end = changed[0]
    ink = inks[begin]
    for x in changed:
        joined = _joined(ink, inks[x])
        if joined is not None and x > end:
            joined = _across(joined, row, end, x)
        if joined is None:
            yield ink, (y, begin, text[begin:end])
            begin, joined = x, inks[x]
        ink, end = joined, x + 1
    yield ink, (y, begin, text[begin:end])


def _joined(one: Ink, other: Ink) -> Ink | None:
    """The ink in which cells of both inks can be written, or None."""
    if one is other or (other.fg is None and one.shows(other)):
        return one
    return other if one.fg is None and other.shows(one) else None


def _across(ink: Ink, row: _Row, begin: int, end: int) -> Ink | None:
    """The ink in which the unchanged cells between can be written too, if that is shorter."""
    if end - begin > _GAP_BYTES or len(row.text[begin:end].encode()) > _GAP_BYTES:
        return None
    found: Ink | None = ink
    for x in range(begin, end):
        found = _joined(found, row.inks[x]) if found is not None else None
    return found


class _Writer:
    """Collects control sequences; knows where the cursor is and the ink in use."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._ink = START
        self._y = self._x = -1

    def ink(self, wanted: Ink) -> None:
        """Write in this ink from now on."""
        codes, self._ink = self._ink.codes_to(wanted)
        if codes:
            self._parts.append(codes)

    def run(self, y: int, x: int, text: str) -> None:
        """Write narrow characters at a place."""
        self._move(y, x)
        self._parts.append(text)
        self._x = x + len(text)

    def cluster(self, y: int, x: int, text: str, width: int) -> None:
        """Write one character of a width that terminals may not agree about."""
        settled = len(text) == 1 and ord(text) < 0x10000
        if not settled:  # a terminal that draws it narrower must not leave what was there
            self.run(y, x, " " * width)
        self._move(y, x)
        self._parts.append(text)
        self._x = x + width if settled else -1

    def _move(self, y: int, x: int) -> None:
        if y == self._y and 0 <= self._x <= x:
            far = x - self._x
            if far:
                self._parts.append("\x1b[C" if far == 1 else f"\x1b[{far}C")
        else:
            self._parts.append(f"\x1b[{y + 1};{x + 1}H")
        self._y, self._x = y, x

    def text(self) -> str:
        """Everything, with the default style put back."""
        self.ink(START)
        return "".join(self._parts)
