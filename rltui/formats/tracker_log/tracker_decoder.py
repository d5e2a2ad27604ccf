"""Common to the decoders of trackers' logs: records, settings and the end of the console output."""

from __future__ import annotations

import json
import math
import re
from abc import abstractmethod
from collections import deque
from collections.abc import Mapping

import numpy as np

from rltui.core.batch import LogTail
from rltui.formats.base import Decoded, Decoder, NoteBook, clean_tag, clean_text
from rltui.formats.console.console_line import LINE_BYTES, MAX_LINES, shown
from rltui.formats.json_value import json_or_none
from rltui.formats.row_sink import TagPoints, blocks_of
from rltui.formats.tfevents.framing import (
    BYTES,
    FIXED64,
    MalformedError,
    fields,
    integer_field,
    last_fields,
    signed,
    timestamp,
    varint,
)
from rltui.formats.tracker_log.history import History, Points
from rltui.formats.tracker_log.leveldb import Framing, RecordReader
from rltui.formats.tracker_log.wandb_row import item_of, leaves, name_of

#: Settings kept in total, and characters of a text or list.
_MAX_SETTINGS = 10_000
_MAX_CHARS = 1000

WANDB_FRAMING = Framing(b":W&B", 0xBEE1, 0)
_HISTORY = 2
_OUTPUT = 4
_CONFIG = 5
_STATS = 7
_METRIC = 12
_OUTPUT_RAW = 13
_RUN = 17
_EXIT = 18
_HISTORY_KEY = 0x12
_SUMMARY_KEY = 0x1A
#: Texts of the run record that are shown: field -> name.
_RUN_TEXTS = {3: "wandb.project", 6: "wandb.group", 8: "wandb.name"}
SWANLAB_FRAMING = Framing(b":SWL", 0xE1D6, 2)
_START = 10
_FINISH = 11
_SCALAR = 13
_LOG = 16
_FINISHED = 1
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


class RunSettings:
    """The settings of a run, flat. Owned by one decoder."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self.new: dict[str, object] = {}
        """Settings since the owner last cleared them; later ones win."""

    def update(self, data: bytes, start: int, stop: int) -> None:
        """Read a ``ConfigRecord``: update 1. Raises MalformedError when it is not one."""
        for number, wire, a, b in fields(data, start, stop):
            if (number, wire) != (1, BYTES):
                continue
            head, value = item_of(data, a, b)
            name = name_of(head)
            if not name or name[0] == b"_wandb":
                continue
            for keys, leaf in leaves(json_or_none(value), (), 0):
                whole = b".".join((*name, *(k.encode("utf-8", "replace") for k in keys)))
                self._add(clean_tag(whole), leaf)

    def _add(self, name: str, value: object) -> None:
        """Keep a scalar, a text or a short list under a cleaned name."""
        if name not in self._known and len(self._known) >= _MAX_SETTINGS:
            return
        if isinstance(value, list):
            value = json.dumps(value)
        if isinstance(value, str):
            value = clean_text(value[:_MAX_CHARS])
        if isinstance(value, (str, bool, int, float)):
            self._known.add(name)
            self.new[name] = value

    def add_texts(self, names: Mapping[int, str], data: bytes, start: int, stop: int) -> None:
        """Keep the texts of some fields of a message: field number -> name."""
        for (number, wire), (a, b) in last_fields(data, start, stop).items():
            if wire == BYTES and number in names and b > a:
                self._add(names[number], data[a:b].decode("utf-8", "replace"))


class ConsoleOutput:
    """The last lines that the streams of a process wrote. Owned by one decoder."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=MAX_LINES)
        self._partial: dict[int, bytes] = {}
        """The unfinished line of each stream."""
        self.after_row = 0
        """Lines since the last row of metrics."""
        self._new = False

    def write(self, raw: bytes, stream: int = 0) -> None:
        """Add output in any pieces; a line ends at its newline."""
        *lines, partial = raw.split(b"\n")
        for line in lines:
            whole = self._partial.pop(stream, b"") + line
            self._lines.append(shown(_bounded(whole)))
        self.after_row += len(lines)

        if partial:
            self._partial[stream] = _bounded(self._partial.get(stream, b"") + partial)
        self._new = self._new or bool(raw)

    def row(self) -> None:
        """Remember that a row of metrics follows the lines so far."""
        if self.after_row:
            self.after_row = 0
            self._new = True

    def tail(self) -> LogTail | None:
        """The last lines, or None when nothing is new."""
        if not self._new:
            return None
        self._new = False
        begun = [shown(p) for p in self._partial.values()]
        lines = (*self._lines, *begun)[-MAX_LINES:]
        return LogTail(lines, min(len(lines), self.after_row + len(begun)))


def _bounded(line: bytes) -> bytes:
    """The line; of a long one only the beginning of its last state (of a progress bar).

    A trailing carriage return is kept, because the next output replaces the line.
    """
    if len(line) <= LINE_BYTES:
        return line
    states = line.rstrip(b"\r")
    end = b"\r" if len(states) < len(line) else b""
    return states[states.rfind(b"\r") + 1 :][: LINE_BYTES - len(end)] + end


class TrackerDecoder(Decoder):
    """Base of the decoders of W&B's and SwanLab's files. Not thread-safe."""

    def __init__(self, framing: Framing) -> None:
        self._notes = NoteBook()
        self._reader = RecordReader(framing, self._notes)
        self._settings = RunSettings()
        self._output = ConsoleOutput()
        self._exit_code: int | None = None

    def feed(self, data: bytes, *, more: bool = False) -> Decoded:
        records = self._reader.feed(data)
        self._read_all(records)
        items, texts, media = self._points()
        broken = self._reader.broken
        self._reader.broken = 0
        settings = self._settings.new
        self._settings.new = {}
        exit_code = self._exit_code
        self._exit_code = None

        return Decoded(
            items,
            texts,
            settings,
            self._notes.take(),
            len(records) + broken,
            self._output.tail(),
            exit_code,
            media=media,
        )

    def _read_all(self, records: list[tuple[int, bytes]]) -> None:
        for offset, record in records:
            self._record(record, offset)

    def _record(self, data: bytes, offset: int) -> None:
        try:
            self._read(data, offset)
        except MalformedError as error:
            self._notes.add(offset, "broken record", str(error))

    @abstractmethod
    def _read(self, data: bytes, offset: int) -> None:
        """Read one record. Raises MalformedError where it is broken, after the fields before."""

    @abstractmethod
    def _points(self) -> Points:
        """Everything since the last call, in file order."""


class WandbDecoder(TrackerDecoder):
    """Decodes one file of W&B. Not thread-safe."""

    def __init__(self) -> None:
        super().__init__(WANDB_FRAMING)
        self._history = History(self._notes)

    def _points(self) -> Points:
        return self._history.points()

    def _read(self, data: bytes, offset: int) -> None:
        end = len(data)
        pos = varint(data, 1, end)[1] if data[:1] == b"\x08" else 0
        if pos < end and data[pos] == _SUMMARY_KEY:
            return
        if pos < end and data[pos] == _HISTORY_KEY:
            length, start = varint(data, pos + 1, end)
            if start + length == end:
                self._output.row()
                self._history.row(data, start, end, offset)
                return

        for number, wire, start, stop in fields(data, pos, end):
            if wire != BYTES:
                continue
            if number == _HISTORY:
                self._output.row()
                self._history.row(data, start, stop, offset)
            elif number == _STATS:
                self._history.system(data, start, stop)
            elif number == _METRIC:
                self._history.define(data, start, stop)
            elif number == _CONFIG:
                self._settings.update(data, start, stop)
            elif number in (_OUTPUT, _OUTPUT_RAW):  # output_type 1, line 3
                a, b = last_fields(data, start, stop).get((3, BYTES), (0, 0))
                self._output.write(data[a:b], integer_field(data, start, stop, 1) & 1)
            elif number == _RUN:  # project 3, config 4, group 6, name 8, first step 14, start 17
                found = last_fields(data, start, stop)
                self._settings.update(data, *found.get((4, BYTES), (0, 0)))
                started = timestamp(data, *found[17, BYTES]) if (17, BYTES) in found else math.nan
                self._settings.add_texts(_RUN_TEXTS, data, start, stop)
                self._history.begin(started, integer_field(data, start, stop, 14))
            elif number == _EXIT:
                self._exit_code = integer_field(data, start, stop, 1)


class _KeyPoints:
    """The values of one key since the last flush."""

    def __init__(self, tag: bytes) -> None:
        self.system = tag.startswith(_SYSTEM)
        self.tag = b"system/" + tag[len(_SYSTEM) :] if self.system else tag
        self.steps: list[int] = []
        self.times: list[float] = []
        self.values = bytearray()
        """Doubles, little endian."""


class SwanLabDecoder(TrackerDecoder):
    """Decodes one file of SwanLab. Not thread-safe."""

    def __init__(self) -> None:
        super().__init__(SWANLAB_FRAMING)
        self._columns: dict[bytes, _KeyPoints] = {}
        """Raw key -> its values."""
        self._heads: dict[bytes, _KeyPoints] = {}
        """Encoded key -> the same."""
        self._times: dict[bytes, float] = {}
        """Encoded timestamp -> seconds since the epoch."""
        self._steps: dict[bytes | None, int] = {}
        """Encoded step -> step."""
        self._new: list[_KeyPoints] = []
        """Columns with values that have not been flushed."""
        self._step = 0
        """Step of the newest scalar that is not a system metric."""

    def _read_all(self, records: list[tuple[int, bytes]]) -> None:
        heads = self._heads
        steps = self._steps
        times = self._times
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
            if wire != BYTES or number not in (_SCALAR, _LOG, _FINISH, _START):
                continue
            found = last_fields(data, start, stop)
            if number == _START:
                self._settings.add_texts(_START_TEXTS, data, start, stop)
            elif number == _LOG:
                for inner, kind, a, b in fields(data, start, stop):
                    if inner == 1 and kind == BYTES:
                        self._output.write(data[a:b] + b"\n")
            elif number == _FINISH:  # state 1 (finished 1, crashed 2, aborted 3), error 2
                if reason := data[slice(*found.get((2, BYTES), (0, 0)))]:
                    self._output.write(reason.rstrip(b"\n") + b"\n")
                if state := integer_field(data, start, stop, 1):
                    self._exit_code = 0 if state == _FINISHED else 1
            elif key := data[slice(*found.get((1, BYTES), (0, 0)))]:  # step 2, time 4, value 5
                wall = timestamp(data, *found[4, BYTES]) if (4, BYTES) in found else math.nan
                inner_fields = last_fields(data, *found.get((5, BYTES), (0, 0)))
                value = data[slice(*inner_fields.get((1, FIXED64), (0, 0)))] or _ZERO
                column = self._columns.setdefault(key, _KeyPoints(key))
                self._add(column, integer_field(data, start, stop, 2), wall, value)

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
            self._heads[head] = self._columns.setdefault(key, _KeyPoints(key))
        return True

    def _add(self, column: _KeyPoints, step: int, wall: float, value: bytes) -> None:
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

    def _points(self) -> Points:
        new, self._new, points = self._new, [], dict[str, TagPoints]()
        for column in new:
            steps = np.array(column.steps, np.int64)
            walls = np.array(column.times)
            values = np.frombuffer(bytes(column.values), "<f8").astype(np.float64)
            tag = clean_tag(column.tag)
            points[tag] = TagPoints(tag, steps, walls, values)
            column.steps, column.times, column.values = [], [], bytearray()
        return blocks_of(points.values()), (), ()
