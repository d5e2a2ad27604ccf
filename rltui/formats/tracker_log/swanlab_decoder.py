"""Decoder of SwanLab's transaction logs.

Messages (swanlab/proto, 0.10): ``Record`` timestamp 2, start 10, finish 11, scalar 13, log 16;
columns, media and files are skipped. A ``ScalarRecord`` is one value: key 1, step 2, type 3,
timestamp 4, value 5 with number 1. The settings are in a file beside the log.
"""

from __future__ import annotations

import math
import re
from struct import Struct

import numpy as np

from rltui.core.block import FloatArray
from rltui.formats.protobuf import (
    BYTES,
    FIXED64,
    fields,
    integer_field,
    last_fields,
    signed,
    timestamp,
    varint,
)
from rltui.formats.row_sink import RowSink, layout_of
from rltui.formats.tracker_log.leveldb import Framing
from rltui.formats.tracker_log.tracker_decoder import Points, TrackerDecoder

FRAMING = Framing(b":SWL", 0xE1D6, 2)
_START, _FINISH, _SCALAR, _LOG = 10, 11, 13, 16
_FINISHED = 1
_DOUBLE = Struct("<d")
#: Prefix of system metrics; their steps count measurements of the machine, not training steps.
_SYSTEM = b"__swanlab__."
_START_TEXTS = {1: "swanlab.project", 4: "swanlab.name", 7: "swanlab.group"}
_MAX_CACHED = 1 << 12
_VARINT = rb"[\x80-\xff]{0,9}[\x00-\x7f]"
_TIME = rb"(?:\x08" + _VARINT + rb")?(?:\x10" + _VARINT + rb")?"
#: A record of one number of a scalar column, as the SDK writes it.
_USUAL = re.compile(
    rb"(?:\x08" + _VARINT + rb")?"
    rb"(?:\x12." + _TIME + rb")?"
    rb"j[\x80-\xff]?."
    rb"(\n[\x80-\xff]?.[ -\xff]+)"
    rb"(?:\x10(" + _VARINT + rb"))?"
    rb"\x18\x01"
    rb'"(.' + _TIME + rb")"
    rb"\*(?:\x09\x09(.{8})|\x00)",
    re.DOTALL,
).fullmatch
_ZERO = bytes(8)


class _Column:
    """The values of one key since the last flush."""

    def __init__(self, tag: bytes) -> None:
        self.system = tag.startswith(_SYSTEM)
        self.tag = b"system/" + tag[len(_SYSTEM) :] if self.system else tag
        self.steps: list[int] = []
        self.times: list[float] = []
        self.values = bytearray()
        """Doubles, little endian."""


class SwanLabDecoder(TrackerDecoder):
    """Decodes one file. Not thread-safe."""

    def __init__(self) -> None:
        super().__init__(FRAMING)
        self._sink = RowSink()
        self._columns: dict[bytes, _Column] = {}
        """Raw key -> its values."""
        self._heads: dict[bytes, _Column] = {}
        """Encoded key -> the same."""
        self._times: dict[bytes, float] = {}
        """Encoded timestamp -> seconds since the epoch."""
        self._steps: dict[bytes | None, int] = {}
        """Encoded step -> step."""
        self._new: list[_Column] = []
        """Columns with values that have not been flushed."""
        self._step = 0
        """Step of the newest scalar that is not a system metric."""

    def _read_all(self, records: list[tuple[int, bytes]]) -> None:
        heads, steps, times = self._heads, self._steps, self._times
        for offset, record in records:
            match = _USUAL(record)
            if match is None:
                self._record(record, offset)
                continue
            head, step, time, value = match.groups()
            try:
                self._add(heads[head], steps[step], times[time], value or _ZERO)
            except KeyError:
                if self._learn(head, step, time):
                    self._add(heads[head], steps[step], times[time], value or _ZERO)
                else:
                    self._record(record, offset)

    def _read(self, data: bytes, offset: int) -> None:
        for number, wire, start, stop in fields(data, 0, len(data)):
            if wire == BYTES:
                self._field(number, data, start, stop)

    def _learn(self, head: bytes, step: bytes | None, time: bytes) -> bool:
        """Decode and remember the parts of a scalar; False when they are malformed."""
        if len(self._times) >= _MAX_CACHED:
            self._times.clear()
        if len(self._steps) >= _MAX_CACHED:
            self._steps.clear()
        try:
            ((_, _, start, stop),) = fields(head, 0, len(head))
            if time[0] != len(time) - 1:
                return False
            self._times[time] = timestamp(time, 1, len(time))
            self._steps[step] = signed(varint(step, 0, len(step))[0]) if step is not None else 0
        except ValueError:  # also a MalformedError
            return False

        if head not in self._heads:
            key = head[start:stop]
            self._heads[head] = self._columns.setdefault(key, _Column(key))
        return True

    def _add(self, column: _Column, step: int, wall: float, value: bytes) -> None:
        if column.system:
            step = self._step
        else:
            self._step = step

        if not column.steps:
            self._new.append(column)
        column.steps.append(step)
        column.times.append(wall)
        column.values += value
        if self._output.after_row:
            self._output.row()

    def _field(self, number: int, data: bytes, start: int, stop: int) -> None:
        if number == _SCALAR:
            self._scalar(data, start, stop)
        elif number == _LOG:
            for inner, wire, a, b in fields(data, start, stop):
                if inner == 1 and wire == BYTES:
                    self._output.line(data[a:b])
        elif number == _FINISH:
            self._finish(data, start, stop)
        elif number == _START:
            self._settings.add_texts(_START_TEXTS, data, start, stop)

    def _scalar(self, data: bytes, start: int, stop: int) -> None:
        found = last_fields(data, start, stop)
        key = data[slice(*found.get((1, BYTES), (0, 0)))]
        wall = timestamp(data, *found[4, BYTES]) if (4, BYTES) in found else math.nan
        inner = last_fields(data, *found.get((5, BYTES), (0, 0)))
        value = data[slice(*inner.get((1, FIXED64), (0, 0)))] or _ZERO
        if key:
            column = self._columns.setdefault(key, _Column(key))
            self._add(column, integer_field(data, start, stop, 2), wall, value)

    def _finish(self, data: bytes, start: int, stop: int) -> None:
        """``FinishRecord``: state 1 (finished 1, crashed 2, aborted 3), error 2."""
        a, b = last_fields(data, start, stop).get((2, BYTES), (0, 0))
        if b > a:
            self._output.line(data[a:b].rstrip(b"\n"))
        if state := integer_field(data, start, stop, 1):
            self._exit_code = 0 if state == _FINISHED else 1

    def _points(self) -> Points:
        """Keys with equal steps and times share a block."""
        rows: dict[tuple[bytes, bytes], list[tuple[bytes, FloatArray]]] = {}
        new, self._new = self._new, []
        for column in new:
            times, values = np.array(column.times), np.frombuffer(bytes(column.values), "<f8")
            key = (np.array(column.steps, np.int64).tobytes(), times.tobytes())
            rows.setdefault(key, []).append((column.tag, values.astype(np.float64)))
            column.steps, column.times, column.values = [], [], bytearray()

        for (steps, walls), columns in rows.items():
            self._sink.rows(
                layout_of(tuple(tag for tag, _ in columns), np.float64),
                np.frombuffer(steps, np.int64),
                np.frombuffer(walls, np.float64),
                np.stack([values for _, values in columns], axis=1),
            )
        return self._sink.take(), ()
