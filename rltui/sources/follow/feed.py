"""Feeds: each reads one source of a run, a file, a run of a tracker's store, or a pipe."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from rltui.core.address import is_remote
from rltui.core.batch import NO_CLOCK, NO_LANES, Batch, Note, RunKey, SourceInfo
from rltui.core.level import Level
from rltui.files.trouble import Notes, contained, reason_of
from rltui.formats.base import Decoded, DecoderNote, Format
from rltui.sources.discovery.run_files import Discovery, LogFile, RunFiles
from rltui.sources.follow.row_numbers import RowNumbers
from rltui.trackers import Tracker


class Feed(ABC):
    """Reads one source, and knows how far. Owned by the reader; not thread-safe.

    ``offset``, ``size`` (bytes; rows as bytes, roughly, of a store) and ``modified`` (seconds since
    the epoch) are those of the last read, before the first one those of the search.
    """

    def __init__(self, run: RunFiles, file: LogFile, owner: Format | Tracker | None) -> None:
        """``owner``: the format or tracker that reads the source; None while that is not known."""
        self.run = run
        self.file = file
        self.owner = owner
        self.paths: tuple[Path, ...] = (file.path,)
        """Files whose changes mean that there is something to read."""
        self.rotates = False
        """Whether a newer file of the run takes the place of this one and holds all of it."""
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
        self._numbers = RowNumbers()
        self._begun = False
        self._more = False
        self._records = 0
        self._steps_are_row_numbers = False
        self._guessed: frozenset[str] = frozenset()
        self._lanes = NO_LANES
        self._log_clock = NO_CLOCK

    @property
    def behind(self) -> bool:
        """Whether it holds more than what was read, as of the last read."""
        return not self._begun or self._more

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

    def _advance(self, *, more: bool) -> None:
        """Note that a read has succeeded; ``more``: it has not come to the end."""
        self._begun = True
        self._more = more
        self.read_once = self.read_once or not more

    def _contained(self, decode: Callable[[], Decoded], position: int) -> Decoded:
        """Result of ``decode`` for the bytes at ``position``; if it fails, a note, and nothing from
        then on."""
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
        self._lanes = self._lanes.joined(decoded.lanes)
        self._log_clock = self._log_clock if decoded.clock == NO_CLOCK else decoded.clock

    def _batch(self, decoded: Decoded, notes: Notes = ()) -> Batch:
        """The batch of what was decoded; ``notes`` concern the source as a whole."""
        owner = self.owner
        file = self.file
        source = SourceInfo(
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
            self._lanes,
            self._log_clock,
        )
        found = [Note(file.path, None, level, message) for level, message in notes]
        found += [Note(file.path, *note) for note in decoded.notes]

        return Batch(
            self.run.key,
            self.run.path,
            source,
            decoded.items,
            decoded.texts,
            decoded.hparams,
            tuple(found),
            more=self._more,
            tail=decoded.tail,
            exit_code=decoded.exit_code,
            media=decoded.media,
        )


class TrackerFeed(Feed):
    """Follows a run that a tracker keeps.

    ``known``: the newest batch that another reader has handed over. All rows come again then and
    replace those.
    """

    def __init__(self, run: RunFiles, file: LogFile, known: Batch | None = None) -> None:
        assert file.tracker is not None
        super().__init__(run, file, file.tracker)
        path = file.path
        # a database in WAL mode is written beside itself
        self.paths = (path, path.with_name(f"{path.name}-wal"))
        self._follower = file.tracker.follow(path, file.part)
        self._generation = 0 if known is None else known.generation
        self._replacing = known is not None

    def read(self, budget_bytes: int) -> Batch | None:
        """Read the rows that are new."""
        follower = self._follower
        followed = follower.poll(budget_bytes)
        if not followed.changed and self._begun and followed.more == self._more:
            return None
        if followed.restarted:
            self._generation += 1
            self._records, self._numbers = 0, RowNumbers()

        self._advance(more=followed.more)
        decoded = self._numbers.of(followed.decoded)
        self._count(decoded)
        self.offset = follower.offset
        self.size = follower.size
        self.modified = follower.modified or self.modified
        replacing = decoded.replaces or (self._replacing and bool(decoded.items))
        self._replacing = self._replacing and not replacing

        return replace(
            self._batch(decoded, followed.notes),
            generation=self._generation,
            gone=followed.gone,
            replaced=followed.restarted or replacing,
        )


class Feeds:
    """All feeds by the keys of their files. Those of files that vanished stay, so that their end
    is reported. Owned by the reader."""

    def __init__(
        self, open_feed: Callable[[RunFiles, LogFile], Feed], logdirs: Sequence[Path]
    ) -> None:
        self._open = open_feed
        self._logdirs = frozenset(logdirs)
        self.by_key: dict[Path, Feed] = {}
        """By :attr:`LogFile.key`."""
        self.readers: dict[Path, tuple[Path, ...]] = {}
        """File -> keys of the feeds that read it."""
        self._runs: dict[RunKey, RunFiles] = {}
        """Runs by the last search."""
        self.directories: dict[Path, int] = {}
        """Directories that the last search looked into, and their change times (ns)."""
        self._unread: dict[RunKey, int] = {}
        """Files of each run that have never been read to their end."""
        self._ended: frozenset[Path] = frozenset()
        self.progress = (0, 0)
        """(bytes read, bytes known) over all feeds, as of their last reads."""

    def __iter__(self) -> Iterator[Feed]:
        return iter(list(self.by_key.values()))

    @property
    def ended(self) -> bool:
        """Whether the last batch of each of them has been handed over."""
        return bool(self.by_key) and self._ended >= self.by_key.keys()

    def handed_over(self, feed: Feed) -> None:
        """Note that all batches of a feed so far have been handed over."""
        if feed.ended:
            self._ended |= {feed.file.key}

    def adopt(self, found: Discovery) -> bool:
        """Take in what a search found; returns whether there are new feeds."""
        self.directories = dict(found.directories)
        self._runs = {run.key: run for run in found.runs}
        before = len(self.by_key)
        for run in found.runs:
            for file in run.files:
                if file.key in self.by_key:
                    # another log may have turned out to be of the same run
                    self.by_key[file.key].file = file
                    continue

                feed = self.by_key[file.key] = self._open(run, file)
                for path in feed.paths:
                    self.readers[path] = (*self.readers.get(path, ()), file.key)
                self._unread[run.key] = self._unread.get(run.key, 0) + 1
                self.progress = self.progress[0], self.progress[1] + feed.size

        return len(self.by_key) > before

    def poll(self, feed: Feed, budget_bytes: int) -> Batch | None:
        """One budgeted read, counted."""
        size = feed.size
        offset = feed.offset
        again = feed.read_once
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
        for feed in self.by_key.values():
            key = feed.run.key
            newest[key] = max(newest.get(key, 0.0), feed.modified)
        chosen = (f for f in self.by_key.values() if everything or f.behind)
        return deque(sorted(chosen, key=lambda f: (-newest[f.run.key], f.run.key, f.file.order)))

    def has_successor(self, feed: Feed) -> bool:
        """Whether the last search found other files of the run and format, but not this one."""
        run = self._runs.get(feed.run.key)
        alike = [f.key for f in run.files if f.kind == feed.file.kind] if run else []
        return bool(alike) and feed.file.key not in alike

    def directories_by_change(self) -> list[Path]:
        """The logdirs, then the directories where something was written last; those here."""
        changes = [(path, ns / 1e9) for path, ns in self.directories.items()]
        changes += [(feed.file.path.parent, feed.modified) for feed in self.by_key.values()]
        times: dict[Path, float] = {}
        for path, changed in changes:
            if not is_remote(path):
                times[path] = max(0.0, changed, times.get(path, 0.0))
        return sorted(times, key=lambda p: (p not in self._logdirs, -times[p]))
