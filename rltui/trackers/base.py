"""Trackers: a claim on a file or directory, its runs, and one follower for each.

A log format (:mod:`rltui.formats`) is a stream of bytes in one file. A tracker keeps
many runs in one database, or one run in a directory of many small files; it opens its store
itself, read-only and without locking the writer, and returns the same ``Decoded``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import field
from pathlib import Path
from typing import NamedTuple, Protocol

from rltui.core.level import Level
from rltui.core.record import record
from rltui.formats.base import Decoded


class TrackedRun(NamedTuple):
    """One run of a store."""

    part: str
    """Names the run within the store for ever: a run id, safe as one component of a path.
    ``""`` when the store is the run."""
    name: str
    """For people; cleaned. ``""`` when the store itself gives the name."""
    size: int
    """Bytes when it was found; its share of the store, where runs cannot be distinguished."""
    modified: float
    """When it was written last, seconds since the epoch: the change time of its files, or the
    time of its last value where the store holds many runs."""


@record
class Followed:
    """Result of one poll of a run."""

    decoded: Decoded = field(default_factory=Decoded)
    more: bool = False
    """Whether there is more, beyond the budget. False while the store cannot be read: the rest
    comes with a later poll."""
    restarted: bool = False
    """Whether what was read before is not in the store any more: ``decoded`` starts over."""
    gone: bool = False
    """Whether the run, or its store, has vanished."""
    notes: tuple[tuple[Level, str], ...] = ()
    """Trouble with the store as a whole (locked, corrupt, unreadable), reported once, by one of
    the followers of the store."""
    changed: bool = False
    """Whether anything is new, if only a note, size or time."""


class Follower(Protocol):
    """Follows one run. Owned by the reader's thread. Never raises for a bad store."""

    offset: int
    """Bytes that were returned (of rows, roughly), for progress; at most ``size``."""
    size: int
    """Bytes that the run is known to have, as of the last poll (of rows, roughly)."""
    modified: float
    """Change time at the last poll, seconds since the epoch; 0 before the first."""

    def poll(self, budget_bytes: int) -> Followed:
        """Read about ``budget_bytes`` of what is new. Costs a few ``stat`` calls when nothing is.
        Keeps no handle and no lock between two polls."""


class Tracker(ABC):
    """One kind of store."""

    name: str
    """Shown to the user: ``mlflow``, ``trackio``."""
    files: str
    """Names of its files, in Markdown, for the documentation."""
    written_by: str
    """Who writes them, for the documentation."""
    precision_rank: int = 3
    """Precision of its values, as :class:`rltui.formats.base.Format` has it."""
    local_only: bool = False
    """Whether its stores are read from a local disk only."""

    def claims_name(self, name: str) -> bool:  # noqa: ARG002
        """Whether a file of this base name may be such a store (cheap, no I/O)."""
        return False

    def claims_file(self, path: Path) -> bool:  # noqa: ARG002
        """Whether the file is such a store. Raises OSError when it cannot be read."""
        return False

    def claims_directory(self, path: Path, names: Collection[str]) -> bool:  # noqa: ARG002
        """Whether a directory that holds these base ``names`` is such a store, which then owns
        all that is below. May read files in it. Never raises."""
        return False

    @abstractmethod
    def runs(self, path: Path) -> Sequence[TrackedRun]:
        """The runs of a store, oldest first, no two with the same name. Raises OSError when it
        cannot be read (locked, corrupt: with a message for people in ``strerror``)."""

    @abstractmethod
    def parts(self, path: Path) -> frozenset[str]:
        """The ``part`` of each run; costs less than :meth:`runs`. Raises OSError."""

    @abstractmethod
    def follow(self, path: Path, part: str) -> Follower:
        """Follow one run from its beginning."""
