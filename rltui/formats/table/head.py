"""The beginning of a table: its separator, its header, and whether it is a log.

Most tables on a disk are data sets. A log has numbers and a step that seldom falls.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from itertools import pairwise

from rltui.core.text import clean, fit
from rltui.formats.base import Refusal
from rltui.formats.table.table_column import Axis, Columns, TableKind, TableRows, columns_of
from rltui.formats.table.table_line import is_gap, number_of, numbers_of, rows_of
from rltui.formats.words import are_figures, step_names

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
_DELIMITERS = (",", "\t", ";")
#: The separator of tables whose columns are lined up with blanks.
BLANK = " "
_BLANKS = re.compile(rb"[ \t]+")
#: Rows without a step, or in a file of any name, from which a table is believed to be a log.
_LEAST_ROWS = 2
#: Cells of a text that is quoted.
_QUOTED = 40


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
        number_of(n) is None and "\0" not in n and any(c.isalpha() for c in n) for n in names
    )


def _table_in(head: bytes) -> tuple[list[str], str, list[tuple[int, bytes]]] | None:
    """Header, separator and numbered lines of the table in a head; None without a header."""
    lines = head.removeprefix(b"\xef\xbb\xbf").split(b"\n")[:-1]
    numbered = [(n, x) for n, x in enumerate(lines, 1) if x.strip() and not x.startswith(b"#")]
    if not numbered:
        return None
    header = numbered[0][1]
    delimiter = delimiter_of(header)
    names = split_line(header, delimiter)
    if names is None or not is_header(names):
        return None
    return names, delimiter, numbered[1 : _ROWS + 1]


def holds_log(
    head: bytes, file_name: str, step_keys: Sequence[str], *, fixed: bool, loose: bool = False
) -> bool:
    """Whether a table with this head is a training log.

    ``fixed``: only trainers give the file this name, so that a header is enough. ``loose``: files
    of this name are seldom tables: two rows of nothing but numbers must show that this is one.
    """
    first = head.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")
    if first[1] and first[0].startswith(b"#") and b'"t_start"' in first[0]:
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
    strict = loose or delimiter == BLANK
    if strict and not _all_numbers(rows, max(len(lines), _LEAST_ROWS if loose else 1)):
        return False
    return bool(rows) and _are_figures(rows, columns, fixed)


def _all_numbers(rows: Sequence[list[str]], least: int) -> bool:
    return len(rows) >= least and all(number_of(c) is not None for row in rows for c in row)


def _rows(lines: Sequence[tuple[int, bytes]], delimiter: str, size: int) -> list[list[str]]:
    """The rows with as many cells as the header."""
    body = b"".join(line + b"\n" for _, line in lines)
    if delimiter == BLANK:
        body = squeezed(body)
    found = (row.cells for row in rows_of(body, delimiter, lambda: size, last=True))
    return [cells for cells in found if cells is not None and len(cells) == size]


def _are_figures(rows: Sequence[list[str]], columns: Columns, fixed: bool) -> bool:
    axis = Axis(columns)
    cells = {i: numbers_of([row[i] for row in rows]) for i in columns.candidates}
    known = [i for i, (_, absent) in cells.items() if not absent.all()]
    values = {i: cells[i][0] for i in known}
    axis.add(TableRows(len(rows), values, {i: cells[i][1] for i in known}), again=False)
    if axis.step >= 0:
        return _are_stepped(rows, columns, axis.step, fixed)
    if not fixed and not are_figures([columns.names[i] for i in columns.metrics]):
        return False
    numbers, texts = _kinds([row[i] for row in rows for i in columns.metrics])
    return numbers > 0 and (fixed or (len(rows) >= _LEAST_ROWS and not texts))


def _are_stepped(rows: Sequence[list[str]], columns: Columns, step: int, fixed: bool) -> bool:
    """Whether rows with a step in a column are those of a training."""
    known = [s for row in rows if (s := number_of(row[step])) is not None]
    if fixed or not known:
        return bool(known)
    if step in columns.doubtful and len(rows) < _LEAST_ROWS:
        return False
    falls = sum(b < a for a, b in pairwise(known))
    if len(known) < _WITH_STEP * len(rows) or falls > _FALLING * len(known):
        return False
    numbers, texts = _kinds([c for row in rows for i, c in enumerate(row) if i != step])
    # the first rows of a live log may have gaps only
    return (numbers > 0 or not texts) and all(len(text) <= _LONG_TEXT for text in texts)


def _kinds(cells: Sequence[str]) -> tuple[int, list[str]]:
    """How many cells are numbers, and those that are neither numbers nor gaps."""
    others = [c for c in cells if number_of(c) is None]
    texts = [c for c in others if not is_gap(c)]
    return len(cells) - len(others), texts


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
