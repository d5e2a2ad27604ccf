"""Many records at once, in any order, for files whose steps do not repeat.

Record headers are found with numpy and confirmed by their checksums; records of equal length
with equal constant bytes have the same tags, and the fields of equal records are read as columns.
Takes about 0.4 us per scalar in any order; templates are ten times faster where they match.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rltui.core.block import BoolArray, FloatArray, IntArray
from rltui.formats.row_sink import RowSink, layout_of
from rltui.formats.tfevents.event_record import (
    DOUBLE,
    WIDTH,
    ScalarSpan,
    StepGroup,
    group_walls,
    scalar_at,
)
from rltui.formats.tfevents.framing import (
    FRAME_BYTES,
    HEADER_BYTES,
    checksums_fit,
    is_intact,
    length_crc,
    words_of,
)

ByteArray = NDArray[np.uint8]

#: Longer records are not compared.
_MAX_LENGTH = 1 << 12
#: Odd multipliers for the hash of a row, by Weyl's sequence of the golden ratio.
_WEIGHTS = np.arange(1, _MAX_LENGTH // 8 + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
_WEIGHTS |= np.uint64(1)
#: Record shapes with few records that are tried, of one length, before they are read one by one.
_TRIES = 16
_WORTH = 32


class Scan(NamedTuple):
    """Result of a scan."""

    records: int
    """Records of scalars."""
    others: list[tuple[int, int]]
    """(position, payload length) of the other records."""
    stop: int
    """Position behind the last record."""
    step_group: StepGroup


class _RecordTable:
    """The fields of the records, filled length by length."""

    def __init__(self, count: int) -> None:
        self.step = np.zeros(count, np.int64)
        self.bits = np.zeros(count, np.int64)
        self.scalars = np.zeros(count, bool)
        """Whether a record has been read and has only scalars."""
        self.tags: dict[bytes, int] = {}
        """Tag -> its number."""
        self.doubles: set[bytes] = set()
        """Tags of which a value is a double."""
        self.points: list[tuple[IntArray, IntArray, FloatArray]] = []
        """Records, numbers of their tags, and values; arrays of one length."""

    def members_of(self, span: ScalarSpan) -> list[int]:
        """The number of the tag of each scalar of a record."""
        self.doubles.update(s.tag for s in span.scalars if s.kind == DOUBLE)
        return [self.tags.setdefault(s.tag, len(self.tags)) for s in span.scalars]

    def add_one(self, span: ScalarSpan, record: int) -> None:
        """One record with its scalars."""
        self.step[record] = span.step
        self.bits[record] = span.bits
        self.scalars[record] = True
        numbers = np.array([scalar.number for scalar in span.scalars])
        records = np.full(len(numbers), record)
        self.points.append((records, np.array(self.members_of(span)), numbers))

    def emit(self, walls: FloatArray, count: int, sink: RowSink) -> None:
        """Pass the points of each tag among the first ``count`` records to the sink, in order of
        first appearance."""
        records, members, numbers = map(np.concatenate, zip(*self.points, strict=True))
        order = np.argsort(members * len(self.step) + records)
        order = order[records[order] < count]
        members = members[order]
        records = records[order]
        numbers = numbers[order]
        steps = self.step[records]
        times = walls[records]
        ends = np.cumsum(np.bincount(members, minlength=len(self.tags))).tolist()
        begins = [0, *ends[:-1]]
        spans = sorted(
            (int(records[begin]), begin, end, tag)
            for tag, begin, end in zip(self.tags, begins, ends, strict=True)
            if end > begin
        )
        for _, begin, end, tag in spans:
            dtype = np.float64 if tag in self.doubles else np.float32
            values = numbers[begin:end].astype(dtype)[:, None]
            sink.rows(layout_of((tag,), dtype), steps[begin:end], times[begin:end], values)


def scan(
    data: bytes,
    pos: int,
    limit: int,
    step_group: StepGroup,
    plugins: Mapping[bytes, bytes],
    stops: Callable[[bytes, int, int], bool],
    verify: bool,
    sink: RowSink,
) -> Scan | None:
    """Pass contiguous records of scalars from ``pos`` on, within ``limit`` bytes, to the sink.

    ``stops(data, position, length)`` returns whether the scan must end before another record.
    None when nothing could be read.
    """
    places, lengths = _chain(data, pos, min(len(data), pos + limit))
    count = len(places)
    table = _RecordTable(count)
    for length in np.unique(lengths).tolist():
        group = np.flatnonzero(lengths == length)
        _read_length(data, places, group, length, plugins, table, verify)

    others: list[tuple[int, int]] = []
    for index in np.flatnonzero(~table.scalars).tolist():
        place = int(places[index])
        length = int(lengths[index])
        if stops(data, place, length):
            count = index
            break
        others.append((place, length))

    if not count:
        return None
    stop = int(places[count - 1] + lengths[count - 1]) + FRAME_BYTES
    chosen = np.flatnonzero(table.scalars[:count])
    if len(chosen):
        steps = table.step[chosen]
        walls = np.zeros(len(places))
        bits = group_walls(steps, table.bits[chosen], step_group)
        walls[chosen] = bits.view(np.float64)
        step_group = StepGroup(int(steps[-1]), int(bits[-1]))
        table.emit(walls, count, sink)
    return Scan(len(chosen), others, stop, step_group)


def _chain(data: bytes, pos: int, end: int) -> tuple[IntArray, IntArray]:
    """Positions and payload lengths of the contiguous records from ``pos`` on."""
    window = np.frombuffer(data, np.uint8, end - pos, pos)
    # a payload begins with the wall time's key, and its length is below 2**16
    places = np.flatnonzero(window[HEADER_BYTES:] == 0x09)
    for byte in (2, 3, 4, 5, 6, 7):
        places = places[window[places + byte] == 0]
    words = words_of(data)[pos:]
    lengths = words[places].astype(np.int64)
    stored = words[places + 8]
    fit = lengths < _MAX_LENGTH
    fit &= places + lengths + FRAME_BYTES <= len(window)
    places = places[fit]
    lengths = lengths[fit]
    stored = stored[fit]
    known, which = np.unique(lengths, return_inverse=True)
    fit = np.array([length_crc(n) for n in known.tolist()], np.int64)[which] == stored
    places = places[fit]
    lengths = lengths[fit]
    if not len(places) or places[0] != 0:
        return places[:0], lengths[:0]

    behind = places + lengths + FRAME_BYTES
    broken = np.flatnonzero(behind[:-1] != places[1:])
    count = int(broken[0]) + 1 if len(broken) else len(places)
    if not is_intact(data, pos + int(places[count - 1]), int(lengths[count - 1])):
        count -= 1
    return places[:count] + pos, lengths[:count]


def _read_length(
    data: bytes,
    places: IntArray,
    group: IntArray,
    length: int,
    plugins: Mapping[bytes, bytes],
    table: _RecordTable,
    verify: bool,
) -> None:
    """Read the records ``group``, all of one length, into the table."""
    window: ByteArray = np.ndarray((len(data) - length + 1, length), np.uint8, data, 0, (1, 1))
    matrix = window[places[group] + HEADER_BYTES]
    intact = checksums_fit(data, places[group], length) if verify else np.ones(len(group), bool)
    known: dict[int, ScalarSpan | None] = {}

    def parsed(row: int) -> ScalarSpan | None:
        if row not in known:
            known[row] = scalar_at(data, int(places[group[row]]), length, plugins, verify)
        return known[row]

    rows = np.arange(len(group))
    tries = _TRIES
    while len(rows):
        span = parsed(int(rows[0]))
        if span is None or span.step_width > 8 or not tries:
            if span is not None:
                table.add_one(span, int(group[rows[0]]))
            rows = rows[1:]
            continue

        shape = _Shape.of(span)
        alike = shape.alike(matrix[rows] if len(rows) < len(matrix) else matrix)
        chosen = rows[alike]
        part = matrix[chosen] if len(chosen) < len(matrix) else matrix
        first, layout, same = shape.layouts(part)
        members = np.full((len(first), len(shape.numbers)), -1)
        for number, row in enumerate(chosen[first].tolist()):
            other = parsed(row)
            if other is not None and _Shape.of(other) == shape:
                members[number] = table.members_of(other)

        same &= (members[:, 0] >= 0)[layout] & intact[chosen]
        if not same.all():
            part = part[same]
            layout = layout[same]
            chosen = chosen[same]
            alike[alike] = same
        records = group[chosen]
        table.step[records] = shape.steps(part)
        table.bits[records] = np.ascontiguousarray(part[:, 1:9]).view("<i8")[:, 0]
        table.scalars[records] = True
        for column, (kind, place) in enumerate(shape.numbers):
            content = np.ascontiguousarray(part[:, place : place + WIDTH[kind]])
            numbers = content.view(f"<{kind}")[:, 0].astype(np.float64)
            numbers *= 1  # as in a template
            table.points.append((records, members[layout, column], numbers))
        tries -= len(chosen) < _WORTH
        rows = rows[~alike]


class _Shape(NamedTuple):
    """Where the fields of a record are: the same in all records of one length and shape."""

    step_width: int
    numbers: tuple[tuple[str, int], ...]
    """Kind of each scalar, and its place in the payload."""

    @classmethod
    def of(cls, span: ScalarSpan) -> _Shape:
        """The shape of a record."""
        payload = span.start + HEADER_BYTES
        return cls(span.step_width, tuple((s.kind, s.pos - payload) for s in span.scalars))

    def alike(self, part: ByteArray) -> BoolArray:
        """(n,) whether each row has a step as wide as row 0, and the same bytes around its
        numbers: a guess that they have the same shape."""
        around = {place - 1 for _, place in self.numbers}
        around |= {place + WIDTH[kind] for kind, place in self.numbers}
        same: BoolArray = part[:, 9] == part[0, 9]
        for byte in range(10, 10 + self.step_width):
            same &= (part[:, byte] ^ part[0, byte]) < 0x80
        for byte in around & set(range(part.shape[1])):
            same &= part[:, byte] == part[0, byte]
        return same

    def layouts(self, part: ByteArray) -> tuple[IntArray, IntArray, BoolArray]:
        """The first row of each layout (tag, or tags), the number of each row's layout, and
        whether each row really equals the first one of its layout in all but time, step and value.

        Layouts are told apart by a hash, hence only guessed.
        """
        size = part.shape[1]
        words = -(-size // 8)
        mask = np.full(size, 0xFF, np.uint8)
        mask[1:9] = 0
        mask[10 : 10 + self.step_width] = 0x80
        for kind, place in self.numbers:
            mask[place : place + WIDTH[kind]] = 0
        padded = np.zeros((len(part), 8 * words), np.uint8)
        np.bitwise_and(part, mask, out=padded[:, :size])
        content = padded.view(np.uint64)
        _, first, layout = np.unique(
            content @ _WEIGHTS[:words], return_index=True, return_inverse=True
        )
        return first, layout, (content == content[first[layout]]).all(axis=1)

    def steps(self, part: ByteArray) -> IntArray:
        """(n,) the step of each row."""
        steps = np.zeros(len(part), np.int64)
        for byte in range(self.step_width):
            steps |= (part[:, 10 + byte] & 0x7F).astype(np.int64) << (7 * byte)
        return steps
