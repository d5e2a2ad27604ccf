"""Logger records: slime ``step 12: {'train/loss': 0.01}``, ROLL ``metrics_tag: {"step": 3,
"metrics": {...}}``, SkyRL ``Step 5:`` above a printed dict, and JSON objects of custom loops.

slime's step is that of its axis (rollouts or optimiser steps), which itself is omitted as in
TensorBoard (slime/observability); SkyRL quotes its numbers (skyrl/train/utils/tracking.py).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from rltui.formats.console.console_dialect import MAX_LINE, ConsoleRows, Dialect, RestartDetector
from rltui.formats.console.console_line import plain, wall_time
from rltui.formats.console.printed_dict import MAX_BYTES, PrintedDict, pairs
from rltui.formats.json_value import parsed

_SLIME = re.compile(rb"(?:^|[\s-])(step|rollout|perf|eval|passrate) (\d{1,18}): (?=\{['\"])")
_SKYRL = re.compile(rb"(?:^|\s)Step (\d{1,18}): *(\{'.*)?$")
_AXES = (b"train/step", b"rollout/step", b"eval/step")
_STEP_KEYS = ("step", "global_step", "_step", "iteration", "training_iteration", "current_steps")
_PLANS = ("total_steps", "max_steps")
_DEPTH = 8


class LoggerRecord(Dialect):
    """The dialect of dicts and JSON objects with a step."""

    longest = MAX_LINE
    markers = (b": {'", b'{"', b"Step ")

    def __init__(self) -> None:
        super().__init__()
        self._detectors: dict[bytes, RestartDetector] = {}
        self._printed: PrintedDict | None = None
        self._step = 0
        self._wall = math.nan

    @property
    def open(self) -> bool:
        """Whether a dict of SkyRL continues."""
        return self._printed is not None

    def follow(self, line: bytes, rows: ConsoleRows) -> None:
        """A further line of a printed dict."""
        text = plain(line)
        printed = self._printed
        if printed is None or not printed.add(text):
            return
        self._printed = None
        cells = printed.numbers()
        if cells:
            self._axis_row(b"step", self._step, cells, self._wall, rows)

    def take(self, line: bytes, rows: ConsoleRows) -> bool:
        if len(line) > MAX_BYTES:
            return False
        if b'{"' in line:
            return self._json(line, rows)
        if b"{'" not in line and not line.rstrip().endswith(b":"):
            return False
        text = plain(line)
        found = _SLIME.search(text)
        if found:
            return self._slime(text, found, rows)
        skyrl = _SKYRL.search(text)
        if skyrl:
            self._step, self._wall = int(skyrl[1]), wall_time(text)
            self._printed = PrintedDict(skyrl[2] or b"{")
            if skyrl[2]:
                self.follow(b"", rows)
            else:
                self._printed = _Expected()
        return False

    def _slime(self, text: bytes, found: re.Match[bytes], rows: ConsoleRows) -> bool:
        body = text[found.end() :].rstrip()
        read = pairs(body) if body.endswith(b"}") else None
        if read is None or not read[0]:
            return False
        cells = dict(zip(*read, strict=True))
        step = next((cells.pop(a) for a in _AXES if a in cells), float(found[2]))
        if not cells or not step.is_integer():
            return False
        self._axis_row(found[1], int(step), cells, wall_time(text), rows)
        return True

    def _json(self, line: bytes, rows: ConsoleRows) -> bool:
        at = line.find(b'{"')
        body = line[at:].rstrip()
        if not body.endswith(b"}") or (b"step" not in body and b"iteration" not in body):
            return False
        try:
            row = parsed(body)
        except ValueError:
            return False
        if not isinstance(row, dict):
            return False
        key = next((k for k in _STEP_KEYS if _whole(row.get(k))), None)
        if key is None:
            return False
        step = int(row.pop(key))
        for plan in _PLANS:
            if _whole(row.get(plan)):
                rows.total = int(row.pop(plan))
        inner = row.get("metrics", row.get("data"))
        numbers = _numbers(inner if isinstance(inner, dict) else row, "", 0)
        cells = {name.encode("utf-8", "replace"): value for name, value in numbers}
        if cells:
            self._axis_row(b"json", step, cells, wall_time(line), rows)
        return bool(cells)

    def _axis_row(
        self, axis: bytes, step: int, cells: dict[bytes, float], wall: float, rows: ConsoleRows
    ) -> None:
        self._detectors.setdefault(axis, RestartDetector()).add(rows, tuple(cells), step)
        rows.add(tuple(cells), step, tuple(cells.values()), wall)


class _Expected(PrintedDict):
    """A dict that may begin on the next line."""

    def __init__(self) -> None:
        super().__init__(b"")
        self._begun = False

    def add(self, line: bytes) -> bool:
        """See :class:`rltui.formats.console.printed_dict.Printed`."""
        if not self._begun:
            if not line.startswith(b"{'"):
                return True
            self._begun = True
        return super().add(line)


def _whole(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return math.isfinite(value) and value == int(value)


def _numbers(row: dict[str, object], prefix: str, depth: int) -> Iterator[tuple[str, float]]:
    for key, value in row.items():
        if isinstance(value, bool):
            continue
        if isinstance(value, (int, float)):
            try:
                yield prefix + key, float(value)
            except OverflowError:
                continue
        elif isinstance(value, dict) and depth < _DEPTH:
            yield from _numbers(value, f"{prefix}{key}/", depth + 1)
