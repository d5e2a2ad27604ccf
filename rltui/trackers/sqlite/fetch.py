"""Reads rows of one run by their ids, around damaged pages."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from rltui.trackers.sqlite.database import is_damage
from rltui.trackers.sqlite.schema import MOST_VALUES, Row, RowDecoder, Table, in_chunks

#: Rows of other runs that may be passed for each row of this one, so that one range of ids
#: takes the place of a list of them.
_PASSED = 3
#: Rows in damaged pages that are looked for one by one, in one look.
_MOST_DAMAGED = 500


class Fetch:
    """One read of rows; used once."""

    def __init__(
        self, connection: sqlite3.Connection, table: Table, run: bytes, decoder: RowDecoder
    ) -> None:
        self._connection = connection
        self._table = table
        self._run = run
        self._decoder = decoder
        self.damaged = 0
        """Rows that could not be read."""
        self.stopped = False
        """Whether the budget has ended before all of the rows were read; never without a row."""

    def rows(self, ids: list[int], budget_bytes: int) -> list[Row]:
        """The rows of these ids, in order, as far as the budget goes."""
        rows: list[Row] = []
        for piece in _pieces(ids):
            found, spent = self._piece(piece, max(1, budget_bytes))
            rows += found
            budget_bytes -= spent
            if budget_bytes <= 0 and rows and rows[-1][0] < ids[-1]:
                self.stopped = True
                break
        return rows

    def _piece(self, ids: list[int], budget: int) -> tuple[list[Row], int]:
        try:
            return self._decoder.fetch(self._cursor(ids), budget)
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
        half = len(ids) // 2
        if not half or self.damaged >= _MOST_DAMAGED:
            self.damaged += len(ids)
            return [], 0
        first, spent = self._piece(ids[:half], budget)
        if spent >= budget:
            return first, spent
        second, more = self._piece(ids[half:], budget - spent)
        return first + second, spent + more

    def _cursor(self, ids: list[int]) -> sqlite3.Cursor:
        table = self._table
        select = f"SELECT rowid, {table.columns} FROM {table.name} WHERE rowid"
        if _is_range(ids) or len(ids) > MOST_VALUES:
            query = f"{select} BETWEEN ? AND ? AND +{table.run} = CAST(? AS TEXT) ORDER BY rowid"
            return self._connection.execute(query, (ids[0], ids[-1], self._run))
        ((marks, numbers),) = in_chunks(ids)
        return self._connection.execute(f"{select} IN ({marks}) ORDER BY rowid", numbers)


def _is_range(ids: list[int]) -> bool:
    return ids[-1] - ids[0] < (_PASSED + 1) * len(ids)


def _pieces(ids: list[int]) -> Iterator[list[int]]:
    """Ids of which each piece takes one statement."""
    if ids and _is_range(ids):
        yield ids
        return
    for _, piece in in_chunks(ids):
        yield list(piece)
