"""The far side of a stream: runs a reader, and writes what it hands over to a pipe.

Blocks while the pipe is full, which blocks the reader: nothing piles up. Ends with its pipes. What
the other side asks first decides what a connection is for: following the logs, questions about
files, or reading runs again; the latter two end when nothing is asked for a while.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, islice
from pathlib import Path
from queue import Empty, SimpleQueue

from rltui.core.batch import Batch, RunKey, SourceInfo
from rltui.core.clock import Clock, SystemClock
from rltui.core.errors import RltuiError, SourceError, VanishedError
from rltui.remote import host_script
from rltui.remote.wire import messages
from rltui.remote.wire.batches import BatchDecoder, BatchEncoder
from rltui.remote.wire.codec import WireError, dump, dump_json, load, record_of
from rltui.remote.wire.framing import Frame, FrameReader, FrameWriter, Kind, OversizeError
from rltui.sources.discovery.log_head import EndSigns
from rltui.sources.discovery.processes import look
from rltui.sources.follow.reader import BUDGET_BYTES, Reader
from rltui.sources.follow.resume import HandedOver, says_something
from rltui.sources.follow.threaded_reader import ThreadedReader
from rltui.sources.options import ReaderOptions
from rltui.version import __version__

#: Seconds between two signs of life.
HEARTBEAT_S = 5.0
#: Seconds without a question after which a connection for questions ends.
IDLE_S = host_script.IDLE_S
#: A search is repeated for a file that it did not find when it is older, seconds.
_FRESH_S = 5.0


class Stream:
    """Serves one connection in the thread that calls :meth:`run`; another thread passes what
    arrives to :meth:`feed`."""

    def __init__(
        self,
        logdirs: Sequence[Path],
        write: Callable[[bytes], object],
        ends: EndSigns | None = None,
        clock: Clock | None = None,
        idle_s: float = IDLE_S,
        prefixes: Sequence[str] = (),
        budget_bytes: int = BUDGET_BYTES,
        reader_of: Callable[[ReaderOptions, HandedOver], ThreadedReader] | None = None,
    ) -> None:
        """``idle_s``: longest wait for the next question; ``prefixes``: only those runs of each
        logdir are found whose names begin so; ``budget_bytes``: most bytes of a log in one batch;
        ``reader_of`` makes another reader than that of this machine."""
        self._logdirs = tuple(path.expanduser() for path in logdirs)
        self._ends = ends
        self._clock = clock or SystemClock()
        self._idle_s = idle_s
        self._prefixes = tuple(prefixes)
        local = partial(Reader, self._logdirs, budget_bytes=budget_bytes)
        self._reader_of = reader_of or (lambda options, known: local(options, handed_over=known))
        self._incoming = FrameReader()
        self._asked: SimpleQueue[Frame | None] = SimpleQueue()
        self._writer = FrameWriter(write)
        self._encoder = BatchEncoder()
        self._writing = threading.Lock()
        self._state = messages.State()
        self._choosing = threading.Condition()
        self._chooses = False
        self._found: list[RunKey] = []
        self._chosen: list[RunKey] = []
        self._searches = self._answered = 0
        """Number of lists of runs sent, and number of the newest one answered."""
        self._closed = threading.Event()
        self._news = threading.Event()
        """Set when the reader has something, or the connection is closed."""

    # -- the thread that listens ------------------------------------------------------------

    def feed(self, data: bytes) -> None:
        """Take bytes from the other side. Raises WireError."""
        for frame in self._incoming.feed(data):
            if frame.kind != Kind.CHOSEN:
                self._asked.put(frame)
                continue
            answer = load(messages.Chosen, frame.record)
            with self._choosing:
                if answer.searches == self._searches:  # else it is about an older list
                    found = self._found
                    self._chosen = [found[n] for n in answer.chosen if n < len(found)]
                    self._answered = answer.searches
                    self._choosing.notify_all()

    def beat(self) -> None:
        """Send signs of life until the connection is closed or lost."""
        with suppress(OSError):
            while not self._closed.wait(HEARTBEAT_S):
                self._put(Frame(Kind.HEARTBEAT))

    def close(self) -> None:
        """Have :meth:`run` end soon, also where it waits for the other side."""
        with self._choosing:
            self._closed.set()
            self._choosing.notify_all()
        self._asked.put(None)
        self._news.set()

    # -- sending ------------------------------------------------------------------------------

    def _send(self, message: messages.Message) -> None:
        self._put(Frame(messages.kind_of(message), dump(message)))

    def _put(self, frame: Frame) -> None:
        """Send a frame, and all batches before it. Raises OSError."""
        with self._writing:
            self._writer.put(frame)
            self._writer.flush()

    def _put_batch(self, batch: Batch) -> None:
        """Send a batch, with the next frame or flush. Raises OSError."""
        with self._writing:
            for frame in self._encoder.frames(batch):
                self._writer.put(frame)

    def _send_state(self, reader: ThreadedReader) -> None:
        """Send what has changed in the state since the last call, and all batches before it."""
        own = reader.state
        state = messages.State(reader.progress(), own.run_count, own.notes, own.unclaimed)
        news = state.since(self._state)
        self._state = state
        if news != messages.State():
            self._send(news)
        with self._writing:
            self._writer.flush()

    # -- the main thread --------------------------------------------------------------------

    def run(self) -> None:
        """Serve until the logs have been read, the connection is closed, or no question comes for
        ``idle_s``. Raises OSError, WireError."""
        try:
            self._send(messages.Hello(__version__, self._logdirs, self._clock.now()))
            frame = self._next(Kind.REQUEST, Kind.QUESTION)
            if frame.kind == Kind.REQUEST:
                self._read(load(messages.Request, frame.record))
                return
            asked: Frame | None = frame
            while asked is not None:
                found, data = answer(load(messages.Question, asked.record))
                self._put(Frame(Kind.ANSWER, dump_json(found), data))
                asked = self._next_or_none(Kind.QUESTION, timeout=self._idle_s)
        except OversizeError as error:
            self._send(messages.Error(str(error)))

    def serve(self) -> Exception | None:
        """:meth:`run`, and tell the other side what goes wrong; returns that."""
        try:
            self.run()
        except OSError:
            return None
        except Exception as error:  # noqa: BLE001 - other streams of the process go on
            known = isinstance(error, RltuiError)
            why = str(error) if known else f"{type(error).__name__}: {error}"
            with suppress(OSError):
                self._send(messages.Error(why))
            return error
        return None

    def _read(self, request: messages.Request) -> None:
        decoder = BatchDecoder(len(self._logdirs))
        batches = (decoder.batch_of(self._next(Kind.BATCH)) for _ in range(request.known))
        known = HandedOver(batch for batch in batches if batch is not None)
        self._chooses = request.chooses
        options = ReaderOptions(
            clock=self._clock,
            watch=request.watch,
            choose=self._choose if request.chooses or any(self._prefixes) else None,
            step_keys=request.step_keys,
            ends=self._ends,
            verify=request.verify,
            waits=request.waits,
        )
        reader = self._reader_of(options, known)
        try:
            self._read_with(reader, known)
        finally:
            reader.stop()  # also where the other side is gone: it may hold streams of its own

    def _read_with(self, reader: ThreadedReader, known: HandedOver) -> None:
        """Serve one reader until all is read, or the connection is closed."""
        try:
            reader.scan()
        except SourceError as error:
            self._send(messages.Error(str(error), bad_path=True))
            return
        self._send_state(reader)
        self._put(Frame(Kind.SCANNED))
        first = self._next(Kind.READ, Kind.AGAIN)
        if first.kind == Kind.AGAIN:
            self._read_again(reader, first)
            return

        for batch in known.vanished() if isinstance(reader, Reader) else ():
            self._put_batch(batch)
        if not load(messages.Read, first.record).follow:
            for batch in filter(says_something, reader.read_all()):
                self._put_batch(batch)
            self._send_state(reader)
            self._put(Frame(Kind.END))
            return
        reader.on_batch = self._news.set
        reader.start()
        self._send_state(reader)
        while not self._closed.is_set():
            self._news.wait(HEARTBEAT_S)
            self._news.clear()
            for batch in filter(says_something, reader.drain()):
                self._put_batch(batch)
            self._send_state(reader)

    def _read_again(self, reader: ThreadedReader, frame: Frame | None) -> None:
        """Serve requests to read runs again, each up to where the other side has read it."""
        scanned = self._clock.monotonic()
        while frame is not None:
            wanted = load(messages.Again, frame.record)
            files = wanted.files
            sources = {
                f.path: SourceInfo(f.path, "", 0, f.offset, f.offset, 0, f.modified) for f in files
            }
            finished = {f.path for f in files if f.finished}
            batches = _begun(reader.read_again(wanted.run, sources, (), finished))
            if batches is None and self._clock.monotonic() - scanned > _FRESH_S:
                with suppress(SourceError):
                    reader.scan()  # its files may be newer than the search
                scanned = self._clock.monotonic()
                batches = _begun(reader.read_again(wanted.run, sources, (), finished))
            self._send(messages.Kept(batches is not None))
            if batches is not None:
                for batch in batches:
                    self._put_batch(batch)
                self._put(Frame(Kind.END))
            frame = self._next_or_none(Kind.AGAIN, timeout=self._idle_s)

    def _choose(self, keys: Collection[RunKey]) -> Collection[RunKey]:
        """Ask the other side which runs to read, unless they are the same as before."""
        prefixes = self._prefixes or [""] * len(self._logdirs)
        found = [key for key in keys if key.name.startswith(prefixes[key.logdir])]
        if not self._chooses:
            return found
        with self._choosing:
            news = found != self._found or not self._searches
            if news:
                self._found, self._searches = found, self._searches + 1
        if news:
            self._send(messages.Found(tuple(found)))
        with self._choosing:
            self._choosing.wait_for(
                lambda: self._closed.is_set() or self._answered == self._searches
            )
            return self._chosen

    # -- requests -----------------------------------------------------------------------------

    def _next(self, *kinds: Kind) -> Frame:
        """Wait for the next frame of these kinds. Raises BrokenPipeError at the end."""
        found = self._next_or_none(*kinds, timeout=None)
        assert found is not None
        return found

    def _next_or_none(self, *kinds: Kind, timeout: float | None) -> Frame | None:
        """The same; None after ``timeout`` seconds. Raises WireError for frames of other kinds."""
        while True:
            try:
                frame = self._asked.get(timeout=timeout)
            except Empty:
                return None
            if frame is None:
                raise BrokenPipeError
            if frame.kind in kinds:
                return frame
            if frame.kind != Kind.HEARTBEAT and frame.kind in set(Kind):
                names = " or ".join(kind.name for kind in kinds)
                raise WireError(f"a frame of kind {names} was expected")


def _begun(batches: Iterator[Batch] | None) -> Iterator[Batch] | None:
    """The batches, once the first has come; None where the files do not hold them any more."""
    if batches is None:
        return None
    try:
        first = list(islice(batches, 1))
    except VanishedError:
        return None
    return chain(first, batches)


def answer(question: messages.Question) -> tuple[Mapping[str, object], bytes]:
    """The record of an answer to a question about a file, and the bytes it asks for; OS errors
    become answers."""
    if question.what is not messages.What.HOLD:
        return host_script.answer(record_of(question))
    path = Path(os.path.expanduser(question.path))  # noqa: PTH111 - raises for no home directory
    return {"hold": look({path: question.kind}).get(path)}, b""
