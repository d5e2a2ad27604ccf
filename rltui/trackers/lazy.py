"""A tracker whose module is imported when a name looks like its store.

Most directories hold no store, and the modules that read one take as long to import as a small
log takes to read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from pathlib import Path

from rltui.trackers.base import Follower, TrackedRun, Tracker


class LazyTracker:
    """See :class:`rltui.trackers.base.Tracker`."""

    def __init__(
        self,
        name: str,
        load: Callable[[], Tracker],
        *,
        suffixes: tuple[str, ...] = (),
        inside: tuple[str, ...] = (),
    ) -> None:
        """``load`` is called for a file with one of the ``suffixes`` (lower case), or for a
        directory in which all the names ``inside`` are."""
        self.name = name
        self._load = load
        self._suffixes = suffixes
        self._inside = inside

    @cached_property
    def _tracker(self) -> Tracker:
        return self._load()

    @property
    def files(self) -> str:
        """Names of its files, in Markdown."""
        return self._tracker.files

    @property
    def written_by(self) -> str:
        """Who writes them."""
        return self._tracker.written_by

    @property
    def exactness(self) -> int:
        """As of :class:`rltui.formats.base.Format`."""
        return self._tracker.exactness

    def claims_name(self, name: str) -> bool:
        """By suffix, then as the tracker does."""
        return name.lower().endswith(self._suffixes) and self._tracker.claims_name(name)

    def claims_file(self, path: Path) -> bool:
        """As the tracker does."""
        return self._tracker.claims_file(path)

    def claims_directory(self, path: Path, names: Collection[str]) -> bool:
        """By the names inside, then as the tracker does."""
        if not self._inside or any(name not in names for name in self._inside):
            return False
        return self._tracker.claims_directory(path, names)

    def runs(self, path: Path) -> Sequence[TrackedRun]:
        """As the tracker returns them."""
        return self._tracker.runs(path)

    def parts(self, path: Path) -> frozenset[str]:
        """As the tracker returns them."""
        return self._tracker.parts(path)

    def follow(self, path: Path, part: str) -> Follower:
        """As the tracker does."""
        return self._tracker.follow(path, part)
