"""The feeds of all runs that were found, and how much of them has been read."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rltui.core.address import is_remote
from rltui.core.batch import Batch, RunKey
from rltui.sources.discovery.run_files import Discovery, LogFile, RunFiles
from rltui.sources.follow.feed import Feed


class Feeds:
    """Owned by the reader. Feeds of files that vanished stay, so that their end is reported."""

    def __init__(
        self, open_feed: Callable[[RunFiles, LogFile], Feed], logdirs: Sequence[Path]
    ) -> None:
        self._open = open_feed
        self._logdirs = frozenset(logdirs)
        self._feeds: dict[Path, Feed] = {}
        """By key of the file (:attr:`LogFile.key`)."""
        self._readers: dict[Path, tuple[Path, ...]] = {}
        self._runs: dict[RunKey, RunFiles] = {}
        """As of the last search."""
        self._directories: dict[Path, int] = {}
        """Every directory that was searched, and its change time (ns)."""
        self._unread: dict[RunKey, int] = {}
        """Files of each run that have never been read to their end."""
        self._ended: frozenset[Path] = frozenset()
        self.progress = (0, 0)
        """(bytes read, bytes known) over all feeds, as of their last reads."""

    def __iter__(self) -> Iterator[Feed]:
        return iter(list(self._feeds.values()))

    @property
    def readers(self) -> Mapping[Path, tuple[Path, ...]]:
        """File -> keys of the feeds that read it."""
        return self._readers

    @property
    def directories(self) -> Mapping[Path, int]:
        """Directories that the last search looked into, and their change times (ns)."""
        return self._directories

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
        self._directories = dict(found.directories)
        self._runs = {run.key: run for run in found.runs}
        fresh = False
        for run in found.runs:
            for file in run.files:
                known = self._feeds.get(file.key)
                if known is not None:
                    known.file = file  # another log may have turned out to be of the same run
                else:
                    fresh = True
                    self._add(run, file)
        return fresh

    def _add(self, run: RunFiles, file: LogFile) -> None:
        feed = self._feeds[file.key] = self._open(run, file)
        for path in feed.paths:
            self._readers[path] = (*self._readers.get(path, ()), file.key)
        self._unread[run.key] = self._unread.get(run.key, 0) + 1
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
        local = {p: ns for p, ns in self._directories.items() if not is_remote(p)}
        times = {path: max(0.0, ns / 1e9) for path, ns in local.items()}
        for feed in self._feeds.values():
            parent = feed.file.path.parent
            if is_remote(parent):
                continue
            times[parent] = max(times.get(parent, 0.0), feed.modified)
        return sorted(times, key=lambda p: (p not in self._logdirs, -times[p]))


def newest_of_each_kind(run: RunFiles) -> frozenset[Path]:
    """Keys of the files that a training which goes on would write: the newest of each format."""
    newest = {f.kind: f.key for f in sorted(run.files, key=lambda f: f.order)}
    return frozenset(newest.values())
