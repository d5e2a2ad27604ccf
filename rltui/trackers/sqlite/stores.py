"""The stores of one dialect: which files are stores, which runs they hold, and who follows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from weakref import WeakValueDictionary

from rltui.core.clock import Clock
from rltui.core.text import clean
from rltui.trackers.base import Follower, TrackedRun
from rltui.trackers.sqlite.database import is_database, look
from rltui.trackers.sqlite.dialect import Dialect, part_of, run_of
from rltui.trackers.sqlite.row_follower import RowFollower, StoreChanges


class Stores:
    """What :class:`rltui.trackers.sqlite.tracker.RowStore` needs of files of a fitting name."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._followed: WeakValueDictionary[tuple[Path, str], StoreChanges] = WeakValueDictionary()

    def claims(self, path: Path) -> bool:
        """Whether a file is a database with the tables of the dialect. Raises OSError."""
        return is_database(path) and look(path, self._dialect.table) is not None

    def runs(self, path: Path) -> Sequence[TrackedRun]:
        """The runs that have values, oldest first; of one name the oldest keeps it, others get
        their id. Raises OSError."""
        dialect, project = self._dialect, clean(path.stem)
        found = look(path, lambda c: dialect.runs(c, t, project) if (t := dialect.table(c)) else [])
        size = path.stat().st_size // max(1, len(found))
        seen: set[str] = set()
        out = []
        for run in found:
            name = run.name
            while name in seen:
                name = f"{name}-{run.part[:8]}"
            seen.add(name)
            out.append(replace(run, name=name, size=size))
        return tuple(out)

    def parts(self, path: Path) -> frozenset[str]:
        """The ids of the runs that have values. Raises OSError."""
        dialect = self._dialect
        found = look(path, lambda c: dialect.ids(c, t) if (t := dialect.table(c)) else ())
        return frozenset(map(part_of, found))

    def follow(self, path: Path, part: str, clock: Clock) -> Follower:
        """Follow one run; the followers of one store share what they find out about it."""

        def rows(dialect: Dialect) -> RowFollower:
            key = path, type(dialect).__name__
            store = self._followed.get(key)
            if store is None:
                store = self._followed[key] = StoreChanges(path, dialect, clock)
            return RowFollower(store, run_of(part))

        return self._dialect.follower(rows)
