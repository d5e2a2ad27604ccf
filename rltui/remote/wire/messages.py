"""The messages of a stream other than batches: requests, answers, and the far side's state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from enum import Enum
from pathlib import Path
from typing import Annotated, NamedTuple, get_args

from rltui.core.batch import Note, RunKey
from rltui.core.record import record
from rltui.remote.host_script import MOST_NAMES, MOST_READ
from rltui.remote.wire.codec import Bounds, LongText, WireError, load
from rltui.remote.wire.framing import Frame, Kind
from rltui.sources.discovery.processes import FileHold
from rltui.sources.options import Intervals

#: Notes about directories and files of no run.
MOST_NOTES = 1000


ModifiedNs = Annotated[int, Bounds(-(1 << 62), 1 << 62)]


@record
class Hello:
    """The far side introduces itself."""

    rltui: str
    """Its version; empty where there is none."""
    logdirs: tuple[Path, ...]
    """The paths that it was given, with the home directory in place of ``~``."""
    now: float
    """Its clock, seconds since the epoch."""


@record
class Request:
    """What is to be read, and how."""

    step_keys: tuple[str, ...] = ()
    verify: bool = False
    waits: bool = False
    chooses: bool = False
    """Whether the client chooses among the runs found, see :class:`Found`."""
    watch: Intervals = field(default_factory=Intervals)
    known: int = 0
    """How many batches without content follow: the state of files read so far."""


@record
class Found:
    """The runs that a search has found; sent when they have changed."""

    runs: tuple[RunKey, ...]


@record
class Chosen:
    """Which of them are to be read."""

    chosen: tuple[int, ...]
    """Positions in the newest list."""
    searches: int = 0
    """Number of the list that this answers: the far side waits for that of its newest one."""


@record
class Read:
    """Begin to read."""

    follow: bool = False
    """Whether to go on at the end of the files."""


@record
class State:
    """Progress and notes of the far side; None for what has not changed."""

    progress: tuple[int, int] | None = None
    """(bytes read, bytes known)."""
    run_count: int | None = None
    notes: tuple[Note, ...] | None = None
    unclaimed: tuple[Note, ...] | None = None

    def since(self, before: State) -> State:
        """What has changed since ``before``, with the first :data:`MOST_NOTES` notes."""
        return State(
            self.progress if self.progress != before.progress else None,
            self.run_count if self.run_count != before.run_count else None,
            _first(self.notes or ()) if self.notes != before.notes else None,
            _first(self.unclaimed or ()) if self.unclaimed != before.unclaimed else None,
        )


def _first(notes: Sequence[Note]) -> tuple[Note, ...]:
    """The first :data:`MOST_NOTES` notes, and one that counts the others."""
    first = tuple(notes[:MOST_NOTES])
    if len(notes) > MOST_NOTES:
        last = notes[MOST_NOTES]
        more = len(notes) - MOST_NOTES
        first += (last._replace(offset=None, message=f"and {more:,} more such notes"),)
    return first


@record
class Error:
    """Why the stream ends."""

    text: str
    bad_path: bool = False
    """Whether a path is missing or no log."""


class What(Enum):
    """What can be asked about a path."""

    STATUS = "status"
    NAMES = "names"
    BYTES = "bytes"
    HOLD = "hold"


class Sort(Enum):
    """Kind of a file. In a listing a link to a directory counts as OTHER, so that a walk never
    goes in circles."""

    FILE = "file"
    DIRECTORY = "directory"
    OTHER = "other"


@record
class Question:
    """A question about one path, which may begin with ``~``."""

    what: What
    path: Path
    begin: int = 0
    size: Annotated[int, Bounds(0, MOST_READ)] = 0
    """How many bytes are wanted."""
    kind: str = ""
    """Name of the format of a log."""


class Name(NamedTuple):
    """A name in a directory, of any bytes."""

    name: Path
    sort: Sort
    size: int
    """Size of a file, bytes."""
    modified_ns: ModifiedNs
    """Nanoseconds since the epoch."""


@record
class Answer:
    """Answer to one question; fields of other questions are empty. Bytes follow in its frame."""

    sort: Sort = Sort.OTHER
    size: int = 0
    """Of the file, bytes."""
    modified_ns: ModifiedNs = 0
    """Nanoseconds since the epoch."""
    names: Annotated[tuple[Name, ...], Bounds(0, MOST_NAMES)] = ()
    error: str = ""
    """Symbol of an OS error, such as ``ENOENT``; empty for none."""
    text: LongText = ""
    """What the error says."""
    hold: FileHold | None = None
    """Whether the file is held open; None where that cannot be told."""

    def __post_init__(self) -> None:
        for name, *_ in self.names:
            if len(name.parts) != 1 or name.parts[0] in ("..", "/"):
                raise WireError("a name was expected")


class KnownFile(NamedTuple):
    """How far a file was read."""

    path: Path
    offset: int
    modified: float
    """Seconds since the epoch."""
    finished: bool
    """Whether its last line was read without its end."""


@record
class Again:
    """Request to read a run again, up to where it was read before."""

    run: RunKey
    files: tuple[KnownFile, ...]


@record
class Kept:
    """Whether the files still hold all that was read of them."""

    kept: bool


Message = Hello | Request | Found | Chosen | Read | State | Error | Question | Answer | Again | Kept
_KINDS: dict[type, Kind] = {cls: Kind[cls.__name__.upper()] for cls in get_args(Message)}
_CLASSES: dict[int, type[Message]] = {kind: cls for cls, kind in _KINDS.items()}


def kind_of(message: Message) -> Kind:
    """The kind of the frame that holds a message."""
    return _KINDS[type(message)]


def message_in(frame: Frame) -> Message | None:
    """The message that a frame holds; None for batches and for kinds that have none. Raises
    WireError."""
    cls = _CLASSES.get(frame.kind)
    return None if cls is None else load(cls, frame.record)
