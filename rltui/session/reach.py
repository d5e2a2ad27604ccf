"""Which logdirs can be read now: out of reach, missing, not searched yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rltui.core.address import is_remote
from rltui.core.batch import Note
from rltui.core.clock import Clock
from rltui.core.level import Level
from rltui.files.trouble import MISSING
from rltui.sources.discovery.logdir import similar_to
from rltui.sources.follow.reading import Reading


@dataclass(frozen=True, slots=True)
class Search:
    """The first search of one logdir, under way."""

    logdir: Path
    connecting: bool
    """Whether its host has not answered yet."""
    seconds: float
    """Since reading was started."""


class Reach:
    """Asks a reader about its logdirs. Owned by the session."""

    def __init__(self, reader: Reading, logdirs: Sequence[Path], clock: Clock) -> None:
        self._reader = reader
        self._logdirs = logdirs
        self._clock = clock
        self._started = clock.monotonic()
        self._awaited = False
        """Whether something was being searched when this was last renewed."""
        self._similar: dict[Path, Path | None] = {}
        self._noted: tuple[Note, ...] = ()
        """:attr:`notes` at that time."""
        self.lost: Mapping[int, float] = {}
        """Numbers of the logdirs out of reach -> since when, in seconds since the epoch."""

    def start(self) -> None:
        """Reading begins."""
        self._started = self._clock.monotonic()

    def renew(self) -> bool:
        """Look who can be reached; returns whether anything that is shown has changed, but for
        :attr:`lost`."""
        noted, self._noted = self._noted, self.notes
        awaited, self._awaited = self._awaited, bool(self._reader.searching)
        paths, now = self._reader.out_of_reach, self._clock.now()
        lost = {n: self._reader.lost_at(p) for n, p in enumerate(self._logdirs) if p in paths}
        self.lost = {n: self.lost.get(n, now) if at is None else at for n, at in lost.items()}
        return noted != self._noted or awaited or self._awaited

    @property
    def notes(self) -> tuple[Note, ...]:
        """Trouble that concerns no single run, one note for each missing logdir among it."""
        notes = self._reader.notes
        told = {note.path for note in notes if note.level >= Level.WATCH}
        return (*notes, *(note for note in self._reader.unread if note.path not in told))

    @property
    def awaited(self) -> Mapping[Path, Path | None]:
        """The logdirs of this machine that do not exist yet, with what is there under nearly the
        same name."""
        missing = [n.path for n in self._reader.unread if n.message == MISSING]
        for path in missing:
            if path not in self._similar:
                self._similar[path] = None if is_remote(path) else similar_to(path)
        return {path: self._similar[path] for path in missing if not is_remote(path)}

    @property
    def searching(self) -> tuple[Search, ...]:
        """The logdirs that are being searched for the first time."""
        found = self._reader.searching
        if not found:
            return ()
        connecting, seconds = self._reader.connecting, self._clock.monotonic() - self._started
        return tuple(Search(path, path in connecting, seconds) for path in found)
