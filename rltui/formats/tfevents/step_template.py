"""The bytes of one logging step as a template for the steps that follow.

A training loop logs the same tags in the same order at every step, so the bytes of one step
repeat: only wall time, step, value and payload checksum change. The bytes behind a template
are viewed as rows of its length; OR and AND over the rows equal the template in every other
byte if and only if every length, length checksum, key and tag byte does. Steps must agree
within a row, which is checked for every record: otherwise values would land at wrong steps
and nobody would notice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rltui.core.block import FloatArray, IntArray, ValueArray
from rltui.formats.row_sink import Layout, layout_of
from rltui.formats.tfevents.checksum import believed
from rltui.formats.tfevents.checksum_table import Fields, Proof
from rltui.formats.tfevents.event_record import DOUBLE, FLOAT
from rltui.formats.tfevents.framing import FRAME_BYTES, HEADER_BYTES
from rltui.formats.tfevents.scalar_span import Spot
from rltui.formats.tfevents.step_group import SECOND_BITS, Moment

#: Bytes of rows that are compared at a time: they stay in the second level cache.
_GROUP_BYTES = 1 << 18
_WIDTH = {FLOAT: 4, DOUBLE: 8}


@dataclass(frozen=True, slots=True, eq=False)
class Match:
    """k rows that equal a template: steps and wall times (k,), values per layout (k, m)."""

    steps: IntArray
    walls: FloatArray
    parts: tuple[tuple[Layout, ValueArray], ...]
    moment: Moment
    """The moment that the last row belongs to."""


@dataclass(frozen=True, slots=True, eq=False)
class _Face:
    """The values of one type within a template."""

    layout: Layout
    places: IntArray
    dtype: str


class Template:
    """Immutable, but for its proof; shared by the decoders of all runs."""

    def __init__(self, data: bytes, spots: Sequence[Spot]) -> None:
        start = spots[0].start
        last = spots[-1]
        self.size = last.start + last.length + FRAME_BYTES - start
        """Bytes of one row."""
        self.count = len(spots)
        """Records (and tags) of one row."""
        self._last = last.length
        self.free = all(s.free for s in spots)
        self._width = last.step_width
        self._const = np.frombuffer(data, np.uint8, self.size, start).copy()
        self._mask = np.full(self.size, 0xFF, np.uint8)
        walls = []
        for spot in spots:
            payload = spot.start - start + HEADER_BYTES
            value = spot.value_pos - start
            walls.append(payload + 1)
            self._mask[payload + 1 : payload + 9] = 0
            self._mask[payload + 10 : payload + 10 + self._width] = 0
            self._mask[value : value + _WIDTH[spot.kind]] = 0
            self._mask[payload + spot.length : payload + spot.length + 4] = 0
        self._const &= self._mask
        self._ends = np.array([s.stop - start - 4 for s in spots])
        """Where the payloads end."""
        self._values = np.array([s.value_pos - start for s in spots])
        self._doubles = np.array([s.kind == DOUBLE for s in spots])
        self._proven: Proof | None = None
        self._walls = np.array(walls)
        self._steps = self._walls + 9
        self._faces = tuple(
            _Face(
                layout_of(tuple(s.tag for s in spots if s.kind == kind), dtype),
                np.array([s.value_pos - start for s in spots if s.kind == kind]),
                word,
            )
            for kind, dtype, word in ((FLOAT, np.float32, "<u4"), (DOUBLE, np.float64, "<u8"))
            if any(s.kind == kind for s in spots)
        )

    @staticmethod
    def fits(spots: Sequence[Spot]) -> bool:
        """Whether a template can be made: a step of more than 8 bytes (negative) cannot, and a
        tag that is not worth a table of checksums."""
        return spots[0].step_width <= 8 and max(s.length for s in spots) <= Proof.MAX_PAYLOAD

    @property
    def _proof(self) -> Proof:
        """Made when it is first asked for: checksums are seldom verified."""
        if self._proven is None:
            fields = Fields(self._walls, self._width, self._values, self._doubles, self._ends)
            self._proven = Proof(self._const, fields)
        return self._proven

    def rows(
        self, data: bytes, pos: int, end: int, moment: Moment, verify: bool = False
    ) -> Iterator[Match]:
        """The whole rows from ``pos`` on that equal the template, group by group.

        They end before a row whose last record is not to be believed, or, if ``verify``, with
        a wrong checksum.
        """
        left, group, size = (end - pos) // self.size, 1, self.size
        most = max(1, _GROUP_BYTES // size)
        while left:
            group = min(group, left)
            fitting = self._equal_rows(data, pos, group)
            if fitting and not self._ends_well(data, pos + fitting * size):
                fitting -= 1
            if fitting and verify:
                fitting = self._proof.sound(data, pos, fitting)
            match = self._take(data, pos, fitting, moment) if fitting else None
            if match is None:
                return
            yield match
            taken = len(match.steps)
            if taken < group:
                return
            moment = match.moment
            pos += taken * size
            left -= taken
            group = min(most, group * 8)

    def _equal_rows(self, data: bytes, pos: int, group: int) -> int:
        """How many of the next ``group`` rows equal the template in all constant bytes."""
        rows = np.frombuffer(data, np.uint8, group * self.size, pos).reshape(group, self.size)
        if group == 1:
            return int(not ((rows[0] & self._mask) != self._const).any())
        low = np.bitwise_and.reduce(rows, axis=0)
        high = np.bitwise_or.reduce(rows, axis=0)
        low &= self._mask
        high &= self._mask
        if np.array_equal(low, self._const) and np.array_equal(high, self._const):
            return group
        wrong = ((rows & self._mask) != self._const).any(axis=1)
        return int(wrong.argmax())

    def _ends_well(self, data: bytes, stop: int) -> bool:
        """Whether the last record of a row is to be believed; the others are followed by one."""
        length = self._last
        return believed(data, stop - length - FRAME_BYTES, length)

    def _take(self, data: bytes, pos: int, count: int, moment: Moment) -> Match | None:
        """Steps, wall times and values of ``count`` equal rows; fewer where a row is mixed."""
        steps, count = self._row_steps(data, pos, count)
        if not count:
            return None
        bits = self._gather(data, pos, count, self._walls, "<i8")
        anchors = _anchors(steps[:count], bits[:, 0], moment)
        near = (bits - anchors[:, None] + (SECOND_BITS - 1)).view(np.uint64) < 2 * SECOND_BITS - 1
        if not near.all():
            count = int((~near.all(axis=1)).argmax())
            if not count:
                return None
        anchors = np.ascontiguousarray(anchors[:count])
        parts = tuple(
            (f.layout, self._gather(data, pos, count, f.places, f.dtype).view(f.layout.dtype))
            for f in self._faces
        )
        last = Moment(int(steps[count - 1]), int(anchors[-1]))
        return Match(steps[:count], anchors.view(np.float64), parts, last)

    def _row_steps(self, data: bytes, pos: int, count: int) -> tuple[IntArray, int]:
        """Step of each row (count,) and the number of rows before one with mixed steps."""
        width = self._width
        if not width:
            return np.zeros(count, np.int64), count
        word, size = ("<u4", 4) if width <= 4 else ("<u8", 8)
        raw = self._gather(data, pos, count, self._steps, word)
        if width < size:
            raw &= raw.dtype.type((1 << (8 * width)) - 1)
        same = raw == raw[:, :1]
        if not same.all():
            count = int((~same.all(axis=1)).argmax())
        first = raw[:count, 0].astype(np.int64)
        steps = np.zeros(count, np.int64)
        for byte in range(width):
            steps |= ((first >> (8 * byte)) & 0x7F) << (7 * byte)
        return steps, count

    def _gather(
        self, data: bytes, pos: int, count: int, places: IntArray, word: str
    ) -> NDArray[Any]:
        """(count, m) words at ``places`` of each row.

        Every byte of the rows starts a word in this view (it overlaps itself), so that numpy
        can gather words that are not aligned.
        """
        wide = int(word[-1])
        view: NDArray[Any] = np.ndarray(
            (count, self.size - wide + 1), word, data, pos, (self.size, 1)
        )
        return view[:, places]


def _anchors(steps: IntArray, walls: IntArray, moment: Moment) -> IntArray:
    """The wall time (bits) at which the moment of each row began (see rows.Moment)."""
    anchors: IntArray = walls.copy()
    if steps[0] != moment.step and not (steps[1:] == steps[:-1]).any():
        return anchors
    for row, (step, wall) in enumerate(zip(steps.tolist(), walls.tolist(), strict=True)):
        moment = moment.next(step, wall)
        anchors[row] = moment.bits
    return anchors


class TemplateCache:
    """Templates by the first bytes of their first record; a few per beginning."""

    _PER_KEY = 6

    def __init__(self) -> None:
        self._known: dict[tuple[bytes, int], tuple[Template, ...]] = {}

    def get(self, key: tuple[bytes, int]) -> tuple[Template, ...]:
        """Templates whose first record has this tag and payload length, longest first."""
        return self._known.get(key, ())

    def add(self, key: tuple[bytes, int], template: Template) -> None:
        """Keep a template; the oldest of its key goes when there are too many."""
        kept = self._known.get(key, ())
        if len(kept) >= self._PER_KEY:
            kept = tuple(t for t in kept if t is not min(kept, key=lambda t: t.size))
        self._known[key] = tuple(sorted((*kept, template), key=lambda t: -t.size))
        if len(self._known) > _MAX_KEYS:
            self._known.pop(next(iter(self._known)))


_MAX_KEYS = 512
