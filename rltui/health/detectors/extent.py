"""How many rows a rule reads: a number that grows with the log.

Logs of the same run hold ten rows or ten thousand, so a count alone is a different judge for each.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np

from rltui.core.block import IntArray

#: Ratio of neighbouring sizes: few sizes occur, so that few windows are computed.
_STEP = 1.3
#: Of a longer log few arrays of sizes are kept: it has other ones with each row.
_SHORT_ROWS = 2048


class Extent(NamedTuple):
    """``share`` of the rows so far, but at least ``least`` and at most ``most``."""

    most: int
    share: float = 1.0
    least: int = 1

    def __str__(self) -> str:
        if self.least >= self.most:
            return str(self.most)
        return f"{self.least} to {self.most} ({100 * self.share:g} % of the rows so far)"

    def plain(self) -> int | dict[str, float]:
        """The number if there is a single one, else its parts, as a document gives them."""
        if self.least >= self.most:
            return self.most
        return {"least": self.least, "share": self.share, "most": self.most}

    def at(self, rows: int) -> int:
        """The number for a log of ``rows`` rows."""
        wanted = math.floor(self.share * rows + 1e-9)
        return next((s for s in reversed(self._ladder()) if s <= wanted), self._ladder()[0])

    def pieces(self, rows: int) -> Iterator[tuple[int, int, int]]:
        """(begin, end, size): rows ``begin`` to ``end`` of ``rows``, for which it is ``size``."""
        ladder, begin = self._ladder(), 0
        for size, following in zip(ladder, (*ladder[1:], 0), strict=True):
            # the first row at which the next size is reached
            end = math.ceil(following / self.share - 1e-9) - 1 if following else rows
            end = max(begin, min(rows, end))
            if end > begin:
                yield begin, end, size
            begin = end

    def sizes(self, rows: int) -> IntArray:
        """(rows,) the number at each row. Shared: not to be written."""
        return _sizes(self, rows) if rows <= _SHORT_ROWS else _long_sizes(self, rows)

    def full(self) -> int:
        """The first row, from 0, at which the number is the most and that many rows are there."""
        if self.least >= self.most:
            return self.most - 1
        return max(self.most, math.ceil(self.most / self.share - 1e-9)) - 1

    def _ladder(self) -> tuple[int, ...]:
        return _ladder(self.least, self.most)


@cache
def _ladder(least: int, most: int) -> tuple[int, ...]:
    """The sizes that occur, rising."""
    sizes, size = [], min(least, most)
    while size < most:
        sizes.append(size)
        size = max(size + 1, int(size * _STEP))
    return (*sizes, most)


@lru_cache(maxsize=8)
def _long_sizes(of: Extent, rows: int) -> IntArray:
    return _sizes.__wrapped__(of, rows)


@lru_cache(maxsize=256)
def _sizes(of: Extent, rows: int) -> IntArray:
    """Kept: the tags of a run have as many rows, and those of a sweep."""
    out = np.empty(rows, dtype=np.int64)
    for begin, end, size in of.pieces(rows):
        out[begin:end] = size
    out.flags.writeable = False
    return out


#: A number of rows: fixed, or growing with the log.
Window = int | Extent


def extent(window: Window) -> Extent:
    """A window as an extent; a fixed one has a single size."""
    return window if isinstance(window, Extent) else Extent(window, 1.0, window)
