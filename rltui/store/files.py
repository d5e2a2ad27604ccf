"""The log files of a run: their state, notes and how they end. Everything but the points."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rltui.core.batch import Batch, LogTail, Note, SourceInfo


@dataclass(slots=True)
class LogFile:
    """One file of a run, as of its newest batch."""

    source: SourceInfo
    generation: int = 0
    """How often its content began anew."""
    has_more: bool = False
    """Whether it has not been read to its end yet."""
    gone: bool = False
    """Whether it has vanished."""
    tail: LogTail | None = None
    """Its last lines, if it is a console log."""
    exit_code: int | None = None
    """Exit status of the training, if it is a tracker's and records it."""
    _read: bool = False
    """Whether it has been read to its end, at least once."""
    _complete: bool = False
    """Whether it had been read to its end when the exit status came."""

    def take(self, batch: Batch) -> bool:
        """Take one batch in; returns whether the file was written since it was read."""
        before, now = self.source, batch.source
        moved = now.modified > before.modified or now.size > before.size
        grew = self._read and moved and not batch.gone
        self._read = self._read or not batch.more
        self.source = now
        self.generation = batch.generation
        self.has_more, self.gone = batch.more, batch.gone
        if batch.tail is not None:
            self.tail = batch.tail
        if batch.exit_code is not None:
            self.exit_code, self._complete = batch.exit_code, not batch.more
        elif batch.items and self._complete:
            self.exit_code = None  # it is written to again: the training was resumed
        elif not batch.more:
            self._complete = self.exit_code is not None
        return grew


class RunFiles:
    """Owned by one RunData."""

    def __init__(self) -> None:
        self.by_path: dict[Path, LogFile] = {}
        self.notes: list[Note] = []
        self.waiting = 0
        """Further files of the run that have not been read to their end, as of the newest
        batch."""
        self.grew = False
        """Whether the newest batch shows that its file was written while it was watched."""
        self.grown_at: float | None = None
        """When that was last so, seconds since the epoch by the clock of the session."""

    @property
    def sources(self) -> dict[Path, SourceInfo]:
        """State of each file."""
        return {path: f.source for path, f in self.by_path.items()}

    @property
    def tails(self) -> dict[Path, LogTail]:
        """The last lines of each console log."""
        return {path: f.tail for path, f in self.by_path.items() if f.tail is not None}

    @property
    def generations(self) -> tuple[int, ...]:
        """How often the content of each file began anew."""
        return tuple(f.generation for f in self.by_path.values())

    @property
    def reading(self) -> bool:
        """Whether some file has not been read to its end: no verdict yet."""
        return self.waiting > 0 or any(f.has_more for f in self.by_path.values())

    @property
    def all_gone(self) -> bool:
        """Whether every file has vanished."""
        return bool(self.by_path) and all(f.gone for f in self.by_path.values())

    @property
    def modified(self) -> float | None:
        """Newest modification time, seconds since the epoch; None without files."""
        return max((f.source.modified for f in self.by_path.values()), default=None)

    def expect(self, source: SourceInfo) -> None:
        """Note a file that will be read: until then the run is not complete."""
        self.by_path.setdefault(source.path, LogFile(source)).has_more = True

    def take(self, batch: Batch) -> None:
        """Take everything but the points of a batch in."""
        path = batch.source.path
        file = self.by_path.get(path)
        if file is None:
            file = self.by_path[path] = LogFile(batch.source)
        self.grew = file.take(batch)
        self.waiting = batch.waiting
        # a file that is read again says the same of the same place
        self.notes.extend(n for n in batch.notes if n.offset is None or n not in self.notes)

    def move(self, path: Path, into: RunFiles) -> SourceInfo:
        """Give a file with its notes to another run; returns its state."""
        file = into.by_path[path] = self.by_path.pop(path)
        into.notes.extend(n for n in self.notes if n.path == path)
        self.notes = [n for n in self.notes if n.path != path]
        return file.source
