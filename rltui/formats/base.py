"""What a log format is: a claim and an I/O-free decoder. Opens no file.

A decoder is fed the bytes of one file in order, in pieces of any size, and keeps what it
cannot use yet. The points that come out do not depend on how the bytes were split.
Stores that are no stream of bytes (databases) are :mod:`rltui.trackers`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Protocol

from rltui.core.batch import LogTail, Restart, TextPoint
from rltui.core.block import Block
from rltui.core.level import Level
from rltui.core.text import clean, clean_bytes

#: Longest tag that is kept, in characters; longer ones are cut (see :func:`clean_tag`).
MAX_TAG = 1024
#: Longest text point that is kept, in bytes of the log.
MAX_TEXT = 1 << 18
#: Step keys of text logs, in order of preference when a row has several.
STEP_KEYS = (
    *("step", "global_step", "_step", "current_steps", "global_step/max_steps", "steps"),
    *("global_steps", "train/global_step", "trainer/global_step", "time/total_timesteps"),
    *("total_timesteps", "misc/total_timesteps", "timesteps_total", "total_env_steps"),
    *("num_env_steps", "env_steps", "env_step", "num_timesteps", "timesteps", "timestep"),
    *("actor_steps", "learner_steps", "frames", "frame"),
    *("iteration", "training_iteration", "iterations", "iter", "update", "updates"),
    *("num_updates", "total_steps", "epoch", "epochs", "episode", "episodes"),
)
#: Those that count passes or episodes: better than nothing, but a row that tells only these, in
#: a log whose rows tell more, stands where the row before stands.
COARSE_KEYS = frozenset(("epoch", "epochs", "episode", "episodes"))


@dataclass(frozen=True, slots=True)
class Options:
    """Choices of the user that concern decoding."""

    verify: bool = False
    """Check the checksum of every payload (slow), not only those that fail to decode."""
    step_keys: tuple[str, ...] = STEP_KEYS
    """Names under which a row of a text log tells its step, best first."""


@dataclass(frozen=True, slots=True)
class DecoderNote:
    """Something that could not be taken as it is; ``offset`` in bytes from the file's start."""

    offset: int
    level: Level
    message: str


@dataclass(frozen=True, slots=True)
class Decoded:
    """What one call of ``feed`` brought, in file order."""

    items: tuple[Block | Restart, ...] = ()
    texts: tuple[TextPoint, ...] = ()
    hparams: dict[str, object] = field(default_factory=dict)
    notes: tuple[DecoderNote, ...] = ()
    records: int = 0
    """Records (event records or lines) that this call used up, broken ones included."""
    tail: LogTail | None = None
    """The end of a console log as of now; None when it is no console or nothing is new."""
    exit_code: int | None = None
    """How the training ended, where the log says so (a tracker's exit record)."""
    steps_are_row_numbers: bool = False
    """Whether the steps are row numbers, because the log tells none."""


class Growth(Enum):
    """How a file of a format changes while a training writes it."""

    APPENDED = "appended"
    """Only at its end; when it begins anew, the training began anew."""
    REWRITTEN = "rewritten"
    """At its end, and now and then from its start with the same rows (a CSV that gets a
    column): what was read before is dropped then."""
    WHOLE = "whole"
    """Rewritten as one document: read from its start whenever it changes; what was read
    before is dropped as soon as the new content gives points."""


class Belonging(Enum):
    """How the files of a format in one directory belong together."""

    DIRECTORY = "directory"
    """All of them are one run, that of the directory."""
    NAME = "name"
    """Each is a run of its own and gives it its name (``exp1.jsonl``), unless something in
    the files shows that they are of one run."""


class Decoder(Protocol):
    """Turns the bytes of one file, fed in order, into blocks. Never raises for bad data."""

    def feed(self, data: bytes, *, more: bool = False) -> Decoded:
        """Take the next bytes of the file.

        ``more`` promises that further bytes follow at once: the decoder may then keep an
        unfinished row to hand over whole rows. With ``more`` False everything that is
        complete comes out; an unfinished record at the end always waits.
        """
        ...

    @property
    def holds_row(self) -> bool:
        """Whether complete records are held back because ``more`` was promised."""
        ...


class Format(Protocol):
    """One log format; the contract test of ``tests/sources`` takes every one of them."""

    @property
    def name(self) -> str:
        """Shown to the user: ``tfevents``, ``jsonl``."""
        ...

    @property
    def files(self) -> str:
        """Names of its files, in Markdown, for the documentation."""
        ...

    @property
    def written_by(self) -> str:
        """Who writes them, for the documentation."""
        ...

    @property
    def lacks(self) -> str:
        """Why a file of its name is not read, for people; empty when its first row tells."""
        ...

    @property
    def growth(self) -> Growth:
        """How its files change."""
        ...

    @property
    def precision_rank(self) -> int:
        """Of several sources of one run the highest wins: 3 float64 as computed, 2 float32,
        1 rounded for people."""
        ...

    @property
    def anywhere(self) -> bool:
        """Whether the first row may come after any amount of other text (a console log): then
        ``claims`` is also asked with the last lines of a long file as its head."""
        ...

    def belonging(self, name: str) -> Belonging:
        """How a file of this base name belongs to its directory: ``progress.csv`` is that of
        the directory, ``exp1.jsonl`` names a run."""
        ...

    def claims_name(self, name: str) -> bool:
        """Whether a file of this base name may be of this format (cheap, no I/O)."""
        ...

    def claims(self, path: Path, head: bytes, options: Options | None = None) -> bool:
        """Whether the file is of this format; ``head`` is how it begins (may be empty)."""
        ...

    def decoder(self, options: Options | None = None, path: Path | None = None) -> Decoder:
        """A fresh decoder for one file; ``path`` only for what its name tells, never opened."""
        ...


class NoteBook:
    """Collects the notes of one decoder without flooding: the first few, then round counts."""

    _SHOWN = 5

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._new: list[DecoderNote] = []

    def add(self, offset: int, kind: str, detail: str = "", level: Level = Level.WATCH) -> None:
        """Note trouble of one ``kind`` (also the message); counted per kind."""
        count = self._counts[kind] = self._counts.get(kind, 0) + 1
        if count <= self._SHOWN:
            text = f"{kind}: {detail}" if detail else kind
            self._new.append(DecoderNote(offset, level, text))
        elif str(count).strip("0") == "1":
            self._new.append(DecoderNote(offset, level, f"{kind}: {count} times so far"))

    def take(self) -> tuple[DecoderNote, ...]:
        """The notes since the last call."""
        notes, self._new = tuple(self._new), []
        return notes


def clean_tag(raw: bytes | str) -> str:
    """A tag from the log made harmless and of bounded length; different tags stay different.

    A tag beyond :data:`MAX_TAG` characters is cut and gets a checksum of the whole instead.
    """
    tag = clean_bytes(raw) if isinstance(raw, bytes) else clean(raw)
    if len(tag) <= MAX_TAG:
        return tag
    import hashlib

    digest = hashlib.sha256(tag.encode("utf-8", "backslashreplace")).hexdigest()[:12]
    return f"{tag[: MAX_TAG - 13]}~{digest}"


def clean_text(raw: bytes | str) -> str:
    """A text from the log made harmless line by line; newlines stay, tabs become blanks."""
    if isinstance(raw, str):
        raw = raw.encode("utf-8", "surrogatepass")
    lines = raw.replace(b"\r\n", b"\n").replace(b"\t", b"    ").split(b"\n")
    return "\n".join(clean_bytes(line) for line in lines)
