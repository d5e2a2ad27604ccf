"""Rows of logs without steps, numbered: a writer that was given no step, or the time in its place.

``add_scalar`` without a step writes 0 into each event; MLflow and own loops are given milliseconds
since the epoch. Both are no axis: points of a tag are counted, from 1.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from rltui.core.batch import Restart, blocks_in
from rltui.core.block import Block, BoolArray, IntArray
from rltui.formats.base import Decoded

Item = Block | Restart
#: Points of one tag at step 0 that show that there is no step, and after which that stands.
_LEAST = 4
_SETTLED = 200
#: Seconds of the years 2014 to 2039, and by how much steps may be off the times of their rows.
_FROM = 1.4e9
_TO = 2.2e9
_NEAR_S = 2 * 86400.0
_UNITS = (1.0, 1e3, 1e6, 1e9)


class RowNumbers:
    """Numbers the rows of one source if its steps are none. Owned by one feed."""

    def __init__(self) -> None:
        self._kept: list[Item] | None = []
        """Items so far, as long as steps may still show that they are some."""
        self._counts: Counter[str] = Counter()
        self._numbering = self._returned = False

    def of(self, decoded: Decoded) -> Decoded:
        """Add row numbers to what was decoded where there are no steps."""
        if decoded.replaces:
            self._kept = []
            self._numbering = False
            self._counts.clear()
        items = decoded.items
        if not items or decoded.lanes.tags or (self._kept is None and not self._numbering):
            return decoded
        blocks = blocks_in(items)
        if self._kept is not None:
            before = self._numbering
            self._kept += items
            if not all(map(_is_stepless, blocks)):
                items = tuple(self._kept)
                self._kept = None
                self._numbering = False
                return replace(decoded, items=items, replaces=True) if before else decoded
            self._numbering = before or self._is_plain(blocks)
            if self._numbering and not before:
                items = tuple(self._kept)
                self._counts = Counter()
        returned = self._returned
        self._returned = True
        if not self._numbering:
            return decoded
        numbered = tuple(part for item in items for part in self._numbered(item))
        if max(self._counts.values(), default=0) >= _SETTLED:
            self._kept = None
        fresh = returned and len(items) > len(decoded.items)

        return replace(
            decoded,
            items=numbered,
            replaces=decoded.replaces or fresh,
            steps_are_row_numbers=True,
        )

    def _is_plain(self, blocks: list[Block]) -> bool:
        """Whether points so far show that there are no steps."""
        for block in blocks:
            self._counts.update(dict.fromkeys(block.tags, len(block.steps)))
        times = any(block.steps[:1].any() for block in blocks)
        return times or max(self._counts.values(), default=0) >= _LEAST

    def _numbered(self, item: Item) -> Iterator[Item]:
        """The points of a block with their numbers: together where all tags are in each row."""
        if isinstance(item, Restart):
            yield Restart(max(self._counts.values(), default=0) + 1)
            return
        starts = {self._counts[tag] for tag in item.tags}
        if item.absent is None and len(starts) == 1:
            parts = [item]
        else:
            parts = [_column(item, number) for number in range(len(item.tags))]
        for part in parts:
            begin = self._counts[part.tags[0]] + 1
            size = len(part.steps)
            self._counts.update(dict.fromkeys(part.tags, size))
            walls = part.wall_times
            if item.steps.any():
                walls = np.where(np.isnan(walls), _seconds(part.steps), walls)
            yield replace(part, steps=np.arange(begin, begin + size), wall_times=walls)


def _column(block: Block, number: int) -> Block:
    there: BoolArray | slice = slice(None) if block.absent is None else ~block.absent[:, number]
    values = block.values[there, number : number + 1]
    return Block(
        block.tags[number : number + 1], block.steps[there], block.wall_times[there], values
    )


def _seconds(steps: IntArray) -> np.ndarray:
    """Steps that are times, as seconds since the epoch; NaN for others."""
    found = np.full(len(steps), math.nan)
    for unit in _UNITS:
        seconds = steps / unit
        found[(seconds > _FROM) & (seconds < _TO)] = seconds[(seconds > _FROM) & (seconds < _TO)]
    return found


def _is_stepless(block: Block) -> bool:
    """Whether the steps of a block are all 0, or all times."""
    if not block.steps.any():
        return True
    if block.steps.min() < _FROM:
        return False
    seconds = _seconds(block.steps)
    far = np.abs(seconds - block.wall_times) > _NEAR_S

    return not (np.isnan(seconds) | far).any()
