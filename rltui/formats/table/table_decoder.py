"""Lines of a table to blocks; :mod:`.table_column` interprets the columns.

Whole pieces of plain numbers go through numpy, others are split cell by cell. The header may
repeat (the writer restarted and appended) or change; comments begin with ``#``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rltui.core.block import BoolArray, FloatArray
from rltui.core.level import Level
from rltui.formats.base import Decoded, NoteBook, Options
from rltui.formats.json_value import wall_of
from rltui.formats.last_line import LastLine
from rltui.formats.table.head import BLANK, delimiter_of, is_header, split_line, squeezed
from rltui.formats.table.table_cell import (
    MAX_QUOTED,
    OpenRow,
    OtherLines,
    is_gap,
    number_of,
    numbers_of,
    plain_cells,
    rows_of,
)
from rltui.formats.table.table_column import Axis, BlockCollector, Columns, TableRows, columns_of
from rltui.formats.words import step_names

#: Longer lines are skipped: they are not metrics.
MAX_LINE = 1 << 24
_OTHER_SIZE = "line with another number of cells"
_BOM = b"\xef\xbb\xbf"
#: Bytes of lines that are decoded at once: objects of all cells take fifty times as much.
_AT_ONCE = 4 * MAX_QUOTED


class TableDecoder(LastLine):
    """Decodes one table. Not thread-safe."""

    holds_row = False

    def __init__(self, options: Options, path: Path | None) -> None:
        self._step_keys = options.step_keys
        self._file_name = path.name if path is not None else ""
        self._parts: list[bytes] = []
        self._have = 0
        self._offset = 0
        self._skipping = False
        self._quoted = False
        """Whether the kept bytes begin with a row whose quotes are open."""
        self._line_begin = b""
        """The unfinished line behind such a row."""
        self._notes = NoteBook()
        self._records = 0
        self._columns: Columns | None = None
        self._delimiter = ","
        self._texts: set[int] = set()
        self._numbers: set[int] = set()
        self._collector = BlockCollector()
        self._axis: Axis | None = None
        """The choice of the step, until it stands."""
        self._rejected: frozenset[str] = frozenset()
        """Columns named like a step whose rows have shown that they are none."""
        self._again = False
        """Whether the header was repeated before the next rows."""
        self._row_numbers = False
        self._returned = False
        """Whether points were returned."""
        self._replaces = False

    def _feed(self, data: bytes, *, more: bool) -> Decoded:
        if data:
            self._parts.append(data)
            self._have += len(data)
            if self._quoted:
                if self._may_end(data) or self._have > MAX_QUOTED:
                    self._split()
            elif b"\n" in data:
                self._split()
            elif self._have > MAX_LINE:
                self._drop()
        items, self._collector.items = tuple(self._collector.items), []
        decoded = Decoded(
            items,
            notes=self._notes.take(),
            records=self._records,
            steps_are_row_numbers=self._row_numbers,
            replaces=self._replaces and self._returned,
        )
        self._returned = self._returned or bool(items)
        self._records, self._replaces = 0, False
        return decoded

    def _drop(self) -> None:
        """Drop the unfinished line; the rest of it will be skipped."""
        if not self._skipping:
            self._notes.add(self._offset, "line is too long")
            self._records += 1
        self._offset += self._have
        self._parts, self._have, self._skipping = [], 0, True

    def _split(self) -> None:
        """Decode all whole lines and keep the rest."""
        data = b"".join(self._parts)
        begin = 0
        if self._skipping:
            begin, self._skipping = data.index(b"\n") + 1, False
        elif not self._offset and data.startswith(_BOM):
            begin = len(_BOM)
        end = data.rfind(b"\n") + 1
        taken = begin + self._lines(data[begin:end], self._offset + begin)
        self._quoted = taken < end
        self._line_begin = data[end:] if self._quoted else b""
        self._offset += taken
        rest = data[taken:]
        self._parts, self._have = ([rest] if rest else []), len(rest)

    def _may_end(self, data: bytes) -> bool:
        """Whether a complete line may end a row with open quotes, or show that the quote was a
        stray one. Only then are the kept bytes worth parsing again."""
        *lines, self._line_begin = (self._line_begin + data).split(b"\n")
        delimiter, count = self._delimiter.encode(), self._size() - 1
        return any(
            b'"' in line or line.startswith(b"#") or line.count(delimiter) == count
            for line in lines
        )

    def _lines(self, piece: bytes, offset: int) -> int:
        """Decode whole lines; returns the bytes consumed (all but an open row)."""
        pos = 0
        while pos < len(piece):
            if piece.startswith(b"#", pos):
                end = piece.index(b"\n", pos) + 1
                self._comment(piece[pos:end])
            elif self._columns is None:
                end = self._header_line(piece, pos, offset)
            else:
                most = piece.find(b"\n", pos + _AT_ONCE) + 1 or len(piece)
                mark = piece.find(b"\n#", pos, most)
                end = most if mark < 0 else mark + 1
                used = self._body(piece[pos:end], offset + pos, end == most)
                if not used or pos + used < end == len(piece):
                    return pos + used
                end = pos + used
            pos = end
        return pos

    def _comment(self, line: bytes) -> None:
        """``#{"t_start": 1.8e9, "env_id": ...}`` begins the files of Monitor."""
        self._records += 1
        if b"t_start" not in line:
            return
        try:
            comment = json.loads(line[1:])
        except (ValueError, RecursionError):
            return
        began = wall_of(comment.get("t_start")) if isinstance(comment, dict) else None
        if began is not None:
            self._collector.environment_began(began)

    def _header_line(self, piece: bytes, pos: int, offset: int) -> int:
        """Read one line as the header if it is one; returns where the next begins."""
        end = piece.index(b"\n", pos) + 1
        line = piece[pos:end]
        if not line.strip():
            return end
        self._records += 1
        delimiter = delimiter_of(line)
        names = split_line(line, delimiter)
        if names is None or not is_header(names):
            self._notes.add(offset + pos, "line before the header")
            return end
        self._delimiter = delimiter
        self._begin(names)
        return end

    def _begin(self, names: Sequence[str]) -> None:
        """Continue with this header."""
        first = self._columns is None
        columns = columns_of(names, self._step_keys, self._file_name)
        if not self._rejected.isdisjoint(columns.names):
            left = (i for i in columns.candidates if columns.names[i] not in self._rejected)
            columns = columns_of(names, self._step_keys, self._file_name, next(left, -1))
        self._columns = columns
        self._axis = Axis(columns) if first else None
        self._texts, self._numbers = set(), set()

    def _body(self, piece: bytes, offset: int, last: bool) -> int:
        """Decode whole lines without comments; returns the bytes consumed."""
        columns = self._columns
        if columns is None:
            return 0
        if self._delimiter == BLANK:
            self._careful(squeezed(piece), offset, last=False)
            return len(piece)
        plain = None
        if b'"' not in piece and not self._texts:
            plain = self._plain(piece, columns.size)
        if plain is None:
            return self._careful(piece, offset, last)
        values, absent = plain
        every = range(columns.size)
        rows = TableRows(
            len(values),
            {i: values[:, i] for i in every},
            {} if absent is None else {i: absent[:, i] for i in every},
        )
        self._numbers.update(every if absent is None else _present_in(absent))
        self._records += len(values)
        self._take(columns, rows, offset)
        return len(piece)

    def _plain(self, piece: bytes, size: int) -> tuple[FloatArray, BoolArray | None] | None:
        if b"\r" in piece:
            piece = piece.replace(b"\r\n", b"\n")
            if b"\r" in piece:
                return None
        if self._delimiter != ",":
            if b"," in piece:
                return None
            piece = piece.replace(self._delimiter.encode(), b",")
        return plain_cells(piece, size)

    def _careful(self, piece: bytes, offset: int, last: bool) -> int:
        """Decode lines cell by cell; returns the bytes consumed."""
        batch: list[list[str]] = []
        for row in rows_of(piece, self._delimiter, self._size, last=last):
            if isinstance(row, OpenRow):
                self._cells(batch, offset)
                return row.offset
            if isinstance(row, OtherLines):
                self._records += row.lines
                detail = f"1 instead of {self._size()}"
                self._notes.add(offset + row.offset, _OTHER_SIZE, detail, times=row.lines)
                continue
            self._records += 1
            if row.cells is None:
                self._notes.add(offset + row.offset, "broken line")
            elif self._is_new_header(row.cells):
                self._cells(batch, offset)
                batch = []
                self._header_again(row.cells)
            elif len(row.cells) != self._size():
                detail = f"{len(row.cells)} instead of {self._size()}"
                self._notes.add(offset + row.offset, _OTHER_SIZE, detail)
            else:
                batch.append(row.cells)
        self._cells(batch, offset)
        return len(piece)

    def _size(self) -> int:
        return self._columns.size if self._columns is not None else 0

    def _is_new_header(self, cells: list[str]) -> bool:
        columns = self._columns
        if columns is None or number_of(cells[0]) is not None or is_gap(cells[0]):
            return False  # the usual case, decided by one cell
        if tuple(c.strip() for c in cells) == columns.names:
            return True
        return bool(step_names(cells, self._step_keys)) and is_header(cells)

    def _header_again(self, names: list[str]) -> None:
        columns = self._columns
        if columns is None or tuple(n.strip() for n in names) != columns.names:
            self._begin(names)
        self._again = True

    def _cells(self, batch: list[list[str]], offset: int) -> None:
        """Decode rows of the current header."""
        columns = self._columns
        if not batch or columns is None:
            return
        rows = TableRows(len(batch), {}, {})
        table = list(zip(*batch, strict=True))
        for i in {
            *columns.steps,
            *columns.metrics,
            *((columns.wall,) if columns.wall >= 0 else ()),
        }:
            if i == columns.wall and (walls := _walls_in(table[i])) is not None:
                rows.walls = walls
            elif not self._is_text(i, table[i]):
                rows.values[i], rows.absent[i] = numbers_of(table[i])
        self._take(columns, rows, offset)

    def _take(self, columns: Columns, rows: TableRows, offset: int) -> None:
        again, self._again = self._again, False
        axis = self._axis
        if axis is not None:
            if axis.add(rows, again=again):
                step = axis.step
                columns = columns_of(columns.names, self._step_keys, self._file_name, step)
                self._columns, self._replaces = columns, True
                self._rejected = axis.rejected
                self._start_over(columns, axis.kept[:-1])
            if axis.settled:
                self._axis = None
        self._row_numbers = self._row_numbers or not columns.steps
        if not self._store(columns, rows, again=again):
            self._notes.add(offset, "row without a step", level=Level.OK)

    def _repeat(self) -> bool:
        """While the choice of the step is open, all rows are there."""
        if self._axis is None or self._columns is None:
            return False
        self._start_over(self._columns, self._axis.kept)
        self._replaces = self._returned = True
        return True

    def _start_over(self, columns: Columns, kept: Sequence[tuple[bool, TableRows]]) -> None:
        """Store all rows so far once more."""
        self._collector.start_over()
        for again, rows in kept:
            self._store(columns, rows, again=again)

    def _store(self, columns: Columns, rows: TableRows, *, again: bool) -> bool:
        if again:
            self._collector.header_again()
        return self._collector.take(columns, rows)

    def _is_text(self, column: int, cells: Sequence[str]) -> bool:
        """Whether a column contains text, by its first cell that is not a gap."""
        if column not in self._numbers and column not in self._texts:
            first = next((c for c in cells if not is_gap(c)), None)
            if first is None:
                return False
            (self._texts if number_of(first) is None else self._numbers).add(column)
        return column in self._texts


def _walls_in(cells: Sequence[str]) -> FloatArray | None:
    """Wall times of a column of dates; None when it contains anything else."""
    first = next((c for c in cells if not is_gap(c)), None)
    if first is None or wall_of(first) is None:
        return None
    found = [wall_of(cell) for cell in cells]
    return np.array([math.nan if wall is None else wall for wall in found])


def _present_in(absent: BoolArray) -> list[int]:
    """The columns with at least one value."""
    return [int(i) for i in np.flatnonzero(~absent.all(axis=0))]
