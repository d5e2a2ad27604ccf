"""MLflow's file store: ``mlruns/<experiment id>/<run id>/`` is one run.

Each metric is a file below ``metrics/``, named by its key with the slashes as folders, and each
of its lines is a value: ``<unix ms> <value> <step>``, then perhaps name and digest of a data set;
without a step in old stores (mlflow/store/tracking/file_store.py). ``params/`` holds one file for
each parameter, ``tags/mlflow.runName`` the name, ``meta.yaml`` the status.

A poll costs one ``stat`` for each file and folder; folders are listed again when their time has
moved. The folders of logged models (``models/<id>/metrics``, MLflow 3) are no runs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from rltui.core.clock import Clock, SystemClock
from rltui.core.level import Level
from rltui.core.text import clean_bytes
from rltui.files.trouble import DELETED, Trouble, is_missing, reason_of
from rltui.formats.base import Decoded, NoteBook, clean_tag
from rltui.trackers.base import Followed, TrackedRun
from rltui.trackers.folder import Folders
from rltui.trackers.metric_column import Column, blocks_of
from rltui.trackers.metric_file import LINE_BYTES, MetricFile
from rltui.trackers.settings import MOST_BYTES, MOST_SETTINGS, exit_code_of, setting_of

_META = "meta.yaml"
#: Longest meta.yaml that is read.
_MOST_META = 1 << 16
_RUN = re.compile(rb"^run_(?:id|uuid): ", re.MULTILINE)
_KEY = re.compile(rb"^(\w+): *(.*?) *$", re.MULTILINE)
#: Fewest lines of a file that are taken at once.
_LEAST_LINES = 16
#: Polls that must find a parameter empty until it counts: its file exists before it is written.
_PATIENCE = 5
#: Places of runs that are remembered.
_MOST_KNOWN = 100_000
_NOTHING = Followed()


class MlflowFiles:
    """See :class:`rltui.trackers.base.Tracker`."""

    name = "mlflow-files"
    files = "`mlruns/EXPERIMENT/RUN/`"
    written_by = "MLflow's file store, with parameters, names and how the run ended"
    exactness = 3

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._known: set[Path] = set()

    def claims_name(self, name: str) -> bool:  # noqa: ARG002
        """False: a run is a directory."""
        return False

    def claims_file(self, path: Path) -> bool:  # noqa: ARG002
        """False: a run is a directory."""
        return False

    def claims_directory(self, path: Path, names: Collection[str]) -> bool:
        """Whether the directory is that of a run: by its names, then by its meta.yaml."""
        if _META not in names or "metrics" not in names:
            return False
        if path in self._known:
            return True
        try:
            claimed = _RUN.search(_read(path / _META, _MOST_META)) is not None
        except OSError:
            return False
        if claimed and len(self._known) < _MOST_KNOWN:
            self._known.add(path)
        return claimed

    def runs(self, path: Path) -> Sequence[TrackedRun]:
        """The run, or none when it was deleted (such runs stay on the disk)."""
        meta = _meta_of(path)
        if _is_deleted(path, meta):
            return ()
        status = (path / _META).stat()
        size, modified = 0, status.st_mtime
        folders = Folders(path / "metrics", self._clock)
        for name in folders.new():
            with suppress(OSError):  # deleted since it was listed
                file = Path(folders.path, name).stat()
                size, modified = size + file.st_size, max(modified, file.st_mtime)
        return (TrackedRun("", _name_of(path, meta), size, modified),)

    def parts(self, path: Path) -> frozenset[str]:
        """The only run, or none when it was deleted."""
        return frozenset() if _is_deleted(path, _meta_of(path)) else frozenset(("",))

    def follow(self, path: Path, part: str) -> MlflowRun:  # noqa: ARG002
        """Follows the run from its beginning."""
        return MlflowRun(path, self._clock)


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
        self._meta: tuple[int, int] | None = None
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
        """See :class:`rltui.trackers.base.Follower`."""
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
            counted=self._counted(),
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
        status = os.stat(self._path / _META)  # noqa: PTH116 - called at every poll
        stamp = status.st_ino, status.st_mtime_ns
        if stamp != self._meta:
            code = exit_code_of(_meta_of(self._path).get(b"status", b""))
            ended = code if code != self._exit_code else None
            self._meta, self._exit_code = stamp, code
        self._list()
        return ended

    def _list(self) -> None:
        for name in self._folders.new():
            place = os.path.join(self._folders.path, name)  # noqa: PTH118 - many files
            tag = clean_tag(os.fsencode(name.replace(os.sep, "/")))
            self._files[name] = MetricFile(Path(place), tag, self._clock)

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

    def _counted(self) -> bool:
        """Whether no line has a step."""
        counted = [f.counted for f in self._files.values() if f.offset]
        return bool(counted) and all(counted)

    def _new_settings(self) -> dict[str, object]:
        """Parameters that were not known; MLflow never changes one."""
        new: dict[str, object] = {}
        for name in [*self._params.new(), *self._empty]:
            if len(self._settings) >= MOST_SETTINGS:
                break
            try:
                raw = _read(Path(self._params.path, name), MOST_BYTES)
            except OSError:
                raw = b""
            looks = self._empty.pop(name, 0) + 1
            if not raw and looks < _PATIENCE:
                self._empty[name] = looks
                continue
            key = clean_tag(os.fsencode(name.replace(os.sep, "/")))
            self._settings[key] = new[key] = setting_of(raw)
        return new


def _read(path: Path, most: int) -> bytes:
    """The beginning of a small file. Raises OSError."""
    flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, flags)
    try:
        return os.read(descriptor, most)
    finally:
        os.close(descriptor)


def _meta_of(path: Path) -> dict[bytes, bytes]:
    """The plain values of a run's meta.yaml, which is flat. Raises OSError."""
    found = _KEY.findall(_read(path / _META, _MOST_META))
    return {key: value.strip(b"'\"") for key, value in found}


def _is_deleted(path: Path, meta: dict[bytes, bytes]) -> bool:
    return meta.get(b"lifecycle_stage") == b"deleted" or path.parent.parent.name == ".trash"


def _name_of(path: Path, meta: dict[bytes, bytes]) -> str:
    """The name that the user or MLflow gave to the run; else its id."""
    try:
        raw = _read(path / "tags" / "mlflow.runName", MOST_BYTES)
    except OSError:
        raw = b""
    shown = clean_bytes(raw.strip() or meta.get(b"run_name", b"")).strip("/")
    return shown or clean_bytes(os.fsencode(path.name))
