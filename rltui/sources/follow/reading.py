"""What the session needs of whoever reads its logdirs: here, on another host, on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

from rltui.core.batch import Batch, Note, RunKey, SourceInfo


class Arriving(Iterator[Batch]):
    """Batches that another process sends: the next one may be long in coming.

    Raises UnreachableError where the process cannot be reached, and VanishedError where the
    files do not hold any more what was read.
    """

    def __init__(self, batches: Iterator[Batch], ready: Callable[[], bool]) -> None:
        self._batches = batches
        self._ready = ready

    def __next__(self) -> Batch:
        return next(self._batches)

    @property
    def ready(self) -> bool:
        """Whether the next one, or the end, is there; :attr:`Reading.on_batch` is called then."""
        return self._ready()

    def changed(self, change: Callable[[Batch], Batch]) -> Arriving:
        """The same batches, each changed."""
        return Arriving(map(change, self._batches), self._ready)


class Reading(Protocol):
    """Finds the runs of some logdirs and hands over what they log, in batches.

    All methods are for the main thread. :class:`rltui.sources.follow.reader.Reader` is the one
    for what this machine can open.
    """

    on_batch: Callable[[], None] | None
    """Called in a thread of the reader when :meth:`drain` has something again."""

    def scan(self) -> object:
        """Search for runs. Raises SourceError for a path that is missing or no log."""
        ...

    def read_all(self) -> Iterator[Batch]:
        """Every source to its end."""
        ...

    def read_again(
        self, key: RunKey, sources: Mapping[Path, SourceInfo], generations: Iterable[int]
    ) -> Iterator[Batch] | None:
        """What was read of a run, once more; None when that cannot be had again. Of another
        process it is an :class:`Arriving`."""
        ...

    def rereadable(
        self, key: RunKey, sources: Mapping[Path, SourceInfo], generations: Iterable[int]
    ) -> bool | None:
        """Whether :meth:`read_again` would give all of a run. None while that is being asked:
        :attr:`on_batch` is called when it is known."""
        ...

    def start(self) -> None:
        """Begin to read in a thread. Raises SourceError for bad paths."""
        ...

    def stop(self) -> None:
        """End the thread."""
        ...

    def drain(self, max_batches: int = ...) -> list[Batch]:
        """Batches that are there, oldest first. Raises what broke the thread, once."""
        ...

    def wait(self, timeout: float) -> bool:
        """Wait until a batch (or an error) is there, at most ``timeout`` seconds."""
        ...

    def progress(self) -> tuple[int, int]:
        """(bytes read, bytes known)."""
        ...

    @property
    def ended(self) -> bool:
        """Whether nothing can come any more."""
        ...

    @property
    def notes(self) -> tuple[Note, ...]:
        """Trouble that concerns no file of a run."""
        ...

    @property
    def out_of_reach(self) -> tuple[Path, ...]:
        """Logdirs on hosts and servers that cannot be reached now: their runs may go on."""
        ...

    def lost_at(self, logdir: Path) -> float | None:
        """When a logdir got out of reach, seconds since the epoch; None where nobody noted it."""
        ...

    def instead(self, logdir: Path) -> Path | None:
        """The address by which a logdir is read in the place of its own, because its host lacks
        what that needs; None for its own."""
        ...

    @property
    def unread(self) -> tuple[Note, ...]:
        """Logdirs that cannot be searched though their servers can be reached, with the reason:
        missing, no log."""
        ...

    @property
    def searching(self) -> tuple[Path, ...]:
        """Logdirs that have not been searched once: a thread does that."""
        ...

    @property
    def connecting(self) -> tuple[Path, ...]:
        """Logdirs whose hosts have not answered yet."""
        ...

    @property
    def unclaimed(self) -> tuple[Note, ...]:
        """Files that look like logs and are not read, with the reason."""
        ...

    @property
    def run_count(self) -> int:
        """Runs that the newest search found, read or not."""
        ...
