"""Dialects of console lines, and the blocks, with restarts, into which their rows go."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from rltui.core.batch import NO_LANES, Restart
from rltui.core.block import Block
from rltui.formats.row_sink import Layout, RowSink, layout_of
from rltui.formats.row_times import RowClock

#: Longer lines are dropped.
MAX_LINE = 1 << 20
#: Longer lines are none of a trainer that prints a few values.
MAX_FORM = 1 << 13
#: Steps are int64; no row of a larger one is kept.
_STEPS = 1 << 63

#: With this many restarts of fewer than this many rows each, several trainings write at once.
_TOO_MANY = 8
_TOO_SHORT = 3
#: Tags of a row that are compared to detect a restart.
_COMPARED = 3
#: Tags remembered at most.
_MAX_KEYS = 10_000
#: Forms that are remembered; of those that wait for a second row the oldest goes first.
_MAX_FORMS = 4096
#: Rows that wait for one of a later step: of one form, and of all.
_MAX_WAITING = 400
_MAX_ALL = 20_000
#: Names by which a row is believed.
_LEADING = 2


class Row(NamedTuple):
    """Values of one step."""

    step: int
    names: tuple[bytes, ...]
    values: Sequence[float]
    wall: float = math.nan
    total: int | None = None
    """The planned number of steps, where the line has it."""

    @classmethod
    def of(cls, step: int, cells: Mapping[bytes, float], wall: float = math.nan) -> Row:
        """Values by their names."""
        return cls(step, tuple(cells), tuple(cells.values()), wall)

    def at(self, step: int) -> Row:
        """Values of this row at another step."""
        return Row(step, self.names, self.values, self.wall, self.total)


class ConsoleRows:
    """Gathers the rows of one call of ``feed``; owned by one decoder."""

    def __init__(self) -> None:
        self._sink = RowSink()
        self._names: tuple[bytes, ...] = ()
        self._layout: Layout | None = None
        self._steps: list[int] = []
        self._walls: list[float] = []
        self._values: list[Sequence[float]] = []
        self.count = 0
        """Rows so far, over all calls."""
        self.clock = RowClock()
        self.steps_are_row_numbers = False
        self.guessed: frozenset[str] = frozenset()
        """Tags with points whose steps the log does not give, over all calls."""
        self.newest: int | None = None
        """Step of the newest row."""
        self.total: int | None = None
        """The planned number of steps, where the log has it."""
        self.lanes = NO_LANES
        """Tags of rows that lie beside those of the training, over all calls."""

    def add(self, row: Row, *, guessed: bool = False) -> None:
        """Add one row; the last value of a repeated name counts. ``guessed``: the step is that of
        a row nearby."""
        step, names, values, wall, _ = row
        if guessed and not self.guessed.issuperset(tags := layout_of(names, np.float64).tags):
            self.guessed |= frozenset(tags)
        if not names or not -_STEPS <= step < _STEPS:
            return

        if names != self._names:
            self._flush()
            layout = layout_of(names, np.float64)
            if len(layout.index) != len(names):
                cells = dict(zip(layout.tags, values, strict=True))
                names = tuple(t.encode() for t in cells)
                values = tuple(cells.values())
                layout = Layout(tuple(cells), np.float64)
            self._names = names
            self._layout = layout

        clock = self.clock
        if math.isnan(wall) and not clock.silent:
            if clock.paced:
                clock.numbers.append(len(self._steps))
                clock.ends.append(clock.line[1])
            else:
                wall = clock.stamp()
                wall = clock.bar(step) if math.isnan(wall) else wall
        self._steps.append(step)
        self._walls.append(wall)
        self._values.append(values)
        self.newest = step
        self.count += 1

    def restart(self, step: int) -> None:
        """Close the rows so far: the training begins again at ``step``."""
        self._flush()
        self._sink.restart(step)

    def blocks(self) -> tuple[Block | Restart, ...]:
        """Everything since the last call."""
        self._flush()
        return self._sink.take()

    def end_piece(self, ends: Sequence[int]) -> None:
        """End the piece of the log that was read; ``ends``: of the lines with rows."""
        self.clock.fill(self._walls, self._steps)
        self.clock.end(ends)

    def _flush(self) -> None:
        self.clock.fill(self._walls, self._steps)
        if self._layout is not None and self._steps:
            self._sink.rows(
                self._layout,
                np.array(self._steps, np.int64),
                np.array(self._walls),
                np.array(self._values, np.float64),
            )
        self._names = ()
        self._layout = None
        self._steps = []
        self._walls = []
        self._values = []


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

    def restarts_at(self, step: int, names: tuple[bytes, ...]) -> bool:
        """Whether the next row is the first after a restart."""
        if not -_STEPS <= step < _STEPS:
            return False
        self._rows += 1
        if len(names) > _COMPARED:
            names = (names[0], names[len(names) // 2], names[-1])

        last = self._last
        found = False
        if self._enabled:
            for name in names:
                if last.get(name, step) > step:
                    found = True
                    self._restarts += 1
                    many = self._restarts >= _TOO_MANY
                    self._enabled = not many or self._rows > _TOO_SHORT * self._restarts
                    break

        if found or len(last) > _MAX_KEYS:
            last.clear()
        for name in names:
            last[name] = step
        return found


class RowForms:
    """Believes rows by their form: two with the same leading names and different steps.

    What is printed once, or again with the same counter, as settings are, is no row.
    """

    def __init__(self) -> None:
        self._forms: dict[tuple[bytes | int, ...], list[Row] | None] = {}
        """Leading names of a row, and what else tells forms apart -> rows that wait; None:
        believed; empty: not read."""
        self._waiting = 0
        self.own: set[tuple[bytes | int, ...]] = set()
        """Forms that were believed by counters of their own."""

    @staticmethod
    def leading(names: tuple[bytes, ...]) -> tuple[bytes, ...]:
        """The names by which a row is believed: those behind them may come now and then."""
        return tuple(sorted(names[:_LEADING]))

    def add(
        self, form: tuple[bytes | int, ...], row: Row, *, own: bool = True, once: bool = False
    ) -> list[Row]:
        """Add a row; returns the rows that are now believed. ``own``: the step is its own, not
        that of another row; ``once``: a form with many rows of one step is not read."""
        if form not in self._forms:
            if len(self._forms) >= _MAX_FORMS:
                waits = (known for known, rows in self._forms.items() if rows is not None)
                del self._forms[next(waits, next(iter(self._forms)))]
            self._forms[form] = [row]
            return []

        waiting = self._forms[form]
        if waiting is None:
            return [row]
        if not waiting:
            return []
        if row.step < waiting[0].step:
            self._forms[form] = [row]
        elif row.step > waiting[0].step:
            self._forms[form] = None
            if own:
                self.own.add(form)
            return [*waiting, row]
        elif once:
            waiting.clear()
        elif len(waiting) < _MAX_WAITING and self._waiting < _MAX_ALL:
            self._waiting += 1
            waiting.append(row)
        return []


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
    """:meth:`read` only gets lines that contain one of these,"""
    words: tuple[bytes, ...] = ()
    """or one of these in capitals or small letters; in small letters here."""
    rank = Rank.SURE
    """It is dropped when a dialect of a surer rank finds a row."""
    aside = False
    """Whether its rows are none of the training: they say nothing about other dialects."""
    longest = MAX_FORM
    """Bytes of the longest line that it gets."""

    def __init__(self, rows: ConsoleRows) -> None:
        self.rows = rows
        self.restarts = RestartDetector()
        self.open = False
        """Whether it wants the following lines, whatever they contain. One that guesses gets
        those with a marker by :meth:`read` all the same."""

    @abstractmethod
    def read(self, line: bytes) -> bool:
        """Read a raw line without its end; returns whether it is a row of this dialect."""

    def follow(self, line: bytes) -> None:  # noqa: B027 - few are ever open
        """Read a following line while the dialect is open."""

    def close(self) -> None:  # noqa: B027 - few hold a row
        """Add the row that waits for a line, now that no more come."""

    def add(self, row: Row, *, guessed: bool = False) -> None:
        """Add a row; one at a lower step than before is the first after a restart."""
        if self.restarts.restarts_at(row.step, row.names):
            self.rows.restart(row.step)
        self.rows.add(row, guessed=guessed)

    def add_believed(self, believed: Sequence[Row], *, guessed: bool = False) -> bool:
        """Add the rows of a form, of which all but the last have waited: rows of other forms may
        have come after them, so that their lower steps show no restart. Returns whether there
        are any."""
        for row in believed[:-1]:
            self.rows.add(row, guessed=guessed)
        if believed:
            self.add(believed[-1], guessed=guessed)
        return bool(believed)
