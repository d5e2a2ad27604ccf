"""Record framing of LevelDB's log format, as trackers write it.

A file header of 7 bytes (four letters, magic, version), then blocks of 32 KiB, counted from
the start of the file. A block holds chunks: CRC32 uint32, length uint16, type uint8 (all little
endian), payload; the checksum is that of zlib over type and payload, not LevelDB's masked
CRC32C. A record is one full chunk, or a first, any number of middle, and a last one. Fewer than
7 bytes at the end of a block are padding. (wandb/wandb: core/pkg/leveldb/record.go;
SwanHubX/SwanLab: core_python/store.)
"""

from __future__ import annotations

import re
from heapq import heappop, heappush
from struct import Struct
from typing import NamedTuple
from zlib import crc32

from rltui.formats.base import NoteBook

BLOCK_BYTES = 1 << 15
FILE_HEADER = Struct("<4sHB")
CHUNK_HEADER = Struct("<IHB")
#: Of a chunk; a middle one is 3.
FULL = 1
FIRST = 2
LAST = 4
#: Longer records are skipped: they are not metrics.
_MAX_RECORD = 1 << 24
#: Bytes checked at most in one broken block in search of an intact chunk.
_MAX_SEARCH = 1 << 20

_SEED = [crc32(bytes((kind,))) for kind in range(LAST + 1)]
_KIND = re.compile(rb"[\x01-\x04]")
_HEADER = FILE_HEADER.size
_CHUNK = CHUNK_HEADER.size


class Framing(NamedTuple):
    """The file header of a tracker."""

    ident: bytes
    """Its first four bytes."""
    magic: int
    version: int


def bytes_of(size: int) -> int:
    """The most bytes that a record of ``size`` takes in the file."""
    return size + (size // (BLOCK_BYTES - _CHUNK) + 3) * 2 * _CHUNK


class RecordReader:
    """Splits the bytes of one file, fed in order, into records. Owned by one decoder.

    A broken chunk is noted; reading continues at the next intact chunk of its block, or else at
    the next block. The records do not depend on how the bytes were split.
    """

    def __init__(self, framing: Framing, notes: NoteBook) -> None:
        self._framing = framing
        self._notes = notes
        self._rest = bytearray()
        self._base = 0
        """Position in the file of the first byte of the rest."""
        self._need = _HEADER
        """Bytes needed before anything more can be decoded."""
        self._begun = False
        self._lost = False
        """Whether the last chunk was broken and an intact one is being searched."""
        self._block = -1
        self._searched = 0
        """The newest broken block, and the bytes checked in it."""
        self._tried = 0
        """Position in the file up to which chunks have been searched."""
        self._ends: list[tuple[int, int]] = []
        """Heap of where what may be a chunk ends and begins, if it is not checked yet."""
        self._parts: list[bytes] | None = None
        """The chunks of the unfinished record."""
        self._size = 0
        self._start = 0
        self._gap = False
        """Whether the beginning of the record is missing and a note says so."""
        self.broken = 0
        """Number of unreadable places; reset by the owner."""
        self.foreign = False
        """Whether the file has an unknown version; then none of it is read."""

    @classmethod
    def first(cls, data: bytes, offset: int) -> bytes:
        """The record at ``offset`` of a file, of which ``data`` are the bytes from there on; empty
        when there is none."""
        reader = cls(Framing(b"", 0, 0), NoteBook())
        reader._begun = True
        reader._base = offset
        reader._need = 0
        found = reader.feed(data)
        return found[0][1] if found and found[0][0] == offset else b""

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        """The records that ``data`` completes, each with its position in the file."""
        if self.foreign:
            return []
        if self._rest:
            self._rest += data
            if len(self._rest) < self._need:
                return []
            data = bytes(self._rest)
        elif len(data) < self._need:
            self._rest += data
            return []

        found: list[tuple[int, bytes]] = []
        pos = 0
        if not self._begun:
            self._begun, pos, known = True, _HEADER, self._framing
            ident, magic, version = FILE_HEADER.unpack_from(data)
            if (ident, magic) != (known.ident, known.magic):
                self._notes.add(0, "broken file header")
            elif version != known.version:
                self.foreign, self._rest = True, bytearray()
                kind = f"written in version {version} of its format; only {known.version} is read"
                self._notes.add(0, kind)
                return []

        pos = self._chunks(data, pos, found)
        self._rest = bytearray(memoryview(data)[pos:])
        self._base += pos
        return found

    def _chunks(self, data: bytes, pos: int, found: list[tuple[int, bytes]]) -> int:
        """Decode all complete chunks from ``pos`` on; returns where the rest begins."""
        unpack = CHUNK_HEADER.unpack_from
        seed = _SEED
        base = self._base
        end = len(data)
        while True:
            left = BLOCK_BYTES - (base + pos) % BLOCK_BYTES
            if left < _CHUNK:
                if end - pos < left:
                    self._need = left
                    return pos
                pos += left
                self._lost = False
                continue

            if self._lost:
                pos, self._lost = self._search(data, pos, pos + left)
                if self._lost:
                    return pos
                continue
            if end - pos < _CHUNK:
                self._need = _CHUNK
                return pos

            crc, length, kind = unpack(data, pos)
            stop = pos + _CHUNK + length
            if 0 < kind <= LAST and stop <= pos + left:
                if stop > end:
                    self._need = stop - pos
                    return pos
                payload = data[pos + _CHUNK : stop]
                if crc32(payload, seed[kind]) == crc:
                    if kind == FULL and self._parts is None:
                        found.append((base + pos, payload))
                    else:
                        self._fragment(kind, base + pos, payload, found)
                    pos = stop
                    continue

            filled = any(data[pos : pos + _CHUNK])
            kind_of_damage = "broken chunk" if filled else "zeros where a record should be"
            self._complain(base + pos, kind_of_damage)
            self._lost = True
            self._parts = None
            self._gap = True
            if (base + pos) // BLOCK_BYTES != self._block:
                self._block = (base + pos) // BLOCK_BYTES
                self._searched = 0
            pos += 1
            self._tried = base + pos
            self._ends = []

    def _fragment(
        self, kind: int, offset: int, payload: bytes, found: list[tuple[int, bytes]]
    ) -> None:
        """Add a chunk to the unfinished record, or start a new one."""
        if kind in (FULL, FIRST):
            if self._parts is not None:
                self._complain(self._start, "record without its end")
            self._parts = []
            self._size = 0
            self._start = offset
            self._gap = False
        elif self._parts is None:
            if not self._gap:
                self._complain(offset, "record without its beginning")
                self._gap = True
            return

        assert self._parts is not None
        self._parts.append(payload)
        self._size += len(payload)
        if self._size > _MAX_RECORD:
            self._complain(self._start, "record is too long")
            self._parts = None
            self._gap = True
        elif kind in (FULL, LAST):
            found.append((self._start, b"".join(self._parts)))
            self._parts = None

    def _complain(self, offset: int, kind: str) -> None:
        self.broken += 1
        self._notes.add(offset, kind)

    def _search(self, data: bytes, pos: int, block_end: int) -> tuple[int, bool]:
        """(position of the next intact chunk or block, whether still lost).

        What is only a part of a record may look like the header of a long chunk: complete chunks
        behind it do not wait for its end. Chunks are checked in the order of their ends, so that
        nothing depends on how the bytes were split.
        """
        base = self._base
        end = len(data)
        for match in _KIND.finditer(data, self._tried - base + _CHUNK - 1, min(block_end, end)):
            start = match.start() - _CHUNK + 1
            found = self._check(data, match.start())
            if found >= 0:
                return found, False
            if self._searched > _MAX_SEARCH:
                break
            stop = start + _CHUNK + CHUNK_HEADER.unpack_from(data, start)[1]
            if stop <= block_end:
                heappush(self._ends, (base + stop, base + start))
        else:
            self._tried = max(self._tried, base + end - _CHUNK + 1)
            found = self._check(data, end)
            if found >= 0:
                return found, False

        if end >= block_end:
            return block_end, False

        if self._searched > _MAX_SEARCH:
            self._need = block_end - pos
            return pos, True
        rest = min((start for _, start in self._ends), default=self._tried) - base
        self._need = max(_CHUNK, end - rest + 1)
        return rest, True

    def _check(self, data: bytes, end: int) -> int:
        """Check the possible chunks that end up to ``end``; position of the first intact one."""
        ends = self._ends
        base = self._base
        while ends and ends[0][0] <= base + end and self._searched <= _MAX_SEARCH:
            stop, start = (place - base for place in heappop(ends))
            crc, length, kind = CHUNK_HEADER.unpack_from(data, start)
            self._searched += length
            if crc32(data[start + _CHUNK : stop], _SEED[kind]) == crc:
                return start
        return -1
