"""Lines of a table to cells, and cells to arrays of numbers.

A cell is a number (``nan``, ``inf`` and ``True`` included), a gap (blank, ``None``, ``N/A``, ...)
or a text. A column is a text column if its first cell that is not a gap is a text. Quotes are
those of RFC 4180; one that is never closed would swallow the rest of the file: a row that spans too
many bytes, or lines that look like rows, is abandoned, and reading continues behind its first line.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, chain, groupby, pairwise
from typing import NamedTuple

import numpy as np
import orjson

from rltui.core.block import BoolArray, FloatArray
from rltui.core.text import clean, fit
from rltui.formats.base import Refusal
from rltui.formats.table.table_column import Axis, Columns, TableKind, TableRows, columns_of
from rltui.formats.words import are_figures, step_names

#: A row of several lines that is longer than this has lost its closing quote.
MAX_QUOTED = 1 << 16
#: Longest cell; Ray's histograms have about 100 kB.
_MAX_CELL = 1 << 24
_OPEN = "unexpected end of data"
_GAPS = frozenset(("", "none", "null", "na", "n/a", "-", "--"))
_TRUTHS = {"true": 1.0, "false": 0.0}
_COMMA = ord(",")
_NEWLINE = ord("\n")
#: Rows of the head examined at most.
_ROWS = 200
#: A longer cell belongs to a data set, in characters.
_LONG_TEXT = 200
#: Most columns of a log.
_MAX_COLUMNS = 20_000
#: Share of the examined steps that may fall: several runs or phases in one table.
_FALLING = 0.25
#: Share of the rows that must have a step.
_WITH_STEP = 0.5
_DELIMITERS = (",", "\t", ";", "|")
#: How lines above the header begin: comments, and the separator for Excel.
ABOVE = (b"#", b"sep=")
#: The separator of tables whose columns are lined up with blanks.
BLANK = " "
_BLANKS = re.compile(rb"[ \t]+")
#: How the files of Monitor begin.
_MONITOR = re.compile(rb'\s*#.*"t_start".*\n')
#: Rows without a step, or in a file of any name, from which a table is believed to be a log.
_LEAST_ROWS = 2
#: Cells of a text that is quoted.
_QUOTED = 40


def is_gap(cell: str) -> bool:
    """Whether a cell means that there is no value."""
    return cell.strip().lower() in _GAPS


def number_of(cell: str) -> float | None:
    """The number in a cell, None for a gap or a text."""
    try:
        # float() accepts 1_000, which is rather a name; -0 is 0, as :func:`plain_cells` reads it
        return float(cell) + 0.0 if "_" not in cell else None
    except ValueError:
        return _TRUTHS.get(cell.strip().lower())


def numbers_of(cells: Sequence[str]) -> tuple[FloatArray, BoolArray]:
    """(n,) values and (n,) where there is none: gaps and texts."""
    try:
        if not any("_" in cell for cell in cells):
            return np.array(list(map(float, cells))) + 0.0, np.zeros(len(cells), bool)
    except ValueError:
        pass  # gaps or texts among them
    found = [number_of(cell) for cell in cells]
    absent = np.array([value is None for value in found])
    return np.array(found, np.float64), absent  # None is NaN


def with_points(rows: bytes, delimiter: str) -> bytes:
    """Rows with decimal points: where commas part no cells they are those of decimals."""
    return rows if delimiter == "," else rows.replace(b",", b".")


def plain_cells(rows: bytes, size: int) -> tuple[FloatArray, BoolArray | None] | None:
    """(n, size) values of whole lines of numbers, ``nan`` and blanks between commas.

    None when a line has another number of cells or any other cell: the slower reader then reads
    the lines, with the same result for lines like these. Takes about 10 ns per cell.
    """
    absent = None if b'"' in rows else _blanks(rows, size)
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
            return values.reshape(-1, size) + 0.0, absent if some_absent else None
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
    # Python 3.10's csv reader refuses NUL bytes, which no number or name contains anyway
    piece = piece.replace(b"\0", b"\1")
    if mark < 0:
        yield from _unquoted(piece, 0, delimiter)
        return

    quoted = piece.find(b"\n", mark) + 1
    texts = piece.decode("utf-8", "replace").split("\n")[:-1]
    starts = [0, *accumulate(len(line) + 1 for line in piece.split(b"\n")[:-1])]

    def swallows(begin: int, end: int) -> bool:
        """Whether a row of several lines is too long, contains a whole row or is lined up."""
        long = starts[end] - starts[begin] > MAX_QUOTED
        return (
            delimiter == BLANK
            or long
            or any(
                text.count(delimiter) == size() - 1 > 0 and '"' not in text
                for text in texts[begin + 1 : end]
            )
        )

    csv.field_size_limit(_MAX_CELL)
    begin = 0
    while starts[begin] < quoted:
        rest = map(texts.__getitem__, range(begin, len(texts)))  # without a copy
        reader = csv.reader(rest, delimiter=delimiter, strict=True)
        first = begin
        while starts[begin] < quoted:  # until a quote turns out to be a stray one
            broken = False
            cells = None
            try:
                cells = next(reader, None)
            except csv.Error as error:
                broken = True
                is_open = last and str(error).startswith(_OPEN)
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
    """The rows from ``start`` on, where every line is a row: what a quote that is never closed
    leaves behind may be millions of lines of something else."""
    separator = delimiter.encode()
    rest = piece[start:].split(b"\n")[:-1]
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


def delimiter_of(line: bytes) -> str:
    """The most frequent separator in the header; blanks when it has none but these, else a
    comma."""
    counts = [(line.count(d.encode()), d) for d in _DELIMITERS]
    most = max(count for count, _ in counts)
    if not most and b'"' not in line and len(line.split()) > 1:
        return BLANK
    return next(d for count, d in counts if count == most)


def squeezed(lines: bytes) -> bytes:
    """Whole lines with one blank between two cells."""
    return b"".join(_BLANKS.sub(b" ", line.strip()) + b"\n" for line in lines.split(b"\n")[:-1])


def split_line(line: bytes, delimiter: str) -> list[str] | None:
    """The cells of one line, None when its quotes are broken."""
    text = line.decode("utf-8", "replace").rstrip("\r\n")
    if delimiter == BLANK:
        return text.split()
    try:
        return next(csv.reader([text], delimiter=delimiter, strict=True), None)
    except csv.Error:
        return None


def is_header(cells: Sequence[str]) -> bool:
    """Whether the cells are names: texts, not numbers, at most one blank (an index)."""
    names = [c for c in map(str.strip, cells) if c]
    return 2 <= len(cells) <= min(_MAX_COLUMNS, len(names) + 1) and all(
        number_of(n) is None and min(n) > "\1" and any(c.isalpha() for c in n) for n in names
    )


def _table_in(head: bytes) -> tuple[list[str], str, list[tuple[int, bytes]]] | None:
    """Header, separator and numbered lines of the table in a head; None without a header."""
    lines = head.removeprefix(b"\xef\xbb\xbf").split(b"\n")[:-1]
    numbered = [(n, x) for n, x in enumerate(lines, 1) if x.strip() and not x.startswith(ABOVE)]
    if not numbered:
        return None
    header = numbered[0][1]
    delimiter = delimiter_of(header)
    names = split_line(header, delimiter)
    if names is None or not is_header(names):
        return None
    return names, delimiter, numbered[1 : _ROWS + 1]


def holds_log(
    head: bytes, file_name: str, step_keys: Sequence[str], *, fixed: bool, loose: bool
) -> bool:
    """Whether a table with this head is a training log.

    ``fixed``: only trainers give the file this name, so that a header is enough. ``loose``: files
    of this name are seldom tables: two rows of nothing but numbers must show that this is one.
    """
    if _MONITOR.match(head.removeprefix(b"\xef\xbb\xbf")) is not None:
        return True
    table = _table_in(head)
    if table is None:
        return False
    names, delimiter, lines = table
    columns = columns_of(names, step_keys, file_name)
    if columns.kind is not TableKind.PLAIN or not columns.metrics:
        return bool(columns.metrics) and not loose
    if not lines:  # no row yet
        named = not columns.doubtful.issuperset(columns.candidates)
        unfinished = len(head) - head.rfind(b"\n") - 1
        return not loose and (fixed or (named and unfinished < len(head) // 2))

    rows = _rows(lines, delimiter, len(names))
    if loose or delimiter == BLANK:
        least = max(len(lines), _LEAST_ROWS if loose else 1)
        if len(rows) < least or _kinds(chain(*rows))[0] < len(rows) * len(names):
            return False
    return bool(rows) and _are_figures(rows, columns, fixed)


def _rows(lines: Sequence[tuple[int, bytes]], delimiter: str, size: int) -> list[list[str]]:
    """The rows with as many cells as the header."""
    body = b"".join(line + b"\n" for _, line in lines)
    body = with_points(squeezed(body) if delimiter == BLANK else body, delimiter)
    found = (row.cells for row in rows_of(body, delimiter, lambda: size, last=True))
    return [cells for cells in found if cells is not None and len(cells) == size]


def _are_figures(rows: Sequence[list[str]], columns: Columns, fixed: bool) -> bool:
    """Whether rows are those of a training: with a step in a column, or to be counted."""
    axis = Axis(columns)
    cells = {i: numbers_of([row[i] for row in rows]) for i in columns.candidates}
    known = {i: cell for i, cell in cells.items() if not cell[1].all()}
    values = {i: numbers for i, (numbers, _) in known.items()}
    axis.add(TableRows(len(rows), values, {i: no for i, (_, no) in known.items()}), again=False)
    if axis.step >= 0:
        return _are_stepped(rows, columns, axis.step, fixed)

    if not fixed and not are_figures([columns.names[i] for i in columns.metrics]):
        return False
    numbers, texts = _kinds([row[i] for row in rows for i in columns.metrics])
    return numbers > 0 and (fixed or (len(rows) >= _LEAST_ROWS and not texts))


def _are_stepped(rows: Sequence[list[str]], columns: Columns, step: int, fixed: bool) -> bool:
    """Whether rows with a step in a column are those of a training."""
    steps = [s for row in rows if (s := number_of(row[step])) is not None]
    if fixed or not steps:
        return bool(steps)
    if step in columns.doubtful and len(rows) < _LEAST_ROWS:
        return False
    falls = sum(b < a for a, b in pairwise(steps))
    if len(steps) < _WITH_STEP * len(rows) or falls > _FALLING * len(steps):
        return False

    numbers, texts = _kinds(chain(*([*row[:step], *row[step + 1 :]] for row in rows)))
    # the first rows of a live log may have gaps only
    return (numbers > 0 or not texts) and all(len(text) <= _LONG_TEXT for text in texts)


def _kinds(cells: Iterable[str]) -> tuple[int, list[str]]:
    """How many cells are numbers, and those that are neither numbers nor gaps."""
    numbers = 0
    texts = []
    for cell in cells:
        if number_of(cell) is not None:
            numbers += 1
        elif not is_gap(cell):
            texts.append(cell)
    return numbers, texts


def refusal(head: bytes, step_keys: Sequence[str]) -> Refusal | None:
    """Why a table is no log although its columns are named like figures of a training, and which
    line shows it; None for all other files."""
    table = _table_in(head)
    if table is None or len(table[2]) < _LEAST_ROWS or not are_figures(table[0]):
        return None
    names, delimiter, lines = table
    for number, line in lines:
        cells = split_line(line, delimiter)
        if cells is None or len(cells) != len(names):
            count = "broken quotes" if cells is None else f"{len(cells)} cells"
            return Refusal(f"line {number} has {count}, the header {len(names)} names", lost=True)
        if texts := _kinds(cells)[1]:
            return Refusal(f"line {number} has a text: {fit(clean(texts[0]), _QUOTED)}")

    fall = bool(step_names(names, step_keys))
    return Refusal("its steps fall from row to row", lost=True) if fall else None
