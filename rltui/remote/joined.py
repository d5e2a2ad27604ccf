"""Several readers as one: each reads some of the logdirs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import chain
from pathlib import Path
from time import monotonic
from typing import Any

from rltui.core.batch import Batch, Note, RunKey, Sources
from rltui.core.errors import SourceError, UnreachableError
from rltui.core.level import Level
from rltui.files.trouble import Backoff
from rltui.remote.stream_client import NotInstalledError
from rltui.sources.follow.threaded_reader import MOST_BATCHES, Arriving, ReaderState, ThreadedReader
from rltui.sources.options import ReaderOptions

#: Hosts that are connected to at the same time.
_MOST_AT_ONCE = 32


class GroupReader:
    """Reads one group of logdirs: those on one host, or all that this process can open.

    The caller does the first search; otherwise the thread that :meth:`start` begins does. That
    thread repeats a search that failed until it succeeds.
    """

    def __init__(
        self,
        scheme: str,
        logdirs: Sequence[Path],
        numbers: Sequence[int],
        options: ReaderOptions,
        opens: Callable[[str, Sequence[Path], ReaderOptions], ThreadedReader],
    ) -> None:
        """``scheme``: of the addresses; ``numbers``: positions of these logdirs among all of the
        session; ``opens`` returns a reader. Raises UsageError."""
        self._logdirs = tuple(logdirs)
        self._numbers = tuple(numbers)
        choose = options.choose
        wants = options.wants

        def chosen(keys: Collection[RunKey]) -> Collection[RunKey]:
            assert choose is not None
            wanted = choose([self.outer(key) for key in keys])
            return {self.inner(key) for key in wanted if self.holds(key)}

        self._options = replace(
            options,
            choose=choose and chosen,
            wants=None if wants is None else lambda key: wants(self.outer(key)),
        )
        self._instead = ""
        """Why its logs are decoded here; empty where they are not."""
        self.reader = opens(scheme, self._logdirs, self._options)
        self.on_batch: Callable[[], None] | None = None
        """Called in a thread when a batch or an error has arrived."""
        self.reader.on_batch = self._news
        self.error: Exception | None = None
        """What ended the search thread; :meth:`drain` raises it once."""
        self.failed: SourceError | None = None
        """Why the newest search failed."""
        self._searched = False
        """Whether a search has succeeded."""
        self.tried = False
        """Whether a search has ended, successfully or not."""
        self._stopped = threading.Event()
        self._lock = threading.Lock()

    # -- searching ----------------------------------------------------------------------------

    def scan(self) -> SourceError | None:
        """Search for runs; return the error, also kept in :attr:`failed`, instead of raising it."""
        try:
            try:
                self.reader.scan()
            except NotInstalledError as missing:
                self.reader = missing.instead()
                self.reader.on_batch = self._news
                self._instead = str(missing)
                if self._stopped.is_set():
                    raise UnreachableError("the reader was stopped") from None
                self.reader.scan()
            self.failed = None
            self._searched = True
        except SourceError as error:
            self.failed = error
        finally:
            self.tried = True
            if self._stopped.is_set():
                self.reader.stop()  # stop() may have reached the reader before this one
        return self.failed

    def start(self) -> None:
        """Start reading in a thread, which first searches if no search has succeeded yet. Raises
        SourceError for bad paths."""
        self._stopped.clear()
        if self._searched:
            self.reader.start()
        else:
            threading.Thread(target=self._search, name="rltui-search", daemon=True).start()

    def _search(self) -> None:
        """Search until something can be read; the body of the thread."""
        backoff = Backoff()
        try:
            if self.tried:
                self._stopped.wait(backoff.failed(0.0))
            while not self._stopped.is_set() and self.scan() is not None:
                self._news()
                self._stopped.wait(backoff.failed(0.0))
            with self._lock:  # against stop()
                if not self._stopped.is_set():
                    self.reader.start()
        except Exception as error:  # noqa: BLE001 - raised on the main thread at the next drain
            if not self._stopped.is_set():
                self.error = error
        self._news()

    def stop(self) -> None:
        """End the threads."""
        with self._lock:
            self._stopped.set()
        self.reader.stop()

    def _news(self) -> None:
        if self.on_batch is not None:
            self.on_batch()

    # -- reading ------------------------------------------------------------------------------

    def read_all(self) -> Iterator[Batch]:
        """Read every source to its end; yields nothing if the search failed. An error that ends
        reading is kept in :attr:`failed`."""
        if self.failed is not None and not isinstance(self.failed, UnreachableError):
            return
        try:
            yield from map(self.named, self.reader.read_all())
            self.failed = None
        except SourceError as error:
            self.failed = UnreachableError(str(error))

    def drain(self, max_batches: int) -> list[Batch]:
        """Return batches that have arrived, oldest first. Raises the error of a thread, once."""
        error = self.error
        self.error = None
        if error is not None:
            raise error
        return list(map(self.named, self.reader.drain(max_batches)))

    @property
    def state(self) -> ReaderState:
        """State of the reader plus search errors."""
        found = replace(
            self.reader.state,
            instead=dict.fromkeys(self._logdirs, self._instead) if self._instead else {},
            searching=() if self.tried else self._logdirs,
        )
        if self.failed is None:
            return found

        text = str(self.failed)
        prefixes = (f"{logdir}: " for logdir in self._logdirs)
        text = next((text.removeprefix(p) for p in prefixes if text.startswith(p)), text)
        wrong = tuple(Note(logdir, None, Level.WATCH, text) for logdir in self._logdirs)
        told = any(n.level >= Level.WATCH for n in found.notes)
        notes = found.notes if told else (*wrong, *found.notes)
        if isinstance(self.failed, UnreachableError):
            lost = {p: found.out_of_reach.get(p) for p in self._logdirs}
            return replace(found, notes=notes, unread=(), out_of_reach=lost)

        return replace(found, notes=notes, unread=wrong)

    # -- keys ---------------------------------------------------------------------------------

    def holds(self, key: RunKey) -> bool:
        """Whether a run lies in its logdirs."""
        return key.logdir in self._numbers

    def named(self, batch: Batch) -> Batch:
        """A batch with the session's key."""
        return replace(batch, run=self.outer(batch.run))

    def outer(self, key: RunKey) -> RunKey:
        """The key for the session."""
        return RunKey(self._numbers[key.logdir], key.name)

    def inner(self, key: RunKey) -> RunKey:
        """The key for the reader."""
        return RunKey(self._numbers.index(key.logdir), key.name)


class JoinedReader:
    """Has the face of a :class:`ThreadedReader`; its groups are drained round-robin."""

    def __init__(
        self, groups: Iterable[GroupReader], *, partial: bool = False, later: bool = False
    ) -> None:
        """``partial``: a failed search becomes a note and is repeated, as long as another group
        can be searched; ``later``: searches run in threads, after :meth:`start`."""
        self._groups = tuple(groups)
        self._partial = partial
        self._later = later
        self._settled = not later
        """Whether all first searches have ended, or :meth:`scan` does them."""
        self._errors: list[Exception] = []
        """What broke threads; raised one by one when there are no batches."""
        self._next = 0
        self._came = threading.Event()
        self.on_batch: Callable[[], None] | None = None
        for group in self._groups:
            group.on_batch = self._news

    def _news(self) -> None:
        self._came.set()
        call = self.on_batch
        if call is not None:
            call()

    def scan(self) -> None:
        """Search for runs, in all groups at once. Raises SourceError for a path that is missing or
        no log, and UnreachableError where no host can be reached."""
        if self._later:
            return
        with ThreadPoolExecutor(min(_MOST_AT_ONCE, len(self._groups))) as pool:
            try:
                for error in pool.map(GroupReader.scan, self._groups):
                    if not (self._partial or error is None or _is_away(error)):
                        raise error
            except BaseException:
                self.stop()  # wakes searches that still wait for a host
                raise
        if (error := self._nothing) is not None:
            raise error

    @property
    def _nothing(self) -> SourceError | None:
        """The error to raise when every group has failed: a bad path before a host out of reach."""
        errors = [e for group in self._groups if (e := group.failed) is not None]
        return min(errors, key=_is_away) if len(errors) == len(self._groups) else None

    def read_all(self) -> Iterator[Batch]:
        """Read every source to its end, group by group. Raises SourceError if all groups fail."""
        for group in self._groups:
            yield from group.read_all()
        if (error := self._nothing) is not None:
            raise error

    def read_again(
        self, key: RunKey, sources: Sources, generations: Iterable[int]
    ) -> Iterator[Batch] | None:
        group = next(p for p in self._groups if p.holds(key))
        found = group.reader.read_again(group.inner(key), sources, generations)
        if isinstance(found, Arriving):
            return found.changed(group.named)
        return None if found is None else map(group.named, found)

    def rereadable(self, key: RunKey, sources: Sources, generations: Iterable[int]) -> bool | None:
        group = next(p for p in self._groups if p.holds(key))
        return group.reader.rereadable(group.inner(key), sources, generations)

    def start(self) -> None:
        for group in self._groups:
            group.start()

    def stop(self) -> None:
        """End the threads, all at once: each may wait for a host for seconds."""
        with ThreadPoolExecutor(min(_MOST_AT_ONCE, len(self._groups))) as pool:
            list(pool.map(GroupReader.stop, self._groups))

    def drain(self, max_batches: int = MOST_BATCHES) -> list[Batch]:
        """Batches that are there, oldest first within a group. Raises what broke a thread, once,
        and SourceError when nothing can be read, once that is known."""
        self._came.clear()
        self._settle()
        found: list[Batch] = []
        for _ in self._groups:
            group = self._groups[self._next]
            self._next = (self._next + 1) % len(self._groups)
            try:
                found += group.drain(max_batches - len(found))
            except Exception as error:  # noqa: BLE001 - raised after what the others have
                self._errors.append(error)
            if len(found) >= max_batches:
                break
        if self._errors and not found:
            raise self._errors.pop(0)

        return found

    def _settle(self) -> None:
        """Once all first searches have ended: queue an error if all failed, unless a host that was
        out of reach may still have something to read."""
        if self._settled or not all(group.tried for group in self._groups):
            return
        self._settled, error = True, self._nothing
        if error is not None and not any(p.failed and _is_away(p.failed) for p in self._groups):
            self._errors.append(error)

    def wait(self, timeout: float) -> bool:
        end = monotonic() + timeout
        while True:
            self._settle()
            if self._errors or any(p.error or p.reader.wait(0) for p in self._groups):
                return True
            if not self._came.wait(max(0.0, end - monotonic())):
                return False
            self._came.clear()  # the batch may have been drained meanwhile

    def progress(self) -> tuple[int, int]:
        each = [group.reader.progress() for group in self._groups]
        return sum(read for read, _ in each), sum(known for _, known in each)

    @property
    def ended(self) -> bool:
        return all(group.reader.ended for group in self._groups)

    @property
    def state(self) -> ReaderState:
        states = [group.state for group in self._groups]

        def all_of(name: str) -> Any:
            return chain.from_iterable(getattr(state, name) for state in states)

        return ReaderState(
            notes=tuple(all_of("notes")),
            unread=tuple(all_of("unread")),
            unclaimed=tuple(all_of("unclaimed")),
            run_count=sum(state.run_count for state in states),
            searching=tuple(all_of("searching")),
            connecting=tuple(all_of("connecting")),
            out_of_reach=dict(x for state in states for x in state.out_of_reach.items()),
            instead=dict(x for state in states for x in state.instead.items()),
        )


def _is_away(error: SourceError) -> bool:
    return isinstance(error, UnreachableError)
