"""Reads all runs below some logdirs: inline once, or in a thread for a live view."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from rltui.core.address import PIPE
from rltui.core.batch import Batch, RunKey, Sources
from rltui.core.level import Level
from rltui.files.disk import connect, trouble
from rltui.formats import ALL_FORMATS
from rltui.formats.base import Format, Options
from rltui.sources.discovery.logdir import RunFinder
from rltui.sources.discovery.run_files import Discovery, LogFile, RunFiles, SearchStoppedError
from rltui.sources.follow.feed import Feed, Feeds, TrackerFeed
from rltui.sources.follow.file_feed import FileFeed, read_again, rereadable
from rltui.sources.follow.loop import FollowLoop, WakeUps
from rltui.sources.follow.resume import HandedOver
from rltui.sources.follow.schedule import LogSearch
from rltui.sources.follow.threaded_reader import BatchQueue, ReaderState, ThreadedReader
from rltui.sources.options import ReaderOptions

#: Bytes per read: whole steps are decoded in the second level cache, and a Batch of this many
#: bytes is applied within a frame.
BUDGET_BYTES = 3 << 19
#: Reading begins without another search when the last one is younger.
_FRESH_S = 5.0


class Reader(ThreadedReader):
    """Owned by the session. All methods are for the main thread."""

    def __init__(
        self,
        logdirs: Sequence[Path],
        options: ReaderOptions | None = None,
        *,
        formats: Sequence[Format] = ALL_FORMATS,
        budget_bytes: int = BUDGET_BYTES,
        on_batch: Callable[[], None] | None = None,
        handed_over: HandedOver | None = None,
    ) -> None:
        """``handed_over``: by a reader in another process, from where this one goes on. With it,
        even empty, batches have checksums.

        Raises UsageError when a logdir is elsewhere and what that needs is not installed."""
        self._logdirs = logdirs = tuple(logdirs)
        self._options = options = options or ReaderOptions()
        keys = options.step_keys
        self._decoding = Options(options.verify, tuple(keys)) if keys else Options(options.verify)
        self._formats = tuple(formats)
        self._budget = budget_bytes
        connect(logdirs, options.clock, options.watch.remote_s)
        self._wake_ups = WakeUps(lambda name: any(f.claims_name(name) for f in formats))
        finder = RunFinder(
            *(logdirs, formats, self._decoding),
            ends=options.ends,
            waits=options.waits,
            partial=options.partial,
            absent=options.absent,
            stopped=lambda: self._wake_ups.stopped,
        )
        self._handed_over = handed_over
        for run, files in (handed_over or HandedOver()).by_run():
            finder.recall(run, files[0].run_path, [f.source for f in files])

        self.search = LogSearch(finder, logdirs, options)
        self._feeds = Feeds(self._open, logdirs)
        super().__init__(BatchQueue(on_batch), "rltui-reader")
        self.loop = FollowLoop(
            *(self._feeds, self.search, self._queue, self._wake_ups), options, budget_bytes
        )
        self._scanned: float | None = None
        """When the caller searched; None once that was made use of."""

    def _open(self, run: RunFiles, file: LogFile) -> Feed:
        if file.path == PIPE:
            # few read a pipe, and the first paint waits for all that is imported
            from rltui.sources.follow.stdin_feed import PipeReader, StdinFeed

            own = self._options
            pipe = PipeReader(own.pipe, lambda: self._wake_ups.notify(str(PIPE)))
            return StdinFeed(run, file, self._decoding, self._formats, pipe, own.clock, own.ends)

        if self._handed_over is not None:
            return self._handed_over.feed(run, file, self._decoding)
        return TrackerFeed(run, file) if file.tracker else FileFeed(run, file, self._decoding)

    # -- once ---------------------------------------------------------------------------------

    def scan(self) -> tuple[RunFiles, ...]:
        """Search for runs. Raises SourceError for a path that is missing or no log.

        A :meth:`start` or :meth:`read_all` that follows soon makes use of it.
        """
        found = self.search.walk()
        self.loop.adopt(found)
        self._scanned = self._options.clock.monotonic()
        return found.runs

    def adopt(self, runs: Sequence[RunFiles]) -> None:
        """Read these runs, which another reader of the same logdirs found, instead of searching
        once."""
        self.loop.adopt(Discovery(tuple(runs)))
        self._scanned = math.inf

    def _scan_unless_fresh(self) -> None:
        if self._scanned is None or self._options.clock.monotonic() - self._scanned > _FRESH_S:
            self.scan()
        self._scanned = None

    def read_all(self) -> Iterator[Batch]:
        """Read every source to its end: newest run first, its files from oldest to newest."""
        self._scan_unless_fresh()
        for feed in self._feeds.in_reading_order(everything=True):
            feed.wait = feed.final = True
            while (batch := self._feeds.poll(feed, self._budget)) is not None:
                yield batch
                if not batch.more:
                    break

    def read_again(
        self,
        key: RunKey,
        sources: Sources,
        generations: Iterable[int],
        finished: Collection[Path] = (),
    ) -> Iterator[Batch] | None:
        known = {feed.file.path: feed.file for feed in self._feeds}
        files = [known[path] for path in sources if path in known]
        if not files or len(files) < len(sources) or any(f.format is None for f in files):
            return None
        if not rereadable(sources.values(), generations):
            return None

        run = RunFiles(key, files[0].path.parent, tuple(files))
        finished = {*finished, *(f.file.path for f in self._feeds if f.finished)}
        return read_again(run, sources, self._decoding, self._budget, finished)

    # -- live ---------------------------------------------------------------------------------

    def _prepare(self) -> None:
        self._wake_ups.stopped = False
        self._scan_unless_fresh()

    def _follow(self) -> None:
        with suppress(SearchStoppedError):
            self.loop.run()

    def _interrupt(self) -> None:
        self._wake_ups.stop()

    @property
    def ended(self) -> bool:
        """Whether nothing can come any more: all sources are pipes that were closed."""
        return self._feeds.ended

    # -- state --------------------------------------------------------------------------------

    def progress(self) -> tuple[int, int]:
        """(bytes read, bytes known) over all sources, as of their last reads. Does no I/O."""
        return self._feeds.progress

    @property
    def state(self) -> ReaderState:
        search = self.search
        wrong = (p for p in self._logdirs if any(n.level >= Level.WATCH for n in trouble((p,))))
        return ReaderState(
            notes=search.notes,
            unread=search.found.unread,
            unclaimed=search.found.refused,
            run_count=len(search.found.runs),
            out_of_reach=dict.fromkeys(wrong),
        )
