"""Activity of a training since its newest row, by the lines of its console that name it.

The signs are in ``data/log_signs/phases.yaml``. Each is only tried on lines with one of its words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from string import ascii_lowercase, ascii_uppercase, digits
from typing import NamedTuple

from rltui.core.batch import Phase
from rltui.core.text import clean
from rltui.formats.console.console_line import ANSI
from rltui.formats.console.line_dispatch import Marked, Markers, marked_lines
from rltui.formats.log_sign import Sign, first_match, signs

#: Capitals are small letters, and digits are "#".
_FOLDED = bytes.maketrans(
    ascii_uppercase.encode() + digits.encode(), ascii_lowercase.encode() + b"#" * len(digits)
)
_CLOCK = re.compile(rb"\b((\d\d):(\d\d)):(\d\d)\b")
_DAY_S = 86400
#: Bytes of the end of a log that are looked at, of those before its newest row, of small pieces
#: that are joined, and of a line.
_END = 1 << 18
_BEFORE = 1 << 15
_WAITING = 1 << 14
_LINE = 400


class _Document(NamedTuple):
    """``data/log_signs/phases.yaml``; see there for the meaning of each field."""

    ends: tuple[Sign, ...]
    begins: tuple[Sign, ...]


class _Known(NamedTuple):
    """The patterns in the order in which they are tried, those of ends first."""

    patterns: tuple[re.Pattern[str], ...]
    markers: Markers
    ends: int


@lru_cache(maxsize=1)
def _known() -> _Known:
    document = signs(_Document, "phases")
    known = document.ends + document.begins
    words = tuple((tuple(word.encode() for word in sign.words), ()) for sign in known)
    return _Known(tuple(sign.pattern for sign in known), words, len(document.ends))


def _found(text: bytes, begin: int, numbers: Sequence[int]) -> re.Match[str] | None:
    """The first of some patterns that matches a line."""
    line = text[begin : begin + _LINE].partition(b"\n")[0].decode(errors="replace")
    return first_match((_known().patterns[number] for number in numbers), line)


class PhaseSearch:
    """Follows the phases of one log."""

    def __init__(self) -> None:
        self.phase: Phase | None = None
        """The newest one that began after the newest row."""
        self._name = self._line = ""
        """Name of the newest phase, and the first line with it."""
        self._times: list[int] = []
        """The first and last time of day after that row, in seconds."""
        self._took: dict[str, float] = {}
        """Name of a phase -> seconds that it last took."""
        self._waiting = b""
        self._any_row = False
        """Output after that row that was not looked at yet: a row may make it old."""

    def feed(self, data: bytes, row_end: int | None, *, more: bool = False) -> None:
        """Look at the next piece; ``row_end``: where the newest row in it ends, negative when that
        is before it; ``more``: whether others are known to follow, with which it may be read."""
        row = max(0, row_end or 0)
        if row_end is not None:
            if not more:
                self._search((self._waiting + data[max(0, row - _BEFORE) : row])[-_BEFORE:])
            self._waiting = b""
            self._any_row = True
            self.phase = None
            self._name = ""
            self._times = []
        if not self._times:
            self._times = _times(data[row : row + _BEFORE].splitlines())
        text = data[max(row, len(data) - _END) :]
        if not (more and self._any_row) or len(self._waiting) + len(text) < _WAITING:
            text = self._waiting + text
        else:
            self._look(self._waiting)  # no row has made it old
        if more:
            self._waiting = text if self._any_row else text[-_WAITING:]
            return
        self._waiting = b""
        self._look(text)

    def _look(self, text: bytes) -> None:
        """Look at what came after the newest row."""
        self._search(text)
        if self._times:
            self._times[1:] = _times(reversed(text.splitlines())) or self._times[1:]

    @property
    def lasted_s(self) -> float:
        """Seconds from the first to the last time after the newest row, of a day at most."""
        return float((self._times[-1] - self._times[0]) % _DAY_S) if self._times else 0.0

    def _search(self, text: bytes) -> None:
        """Look at lines: from the last one back, since the newest phase counts."""
        if b"\x1b" in text:
            text = ANSI.sub(b"", text)
        text = text.replace(b"\r", b"\n") + b"\n"
        marked = marked_lines(text.translate(_FOLDED), _known().markers)
        ended = self._ended(text, marked)
        newest = None
        before = self._name
        for begin, numbers in reversed(marked):
            found = _found(text, begin, numbers)
            if found is None or "took" in found.re.groupindex:
                continue
            name = found["what"].strip()
            if ended.get(name, -1) > begin or (newest is not None and name != self._name):
                before = ""
                break
            newest = newest or found
            self._name = name
            line = found.string
        if newest is None:
            if not before or before in ended:
                self.phase = None
                self._name = ""
            return
        if before != self._name or before in ended:
            self._line = line
        clock = _CLOCK.search(self._line.encode())
        parts = newest.groupdict()
        done, total = (int(n) if n else None for n in map(parts.get, ("done", "total")))
        name = clean(self._name).strip()
        began = clock[1].decode() if clock else ""
        self.phase = Phase(name, began, done, total, self._took.get(self._name))

    def _ended(self, text: bytes, marked: Sequence[Marked]) -> dict[str, int]:
        """Where the phases that end last did so."""
        ended: dict[str, int] = {}
        for begin, numbers in marked:
            found = _found(text, begin, numbers) if numbers[0] < _known().ends else None
            if found is not None and "took" in found.re.groupindex:
                name = found["what"].strip()
                self._took[name] = float(found["took"])
                ended[name] = begin

        return ended


def _times(lines: Iterable[bytes]) -> list[int]:
    """The time of day of the first line that has one, in seconds; empty without one."""
    for line in lines:
        found = _CLOCK.search(line, 0, _LINE)
        if found:
            hour, minute, second = map(int, found.groups()[1:])
            return [3600 * hour + 60 * minute + second]
    return []
