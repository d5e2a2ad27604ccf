"""JSON lines: one object per logged step (floor 2): verl's file logger, and flat or nested rows.

``{"step": 7, "data": {"actor/pg_loss": -0.01}}`` (verl) or ``{"step": 7, "loss": 0.5}``.
Nested objects are joined with ``/``; NaN and Infinity tokens are read although they are not
JSON; null is a NaN (verl writes NaN so); booleans are 0 and 1; texts and lists are no values.
"""

from __future__ import annotations

import json
import math
import re
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from rltui.core.level import Level
from rltui.sources.formats.base import Decoded, Decoder, NoteBook, Options
from rltui.sources.formats.rows import RowSink, layout_of

#: A longer line is skipped: it is no row of metrics.
_MAX_LINE = 1 << 26
#: Longest unfinished line for which it is tried whether it is complete without its newline.
_MAX_EAGER = 1 << 20
_MAX_DEPTH = 16
#: Keys that may hold the wall time.
TIME_KEYS = ("wall_time", "_timestamp", "timestamp", "time")
#: Epoch seconds after 2001 and before 5138; anything else under a time key is a metric.
_EPOCH_LOW, _EPOCH_HIGH = 1e9, 1e11
_SCANNER = json.JSONDecoder()
_BLANK = re.compile(r"\s*")


class JsonLines:
    """The format ``jsonl``."""

    name = "jsonl"

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

    def decoder(self, options: Options | None = None) -> Decoder:
        """A fresh decoder for one file."""
        return JsonLinesDecoder(options or Options())


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
        self._values = array("d")

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
        buffer = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        lines = buffer.split(b"\n")
        rest = lines.pop()
        for line in lines:
            if self._skipping:
                self._skipping = False
            elif line and not line.isspace():
                self._line(line, self._offset)
            self._offset += len(line) + 1
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

    def _line(self, line: bytes, offset: int) -> None:
        self._records += 1
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError:
            self._odd_line(line, offset)
            return
        self._row(row, offset)

    def _odd_line(self, line: bytes, offset: int) -> None:
        """A line that orjson refuses: NaN tokens, several objects, or broken."""
        if len(line) > _MAX_LINE:
            self._notes.add(offset, "line is too long")
            return
        try:
            for row in _objects(line):
                self._row(row, offset)
        except ValueError:
            self._notes.add(offset, "broken line")

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
        if tuple(row) != self._keys or not self._extend(row):
            flat = dict(_flatten(row, "", 0))
            keys = tuple(flat)
            if keys != self._keys:
                self._flush_rows()
                self._keys = keys
            self._values.extend(flat.values())
        self._steps.append(step)
        self._walls.append(wall)

    def _extend(self, row: dict[str, Any]) -> bool:
        """Append the values of a row of plain numbers; False when it is not one."""
        before = len(self._values)
        try:
            self._values.extend(row.values())
        except (TypeError, OverflowError):
            del self._values[before:]
            return False
        return True

    def _take_step(self, row: dict[str, Any]) -> int | None:
        """Remove and return the step of a row."""
        for key in self._step_keys:
            step = row.get(key)
            if isinstance(step, bool) or not isinstance(step, (int, float)):
                continue
            if -(1 << 63) <= step < 1 << 63:  # false for NaN and infinity
                del row[key]
                return int(step)
        return None

    def _flush_rows(self) -> None:
        """Hand the rows with equal keys to the sink."""
        if self._steps and self._keys:
            layout = layout_of(self._keys, np.float64)
            values = np.array(self._values).reshape(len(self._steps), len(self._keys))
            steps = np.array(self._steps, np.int64)
            self._sink.rows(layout, steps, np.array(self._walls), values)
        self._keys, self._steps, self._walls, self._values = (), [], [], array("d")


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
        name = f"{prefix}{key}"
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
