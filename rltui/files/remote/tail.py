"""Follows one growing remote file by reading ranges of what was appended.

Each range repeats the last few bytes before it: if they differ, the file was replaced. The
beginning of the file is compared now and then, too, and whenever the file has not grown.
"""

from __future__ import annotations

import math
import stat
from pathlib import Path

from rltui.core.level import Level
from rltui.files.remote.errors import RangeError, StoreError
from rltui.files.remote.status import RemoteStatus, Stamp
from rltui.files.remote.store import RemoteStore
from rltui.files.tail import FollowedFile, Polled
from rltui.files.trouble import DELETED, Notes, is_missing, reason_of

#: Bytes that each range repeats, and of the beginning that is compared.
_MARK_BYTES = 64
_HEAD_BYTES = 1024
#: Most bytes of a range: those beyond the caller's budget are kept for the next poll.
_RANGE_BYTES = 8 << 20
#: Ranges from one comparison of the beginning to the next.
_HEAD_EVERY = 100
_NOTHING = Polled()


class RemoteTail(FollowedFile):
    """Follows one file of a server or bucket."""

    def __init__(self, path: Path, *, store: RemoteStore, **how: bool) -> None:
        super().__init__(path, **how)
        self._store = store
        self._reading: Stamp | None = None
        """Stamp at the last read."""
        self._retry = -math.inf
        """When to read again (monotonic) after a failure."""
        self._prefetched = b""
        """Bytes from ``offset`` on that have been read but not returned."""
        self._head = b""
        self._mark = b""
        self._ranges_read = 0
        self._store.follow(path, 0, None)

    def still(self) -> bool:
        """Whether the newest listing, renewed when due, shows no change since the last poll."""
        if self._stamp is None or self._prefetched:
            return False
        try:
            return self._store.status(self.path).stamp == self._stamp
        except OSError:
            return False

    def poll(self, budget_bytes: int) -> Polled:
        try:
            status = self._store.status(self.path)
            if not stat.S_ISREG(status.st_mode):
                return self._failed("is no longer a file")
            if self._prefetched and (status.stamp == self._stamp or not self._whole):
                return self._took(self._prefetched, budget_bytes, status, False, ())
            waits = status.stamp == self._stamp or self._store.monotonic() < self._retry
            return _NOTHING if waits else self._read_on(status, budget_bytes)
        except StoreError:
            return _NOTHING  # the store reports it, once for all of its files
        except OSError as error:
            self._retry = self._store.monotonic() + self._store.pace_s
            if isinstance(error, RangeError):  # the next listing shows its size
                return _NOTHING
            missing = is_missing(error)
            return self._failed(DELETED if missing else reason_of(error), gone=missing)

    def _read_on(self, status: RemoteStatus, budget_bytes: int) -> Polled:
        known = self._stamp is not None
        start = self.offset
        why = ""
        data = b""
        if self._whole and start and status.stamp != self._reading:
            why = "changed"
        elif status.st_size < start:
            why = "was truncated and written anew"
        elif start:
            begin = start - len(self._mark)
            data = self._range(begin, start, status.st_size, budget_bytes)
            if not data.startswith(self._mark) or not self._same_beginning(status):
                why = "was written anew"
            data = data[len(self._mark) :]
        if why or not start:
            data = self._range(0, 0, status.st_size, budget_bytes)
        notes = self._trouble.over()
        if why:
            if not self._quiet:  # one event, one note: this one replaces "is back"
                notes = ((Level.WATCH, f"{why}; read again from its start"),)
            self.generation += 1
            self.offset = 0
            self._head = self._mark = b""
        elif known and status.st_size > start and status.st_mtime_ns:
            self._store.changed_now(status.st_mtime)

        return self._took(data, budget_bytes, status, bool(why), notes)

    def _range(self, begin: int, start: int, size: int, budget_bytes: int) -> bytes:
        """Read from ``begin``; bytes from ``start`` on are new."""
        end = min(size, start + max(budget_bytes, _RANGE_BYTES))
        return self._store.read(self.path, begin, end)

    def _same_beginning(self, status: RemoteStatus) -> bool:
        """Whether the file begins as before; compared rarely where it only seems to have grown."""
        self._ranges_read += 1
        grew = status.st_size > self.offset
        if (grew and self._ranges_read % _HEAD_EVERY) or self.offset <= _MARK_BYTES:
            return True
        return self._store.read(self.path, 0, len(self._head)) == self._head

    def _took(
        self, data: bytes, budget_bytes: int, status: RemoteStatus, restarted: bool, notes: Notes
    ) -> Polled:
        """Return the first ``budget_bytes`` of ``data``, which begins at the offset; keep the
        rest."""
        piece = data[:budget_bytes]
        self._prefetched = data[budget_bytes:]
        if len(self._head) < _HEAD_BYTES:
            self._head += piece[: _HEAD_BYTES - len(self._head)]
        self._mark = (self._mark + piece[-_MARK_BYTES:])[-_MARK_BYTES:]
        self.offset += len(piece)
        self.size = max(status.st_size, self.offset)
        if status.st_mtime_ns:
            self.modified = self._store.local_time(status.st_mtime)
        more = self.offset < status.st_size
        self._reading = status.stamp
        self._stamp = stamp = status.stamp if self._prefetched or not more else None
        self._retry = -math.inf if piece else self._store.monotonic() + self._store.pace_s
        begin = 0 if self._whole else self.offset - len(self._mark)
        self._store.follow(self.path, begin, stamp)

        return Polled(piece, more and bool(piece), restarted, notes, True)
