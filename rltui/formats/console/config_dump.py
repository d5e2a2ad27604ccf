"""The configuration that a trainer prints once, before its first row.

verl pretty-prints its whole configuration as a Python dict over hundreds of lines
(verl/trainer/main_ppo.py), each behind Ray's prefix of the process; lines of other processes may
lie between them.
"""

from __future__ import annotations

import ast
import re

from rltui.formats.console.console_line import ANSI, plain
from rltui.formats.settings import flat_settings

#: How a dump begins: with the first section in the order of the alphabet.
_BEGINS = b"{'actor_rollout_ref': {"
#: How its further lines begin; others are warnings that the same process printed meanwhile.
_PART = re.compile(rb"['\"{]|[\[(]+['\"{\d-]|(?:-?[\d.e+-]+|None|True|False)[,\]})]")
#: Bytes of a dump, at most.
_MAX_BYTES = 1 << 18
#: Ray's prefix, which says which process printed the line.
_PROCESS = re.compile(rb"\s*(\([^()]{0,80}pid=\d+[^()]{0,60}\))")


class ConfigDump:
    """Collects the dumps of one log, which come in pieces of whole lines. Owned by one decoder."""

    def __init__(self) -> None:
        self._process: bytes | None = None
        self._lines: list[bytes] = []
        self._size = self._open = 0
        """Bytes of these lines, and braces that are not closed."""
        self._found: dict[str, object] = {}

    def feed(self, text: bytes) -> None:
        """Search whole lines for dumps."""
        pos = 0
        while pos < len(text):
            if not self._lines:
                pos = text.find(_BEGINS, pos)
                if pos < 0:
                    return
                pos = text.rfind(b"\n", 0, pos) + 1
            end = text.find(b"\n", pos)
            end = len(text) if end < 0 else end
            self._line(text[pos:end])
            pos = end + 1

    def take(self) -> dict[str, object]:
        """The settings since the last call."""
        found, self._found = self._found, {}
        return found

    def _line(self, raw: bytes) -> None:
        process = _process_of(raw)
        line = plain(raw)
        if line.startswith(_BEGINS):
            self._process, self._size, self._open, self._lines = process, 0, 0, []
        elif not self._lines or process != self._process or not _PART.match(line):
            return
        self._lines.append(line)
        self._size += len(line)
        self._open += line.count(b"{") - line.count(b"}")
        if self._open <= 0:
            self._read(b"\n".join(self._lines))
        if self._open <= 0 or self._size > _MAX_BYTES:
            self._lines = []

    def _read(self, whole: bytes) -> None:
        """Take in the settings of a whole dump."""
        try:
            document = ast.literal_eval(whole.decode("utf-8", "replace"))
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return
        if isinstance(document, dict):
            self._found.update(flat_settings(document))


def _process_of(raw: bytes) -> bytes | None:
    """The process that printed a line, by Ray's prefix."""
    found = _PROCESS.match(ANSI.sub(b"", raw) if b"\x1b" in raw else raw)
    return found[1] if found else None
