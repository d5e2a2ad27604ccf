"""Lines of JSON to blocks; :mod:`.jsonl_row` interprets a row.

The hot path is verl's file logger: a line of a step and one object of numbers with the keys of the
previous line costs little more than ``orjson.loads``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import lru_cache
from operator import itemgetter
from struct import Struct, error
from typing import Any

import numpy as np
import orjson

from rltui.core.level import Level
from rltui.formats.base import Decoded, Decoder, NoteBook, Options, RowSpan
from rltui.formats.json_value import SHORT, fits_memory
from rltui.formats.jsonl.jsonl_dialect import translator_of
from rltui.formats.jsonl.jsonl_row import (
    STEPS,
    Step,
    counted_step,
    find_step,
    flatten,
    objects,
    settings_of,
    take_wall,
)
from rltui.formats.jsonl.row_history import Gaps, RowOrder
from rltui.formats.last_line import LastLine
from rltui.formats.row_sink import RowSink, layout_of
from rltui.formats.words import words

#: Longer lines are skipped: they are not metrics.
MAX_LINE = 1 << 24
#: Longest unfinished line that is parsed in case it is complete without its newline.
_MAX_EAGER = 1 << 20


class _Packing:
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


@lru_cache(maxsize=256)
def _packing_of(keys: tuple[str, ...]) -> _Packing | None:
    """None for no keys at all."""
    return _Packing(keys) if keys else None


class JsonLinesDecoder(LastLine):
    """Decodes one file of JSON lines. Not thread-safe."""

    holds_row = False

    def __init__(self, options: Options) -> None:
        self._step_keys = options.step_keys
        self._step_key = options.step_keys[0] if options.step_keys else "step"
        self._parts: list[bytes] = []
        self._have = 0
        self._offset = 0
        self._skipping = False
        self._notes = NoteBook()
        self._sink = RowSink()
        self._records = 0
        self._hparams: dict[str, object] = {}
        self._has_settings = False
        self._fine_step: int | None = None
        """Step of the newest row that has more than an epoch."""
        self._total = 0
        self._keys: tuple[str, ...] = ()
        self._steps: list[int] = []
        self._walls: list[float] = []
        self._values = bytearray()
        """One double for each row and key."""
        self._packing: _Packing | None = None
        self._done = False
        """Whether the newest row says that it is the last."""
        self._gaps = Gaps()
        self._order = RowOrder()

    def _feed(self, data: bytes, *, more: bool) -> Decoded:
        if data:
            self._parts.append(data)
            self._have += len(data)
            if b"\n" in data:
                self._split()
            elif self._have > MAX_LINE:
                self._drop()
        if not more:
            self._try_tail()
        self._flush_rows()
        hparams, self._hparams = self._hparams, {}
        done = self._done and not more
        self._done = self._done and more
        decoded = Decoded(
            *(self._sink.take(), (), hparams, self._notes.take(), self._records),
            exit_code=0 if done else None,
        )
        self._records = 0
        return decoded

    def rows(self, rows: Iterable[dict[str, Any]]) -> Decoded:
        """Decode rows that are parsed already, those of a JSON document."""
        for row in rows:
            self._row(row, 0)
        return self._feed(b"", more=False)

    def _split(self) -> None:
        """Decode all complete lines; only the first is joined from several pieces."""
        data = self._parts.pop()
        end = data.index(b"\n")
        line = b"".join((*self._parts, data[:end]))
        if self._skipping:
            self._skipping = False
        else:
            self._line(line, self._offset)
        view, pos = memoryview(data), end + 1
        base = self._offset + len(line) - end
        while (end := data.find(b"\n", pos)) >= 0:
            if self._packing is None:
                self._line(view[pos:end], base + pos)
                pos = end + 1
            else:
                pos = self._usual_lines(data, view, pos, self._packing)
                end = data.find(b"\n", pos)
                if end >= 0:
                    self._line(view[pos:end], base + pos)
                    pos = end + 1
        self._offset = base + pos
        rest = data[pos:]
        self._parts, self._have = ([rest] if rest else []), len(rest)

    def _drop(self) -> None:
        """Drop the unfinished line; the rest of it will be skipped."""
        if not self._skipping:
            self._notes.add(self._offset, "line is too long")
            self._records += 1
        self._offset += self._have
        self._parts, self._have, self._skipping = [], 0, True

    def _try_tail(self) -> None:
        """Decode the last line without its newline if it is complete.

        An object is complete only at its closing brace, so this does not depend on how the file
        was split; further objects may follow on the same line.
        """
        if self._skipping or not self._parts or self._have > _MAX_EAGER:
            return
        if not self._parts[-1].rstrip().endswith(b"}"):
            return
        line = b"".join(self._parts)
        self._parts = [line]
        try:
            rows = list(objects(line))
        except ValueError:
            return
        if rows and all(isinstance(r, dict) for r in rows):
            self._records += 1
            for row in rows:
                self._row(row, self._offset)
            self._offset += len(line)
            self._parts, self._have = [], 0

    def _line(self, line: bytes | memoryview, offset: int) -> None:
        if not fits_memory(line):
            self._records += 1
            self._notes.add(offset, "line has too many values")
            return
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError:
            self._unusual_line(bytes(line), offset)
            return
        self._records += 1
        self._row(row, offset)

    def _unusual_line(self, line: bytes, offset: int) -> None:
        """A line that orjson rejects: blank, NaN tokens, several objects, or broken."""
        if not offset:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if not line or line.isspace():
            return
        self._records += 1
        if len(line) > MAX_LINE:
            self._notes.add(offset, "line is too long")
            return
        try:
            for row in objects(line):
                self._row(row, offset)
        except ValueError:
            self._notes.add(offset, "broken line")

    def _usual_lines(self, data: bytes, view: memoryview, pos: int, packing: _Packing) -> int:
        """Decode lines that contain only a step and data with the keys of the previous row.

        Returns the position of the first other line. This is the hot path.
        """
        find, loads, values, pack = data.find, orjson.loads, packing.values, packing.pack
        steps, taken, key, size = self._steps, self._values, self._step_key, packing.size
        before = len(steps)
        try:
            while (end := find(b"\n", pos)) >= 0:
                if end - pos > SHORT:
                    break
                row = loads(view[pos:end])
                step, numbers = row[key], row["data"]
                if len(row) != 2 or type(step) is not int or not -STEPS <= step < STEPS:
                    break
                if len(numbers) != size or type(numbers) is not dict:
                    break
                taken += pack(*values(numbers))
                steps.append(step)
                pos = end + 1
        except (ValueError, TypeError, LookupError, error, OverflowError):
            pass  # another kind of line, for the general path
        many = len(steps) - before
        if many and key not in words().coarse_step_keys:
            self._fine_step = steps[-1]
        self._walls += [math.nan] * many
        self._records += many
        return pos

    def _row(self, row: Any, offset: int) -> None:
        if not isinstance(row, dict):
            self._notes.add(offset, "line is not an object")
            return
        if "config" in row and not self._has_settings:
            self._has_settings = True
            self._hparams.update(settings_of(row))
        translate = translator_of(row)
        if translate is not None:
            step, wall, values, self._done = translate(row)
            if step is None:
                self._stray(row, offset)
            else:
                self._total_of(step)
                self._add(step.step, wall, values)
            return
        step = self._step_of(row)
        if step is None:
            self._stray(row, offset)
            return
        wall = take_wall(row)
        data = row.get("data")
        if isinstance(data, dict) and len(row) == 1:
            self._add(step.step, wall, data)
        else:
            self._add(step.step, wall, row, gaps=True)

    def _stray(self, row: dict[str, Any], offset: int) -> None:
        """A row without a step: settings, a summary, or something else."""
        settings = settings_of(row)
        if settings:
            self._hparams.update(settings)
        elif "log_history" not in row:  # ms-swift's summary repeats what was logged
            self._notes.add(offset, "line without a step", level=Level.OK)

    def _step_of(self, row: dict[str, Any]) -> Step | None:
        """The step of a row, removed from it."""
        step = find_step(row, self._step_keys) or counted_step(row)
        if step is None:
            return None
        if step.key not in words().coarse_step_keys:
            self._fine_step = step.step
        elif self._fine_step is not None:
            return step._replace(step=self._fine_step)  # its epoch is a figure like others
        del row[step.key]
        self._total_of(step)
        return step

    def _total_of(self, step: Step) -> None:
        if step.total > 0 and step.total != self._total:
            self._total = step.total
            self._hparams["max_steps"] = step.total

    def _add(self, step: int, wall: float, row: dict[str, Any], *, gaps: bool = False) -> None:
        """Store the numbers of a row. ``gaps``: a key that was null before it had a number is
        measured now and then; otherwise null is NaN, as verl writes it."""
        packed = self._packing.row(row) if self._packing is not None else None
        if packed is None:
            flat = dict(flatten(row))
            if gaps:
                self._gaps.drop(row, flat)
            packed = self._packing.row(flat) if self._packing is not None else None
            if packed is None:
                self._flush_rows()
                self._keys = tuple(flat)
                self._packing = _packing_of(self._keys)
                packed = (self._packing.row(flat) if self._packing is not None else None) or b""
        if self._order.begins_again(self._keys, step):
            keys, packing = self._keys, self._packing
            self._flush_rows()
            self._sink.restart(step)
            self._keys, self._packing = keys, packing
        self._steps.append(step)
        self._walls.append(wall)
        self._values += packed

    def _flush_rows(self) -> None:
        """Pass the rows with equal keys to the sink."""
        if self._steps and self._keys:
            layout = layout_of(self._keys, np.float64)
            values = np.frombuffer(self._values)
            self._sink.rows(
                layout,
                np.array(self._steps, np.int64),
                np.array(self._walls),
                values.reshape(len(self._steps), len(self._keys)),
            )
        self._keys, self._packing = (), None
        self._steps, self._walls, self._values = [], [], bytearray()


class JsonlSampler:
    """Made from the beginning of one file."""

    def __init__(self, head: bytes, options: Options) -> None:
        self.step_bytes = head.find(b"\n") + 1
        self._options = options

    def decoder(self) -> Decoder:
        return JsonLinesDecoder(self._options)

    def rows_in(self, window: bytes, *, first: bool, last: bool) -> RowSpan:
        """Whole lines; the decoder drops the one that the window cuts at its end."""
        begin = 0 if first else window.find(b"\n") + 1 or -1
        return RowSpan(begin, len(window), True)
