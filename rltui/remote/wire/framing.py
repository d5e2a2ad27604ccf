"""Frames in a compressed stream of bytes. Does no I/O.

A stream is a line ``rltui-stream VERSION``, then one zlib stream of frames. A frame is the size of
its payload (4 bytes, little endian), its kind (1 byte), the size of its record (4 bytes), and the
payload: the record, then columns or other bytes.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import NamedTuple

from rltui.remote.host_script import VERSION
from rltui.remote.wire.codec import WireError

#: Largest payload of a frame, bytes.
MOST_PAYLOAD = 32 << 20
#: Bytes before the first line: what the login scripts of the other side print.
_MOST_NOISE = 1 << 16
_PIECE = 1 << 18
_HEADER = struct.Struct("<IBI")
_HELLO = re.compile(rb"rltui-stream (\d{1,6})\n")


class VersionError(WireError):
    """The other side speaks another version of the protocol."""

    def __init__(self, version: int) -> None:
        super().__init__(f"version {version} of the protocol, not {VERSION}")


class OversizeError(WireError):
    """What was to be sent is too large; the stream is as it was before."""


class Kind(IntEnum):
    """What a frame holds; readers skip unknown kinds."""

    HELLO = 1
    REQUEST = 2
    FOUND = 3
    CHOSEN = 4
    SCANNED = 5
    READ = 6
    BATCH = 7
    PART = 8
    STATE = 9
    END = 10
    ERROR = 11
    HEARTBEAT = 12
    QUESTION = 13
    ANSWER = 14
    AGAIN = 15
    KEPT = 16


class Frame(NamedTuple):
    """One message."""

    kind: int
    record: bytes = b""
    """JSON."""
    columns: bytes = b""
    """Bytes that follow the record."""


class FrameWriter:
    """Writes frames. ``write`` takes bytes and may block, which gives back-pressure."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write = write
        self._deflate = zlib.compressobj(1)
        self._begun = False
        self._held = b""

    def put(self, frame: Frame) -> None:
        """Append a frame; it may wait for the next :meth:`flush`. Raises OSError, and
        OversizeError for a payload that is too large."""
        kind, record, columns = frame
        size = len(record) + len(columns)
        if size > MOST_PAYLOAD:
            raise OversizeError(f"too much for one frame of kind {Kind(kind).name}")
        out = self._deflate.compress(_HEADER.pack(size, kind, len(record)))
        self._held += out + self._deflate.compress(record) + self._deflate.compress(columns)
        if len(self._held) >= _PIECE:
            self._send()

    def flush(self) -> None:
        """Send what waits. Raises OSError."""
        self._held += self._deflate.flush(zlib.Z_SYNC_FLUSH)
        if self._held:
            self._send()

    def _send(self) -> None:
        data = self._held
        self._held = b""
        if not self._begun:
            self._begun = True
            data = b"rltui-stream %d\n%b" % (VERSION, data)
        self._write(data)


class FrameReader:
    """Finds the frames in the bytes of a stream."""

    def __init__(self) -> None:
        self.begun = False
        """Whether the first line has come."""
        self._before = b""
        """What came before it."""
        self._inflate = zlib.decompressobj()
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Frame]:
        """The frames that ``data`` completes. Raises WireError."""
        if not self.begun:
            self._before += data
            found = _HELLO.search(self._before)
            if found is None:
                if len(self._before) > _MOST_NOISE:
                    raise WireError("no stream begins")
                return
            if int(found[1]) != VERSION:
                raise VersionError(int(found[1]))
            data = self._before[found.end() :]
            self.begun = True

        full = True
        while data or full:
            try:
                piece = self._inflate.decompress(data, _PIECE)
            except zlib.error:
                raise WireError("the stream is damaged") from None
            self._buffer += piece
            data = self._inflate.unconsumed_tail
            full = len(piece) == _PIECE
            buffer = self._buffer
            begin = 0
            while len(buffer) - begin >= _HEADER.size:
                size, kind, record_size = _HEADER.unpack_from(buffer, begin)
                if size > MOST_PAYLOAD or record_size > size:
                    raise WireError("a frame is too large")
                middle = begin + _HEADER.size + record_size
                end = begin + _HEADER.size + size
                if len(buffer) < end:
                    break
                record = bytes(buffer[begin + _HEADER.size : middle])
                yield Frame(kind, record, bytes(buffer[middle:end]))
                begin = end
            del buffer[:begin]
            if self._inflate.eof:
                raise WireError("the stream ended itself")
