"""Batches from frames: a JSON record, then the columns of its blocks."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace

from rltui.core.batch import Batch, Joined, LogTail, Restart, RunKey, SourceInfo, TextPoint
from rltui.core.block import Block
from rltui.remote.wire.columns import unpack_columns
from rltui.remote.wire.framing import Frame, Kind
from rltui.remote.wire.record import (
    Record,
    WireError,
    list_of,
    long_text_of,
    note_of,
    number_of,
    row_of,
    text_of,
    whole_of,
)

_SIZE = struct.Struct("<I")
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
_INT64 = 1 << 63


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


_ABOUT = (
    *("logdir", "name", "run_path", "path", "format", "order", "rank", "row_numbers"),
    *("guessed", "joined", "alone", "part"),
)


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
