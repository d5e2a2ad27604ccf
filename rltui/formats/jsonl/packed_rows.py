"""Rows of one call of ``feed`` as packed doubles, until they become blocks."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from functools import lru_cache
from operator import itemgetter
from struct import Struct, error
from typing import Any

import numpy as np

from rltui.formats.row_sink import RowSink, layout_of


class Packing:
    """Packs a dict with exactly these keys, in any order, as a row of doubles."""

    def __init__(self, keys: tuple[str, ...]) -> None:
        self.size = len(keys)
        self.pack = Struct(f"{len(keys)}d").pack
        self.values: Callable[[dict[str, Any]], tuple[Any, ...]] = itemgetter(*keys)
        if self.size == 1:
            self.values = lambda row: (row[keys[0]],)

    def row(self, row: dict[str, Any]) -> bytes | None:
        """The packed row; None when it has other keys or a value that is not a number."""
        if len(row) != self.size:
            return None
        try:
            return self.pack(*self.values(row))
        except (KeyError, error, OverflowError):
            return None


def unpacked(row: bytes) -> tuple[float, ...]:
    """The doubles of a packed row."""
    return tuple(array("d", row))


@lru_cache(maxsize=256)
def _packing_of(keys: tuple[str, ...]) -> Packing | None:
    """None for no keys at all."""
    return Packing(keys) if keys else None


class PackedRows:
    """Rows with equal keys, gathered; owned by one decoder."""

    def __init__(self) -> None:
        self.keys: tuple[str, ...] = ()
        self.packing: Packing | None = None
        """That of the keys; None between two calls."""
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
            self.packing = _packing_of(self.keys)
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
            layout = layout_of(self.keys, np.float64)
            values = np.frombuffer(self.values)
            self.sink.rows(
                layout,
                np.array(self.steps, np.int64),
                np.array(self.walls),
                values.reshape(len(self.steps), len(self.keys)),
            )
        self.keys, self.packing = (), None
        self.steps, self.walls, self.values = [], [], bytearray()
