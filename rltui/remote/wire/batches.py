"""Batches as frames: a JSON record, then the columns of its blocks."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from rltui.core.batch import Batch, Joined, LogTail, Restart, RunKey, SourceInfo, TextPoint
from rltui.core.block import Block
from rltui.remote.wire.columns import pack_columns, unpack_columns
from rltui.remote.wire.framing import Frame, Kind
from rltui.remote.wire.record import (
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
#: Bytes of columns after which a frame ends; rows of a larger block are divided.
_PART_BYTES = 4 << 20
#: Bytes of frames that wait for the end of their batch, at most.
_MOST_WAITING = 1 << 30
#: Lists of tags, and files, that are named once.
_MOST_TABLES = 1 << 16
_MOST_FILES = 1 << 20
_MOST_TAGS = 1 << 17
_FLAGS = ("gone", "more", "replaced", "document", "sampled", "finished")
_INT64 = 1 << 63


class BatchEncoder:
    """Of one stream: files and lists of tags are sent once and numbered from then on."""

    def __init__(self) -> None:
        self._tables: dict[tuple[str, ...], int] = {}
        self._files: dict[tuple[object, ...], int] = {}

    def frames(self, batch: Batch) -> Iterator[tuple[Kind, bytes]]:
        """The frames of a batch: parts, if it is large, and its end."""
        items: list[dict[str, object]] = []
        columns: list[bytes] = []
        waiting = 0
        for item in batch.items:
            for piece in _pieces(item):
                about, data = self._item(piece)
                if waiting and waiting + len(data) > _PART_BYTES:
                    yield Kind.PART, _payload({"items": items}, columns)
                    items, columns, waiting = [], [], 0
                items.append(about)
                columns.append(data)
                waiting += len(data)
        yield Kind.BATCH, _payload({**self._record(batch), "items": items}, columns)

    def _item(self, item: Block | Restart) -> tuple[dict[str, object], bytes]:
        if isinstance(item, Restart):
            return {"restart": item.step}, b""
        about, data = pack_columns(item)
        number = self._tables.get(item.tags)
        if number is not None:
            about["table"] = number
        else:
            about["tags"] = list(item.tags)
            if len(self._tables) < _MOST_TABLES:
                self._tables[item.tags] = len(self._tables)
        return about, data

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
                ("hparams", batch.hparams),
                ("notes", [note_row(n) for n in batch.notes]),
                ("texts", [[t.tag, t.step, t.wall_time, t.text] for t in batch.texts]),
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


class BatchDecoder:
    """Of one stream."""

    def __init__(self, logdirs: int) -> None:
        """``logdirs``: how many there are; a run is of one of them."""
        self._logdirs = logdirs
        self._tables: list[tuple[str, ...]] = []
        self._files: list[Batch] = []
        self._items: list[Block | Restart] = []
        self._waiting = 0

    def take(self, frame: Frame) -> Batch | None:
        """The batch that a frame of kind BATCH completes; None for a PART. Raises WireError."""
        record, columns = _parsed(frame.payload)
        self._waiting += len(frame.payload)
        if self._waiting > _MOST_WAITING:
            raise WireError("a batch is too large")
        for about in list_of(record.get("items") or [], 1 << 24):
            item, used = self._item(Record(about), columns)
            columns = columns[used:]
            self._items.append(item)
        if frame.kind == Kind.PART:
            return None
        batch = replace(self._batch(record), items=tuple(self._items))
        self._items, self._waiting = [], 0
        return batch

    def _item(self, about: Record, columns: memoryview) -> tuple[Block | Restart, int]:
        if "restart" in about:
            return Restart(about.whole("restart", low=-_INT64, high=_INT64 - 1)), 0
        if "table" in about:
            number = about.whole("table", high=_MOST_TABLES)
            if number >= len(self._tables):
                raise WireError("no such list of tags")
            tags = self._tables[number]
        else:
            tags = about.items("tags", text_of, _MOST_TAGS)
            if not tags or len(set(tags)) < len(tags):
                raise WireError("tags are missing or repeated")
            if len(self._tables) < _MOST_TABLES:
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
            texts=record.items("texts", _text_point),
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
            self._files.append(self._new_file(row_of(record.get("about"), 12)))
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


_ABOUT = (
    *("logdir", "name", "run_path", "path", "format", "order", "rank", "row_numbers"),
    *("guessed", "joined", "alone", "part"),
)


def _pieces(item: Block | Restart) -> Iterator[Block | Restart]:
    """An item, or the rows of a large block bit by bit."""
    if isinstance(item, Restart) or item.nbytes <= _PART_BYTES:
        yield item
        return
    rows = max(1, len(item.steps) * _PART_BYTES // item.nbytes)
    for begin in range(0, len(item.steps), rows):
        part = np.s_[begin : begin + rows]
        absent = None if item.absent is None else item.absent[part]
        times = item.wall_times[part]
        yield Block(item.tags, item.steps[part], times, item.values[part], absent)


def _payload(record: dict[str, object], columns: list[bytes]) -> bytes:
    head = dump(record)
    return b"".join((_SIZE.pack(len(head)), head, *columns))


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
