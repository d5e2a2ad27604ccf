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
)

ByteArray = NDArray[np.uint8]

#: Longer records are not compared.
_MAX_LENGTH = 1 << 12
#: Odd multipliers for the hash of a row, by Weyl's sequence of the golden ratio.
_WEIGHTS = np.arange(1, _MAX_LENGTH // 8 + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
_WEIGHTS |= np.uint64(1)
#: Record shapes with few records that are tried, of one length, before they are read one by one.
_TRIES, _WORTH = 16, 32


class Scan(NamedTuple):
    """What a scan passed on."""

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
        self._records: list[IntArray] = []
        self._members: list[IntArray] = []
        self._numbers: list[FloatArray] = []

    def members_of(self, span: ScalarSpan) -> list[int]:
        """The number of the tag of each scalar of a record."""
        self.doubles.update(s.tag for s in span.scalars if s.kind == DOUBLE)
        return [self.tags.setdefault(s.tag, len(self.tags)) for s in span.scalars]

    def add(self, records: IntArray, steps: IntArray, bits: IntArray) -> None:
        """The step and wall time of records (n,)."""
        self.step[records], self.bits[records] = steps, bits
        self.scalars[records] = True

    def add_numbers(self, records: IntArray, members: IntArray, numbers: FloatArray) -> None:
        """One scalar of each of the records (n,)."""
        self._records.append(records)
        self._members.append(members)
        self._numbers.append(numbers)

    def add_one(self, span: ScalarSpan, record: int) -> None:
        """One record with its scalars."""
        self.add(np.array([record]), np.array([span.step]), np.array([span.bits]))
        numbers = np.array([scalar.number for scalar in span.scalars])
        self.add_numbers(np.full(len(numbers), record), np.array(self.members_of(span)), numbers)

    def emit(self, walls: FloatArray, count: int, sink: RowSink) -> None:
        """Pass the points of each tag among the first ``count`` records to the sink, in order of
        first appearance."""
        members, records = np.concatenate(self._members), np.concatenate(self._records)
        order = np.argsort(members * len(self.step) + records)
        if count < len(self.step):
            order = order[records[order] < count]
        members, records = members[order], records[order]
        numbers = np.concatenate(self._numbers)[order]
        steps, times = self.step[records], walls[records]
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
    if not len(places):
        return None
    table = _RecordTable(len(places))
    for length in np.unique(lengths).tolist():
        group = np.flatnonzero(lengths == length)
        _read_length(data, places, group, length, plugins, table, verify)

    others: list[tuple[int, int]] = []
    count = len(places)
    for index in np.flatnonzero(~table.scalars).tolist():
        place, length = int(places[index]), int(lengths[index])
        if stops(data, place, length):
            count = index
            break
        others.append((place, length))

    if not count:
        return None
    stop = int(places[count - 1] + lengths[count - 1]) + FRAME_BYTES
    chosen = np.flatnonzero(table.scalars[:count])
    if len(chosen):
        steps, walls = table.step[chosen], np.zeros(len(places))
        bits = group_walls(steps, table.bits[chosen], step_group)
        walls[chosen] = bits.view(np.float64)
        step_group = StepGroup(int(steps[-1]), int(bits[-1]))
        table.emit(walls, count, sink)
    return Scan(len(chosen), others, stop, step_group)


def _chain(data: bytes, pos: int, end: int) -> tuple[IntArray, IntArray]:
    """Positions and payload lengths of the contiguous records from ``pos`` on."""
    window = np.frombuffer(data, np.uint8, end - pos, pos)
    span = len(window) - HEADER_BYTES
    nothing = np.empty(0, np.int64)
    if span <= 0:
        return nothing, nothing
    # a payload begins with the wall time's key, and its length is below 2**16
    places = np.flatnonzero(window[HEADER_BYTES:] == 0x09)
    for byte in (2, 3, 4, 5, 6, 7):
        places = places[window[places + byte] == 0]
    lengths = window[places].astype(np.int64) | (window[places + 1].astype(np.int64) << 8)
    stored = np.zeros(len(places), np.int64)
    for byte in range(4):
        stored |= window[places + 8 + byte].astype(np.int64) << (8 * byte)
    fit = lengths < _MAX_LENGTH
    fit &= places + lengths + FRAME_BYTES <= len(window)
    places, lengths, stored = places[fit], lengths[fit], stored[fit]
    known, which = np.unique(lengths, return_inverse=True)
    fit = np.array([length_crc(n) for n in known.tolist()], np.int64)[which] == stored
    places, lengths = places[fit], lengths[fit]
    if not len(places) or places[0] != 0:
        return nothing, nothing
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
    broken = ~checksums_fit(data, places[group], length) if verify else None
    known: dict[int, tuple[ScalarSpan, _Shape] | None] = {}

    def parsed(row: int) -> tuple[ScalarSpan, _Shape] | None:
        if row not in known:
            span = scalar_at(data, int(places[group[row]]), length, plugins, verify)
            known[row] = None if span is None else (span, _shape_of(span))
        return known[row]

    for rows in _by_width(matrix):
        tries = _TRIES
        while len(rows):
            first_row = parsed(int(rows[0]))
            if first_row is None or first_row[0].step_width > 8 or not tries:
                if first_row is not None:
                    table.add_one(first_row[0], int(group[rows[0]]))
                rows = rows[1:]
                continue
            shape = first_row[1]
            part = matrix if len(rows) == len(matrix) else matrix[rows]
            alike = _shaped_alike(part, shape)
            if not alike.all():
                part = part[alike]
            chosen = rows[alike]
            first, layout = _by_layout(part, shape)
            members = np.full((len(first), len(shape.numbers)), -1)
            for number, row in enumerate(chosen[first].tolist()):
                other = parsed(row)
                if other is not None and other[1] == shape:
                    members[number] = table.members_of(other[0])
            same = _equal_rows(part, first[layout], shape) & (members[:, 0] >= 0)[layout]
            if broken is not None:
                same &= ~broken[chosen]
            if not same.all():
                part, layout, chosen = part[same], layout[same], chosen[same]
                alike[alike] = same
            _enter(part, group[chosen], shape, members[layout], table)
            tries -= len(chosen) < _WORTH
            rows = rows[~alike]


def _enter(
    part: ByteArray, records: IntArray, shape: _Shape, members: IntArray, table: _RecordTable
) -> None:
    """Store rows (n,) of one shape; ``members`` is (n, m)."""
    step = np.zeros(len(part), np.int64)
    for byte in range(shape.step_width):
        step |= (part[:, 10 + byte] & 0x7F).astype(np.int64) << (7 * byte)
    bits = np.ascontiguousarray(part[:, 1:9]).view("<i8")[:, 0]
    table.add(records, step, bits)
    for column, (kind, place) in enumerate(shape.numbers):
        content = np.ascontiguousarray(part[:, place : place + WIDTH[kind]])
        numbers = content.view(f"<{kind}")[:, 0].astype(np.float64)
        table.add_numbers(records, members[:, column], numbers)


class _Shape(NamedTuple):
    """Two records of one length and shape have their fields at the same offsets."""

    step_width: int
    numbers: tuple[tuple[str, int], ...]
    """Kind of each scalar, and its place in the payload."""


def _shape_of(span: ScalarSpan) -> _Shape:
    """Where the fields of a record are."""
    payload = span.start + HEADER_BYTES
    return _Shape(span.step_width, tuple((s.kind, s.pos - payload) for s in span.scalars))


def _by_width(matrix: ByteArray) -> list[IntArray]:
    """Rows grouped by the width of their step and by whether they end in a simple value."""
    if matrix.shape[1] < 20:
        return [np.arange(len(matrix))]
    width = (matrix[:, 9] == 0x10).astype(np.int64)
    going = width.astype(bool)
    for byte in range(10, 19):
        going &= matrix[:, byte] >= 0x80
        if not going.any():
            break
        width += going

    kind = 2 * width + (matrix[:, -5] == 0x15)
    return [np.flatnonzero(kind == k) for k in np.unique(kind).tolist()]


def _shaped_alike(part: ByteArray, shape: _Shape) -> BoolArray:
    """(n,) whether the bytes around the numbers are those of row 0: a guess that the rows have
    their numbers at the same places, as records of one number usually have."""
    if len(shape.numbers) == 1:
        return np.ones(len(part), bool)
    around = {place - 1 for _, place in shape.numbers}
    around |= {place + WIDTH[kind] for kind, place in shape.numbers}
    columns = sorted(around & set(range(part.shape[1])))
    alike: BoolArray = np.logical_and.reduce([part[:, c] == part[0, c] for c in columns])
    return alike


def _by_layout(part: ByteArray, shape: _Shape) -> tuple[IntArray, IntArray]:
    """The first row of each layout (tag, or tags), and the number of each row's layout, by a hash
    of the bytes behind the step without the values.

    Only a guess: every row is compared afterwards with the first one of its layout.
    """
    begin = 9 + (1 + shape.step_width if shape.step_width else 0)
    words = -(-(part.shape[1] - begin) // 8)
    padded = np.zeros((len(part), 8 * words), np.uint8)
    padded[:, : part.shape[1] - begin] = part[:, begin:]
    for kind, place in shape.numbers:
        padded[:, place - begin : place - begin + WIDTH[kind]] = 0
    keys = padded.view(np.uint64) @ _WEIGHTS[:words]
    _, first, layout = np.unique(keys, return_index=True, return_inverse=True)

    return first, layout


def _equal_rows(part: ByteArray, like: IntArray, shape: _Shape) -> BoolArray:
    """(n,) whether each row equals row ``like`` in all but time, step and value."""
    mask = np.full(part.shape[1], 0xFF, np.uint8)
    mask[1:9] = 0
    mask[10 : 10 + shape.step_width] = 0x80
    for kind, place in shape.numbers:
        mask[place : place + WIDTH[kind]] = 0
    differs = part[like]
    differs ^= part
    differs &= mask
    same: BoolArray = np.logical_not(differs.any(axis=1))
    return same
