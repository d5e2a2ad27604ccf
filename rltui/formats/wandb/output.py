"""The end of the console output that a tracker recorded, line by line."""

from __future__ import annotations

from collections import deque

from rltui.core.batch import LogTail
from rltui.formats.console.terminal_tail import LINE_BYTES, MAX_LINES, shown


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
            self._end(self._partial.pop(stream, b"") + line)
        if partial:
            self._partial[stream] = _bounded(self._partial.get(stream, b"") + partial)
        self._new = self._new or bool(raw)

    def line(self, raw: bytes) -> None:
        """Add one whole line or several."""
        for line in raw.split(b"\n"):
            self._end(line)
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
        begun = [shown(p) for p in self._partial.values()]
        lines = (*self._lines, *begun)[-MAX_LINES:]
        return LogTail(lines, min(len(lines), self.after_row + len(begun)))

    def _end(self, line: bytes) -> None:
        self._lines.append(shown(_bounded(line)))
        self.after_row += 1


def _bounded(line: bytes) -> bytes:
    """The line; of a long one only the beginning of its last state (of a progress bar).

    A trailing carriage return is kept, because the next output replaces the line.
    """
    if len(line) <= LINE_BYTES:
        return line
    states = line.rstrip(b"\r")
    end = b"\r" if len(states) < len(line) else b""
    return states[states.rfind(b"\r") + 1 :][: LINE_BYTES - len(end)] + end
