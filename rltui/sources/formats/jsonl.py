"""JSON lines: one object per logged step (floor 2): verl's file logger, and flat or nested rows.

``{"step": 7, "data": {"actor/pg_loss": -0.01}}`` (verl) or ``{"step": 7, "loss": 0.5}``.
Nested objects are joined with ``/``; NaN and Infinity tokens are read although they are not
JSON; null is a NaN (verl writes NaN so); booleans are 0 and 1; texts and lists are no values.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from struct import Struct, error
from typing import Any

import numpy as np
import orjson

from rltui.core.level import Level
from rltui.sources.formats.base import Belonging, Decoded, Decoder, Growth, NoteBook, Options
from rltui.sources.formats.rows import RowSink, layout_of

#: A longer line is skipped: it is no row of metrics.
_MAX_LINE = 1 << 26
#: Longest unfinished line for which it is tried whether it is complete without its newline.
_MAX_EAGER = 1 << 20
_MAX_DEPTH = 16
_STEPS = 1 << 63
#: Keys that may hold the wall time.
TIME_KEYS = ("wall_time", "_timestamp", "timestamp", "time")
#: Epoch seconds after 2001 and before 5138; anything else under a time key is a metric.
_EPOCH_LOW, _EPOCH_HIGH = 1e9, 1e11
_SCANNER = json.JSONDecoder()
_BLANK = re.compile(r"\s*")


class JsonLines:
    """The format ``jsonl``."""

    name = "jsonl"
    growth = Growth.APPENDED
    exactness = 3

    def belonging(self, name: str) -> Belonging:  # noqa: ARG002 - verl: one file a run
        """The file names the run."""
        return Belonging.NAME

    def claims_name(self, name: str) -> bool:
        """By suffix."""
        return name.endswith((".jsonl", ".ndjson"))

    def claims(self, path: Path, head: bytes, options: Options | None = None) -> bool:
        """Whether the first line is a row of metrics with a step, and not a sample."""
        if not self.claims_name(path.name):
            return False
        line, newline, _ = head.lstrip().partition(b"\n")
        keys = (options or Options()).step_keys
        if not newline and not line.rstrip().endswith(b"}"):
            # a first line longer than the head: look for a step in what is there
            pattern = b"|".join(re.escape(k.encode()) for k in keys)
            return re.match(rb'\{.*?"(' + pattern + rb')"\s*:\s*-?\d', line, re.DOTALL) is not None
        try:
            row = next(iter(_objects(line)), None)
        except ValueError:
            return False
        return isinstance(row, dict) and _is_metrics(row, keys)

    def decoder(
        self,
        options: Options | None = None,
        path: Path | None = None,  # noqa: ARG002
    ) -> Decoder:
        """A fresh decoder for one file."""
        return JsonLinesDecoder(options or Options())


class _Packing:
    """Makes the bytes of one row of doubles of a dict with exactly these keys, in any order."""

    def __init__(self, keys: tuple[str, ...]) -> None:
        self.size = len(keys)
        self.pack = Struct(f"{len(keys)}d").pack
        self.values: Callable[[dict[str, Any]], tuple[Any, ...]] = itemgetter(*keys)
        if self.size == 1:
            self.values = lambda row: (row[keys[0]],)

    def row(self, row: dict[str, Any]) -> bytes | None:
        """None when it has other keys, or a value that is no number."""
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


class JsonLinesDecoder:
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
        self._keys: tuple[str, ...] = ()
        self._steps: list[int] = []
        self._walls: list[float] = []
        self._values = bytearray()
        """One double for each row and key."""
        self._packing: _Packing | None = None

    def feed(self, data: bytes, *, more: bool = False) -> Decoded:
        """See :class:`rltui.sources.formats.base.Decoder`."""
        if data:
            self._parts.append(data)
            self._have += len(data)
            if b"\n" in data:
                self._split()
            elif self._have > _MAX_LINE:
                self._drop()
        if not more:
            self._try_tail()
        self._flush_rows()
        decoded = Decoded(self._sink.take(), notes=self._notes.take(), records=self._records)
        self._records = 0
        return decoded

    def _split(self) -> None:
        """Take all lines; only the first of them is put together from several pieces."""
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
        """Give up the unfinished line; what still comes of it is skipped."""
        if not self._skipping:
            self._notes.add(self._offset, "line is too long")
            self._records += 1
        self._offset += self._have
        self._parts, self._have, self._skipping = [], 0, True

    def _try_tail(self) -> None:
        """Take the last line without its newline if it is complete.

        An object is complete at its closing brace and at no earlier place, so this does not
        depend on how the file was split; further objects may follow on the same line.
        """
        if self._skipping or not self._parts or self._have > _MAX_EAGER:
            return
        if not self._parts[-1].rstrip().endswith(b"}"):
            return
        line = b"".join(self._parts)
        self._parts = [line]
        try:
            rows = list(_objects(line))
        except ValueError:
            return
        if rows and all(isinstance(r, dict) for r in rows):
            self._records += 1
            for row in rows:
                self._row(row, self._offset)
            self._offset += len(line)
            self._parts, self._have = [], 0

    def _line(self, line: bytes | memoryview, offset: int) -> None:
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError:
            self._odd_line(bytes(line), offset)
            return
        self._records += 1
        self._row(row, offset)

    def _odd_line(self, line: bytes, offset: int) -> None:
        """A line that orjson refuses: blank, NaN tokens, several objects, or broken."""
        if not line or line.isspace():
            return
        self._records += 1
        if len(line) > _MAX_LINE:
            self._notes.add(offset, "line is too long")
            return
        try:
            for row in _objects(line):
                self._row(row, offset)
        except ValueError:
            self._notes.add(offset, "broken line")

    def _usual_lines(self, data: bytes, view: memoryview, pos: int, packing: _Packing) -> int:
        """Take lines of nothing but a step and data with the keys of the row before.

        Returns the position of the first other line. This is the hot path: one line costs
        little more than ``orjson.loads``.
        """
        find, loads, values, pack = data.find, orjson.loads, packing.values, packing.pack
        steps, taken, key, size = self._steps, self._values, self._step_key, packing.size
        before = len(steps)
        try:
            while (end := find(b"\n", pos)) >= 0:
                row = loads(view[pos:end])
                step, numbers = row[key], row["data"]
                if len(row) != 2 or type(step) is not int or not -_STEPS <= step < _STEPS:
                    break
                if len(numbers) != size or type(numbers) is not dict:
                    break
                taken += pack(*values(numbers))
                steps.append(step)
                pos = end + 1
        except (ValueError, TypeError, LookupError, error, OverflowError):
            pass  # some other line: it is taken with more care
        many = len(steps) - before
        self._walls += [math.nan] * many
        self._records += many
        return pos

    def _row(self, row: Any, offset: int) -> None:
        if not isinstance(row, dict):
            self._notes.add(offset, "line is no object")
            return
        step = self._take_step(row)
        if step is None:
            self._notes.add(offset, "line without a step", level=Level.OK)
            return
        wall = _take_wall(row)
        data = row.get("data")
        if isinstance(data, dict) and len(row) == 1:
            row = data
        packed = self._packing.row(row) if self._packing is not None else None
        if packed is None:
            flat = dict(_flatten(row, "", 0))
            packed = self._packing.row(flat) if self._packing is not None else None
            if packed is None:
                self._flush_rows()
                self._keys = tuple(flat)
                self._packing = _packing_of(self._keys)
                packed = (self._packing.row(flat) if self._packing is not None else None) or b""
        self._add(step, wall, packed)

    def _add(self, step: int, wall: float, packed: bytes) -> None:
        self._steps.append(step)
        self._walls.append(wall)
        self._values += packed

    def _take_step(self, row: dict[str, Any]) -> int | None:
        """Remove and return the step of a row."""
        for key in self._step_keys:
            step = row.get(key)
            if isinstance(step, bool) or not isinstance(step, (int, float)):
                continue
            if -_STEPS <= step < _STEPS:  # false for NaN and infinity
                del row[key]
                return int(step)
        return None

    def _flush_rows(self) -> None:
        """Hand the rows with equal keys to the sink."""
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


def _take_wall(row: dict[str, Any]) -> float:
    """Remove and return the wall time of a row; NaN when it has none."""
    for key in TIME_KEYS:
        value = row.get(key)
        if isinstance(value, (int, float)) and _EPOCH_LOW < value < _EPOCH_HIGH:
            del row[key]
            return float(value)
    return math.nan


def _flatten(row: dict[str, Any], prefix: str, depth: int) -> Iterator[tuple[str, float]]:
    """The numbers of a row under joined names; null is NaN, texts and lists are left out."""
    for key, value in row.items():
        name = prefix + key if prefix else key  # the same object: a faster key later
        if isinstance(value, (float, bool)):
            yield name, float(value)
        elif isinstance(value, int):
            yield name, _float_of(value)
        elif value is None:
            yield name, math.nan
        elif isinstance(value, dict) and depth < _MAX_DEPTH:
            yield from _flatten(value, f"{name}/", depth + 1)


def _float_of(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _objects(line: bytes) -> Iterator[Any]:
    """The JSON values of one line, usually one; NaN and Infinity tokens are accepted.

    Raises ValueError where the line is broken, after what stands before it.
    """
    try:
        yield orjson.loads(line)
    except orjson.JSONDecodeError:
        text = line.decode("utf-8", "replace")
        end = _BLANK.match(text).end()  # type: ignore[union-attr] # matches always
        while end < len(text):
            try:
                value, end = _SCANNER.raw_decode(text, end)
            except RecursionError as error:
                raise ValueError("nested too deeply") from error
            yield value
            end = _BLANK.match(text, end).end()  # type: ignore[union-attr]


def _is_metrics(row: dict[str, Any], step_keys: tuple[str, ...]) -> bool:
    """Whether a row has a step and is not mostly text: samples of a rollout have steps too."""
    if not any(isinstance(row.get(k), (int, float)) for k in step_keys):
        return False
    if isinstance(row.get("data"), dict):
        return True
    numbers = sum(1 for k, _ in _flatten(row, "", 0) if k not in step_keys)
    texts = sum(isinstance(v, str) for v in row.values())
    return numbers > 0 and numbers >= texts
