"""What differs between trackers that keep their runs in one SQLite table.

The table has one row for each logged value or step and a column that names the run. Rows are
only added, and their row ids grow; :mod:`rltui.trackers.sqlite.row_follower` finds out what
else has happened to them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import quote, unquote_to_bytes

from rltui.formats.base import Decoded
from rltui.trackers.base import Follower, TrackedRun

#: A row as it was selected: its row id, then the columns of the table.
Row = tuple[Any, ...]
#: Values in one statement; SQLite before 3.32 takes 999 at most.
MOST_VALUES = 500


@dataclass(frozen=True, slots=True)
class Table:
    """Where the rows are."""

    name: str
    run: str
    """Name of the column that names the run."""
    columns: str
    """What a row is made of, in SQL, after its row id; the largest one last."""
    index: str = ""
    """An index on the column of runs and no other, which lists the rows of a run in order."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a store says about a run beside its rows."""

    exists: bool = True
    """False when the user has deleted the run."""
    hparams: dict[str, object] = field(default_factory=dict)
    exit_code: int | None = None

    def since(self, before: Facts) -> dict[str, Any]:
        """Settings and exit code where they have changed, as fields of ``Decoded``."""
        return {
            "hparams": self.hparams if self.hparams != before.hparams else {},
            "exit_code": self.exit_code if self.exit_code != before.exit_code else None,
        }


class RowDecoder(Protocol):
    """Turns rows of one run, in order, into blocks. Never raises for bad data."""

    row_bytes: int
    """Bytes of one of its rows, estimated; at least one."""

    def fetch(self, cursor: sqlite3.Cursor, budget_bytes: int) -> tuple[list[Row], int]:
        """The next rows of the cursor, about ``budget_bytes`` of them, and their bytes."""

    def whole(self, rows: Sequence[Row]) -> int:
        """How many of the rows to take when more follow, so that values that were logged
        together stay together; at least one. The rest is read again."""

    def decode(self, rows: Sequence[Row]) -> Decoded:
        """What is in rows that follow those of the call before."""


class Dialect(Protocol):
    """One kind of store."""

    row_bytes: int
    """Bytes of a row in the file, roughly."""

    def follower(self, rows: Callable[[Dialect], Follower]) -> Follower:
        """Follows one run by the ``rows`` of this and perhaps of further tables."""

    def table(self, connection: sqlite3.Connection) -> Table | None:
        """The table of the rows, or None when the database is no such store."""

    def runs(self, connection: sqlite3.Connection, table: Table, project: str) -> list[TrackedRun]:
        """All runs that have rows, oldest first, names not yet made unique; ``project`` is the
        name of the file."""

    def ids(self, connection: sqlite3.Connection, table: Table) -> Collection[bytes]:
        """The runs that :meth:`runs` would return, without going through all rows."""

    def states(
        self, connection: sqlite3.Connection, runs: Collection[bytes]
    ) -> Mapping[bytes, Hashable]:
        """A value for each run that changes when its facts may have changed without a row."""

    def facts(self, connection: sqlite3.Connection, table: Table, run: bytes) -> Facts:
        """What the store says about a run now."""

    def decoder(self) -> RowDecoder:
        """A fresh decoder for one run."""


def part_of(run: bytes) -> str:
    """The ``part`` of a run: its id as in the store, safe to be part of a path."""
    return quote(run, safe="")


def run_of(part: str) -> bytes:
    """The inverse of :func:`part_of`."""
    return unquote_to_bytes(part)


def raw_of(value: object) -> bytes:
    """A value of a text column as bytes, whatever type it really has."""
    return value if isinstance(value, bytes) else b"" if value is None else str(value).encode()


def columns_of(connection: sqlite3.Connection, table: str) -> frozenset[str]:
    """Names of the columns of a table; empty when there is no such table."""
    rows = connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
    return frozenset(name.decode("utf-8", "replace") for (name,) in rows)


def index_of(connection: sqlite3.Connection, table: str, column: str) -> str:
    """Name of an index on that column alone, quoted for SQL; empty when there is none."""
    names = connection.execute("SELECT name FROM pragma_index_list(?)", (table,)).fetchall()
    for (name,) in names:
        found = connection.execute("SELECT name FROM pragma_index_info(?)", (name.decode(),))
        if found.fetchall() == [(column.encode(),)]:
            quoted: str = name.decode().replace('"', '""')
            return f'"{quoted}"'
    return ""


def in_chunks(values: Sequence[Any]) -> list[tuple[str, Sequence[Any]]]:
    """``?, ?, ...`` and the values for it, in pieces that a statement takes."""
    pieces = [values[i : i + MOST_VALUES] for i in range(0, len(values), MOST_VALUES)]
    return [(", ".join("?" * len(piece)), piece) for piece in pieces]


def texts_in_chunks(values: Collection[bytes]) -> list[tuple[str, Sequence[Any]]]:
    """As :func:`in_chunks`, for texts that may not be UTF-8."""
    found = in_chunks(list(values))
    return [(", ".join(["CAST(? AS TEXT)"] * len(piece)), piece) for _, piece in found]
