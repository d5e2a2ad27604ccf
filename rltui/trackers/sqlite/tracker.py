"""Trackers that keep many runs in one SQLite file.

Most directories hold no store, and the modules that read one take as long to import as a small
log takes to read: they are imported when a file of a fitting name is met.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from rltui.core.clock import Clock, SystemClock
from rltui.trackers.base import Follower, TrackedRun

if TYPE_CHECKING:
    from rltui.trackers.sqlite.stores import Stores

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
        load: Callable[[], Stores],
        clock: Clock | None = None,
        *,
        files: str = "",
        written_by: str = "",
    ) -> None:
        """``load`` imports what reads the stores."""
        self.name = name
        self.files = files
        self.written_by = written_by
        self._load = load
        self._clock = clock or SystemClock()
        self._known: dict[Path, tuple[tuple[int, ...], bool]] = {}

    @cached_property
    def _stores(self) -> Stores:
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
        claimed = self._stores.claims(path)
        if len(self._known) >= _MOST_KNOWN:
            self._known = {}
        self._known[path] = stamp, claimed
        return claimed

    def claims_directory(self, path: Path, names: Collection[str]) -> bool:  # noqa: ARG002
        return False

    def runs(self, path: Path) -> Sequence[TrackedRun]:
        """All runs of the store that have values, oldest first, no two with the same name."""
        return self._stores.runs(path)

    def parts(self, path: Path) -> frozenset[str]:
        """The ids of the runs that have values."""
        return self._stores.parts(path)

    def follow(self, path: Path, part: str) -> Follower:
        """Follow one run; the followers of one store share what they find out about it."""
        return self._stores.follow(path, part, self._clock)
