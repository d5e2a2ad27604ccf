"""What the reader follows: the sources of all runs, each a file, a run of a store or a pipe."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from rltui.core.address import is_remote
from rltui.core.batch import Batch, Note, RunKey, SourceInfo
from rltui.core.level import Level
from rltui.files.trouble import Notes, contained, reason_of
from rltui.formats import Decoded, DecoderNote, Format
from rltui.sources.discovery.run_files import Discovery, LogFile, RunFiles
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


class TrackerFeed(Feed):
    """Follows a run that a tracker keeps."""

    def __init__(self, run: RunFiles, file: LogFile) -> None:
        assert file.tracker is not None
        super().__init__(run, file)
        self._tracker = file.tracker
        self._follower = file.tracker.follow(file.path, file.part)
        self._generation = 0

    @property
    def _owner(self) -> Tracker:
        return self._tracker

    @property
    def paths(self) -> tuple[Path, ...]:
        """The store and its ``-wal``: a database in WAL mode is written beside itself."""
        path = self.file.path
        return path, path.with_name(f"{path.name}-wal")

    def read(self, budget_bytes: int) -> Batch | None:
        """Read the rows that are new."""
        followed = self._follower.poll(budget_bytes)
        if not followed.changed and self._begun and followed.more == self._more:
            return None
        if followed.restarted:
            self._generation += 1
            self._records = 0

        self._advance(more=followed.more)
        self._count(followed.decoded)
        follower = self._follower
        self.offset, self.size = follower.offset, follower.size
        self.modified = follower.modified or self.modified
        return replace(
            self._batch(followed.decoded, followed.notes),
            generation=self._generation,
            gone=followed.gone,
            replaced=followed.restarted,
        )


class Feeds:
    """Owned by the reader. Feeds of files that vanished stay, so that their end is reported."""

    def __init__(
        self, open_feed: Callable[[RunFiles, LogFile], Feed], logdirs: Sequence[Path]
    ) -> None:
        self._open = open_feed
        self._logdirs = frozenset(logdirs)
        self._feeds: dict[Path, Feed] = {}
        """By key of the file (:attr:`LogFile.key`)."""
        self.readers: dict[Path, tuple[Path, ...]] = {}
        """File -> keys of the feeds that read it."""
        self._runs: dict[RunKey, RunFiles] = {}
        """As of the last search."""
        self.directories: dict[Path, int] = {}
        """Directories that the last search looked into, and their change times (ns)."""
        self._unread: dict[RunKey, int] = {}
        """Files of each run that have never been read to their end."""
        self._ended: frozenset[Path] = frozenset()
        self.progress = (0, 0)
        """(bytes read, bytes known) over all feeds, as of their last reads."""

    def __iter__(self) -> Iterator[Feed]:
        return iter(list(self._feeds.values()))

    @property
    def ended(self) -> bool:
        """Whether the last batch of each of them has been handed over."""
        return bool(self._feeds) and self._ended >= self._feeds.keys()

    def handed_over(self, feed: Feed) -> None:
        """What was read of a feed so far has been handed over."""
        if feed.ended:
            self._ended |= {feed.file.key}

    def get(self, key: Path) -> Feed | None:
        """The feed of a file."""
        return self._feeds.get(key)

    def adopt(self, found: Discovery) -> bool:
        """Take in what a search found; returns whether there are new feeds."""
        self.directories = dict(found.directories)
        self._runs = {run.key: run for run in found.runs}
        fresh = False
        for run in found.runs:
            for file in run.files:
                known = self._feeds.get(file.key)
                if known is not None:
                    known.file = file  # another log may have turned out to be of the same run
                else:
                    fresh = True
                    self._add(self._open(run, file))

        return fresh

    def _add(self, feed: Feed) -> None:
        self._feeds[feed.file.key] = feed
        for path in feed.paths:
            self.readers[path] = (*self.readers.get(path, ()), feed.file.key)
        self._unread[feed.run.key] = self._unread.get(feed.run.key, 0) + 1
        read, known = self.progress
        self.progress = (read, known + feed.size)

    def poll(self, feed: Feed, budget_bytes: int) -> Batch | None:
        """One budgeted read, counted."""
        size, offset, again = feed.size, feed.offset, feed.read_once
        batch = feed.read(budget_bytes)
        read, known = self.progress
        self.progress = (read + feed.offset - offset, known + feed.size - size)
        key = feed.run.key
        if feed.read_once and not again:
            self._unread[key] -= 1
        waiting = self._unread[key] - (not feed.read_once)
        return replace(batch, waiting=waiting) if batch is not None and waiting else batch

    def in_reading_order(self, *, everything: bool = False) -> deque[Feed]:
        """Feeds that have not been read to their end (or all): of the run that changed last
        first, within a run the oldest file first."""
        newest: dict[RunKey, float] = {}
        for feed in self._feeds.values():
            key = feed.run.key
            newest[key] = max(newest.get(key, 0.0), feed.modified)
        return deque(
            sorted(
                (f for f in self._feeds.values() if everything or f.behind),
                key=lambda f: (-newest[f.run.key], f.run.key, f.file.order),
            )
        )

    def has_successor(self, feed: Feed) -> bool:
        """Whether the last search found other files of the run and format, but not this one."""
        run = self._runs.get(feed.run.key)
        alike = [f.key for f in run.files if f.kind == feed.file.kind] if run else []
        return bool(alike) and feed.file.key not in alike

    def directories_by_change(self) -> list[Path]:
        """The logdirs, then the directories where something was written last; those here."""
        local = {p: ns for p, ns in self.directories.items() if not is_remote(p)}
        times = {path: max(0.0, ns / 1e9) for path, ns in local.items()}
        for feed in self._feeds.values():
            parent = feed.file.path.parent
            if is_remote(parent):
                continue
            times[parent] = max(times.get(parent, 0.0), feed.modified)
        return sorted(times, key=lambda p: (p not in self._logdirs, -times[p]))
