"""The beginning of a table: its separator, its header, and whether it is a log.

Most tables on a disk are data sets. A log has numbers and a step that seldom falls.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from itertools import pairwise

from rltui.formats.table.table_cell import is_gap, number_of
from rltui.formats.table.table_column import Columns, TableKind, columns_of
from rltui.formats.table.table_line import TableRow, rows_of

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


def delimiter_of(line: bytes) -> str:
    """The most frequent separator in the header; a comma when it has none."""
    counts = [(line.count(d.encode()), d) for d in _DELIMITERS]
    most = max(count for count, _ in counts)
    return next(d for count, d in counts if count == most)


def split_line(line: bytes, delimiter: str) -> list[str] | None:
    """The cells of one line, None when its quotes are broken."""
    text = line.decode("utf-8", "replace").rstrip("\r\n")
    try:
        return next(csv.reader([text], delimiter=delimiter, strict=True), None)
    except csv.Error:
        return None


def is_header(cells: Sequence[str]) -> bool:
    """Whether the cells are names: texts, not numbers, at most one blank (an index)."""
    if not 2 <= len(cells) <= _MAX_COLUMNS:
        return False
    blank = sum(not c.strip() for c in cells)
    return blank <= 1 and all(_is_name(c) for c in cells if c.strip())


def _is_name(cell: str) -> bool:
    cell = cell.strip()
    return number_of(cell) is None and "\0" not in cell and any(c.isalpha() for c in cell)


def holds_log(head: bytes, file_name: str, step_keys: Sequence[str], fixed: bool) -> bool:
    """Whether a table with this head is a training log.

    ``fixed``: only trainers give the file this name, so that a header is enough.
    """
    lines = head.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    whole = [line for line in lines[:-1] if line.strip()][: _ROWS + 2]
    if whole and whole[0].startswith(b"#") and b'"t_start"' in whole[0]:
        return True
    whole = [line for line in whole if not line.startswith(b"#")]
    delimiter = delimiter_of(whole[0]) if whole else ","
    names = split_line(whole[0], delimiter) if whole else None
    if names is None or not is_header(names):
        return False
    columns = columns_of(names, step_keys, file_name)
    if not columns.steps or not columns.metrics:
        return False
    if columns.kind is not TableKind.PLAIN:
        return True
    if len(whole) == 1:  # no row yet
        return fixed or len(lines[-1]) < len(head) // 2
    body = b"".join(line + b"\n" for line in whole[1:])
    found = (
        r.cells
        for r in rows_of(body, delimiter, lambda: columns.size, last=True)
        if type(r) is TableRow
    )
    rows = [cells for cells in found if cells is not None and len(cells) == columns.size]
    return bool(rows) and _are_figures(rows, columns, fixed)


def _are_figures(rows: Sequence[list[str]], columns: Columns, fixed: bool) -> bool:
    steps = [number_of(row[columns.steps[0]]) for row in rows]
    known = [s for s in steps if s is not None]
    if fixed or not known:
        return bool(known)
    cells = [row[i] for row in rows for i in columns.metrics]
    # the first rows of a live log may have gaps only
    if not any(number_of(c) is not None for c in cells) and not all(is_gap(c) for c in cells):
        return False
    if len(known) < _WITH_STEP * len(rows):
        return False
    falls = sum(b < a for a, b in pairwise(known))
    texts = [c for row in rows for c in row if number_of(c) is None and not is_gap(c)]
    return falls <= _FALLING * len(known) and all(len(c) <= _LONG_TEXT for c in texts)
