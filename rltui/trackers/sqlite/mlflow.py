"""MLflow's database: ``mlflow.db``, or any file given as ``sqlite:///...``.

Table ``metrics`` (mlflow/store/tracking/dbmodels/models.py): one row for each value, with key,
value, time in ms, step and run; NaN is ``is_nan`` 1 with value 0, infinity the largest float64
(sqlalchemy_store.py, sanitize_metric_value). The values of one ``log_metrics`` call have the same
time. Runs without a value (traces, parents of a search), and deleted ones, are left out.
Metrics of logged models are not read: MLflow keeps those of the training in ``metrics`` too.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from sqlite3 import Connection, Cursor

import numpy as np

from rltui.core.block import FloatArray, IntArray
from rltui.core.text import clean_bytes
from rltui.formats.base import Decoded, NoteBook, clean_tag
from rltui.formats.row_sink import TagPoints, blocks_of
from rltui.trackers.base import TrackedRun
from rltui.trackers.mlflow_files import EXIT_CODES, MOST_SETTINGS, setting_of
from rltui.trackers.sqlite.database import columns_of, in_chunks, raw_of
from rltui.trackers.sqlite.row_follower import Row, RowDecoder, RunFacts, RunTables, Table, part_of

#: Bytes of a row and its index entries, roughly.
_ROW_BYTES = 100
_INFINITY = float(np.finfo(np.float64).max)


class MlflowTables(RunTables):
    """Runs, parameters and one row for each value."""

    row_bytes = _ROW_BYTES

    def table(self, connection: Connection) -> Table | None:
        """The table of metrics; databases of before MLflow 1.0 have no step and no is_nan."""
        columns = columns_of(connection, "metrics")
        needed = {"key", "value", "timestamp", "run_uuid"}
        if not columns >= needed or "run_uuid" not in columns_of(connection, "runs"):
            return None
        value = "CASE WHEN is_nan THEN NULL ELSE value END" if "is_nan" in columns else "value"
        step = "step" if "step" in columns else "0"

        index = ""
        names = connection.execute("SELECT name FROM pragma_index_list('metrics')").fetchall()
        for (name,) in names:
            found = connection.execute("SELECT name FROM pragma_index_info(?)", (name.decode(),))
            if found.fetchall() == [(b"run_uuid",)]:
                index = '"{}"'.format(name.decode().replace('"', '""'))
        return Table("metrics", "run_uuid", f"key, {value}, timestamp, {step}", index)

    def listed(self, connection: Connection, table: Table, project: str) -> list[TrackedRun]:  # noqa: ARG002
        """Active runs of active experiments, called ``experiment/run``."""
        latest = "latest_metrics" if columns_of(connection, "latest_metrics") else table.name
        query = f"SELECT run_uuid, max(timestamp) FROM {latest} GROUP BY run_uuid"
        written = {raw_of(uuid): _seconds(ms) for uuid, ms in connection.execute(query)}
        query = (
            "SELECT r.run_uuid, e.name, coalesce(nullif(r.name, ''), t.value), r.start_time"
            " FROM runs AS r"
            " LEFT JOIN experiments AS e ON e.experiment_id = r.experiment_id"
            " LEFT JOIN tags AS t ON t.run_uuid = r.run_uuid AND t.key = 'mlflow.runName'"
            " WHERE coalesce(r.lifecycle_stage, 'active') <> 'deleted'"
            " AND coalesce(e.lifecycle_stage, 'active') <> 'deleted'"
            " ORDER BY r.start_time, r.rowid"
        )
        runs = []
        for uuid, experiment, name, started in connection.execute(query):
            run = raw_of(uuid)
            if run and run in written:
                shown = [clean_bytes(raw_of(n)).strip("/") for n in (experiment, name or uuid)]
                when = max(_seconds(started), written[run])
                runs.append(TrackedRun(part_of(run), "/".join(s for s in shown if s), 0, when))
        return runs

    def states(self, connection: Connection, runs: Collection[bytes]) -> Mapping[bytes, Hashable]:
        """Status and life cycle of each run."""
        states: dict[bytes, Hashable] = {}
        for marks, some in in_chunks(runs, "CAST(? AS TEXT)"):
            query = (
                "SELECT run_uuid, status, lifecycle_stage, end_time FROM runs"
                f" WHERE run_uuid IN ({marks})"
            )
            found = connection.execute(query, some)
            states.update((raw_of(uuid), tuple(rest)) for uuid, *rest in found)
        return states

    def facts(self, connection: Connection, table: Table, run: bytes) -> RunFacts:  # noqa: ARG002
        """Whether the run is there and active, its parameters, and how it ended."""
        query = "SELECT status, lifecycle_stage FROM runs WHERE run_uuid = CAST(? AS TEXT)"
        row = connection.execute(query, (run,)).fetchone()
        if row is None or raw_of(row[1]) == b"deleted":
            return RunFacts(exists=False)
        query = "SELECT key, value FROM params WHERE run_uuid = CAST(? AS TEXT) LIMIT ?"
        params = connection.execute(query, (run, MOST_SETTINGS))
        hparams: dict[str, object] = {
            clean_tag(raw_of(key)): setting_of(raw_of(value)) for key, value in params
        }
        return RunFacts(True, hparams, EXIT_CODES.get(raw_of(row[0])))

    def decoder(self) -> RowDecoder:
        return _Values()


def _seconds(milliseconds: object) -> float:
    return milliseconds / 1000 if isinstance(milliseconds, (int, float)) else 0.0


class _Values:
    """Rows of (id, key, value or None, ms, step)."""

    row_bytes = _ROW_BYTES

    def __init__(self) -> None:
        self._notes = NoteBook()

    def fetch(self, cursor: Cursor, budget_bytes: int) -> tuple[list[Row], int]:  # noqa: ARG002
        """All rows: the caller asks for no more than the budget allows, and they are small."""
        rows = cursor.fetchall()
        return rows, len(rows) * _ROW_BYTES

    def decode(self, rows: Sequence[Row]) -> Decoded:
        try:
            columns = self._columns(rows)
        except (TypeError, ValueError, OverflowError):
            columns = self._columns(list(filter(self._is_wellformed, rows)))
        return Decoded(blocks_of(columns), notes=self._notes.take(), records=len(rows))

    def _columns(self, rows: Sequence[Row]) -> list[TagPoints]:
        """Raises TypeError, ValueError or OverflowError for a malformed row."""
        if not rows:
            return []
        _, keys, values, times, steps = zip(*rows, strict=True)
        known = {key: code for code, key in enumerate(dict.fromkeys(keys))}
        codes = np.fromiter(map(known.__getitem__, keys), np.int64, len(keys))
        numbers: FloatArray = np.array(values, np.float64)  # None is NaN
        numbers[numbers >= _INFINITY] = np.inf
        numbers[numbers <= -_INFINITY] = -np.inf
        axis: IntArray = np.array(steps, np.int64)
        walls: FloatArray = np.array(times, np.float64) / 1000

        order = np.argsort(codes, kind="stable")
        ends = np.cumsum(np.bincount(codes))
        return [
            TagPoints(clean_tag(raw_of(keys[own[0]])), axis[own], walls[own], numbers[own])
            for own in np.split(order, ends[:-1])
        ]

    def _is_wellformed(self, row: Row) -> bool:
        number, _, value, time, step = row
        wellformed = (
            isinstance(value, (int, float, type(None)))
            and isinstance(time, (int, float))
            and isinstance(step, int)
        )
        if not wellformed:
            self._notes.add(0, "row of metrics that holds no number", f"row {number}")
        return wellformed
