"""JSON documents that are rewritten whole: bytes until the last bracket, then one parse."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import Any

from rltui.core.level import Level
from rltui.formats.base import Decoded, NoteBook
from rltui.formats.json_value import fits_memory, parsed

#: Longer documents are not read: a history of a million rows is shorter.
_MAX_BYTES = 1 << 28
_STRUCTURE = re.compile(rb'[{}\[\]"\\]')


class WholeDocument(ABC):
    """Decodes one document once, when all of it is there. Not thread-safe."""

    holds_row = open_line = torn = False

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._have = 0
        self._done = False
        self._end: _End | None = None
        """None before the first failure to parse."""
        self._searched = 0
        """Parts already searched for the end."""

    def feed(self, data: bytes, *, more: bool = False) -> Decoded:
        """Returns everything when the document is complete, nothing before."""
        if self._done or not data:
            return Decoded() if self._done or more or not self._have else self._try()
        self._parts.append(data)
        self._have += len(data)
        if self._have > _MAX_BYTES:
            return self._give_up("document is too long")
        return Decoded() if more else self._try()

    def finish(self) -> Decoded:
        """Nothing but a note: half a document has no rows."""
        if self._done or not self._have:
            return Decoded()
        notes = NoteBook()
        notes.add(0, "the document is not complete", level=Level.OK)
        return Decoded(notes=notes.take())

    def _try(self) -> Decoded:
        """Parse the document if it may be complete.

        The first time a closing bracket at the end is enough. If that was not the end, brackets are
        counted from then on, so that small pieces do not cost a parse each.
        """
        if not (self._ends_with_bracket() if self._end is None else self._reaches(self._end)):
            return Decoded()
        data = b"".join(self._parts)
        self._parts, self._searched = [data], min(self._searched, 1)
        if not fits_memory(data):
            return self._give_up("document has too many values")
        try:
            document = parsed(data)
        except ValueError:
            if self._end is not None:
                return self._give_up("not valid JSON")
            self._end = _End()
            return self._try()
        self._done, self._parts = True, []
        return self._decode(document)

    @abstractmethod
    def _decode(self, document: Any) -> Decoded:
        """The points of a whole document."""

    def _ends_with_bracket(self) -> bool:
        for part in reversed(self._parts):
            if ending := part.rstrip():
                return ending.endswith((b"}", b"]"))
        return False

    def _reaches(self, end: _End) -> bool:
        for part in self._parts[self._searched :]:
            end.search(part)
        self._searched = len(self._parts)
        return end.reached

    def _give_up(self, message: str) -> Decoded:
        self._done, self._parts = True, []
        notes = NoteBook()
        notes.add(0, message)
        return Decoded(notes=notes.take())


class _End:
    """Finds the closing bracket of the first value in pieces of bytes."""

    def __init__(self) -> None:
        self.reached = False
        self._depth = 0
        self._in_text = False
        self._escaped = -1
        """Position in the next piece of an escaped character, or -1."""

    def search(self, piece: bytes) -> None:
        """Search the next bytes."""
        escaped, self._escaped = self._escaped, -1
        for found in _STRUCTURE.finditer(piece):
            at, byte = found.start(), found[0]
            if at == escaped:
                continue
            if self._in_text:
                if byte == b"\\":
                    escaped = at + 1
                elif byte == b'"':
                    self._in_text = False
            elif byte == b'"':
                self._in_text = True
            elif byte in b"{[":
                self._depth += 1
            elif byte in b"}]":
                self._depth -= 1
                self.reached = self.reached or self._depth <= 0
        if escaped == len(piece):
            self._escaped = 0
