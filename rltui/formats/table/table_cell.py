"""Cells of a table to arrays of numbers.

A cell is a number (``nan``, ``inf`` and ``True`` included), a gap (blank, ``None``, ``N/A``, ...)
or a text. A column is a text column if its first cell that is not a gap is a text.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, groupby
from typing import Any, NamedTuple

import numpy as np
import orjson

from rltui.core.block import BoolArray, FloatArray

_GAPS = frozenset(("", "none", "null", "na", "n/a", "-", "--"))
_TRUTHS = {"true": 1.0, "false": 0.0}
_COMMA, _NEWLINE = ord(","), ord("\n")


def is_gap(cell: str) -> bool:
    """Whether a cell means that there is no value."""
    return cell.strip().lower() in _GAPS


def number_of(cell: str) -> float | None:
    """The number in a cell, None for a gap or a text."""
    try:
        # float() accepts 1_000, which is rather a name
        return float(cell) if "_" not in cell else None
    except ValueError:
        return _TRUTHS.get(cell.strip().lower())


def numbers_of(cells: Sequence[str]) -> tuple[FloatArray, BoolArray]:
    """(n,) values and (n,) where there is none: gaps and texts."""
    try:
        if not any("_" in cell for cell in cells):
            return np.array(list(map(float, cells))), np.zeros(len(cells), bool)
    except ValueError:
        pass  # gaps or texts among them
    found = [number_of(cell) for cell in cells]
    absent = np.array([value is None for value in found])
    return np.array([math.nan if v is None else v for v in found]), absent


def plain_cells(rows: bytes, size: int) -> tuple[FloatArray, BoolArray | None] | None:
    """(n, size) values of whole lines of numbers, ``nan`` and blanks between commas.

    None when a line has another number of cells or any other cell: the slower reader then reads
    the lines, with the same result for lines like these. Takes about 10 ns per cell.
    """
    absent = _blanks(rows, size)
    if absent is None:
        return None
    text = rows.replace(b"\n", b",")
    if b"n" in text:
        text = text.replace(b"nan", b"null").replace(b"NaN", b"null")
        if text.count(b"null") != rows.count(b"nan") + rows.count(b"NaN"):
            return None  # words of the log
    some_absent = bool(absent.any())
    if some_absent:
        text = (b"," + text).replace(b",,", b",null,").replace(b",,", b",null,")[1:]
    try:
        values = np.array(orjson.loads(b"[" + text[:-1] + b"]"), np.float64)
        if values.ndim == 1:  # else every cell is a list
            return values.reshape(-1, size), absent if some_absent else None
    except (TypeError, ValueError, OverflowError):
        pass  # no JSON, or some cells are lists
    return None


def _blanks(rows: bytes, size: int) -> BoolArray | None:
    """(n, size) whether a cell is blank; None when a line has another number of cells."""
    codes = np.frombuffer(rows, np.uint8)
    ends = np.flatnonzero((codes == _COMMA) | (codes == _NEWLINE))
    if not len(ends) or len(ends) % size:
        return None
    is_newline = (codes[ends] == _NEWLINE).reshape(-1, size)
    if not is_newline[:, -1].all() or is_newline[:, :-1].any():
        return None
    blank: BoolArray = np.diff(ends, prepend=-1) == 1
    return blank.reshape(-1, size)


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
