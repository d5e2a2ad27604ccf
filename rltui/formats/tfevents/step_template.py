"""The bytes of one logging step as a template for the steps that follow.

A training loop logs the same tags in the same order at every step, so the bytes of one step
repeat: only wall time, step, value and payload checksum change. The bytes behind a template
are viewed as rows of its length; OR and AND over the rows equal the template in all other
bytes if and only if every length, length checksum, key and tag byte does. The steps within a
row must be equal, which is checked for every record: otherwise values would silently be
stored at wrong steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rltui.core.block import BoolArray, IntArray
from rltui.formats.row_sink import Layout, RowSink, layout_of
from rltui.formats.tfevents.event_record import (
    DTYPES,
    SECOND_BITS,
    WIDTH,
    ScalarSpan,
    StepGroup,
    group_walls,
)
from rltui.formats.tfevents.framing import FRAME_BYTES, HEADER_BYTES, checksums_fit, is_intact

#: Bytes of rows compared at a time, so that they stay in the L2 cache.
_GROUP_BYTES = 1 << 18
#: First records with templates, and templates of each.
_MAX_KEYS = 512
_PER_KEY = 6


class StepTemplate:
    """One logged row. Immutable; shared by the decoders of all runs."""

    def __init__(self, data: bytes, spans: Sequence[ScalarSpan]) -> None:
        """``spans``: the records of the row in ``data``."""
        start = spans[0].start
        last = spans[-1]
        scalars = [scalar for span in spans for scalar in span.scalars]
        self.size = last.stop - start
        """Bytes of one row."""
        self.count, self.scalars = len(spans), len(scalars)
        """Records and values of one row."""
        self.free = all(s.free for s in spans)
        """Whether the records alone show that they have only scalars."""
        self._last = last.length
        self._width = last.step_width
        self._starts = np.array([s.start - start for s in spans])
        self._lengths = np.array([s.length for s in spans])
        self._walls = self._starts + HEADER_BYTES + 1
        self._steps = self._walls + 9

        self._mask = np.full(self.size, 0xFF, np.uint8)
        for span, wall in zip(spans, self._walls.tolist(), strict=True):
            self._mask[wall : wall + 8] = 0
            self._mask[wall + 9 : wall + 9 + self._width] = 0x80  # varint continuation bits
            self._mask[wall - 1 + span.length : wall + 3 + span.length] = 0
        for scalar in scalars:
            place = scalar.pos - start
            self._mask[place : place + WIDTH[scalar.kind]] = 0
        self._const = np.frombuffer(data, np.uint8, self.size, start) & self._mask

        self._values: list[tuple[Layout, IntArray, str]] = []
        for kind, dtype in DTYPES.items():
            if own := [s for s in scalars if s.kind == kind]:
                layout = layout_of(tuple(s.tag for s in own), dtype)
                self._values.append((layout, np.array([s.pos - start for s in own]), f"<{kind}"))

    def read(
        self, data: bytes, pos: int, step_group: StepGroup, verify: bool, sink: RowSink
    ) -> tuple[int, StepGroup]:
        """Pass the whole rows from ``pos`` on that equal the template to the sink; returns how many
        there are, and the group of the last one.

        They end before a row whose last record is not intact, or, with ``verify``, before one
        with a wrong checksum.
        """
        left = (len(data) - pos) // self.size
        chunk = 1
        size = self.size
        most = max(1, _GROUP_BYTES // size)
        rows = 0
        while left:
            chunk = min(chunk, left)
            count = self._equal_rows(data, pos, chunk)
            stop = pos + count * size  # of the last record of a row; the others are followed by one
            if count and not is_intact(data, stop - self._last - FRAME_BYTES, self._last):
                count -= 1
            if count and verify:
                begins = np.arange(pos, pos + count * size, size)[:, None]
                intact = np.ones(count, bool)
                for length in np.unique(self._lengths).tolist():
                    places = begins + self._starts[self._lengths == length]
                    fit = checksums_fit(data, places.reshape(-1), length)
                    intact &= fit.reshape(places.shape).all(axis=1)
                count = _leading(intact[:, None])
            if count:
                count, step_group = self._pass(data, pos, count, step_group, sink)
            rows += count
            if count < chunk:
                break
            pos += count * size
            left -= count
            chunk = min(most, chunk * 8)
        return rows, step_group

    def _equal_rows(self, data: bytes, pos: int, count: int) -> int:
        """How many of the next ``count`` rows equal the template in all constant bytes."""
        rows = np.frombuffer(data, np.uint8, count * self.size, pos).reshape(count, self.size)
        if count > 1:
            low = np.bitwise_and.reduce(rows, axis=0)
            high = np.bitwise_or.reduce(rows, axis=0)
            low &= self._mask
            high &= self._mask
            if np.array_equal(low, self._const) and np.array_equal(high, self._const):
                return count
        return _leading((rows & self._mask) == self._const)

    def _pass(
        self, data: bytes, pos: int, count: int, step_group: StepGroup, sink: RowSink
    ) -> tuple[int, StepGroup]:
        """Pass steps, wall times and values of ``count`` equal rows, up to one with mixed steps
        or with wall times of more than a second."""
        steps = np.zeros(count, np.int64)
        if self._width:
            word, mask = ("<u4", 32) if self._width <= 4 else ("<u8", 64)
            raw = self._gather(data, pos, count, self._steps, word)
            if 8 * self._width < mask:
                raw &= raw.dtype.type((1 << (8 * self._width)) - 1)
            count = _leading(raw == raw[:, :1])
            if not count:
                return 0, step_group
            first = raw[:count, 0].astype(np.int64)
            steps = steps[:count]
            for byte in range(self._width):
                steps |= ((first >> (8 * byte)) & 0x7F) << (7 * byte)

        bits = self._gather(data, pos, count, self._walls, "<i8")
        walls = group_walls(steps, bits[:, 0], step_group)
        near = (bits - walls[:, None] + (SECOND_BITS - 1)).view(np.uint64) < 2 * SECOND_BITS - 1
        count = _leading(near)
        if not count:
            return 0, step_group

        steps = steps[:count]
        walls = np.ascontiguousarray(walls[:count])
        for layout, places, word in self._values:
            values = self._gather(data, pos, count, places, word)
            values *= 1  # quiets signaling NaNs: numpy would warn wherever they are used
            sink.rows(layout, steps, walls.view(np.float64), values)
        return count, StepGroup(int(steps[-1]), int(walls[-1]))

    def _gather(
        self, data: bytes, pos: int, count: int, places: IntArray, word: str
    ) -> NDArray[Any]:
        """(count, m) words at ``places`` of each row.

        In this overlapping view every byte of a row begins a word, so that numpy can gather
        words that are not aligned.
        """
        wide = int(word[-1])
        view: NDArray[Any] = np.ndarray(
            (count, self.size - wide + 1), word, data, pos, (self.size, 1)
        )
        return view[:, places]


def _leading(wanted: BoolArray) -> int:
    """How many rows of (n, m) are all true, before the first one that is not."""
    fit = np.logical_and.reduce(wanted, axis=1)
    return len(wanted) if fit.all() else int(fit.argmin())


class TemplateCache:
    """Templates by the tag and payload length of their first record, a few for each."""

    def __init__(self) -> None:
        self._known: dict[tuple[bytes, int], tuple[StepTemplate, ...]] = {}

    def get(self, key: tuple[bytes, int]) -> tuple[StepTemplate, ...]:
        """Templates whose first record has this tag and payload length, longest first."""
        return self._known.get(key, ())

    def add(self, key: tuple[bytes, int], template: StepTemplate) -> None:
        """Keep a template; when its key has too many, the shortest is dropped."""
        kept = self._known.get(key, ())
        if len(kept) >= _PER_KEY:
            kept = tuple(t for t in kept if t is not min(kept, key=lambda t: t.size))
        self._known[key] = tuple(sorted((*kept, template), key=lambda t: -t.size))
        if len(self._known) > _MAX_KEYS:
            self._known.pop(next(iter(self._known)))
