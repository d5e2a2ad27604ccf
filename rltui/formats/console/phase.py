"""What a training is doing since its newest row, by the lines of its console that say so.

The patterns are in ``data/phases.yaml``. Lines that differ in digits alone are looked at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Annotated, NamedTuple

from rltui.core.batch import Phase
from rltui.core.text import clean_bytes
from rltui.core.yaml_document import Node
from rltui.core.yaml_record import Keyed, shipped_record
from rltui.formats.console.console_line import ANSI

_DIGITS = bytes.maketrans(b"0123456789", b"##########")
_CLOCK = re.compile(rb"\b((\d\d):(\d\d)):(\d\d)\b")
_DAY_S = 86400
#: Bytes of the end of a log that are looked at, of those before its newest row, or the last piece,
#: and of a line, and kinds of lines that are remembered.
_END, _BEFORE, _WAITING, _LINE, _MOST_SHAPES = 1 << 18, 1 << 15, 1 << 14, 400, 32


def _patterns(node: Node) -> tuple[re.Pattern[bytes], ...]:
    found = []
    for entry in node.items():
        table = entry.table()
        found.append(re.compile(table.need("pattern").text().encode()))
        table.need("source").text()
        table.finish()
    return tuple(found)


class _Document(NamedTuple):
    """``data/phases.yaml``; see there for the meaning of each field."""

    begins: Annotated[tuple[re.Pattern[bytes], ...], Keyed(read=_patterns)]
    ends: Annotated[tuple[re.Pattern[bytes], ...], Keyed(read=_patterns)]


@lru_cache(maxsize=1)
def _known() -> _Document:
    return shipped_record(_Document, "formats", "data", "phases.yaml")


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
        self._shapes: dict[int, re.Pattern[bytes] | None] = {}
        """Hash of a line with "#" for every digit -> the pattern that it matches."""
        self._waiting, self._any_row = b"", False
        """What came after that row and was not looked at yet."""

    def feed(self, data: bytes, row_end: int | None, *, more: bool = False) -> None:
        """Look at the next piece; ``row_end``: where the newest row in it ends, negative when that
        is before it; ``more``: whether others are known to follow, with which it may be read."""
        row = max(0, row_end or 0)
        if row_end is not None:
            before = b"" if more else self._waiting + data[max(0, row - _BEFORE) : row]
            for line in before.splitlines():
                self._take(line)
            self._waiting, self._any_row = b"", True
            self.phase, self._name, self._times = None, "", []
        if not self._times:
            self._times = _times(data[row : row + _BEFORE].splitlines())
        text, self._waiting = self._waiting + data[max(row, len(data) - _END) :], b""
        if more and (len(text) < _WAITING or not self._any_row):
            self._waiting = text[-_WAITING:]
            return
        lines = text.splitlines()
        for line in lines:
            self._take(line)
        if self._times:
            self._times[1:] = _times(reversed(lines)) or self._times[1:]

    @property
    def lasted_s(self) -> float:
        """Seconds from the first to the last time after the newest row, of a day at most."""
        return float((self._times[-1] - self._times[0]) % _DAY_S) if self._times else 0.0

    def _take(self, raw: bytes) -> None:
        line = raw[:_LINE]
        shape = hash(line.translate(_DIGITS))
        if shape not in self._shapes:
            if len(self._shapes) >= _MOST_SHAPES:
                self._shapes.clear()
            known = (p for p in (*_known().ends, *_known().begins) if p.search(ANSI.sub(b"", line)))
            self._shapes[shape] = next(known, None)
        pattern = self._shapes[shape]
        found = pattern.search(ANSI.sub(b"", line)) if pattern else None
        if found is None:
            return
        parts = found.groupdict()
        name = clean_bytes(parts["what"]).strip()
        if "took" in parts:
            self._took[name] = float(parts["took"])
            if name == self._name:
                self.phase, self._name = None, ""
            return
        clock = _CLOCK.search(line)
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
