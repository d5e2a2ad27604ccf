"""Sample Factory: ``Fps is (10 sec: 4096.0, ..). Total num frames: 40960. ..`` and, on the next
line, ``Avg episode reward: [(0, '4.384')]``.

Both lines are of the step ``Total num frames`` (sample_factory/algo/runners/runner.py). The first
brackets of a line hold the time and the process, not a step.
"""

from __future__ import annotations

import re

from rltui.formats.console.console_dialect import ConsoleRows, Dialect
from rltui.formats.console.console_line import NUMBER, plain

_FRAMES = re.compile(rb"Total num frames: (\d{1,18})\b")
_FPS = re.compile(rb"(\d{1,6}) sec: (" + NUMBER + rb")")
_REST = re.compile(rb"(Throughput): (\d{1,9}): (" + NUMBER + rb")|(Samples): (\d{1,18})")
_LAG = re.compile(
    rb"Policy #(\d{1,9}) lag: \(min: ("
    + NUMBER
    + rb"), avg: ("
    + NUMBER
    + rb"), max: ("
    + NUMBER
    + rb")"
)
_REWARDS = re.compile(
    rb"(Avg episode reward|Avg episode rewards|Avg episode len\w*): \[(\([^\]]{1,4000})\]"
)
_PAIR = re.compile(rb"\((\d{1,9}), '?(" + NUMBER + rb")'?\)")


class SampleFactory(Dialect):
    """The dialect of Sample Factory."""

    markers = (b"Fps is (", b"Avg episode ")

    def __init__(self) -> None:
        super().__init__()
        self._step: int | None = None

    def take(self, line: bytes, rows: ConsoleRows) -> bool:
        text = plain(line)
        if b"Fps is (" in text:
            return self._speeds(text, rows)
        found = _REWARDS.search(text)
        if not found or self._step is None:
            return False
        cells = {
            found[1] if not int(policy) else found[1] + b" #" + policy: float(value)
            for policy, value in _PAIR.findall(found[2])
        }
        if cells:
            self._add_cells(rows, self._step, cells)
        return bool(cells)

    def _speeds(self, text: bytes, rows: ConsoleRows) -> bool:
        frames = _FRAMES.search(text)
        if not frames:
            return False
        self._step = int(frames[1])
        cells = {b"Fps (" + s + b" sec)": float(v) for s, v in _FPS.findall(text)}
        for name, policy, speed, samples, count in _REST.findall(text):
            if name:
                cells[name if policy == b"0" else name + b" #" + policy] = float(speed)
            else:
                cells[samples] = float(count)
        for policy, least, mean, most in _LAG.findall(text):
            lag = b"Policy #" + policy + b" lag"
            cells |= {lag + b" min": float(least), lag + b" avg": float(mean)}
            cells[lag + b" max"] = float(most)
        self._add_cells(rows, self._step, cells)
        return True
