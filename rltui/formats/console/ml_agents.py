"""Unity ML-Agents: ``[INFO] MoveToGoal. Step: 10000. Time Elapsed: 28.600 s. Mean Reward: 0.020.
Std of Reward: 0.100. Training.``

A full stop ends each field (mlagents/trainers/stats.py: ConsoleWriter). Of several behaviours in
one log, all but the first have their name before each metric.
"""

from __future__ import annotations

import re

from rltui.formats.console.console_dialect import ConsoleRows, Dialect
from rltui.formats.console.console_line import plain

_ROW = re.compile(rb"([\w?=&\[\] -]{1,100})[.:] Step: (\d{1,18})\. ")
_FIELD = re.compile(
    rb"([A-Z][A-Za-z -]{0,60}): (-?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|nan|inf))(?: s)?(?=[. ]|$)"
)


class MlAgents(Dialect):
    """The dialect of Unity ML-Agents."""

    markers = (b" Step: ",)

    def __init__(self) -> None:
        super().__init__()
        self._first: bytes | None = None

    def take(self, line: bytes, rows: ConsoleRows) -> bool:
        if b"Reward" not in line and b"Time Elapsed" not in line:
            return False
        text = plain(line)
        found = _ROW.search(text)
        if not found:
            return False
        cells = {name: float(value) for name, value in _FIELD.findall(text, found.end())}
        if not cells:
            return False
        behaviour = found[1].rpartition(b"] ")[2].strip()
        if self._first is None:
            self._first = behaviour
        if behaviour != self._first:
            cells = {behaviour + b"/" + name: value for name, value in cells.items()}
        self._add_cells(rows, int(found[2]), cells)
        return True
