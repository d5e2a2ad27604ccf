"""MLflow's file store: ``mlruns/<experiment id>/<run id>/`` is one run.

``tags/mlflow.runName`` holds its name, ``meta.yaml`` its status, and ``params/`` one file for each
parameter. Each metric is a file below ``metrics/``, named by its key with the slashes as folders,
and each of its lines is a value: ``<unix ms> <value> <step>``, then perhaps name and digest of a
data set; without a step in old stores (mlflow/store/tracking/file_store.py). The folders of logged
models (``models/<id>/metrics``, MLflow 3) are no runs.

A poll costs one ``stat`` for each file and folder; folders are listed again when their time has
moved. What MLflow's database (:mod:`rltui.trackers.sqlite.mlflow`) keeps in the same way is read
here for both: how a run has ended, settings as texts that may be numbers, metrics one by one.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from rltui.core.clock import Clock, SystemClock
from rltui.core.level import Level
from rltui.core.text import clean_bytes
from rltui.files import tail_of
from rltui.files.disk import listing, opened
from rltui.files.disk import status as status_of
from rltui.files.tail import second_look
from rltui.files.trouble import DELETED, Trouble, is_missing, reason_of
from rltui.formats.base import Decoded, NoteBook, clean_tag
from rltui.formats.row_sink import TagPoints, blocks_of
from rltui.trackers.base import Followed, Follower, TrackedRun, Tracker

#: Settings of one run that are kept, and bytes of one.
MOST_SETTINGS = 1000
MOST_BYTES = 500
_WHOLE = re.compile(r"[+-]?\d{1,18}")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?")
_TRUTH = {"True": True, "False": False}
#: How MLflow says that a run has ended (mlflow/entities/run_status.py), as name and as number ->
#: exit code; 137 is the exit status that a shell gives to a killed process.
EXIT_CODES = {b"FINISHED": 0, b"FAILED": 1, b"KILLED": 137, b"3": 0, b"4": 1, b"5": 137}
_META = "meta.yaml"
_KEY = re.compile(rb"^(\w+): *(.*?) *$", re.MULTILINE)
_RUN = re.compile(rb"^run_(?:id|uuid): ", re.MULTILINE)
_MODEL = re.compile(rb"^model_id: ", re.MULTILINE)
#: Bytes that are read of meta.yaml, and of a name.
_MOST_META = 1 << 16
_MOST_NAME = 500
#: Folders that every run has.
_FOLDERS = frozenset(("metrics", "params", "tags"))
#: Places of runs that are remembered.
_MOST_KNOWN = 100_000
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
_SPACE = 32
_NEWLINE = 10
_STEPS = 1 << 63
_NOTHING = Followed()


def setting_of(raw: bytes) -> int | float | bool | str:
    """The value of a setting that was kept as text (MLflow keeps ``str(value)``), cleaned.

    >>> setting_of(b"1e-05"), setting_of(b"grpo")
    (1e-05, 'grpo')
    """
    text = clean_bytes(raw[:MOST_BYTES])
    if _WHOLE.fullmatch(text):
        return int(text)
    if _NUMBER.fullmatch(text):
        return float(text)
    return _TRUTH.get(text, text)


class MlflowFiles(Tracker):
    """MLflow's file store, where the directory of a run is a store of its own."""

    name = "mlflow-files"
    files = "`mlruns/EXPERIMENT/RUN/`"
    written_by = "MLflow's file store, with parameters, names and how the run ended"

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._known: set[Path] = set()

    def claims_directory(self, path: Path, names: Collection[str]) -> bool:
        """Whether the directory is that of a run: by its names, then by its meta.yaml, unless
        that is broken."""
        if _META not in names or "metrics" not in names:
            return False
        if path in self._known:
            return True
        try:
            start = _start_of(path / _META, _MOST_META)
        except OSError:
            return False

        claimed = _RUN.search(start) is not None or (
            _FOLDERS.issubset(names) and not _MODEL.search(start)
        )
        if claimed and len(self._known) < _MOST_KNOWN:
            self._known.add(path)
        return claimed

    def runs(self, path: Path) -> Sequence[TrackedRun]:
        """The run, or none when it was deleted (such runs stay on the disk)."""
        if not self.parts(path):
            return ()
        size = 0
        modified = status_of(path / _META).st_mtime
        folder = _Folder(path / "metrics", self._clock)
        for name in folder.new():
            with suppress(OSError):  # deleted since it was listed
                file = status_of(folder.path / name)
                size += file.st_size
                modified = max(modified, file.st_mtime)

        try:  # the name that the user or MLflow gave to the run; else its id
            raw = _start_of(path / "tags" / "mlflow.runName", _MOST_NAME).strip()
        except OSError:
            raw = b""
        shown = clean_bytes(raw or _meta_of(path).get(b"run_name", b"")).strip("/")
        return (TrackedRun("", shown or clean_bytes(os.fsencode(path.name)), size, modified),)

    def parts(self, path: Path) -> frozenset[str]:
        """The only run, or none when it was deleted."""
        deleted = _meta_of(path).get(b"lifecycle_stage") == b"deleted"
        return frozenset(() if deleted or path.parent.parent.name == ".trash" else ("",))

    def follow(self, path: Path, part: str) -> Follower:  # noqa: ARG002
        return _MlflowRun(path, self._clock)


def _start_of(path: Path, most: int) -> bytes:
    """The beginning of a small file. Raises OSError."""
    with opened(path) as read:
        return read(most, 0)


def _meta_of(path: Path) -> dict[bytes, bytes]:
    """The plain values of a run's meta.yaml, which is flat. Raises OSError."""
    found = _KEY.findall(_start_of(path / _META, _MOST_META))
    return {key: value.strip(b"'\"") for key, value in found}


class _Folder:
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
                before, again = self._times[folder]
                if changed == before and (again == math.inf or self._clock.monotonic() < again):
                    continue
                again = second_look(self._clock, changed / 1e9) if changed != before else math.inf
                self._times[folder] = changed, again
                entries = sorted(listing(self.path / folder), key=lambda e: e.name)
            except OSError:
                continue

            for entry in entries:
                name = f"{folder}{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    inner = f"{name}{os.sep}"
                    if inner not in self._times and inner.count(os.sep) <= _MAX_DEPTH:
                        self._times[inner] = (-1, math.inf)
                        pending.append(inner)
                elif name not in self._names and len(self._names) < _MOST_FILES:
                    self._names.add(name)
                    found.append(name)
        return found


def _key_of(name: str) -> str:
    """The key of the metric or parameter that a file holds."""
    return clean_tag(os.fsencode(name.replace(os.sep, "/")))


class _MetricFile:
    """One metric: a growing file, whose lines are taken as columns."""

    def __init__(self, path: Path, tag: str, clock: Clock) -> None:
        self.tag = tag
        self.tail = tail_of(path, clock=clock)
        self.more = False
        """Whether it is known to hold more lines than were taken."""
        self.lines = 0
        """Lines that were taken."""
        self.steps_are_row_numbers = True
        """Whether no line has a step."""
        self.restarted = False
        self._held = b""
        """Bytes read and not yet taken: lines beyond the limit, and an unfinished one."""

    @property
    def offset(self) -> int:
        """Bytes that were taken."""
        return self.tail.offset - len(self._held)

    def read(
        self, most: int, notes: NoteBook, trouble: list[tuple[Level, str]]
    ) -> TagPoints | None:
        """At most ``most`` new lines as a column. Adds ``notes`` about lines, and ``trouble`` with
        the file."""
        if not self._held and self.tail.still():
            return None
        unread = False
        if self._held.count(b"\n") < most:
            polled = self.tail.poll(2 * _LINE_BYTES * most)
            trouble += [(level, f"{self.tag}: {text}") for level, text in polled.notes]
            if polled.restarted:
                self.restarted = True
                return None
            self._held += polled.data
            unread = polled.more

        ends = np.flatnonzero(np.frombuffer(self._held, np.uint8) == _NEWLINE)
        lines = min(most, len(ends))
        begin = self.offset
        self.more = unread or lines < len(ends)
        if not lines:
            if len(self._held) > _MOST_LINE:
                notes.add(self.offset, f"{self.tag}: a line that does not end")
                self._held = b""
            return None

        end = int(ends[lines - 1]) + 1
        body = self._held[:end]
        self._held = self._held[end:]
        column = self._regular(body, lines) or self._irregular(body, begin, notes)
        self.lines += lines
        return column

    def _regular(self, body: bytes, lines: int) -> TagPoints | None:
        """The column if each line is three fields; None if not."""
        data = np.frombuffer(body, np.uint8)
        gaps = data[data <= _SPACE]
        expected = np.tile(np.array([_SPACE, _SPACE, _NEWLINE], np.uint8), lines)
        words = body.split() if np.array_equal(gaps, expected) else []
        if len(words) != 3 * lines:
            return None
        try:
            times = np.fromiter(map(int, words[0::3]), np.float64, lines)
            values = np.fromiter(map(float, words[1::3]), np.float64, lines)
            steps = np.fromiter(map(int, words[2::3]), np.int64, lines)
        except (ValueError, OverflowError):
            return None
        self.steps_are_row_numbers = False
        return TagPoints(self.tag, steps, times / 1000, values)

    def _irregular(self, body: bytes, begin: int, notes: NoteBook) -> TagPoints | None:
        """Read line by line; a line that cannot be read is noted and left out."""
        points: list[tuple[int, float, float]] = []
        for number, line in enumerate(body.split(b"\n")[:-1], self.lines):
            words = line.split()
            try:
                if len(words) not in (2, 3, 5):
                    raise ValueError
                step = int(words[2]) if len(words) > 2 else number
                if not -_STEPS <= step < _STEPS:
                    raise ValueError
                points.append((step, int(words[0]) / 1000, float(words[1])))
                self.steps_are_row_numbers &= len(words) == 2
            except (ValueError, OverflowError):
                if words:
                    notes.add(begin, f"{self.tag}: not a line of MLflow", f"{len(words)} fields")
            begin += len(line) + 1

        if not points:
            return None
        steps, walls, values = zip(*points, strict=True)
        return TagPoints(self.tag, np.array(steps, np.int64), np.array(walls), np.array(values))


class _MlflowRun:
    """Follows the files of one run; owned by the reader's thread."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self.offset = self.size = 0
        self.modified = 0.0
        self._path = path
        self._clock = clock
        self._params = _Folder(path / "params", clock)
        self._settings: set[str] = set()
        """Names of the parameters that were read."""
        self._empty: dict[str, int] = {}
        """Parameters without content, and how often they were read."""
        self._meta: tuple[object, ...] = ()
        """State of ``meta.yaml`` when it was read; times of a server may be whole seconds."""
        self._exit_code: int | None = None
        self._trouble = Trouble()
        self._start_over()

    def _start_over(self) -> None:
        """Forget all metrics that were read."""
        self._folder = _Folder(self._path / "metrics", self._clock)
        self._files: dict[str, _MetricFile] = {}
        self._notes = NoteBook()
        self._begun = False

    def poll(self, budget_bytes: int) -> Followed:
        trouble = self._trouble
        try:
            ended = self._read_meta()
        except OSError as error:
            gone = is_missing(error)
            vanished = gone and not trouble.gone
            failed = trouble.failed(DELETED if gone else reason_of(error), gone=gone)
            self._meta = ()
            return Followed(gone=gone, notes=failed, changed=vanished or bool(failed))

        back = bool(trouble.message)
        notes = list(trouble.over())
        columns, records = self._read(budget_bytes, notes)
        restarted = any(f.restarted for f in self._files.values())
        if restarted:  # its other files belong to what was written before
            self._start_over()
            columns, records = self._read(budget_bytes, [])

        settings = self._new_settings()
        lines = self._notes.take()
        files = self._files.values()
        more = any(f.more for f in files)
        begun = self._begun
        new = any((back, records, notes, restarted, settings, lines, ended is not None, not begun))
        self._begun = True
        if not new and not more:
            return _NOTHING

        numbered = [f.steps_are_row_numbers for f in files if f.offset]
        decoded = Decoded(
            blocks_of(columns),
            hparams=settings,
            notes=lines,
            records=records,
            exit_code=ended,
            steps_are_row_numbers=bool(numbered) and all(numbered),
        )
        return Followed(decoded, more, restarted, False, tuple(notes), new)

    def _read_meta(self) -> int | None:
        """The exit code, if it is new. Raises OSError."""
        status = status_of(self._path / _META)
        stamp = status.st_ino, status.st_size, status.st_mtime_ns, getattr(status, "version", "")
        if stamp == self._meta:
            return None
        meta = _meta_of(self._path)
        if not meta.keys() & {b"run_id", b"run_uuid"}:
            self._notes.add(0, f"{_META} is broken", "name and state of the run are unknown")
        before = self._exit_code
        self._exit_code = EXIT_CODES.get(meta.get(b"status", b""))
        self._meta = stamp
        return self._exit_code if self._exit_code != before else None

    def _read(self, budget: int, trouble: list[tuple[Level, str]]) -> tuple[list[TagPoints], int]:
        """New points of all metrics, and the number of their lines.

        The same number of lines is taken from each file, so that metrics that were logged
        together come together.
        """
        for name in self._folder.new():
            self._files[name] = _MetricFile(self._folder.path / name, _key_of(name), self._clock)
        files = list(self._files.values())
        most = max(_LEAST_LINES, budget // (_LINE_BYTES * max(1, len(files))))
        before = sum(f.lines for f in files)
        columns = [column for f in files if (column := f.read(most, self._notes, trouble))]
        self.offset, self.size = sum(f.offset for f in files), sum(f.tail.size for f in files)
        self.modified = max((f.tail.modified for f in files), default=0.0)
        return columns, sum(f.lines for f in files) - before

    def _new_settings(self) -> dict[str, object]:
        """Parameters that were not known; MLflow never changes one."""
        new: dict[str, object] = {}
        for name in [*self._params.new(), *self._empty]:
            if len(self._settings) >= MOST_SETTINGS:
                break
            try:
                raw = _start_of(self._params.path / name, MOST_BYTES)
            except OSError:
                raw = b""
            looks = self._empty.pop(name, 0) + 1
            if raw or looks >= _PATIENCE:
                self._settings.add(name)
                new[_key_of(name)] = setting_of(raw)
            else:
                self._empty[name] = looks
        return new
