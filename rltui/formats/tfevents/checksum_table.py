"""The checksums of all records of many rows that equal a template.

Only the bytes that change from row to row are looked up: those of wall time, step and value;
what the others contribute is known once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rltui.core.block import BoolArray, IntArray
from rltui.formats.tfevents.checksum import (
    ByteArray,
    WordArray,
    long_crc,
    table_of,
    unmasked,
)


@dataclass(frozen=True, slots=True, eq=False)
class Fields:
    """Where the m records of a row have what changes: places (m,) from the row's beginning."""

    walls: IntArray
    """The wall time, the second byte of the payload."""
    step_width: int
    """Bytes of the step; its first byte is 9 behind that of the wall time."""
    values: IntArray
    doubles: BoolArray
    """Which values are doubles; the others are floats."""
    ends: IntArray
    """Where the payload ends and its checksum begins."""


class Proof:
    """Belongs to one template; immutable."""

    #: Longer payloads are no scalars; the table would be large.
    MAX_PAYLOAD = 4096

    def __init__(self, const: ByteArray, fields: Fields) -> None:
        """``const``: the bytes of the template's row, zero where they change."""
        self._size = len(const)
        self._ends = fields.ends
        begins = fields.walls - 1
        self._table = table_of(int((fields.ends - begins).max()))
        whole, spans = const.tobytes(), zip(begins.tolist(), fields.ends.tolist(), strict=True)
        base = np.array([long_crc(whole[begin:end]) for begin, end in spans], np.uint32)
        self._base: WordArray = base[:, None]
        self._words: list[tuple[IntArray, list[IntArray], slice | IntArray]] = []
        """Places of words that change, the offsets in the table of each of their bytes, and
        which records have them."""
        everyone = slice(None)
        self._add(fields.walls, 4, everyone)
        self._add(fields.walls + 4, 4, everyone)
        self._add(fields.walls + 9, min(4, fields.step_width), everyone)
        self._add(fields.walls + 13, max(0, fields.step_width - 4), everyone)
        self._add(fields.values, 4, everyone)
        doubles = np.flatnonzero(fields.doubles)
        chosen = everyone if fields.doubles.all() else doubles
        self._add(fields.values[chosen] + 4, 4 if len(doubles) else 0, chosen)

    def _add(self, places: IntArray, width: int, chosen: slice | IntArray) -> None:
        if len(places) and width:
            first = 256 * (self._ends[chosen] - 1 - places)
            offsets = [(first - 256 * byte)[:, None] for byte in range(width)]
            self._words.append((places, offsets, chosen))

    def sound(self, data: bytes, pos: int, count: int) -> int:
        """How many of ``count`` rows from ``pos`` on come before one with a wrong checksum."""
        rows: WordArray = np.ndarray((self._size - 3, count), "<u4", data, pos, (1, self._size))
        crcs = unmasked(rows[self._ends])
        crcs ^= self._base
        for places, offsets, chosen in self._words:
            words = rows[places]
            if (words == words[:, :1]).all():
                words = np.ascontiguousarray(words[:, :1])
            content = words.view(np.uint8).reshape(*words.shape, 4)
            share = self._table.take(content[..., 0] + offsets[0], mode="clip")
            for byte in range(1, len(offsets)):
                share ^= self._table.take(content[..., byte] + offsets[byte], mode="clip")
            crcs[chosen] ^= share
        wrong = crcs.any(axis=0)
        return int(wrong.argmax()) if wrong.any() else count
