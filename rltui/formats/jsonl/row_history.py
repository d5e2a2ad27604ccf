"""What earlier rows say about a row: a key that is measured now and then, a training that begins
in the file of an earlier one, rows that are to be counted."""

from __future__ import annotations

from typing import Any

#: Names remembered at most.
_MAX_NAMES = 10_000
#: Rows of a training at least, before another may begin.
_TRAINING = 5
#: Rows after which those that were counted stay counted.
_SETTLED = 200
#: An epoch that is the same in this many first rows is no step.
CONSTANT = 16


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
            self._turn_to(keys)
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

    def _turn_to(self, keys: tuple[str, ...]) -> None:
        if self._step is not None and len(self._newest) < _MAX_NAMES:
            self._newest[self._keys] = self._step
        self._keys, self._step = keys, self._newest.pop(keys, None)


KeptRow = tuple[tuple[str, ...], bytes, float]
"""Keys, packed values and wall time of a row."""


class RowCount:
    """Decides whether the rows of a file are counted; owned by one decoder.

    They are where the first row with figures has no step. One of an epoch has that as its step,
    unless it stands still from the first row on.
    """

    def __init__(self) -> None:
        self.counting = False
        self.number = 0
        """Of the newest row."""
        self._epoch: int | None = None
        self._kept: list[KeptRow] | None = []
        """The rows so far, while all have the same epoch."""
        self._stepless: list[int] | None = []
        """Where the counted rows are, as long as rows with steps may still follow."""

    def next(self, offset: int, *, for_good: bool) -> int:
        """Count a row; ``for_good``: although it has an epoch."""
        self.counting, self._kept = True, None
        self.number += 1
        if for_good or self.number > _SETTLED:
            self._stepless = None
        elif self._stepless is not None:
            self._stepless.append(offset)
        return self.number

    def may_begin(self) -> bool:
        """Whether a row without any step is the first of those that are counted."""
        return self._epoch is None

    def stands_still(self, epoch: int, row: KeptRow) -> list[KeptRow]:
        """Take a row with an epoch; returns all rows so far where they are to be counted."""
        if self._kept is None or self._epoch not in (None, epoch):
            self._kept = None
            return []
        self._epoch = epoch
        self._kept.append(row)
        return self._kept if len(self._kept) >= CONSTANT else []

    def stop(self) -> list[int] | None:
        """A row with a step has come: where rows were counted. None: all of them are."""
        return self._stepless
