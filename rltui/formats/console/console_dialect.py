"""What a dialect of console lines is, and where its rows go: into blocks, with restarts."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from enum import IntEnum
from functools import lru_cache

import numpy as np

from rltui.core.batch import Restart
from rltui.core.block import Block
from rltui.formats.console.console_line import wall_time
from rltui.formats.console.row_forms import Waiting
from rltui.formats.row_sink import Layout, RowSink, layout_of

#: Longer lines are dropped.
MAX_LINE = 1 << 20
#: Longer lines are none of a trainer that prints a few values.
MAX_FORM = 1 << 13
#: Steps are int64.
_STEPS = 1 << 63

#: With this many restarts of fewer than this many rows each, several trainings write at once.
_TOO_MANY, _TOO_SHORT = 8, 3
#: Tags of a row that are compared to detect a restart.
_COMPARED = 3
#: Tags remembered at most.
_MAX_KEYS = 10_000


def is_step(number: int) -> bool:
    """Whether a number fits a step; no row of a larger one is kept."""
    return -_STEPS <= number < _STEPS


class ConsoleRows:
    """Gathers the rows of one call of ``feed``; owned by one decoder."""

    def __init__(self) -> None:
        self._sink = RowSink()
        self._names: tuple[bytes, ...] = ()
        self._layout: Layout | None = None
        self._steps: list[int] = []
        self._walls: list[float] = []
        self._values: list[Sequence[float]] = []
        self.taken = 0
        """Rows so far, over all calls."""
        self.stamp = b""
        """What stood in front of the line that is being read."""
        self.steps_are_row_numbers = False
        """Whether steps are row numbers."""
        self.guessed: frozenset[str] = frozenset()
        """Tags with points whose steps the log does not give, over all calls."""
        self.newest: int | None = None
        """Step of the newest row."""
        self.total: int | None = None
        """The planned number of steps, where the log has it."""

    def add(
        self, names: tuple[bytes, ...], step: int, values: Sequence[float], wall: float = math.nan
    ) -> None:
        """Add one row; the last value of a repeated name counts."""
        if not names or not is_step(step):
            return
        if names != self._names:
            self._flush()
            layout = layout_of(names, np.float64)
            if len(layout.index) != len(names):
                cells = dict(zip(layout.tags, values, strict=True))
                names, values = tuple(t.encode() for t in cells), tuple(cells.values())
                layout = Layout(tuple(cells), np.float64)
            self._names, self._layout = names, layout
        self._steps.append(step)
        self._walls.append(wall_time(self.stamp) if self.stamp and math.isnan(wall) else wall)
        self._values.append(values)
        self.newest = step
        self.taken += 1

    def guess(
        self, names: tuple[bytes, ...], step: int, values: Sequence[float], wall: float = math.nan
    ) -> None:
        """Add a row that has no step of its own: ``step`` is that of a row nearby."""
        tags = _tags(names)
        if not tags <= self.guessed:
            self.guessed |= tags
        self.add(names, step, values, wall)

    def restart(self, step: int) -> None:
        """The training begins again at ``step``."""
        self._flush()
        self._sink.restart(step)

    def take(self) -> tuple[Block | Restart, ...]:
        """Everything since the last call."""
        self._flush()
        return self._sink.take()

    def _flush(self) -> None:
        if self._layout is not None and self._steps:
            self._sink.rows(
                self._layout,
                np.array(self._steps, np.int64),
                np.array(self._walls),
                np.array(self._values, np.float64),
            )
        self._names, self._layout = (), None
        self._steps, self._walls, self._values = [], [], []


@lru_cache(maxsize=256)
def _tags(names: tuple[bytes, ...]) -> frozenset[str]:
    return frozenset(layout_of(names, np.float64).tags)


class RestartDetector:
    """Detects where a stream of rows starts again at a lower step.

    Equal steps are normal, and so is a row of other metrics at a lower step (an evaluation logged
    late): only a metric whose own step falls back shows a restart.
    """

    def __init__(self) -> None:
        self._last: dict[bytes, int] = {}
        self._restarts = 0
        self._rows = 0
        self._enabled = True

    def add(self, rows: ConsoleRows, names: tuple[bytes, ...], step: int) -> None:
        """Announce the next row; adds a restart to ``rows`` where there is one."""
        if not is_step(step):
            return
        self._rows += 1
        if len(names) <= _COMPARED:
            compared: tuple[bytes, ...] = names
        else:
            compared = (names[0], names[len(names) // 2], names[-1])
        last = self._last
        if self._enabled and any(last.get(name, step) > step for name in compared):
            self._restarts += 1
            self._enabled = self._restarts < _TOO_MANY or self._rows > _TOO_SHORT * self._restarts
            rows.restart(step)
            last.clear()
        if len(last) > _MAX_KEYS:
            last.clear()
        for name in compared:
            last[name] = step


class Rank(IntEnum):
    """How sure the rows of a dialect are, the surest first."""

    SURE = 0
    """A trainer's own words."""
    SHAPE = 1
    """A form that many programs print: bars, tables."""
    GUESS = 2
    """Names and numbers in lines of text."""


class Dialect(ABC):
    """Recognises the rows of one family of trainers; owned by one decoder."""

    markers: tuple[bytes, ...]
    """:meth:`take` only gets lines that contain one of these,"""
    words: tuple[bytes, ...] = ()
    """or one of these in capitals or small letters; in small letters here."""
    rank = Rank.SURE
    """It is dropped when a dialect of a surer rank finds a row."""
    longest = MAX_FORM
    """Bytes of the longest line that it gets."""

    def __init__(self) -> None:
        self._restarts = RestartDetector()

    @property
    def open(self) -> bool:
        """Whether it wants the following lines, whatever they contain. One that guesses gets
        those with a marker by :meth:`take` all the same."""
        return False

    @abstractmethod
    def take(self, line: bytes, rows: ConsoleRows) -> bool:
        """Read a raw line without its end; returns whether it is a row of this dialect."""

    def follow(self, line: bytes, rows: ConsoleRows) -> None:  # noqa: B027 - few are ever open
        """Read a following line while the dialect is open."""

    def close(self, rows: ConsoleRows) -> None:  # noqa: B027 - few hold a row
        """Add the row that waits for a line, now that no more come."""

    def _add(
        self,
        rows: ConsoleRows,
        names: tuple[bytes, ...],
        step: int,
        values: Sequence[float],
        wall: float = math.nan,
    ) -> None:
        """Add a row; one at a lower step than before is the first after a restart."""
        self._restarts.add(rows, names, step)
        rows.add(names, step, values, wall)

    def _add_believed(
        self, rows: ConsoleRows, names: tuple[bytes, ...], believed: Sequence[Waiting]
    ) -> None:
        """Add the rows of a form, of which all but the last have waited: rows of other forms may
        have come after them, so that their lower steps show no restart."""
        for one in believed[:-1]:
            rows.add(names, one.step, one.values, one.wall)
        for one in believed[-1:]:
            self._add(rows, names, one.step, one.values, one.wall)

    def _add_cells(
        self, rows: ConsoleRows, step: int, cells: Mapping[bytes, float], wall: float = math.nan
    ) -> None:
        """The same with the values by name."""
        self._add(rows, tuple(cells), step, tuple(cells.values()), wall)
