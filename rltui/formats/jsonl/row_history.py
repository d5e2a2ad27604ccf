"""Rows of one call until they become blocks, and what earlier rows say about a row: a key that is
measured now and then, a training that begins in the file of an earlier one, rows to be counted."""

from __future__ import annotations

from functools import lru_cache
from struct import Struct, error
from typing import Any

import numpy as np

from rltui.formats.row_sink import RowSink, layout_of, picker

#: Names remembered at most.
_MAX_NAMES = 10_000
#: Rows of a training at least, before another may begin.
_TRAINING = 5
#: Rows after which those that were counted stay counted.
_SETTLED = 200
#: An epoch that is the same in this many first rows is no step.
_CONSTANT = 16
KeptRow = tuple[tuple[str, ...], bytes, float]
"""Keys, packed values and wall time of a row."""


class Packing:
    """Packs a dict with exactly these keys, in any order, as a row of doubles."""

    def __init__(self, keys: tuple[str, ...]) -> None:
        self.size = len(keys)
        self.pack = Struct(f"{len(keys)}d").pack
        self.values = picker(keys)

    def row(self, row: dict[str, Any]) -> bytes | None:
        """The packed row; None when it has other keys or a value that is not a number."""
        if len(row) != self.size:
            return None
        try:
            return self.pack(*self.values(row))
        except (KeyError, error, OverflowError):
            return None


_packing_of = lru_cache(maxsize=256)(Packing)


class PackedRows:
    """Rows with equal keys as packed doubles; owned by one decoder."""

    def __init__(self) -> None:
        self.keys: tuple[str, ...] = ()
        self.packing: Packing | None = None
        """That of the keys; None between two calls, and for no keys at all."""
        self.steps: list[int] = []
        self.walls: list[float] = []
        self.values = bytearray()
        """One double for each row and key."""
        self.sink = RowSink()

    def turn_to(self, flat: dict[str, float]) -> bytes:
        """The packed row, whose keys are those of the next rows."""
        packed = self.packing.row(flat) if self.packing is not None else None
        if packed is None:
            self.flush()
            self.keys = tuple(flat)
            self.packing = _packing_of(self.keys) if flat else None
            packed = (self.packing.row(flat) if self.packing is not None else None) or b""
        return packed

    def add(self, step: int, wall: float, packed: bytes) -> None:
        """Add a row of the present keys."""
        self.steps.append(step)
        self.walls.append(wall)
        self.values += packed

    def restart(self, step: int) -> None:
        """The writer starts again at ``step``; the keys stay."""
        keys, packing = self.keys, self.packing
        self.flush()
        self.sink.restart(step)
        self.keys, self.packing = keys, packing

    def flush(self) -> None:
        """Pass the rows with equal keys to the sink."""
        if self.steps and self.keys:
            values = np.frombuffer(self.values).reshape(len(self.steps), len(self.keys))
            layout = layout_of(self.keys, np.float64)
            self.sink.rows(layout, np.array(self.steps, np.int64), np.array(self.walls), values)
        self.keys, self.packing = (), None
        self.steps, self.walls, self.values = [], [], bytearray()


class Gaps:
    """Distinguishes a null that is a gap from one that is NaN; owned by one decoder.

    A key that was null before it had a number is measured now and then (an evaluation): its null
    is a gap. After a number, null is a NaN that JSON cannot write.
    """

    def __init__(self) -> None:
        self._measured: set[str] = set()
        self._sparse: set[str] = set()

    def drop(self, row: dict[str, Any], flat: dict[str, float]) -> None:
        """Remove from the numbers of ``row`` what is not measured in it."""
        for name in [name for name in flat if row.get(name, 0) is None]:
            if name not in self._measured or name in self._sparse:
                if len(self._sparse) < _MAX_NAMES:
                    self._sparse.add(name)
                del flat[name]
        if len(self._measured) < _MAX_NAMES:
            self._measured.update(flat)


class RowOrder:
    """Detects a training that appends to the file of an earlier one: rows with the same keys
    fall back to the first step. Owned by one decoder."""

    def __init__(self) -> None:
        self._first: int | None = None
        self._newest: dict[tuple[str, ...], int] = {}
        """Newest step of the keys of other rows."""
        self._keys: tuple[str, ...] = ()
        self._step: int | None = None
        """Newest step of these."""
        self._rows = 0
        """Rows since the file or the training began."""

    def begins_again(self, keys: tuple[str, ...], step: int) -> bool:
        """Whether the next row, with these keys, is the first of another training."""
        if keys is not self._keys:  # a tuple that is compared by its identity costs nothing
            if self._step is not None and len(self._newest) < _MAX_NAMES:
                self._newest[self._keys] = self._step
            self._keys, self._step = keys, self._newest.pop(keys, None)

        newest, first = self._step, self._first
        self._step = step
        self._rows += 1
        if first is None or step < first:
            self._first = step
        if newest is None or newest <= step or first is None or step > first:
            return False
        if self._rows <= _TRAINING:
            return False
        self._newest, self._rows = {}, 0
        return True


class RowCount:
    """Decides whether the rows of a file are counted; owned by one decoder.

    They are where the first row with figures has no step. One of an epoch has that as its step,
    unless it stands still from the first row on.
    """

    def __init__(self) -> None:
        self.counting = False
        self._number = 0
        """Of the newest row."""
        self.epoch: int | None = None
        """That of the first rows; None where they have none, and may be counted."""
        self._kept: list[KeptRow] | None = []
        """The rows so far, while all have the same epoch."""
        self.stepless: list[int] | None = []
        """Where the counted rows are, as long as rows with steps may still follow."""

    def next(self, offset: int, *, for_good: bool) -> int:
        """Count a row; ``for_good``: although it has an epoch."""
        self.counting, self._kept = True, None
        self._number += 1
        if for_good or self._number > _SETTLED:
            self.stepless = None
        elif self.stepless is not None:
            self.stepless.append(offset)
        return self._number

    def stands_still(self, epoch: int, row: KeptRow) -> list[KeptRow]:
        """Take a row with an epoch; returns all rows so far where they are to be counted."""
        if self._kept is None or self.epoch not in (None, epoch):
            self._kept = None
            return []
        self.epoch = epoch
        self._kept.append(row)
        return self._kept if len(self._kept) >= _CONSTANT else []
