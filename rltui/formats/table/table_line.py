"""Lines of a table to cells, and cells to arrays of numbers.

A cell is a number (``nan``, ``inf`` and ``True`` included), a gap (blank, ``None``, ``N/A``, ...)
or a text. A column is a text column if its first cell that is not a gap is a text. Quotes are
those of RFC 4180; one that is never closed would swallow the rest of the file: a row that spans too
many bytes, or lines that look like rows, is abandoned, and reading continues behind its first line.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, groupby
from typing import NamedTuple

import numpy as np
import orjson

from rltui.core.block import BoolArray, FloatArray

#: A row of several lines that is longer than this has lost its closing quote.
MAX_QUOTED = 1 << 16
#: Longest cell; Ray's histograms have about 100 kB.
_MAX_CELL = 1 << 24
_OPEN = "unexpected end of data"
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
    some_absent = bool(absent.any())
    text = rows.replace(b"\n", b",")
    if b"n" in text:
        text = text.replace(b"nan", b"null").replace(b"NaN", b"null")
        if text.count(b"null") != rows.count(b"nan") + rows.count(b"NaN"):
            return None  # words of the log

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


class TableRow(NamedTuple):
    """One row, or lines one after the other that hold no separator."""

    offset: int
    """Bytes from the beginning of the piece."""
    cells: list[str] | None
    """None for a line that is not a row."""
    lines: int = 1
    """0 for a row with a quoted cell that is still open where the piece ends."""


def rows_of(
    piece: bytes, delimiter: str, size: Callable[[], int], *, last: bool
) -> Iterator[TableRow]:
    """The rows of whole lines, without blank lines.

    ``size`` returns the current number of columns, two at least. An open row comes last, and only
    if ``last`` is set: further bytes may close the quote.
    """
    mark = max(piece.rfind(b'"'), piece.rfind(b"\r"))
    if mark < 0:
        yield from _unquoted(piece, 0, delimiter)
        return

    quoted = piece.find(b"\n", mark) + 1
    # the csv reader of Python 3.10 refuses zeros, which are part of no number anyway
    texts = piece.decode("utf-8", "replace").replace("\0", "\ufffd").split("\n")[:-1]
    starts = [0, *accumulate(len(line) + 1 for line in piece.split(b"\n")[:-1])]

    def swallows(begin: int, end: int) -> bool:
        """Whether a row of several lines is too long or contains a whole row."""
        return starts[end] - starts[begin] > MAX_QUOTED or any(
            text.count(delimiter) == size() - 1 > 0 and '"' not in text
            for text in texts[begin + 1 : end]
        )

    csv.field_size_limit(_MAX_CELL)
    begin = 0
    while starts[begin] < quoted:
        rest = map(texts.__getitem__, range(begin, len(texts)))  # without a copy
        reader, first = csv.reader(rest, delimiter=delimiter, strict=True), begin
        while starts[begin] < quoted:  # until a quote turns out to be a stray one
            broken, cells = False, None
            try:
                cells = next(reader, None)
            except csv.Error as error:
                broken, is_open = True, last and str(error).startswith(_OPEN)
                if is_open and not swallows(begin, len(texts)):
                    yield TableRow(starts[begin], None, 0)
                    return
            if cells is None and not broken:
                return
            end = first + reader.line_num
            if end - begin > 1 and (broken or swallows(begin, end)):
                yield TableRow(starts[begin], None)
                begin += 1
                break
            if cells is None or len(cells) > 1 or (cells and cells[0].strip()):
                yield TableRow(starts[begin], cells)
            begin = end

    yield from _unquoted(piece, starts[begin], delimiter)


def _unquoted(piece: bytes, start: int, delimiter: str) -> Iterator[TableRow]:
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
        blank = next((n for n, line in enumerate(others) if line.strip()), len(others))
        if said := sum(map(bool, map(bytes.strip, others))):
            yield TableRow(start + sum(map(len, others[:blank])) + blank, [""], said)
        start += sum(map(len, others)) + len(others)
