"""Reads all runs below some logdirs: inline for one look, or in a thread for a live view (floor 2).

The thread wakes when a file is due (or inotify says so), reads it within a budget, decodes,
and puts a Batch on a bounded queue; a full queue blocks it, which is the back-pressure.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from rltui.core.batch import Batch, Note
from rltui.core.clock import Clock, SystemClock
from rltui.core.errors import SourceError
from rltui.core.level import Level
from rltui.sources.feed import Feed
from rltui.sources.formats import FORMATS, Format, Options
from rltui.sources.formats.base import STEP_KEYS
from rltui.sources.logdir import Discovery, Finder, LogFile, RunFiles
from rltui.sources.watch import Directories, Intervals, Notifier, Schedule, Watching

#: Bytes per read: whole steps are decoded in the second level cache, and a Batch of so many
#: bytes is applied within a frame.
BUDGET_BYTES = 2 << 20
#: Batches in the queue before the reader waits.
_QUEUE_BATCHES = 64
#: Every so many rescans the directories are walked even when no change time moved.
_FULL_RESCAN = 12
_STOP_TIMEOUT_S = 10.0


class Reader:
    """Owned by the session. ``drain``, ``wait``, ``stop`` are for the main thread."""

    def __init__(
        self,
        logdirs: Sequence[Path],
        *,
        clock: Clock | None = None,
        verify: bool = False,
        watch: Watching | None = None,
        run_glob: str | None = None,
        step_keys: Sequence[str] = STEP_KEYS,
        formats: Sequence[Format] = FORMATS,
        budget_bytes: int = BUDGET_BYTES,
        on_batch: Callable[[], None] | None = None,
    ) -> None:
        """``run_glob`` chooses runs by name; ``on_batch`` is called in the reader's thread
        whenever the queue was empty and is not any more (also an attribute)."""
        self.on_batch = on_batch
        self._logdirs = tuple(Path(p) for p in logdirs)
        self._clock = clock or SystemClock()
        self._watch: Watching = watch or Intervals()
        self._options = Options(verify, tuple(step_keys))
        self._finder = Finder(self._logdirs, formats, self._options)
        self._run_glob = run_glob
        self._budget = budget_bytes

        self._feeds: dict[Path, Feed] = {}
        self._schedule = Schedule(self._watch)
        self._directories = Directories()
        self._unclaimed: frozenset[Path] = frozenset()
        self._told: set[tuple[Path, str]] = set()
        self._notes: list[Note] = []

        self.listening = threading.Event()
        """Set when everything has been read once and changes are being followed."""
        self.notified = False
        """Whether the system wakes the reader, beside polling."""

        self._lock = threading.Condition()
        self._queue: deque[Batch] = deque()
        self._woken: set[Path] = set()
        self._stopping = False
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = None

    # -- one look ---------------------------------------------------------------------------

    def scan(self) -> tuple[RunFiles, ...]:
        """Look for runs. Raises SourceError for a path that is missing or no log."""
        found = self._finder.find()
        runs = tuple(r for r in found.runs if self._wanted(r))
        self._adopt(found, runs)
        return runs

    def read_all(self) -> Iterator[Batch]:
        """Every file to its end, newest run first, each file from oldest to newest."""
        self.scan()
        for feed in self._in_reading_order():
            while True:
                batch = feed.read(self._budget)
                if batch is not None:
                    yield batch
                if batch is None or not batch.more:
                    break

    def progress(self) -> tuple[int, int]:
        """(bytes read, bytes known) over all files."""
        feeds = list(self._feeds.values())
        return sum(f.tail.offset for f in feeds), sum(_size(f) for f in feeds)

    @property
    def notes(self) -> tuple[Note, ...]:
        """Trouble that concerns no file of a run: unreadable directories, vanished logdirs."""
        return tuple(self._notes)

    @property
    def woken(self) -> frozenset[Path]:
        """What the system told of and was not looked at yet."""
        return frozenset(self._woken)

    # -- thread -----------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to read in a thread. Raises SourceError for bad paths."""
        if self._thread is not None:
            return
        self.scan()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="rltui-reader", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread and wait for it; batches in the queue can still be drained."""
        with self._lock:
            self._stopping = True
            self._lock.notify_all()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join(_STOP_TIMEOUT_S)

    def drain(self, max_batches: int = _QUEUE_BATCHES) -> list[Batch]:
        """Batches that are there, oldest first. Raises what broke the thread, once."""
        with self._lock:
            count = min(max_batches, len(self._queue))
            batches = [self._queue.popleft() for _ in range(count)]
            error = None
            if not batches:
                error, self._error = self._error, None
            self._lock.notify_all()
        if error is not None:
            raise error
        return batches

    def wait(self, timeout: float) -> bool:
        """Wait until a batch (or an error) is there, at most ``timeout`` seconds."""
        with self._lock:
            return self._lock.wait_for(
                lambda: bool(self._queue) or self._error is not None, timeout
            )

    def wake(self, path: str, structural: bool = False) -> None:
        """A file was written, or (``structural``) a name appeared or vanished; any thread.

        Files that are no logs of ours do not wake the reader, however busy they are.
        """
        name = Path(path)
        if structural or name in self._feeds or name in self._unclaimed:
            with self._lock:
                self._woken.add(name)
                self._lock.notify_all()

    def _run(self) -> None:
        notifier = Notifier(self.wake)
        try:
            for feed in self._in_reading_order():
                if not self._exhaust(feed):
                    return
            if self._watch.inotify:
                self.notified = notifier.start(
                    [p if p.is_dir() else p.parent for p in self._logdirs]
                )
            self.listening.set()
            self._follow()
        except BaseException as error:  # noqa: BLE001 - raised on the main thread at the next drain
            with self._lock:
                self._error = error
                self._lock.notify_all()
            if self.on_batch is not None:
                self.on_batch()
        finally:
            notifier.stop()

    def _follow(self) -> None:
        """The loop of the thread: look at what is due until told to stop."""
        rescans, asked = 0, False
        last_rescan = self._clock.monotonic()
        while True:
            now = self._clock.monotonic()
            # names that change all the time (checkpoints) must not keep the reader busy
            gap = self._watch.fast_s if asked else self._watch.rescan_s
            pause = min(self._schedule.next_due(now), max(0.0, last_rescan + gap - now))
            with self._lock:
                self._lock.wait_for(lambda: self._stopping or bool(self._woken), pause)
                if self._stopping:
                    return
                woken, self._woken = self._woken, set()
            now = self._clock.monotonic()
            for path in woken:
                asked |= not self._schedule.wake(path, now)
            gap = min(self._watch.fast_s, self._watch.rescan_s) if asked else self._watch.rescan_s
            if now >= last_rescan + gap:
                last_rescan, rescans = now, rescans + 1
                if asked or self._directories.changed() or rescans % _FULL_RESCAN == 0:
                    self._rescan()
                asked = False
            for path in self._schedule.due(now):
                if path in self._feeds and not self._exhaust(self._feeds[path]):
                    return

    def _rescan(self) -> None:
        try:
            self.scan()
        except SourceError as error:
            self._tell(Note(self._logdirs[0], None, Level.WATCH, str(error)))

    def _exhaust(self, feed: Feed) -> bool:
        """Read a file to its end; False when told to stop."""
        grew, fresh = False, feed.fresh
        while True:
            batch = feed.read(self._budget)
            if batch is not None:
                grew |= not fresh and not batch.gone
                if not self._put(batch):
                    return False
            if batch is None or not batch.more:
                break
        self._schedule.looked(feed.file.path, self._clock.monotonic(), grew=grew)
        return True

    def _put(self, batch: Batch) -> bool:
        """Queue a batch, waiting for room; False when told to stop."""
        with self._lock:
            self._lock.wait_for(lambda: self._stopping or len(self._queue) < _QUEUE_BATCHES)
            if self._stopping:
                return False
            first = not self._queue
            self._queue.append(batch)
            self._lock.notify_all()
        if first and self.on_batch is not None:
            self.on_batch()
        return True

    # -- files ------------------------------------------------------------------------------

    def _wanted(self, run: RunFiles) -> bool:
        return self._run_glob is None or fnmatchcase(run.key.name, self._run_glob)

    def _adopt(self, found: Discovery, runs: Sequence[RunFiles]) -> None:
        """Take new files in; those that vanished stay, so that their end is told."""
        for note in found.notes:
            self._tell(note)
        self._directories.set(found.directories, found.unclaimed)
        self._unclaimed = frozenset(found.unclaimed)
        now = self._clock.monotonic()
        for run in runs:
            newest = max(run.files, key=lambda f: f.order).path
            for file in run.files:
                known = self._feeds.get(file.path)
                if known is None:
                    self._feeds[file.path] = Feed(run, file, self._options)
                quiet = max(0.0, self._clock.now() - _modified(file))
                self._schedule.add(file.path, now, quiet, newest=file.path == newest)

    def _in_reading_order(self) -> list[Feed]:
        """Feeds of the run that changed last first; within a run the oldest file first."""
        newest: dict[object, float] = {}
        for feed in self._feeds.values():
            key = feed.run.key
            newest[key] = max(newest.get(key, 0.0), _modified(feed.file))
        return sorted(
            self._feeds.values(),
            key=lambda f: (-newest[f.run.key], f.run.key, f.file.order),
        )

    def _tell(self, note: Note) -> None:
        """Keep a note that belongs to no file of a run, once."""
        if (note.path, note.message) not in self._told:
            self._told.add((note.path, note.message))
            self._notes.append(note)


def _modified(file: LogFile) -> float:
    try:
        return file.path.stat().st_mtime
    except OSError:
        return 0.0


def _size(feed: Feed) -> int:
    if feed.tail.size:
        return feed.tail.size
    try:
        return feed.file.path.stat().st_size
    except OSError:
        return 0
