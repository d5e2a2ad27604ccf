"""Which step a row of the transformers Trainer belongs to: the row itself does not tell.

Rows come every ``logging_steps`` steps. Where the progress bar stands when a row appears tells
the step, in two ways. A program that flushes writes a row and draws the bar again at once: the
bar behind the row is exact, the one before it may lag. A program whose output is buffered
writes ten or a hundred rows together, while the bar (standard error, never buffered) stands at
the newest: then rows are spread over the steps between. Without a bar, rows are counted.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from enum import Enum

#: So many rows are held back until a bar tells the step; then they are counted.
_MAX_PENDING = 256
#: So many of them when the bar has ended already.
_MAX_HEAP = 40
_MAX_ENDED = 1000
#: A bar whose first state is beyond this belongs to a resumed training.
_RESUMED = 20


class RowKind(Enum):
    """What a row is about."""

    TRAIN = "train"
    EVAL = "eval"
    """Comes after the row of training of its step."""
    SUMMARY = "summary"
    """The last row: of the last step."""


@dataclass(frozen=True, slots=True)
class PendingRow:
    """A row without a step."""

    kind: RowKind
    names: tuple[bytes, ...]
    values: list[float]
    wall: float


class _Mode(Enum):
    UNKNOWN = 0
    BESIDE = 1
    """The bar is drawn again behind each row."""
    BLIND = 2
    """Rows come in heaps, late."""


Stepped = list[tuple[PendingRow, int]]


class StepInference:
    """Gives steps to rows, in order. ``interval`` is set where the log tells it."""

    def __init__(self) -> None:
        self.total: int | None = None
        """The last state of the bar, when one was seen."""
        self.interval: int | None = None
        self.told_interval = False
        self.counted = False
        self._mode = _Mode.UNKNOWN
        self._bar = 0
        self._first_bar = 0
        self._last = 0
        """Step of the newest row of training."""
        self._rows = 0
        """Rows of training since the bar began."""
        self._pending: list[PendingRow] = []
        self._fresh = False
        """Whether no bar has come since the newest row."""
        self._other: tuple[int, int] | None = None
        self._newest_epoch = math.nan
        self._ended: set[int] = set()
        """Lengths of the bars that have reached their end."""
        self._epochs: list[float] = []
        self._steps: list[int] = []

    def tell_interval(self, steps: int) -> None:
        """The log tells ``logging_steps``."""
        if steps > 0 and self.interval is None:
            self.interval, self.told_interval = steps, True

    def bar(self, done: int, total: int, torn: bool) -> Stepped:
        """The bar stands at ``done`` of ``total``; ``torn``: half a row came before it."""
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
        if self._fresh and self._mode is _Mode.BESIDE and not torn:
            self._correct(done)
        self._fresh = False
        return []

    def _foreign(self, done: int, total: int) -> Stepped:
        """A bar of another length: of an evaluation, or of the training that begins now."""
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
        """A row came; what has a step now comes back. ``planned``: the steps that the closing
        row tells."""
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
            shown = self._bar if self._mode is not _Mode.BLIND or row.kind is RowKind.SUMMARY else 0
            return [(row, max(self._last, shown))]
        self._rows += row.kind is RowKind.TRAIN
        if self.interval is None or self._mode is _Mode.UNKNOWN or self._pending:
            return self._wait_for_bar(row)
        self._fresh = True
        self._last = self._next()
        return [(row, self._last)]

    def _after_all(self, row: PendingRow, epoch: float, planned: float) -> Stepped:
        """The bar has ended before the first row: it is that of something else, or all rows of
        a short training were in the buffer. The closing row tells which."""
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
        self._mode = _Mode.BLIND
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
        """Wait for a bar, but not for ever."""
        self._pending.append(row)
        if len(self._pending) < _MAX_PENDING:
            return []
        self.total = None
        return self._count()

    def lost(self) -> None:
        """A row was torn and cannot be put together."""
        if self._pending:
            return
        if self._mode is _Mode.BLIND or (self.total is None and self._steps):
            self._last += self.interval or 1

    def _begin(self, total: int) -> None:
        """The training of a bar begins; what was learned of the last one is forgotten."""
        self.total, self._mode, self._rows = total, _Mode.UNKNOWN, 0
        self._bar = self._first_bar = 0
        self._fresh = False
        if not self.told_interval:
            self.interval = None
        self._last = 0

    def _next(self) -> int:
        every = self.interval or 1
        following = (self._last // every + 1) * every
        if self._mode is _Mode.BLIND:
            return self._last + every if self._last % every else following
        return max(following, -(-self._bar // every) * every)

    def _settle(self, torn: bool) -> Stepped:
        """A bar came behind held rows."""
        trained = sum(h.kind is RowKind.TRAIN for h in self._pending)
        if self._mode is _Mode.UNKNOWN:
            beside = trained <= 1 and not torn
            self._mode = _Mode.BESIDE if beside else _Mode.BLIND
        elif trained > 1 or torn:
            self._mode = _Mode.BLIND
        pending, self._pending = self._pending, []
        if self._mode is _Mode.BESIDE:
            step = max(self._bar, 1)
            if self.interval is None and self._last:
                self.interval = max(1, step - self._last if self._last > 1 else _after_one(step))
            elif self._first_bar <= 1 and step == 1 and self.interval is None:
                pass  # the first step may be logged whatever the interval is
            self._last = step
            return [(h, step) for h in pending]
        return self._spread(pending, torn)

    def _spread(self, pending: list[PendingRow], torn: bool) -> Stepped:
        """Rows that came together: the newest is of about the step of the bar."""
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
        """The bar right behind a row is exact: a row that got lost before shifts nothing."""
        if done > self._last and self.interval and done % self.interval == 0:
            self._last = done

    def _count(self) -> Stepped:
        """Give steps to held rows without a bar."""
        pending, self._pending = self._pending, []
        stepped: Stepped = []
        for row in pending:
            if row.kind is RowKind.TRAIN:
                self._last += self.interval or 1
                self.counted = self.counted or self.interval is None
            stepped.append((row, self._last))
        return stepped

    def _without_bar(self, kind: RowKind, epoch: float) -> int:
        """Number the rows, by the interval where it is known.

        An epoch that falls back is a training that began again, from where the epoch was.
        """
        if kind is not RowKind.TRAIN:
            return self._last
        if self._epochs and epoch < self._epochs[-1]:
            at = bisect_left(self._epochs, epoch)
            self._last = self._steps[at] - (self.interval or 1)
            del self._epochs[at:], self._steps[at:]
        every = self.interval or 1
        self.counted = self.counted or self.interval is None
        self._last = (self._last // every + 1) * every
        if not math.isnan(epoch):
            self._epochs.append(epoch)
            self._steps.append(self._last)
        return self._last


def _after_one(step: int) -> int:
    """The interval when the first two rows are of step 1 and of ``step``."""
    return 1 if step == 2 else step
