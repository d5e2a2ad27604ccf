"""Files below a folder, listed again only where a name may have appeared."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rltui.core.clock import Clock

#: Longest time between two ticks of the clock of a file system (FAT): a folder that was listed
#: within it may have got another name since without showing it.
_GRANULE_S = 2.0
#: A folder that was changed longer ago does not change within the same tick.
_LATELY_S = 600.0
_MOST_FILES = 100_000
_MAX_DEPTH = 32


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A regular file, or a link to one."""

    name: str
    """Relative to the folder."""
    size: int
    modified: float


def walk(path: Path) -> Iterator[FoundFile]:
    """All files below a folder; what cannot be read is passed over."""
    pending = [("", 0)]
    while pending:
        name, depth = pending.pop()
        for entry in _entries(os.path.join(path, name)):  # noqa: PTH118 - many folders
            inner = f"{name}{entry.name}"
            try:
                if entry.is_dir(follow_symlinks=False):
                    if depth < _MAX_DEPTH:
                        pending.append((f"{inner}{os.sep}", depth + 1))
                elif entry.is_file():
                    status = entry.stat()
                    yield FoundFile(inner, status.st_size, status.st_mtime)
            except OSError:
                continue  # deleted since it was listed


def _entries(path: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(path) as listing:
            return sorted(listing, key=lambda e: e.name)
    except OSError:
        return []


class Folders:
    """A folder and all folders below it. Looks at names only."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self.path = str(path)
        self._clock = clock
        self._times: dict[str, tuple[int, float]] = {"": (-1, math.inf)}
        """Change time (ns) of each folder when it was listed, and when (monotonic) to list it
        once more. Names of folders end in a separator."""
        self._known: set[str] = set()

    def new(self) -> list[str]:
        """Names of files that were not there before; costs a stat call for each folder."""
        found: list[str] = []
        pending = list(self._times)
        while pending:
            folder = pending.pop(0)
            place = self.path + os.sep + folder
            try:
                changed = os.stat(place).st_mtime_ns  # noqa: PTH116 - asked at every poll
            except OSError:
                continue
            before, again = self._times[folder]
            if changed == before and (again == math.inf or self._clock.monotonic() < again):
                continue
            again = math.inf
            if changed != before and abs(self._clock.now() - changed / 1e9) < _LATELY_S:
                again = self._clock.monotonic() + _GRANULE_S
            self._times[folder] = changed, again
            pending += self._list(folder, place, found)
        return found

    def _list(self, folder: str, place: str, found: list[str]) -> list[str]:
        """Note the new files of one folder; its new folders."""
        folders = []
        for entry in _entries(place):
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
