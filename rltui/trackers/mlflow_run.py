"""Follows one run of MLflow's file store.

Each metric is a file below ``metrics/``, named by its key with the slashes as folders, and each
of its lines is a value: ``<unix ms> <value> <step>``, then perhaps name and digest of a data set;
without a step in old stores (mlflow/store/tracking/file_store.py). ``params/`` holds one file for
each parameter.

A poll costs one ``stat`` for each file and folder; folders are listed again when their time has
moved.
"""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np

from rltui.core.clock import Clock
from rltui.core.level import Level
from rltui.files import tail_of
from rltui.files.disk import listing
from rltui.files.disk import status as status_of
from rltui.files.tail import second_look
from rltui.files.trouble import DELETED, Trouble, is_missing, reason_of
from rltui.formats.base import Decoded, NoteBook, clean_tag
from rltui.trackers.base import Followed
from rltui.trackers.mlflow_values import (
    META,
    MOST_BYTES,
    MOST_SETTINGS,
    Column,
    blocks_of,
    exit_code_of,
    meta_of,
    read_start,
    setting_of,
)

#: Files of a folder, and how deep they may lie.
_MOST_FILES = 100_000
_MAX_DEPTH = 32
#: Bytes of a line, roughly: 13 digits of time, up to 20 of a value, a step.
_LINE_BYTES = 40
#: Longest unfinished line that is kept.
_MOST_LINE = 1 << 16
#: Fewest lines of a file that are taken at once.
_LEAST_LINES = 16
#: Polls that must find a parameter empty until it counts: its file exists before it is written.
_PATIENCE = 5
_SPACE, _NEWLINE = 32, 10
_STEPS = 1 << 63
_NOTHING = Followed()


class Folder:
    """The names of all files below a folder, listed again only where one may have appeared."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self.path = path
        self._clock = clock
        self._times: dict[str, tuple[int, float]] = {"": (-1, math.inf)}
        """Change time (ns) of each folder when it was listed, and when (monotonic) to list it
        once more. Names of folders end in a separator."""
        self._names: set[str] = set()

    def new(self) -> list[str]:
        """Relative names of new files; costs one ``stat`` for each folder."""
        found: list[str] = []
        pending = list(self._times)
        while pending:
            folder = pending.pop(0)
            try:
                changed = status_of(self.path / folder).st_mtime_ns
            except OSError:
                continue
            before, again = self._times[folder]
            if changed == before and (again == math.inf or self._clock.monotonic() < again):
                continue
            again = second_look(self._clock, changed / 1e9) if changed != before else math.inf
            self._times[folder] = changed, again
            pending += self._list(folder, found)

        return found

    def _list(self, folder: str, found: list[str]) -> list[str]:
        """Note the new files of one folder; its new folders."""
        folders = []
        try:
            entries = sorted(listing(self.path / folder), key=lambda e: e.name)
        except OSError:
            return []

        for entry in entries:
            name = f"{folder}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                inner = f"{name}{os.sep}"
                if inner not in self._times and inner.count(os.sep) <= _MAX_DEPTH:
                    self._times[inner] = (-1, math.inf)
                    folders.append(inner)
            elif name not in self._names and len(self._names) < _MOST_FILES:
                self._names.add(name)
                found.append(name)
        return folders


def _key_of(name: str) -> str:
    """The key of the metric or parameter that a file holds."""
    return clean_tag(os.fsencode(name.replace(os.sep, "/")))


class MetricFile:
    """One metric: a growing file, whose lines are taken as columns."""

    def __init__(self, path: Path, tag: str, clock: Clock) -> None:
        self.tag = tag
        self.tail = tail_of(path, clock=clock)
        self.more = False
        """Whether it is known to hold more lines than were taken."""
        self.steps_are_row_numbers = True
        """Whether no line has a step."""
        self.restarted = False
        self._held = b""
        """What was read and not yet taken: lines beyond the limit, and an unfinished one."""
        self._row = 0
        """Lines that were taken."""

    @property
    def offset(self) -> int:
        """Bytes that were taken."""
        return self.tail.offset - len(self._held)

    def read(
        self, most: int, notes: NoteBook, trouble: list[tuple[Level, str]]
    ) -> tuple[Column | None, int]:
        """At most ``most`` new lines as a column, and their number. Adds ``notes`` about lines,
        and ``trouble`` with the file."""
        if not self._held and self.tail.still():
            return None, 0
        unread = False
        if self._held.count(b"\n") < most:
            polled = self.tail.poll(2 * _LINE_BYTES * most)
            trouble += [(level, f"{self.tag}: {text}") for level, text in polled.notes]
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

        lines = body.count(b"\n")
        column = self._regular(body, lines)
        if column is None:
            column = self._irregular(body, notes)
        else:
            self.steps_are_row_numbers = False
        self._row += lines
        return column, lines

    def _cut(self, most: int) -> bytes:
        """Take the first complete lines of what is held."""
        held = self._held
        if b"\n" not in held:
            return b""
        ends = np.flatnonzero(np.frombuffer(held, np.uint8) == _NEWLINE)
        end = int(ends[min(most, len(ends)) - 1]) + 1
        self._held = held[end:]
        return held[:end]

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


class MlflowRun:
    """Owned by the reader's thread; see :class:`rltui.trackers.base.Follower`."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._params = Folder(path / "params", clock)
        self._settings: dict[str, object] = {}
        self._empty: dict[str, int] = {}
        """Parameters without content, and how often they were read."""
        self._meta: tuple[int, int, int, str] | None = None
        """State of ``meta.yaml`` when it was read; times of a server may be whole seconds."""
        self._exit_code: int | None = None
        self._trouble = Trouble()
        self._start_over()

    def _start_over(self) -> None:
        """Start over with the metrics."""
        self._folder = Folder(self._path / "metrics", self._clock)
        self._files: dict[str, MetricFile] = {}
        self._notes = NoteBook()
        self._begun = False

    @property
    def offset(self) -> int:
        """Bytes of the metric files that were returned."""
        return sum(f.offset for f in self._files.values())

    @property
    def size(self) -> int:
        """Bytes of the metric files at the last poll."""
        return sum(f.tail.size for f in self._files.values())

    @property
    def modified(self) -> float:
        """When a metric was written last."""
        return max((f.tail.modified for f in self._files.values()), default=0.0)

    def poll(self, budget_bytes: int) -> Followed:
        try:
            ended = self._read_meta()
        except OSError as error:
            return self._failed(error)

        back = bool(self._trouble.message)
        notes = list(self._trouble.over())
        columns, records = self._read(budget_bytes, notes)
        restarted = any(f.restarted for f in self._files.values())
        if restarted:  # its other files belong to what was written before
            self._start_over()
            columns, records = self._read(budget_bytes, [])

        settings, lines = self._new_settings(), self._notes.take()
        begun, self._begun = self._begun, True
        new = any((back, records, notes, restarted, settings, lines, ended is not None))
        more = any(f.more for f in self._files.values())
        if begun and not new and not more:
            return _NOTHING

        decoded = Decoded(
            blocks_of(columns),
            hparams=settings,
            notes=lines,
            records=records,
            exit_code=ended,
            steps_are_row_numbers=self._steps_are_row_numbers(),
        )
        return Followed(decoded, more, restarted, False, tuple(notes), new or not begun)

    def _steps_are_row_numbers(self) -> bool:
        """Whether no line has a step."""
        counted = [f.steps_are_row_numbers for f in self._files.values() if f.offset]
        return bool(counted) and all(counted)

    def _failed(self, error: OSError) -> Followed:
        gone = is_missing(error)
        vanished = gone and not self._trouble.gone
        notes = self._trouble.failed(DELETED if gone else reason_of(error), gone=gone)
        self._meta = None
        return Followed(gone=gone, notes=notes, changed=vanished or bool(notes))

    def _read_meta(self) -> int | None:
        """The exit code, if it is new. Raises OSError."""
        status = status_of(self._path / META)
        stamp = status.st_ino, status.st_size, status.st_mtime_ns, getattr(status, "version", "")
        if stamp == self._meta:
            return None
        meta = meta_of(self._path)
        if not meta.keys() & {b"run_id", b"run_uuid"}:
            self._notes.add(0, f"{META} is broken", "name and state of the run are unknown")
        before, self._exit_code = self._exit_code, exit_code_of(meta.get(b"status", b""))
        self._meta = stamp
        return self._exit_code if self._exit_code != before else None

    def _read(self, budget: int, trouble: list[tuple[Level, str]]) -> tuple[list[Column], int]:
        """New points of all metrics, and the number of their lines.

        The same number of lines is taken from each file, so that metrics that were logged
        together come together.
        """
        for name in self._folder.new():
            self._files[name] = MetricFile(self._folder.path / name, _key_of(name), self._clock)
        most = max(_LEAST_LINES, budget // (_LINE_BYTES * max(1, len(self._files))))
        columns, records = [], 0
        for file in self._files.values():
            column, count = file.read(most, self._notes, trouble)
            records += count
            if column is not None:
                columns.append(column)

        return columns, records

    def _new_settings(self) -> dict[str, object]:
        """Parameters that were not known; MLflow never changes one."""
        new: dict[str, object] = {}
        for name in [*self._params.new(), *self._empty]:
            if len(self._settings) >= MOST_SETTINGS:
                break
            try:
                raw = read_start(self._params.path / name, MOST_BYTES)
            except OSError:
                raw = b""
            looks = self._empty.pop(name, 0) + 1
            if not raw and looks < _PATIENCE:
                self._empty[name] = looks
                continue
            key = _key_of(name)
            self._settings[key] = new[key] = setting_of(raw)
        return new
