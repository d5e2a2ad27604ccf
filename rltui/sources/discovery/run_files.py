"""The files of a run, as discovery hands them to the reader. Records only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from rltui.core.batch import Joined, Note, RunKey
from rltui.formats import ALL_FORMATS, Format
from rltui.trackers import TRACKERS, Tracker

#: Files that are not read are named up to this number; the rest is counted.
MAX_REFUSED = 20


class Keyed:
    """A file, or one run of a tracker's store."""

    __slots__ = ()
    path: Path
    format: Format | None
    tracker: Tracker | None
    """The tracker whose store it is; then ``format`` is None."""
    part: str
    """Names the run within a tracker's store."""

    @property
    def key(self) -> Path:
        """Different for each file and each run of a store; the path of a file."""
        return self.path / self.part if self.part else self.path

    @property
    def kind(self) -> str:
        """Name of the log format or tracker."""
        owner = self.format or self.tracker
        return "" if owner is None else owner.name


@dataclass(frozen=True, slots=True)
class LogFile(Keyed):
    """One file of a run, or one run of a tracker's store."""

    path: Path
    format: Format | None = None
    order: int = 0
    """Position among the files of the run, oldest first; never changes once given."""
    series: tuple[str, str] | None = None
    """(main tag, series) of an ``add_scalars`` file: its tag ``main`` means ``main/series``."""
    hparams_only: bool = False
    """Whether only hyperparameters are taken from it."""
    size: int = 0
    """Bytes when it was found."""
    modified: float = 0.0
    """Change time when it was found, seconds since the epoch."""
    tracker: Tracker | None = None
    part: str = ""
    joined: Joined = Joined.OWN
    alone: str = ""
    """Name of the run that it would be by itself, if it is not what makes the run."""

    def __reduce__(self) -> tuple[Callable[..., LogFile], tuple[object, ...]]:
        """Another process has formats and trackers of its own."""
        form = None if self.format is None else ALL_FORMATS.index(self.format)
        tracker = None if self.tracker is None else TRACKERS.index(self.tracker)
        bare = replace(self, format=None, tracker=None)
        return _restored, (form, tracker, *(getattr(bare, f.name) for f in fields(bare)))


def _restored(form: int | None, tracker: int | None, *values: Any) -> LogFile:
    """A pickled file with the formats of this process."""
    return replace(
        LogFile(*values),
        format=None if form is None else ALL_FORMATS[form],
        tracker=None if tracker is None else TRACKERS[tracker],
    )


@dataclass(frozen=True, slots=True)
class RunFiles:
    """One run and its files, oldest first."""

    key: RunKey
    path: Path
    files: tuple[LogFile, ...]


@dataclass(frozen=True, slots=True)
class Discovery:
    """What was found."""

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
