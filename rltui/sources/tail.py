"""Follows one growing file: the only place where logs are opened for reading on (floor 2).

A file is opened, read and closed at each poll, so that no number of runs exhausts file
handles, and a file on NFS is revalidated at every look. Trouble is told once and never raised.
"""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from rltui.core.level import Level

#: Bytes at the beginning of the file and before the offset by which it is recognised again.
_HEAD_BYTES = 1024
_MARK_BYTES = 64
#: So many looks at a file that is shorter than what was read until that is believed.
_PATIENCE = 8
_DELETED = "was deleted or moved; what was read of it is kept"


@dataclass(frozen=True, slots=True)
class Polled:
    """What one poll brought."""

    data: bytes = b""
    """Bytes that follow what was handed over before (from the start, if ``restarted``)."""
    more: bool = False
    """Whether the file holds further bytes that the budget did not allow."""
    restarted: bool = False
    """Whether the content began anew: truncated and rewritten, or another file."""
    notes: tuple[tuple[Level, str], ...] = ()
    changed: bool = False
    """Whether anything is new, if only a note, size or time."""


_NOTHING = Polled()


class Tail:
    """Owned by the reader; not thread-safe. ``offset`` counts bytes handed over."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.offset = 0
        self.size = 0
        self.modified = 0.0
        self.generation = 0
        """How often the content began anew."""
        self.gone = False
        self._identity: tuple[int, int] | None = None
        self._stamp: tuple[int, int, int, int] | None = None
        self._head = b""
        self._mark = b""
        self._trouble = ""
        self._short_polls = 0
        self._short_size = -1

    def poll(self, budget_bytes: int) -> Polled:
        """Read at most ``budget_bytes`` of what was appended. Never raises OSError."""
        try:
            status = os.stat(self.path)  # noqa: PTH116 - a Path costs twice as much here
            stamp = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
            if stamp == self._stamp and self.offset >= self.size and not self._short_polls:
                return _NOTHING
            if stat.S_ISREG(status.st_mode):
                return self._read(budget_bytes)
            message = "is no longer a regular file"
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR):
                return self._vanish()
            message = f"cannot be read: {error.strerror or error}"
        return self._fail(message)

    def _read(self, budget_bytes: int) -> Polled:
        descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            status = os.fstat(descriptor)
            begun_anew = self._began_anew(descriptor, status)
            if begun_anew is None:
                return _NOTHING
            notes = self._recover()
            if begun_anew:
                # one event, one note: that it is back goes without saying
                notes = ((Level.WATCH, f"{begun_anew}; read again from its start"),)
                self._forget()
            wanted = min(budget_bytes, max(0, status.st_size - self.offset))
            data = os.pread(descriptor, wanted, self.offset)
            if not self.offset or len(self._head) < _HEAD_BYTES:
                self._head = os.pread(descriptor, _HEAD_BYTES, 0)
        finally:
            os.close(descriptor)
        self.offset += len(data)
        self._mark = (self._mark + data[-_MARK_BYTES:])[-_MARK_BYTES:]
        self.size = max(status.st_size, self.offset)
        self.modified = status.st_mtime
        self._identity = (status.st_dev, status.st_ino)
        self._stamp = (*self._identity, status.st_size, status.st_mtime_ns)
        more = bool(data) and self.offset < self.size
        return Polled(data, more, bool(begun_anew), notes, True)

    def _began_anew(self, descriptor: int, status: os.stat_result) -> str | None:
        """A message when the content began anew, ``""`` when not, None to wait and see."""
        if not self.offset:
            return ""
        replaced = self._identity != (status.st_dev, status.st_ino)
        known = os.pread(descriptor, len(self._head), 0)
        if status.st_size >= self.offset:
            mark = os.pread(descriptor, len(self._mark), self.offset - len(self._mark))
            if known == self._head and mark == self._mark:
                self._short_polls = 0
                return ""
            return "was replaced by another file" if replaced else "was written anew"
        # Shorter than what was read. An NFS client may show an old size for a while:
        # believe it when the beginning differs, or when it grows again below the offset.
        size, before = status.st_size, self._short_size
        self._short_size, self._short_polls = size, self._short_polls + 1
        self._stamp = None
        if size and known[: len(self._head)] != self._head[: len(known)]:
            return "was replaced by another file" if replaced else "was truncated and written anew"
        if size and (0 <= before < size or self._short_polls >= _PATIENCE):
            return "was truncated and written anew"
        return None

    def _forget(self) -> None:
        """Begin at the start of the file again."""
        self.generation += 1
        self.offset = 0
        self._head = self._mark = b""
        self._short_polls, self._short_size = 0, -1

    def _recover(self) -> tuple[tuple[Level, str], ...]:
        was = "is back" if self.gone else "can be read again" if self._trouble else ""
        self.gone, self._trouble = False, ""
        return ((Level.OK, was),) if was else ()

    def _fail(self, message: str) -> Polled:
        """Tell trouble once; what was read is kept and the next poll tries again."""
        self._stamp = None
        if message == self._trouble:
            return _NOTHING
        self._trouble = message
        return Polled(notes=((Level.WATCH, message),), changed=True)

    def _vanish(self) -> Polled:
        self._stamp = None
        if self.gone:
            return _NOTHING
        self.gone = True
        return Polled(notes=((Level.WATCH, _DELETED),), changed=True)
