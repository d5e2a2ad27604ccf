"""Follows one run of MLflow's file store.

Each metric is a file below ``metrics/``, named by its key with the slashes as folders, and each
of its lines is a value: ``<unix ms> <value> <step>``, then perhaps name and digest of a data set;
without a step in old stores (mlflow/store/tracking/file_store.py). ``params/`` holds one file for
each parameter.

A poll costs one ``stat`` for each file and folder; folders are listed again when their time has
moved.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from rltui.core.clock import Clock
from rltui.core.level import Level
from rltui.files.disk import status as status_of
from rltui.files.trouble import DELETED, Trouble, is_missing, reason_of
from rltui.formats.base import Decoded, NoteBook, clean_tag
from rltui.trackers.base import Followed
from rltui.trackers.folder import Folders
from rltui.trackers.metric_file import LINE_BYTES, MetricFile
from rltui.trackers.mlflow_files import META, meta_of, read_start
from rltui.trackers.settings import (
    MOST_BYTES,
    MOST_SETTINGS,
    Column,
    blocks_of,
    exit_code_of,
    setting_of,
)

#: Fewest lines of a file that are taken at once.
_LEAST_LINES = 16
#: Polls that must find a parameter empty until it counts: its file exists before it is written.
_PATIENCE = 5
_NOTHING = Followed()


@dataclass(slots=True)
class _Read:
    """What one poll of all metrics has found."""

    columns: list[Column] = field(default_factory=list)
    records: int = 0
    """Lines."""
    more: bool = False
    restarted: bool = False
    """Whether a file was rewritten."""


class MlflowRun:
    """Owned by the reader's thread; see :class:`rltui.trackers.base.Follower`."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._params = Folders(path / "params", clock)
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
        self._folders = Folders(self._path / "metrics", self._clock)
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
        return sum(f.size for f in self._files.values())

    @property
    def modified(self) -> float:
        """When a metric was written last."""
        return max((f.modified for f in self._files.values()), default=0.0)

    def poll(self, budget_bytes: int) -> Followed:
        try:
            ended = self._look()
        except OSError as error:
            return self._failed(error)
        back = bool(self._trouble.message)
        notes = list(self._trouble.over())
        read = self._read(budget_bytes, notes)
        restarted = read.restarted
        if restarted:  # its other files belong to what was written before
            self._start_over()
            self._list()
            read = self._read(budget_bytes, [])
        settings = self._new_settings()
        trouble = self._notes.take()
        begun, self._begun = self._begun, True
        new = back or read.records or notes or restarted or settings or trouble or ended is not None
        if begun and not new and not read.more:
            return _NOTHING
        decoded = Decoded(
            blocks_of(read.columns),
            hparams=settings,
            notes=trouble,
            records=read.records,
            exit_code=ended,
            steps_are_row_numbers=self._steps_are_row_numbers(),
        )
        return Followed(decoded, read.more, restarted, False, tuple(notes), bool(new or not begun))

    def _failed(self, error: OSError) -> Followed:
        gone = is_missing(error)
        vanished = gone and not self._trouble.gone
        notes = self._trouble.failed(DELETED if gone else reason_of(error), gone=gone)
        self._meta = None
        return Followed(gone=gone, notes=notes, changed=vanished or bool(notes))

    def _look(self) -> int | None:
        """List folders that may have new names; the exit code, if it is new. Raises OSError."""
        ended = None
        status = status_of(self._path / META)
        stamp = status.st_ino, status.st_size, status.st_mtime_ns, getattr(status, "version", "")
        if stamp != self._meta:
            meta = meta_of(self._path)
            if not meta.keys() & {b"run_id", b"run_uuid"}:
                self._notes.add(0, f"{META} is broken", "name and state of the run are unknown")
            code = exit_code_of(meta.get(b"status", b""))
            ended = code if code != self._exit_code else None
            self._meta, self._exit_code = stamp, code
        self._list()
        return ended

    def _list(self) -> None:
        for name in self._folders.new():
            tag = clean_tag(os.fsencode(name.replace(os.sep, "/")))
            self._files[name] = MetricFile(self._folders.path / name, tag, self._clock)

    def _read(self, budget: int, notes: list[tuple[Level, str]]) -> _Read:
        """New points of all metrics.

        The same number of lines is taken from each file, so that metrics that were logged
        together come together.
        """
        lines = max(_LEAST_LINES, budget // (LINE_BYTES * max(1, len(self._files))))
        read = _Read()
        for file in self._files.values():
            column, count = file.read(lines, self._notes)
            read.more |= file.more
            if file.troubled:
                notes += [(level, f"{file.tag}: {text}") for level, text in file.take_notes()]
                read.restarted |= file.restarted
            read.records += count
            if column is not None:
                read.columns.append(column)
        return read

    def _steps_are_row_numbers(self) -> bool:
        """Whether no line has a step."""
        counted = [f.steps_are_row_numbers for f in self._files.values() if f.offset]
        return bool(counted) and all(counted)

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
            key = clean_tag(os.fsencode(name.replace(os.sep, "/")))
            self._settings[key] = new[key] = setting_of(raw)
        return new
