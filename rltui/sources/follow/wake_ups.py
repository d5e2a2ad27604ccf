"""What the system reported while the reader was reading or asleep."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from rltui.sources.discovery.tree import pruned


class WakeUps:
    """Collects changed files and new names, and wakes the reader's thread. Thread-safe.

    Names that cannot concern a log of ours do not wake it, however busy they are.
    """

    def __init__(self, claims_name: Callable[[str], bool]) -> None:
        """``claims_name``: whether a file of this base name may be a log."""
        self._claims_name = claims_name
        self._feeds: Mapping[Path, Collection[Path]] = {}
        self._unclaimed: Collection[Path] = ()
        self._directories: Collection[Path] = ()
        self._lock = threading.Condition()
        self._changed: set[Path] = set()
        self._names_changed = False
        self._stopped = False

    def expect(
        self,
        feeds: Mapping[Path, Collection[Path]],
        unclaimed: Collection[Path],
        directories: Collection[Path],
    ) -> None:
        """What concerns the reader: ``feeds`` (file -> keys of the feeds that read it), files
        that may become logs, and the directories that were searched."""
        with self._lock:
            self._feeds, self._unclaimed = feeds, unclaimed
            self._directories = directories

    @property
    def changed(self) -> frozenset[Path]:
        """Keys of the feeds that have something new and were not polled yet."""
        return frozenset(self._changed)

    @property
    def names_changed(self) -> bool:
        """Whether there may be new logs."""
        return self._names_changed

    @property
    def stopped(self) -> bool:
        """Whether the reader's thread is to end."""
        return self._stopped

    def notify(self, path: str, structural: bool = False, directory: bool = False) -> None:
        """A file was written, or (``structural``) a name appeared or vanished."""
        name = Path(path)
        with self._lock:
            if name in self._feeds:
                self._changed.update(self._feeds[name])
            elif self._names_changed or not (
                name in self._unclaimed or (structural and self._concerns(name, directory))
            ):
                return
            else:
                self._names_changed = True
            self._lock.notify_all()

    def lost(self) -> None:
        """Reports were lost: anything may have changed."""
        with self._lock:
            self._changed.update(*self._feeds.values())
            self._names_changed = True
            self._lock.notify_all()

    def _concerns(self, name: Path, directory: bool) -> bool:
        """Whether a name that appeared or vanished may be a log or hold some."""
        if name in self._directories:
            return True
        if name.parent not in self._directories:
            return False
        return not pruned(name.name) if directory else self._claims_name(name.name)

    def wait(self, timeout: float, *, names_changed: bool) -> set[Path] | None:
        """Keys of the changed feeds, once each; None when stopped.

        Returns early when anything is reported; ``names_changed`` is what the caller knows.
        """
        with self._lock:
            self._lock.wait_for(
                lambda: self._stopped or self._changed or self._names_changed != names_changed,
                timeout,
            )
            if self._stopped:
                return None
            changed, self._changed = self._changed, set()
            return changed

    def take_names_changed(self) -> bool:
        """Whether there may be new logs, since the last call."""
        with self._lock:
            changed, self._names_changed = self._names_changed, False
            return changed

    def start(self) -> None:
        """Let :meth:`wait` wait (again)."""
        with self._lock:
            self._stopped = False

    def stop(self) -> None:
        """End :meth:`wait`."""
        with self._lock:
            self._stopped = True
            self._lock.notify_all()
