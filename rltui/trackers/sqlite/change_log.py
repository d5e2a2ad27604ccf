"""What is new in one SQLite store, found out once for all who follow its runs.

Checking a file that has not changed costs two ``stat`` calls. When it has changed, one short
connection finds the highest row id, which runs have got rows since, which of them have changed
otherwise, and whether the rows that were read are still the same; only followers of those runs
read on.

Rows may vanish (``mlflow gc``), move to new ids (``mlflow db upgrade``, a renamed run of
trackio), or be those of another database that took the place of the file. So the newest row as
a whole, and the last one that each follower has taken, are looked up again: where the newest is
another one, every follower checks whether its own last row is still there, and starts over if
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
from rltui.files.trouble import DELETED, Notes, Trouble, is_missing, reason_of
from rltui.trackers.sqlite.database import Stamp, UnreadableError, is_damage, stamp_of, written_at
from rltui.trackers.sqlite.schema import Dialect, Row, Table, in_chunks, raw_of

#: Longest time between two ticks of the clock of a file system (FAT): a file that was read
#: within it may have changed since without showing it.
_GRANULE_S = 2.0
#: A file that changed longer ago cannot change again within the same tick; generous, because the
#: clock of a file server may differ.
_RECENT_S = 600.0


def is_same(row: Row | None, other: Row | None) -> bool:
    """Whether two reads of an id found the same row; of a damaged one only the id is known."""
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
    rows_replaced: bool
    """Whether the row that was the newest is not there any more."""
    touched: frozenset[bytes]
    """Runs of which something has changed."""
    states: Mapping[bytes, Hashable]


class StoreChangeLog:
    """Shared by the followers of one store; owned by the reader's thread."""

    def __init__(self, path: Path, dialect: Dialect, clock: Clock) -> None:
        self.path = path
        self.dialect = dialect
        self.followers: WeakSet[Reading] = WeakSet()
        self.table: Table | None = None
        self.version = 0
        """How often the store was read after a change."""
        self.epoch = 0
        """How often rows turned out to be others."""
        self.last = 0
        self.modified = 0.0
        """When the file, or its -wal, was written last, as of the last check."""
        self._clock = clock
        self._trouble = Trouble()
        self._newest: Row | None = None
        self._touched: dict[bytes, int] = {}
        """The version at which something of a run has changed last."""
        self._states: Mapping[bytes, Hashable] = {}
        self._stamp: Stamp | None = None
        self._seen: Stamp | None = None
        self._again = math.inf

    @property
    def gone(self) -> bool:
        """Whether there is no such file."""
        return self._trouble.gone

    @property
    def waits(self) -> bool:
        """Whether it could not be read a moment ago, and is not to be tried yet."""
        return self._trouble.waits(self._clock.monotonic())

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
        replaced = bool(self.last) and not is_same(self._newest, before)
        if replaced or not self.version:
            return News(table, last, newest, replaced, frozenset(runs), states)
        touched = {r for r in runs if states.get(r) != self._states.get(r)}
        touched |= self._missing(connection, table)
        if last > self.last:
            query = f"SELECT DISTINCT +{table.run} FROM {table.name} WHERE rowid > ?"
            touched.update(raw_of(run) for (run,) in connection.execute(query, (self.last,)))
        return News(table, last, newest, False, frozenset(touched), states)

    def row(self, connection: sqlite3.Connection, table: Table, number: int) -> Row | None:
        """The row of an id, as followers get it, with its run; None when there is none, the id
        alone when its page is damaged: the last page must not hide all others."""
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
        """Take over what was found; returns what to report."""
        assert self._seen is not None
        self.version += 1
        self.epoch += news.rows_replaced
        self.table, self.last, self._newest = news.table, news.last, news.newest
        self._states = news.states
        self._touched.update(dict.fromkeys(news.touched, self.version))
        self._again = self._check_again()
        self._stamp, self.modified = self._seen, written_at(self._seen)
        return self._trouble.over()

    def _check_again(self) -> float:
        """When (monotonic) to examine a file that shows no change; once for each change."""
        assert self._seen is not None
        recent = abs(self._clock.now() - written_at(self._seen)) < _RECENT_S
        if self._seen == self._stamp or not recent:
            return math.inf
        return self._clock.monotonic() + _GRANULE_S

    def fail(self, error: OSError) -> Notes:
        """The store cannot be read; returns what to report, to the first follower that notices."""
        self._stamp = None
        now = self._clock.monotonic()
        if error.errno == errno.EAGAIN:  # that somebody writes is no trouble
            self._trouble.postpone(now)
            return ()
        if is_missing(error):
            return self._trouble.failed(DELETED, gone=True)
        known = isinstance(error, UnreadableError)
        return self._trouble.failed(str(error.strerror) if known else reason_of(error), now=now)
