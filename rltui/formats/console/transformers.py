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

from rltui.formats.console.console_dialect import MAX_LINE, ConsoleRows, Dialect, Row
from rltui.formats.console.console_line import ANSI, plain, rank_of, wall_time
from rltui.formats.console.printed_dict import MAX_BYTES, FieldLayout, Pairs, pairs
from rltui.formats.console.step_inference import RowKind, StepInference

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

    def __init__(self, rows: ConsoleRows) -> None:
        super().__init__(rows)
        self._inference = StepInference()
        self._layout = FieldLayout(b"': ")
        self._torn = b""
        """The beginning of a row that was torn where a buffer was flushed."""
        self._wrapped: list[bytes] = []
        """The lines of a row that a terminal has wrapped, so far."""
        self._names: tuple[bytes, ...] = ()
        self._mapped: tuple[tuple[bytes, ...], RowKind] = ((), RowKind.TRAIN)
        self._rank: bytes | None = None
        self._bare = False
        """Whether rows without a logger prefix were seen."""

    def follow(self, line: bytes) -> None:
        """The next part of a wrapped row; a row or a bar instead shows that it was torn."""
        self._open = False
        if b"{'" in line or b"it/s" in line or b"s/it" in line:
            self.read(line)
            return
        self._wrapped.append(line)
        if b"}" not in line:
            self._open = len(self._wrapped) <= _MOST_LINES
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
            self._give()
        if begin >= 0:
            return self._dict(line, begin, after)
        if bar and self._torn:
            return self._mend(line, after)
        if not bar:
            self._hint(line)
        return False

    def _dict(self, line: bytes, begin: int, after: int) -> bool:
        if self._torn:
            self._torn = b""
            self._inference.lost()
        end = line.find(b"}", begin) + 1
        if not end:
            part = line[begin:]
            if len(part) <= MAX_BYTES and (not self._names or b"': " in part or len(part) < 64):
                self._torn, self._wrapped, self._open = part, [part], True
            return False
        found = pairs(line[begin:end], self._layout) if end - begin <= MAX_BYTES else None
        if found is None:
            return False
        prefix = plain(line[after:begin])
        rank, _ = rank_of(prefix + b"x") if prefix else (b"", 0)
        if self._rank is None:
            self._rank = rank
        if rank != self._rank or (self._bare and prefix.endswith(b">>")):
            return False
        self._bare = self._bare or not prefix
        return self._row(line, begin, found)

    def _row(self, line: bytes, begin: int, found: Pairs) -> bool:
        names, values = found
        wall = wall_time(line[:begin])
        own = next((n for n in _STEPS if n in names), None)
        if own is not None:  # of a custom loop, whose names stay
            at = names.index(own)
            if not values[at].is_integer() or len(names) < 2:
                return False
            rest = values[:at] + values[at + 1 :]
            self._give(Row(int(values[at]), names[:at] + names[at + 1 :], rest, wall))
            return True
        progress = _OF_ALL.search(line, begin) if _PROGRESS in line else None
        if b"epoch" not in names and progress is None:
            return False
        if names != self._names:
            self._names, self._mapped = names, _rewritten(names)
        tags, kind = self._mapped
        if progress:
            self.rows.total = int(progress[2])
            self._give(Row(int(progress[1]), tags, values, wall))
            return True
        planned = math.nan
        if kind is RowKind.SUMMARY:
            # run time times speed: the number of steps
            cells = dict(zip(names, values, strict=True))
            planned = cells.get(b"train_steps_per_second", math.nan) * cells[b"train_runtime"]
        self._inference.row(
            kind, Row(0, tags, values, wall), values[names.index(b"epoch")], planned
        )
        self._give()
        return True

    def _give(self, *rows: Row) -> None:
        """Add rows, or those whose step is now known."""
        ready, self._inference.ready = rows or self._inference.ready, []
        for row in ready:
            self.add(row)
        self.rows.steps_are_row_numbers |= self._inference.steps_are_row_numbers
        if ready and self._inference.planned is not None:
            self.rows.total = self._inference.planned

    def _mend(self, line: bytes, after: int) -> bool:
        """The end of a torn row, behind a bar; accepted if it has the names of the last row."""
        end = line.find(b"}", after) + 1
        if not end:
            return False
        body, self._torn = self._torn + line[after:end], b""
        found = pairs(body)
        if found is None or found[0] != self._names:
            self._inference.lost()
            return False
        return self._row(line, 0, found)

    def _hint(self, line: bytes) -> None:
        """The plan, which the log may contain before the first row."""
        interval = _INTERVAL.search(line)
        if interval:
            self._inference.set_interval(int(interval[1]))
        plan = _PLAN.search(line)
        if plan and plan[1].strip(b","):
            self.rows.total = int(plan[1].replace(b",", b""))


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
