"""Of which files and directories the system reports every change."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from rltui.files.filesystem import Mounts
from rltui.sources.follow.notifier import Notifier

#: Files whose answer is remembered at most.
_MOST_KNOWN = 100_000


class Reports:
    """Owned by the reader's loop. A directory counts if it is watched and lies on a file system
    that only this host writes to."""

    def __init__(self, notifier: Notifier) -> None:
        self._notifier = notifier
        self._mounts = Mounts()
        self._single: dict[Path, bool] = {}
        """Whether a path is the only one that leads to its file."""

    def refresh(self) -> None:
        """Notice file systems that were mounted since."""
        self._mounts.refresh()

    def names_in(self, directory: Path) -> bool:
        """Whether every new name in a directory is reported."""
        return self._notifier.watches(directory) and self._mounts.reports_writes(directory)

    def writes_to(self, path: Path) -> bool:
        """Whether every write to a file is reported. What is written by way of another name, in
        a directory that is not watched, is not."""
        if not self.names_in(path.parent):
            return False
        single = self._single.get(path)
        if single is None:
            if len(self._single) >= _MOST_KNOWN:
                self._single = {}
            single = self._single[path] = _is_single(path)
        return single


def _is_single(path: Path) -> bool:
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_nlink == 1
