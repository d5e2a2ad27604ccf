"""Files below a folder, listed again only where a name may have appeared."""

from __future__ import annotations

import math
import os
from pathlib import Path

from rltui.core.address import is_remote
from rltui.core.clock import Clock
from rltui.files.disk import Entry, listing, status

#: Longest time between two ticks of the clock of a file system (FAT): a folder that was listed
#: within it may have got another name since without showing it.
_GRANULE_S = 2.0
#: A folder that changed longer ago cannot change again within the same tick.
_RECENT_S = 600.0
_MOST_FILES = 100_000
_MAX_DEPTH = 32


def _entries(path: Path) -> list[Entry]:
    try:
        return sorted(listing(path), key=lambda e: e.name)
    except OSError:
        return []


class Folders:
    """The names of all files in a folder and the folders below it."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self.path = path
        self._place = "" if is_remote(path) else str(path)
        """The path as text, on this machine: it is looked at in every poll."""
        self._clock = clock
        self._times: dict[str, tuple[int, float]] = {"": (-1, math.inf)}
        """Change time (ns) of each folder when it was listed, and when (monotonic) to list it
        once more. Names of folders end in a separator."""
        self._known: set[str] = set()

    def new(self) -> list[str]:
        """Relative names of new files; costs one ``stat`` for each folder."""
        found: list[str] = []
        pending = list(self._times)
        while pending:
            folder = pending.pop(0)
            try:
                changed = self._changed(folder)
            except OSError:
                continue
            before, again = self._times[folder]
            if changed == before and (again == math.inf or self._clock.monotonic() < again):
                continue
            again = math.inf
            if changed != before and abs(self._clock.now() - changed / 1e9) < _RECENT_S:
                again = self._clock.monotonic() + _GRANULE_S
            self._times[folder] = changed, again
            pending += self._list(folder, found)
        return found

    def _changed(self, folder: str) -> int:
        """The change time of a folder, ns. Raises OSError."""
        if self._place:
            return os.stat(self._place + os.sep + folder).st_mtime_ns  # noqa: PTH116 - hot
        return status(self.path / folder).st_mtime_ns

    def _list(self, folder: str, found: list[str]) -> list[str]:
        """Note the new files of one folder; its new folders."""
        folders = []
        for entry in _entries(self.path / folder):
            name = f"{folder}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                inner = f"{name}{os.sep}"
                if inner not in self._times and inner.count(os.sep) <= _MAX_DEPTH:
                    self._times[inner] = (-1, math.inf)
                    folders.append(inner)
            elif name not in self._known and len(self._known) < _MOST_FILES:
                self._known.add(name)
                found.append(name)
        return folders
