"""Follows the runs of a SQLite store by their row ids.

Checking a file that has not changed costs two ``stat`` calls. When it has changed, one short
connection finds out, for all who follow a run of it, the highest row id, which runs have got rows
since or have changed otherwise, and whether the rows that were read are still the same; only
followers of those runs read on.

A follower first lists the row ids of its run, through the index of the store, and then reads its
rows by id, some at a time: no poll goes through rows of other runs, and none twice. Later only rows
beyond the newest id of the poll before are searched. Each poll is one short connection.

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
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple
from weakref import WeakSet

import numpy as np

from rltui.core.block import Block, IntArray
from rltui.core.clock import Clock
from rltui.core.level import Level
from rltui.files.tail import second_look
from rltui.files.trouble import DELETED, Notes, Trouble, is_missing, reason_of
from rltui.formats.base import Decoded
from rltui.trackers.base import Followed
from rltui.trackers.sqlite.database import (
    Stamp,
    UnreadableError,
    is_damage,
    look,
    stamp_of,
    written_at,
)
from rltui.trackers.sqlite.dialect import (
    MOST_VALUES,
    Dialect,
    Facts,
    Row,
    RowDecoder,
    Table,
    in_chunks,
    raw_of,
)

#: One range of ids takes the place of a list of them as long as it passes at most this many rows
#: of other runs for each row of this one.
_PASSED = 3
#: Rows that are read together in a damaged store; one damaged page loses all of them.
_DAMAGED_ROWS = 50
#: Up to this many new rows (of all runs) are examined one by one; more are found by the index,
#: which may cost as much as the run has rows. So are the first ones, also in a damaged store.
_FEW_NEW = 20_000
#: Row ids that are listed at once where they come in order: a commit of the writer has to wait.
_MOST_LISTED = 200_000
#: Ways to list the rows of a run. A plus sign keeps SQLite from using an index for a term
#: (sqlite.org/optoverview.html).
_EACH = (
    "SELECT rowid FROM {table} WHERE rowid > :after AND rowid <= :last"
    " AND +{run} = CAST(:run AS TEXT) ORDER BY rowid LIMIT :most"
)
_IN_ORDER = (
    "SELECT rowid FROM {table} INDEXED BY {index} WHERE rowid > :after AND rowid <= :last"
    " AND {run} = CAST(:run AS TEXT) ORDER BY rowid LIMIT :most"
)
_BY_RUN = (
    "SELECT rowid FROM {table} WHERE +rowid > :after AND +rowid <= :last"
    " AND {run} = CAST(:run AS TEXT)"
)
_REWRITTEN = "rows that were read are not there any more; read again from the start"
_REMOVED = "was deleted from its store; what was read of it is kept"
_NOTHING = Followed()
_NONE = np.empty(0, np.int64)


def row_of(connection: sqlite3.Connection, table: Table, number: int) -> Row | None:
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


def is_same(row: Row | None, other: Row | None) -> bool:
    """Whether two reads of an id found the same row; of a damaged one only the id is known."""
    if row is not None and other is not None and 1 in (len(row), len(other)):
        return row[0] == other[0]  # type: ignore[no-any-return]
    return row == other


class StoreState(NamedTuple):
    """What one connection has found out about a store."""

    table: Table
    last: int = 0
    """Highest row id; 0 when there is none."""
    newest: Row | None = None
    """The row of that id."""
    version: int = 0
    """How often the store was read after a change."""
    epoch: int = 0
    """How often rows turned out to be others."""
    touched: Mapping[bytes, int] = {}
    """The version at which something of a run has changed last."""
    facts: Mapping[bytes, Hashable] = {}
    """A value for each run that changes when its facts may have changed without a row."""


class StoreChanges:
    """What is new in one store, shared by its followers; owned by the reader's thread."""

    def __init__(self, path: Path, dialect: Dialect, clock: Clock) -> None:
        self.path = path
        self.dialect = dialect
        self.followers: WeakSet[RowFollower] = WeakSet()
        self.state: StoreState | None = None
        """None until the store was read."""
        self.modified = 0.0
        """When the file, or its -wal, was written last, as of the last check."""
        self._clock = clock
        self._trouble = Trouble()
        self._stamp: Stamp | None = None
        self._seen: Stamp = ()
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
        return self._seen != self._stamp or self._clock.monotonic() >= self._again

    def examined(self, connection: sqlite3.Connection) -> StoreState:
        """The state of the store now. Raises UnreadableError and sqlite3.Error."""
        table = self.dialect.table(connection)
        if table is None:
            raise UnreadableError(errno.EINVAL, "has no table of metrics any more", str(self.path))
        before = self.state or StoreState(table)
        (found,) = connection.execute(f"SELECT max(rowid) FROM {table.name}").fetchone()
        last, runs = found or 0, {f.run for f in self.followers}
        newest = row_of(connection, table, last)
        facts = self.dialect.states(connection, runs)
        now = newest if last == before.last else row_of(connection, table, before.last)
        replaced = bool(before.last) and not is_same(before.newest, now)
        if replaced or not before.version:
            touched = runs
        else:
            touched = {r for r in runs if facts.get(r) != before.facts.get(r)}
            touched |= self._missing(connection, table)

        if last > before.last and touched is not runs:
            query = f"SELECT DISTINCT +{table.run} FROM {table.name} WHERE rowid > ?"
            touched |= {raw_of(run) for (run,) in connection.execute(query, (before.last,))}

        version = before.version + 1
        every = {**before.touched, **dict.fromkeys(touched, version)}
        return StoreState(table, last, newest, version, before.epoch + replaced, every, facts)

    def _missing(self, connection: sqlite3.Connection, table: Table) -> set[bytes]:
        """Runs whose last row that was taken is not there any more."""
        anchors = {f.anchor[0]: f.run for f in self.followers if f.anchor is not None}
        for marks, numbers in in_chunks(list(anchors)):
            query = f"SELECT rowid FROM {table.name} WHERE rowid IN ({marks})"
            for (number,) in connection.execute(query, numbers):
                anchors.pop(number, None)
        return set(anchors.values())

    def accept(self, state: StoreState) -> Notes:
        """Take over what a connection that ended well has found; returns what to report."""
        self.state, self.modified = state, written_at(self._seen)
        fresh = self._seen != self._stamp
        self._again = second_look(self._clock, self.modified) if fresh else math.inf
        self._stamp = self._seen
        return self._trouble.over()

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


@dataclass(slots=True)
class _Progress:
    """How far a run has been read; copied for each connection, and counts when that ended well."""

    ids: IntArray = field(default_factory=lambda: _NONE)
    """Rows of the run that are known and not taken yet."""
    searched: int = 0
    """All rows of the run up to this id are known."""
    unlisted: bool = False
    """Whether there may be rows of the run beyond that."""
    taken: int = 0
    """Rows that were taken."""
    anchor: Row | None = None
    """The last one of them."""
    version: int = 0
    epoch: int = 0
    """Of the store, as of the last poll."""
    facts: Facts = field(default_factory=lambda: Facts(exists=False))
    there: bool = True
    """Whether store and run were there at the last poll."""


@dataclass(slots=True)
class _Found:
    """What one connection has found of a run."""

    state: StoreState
    progress: _Progress
    restarted: bool = False
    rows: Sequence[Row] = ()
    new: int = 0
    """Row ids of which nothing more is to be read."""
    damaged: int = 0
    """Rows that were left out."""


class RowFollower:
    """One run; owned by the reader's thread. See :class:`rltui.trackers.base.Follower`."""

    def __init__(self, store: StoreChanges, run: bytes) -> None:
        self.run = run
        self.modified = 0.0
        self._store = store
        self._decoder: RowDecoder = store.dialect.decoder()
        self._progress = _Progress()
        store.followers.add(self)

    @property
    def anchor(self) -> Row | None:
        """The last row that it has taken."""
        return self._progress.anchor

    @property
    def offset(self) -> int:
        """Rows that were taken, as bytes in the file, roughly."""
        return self._progress.taken * self._store.dialect.row_bytes

    @property
    def size(self) -> int:
        """Rows that are known, as bytes in the file, roughly."""
        known = self._progress.taken + len(self._progress.ids)
        return known * self._store.dialect.row_bytes

    def poll(self, budget_bytes: int) -> Followed:
        store, progress = self._store, self._progress
        if store.waits:
            return _NOTHING
        try:
            changed = store.changed() or store.state is None
            if not changed and not self._wants():
                return _NOTHING
            found = look(store.path, lambda c: self._find(c, changed, budget_bytes))
        except OSError as error:
            notes, vanished = store.fail(error), store.gone and progress.there
            progress.there = progress.there and not store.gone
            return Followed(gone=store.gone, notes=notes, changed=vanished or bool(notes))
        return self._take(found, store.accept(found.state) if changed else ())

    def _wants(self) -> bool:
        """Whether there is something to read although the store has not changed."""
        state, progress = self._store.state, self._progress
        assert state is not None
        if len(progress.ids) or progress.unlisted or self._is_touched(state):
            return True
        progress.version, progress.searched = state.version, state.last
        return False

    def _is_touched(self, state: StoreState) -> bool:
        """Whether something of the run has changed since the last poll."""
        version = self._progress.version
        return not version or state.touched.get(self.run, 0) > version

    # -- with a connection: nothing of this object changes ----------------------------------

    def _find(self, connection: sqlite3.Connection, examine: bool, budget: int) -> _Found:
        state = self._store.examined(connection) if examine else self._store.state
        assert state is not None
        progress, touched = replace(self._progress), self._is_touched(state)
        found = _Found(state, progress)
        if touched:
            progress.facts = self._store.dialect.facts(connection, state.table, self.run)
            anchor = progress.anchor
            if not progress.facts.exists:
                progress.ids, progress.unlisted = _NONE, False
                progress.searched = anchor[0] if anchor else 0
            elif anchor and not is_same(row_of(connection, state.table, anchor[0]), anchor):
                found.restarted = True
                progress.ids, progress.searched, progress.taken = _NONE, 0, 0
                progress.anchor = None
            elif state.epoch != progress.epoch:
                # ids beyond the anchor may have been given again to other rows
                progress.ids, progress.searched = _NONE, anchor[0] if anchor else 0

        progress.version, progress.epoch = state.version, state.epoch
        if progress.facts.exists:
            self._read(connection, found, budget, listing=touched or progress.unlisted)
        return found

    def _read(
        self, connection: sqlite3.Connection, found: _Found, budget: int, *, listing: bool
    ) -> None:
        """Rows within the budget; new ids are listed before, if there may be some."""
        progress, table, last = found.progress, found.state.table, found.state.last
        listing = listing and progress.searched < last
        count = max(1, budget // self._decoder.row_bytes)
        if listing and len(progress.ids) < count:
            more, progress.searched = self._search(connection, table, progress.searched, last)
            progress.ids = np.concatenate((progress.ids, more)) if len(progress.ids) else more

        progress.unlisted = listing and progress.searched < last
        if not progress.unlisted:
            progress.searched = last
        ids = progress.ids[:count].tolist()
        rows, found.damaged, stopped = self._fetch(connection, table, ids, budget)
        found.new = len(ids)
        if rows and (stopped or len(progress.ids) > count):
            whole = self._decoder.whole(rows)
            if stopped or whole < len(rows):
                rows = rows[:whole]
                found.new = int(np.searchsorted(progress.ids[:count], rows[-1][0], "right"))

        if rows:
            found.rows, progress.anchor = rows, row_of(connection, table, rows[-1][0])

    def _search(
        self, connection: sqlite3.Connection, table: Table, after: int, last: int
    ) -> tuple[IntArray, int]:
        """Ids of rows of the run beyond ``after``, in order, and up to which id all are known."""
        way = _EACH
        if not after or last - after > _FEW_NEW:
            way = _IN_ORDER if table.index else _BY_RUN
        query = way.format(table=table.name, run=table.run, index=table.index)
        values = {"after": after, "last": last, "run": self.run, "most": _MOST_LISTED}
        cursor = connection.execute(query, values)
        ids = np.sort(np.fromiter((found for (found,) in cursor), np.int64))
        part = way is not _BY_RUN and len(ids) >= _MOST_LISTED
        return ids, int(ids[-1]) if part else last

    def _fetch(
        self, connection: sqlite3.Connection, table: Table, ids: list[int], budget: int
    ) -> tuple[list[Row], int, bool]:
        """The rows of these ids (ascending), how many in damaged pages were left out, and whether
        the budget ended before all were read, which is never without a row."""
        dense = bool(ids) and ids[-1] - ids[0] < (_PASSED + 1) * len(ids)
        sizes = (len(ids) if dense else MOST_VALUES, _DAMAGED_ROWS)
        for size, tolerant in zip(sizes, (False, True), strict=True):
            rows: list[Row] = []
            damaged, left = 0, budget
            for begin in range(0, len(ids), size):
                piece = ids[begin : begin + size]
                try:
                    found, spent = self._decoder.fetch(
                        self._select(connection, table, piece), max(1, left)
                    )
                except sqlite3.DatabaseError as error:
                    if not is_damage(error):
                        raise
                    damaged += len(piece)
                    if not tolerant:
                        break
                    continue
                rows += found
                left -= spent
                if left <= 0 and rows and rows[-1][0] < ids[-1]:
                    return rows, damaged, True
            if not damaged or tolerant:
                break
        return rows, damaged, False

    def _select(
        self, connection: sqlite3.Connection, table: Table, ids: Sequence[int]
    ) -> sqlite3.Cursor:
        select = f"SELECT rowid, {table.columns} FROM {table.name} WHERE rowid"
        if len(ids) > MOST_VALUES:
            query = f"{select} BETWEEN ? AND ? AND +{table.run} = CAST(? AS TEXT) ORDER BY rowid"
            return connection.execute(query, (ids[0], ids[-1], self.run))
        ((marks, numbers),) = in_chunks(ids)
        return connection.execute(f"{select} IN ({marks}) ORDER BY rowid", numbers)

    # -- afterwards -------------------------------------------------------------------------

    def _take(self, found: _Found, notes: Notes) -> Followed:
        """Take over what a connection has found."""
        before, progress = self._progress, found.progress
        self._progress, facts = progress, progress.facts
        progress.there = facts.exists
        if not facts.exists:
            notes += ((Level.WATCH, _REMOVED),) if before.there else ()
            return Followed(gone=True, notes=notes, changed=bool(notes))

        if found.restarted:
            self._decoder = self._store.dialect.decoder()
            notes += ((Level.WATCH, _REWRITTEN),)

        if found.damaged:
            notes += ((Level.WATCH, f"{found.damaged} rows in damaged pages were left out"),)
        decoded = self._decoder.decode(found.rows) if found.rows else Decoded()
        decoded = replace(decoded, **facts.since(before.facts))
        self.modified = self._written(decoded) or self.modified

        progress.taken += found.new
        progress.ids = progress.ids[found.new :]
        more = len(progress.ids) > 0 or progress.unlisted
        new = (decoded.hparams, decoded.exit_code is not None, notes, found.new, found.restarted)
        changed = any(new) or not before.there
        return Followed(decoded, more, found.restarted, False, notes, changed)

    def _written(self, decoded: Decoded) -> float:
        """When the newest of these points was logged, at most when the file was written; or 0."""
        walls = [float(i.wall_times[-1]) for i in decoded.items if isinstance(i, Block)]
        return min(max((w for w in walls if w > 0), default=0.0), self._store.modified)
