"""Reads rows of one run by their ids; leaves out what lies in damaged pages."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from rltui.trackers.sqlite.database import is_damage
from rltui.trackers.sqlite.schema import MOST_VALUES, Row, RowDecoder, Table, in_chunks

#: One range of ids takes the place of a list of them as long as it passes at most this many rows
#: of other runs for each row of this one.
_PASSED = 3
#: Rows that are read together in a damaged store; one damaged page loses all of them.
_DAMAGED_ROWS = 50


class Fetched(NamedTuple):
    """The rows that were read, in order."""

    rows: list[Row]
    damaged: int
    """Rows that were left out."""
    stopped: bool
    """Whether the budget ended before all rows were read; never without a row."""


def fetch_rows(
    connection: sqlite3.Connection,
    table: Table,
    run: bytes,
    decoder: RowDecoder,
    ids: list[int],
    budget_bytes: int,
) -> Fetched:
    """The rows of these ids (ascending), as far as the budget goes."""
    select = f"SELECT rowid, {table.columns} FROM {table.name} WHERE rowid"

    def cursor(piece: Sequence[int]) -> sqlite3.Cursor:
        if len(piece) > MOST_VALUES:
            query = f"{select} BETWEEN ? AND ? AND +{table.run} = CAST(? AS TEXT) ORDER BY rowid"
            return connection.execute(query, (piece[0], piece[-1], run))
        ((marks, numbers),) = in_chunks(piece)
        return connection.execute(f"{select} IN ({marks}) ORDER BY rowid", numbers)

    def read(pieces: Sequence[Sequence[int]], *, tolerant: bool) -> Fetched:
        rows: list[Row] = []
        damaged, left = 0, budget_bytes
        for piece in pieces:
            try:
                found, spent = decoder.fetch(cursor(piece), max(1, left))
            except sqlite3.DatabaseError as error:
                if not tolerant or not is_damage(error):
                    raise
                damaged += len(piece)
                continue
            rows += found
            left -= spent
            if left <= 0 and rows and rows[-1][0] < ids[-1]:
                return Fetched(rows, damaged, True)
        return Fetched(rows, damaged, False)

    dense = bool(ids) and ids[-1] - ids[0] < (_PASSED + 1) * len(ids)
    try:
        return read([ids] if dense else _pieces(ids, MOST_VALUES), tolerant=False)
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
    return read(_pieces(ids, _DAMAGED_ROWS), tolerant=True)


def _pieces(ids: list[int], size: int) -> list[list[int]]:
    return [ids[i : i + size] for i in range(0, len(ids), size)]
