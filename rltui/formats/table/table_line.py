"""Rows of separated cells in a piece of a table, with quotes as in RFC 4180.

A quote that is never closed would swallow the rest of the file: a row that spans too many bytes,
or lines that look like rows, is abandoned, and reading continues behind its first line.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from itertools import accumulate, groupby
from typing import Any, NamedTuple

#: A row of several lines that is longer than this has lost its closing quote.
MAX_QUOTED = 1 << 16
#: Longest cell; Ray's histograms have about 100 kB.
_MAX_CELL = 1 << 24
_OPEN = "unexpected end of data"


class TableRow(NamedTuple):
    """One row; ``cells`` is None for a line that is not a row."""

    offset: int
    """Bytes from the beginning of the piece."""
    cells: list[str] | None


class OtherLines(NamedTuple):
    """Lines one after the other that hold no separator."""

    offset: int
    """Of the first, in bytes from the beginning of the piece."""
    lines: int


class OpenRow(NamedTuple):
    """The piece ends inside a quoted cell of the row that begins here."""

    offset: int


def rows_of(
    piece: bytes, delimiter: str, size: Callable[[], int], *, last: bool
) -> Iterator[TableRow | OtherLines | OpenRow]:
    """The rows of whole lines, without blank lines.

    ``size`` returns the current number of columns, two at least. An :class:`OpenRow` comes last,
    and only if ``last`` is set: further bytes may close the quote.
    """
    mark = max(piece.rfind(b'"'), piece.rfind(b"\r"))
    if mark < 0:
        yield from _unquoted(piece, 0, delimiter)
        return
    quoted = piece.find(b"\n", mark) + 1
    csv.field_size_limit(_MAX_CELL)
    lines = _Lines(piece, delimiter)
    begin = 0
    while begin < len(lines.texts):
        if lines.starts[begin] >= quoted:
            yield from _unquoted(piece, lines.starts[begin], delimiter)
            return
        reader = lines.reader(begin)
        first = begin
        while lines.starts[begin] < quoted:  # until a quote turns out to be a stray one
            broken, cells = False, None
            try:
                cells = next(reader, None)
            except csv.Error as error:
                broken, is_open = True, last and str(error).startswith(_OPEN)
                if is_open and not lines.swallows(begin, len(lines.texts), size()):
                    yield OpenRow(lines.starts[begin])
                    return
            if cells is None and not broken:
                return
            end = first + reader.line_num
            if end - begin > 1 and (broken or lines.swallows(begin, end, size())):
                yield TableRow(lines.starts[begin], None)
                begin += 1
                break
            if cells is None or len(cells) > 1 or (cells and cells[0].strip()):
                yield TableRow(lines.starts[begin], cells)
            begin = end


def _unquoted(piece: bytes, start: int, delimiter: str) -> Iterator[TableRow | OtherLines]:
    """The same from ``start`` on, where every line is a row: what a quote that is never closed
    leaves behind may be millions of lines of something else."""
    separator, rest = delimiter.encode(), piece[start:].split(b"\n")[:-1]
    for are_rows, lines in groupby(rest, lambda line: separator in line):
        if are_rows:
            for line in lines:
                yield TableRow(start, line.decode("utf-8", "replace").split(delimiter))
                start += len(line) + 1
            continue
        others = list(lines)
        said = [line for line in others if line.strip()]
        if said:
            before = others.index(said[0])
            yield OtherLines(start + sum(map(len, others[:before])) + before, len(said))
        start += sum(map(len, others)) + len(others)


class _Lines:
    """The lines of a piece as texts and where they start."""

    def __init__(self, piece: bytes, delimiter: str) -> None:
        # the csv reader of Python 3.10 refuses zeros, which are part of no number anyway
        self.texts = piece.decode("utf-8", "replace").replace("\0", "\ufffd").split("\n")[:-1]
        self.starts = [0, *accumulate(len(line) + 1 for line in piece.split(b"\n")[:-1])]
        self._delimiter = delimiter

    def reader(self, begin: int) -> Any:
        """A csv reader (its type has no public name) of the lines from ``begin`` on."""
        rest = map(self.texts.__getitem__, range(begin, len(self.texts)))  # without a copy
        return csv.reader(rest, delimiter=self._delimiter, strict=True)

    def swallows(self, begin: int, end: int, size: int) -> bool:
        """Whether a row of several lines is too long or contains a whole row."""
        if self.starts[end] - self.starts[begin] > MAX_QUOTED:
            return True
        for text in self.texts[begin + 1 : end]:
            if text.count(self._delimiter) == size - 1 > 0 and '"' not in text:
                return True
        return False
