"""Encodes batches as frames and decodes them: a JSON record, then the columns of its blocks.

The encoding is lossless and compresses well: steps and times are stored as second differences;
values column by column, as float32 where that loses nothing, as integers where they are decimals of
few digits; the bytes of each array are shuffled, all lowest bytes first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from rltui.core.batch import Batch, Note, Restart, TextPoint
from rltui.core.block import Block
from rltui.core.level import Level
from rltui.core.record import record
from rltui.core.text import Names, first_of
from rltui.remote.wire import codec
from rltui.remote.wire.framing import MOST_PAYLOAD, Frame, Kind

#: Bytes after which a frame ends; rows of a larger block are divided.
PART_BYTES = 4 << 20
#: Characters of a text; each may take 12 bytes.
MOST_TEXT = 2 << 20
#: Fields that are left out of a record that would be too large, and their names for people.
_SPARE = {
    "hparams": "settings",
    "tail": "its last lines",
    "notes": "notes",
    "media": "histograms and pictures",
}
#: Most bytes of items and texts that wait for the end of their batch; and overhead of each one.
_MOST_WAITING = 1 << 30
ITEM_BYTES = 512
#: Most lists of tags that get numbers, and most bytes that these take in memory; overhead of each
#: tag.
_MOST_TABLES = 1 << 16
_MOST_TABLE_BYTES = 1 << 29
_TEXT_BYTES = 64
MOST_TAGS = 1 << 17
#: Numbers of decimals that are tried; few, so that consecutive blocks mostly use the same.
_DIGITS = (0, 3, 6, 9, 12)
#: Whole numbers below it are exact as float64.
_EXACT = 2.0**53
#: Rows that are checked first: they rule most columns of other numbers out.
_GLANCE = 8
_Array = NDArray[Any]


@record
class _ItemRecord:
    """A block, whose columns follow the record, or a restart."""

    rows: Annotated[int, codec.Bounds(0, 1 << 28)] = 0
    tags: Annotated[Names, codec.Bounds(0, MOST_TAGS)] = ()
    table: Annotated[int, codec.Bounds(0, _MOST_TABLES)] | None = None
    """Number of a list of tags that was sent before."""
    absent: bool = False
    narrow: object = None
    digits: Annotated[tuple[codec.Signed, ...], codec.Bounds(0, MOST_TAGS)] | None = None
    restart: codec.Int64 | None = None


@record
class _ContentRecord:
    """The lists of a frame of kind BATCH or PART. The other fields of a batch stand beside them."""

    items: Annotated[tuple[object, ...], codec.Bounds(0, 1 << 24)] = ()
    texts: tuple[TextPoint, ...] = ()


_CONTENT = frozenset(f.name for f in fields(_ContentRecord))


class BatchEncoder:
    """Encodes the batches of one stream. Lists of tags are sent once and numbered."""

    def __init__(self) -> None:
        self._tables: dict[Names, int] = {}
        self._room = Room()

    def frames(self, batch: Batch) -> Iterator[Frame]:
        """The frames of a batch: one of kind BATCH, after PARTs if it is large. A note says what
        was left out because no frame can hold it."""
        missing: dict[str, None] = {}
        builder = _FrameBuilder()
        for name, head, columns in self._content(batch, missing):
            if builder.size and builder.size + ITEM_BYTES + len(head) + len(columns) > PART_BYTES:
                yield builder.frame(Kind.PART, {})
                builder = _FrameBuilder()
            builder.add(name, head, columns)
        record = codec.record_of(replace(batch, items=(), texts=()))
        if len(batch.hparams) > codec.MOST_SETTINGS:
            del record["hparams"]
            missing[_SPARE["hparams"]] = None
        large = [name for name in _SPARE if name in record]
        sizes = {name: len(codec.dump_json({name: record[name]})) for name in large}
        while sum(sizes.values()) > MOST_PAYLOAD - PART_BYTES:
            largest = max(sizes, key=lambda name: sizes[name])
            del sizes[largest], record[largest]
            missing[_SPARE[largest]] = None
        if missing:
            message = f"too large for the connection, and left out: {first_of([*missing])}"
            note = Note(batch.source.path, None, Level.WATCH, message)
            known = record.get("notes", [])
            assert isinstance(known, list)
            record["notes"] = [*known, codec.plain(note)]

        end = builder.frame(Kind.BATCH, record)
        if len(end.record) + len(end.columns) > MOST_PAYLOAD:
            yield builder.frame(Kind.PART, {})
            end = _FrameBuilder().frame(Kind.BATCH, record)
        yield end

    def _content(
        self, batch: Batch, missing: dict[str, None]
    ) -> Iterator[tuple[str, bytes, bytes]]:
        """Items, then texts: (name of the list, JSON entry, columns)."""
        for item in batch.items:
            for piece in _pieces(item):
                if isinstance(piece, Restart):
                    yield "items", codec.dump_json({"restart": piece.step}), b""
                    continue
                about, columns = pack_columns(piece)
                tags = piece.tags
                number = self._tables.get(piece.tags)
                if number is not None:
                    yield "items", codec.dump_json({**about, "table": number}), columns
                    continue
                head = codec.dump_json({**about, "tags": list(tags)})
                if len(tags) > MOST_TAGS or len(head) > MOST_PAYLOAD - 2 * PART_BYTES:
                    missing[f"rows of {len(tags):,} metrics"] = None
                    continue
                if self._room.takes(tags):
                    self._tables[tags] = len(self._tables)
                yield "items", head, columns
        for text in batch.texts:
            if len(text.text) > MOST_TEXT:
                missing[f"the end of a text of {len(text.text):,} characters"] = None
            yield (
                "texts",
                codec.dump_json(codec.plain(text._replace(text=text.text[:MOST_TEXT]))),
                b"",
            )


class _FrameBuilder:
    """Collects the entries and columns of one frame."""

    def __init__(self) -> None:
        self.size = 0
        self._lists: dict[str, list[bytes]] = {}
        self._columns: list[bytes] = []

    def add(self, name: str, entry: bytes, columns: bytes) -> None:
        """Append an entry to a list, with its columns."""
        self._lists.setdefault(name, []).append(entry)
        self._columns.append(columns)
        self.size += ITEM_BYTES + len(entry) + len(columns)

    def frame(self, kind: Kind, record: dict[str, object]) -> Frame:
        """A record with the lists, and all columns."""
        texts = [codec.dump_json(record)[1:-1]] if record else []
        texts += [b'"%b":[%b]' % (n.encode(), b",".join(x)) for n, x in self._lists.items()]
        return Frame(kind, b"{%b}" % b",".join(texts), b"".join(self._columns))


def _pieces(item: Block | Restart) -> Iterator[Block | Restart]:
    """An item, or a large block split by rows."""
    if isinstance(item, Restart) or item.nbytes <= PART_BYTES:
        yield item
        return
    rows = max(1, len(item.steps) * PART_BYTES // item.nbytes)
    for begin in range(0, len(item.steps), rows):
        part = np.s_[begin : begin + rows]
        absent = None if item.absent is None else item.absent[part]
        times = item.wall_times[part]
        yield Block(item.tags, item.steps[part], times, item.values[part], absent)


class BatchDecoder:
    """Decodes the batches of one stream."""

    def __init__(self, logdirs: int) -> None:
        """``logdirs``: how many there are; each run belongs to one of them."""
        self._logdirs = logdirs
        self._tables: list[Names] = []
        self._room = Room()
        self._items: list[Block | Restart] = []
        self._texts: list[TextPoint] = []
        self._waiting = 0

    def batch_of(self, frame: Frame) -> Batch | None:
        """The batch that a frame of kind BATCH completes; None for a PART. Raises WireError."""
        record = codec.load_json(frame.record)
        found = codec.message_of(_ContentRecord, record)
        columns = memoryview(frame.columns)
        for about in found.items:
            item, used = self._item(about, columns)
            columns = columns[used:]
            self._items.append(item)
            self._wait_with(item.nbytes if isinstance(item, Block) else 0)
        for text in found.texts:
            self._texts.append(text)
            self._wait_with(len(text.tag) + len(text.text))
        if frame.kind == Kind.PART:
            return None

        items = tuple(self._items)
        texts = tuple(self._texts)
        self._items = []
        self._texts = []
        self._waiting = 0
        batch = codec.message_of(Batch, {n: v for n, v in record.items() if n not in _CONTENT})
        if batch.run.logdir >= self._logdirs:
            raise codec.WireError("a run is of no logdir")

        return replace(batch, items=items, texts=texts)

    def _wait_with(self, size: int) -> None:
        self._waiting += ITEM_BYTES + size
        if self._waiting > _MOST_WAITING:
            raise codec.WireError("a batch is too large")

    def _item(self, record: Any, columns: memoryview) -> tuple[Block | Restart, int]:
        if not isinstance(record, dict):
            raise codec.WireError("an item is not an object")
        about = codec.message_of(_ItemRecord, record)
        if about.restart is not None:
            return Restart(about.restart), 0
        tags = about.tags
        if about.table is not None:
            if about.table >= len(self._tables):
                raise codec.WireError("no such list of tags")
            tags = self._tables[about.table]
        elif not tags or len(set(tags)) < len(tags):
            raise codec.WireError("tags are missing or repeated")
        elif self._room.takes(tags):
            self._tables.append(tags)
        shape = about.rows, about.absent, about.narrow, about.digits
        return unpack_columns(tags, columns, *shape)


class Room:
    """Limits the lists of tags that are numbered. Encoder and decoder must decide alike."""

    def __init__(self) -> None:
        self._lists = self._bytes = 0

    def takes(self, tags: Sequence[str]) -> bool:
        """Whether a list gets a number; counts it if so."""
        size = self._bytes + sum(map(len, tags)) + _TEXT_BYTES * len(tags)
        if self._lists >= _MOST_TABLES or size > _MOST_TABLE_BYTES:
            return False
        self._lists += 1
        self._bytes = size
        return True


def pack_columns(block: Block) -> tuple[dict[str, object], bytes]:
    """The description of a block, without its tags, and its columns."""
    parts = [_shuffled(_differences(block.steps.astype("<i8", copy=False)))]
    parts.append(_shuffled(_differences(_bits(block.wall_times.astype("<f8", copy=False)))))
    about: dict[str, object] = {"rows": len(block.steps)}
    values = block.values.astype(f"<f{block.values.dtype.itemsize}", copy=False)
    if block.absent is not None:
        about["absent"] = True
        parts.append(np.packbits(block.absent.T).tobytes())
        values = np.where(block.absent, values.dtype.type(0), values)
    if values.dtype.itemsize == 8:
        narrow = _narrow(values)
        about["narrow"] = np.flatnonzero(narrow).tolist() if not narrow.all() else True
        parts.append(_shuffled(values[:, narrow].astype("<f4").T))
        values = values[:, ~narrow]
        # number of decimals with which integers hold each column without loss; -1 for none
        digits = np.full(values.shape[1], -1)
        for count in _DIGITS:
            left = np.flatnonzero(digits < 0)
            left = left[_is_decimal(values[:_GLANCE, left], count)]
            digits[left[_is_decimal(values[:, left], count)]] = count
        if (digits >= 0).any():
            about["digits"] = digits.tolist()
            parts.append(_shuffled(_scaled(values, digits).T))
            values = values[:, digits < 0]
    parts.append(_shuffled(values.T))

    return about, b"".join(parts)


def unpack_columns(
    tags: Names,
    data: memoryview,
    rows: int,
    has_absent: bool,
    narrow: object,
    digits: tuple[int, ...] | None,
) -> tuple[Block, int]:
    """The block of a description, and how many bytes it took. Raises WireError."""
    count = len(tags)
    source = _Source(data)
    steps = _sums(source.array("<i8", rows, 1)[0])
    times = _sums(source.array("<i8", rows, 1)[0]).view("<f8")
    absent = None
    if has_absent:
        absent = source.bits(rows * count).reshape(count, rows).T.copy()
    if narrow is None:
        values = source.array("<f4", rows, count).T.copy()
        return Block(tags, steps, times, values, absent), source.used

    is_narrow = np.full(count, narrow is True)
    if narrow is not True:
        if not isinstance(narrow, list) or len(narrow) > count:
            raise codec.WireError("a list of columns was expected")
        if not all(type(column) is int and 0 <= column < count for column in narrow):
            raise codec.WireError("no such column")
        is_narrow[narrow] = True
    wide = np.flatnonzero(~is_narrow)
    places = np.full(len(wide), -1) if digits is None else np.array(digits, int)
    if len(places) != len(wide) or not ((places >= -1) & (places <= _DIGITS[-1])).all():
        raise codec.WireError("the number of columns or digits is wrong")

    decimal = places >= 0
    values = np.empty((rows, count))
    values[:, is_narrow] = source.array("<f4", rows, int(is_narrow.sum())).T
    whole = source.array("<i8", rows, int(decimal.sum()))
    whole = (whole >> 1 & np.int64(2**63 - 1)) ^ -(whole & 1)
    values[:, wide[decimal]] = whole.T / 10.0 ** places[decimal]
    values[:, wide[~decimal]] = source.array("<f8", rows, int((~decimal).sum())).T

    return Block(tags, steps, times, values, absent), source.used


class _Source:
    """Reads arrays from bytes, one after the other."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self.used = 0

    def array(self, kind: str, rows: int, columns: int) -> _Array:
        """The next array, unshuffled: (columns, rows)."""
        size = np.dtype(kind).itemsize
        raw = self._bytes(rows * columns * size).reshape(size, rows * columns)
        return np.ascontiguousarray(raw.T).view(kind).reshape(columns, rows)

    def bits(self, count: int) -> NDArray[np.bool_]:
        """The next bits: (count,) bool."""
        return np.unpackbits(self._bytes((count + 7) // 8), count=count).view(bool)

    def _bytes(self, size: int) -> NDArray[np.uint8]:
        piece = self._data[self.used : self.used + size]
        if len(piece) < size:
            raise codec.WireError("a column is cut off")
        self.used += size
        return np.frombuffer(piece, np.uint8)


def _narrow(values: _Array) -> NDArray[np.bool_]:
    """(m,) whether float32 holds each column without loss."""
    with np.errstate(over="ignore", invalid="ignore"):
        back = values.astype("<f4").astype("<f8")
    same: NDArray[np.bool_] = (_bits(back) == _bits(values)).all(axis=0)
    return same


def _is_decimal(values: _Array, digits: int) -> NDArray[np.bool_]:
    """(m,) whether integers with so many decimals hold each column without loss."""
    power = 10.0**digits
    with np.errstate(over="ignore", invalid="ignore"):
        whole = np.rint(values * power) + 0.0  # a negative zero is no whole number
        small = np.abs(whole) < _EXACT  # false for what is not finite
        same: NDArray[np.bool_] = (small & (_bits(whole / power) == _bits(values))).all(axis=0)
    return same


def _scaled(values: _Array, digits: _Array) -> _Array:
    """The columns of decimals as zigzag-encoded integers."""
    decimal = digits >= 0
    whole = np.rint(values[:, decimal] * 10.0 ** digits[decimal]).astype("<i8")
    folded: _Array = (whole << 1) ^ (whole >> 63)
    return folded


def _bits(values: _Array) -> _Array:
    return np.ascontiguousarray(values).view("<i8")


def _differences(values: _Array) -> _Array:
    """Second differences modulo 2**64: evenly spaced entries become zeros."""
    return np.diff(np.diff(values, prepend=values.dtype.type(0)), prepend=values.dtype.type(0))


def _sums(values: _Array) -> _Array:
    summed: _Array = np.cumsum(np.cumsum(values, dtype="<i8"), dtype="<i8")
    return summed


def _shuffled(values: _Array) -> bytes:
    """The bytes of an array: all lowest ones, then all second ones, and so on."""
    flat = np.ascontiguousarray(values)
    shuffled: bytes = flat.view(np.uint8).reshape(-1, flat.itemsize).T.tobytes()
    return shuffled
