"""The reader's thread: polls files when they are due, within a budget, and queues batches."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path

from rltui.core.batch import Batch
from rltui.sources.discovery.run_files import PRUNED, Discovery, SearchStoppedError
from rltui.sources.follow.feed import Feed, Feeds
from rltui.sources.follow.notifier import Notifier
from rltui.sources.follow.schedule import LogSearch, Schedule
from rltui.sources.follow.threaded_reader import BatchQueue
from rltui.sources.options import ReaderOptions

#: While much is to be read, the files that were read are polled each time this many bytes more
#: have been read; a file counts as _FILE_BYTES at least.
TURN_BYTES = 8 << 20
_FILE_BYTES = 1 << 16
#: A larger file is sampled before it is read.
_SAMPLED_BYTES = 32 << 20
#: A file that has been quiet for this long has ended, unless it grows after all.
_ENDED_S = 86_400.0
#: How long reading waits at most for the first paint of a sample. The first drain takes the
#: sample in, and the second one comes after the paint.
_SHOWN_S = 0.5
_SHOWN_DRAINS = 2


class WakeUps:
    """Collects changed files and new names that the system reported while the reader was reading
    or asleep, and wakes its thread. Thread-safe.

    Names that cannot concern a log of ours do not wake it, however busy they are.
    """

    def __init__(self, claims_name: Callable[[str], bool]) -> None:
        """``claims_name``: whether a file of this base name may be a log."""
        self._claims_name = claims_name
        self._feeds: Mapping[Path, Collection[Path]] = {}
        self._unclaimed: Collection[Path] = ()
        self._directories: Collection[Path] = ()
        self._lock = threading.Condition()
        self.changed: set[Path] = set()
        """Keys of the feeds that have something new and were not polled yet."""
        self.names_changed = False
        """Whether there may be new logs."""
        self.stopped = False
        """Whether the reader's thread is to end."""

    def expect(
        self,
        feeds: Mapping[Path, Collection[Path]],
        unclaimed: Collection[Path],
        directories: Collection[Path],
    ) -> None:
        """Set what may wake the reader: ``feeds`` (file -> keys of the feeds that read it), files
        that may become logs, and the directories that were searched."""
        with self._lock:
            self._feeds = feeds
            self._unclaimed = unclaimed
            self._directories = directories

    def notify(self, path: str, structural: bool = False, directory: bool = False) -> None:
        """A file was written, or (``structural``) a name appeared or vanished."""
        name = Path(path)
        with self._lock:
            if name in self._feeds:
                self.changed.update(self._feeds[name])
            elif self.names_changed or not self._concerns(name, structural, directory):
                return
            else:
                self.names_changed = True
            self._lock.notify_all()

    def _concerns(self, name: Path, structural: bool, directory: bool) -> bool:
        """Whether a name that was reported may be a log or hold some."""
        if name in self._unclaimed or (structural and name in self._directories):
            return True
        if not structural or name.parent not in self._directories:
            return False
        return not PRUNED.fullmatch(name.name) if directory else self._claims_name(name.name)

    def lost(self) -> None:
        """Treat all files as changed, because reports were lost."""
        with self._lock:
            self.changed.update(*self._feeds.values())
            self.names_changed = True
            self._lock.notify_all()

    def wait(self, timeout: float, *, names_changed: bool) -> set[Path]:
        """Keys of the changed feeds, once each. Raises SearchStoppedError when stopped.

        Returns early when anything is reported; ``names_changed`` is what the caller knows.
        """
        with self._lock:
            self._lock.wait_for(
                lambda: self.stopped or self.changed or self.names_changed != names_changed, timeout
            )
            if self.stopped:
                raise SearchStoppedError
            changed = self.changed
            self.changed = set()
            return changed

    def take_names_changed(self) -> bool:
        """Whether there may be new logs, since the last call."""
        with self._lock:
            changed = self.names_changed
            self.names_changed = False
            return changed

    def stop(self) -> None:
        """End :meth:`wait`."""
        with self._lock:
            self.stopped = True
            self._lock.notify_all()


class FollowLoop:
    """Polls files when they are due or the system reports a change; waits while the queue is full.

    Its methods raise SearchStoppedError when the reader is to end.
    """

    def __init__(
        self,
        feeds: Feeds,
        search: LogSearch,
        queue: BatchQueue,
        wake_ups: WakeUps,
        options: ReaderOptions,
        budget_bytes: int,
    ) -> None:
        self._feeds = feeds
        self._search = search
        self._queue = queue
        self._wake_ups = wake_ups
        self._clock = options.clock
        self._uses_inotify = options.watch.inotify
        self._budget = budget_bytes
        self._notifier = Notifier(wake_ups.notify, wake_ups.lost)
        self._schedule = Schedule(options.watch, self._notifier.reports_writes_to)
        self._backlog: deque[Feed] = deque()
        """Feeds that have not been read to their end, in the order in which they are read."""
        self._sampled = False
        self.listening = threading.Event()
        """Set when everything has been read once and changes are being followed."""
        self.watches = 0
        """Number of directories whose changes the system reports."""

    def adopt(self, found: Discovery) -> None:
        """Follow the files that a search found."""
        feeds = self._feeds
        if feeds.adopt(found):
            self._backlog = feeds.in_reading_order()

        self._wake_ups.expect(feeds.readers, frozenset(found.unclaimed), feeds.directories)
        now = self._clock.monotonic()
        for run in found.runs:
            # a training that goes on would write the newest of each format
            newest = {f.kind: f.key for f in sorted(run.files, key=lambda f: f.order)}.values()
            for file in run.files:
                quiet = max(0.0, self._clock.now() - file.modified)
                self._schedule.add(file.key, now, quiet, newest=file.key in newest)

    def run(self) -> None:
        """Read until stopped: first all there is, newest run first, then what is new."""
        try:
            self._backlog = self._feeds.in_reading_order()
            self._read_backlog()
            if self._uses_inotify:
                self._notifier.start(self._feeds.directories_by_change())
                self._rely_on_reports()
            while True:
                if not self._backlog:
                    self.listening.set()
                # wait until something is due
                now = self._clock.monotonic()
                names = self._wake_ups.names_changed
                due = min(self._schedule.next_due(now), self._search.pause(now, reported=names))
                self._step(self._wake_ups.wait(0 if self._backlog else due, names_changed=names))
        finally:
            self._notifier.stop()

    def _step(self, changed: Collection[Path]) -> None:
        """Do what is due, and go on with the backlog."""
        now = self._clock.monotonic()
        for path in changed:
            self._schedule.wake(path, now)

        if not self._search.pause(now, reported=self._wake_ups.names_changed):
            self._notifier.mounts.refresh()
            found = self._search.check(reported=self._wake_ups.take_names_changed())
            if found is not None:
                self._follow_found(found)

        for path in self._schedule.due(now):
            feed = self._feeds.by_key.get(path)
            if feed is None or feed.behind:
                continue
            feed.final = self._is_final(feed)
            if feed.still():
                self._schedule.polled(path, now, grew=False)
            else:
                self._poll(feed)
        self._read_backlog()

    def _follow_found(self, found: Discovery) -> None:
        self.adopt(found)
        self._notifier.update(self._feeds.directories_by_change())
        self._rely_on_reports()

    def _rely_on_reports(self) -> None:
        """Poll less where the system reports everything."""
        self.watches = len(self._notifier.watched)
        self._search.rely_on(self._notifier)

    def _poll(self, feed: Feed) -> None:
        """Read what is new in a source, if it is not too much."""
        batch = self._feeds.poll(feed, self._budget)
        rotated = False
        if batch is not None and batch.gone and feed.rotates:
            if not self._feeds.has_successor(feed) and self._search.may_walk():
                self._follow_found(self._search.walk())  # one may be newer than the last search
            rotated = self._feeds.has_successor(feed)
            batch = replace(batch, notes=()) if rotated else batch
        self._hand_over(feed, batch)

        if rotated:
            self._schedule.remove(feed.file.key)
        elif feed.behind:
            self._backlog.append(feed)
        else:
            grew = batch is not None and not batch.gone
            self._schedule.polled(feed.file.key, self._clock.monotonic(), grew=grew)

    def _read_backlog(self) -> None:
        """Go on for a while with what has not been read to its end."""
        spent = 0
        while self._backlog and spent < TURN_BYTES:
            feed = self._backlog[0]
            before = feed.offset
            again = feed.read_once
            if feed.size >= _SAMPLED_BYTES and not (before or again):
                sample = feed.sample()
                # the first one leaves the processor to the first paint, but never for long
                drains = 0 if self._sampled else _SHOWN_DRAINS
                self._sampled = self._sampled or sample is not None
                if sample is not None and not self._queue.put_and_wait(sample, drains, _SHOWN_S):
                    raise SearchStoppedError
            feed.final = self._is_final(feed)
            self._hand_over(feed, self._feeds.poll(feed, self._budget))
            spent += max(_FILE_BYTES, feed.offset - before)
            if not feed.behind:
                self._backlog.popleft()
                self._schedule.polled(feed.file.key, self._clock.monotonic(), grew=again)

    def _is_final(self, feed: Feed) -> bool:
        """Whether nothing more is expected of a file: then it may end without a newline."""
        return self._clock.now() - feed.modified > _ENDED_S

    def _hand_over(self, feed: Feed, batch: Batch | None) -> None:
        """Queue what was read, if anything."""
        if batch is not None and not self._queue.put(batch):
            raise SearchStoppedError
        self._feeds.handed_over(feed)  # not before: who sees the end expects to drain all of it
