"""Trackers that keep many runs in one SQLite file.

Most directories hold no store, and the modules that read one take as long to import as a small
log takes to read: they are imported when a file of a fitting name is met.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote, unquote_to_bytes
from weakref import WeakValueDictionary

from rltui.core.clock import Clock, SystemClock
from rltui.core.text import clean
from rltui.formats.base import Decoded
from rltui.trackers.base import Follower, TrackedRun
from rltui.trackers.sqlite.database import is_database, look
from rltui.trackers.sqlite.row_follower import RowFollower, StoreChanges

#: How the name of a file ends that may be a database; lower case.
_SUFFIXES = (".db", ".sqlite", ".sqlite3", ".db3")

#: Answers about files that are remembered.
_MOST_KNOWN = 10_000


class RowStore:
    """A tracker of one dialect; see :class:`rltui.trackers.base.Tracker`."""

    precision_rank = 3
    local_only = True

    def __init__(
        self,
        name: str,
        load: Callable[[], Stores],
        clock: Clock | None = None,
        *,
        files: str = "",
        written_by: str = "",
    ) -> None:
        """``load`` imports what reads the stores."""
        self.name = name
        self.files = files
        self.written_by = written_by
        self._load = load
        self._clock = clock or SystemClock()
        self._known: dict[Path, tuple[tuple[int, ...], bool]] = {}

    @cached_property
    def _stores(self) -> Stores:
        return self._load()

    def claims_name(self, name: str) -> bool:
        return name.lower().endswith(_SUFFIXES)

    def claims_file(self, path: Path) -> bool:
        """Whether the file is a database with the tables of this tracker.

        A file that is not is examined again only when it has changed. Raises OSError when it
        cannot be read.
        """
        status = path.stat()
        stamp = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
        known = self._known.get(path)
        if known is not None and (known[1], known[0][:2]) == (True, stamp[:2]):
            return True
        if known is not None and known[0] == stamp:
            return known[1]
        claimed = self._stores.claims(path)
        if len(self._known) >= _MOST_KNOWN:
            self._known = {}
        self._known[path] = stamp, claimed
        return claimed

    def claims_directory(self, path: Path, names: Collection[str]) -> bool:  # noqa: ARG002
        return False

    def runs(self, path: Path) -> Sequence[TrackedRun]:
        """All runs of the store that have values, oldest first, no two with the same name."""
        return self._stores.runs(path)

    def parts(self, path: Path) -> frozenset[str]:
        """The ids of the runs that have values."""
        return self._stores.parts(path)

    def follow(self, path: Path, part: str) -> Follower:
        """Follow one run; the followers of one store share what they find out about it."""
        return self._stores.follow(path, part, self._clock)


class Stores:
    """What :class:`rltui.trackers.sqlite.tracker.RowStore` needs of files of a fitting name."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._followed: WeakValueDictionary[tuple[Path, str], StoreChanges] = WeakValueDictionary()

    def claims(self, path: Path) -> bool:
        """Whether a file is a database with the tables of the dialect. Raises OSError."""
        return is_database(path) and look(path, self._dialect.table) is not None

    def runs(self, path: Path) -> Sequence[TrackedRun]:
        """The runs that have values, oldest first; of one name the oldest keeps it, others get
        their id. Raises OSError."""
        dialect, project = self._dialect, clean(path.stem)
        found = look(path, lambda c: dialect.runs(c, t, project) if (t := dialect.table(c)) else [])
        size = path.stat().st_size // max(1, len(found))
        seen: set[str] = set()
        out = []
        for run in found:
            name = run.name
            while name in seen:
                name = f"{name}-{run.part[:8]}"
            seen.add(name)
            out.append(replace(run, name=name, size=size))
        return tuple(out)

    def parts(self, path: Path) -> frozenset[str]:
        """The ids of the runs that have values. Raises OSError."""
        dialect = self._dialect
        found = look(path, lambda c: dialect.ids(c, t) if (t := dialect.table(c)) else ())
        return frozenset(map(part_of, found))

    def follow(self, path: Path, part: str, clock: Clock) -> Follower:
        """Follow one run; the followers of one store share what they find out about it."""

        def rows(dialect: Dialect) -> RowFollower:
            key = path, type(dialect).__name__
            store = self._followed.get(key)
            if store is None:
                store = self._followed[key] = StoreChanges(path, dialect, clock)
            return RowFollower(store, run_of(part))

        return self._dialect.follower(rows)


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
