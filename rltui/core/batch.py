"""The result of one budgeted read of one log file: the only input of the store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from rltui.core.block import Block
from rltui.core.level import Level
from rltui.core.record import record


class RunKey(NamedTuple):
    """Names a run: which logdir of the command line, and the path below it (``.`` for itself).

    A tuple: thousands of runs are looked up and sorted by it.
    """

    logdir: int
    name: str


class Note(NamedTuple):
    """A problem with a file: something skipped, corrupt or vanished.

    ``offset`` is the byte position in the file, None for the file as a whole.
    """

    path: Path
    offset: int | None
    level: Level
    message: str


class Restart(NamedTuple):
    """The writer of this file starts again at ``step`` (SessionLog START).

    Points of the run at or beyond ``step`` that were logged before it are superseded.
    """

    step: int


class TextPoint(NamedTuple):
    """A text that a run logged (sample, hyperparameter table)."""

    tag: str
    step: int
    wall_time: float
    text: str


class MediaKind(str, Enum):
    """Kind of the content of a log that is neither number nor text."""

    HISTOGRAM = "histogram"
    PICTURE = "picture"
    CURVE = "curve"
    """Precision over recall."""


class MediaPlace(NamedTuple):
    """Where a histogram, picture or curve stands in a log. The value itself stays there."""

    tag: str
    kind: MediaKind
    step: int
    offset: int
    """Offset of its record, in bytes from the beginning of the file."""
    length: int
    """Bytes of the record."""


class Phase(NamedTuple):
    """Activity of a training between two rows, as its console says it."""

    name: str
    """``actor_train``, ``evaluating``."""
    since: str
    """The time of day at which it began, as printed: ``17:02``; empty where lines have no time."""
    done: int | None = None
    """How many parts of it were done,"""
    total: int | None = None
    """of how many."""
    usual_s: float | None = None
    """Seconds that it took before."""

    @property
    def words(self) -> str:
        """``in actor_train since 17:02``, ``evaluating 3 of 16``."""
        text = self.name if self.name.partition(" ")[0].endswith("ing") else f"in {self.name}"
        text += "" if self.done is None else f" {self.done} of {self.total}"
        return f"{text} since {self.since}" if self.since else text


class LogTail(NamedTuple):
    """The last lines of a console log, cleaned, oldest first."""

    lines: tuple[str, ...]
    """At most a few hundred, each of bounded length; progress bars show their last state."""
    after_row: int
    """Number of lines after the last row of metrics."""
    phase: Phase | None = None
    """Activity since that row, where the log says it."""
    lasted_s: float = 0.0
    """Seconds from the first to the last time that is printed after that row."""


class Joined(Enum):
    """Why a file is assigned to a run."""

    OWN = "own"
    """The run exists because of this file."""
    SURELY = "surely"
    """It is where the framework or the user puts it; its points may show otherwise."""
    MAYBE = "maybe"
    """Nothing contradicts it; its points must confirm it."""


class Lanes(NamedTuple):
    """Tags of rows without a step, such as those of a sampling engine: the store places them in
    the run, and keeps one value of each step."""

    mean: frozenset[str] = frozenset()
    """Tags of which it keeps the mean,"""
    most: frozenset[str] = frozenset()
    """the highest,"""
    total: frozenset[str] = frozenset()
    """or the sum."""
    local: bool = False
    """Whether times are those of a clock in an unknown zone, perhaps of an unknown year."""

    @property
    def tags(self) -> frozenset[str]:
        """All of them."""
        return self.mean | self.most | self.total

    def joined(self, later: Lanes) -> Lanes:
        """Both."""
        mean = self.mean | later.mean
        most = self.most | later.most
        total = self.total | later.total
        return Lanes(mean, most, total, self.local or later.local)


NO_LANES = Lanes()


#: Lines or rows that are too many to be counted.
MANY = 1000


class LogClock(NamedTuple):
    """The clock of the times in a log."""

    newest: float = 0.0
    """Its newest time: of the last line that has any, row or not."""
    unit: float = 0.0
    """Its times are right up to a multiple of so many seconds, as one without a zone, or a date, or
    that counts from an unknown begin (1.0); 0.0: they are right, -1.0: they contradict each
    other."""
    lines_behind: int = MANY
    """Lines behind that of this time, and"""
    rows_behind: int = MANY
    """rows among them."""

    @property
    def counts(self) -> bool:
        """Whether its times count from an unknown begin, as those of a bar."""
        return self.unit == 1.0

    @property
    def at_end(self) -> bool:
        """Whether the last line has a time: then the file changed at :attr:`newest`."""
        return self.lines_behind == 0


NO_CLOCK = LogClock()


class SourceInfo(NamedTuple):
    """The state of one log file of a run after the newest batch."""

    path: Path
    format: str
    """Name of the log format: tfevents, jsonl, ..."""
    order: int
    """Position among the files of the run, oldest first: later files supersede earlier ones."""
    size: int
    """Bytes of the file at the last check."""
    offset: int
    """Bytes decoded so far."""
    records: int
    """Records decoded so far (event records, or lines)."""
    modified: float
    """Modification time of the file, seconds since the epoch."""
    precision_rank: int = 3
    """Precision of its values: of several sources of one run the highest wins (see ``Format``)."""
    steps_are_row_numbers: bool = False
    """Whether its steps are row numbers, because the log has no steps."""
    guessed: frozenset[str] = frozenset()
    """Tags whose steps the log does not give: the decoder took the step of a row nearby."""
    joined: Joined = Joined.OWN
    alone: str = ""
    """Name of its own run if it turns out not to belong to this one."""
    part: str = ""
    """Names the run within a tracker's store."""
    lanes: Lanes = NO_LANES
    """Tags so far whose rows the store places. Their steps are those of the newest row of the
    training in the file, -1 before there is any."""
    clock: LogClock = NO_CLOCK
    """By which its rows have times."""


#: What is known of each file of a run.
Sources = Mapping[Path, SourceInfo]


@record
class Batch:
    """One budgeted read: what is new in one file, in file order.

    ``generation`` counts how often the file was truncated or replaced; when it increases, the
    writer has started again and the new content is a later branch.
    ``gone``: the file vanished; what was read is kept.
    ``more``: the file has not been read to its end.
    ``waiting`` is the number of *other* files of the run that have never been read to their end,
    including those not yet opened. All of a run has been read when its newest batch has
    ``waiting`` 0 and ``more`` False.
    ``replaced``: the items are the whole content of the file and replace its older ones.
    ``document``: the file holds the whole state of the run, and replaces older such files.
    ``tail`` is the end of a console log (None: unchanged), ``exit_code`` that of the training
    where a tracker has recorded it. ``sampled``: the items are a sample of a large file, shown
    until the file has been read, and never stored.
    ``checksum`` is the CRC-32 of the bytes up to the offset, by which another reader recognises
    them and goes on from there; None where it cannot, or where nobody asked. ``finished``: the
    last line was read without its end.
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
    checksum: int | None = None
    finished: bool = False
    media: tuple[MediaPlace, ...] = ()

    @property
    def blocks(self) -> list[Block]:
        """The blocks among the items, in file order."""
        return blocks_in(self.items)


def blocks_in(items: Iterable[object]) -> list[Block]:
    """The blocks among items, in file order."""
    return [item for item in items if isinstance(item, Block)]
