"""Bytes of a server's files that were asked for before they are wanted, in memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

from rltui.files.remote.status import RemoteStatus

#: Beginnings of files that are kept, and bytes of each.
MOST_KEPT, KEPT_BYTES = 256, 1 << 16
#: Files whose news are asked for in one round, and bytes of each.
_ROUND, _NEWS_BYTES = 64, 1 << 18

Known = Callable[[Path], RemoteStatus | None]
Stamp = tuple[int, int, str]


class Beginnings:
    """First bytes of files, kept for a while: formats ask for them in turn, and all of a small
    file is read next. Not thread-safe."""

    def __init__(self) -> None:
        self._known: OrderedDict[Path, tuple[RemoteStatus, bytes]] = OrderedDict()

    def get(self, path: Path, status: RemoteStatus | None, begin: int, end: int) -> bytes | None:
        """The bytes from ``begin`` to ``end`` of a file that has this status; None when they are
        not known."""
        known = self._known.get(path)
        if known is None or status is None or known[0] != status:
            return None
        whole = min(end, status.st_size)
        return known[1][begin:whole] if 0 <= whole <= len(known[1]) else None

    def keep(self, path: Path, status: RemoteStatus | None, data: bytes) -> None:
        """``data`` is the beginning of a file that has this status."""
        if status is None or not data or len(data) > KEPT_BYTES:
            return
        self._known.pop(path, None)
        self._known[path] = status, data
        if len(self._known) > MOST_KEPT:
            self._known.popitem(last=False)


class News:
    """What files that are followed have got, asked for with the first of them that is read. Not
    thread-safe, but for :meth:`follow`."""

    def __init__(self) -> None:
        self._followed: dict[Path, tuple[int, Stamp | None]] = {}
        self._came: dict[Path, tuple[RemoteStatus, int, bytes]] = {}

    def follow(self, path: Path, begin: int, stamp: Stamp | None) -> None:
        """The next read of a file will be from ``begin`` to its end, when its stamp changes."""
        self._followed[path] = begin, stamp

    def follows(self, path: Path) -> bool:
        """Whether a file is followed."""
        return path in self._followed

    def round(self, path: Path, known: Known) -> list[tuple[Path, int, int]]:
        """The ranges of other files to ask for with one of ``path``."""
        found: list[tuple[Path, int, int]] = []
        if path not in self._followed:
            return found
        for other, (begin, stamp) in list(self._followed.items()):  # another thread may add some
            status = known(other) if other != path else None
            if status is None or status.stamp == stamp or other in self._came:
                continue
            if 0 < status.st_size - begin <= _NEWS_BYTES:
                found.append((other, begin, status.st_size))
                if len(found) == _ROUND:
                    break
        return found

    def came(self, path: Path, status: RemoteStatus, begin: int, data: bytes) -> None:
        """The bytes of a file from ``begin`` on."""
        self._came[path] = status, begin, data

    def take(self, path: Path, status: RemoteStatus | None, begin: int, end: int) -> bytes | None:
        """A range of a file that has this status, once; None when it did not come."""
        known = self._came.pop(path, None)
        if known is None or known[:2] != (status, begin) or end > begin + len(known[2]):
            return None
        return known[2][: end - begin]
