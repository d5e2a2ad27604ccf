"""Decodes a transaction log of wandb record by record.

``Record`` (wandb/proto/wandb_internal.proto): history 2, summary 3, output 4, config 5,
stats 7, metric 12, output_raw 13, run 17, exit 18. Summaries repeat the history and are skipped,
as is everything else.
"""

from __future__ import annotations

import math

from rltui.formats.base import Decoded, NoteBook
from rltui.formats.leveldb import Framing, RecordReader
from rltui.formats.protobuf import (
    BYTES,
    MalformedError,
    fields,
    integer_field,
    last_fields,
    timestamp,
    varint,
)
from rltui.formats.wandb import Wandb
from rltui.formats.wandb.history import History
from rltui.formats.wandb.output import ConsoleOutput
from rltui.formats.wandb.wandb_config import RunSettings

FRAMING = Framing(Wandb.ident, 0xBEE1, 0)
_HISTORY, _OUTPUT, _CONFIG, _STATS, _METRIC, _OUTPUT_RAW, _RUN, _EXIT = 2, 4, 5, 7, 12, 13, 17, 18
_HISTORY_KEY, _SUMMARY_KEY = 0x12, 0x1A
#: Texts of the run record that are shown: field -> name.
_RUN_TEXTS = {3: "wandb.project", 6: "wandb.group", 8: "wandb.name"}


class WandbDecoder:
    """Decodes one file. Not thread-safe."""

    holds_row = open_line = torn = False

    def __init__(self) -> None:
        self._notes = NoteBook()
        self._reader = RecordReader(FRAMING, self._notes)
        self._history = History(self._notes)
        self._settings = RunSettings()
        self._output = ConsoleOutput()
        self._exit_code: int | None = None

    def feed(self, data: bytes, *, more: bool = False) -> Decoded:
        records = self._reader.feed(data)
        for offset, record in records:
            self._record(record, offset)
        broken, self._reader.broken = self._reader.broken, 0
        items, texts = self._history.take()
        exit_code, self._exit_code = self._exit_code, None
        return Decoded(
            items,
            texts,
            self._settings.take(),
            self._notes.take(),
            len(records) + broken,
            self._output.take(),
            exit_code,
        )

    def finish(self) -> Decoded:
        """Nothing: a record that is cut is none."""
        return Decoded()

    def _record(self, data: bytes, offset: int) -> None:
        try:
            self._take(data, offset)
        except MalformedError as error:
            self._notes.add(offset, "broken record", str(error))

    def _take(self, data: bytes, offset: int) -> None:
        """Raises MalformedError where the record is broken, after the fields before that."""
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
            if wire == BYTES:
                self._field(number, data, start, stop, offset)

    def _field(self, number: int, data: bytes, start: int, stop: int, offset: int) -> None:
        if number == _HISTORY:
            self._output.row()
            self._history.row(data, start, stop, offset)
        elif number == _STATS:
            self._history.system(data, start, stop)
        elif number == _METRIC:
            self._history.define(data, start, stop)
        elif number == _CONFIG:
            self._settings.update(data, start, stop)
        elif number in (_OUTPUT, _OUTPUT_RAW):
            self._console(data, start, stop)
        elif number == _RUN:
            self._run(data, start, stop)
        elif number == _EXIT:
            self._exit_code = integer_field(data, start, stop, 1)

    def _console(self, data: bytes, start: int, stop: int) -> None:
        """``OutputRecord`` and ``OutputRawRecord``: output_type 1, line 3."""
        a, b = last_fields(data, start, stop).get((3, BYTES), (0, 0))
        self._output.write(data[a:b], integer_field(data, start, stop, 1) & 1)

    def _run(self, data: bytes, start: int, stop: int) -> None:
        """``RunRecord``: project 3, config 4, run_group 6, display_name 8, starting_step 14,
        start_time 17."""
        started = math.nan
        for (number, wire), (a, b) in last_fields(data, start, stop).items():
            if wire != BYTES:
                continue
            if number == 4:
                self._settings.update(data, a, b)
            elif number == 17:
                started = timestamp(data, a, b)
        self._settings.add_texts(_RUN_TEXTS, data, start, stop)
        self._history.begin(started, integer_field(data, start, stop, 14))
