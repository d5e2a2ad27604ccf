"""Logs of machines and sampling engines, which lie beside the logs of a training: rows have a time
and no step. Each step here is a period of :data:`PERIOD_S` seconds since the epoch, which the store
turns into steps of the run by the times of its rows.

- what vLLM and SGLang print (see :mod:`rltui.formats.gauges`). Their times have no zone, and vLLM's
  no year: the newest line was written when the file last changed;
- the streams of miles' dashboard below ``--dump-details`` (miles/dashboard/store.py), in files of
  one hour: ``engine_series``, ``gpu_util``, ``phases``, and the length of the buffer;
- ``wandb-events.jsonl``, the system metrics of a run of W&B.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from rltui.core.level import Level
from rltui.formats.base import Decoded, Decoder, Format, Options, Refusal
from rltui.formats.console import Console
from rltui.formats.console.console_line import wall_time
from rltui.formats.gauges import ENGINE_MARKERS, Period, Reading, engine_readings
from rltui.formats.json_value import fits_memory, parsed
from rltui.formats.last_line import LastLine
from rltui.formats.row_sink import RowSink, layout_of

#: Seconds of one row: vLLM prints that often.
PERIOD_S = 10.0
#: Names that launchers give to the output of engines, and those of miles' and W&B's files.
_OUTPUT = re.compile(
    r"(?:.*[_.-])?(?:vllm|sglang|infer(?:ence)?|engines?|servers?|serve|rollout(?:er)?|gen(?:eration"
    r"|erator)?|sampler|workers?|prefill|decode)(?:[_.-]?\w*)*\.(?:log|out|err|txt)",
    re.IGNORECASE,
)
_STREAM = re.compile(
    r"(?:engine_series|gpu_util|phases|data_buffer|\d{8}_\d\d|wandb-events)\.jsonl"
)
#: Directories of files within that of the run.
_HOMES = frozenset(("engine_series", "gpu_util", "phases", "data_buffer", "files"))
_HOUR = re.compile(r"\d{8}_\d\d\.jsonl|wandb-events\.jsonl")
#: Lines of a head that are looked at.
_LINES = 20
#: A time without a zone, at the beginning of a line.
_STAMP = re.compile(rb"(?:^|[\[ ])(?:(\d{4})-)?(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)\b")
_HEAD = 160
#: The offsets of all zones are multiples of the first (but Nepal's), and less than the second.
_ZONE_S, _MOST_ZONE_S = 1800.0, 14.5 * 3600
#: A clock that falls back farther was put back, or belongs to a new engine.
_BACK_S = 60.0
#: miles' names of SGLang's gauges.
_GAUGES = {
    "sglang_num_running_reqs": "engine/running",
    "sglang_num_queue_reqs": "engine/waiting",
    "sglang_gen_throughput": "engine/throughput",
    "sglang_token_usage": "engine/cache_use",
    "sglang_cache_hit_rate": "engine/hit_rate",
}


class Telemetry(Format):
    """The format ``telemetry``."""

    name = "telemetry"
    files = (
        "`*vllm*.log`, `*sglang*.log`, `*engine*.log` .., `dashboard/*.jsonl`, `wandb-events.jsonl`"
    )
    written_by = (
        "vLLM and SGLang (what they print), miles' dashboard, W&B: throughput, requests, caches and "
        "machines, at the times of the training beside them"
    )
    lacks = "no line of a sampling engine so far"
    precision_rank = 1
    names_run = False
    anywhere = True
    common = True
    beside = True

    def home(self, directory: str, path: Path) -> str:
        inner = directory.rpartition("/")[2]
        return (
            directory.rpartition("/")[0]
            if inner in _HOMES and _HOUR.fullmatch(path.name)
            else directory
        )

    def claims_name(self, name: str) -> bool:
        return _OUTPUT.fullmatch(name) is not None or _STREAM.fullmatch(name) is not None

    def claims(self, path: Path, head: bytes, options: Options | None = None) -> bool:
        """Whether there are lines of engines and no row of a training, or readings of machines."""
        if _STREAM.fullmatch(path.name):
            return any(_timed(row)[1] for row in map(_row, head.split(b"\n")[:_LINES]) if row)
        if not (self.claims_name(path.name) and any(marker in head for marker in ENGINE_MARKERS)):
            return False
        lines = (line for line in head.split(b"\n") if any(m in line for m in ENGINE_MARKERS))
        return any(map(engine_readings, lines)) and not Console().claims(path, head)

    def refusal(self, head: bytes, options: Options) -> Refusal:
        return Refusal("" if head.strip() else "empty so far")

    def row_search(self) -> Any:
        return lambda data: any(marker in data for marker in ENGINE_MARKERS)

    def decoder(self, options: Options | None = None, path: Path | None = None) -> Decoder:
        return TelemetryDecoder(printed=path is None or not path.name.endswith(".jsonl"))


class TelemetryDecoder(LastLine):
    """Decodes one file. Not thread-safe."""

    _may_hold_rows = True

    def __init__(self, *, printed: bool) -> None:
        """``printed``: whether its lines are the output of an engine, not JSON."""
        super().__init__()
        self._printed = printed
        self._clock = Clock()
        self._period = Period()
        self._open: int | None = None
        """Number of the period."""
        self._sink = RowSink()
        self._hparams: dict[str, object] = {}

    def set_clock(self, end: bytes, changed: float) -> None:
        """Learn the zone of the times: ``end`` was written just before the file ``changed``
        (seconds since the epoch)."""
        if self._printed:
            self._clock.learn(end, changed)

    def _feed(self, data: bytes, *, more: bool) -> Decoded:
        if data:
            self._cut(data)
        hparams, self._hparams = self._hparams, {}
        records, self._records = self._records, 0
        items, notes = self._sink.take(), self._notes.take()
        return Decoded(items, (), hparams, notes, records, steps_are_row_numbers=True)

    def _close(self) -> Decoded:
        self._end_period()
        return self._feed(b"", more=False)

    def _read_lines(self, text: bytes, begin: int, end: int) -> int:
        read = self._read_output if self._printed else self._read_json
        read(text[begin:end])
        return end

    def _read_output(self, text: bytes) -> None:
        """Read the lines with a marker."""
        begins: dict[int, None] = {}
        for marker in ENGINE_MARKERS:
            at = text.find(marker)
            while at >= 0:
                begins[text.rfind(b"\n", 0, at) + 1] = None
                at = text.find(marker, text.find(b"\n", at) + 1)
        for begin in sorted(begins):
            line = text[begin : text.find(b"\n", begin)]
            readings = engine_readings(line)
            self._records += bool(readings)
            self._add(self._clock.time(line), readings)

    def _read_json(self, text: bytes) -> None:
        for line in text.split(b"\n"):
            if not line.strip():
                continue
            self._records += 1
            row = _row(line)
            if row is None:
                self._notes.add(self._offset + text.find(line), "broken line", level=Level.WATCH)
                continue
            self._add(*_timed(row))

    def _add(self, time: float, readings: Iterable[Reading]) -> None:
        """Add readings to the open period, or close it first."""
        if not math.isfinite(time):
            return
        number = int(time // PERIOD_S)
        if self._open is None:
            self._open = number
        if number > self._open or (self._open - number) * PERIOD_S > _BACK_S:
            self._end_period()
            self._open = number
        self._period.add(readings)

    def _end_period(self) -> None:
        if self._open is None or not self._period:
            return
        row, names = self._period.take()
        self._hparams.update(names)
        wall = self._open * PERIOD_S + PERIOD_S / 2
        wall = wall if self._clock.is_known or not self._printed else math.nan
        self._sink.row(layout_of(tuple(row), np.float64), self._open, wall, tuple(row.values()))


class Clock:
    """Turns the times of lines into seconds since the epoch. Owned by one decoder."""

    def __init__(self) -> None:
        self._shift = math.nan
        """Seconds from the time of the machine, taken as UTC, to the true one."""
        self._newest = math.nan
        """The newest time, as the machine has it."""

    @property
    def is_known(self) -> bool:
        """Whether the zone is known."""
        return math.isfinite(self._shift)

    def learn(self, end: bytes, changed: float) -> None:
        """See :meth:`TelemetryDecoder.set_clock`."""
        self._newest = changed
        stamps = list(_STAMP.finditer(end))
        if not stamps:
            return
        newest = self._machine_time(stamps[-1])
        shift = round((changed - newest) / _ZONE_S) * _ZONE_S
        # farther off it is a copy, whose change time says nothing
        self._shift = shift if abs(shift) <= _MOST_ZONE_S else math.nan

    def time(self, line: bytes) -> float:
        """The time of a line; that of the line before if it has none."""
        wall = wall_time(line)
        if math.isfinite(wall):
            self._shift = 0.0
            self._newest = wall
            return wall
        found = _STAMP.search(line[:_HEAD])
        if found is not None:
            self._newest = self._machine_time(found)
        return self._newest + (self._shift if self.is_known else 0.0)

    def _machine_time(self, stamp: re.Match[bytes]) -> float:
        year, month, day, hour, minute, second = stamp.groups()
        clock = int(hour) * 3600 + int(minute) * 60 + int(second)
        if year:
            return _day(int(year), int(month), int(day)) + clock
        # the year in which it is nearest to the line before, or to the last change of the file
        near = self._newest if math.isfinite(self._newest) else 0.0
        about = datetime.fromtimestamp(near, timezone.utc).year
        days = (_day(about + more, int(month), int(day)) + clock for more in (-1, 0, 1))
        return min(days, key=lambda time: abs(time - near) if math.isfinite(time) else math.inf)


@lru_cache(maxsize=256)
def _day(year: int, month: int, day: int) -> float:
    """The beginning of a day in UTC, in seconds since the epoch; NaN for none."""
    try:
        return datetime(year, month, day, tzinfo=timezone.utc).timestamp()
    except ValueError:
        return math.nan


def _row(line: bytes) -> dict[str, Any] | None:
    """The object in a line; None for anything else."""
    try:
        row = parsed(line) if fits_memory(line) else None
    except ValueError:
        return None
    return row if isinstance(row, dict) else None


def _timed(row: Mapping[str, Any]) -> tuple[float, list[Reading]]:
    """The time of a row and its readings, none where it is of another kind."""
    get = row.get
    time = get("ts", get("_timestamp", get("t1")))
    if not isinstance(time, (int, float)) or not 0 <= time < 1e11:
        return math.nan, []
    if "metric" in row:
        name = str(row["metric"])
        name = _GAUGES.get(name) or f"engine/{name.removeprefix('sglang_')}"
        found = [(name, str(get("addr")), get("value"))]
    elif "util" in row:
        source = f"{get('node')}:{get('gpu')}"
        names = {"gpu_use": "util", "gpu_memory_mb": "mem_mb", "gpu_power": "power_w"}
        found = [(f"system/{name}", source, get(key)) for name, key in names.items()]
    elif "t0" in row:
        begin = row["t0"]
        took = time - begin if isinstance(begin, (int, float)) else None
        found = [(f"phase/{get('name')}", str(get("rank")), took)]
    elif "length" in row and len(row) == 2:
        found = [("engine/buffer", "", row["length"])]
    else:
        found = [
            (f"system/{key.removeprefix('system.')}", "", value)
            for key, value in row.items()
            if key.startswith("system.")
        ]
    values = [(n, s, v) for n, s, v in found if isinstance(v, (int, float)) and math.isfinite(v)]
    return float(time), [Reading(name, source, float(v)) for name, source, v in values]
