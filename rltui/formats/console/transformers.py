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

from rltui.formats.console.console_dialect import MAX_LINE, ConsoleRows, Dialect
from rltui.formats.console.console_line import ANSI, plain, rank_of, wall_time
from rltui.formats.console.printed_dict import MAX_BYTES, DictLayout, pairs
from rltui.formats.console.step_inference import PendingRow, RowKind, StepInference, Stepped

#: A tqdm bar without a description, or with ms-swift's.
_BAR = re.compile(
    rb"\s*(?:Train(?:ing)?: *)?\d{1,3}%(?:\|[^|]{0,400}\|)? *(\d{1,12})/(\d{1,12}) \["
)
_INTERVAL = re.compile(rb"logging_steps['\"]?[=: ] ?(\d{1,9})(?![\d.])")
_PLAN = re.compile(rb"Total optimization steps = ([\d,]{1,15})")
_PROGRESS = b"global_step/max_steps"
_OF_ALL = re.compile(rb"'global_step/max_steps': '(\d{1,15})/(\d{1,15})'")
#: Lines of a row that a narrow terminal has wrapped.
_MOST_LINES = 40
#: Step keys of dicts that other loops print.
_STEPS = (b"step", b"global_step", b"_step", b"iteration")


class Transformers(Dialect):
    """The dialect of printed dicts."""

    longest = MAX_LINE
    markers = (b"{'", b"%|", b"% ", b"logging_steps", b"Total optimization steps")

    def __init__(self) -> None:
        self._inference = StepInference()
        super().__init__()
        self._layout = DictLayout()
        self._torn = b""
        self._wrapped: list[bytes] = []
        """The lines of a row that a terminal has wrapped, so far."""
        self._names: tuple[bytes, ...] = ()
        self._mapped: tuple[tuple[bytes, ...], RowKind] = ((), RowKind.TRAIN)
        self._rank: bytes | None = None
        self._bare = False
        """Whether rows without a logger prefix were seen."""

    @property
    def open(self) -> bool:
        """Whether a row may go on in the next line."""
        return bool(self._wrapped)

    def follow(self, line: bytes, rows: ConsoleRows) -> None:
        """The next part of a wrapped row; a row or a bar instead shows that it was torn."""
        if b"{'" in line or b"it/s" in line or b"s/it" in line:
            self._wrapped = []
            self.take(line, rows)
            return
        self._wrapped.append(line)
        end = line.find(b"}") + 1
        if not end:
            if len(self._wrapped) > _MOST_LINES:
                self._wrapped = []
            return
        body = b"".join(self._wrapped)
        body, self._wrapped = body[: body.find(b"}") + 1], []
        found = pairs(body) if len(body) <= MAX_BYTES else None
        if found is not None and found[0]:
            self._torn = b""
            self._row(b"", 0, found, rows)

    def close(self, rows: ConsoleRows) -> None:
        self._give(self._inference.end(), rows)

    def take(self, line: bytes, rows: ConsoleRows) -> bool:
        if b"\x1b" in line:
            line = ANSI.sub(b"", line)
        begin = line.find(b"{'")
        bar = _BAR.match(line) if b"it/s" in line or b"s/it" in line else None
        if bar:
            self._bar(int(bar[1]), int(bar[2]), rows)
            if begin < 0 and self._torn:
                return self._mend(line[line.find(b"]", bar.end()) + 1 :], line, rows)
        elif begin < 0:
            self._hint(line, rows)
        if begin < 0:
            return False
        return self._dict(line, begin, line.find(b"]", bar.end()) + 1 if bar else 0, rows)

    def _bar(self, done: int, total: int, rows: ConsoleRows) -> None:
        stepped = self._inference.bar(done, total, bool(self._torn))
        if stepped:
            self._give(stepped, rows)

    def _dict(self, line: bytes, begin: int, after: int, rows: ConsoleRows) -> bool:
        if self._torn:
            self._torn = b""
            self._inference.lost()
        end = line.find(b"}", begin) + 1
        if not end:
            self._tear(line[begin:])
            return False
        found = self._layout.read(line[begin:end]) if end - begin <= MAX_BYTES else None
        if found is None:
            return False
        prefix = plain(line[after:begin])
        rank, _ = rank_of(prefix + b"x") if prefix else (b"", 0)
        if self._rank is None:
            self._rank = rank
        if rank != self._rank or (self._bare and prefix.endswith(b">>")):
            return False
        self._bare = self._bare or not prefix
        return self._row(line, begin, found, rows)

    def _row(
        self,
        line: bytes,
        begin: int,
        found: tuple[tuple[bytes, ...], list[float]],
        rows: ConsoleRows,
    ) -> bool:
        names, values = found
        wall = wall_time(line[:begin])
        step = next((n for n in _STEPS if n in names), None)
        if step is not None:
            return self._custom(step, names, values, wall, rows)
        progress = _OF_ALL.search(line, begin) if _PROGRESS in line else None
        if b"epoch" not in names and progress is None:
            return False
        if names != self._names:
            self._names, self._mapped = names, _rewritten(names)
        tags, kind = self._mapped
        pending = PendingRow(kind, tags, values, wall)
        if progress:
            rows.total = int(progress[2])
            self._give([(pending, int(progress[1]))], rows)
            return True
        epoch = values[names.index(b"epoch")]
        planned = math.nan if kind is not RowKind.SUMMARY else _planned(names, values)
        self._give(self._inference.row(pending, epoch, planned), rows)
        return True

    def _custom(
        self,
        key: bytes,
        names: tuple[bytes, ...],
        values: list[float],
        wall: float,
        rows: ConsoleRows,
    ) -> bool:
        """A dict of a custom loop with its own step; its names stay."""
        at = names.index(key)
        step = values[at]
        if not step.is_integer() or len(names) < 2:
            return False
        names = names[:at] + names[at + 1 :]
        row = PendingRow(RowKind.EVAL, names, values[:at] + values[at + 1 :], wall)
        self._give([(row, int(step))], rows)
        return True

    def _give(self, stepped: Stepped, rows: ConsoleRows) -> None:
        for row, step in stepped:
            self._add(rows, row.names, step, row.values, row.wall)
        rows.steps_are_row_numbers |= self._inference.steps_are_row_numbers
        if stepped and self._inference.planned is not None:
            rows.total = self._inference.planned

    def _tear(self, part: bytes) -> None:
        """Keep the beginning of a row that was torn where a buffer was flushed."""
        if len(part) <= MAX_BYTES and (not self._names or b"': " in part or len(part) < 64):
            self._torn = part
            self._wrapped = [part]

    def _mend(self, rest: bytes, line: bytes, rows: ConsoleRows) -> bool:
        """The end of a torn row, behind a bar; accepted if it has the names of the last row."""
        end = rest.find(b"}") + 1
        if not end:
            return False
        body, self._torn = self._torn + rest[:end], b""
        found = pairs(body)
        if found is None or found[0] != self._names:
            self._inference.lost()
            return False
        return self._row(line, 0, found, rows)

    def _hint(self, line: bytes, rows: ConsoleRows) -> None:
        """The plan, which the log may contain before the first row."""
        interval = _INTERVAL.search(line)
        if interval:
            self._inference.set_interval(int(interval[1]))
        plan = _PLAN.search(line)
        if plan and plan[1].strip(b","):
            rows.total = int(plan[1].replace(b",", b""))


def _planned(names: tuple[bytes, ...], values: list[float]) -> float:
    """The number of steps according to the closing row: run time times speed."""
    cells = dict(zip(names, values, strict=True))
    speed = cells.get(b"train_steps_per_second", math.nan)
    return cells.get(b"train_runtime", math.nan) * speed


def _rewritten(names: tuple[bytes, ...]) -> tuple[tuple[bytes, ...], RowKind]:
    """The names in TensorBoard, and what the row describes."""
    tags = []
    for name in names:
        if name.startswith((b"eval_", b"test_")):
            tags.append(name[:4] + b"/" + name[5:])
        else:
            tags.append(b"train/" + name)
    about = [n for n in names if n != b"epoch"]
    if b"train_runtime" in names:
        return tuple(tags), RowKind.SUMMARY
    if about and all(n.startswith((b"eval_", b"test_")) for n in about):
        return tuple(tags), RowKind.EVAL
    return tuple(tags), RowKind.TRAIN
