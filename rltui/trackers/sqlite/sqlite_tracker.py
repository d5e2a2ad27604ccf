"""Trackers that keep many runs in one SQLite file.

Most directories hold no store, and the modules that read one take as long to import as a small
log takes to read: they are imported when a file of a fitting name is met.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from rltui.core.clock import Clock, SystemClock
from rltui.core.text import clean
from rltui.trackers.base import Follower, TrackedRun

if TYPE_CHECKING:
    import sqlite3

    from rltui.trackers.sqlite.change_log import StoreChangeLog
    from rltui.trackers.sqlite.schema import Dialect

    _Logs = WeakValueDictionary[tuple[Path, type[Dialect]], StoreChangeLog]

#: How the name of a file ends that may be a database; lower case.
_SUFFIXES = (".db", ".sqlite", ".sqlite3", ".db3")

#: Answers about files that are remembered.
_MOST_KNOWN = 10_000


class RowStore:
    """A tracker of one dialect; see :class:`rltui.trackers.base.Tracker`."""

    precision_rank = 3
    local_only = True

    def __init__(
        self,
        name: str,
        load: Callable[[], Dialect],
        clock: Clock | None = None,
        *,
        files: str = "",
        written_by: str = "",
    ) -> None:
        """``load`` imports and makes the dialect."""
        self.name = name
        self.files = files
        self.written_by = written_by
        self._load = load
        self._clock = clock or SystemClock()
        self._logs: _Logs = WeakValueDictionary()
        self._known: dict[Path, tuple[tuple[int, ...], bool]] = {}

    @cached_property
    def _dialect(self) -> Dialect:
        return self._load()

    def claims_name(self, name: str) -> bool:
        return name.lower().endswith(_SUFFIXES)

    def claims_file(self, path: Path) -> bool:
        """Whether the file is a database with the tables of this tracker.

        A file that is not is examined again only when it has changed. Raises OSError when it
        cannot be read.
        """
        status = path.stat()
        stamp = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
        known = self._known.get(path)
        if known is not None and (known[1], known[0][:2]) == (True, stamp[:2]):
            return True
        if known is not None and known[0] == stamp:
            return known[1]
        claimed = self._claims(path)
        if len(self._known) >= _MOST_KNOWN:
            self._known = {}
        self._known[path] = stamp, claimed
        return claimed

    def _claims(self, path: Path) -> bool:
        from rltui.trackers.sqlite.database import is_database, look

        return is_database(path) and look(path, self._dialect.table) is not None

    def claims_directory(self, path: Path, names: Collection[str]) -> bool:  # noqa: ARG002
        return False

    def runs(self, path: Path) -> Sequence[TrackedRun]:
        """All runs of the store that have values, oldest first, no two with the same name."""
        from rltui.trackers.sqlite.database import look

        found = look(path, lambda c: self._runs(c, clean(path.stem)))
        size = path.stat().st_size // max(1, len(found))
        return _distinct([replace(run, size=size) for run in found])

    def parts(self, path: Path) -> frozenset[str]:
        """The ids of the runs that have values."""
        from rltui.trackers.sqlite.database import look
        from rltui.trackers.sqlite.schema import part_of

        return frozenset(map(part_of, look(path, self._ids)))

    def _ids(self, connection: sqlite3.Connection) -> Collection[bytes]:
        table = self._dialect.table(connection)
        return () if table is None else self._dialect.ids(connection, table)

    def _runs(self, connection: sqlite3.Connection, project: str) -> list[TrackedRun]:
        table = self._dialect.table(connection)
        return [] if table is None else self._dialect.runs(connection, table, project)

    def follow(self, path: Path, part: str) -> Follower:
        """Follow one run; the followers of one store share what they find out about it."""
        from rltui.trackers.sqlite.schema import run_of

        run = run_of(part)
        system = self._dialect.system
        rows = partial(self._follower, path, self._dialect, run)
        if system is None:
            return rows()
        from rltui.trackers.sqlite.system_rows import SystemRowFollower

        return SystemRowFollower(rows, partial(self._follower, path, system, run))

    def _follower(self, path: Path, dialect: Dialect, run: bytes) -> Follower:
        from rltui.trackers.sqlite.change_log import StoreChangeLog
        from rltui.trackers.sqlite.row_follower import RowFollower

        log = self._logs.get((path, type(dialect)))
        if log is None:
            log = self._logs[path, type(dialect)] = StoreChangeLog(path, dialect, self._clock)
        return RowFollower(log, run)


def _distinct(runs: Sequence[TrackedRun]) -> tuple[TrackedRun, ...]:
    """Runs of which no two have the same name: the oldest keeps it, others get their id."""
    seen: set[str] = set()
    out = []
    for run in runs:
        name = run.name
        while name in seen:
            name = f"{name}-{run.part[:8]}"
        seen.add(name)
        out.append(replace(run, name=name))
    return tuple(out)
