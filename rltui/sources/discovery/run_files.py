"""Records of a search: files and stores, the runs that they make, and what cannot be read."""

from __future__ import annotations

import re
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import starmap
from pathlib import Path
from typing import Any, NamedTuple

from rltui.core.address import is_remote
from rltui.core.batch import Joined, Note, RunKey
from rltui.core.errors import SourceError
from rltui.core.level import Level
from rltui.core.text import clean, counted
from rltui.files.disk import Status, opened
from rltui.files.disk import status as status_of
from rltui.formats import ALL_FORMATS
from rltui.formats.base import Belonging, Format
from rltui.sources.discovery.log_head import Recent
from rltui.sources.discovery.places import places, unrotated
from rltui.trackers import TRACKERS, TrackedRun, Tracker

#: Bytes of a file that is not understood whose lines are counted, and of one piece of them.
_MOST_BYTES = 64 << 20
_MOST_REMOTE_BYTES = 1 << 20
_PIECE = 1 << 20
#: Bytes at the end of what a tracker printed of itself that are searched.
_OWN_BYTES = 1 << 20
#: Files that are not read are named up to this number; the rest is counted.
MAX_REFUSED = 20
#: Directories that never hold logs of their own, or hold copies.
PRUNED = re.compile(
    r"checkpoint[-_]?\d.*|global_step_?\d.*|\.git|\.hg|\.svn|__pycache__|node_modules"
    r"|site-packages|dist-packages|\.venv|\.tox|\.nox|\.cache|\.ipynb_checkpoints|\.mypy_cache"
)
#: Why a file that was named is not read yet.
EMPTY = "empty so far"
#: HF Trainer writes the state of a training into each checkpoint, and at the very end beside
#: them (transformers/trainer.py, ``_save_checkpoint``, ``save_state``).
CHECKPOINT = re.compile(r"checkpoint-(\d{1,18})")
CHECKPOINT_LOG = "trainer_state.json"


class LogFile(NamedTuple):
    """One file of a run, or one run of a tracker's store."""

    path: Path
    format: Format | None = None
    """None for the run of a store, and for a pipe."""
    order: int = 0
    """Position among the files of the run, oldest first; never changes once given."""
    renamed: tuple[tuple[str, str], ...] = ()
    """(tag in the file, tag in the run): ``main`` of an ``add_scalars`` file means ``main/series``,
    ``loss`` in an ``eval.log`` beside others ``eval/loss``."""
    hparams_only: bool = False
    """Whether only hyperparameters are taken from it."""
    size: int = 0
    """Bytes when it was found."""
    modified: float = 0.0
    """Change time when it was found, seconds since the epoch."""
    tracker: Tracker | None = None
    """The tracker whose store it is."""
    part: str = ""
    """Names the run within a tracker's store."""
    joined: Joined = Joined.OWN
    alone: str = ""
    """Name of the run that it would be by itself, if it is not what makes the run."""
    directory: str = ""
    """Where it belongs, relative to the logdir; ``""`` for the logdir itself."""
    title: str = ""
    """Name that the tracker gives to the run."""
    begin: int = 0
    """First step, or rank of a rotated part, where that decides which of several files was written
    first."""
    rowless: bool = False
    """Whether it is a log only because it ends like that of a job that died."""
    beside: bool = False
    """Whether it belongs to a run that lies beside it."""

    @property
    def key(self) -> Path:
        """Different for each file and each run of a store; the path of a file."""
        return self.path / self.part if self.part else self.path

    @property
    def kind(self) -> str:
        """Name of the log format or tracker."""
        owner = self.format or self.tracker
        return "" if owner is None else owner.name

    @property
    def belonging(self) -> Belonging:
        """How it belongs to its directory."""
        if self.format is None:
            return Belonging.NAME
        return self.format.belonging(unrotated(self.path)[0].name)

    def __reduce__(self) -> tuple[Callable[..., LogFile], tuple[object, ...]]:
        """Pickle without format and tracker: another process has its own."""
        form = None if self.format is None else ALL_FORMATS.index(self.format)
        tracker = None if self.tracker is None else TRACKERS.index(self.tracker)
        bare = self._replace(format=None, tracker=None)
        return _restored, (form, tracker, *bare)


def _restored(form: int | None, tracker: int | None, *values: Any) -> LogFile:
    """A pickled file with the formats of this process."""
    return LogFile(*values)._replace(
        format=None if form is None else ALL_FORMATS[form],
        tracker=None if tracker is None else TRACKERS[tracker],
    )


class RunFiles(NamedTuple):
    """One run and its files, oldest first."""

    key: RunKey
    path: Path
    files: tuple[LogFile, ...]


class Discovery(NamedTuple):
    """Result of a search."""

    runs: tuple[RunFiles, ...]
    notes: tuple[Note, ...] = ()
    directories: tuple[tuple[Path, int], ...] = ()
    """Every directory that was looked into and its change time (ns) just before; -1 for a
    logdir that could not be looked into."""
    unclaimed: tuple[Path, ...] = ()
    """Files that look like logs by their name and may become logs when they grow."""
    refused: tuple[Note, ...] = ()
    """Files that look like logs and are not read, with the reason; at most MAX_REFUSED."""
    refused_count: int = 0
    """How many there are."""
    unread: tuple[Note, ...] = ()
    """Logdirs that cannot be searched, with the reason."""


# -- one walk -----------------------------------------------------------------------------------


def parents_of(name: str) -> Iterator[str]:
    """Relative names of the directories above, nearest first, down to the logdir (``""``)."""
    while name:
        name = name.rpartition("/")[0]
        yield name


class LogdirError(SourceError):
    """A logdir that cannot be searched."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{clean(str(path))}: {reason}")
        self.reason = reason


class EmptyLogError(LogdirError):
    """A named file that holds nothing: it may become a log."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, EMPTY)


class SearchStoppedError(Exception):
    """The search was cancelled."""


@dataclass(slots=True)
class Tree:
    """Collects what a search of all logdirs finds."""

    seen: set[tuple[int, int]] = field(default_factory=set)
    """Device and inode of directories and files that belong to a logdir."""
    notes: list[Note] = field(default_factory=list)
    directories: list[tuple[Path, int]] = field(default_factory=list)
    """Every directory that was read, and its change time (ns) just before."""
    unclaimed: list[Path] = field(default_factory=list)
    """Files that may become logs when they grow."""
    refused: list[Note] = field(default_factory=list)
    """Files that look like logs and are not read: the first few, with the reason."""
    refused_count: int = 0
    unread: list[Note] = field(default_factory=list)
    """Logdirs that cannot be searched though their servers can be reached."""
    runs: list[RunFiles] = field(default_factory=list)
    """Runs in directories."""
    singles: list[RunFiles] = field(default_factory=list)
    """Runs in files that were named."""

    def trouble(self, path: Path, reason: str) -> None:
        """Add a note about a path that cannot be read."""
        self.notes.append(Note(path, None, Level.WATCH, reason))

    def note_dropped(self, path: Path, status: Status) -> None:
        """Note how many rows a tracker dropped, by the end of what it printed of itself. Raises
        OSError."""
        if is_remote(path) or not stat.S_ISREG(status.st_mode):
            return
        with opened(path) as read:
            text = read(_OWN_BYTES, max(0, status.st_size - _OWN_BYTES)).decode(errors="replace")
        if count := sum(1 for _ in places().dropped.finditer(text)):
            rows = counted(count, "row")
            self.trouble(path, f"{rows} that the tracker dropped, step behind earlier ones")

    def refuse(self, path: Path, reason: str, *, lost: bool = False) -> None:
        """Note a file that is not read. ``lost``: it looks like the log of a training, which is
        said before all others."""
        self.refused_count += 1
        note = Note(path, None, Level.WATCH if lost else Level.OK, reason)
        if len(self.refused) < MAX_REFUSED:
            self.refused.append(note)
        elif lost and (other := next((n for n in self.refused if n.level < note.level), None)):
            self.refused.remove(other)
            self.refused.append(note)


@dataclass(slots=True)
class _Store:
    """A tracker's store when it was last read."""

    tracker: Tracker
    stamp: tuple[int, ...] = ()
    """Empty until it was read, and when it must be read again."""
    settled: bool = False
    """Whether it was read once more after the stamp was seen: a commit shows in the file before
    it can be read."""
    parts: frozenset[str] = frozenset()
    runs: tuple[TrackedRun, ...] = ()


class FoundStores(Recent[Path, _Store]):
    """Remembers the stores of trackers from one search to the next. Not thread-safe."""

    def claims(self, tracker: Tracker, path: Path) -> bool:
        """Whether a file is a store of the tracker. Raises OSError when it cannot be read."""
        try:
            return tracker.claims_file(path)
        except OSError:
            self[path] = _Store(tracker)
            raise

    def runs_of(self, path: Path, tracker: Tracker) -> tuple[TrackedRun, ...]:
        """The runs of a store, read again when there are new ones. Raises OSError."""
        stamp = _stamp(path)
        known = self.get(path)
        if known is None or not known.stamp or known.tracker is not tracker:
            known = self[path] = _Store(tracker)
        if known.stamp != stamp:
            parts = tracker.parts(path)
            if parts != known.parts or not known.stamp:
                known.runs = tuple(tracker.runs(path))
            known.stamp = stamp
            known.parts = parts
            known.settled = False
        return known.runs

    def changed(self) -> bool:
        """Whether a store that the last search found has a new run, or can be read at last.
        Costs two ``stat`` calls for a store that was not written."""
        return any(starmap(_has_news, self.items()))


def _has_news(path: Path, store: _Store) -> bool:
    """Whether to walk again because of a store that is a file."""
    stamp = _stamp(path)
    same = stamp == store.stamp
    if (same and store.settled) or not store.tracker.claims_name(path.name):
        return False

    try:
        if not store.stamp:  # it could not be read: whose it is may not be known
            if store.tracker.claims_file(path):
                store.tracker.runs(path)  # raises for damage that shows only now
            return bool(stamp)
        parts = store.tracker.parts(path)
    except OSError:
        return False

    changed = not parts <= store.parts
    store.stamp = () if changed else stamp
    store.settled = same
    return changed


def _stamp(path: Path) -> tuple[int, ...]:
    """Changes when a store does; databases in WAL mode write into a file of their own."""
    found = []
    for file in (path,) if is_remote(path) else (path, path.with_name(path.name + "-wal")):
        with suppress(OSError):
            status = status_of(file)
            found += [status.st_ino, status.st_size, status.st_mtime_ns]
    return tuple(found)


def content_of(path: Path) -> str:
    """Describe the content of a file, for people; "" when it holds nothing."""
    lines = 0
    size = 0
    ended = True
    blank = True
    most = _MOST_REMOTE_BYTES if is_remote(path) else _MOST_BYTES
    with opened(path) as read:
        while size < most and (piece := read(_PIECE, size)):
            if b"\0" in piece:
                return "holds bytes that are no text"
            blank = blank and not piece.strip()
            lines += piece.count(b"\n")
            size += len(piece)
            ended = piece[-1:] == b"\n"
        more = "more than " if size >= most and read(1, size) else ""

    lines += not ended
    if blank:
        return ""

    return f"{more}{counted(lines, 'line')} of text, no row with a step and numbers was recognised"
