"""One of several readers that a session has: of some logdirs, on one host or here.

Its first search is done by the caller, or in a thread once it is started. What cannot be searched
then is searched again and again, if the session goes on without it.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rltui.core.batch import Batch, Note, RunKey
from rltui.core.clock import Clock, SystemClock
from rltui.core.errors import SourceError, UnreachableError
from rltui.core.level import Level
from rltui.remote.wire.messages import (
    MOST_NAME_BYTES,
    MOST_NAMES,
    MOST_READ,
    Answer,
    Question,
    Sort,
    What,
)
from rltui.sources.discovery.log_head import EndSigns
from rltui.sources.follow.log_search import Choose, Wants
from rltui.sources.follow.queued import Reading
from rltui.sources.follow.schedule import Intervals, Watching

#: Seconds until what could not be searched is searched again: the first time, and at most.
_LEAST_PAUSE_S, _MOST_PAUSE_S = 1.0, 30.0
#: Opens another reader of the same logdirs; returns what that calls them, too.
Otherwise = Callable[[], tuple[Reading, Sequence[Path]]]
_NOT_REGULAR = "is not a regular file"
_TOO_MANY = f"holds more than {MOST_NAMES:,} names, or very long ones"


class NotInstalledError(SourceError):
    """A host does not have what a reader of its logs needs."""


class Part:
    """A reader of some of the logdirs, whose numbers it does not know."""

    def __init__(
        self,
        logdirs: Sequence[Path],
        numbers: Sequence[int],
        choose: Choose | None = None,
        wants: Wants | None = None,
    ) -> None:
        """``numbers``: those of its logdirs among all."""
        self._logdirs = tuple(logdirs)
        self._numbers = tuple(numbers)
        self._choose = choose
        self._wants = wants
        self._otherwise: Otherwise | None = None
        self._names: dict[Path, Path] = {}
        """What the reader calls the logdirs, where that is something else."""
        self.reader: Reading
        self.on_batch: Callable[[], None] | None = None
        """Called in a thread when it has something, or has failed."""
        self.error: Exception | None = None
        """Why it gave up in its thread, until somebody takes it."""
        self._wrong: SourceError | None = None
        """Why the newest search failed."""
        self._searched = False
        """Whether a search has succeeded."""
        self._tried = False
        """Whether a search is over, with whatever success."""
        self._stopped = threading.Event()
        self._lock = threading.Lock()

    def wishes(self, of_all: Wishes) -> Wishes:
        """What the session asks, in the numbers of this reader."""
        choose = None if self._choose is None else self._chosen
        return replace(of_all, choose=choose, wants=self._wants and self._wanted)

    def open(self, reader: Reading, otherwise: Otherwise | None = None) -> None:
        """Take the reader, which got :meth:`wishes`; ``otherwise`` opens another one where what
        it needs is not installed."""
        self.reader = reader
        reader.on_batch = self._news
        self._otherwise = otherwise

    # -- searching ----------------------------------------------------------------------------

    def scan(self) -> SourceError | None:
        """Search; returns why that is not possible, which is noted, too."""
        try:
            self._scan()
            self._wrong, self._searched = None, True
        except SourceError as error:
            self._wrong = error
        finally:
            self._tried = True
        return self._wrong

    def _scan(self) -> None:
        try:
            self.reader.scan()
        except NotInstalledError as missing:
            if self._otherwise is None:
                raise
            reader, paths = self._otherwise()
            reader.on_batch = self._news
            self._names = dict(zip(paths, self._logdirs, strict=True))
            self.reader, self._otherwise = reader, None
            try:
                reader.scan()
            except SourceError as error:
                kind = UnreachableError if isinstance(error, UnreachableError) else SourceError
                raise kind(f"{error} (asked by sftp, because {missing})") from None

    def start(self) -> None:
        """Begin to read, in a thread, which searches before where that was not done or failed,
        until it succeeds. Raises SourceError for bad paths."""
        self._stopped.clear()
        if self._searched:
            self.reader.start()
        else:
            threading.Thread(target=self._search, name="rltui-search", daemon=True).start()

    def _search(self) -> None:
        """Search until something can be read; the body of the thread."""
        pause = _LEAST_PAUSE_S
        try:
            if self._tried:
                self._stopped.wait(pause)
            while not self._stopped.is_set():
                if self.scan() is None:
                    break
                self._news()
                self._stopped.wait(pause)
                pause = min(2 * pause, _MOST_PAUSE_S)
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
        """Every source to its end; nothing of what cannot be searched. What ends it is noted."""
        if self._wrong is not None and not isinstance(self._wrong, UnreachableError):
            return
        try:
            yield from self.batches(self.reader.read_all())
            self._wrong = None
        except SourceError as error:
            self._wrong = UnreachableError(str(error))

    def batches(self, found: Iterable[Batch]) -> Iterator[Batch]:
        """Batches with the session's keys."""
        return map(self.named, found)

    def named(self, batch: Batch) -> Batch:
        """A batch with the session's key."""
        return replace(batch, run=self.outer(batch.run))

    def drain(self, max_batches: int) -> list[Batch]:
        """Batches that are there, oldest first. Raises what broke a thread, once."""
        error, self.error = self.error, None
        if error is not None:
            raise error
        return list(self.batches(self.reader.drain(max_batches)))

    # -- state --------------------------------------------------------------------------------

    def instead(self, logdir: Path) -> Path | None:
        """The address by which a logdir is read in the place of its own; None for its own."""
        return next((there for there, here in self._names.items() if here == logdir), None)

    @property
    def failed(self) -> SourceError | None:
        """Why it cannot be read."""
        return self._wrong

    @property
    def searching(self) -> tuple[Path, ...]:
        """Its logdirs until they have been searched for the first time."""
        return () if self._tried else self._logdirs

    @property
    def notes(self) -> tuple[Note, ...]:
        """Trouble that concerns no file of a run."""
        own = self.reader.notes
        told = any(n.level >= Level.WATCH for n in own)
        return own if told or self._wrong is None else (*self._own_notes, *own)

    @property
    def unread(self) -> tuple[Note, ...]:
        """Logdirs that cannot be searched though their host can be reached, with the reason."""
        if self._wrong is None:
            found = self.reader.unread
            return tuple(replace(n, path=self._names.get(n.path, n.path)) for n in found)
        return () if isinstance(self._wrong, UnreachableError) else self._own_notes

    @property
    def out_of_reach(self) -> tuple[Path, ...]:
        """Logdirs on hosts and servers that cannot be reached now."""
        if isinstance(self._wrong, UnreachableError):
            return self._logdirs
        return tuple(self._names.get(p, p) for p in self.reader.out_of_reach)

    @property
    def _own_notes(self) -> tuple[Note, ...]:
        text = str(self._wrong)
        prefixes = (f"{logdir}: " for logdir in self._logdirs)
        text = next((text.removeprefix(p) for p in prefixes if text.startswith(p)), text)
        return tuple(Note(logdir, None, Level.WATCH, text) for logdir in self._logdirs)

    # -- keys ---------------------------------------------------------------------------------

    def holds(self, key: RunKey) -> bool:
        """Whether a run lies in its logdirs."""
        return key.logdir in self._numbers

    def outer(self, key: RunKey) -> RunKey:
        """The key for the session."""
        return RunKey(self._numbers[key.logdir], key.name)

    def inner(self, key: RunKey) -> RunKey:
        """The key for the reader."""
        return RunKey(self._numbers.index(key.logdir), key.name)

    def _chosen(self, keys: Collection[RunKey]) -> Collection[RunKey]:
        assert self._choose is not None
        wanted = self._choose([self.outer(key) for key in keys])
        return {self.inner(key) for key in wanted if self.holds(key)}

    def _wanted(self, key: RunKey) -> bool:
        return self._wants is not None and self._wants(self.outer(key))


def answer(question: Question) -> Answer:
    """What there is; an error of the system is an answer, too."""
    try:
        path = Path(question.path).expanduser()
        if question.what is What.STATUS:
            return _status(path)
        if question.what is What.NAMES:
            return _names(path)
        return _bytes(path, question.begin, min(question.size, MOST_READ))
    except OSError as error:
        return Answer(error=error)
    except (RuntimeError, ValueError) as error:  # no home directory; no name
        return Answer(error=OSError(errno.EINVAL, str(error)))


def _status(path: Path) -> Answer:
    found = path.stat()
    return Answer(_sort(found.st_mode), found.st_size, found.st_mtime_ns)


def _sort(mode: int) -> Sort:
    if stat.S_ISREG(mode):
        return Sort.FILE
    return Sort.DIRECTORY if stat.S_ISDIR(mode) else Sort.OTHER


def _names(path: Path) -> Answer:
    found: list[tuple[str, Sort]] = []
    size = 0
    with os.scandir(path) as entries:
        for entry in entries:
            found.append((entry.name, _sort_of(entry)))
            size += len(os.fsencode(entry.name))
            if len(found) > MOST_NAMES or size > MOST_NAME_BYTES:
                raise OSError(errno.EFBIG, _TOO_MANY)
    return Answer(Sort.DIRECTORY, names=found)


def _sort_of(entry: os.DirEntry[str]) -> Sort:
    if entry.is_dir(follow_symlinks=False):
        return Sort.DIRECTORY
    return Sort.FILE if entry.is_file() else Sort.OTHER


def _bytes(path: Path, begin: int, size: int) -> Answer:
    if not stat.S_ISREG(path.stat().st_mode):  # opening a device may do something
        raise OSError(errno.EINVAL, _NOT_REGULAR)
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):  # it was another one
            raise OSError(errno.EINVAL, _NOT_REGULAR)
        data = os.pread(descriptor, size, begin)
        return Answer(Sort.FILE, found.st_size, found.st_mtime_ns, data=data)
    finally:
        os.close(descriptor)


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a session asks of its reader, wherever the logs are."""

    clock: Clock = field(default_factory=SystemClock)
    watch: Watching = field(default_factory=Intervals)
    choose: Choose | None = None
    """Selects the runs to read among all found; given every run of each search."""
    wants: Wants | None = None
    """Whether to read a run for a log that is joined to it; not asked by other hosts."""
    step_keys: Sequence[str] | None = None
    ends: EndSigns | None = None
    """Knows the logs of jobs that died before their first row."""
    verify: bool = False
    waits: bool = False
    """Whether a named file that is empty is no error."""
    partial: bool = False
    """Whether a logdir that cannot be read is no error while another one can."""
    later: bool = False
    """Whether all searching is done in threads, once the reader is started, if a logdir is
    elsewhere."""
    absent: bool = False
    """Whether a logdir of this machine need not exist yet."""
    pipe: int = 0
    """File descriptor that the logdir ``-`` means."""
