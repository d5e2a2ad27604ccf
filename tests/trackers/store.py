"""Stores as the trackers themselves write them, for the contract and for tests of their own.

Every write moves the time of the file on, so that no test depends on the clock of the disk.
"""

import itertools
import json
import math
import os
import shutil
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

from rltui.trackers import Followed, Follower, Tracker
from rltui.trackers.mlflow_files import MlflowFiles
from rltui.trackers.sqlite.tracker import MlflowStore, TrackioStore
from tests.clock import ManualClock

#: Wall time of step 0; one step a second.
START = 1_795_000_000
BUDGET = 2 << 20
Point = tuple[int, float, float]
Points = dict[str, list[Point]]
_ticks = itertools.count()


class Writer(Protocol):
    """Writes the store of one tracker; runs are named by their ids."""

    path: Path
    """What the tracker claims."""

    def log(self, run: str, rows: Sequence[tuple[int, Mapping[str, float]]]) -> None:
        """Add rows of (step, values), each at the wall time of its step."""
        ...

    def finish(self, run: str, failed: bool = False) -> None:
        """Say that the run has ended."""
        ...

    def begin_anew(self) -> None:
        """Take everything away and start with an empty store of the same run ids."""
        ...

    def delete(self) -> None:
        """Remove the whole store."""
        ...


def tick(path: Path) -> None:
    """Move the change time of a file on."""
    now = START * 10**9 + next(_ticks) * 10**7
    os.utime(path, ns=(now, now))


def opened(path: Path, **options: Any) -> sqlite3.Connection:
    """A connection that does not wait for the disk: readers see the same."""
    connection = sqlite3.connect(path, **options)
    connection.execute("PRAGMA synchronous = OFF")
    return connection


class MlflowDatabase:
    """Tables as MLflow 3 creates them, as far as they concern metrics."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "mlflow.db"
        self._create()

    def _create(self) -> None:
        self.do(
            "CREATE TABLE experiments (experiment_id INTEGER NOT NULL PRIMARY KEY, name TEXT,"
            " lifecycle_stage TEXT)",
            "CREATE TABLE runs (run_uuid VARCHAR(32) NOT NULL PRIMARY KEY, name VARCHAR(250),"
            " status VARCHAR(9), start_time BIGINT, end_time BIGINT, lifecycle_stage VARCHAR(20),"
            " experiment_id INTEGER)",
            "CREATE TABLE metrics (key VARCHAR(250) NOT NULL, value FLOAT NOT NULL,"
            " timestamp BIGINT NOT NULL, run_uuid VARCHAR(32) NOT NULL,"
            " step BIGINT DEFAULT '0' NOT NULL, is_nan BOOLEAN DEFAULT '0' NOT NULL,"
            " PRIMARY KEY (key, timestamp, step, run_uuid, value, is_nan))",
            "CREATE INDEX index_metrics_run_uuid ON metrics (run_uuid)",
            "CREATE TABLE latest_metrics (key VARCHAR(250) NOT NULL, value FLOAT NOT NULL,"
            " timestamp BIGINT, step BIGINT NOT NULL, is_nan BOOLEAN NOT NULL,"
            " run_uuid VARCHAR(32) NOT NULL, PRIMARY KEY (key, run_uuid))",
            "CREATE TABLE params (key VARCHAR(250) NOT NULL, value VARCHAR(8000) NOT NULL,"
            " run_uuid VARCHAR(32) NOT NULL, PRIMARY KEY (key, run_uuid))",
            "CREATE TABLE tags (key VARCHAR(250) NOT NULL, value VARCHAR(8000),"
            " run_uuid VARCHAR(32) NOT NULL, PRIMARY KEY (key, run_uuid))",
            "INSERT INTO experiments VALUES (1, 'exp', 'active')",
        )

    def do(self, *statements: str) -> None:
        """Execute statements in one transaction."""
        with closing(opened(self.path)) as connection, connection:
            for statement in statements:
                connection.execute(statement)
        tick(self.path)

    def start(self, run: str, name: str = "", params: Mapping[str, str] | None = None) -> None:
        """Begin a run, if it has not begun."""
        with closing(opened(self.path)) as connection, connection:
            begun = "INSERT OR IGNORE INTO runs VALUES (?, ?, 'RUNNING', ?, NULL, 'active', 1)"
            (count,) = connection.execute("SELECT count(*) FROM runs").fetchone()
            connection.execute(begun, (run, name or run, START * 1000 + count))
            pairs = [(k, v, run) for k, v in (params or {}).items()]
            connection.executemany("INSERT INTO params VALUES (?, ?, ?)", pairs)
        tick(self.path)

    def log(self, run: str, rows: Sequence[tuple[int, Mapping[str, float]]]) -> None:
        self.start(run)
        cells = [
            (key, *_stored(value), (START + step) * 1000, run, step)
            for step, values in rows
            for key, value in values.items()
        ]
        with closing(opened(self.path)) as connection, connection:
            columns = "(key, value, is_nan, timestamp, run_uuid, step)"
            for table in ("metrics", "latest_metrics"):
                query = f"INSERT OR REPLACE INTO {table} {columns} VALUES (?, ?, ?, ?, ?, ?)"
                connection.executemany(query, cells)
        tick(self.path)

    def finish(self, run: str, failed: bool = False) -> None:
        status = "FAILED" if failed else "FINISHED"
        self.do(f"UPDATE runs SET status = '{status}', end_time = 1 WHERE run_uuid = '{run}'")

    def begin_anew(self) -> None:
        self.delete()
        self._create()

    def delete(self) -> None:
        self.path.unlink()


def _stored(value: float) -> tuple[float, int]:
    """Value and is_nan as MLflow keeps them (sanitize_metric_value)."""
    if math.isnan(value):
        return 0.0, 1
    return max(-1.7976931348623157e308, min(1.7976931348623157e308, value)), 0


class TrackioDatabase:
    """Tables as trackio creates them; ``ids`` False: as before version 0.24."""

    def __init__(self, directory: Path, *, ids: bool = True) -> None:
        self.path = directory / "proj.db"
        self.ids = ids
        self._create()

    def _create(self) -> None:
        ident, key = ("run_id TEXT NOT NULL, ", "run_id") if self.ids else ("", "run_name")
        self.do(
            "PRAGMA journal_mode = WAL",
            f"CREATE TABLE metrics (id INTEGER PRIMARY KEY AUTOINCREMENT, {ident}timestamp TEXT"
            " NOT NULL, run_name TEXT NOT NULL, step INTEGER NOT NULL, metrics TEXT NOT NULL)",
            f"CREATE TABLE configs (id INTEGER PRIMARY KEY AUTOINCREMENT, {ident}run_name TEXT NOT"
            f" NULL, config TEXT NOT NULL, created_at TEXT NOT NULL, UNIQUE({key}))",
            f"CREATE INDEX idx_metrics_run_step ON metrics ({key}, step)",
            f"CREATE INDEX idx_metrics_run_timestamp ON metrics ({key}, timestamp)",
        )
        if self.ids:
            self.create_system()

    def create_system(self) -> None:
        """The table of system metrics."""
        ident = "run_id TEXT NOT NULL, " if self.ids else ""
        self.do(
            f"CREATE TABLE system_metrics (id INTEGER PRIMARY KEY AUTOINCREMENT, {ident}timestamp"
            " TEXT NOT NULL, run_name TEXT NOT NULL, metrics TEXT NOT NULL)"
        )

    def connect(self) -> sqlite3.Connection:
        """A writer; in WAL mode as long as it is open, rows may be in the -wal only."""
        return opened(self.path, isolation_level=None)

    def do(self, *statements: str) -> None:
        """Execute statements."""
        with closing(self.connect()) as connection:
            for statement in statements:
                connection.execute(statement)
        tick(self.path)

    def _insert(
        self, connection: sqlite3.Connection, table: str, run: str, **columns: object
    ) -> None:
        columns = {"run_name": run, **({"run_id": run} if self.ids else {}), **columns}
        marks = ", ".join("?" * len(columns))
        connection.execute(
            f"INSERT OR REPLACE INTO {table} ({', '.join(columns)}) VALUES ({marks})",
            tuple(columns.values()),
        )

    def insert(self, connection: sqlite3.Connection, run: str, step: int, metrics: bytes) -> None:
        """One row; the JSON is bytes as trackio binds it."""
        self._insert(connection, "metrics", run, timestamp=_time(step), step=step, metrics=metrics)

    def log_system(self, run: str, rows: Sequence[tuple[float, Mapping[str, float]]]) -> None:
        """Add rows of (seconds, system metrics); step s is logged at second s."""
        with closing(self.connect()) as connection:
            for at, cells in rows:
                metrics = json.dumps(cells).encode()
                self._insert(
                    connection, "system_metrics", run, timestamp=_time(at), metrics=metrics
                )
        tick(self.path)

    def log(self, run: str, rows: Sequence[tuple[int, Mapping[str, float]]]) -> None:
        with closing(self.connect()) as connection:
            connection.execute("BEGIN")
            for step, values in rows:
                cells = {k: _text(v) for k, v in values.items()}
                self.insert(connection, run, step, json.dumps(cells).encode())
            connection.execute("COMMIT")
        tick(self.path)

    def configure(self, run: str, config: Mapping[str, Any]) -> None:
        """Set the settings of a run."""
        with closing(self.connect()) as connection:
            values = {"config": json.dumps(config).encode(), "created_at": _time(0)}
            self._insert(connection, "configs", run, **values)
        tick(self.path)

    def finish(self, run: str, failed: bool = False) -> None:
        """trackio does not record it."""

    def begin_anew(self) -> None:
        self.delete()
        self._create()

    def delete(self) -> None:
        self.path.unlink()


def _time(seconds: float) -> str:
    """An ISO time that many seconds after a fixed one, as trackio writes it."""
    minute, second = divmod(seconds, 60)
    return f"2026-11-18T09:{int(minute) % 60:02d}:{second + 0.25:09.6f}+00:00"


def _text(value: float) -> float | str:
    """NaN and infinity as trackio writes them (serialize_values)."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


class MlflowFolder:
    """A run directory as MLflow's file store writes it."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "mlruns" / "1" / "run-id"
        self._create()

    def _create(self) -> None:
        for name in ("metrics", "params", "tags", "artifacts"):
            (self.path / name).mkdir(parents=True)
        (self.path / "tags" / "mlflow.runName").write_text("my run")
        self.meta(status=1)

    def meta(self, **values: object) -> None:
        """Rewrite meta.yaml."""
        content = {"lifecycle_stage": "active", "run_id": "run-id", "run_name": "other", **values}
        file = self.path / "meta.yaml"
        file.write_text("".join(f"{k}: {v}\n" for k, v in content.items()))
        tick(file)

    def append(self, key: str, data: bytes) -> None:
        """Append to a metric file as it is."""
        file = self.path / "metrics" / key
        fresh = not file.exists()
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("ab") as out:
            out.write(data)
        tick(file)
        if fresh:
            for folder in file.relative_to(self.path).parents:
                tick(self.path / folder)

    def log(self, run: str, rows: Sequence[tuple[int, Mapping[str, float]]]) -> None:
        lines: dict[str, bytes] = {}
        for step, values in rows:
            for key, value in values.items():
                line = f"{(START + step) * 1000} {value} {step}\n".encode()
                lines[key] = lines.get(key, b"") + line
        for key, data in lines.items():
            self.append(key, data)

    def finish(self, run: str, failed: bool = False) -> None:
        self.meta(status=4 if failed else 3, end_time=START * 1000)

    def begin_anew(self) -> None:
        self.delete()
        self._create()

    def delete(self) -> None:
        shutil.rmtree(self.path)


def tracker_of(writer: object, clock: ManualClock | None = None) -> Tracker:
    """The tracker that reads what the writer writes."""
    clock = clock or ManualClock()
    if isinstance(writer, MlflowDatabase):
        return MlflowStore(clock)
    if isinstance(writer, TrackioDatabase):
        return TrackioStore(clock)
    return MlflowFiles(clock)


def points_of(*polls: Followed) -> Points:
    """(step, wall time, value) of each tag, in order."""
    points: Points = {}
    for followed in polls:
        if followed.restarted:
            points = {}
        for block in followed.decoded.items:
            for column, tag in enumerate(block.tags):
                for row, step in enumerate(block.steps.tolist()):
                    if block.absent is None or not block.absent[row, column]:
                        wall = float(block.wall_times[row])
                        value = float(block.values[row, column])
                        points.setdefault(tag, []).append((step, wall, value))
    return points


def read_all(follower: Follower, budget: int = BUDGET) -> list[Followed]:
    """Poll until there is no more."""
    polls = [follower.poll(budget)]
    while polls[-1].more:
        assert len(polls) < 100_000
        polls.append(follower.poll(budget))
    return polls


def values_of(*polls: Followed) -> dict[str, list[tuple[int, float]]]:
    """(step, value) of each tag, in order."""
    return {t: [(s, v) for s, _, v in found] for t, found in points_of(*polls).items()}


def texts_of(*polls: Followed) -> list[str]:
    """All notes, those of the store and those of rows."""
    notes = [text for p in polls for _, text in p.notes]
    return notes + [n.message for p in polls for n in p.decoded.notes]
