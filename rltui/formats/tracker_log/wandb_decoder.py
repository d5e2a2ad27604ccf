"""Decodes a transaction log of wandb record by record.

``Record`` (wandb/proto/wandb_internal.proto): history 2, summary 3, output 4, config 5,
stats 7, metric 12, output_raw 13, run 17, exit 18. Summaries repeat the history and are skipped,
as is everything else.
"""

from __future__ import annotations

import math

from rltui.formats.protobuf import BYTES, fields, integer_field, last_fields, timestamp, varint
from rltui.formats.tracker_log.history import History
from rltui.formats.tracker_log.leveldb import Framing
from rltui.formats.tracker_log.tracker_decoder import Points, TrackerDecoder

FRAMING = Framing(b":W&B", 0xBEE1, 0)
_HISTORY, _OUTPUT, _CONFIG, _STATS, _METRIC, _OUTPUT_RAW, _RUN, _EXIT = 2, 4, 5, 7, 12, 13, 17, 18
_HISTORY_KEY, _SUMMARY_KEY = 0x12, 0x1A
#: Texts of the run record that are shown: field -> name.
_RUN_TEXTS = {3: "wandb.project", 6: "wandb.group", 8: "wandb.name"}


class WandbDecoder(TrackerDecoder):
    """Decodes one file. Not thread-safe."""

    def __init__(self) -> None:
        super().__init__(FRAMING)
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
        elif number in (_OUTPUT, _OUTPUT_RAW):  # output_type 1, line 3
            a, b = last_fields(data, start, stop).get((3, BYTES), (0, 0))
            self._output.write(data[a:b], integer_field(data, start, stop, 1) & 1)
        elif number == _RUN:
            self._run(data, start, stop)
        elif number == _EXIT:
            self._exit_code = integer_field(data, start, stop, 1)

    def _run(self, data: bytes, start: int, stop: int) -> None:
        """``RunRecord``: project 3, config 4, run_group 6, display_name 8, starting_step 14,
        start_time 17."""
        found = last_fields(data, start, stop)
        if (4, BYTES) in found:
            self._settings.update(data, *found[4, BYTES])
        started = timestamp(data, *found[17, BYTES]) if (17, BYTES) in found else math.nan
        self._settings.add_texts(_RUN_TEXTS, data, start, stop)
        self._history.begin(started, integer_field(data, start, stop, 14))
