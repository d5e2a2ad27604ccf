"""Which column of a table is the step, as far as its first rows show.

A name alone is not enough: an episode that counts 0 to 7 again and again, a step that never
moves or an epoch of 0.03 is no axis. Then the next column that may be one is taken, in the end
the number of the row.
"""

from __future__ import annotations

import numpy as np

from rltui.core.block import FloatArray
from rltui.formats.table.collect import TableRows
from rltui.formats.table.table_column import Columns, TableKind

#: Rows after which the choice stands.
_ROWS = 200
#: A step that is the same in this many first rows is none.
_CONSTANT = 16
#: A step that has begun again this often is none.
_AGAIN = 2


class Axis:
    """The choice for one header; owned by the decoder."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._candidates = list(columns.candidates)
        self.kept: list[tuple[bool, TableRows]] = []
        """The rows until the choice stands, and whether the header was repeated before."""
        self._count = 0

    @property
    def settled(self) -> bool:
        """Whether the choice stands."""
        plain = self._columns.kind is TableKind.PLAIN
        return not (plain and self._candidates) or self._count >= _ROWS

    @property
    def step(self) -> int:
        """The column; -1 when the steps are row numbers."""
        return self._candidates[0] if self._candidates else -1

    @property
    def rejected(self) -> frozenset[str]:
        """Names of the columns that have turned out to be no step."""
        names = self._columns.names
        return frozenset(names[i] for i in self._columns.candidates if i not in self._candidates)

    def add(self, rows: TableRows, *, again: bool) -> bool:
        """Take the next rows; returns whether they show another column to be the step."""
        self._join()
        self.kept.append((again, rows))
        before = self.step
        while self._candidates and not self._behaves(self._candidates[0]):
            del self._candidates[0]
        self._count += rows.count
        return self.step != before

    def _join(self) -> None:
        """Make few pieces of many: a live log is read row by row, and a row is an array for each
        column."""
        while len(self.kept) > 1:
            (began_again, older), (again, newer) = self.kept[-2:]
            if again or older.count > 2 * newer.count:
                return
            both = older.followed_by(newer)
            if both is None:
                return
            self.kept[-2:] = [(began_again, both)]

    def _behaves(self, column: int) -> bool:
        values, breaks = self._values(column)
        if values is None:
            return False
        rise = np.diff(values)
        rise[[b - 1 for b in breaks if 0 < b < len(values)]] = 1.0
        if column in self._columns.doubtful:
            return bool((values >= 0).all() and (rise > 0).all() and (values % 1 == 0).all())
        if (values % 1 != 0).any():
            return False
        # every test keeps its answer however many rows follow: pieces of any size agree
        again = np.count_nonzero((rise < 0) & (values[1:] <= values[:1]))
        constant = len(values) >= _CONSTANT and not rise[: _CONSTANT - 1].any()
        return bool(again < _AGAIN and not constant)

    def _values(self, column: int) -> tuple[FloatArray | None, list[int]]:
        """The numbers in the first rows, and where the header was repeated; None for texts."""
        parts: list[FloatArray] = []
        breaks: list[int] = []
        left = _ROWS
        for again, rows in self.kept:
            if column not in rows.values:
                return None, []
            have = sum(map(len, parts))
            if again:
                breaks.append(have)
            values = rows.values[column][:left]
            left -= len(values)
            known = np.isfinite(values)
            if column in rows.absent:
                known &= ~rows.absent[column][: len(values)]
            parts.append(values[known])
        return np.concatenate(parts), breaks
