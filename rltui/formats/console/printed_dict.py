"""Python dicts that a trainer printed, on one line or several.

Nothing is evaluated: only names and plain numbers are read.
"""

from __future__ import annotations

import re

from rltui.formats.console.console_line import number

#: Longer dicts are not metrics.
MAX_BYTES = 1 << 18
_MAX_LINES = 2000
#: The strings into which ``pprint`` splits a long text.
_QUOTED = re.compile(rb"\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'")
_PAIR = re.compile(
    rb"(?:'([^'\\{}]*)'|\"([^\"\\{}]*)\"): *"
    rb"('[^']*'|\"[^\"]*\"|[\w.]+\([^()]*\)|\[[^\[\]]*\]|\([^()]*\)|[^,'\"{}()\[\]]+)(?=[,}])"
)


class DictLayout:
    """The names of the previous dict: for one with the same names only values are parsed."""

    def __init__(self) -> None:
        self.names: tuple[bytes, ...] = ()
        self._begins: tuple[bytes, ...] = ()
        self._ends: tuple[int, ...] = ()

    def read(self, body: bytes) -> tuple[tuple[bytes, ...], list[float]] | None:
        """See :func:`pairs`."""
        cells = body[2:-1].split(b", '")
        if len(cells) == len(self._begins) and all(map(bytes.startswith, cells, self._begins)):
            try:
                return self.names, [
                    float(c[e:].strip(b"'")) for c, e in zip(cells, self._ends, strict=True)
                ]
            except ValueError:
                pass  # a text among the values
        found = pairs(body)
        if found is not None:
            self.names = found[0]
            self._begins = tuple(name + b"': " for name in found[0])
            self._ends = tuple(len(begin) for begin in self._begins)
        return found


def pairs(body: bytes) -> tuple[tuple[bytes, ...], list[float]] | None:
    """Names and numbers of ``{'loss': 0.5, 'kl': '0.1', 'who': 'me'}``; None
    unless it is a flat dict."""
    names: list[bytes] = []
    values: list[float] = []
    end = 1
    for found in _PAIR.finditer(body):
        if body[end : found.start()].strip(b", \n"):
            return None
        end = found.end()
        value = number(found.group(3))
        if value is not None:
            names.append(found.group(1) or found.group(2) or b"")
            values.append(value)
    return None if body[end:].strip(b", \n") != b"}" else (tuple(names), values)


class PrintedDict:
    """Joins a dict printed on several lines, plain or as ``pprint``'s strings."""

    def __init__(self, first: bytes, before: bytes = b"") -> None:
        self._quote = before[-1:] if before[-1:] in (b"'", b'"') else b""
        self._parts: list[bytes] = []
        self._size = 0
        self._whole = b""
        self._first = self._quote + first
        self._lines = 0

    def add(self, line: bytes) -> bool:
        """Add a line; returns whether the dict is complete or was abandoned."""
        if self._first:
            line, self._first = self._first, b""
        self._lines += 1
        self._size += len(line)
        if self._lines > _MAX_LINES or self._size > MAX_BYTES:
            return True
        if self._quote:
            line = b"".join(a or b for a, b in _QUOTED.findall(line))
        self._parts.append(line if self._quote else line + b" ")
        if b"}" not in line:
            return False
        self._whole = b"".join(self._parts)
        return True

    def numbers(self) -> dict[bytes, float]:
        """Its names and numbers; empty when it was abandoned."""
        end = self._whole.find(b"}") + 1
        found = pairs(self._whole[:end]) if end else None
        return dict(zip(*found, strict=True)) if found else {}
