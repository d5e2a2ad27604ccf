"""Trackers that keep many runs in one SQLite file.

Most directories hold no store, and the modules that read one take as long to import as a small
log takes to read: they are imported when a file of a fitting name is met.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from rltui.core.clock import Clock, SystemClock
from rltui.trackers.base import Follower, TrackedRun, Tracker

if TYPE_CHECKING:
    from rltui.trackers.sqlite.row_follower import RunTables

#: How the name of a file ends that may be a database; lower case.
_SUFFIXES = (".db", ".sqlite", ".sqlite3", ".db3")

#: Files that are remembered.
_MOST_KNOWN = 10_000


class RowStore(Tracker):
    """A tracker that keeps many runs in one SQLite file."""

    local_only = True

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._known: dict[Path, tuple[tuple[int, ...], bool]] = {}

    @cached_property
    def _tables(self) -> RunTables:
        """Tables by which the stores are read."""
        from rltui.trackers.sqlite import mlflow, trackio  # most directories have no database

        return mlflow.MlflowTables() if self.name == "mlflow" else trackio.TrackioTables()

    def claims_name(self, name: str) -> bool:
        return name.lower().endswith(_SUFFIXES)

    def claims_file(self, path: Path) -> bool:
        """Whether the file is a database with the tables of this tracker.

        A file that is not is examined again only when it has changed. Raises OSError when it
        cannot be read.
        """
        status = path.stat()
        stamp = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
        known, claimed = self._known.get(path, ((), False))
        if known == stamp or (claimed and known[:2] == stamp[:2]):
            return claimed
        claimed = self._tables.claims(path)
        if len(self._known) >= _MOST_KNOWN:
            self._known = {}
        self._known[path] = stamp, claimed
        return claimed

    def runs(self, path: Path) -> Sequence[TrackedRun]:
        return self._tables.runs(path)

    def parts(self, path: Path) -> frozenset[str]:
        return self._tables.parts(path)

    def follow(self, path: Path, part: str) -> Follower:
        return self._tables.follow(path, part, self._clock)


class MlflowStore(RowStore):
    """MLflow's database."""

    name = "mlflow"
    files = "`mlflow.db`, `mlruns.db`, `*.db`"
    written_by = "MLflow's database: each of its runs, read without locking it"


class TrackioStore(RowStore):
    """trackio's database."""

    name = "trackio"
    files = "`PROJECT.db`"
    written_by = "trackio's database: each of its runs"
