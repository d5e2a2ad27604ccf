"""Lines of JSON to blocks; :mod:`.jsonl_row` interprets a row.

The hot path is verl's file logger: a line of a step and one object of numbers with the keys of the
previous line costs little more than ``orjson.loads``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from struct import error
from typing import Any

import orjson

from rltui.core.batch import Lanes, blocks_in
from rltui.core.level import Level
from rltui.formats.base import Decoded, Decoder, Options, RowSpan
from rltui.formats.json_value import SHORT, fits_memory
from rltui.formats.jsonl import jsonl_row
from rltui.formats.jsonl.jsonl_row import STEPS, OpenObject, PackedRows, Packing, Row, RowOrder
from rltui.formats.line_decoder import LastLine
from rltui.formats.words import are_figures, words

#: Longest unfinished line that is parsed in case it is complete without its newline.
_MAX_EAGER = 1 << 20
_STEPLESS = "line without a step"
#: Share of rows that are lost which is worth a word.
_NOTICED = 0.2
#: Names remembered at most.
_MAX_NAMES = 10_000
#: Rows after which those that were counted stay counted.
_SETTLED = 200
#: An epoch that is the same in this many first rows is no step.
_CONSTANT = 16


class JsonLinesDecoder(LastLine):
    """Decodes one file of JSON lines. Not thread-safe."""

    def __init__(self, options: Options) -> None:
        super().__init__()
        self._step_keys = options.step_keys
        self._step_key = options.step_keys[0] if options.step_keys else "step"
        self._rows, self._beside = PackedRows(), PackedRows()
        """Rows of the training, and of what runs beside it."""
        self._order, self._open = RowOrder(), OpenObject()
        self._taken = -1
        """Offset of the rest of the newest line whose first rows were decoded before its end."""
        self._before = 0
        """Records before this call."""
        self._lost = 0
        self._worth_a_word = 3
        self._first_lost = 0
        """Rows with figures and without a step, how many of them are said next, and where the
        first is."""
        self._hparams: dict[str, object] = {}
        self._has_settings = False
        self._fine_step: int | None = None
        """Step of the newest row that has more than an epoch."""
        self._total = 0
        self._done = False
        """Whether the newest row says that it is the last."""
        self._measured: set[str] = set()
        self._sparse: set[str] = set()
        """Keys that had a number, and those that were null before they had one."""
        self._count: _RowCount | None = _RowCount()
        """None once a row had a step."""
        self._replaces = self._returned = False
        """Whether the points are all so far, and whether points were returned."""

    def _feed(self, data: bytes, *, more: bool) -> Decoded:
        if data:
            self._cut(data)
        if not more:
            self._try_tail()
            # whenever they have doubled and are a noticeable share
            records = self._before + self._records
            if self._lost >= max(self._worth_a_word, _NOTICED * records):
                self._worth_a_word = 2 * self._lost
                lost = f"{self._lost} of {records} rows so far have figures and no step"
                self._notes.add(self._first_lost, f"{lost}, which others have: they are left out")
        self._rows.flush()
        self._beside.flush()
        beside = self._beside.sink.take()
        tags = frozenset(t for block in blocks_in(beside) for t in block.tags)
        hparams = self._hparams
        self._hparams = {}
        done = self._done and not more
        self._done = self._done and more
        decoded = Decoded(
            self._rows.sink.take() + beside,
            hparams=hparams,
            notes=self._notes.take(),
            records=self._records,
            steps_are_row_numbers=self._count is not None and self._count.counting,
            replaces=self._replaces and self._returned,
            exit_code=0 if done else None,
            lanes=Lanes(tags - jsonl_row.HIGHEST, tags & jsonl_row.HIGHEST),
        )
        self._before += self._records
        self._records = 0
        self._replaces = False
        self._returned = self._returned or bool(decoded.items)
        return decoded

    def rows(self, rows: Iterable[Row]) -> Decoded:
        """Decode rows that are parsed already, those of a JSON document."""
        for row in rows:
            self._row(row, 0)
        return self._feed(b"", more=False)

    def _read_lines(self, text: bytes, begin: int, end: int) -> int:
        view = memoryview(text)
        pos = begin
        while pos < end:
            packing = self._rows.packing
            if packing is not None and self._count is None and not self._open.lines:
                pos = self._usual_lines(text, view, pos, packing)
            if pos < end:
                stop = text.index(b"\n", pos)
                self._line(view[pos:stop], self._offset + pos)
                pos = stop + 1
        return pos

    def _try_tail(self) -> None:
        """Decode the last line without its newline if it is complete.

        An object is complete only at its closing brace, so the rows do not depend on how the file
        was split; further objects may follow on the same line.
        """
        if self._skipping or not self._parts or self._have > _MAX_EAGER or self._open.lines:
            return
        if not self._parts[-1].rstrip().endswith(b"}"):
            return
        line = b"".join(self._parts)
        self._parts = [line]
        try:
            rows = list(jsonl_row.objects(line))
        except ValueError:
            return

        if rows and all(isinstance(r, dict) for r in rows):
            self._records += 1
            for row in rows:
                self._row(row, self._offset)
            self._offset += len(line)
            self._taken = self._offset
            self._parts = []
            self._have = 0

    def _line(self, line: memoryview, offset: int) -> None:
        if not fits_memory(line):
            self._records += 1
            self._notes.add(offset, "line has too many values")
            return

        rows: Iterable[Any]
        try:
            rows = (orjson.loads(b"" if self._open.lines else line),)
        except orjson.JSONDecodeError:  # blank, NaN tokens, several objects, a part, or broken
            text = bytes(line)
            text = text.strip().rstrip(b",") if offset == self._taken else self._open.joined(text)
            if not text:
                return
            if len(text) > self.max_line:
                self._records += 1
                self._notes.add(offset, "line is too long")
                return
            rows = jsonl_row.objects(text)

        self._records += 1
        try:
            for row in rows:
                self._row(row, offset)
        except ValueError:
            self._notes.add(offset, "broken line")

    def _usual_lines(self, text: bytes, view: memoryview, pos: int, packing: Packing) -> int:
        """Decode lines that contain only a step and data with the keys of the previous row.

        Returns the position of the first other line. This is the hot path.
        """
        find = text.find
        loads = orjson.loads
        values = packing.values
        pack = packing.pack
        steps = self._rows.steps
        packed = self._rows.values
        key = self._step_key
        size = packing.size
        before = len(steps)
        try:
            while (end := find(b"\n", pos)) >= 0:
                if end - pos > SHORT:
                    break
                row = loads(view[pos:end])
                step = row[key]
                numbers = row["data"]
                if len(row) != 2 or type(step) is not int or not -STEPS <= step < STEPS:
                    break
                if len(numbers) != size or type(numbers) is not dict:
                    break
                packed += pack(*values(numbers))
                steps.append(step)
                pos = end + 1
        except (ValueError, TypeError, LookupError, error, OverflowError):
            pass  # another kind of line, for the general path

        many = len(steps) - before
        if many and key not in words().coarse_step_keys:
            self._fine_step = steps[-1]
        self._rows.walls += [math.nan] * many
        self._records += many
        return pos

    def _row(self, row: Any, offset: int) -> None:
        if not isinstance(row, dict):
            self._notes.add(offset, "line is not an object")
            return
        if "config" in row and not self._has_settings:
            self._has_settings = True
            self._hparams.update(jsonl_row.settings_of(row))

        translate = jsonl_row.translator_of(row)
        if translate is not None:
            found, wall, values, self._done, beside = translate(row)
            if beside:
                self._beside.add(-1, wall, self._beside.turn_to(values))
            elif found is None:
                self._stray(row, offset)
            else:
                self._has_steps()
                self._total_of(found.total)
                self._add(found.step, wall, values)
            return

        step, epoch_key = self._step_of(row, offset)
        if step is None:
            self._stray(row, offset)
            return
        wall = jsonl_row.pop_wall(row)
        data = row.get("data")
        figures = data if isinstance(data, dict) and len(row) == 1 else row
        packed = self._add(step, wall, figures, gaps=figures is row)

        count = self._count
        if not epoch_key or count is None or not count.stands_still(step):
            return
        count.kept.append((self._rows.keys, packed, wall))
        if len(count.kept) == _CONSTANT:
            # its step is no step: all rows so far are counted, and come once more
            self._start_over()
            for keys, kept, time in count.kept:
                numbers = memoryview(kept).cast("d").tolist()
                cells = {epoch_key: float(step), **dict(zip(keys, numbers, strict=True))}
                again = self._rows.turn_to(cells)
                self._rows.add(count.next(0, for_good=True), time, again)

    def _stray(self, row: Row, offset: int) -> None:
        """Read a row without a step: settings, a summary, or something else."""
        settings = jsonl_row.settings_of(row)
        if settings:
            self._hparams.update(settings)
        elif "log_history" not in row:  # ms-swift's summary repeats what was logged
            self._notes.add(offset, _STEPLESS, level=Level.OK)
            if are_figures(jsonl_row.figures_of(row)):
                self._first_lost = offset if not self._lost else self._first_lost
                self._lost += 1

    def _step_of(self, row: Row, offset: int) -> tuple[int | None, str]:
        """The step of a row, removed from it, or its number; and its key where that is no more
        than an epoch."""
        step = jsonl_row.find_step(row, self._step_keys) or jsonl_row.counted_step(row)
        coarse = step is not None and step.key in words().coarse_step_keys
        batch = coarse and jsonl_row.counts_batches(tuple(row))
        if step is not None and not coarse and self._has_steps():
            self._fine_step = step.step
        elif coarse and not batch and self._fine_step is not None:
            return self._fine_step, ""  # its epoch is a figure like others
        elif step is None or batch or (self._count is not None and self._count.counting):
            return self._number_of(row, offset, has_epoch=step is not None, batch=batch), ""

        del row[step.key]
        self._total_of(step.total)
        return step.step, step.key if coarse else ""

    def _has_steps(self) -> bool:
        """Note that a row has its own step; returns whether steps count, and not the rows."""
        count = self._count
        if count is not None and count.counting:
            if count.stepless is None:
                return False
            for offset in count.stepless:
                self._notes.add(offset, _STEPLESS, level=Level.OK)
            self._fine_step = None
            self._start_over()
        self._count = None
        return True

    def _number_of(self, row: Row, offset: int, *, has_epoch: bool, batch: bool) -> int | None:
        """The number of a row that is counted; None for one that is none of the training."""
        count = self._count
        if count is None:
            return self._fine_step if batch else None  # others have steps
        if not (batch or count.counting or (count.epoch is None and jsonl_row.figures_of(row))):
            return None
        if jsonl_row.settings_of(row) or next(jsonl_row.flatten(row), None) is None:
            return None
        number = count.next(offset, for_good=has_epoch)
        if batch or not has_epoch:
            self._fine_step = number
        return number

    def _start_over(self) -> None:
        """Forget the rows so far: they come once more, or are none."""
        self._rows, self._order, self._replaces = PackedRows(), RowOrder(), True

    def _total_of(self, total: int) -> None:
        if total > 0 and total != self._total:
            self._total = self._hparams["max_steps"] = total

    def _add(self, step: int, wall: float, row: Row, *, gaps: bool = False) -> bytes:
        """Store the numbers of a row, and return them packed. ``gaps``: a key that was null
        before it had a number is measured now and then (an evaluation), and its null is a gap;
        after a number, null is a NaN that JSON cannot write, as verl writes it."""
        rows = self._rows
        packed = rows.packing.row(row) if rows.packing is not None else None
        if packed is None:
            flat = dict(jsonl_row.flatten(row))
            if gaps:
                for name in [name for name in flat if row.get(name, 0) is None]:
                    if name not in self._measured or name in self._sparse:
                        if len(self._sparse) < _MAX_NAMES:
                            self._sparse.add(name)
                        del flat[name]
                if len(self._measured) < _MAX_NAMES:
                    self._measured.update(flat)
            packed = rows.turn_to(flat)

        if self._order.begins_again(rows.keys, step):
            rows.restart(step)
        rows.add(step, wall, packed)
        return packed


class _RowCount:
    """Decides whether the rows of a file are counted; owned by one decoder.

    They are where the first row with figures has no step. One of an epoch has that as its step,
    unless it stands still from the first row on.
    """

    def __init__(self) -> None:
        self.counting = False
        self._number = 0
        """Number of the newest row."""
        self.epoch: int | None = None
        """Epoch of the first rows; None where they have none, and may be counted."""
        self.kept: list[tuple[tuple[str, ...], bytes, float]] = []
        """Keys, packed values and wall times of the rows so far, while all have one epoch."""
        self._moves = False
        """Whether rows have several epochs, or are counted."""
        self.stepless: list[int] | None = []
        """Where the counted rows are, as long as rows with steps may still follow."""

    def next(self, offset: int, *, for_good: bool) -> int:
        """Count a row; ``for_good``: although it has an epoch."""
        self.counting = self._moves = True
        self._number += 1
        if for_good or self._number > _SETTLED:
            self.stepless = None
        elif self.stepless is not None:
            self.stepless.append(offset)
        return self._number

    def stands_still(self, epoch: int) -> bool:
        """Whether all rows so far and the next one, which is of this epoch, have the same."""
        self._moves = self._moves or self.epoch not in (None, epoch)
        if not self._moves:
            self.epoch = epoch
        else:
            self.kept = []
        return not self._moves


class JsonlSampler:
    """Finds whole lines in windows of a file; made from the beginning of the file."""

    def __init__(self, head: bytes, options: Options) -> None:
        self.step_bytes = head.find(b"\n") + 1
        self._options = options

    def decoder(self) -> Decoder:
        return JsonLinesDecoder(self._options)

    def rows_in(self, window: bytes, *, first: bool, last: bool) -> RowSpan:
        """Whole lines; the decoder drops the one that the window cuts at its end."""
        begin = 0 if first else window.find(b"\n") + 1 or -1
        return RowSpan(begin, len(window), True)
