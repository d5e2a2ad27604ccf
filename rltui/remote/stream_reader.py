"""Reads logdirs through a process that speaks the frames of ``rltui stream``.

The far side finds, reads and decodes logs and sends batches. When the connection is lost, its runs
get a note and the reader reconnects: it tells the far side how much of each file has arrived, so
that no point is lost and none comes twice.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from rltui.core.address import RemotePath
from rltui.core.batch import Batch, Note, RunKey, Sources
from rltui.core.errors import SourceError, UnreachableError
from rltui.core.level import Level
from rltui.files.trouble import Backoff, Notes, Trouble
from rltui.remote.backfill import ReadFiles, Rereading
from rltui.remote.stream_client import Conversation, Paths, StreamError, Transport, clock_note
from rltui.remote.wire.messages import Again, State
from rltui.sources.discovery.run_files import EMPTY
from rltui.sources.follow.threaded_reader import BatchQueue, ReaderState, ThreadedReader
from rltui.sources.options import ReaderOptions

#: Attempts of a headless command to go on after its connection was lost.
_ATTEMPTS = 3
#: A connection that is lost for fewer seconds is not worth a note on every run.
_NOTED_S = 10.0


class StreamReader(ThreadedReader):
    """Reads some logdirs of one host, node or cluster."""

    def __init__(
        self,
        logdirs: Sequence[Path],
        options: ReaderOptions,
        host: str,
        connect: Callable[[], Transport],
        paths_of: Callable[[Sequence[Path]], Paths],
    ) -> None:
        """``host``: its name, for people; ``connect`` raises StreamError; ``paths_of`` makes
        :class:`Paths` of the names that the logdirs have there."""
        super().__init__(BatchQueue(), f"rltui-{host}")
        self._logdirs = tuple(logdirs)
        self._host = host
        self._connect = connect
        self._paths_of = paths_of
        # the far side then reports missing paths as notes, and the other logdirs are still read
        partial = options.partial and len(logdirs) > 1
        self._options = replace(options, waits=True) if partial else options
        self._waits = options.waits
        self._files = ReadFiles()
        self._rereading = Rereading(self._connected_again, self._queue.notify, options.clock)
        self._outage = Outage(options)
        self._backoff = Backoff()
        self._talk: Conversation | None = None
        self._last = State()
        """Newest state of the connection before the present one."""
        self._paths: Paths
        self._clock_offset_s = 0.0
        """Seconds by which the host's clock is ahead of the local one."""
        self._tried = False
        """Whether :meth:`scan` was called."""
        self._opening = threading.Lock()
        """Held while a connection is made, which :meth:`stop` then ends."""
        self._searching = False
        """Whether some thread waits for a search."""

    # -- once ---------------------------------------------------------------------------------

    def scan(self) -> None:
        """Search for runs. Raises SourceError for a path that is missing or no log, and
        UnreachableError where the host cannot be reached."""
        self._tried = True
        try:
            self._connected()
        except StreamError as error:
            raise self._unreachable(error) from None
        except SourceError as error:
            text = str(error)  # names a path there: the logdir takes its place
            for logdir in self._logdirs:
                place = logdir.place if isinstance(logdir, RemotePath) else logdir
                if text.startswith(f"{place}: "):
                    rest = text.removeprefix(f"{place}: ")
                    raise SourceError(f"{logdir}: {rest}") from None
            raise SourceError(f"{self._host}: {text}") from None

    def _unreachable(self, error: StreamError) -> SourceError:
        """The error of a search that could not be made."""
        self._outage.begin(str(error))
        return UnreachableError(f"{self._host}: {error}")

    def read_all(self) -> Iterator[Batch]:
        """Read every source to its end. If the connection is lost several times, a note says so."""
        if not self._tried:
            self.scan()
        for _ in range(_ATTEMPTS):
            try:
                for batch in self._connected().read(follow=False):
                    yield self._received(batch)
            except StreamError as error:
                self._outage.begin(str(error))
            finally:
                self._hang_up()
            if not self._outage.message:
                return
            self._pause()

    def resume(self, known: Iterable[Batch], paths: Paths) -> None:
        """Go on where another reader has read to. ``known``: the newest batch of each file."""
        self._paths = paths
        for batch in known:
            self._files.note(batch, paths.translated(batch.source.path))

    # -- once more ----------------------------------------------------------------------------

    def read_again(
        self,
        key: RunKey,  # noqa: ARG002 - its files say enough
        sources: Sources,
        generations: Iterable[int],
        finished: Collection[Path] = (),  # noqa: ARG002 - noted with the files
    ) -> Iterator[Batch] | None:
        """Read again what was read of a run, over a second connection; None where one of its files
        was deleted or rewritten."""
        wanted = self._again(sources, generations)
        return None if wanted is None else self._rereading.read(wanted)

    def rereadable(
        self,
        key: RunKey,  # noqa: ARG002 - its files say enough
        sources: Sources,
        generations: Iterable[int],
    ) -> bool | None:
        return not self._outage.message and self._again(sources, generations) is not None

    def _again(self, sources: Sources, generations: Iterable[int]) -> Again | None:
        return self._files.wanted(sources, generations, self._paths)

    @property
    def ended(self) -> bool:
        """False: what is elsewhere may always log more."""
        return False

    def _connected_again(self) -> Conversation:
        """Another connection, after a search. Raises StreamError and SourceError."""
        talk = self._conversation(replace(self._options, choose=None), State())
        try:
            talk.search(self._files.known)
        except BaseException:
            talk.hang_up()
            raise
        return talk

    # -- live ---------------------------------------------------------------------------------

    def _prepare(self) -> None:
        if not self._tried:
            self.scan()

    def _interrupt(self) -> None:
        self._rereading.close()
        with self._opening:
            talk = self._talk
        if talk is not None:
            talk.close()
        if self._thread is None and not self._searching:  # a search ends with an error
            self._hang_up()

    def _follow(self) -> None:
        """Read until stopped; the body of the thread."""
        try:
            while not self._stopping.is_set():
                try:
                    talk = self._connected()
                    self._backoff.succeeded()
                    for batch in talk.read(follow=True):
                        if not self._queue.put(self._received(batch)):
                            break
                except StreamError as error:
                    if not self._stopping.is_set():
                        self._outage.begin(str(error))
                except SourceError as error:
                    self._outage.begin(str(error), what="cannot be read")
                self._hang_up()
                self._note_runs(self._outage.for_runs())
                self._pause()
        finally:
            self._hang_up()

    def _pause(self) -> None:
        """Wait for the next attempt."""
        self._stopping.wait(self._backoff.failed(self._options.clock.monotonic()))

    def _note_runs(self, notes: Notes) -> None:
        """Queue notes for every run."""
        logdir = self._logdirs[0]
        found = tuple(Note(logdir, None, level, message) for level, message in notes)
        for _, batches in self._files.known.by_run() if found else ():
            self._queue.put(replace(self._paths.batch(batches[-1]), notes=found))

    # -- state --------------------------------------------------------------------------------

    def progress(self) -> tuple[int, int]:
        return self._far_state.progress or (0, 0)

    @property
    def _far_state(self) -> State:
        talk = self._talk
        return self._last if talk is None else talk.state

    @property
    def state(self) -> ReaderState:
        """State of the far side, and whether it can be reached."""
        far = self._far_state
        talk = self._talk
        lost = self._outage.message
        notes = far.notes or ()
        unclaimed = far.unclaimed or ()
        if lost:
            first = Note(self._logdirs[0], None, Level.WATCH, lost)
            notes = (first, *(n for n in notes if n.path != first.path))
        else:
            wrong = clock_note(self._logdirs[0], self._host, self._clock_offset_s)
            notes = (*wrong, *notes)

        return ReaderState(
            notes=notes,
            unread=() if lost else self._unread(far),
            unclaimed=unclaimed,
            run_count=far.run_count or 0,
            connecting=() if talk is not None and talk.paths is not None else self._logdirs,
            out_of_reach=dict.fromkeys(self._logdirs, self._outage.since) if lost else {},
        )

    def _unread(self, far: State) -> tuple[Note, ...]:
        """Logdirs that the far side cannot search, with the reason."""
        failed = (n for n in far.notes or () if n.level >= Level.WATCH)
        return tuple(
            note._replace(level=Level.WATCH)
            for note in (*failed, *(far.unclaimed or ()))
            if note.path in self._logdirs and not (self._waits and note.message == EMPTY)
        )

    # -- the connection -----------------------------------------------------------------------

    def _conversation(self, options: ReaderOptions, state: State) -> Conversation:
        """Raises StreamError."""
        transport = self._connect()
        return Conversation(transport, len(self._logdirs), options, self._paths_of, state)

    def _connected(self) -> Conversation:
        """The connection, after a search. Raises StreamError, and SourceError for bad paths."""
        if self._talk is not None:
            return self._talk
        with self._opening:
            if self._stopping.is_set():
                raise StreamError("stopped")
            talk = self._talk = self._conversation(self._options, self._last)
            self._searching = True
        try:
            talk.search(self._files.known)
        except BaseException:
            self._hang_up()
            raise
        finally:
            self._searching = False
        assert talk.paths is not None
        self._paths = talk.paths
        self._clock_offset_s = talk.clock_offset_s
        self._note_runs(self._outage.end())
        return talk

    def _hang_up(self) -> None:
        talk = self._talk
        if talk is not None:
            self._last = talk.state
            self._talk = None
            talk.hang_up()

    def _received(self, there: Batch) -> Batch:
        batch = self._paths.batch(there)
        self._files.note(there, batch.source.path)
        return batch


class Outage:
    """Tracks since when and why one host cannot be reached."""

    def __init__(self, options: ReaderOptions) -> None:
        self._clock = options.clock
        self._trouble = Trouble()
        self._began = 0.0
        self.since: float | None = None
        """When the outage was noticed, seconds since the epoch; None while there is none."""
        self.message = ""
        """Why and since when the host cannot be reached; empty while it can. The path that a note
        shows before it names the host."""

    def begin(self, why: str, what: str = "not reachable") -> None:
        """Note a failed attempt."""
        if self.since is None:
            self.since = self._clock.now()
            self._began = self._clock.monotonic()
        at = time.strftime("%H:%M:%S", time.localtime(self.since))
        self.message = f"{what} since {at}: {why}"

    def for_runs(self) -> Notes:
        """Notes for the runs of the host, once per outage, when it has lasted long enough."""
        lasted = self._clock.monotonic() - self._began
        if self.since is None or lasted < _NOTED_S or self._trouble.message:
            return ()
        return self._trouble.failed(self.message)

    def end(self) -> Notes:
        """End the outage; returns notes for the runs of the host."""
        self.since = None
        self.message = ""
        return self._trouble.over()
