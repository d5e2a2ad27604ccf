"""Follows one run of a SQLite store by its row ids.

First the row ids of the run are listed, through the index of the store, and then its rows are
read by id, some at a time: no poll goes through rows of other runs, and none twice. Later only
rows beyond the newest id of the poll before are searched. Each poll is one short connection.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from rltui.core.block import Block, IntArray
from rltui.core.level import Level
from rltui.files.trouble import Notes
from rltui.formats.base import Decoded
from rltui.trackers.base import Followed
from rltui.trackers.sqlite.change_log import News, StoreChangeLog, is_same
from rltui.trackers.sqlite.database import is_damage, look
from rltui.trackers.sqlite.schema import MOST_VALUES, Facts, Row, RowDecoder, Table, in_chunks

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


class _Start(NamedTuple):
    """Rows that are known and not taken yet, and up to which id all are known."""

    ids: IntArray
    searched: int


@dataclass(frozen=True, slots=True)
class _Found:
    """What one connection has found; counts only when it ended well."""

    news: News | None
    facts: Facts | None = None
    """None: nothing about this run has changed."""
    restarted: bool = False
    ids: IntArray = field(default_factory=lambda: _NONE)
    """Rows of the run that were not taken yet, ``rows`` included."""
    taken: int = 0
    """How many of these ids need not be read again."""
    rows: tuple[Row, ...] = ()
    searched: int = 0
    unlisted: bool = False
    anchor: Row | None = None
    damaged: int = 0


class RowFollower:
    """Owned by the reader's thread; see :class:`rltui.trackers.base.Follower`."""

    def __init__(self, log: StoreChangeLog, run: bytes) -> None:
        self.run = run
        self.anchor: Row | None = None
        self.modified = 0.0
        self._log = log
        self._decoder: RowDecoder = log.dialect.decoder()
        self._ids: IntArray = _NONE
        self._searched = 0
        """All rows of the run up to this id are known."""
        self._unlisted = False
        """Whether there may be rows of the run beyond that."""
        self._rows = 0
        self._version = 0
        self._epoch = 0
        self._facts = Facts(exists=False)
        self._lost = False
        """Whether the store or the run was gone at the last poll."""
        log.followers.add(self)

    @property
    def offset(self) -> int:
        """Rows that were taken, as bytes in the file, roughly."""
        return self._rows * self._log.dialect.row_bytes

    @property
    def size(self) -> int:
        """Rows that are known, as bytes in the file, roughly."""
        return (self._rows + len(self._ids)) * self._log.dialect.row_bytes

    def poll(self, budget_bytes: int) -> Followed:
        log = self._log
        if log.waits:
            return _NOTHING
        try:
            changed = log.changed()
            if not changed and not self._wants():
                return _NOTHING
            examine = changed or not log.version
            found = look(log.path, lambda c: self._find(c, examine, budget_bytes))
        except OSError as error:
            return self._failed(log.fail(error))
        notes = log.accept(found.news) if found.news is not None else ()
        return self._take(found, notes)

    def _wants(self) -> bool:
        """Whether there is something to read although the store has not changed."""
        log = self._log
        unread = len(self._ids) > 0 or self._unlisted
        if unread or not self._version or log.concerns(self.run, self._version):
            return True
        self._version, self._searched = log.version, log.last
        return False

    def _failed(self, notes: Notes) -> Followed:
        gone = self._log.gone
        vanished, self._lost = gone and not self._lost, self._lost or gone
        return Followed(gone=gone, notes=notes, changed=vanished or bool(notes))

    # -- with a connection: nothing of this object changes ----------------------------------

    def _find(self, connection: sqlite3.Connection, examine: bool, budget: int) -> _Found:
        log = self._log
        news = log.examine(connection) if examine else None
        table, last = (news.table, news.last) if news else (log.table, log.last)
        assert table is not None
        facts, start, restarted = None, _Start(self._ids, self._searched), False
        touched = self._touched(news)
        if touched:
            facts = log.dialect.facts(connection, table, self.run)
            if not facts.exists:
                return _Found(news, facts, anchor=self.anchor)
            restarted = self._moved(connection, table)
            start = self._start(restarted, news)
        ids, searched = start.ids, start.searched
        listing = (touched or self._unlisted) and searched < last
        count = max(1, budget // self._decoder.row_bytes)
        if listing and len(ids) < count:
            more, searched = self._search(connection, table, searched, last)
            ids = np.concatenate((ids, more)) if len(ids) else more
        rows, taken, damaged = self._read(connection, table, ids[:count], budget, len(ids) > count)
        anchor = None if restarted else self.anchor
        if rows:
            anchor = log.row(connection, table, rows[-1][0])
        unlisted = listing and searched < last
        searched = searched if unlisted else last
        return _Found(
            *(news, facts, restarted, ids, taken, tuple(rows), searched, unlisted, anchor, damaged)
        )

    def _touched(self, news: News | None) -> bool:
        """Whether something of the run has changed since the last poll."""
        if not self._version or self._log.concerns(self.run, self._version):
            return True
        return news is not None and (news.rows_replaced or self.run in news.touched)

    def _start(self, restarted: bool, news: News | None) -> _Start:
        """The rows that are known, as far as they are still valid."""
        if restarted:
            return _Start(_NONE, 0)
        if self._log.epoch != self._epoch or (news is not None and news.rows_replaced):
            # ids beyond the anchor may have been given again to other rows
            return _Start(_NONE, self.anchor[0] if self.anchor else 0)
        return _Start(self._ids, self._searched)

    def _moved(self, connection: sqlite3.Connection, table: Table) -> bool:
        """Whether the last row that was taken is another one now."""
        if self.anchor is None:
            return False
        return not is_same(self._log.row(connection, table, self.anchor[0]), self.anchor)

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

    def _read(
        self, connection: sqlite3.Connection, table: Table, ids: IntArray, budget: int, more: bool
    ) -> tuple[list[Row], int, int]:
        """Rows, how many of ``ids`` need not be read again, and how many rows are damaged."""
        fetched = fetch_rows(connection, table, self.run, self._decoder, ids.tolist(), budget)
        rows, taken = fetched.rows, len(ids)
        if rows and (more or fetched.stopped):
            whole = self._decoder.whole(rows)
            if fetched.stopped or whole < len(rows):
                rows = rows[:whole]
                taken = int(np.searchsorted(ids, rows[-1][0], "right"))
        return rows, taken, fetched.damaged

    # -- afterwards -------------------------------------------------------------------------

    def _take(self, found: _Found, notes: Notes) -> Followed:
        """Take over what a connection has found."""
        log = self._log
        self._version, self._epoch = log.version, log.epoch
        self._searched, self._unlisted = found.searched, found.unlisted
        self.anchor = found.anchor
        if found.facts is not None and not found.facts.exists:
            vanished, self._lost, self._ids = not self._lost, True, _NONE
            self._searched, self._unlisted = self.anchor[0] if self.anchor else 0, False
            notes += ((Level.WATCH, _REMOVED),) if vanished else ()
            return Followed(gone=True, notes=notes, changed=bool(notes))
        back, self._lost = self._lost, False
        if found.restarted:
            self._decoder, self._rows = log.dialect.decoder(), 0
            notes += ((Level.WATCH, _REWRITTEN),)
        if found.damaged:
            notes += ((Level.WATCH, f"{found.damaged} rows in damaged pages were left out"),)
        decoded = self._decoder.take(found.rows) if found.rows else Decoded()
        decoded = self._with_facts(decoded, found.facts)
        self._rows += found.taken
        self._ids = found.ids[found.taken :]
        self.modified = self._written(decoded) or self.modified
        new = decoded.hparams or decoded.exit_code is not None or notes
        changed = bool(new or found.taken or found.restarted or back)
        more = len(self._ids) > 0 or self._unlisted
        return Followed(decoded, more, found.restarted, False, notes, changed)

    def _with_facts(self, decoded: Decoded, facts: Facts | None) -> Decoded:
        """Add what the store says about the run, where that has changed."""
        if facts is None:
            return decoded
        before, self._facts = self._facts, facts
        ended = facts.exit_code if facts.exit_code != before.exit_code else None
        hparams = facts.hparams if facts.hparams != before.hparams else {}
        return replace(decoded, hparams=hparams, exit_code=ended)

    def _written(self, decoded: Decoded) -> float:
        """When the newest of these points was logged, at most when the file was written; or 0."""
        walls = [float(i.wall_times[-1]) for i in decoded.items if isinstance(i, Block)]
        return min(max((w for w in walls if w > 0), default=0.0), self._log.modified)
