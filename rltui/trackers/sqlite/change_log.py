"""What is new in one SQLite store, found out once for all who follow its runs.

A look at a file that has not changed is two stat calls. When it has, one short connection finds
the highest row id, which runs have got rows since, which of them have changed otherwise, and
whether the rows that were read are still the same; only followers of those runs read on.

Rows may vanish (``mlflow gc``), move to new ids (``mlflow db upgrade``, a renamed run of
trackio), or be those of another database that took the place of the file. So the newest row as
a whole, and the last one that each follower has taken, are looked up again: where the newest is
another one, every follower must look whether its own last row is still there, and begin anew if
not.
"""

from __future__ import annotations

import errno
import math
import sqlite3
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from weakref import WeakSet

from rltui.core.clock import Clock
from rltui.core.level import Level
from rltui.trackers.sqlite.database import Stamp, UnreadableError, is_damage, stamp_of, written_at
from rltui.trackers.sqlite.schema import Dialect, Row, Table, in_chunks, raw_of

Notes = tuple[tuple[Level, str], ...]

#: Longest time between two ticks of the clock of a file system (FAT): a file that was read
#: within it may have changed since without showing it.
_GRANULE_S = 2.0
#: A file that was changed longer ago does not change within the same tick; generous, because
#: the clock of a file server may differ.
_LATELY_S = 600.0
#: Seconds until a store that could not be read is tried again, for all followers together.
_RETRY_S = 0.5
#: Notes of trouble that are told one by one; further ones at 10, 100, ... times.
_TROUBLES = 6
_DELETED = "was deleted or moved; what was read of it is kept"


def is_same(row: Row | None, other: Row | None) -> bool:
    """Whether two looks at an id found the same row, as far as could be seen."""
    if row is not None and other is not None and 1 in (len(row), len(other)):
        return row[0] == other[0]  # type: ignore[no-any-return]
    return row == other


class Reading(Protocol):
    """Who follows a run of the store."""

    run: bytes
    anchor: Row | None
    """The last row that it has taken."""


@dataclass(frozen=True, slots=True)
class News:
    """What one connection has found; counts only when it ended well."""

    table: Table
    last: int
    """Highest row id; 0 when there is none."""
    newest: Row | None
    """The row of that id."""
    shaken: bool
    """Whether the newest row of before is not there any more."""
    touched: frozenset[bytes]
    """Runs of which something has changed."""
    states: Mapping[bytes, Hashable]


class Ledger:
    """Shared by the followers of one store; owned by the reader's thread."""

    def __init__(self, path: Path, dialect: Dialect, clock: Clock) -> None:
        self.path = path
        self.dialect = dialect
        self.followers: WeakSet[Reading] = WeakSet()
        self.table: Table | None = None
        self.version = 0
        """How often the store was read after a change."""
        self.epoch = 0
        """How often rows turned out to be other ones."""
        self.last = 0
        self.modified = 0.0
        """When the file, or its -wal, was written last as of the last look."""
        self.gone = False
        self._clock = clock
        self._newest: Row | None = None
        self._touched: dict[bytes, int] = {}
        """The version at which something of a run has changed last."""
        self._states: Mapping[bytes, Hashable] = {}
        self._stamp: Stamp | None = None
        self._seen: Stamp | None = None
        self._again = math.inf
        self._retry = -math.inf
        self._trouble = ""
        self._troubles = 0

    @property
    def held(self) -> bool:
        """Whether it could not be read a moment ago, and is not to be tried yet."""
        return self._retry > self._clock.monotonic()

    def changed(self) -> bool:
        """Whether the store must be examined again. Raises OSError."""
        self._seen = stamp_of(self.path)
        if self._seen != self._stamp:
            return True
        return self._again != math.inf and self._clock.monotonic() >= self._again

    def concerns(self, run: bytes, version: int) -> bool:
        """Whether something of a run has changed since that version."""
        return self._touched.get(run, 0) > version

    def examine(self, connection: sqlite3.Connection) -> News:
        """What has changed. Raises UnreadableError and sqlite3.Error."""
        table = self.dialect.table(connection)
        if table is None:
            raise UnreadableError(errno.EINVAL, "has no table of metrics any more", str(self.path))
        (found,) = connection.execute(f"SELECT max(rowid) FROM {table.name}").fetchone()
        last, runs = found or 0, {f.run for f in self.followers}
        newest = self.row(connection, table, last)
        states = self.dialect.states(connection, runs)
        before = newest if last == self.last else self.row(connection, table, self.last)
        shaken = bool(self.last) and not is_same(self._newest, before)
        if shaken or not self.version:
            return News(table, last, newest, shaken, frozenset(runs), states)
        touched = {r for r in runs if states.get(r) != self._states.get(r)}
        touched |= self._missing(connection, table)
        if last > self.last:
            query = f"SELECT DISTINCT +{table.run} FROM {table.name} WHERE rowid > ?"
            try:
                touched.update(raw_of(run) for (run,) in connection.execute(query, (self.last,)))
            except sqlite3.DatabaseError as error:
                if not is_damage(error):
                    raise
                touched = runs
        return News(table, last, newest, False, frozenset(touched), states)

    def row(self, connection: sqlite3.Connection, table: Table, number: int) -> Row | None:
        """The row of an id, as followers get it, with its run; None when there is none, the id
        alone when its page is damaged."""
        query = f"SELECT rowid, {table.columns}, {table.run} FROM {table.name} WHERE rowid = ?"
        try:
            found: Row | None = connection.execute(query, (number,)).fetchone()
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            return (number,)
        return found

    def _missing(self, connection: sqlite3.Connection, table: Table) -> set[bytes]:
        """Runs whose last row that was taken is not there any more."""
        anchors = {f.anchor[0]: f.run for f in self.followers if f.anchor is not None}
        for marks, numbers in in_chunks(list(anchors)):
            query = f"SELECT rowid FROM {table.name} WHERE rowid IN ({marks})"
            for (number,) in connection.execute(query, numbers):
                anchors.pop(number, None)
        return set(anchors.values())

    def accept(self, news: News) -> Notes:
        """Take over what was found; the notes that are due."""
        assert self._seen is not None
        self.version += 1
        self.epoch += news.shaken
        self.table, self.last, self._newest = news.table, news.last, news.newest
        self._states = news.states
        self._touched.update(dict.fromkeys(news.touched, self.version))
        self._again = self._look_again()
        self._stamp, self.modified = self._seen, written_at(self._seen)
        was = "is back" if self.gone else "can be read again" if self._trouble else ""
        self._trouble, self.gone, self._retry = "", False, -math.inf
        return ((Level.OK, was),) if was and self._tells() else ()

    def _look_again(self) -> float:
        """When (monotonic) to look although the file shows no change; once for each change."""
        assert self._seen is not None
        lately = abs(self._clock.now() - written_at(self._seen)) < _LATELY_S
        if self._seen == self._stamp or not lately:
            return math.inf
        return self._clock.monotonic() + _GRANULE_S

    def fail(self, error: OSError) -> Notes:
        """Note that the store cannot be read; told once, whoever of the followers asks."""
        self.gone = error.errno in (errno.ENOENT, errno.ENOTDIR)
        self._stamp = None
        self._retry = -math.inf if self.gone else self._clock.monotonic() + _RETRY_S
        message = _DELETED if self.gone else error.strerror or str(error)
        if not self.gone and not isinstance(error, UnreadableError):
            message = f"cannot be read: {message}"
        if message == self._trouble or error.errno == errno.EAGAIN:
            return ()  # told already; that somebody writes is no trouble
        self._trouble = message
        self._troubles += 1
        return ((Level.WATCH, message),) if self._tells() else ()

    def _tells(self) -> bool:
        """Whether trouble that comes and goes is still worth a note."""
        return self._troubles <= _TROUBLES or str(self._troubles).strip("0") == "1"
