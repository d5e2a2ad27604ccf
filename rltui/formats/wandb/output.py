"""The end of the console output that a tracker recorded, line by line."""

from __future__ import annotations

import re
from collections import deque

from rltui.core.batch import LogTail
from rltui.formats.base import clean_text

#: Lines kept, and characters of each.
MAX_LINES = 200
MAX_CHARS = 500
#: Bytes kept of an unfinished line; UTF-8 takes at most 4 per character.
_MAX_PARTIAL = 4 * MAX_CHARS
#: Colours and cursor movements (ECMA-48 CSI), and window titles (OSC).
_ESCAPES = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")


class ConsoleOutput:
    """The last lines that the streams of a process wrote. Owned by one decoder."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=MAX_LINES)
        self._partial: dict[int, bytes] = {}
        """The unfinished line of each stream."""
        self.after_row = 0
        """Lines since the last row of metrics."""
        self._new = False

    def write(self, raw: bytes, stream: int = 0) -> None:
        """Add output in any pieces; a line ends at its newline."""
        *lines, partial = raw.split(b"\n")
        for line in lines:
            self._end(self._joined(stream, line))
            self._partial.pop(stream, None)
        if partial:
            self._partial[stream] = self._joined(stream, partial)
        self._new = self._new or bool(raw)

    def line(self, raw: bytes) -> None:
        """Add one whole line or several."""
        for line in raw.split(b"\n"):
            self._end(_last_state(line))
        self._new = True

    def row(self) -> None:
        """A row of metrics comes here."""
        if self.after_row:
            self.after_row, self._new = 0, True

    def take(self) -> LogTail | None:
        """The last lines, or None when nothing is new."""
        if not self._new:
            return None
        self._new = False
        begun = [_shown(p) for p in self._partial.values()]
        lines = (*self._lines, *begun)[-MAX_LINES:]
        return LogTail(lines, min(len(lines), self.after_row + len(begun)))

    def _joined(self, stream: int, more: bytes) -> bytes:
        before = self._partial.get(stream, b"")
        return _last_state(before + more)[:_MAX_PARTIAL]

    def _end(self, line: bytes) -> None:
        self._lines.append(_shown(line))
        self.after_row += 1


def _last_state(line: bytes) -> bytes:
    """What a terminal shows of a line that was overwritten repeatedly (a progress bar).

    A trailing carriage return is kept, because the next output replaces the line.
    """
    if b"\r" not in line:
        return line
    states = [s for s in line.split(b"\r") if s]
    return (states[-1] if states else b"") + (b"\r" if line.endswith(b"\r") else b"")


def _shown(line: bytes) -> str:
    text = clean_text(_ESCAPES.sub(b"", line.rstrip(b"\r"))).rstrip()
    return text if len(text) <= MAX_CHARS else text[: MAX_CHARS - 1] + "…"
