"""Recognises a file that was read before: by its beginning, the bytes before the place up to
which it was read, and a few samples between. Opens no file.

Goes unnoticed: a file that was rewritten, is at least as long as before, and agrees with what
was read in all these places. Its rows are then most likely the same.
"""

from __future__ import annotations

import os

#: Bytes at the beginning and before the end that every comparison reads.
_HEAD_BYTES = 1024
_MARK_BYTES = 64
#: Bytes of a sample; samples kept at most; least distance between two of them, in bytes.
_SAMPLE_BYTES = 32
_SAMPLES = 16
_SPACING = 4096


class Fingerprint:
    """Of the bytes of one file that were read: a few KiB, however long the file is."""

    __slots__ = ("_head", "_mark", "_samples", "_spacing", "_turn")

    def __init__(self) -> None:
        self._head = b""
        self._mark = b""
        self._samples: list[tuple[int, bytes]] = []
        self._spacing = _SPACING
        self._turn = 0

    def take(self, offset: int, data: bytes) -> None:
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
        known = _read_at(descriptor, len(self._head), 0)
        return known == self._head[: len(known)]

    def same(self, descriptor: int, end: int, *, thorough: bool = False) -> bool:
        """Whether the first ``end`` bytes, all that was added, seem unchanged.

        Compares one sample per call, in turn, or all of them if ``thorough``. Raises OSError.
        """
        if _read_at(descriptor, len(self._head), 0) != self._head:
            return False
        if _read_at(descriptor, len(self._mark), end - len(self._mark)) != self._mark:
            return False
        if not self._samples:
            return True
        self._turn = (self._turn + 1) % len(self._samples)
        chosen = self._samples if thorough else self._samples[self._turn : self._turn + 1]

        return all(_read_at(descriptor, len(data), at) == data for at, data in chosen)


def _read_at(descriptor: int, length: int, offset: int) -> bytes:
    """The bytes at a place, fewer only at the end of the file: a network file system may return
    a part of what was asked for. Raises OSError."""
    data = os.pread(descriptor, length, offset)
    while len(data) < length:
        piece = os.pread(descriptor, length - len(data), offset + len(data))
        if not piece:
            break
        data += piece
    return data
