"""What the reader follows: one source of a run, whether a file, a store or a pipe."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path

from rltui.core.batch import Batch, Note, SourceInfo
from rltui.core.level import Level
from rltui.files.trouble import Notes, contained, reason_of
from rltui.formats import Decoded, DecoderNote, Format
from rltui.sources.discovery.run_files import LogFile, RunFiles
from rltui.trackers import Tracker


class Feed(ABC):
    """How far one source has been read. Owned by the reader; not thread-safe.

    ``offset``, ``size`` (bytes; rows as bytes, roughly, of a store) and ``modified`` (seconds since
    the epoch) are those of the last read, before the first one those of the search.
    """

    def __init__(self, run: RunFiles, file: LogFile) -> None:
        self.run = run
        self.file = file
        self.offset = 0
        self.size = file.size
        self.modified = file.modified
        self.read_once = False
        """Whether it has been read to its end, at least once."""
        self.wait = False
        """Whether a read blocks until something comes; only a pipe can make anyone wait."""
        self.final = False
        """Whether its end is the end of what will ever be written: a last line without a newline
        is read, too."""
        self.finished = False
        """Whether its last line was read as if it had ended."""
        self.ended = False
        """Whether nothing can come any more."""
        self.given_up = False
        """Whether its format failed on it: nothing more of it is decoded."""
        self._begun = False
        self._more = False
        self._records = 0
        self._steps_are_row_numbers = False
        self._guessed: frozenset[str] = frozenset()

    @property
    def behind(self) -> bool:
        """Whether it holds more than what was read, as of the last read."""
        return not self._begun or self._more

    @property
    def paths(self) -> tuple[Path, ...]:
        """Files whose changes mean that there is something to read."""
        return (self.file.path,)

    @property
    def rotates(self) -> bool:
        """Whether a newer file of the run takes the place of this one and holds all of it."""
        return False

    def still(self) -> bool:
        """Whether :meth:`read` would certainly return None; at most one ``stat``."""
        return False

    def sample(self) -> Batch | None:
        """A sample of a large source, to be shown until it has been read.

        None when reading it costs no more, or when it cannot be sampled.
        """
        return None

    @abstractmethod
    def read(self, budget_bytes: int) -> Batch | None:
        """Read what is new, about ``budget_bytes`` of it.

        None when nothing is new; the first call always returns a batch. Never raises OSError.
        """

    @property
    @abstractmethod
    def _owner(self) -> Format | Tracker | None:
        """The format or tracker that reads the source; None while that is not known."""

    def _advance(self, *, more: bool) -> None:
        """A read has succeeded; ``more``: it has not come to the end."""
        self._begun, self._more = True, more
        self.read_once = self.read_once or not more

    def _contained(self, decode: Callable[[], Decoded], position: int) -> Decoded:
        """What ``decode`` returns for the bytes at ``position``; if it fails, a note, and nothing
        from then on."""
        if self.given_up:
            return Decoded()
        try:
            with contained():
                return decode()
        except OSError as error:
            self.given_up = True
            return Decoded(notes=(DecoderNote(position, Level.WATCH, reason_of(error)),))

    def _count(self, decoded: Decoded) -> None:
        self._records += decoded.records
        before = self._steps_are_row_numbers and not decoded.replaces
        self._steps_are_row_numbers = before or decoded.steps_are_row_numbers
        self._guessed |= decoded.guessed

    def _source(self) -> SourceInfo:
        owner, file = self._owner, self.file
        return SourceInfo(
            file.path,
            "" if owner is None else owner.name,
            file.order,
            self.size,
            self.offset,
            self._records,
            self.modified,
            1 if owner is None else owner.precision_rank,
            self._steps_are_row_numbers,
            self._guessed,
            file.joined,
            file.alone,
            file.part,
        )

    def _batch(self, decoded: Decoded, notes: Notes = ()) -> Batch:
        """What was decoded, as of now; ``notes`` concern the source as a whole."""
        path = self.file.path
        found = [Note(path, None, level, message) for level, message in notes]
        found += [Note(path, n.offset, n.level, n.message) for n in decoded.notes]
        return Batch(
            self.run.key,
            self.run.path,
            self._source(),
            decoded.items,
            decoded.texts,
            decoded.hparams,
            tuple(found),
            more=self._more,
            tail=decoded.tail,
            exit_code=decoded.exit_code,
        )
