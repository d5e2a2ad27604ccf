"""Follows the runs of SQLite stores by their row ids, whatever their tables are.

A store has one table with one row for each logged value or step and a column that names the run.
Rows are only added, and their row ids grow. Checking a file that has not changed costs two
``stat`` calls. When it has changed, one short connection finds out, for all who follow a run of
it, which runs have got rows since or have changed otherwise; only followers of those read on.

A follower first lists the row ids of its run, through the index of the store, and then reads its
rows by id, some at a time: no poll goes through rows of other runs, and none twice. Later only rows
beyond its last one are searched. Each poll is one short connection.

Rows may vanish (``mlflow gc``), move to new ids (``mlflow db upgrade``, a renamed run of
trackio), or be those of another database that took the place of the file. So the newest row, and
the last one that each follower has taken, are looked up again: where one is missing or another
one, every follower checks whether its own last row is still the same, and starts over if not.
"""

from __future__ import annotations

import errno
import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import field, replace
from itertools import starmap
from pathlib import Path
from sqlite3 import Connection, Cursor, DatabaseError
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote, unquote_to_bytes
from weakref import WeakSet, WeakValueDictionary

import numpy as np

from rltui.core.batch import blocks_in
from rltui.core.block import IntArray
from rltui.core.clock import Clock
from rltui.core.level import Level
from rltui.core.record import record, state
from rltui.core.text import clean
from rltui.files.tail import second_look
from rltui.files.trouble import DELETED, Notes, Trouble, is_missing, reason_of
from rltui.formats.base import Decoded
from rltui.trackers.base import Followed, Follower, TrackedRun
from rltui.trackers.sqlite.database import (
    MOST_VALUES,
    Stamp,
    UnreadableError,
    in_chunks,
    is_damage,
    is_database,
    look,
    raw_of,
    stamp_of,
    written_at,
)

#: A row as it was selected: its row id, then the columns of the table.
Row = tuple[Any, ...]
#: One range of ids takes the place of a list of them as long as it passes at most this many rows
#: of other runs for each row of this one.
_PASSED = 3
#: Rows that are read together around damage; one damaged page loses all of them.
_DAMAGED_ROWS = 50
#: Up to this many new rows (of all runs) are examined one by one where no index lists them in
#: order; more are found by the index, which may cost as much as the run has rows.
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
_NO_IDS = np.empty(0, np.int64)


@record
class Table:
    """Where the rows are."""

    name: str
    run: str
    """Name of the column that names the run."""
    columns: str
    """Columns of a row, in SQL, after its row id; the largest one last."""
    index: str = ""
    """An index on the column of runs and no other, which lists the rows of a run in order."""


@record
class RunFacts:
    """Facts of a store about a run beside its rows."""

    exists: bool = True
    """False when the user has deleted the run."""
    hparams: dict[str, object] = field(default_factory=dict)
    exit_code: int | None = None


class RowDecoder(Protocol):
    """Turns rows of one run, in order, into blocks. Never raises for bad data."""

    row_bytes: int
    """Bytes of one of its rows, estimated; at least one."""

    def fetch(self, cursor: Cursor, budget_bytes: int) -> tuple[list[Row], int]:
        """The next rows of the cursor, about ``budget_bytes`` of them, and their bytes."""

    def decode(self, rows: Sequence[Row]) -> Decoded:
        """Decode rows that follow those of the call before; at least one."""


class RunTables(ABC):
    """The tables of one kind of store."""

    row_bytes: int
    """Bytes of a row in the file, roughly."""

    def __init__(self) -> None:
        self._followed: WeakValueDictionary[Path, StoreChanges] = WeakValueDictionary()

    @abstractmethod
    def table(self, connection: Connection) -> Table | None:
        """The table of the rows, or None when the database is no such store."""

    @abstractmethod
    def decoder(self) -> RowDecoder:
        """A fresh decoder for one run."""

    def listed(self, connection: Connection, table: Table, project: str) -> list[TrackedRun]:  # noqa: ARG002
        """All runs that have rows, oldest first, names not yet made unique, without a size;
        ``project`` is the name of the file."""
        return []

    def states(self, connection: Connection, runs: Collection[bytes]) -> Mapping[bytes, Hashable]:  # noqa: ARG002
        """A value for each run that changes when its facts may have changed without a row."""
        return {}

    def facts(self, connection: Connection, table: Table, run: bytes) -> RunFacts:  # noqa: ARG002
        """Current facts of the store about a run."""
        return RunFacts()

    def listed_parts(self, connection: Connection, table: Table) -> Collection[str]:
        """The parts of the runs that :meth:`listed` would return."""
        return [run.part for run in self.listed(connection, table, "")]

    def claims(self, path: Path) -> bool:
        """Whether a file is a database with these tables. Raises OSError."""
        return is_database(path) and look(path, self.table) is not None

    def runs(self, path: Path) -> Sequence[TrackedRun]:
        """The runs that have values, oldest first; of one name the oldest keeps it, others get
        their id. Raises OSError."""
        project = clean(path.stem)
        found = look(path, lambda c: self.listed(c, t, project) if (t := self.table(c)) else [])
        size = path.stat().st_size // max(1, len(found))
        named: dict[str, TrackedRun] = {}
        for run in found:
            name = run.name
            while name in named:
                name = f"{name}-{run.part[:8]}"
            named[name] = run._replace(name=name, size=size)
        return tuple(named.values())

    def parts(self, path: Path) -> frozenset[str]:
        """The parts of the runs that have values. Raises OSError."""
        found = look(path, lambda c: self.listed_parts(c, t) if (t := self.table(c)) else ())
        return frozenset(found)

    def follow(self, path: Path, part: str, clock: Clock) -> Follower:
        """Follow one run; the followers of one store share what they find out about it."""
        store = self._followed.get(path)
        if store is None:
            store = self._followed[path] = StoreChanges(path, self, clock)
        return RowFollower(store, unquote_to_bytes(part))


def part_of(run: bytes) -> str:
    """The ``part`` of a run: its id as in the store, safe to be part of a path."""
    return quote(run, safe="")


class StoreState(NamedTuple):
    """State of a store, as one connection found it."""

    table: Table
    last: int
    """Highest row id; 0 when there is none."""
    newest: Row | None
    """The row of that id, with its run."""
    states: Mapping[bytes, Hashable]
    """See :meth:`RunTables.states`."""
    touched: Collection[bytes]
    """Runs of which something has changed since the state before."""
    rewritten: bool = True
    """Whether rows have moved or vanished since then, so that ids may be those of other rows."""


class StoreChanges:
    """Changes of one store, shared by its followers; owned by the reader's thread."""

    def __init__(self, path: Path, tables: RunTables, clock: Clock) -> None:
        self.path = path
        self.tables = tables
        self.followers: WeakSet[RowFollower] = WeakSet()
        self.state: StoreState | None = None
        """None until the store was read."""
        self.modified = 0.0
        """When the file, or its -wal, was written last, as of the last check."""
        self.trouble = Trouble()
        self.clock = clock
        self._stamp: Stamp = ()
        """Stamp of the last look that ended well."""
        self._seen: Stamp = ()
        self._again = math.inf

    def changed(self) -> bool:
        """Whether the store must be examined again. Raises OSError."""
        self._seen = stamp_of(self.path)
        return self._seen != self._stamp or self.clock.monotonic() >= self._again

    def examined(self, connection: Connection) -> StoreState:
        """The state of the store now. Raises UnreadableError and sqlite3.Error."""
        table = self.tables.table(connection)
        if table is None:
            raise UnreadableError(errno.EINVAL, "has no table of metrics any more", str(self.path))
        before, runs = self.state, {f.run for f in self.followers}
        (last,) = connection.execute(f"SELECT max(rowid) FROM {table.name}").fetchone()
        states, newest = self.tables.states(connection, runs), _row_of(connection, table, last)
        state = StoreState(table, last or 0, newest, states, runs)

        same_file = self._seen[:2] == self._stamp[:2]
        if before is None or not same_file or state.last < before.last:
            return state
        newest = _row_of(connection, table, before.last)
        if newest != before.newest or not self._holds_anchors(connection, table):
            return state

        touched = {run for run in runs if state.states.get(run) != before.states.get(run)}
        query = f"SELECT DISTINCT +{table.run} FROM {table.name} WHERE rowid > ?"
        touched |= set(starmap(raw_of, connection.execute(query, (before.last,))))
        return state._replace(touched=touched, rewritten=False)

    def _holds_anchors(self, connection: Connection, table: Table) -> bool:
        """Whether the last row that each follower has taken is still one of its run."""
        anchors = {f.progress.anchor[0]: f.run for f in self.followers if f.progress.anchor}
        for marks, numbers in in_chunks(anchors):
            query = f"SELECT rowid, {table.run} FROM {table.name} WHERE rowid IN ({marks})"
            found = {number: raw_of(run) for number, run in connection.execute(query, numbers)}
            if any(found.get(number) != anchors[number] for number in numbers):
                return False
        return True

    def accept(self, state: StoreState) -> Notes:
        """Keep what a connection that ended well has found; returns the notes to report."""
        for follower in self.followers:
            follower.touched |= follower.run in state.touched
            follower.rewritten |= state.rewritten
        fresh = self._seen != self._stamp
        self.state, self._stamp, self.modified = state, self._seen, written_at(self._seen)
        self._again = second_look(self.clock, self.modified) if fresh else math.inf
        return self.trouble.over()

    def fail(self, error: OSError) -> Notes:
        """Remember that the store cannot be read; returns the notes to report."""
        self._stamp = ()
        now = self.clock.monotonic()
        if error.errno == errno.EAGAIN:  # that somebody writes is no trouble
            self.trouble.postpone(now)
            return ()
        if is_missing(error):
            return self.trouble.failed(DELETED, gone=True)
        known = isinstance(error, UnreadableError)
        return self.trouble.failed(str(error.strerror) if known else reason_of(error), now=now)


@state
class Progress:
    """How far a run has been read; copied for each connection, and counts when that ended well."""

    facts: RunFacts = field(default_factory=lambda: RunFacts(exists=False))
    ids: IntArray = field(default_factory=lambda: _NO_IDS)
    """Rows of the run that are known and not taken yet."""
    unlisted: bool = True
    """Whether there may be rows of the run beyond those."""
    taken: int = 0
    """Rows that were taken."""
    last: int = 0
    """Id of the last row that was taken or left out as damaged."""
    anchor: Row | None = None
    """The last row that was taken."""
    restarted: bool = False
    """Whether this connection has found other rows than those before."""
    damaged: int = 0
    """Rows that this connection has left out."""


def _row_of(connection: Connection, table: Table, number: int | None) -> Row | None:
    """The row of an id, with its run; None when there is none or its page is damaged."""
    query = f"SELECT rowid, {table.columns}, {table.run} FROM {table.name} WHERE rowid = ?"
    try:
        found: Row | None = connection.execute(query, (number,)).fetchone()
    except DatabaseError as error:
        if not is_damage(error):
            raise
        return None
    return found


class RowFollower:
    """Follows the rows of one run; owned by the reader's thread."""

    def __init__(self, store: StoreChanges, run: bytes) -> None:
        self.run = run
        self.offset = self.size = 0
        self.modified = 0.0
        self.touched = True
        """Whether something of the run has changed since it was looked at."""
        self.rewritten = False
        """Whether rows of the store have moved or vanished since then."""
        self._store = store
        self._decoder: RowDecoder = store.tables.decoder()
        self.progress = Progress()
        self._there = True
        """Whether store and run were there at the last poll."""
        store.followers.add(self)

    def poll(self, budget_bytes: int) -> Followed:
        store, before = self._store, self.progress
        if store.trouble.waits(store.clock.monotonic()):
            return _NOTHING
        try:
            changed = store.changed()
            if not (changed or self.touched or before.unlisted or len(before.ids)):
                return _NOTHING
            state, progress, rows = look(
                store.path, lambda c: self._find(c, examine=changed, budget=budget_bytes)
            )
        except OSError as error:
            notes, gone = store.fail(error), store.trouble.gone
            vanished = gone and self._there
            self._there = self._there and not gone
            return Followed(gone=gone, notes=notes, changed=vanished or bool(notes))

        self.progress = progress
        self.offset = progress.taken * store.tables.row_bytes
        self.size = self.offset + len(progress.ids) * store.tables.row_bytes
        return self._taken(before.facts, rows, store.accept(state) if changed else ())

    def _taken(self, known: RunFacts, rows: list[Row], notes: Notes) -> Followed:
        """Report what a connection has found, with the facts that are not ``known``."""
        progress, store, facts = self.progress, self._store, self.progress.facts
        there = self._there
        self._there = facts.exists
        self.touched = self.rewritten = False
        if not self._there:
            notes += ((Level.WATCH, _REMOVED),) if there else ()
            return Followed(gone=True, notes=notes, changed=bool(notes))

        if progress.restarted:
            self._decoder = store.tables.decoder()
            notes += ((Level.WATCH, _REWRITTEN),)
        if progress.damaged:
            notes += ((Level.WATCH, f"{progress.damaged} rows in damaged pages were left out"),)
        decoded = self._decoder.decode(rows) if rows else Decoded()
        settings = facts.hparams if facts.hparams != known.hparams else {}
        ended = facts.exit_code if facts.exit_code != known.exit_code else None
        decoded = replace(decoded, hparams=settings, exit_code=ended)

        walls = [float(b.wall_times[-1]) for b in blocks_in(decoded.items)]
        newest = max([0.0, *walls])  # a time that is unknown, NaN, is not above zero
        self.modified = min(newest, store.modified) or self.modified
        more = progress.unlisted or len(progress.ids) > 0
        new = any((rows, notes, settings, ended is not None, not there))
        return Followed(decoded, more, progress.restarted, False, notes, new)

    # -- with a connection: nothing of this object changes ----------------------------------

    def _find(
        self, connection: Connection, *, examine: bool, budget: int
    ) -> tuple[StoreState, Progress, list[Row]]:
        """The state of the store, how far the run has been read then, and its next rows."""
        state = self._store.examined(connection) if examine else self._store.state
        assert state is not None
        progress = replace(self.progress, restarted=False, damaged=0)
        table = state.table
        if self.touched or (examine and self.run in state.touched):
            rewritten = self.rewritten or (examine and state.rewritten)
            self._renew(connection, table, progress, rewritten)

        count = max(1, budget // self._decoder.row_bytes)
        if progress.unlisted and len(progress.ids) < count:
            after = int(progress.ids[-1]) if len(progress.ids) else progress.last
            ids, progress.unlisted = self._search(connection, table, after, state.last)
            progress.ids = np.concatenate((progress.ids, ids))
        chosen = progress.ids[:count].tolist()
        if not chosen:
            return state, progress, []

        rows, progress.damaged, whole = self._fetch(connection, table, chosen, budget)
        progress.last = chosen[-1] if whole else rows[-1][0]
        new = int(np.searchsorted(progress.ids, progress.last, "right"))
        progress.ids, progress.taken = progress.ids[new:], progress.taken + new
        progress.anchor = rows[-1] if rows else progress.anchor
        return state, progress, rows

    def _renew(
        self, connection: Connection, table: Table, progress: Progress, rewritten: bool
    ) -> None:
        """Drop what no longer holds for a run that has changed."""
        progress.facts = self._store.tables.facts(connection, table, self.run)
        progress.unlisted = progress.facts.exists

        anchor = progress.anchor
        found = _row_of(connection, table, anchor[0]) if anchor else None
        if not progress.facts.exists:
            progress.ids = _NO_IDS
        elif anchor and (found is None or found[:-1] != anchor or raw_of(found[-1]) != self.run):
            progress.restarted = True
            progress.anchor = None
            progress.ids = _NO_IDS
            progress.last = 0
            progress.taken = 0
        elif rewritten:
            # ids beyond the anchor may have been given again to other rows
            progress.ids = _NO_IDS
            progress.last = anchor[0] if anchor else 0

    def _search(
        self, connection: Connection, table: Table, after: int, last: int
    ) -> tuple[IntArray, bool]:
        """Ids of rows of the run beyond ``after``, in order, and whether there may be more."""
        few = bool(after) and last - after <= _FEW_NEW
        way = _IN_ORDER if table.index else _EACH if few else _BY_RUN

        query = way.format(table=table.name, run=table.run, index=table.index)
        values = {"after": after, "last": last, "run": self.run, "most": _MOST_LISTED}
        cursor = connection.execute(query, values)
        ids = np.sort(np.fromiter((found for (found,) in cursor), np.int64))
        return ids, way is not _BY_RUN and len(ids) >= _MOST_LISTED

    def _fetch(
        self, connection: Connection, table: Table, ids: list[int], budget: int
    ) -> tuple[list[Row], int, bool]:
        """The rows of these ids (ascending), how many in damaged pages were left out, and whether
        all were read: the budget may end before, but never without a row."""
        dense = ids[-1] - ids[0] < (_PASSED + 1) * len(ids)
        size = len(ids) if dense else MOST_VALUES
        pending = [ids[begin : begin + size] for begin in range(0, len(ids), size)][::-1]
        rows: list[Row] = []
        damaged = 0
        left = budget

        while pending:
            piece = pending.pop()
            try:
                cursor = self._select(connection, table, piece)
                found, spent = self._decoder.fetch(cursor, max(1, left))
            except DatabaseError as error:
                if not is_damage(error):
                    raise
                if len(piece) > _DAMAGED_ROWS:
                    begins = range(0, len(piece), _DAMAGED_ROWS)
                    pending += [piece[begin : begin + _DAMAGED_ROWS] for begin in begins][::-1]
                else:
                    damaged += len(piece)
                continue

            rows += found
            left -= spent
            if left <= 0 and rows and rows[-1][0] < ids[-1]:
                return rows, damaged, False
        return rows, damaged, True

    def _select(self, connection: Connection, table: Table, ids: Sequence[int]) -> Cursor:
        """The rows of the run among these ids (ascending), in order."""
        where = f"+{table.run} = CAST(? AS TEXT) AND rowid"
        select = f"SELECT rowid, {table.columns} FROM {table.name} WHERE {where}"
        if len(ids) > MOST_VALUES:
            query = f"{select} BETWEEN ? AND ? ORDER BY rowid"
            return connection.execute(query, (self.run, ids[0], ids[-1]))
        ((marks, numbers),) = in_chunks(ids)
        return connection.execute(f"{select} IN ({marks}) ORDER BY rowid", (self.run, *numbers))
