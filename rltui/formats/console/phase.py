"""What a training is doing since its newest row, by the lines of its console that say so.

The signs are in ``data/log_signs/phases.yaml``. Each is only tried on lines with one of its words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from string import ascii_lowercase, ascii_uppercase, digits
from typing import NamedTuple

from rltui.core.batch import Phase
from rltui.core.text import clean
from rltui.formats.console.console_line import ANSI
from rltui.formats.console.line_dispatch import Markers, marked_lines
from rltui.formats.log_sign import Sign, first_match, signs

#: Capitals are small letters, and digits are "#".
_FOLDED = bytes.maketrans(
    ascii_uppercase.encode() + digits.encode(), ascii_lowercase.encode() + b"#" * len(digits)
)
_CLOCK = re.compile(rb"\b((\d\d):(\d\d)):(\d\d)\b")
_DAY_S = 86400
#: Bytes of the end of a log that are looked at, of those before its newest row, or the last piece,
#: and of a line.
_END, _BEFORE, _WAITING, _LINE = 1 << 18, 1 << 15, 1 << 14, 400


class _Document(NamedTuple):
    """``data/log_signs/phases.yaml``; see there for the meaning of each field."""

    ends: tuple[Sign, ...]
    begins: tuple[Sign, ...]


@lru_cache(maxsize=1)
def _known() -> tuple[tuple[re.Pattern[str], ...], Markers]:
    """The patterns in the order in which they are tried, and the words of each."""
    document = signs(_Document, "phases")
    known = document.ends + document.begins
    words = tuple((tuple(word.encode() for word in sign.words), ()) for sign in known)
    return tuple(sign.pattern for sign in known), words


class PhaseSearch:
    """Follows the phases of one log."""

    def __init__(self) -> None:
        self.phase: Phase | None = None
        """The newest one that began after the newest row."""
        self._name = ""
        self._times: list[int] = []
        """The first and last time of day after that row, in seconds."""
        self._took: dict[str, float] = {}
        """Name of a phase -> seconds that it last took."""
        self._waiting, self._any_row = b"", False
        """What came after that row and was not looked at yet."""

    def feed(self, data: bytes, row_end: int | None, *, more: bool = False) -> None:
        """Look at the next piece; ``row_end``: where the newest row in it ends, negative when that
        is before it; ``more``: whether others are known to follow, with which it may be read."""
        row = max(0, row_end or 0)
        if row_end is not None:
            before = b"" if more else self._waiting + data[max(0, row - _BEFORE) : row]
            self._search(before)
            self._waiting, self._any_row = b"", True
            self.phase, self._name, self._times = None, "", []
        if not self._times:
            self._times = _times(data[row : row + _BEFORE].splitlines())
        text, self._waiting = self._waiting + data[max(row, len(data) - _END) :], b""
        if more and (len(text) < _WAITING or not self._any_row):
            self._waiting = text[-_WAITING:]
            return
        self._search(text)
        if self._times:
            self._times[1:] = _times(reversed(text.splitlines())) or self._times[1:]

    @property
    def lasted_s(self) -> float:
        """Seconds from the first to the last time after the newest row, of a day at most."""
        return float((self._times[-1] - self._times[0]) % _DAY_S) if self._times else 0.0

    def _search(self, text: bytes) -> None:
        """Look at lines, in order; of the patterns that match one the first counts."""
        if b"\x1b" in text:
            text = ANSI.sub(b"", text)
        text = text.replace(b"\r", b"\n") + b"\n"
        patterns, words = _known()
        for begin, numbers in marked_lines(text.translate(_FOLDED), words):
            line = text[begin : begin + _LINE].partition(b"\n")[0].decode(errors="replace")
            found = first_match((patterns[number] for number in numbers), line)
            if found is not None:
                self._take(line, found)

    def _take(self, line: str, found: re.Match[str]) -> None:
        """Begin or end the phase of a line."""
        parts = found.groupdict()
        name = clean(parts["what"]).strip()
        if "took" in parts:
            self._took[name] = float(parts["took"])
            if name == self._name:
                self.phase, self._name = None, ""
            return
        clock = _CLOCK.search(line.encode())
        since = clock[1].decode() if clock else ""
        if name == self._name and self.phase is not None:
            since = self.phase.since
        self._name = name
        done, total = (int(parts[part]) if parts.get(part) else None for part in ("done", "total"))
        self.phase = Phase(name, since, done, total, self._took.get(name))


def _times(lines: Iterable[bytes]) -> list[int]:
    """The time of day of the first line that has one, in seconds; empty without one."""
    for line in lines:
        found = _CLOCK.search(line, 0, _LINE)
        if found:
            hour, minute, second = map(int, found.groups()[1:])
            return [3600 * hour + 60 * minute + second]
    return []
