"""transformers' Trainer and what is built on it (TRL, Unsloth, LLaMA-Factory, ms-swift): one
printed dict per row, ``{'loss': 0.5, 'grad_norm': 1.2, 'epoch': 0.04}``.

Version 4 prints numbers (NaN as bare ``nan``), version 5 strings rounded to four digits
(transformers/trainer_callback.py: ProgressCallback, PrinterCallback). Names are those of the
TensorBoard callback: ``train/``, ``eval/``, ``test/``
(transformers/integrations/integration_utils.py: rewrite_logs).
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from rltui.formats.console.console_dialect import MAX_LINE, ConsoleRows, Dialect, Row
from rltui.formats.console.console_line import ANSI, plain, simplified
from rltui.formats.console.logger_record import MAX_BYTES, FieldLayout, Pairs, dict_end, pairs
from rltui.formats.console.pair_line import position_of
from rltui.formats.words import EPISODE, transformers_tag

#: A tqdm bar without a description, or with ms-swift's.
_BAR = re.compile(
    rb"\s*(?:Train(?:ing)?: *)?\d{1,3}%(?:\|[^|]{0,400}\|)? *(\d{1,12})/(\d{1,12}) \["
)
#: How the counter of a heading above a dict ends.
_COUNTED = (b"tep ", b"TEP ", b"tep=", b"Iteration ", b"iteration ")
_INTERVAL = re.compile(rb"logging_steps['\"]?[=: ] ?(\d{1,9})(?![\d.])")
_PLAN = re.compile(rb"Total optimization steps = ([\d,]{1,15})")
_PROGRESS = b"global_step/max_steps"
_OF_ALL = re.compile(rb"'global_step/max_steps': '(\d{1,15})/(\d{1,15})'")
#: Bytes of a heading above a dict, and words before its counter.
_MAX_HEADING = 300
_MOST_WORDS = 2
#: Lines of a row that a narrow terminal has wrapped.
_MOST_LINES = 40
#: Step keys of dicts that other loops print.
_STEPS = (b"step", b"global_step", b"_step", b"iteration")
#: Words behind a dict: it stands in a sentence.
_QUOTED = re.compile(rb" +[a-zA-Z]")
#: Rows held back for a bar; beyond that they are counted.
_MAX_PENDING = 256
#: The same when the bar has already ended.
_MAX_HEAP = 40
_MAX_ENDED = 1000
#: A bar that starts beyond this step belongs to a resumed training.
_RESUMED = 20


class RowKind(Enum):
    """Subject of a row."""

    TRAIN = "train"
    EVAL = "eval"
    """Follows the training row of its step."""
    SUMMARY = "summary"
    """The closing row; belongs to the last step."""


class StepInference:
    """Assigns steps, in order, to rows that transformers' Trainer prints without one.

    Rows come every ``logging_steps`` steps; the progress bar shows the step in one of two ways. If
    output is flushed, a row is followed at once by a redrawn bar: that bar is exact, the one before
    may lag. If output is buffered, as in a file by default, many rows come together, while the bar
    (standard error, never buffered) has moved on: the rows are spread over the steps since the last
    ones. Without a bar, rows are counted.
    """

    def __init__(self) -> None:
        self.ready: list[Row] = []
        """Rows whose step is now known; the caller empties the list."""
        self.total: int | None = None
        """The end of the bar, when one was seen."""
        self.steps_are_row_numbers = False
        self.interval: int | None = None
        """Steps from row to row, when known."""
        self.interval_known = False
        """Whether the log contains it."""
        self.newest = 0
        """Step of the newest training row."""
        self._buffered: bool | None = None
        """Whether rows come late, many at a time; else the bar is redrawn after each row. None
        until the first rows of a bar show it."""
        self._bar = 0
        self._first_bar: int | None = None
        self._still = False
        """Whether rows have come and gone while the bar stood where it began: it is no axis."""
        self._pending: list[tuple[RowKind, Row]] = []
        self._fresh = False
        """Whether no bar has followed the newest row yet."""
        self._other: tuple[int, int] | None = None
        """A bar of something else that runs after that of the training has ended."""
        self._newest_epoch = math.nan
        self._ended: set[int] = set()
        """Totals of the bars that have reached their end."""
        self._epochs: list[float] = []
        self._steps: list[int] = []

    @property
    def _over(self) -> bool:
        """Whether the bar ended before the first row."""
        return self._bar == self.total and self._buffered is None

    @property
    def _waits(self) -> bool:
        """Whether a row of the training waits, and the bar stands where it began."""
        stands = self._bar == self._first_bar
        return stands and any(kind is RowKind.TRAIN for kind, _ in self._pending)

    def bar(self, done: int, total: int, torn: bool) -> None:
        """The bar is at ``done`` of ``total``; ``torn``: half a row precedes it."""
        if done >= total and len(self._ended) < _MAX_ENDED:
            self._ended.add(total)
        if total != self.total and self.total is not None and not self._over:
            self._other = (done, total)  # of an evaluation
            return
        if total != self.total or done < self._bar:
            if done < total or total == self.total:
                self._begin(done, total)
            return

        if self._first_bar is None:
            self._first_bar = done
        self._still = self._still and done == self._bar
        self._bar = done
        self._other = None
        if self._pending:
            self._settle(torn)
        elif self._fresh and not torn and self.newest < done and not done % (self.interval or 1):
            self.newest = done  # a bar right behind a row is exact: a lost row shifts nothing
            self._fresh = False
        else:
            self._fresh = False

    def row(self, kind: RowKind, row: Row, epoch: float, planned: float = math.nan) -> None:
        """Add a row whose step is not known. ``planned``: the total number of steps according to
        the closing row."""
        train = kind is RowKind.TRAIN
        if train and self._other is not None and self.total == self._bar:
            # the bar of this training has ended, and another one runs
            self._begin(*self._other)
        # a bar that moves is redrawn after each row, or has moved before the first of many
        still = self._still or (train and bool(self._pending) and self._waits)

        if self.total is None:
            self._without_bar(kind, row, epoch)
        elif self._over:
            self._after_all(kind, row, epoch, planned)
        elif still:
            self._still = True
            if not self.newest and self._bar > _RESUMED:
                self.newest = self._bar
            self.end()
            self._without_bar(kind, row, epoch)
        elif self._pending or (train and (self.interval is None or self._buffered is None)):
            self._wait(kind, row, _MAX_PENDING)
        elif train:
            every = self.interval or 1
            shown = 0 if self._buffered else -(-self._bar // every) * every
            self.newest = max(self._next(), shown)
            self._fresh = not self._buffered
            self.ready.append(row.at(self.newest))
        else:
            late = self._buffered and kind is not RowKind.SUMMARY
            step = self.newest if late else max(self.newest, self._bar)
            self.ready.append(row.at(step))

    def end(self) -> None:
        """Count the rows that wait for a bar: none comes."""
        pending = self._pending
        self._pending = []
        for kind, row in pending:
            if kind is RowKind.TRAIN:
                self.newest = self._next()
                self.steps_are_row_numbers |= self.interval is None
            self.ready.append(row.at(self.newest))

    def lost(self) -> None:
        """A row was torn and could not be repaired."""
        if not self._pending and (self._buffered or (self.total is None and self._steps)):
            self.newest += self.interval or 1

    def _begin(self, done: int, total: int) -> None:
        """A training with a new bar begins: count the pending rows of the last one, and forget
        what was inferred of it."""
        self.end()
        self.total = total
        self._buffered = None
        self._other = None
        self._bar = self._first_bar = done
        if not self.interval_known:
            self.interval = None
        self.newest = 0
        self._fresh = False
        self._still = False

    def _settle(self, torn: bool) -> None:
        """Assign steps to the pending rows, now that a bar follows them."""
        trained = sum(kind is RowKind.TRAIN for kind, _ in self._pending)
        if trained > 1 or torn or self._buffered is None:
            self._buffered = trained > 1 or torn
        if self._buffered:
            self._spread(trained, torn)
            return

        before = self.newest
        self.newest = max(self._bar, 1)
        if self.interval is None and before:
            # the first step may be logged whatever the interval
            gap = self.newest - before if before > 1 or self.newest == 2 else self.newest
            self.interval = max(1, gap)
        self.ready += [row.at(self.newest) for _, row in self._pending]
        self._pending = []

    def _spread(self, trained: int, torn: bool) -> None:
        """Rows that came together: the newest is at about the step of the bar."""
        start = self.newest
        if not start and (self._first_bar or 0) > _RESUMED:
            start = (self._first_bar or 1) - 1
        if self.interval is None and trained:
            self.interval = max(1, round((self._bar - start) / (trained + torn)))
        self.newest = start
        self.end()

    def _next(self) -> int:
        """The step of the next row when rows are counted."""
        every = self.interval or 1
        return (self.newest // every + 1) * every

    def _wait(self, kind: RowKind, row: Row, most: int) -> None:
        """Wait for a bar, up to a limit; then the rows are counted without one."""
        self._pending.append((kind, row))
        if len(self._pending) >= most:
            self.total = None
            self.end()

    def _after_all(self, kind: RowKind, row: Row, epoch: float, planned: float) -> None:
        """The bar ended before the first row: it belongs to something else, or the buffer held
        all rows of a short training. The closing row shows which."""
        if kind is not RowKind.SUMMARY:
            if kind is RowKind.TRAIN:
                self._newest_epoch = epoch
            self._wait(kind, row, _MAX_HEAP)
            return

        rows = sum(waiting is RowKind.TRAIN for waiting, _ in self._pending)
        total = next((t for t in self._ended if abs(planned - t) <= 0.02 * t + 1), 0)
        if not rows or not total:
            self._wait(kind, row, 0)
            return
        if self.interval is None:
            # rows * interval <= total < (rows + 1) * interval; epochs grow with the steps
            at = total * self._newest_epoch / (epoch * rows) if epoch > 0 else total / rows
            low = total // (rows + 1) + 1
            high = max(1, total // rows)
            self.interval = min(max(round(at), low), high) if math.isfinite(at) else high
        self.total = total
        self._bar = total
        self._first_bar = 0
        self._buffered = True
        self._spread(rows, False)
        self.ready.append(row.at(total))

    def _without_bar(self, kind: RowKind, row: Row, epoch: float) -> None:
        """Count a row, in steps of the interval where it is known.

        An epoch that falls back shows that the training restarted at that epoch.
        """
        if kind is RowKind.TRAIN:
            if self._epochs and epoch < self._epochs[-1]:
                at = bisect_left(self._epochs, epoch)
                self.newest = self._steps[at] - (self.interval or 1)
                del self._epochs[at:], self._steps[at:]
            self.steps_are_row_numbers |= self.interval is None
            self.newest = self._next()
            if not math.isnan(epoch):
                self._epochs.append(epoch)
                self._steps.append(self.newest)
        self.ready.append(row.at(self.newest))


class _Form(NamedTuple):
    """Meaning of the names of a row."""

    step: int
    """Position of the step of a loop of one's own, and of the epoch; -1 without one."""
    epoch: int
    tags: tuple[bytes, ...]
    """The names in TensorBoard."""
    kind: RowKind


@lru_cache(maxsize=1024)
def _form_of(names: tuple[bytes, ...]) -> _Form:
    step = next((names.index(name) for name in _STEPS if name in names), -1)
    about = [name.startswith((b"eval_", b"test_")) for name in names if name != b"epoch"]
    kind = RowKind.EVAL if about and all(about) else RowKind.TRAIN
    if b"train_runtime" in names:
        kind = RowKind.SUMMARY
    latin = (transformers_tag(name.decode("latin-1")) for name in names)  # any bytes
    tags = tuple(tag.encode("latin-1") for tag in latin)

    return _Form(step, names.index(b"epoch") if b"epoch" in names else -1, tags, kind)


class Transformers(Dialect):
    """The dialect of printed dicts."""

    longest = MAX_LINE
    markers = (*(b"{'", b"%|", b"% ", b"logging_steps", b"Total optimization steps"), *_COUNTED)

    def __init__(self, rows: ConsoleRows) -> None:
        super().__init__(rows)
        self._inference = StepInference()
        self._layout = FieldLayout(b"': ")
        self._torn = b""
        """The beginning of a row that was torn where a buffer was flushed."""
        self._wrapped: list[bytes] = []
        """The lines of a row that a terminal has wrapped, so far."""
        self._names: tuple[bytes, ...] = ()
        """Names in the last row."""
        self._bare = False
        """Whether rows without a logger prefix were seen."""
        self._above: int | None = None
        """The step on the line before."""

    def follow(self, line: bytes) -> None:
        """Read the next part of a wrapped row; a row or a bar instead shows that it was torn."""
        self.open = False
        if not self._wrapped:
            self._above = self._above if plain(line).startswith(b"{'") else None
            return
        if b"{'" in line or b"it/s" in line or b"s/it" in line:
            self.read(line)
            return
        self._wrapped.append(line)
        if b"}" not in line:
            self.open = len(self._wrapped) <= _MOST_LINES
            return
        body = b"".join(self._wrapped)
        body = body[: body.find(b"}") + 1]
        found = pairs(body) if len(body) <= MAX_BYTES else None
        if found is not None and found[0]:
            self._torn = b""
            self._row(b"", 0, found)

    def close(self) -> None:
        self._inference.end()
        self._give()

    def read(self, line: bytes) -> bool:
        if b"\x1b" in line:
            line = ANSI.sub(b"", line)
        begin = line.find(b"{'")
        bar = _BAR.match(line) if b"it/s" in line or b"s/it" in line else None
        after = line.find(b"]", bar.end()) + 1 if bar else 0
        if bar:
            self._inference.bar(int(bar[1]), int(bar[2]), bool(self._torn))
            if self._inference.ready:
                self._give()
        if begin >= 0:
            return self._dict(line, begin, after)
        if bar:
            return bool(self._torn) and self._mend(line, after)

        self._heading(line)
        # the plan, which the log may contain before the first row
        interval = _INTERVAL.search(line)
        if interval and int(interval[1]) and self._inference.interval is None:
            self._inference.interval = int(interval[1])
            self._inference.interval_known = True
        plan = _PLAN.search(line)
        if plan and plan[1].strip(b","):
            self.rows.total = int(plan[1].replace(b",", b""))
        return False

    def _heading(self, line: bytes) -> None:
        """Read the counter of a line that may stand above a dict."""
        text = simplified(plain(line)) if len(line) < _MAX_HEADING else b""
        position = position_of(text)
        before = text[: position.begin] if position is not None else b":"
        if position is None or position.rank >= EPISODE or b":" in before:
            return
        if len(before.split()) <= _MOST_WORDS:
            self._above = position.step
            self._wrapped = []
            self.open = True

    def _dict(self, line: bytes, begin: int, after: int) -> bool:
        if self._torn:
            self._torn = b""
            self._inference.lost()
        end = dict_end(line, begin)
        if not end:
            part = line[begin:]
            if len(part) <= MAX_BYTES and (not self._names or b"': " in part or len(part) < 64):
                self._heading(line[:begin])
                self._torn = part
                self._wrapped = [part]
                self.open = True
            return False

        found = pairs(line[begin:end], self._layout) if end - begin <= MAX_BYTES else None
        prefix = plain(line[after:begin]) if begin > after else b""
        if found is None or (self._bare and prefix.endswith(b">>")):
            return False
        if _form_of(found[0]).step >= 0 and _QUOTED.match(line, end):
            return False
        if not prefix:
            self._bare = True
        elif b"epoch" in found[0]:
            self._heading(prefix)
            self.open = False
        return self._row(line, begin, found)

    def _mend(self, line: bytes, after: int) -> bool:
        """The end of a torn row, behind a bar; accepted if it has the names of the last row."""
        end = line.find(b"}", after) + 1
        if not end:
            return False
        body = self._torn + line[after:end]
        self._torn = b""
        found = pairs(body)
        if found is None or found[0] != self._names:
            self._inference.lost()
            return False
        return self._row(line, 0, found)

    def _row(self, line: bytes, begin: int, found: Pairs) -> bool:
        names, values = found
        wall = self.rows.clock.stamp()
        above = self._above
        self._above = None
        form = _form_of(names)
        if form.step >= 0:  # of a custom loop, whose names stay
            at = form.step
            if not values[at].is_integer() or len(names) < 2:
                return False
            rest = values[:at] + values[at + 1 :]
            self._give(Row(int(values[at]), names[:at] + names[at + 1 :], rest, wall))
            return True

        progress = _OF_ALL.search(line, begin) if _PROGRESS in line else None
        if form.epoch < 0 and progress is None:
            if above is not None:
                self._give(Row(above, names, values, wall))
            return above is not None
        self._names = names
        if above is not None:
            self._inference.newest = above
            self._give(Row(above, form.tags, values, wall))
            return True
        if progress:
            self.rows.total = int(progress[2])
            self._give(Row(int(progress[1]), form.tags, values, wall))
            return True

        planned = math.nan
        if form.kind is RowKind.SUMMARY:
            # run time times speed: the number of steps
            cells = dict(zip(names, values, strict=True))
            planned = cells.get(b"train_steps_per_second", math.nan) * cells[b"train_runtime"]
        row = Row(0, form.tags, values, wall)
        self._inference.row(form.kind, row, values[form.epoch], planned)
        if self._inference.ready:
            self._give()
        return True

    def _give(self, *rows: Row) -> None:
        """Add rows, or those whose step is now known."""
        inference = self._inference
        ready = rows or inference.ready
        inference.ready = []
        for row in ready:
            self.add(row)
        self.rows.steps_are_row_numbers |= inference.steps_are_row_numbers
        # where the rows were counted instead, the end of the bar may be another one
        fits = not inference.steps_are_row_numbers or inference.newest == inference.total
        if ready and fits and inference.total is not None:
            self.rows.total = inference.total
