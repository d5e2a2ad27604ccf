"""Reading somebody else's SQLite file: locks, WAL mode, damage, and no trace left behind.

System metrics of trackio: rows with a time in a table of their own.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rltui.core.level import Level
from rltui.trackers import Follower
from rltui.trackers.sqlite.database import look
from tests.clock import ManualClock
from tests.trackers.store import (
    BUDGET,
    START,
    MlflowDatabase,
    TrackioDatabase,
    points_of,
    read_all,
    texts_of,
    tick,
    tracker_of,
    values_of,
)

#: A writer in a process of its own: executes each command and answers each line.
_WRITER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=0)
for line in sys.stdin:
    try:
        connection.execute(line)
        print("done", flush=True)
    except sqlite3.Error as error:
        print(error, flush=True)
"""


class OtherProcess:
    """A program that has a database open."""

    def __init__(self, path: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def do(self, statement: str) -> str:
        """Execute a statement; the answer."""
        self.process.stdin.write(f"{statement}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()


@contextmanager
def other_process(path: Path, *, kill: bool = False) -> Iterator[OtherProcess]:
    other = OtherProcess(path)
    try:
        yield other
    finally:
        if kill:
            other.process.kill()
        other.process.communicate()


def follow(store: MlflowDatabase | TrackioDatabase, clock: ManualClock | None = None) -> Follower:
    tracker = tracker_of(store, clock)
    (run,) = tracker.runs(store.path)
    return tracker.follow(store.path, run.part)


def insert(step: int, run: str = "r") -> str:
    """A row of trackio, in SQL."""
    time = "2026-11-18T09:00:00+00:00"
    names = "run_id, timestamp, run_name, step, metrics"
    return (
        f"INSERT INTO metrics ({names}) VALUES ('{run}', '{time}', '{run}', {step}, '{{\"a\": 1}}')"
    )


def names_around(path: Path) -> set[str]:
    return {p.name for p in path.parent.iterdir()}


def test_an_open_transaction_neither_stops_us_nor_is_seen(tmp_path: Path) -> None:
    store = MlflowDatabase(tmp_path)
    store.log("r", [(1, {"a": 1.0})])
    follower = follow(store)
    with other_process(store.path) as other:
        assert other.do("BEGIN IMMEDIATE") == "done"
        other.do("INSERT INTO metrics VALUES ('a', 2.0, 2000, 'r', 2, 0)")
        polls = read_all(follower)
        assert values_of(*polls) == {"a": [(1, 1.0)]}
        assert other.do("COMMIT") == "done"
    tick(store.path)
    assert values_of(*read_all(follower)) == {"a": [(2, 2.0)]}


def test_a_locked_database_is_reported_once_and_read_later(tmp_path: Path) -> None:
    store = MlflowDatabase(tmp_path)
    store.log("r", [(1, {"a": 1.0})])
    clock = ManualClock()
    tracker = tracker_of(store, clock)
    follower = follow(store, clock)
    with other_process(store.path) as other:
        assert other.do("BEGIN EXCLUSIVE") == "done"
        polls = []
        for _ in range(3):
            polls.append(follower.poll(BUDGET))
            clock.advance(0.6)
        assert texts_of(*polls) == ["is locked by another program"]
        assert not any(p.more for p in polls)
        with pytest.raises(OSError, match="locked"):
            tracker.runs(store.path)
        assert other.do("ROLLBACK") == "done"
    polls = read_all(follower)
    assert polls[0].notes == ((Level.OK, "can be read again"),)
    assert values_of(*polls) == {"a": [(1, 1.0)]}


def test_rows_that_are_only_in_the_wal_are_read(tmp_path: Path) -> None:
    store = TrackioDatabase(tmp_path)
    store.log("r", [(1, {"a": 1.0})])
    follower = follow(store)
    polls = read_all(follower)
    with other_process(store.path) as other:
        for step in range(2, 6):
            assert other.do(insert(step)) == "done"
            tick(Path(f"{store.path}-wal"))
            before = names_around(store.path)
            polls += read_all(follower)
            assert names_around(store.path) == before
        other.do("PRAGMA wal_checkpoint(TRUNCATE)")
        polls += read_all(follower)
        other.do(insert(6))
        tick(Path(f"{store.path}-wal"))
        polls += read_all(follower)
    polls += read_all(follower)
    assert names_around(store.path) == {"proj.db"}
    assert [s for s, _ in values_of(*polls)["a"]] == [1, 2, 3, 4, 5, 6]
    assert not texts_of(*polls)


def test_the_wal_of_a_killed_writer_is_read(tmp_path: Path) -> None:
    store = TrackioDatabase(tmp_path)
    store.log("r", [(1, {"a": 1.0})])
    with other_process(store.path, kill=True) as other:
        assert other.do(insert(2)) == "done"
    assert names_around(store.path) == {"proj.db", "proj.db-wal", "proj.db-shm"}
    times = {p.name: p.stat().st_mtime_ns for p in tmp_path.iterdir()}
    assert len(values_of(*read_all(follow(store)))["a"]) == 2
    assert {p.name: p.stat().st_mtime_ns for p in tmp_path.iterdir()} == times
    Path(f"{store.path}-shm").unlink()  # as in a copy of a live database
    assert len(values_of(*read_all(follow(store)))["a"]) == 2
    assert names_around(store.path) == {"proj.db", "proj.db-wal"}


@pytest.mark.parametrize("kind", [MlflowDatabase, TrackioDatabase])
def test_a_write_within_the_same_tick_of_the_clock_is_found_later(
    tmp_path: Path, kind: type[MlflowDatabase | TrackioDatabase]
) -> None:
    clock = ManualClock(START)
    store = kind(tmp_path)
    store.log("r", [(1, {"a": 1.0})])
    follower = follow(store, clock)
    read_all(follower)
    before = store.path.stat()
    store.log("r", [(2, {"a": 2.0})])
    os.utime(store.path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert store.path.stat().st_size == before.st_size
    assert not follower.poll(BUDGET).changed
    clock.advance(2)
    assert values_of(follower.poll(BUDGET)) == {"a": [(2, 2.0)]}


def test_a_hot_journal_is_left_to_its_program(tmp_path: Path) -> None:
    store = MlflowDatabase(tmp_path)
    store.log("r", [(s, {"a": 1.0}) for s in range(2000)])
    follower = follow(store)
    with other_process(store.path, kill=True) as other:
        other.do("PRAGMA cache_size = 2")
        other.do("BEGIN EXCLUSIVE")
        other.do("UPDATE metrics SET value = 5")
    assert Path(f"{store.path}-journal").exists()
    names = names_around(store.path)
    (poll,) = read_all(follower)
    assert texts_of(poll) == ["was left in the middle of a write; its own program must open it"]
    assert names_around(store.path) == names


@pytest.mark.parametrize("content", [b"", b"SQLite", b"\0" * 5000, b"loss,step\n1,2\n"])
def test_other_files_are_not_claimed(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.db"
    path.write_bytes(content)
    store = MlflowDatabase(tmp_path)
    assert not tracker_of(store).claims_file(path)


def test_other_databases_are_not_claimed(tmp_path: Path) -> None:
    path = tmp_path / "optuna.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE metrics (name, value)")
    for store in (MlflowDatabase(tmp_path), TrackioDatabase(tmp_path)):
        tracker = tracker_of(store)
        assert not tracker.claims_file(path)
        assert not tracker.claims_name("events.out.tfevents.1.host")
        assert not tracker.claims_directory(tmp_path, ["meta.yaml", "metrics"])


def _damage(path: Path, table: str, share: float) -> None:
    """Overwrite a leaf page of a table's tree with noise."""
    with closing(sqlite3.connect(path)) as connection:
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        (root,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)
        ).fetchone()
    data = bytearray(path.read_bytes())
    page = data[(root - 1) * size : root * size]
    assert page[0] == 5, "an interior page of a table"
    cells = int.from_bytes(page[3:5], "big")
    number = int(cells * share)
    at = int.from_bytes(page[12 + 2 * number : 14 + 2 * number], "big")
    leaf = int.from_bytes(page[at : at + 4], "big")
    data[(leaf - 1) * size : leaf * size] = b"\xff" * size
    path.write_bytes(bytes(data))
    tick(path)


def test_rows_around_a_damaged_page_are_read(tmp_path: Path) -> None:
    store = TrackioDatabase(tmp_path)
    store.log("r", [(s, {"a": float(s)}) for s in range(3000)])
    _damage(store.path, "metrics", 0.5)
    polls = read_all(follow(store))
    found = [v for _, v in values_of(*polls)["a"]]
    (note,) = texts_of(*polls)
    lost = int(note.split()[0])
    assert note == f"{lost} rows in damaged pages were left out"
    assert 0 < lost < 200
    assert len(found) == 3000 - lost
    assert found == sorted(found)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_no_damage_stops_a_follower(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Bytes anywhere in the file, its header and schema included."""
    folder = tmp_path_factory.mktemp("damage")
    kind = data.draw(st.sampled_from([MlflowDatabase, TrackioDatabase]))
    store = kind(folder)
    store.log("r", [(s, {"a": float(s), "b": 1.0}) for s in range(60)])
    clock = ManualClock()
    tracker, follower = tracker_of(store, clock), follow(store, clock)
    if data.draw(st.booleans()):
        read_all(follower)
    content = bytearray(store.path.read_bytes())
    for _ in range(data.draw(st.integers(1, 30))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    store.path.write_bytes(bytes(content))
    tick(store.path)
    clock.advance(1)
    read_all(follower, 1000)
    with suppress(OSError):
        if tracker.claims_file(store.path):
            tracker.runs(store.path)


@pytest.mark.skipif(os.name != "posix", reason="needs permissions")
def test_a_database_in_a_directory_that_cannot_be_written(tmp_path: Path) -> None:
    folder = tmp_path / "ro"
    folder.mkdir()
    for store in (MlflowDatabase(folder), TrackioDatabase(folder)):
        store.log("r", [(1, {"a": 1.0})])
    folder.chmod(0o500)
    try:
        query = "SELECT count(*) FROM metrics"
        for name in ("mlflow.db", "proj.db"):
            assert look(folder / name, lambda c: c.execute(query).fetchone()) == (1,)
    finally:
        folder.chmod(0o700)


TAG = "system/gpu/0/utilization"


def _system(*seconds: float) -> list[tuple[float, dict[str, float]]]:
    return [(at, {"gpu/0/utilization": at * 10}) for at in seconds]


@pytest.fixture(params=[True, False], ids=["ids", "names"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> TrackioDatabase:
    found = TrackioDatabase(tmp_path, ids=request.param)
    if not found.ids:
        found.create_system()
    return found


def _follow(store: TrackioDatabase) -> Follower:
    return tracker_of(store).follow(store.path, "r")


def test_system_metrics_have_the_step_of_the_row_before(store: TrackioDatabase) -> None:
    store.log("r", [(s, {"a": float(s)}) for s in (5, 10, 15)])
    store.log_system("r", _system(1, 5, 9, 10.5, 40))
    store.log_system("other", _system(7))
    polls = read_all(_follow(store))
    assert values_of(*polls) == {
        "a": [(5, 5.0), (10, 10.0), (15, 15.0)],
        TAG: [(5, 10.0), (5, 50.0), (5, 90.0), (10, 105.0), (15, 400.0)],
    }
    walls = [wall for _, wall, _ in points_of(*polls)[TAG]]
    assert [wall - walls[0] for wall in walls] == [0, 4, 8, 9.5, 39]
    assert polls[-1].decoded.guessed == {TAG}
    assert [run.part for run in tracker_of(store).runs(store.path)] == ["r"]


def test_system_metrics_come_as_they_are_written(store: TrackioDatabase) -> None:
    store.log("r", [(1, {"a": 1.0})])
    follower = _follow(store)
    polls = read_all(follower)
    store.log_system("r", _system(2))
    polls += read_all(follower)
    assert polls[-1].changed
    store.log("r", [(3, {"a": 3.0})])
    polls += read_all(follower)
    store.log_system("r", [(4, {"cpu/utilization": 7.0})])
    polls += read_all(follower)
    assert polls[-1].decoded.guessed == {TAG, "system/cpu/utilization"}
    assert values_of(*polls) == {
        "a": [(1, 1.0), (3, 3.0)],
        TAG: [(1, 20.0)],
        "system/cpu/utilization": [(3, 7.0)],
    }
    assert not follower.poll(BUDGET).changed
    assert not texts_of(*polls)


def test_a_database_that_gets_the_table_later(tmp_path: Path) -> None:
    store = TrackioDatabase(tmp_path, ids=False)
    store.log("r", [(s, {"a": float(s)}) for s in range(9)])
    follower = _follow(store)
    polls = read_all(follower)
    assert set(points_of(*polls)) == {"a"}
    store.create_system()
    store.log_system("r", _system(4))
    polls += read_all(follower)
    assert values_of(*polls)[TAG] == [(4, 40.0)]
    assert not texts_of(*polls)


def test_system_metrics_that_are_deleted_are_read_again(store: TrackioDatabase) -> None:
    store.log("r", [(s, {"a": float(s)}) for s in range(3)])
    store.log_system("r", _system(1, 2))
    follower = _follow(store)
    polls = read_all(follower)
    store.do("DELETE FROM system_metrics")
    store.log_system("r", _system(2.5))
    polls += read_all(follower)
    assert values_of(*polls) == {"a": [(0, 0.0), (1, 1.0), (2, 2.0)], TAG: [(2, 25.0)]}
    assert sum(p.restarted for p in polls) == 1
