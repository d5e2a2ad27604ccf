"""trackio's database: one ``<project>.db`` with all runs of a project.

Table ``metrics`` (trackio/sqlite_storage.py): one row for each ``log`` call, with an ISO time, a
step and the values as a JSON object, in which NaN and infinity are texts. Runs have ids since
version 0.24; before, the name was the id. Table ``system_metrics`` is the same without a step: use
of the GPUs and the processor, their tags begin with ``system/``, their steps are those of the rows
before them. What a network file system gets in
place of rows (``inbox/*/*.jsonl``) is not read: trackio moves it into the database.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from sqlite3 import Connection, Cursor
from typing import Any

import numpy as np

from rltui.core.batch import blocks_in
from rltui.core.block import FloatArray, IntArray
from rltui.core.clock import Clock
from rltui.core.text import Names, clean_bytes
from rltui.formats.base import Decoded, NoteBook
from rltui.formats.json_value import json_or_none
from rltui.formats.jsonl.jsonl_row import flatten, settings_of
from rltui.formats.row_sink import RowSink, layout_of
from rltui.trackers.base import Followed, Follower, TrackedRun
from rltui.trackers.sqlite.database import columns_of, in_chunks, raw_of
from rltui.trackers.sqlite.row_follower import Row, RowDecoder, RunFacts, RunTables, Table, part_of

#: Bytes of a row, roughly: some thirty values with their names.
_ROW_BYTES = 1000
#: Longest JSON of one row that is read; images and tables are kept outside of it.
_MOST_BYTES = 4 << 20
_METRICS = f"CASE WHEN length(metrics) <= {_MOST_BYTES} THEN metrics END"
_NEEDED = frozenset(("timestamp", "run_name", "step", "metrics"))
#: The step of the trainer where transformers logs it: the column then only counts log calls
#: (TrackioCallback in transformers/integrations/integration_utils.py).
_GLOBAL_STEP = "train/global_step"
#: Rows that are fetched at once, whatever their size, and bytes of a row beside its JSON.
_AT_ONCE = 16
_LEAST_BYTES = 100
_PLAIN = frozenset((float, int, bool, type(None)))


class TrackioTables(RunTables):
    """Settings and one row for each ``log`` call."""

    row_bytes = _ROW_BYTES

    def __init__(self) -> None:
        super().__init__()
        self._system = _SystemTable()

    def follow(self, path: Path, part: str, clock: Clock) -> Follower:
        rows = super().follow
        system = self._system.follow
        return _WithSystem(partial(rows, path, part, clock), partial(system, path, part, clock))

    def table(self, connection: Connection) -> Table | None:
        """The table of metrics, in which a run is its id or, in old databases, its name."""
        columns = columns_of(connection, "metrics")
        if not columns >= _NEEDED:
            return None
        return Table("metrics", _run_column(columns), f"timestamp, step, {_METRICS}")

    def listed(self, connection: Connection, table: Table, project: str) -> list[TrackedRun]:
        """All runs, called ``project/run``."""
        where = f"FROM metrics WHERE {table.run} = CAST(? AS TEXT)"
        found: list[tuple[float, TrackedRun]] = []
        for run in _runs(connection, table):
            query = f"SELECT run_name, max(timestamp) {where}"
            name, last = connection.execute(query, (run,)).fetchone()
            (first,) = connection.execute(f"SELECT min(timestamp) {where}", (run,)).fetchone()
            shown = f"{project}/{clean_bytes(raw_of(name)).strip('/')}"
            begun, written = (t if t > 0 else 0.0 for t in (_seconds(first), _seconds(last)))
            found.append((begun, TrackedRun(part_of(run), shown, 0, written)))
        return [run for _, run in sorted(found, key=lambda item: item[0])]

    def listed_parts(self, connection: Connection, table: Table) -> Collection[str]:
        """The parts of all runs in the table, which all have rows."""
        return list(map(part_of, _runs(connection, table)))

    def states(self, connection: Connection, runs: Collection[bytes]) -> Mapping[bytes, Hashable]:
        """The rows of settings: a changed one is written as a new row."""
        key = _settings_key(connection)
        states: dict[bytes, Hashable] = {}
        for marks, some in in_chunks(runs, "CAST(? AS TEXT)") if key else ():
            query = f"SELECT {key}, max(rowid) FROM configs WHERE {key} IN ({marks}) GROUP BY 1"
            states.update((raw_of(run), number) for run, number in connection.execute(query, some))
        return states

    def facts(self, connection: Connection, table: Table, run: bytes) -> RunFacts:
        """Whether the run has rows, and its settings without those of trackio itself, which begin
        with an underscore. How it has ended is not recorded."""
        query = f"SELECT 1 FROM metrics WHERE {table.run} = CAST(? AS TEXT) LIMIT 1"
        if connection.execute(query, (run,)).fetchone() is None:
            return RunFacts(exists=False)
        key = _settings_key(connection)
        config = None
        if key:
            query = (
                f"SELECT CASE WHEN length(config) <= {_MOST_BYTES} THEN config END FROM configs"
                f" WHERE {key} = CAST(? AS TEXT) ORDER BY rowid DESC LIMIT 1"
            )
            found = connection.execute(query, (run,)).fetchone() or (None,)
            config = json_or_none(raw_of(found[0]))
        if not isinstance(config, dict):
            return RunFacts()
        own = {k: v for k, v in config.items() if not k.startswith("_")}
        return RunFacts(hparams=settings_of({"config": own}))

    def decoder(self) -> RowDecoder:
        return _Rows()


class _SystemTable(RunTables):
    """The system metrics of the runs. All that happens beside them is read with the metrics."""

    row_bytes = _ROW_BYTES

    def table(self, connection: Connection) -> Table | None:
        """The table of system metrics. Old databases have none, and get it when a newer trackio
        opens them: until then the rows of run NULL, of which there are none, take its place."""
        columns = columns_of(connection, "system_metrics")
        if not columns >= _NEEDED - {"step"}:
            return Table("metrics", "NULL", "timestamp, 0, NULL")
        return Table("system_metrics", _run_column(columns), f"timestamp, 0, {_METRICS}")

    def decoder(self) -> RowDecoder:
        return _Rows("system/")


def _run_column(columns: Collection[str]) -> str:
    return "run_id" if "run_id" in columns else "run_name"


def _runs(connection: Connection, table: Table) -> list[bytes]:
    """Different values of the column of runs; hops from one to the next in its index, since
    ``DISTINCT`` would go through all rows."""
    hop = f"SELECT min({table.run}) FROM metrics WHERE {table.run} > CAST(? AS TEXT)"
    runs: list[bytes] = []
    (run,) = connection.execute(hop, (b"",)).fetchone()  # a run without a name has no key
    while run is not None:
        runs.append(raw_of(run))
        (run,) = connection.execute(hop, (runs[-1],)).fetchone()
    return runs


def _settings_key(connection: Connection) -> str:
    """The column that names the run of a row of settings; empty when there are no settings."""
    columns = columns_of(connection, "configs")
    return _run_column(columns) if "config" in columns else ""


def _seconds(time: object) -> float:
    """Seconds since the epoch of an ISO time; NaN for none.

    A time without a zone is one of this machine (``datetime.now()`` of early versions), but with
    a blank in place of the T it is SQLite's CURRENT_TIMESTAMP, in UTC.
    """
    text = raw_of(time).decode("ascii", "replace").replace("Z", "+00:00")
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None and " " in text:
            moment = moment.replace(tzinfo=timezone.utc)
        return moment.timestamp()
    except (ValueError, OverflowError, OSError):
        return math.nan


def _size_of(row: Row) -> int:
    """Bytes that a row takes, roughly."""
    return _LEAST_BYTES + (len(row[3]) if isinstance(row[3], bytes) else 0)


class _Rows:
    """Rows of (id, time, step, JSON)."""

    def __init__(self, prefix: str = "") -> None:
        """``prefix`` begins the name of every tag."""
        self.row_bytes = _ROW_BYTES
        self._prefix = prefix
        self._sink = RowSink()
        self._notes = NoteBook()
        self._step = 0
        """Step of the row before."""
        self._global = False
        """Whether the rows hold the step of the trainer."""
        self._keys: Names = ()
        self._points: list[tuple[int, float, list[Any]]] = []
        """(step, wall time, values) of the newest rows, all with the same keys."""

    def fetch(self, cursor: Cursor, budget_bytes: int) -> tuple[list[Row], int]:
        """Rows until their JSON takes more than the budget."""
        rows: list[Row] = []
        spent = 0
        while spent < budget_bytes and (some := cursor.fetchmany(_AT_ONCE)):
            rows += some
            spent += sum(map(_size_of, some))
        return rows, spent

    def decode(self, rows: Sequence[Row]) -> Decoded:
        for number, time, step, metrics in rows:
            values = json_or_none(raw_of(metrics))
            if isinstance(values, dict):
                self._row(values, step, _seconds(time))
            else:
                kind = "row that is too long" if metrics is None else "row that is no JSON object"
                self._notes.add(0, kind, f"row {number}")
        self._flush()
        self.row_bytes = max(_LEAST_BYTES, sum(map(_size_of, rows)) // len(rows))
        return Decoded(self._sink.take(), notes=self._notes.take(), records=len(rows))

    def _row(self, values: dict[str, Any], step: object, wall: float) -> None:
        if not _PLAIN.issuperset(map(type, values.values())):
            # images, tables and histograms are objects that name their type
            media = {k for k, v in values.items() if isinstance(v, dict) and "_type" in v}
            values = dict(flatten({k: v for k, v in values.items() if k not in media}))

        keys = tuple(values)
        if keys != self._keys:
            self._flush()
            self._keys = keys

        found = values.get(_GLOBAL_STEP)
        if isinstance(found, (int, float)) and 0 <= found < 1 << 62:
            self._global, self._step = True, int(found)
        elif isinstance(step, int) and not self._global:
            self._step = step
        if keys:
            self._points.append((self._step, wall, list(values.values())))

    def _flush(self) -> None:
        """Pass rows with the same keys to the sink."""
        points = self._points
        self._points = []
        if points:
            steps, walls, values = zip(*points, strict=True)
            layout = layout_of(tuple(self._prefix + key for key in self._keys), np.float64)
            matrix = np.array(values, np.float64)  # None is NaN
            self._sink.rows(layout, np.array(steps, np.int64), np.array(walls), matrix)


class _WithSystem:
    """Follows the rows of a run together with its system metrics, which have a time and no step:
    they get the step of the row that was logged before them."""

    def __init__(self, rows: Callable[[], Follower], system: Callable[[], Follower]) -> None:
        """Both return a fresh follower of their table."""
        self.offset = self.size = 0
        self.modified = 0.0
        self._make = rows, system
        self._tags: frozenset[str] = frozenset()
        """The system metrics so far."""
        self._gone = False
        self._start_over(rows())

    def _start_over(self, rows: Follower) -> None:
        self._rows, self._system = rows, self._make[1]()
        self._walls: FloatArray = np.empty(0)
        """Times of all rows so far, ascending, seconds since the epoch."""
        self._steps: IntArray = np.empty(0, np.int64)
        """The steps of these rows."""

    def poll(self, budget_bytes: int) -> Followed:
        """Poll the rows, and the system metrics once all rows before them were read."""
        followed = self._poll(budget_bytes)
        rows = self._rows
        system = self._system
        self.offset = rows.offset + system.offset
        self.size = rows.size + system.size
        self.modified = max(rows.modified, system.modified)
        return followed

    def _poll(self, budget_bytes: int) -> Followed:
        rows = self._rows.poll(budget_bytes)
        if rows.restarted:
            self._start_over(self._rows)
        blocks = blocks_in(rows.decoded.items)
        if blocks:
            walls = np.concatenate([self._walls, *(b.wall_times for b in blocks)])
            self._walls = np.fmax.accumulate(walls)
            self._steps = np.concatenate([self._steps, *(b.steps for b in blocks)])
        self._gone = rows.gone or (self._gone and not rows.changed)
        if rows.more or self._gone:
            return rows

        system = self._system.poll(budget_bytes)
        if system.restarted:  # what was read is not there any more: read all from the start
            self._start_over(self._make[0]())
            notes = rows.notes + system.notes
            return Followed(more=True, restarted=True, notes=notes, changed=True)

        if not system.decoded.records:  # trouble with the store as a whole is reported by the rows
            return replace(rows, more=True) if system.more else rows
        decoded = rows.decoded.then(self._dated(system.decoded))
        notes = rows.notes + system.notes
        return replace(rows, decoded=decoded, more=system.more, notes=notes, changed=True)

    def _dated(self, decoded: Decoded) -> Decoded:
        """Give system metrics the steps of their times; those before any step get the first one."""
        blocks = blocks_in(decoded.items) if len(self._steps) else []
        self._tags = self._tags.union(*(b.tags for b in blocks))
        dated = []
        for block in blocks:
            places = np.searchsorted(self._walls, block.wall_times, "right") - 1
            dated.append(replace(block, steps=self._steps[np.maximum(places, 0)]))
        return replace(decoded, items=tuple(dated), guessed=self._tags)
