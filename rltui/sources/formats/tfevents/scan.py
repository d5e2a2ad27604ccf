"""Many records at once, in any order: for files whose steps do not repeat (floor 2).

Record headers are found with numpy (their checksums make them certain), records of equal
length and equal constant bytes are one tag, and the fields of a tag are taken as columns.
About 0.4 us a scalar whatever the order; templates are ten times faster where they fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rltui.core.block import BoolArray, FloatArray, IntArray, ValueArray
from rltui.sources.formats.rows import Layout, layout_of
from rltui.sources.formats.tfevents.framing import FRAME_BYTES, HEADER_BYTES, length_crc
from rltui.sources.formats.tfevents.moment import BEGINNING, SECOND_BITS, Moment
from rltui.sources.formats.tfevents.record import DOUBLE
from rltui.sources.formats.tfevents.spot import Spot, spot_at

ByteArray = NDArray[np.uint8]

#: Longer records end a scan: they are no scalars.
_MAX_LENGTH = 1 << 12
#: Odd multipliers for the hash of a row, by Weyl's sequence of the golden ratio.
_WEIGHTS = (np.arange(1, _MAX_LENGTH, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)) | np.uint64(
    1
)


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """All points of one tag and type within a scan, in file order: arrays (n,)."""

    layout: Layout
    steps: IntArray
    walls: FloatArray
    values: ValueArray


@dataclass(frozen=True, slots=True, eq=False)
class Scan:
    """What a scan found."""

    columns: tuple[Column, ...]
    records: int
    """Scalar records."""
    others: tuple[tuple[int, int], ...]
    """(position, payload length) of records that are no plain scalars."""
    stop: int
    """Position behind the last record."""
    moment: Moment


class _Table:
    """The fields of the records, filled group by group; one entry per record."""

    def __init__(self, count: int) -> None:
        self.step = np.zeros(count, np.int64)
        self.bits = np.zeros(count, np.int64)
        self.number = np.zeros(count)
        self.scalar = np.zeros(count, bool)
        self.members: dict[tuple[bytes, str], list[IntArray]] = {}


def scan(
    data: bytes,
    pos: int,
    limit: int,
    moment: Moment,
    plugins: Mapping[bytes, bytes],
    stops: Callable[[bytes, int, int], bool],
) -> Scan | None:
    """Scalar records from ``pos`` on, as far as they follow each other within ``limit`` bytes.

    ``stops(data, position, length)`` says of a record that is no plain scalar whether the scan must
    end before it. None when nothing could be read.
    """
    places, lengths = _chain(data, pos, min(len(data), pos + limit))
    if not len(places):
        return None
    table = _Table(len(places))
    for length in np.unique(lengths).tolist():
        _read_length(data, places, np.flatnonzero(lengths == length), length, plugins, table)
    others: list[tuple[int, int]] = []
    count = len(places)
    for index in np.flatnonzero(~table.scalar).tolist():
        place, length = int(places[index]), int(lengths[index])
        if stops(data, place, length):
            count = index
            break
        others.append((place, length))
    if not count:
        return None
    stop = int(places[count - 1] + lengths[count - 1]) + FRAME_BYTES
    chosen = np.flatnonzero(table.scalar[:count])
    walls = np.zeros(len(places))
    if len(chosen):
        anchors, moment = _moments(table.step[chosen], table.bits[chosen], moment)
        walls[chosen] = anchors.view(np.float64)
    columns = tuple(_columns(table, walls, count))
    return Scan(columns, len(chosen), tuple(others), stop, moment)


def _chain(data: bytes, pos: int, end: int) -> tuple[IntArray, IntArray]:
    """Positions and payload lengths of the records that follow each other from ``pos`` on."""
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
    told = np.zeros(len(places), np.int64)
    for byte in range(4):
        told |= window[places + 8 + byte].astype(np.int64) << (8 * byte)
    fit = lengths < _MAX_LENGTH
    fit &= places + lengths + FRAME_BYTES <= len(window)
    places, lengths, told = places[fit], lengths[fit], told[fit]
    known, which = np.unique(lengths, return_inverse=True)
    fit = np.array([length_crc(n) for n in known.tolist()], np.int64)[which] == told
    places, lengths = places[fit], lengths[fit]
    if not len(places) or places[0] != 0:
        return nothing, nothing
    behind = places + lengths + FRAME_BYTES
    broken = np.flatnonzero(behind[:-1] != places[1:])
    count = int(broken[0]) + 1 if len(broken) else len(places)
    return places[:count] + pos, lengths[:count]


def _read_length(
    data: bytes,
    places: IntArray,
    group: IntArray,
    length: int,
    plugins: Mapping[bytes, bytes],
    table: _Table,
) -> None:
    """Read the records ``group``, all of one length, into the table."""
    window: ByteArray = np.ndarray((len(data) - length + 1, length), np.uint8, data, 0, (1, 1))
    matrix = window[places[group] + HEADER_BYTES]
    pending = [p for like in _alike(matrix) for p in _by_key(matrix, like)]
    while pending:
        rows = pending.pop()
        place = int(places[group[rows[0]]])
        spot = spot_at(data, place, length, plugins)
        if spot is None or spot.step_width > 8:
            same = np.zeros(len(rows), bool)
            same[0] = True
            if spot is not None:
                _enter_one(spot, group[rows[:1]], table)
        else:
            part = matrix if len(rows) == len(matrix) else matrix[rows]
            same = _equal(part, spot, place)
            _enter(part[same], group[rows[same]], spot, place, table)
        if not same.all():
            pending.append(rows[~same])


def _alike(matrix: ByteArray) -> list[IntArray]:
    """Rows apart by the width of their step and by whether they end in a simple value."""
    if matrix.shape[1] < 20:
        return [np.arange(len(matrix))]
    width = (matrix[:, 9] == 0x10).astype(np.int64)
    going = width.astype(bool)
    for byte in range(10, 19):
        going &= matrix[:, byte] >= 0x80
        width += going
    kind = 2 * width + (matrix[:, -5] == 0x15)
    return [np.flatnonzero(kind == k) for k in np.unique(kind).tolist()]


def _by_key(matrix: ByteArray, rows: IntArray) -> list[IntArray]:
    """Rows apart by a hash of the bytes behind the step and before a simple value.

    Only a guess to have few tags in one group: every row is compared afterwards.
    """
    if len(rows) <= 2 or matrix.shape[1] < 32:
        return [rows]
    first = matrix[rows[0]]
    begin = 9
    if first[9] == 0x10:
        begin = 11 + int((first[10:20] < 0x80).argmax())
    end = matrix.shape[1] - 4
    words = -(-(end - begin) // 8)
    padded = np.zeros((len(rows), 8 * words), np.uint8)
    padded[:, : end - begin] = matrix[rows, begin:end]
    keys = (padded.view(np.uint64) * _WEIGHTS[:words]).sum(axis=1)
    order = np.argsort(keys, kind="stable")
    cuts = np.flatnonzero(np.diff(keys[order])) + 1
    return [rows[part] for part in np.split(order, cuts)]


def _equal(part: ByteArray, spot: Spot, place: int) -> BoolArray:
    """Which rows equal the first one in everything but time, step and value."""
    mask = np.full(part.shape[1], 0xFF, np.uint8)
    mask[1:9] = 0
    mask[10 : 10 + spot.step_width] = 0x80
    value = spot.value_pos - place - HEADER_BYTES
    mask[value : value + (8 if spot.kind == DOUBLE else 4)] = 0
    same: BoolArray = ((part & mask) == (part[0] & mask)).all(axis=1)
    return same


def _enter(part: ByteArray, records: IntArray, spot: Spot, place: int, table: _Table) -> None:
    """Put equal rows into the table."""
    step = np.zeros(len(part), np.int64)
    for byte in range(spot.step_width):
        step |= (part[:, 10 + byte] & 0x7F).astype(np.int64) << (7 * byte)
    value = spot.value_pos - place - HEADER_BYTES
    size, word = (8, "<f8") if spot.kind == DOUBLE else (4, "<f4")
    table.step[records] = step
    table.bits[records] = np.ascontiguousarray(part[:, 1:9]).view("<i8")[:, 0]
    numbers = np.ascontiguousarray(part[:, value : value + size]).view(word)[:, 0]
    table.number[records] = numbers
    _note_members(spot, records, table)


def _enter_one(spot: Spot, record: IntArray, table: _Table) -> None:
    table.step[record] = spot.step
    table.bits[record] = spot.bits
    table.number[record] = spot.value
    _note_members(spot, record, table)


def _note_members(spot: Spot, records: IntArray, table: _Table) -> None:
    table.scalar[records] = True
    table.members.setdefault((spot.tag, spot.kind), []).append(records)


def _moments(steps: IntArray, bits: IntArray, moment: Moment) -> tuple[IntArray, Moment]:
    """Wall time (bits) of the moment of each record, and the last moment."""
    begins = np.ones(len(steps), bool)
    begins[1:] = steps[1:] != steps[:-1]
    begins[0] = not (moment.open and moment.step == steps[0])
    rows = np.arange(len(steps))
    firsts = np.maximum.accumulate(np.where(begins, rows, -1))
    walls = np.where(firsts < 0, moment.bits, bits[firsts])
    near = (bits - walls + (SECOND_BITS - 1)).view(np.uint64) < 2 * SECOND_BITS - 1
    # equal steps that stretch over more than a second are several moments
    for first in np.unique(firsts[~near]).tolist():
        segment = rows[np.searchsorted(firsts, first) : np.searchsorted(firsts, first, "right")]
        inner = moment if first < 0 else BEGINNING
        for row, wall in zip(segment.tolist(), bits[segment].tolist(), strict=True):
            inner = inner.next(int(steps[row]), wall)
            walls[row] = inner.bits
    return walls, Moment(int(steps[-1]), int(walls[-1]))


def _columns(table: _Table, walls: FloatArray, count: int) -> Iterator[Column]:
    for (tag, kind), groups in table.members.items():
        records = np.sort(np.concatenate(groups)) if len(groups) > 1 else groups[0]
        records = records[: np.searchsorted(records, count)]
        if not len(records):
            continue
        dtype = np.float64 if kind == DOUBLE else np.float32
        values = table.number[records].astype(dtype)[:, None]
        yield Column(layout_of((tag,), dtype), table.step[records], walls[records], values)
