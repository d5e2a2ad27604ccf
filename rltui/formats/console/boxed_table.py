"""Boxes of ``| key | value |`` lines between lines of dashes: stable-baselines3, its
predecessors, Spinning Up, garage.

``| rollout/ | |`` opens a group, whose keys stand indented below it
(stable_baselines3/common/logger.py: HumanOutputFormat; three significant digits, long keys are
cut and end with ``...``). The step is a row of the table. Lines of other output inside the box
are skipped.
"""

from __future__ import annotations

from rltui.formats.console.console_dialect import ConsoleRows, Dialect
from rltui.formats.console.console_line import number, plain

#: Keys of the step, best first.
_STEPS = (
    b"time/total_timesteps",
    b"total_timesteps",
    b"misc/total_timesteps",
    b"TotalEnvInteracts",
    b"TotalEnvSteps",
    b"total_steps",
    b"time/step",
    b"time/iterations",
    b"nupdates",
    b"misc/nupdates",
    b"Iteration",
    b"Itr",
    b"Epoch",
)
_MAX_ROWS = 500
#: Lines of other output allowed inside a box.
_MAX_FOREIGN = 200
_FIRST = (b"|", b"-")


class BoxedTable(Dialect):
    """The dialect of boxed tables."""

    markers = (b"-----------\n",)

    def __init__(self) -> None:
        super().__init__()
        self._open = False
        self._foreign = 0
        """Lines of other output since the last line of the box."""
        self._group = b""
        self._cells: dict[bytes, bytes] = {}

    @property
    def open(self) -> bool:
        """Whether a box may continue."""
        return self._open

    def take(self, line: bytes, rows: ConsoleRows) -> bool:
        """A line of dashes may begin a box; the following lines show whether it does."""
        self._open = not plain(line).strip(b"- ")
        self._foreign, self._group = 0, b""
        self._cells = {}
        return False

    def follow(self, line: bytes, rows: ConsoleRows) -> None:
        """A line below dashes: a cell, the end of the box, or other output."""
        first = line[:1]
        if first not in _FIRST:
            line = plain(line)
            first = line[:1]
        if first == b"|":
            self._foreign = 0
            self._cell(line)
        elif first == b"-" and not line.strip(b"- "):
            cells, self._cells = self._cells, {}
            self._foreign, self._group = 0, b""
            if cells:
                self._row(cells, rows)
        elif line:
            self._foreign += 1
            self._open = bool(self._cells) and self._foreign < _MAX_FOREIGN

    def _cell(self, line: bytes) -> None:
        parts = line.split(b"|")
        if len(parts) != 4 or parts[3].strip():
            return
        raw, value = parts[1], parts[2].strip()
        key = raw.strip()
        if not value:
            self._group = key if key.endswith(b"/") else self._group
        elif len(self._cells) < _MAX_ROWS:
            self._cells[self._group + key if raw.startswith(b"    ") else key] = value

    def _row(self, cells: dict[bytes, bytes], rows: ConsoleRows) -> None:
        for key in _STEPS:
            step = number(cells[key]) if key in cells else None
            if step is not None and step.is_integer():
                break
        else:
            return
        del cells[key]
        found = ((name, number(text)) for name, text in cells.items())
        values = {name: value for name, value in found if value is not None}
        if values:
            self._add_cells(rows, int(step), values)
