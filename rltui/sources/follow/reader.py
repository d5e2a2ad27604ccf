"""Reads all runs below some logdirs: inline for one look, or in a thread for a live view.

The thread wakes when a file is due (or inotify says so), reads it within a budget, decodes,
and puts a Batch on a bounded queue; a full queue blocks it, which is the back-pressure.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

from rltui.core.batch import Batch, Note, RunKey, SourceInfo
from rltui.core.clock import Clock, SystemClock
from rltui.core.level import Level
from rltui.core.stdin import PIPE
from rltui.files.filesystem import Mounts
from rltui.formats import FORMATS, Format, Options
from rltui.formats.base import STEP_KEYS
from rltui.sources.discovery.logdir import VANISHED, Finder
from rltui.sources.discovery.run_files import Discovery, LogFile, RunFiles
from rltui.sources.discovery.walk import in_checkpoint, pruned
from rltui.sources.follow.file_feed import Feed
from rltui.sources.follow.reread import read_again, rereadable
from rltui.sources.follow.schedule import Directories, Intervals, Notifier, Pace, Schedule, Watching
from rltui.sources.follow.stdin_feed import PipeFeed, Pump
from rltui.sources.follow.tracker_feed import TrackedFeed

#: Bytes per read: whole steps are decoded in the second level cache, and a Batch of so many
#: bytes is applied within a frame.
BUDGET_BYTES = 3 << 19
#: Batches in the queue before the reader waits.
_QUEUE_BATCHES = 64
#: Every so many rescans the directories are walked even when no change time moved.
_FULL_RESCAN = 12
_STOP_TIMEOUT_S = 10.0
#: While much is to be read, the files that were read are looked at after so many bytes; a file
#: counts as at least so many.
_TURN_BYTES = 8 << 20
_FILE_BYTES = 1 << 16
#: What the first paint of a sample may take at most.
_SHOWN_S = 0.5
#: A larger file is sampled before it is read.
_SAMPLED_BYTES = 32 << 20
AnyFeed = Feed | TrackedFeed | PipeFeed

#: A scan that is younger need not be repeated to begin reading.
_FRESH_S = 5.0


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
        pipe: int = 0,
    ) -> None:
        """``run_glob`` chooses runs by name; ``on_batch`` is called in the reader's thread
        whenever the queue was empty and is not any more (also an attribute); ``pipe`` is the
        file descriptor that the logdir ``-`` means."""
        self.on_batch = on_batch
        self._logdirs = tuple(Path(p) for p in logdirs)
        self._clock = clock or SystemClock()
        self._watch: Watching = watch or Intervals()
        self._options = Options(verify, tuple(step_keys))
        self._finder = Finder(self._logdirs, formats, self._options)
        self._run_glob = run_glob
        self._pipe = pipe
        self._budget = budget_bytes

        self._feeds: dict[Path, AnyFeed] = {}
        """By key of the file (:attr:`LogFile.key`)."""
        self._parts: dict[Path, tuple[Path, ...]] = {}
        """File that the system may tell of -> keys of the feeds that read it."""
        self._mounts = Mounts()
        self._schedule = Schedule(self._watch, self._mounts.tells)
        self._directories = Directories()
        self._unclaimed: frozenset[Path] = frozenset()
        self._known: dict[Path, int] = {}
        """Every directory that was looked into."""
        self._backlog: deque[AnyFeed] = deque()
        self._unread: dict[RunKey, int] = {}
        """Files of each run that have never been read to their end."""
        self._progress = (0, 0)
        self._notes: tuple[Note, ...] = ()
        self._refused: tuple[Note, ...] = ()
        self._ended: frozenset[Path] = frozenset()
        """Pipes that were closed and whose last batch has been handed over."""
        self._scanned: float | None = None
        """When the caller scanned; None when that has been made use of."""
        self._pace = Pace(self._watch)
        self._runs: dict[RunKey, RunFiles] = {}
        """As of the last look."""
        self.walks = self.watches = 0
        """How often the directories were walked, and how many of them the system tells of."""

        self.listening = threading.Event()
        """Set when everything has been read once and changes are being followed."""
        self.notified = False
        """Whether the system wakes the reader, beside polling."""

        self._lock = threading.Condition()
        self._queue: deque[Batch] = deque()
        self._woken: set[Path] = set()
        self._asked = False
        """Whether the system told of a new name: a look for new files is wanted."""
        self._formats = tuple(formats)
        self._stopping = False
        self._error: BaseException | None = None
        self._drains = 0
        self._shown = False
        self._thread: threading.Thread | None = None

    # -- one look ---------------------------------------------------------------------------

    def scan(self) -> tuple[RunFiles, ...]:
        """Look for runs. Raises SourceError for a path that is missing or no log.

        What it finds is used by a :meth:`start` or :meth:`read_all` that follows soon.
        """
        runs = self._scan()
        self._scanned = self._clock.monotonic()
        return runs

    def _scan(self) -> tuple[RunFiles, ...]:
        found = self._finder.find()
        self.walks += 1
        runs = tuple(r for r in found.runs if self._wanted(r))
        self._adopt(found, runs)
        return runs

    def _scan_unless_fresh(self) -> None:
        scanned, self._scanned = self._scanned, None
        if scanned is None or self._clock.monotonic() - scanned > _FRESH_S:
            self._scan()

    def read_all(self) -> Iterator[Batch]:
        """Every file to its end, newest run first, each file from oldest to newest."""
        self._scan_unless_fresh()
        for feed in self._in_reading_order(everything=True):
            if isinstance(feed, PipeFeed):
                feed.wait = True
            while True:
                batch = self._poll(feed)
                if batch is not None:
                    yield batch
                if batch is None or not batch.more:
                    break

    @property
    def ended(self) -> bool:
        """Whether nothing can come any more: all that is followed are pipes that were closed."""
        return bool(self._feeds) and self._ended >= self._feeds.keys()

    def read_again(
        self, key: RunKey, sources: Mapping[Path, SourceInfo], generations: Iterable[int]
    ) -> Iterator[Batch] | None:
        """What was read of a run, once more, up to what ``sources`` say; in the caller's thread.

        None when its files do not hold all of that any more, see
        :mod:`rltui.sources.follow.reread`.
        """
        known = {f.file.path: f.file for f in list(self._feeds.values())}
        files = [known[path] for path in sources if path in known]
        if len(files) < len(sources) or any(f.format is None for f in files):
            return None
        if not rereadable(sources.values(), generations):
            return None
        run = RunFiles(key, files[0].path.parent, tuple(files))
        return read_again(run, sources, self._options, self._budget)

    def progress(self) -> tuple[int, int]:
        """(bytes read, bytes known) over all files, as of the last looks; asks no file."""
        return self._progress

    @property
    def notes(self) -> tuple[Note, ...]:
        """Trouble that concerns no file of a run: unreadable directories, vanished logdirs.

        One note for each path, the newest: level OK when it is over.
        """
        return self._notes

    @property
    def unclaimed(self) -> tuple[Note, ...]:
        """Files that look like logs and are not read, with the reason; the first few, then
        one note with the count of the others. As of the last look at the directories."""
        return self._refused

    @property
    def woken(self) -> frozenset[Path]:
        """Files that the system told of and that were not looked at yet."""
        return frozenset(self._woken)

    # -- thread -----------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to read in a thread. Raises SourceError for bad paths."""
        if self._thread is not None:
            return
        self._scan_unless_fresh()
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
            self._drains += 1
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

    def wake(self, path: str, structural: bool = False, directory: bool = False) -> None:
        """A file was written, or (``structural``) a name appeared or vanished; any thread.

        Names that cannot concern a log of ours do not wake the reader, however busy they are.
        """
        name = Path(path)
        with self._lock:
            if name in self._parts:
                self._woken.update(self._parts[name])
            elif name in self._unclaimed or (structural and self._concerns(name, directory)):
                if self._asked:
                    return
                self._asked = True
            else:
                return
            self._lock.notify_all()

    def _concerns(self, name: Path, directory: bool) -> bool:
        """Whether a name that appeared or vanished may be a log or hold some."""
        if name in self._known:
            return True
        if name.parent not in self._known:
            return False
        if directory:
            return not pruned(name.name)
        return any(f.claims_name(name.name) for f in self._formats)

    def _run(self) -> None:
        notifier = Notifier(self.wake)
        try:
            self._follow(notifier)
        except BaseException as error:  # noqa: BLE001 - raised on the main thread at the next drain
            with self._lock:
                self._error = error
                self._lock.notify_all()
            if self.on_batch is not None:
                self.on_batch()
        finally:
            notifier.stop()

    def _follow(self, notifier: Notifier) -> None:
        """The loop of the thread, until told to stop: a turn of first reading, newest run
        first, then a look at what is due among the files that were read."""
        rescans, last_rescan, begun = 0, self._clock.monotonic(), False
        self._backlog = self._in_reading_order()
        while True:
            if not self._advance():
                return
            if not begun:
                begun = True
                if self._watch.inotify:
                    self.notified = notifier.start(self._telling())
                    self.watches = len(notifier.watched)
            if not self._backlog:
                self.listening.set()
            now = self._clock.monotonic()
            asked = self._asked
            rescan = last_rescan + self._pace.gap(asked=asked)
            pause = min(self._schedule.next_due(now), max(0.0, rescan - now))
            with self._lock:
                self._lock.wait_for(
                    lambda: (
                        self._stopping or self._woken or self._asked != asked  # noqa: B023
                    ),
                    0 if self._backlog else pause,
                )
                if self._stopping:
                    return
                woken, self._woken = self._woken, set()
            now = self._clock.monotonic()
            for path in woken:
                self._schedule.wake(path, now)
            if now >= last_rescan + self._pace.gap(asked=self._asked):
                with self._lock:
                    asked, self._asked = self._asked, False
                last_rescan, rescans = now, rescans + 1
                self._mounts.refresh()
                if asked or self._changed() or rescans % _FULL_RESCAN == 0:
                    self._rescan()
                    notifier.update(self._telling())
                    self.watches = len(notifier.watched)
            if not self._look_at_due(now):
                return

    def _look_at_due(self, now: float) -> bool:
        """Look at the files whose time has come; False when told to stop."""
        for path in self._schedule.due(now):
            feed = self._feeds.get(path)
            if feed is None or feed.behind:
                continue
            if isinstance(feed, Feed) and feed.still():
                self._schedule.looked(path, now, grew=False)
            elif not self._look(feed):
                return False
        return True

    def _changed(self) -> bool:
        """Whether to look for new files."""
        begun = self._clock.monotonic()
        directories, stores = self._directories.changed(), self._finder.stores_changed()
        self._pace.asked(begun, self._clock.monotonic())
        return directories or stores

    def _rescan(self) -> None:
        begun = self._clock.monotonic()
        self._scan()
        self._pace.walked(begun, self._clock.monotonic())

    def _advance(self) -> bool:
        """Go on with files that were not read to their end; False when told to stop."""
        spent = 0
        while self._backlog and spent < _TURN_BYTES:
            feed = self._backlog[0]
            before, again = feed.offset, feed.read_once
            if not self._put_sample(feed):
                return False
            batch = self._poll(feed)
            if batch is not None and not self._put(batch):
                return False
            self._note_end(feed)
            spent += max(_FILE_BYTES, feed.offset - before)
            if not feed.behind:
                self._backlog.popleft()
                self._schedule.looked(feed.file.key, self._clock.monotonic(), grew=again)
        return True

    def _put_sample(self, feed: AnyFeed) -> bool:
        """Hand a sample of a large file over, before it is read; False when told to stop."""
        if feed.offset or feed.read_once or feed.size < _SAMPLED_BYTES:
            return True
        sample = feed.overview()
        if sample is None:
            return True
        looks = self._drains + 2
        if not self._put(sample):
            return False
        self._let_it_show(looks)
        return True

    def _let_it_show(self, looks: int) -> None:
        """Leave the processor to the first paint: until the first sample has been taken in and
        shown, which is when the queue is looked at again, but never for long."""
        if self._shown:
            return
        self._shown = True
        with self._lock:
            self._lock.wait_for(lambda: self._stopping or self._drains >= looks, _SHOWN_S)

    def _look(self, feed: AnyFeed) -> bool:
        """Read what is new in a file, if it is not too much; False when told to stop."""
        batch = self._poll(feed)
        rotated = batch is not None and batch.gone and self._is_superseded(feed)
        if batch is not None and not self._put(replace(batch, notes=()) if rotated else batch):
            return False
        self._note_end(feed)
        if rotated:
            self._schedule.remove(feed.file.key)
        elif feed.behind:
            self._backlog.append(feed)
        else:
            grew = batch is not None and not batch.gone
            self._schedule.looked(feed.file.key, self._clock.monotonic(), grew=grew)
        return True

    def _is_superseded(self, feed: AnyFeed) -> bool:
        """Whether a later checkpoint has taken the place of a file that vanished, and holds all
        that it held (``save_total_limit`` of the HF Trainer)."""
        form = feed.file.format
        if form is None or not form.document or not in_checkpoint(feed.file.path):
            return False
        if not self._has_successor(feed) and self._pace.may_walk(self._clock.monotonic()):
            self._rescan()  # it may have been written since the last look
            self._asked = True  # the system is to tell of what was found
        return self._has_successor(feed)

    def _has_successor(self, feed: AnyFeed) -> bool:
        run = self._runs.get(feed.run.key)
        alike = [f.key for f in run.files if f.kind == feed.file.kind] if run else []
        return bool(alike) and feed.file.key not in alike

    def _note_end(self, feed: AnyFeed) -> None:
        """Note a pipe whose last batch is in the queue."""
        if isinstance(feed, PipeFeed) and feed.ended:
            self._ended = self._ended | {feed.file.key}

    def _poll(self, feed: AnyFeed) -> Batch | None:
        """One budgeted read, counted."""
        size, offset, again = feed.size, feed.offset, feed.read_once
        batch = feed.read(self._budget)
        read, known = self._progress
        self._progress = (read + feed.offset - offset, known + feed.size - size)
        key = feed.run.key
        if feed.read_once and not again:
            self._unread[key] -= 1
        waiting = self._unread[key] - (not feed.read_once)
        return replace(batch, waiting=waiting) if batch is not None and waiting else batch

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
        return self._run_glob is None or fnmatchcase(run.key.name.rstrip("/"), self._run_glob)

    def _adopt(self, found: Discovery, runs: Sequence[RunFiles]) -> None:
        """Take new files in; those that vanished stay, so that their end is told."""
        self._tell(found)
        self._directories.set(found.directories, found.unclaimed)
        self._known = dict(found.directories)
        self._runs = {r.key: r for r in runs}
        self._unclaimed = frozenset(found.unclaimed)
        now, fresh = self._clock.monotonic(), False
        for run in runs:
            newest = _newest_of_each_kind(run)
            for file in run.files:
                known = self._feeds.get(file.key)
                if known is not None:
                    known.file = file  # another log may have turned out to be of the same run
                else:
                    fresh = True
                    feed = self._feeds[file.key] = self._feed(run, file)
                    self._unread[run.key] = self._unread.get(run.key, 0) + 1
                    read, total = self._progress
                    self._progress = (read, total + feed.size)
                quiet = max(0.0, self._clock.now() - file.modified)
                self._schedule.add(file.key, now, quiet, newest=file.key in newest)
        if fresh:
            self._backlog = self._in_reading_order()

    def _feed(self, run: RunFiles, file: LogFile) -> AnyFeed:
        if file.path == PIPE:
            self._parts[PIPE] = (PIPE,)
            pump = Pump(self._pipe, lambda: self.wake(str(PIPE)))
            return PipeFeed(run, file, self._options, self._formats, pump, self._clock)
        names = [file.path]
        if file.tracker is not None:  # a database in WAL mode is written beside itself
            names.append(file.path.with_name(file.path.name + "-wal"))
        for name in names:
            self._parts[name] = (*self._parts.get(name, ()), file.key)
        return Feed(run, file, self._options) if file.tracker is None else TrackedFeed(run, file)

    def _in_reading_order(self, *, everything: bool = False) -> deque[AnyFeed]:
        """Feeds that were not read to their end (or all): of the run that changed last first,
        within a run the oldest file first."""
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

    def _telling(self) -> list[Path]:
        """Directories that the system should tell of, most important first: the logdirs, then
        the ones where something was written last."""
        times = {path: max(0.0, ns / 1e9) for path, ns in self._known.items()}
        for feed in self._feeds.values():
            parent = feed.file.path.parent
            times[parent] = max(times.get(parent, 0.0), feed.modified)
        logdirs = frozenset(self._logdirs)
        return sorted(times, key=lambda p: (p not in logdirs, -times[p]))

    def _tell(self, found: Discovery) -> None:
        """Keep the newest note of each path that belongs to no file of a run."""
        notes = {n.path: n for n in self._notes}
        troubled = {n.path: n for n in found.notes}
        looked = {path for path, _ in found.directories}
        for path, note in list(notes.items()):
            if path in troubled or note.level is Level.OK:
                continue
            if path in looked:
                was = "is back" if note.message == VANISHED else "can be read again"
                notes[path] = Note(path, None, Level.OK, was)
            else:
                del notes[path]
        notes.update(troubled)
        self._notes = tuple(notes.values())
        refused = list(found.refused)
        more = found.refused_count - len(refused)
        if more > 0:
            files = "file is" if more == 1 else "files are"
            refused.append(Note(self._logdirs[0], None, Level.OK, f"{more} more {files} not read"))
        self._refused = tuple(refused)


def _newest_of_each_kind(run: RunFiles) -> frozenset[Path]:
    """The files that a training that goes on would write: the newest of each log format."""
    newest = {f.kind: f.key for f in sorted(run.files, key=lambda f: f.order)}
    return frozenset(newest.values())
