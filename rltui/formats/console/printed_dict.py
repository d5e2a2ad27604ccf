"""Python dicts that a trainer printed: rows of metrics, and its configuration.

Of rows only names and plain numbers are read, nothing is evaluated.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from rltui.formats.console.console_line import ANSI, number, plain
from rltui.formats.settings import flat_settings

#: Longer dicts are neither metrics nor settings.
MAX_BYTES = 1 << 18
_MAX_LINES = 2000
#: The strings into which ``pprint`` splits a long text.
_QUOTED = re.compile(rb"\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'")
_PAIR = re.compile(
    rb"(?:'([^'\\{}]*)'|\"([^\"\\{}]*)\"): *"
    rb"('[^']*'|\"[^\"]*\"|[\w.]+\([^()]*\)|\[[^\[\]]*\]|\([^()]*\)|[^,'\"{}()\[\]]+)(?=[,}])"
)
#: How a configuration begins: with the first section in the order of the alphabet.
_BEGINS = b"{'actor_rollout_ref': {"
#: How its further lines begin; others are warnings that the same process printed meanwhile.
_PART = re.compile(rb"['\"{]|[\[(]+['\"{\d-]|(?:-?[\d.e+-]+|None|True|False)[,\]})]")
#: Ray's prefix, which says which process printed the line.
_PROCESS = re.compile(rb"\s*(\([^()]{0,80}pid=\d+[^()]{0,60}\))")

Pairs = tuple[tuple[bytes, ...], list[float]]
"""Names and values."""


class FieldLayout:
    """The names of the previous row: for one with the same names only values are parsed."""

    def __init__(self, behind: bytes) -> None:
        """``behind``: what stands between a name and its value."""
        self._behind = behind
        self.names: tuple[bytes, ...] = ()
        self._begins: tuple[bytes, ...] = ()
        self._ends: tuple[int, ...] = ()

    def learn(self, names: tuple[bytes, ...]) -> None:
        """Remember the names of a row."""
        self.names = names
        self._begins = tuple(name + self._behind for name in names)
        self._ends = tuple(len(begin) for begin in self._begins)

    def values(self, fields: Sequence[bytes]) -> list[float] | None:
        """The values of a row; None when it has other names, or a text among the values."""
        if len(fields) != len(self._begins):
            return None
        if not all(map(bytes.startswith, fields, self._begins)):
            return None
        texts = [f[e:] for f, e in zip(fields, self._ends, strict=True)]
        try:
            return list(
                map(float, texts if b"'" not in texts[-1] else [t.strip(b"'") for t in texts])
            )
        except ValueError:
            return None


def pairs(body: bytes, layout: FieldLayout | None = None) -> Pairs | None:
    """Names and numbers of ``{'loss': 0.5, 'kl': '0.1', 'who': 'me'}``; None unless it is a flat
    dict. ``layout``: of the dicts before it, with ``': `` behind names."""
    if layout is not None:
        known = layout.values(body[2:-1].split(b", '"))
        if known is not None:
            return layout.names, known
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
    if body[end:].strip(b", \n") != b"}":
        return None
    if layout is not None:
        layout.learn(tuple(names))
    return tuple(names), values


class PrintedDict:
    """Joins a dict printed on several lines, plain or as ``pprint``'s strings."""

    def __init__(self, *, quoted: bool = False) -> None:
        self._quoted = quoted
        self._parts: list[bytes] = []
        self._size = 0
        self.numbers: dict[bytes, float] = {}
        """Its names and numbers, once it is complete."""

    def add(self, line: bytes) -> bool:
        """Add a line; returns whether the dict is complete or was abandoned."""
        self._size += len(line)
        if len(self._parts) >= _MAX_LINES or self._size > MAX_BYTES:
            return True
        if self._quoted:
            self._parts.append(b"".join(a or b for a, b in _QUOTED.findall(line)))
        elif self._parts or line.startswith(b"{'"):
            self._parts.append(line + b" ")
        else:
            return True
        if b"}" not in self._parts[-1]:
            return False
        whole = b"".join(self._parts)
        found = pairs(whole[: whole.find(b"}") + 1])
        self.numbers = dict(zip(*found, strict=True)) if found else {}
        return True


class ConfigDump:
    """Collects the configurations that a log has, which come in pieces of whole lines.

    verl pretty-prints its whole configuration over hundreds of lines before the first row
    (verl/trainer/main_ppo.py), each behind Ray's prefix of the process; lines of other processes
    may lie between them.
    """

    def __init__(self) -> None:
        self._process: bytes | None = None
        self._lines: list[bytes] = []
        self._size = self._open = 0
        """Bytes of these lines, and braces that are not closed."""
        self._found: dict[str, object] = {}

    def feed(self, text: bytes) -> None:
        """Search whole lines for configurations."""
        pos = 0
        while pos < len(text):
            if not self._lines:
                pos = text.find(_BEGINS, pos)
                if pos < 0:
                    return
                pos = text.rfind(b"\n", 0, pos) + 1
            end = text.find(b"\n", pos)
            self._line(text[pos:end])
            pos = end + 1

    def settings(self) -> dict[str, object]:
        """The settings since the last call."""
        found, self._found = self._found, {}
        return found

    def _line(self, raw: bytes) -> None:
        found = _PROCESS.match(ANSI.sub(b"", raw) if b"\x1b" in raw else raw)
        process = found[1] if found else None
        line = plain(raw)
        if line.startswith(_BEGINS):
            self._process, self._size, self._open, self._lines = process, 0, 0, []
        elif not self._lines or process != self._process or not _PART.match(line):
            return
        self._lines.append(line)
        self._size += len(line)
        self._open += line.count(b"{") - line.count(b"}")
        if self._open > 0 and self._size <= MAX_BYTES:
            return
        whole, self._lines = b"\n".join(self._lines), []
        if self._open > 0:
            return
        try:
            document = ast.literal_eval(whole.decode("utf-8", "replace"))
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return
        if isinstance(document, dict):
            self._found.update(flat_settings(document))
