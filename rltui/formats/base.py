"""Log formats: a claim, abilities, and a decoder. Does no I/O.

A decoder is fed the bytes of one file in order, in pieces of any size, and keeps what it
cannot use yet. The decoded points do not depend on how the bytes were split.
Stores that are not a stream of bytes (databases) are in :mod:`rltui.trackers`.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import field
from enum import Enum
from pathlib import Path
from typing import NamedTuple, Protocol

from rltui.core.batch import (
    NO_CLOCK,
    NO_LANES,
    Lanes,
    LogClock,
    LogTail,
    MediaPlace,
    Restart,
    TextPoint,
)
from rltui.core.block import Block
from rltui.core.level import Level
from rltui.core.record import record
from rltui.core.text import clean, clean_bytes
from rltui.formats.words import words

#: Bytes of the beginning of a file by which a format recognises it.
HEAD_BYTES = 1 << 16
#: Longest tag that is kept, in characters; longer ones are cut (see :func:`clean_tag`).
MAX_TAG = 1024
#: Longest text point that is kept, in bytes of the log.
MAX_TEXT = 1 << 18


@record
class Options:
    """Choices of the user about decoding."""

    verify: bool = False
    """Check the checksum of every payload (slow), not only those that fail to decode."""
    step_keys: tuple[str, ...] = field(default_factory=lambda: words().step_keys)
    """Names of the step in a row of a text log, best first."""


class DecoderNote(NamedTuple):
    """Something that could not be read; ``offset`` in bytes from the start of the file."""

    offset: int
    level: Level
    message: str


@record
class Decoded:
    """Result of one call of ``feed``, in file order."""

    items: tuple[Block | Restart, ...] = ()
    texts: tuple[TextPoint, ...] = ()
    hparams: dict[str, object] = field(default_factory=dict)
    notes: tuple[DecoderNote, ...] = ()
    records: int = 0
    """Records (event records or lines) that this call consumed, broken ones included."""
    tail: LogTail | None = None
    """The last lines of a console log; None when they have not changed or there is no console."""
    exit_code: int | None = None
    """Exit code of the training, where the log has it (a tracker's exit record)."""
    steps_are_row_numbers: bool = False
    """Whether the steps are row numbers, because the log has no steps."""
    guessed: frozenset[str] = frozenset()
    """All tags so far with points whose steps the log does not give: the decoder took the step
    of a row nearby. A source that has such a tag with steps of its own is right."""
    replaces: bool = False
    """Whether the items are the whole content so far and replace what was returned before: its
    steps have turned out to be none."""
    lanes: Lanes = NO_LANES
    """The tags so far whose rows lie beside those of a training, in blocks of their own."""
    media: tuple[MediaPlace, ...] = ()
    clock: LogClock = NO_CLOCK
    """Clock of the rows so far; of the last call that has one."""

    def then(self, later: Decoded) -> Decoded:
        """Both as if one call had decoded them."""
        return Decoded(
            later.items if later.replaces else self.items + later.items,
            self.texts + later.texts,
            {**self.hparams, **later.hparams},
            self.notes + later.notes,
            self.records + later.records,
            self.tail if later.tail is None else later.tail,
            self.exit_code if later.exit_code is None else later.exit_code,
            later.steps_are_row_numbers or (self.steps_are_row_numbers and not later.replaces),
            self.guessed | later.guessed,
            self.replaces or later.replaces,
            self.lanes.joined(later.lanes),
            self.media + later.media,
            self.clock if later.clock == NO_CLOCK else later.clock,
        )


class Refusal(NamedTuple):
    """Why a format does not claim a file."""

    reason: str
    """For people."""
    final: bool = False
    """Whether that is so however the file grows."""
    lost: bool = False
    """Whether the file looks like the log of a training all the same."""


class Belonging(Enum):
    """How the files of a format in one directory belong together."""

    DIRECTORY = "directory"
    """All of them are one run, that of the directory."""
    NAME = "name"
    """Each is a run of its own and names it (``exp1.jsonl``), unless the files show that they
    belong to one run."""


class Decoder(Protocol):
    """Turns the bytes of one file, fed in order, into blocks. Never raises for bad data."""

    @abstractmethod
    def feed(self, data: bytes, *, more: bool = False) -> Decoded:
        """Decode the next bytes of the file.

        ``more`` promises that further bytes follow at once: the decoder may then hold an
        unfinished row back to return it whole. With ``more`` False everything complete is
        returned; only an unfinished record at the end waits.
        """

    def finish(self) -> Decoded:
        """The file will not grow any more: decode a last row that lacks only the end of its line.

        Half a row gives nothing but a note.
        """
        return Decoded()

    @property
    def holds_row(self) -> bool:
        """Whether complete records are held back because ``more`` was promised."""
        return False

    @property
    def open_line(self) -> bool:
        """Whether the last line has no end yet."""
        return False

    @property
    def torn(self) -> bool:
        """Whether more came although :meth:`finish` gave points, of a row that may have been only
        half of one: nothing more is decoded, and the file is to be read again."""
        return False


class RowSpan(NamedTuple):
    """Where rows lie in a window of a file, in bytes from its beginning."""

    begin: int
    """-1 when the window holds no row."""
    end: int
    whole: bool
    """Whether no row between is cut."""


class Sampler(Protocol):
    """Finds the rows in windows of a file that is too large to be read at once."""

    step_bytes: int
    """Bytes of one step at the beginning of the file; 0 when unknown."""

    def rows_in(self, window: bytes, *, first: bool, last: bool) -> RowSpan:
        """The rows of a window; ``first`` and ``last``: the file begins or ends with it."""

    def decoder(self) -> Decoder:
        """A fresh decoder for one window; shares no state with those that read the file."""


RowSearch = Callable[[bytes], bool]
"""Takes the bytes of a file piece by piece, in order; returns whether those so far hold a row. A
piece may begin within a line."""


class Format(ABC):
    """One log format. The contract test of ``tests/formats`` runs on all of them.

    Everything that the rest of the program needs to know of a format is an attribute here, so
    that no other module names one.
    """

    name: str
    """Shown to the user: ``tfevents``, ``jsonl``."""
    files: str
    """Names of its files, in Markdown, for the documentation."""
    written_by: str
    """Who writes them, for the documentation."""
    lacks: str = ""
    """Why a file with a fitting name is not read, for people (see :meth:`refusal`)."""
    restarts: bool = True
    """Whether a file that is truncated and rewritten is a training that started again. If not,
    the same rows are written again (a CSV that gets a column) and replace what was read."""
    document: bool = False
    """Whether the file is rewritten as one document: read from its start whenever it changes;
    new content replaces the old as soon as it has points."""
    precision_rank: int = 3
    """Precision of its values: of several sources of one run the highest wins. 3 float64 as
    computed, 2 float32, 1 rounded for people."""
    names_run: bool = True
    """Whether a run of several logs takes its name from files of this format before all others."""
    anywhere: bool = False
    """Whether the first row may follow any amount of other text (a console log): then
    :meth:`claims` also gets the last lines of a long file as its head."""
    name_decides: bool = False
    """Whether :meth:`claims` depends on the name alone, so that no file has to be opened."""
    sub_runs: bool = False
    """Whether a file in a directory below a run may be a series of that run (TensorBoard's
    ``add_scalars`` and ``add_hparams``)."""

    nameless: re.Pattern[str] | None = None
    """Base names of files that are those of their directory (``progress.csv``), where others name
    a run (``exp1.jsonl``); None where all are."""
    beside: re.Pattern[str] | None = None
    """Found in the names of files that, without a row of a training, belong to a run beside them,
    and make one only where there is none."""
    named_by_id: bool = False
    """Whether the base name of a file is the id of its run: another one is its continuation."""
    kept_open: bool = False
    """Whether every writer of such files keeps its file open as long as it lives."""

    def belonging(self, name: str) -> Belonging:
        """How a file of this base name belongs to its directory."""
        names_run = self.nameless is not None and self.nameless.fullmatch(name) is None
        return Belonging.NAME if names_run else Belonging.DIRECTORY

    def title_in(self, head: bytes) -> str:
        """The name that people gave to the run, cleaned, if the first bytes of a file tell; else
        empty."""
        return ""

    def is_common(self, name: str) -> bool:
        """Whether most files of this base name are something else: no word is lost on those."""
        return False

    def home(self, directory: str, path: Path) -> str:
        """The directory of the run to which a file in ``directory`` (relative to the logdir)
        belongs, if it belongs to a directory."""
        return directory

    @abstractmethod
    def claims_name(self, name: str) -> bool:
        """Whether a file of this base name may be of this format. Cheap; does no I/O."""

    def claims(self, path: Path, head: bytes, options: Options | None = None) -> bool:
        """Whether the file is of this format; ``head``: its first bytes, at most
        :data:`HEAD_BYTES`, possibly none. Does no I/O. A console log may have any name: it may
        be given on the command line."""
        named = self.anywhere or self.claims_name(path.name)
        return named and self.claims_head(path, head, options or Options())

    @abstractmethod
    def claims_head(self, path: Path, head: bytes, options: Options) -> bool:
        """Whether a file whose name fits is of this format: see :meth:`claims`."""

    def may_have_name(self, name: str) -> bool:
        """Whether a search looks into a file of this name, which :meth:`claims_name` does not
        know, in case it :meth:`is_plainly` of this format. Cheap; does no I/O."""
        return False

    def is_plainly(self, head: bytes) -> bool:
        """Whether a file with these first or last bytes is of this format, whatever its name."""
        return False

    def packed_text(self, data: bytes) -> bytes:
        """The text of a whole packed log whose rows may lie ``anywhere``; empty for all others."""
        return b""

    def refusal(self, head: bytes, options: Options) -> Refusal:
        """Why a file with this head is not claimed."""
        return Refusal(self.lacks if head.strip() else "empty so far")

    def decoder(self, options: Options | None = None, path: Path | None = None) -> Decoder:
        """A fresh decoder for one file; only the name of ``path`` is used, it is never opened."""
        return self.decoder_of(options or Options(), path or Path())

    @abstractmethod
    def decoder_of(self, options: Options, path: Path) -> Decoder:
        """A fresh decoder for one file: see :meth:`decoder`."""

    def row_search(self) -> RowSearch:
        """A fresh search for the first row; only of a format whose rows may lie ``anywhere``."""
        raise NotImplementedError

    def sampler(self) -> Callable[[bytes, Options], Sampler] | None:
        """Makes a sampler from the first bytes of a file; None when a record in the middle of a
        file cannot be found or means nothing without those before it."""
        return None


class NoteBook:
    """Collects the notes of one decoder: of each kind the first few, then counts of 10, 100, ..."""

    _SHOWN = 5

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._new: list[DecoderNote] = []

    def add(
        self, offset: int, kind: str, detail: str = "", level: Level = Level.WATCH, times: int = 1
    ) -> None:
        """Add a note; ``kind`` is its message, and notes are counted by kind. ``times``: how
        often it happened, first at ``offset``."""
        before = self._counts.get(kind, 0)
        count = self._counts[kind] = before + times
        if before < self._SHOWN:
            text = f"{kind}: {detail}" if detail else kind
            self._new.append(DecoderNote(offset, level, text))

        if count > self._SHOWN and (times > 1 or count % 10 == 0):
            power = 10 ** (len(str(count)) - 1)
            if power > max(before, self._SHOWN):
                self._new.append(DecoderNote(offset, level, f"{kind}: {count} times so far"))

    def take(self) -> tuple[DecoderNote, ...]:
        """The notes since the last call."""
        notes = tuple(self._new)
        self._new = []
        return notes


def clean_tag(raw: bytes | str) -> str:
    """A tag from the log, cleaned and of bounded length; different tags stay different.

    A tag longer than :data:`MAX_TAG` characters is cut and ends with a hash of the whole tag.
    """
    tag = clean_bytes(raw) if isinstance(raw, bytes) else clean(raw)
    if len(tag) <= MAX_TAG:
        return tag
    import hashlib  # few logs have such tags, and it takes a millisecond

    digest = hashlib.sha256(tag.encode("utf-8", "backslashreplace")).hexdigest()[:12]
    return f"{tag[: MAX_TAG - 13]}~{digest}"


def clean_text(raw: bytes | str) -> str:
    """A text from the log, cleaned line by line; newlines stay, tabs become blanks."""
    if isinstance(raw, str):
        raw = raw.encode("utf-8", "surrogatepass")
    lines = raw.replace(b"\r\n", b"\n").replace(b"\t", b"    ").split(b"\n")
    return "\n".join(clean_bytes(line) for line in lines)
