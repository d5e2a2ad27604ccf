"""What one budgeted read of one log file produced: the only way into the store."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from rltui.core.block import Block
from rltui.core.level import Level


@dataclass(frozen=True, slots=True, order=True)
class RunKey:
    """Names a run: which logdir of the command line, and the path below it (``.`` for itself)."""

    logdir: int
    name: str


@dataclass(frozen=True, slots=True)
class Note:
    """Something in a file that could not be taken as it is: skipped, corrupt, vanished.

    ``offset`` is the byte position in the file, None when it concerns the file as a whole.
    """

    path: Path
    offset: int | None
    level: Level
    message: str


@dataclass(frozen=True, slots=True)
class Restart:
    """The writer of this file said that it starts again at ``step`` (SessionLog START).

    Points of the run at or beyond ``step`` that were logged before it are superseded.
    """

    step: int


@dataclass(frozen=True, slots=True)
class TextPoint:
    """A text that a run logged (sample, hyperparameter table)."""

    tag: str
    step: int
    wall_time: float
    text: str


@dataclass(frozen=True, slots=True)
class LogTail:
    """How a console log ends, as of the newest look; lines are cleaned, oldest first."""

    lines: tuple[str, ...]
    """At most a few hundred, each of bounded length; progress bars show their last state."""
    after_row: int
    """How many of the last lines come after the last row of metrics."""


class Joined(Enum):
    """Why a file is believed to be of a run."""

    OWN = "own"
    """It is what makes the run."""
    SURELY = "surely"
    """It lies where the framework, or the user, puts it; its points may show otherwise."""
    MAYBE = "maybe"
    """Nothing speaks against it; its points must show it."""


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """The state of one log file of a run, as of the newest batch."""

    path: Path
    format: str
    """Name of the log format: tfevents, jsonl, ..."""
    order: int
    """Position among the files of the run, oldest first: later files supersede earlier ones."""
    size: int
    """Bytes in the file when it was last looked at."""
    offset: int
    """Bytes decoded so far."""
    records: int
    """Records decoded so far (event records, or lines)."""
    modified: float
    """Modification time of the file, seconds since the epoch."""
    precision_rank: int = 3
    """Which of several sources of one run is believed: the highest (see ``Format``)."""
    steps_are_row_numbers: bool = False
    """Whether its steps are row numbers, because the log tells none."""
    joined: Joined = Joined.OWN
    alone: str = ""
    """Name of the run that it is if it is not of this one."""


@dataclass(frozen=True, slots=True)
class Batch:
    """One budgeted read: what is new in one file, in file order.

    ``generation`` counts how often the file began anew (truncated, replaced); when it is
    higher than before, the writer started again and the new content is a later branch.
    ``gone`` means that the file vanished: what was read is kept.
    ``more`` means that the file has not been read to its end.
    ``waiting`` is the number of *other* files of the run that have never been read to their
    end, not begun ones included: as of the newest batch of a run, all of the run has been read
    when it is 0 and ``more`` is False.
    ``replaced`` means that the items are all that the file holds: older ones of it are dropped.
    ``document`` means that it is the whole state of the run: so are those of older such files.
    ``tail`` is the end of a console log (None: as before), ``exit_code`` how the training ended
    where a tracker has recorded it. ``sampled`` means that the items are a sample of a large
    file, to be shown until the file has been read, and to be stored nowhere.
    """

    run: RunKey
    run_path: Path
    source: SourceInfo
    items: tuple[Block | Restart, ...] = ()
    texts: tuple[TextPoint, ...] = ()
    hparams: dict[str, object] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    generation: int = 0
    gone: bool = False
    more: bool = False
    waiting: int = 0
    replaced: bool = False
    document: bool = False
    tail: LogTail | None = None
    exit_code: int | None = None
    sampled: bool = False

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks among the items, in file order."""
        return tuple(i for i in self.items if isinstance(i, Block))
