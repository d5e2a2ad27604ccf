"""The last lines of a console log, as a terminal shows them."""

from __future__ import annotations

import re
from collections import deque

from rltui.core.batch import LogTail
from rltui.core.text import clean_bytes
from rltui.formats.console.console_line import ANSI

#: Lines kept, and characters of each.
MAX_LINES = 200
MAX_CHARS = 500
#: Bytes kept of the end of a line: a progress bar may fill megabytes.
LINE_BYTES = 1 << 13
_OVERWRITES = 32
#: Erases the rest of the line, or all of it.
_ERASE = re.compile(rb"\x1b\[[02]?K")


class TerminalTail:
    """Keeps the last lines. It gets every byte, but only works on the end of each piece."""

    def __init__(self) -> None:
        self._raw: deque[bytes] = deque(maxlen=MAX_LINES)
        """Finished lines that have not been rendered yet."""
        self._lines: deque[str] = deque(maxlen=MAX_LINES)
        self._rest = b""
        """The end of the unfinished line."""
        self._count = 0
        """Finished lines so far."""
        self._row_line = -1
        """Line number of the newest row."""

    def feed(self, data: bytes, row_end: int | None) -> None:
        """Add the next bytes; ``row_end``: where the newest row among them ends, negative when
        that is before their beginning."""
        if row_end is not None:
            self._row_line = self._count + data.count(b"\n", 0, max(0, row_end))
        end = data.rfind(b"\n")
        if end < 0:
            self._rest = (self._rest + data)[-LINE_BYTES:]
            return

        self._count += data.count(b"\n")
        start, wanted = end, MAX_LINES
        while wanted and start >= 0:
            start = data.rfind(b"\n", 0, start)
            wanted -= 1
        lines = data[start + 1 : end].split(b"\n")
        if start < 0:
            lines[0] = self._rest + lines[0]
        self._raw.extend(line[-LINE_BYTES:] for line in lines)
        self._rest = data[end + 1 :][-LINE_BYTES:]

    def tail(self) -> LogTail:
        """The current state."""
        self._lines.extend(shown(line) for line in self._raw)
        self._raw.clear()
        last = shown(self._rest)
        lines = (*self._lines, last) if last else tuple(self._lines)
        after = self._count - 1 - self._row_line + bool(last)
        lines = lines[-MAX_LINES:]
        return LogTail(lines, max(0, min(len(lines), after)))


def shown(line: bytes) -> str:
    """What a line shows after all of it was printed."""
    seen = b""
    for part in line[-LINE_BYTES:].rstrip(b"\r").split(b"\r")[-_OVERWRITES:]:
        over = ANSI.sub(b"", part) if b"\x1b" in part else part
        if not seen or _ERASE.search(part):
            seen = over
        elif seen.isascii() and over.isascii():
            seen = over + seen[len(over) :]
        else:  # a shorter text overwrites the beginning, character by character
            length = len(over.decode("utf-8", "surrogateescape"))
            rest = seen.decode("utf-8", "surrogateescape")[length:]
            seen = over + rest.encode("utf-8", "surrogateescape")

    text = clean_bytes(seen[: 4 * MAX_CHARS].rstrip().replace(b"\t", b"    "))
    return text if len(text) <= MAX_CHARS else text[: MAX_CHARS - 1] + "…"
