"""The stores of trackers that a search found, and which runs they hold.

A database that a training writes changes all the time: its run ids are read again only when it
was written, and everything about its runs only when there are new ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rltui.core.address import is_remote
from rltui.files.disk import status as status_of
from rltui.sources.discovery.log_head import Recent
from rltui.trackers import TrackedRun, Tracker


@dataclass(slots=True)
class _Store:
    """A store of many runs, as it was when it could be read last."""

    tracker: Tracker
    stamp: tuple[int, ...] = ()
    """Empty until it was read, and when it must be read again."""
    settled: bool = False
    """Whether it was read once more after the stamp was seen: a commit shows in the file before
    it can be read."""
    parts: frozenset[str] = frozenset()
    runs: tuple[TrackedRun, ...] = ()


class FoundStores:
    """Remembers stores from one search to the next. Not thread-safe."""

    def __init__(self) -> None:
        self._known: Recent[Path, _Store] = Recent()

    def turn(self) -> None:
        """A search begins: forget the stores that the last one did not find."""
        self._known.turn()

    @property
    def found(self) -> bool:
        """Whether the last search found any."""
        return bool(self._known.items())

    def changed(self) -> bool:
        """Whether a store that the last search found has a new run, or can be read at last.
        Costs two ``stat`` calls for a store that was not written."""
        return any(self._has_news(path, store) for path, store in self._known.items())

    def claims(self, tracker: Tracker, path: Path) -> bool:
        """Whether a file is a store of the tracker. Raises OSError when it cannot be read."""
        try:
            return tracker.claims_file(path)
        except OSError:
            self._known[path] = _Store(tracker)
            raise

    def runs_of(self, path: Path, tracker: Tracker) -> tuple[TrackedRun, ...]:
        """The runs of a store, read again when there are new ones. Raises OSError."""
        stamp, known = _stamp(path), self._known.get(path)
        if known is None or not known.stamp or known.tracker is not tracker:
            known = _Store(tracker)
            self._known[path] = known
        if known.stamp != stamp:
            parts = tracker.parts(path)
            if parts != known.parts or not known.stamp:
                known.runs = tuple(tracker.runs(path))
            known.stamp, known.parts, known.settled = stamp, parts, False
        return known.runs

    def _has_news(self, path: Path, store: _Store) -> bool:
        """Whether to walk again because of a store that is a file."""
        stamp = _stamp(path)
        same = stamp == store.stamp
        if (same and store.settled) or not store.tracker.claims_name(path.name):
            return False
        try:
            if not store.stamp:  # it could not be read: whose it is may not be known
                if store.tracker.claims_file(path):
                    store.tracker.runs(path)  # raises for damage that shows only now
                return bool(stamp)
            parts = store.tracker.parts(path)
        except OSError:
            return False

        changed = not parts <= store.parts
        store.stamp, store.settled = () if changed else stamp, same
        return changed


def _stamp(path: Path) -> tuple[int, ...]:
    """Changes when a store does; databases in WAL mode write into a file beside."""
    found = []
    beside = () if is_remote(path) else (path.with_name(path.name + "-wal"),)
    for file in (path, *beside):
        try:
            status = status_of(file)
        except OSError:
            continue
        found += [status.st_ino, status.st_size, status.st_mtime_ns]
    return tuple(found)
