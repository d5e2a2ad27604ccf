"""One metric of MLflow's file store: a growing file of ``<ms> <value> <step>``."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np

from rltui.core.address import is_remote
from rltui.core.clock import Clock
from rltui.files.tail import tail_of
from rltui.files.trouble import Notes
from rltui.formats.base import NoteBook
from rltui.trackers.settings import Column

#: Bytes of a line, roughly: 13 digits of time, up to 20 of a value, a step.
LINE_BYTES = 40
#: Longest unfinished line that is kept.
_MOST_LINE = 1 << 16
#: Seconds after a change in which the tail may have to compare the file once more.
_SETTLED_S = 10.0
_SPACE, _NEWLINE = 32, 10
_STEPS = 1 << 63


class MetricFile:
    """Owned by the follower of its run."""

    def __init__(self, path: Path, tag: str, clock: Clock) -> None:
        self.tag = tag
        self.more = False
        """Whether it is known to hold more lines than were taken."""
        self.steps_are_row_numbers = True
        """Whether no line has a step."""
        self.restarted = False
        self._tail = tail_of(path, clock=clock)
        self._place = "" if is_remote(path) else str(path)
        self._clock = clock
        self._stamp: tuple[int, int, int] | None = None
        self._quiet_from = math.inf
        """Monotonic time from which comparing the stamp is enough."""
        self._held = b""
        """What was read and not yet taken: lines beyond the limit, and an unfinished one."""
        self._row = 0
        """Lines that were taken."""
        self._trouble: Notes = ()

    @property
    def offset(self) -> int:
        """Bytes that were taken."""
        return self._tail.offset - len(self._held)

    @property
    def size(self) -> int:
        """Bytes at the last read."""
        return self._tail.size

    @property
    def modified(self) -> float:
        """Change time at the last read; 0 before the first."""
        return self._tail.modified

    @property
    def troubled(self) -> bool:
        """Whether something has happened to the file that is to be reported."""
        return self.restarted or bool(self._trouble)

    def take_notes(self) -> Notes:
        """Trouble with the file since the last call."""
        trouble, self._trouble = self._trouble, ()
        return trouble

    def read(self, most: int, notes: NoteBook) -> tuple[Column | None, int]:
        """At most ``most`` new lines as a column, and their number."""
        if not self._held and self._is_quiet():
            return None, 0
        unread = False
        if self._held.count(b"\n") < most:
            polled = self._tail.poll(2 * LINE_BYTES * most)
            if polled.notes:
                self._trouble += polled.notes
            if polled.restarted:
                self.restarted = True
                return None, 0
            self._held += polled.data
            unread = polled.more
        body = self._cut(most)
        self.more = unread or b"\n" in self._held
        if not body:
            if len(self._held) > _MOST_LINE:
                notes.add(self.offset, f"{self.tag}: a line that does not end")
                self._held = b""
            return None, 0
        return self._column(body, notes)

    def _is_quiet(self) -> bool:
        """Whether the file has not changed for so long that the tail need not be polled: that
        would cost twice as much, and a run has many files. A tail elsewhere knows it by itself."""
        if not self._place:
            return False
        try:
            status = os.stat(self._place)  # noqa: PTH116 - called at every poll
        except OSError:
            return False
        stamp = status.st_ino, status.st_size, status.st_mtime_ns
        if stamp != self._stamp:
            self._stamp, self._quiet_from = stamp, self._clock.monotonic() + _SETTLED_S
            return False
        return self._clock.monotonic() >= self._quiet_from and self._tail.offset >= stamp[1]

    def _cut(self, most: int) -> bytes:
        """Take the first complete lines of what is held."""
        held = self._held
        if b"\n" not in held:
            return b""
        ends = np.flatnonzero(np.frombuffer(held, np.uint8) == _NEWLINE)
        end = int(ends[min(most, len(ends)) - 1]) + 1
        self._held = held[end:]
        return held[:end]

    def _column(self, body: bytes, notes: NoteBook) -> tuple[Column | None, int]:
        lines = body.count(b"\n")
        column = self._regular(body, lines)
        if column is None:
            column = self._irregular(body, notes)
        else:
            self.steps_are_row_numbers = False
        self._row += lines
        return column, lines

    def _regular(self, body: bytes, lines: int) -> Column | None:
        """The column if each line is three fields; None if not."""
        data = np.frombuffer(body, np.uint8)
        gaps = data[data <= _SPACE]
        if len(gaps) != 3 * lines or not np.array_equal(
            gaps, np.tile(np.array([_SPACE, _SPACE, _NEWLINE], np.uint8), lines)
        ):
            return None
        words = body.split()
        if len(words) != 3 * lines:
            return None
        try:
            times = np.fromiter(map(int, words[0::3]), np.float64, lines)
            values = np.fromiter(map(float, words[1::3]), np.float64, lines)
            steps = np.fromiter(map(int, words[2::3]), np.int64, lines)
        except (ValueError, OverflowError):
            return None
        return Column(self.tag, steps, times / 1000, values)

    def _irregular(self, body: bytes, notes: NoteBook) -> Column | None:
        """Line by line; one that cannot be read is noted and left out."""
        begin = self.offset - len(body)
        steps, walls, values = [], [], []
        for number, line in enumerate(body.split(b"\n")[:-1]):
            words = line.split()
            try:
                if len(words) not in (2, 3, 5):
                    raise ValueError
                wall, value = int(words[0]) / 1000, float(words[1])
                step = int(words[2]) if len(words) > 2 else self._row + number
                if not -_STEPS <= step < _STEPS:
                    raise ValueError
            except (ValueError, OverflowError):
                if words:
                    notes.add(begin, f"{self.tag}: not a line of MLflow", f"{len(words)} fields")
            else:
                self.steps_are_row_numbers = self.steps_are_row_numbers and len(words) == 2
                steps.append(step)
                walls.append(wall)
                values.append(value)
            begin += len(line) + 1
        if not steps:
            return None
        return Column(
            self.tag, np.array(steps, np.int64), np.array(walls), np.array(values, np.float64)
        )
