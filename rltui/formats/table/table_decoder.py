"""Lines of a table to blocks; :mod:`.table_column` interprets the columns.

Whole pieces of plain numbers go through numpy, others are split cell by cell. The header may
repeat (the writer restarted and appended) or change; comments begin with ``#``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rltui.core.level import Level
from rltui.formats.base import Decoded, Options
from rltui.formats.json_value import wall_of
from rltui.formats.line_decoder import LastLine
from rltui.formats.table import table_line
from rltui.formats.table.table_column import Axis, BlockCollector, Columns, TableRows, columns_of
from rltui.formats.words import step_names

#: Bytes of lines that are decoded at once: objects of all cells take fifty times as much.
_AT_ONCE = 4 * table_line.MAX_QUOTED


class TableDecoder(LastLine):
    """Decodes one table. Not thread-safe."""

    def __init__(self, options: Options, path: Path) -> None:
        super().__init__()
        self._step_keys = options.step_keys
        self._file_name = path.name
        self._quoted = False
        """Whether the kept bytes begin with a row whose quotes are open."""
        self._line_begin = b""
        """The unfinished line behind such a row."""
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
            self._cut(data)
        items = tuple(self._collector.items)
        self._collector.items = []
        decoded = Decoded(
            items,
            notes=self._notes.take(),
            records=self._records,
            steps_are_row_numbers=self._row_numbers,
            replaces=self._replaces and self._returned,
        )
        self._returned = self._returned or bool(items)
        self._records = 0
        self._replaces = False

        return decoded

    def _is_due(self, data: bytes) -> bool:
        """A row with open quotes is worth parsing again only when a complete line may end it, or
        show that the quote was a stray one."""
        if not self._quoted or self._have > table_line.MAX_QUOTED:
            return self._quoted or b"\n" in data
        *lines, self._line_begin = (self._line_begin + data).split(b"\n")
        delimiter = self._delimiter.encode()
        count = len(self._names) - 1
        return any(
            b'"' in line or line.startswith(b"#") or line.count(delimiter) == count
            for line in lines
        )

    def _read_lines(self, text: bytes, begin: int, end: int) -> int:
        pos = begin
        while pos < end:
            stop = text.index(b"\n", pos) + 1
            if text.startswith(table_line.ABOVE if self._columns is None else b"#", pos):
                self._records += 1
                self._collector.environment_began(text[pos:stop])
            elif self._columns is None:
                self._header_line(text[pos:stop], self._offset + pos)
            else:
                most = text.find(b"\n", pos + _AT_ONCE, end) + 1 or end
                mark = text.find(b"\n#", pos, most)
                stop = most if mark < 0 else mark + 1
                used = self._body(self._columns, text[pos:stop], self._offset + pos, stop == most)
                if not used or pos + used < stop == end:
                    pos += used
                    break
                stop = pos + used
            pos = stop

        self._quoted = pos < end
        self._line_begin = text[end:] if self._quoted else b""
        return pos

    def _header_line(self, line: bytes, offset: int) -> None:
        """Continue below this line if it is the header."""
        if not line.strip():
            return
        self._records += 1
        delimiter = table_line.delimiter_of(line)
        names = table_line.split_line(line, delimiter)
        if names is None or not table_line.is_header(names):
            self._notes.add(offset, "line before the header")
            return
        self._delimiter = delimiter
        self._axis = Axis(self._begin(names))

    def _begin(self, names: Sequence[str]) -> Columns:
        """Continue with this header."""
        columns = columns_of(names, self._step_keys, self._file_name)
        if not self._rejected.isdisjoint(columns.names):
            left = (i for i in columns.candidates if columns.names[i] not in self._rejected)
            columns = columns_of(names, self._step_keys, self._file_name, next(left, -1))
        self._columns = columns
        self._axis = None
        self._texts, self._numbers = set(), set()
        return columns

    def _body(self, columns: Columns, piece: bytes, offset: int, last: bool) -> int:
        """Decode whole lines without comments; returns the bytes consumed."""
        piece = table_line.with_points(piece, self._delimiter)
        if self._delimiter == table_line.BLANK:
            self._careful(table_line.squeezed(piece), offset, last=False)
            return len(piece)

        text = piece
        size = len(columns.names)
        if b"\r" in text:
            text = text.replace(b"\r\n", b"\n")
        usual = not self._texts and columns.naming < 0 and b"\r" not in text
        if usual and self._delimiter != ",":
            text = text.replace(self._delimiter.encode(), b",")
        plain = table_line.plain_cells(text, size) if usual else None
        if plain is None:
            return self._careful(piece, offset, last)

        values, absent = plain
        every = range(size)
        rows = TableRows(
            len(values),
            {i: values[:, i] for i in every},
            {} if absent is None else {i: absent[:, i] for i in every},
        )
        present = every if absent is None else np.flatnonzero(~absent.all(axis=0)).tolist()
        self._numbers.update(present)
        self._records += len(values)
        self._store(columns, rows, offset)
        return len(piece)

    def _careful(self, piece: bytes, offset: int, last: bool) -> int:
        """Decode lines cell by cell; returns the bytes consumed."""
        batch: list[list[str]] = []
        for row in table_line.rows_of(piece, self._delimiter, lambda: len(self._names), last=last):
            if not row.lines:
                self._cells(batch, offset)
                return row.offset
            self._records += row.lines
            if row.cells is None:
                self._notes.add(offset + row.offset, "broken line")
            elif self._is_new_header(row.cells):
                self._cells(batch, offset)
                batch = []
                self._again = True
                if self._names != tuple(n.strip() for n in row.cells):
                    self._begin(row.cells)
            elif len(row.cells) != len(self._names):
                detail = f"{len(row.cells)} instead of {len(self._names)}"
                kind = "line with another number of cells"
                self._notes.add(offset + row.offset, kind, detail, times=row.lines)
            else:
                batch.append(row.cells)

        self._cells(batch, offset)
        return len(piece)

    @property
    def _names(self) -> tuple[str, ...]:
        return self._columns.names if self._columns is not None else ()

    def _is_new_header(self, cells: list[str]) -> bool:
        if table_line.number_of(cells[0]) is not None or table_line.is_gap(cells[0]):
            return False  # the usual case, decided by one cell
        if tuple(c.strip() for c in cells) == self._names:
            return True
        return bool(step_names(cells, self._step_keys)) and table_line.is_header(cells)

    def _cells(self, batch: list[list[str]], offset: int) -> None:
        """Decode rows of the current header."""
        columns = self._columns
        if not batch or columns is None:
            return
        rows = TableRows(len(batch), {}, {})
        table = list(zip(*batch, strict=True))
        rows.names = table[columns.naming] if columns.naming >= 0 else ()
        for i in {*columns.steps, *columns.metrics, columns.wall} - {-1}:
            cells = table[i]
            first = next((c for c in cells if not table_line.is_gap(c)), None)
            if i == columns.wall and wall_of(first) is not None:
                rows.walls = np.array(list(map(wall_of, cells)), np.float64)  # None is NaN
                continue
            if first is not None and i not in self._numbers | self._texts:
                (self._texts if table_line.number_of(first) is None else self._numbers).add(i)
            if i not in self._texts:
                rows.values[i], rows.absent[i] = table_line.numbers_of(cells)
        self._store(columns, rows, offset)

    def _store(self, columns: Columns, rows: TableRows, offset: int) -> None:
        """Store rows, and all before them once more where they show another column to be the
        step."""
        again = self._again
        self._again = False
        axis = self._axis
        if axis is not None:
            if axis.add(rows, again=again):
                columns = columns_of(columns.names, self._step_keys, self._file_name, axis.step)
                self._columns = columns
                self._replaces = True
                self._rejected = axis.rejected
                self._collector.start_over(columns, axis.kept[:-1])
            if axis.settled:
                self._axis = None

        self._row_numbers = self._row_numbers or not columns.steps
        if not self._collector.store(columns, rows, again=again):
            self._notes.add(offset, "row without a step", level=Level.OK)
