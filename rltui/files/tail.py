"""Follows one growing file: the only place where logs are opened for reading on.

A file is opened, read and closed at each poll, so that no number of runs exhausts file
handles, and a file on NFS is revalidated at every look. Trouble is told once and never raised.

What a file is taken for, at each look at which its device, inode, size or time has changed:

- longer, and the same where it is compared (see :mod:`rltui.files.fingerprint`): it has grown,
  whoever wrote it and whatever its inode is (rsync writes a new file and renames it);
- as long or longer, and not the same: written anew;
- shorter: truncated, if it begins differently, grows again below the old size or stays so;
  a size alone is not believed, because that of an NFS client may lag;
- missing, or not to be read (permission, ESTALE, EIO): what was read is kept, and the next poll
  tries again.

A file whose time is that of its last change but one (the clock of a file system may tick once
in two seconds) is compared once more after that time.
"""

from __future__ import annotations

import errno
import math
import os
import stat
import zlib
from dataclasses import dataclass
from pathlib import Path

from rltui.core.clock import Clock, SystemClock
from rltui.core.level import Level
from rltui.files.fingerprint import Likeness
from rltui.files.sparse_tail import solid

#: So many looks at a file that is shorter than what was read until that is believed.
_PATIENCE = 8
#: Longest time between two ticks of the clock of a file system (FAT).
_GRANULE_S = 2.0
#: A file that was changed longer ago does not change within the same tick; generous, because
#: the clock of a file server may differ.
_LATELY_S = 600.0
#: Time for the bytes of a hole to arrive.
_HOLE_S = 5.0
#: Notes of trouble that are told one by one; further ones at 10, 100, ... times.
_TROUBLES = 6
_DELETED = "was deleted or moved; what was read of it is kept"
_ENDS_IN_ZEROS = "ends in zero bytes, which are not read until something follows them"

Stamp = tuple[int, int, int, int]
Notes = tuple[tuple[Level, str], ...]


@dataclass(frozen=True, slots=True)
class Polled:
    """What one poll brought."""

    data: bytes = b""
    """Bytes that follow what was handed over before (from the start, if ``restarted``)."""
    more: bool = False
    """Whether the file holds further bytes that the budget did not allow."""
    restarted: bool = False
    """Whether the content began anew: truncated and rewritten, or another file."""
    notes: Notes = ()
    changed: bool = False
    """Whether anything is new, if only a note, size or time."""


@dataclass(frozen=True, slots=True)
class _Hole:
    """Zeros that wait for bytes to arrive."""

    begin: int = -1
    deadline: float = math.inf
    """Until when (monotonic) they may yet arrive."""
    told: bool = False


_NOTHING = Polled()
_SYSTEM_CLOCK = SystemClock()


class Tail:
    """Owned by the reader; not thread-safe. ``offset`` counts bytes handed over.

    ``whole``: the file is one document, and begins anew whenever it changes, which is no
    trouble. ``rewritten``: that the file is written anew is no trouble.
    """

    def __init__(
        self,
        path: Path,
        *,
        whole: bool = False,
        rewritten: bool = False,
        clock: Clock | None = None,
    ) -> None:
        self.path = path
        self._name = str(path)
        self.offset = 0
        self.size = 0
        self.modified = 0.0
        self.generation = 0
        """How often the content began anew."""
        self.gone = False
        self._whole = whole
        self._quiet = whole or rewritten
        self._clock = clock or _SYSTEM_CLOCK
        self._identity: tuple[int, int] | None = None
        self._stamp: Stamp | None = None
        self._again = math.inf
        """Monotonic time from which it is read although its stamp is the same."""
        self._likeness = Likeness()
        self._checksum = 0
        """Of what was handed over of a whole document."""
        self._trouble = ""
        self._troubles = 0
        self._short_polls = 0
        self._short_size = -1
        self._hole = _Hole()
        self._read_once = False
        """Whether it was read to its end, at least once since it began anew."""

    def still(self) -> bool:
        """Whether the file is as it was when it was last looked at. One ``stat`` and nothing
        else: a thousand files are asked four times a second."""
        if self._stamp is None or self._again != math.inf:
            return False
        try:
            status = os.stat(self._name)  # noqa: PTH116 - a Path costs twice as much here
        except OSError:
            return False
        return self._stamp == (
            status.st_dev,
            status.st_ino,
            status.st_size,
            status.st_mtime_ns,
        )

    def poll(self, budget_bytes: int) -> Polled:
        """Read at most ``budget_bytes`` of what was appended. Never raises OSError."""
        try:
            status = os.stat(self.path)  # noqa: PTH116 - a Path costs twice as much here
            stamp = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
            if stamp == self._stamp and (
                self._again == math.inf or self._clock.monotonic() < self._again
            ):
                return _NOTHING
            if stat.S_ISREG(status.st_mode):
                return self._open(budget_bytes)
            message = "is no longer a regular file"
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR):
                return self._vanish()
            message = f"cannot be read: {error.strerror or error}"
        return self._fail(message)

    def _open(self, budget_bytes: int) -> Polled:
        descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            status = os.fstat(descriptor)
            if self._whole:
                return self._read_whole(descriptor, status, budget_bytes)
            return self._read_on(descriptor, status, budget_bytes)
        finally:
            os.close(descriptor)

    def _read_whole(self, descriptor: int, status: os.stat_result, budget_bytes: int) -> Polled:
        """The next piece of a document, or the first one of a document that has changed."""
        stamp = _stamp_of(status)
        same = stamp == self._stamp
        if same and self.offset >= self.size and self._checksum == _checksum(descriptor):
            self._again = math.inf
            return _NOTHING
        begun_anew = bool(self.offset) and not (same and self.offset < self.size)
        start = 0 if begun_anew else self.offset
        wanted = min(budget_bytes, max(0, status.st_size - start))
        data = os.pread(descriptor, wanted, start)
        notes = self._recover()
        if begun_anew:
            self._forget()
        self._checksum = zlib.crc32(data, self._checksum)
        ended = start + len(data) >= status.st_size
        return self._took(data, status, ended, begun_anew, notes)

    def _read_on(self, descriptor: int, status: os.stat_result, budget_bytes: int) -> Polled:
        """What follows, or the first piece of a file that was written anew."""
        begun_anew = self._began_anew(descriptor, status)
        if begun_anew is None:
            return _NOTHING
        start = 0 if begun_anew else self.offset
        wanted = min(budget_bytes, max(0, status.st_size - start))
        data = os.pread(descriptor, wanted, start)
        # nothing of this object has changed so far: any call above may fail
        notes = self._recover()
        if begun_anew:
            # one event, one note: that it is back goes without saying
            if not self._quiet:
                notes = ((Level.WATCH, f"{begun_anew}; read again from its start"),)
            self._forget()
        keep, until = len(data), math.inf
        told: Notes = ()
        ended = start + keep >= status.st_size
        if keep and ended:
            lately = self._read_once and self._changed_lately(status)
            keep, until, told = self._until_hole(data, patient=lately)
        if not keep and _stamp_of(status) == self._stamp and not (notes or told or begun_anew):
            self._again = until
            return _NOTHING
        polled = self._took(data[:keep], status, ended, bool(begun_anew), notes + told)
        if keep < len(data):
            self._again = until
        return polled

    def _until_hole(self, data: bytes, *, patient: bool) -> tuple[int, float, Notes]:
        """How many bytes at the end of the file may be taken, when to look again, and notes."""
        hole, now = self._hole, self._clock.monotonic()
        patient = patient and not (hole.begin >= self.offset and now >= hole.deadline)
        keep = solid(data, self.offset, inner=patient)
        if keep == len(data):
            return keep, math.inf, ()
        begin = self.offset + keep
        if patient:
            if begin != hole.begin:
                hole = self._hole = _Hole(begin, now + _HOLE_S)
            return keep, hole.deadline, ()
        told = hole.told and begin == hole.begin
        self._hole = _Hole(begin, now, told=True)
        return keep, math.inf, () if told else ((Level.WATCH, _ENDS_IN_ZEROS),)

    def _took(
        self, data: bytes, status: os.stat_result, ended: bool, restarted: bool, notes: Notes
    ) -> Polled:
        """Note what was read, whether that is all there is, and what the file is now."""
        if not self._whole:
            self._likeness.take(self.offset, data)
        self.offset += len(data)
        self.size = max(status.st_size, self.offset)
        self.modified = status.st_mtime
        self._identity = (status.st_dev, status.st_ino)
        self._stamp = _stamp_of(status)
        self._read_once |= ended
        self._again = math.inf if ended else -math.inf
        if ended and self._changed_lately(status):
            self._again = self._clock.monotonic() + _GRANULE_S
        return Polled(data, bool(data) and not ended, restarted, notes, True)

    def _changed_lately(self, status: os.stat_result) -> bool:
        return abs(self._clock.now() - status.st_mtime) < _LATELY_S

    def _began_anew(self, descriptor: int, status: os.stat_result) -> str | None:
        """A message when the content began anew, ``""`` when not, None to wait and see."""
        if not self.offset:
            return ""
        replaced = self._identity != (status.st_dev, status.st_ino)
        if status.st_size >= self.offset:
            thorough = replaced or self._short_polls > 0 or status.st_size == self.offset
            if self._likeness.same(descriptor, self.offset, thorough=thorough):
                self._short_polls = 0
                return ""
            return "was replaced by another file" if replaced else "was written anew"
        # Shorter than what was read. An NFS client may show an old size for a while:
        # believe it when the beginning differs, or when it grows again below the offset.
        size, before = status.st_size, self._short_size
        self._short_size, self._short_polls = size, self._short_polls + 1
        self._stamp = None
        if size and not self._likeness.same_beginning(descriptor):
            return "was replaced by another file" if replaced else "was truncated and written anew"
        if size and (0 <= before < size or self._short_polls >= _PATIENCE):
            return "was truncated and written anew"
        return None

    def _forget(self) -> None:
        """Begin at the start of the file again."""
        self.generation += 1
        self.offset = 0
        self._likeness = Likeness()
        self._checksum = 0
        self._short_polls, self._short_size = 0, -1
        self._hole = _Hole()
        self._read_once = False

    def _recover(self) -> Notes:
        was = "is back" if self.gone else "can be read again" if self._trouble else ""
        self.gone, self._trouble = False, ""
        return ((Level.OK, was),) if was and self._tells() else ()

    def _tells(self) -> bool:
        """Whether trouble that comes and goes is still worth a note."""
        return self._troubles <= _TROUBLES or str(self._troubles).strip("0") == "1"

    def _fail(self, message: str) -> Polled:
        """Tell trouble once; what was read is kept and the next poll tries again."""
        self._stamp = None
        if message == self._trouble:
            return _NOTHING
        self._trouble = message
        self._troubles += 1
        return Polled(notes=((Level.WATCH, message),), changed=True) if self._tells() else _NOTHING

    def _vanish(self) -> Polled:
        self._stamp = None
        if self.gone:
            return _NOTHING
        self.gone = True
        self._troubles += 1
        notes = ((Level.WATCH, _DELETED),) if self._tells() else ()
        return Polled(notes=notes, changed=True)


def _stamp_of(status: os.stat_result) -> Stamp:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _checksum(descriptor: int) -> int:
    """Checksum of a whole file. Raises OSError."""
    checksum = offset = 0
    while data := os.pread(descriptor, 1 << 20, offset):
        checksum, offset = zlib.crc32(data, checksum), offset + len(data)
    return checksum
