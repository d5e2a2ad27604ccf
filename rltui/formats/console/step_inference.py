"""Infers the steps of rows that transformers' Trainer prints without one.

Rows come every ``logging_steps`` steps; the progress bar shows the step in one of two ways. If
output is flushed, a row is followed at once by a redrawn bar: that bar is exact, the one before
may lag. If output is buffered, as in a file by default, many rows come together, while the bar
(standard error, never buffered) has moved on: the rows are spread over the steps since the last
ones. Without a bar, rows are counted.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from enum import Enum

#: Rows held back for a bar; beyond that they are counted.
_MAX_PENDING = 256
#: The same when the bar has already ended.
_MAX_HEAP = 40
_MAX_ENDED = 1000
#: A bar that starts beyond this step belongs to a resumed training.
_RESUMED = 20


class RowKind(Enum):
    """What a row describes."""

    TRAIN = "train"
    EVAL = "eval"
    """Follows the training row of its step."""
    SUMMARY = "summary"
    """The closing row; belongs to the last step."""


@dataclass(frozen=True, slots=True)
class PendingRow:
    """A row without a step."""

    kind: RowKind
    names: tuple[bytes, ...]
    values: list[float]
    wall: float


class _Mode(Enum):
    UNKNOWN = 0
    FLUSHED = 1
    """The bar is redrawn after each row."""
    BUFFERED = 2
    """Rows come late, many at a time."""


Stepped = list[tuple[PendingRow, int]]


class StepInference:
    """Assigns steps to rows, in order."""

    def __init__(self) -> None:
        self.total: int | None = None
        """The end of the bar, when one was seen."""
        self.interval: int | None = None
        self._interval_known = False
        self.steps_are_row_numbers = False
        self._mode = _Mode.UNKNOWN
        self._bar = 0
        self._first_bar = 0
        self._last = 0
        """Step of the newest training row."""
        self._rows = 0
        """Training rows since the bar began."""
        self._pending: list[PendingRow] = []
        self._fresh = False
        """Whether no bar has followed the newest row yet."""
        self._other: tuple[int, int] | None = None
        self._newest_epoch = math.nan
        self._ended: set[int] = set()
        """Totals of the bars that have reached their end."""
        self._epochs: list[float] = []
        self._steps: list[int] = []

    def set_interval(self, steps: int) -> None:
        """The log contains ``logging_steps``."""
        if steps > 0 and self.interval is None:
            self.interval, self._interval_known = steps, True

    def bar(self, done: int, total: int, torn: bool) -> Stepped:
        """The bar is at ``done`` of ``total``; ``torn``: half a row precedes it."""
        if done >= total and len(self._ended) < _MAX_ENDED:
            self._ended.add(total)
        if total != self.total:
            return self._foreign(done, total)
        if done < self._bar:
            settled = self._count()
            self._begin(total)
            self._bar = done
            return settled
        if self._bar == 0 < done and not self._first_bar:
            self._first_bar = done
        self._bar, self._other = done, None
        if self._pending:
            return self._settle(torn)
        if self._fresh and self._mode is _Mode.FLUSHED and not torn:
            self._correct(done)
        self._fresh = False
        return []

    def _foreign(self, done: int, total: int) -> Stepped:
        """A bar with another total: of an evaluation, or of a training that begins now."""
        waiting = self._bar == self.total and self._mode is _Mode.UNKNOWN
        if self.total is not None and not waiting:
            self._other = (done, total)
            return []
        if done >= total:
            return []
        settled = self._count()
        self._begin(total)
        self._bar = self._first_bar = done
        return settled

    def row(self, row: PendingRow, epoch: float, planned: float = math.nan) -> Stepped:
        """Add a row; returns the rows whose step is now known. ``planned``: the total number of
        steps according to the closing row."""
        if row.kind is RowKind.TRAIN and self._other is not None and self.total == self._bar:
            # the bar of this training has ended, and another one runs
            settled = self._count()
            self._begin(self._other[1])
            self._bar, self._other = self._other[0], None
            return settled + self.row(row, epoch, planned)
        if self.total is None:
            return [(row, self._without_bar(row.kind, epoch))]
        if self._bar == self.total and self._mode is _Mode.UNKNOWN:
            return self._after_all(row, epoch, planned)
        if row.kind is not RowKind.TRAIN and not self._pending:
            late = self._mode is _Mode.BUFFERED and row.kind is not RowKind.SUMMARY
            return [(row, self._last if late else max(self._last, self._bar))]
        self._rows += row.kind is RowKind.TRAIN
        if self.interval is None or self._mode is _Mode.UNKNOWN or self._pending:
            return self._wait_for_bar(row)
        self._fresh = True
        self._last = self._next()
        return [(row, self._last)]

    def _after_all(self, row: PendingRow, epoch: float, planned: float) -> Stepped:
        """The bar ended before the first row: it belongs to something else, or the buffer held
        all rows of a short training. The closing row shows which."""
        if row.kind is not RowKind.SUMMARY:
            if row.kind is RowKind.TRAIN:
                self._rows += 1
                self._newest_epoch = epoch
            self._pending.append(row)
            if len(self._pending) < _MAX_HEAP:
                return []
            self.total = None
            return self._count()
        rows = self._rows
        total = next((t for t in self._ended if abs(planned - t) <= 0.02 * t + 1), 0)
        self._pending.append(row)
        if not rows or not total:
            self.total = None
            return self._count()
        self._mode = _Mode.BUFFERED
        if self.interval is None:
            # rows * interval <= total < (rows + 1) * interval; epochs grow with the steps
            at = total * self._newest_epoch / (epoch * rows) if epoch > 0 else total / rows
            low, high = total // (rows + 1) + 1, max(1, total // rows)
            self.interval = min(max(round(at), low), high) if math.isfinite(at) else high
        self.total, self._bar, self._first_bar = total, total, 0
        pending, self._pending = self._pending, []
        stepped = self._spread(pending, False)
        return [*stepped[:-1], (row, total)]

    def _wait_for_bar(self, row: PendingRow) -> Stepped:
        """Wait for a bar, up to a limit."""
        self._pending.append(row)
        if len(self._pending) < _MAX_PENDING:
            return []
        self.total = None
        return self._count()

    def lost(self) -> None:
        """A row was torn and could not be repaired."""
        if self._pending:
            return
        if self._mode is _Mode.BUFFERED or (self.total is None and self._steps):
            self._last += self.interval or 1

    def _begin(self, total: int) -> None:
        """A training with a new bar begins; forget what was inferred of the last one."""
        self.total, self._mode, self._rows = total, _Mode.UNKNOWN, 0
        self._bar = self._first_bar = 0
        self._fresh = False
        if not self._interval_known:
            self.interval = None
        self._last = 0

    def _next(self) -> int:
        every = self.interval or 1
        following = (self._last // every + 1) * every
        if self._mode is _Mode.BUFFERED:
            return self._last + every if self._last % every else following
        return max(following, -(-self._bar // every) * every)

    def _settle(self, torn: bool) -> Stepped:
        """Assign steps to the pending rows, now that a bar follows them."""
        trained = sum(h.kind is RowKind.TRAIN for h in self._pending)
        if self._mode is _Mode.UNKNOWN:
            beside = trained <= 1 and not torn
            self._mode = _Mode.FLUSHED if beside else _Mode.BUFFERED
        elif trained > 1 or torn:
            self._mode = _Mode.BUFFERED
        pending, self._pending = self._pending, []
        if self._mode is _Mode.FLUSHED:
            step = max(self._bar, 1)
            if self.interval is None and self._last:
                self.interval = max(1, step - self._last if self._last > 1 else _after_one(step))
            elif self._first_bar <= 1 and step == 1 and self.interval is None:
                pass  # the first step may be logged whatever the interval
            self._last = step
            return [(h, step) for h in pending]
        return self._spread(pending, torn)

    def _spread(self, pending: list[PendingRow], torn: bool) -> Stepped:
        """Rows that came together: the newest is at about the step of the bar."""
        start = self._last
        if not start and self._first_bar > _RESUMED:
            start = self._first_bar - 1
        trained = sum(h.kind is RowKind.TRAIN for h in pending)
        if self.interval is None and trained:
            self.interval = max(1, round((self._bar - start) / (trained + torn)))
        every = self.interval or 1
        self._last = start
        stepped: Stepped = []
        for row in pending:
            if row.kind is RowKind.TRAIN:
                self._last = (self._last // every + 1) * every
            stepped.append((row, self._last))
        return stepped

    def _correct(self, done: int) -> None:
        """The bar right behind a row is exact: an earlier lost row then shifts nothing."""
        if done > self._last and self.interval and done % self.interval == 0:
            self._last = done

    def _count(self) -> Stepped:
        """Count the pending rows, without a bar."""
        pending, self._pending = self._pending, []
        stepped: Stepped = []
        for row in pending:
            if row.kind is RowKind.TRAIN:
                self._last += self.interval or 1
                self.steps_are_row_numbers = self.steps_are_row_numbers or self.interval is None
            stepped.append((row, self._last))
        return stepped

    def _without_bar(self, kind: RowKind, epoch: float) -> int:
        """Count a row, in steps of the interval where it is known.

        An epoch that falls back shows that the training restarted at that epoch.
        """
        if kind is not RowKind.TRAIN:
            return self._last
        if self._epochs and epoch < self._epochs[-1]:
            at = bisect_left(self._epochs, epoch)
            self._last = self._steps[at] - (self.interval or 1)
            del self._epochs[at:], self._steps[at:]
        every = self.interval or 1
        self.steps_are_row_numbers = self.steps_are_row_numbers or self.interval is None
        self._last = (self._last // every + 1) * every
        if not math.isnan(epoch):
            self._epochs.append(epoch)
            self._steps.append(self._last)
        return self._last


def _after_one(step: int) -> int:
    """The interval when the first two rows are at step 1 and at ``step``."""
    return 1 if step == 2 else step
