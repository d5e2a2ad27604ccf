"""Follows one growing file: the only place that opens logs to read on.

Each poll opens, reads and closes the file, so that no number of runs exhausts file handles, and
a file on NFS is revalidated every time. Trouble is reported once and never raised.

A poll that finds another device, inode, size or time takes the file for

- grown, if it is longer and equal where it is compared (:class:`Fingerprint`), whatever
  its inode is: rsync writes a new file and renames it;
- rewritten, if it is as long or longer and differs;
- truncated, if it is shorter and begins differently, grows again below the old size or stays
  short; a smaller size alone proves nothing, because an NFS client may show an old one;
- missing or unreadable (permission, ESTALE, EIO): what was read is kept, and the next poll tries
  again.

A recent change is compared once more after two seconds, the coarsest tick of a file system's
clock: a second change within the same tick does not show in the time.
"""

from __future__ import annotations

import errno
import math
import os
import re
import stat
import zlib
from abc import ABC, abstractmethod
from pathlib import Path
from typing import NamedTuple

from rltui.core.clock import Clock, SystemClock
from rltui.core.level import Level
from rltui.files.disk import file_id, read_at
from rltui.files.trouble import DELETED, Notes, Trouble, is_missing, reason_of

#: Bytes at the beginning and before the end that every comparison reads.
_HEAD_BYTES = 1024
_MARK_BYTES = 64
#: Bytes of a sample; samples kept at most; least distance between two of them, in bytes.
_SAMPLE_BYTES = 32
_SAMPLES = 16
_SPACING = 4096
#: Of ``st_blocks``, whatever the file system's own are.
_BLOCK_BYTES = 512
#: Polls that must find the file shorter than what was read until it counts as truncated.
_PATIENCE = 8
#: Longest time between two ticks of the clock of a file system (FAT).
_GRANULE_S = 2.0
#: A file that changed longer ago cannot change again within the same tick; generous, because the
#: clock of a file server may differ.
_RECENT_S = 600.0
#: Seconds for the bytes of a gap to arrive.
_GAP_S = 5.0
_ENDS_IN_ZEROS = "ends in zero bytes, which are not read until something follows them"

_SYSTEM_CLOCK = SystemClock()
#: Bytes of a file, and whether they are its last.
Piece = tuple[bytes, bool]
_PAGE_BYTES = 4096
#: This many zeros are no part of a record's length field or of a small number.
_LEAST_BYTES = 16
#: Holes of a document that are looked at.
_MOST_HOLES = 1000
_LEAST = bytes(_LEAST_BYTES)
#: Shortest run of zeros before a page boundary that counts as a gap.
_LEAST_INNER = bytes(64)
_NONZERO = re.compile(rb"[^\0]")


class Polled(NamedTuple):
    """Result of one poll."""

    data: bytes = b""
    """Bytes that follow those of the polls before (from the start, if ``restarted``)."""
    more: bool = False
    """Whether the file holds further bytes, beyond the budget."""
    restarted: bool = False
    """Whether the content started over: truncated and rewritten, or another file."""
    notes: Notes = ()
    changed: bool = False
    """Whether anything is new, if only a note, size or time."""


_NOTHING = Polled()


def second_look(clock: Clock, modified: float) -> float:
    """When (monotonic seconds) to look once more at something that changed at ``modified`` and was
    read just now; infinity when it cannot have changed again within the same tick."""
    recent = abs(clock.now() - modified) < _RECENT_S
    return clock.monotonic() + _GRANULE_S if recent else math.inf


class FollowedFile(ABC):
    """A growing file, here or elsewhere, and how far it was read. Not thread-safe.

    ``whole``: the file is one document that starts over whenever it changes; neither that nor
    rewriting a ``rewritten`` file is trouble. ``summed``: count the ``checksum`` of what is read,
    on this machine.
    """

    def __init__(
        self, path: Path, *, whole: bool = False, rewritten: bool = False, summed: bool = False
    ) -> None:
        self.path = path
        self.offset = 0
        """Bytes that polls returned."""
        self.size = 0
        """Bytes of the file at the last poll."""
        self.modified = 0.0
        """When it changed, in seconds since the epoch."""
        self.generation = 0
        """How often the content started over."""
        self.summed = summed
        self.checksum = 0
        """CRC-32 of what was read, of a whole document or where it is ``summed``."""
        self._whole = whole
        self._quiet = whole or rewritten
        self._trouble = Trouble()
        self._stamp: object = None
        """Changes with the file; that of the last poll, None to read it whatever it is."""

    @property
    def gone(self) -> bool:
        """Whether the file was missing at the last poll."""
        return self._trouble.gone

    @property
    def troubled(self) -> bool:
        """Whether the last poll failed."""
        return bool(self._trouble.message)

    @abstractmethod
    def still(self) -> bool:
        """Whether the file is unchanged since the last poll, as far as that costs next to
        nothing."""

    @abstractmethod
    def poll(self, budget_bytes: int) -> Polled:
        """Read at most ``budget_bytes`` of what was appended. Never raises OSError."""

    def _failed(self, message: str, *, gone: bool = False) -> Polled:
        """Report trouble; what was read is kept and the next poll tries again."""
        self._stamp = None
        vanished = gone and not self.gone
        notes = self._trouble.failed(message, gone=gone)
        return Polled(notes=notes, changed=True) if notes or vanished else _NOTHING


class Tail(FollowedFile):
    """Follows one file of this machine."""

    def __init__(self, path: Path, *, clock: Clock | None = None, **how: bool) -> None:
        super().__init__(path, **how)
        self._name = str(path)
        self._clock = clock or _SYSTEM_CLOCK
        self._identity: tuple[int, int] | None = None
        self._again = math.inf
        """Monotonic time from which the file is read although its stamp is the same."""
        self._fingerprint = Fingerprint()
        self._short_polls = 0
        self._short_size = -1
        self._gap_at = -1
        self._gap_deadline = math.inf
        self._gap_reported = False
        """Where zeros begin whose bytes may not have arrived yet, and until when (monotonic) they
        may arrive."""
        self._read_once = False
        """Whether it was read to its end since it started over."""

    def still(self) -> bool:
        """Whether the file is unchanged since the last poll. Costs one ``stat``: it is called for
        a thousand files four times a second."""
        if self._stamp is None or self._again != math.inf:
            return False

        try:
            status = os.stat(self._name)  # noqa: PTH116 - a Path costs twice as much here
        except OSError:
            return False
        return self._stamp == _stamp_of(status)

    def poll(self, budget_bytes: int) -> Polled:
        try:
            status = os.stat(self.path)  # noqa: PTH116 - a Path costs twice as much here
            stamp = _stamp_of(status)
            if stamp == self._stamp and (
                self._again == math.inf or self._clock.monotonic() < self._again
            ):
                return _NOTHING
            if not stat.S_ISREG(status.st_mode):
                return self._failed("is no longer a regular file")
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            try:
                read = self._read_whole if self._whole else self._read_on
                return read(descriptor, os.fstat(descriptor), budget_bytes)
            finally:
                os.close(descriptor)
        except OSError as error:
            missing = is_missing(error)
            return self._failed(DELETED if missing else reason_of(error), gone=missing)

    def _read_whole(self, descriptor: int, status: os.stat_result, budget_bytes: int) -> Polled:
        """The next piece of a document, or the first one when the document has changed."""
        same = _stamp_of(status) == self._stamp
        size = end_of_data(descriptor, status.st_size, status.st_blocks * _BLOCK_BYTES)
        if same and self.offset >= size and self.checksum == _checksum(descriptor, size):
            self._again = math.inf
            return _NOTHING

        started_over = bool(self.offset) and not (same and self.offset < size)
        start = 0 if started_over else self.offset
        data = os.pread(descriptor, min(budget_bytes, max(0, size - start)), start)
        notes = self._trouble.over()
        if started_over:
            self._start_over()
        return self._took(data, status, start + len(data) >= size, started_over, notes)

    def _read_on(self, descriptor: int, status: os.stat_result, budget_bytes: int) -> Polled:
        """Read what was appended, or the first piece of a rewritten file."""
        started_over = self._why_started_over(descriptor, status)
        if started_over is None:
            return _NOTHING

        start = 0 if started_over else self.offset
        stored = status.st_blocks * _BLOCK_BYTES
        data, ended = read_piece(descriptor, start, budget_bytes, status.st_size, stored)
        # any call above may fail: nothing of this object has changed so far
        notes = self._trouble.over()
        if started_over:
            if not self._quiet:  # one event, one note: this one replaces "is back"
                notes = ((Level.WATCH, f"{started_over}; read again from its start"),)
            self._start_over()

        keep = len(data)
        until = math.inf
        if keep and ended:
            recent = self._read_once and second_look(self._clock, status.st_mtime) < math.inf
            keep, until, gap = self._before_gap(data, patient=recent)
            notes += gap

        if not keep and _stamp_of(status) == self._stamp and not (notes or started_over):
            self._again = until
            return _NOTHING

        polled = self._took(data[:keep], status, ended, bool(started_over), notes)
        if keep < len(data):
            self._again = until
        return polled

    def _before_gap(self, data: bytes, *, patient: bool) -> tuple[int, float, Notes]:
        """How many bytes at the end of the file to take, when to poll again, and notes."""
        now = self._clock.monotonic()
        patient = patient and not (self._gap_at >= self.offset and now >= self._gap_deadline)
        keep = dense_length(data, self.offset, inner=patient)
        if keep == len(data):
            return keep, math.inf, ()

        begin = self.offset + keep
        if begin != self._gap_at:
            self._gap_at = begin
            self._gap_deadline = now + _GAP_S
            self._gap_reported = False
        if patient:
            return keep, self._gap_deadline, ()

        reported = self._gap_reported
        self._gap_reported = True
        self._gap_deadline = now
        return keep, math.inf, () if reported else ((Level.WATCH, _ENDS_IN_ZEROS),)

    def _took(
        self, data: bytes, status: os.stat_result, ended: bool, restarted: bool, notes: Notes
    ) -> Polled:
        """Remember what was read and the state of the file; ``ended``: that was all of it."""
        if not self._whole:
            self._fingerprint.add(self.offset, data)
        if self._whole or self.summed:
            self.checksum = zlib.crc32(data, self.checksum)

        self.offset += len(data)
        self.size = max(status.st_size, self.offset)
        self.modified = status.st_mtime
        self._identity = file_id(status)
        self._stamp = _stamp_of(status)
        self._read_once |= ended
        self._again = second_look(self._clock, status.st_mtime) if ended else -math.inf

        return Polled(data, bool(data) and not ended, restarted, notes, True)

    def _why_started_over(self, descriptor: int, status: os.stat_result) -> str | None:
        """Why the content counts as new; ``""`` when it does not, None to wait and see."""
        if not self.offset:
            return ""

        replaced = self._identity != file_id(status)
        if status.st_size >= self.offset:
            thorough = replaced or self._short_polls > 0 or status.st_size == self.offset
            if self._fingerprint.same(descriptor, self.offset, thorough=thorough):
                self._short_polls = 0
                return ""
            return "was replaced by another file" if replaced else "was written anew"

        # An NFS client may show an old size for a while: it is believed when the beginning
        # differs, or when the file grows again below the offset.
        size = status.st_size
        before = self._short_size
        self._short_size, self._short_polls = size, self._short_polls + 1
        self._stamp = None
        if size and not self._fingerprint.same_beginning(descriptor):
            return "was replaced by another file" if replaced else "was truncated and written anew"
        if size and (0 <= before < size or self._short_polls >= _PATIENCE):
            return "was truncated and written anew"

        return None

    def _start_over(self) -> None:
        """Begin at the start of the file again."""
        self.generation += 1
        self.offset = 0
        self._fingerprint = Fingerprint()
        self.checksum = 0
        self._short_polls = 0
        self._short_size = -1
        self._gap_at = -1
        self._read_once = False


def _stamp_of(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _checksum(descriptor: int, size: int) -> int:
    """Checksum of the first ``size`` bytes of a file. Raises OSError."""
    checksum = offset = 0
    while data := os.pread(descriptor, min(1 << 20, size - offset), offset):
        checksum = zlib.crc32(data, checksum)
        offset += len(data)
    return checksum


class Fingerprint:
    """Recognises a file that was read before, by a few KiB, however long the file is: by its
    beginning, the bytes before the place up to which it was read, and a few samples between.

    Goes unnoticed: a file that was rewritten, is at least as long as before, and agrees with what
    was read in all these places. Its rows are then most likely the same.
    """

    __slots__ = ("_head", "_mark", "_samples", "_spacing", "_turn")

    def __init__(self) -> None:
        self._head = b""
        self._mark = b""
        self._samples: list[tuple[int, bytes]] = []
        self._spacing = _SPACING
        self._turn = 0

    def add(self, offset: int, data: bytes) -> None:
        """Add ``data``, which begins at ``offset``, where the bytes added before end."""
        if len(self._head) < _HEAD_BYTES:
            self._head += data[: _HEAD_BYTES - len(self._head)]

        self._mark = (self._mark + data[-_MARK_BYTES:])[-_MARK_BYTES:]
        last = self._samples[-1][0] if self._samples else 0
        place = max(last + self._spacing, offset)
        while place + _SAMPLE_BYTES <= offset + len(data):
            self._samples.append((place, data[place - offset : place - offset + _SAMPLE_BYTES]))
            if len(self._samples) > _SAMPLES:
                del self._samples[::2]
                self._spacing *= 2
            place = self._samples[-1][0] + self._spacing

    def same_beginning(self, descriptor: int) -> bool:
        """Whether the file begins as before, as far as it goes. Raises OSError."""
        known = read_at(descriptor, len(self._head), 0)
        return known == self._head[: len(known)]

    def same(self, descriptor: int, end: int, *, thorough: bool = False) -> bool:
        """Whether the first ``end`` bytes, all that was added, seem unchanged.

        Compares one sample per call, in turn, or all of them if ``thorough``. Raises OSError.
        """
        if read_at(descriptor, len(self._head), 0) != self._head:
            return False
        if read_at(descriptor, len(self._mark), end - len(self._mark)) != self._mark:
            return False
        if not self._samples:
            return True
        self._turn = (self._turn + 1) % len(self._samples)
        chosen = self._samples if thorough else self._samples[self._turn : self._turn + 1]

        return all(read_at(descriptor, len(data), at) == data for at, data in chosen)


# -- holes --------------------------------------------------------------------------------------


def dense_length(data: bytes, offset: int, *, inner: bool) -> int:
    """Number of bytes before the first gap in ``data``, the last bytes of a file.

    ``data`` begins at ``offset`` of the file. Gaps within it count only if ``inner``, else only
    one at its end.
    """
    at = data.find(_LEAST_INNER) if inner else -1
    while at >= 0:
        behind = _NONZERO.search(data, at)
        if behind is None:
            break
        if (offset + behind.start()) % _PAGE_BYTES == 0:
            return at
        at = data.find(_LEAST_INNER, behind.start())
    return len(data.rstrip(b"\0")) if data.endswith(_LEAST) else len(data)


def read_piece(descriptor: int, start: int, wanted: int, size: int, stored: int) -> Piece:
    """Bytes of a file of ``size`` from ``start`` on, and whether they are its last. Raises OSError.

    Where fewer bytes are ``stored``, holes are left out: of one at the end come a few zeros, and
    what lies between is not fetched through the cache, which takes longer than all the rest.
    """
    wanted = min(wanted, max(0, size - start))
    hole = _hole(descriptor, start, size) if wanted and stored < size else (size, size)
    if hole[0] > start:
        data = os.pread(descriptor, min(wanted, hole[0] - start), start)
        reached = start + len(data)
    else:
        data = b""
        reached = start

    if hole[0] < size and reached == hole[0]:
        if hole[1] >= size:
            return data + bytes(_LEAST_BYTES), True
        data += bytes(min(wanted - len(data), hole[1] - reached))
        reached = start + len(data)

    return data, reached >= size


def end_of_data(descriptor: int, size: int, stored: int) -> int:
    """Where the hole at the end of a file of ``size`` begins; its size where there is none."""
    end = 0
    for _ in range(_MOST_HOLES if stored < size else 0):
        begin, end = _hole(descriptor, end, size)
        if end >= size:
            return begin
    return size


def _hole(descriptor: int, start: int, size: int) -> tuple[int, int]:
    """Where the next hole of a file begins and ends; at its end where there is none."""
    if not hasattr(os, "SEEK_DATA"):
        return size, size
    try:
        begin = os.lseek(descriptor, start, os.SEEK_HOLE)
    except OSError:
        return size, size

    try:
        return begin, os.lseek(descriptor, begin, os.SEEK_DATA)
    except OSError as error:  # ENXIO: nothing follows
        return begin, size if error.errno == errno.ENXIO else begin
