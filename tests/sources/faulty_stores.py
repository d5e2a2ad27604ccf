"""Databases of trackers as logs: what is torn is a transaction that is not committed."""

import os
import shutil
import sqlite3
from pathlib import Path

from tests.sources.faulty_logs import Content, DiskTime, Form, Log, Point
from tests.trackers.store import MlflowDatabase, TrackioDatabase, tick

_PAGE = 4096


class Store(Form):
    """A tracker; its tables are those that :mod:`tests.trackers.store` writes."""

    restarts = False
    writer: type[MlflowDatabase] | type[TrackioDatabase]


class Mlflow(Store):
    name, file, writer = "mlflow", "mlflow.db", MlflowDatabase


class Trackio(Store):
    name, file, writer = "trackio", "proj.db", TrackioDatabase


STORES: tuple[type[Store], ...] = (Mlflow, Trackio)


class StoreLog(Log):
    """One run of a database. Damaged, it shows anything that was ever in it."""

    form: Store

    def __init__(self, form: Store, directory: Path, time: DiskTime) -> None:
        super().__init__(form, directory, time)
        self._open: sqlite3.Connection | None = None
        self._waiting: list[Point] = []
        """Points of the transaction that is not committed."""

    @property
    def _store(self) -> MlflowDatabase | TrackioDatabase:
        store = self.form.writer.__new__(self.form.writer)
        store.path = self.path
        if isinstance(store, TrackioDatabase):
            store.ids = True
        return store

    def begin(self, step: int, rows: int) -> None:
        self.crash()
        self.path.unlink(missing_ok=True)
        self._anew(step)
        self.form.writer(self.path.parent)
        self.append(rows)

    def append(self, rows: int) -> None:
        self.finish()
        for _ in range(rows):
            if self.content.headless:
                return  # the writer meets the damage, too
            points = self._next_points()
            self._store.log("r", [(points[0][1], {t: v for t, _, v in points})])
            self._hold(points)

    def _hold(self, points: list[Point]) -> None:
        self._written.update(points)
        self.content.must += points
        for tag, step, _ in points:
            self.content.first.setdefault(tag, step)

    def tear(self, share: float) -> None:
        self.finish()
        if self.content.headless:
            return
        points, store = self._next_points(), self._store
        if isinstance(store, MlflowDatabase):
            store.start("r")
        connection = sqlite3.connect(self.path, isolation_level=None)
        connection.execute("BEGIN")
        step = points[0][1]
        values = {t: v for t, _, v in points}
        if isinstance(store, TrackioDatabase):
            store.insert(connection, "r", step, str(values).replace("'", '"').encode())
        else:
            query = "INSERT INTO metrics (key, value, is_nan, timestamp, run_uuid, step)"
            cells = [(t, v, 0, 1_795_000_000_000 + step, "r", step) for t, v in values.items()]
            connection.executemany(f"{query} VALUES (?, ?, ?, ?, ?, ?)", cells)
        self._open, self._waiting = connection, points

    def finish(self) -> None:
        if self._open is not None:
            self._open.execute("COMMIT")
            self._hold(self._waiting)
            self._end()

    def crash(self) -> None:
        if self._open is not None:
            self._open.execute("ROLLBACK")
            self._end()

    recover = crash

    def _end(self) -> None:
        self._open.close()
        self._open, self._waiting = None, []
        tick(self.path)

    def spoil(self, data: bytes) -> None:
        """A page in the middle is overwritten."""
        self.crash()
        with self.path.open("r+b") as file:
            file.seek(self.size // 2 // _PAGE * _PAGE)
            file.write(data[:_PAGE])
        self._damaged()

    def cut(self, size: int) -> None:
        self.crash()
        if size < self.size:
            os.truncate(self.path, size)
            self._damaged()

    def _damaged(self) -> None:
        tick(self.path)
        self._give_way()
        self.content = Content(headless=True)

    def replace_by_copy(self, directory: Path) -> None:
        self.finish()
        shutil.copy2(self.path, directory / "copy")
        (directory / "copy").replace(self.path)
        self.append(2)

    def replace_by_other(self, directory: Path, step: int) -> None:
        self.crash()
        (directory / "new").mkdir()
        self.form.writer(directory / "new").path.replace(self.path)
        shutil.rmtree(directory / "new")
        self._anew(step)
        self.append(2)

    def _gone(self) -> None:
        super()._gone()
        for suffix in ("-wal", "-shm", "-journal"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)

    def move(self, target: Path) -> None:
        self.crash()
        super().move(target)

    def delete(self) -> None:
        self.crash()
        super().delete()
