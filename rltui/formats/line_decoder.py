"""Lines of a text log: cut from pieces of any size; the last one, which has no end, at the end."""

from __future__ import annotations

import codecs
import copy
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from rltui.core.batch import blocks_in
from rltui.core.level import Level
from rltui.core.text import clean_bytes, fit
from rltui.formats.base import Decoded, Decoder, NoteBook
from rltui.formats.words import words

#: The byte order mark that some Windows programs write first.
_BOM = b"\xef\xbb\xbf"
#: A mark of UTF-16 and a letter, how they begin, and their bytes.
_IN_UTF_16 = re.compile(rb"\xff\xfe[^\0]\0|\xfe\xff\0[^\0]", re.DOTALL)
_MARKS = (b"\xff", b"\xfe")
_SHOWS = 4
#: Longer pieces are not joined with the line that they continue: that would copy them.
_SEAM = 1 << 16
#: Why lines with figures became no rows, where no format knows more.
NO_ROWS = "no step in them, or no known form"
#: Occurrences of one name from which on it is the figure of a course, not a result.
_COURSE = 3
#: Values that are looked at, bytes of a name before one, cells of a line that are quoted.
_MOST = 2000
_NAME = 60
_QUOTED = 60
#: A number behind what parts it from a name.
_VALUE = re.compile(
    rb"(?:[:=|>]|\xe2\x94[\x82\x83])[ \t]*[-+]?(?:\d|\.\d|nan\b|inf\b)"
    rb"|(?<=[\w)])[ \t]+[-+]?\d*\.\d",
    re.IGNORECASE,
)
#: What parts a name from those before it, and from the numbers before it.
_BEFORE = re.compile(rb"[^\n,;|:={}\[\]\x80-\xff]*$")
_NUMBER = re.compile(rb".*(?:^|[ \t])[-+]?[\d.][\w.%/+-]*[ \t]", re.DOTALL)
_TEXT = rb'"[^"\\]*(?:\\.[^"\\]*)*"'
_ROW = rb'\{"run":%s,"tag":%s,"step":-?\d+,"wall_time":[^,]+,"value":' % (_TEXT, _TEXT)
#: (first bytes, what they are of); the columns of an export are those of ``CSV_HEAD`` in
#: ``rltui.output.points``, and the keys of its JSON lines.
_SIGNS = (
    (re.compile(rb'\{\s*"schema":\s*"rltui\.\w+/\d+"'), "a document of rltui"),
    (re.compile(rb"# HELP rltui_\w+ "), "a page of metrics of rltui"),
    (re.compile(rb"run,tag,step,wall_time,value,superseded\r?\n"), "an export of rltui"),
    (re.compile(_ROW), "an export of rltui"),
)


class LastLine(Decoder):
    """Base of the decoders of lines.

    A line that is too long is dropped without being kept. Once nothing more will be written, the
    last line is decoded without its end.
    """

    torn = False
    max_line = 1 << 24
    """Bytes; longer lines are no metrics."""
    _may_hold_rows = False
    """Whether rows may wait for a further line, which :meth:`_close` gives."""
    _finished = False
    """Whether :meth:`finish` gave points, or took some back."""

    def __init__(self) -> None:
        self._notes = NoteBook()
        self._records = 0
        """Lines with content since the last call, broken ones included."""
        self._parts: list[bytes] = []
        """Pieces of the unfinished line."""
        self._have = 0
        """Bytes of these."""
        self._skipping = False
        """Whether the unfinished line is dropped."""
        self._offset = 0
        """Offset of the unfinished line, in bytes from the beginning of the file."""
        self._wide: codecs.IncrementalDecoder | None = None
        """Decoder of a file in UTF-16."""
        self._first: bytes | None = b""
        """The first bytes of the file, until they show its encoding."""

    @property
    def open_line(self) -> bool:
        return any(self._parts) and not self._skipping

    @abstractmethod
    def _feed(self, data: bytes, *, more: bool) -> Decoded:
        """Decode the next bytes."""

    def _cut(self, data: bytes) -> None:
        """Read the lines that end in the next bytes, and keep the unfinished one."""
        begin = data.find(b"\n") + 1 if self._parts and len(data) > _SEAM else 0
        self._parts.append(data)
        self._have += len(data)
        if self._is_due(data):
            if begin:  # the line that goes on, apart from those behind it
                self._parts[-1] = data[:begin]
                self._read_text(b"".join(self._parts), 0)
                if not self._parts:
                    self._offset -= begin
                    self._read_text(data, begin)
                    return
                self._parts.append(data[begin:])
            self._read_text(b"".join(self._parts), 0)
        elif self._have > self.max_line:
            if not self._skipping:
                self._notes.add(self._offset, "line is too long")
                self._records += 1
            self._offset += self._have
            self._parts = []
            self._have = 0
            self._skipping = True

    def _read_text(self, text: bytes, begin: int) -> None:
        """Read the lines from ``begin`` on that end in the text, which begins at the offset."""
        end = text.rfind(b"\n") + 1
        if self._skipping:
            begin = text.index(b"\n", begin) + 1
            self._skipping = False
        elif not self._offset and text.startswith(_BOM):
            begin = max(begin, len(_BOM))
        used = self._read_lines(text, begin, end)
        self._offset += used
        rest = text[used:]
        self._parts, self._have = ([rest] if rest else []), len(rest)

    def _is_due(self, data: bytes) -> bool:
        """Whether the kept bytes, which end with ``data``, are to be read."""
        return b"\n" in data

    def _read_lines(self, text: bytes, begin: int, end: int) -> int:
        """Read the whole lines ``text[begin:end]``, where text begins at the offset; returns the
        position of the first byte that is kept: behind them, or where an open row begins."""
        raise NotImplementedError

    def feed(self, data: bytes, *, more: bool = False) -> Decoded:
        self.torn = self.torn or (self._finished and bool(data))
        if self._first is not None or self._wide is not None:
            data = self._narrow(data)
        return Decoded() if self.torn else self._feed(data, more=more)

    def _narrow(self, data: bytes) -> bytes:
        """The next bytes in UTF-8, of a file that its mark shows to be in UTF-16."""
        if self._first is not None:
            data = self._first + data
            if len(data) < _SHOWS and data.startswith(_MARKS):
                self._first = data
                return b""
            self._first = None if data else b""
            if _IN_UTF_16.match(data):
                self._wide = codecs.getincrementaldecoder("utf-16")("replace")
        if self._wide is None:
            return data
        return self._wide.decode(data).encode("utf-8", "replace")

    def _close(self) -> Decoded:
        """The rows that wait for a line that never comes. The decoder is not used any more."""
        return Decoded()

    def finish(self) -> Decoded:
        line = self.open_line
        if self._finished or not (line or self._may_hold_rows):
            return Decoded()
        ended = copy.deepcopy(self)  # the line may go on after all
        decoded = ended._feed(b"\n", more=False) if line else Decoded()
        decoded = decoded.then(ended._close())
        self._finished = decoded.replaces or bool(blocks_in(decoded.items))
        if self._finished:
            return decoded
        # the program may just be writing it: no reason to worry
        return Decoded(notes=tuple(n._replace(level=Level.OK) for n in decoded.notes))


class FigureLines(NamedTuple):
    """Lines with figures."""

    lines: int
    number: int
    """Number of the first line, from 1."""
    offset: int
    """Offset of the first line, in bytes."""
    text: str
    """The first, clean and short."""

    def lost(self, why: str, *, where: bool = True) -> str:
        """Say that the lines became no rows; ``where``: with the first one's number."""
        lines = "1 line looks" if self.lines == 1 else f"{self.lines:,} lines look"
        first = f"line {self.number}: " if where else "one: "
        return f"{lines} like metrics and became no rows ({why}), first {first}{self.text}"


def figure_lines(text: bytes, known: Iterable[str] = ()) -> FigureLines | None:
    """The lines with figures that come again and again in a piece of a log; None without any.
    ``known``: tags that have rows, whose names do not count."""
    names = Counter[bytes]()
    begins = dict[int, None]()
    tags = {_letters(tag.encode()) for tag in known}
    counts: dict[bytes, bool] = {}
    """Name -> whether it is that of a figure that has no rows."""
    for found in islice(_VALUE.finditer(text), _MOST):
        at = found.start()
        before = _BEFORE.search(text, max(0, at - _NAME), at)
        name = _NUMBER.sub(b"", before[0]) if before is not None else b""
        name = name.strip(b" \t\"'*-").lower()
        if name not in counts:
            counts[name] = words().outcomes.search(name) is not None and not any(
                _letters(name) in tag for tag in tags
            )
        if counts[name]:
            names[name] += 1
            begins[text.rfind(b"\n", 0, at) + 1] = None

    if not names or names.most_common(1)[0][1] < _COURSE:
        return None
    offset = next(iter(begins))
    line = text[offset : offset + 8 * _QUOTED].partition(b"\n")[0].strip()
    number = text.count(b"\n", 0, offset) + 1
    return FigureLines(len(begins), number, offset, fit(clean_bytes(line), _QUOTED))


def _letters(name: bytes) -> bytes:
    return re.sub(rb"[^a-z0-9]+", b"", name.lower())


def own_output(head: bytes) -> str:
    """Say which output of rltui begins with these bytes; "" for any other file."""
    return next((f"is {what}, not a log" for sign, what in _SIGNS if sign.match(head)), "")
