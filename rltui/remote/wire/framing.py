"""Frames in a compressed stream of bytes. Does no I/O.

A stream is a line ``rltui-stream VERSION``, then one zlib stream of frames. A frame is the size of
its payload (4 bytes, little endian), its kind (1 byte), and the payload.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from rltui.core.batch import Batch, Note, Restart, TextPoint
from rltui.core.block import Block
from rltui.core.level import Level
from rltui.remote.wire.columns import ITEM_BYTES, MOST_TAGS, Room, pack_columns
from rltui.remote.wire.record import MOST_SETTINGS, MOST_WHOLE_SETTING, WireError, dump, note_row

#: Of the stream. Only what an older reader cannot skip makes a new one.
VERSION = 1
#: Largest payload of a frame, bytes.
MOST_PAYLOAD = 32 << 20
#: Bytes before the first line: what the login scripts of the other side print.
_MOST_NOISE = 1 << 16
_PIECE = 1 << 18
_HEADER = struct.Struct("<IB")
_HELLO = re.compile(rb"rltui-stream (\d{1,6})\n")


class VersionError(WireError):
    """The other side speaks another version of the protocol."""

    def __init__(self, version: int) -> None:
        super().__init__(f"version {version} of the protocol, not {VERSION}")
        self.version = version


class OversizeError(WireError):
    """What was to be sent is too large; the stream is as it was before."""


class Kind(IntEnum):
    """What a frame holds; a kind that is not known here is skipped."""

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
    ASK = 13
    ANSWER = 14
    AGAIN = 15
    KEPT = 16


class Frame(NamedTuple):
    """One message."""

    kind: int
    payload: bytes


class FrameWriter:
    """Writes frames. ``write`` takes bytes and may block, which is the back-pressure."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write = write
        self._deflate = zlib.compressobj(1)
        self._begun = False
        self._held = b""

    def put(self, kind: Kind, payload: bytes = b"") -> None:
        """Append a frame; it may wait for the next :meth:`flush`. Raises OSError, and
        OversizeError for a payload that is too large."""
        if len(payload) > MOST_PAYLOAD:
            raise OversizeError(f"too much for one frame of kind {kind.name}")
        out = self._deflate.compress(_HEADER.pack(len(payload), kind))
        self._held += out + self._deflate.compress(payload)
        if len(self._held) >= _PIECE:
            self._send()

    def flush(self) -> None:
        """Send what waits. Raises OSError."""
        self._held += self._deflate.flush(zlib.Z_SYNC_FLUSH)
        self._send()

    def _send(self) -> None:
        data, self._held = self._held, b""
        if not self._begun:
            self._begun = True
            data = b"rltui-stream %d\n%b" % (VERSION, data)
        self._write(data)


class FrameReader:
    """Finds the frames in the bytes of a stream."""

    def __init__(self) -> None:
        self.noise = b""
        """What came before the stream began."""
        self.begun = False
        """Whether the first line has come."""
        self._inflate = zlib.decompressobj()
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Frame]:
        """The frames that ``data`` completes. Raises WireError."""
        if not self.begun:
            data = self._begin(data)
            if not data:
                return
        full = True
        while data or full:
            try:
                piece = self._inflate.decompress(data, _PIECE)
            except zlib.error:
                raise WireError("the stream is damaged") from None
            self._buffer += piece
            data, full = self._inflate.unconsumed_tail, len(piece) == _PIECE
            yield from self._frames()
            if self._inflate.eof:
                raise WireError("the stream ended itself")

    def _begin(self, data: bytes) -> bytes:
        self.noise += data
        found = _HELLO.search(self.noise)
        if found is None:
            if len(self.noise) > _MOST_NOISE:
                raise WireError("no stream begins")
            return b""
        if int(found[1]) != VERSION:
            raise VersionError(int(found[1]))
        data, self.noise = self.noise[found.end() :], self.noise[: found.start()]
        self.begun = True
        return data

    def _frames(self) -> Iterator[Frame]:
        buffer, begin = self._buffer, 0
        while len(buffer) - begin >= _HEADER.size:
            size, kind = _HEADER.unpack_from(buffer, begin)
            if size > MOST_PAYLOAD:
                raise WireError("a frame is too large")
            end = begin + _HEADER.size + size
            if len(buffer) < end:
                break
            yield Frame(kind, bytes(buffer[begin + _HEADER.size : end]))
            begin = end
        del buffer[:begin]


_SIZE = struct.Struct("<I")


#: Bytes after which a frame ends; rows of a larger block are divided.
PART_BYTES = 4 << 20


#: Characters of a text; each may take 12 bytes.
MOST_TEXT = 2 << 20


_FLAGS = ("gone", "more", "replaced", "document", "sampled", "finished")


#: What a record does without, rather than be too large.
_SPARE = {"hparams": "settings", "tail": "its last lines", "notes": "notes"}


#: Kinds of things that a note about them names.
_MOST_NAMED = 4


class BatchEncoder:
    """Of one stream: files and lists of tags are sent once and numbered from then on."""

    def __init__(self) -> None:
        self._tables: dict[tuple[str, ...], int] = {}
        self._room = Room()
        self._files: dict[tuple[object, ...], int] = {}

    def frames(self, batch: Batch) -> Iterator[tuple[Kind, bytes]]:
        """The frames of a batch: parts, if it is large, and its end. A note says what was left
        out because no frame can hold it."""
        missing: dict[str, None] = {}
        part = _Part()
        for name, head, columns in self._content(batch, missing):
            if part.size and part.size + ITEM_BYTES + len(head) + len(columns) > PART_BYTES:
                yield Kind.PART, part.payload({})
                part = _Part()
            part.add(name, head, columns)
        record = self._record(batch)
        _leave_out(record, batch, missing)
        end = part.payload(record)
        if len(end) > MOST_PAYLOAD:
            yield Kind.PART, part.payload({})
            end = _Part().payload(record)
        yield Kind.BATCH, end

    def _content(
        self, batch: Batch, missing: dict[str, None]
    ) -> Iterator[tuple[str, bytes, bytes]]:
        """Items, then texts: name of the list, entry of it, and columns."""
        for item in batch.items:
            for piece in _pieces(item):
                if isinstance(piece, Restart):
                    yield "items", dump({"restart": piece.step}), b""
                    continue
                about, columns = pack_columns(piece)
                head = self._with_tags(about, piece.tags)
                if head is None:
                    missing[f"rows of {len(piece.tags):,} metrics"] = None
                else:
                    yield "items", head, columns
        for text in batch.texts:
            if len(text.text) > MOST_TEXT:
                missing[f"the end of a text of {len(text.text):,} characters"] = None
            yield "texts", _text_row(text), b""

    def _with_tags(self, about: dict[str, object], tags: tuple[str, ...]) -> bytes | None:
        """The description of a block as JSON; None where it has too many tags, or too long ones."""
        number = self._tables.get(tags)
        if number is not None:
            return dump({**about, "table": number})
        head = dump({**about, "tags": list(tags)})
        if len(tags) > MOST_TAGS or len(head) > MOST_PAYLOAD - 2 * PART_BYTES:
            return None
        if self._room.takes(tags):
            self._tables[tags] = len(self._tables)
        return head

    def _record(self, batch: Batch) -> dict[str, object]:
        source = batch.source
        record: dict[str, object] = {}
        about = (
            *(batch.run.logdir, batch.run.name, str(batch.run_path), str(source.path)),
            *(source.format, source.order, source.precision_rank, source.steps_are_row_numbers),
            *(sorted(source.guessed), source.joined.value, source.alone, source.part),
        )
        identity = tuple(tuple(x) if isinstance(x, list) else x for x in about)
        number = self._files.get(identity)
        if number is None:
            number = self._files[identity] = len(self._files)
            record["about"] = list(about)
        record["file"] = number
        record["at"] = [source.size, source.offset, source.records, source.modified]
        record |= {name: True for name in _FLAGS if getattr(batch, name)}
        record |= {
            name: value
            for name, value in (
                ("waiting", batch.waiting),
                ("generation", batch.generation),
                ("hparams", {n: _plain(v) for n, v in batch.hparams.items()}),
                ("notes", [note_row(n) for n in batch.notes]),
            )
            if value
        }
        if batch.tail is not None:
            record["tail"] = [list(batch.tail.lines), batch.tail.after_row]
        if batch.exit_code is not None:
            record["exit"] = batch.exit_code
        if batch.checksum is not None:
            record["checksum"] = batch.checksum
        return record


class _Part:
    """What goes into one frame."""

    def __init__(self) -> None:
        self.size = 0
        self._lists: dict[str, list[bytes]] = {}
        self._columns: list[bytes] = []

    def add(self, name: str, entry: bytes, columns: bytes) -> None:
        """Append an entry of a list, and the columns that belong to it."""
        self._lists.setdefault(name, []).append(entry)
        self._columns.append(columns)
        self.size += ITEM_BYTES + len(entry) + len(columns)

    def payload(self, record: dict[str, object]) -> bytes:
        """A record with the lists, and all columns."""
        fields = [dump(record)[1:-1]] if record else []
        fields += [b'"%b":[%b]' % (n.encode(), b",".join(x)) for n, x in self._lists.items()]
        head = b"{%b}" % b",".join(fields)
        return b"".join((_SIZE.pack(len(head)), head, *self._columns))


def _leave_out(record: dict[str, object], batch: Batch, missing: dict[str, None]) -> None:
    """Take away from a record what would make it too large, and note what is missing."""
    if len(batch.hparams) > MOST_SETTINGS:
        del record["hparams"]
        missing[_SPARE["hparams"]] = None
    sizes = {name: len(dump({name: record[name]})) for name in _SPARE if name in record}
    while sum(sizes.values()) > MOST_PAYLOAD - PART_BYTES:
        largest = max(sizes, key=lambda name: sizes[name])
        del sizes[largest], record[largest]
        missing[_SPARE[largest]] = None
    if missing:
        named = ", ".join([*missing][:_MOST_NAMED]) + ", ..." * (len(missing) > _MOST_NAMED)
        message = f"too large for the connection, and left out: {named}"
        note = Note(batch.source.path, None, Level.WATCH, message)
        known = record.get("notes", [])
        assert isinstance(known, list)
        record["notes"] = [*known, note_row(note)]


def _pieces(item: Block | Restart) -> Iterator[Block | Restart]:
    """An item, or the rows of a large block bit by bit."""
    if isinstance(item, Restart) or item.nbytes <= PART_BYTES:
        yield item
        return
    rows = max(1, len(item.steps) * PART_BYTES // item.nbytes)
    for begin in range(0, len(item.steps), rows):
        part = np.s_[begin : begin + rows]
        absent = None if item.absent is None else item.absent[part]
        times = item.wall_times[part]
        yield Block(item.tags, item.steps[part], times, item.values[part], absent)


def _text_row(text: TextPoint) -> bytes:
    row = [text.tag, text.step, text.wall_time, text.text[:MOST_TEXT]]
    return dump(row)


def _plain(value: object) -> object:
    """A setting, or its digits where they are too many for a number of the protocol."""
    large = isinstance(value, int) and abs(value) >= MOST_WHOLE_SETTING
    return f"{value:#x}" if large else value
