"""Several readers as one: each reads some of the logdirs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from rltui.core.batch import Batch, Note, RunKey, SourceInfo
from rltui.core.errors import SourceError, UnreachableError
from rltui.sources.follow.batch_queue import MOST_BATCHES
from rltui.sources.follow.log_search import Choose
from rltui.sources.follow.reading import Reading

if TYPE_CHECKING:
    from rltui.remote.opening import Wishes


#: Hosts that are connected to at the same time.
_MOST_AT_ONCE = 32


class NotInstalledError(SourceError):
    """A host does not have what a reader of its logs needs."""


class Part:
    """A reader of some of the logdirs, whose numbers it does not know."""

    def __init__(self, numbers: tuple[int, ...], choose: Choose | None) -> None:
        """``numbers``: those of its logdirs among all."""
        self._numbers = numbers
        self._choose = choose
        self._otherwise: Callable[[], Reading] | None = None
        self.reader: Reading

    def wishes(self, of_all: Wishes) -> Wishes:
        """What the session asks, in the numbers of this reader."""
        return of_all if self._choose is None else replace(of_all, choose=self._chosen)

    def open(self, reader: Reading, otherwise: Callable[[], Reading] | None = None) -> None:
        """Take the reader, which got :meth:`wishes`; ``otherwise`` opens another one where what
        it needs is not installed."""
        self.reader = reader
        self._otherwise = otherwise

    def scan(self) -> UnreachableError | None:
        """Search; returns what the reader notes, too, when its host cannot be reached: it tries
        again. Raises SourceError for a path that is missing or no log."""
        try:
            self.reader.scan()
        except UnreachableError as error:
            return error
        except NotInstalledError:
            if self._otherwise is None:
                raise
            on_batch, self.reader = self.reader.on_batch, self._otherwise()
            self.reader.on_batch = on_batch
            self.reader.scan()
        return None

    def holds(self, key: RunKey) -> bool:
        """Whether a run lies in its logdirs."""
        return key.logdir in self._numbers

    def outer(self, key: RunKey) -> RunKey:
        """The key for the session."""
        return RunKey(self._numbers[key.logdir], key.name)

    def inner(self, key: RunKey) -> RunKey:
        """The key for the reader."""
        return RunKey(self._numbers.index(key.logdir), key.name)

    def batches(self, found: Iterable[Batch]) -> Iterator[Batch]:
        """Batches with the session's keys."""
        return (replace(batch, run=self.outer(batch.run)) for batch in found)

    def _chosen(self, keys: Collection[RunKey]) -> Collection[RunKey]:
        assert self._choose is not None
        wanted = self._choose([self.outer(key) for key in keys])
        return {self.inner(key) for key in wanted if self.holds(key)}


class Readers:
    """A :class:`Reading` of several parts, which take turns."""

    def __init__(self, parts: Iterable[Part]) -> None:
        self._parts = tuple(parts)
        self._next = 0
        self._news = threading.Event()
        self._call: Callable[[], None] | None = None
        for part in self._parts:
            part.reader.on_batch = self._on_batch

    @property
    def on_batch(self) -> Callable[[], None] | None:
        """Called in a thread of a part when it has something."""
        return self._call

    @on_batch.setter
    def on_batch(self, call: Callable[[], None] | None) -> None:
        self._call = call

    def _on_batch(self) -> None:
        self._news.set()
        call = self._call
        if call is not None:
            call()

    def scan(self) -> None:
        """Search for runs, in all parts at once. Raises SourceError for a path that is missing or
        no log, and UnreachableError where no host can be reached."""
        with ThreadPoolExecutor(min(_MOST_AT_ONCE, len(self._parts))) as pool:
            try:
                failed = [error for error in pool.map(Part.scan, self._parts) if error is not None]
            except BaseException:
                self.stop()  # whoever still waits for a host
                raise
        if len(failed) == len(self._parts):
            raise failed[0]

    def read_all(self) -> Iterator[Batch]:
        """Every source to its end, part by part."""
        for part in self._parts:
            yield from part.batches(part.reader.read_all())

    def read_again(
        self, key: RunKey, sources: Mapping[Path, SourceInfo], generations: Iterable[int]
    ) -> Iterator[Batch] | None:
        """What was read of a run, once more; None when that cannot be had again."""
        part = next(p for p in self._parts if p.holds(key))
        found = part.reader.read_again(part.inner(key), sources, generations)
        return None if found is None else part.batches(found)

    def start(self) -> None:
        """Begin to read, each part in a thread. Raises SourceError for bad paths."""
        for part in self._parts:
            part.reader.start()

    def stop(self) -> None:
        """End the threads."""
        for part in self._parts:
            part.reader.stop()

    def drain(self, max_batches: int = MOST_BATCHES) -> list[Batch]:
        """Batches that are there, oldest first within a part. Raises what broke a thread, once."""
        self._news.clear()
        found: list[Batch] = []
        for _ in self._parts:
            part = self._parts[self._next]
            self._next = (self._next + 1) % len(self._parts)
            found += part.batches(part.reader.drain(max_batches - len(found)))
            if len(found) >= max_batches:
                break
        return found

    def wait(self, timeout: float) -> bool:
        """Wait until a batch (or an error) is there, at most ``timeout`` seconds."""
        end = monotonic() + timeout
        while not any(part.reader.wait(0) for part in self._parts):
            if not self._news.wait(max(0.0, end - monotonic())):
                return False
            self._news.clear()  # it may be about a batch that was drained meanwhile
        return True

    def progress(self) -> tuple[int, int]:
        """(bytes read, bytes known)."""
        each = [part.reader.progress() for part in self._parts]
        return sum(read for read, _ in each), sum(known for _, known in each)

    @property
    def ended(self) -> bool:
        """Whether nothing can come any more."""
        return all(part.reader.ended for part in self._parts)

    @property
    def notes(self) -> tuple[Note, ...]:
        """Trouble that concerns no file of a run."""
        return tuple(n for part in self._parts for n in part.reader.notes)

    @property
    def out_of_reach(self) -> tuple[Path, ...]:
        """Logdirs on hosts and servers that cannot be reached now."""
        return tuple(p for part in self._parts for p in part.reader.out_of_reach)

    @property
    def unclaimed(self) -> tuple[Note, ...]:
        """Files that look like logs and are not read, with the reason."""
        return tuple(n for part in self._parts for n in part.reader.unclaimed)

    @property
    def run_count(self) -> int:
        """Runs that the newest search found, read or not."""
        return sum(part.reader.run_count for part in self._parts)
