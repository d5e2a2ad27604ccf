"""Batches as frames, there and back: a JSON record, then the columns of its blocks."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from rltui.core.batch import Batch, Joined, LogTail, Note, Restart, RunKey, SourceInfo, TextPoint
from rltui.core.block import Block
from rltui.core.level import Level
from rltui.remote.wire.columns import _INT64, pack_columns, unpack_columns
from rltui.remote.wire.framing import MOST_PAYLOAD, Frame, Kind
from rltui.remote.wire.record import (
    MOST_SETTINGS,
    MOST_WHOLE_SETTING,
    Record,
    WireError,
    dump,
    list_of,
    long_text_of,
    note_of,
    note_row,
    number_of,
    row_of,
    text_of,
    whole_of,
)

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
#: What items and texts take in memory that wait for the end of their batch, at most; and what one
#: takes beside its arrays or letters.
_MOST_WAITING = 1 << 30
ITEM_BYTES = 512
#: Lists of tags, and files, that are named once.
_MOST_TABLES = 1 << 16
_MOST_FILES = 1 << 20
#: What they take in memory, at most; and what a text takes beside its letters.
_MOST_TABLE_BYTES = 1 << 29
_MOST_FILE_BYTES = 1 << 29
_TEXT_BYTES = 64
MOST_TAGS = 1 << 17
_ABOUT = (
    *("logdir", "name", "run_path", "path", "format", "order", "rank", "row_numbers"),
    *("guessed", "joined", "alone", "part"),
)


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


class BatchDecoder:
    """Of one stream."""

    def __init__(self, logdirs: int) -> None:
        """``logdirs``: how many there are; a run is of one of them."""
        self._logdirs = logdirs
        self._tables: list[tuple[str, ...]] = []
        self._room = Room()
        self._files: list[Batch] = []
        self._file_bytes = 0
        self._items: list[Block | Restart] = []
        self._texts: list[TextPoint] = []
        self._waiting = 0

    def take(self, frame: Frame) -> Batch | None:
        """The batch that a frame of kind BATCH completes; None for a PART. Raises WireError."""
        record, columns = _parsed(frame.payload)
        for about in list_of(record.get("items") or [], 1 << 24):
            item, used = self._item(Record(about), columns)
            columns = columns[used:]
            self._items.append(item)
            self._wait_with(item.nbytes if isinstance(item, Block) else 0)
        for text in record.items("texts", _text_point):
            self._texts.append(text)
            self._wait_with(len(text.tag) + len(text.text))
        if frame.kind == Kind.PART:
            return None
        batch = self._batch(record)
        batch = replace(batch, items=tuple(self._items), texts=tuple(self._texts))
        self._items, self._texts, self._waiting = [], [], 0
        return batch

    def _wait_with(self, size: int) -> None:
        self._waiting += ITEM_BYTES + size
        if self._waiting > _MOST_WAITING:
            raise WireError("a batch is too large")

    def _item(self, about: Record, columns: memoryview) -> tuple[Block | Restart, int]:
        if "restart" in about:
            return Restart(about.whole("restart", low=-_INT64, high=_INT64 - 1)), 0
        if "table" in about:
            number = about.whole("table", high=_MOST_TABLES)
            if number >= len(self._tables):
                raise WireError("no such list of tags")
            tags = self._tables[number]
        else:
            tags = about.items("tags", text_of, MOST_TAGS)
            if not tags or len(set(tags)) < len(tags):
                raise WireError("tags are missing or repeated")
            if self._room.takes(tags):
                self._tables.append(tags)
        return unpack_columns(about, tags, columns)

    def _batch(self, record: Record) -> Batch:
        size, offset, records, modified = row_of(record.get("at"), 4)
        plain = self._file(record)
        source = replace(
            plain.source,
            size=whole_of(size, 0, _INT64),
            offset=whole_of(offset, 0, _INT64),
            records=whole_of(records, 0, _INT64),
            modified=number_of(modified),
        )
        return replace(
            plain,
            source=source,
            hparams=record.settings("hparams"),
            notes=record.items("notes", note_of),
            tail=_log_tail(record.get("tail")),
            exit_code=record.maybe_whole("exit", low=-_INT64, high=_INT64),
            waiting=record.whole("waiting"),
            generation=record.whole("generation"),
            checksum=record.maybe_whole("checksum", high=1 << 32),
            gone=record.flag("gone"),
            more=record.flag("more"),
            replaced=record.flag("replaced"),
            document=record.flag("document"),
            sampled=record.flag("sampled"),
            finished=record.flag("finished"),
        )

    def _file(self, record: Record) -> Batch:
        """A batch without content of the file that a record is about."""
        number = record.whole("file", high=_MOST_FILES)
        if "about" in record:
            if number != len(self._files):
                raise WireError("a file has the wrong number")
            row = row_of(record.get("about"), 12)
            self._file_bytes += len(str(row))
            if self._file_bytes > _MOST_FILE_BYTES:
                raise WireError("there are too many files")
            self._files.append(self._new_file(row))
        if number >= len(self._files):
            raise WireError("no such file")
        return self._files[number]

    def _new_file(self, row: list[object]) -> Batch:
        about = Record(dict(zip(_ABOUT, row, strict=True)))
        key = RunKey(about.whole("logdir", high=self._logdirs - 1), about.text("name"))
        try:
            joined = Joined(about.get("joined"))
        except ValueError:
            raise WireError("no such relation of a file to its run") from None
        source = SourceInfo(
            about.path("path"),
            about.text("format"),
            about.whole("order", low=-1),
            0,
            0,
            0,
            0.0,
            about.whole("rank", low=-(1 << 20), high=1 << 20),
            about.flag("row_numbers"),
            frozenset(about.items("guessed", text_of)),
            joined,
            about.text("alone"),
            about.text("part"),
        )
        return Batch(key, about.path("run_path"), source)


class Room:
    """Whether one more list of tags is kept and gets a number. Both sides count alike."""

    def __init__(self) -> None:
        self._lists = self._bytes = 0

    def takes(self, tags: tuple[str, ...]) -> bool:
        """Whether this list is kept, which then counts."""
        size = self._bytes + size_of(tags)
        if self._lists >= _MOST_TABLES or size > _MOST_TABLE_BYTES:
            return False
        self._lists, self._bytes = self._lists + 1, size
        return True


def size_of(tags: Sequence[str]) -> int:
    """What some tags take in memory, about."""
    return sum(map(len, tags)) + _TEXT_BYTES * len(tags)


def _parsed(payload: bytes) -> tuple[Record, memoryview]:
    if len(payload) < _SIZE.size:
        raise WireError("a batch is cut off")
    end = _SIZE.size + _SIZE.unpack_from(payload)[0]
    if end > len(payload):
        raise WireError("a batch is cut off")
    return Record.load(payload[_SIZE.size : end]), memoryview(payload)[end:]


def _text_point(value: object) -> TextPoint:
    tag, step, time, text = row_of(value, 4)
    whole = whole_of(step, -_INT64, _INT64 - 1)
    return TextPoint(text_of(tag), whole, number_of(time, finite=False), long_text_of(text))


def _log_tail(value: object) -> LogTail | None:
    if value is None:
        return None
    lines, after = row_of(value, 2)
    return LogTail(tuple(map(text_of, list_of(lines, 10_000))), whole_of(after, 0, _INT64))
