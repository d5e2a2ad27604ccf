"""The far side of a stream: runs a reader, and writes what it hands over to a pipe.

Blocks while the pipe is full, which blocks the reader: nothing piles up. Ends with its pipes. What
the other side asks first decides what a connection is for: following the logs, questions about
files, or reading runs again; the latter two end when nothing is asked for a while.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue

from rltui.core.batch import Batch, RunKey, SourceInfo
from rltui.core.clock import Clock, SystemClock
from rltui.core.errors import SourceError
from rltui.remote.part import answer
from rltui.remote.wire import BatchDecoder, BatchEncoder, Frame, FrameReader, FrameWriter, Kind
from rltui.remote.wire.framing import OversizeError
from rltui.remote.wire.messages import (
    AGAIN,
    FILES,
    Again,
    Hello,
    Question,
    Request,
    State,
    dump_error,
    dump_found,
    dump_kept,
    load_chosen,
    load_read,
)
from rltui.remote.wire.record import WireError
from rltui.sources.discovery.log_head import EndSigns
from rltui.sources.follow.reader import Reader
from rltui.sources.follow.resume import HandedOver, says_something
from rltui.version import __version__

#: Seconds between two signs of life.
HEARTBEAT_S = 5.0
#: Seconds without a question after which a connection for questions ends.
IDLE_S = 60.0
#: A search is repeated for a file that it did not find when it is older, seconds.
_FRESH_S = 5.0


class Outlet:
    """Writes frames from several threads."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._writer = FrameWriter(write)
        self._encoder = BatchEncoder()
        self._lock = threading.Lock()
        self._waits = False
        """Whether batches have not been flushed."""

    def put(self, kind: Kind, payload: bytes = b"") -> None:
        """Send a frame, and what waits. Raises OSError."""
        with self._lock:
            self._writer.put(kind, payload)
            self._waits = False
            self._writer.flush()

    def put_batch(self, batch: Batch) -> None:
        """Send a batch, with the next frame that is flushed. Raises OSError."""
        with self._lock:
            self._waits = True
            for kind, payload in self._encoder.frames(batch):
                self._writer.put(kind, payload)

    def flush(self) -> None:
        """Send the batches that wait. Raises OSError."""
        with self._lock:
            if self._waits:
                self._waits = False
                self._writer.flush()


class Stream:
    """Serves one connection, whose frames arrive by :meth:`take`, in another thread."""

    def __init__(
        self,
        logdirs: Sequence[Path],
        write: Callable[[bytes], object],
        ends: EndSigns | None = None,
        clock: Clock | None = None,
        idle_s: float = IDLE_S,
    ) -> None:
        """``idle_s``: how long a connection for questions waits for the next one."""
        self._idle_s = idle_s
        self._logdirs = tuple(path.expanduser() for path in logdirs)
        self._outlet = Outlet(write)
        self._ends = ends
        self._clock = clock or SystemClock()
        self._incoming = FrameReader()
        self._asked: SimpleQueue[Frame] = SimpleQueue()
        self._answers: SimpleQueue[Frame] = SimpleQueue()
        self._found: list[RunKey] = []
        self._chosen: list[RunKey] = []
        self._state = State()

    # -- the thread that listens ------------------------------------------------------------

    def take(self, data: bytes) -> None:
        """Bytes from the other side. Raises WireError."""
        for frame in self._incoming.feed(data):
            (self._answers if frame.kind == Kind.CHOSEN else self._asked).put(frame)

    def beat(self) -> None:
        """A sign of life. Raises OSError."""
        self._outlet.put(Kind.HEARTBEAT)

    # -- the main thread --------------------------------------------------------------------

    def run(self) -> None:
        """Serve: to the end of the logs, for ever, or while something is asked. Raises OSError,
        WireError."""
        try:
            self._serve()
        except OversizeError as error:
            self._outlet.put(Kind.ERROR, dump_error(str(error), bad_path=False))

    def _serve(self) -> None:
        hello = Hello(__version__, self._logdirs, self._clock.now(), (FILES, AGAIN))
        self._outlet.put(Kind.HELLO, hello.dump())
        first = self._next(Kind.REQUEST, Kind.ASK)
        if first.kind == Kind.ASK:
            self._answer(first)
        else:
            self._read(Request.load(first))

    def _read(self, request: Request) -> None:
        known = HandedOver(self._known(request.known))
        reader = Reader(
            self._logdirs,
            clock=self._clock,
            verify=request.verify,
            watch=request.watch,
            choose=self._choose if request.chooses else None,
            step_keys=request.step_keys or None,
            ends=self._ends,
            waits=request.waits,
            handed_over=known,
        )
        try:
            reader.scan()
        except SourceError as error:
            self._outlet.put(Kind.ERROR, dump_error(str(error), bad_path=True))
            return
        self._send_state(reader)
        self._outlet.put(Kind.SCANNED)
        first = self._next(Kind.READ, Kind.AGAIN)
        if first.kind == Kind.AGAIN:
            self._read_again(reader, first)
            return
        follow = load_read(first)
        for batch in known.vanished():
            self._outlet.put_batch(batch)
        self._outlet.flush()
        if follow:
            self._follow(reader)
        else:
            self._read_all(reader)

    def _read_all(self, reader: Reader) -> None:
        for batch in reader.read_all():
            self._hand_over(batch)
        self._send_state(reader)
        self._outlet.put(Kind.END)

    def _follow(self, reader: Reader) -> None:
        try:
            reader.start()
            while True:
                reader.wait(HEARTBEAT_S)
                for batch in reader.drain():
                    self._hand_over(batch)
                self._send_state(reader)
        finally:
            reader.stop()

    def _answer(self, first: Frame) -> None:
        """Answer questions about files."""
        frame: Frame | None = first
        while frame is not None:
            self._outlet.put(Kind.ANSWER, answer(Question.load(frame)).dump())
            frame = self._next_or_none(Kind.ASK)

    def _read_again(self, reader: Reader, first: Frame) -> None:
        """Read runs again as far as they are known on the other side."""
        scanned = self._clock.monotonic()
        frame: Frame | None = first
        while frame is not None:
            wanted, only_ask = Again.load(frame)
            batches = _again(reader, wanted)
            if batches is None and self._clock.monotonic() - scanned > _FRESH_S:
                with suppress(SourceError):
                    reader.scan()  # its files may be newer than the search
                scanned = self._clock.monotonic()
                batches = _again(reader, wanted)
            self._outlet.put(Kind.KEPT, dump_kept(kept=batches is not None))
            if batches is not None and not only_ask:
                for batch in batches:
                    self._outlet.put_batch(batch)
                self._outlet.put(Kind.END)
            frame = self._next_or_none(Kind.AGAIN)

    def _hand_over(self, batch: Batch) -> None:
        if says_something(batch):
            self._outlet.put_batch(batch)

    def _send_state(self, reader: Reader) -> None:
        """Send what has changed since the last time, and all batches before it."""
        state = State(reader.progress(), reader.run_count, reader.notes, reader.unclaimed)
        news, self._state = state.since(self._state), state
        if news != State():
            self._outlet.put(Kind.STATE, news.dump())
        self._outlet.flush()

    def _choose(self, keys: Collection[RunKey]) -> Collection[RunKey]:
        """Ask the other side which runs to read, unless they are the same as before."""
        found = list(keys)
        if found != self._found:
            self._outlet.put(Kind.FOUND, dump_found(found))
            chosen = load_chosen(self._answers.get())
            self._chosen = [found[n] for n in chosen if n < len(found)]
            self._found = found
        return self._chosen

    def _known(self, count: int) -> Iterator[Batch]:
        decoder = BatchDecoder(len(self._logdirs))
        for _ in range(count):
            batch = decoder.take(self._next(Kind.BATCH))
            if batch is not None:
                yield batch

    def _next(self, *kinds: Kind) -> Frame:
        frame = self._asked.get()
        while frame.kind not in kinds:
            self._skip(frame, kinds)
            frame = self._asked.get()
        return frame

    def _next_or_none(self, kind: Kind) -> Frame | None:
        """None when nothing is asked for long."""
        while True:
            try:
                frame = self._asked.get(timeout=self._idle_s)
            except Empty:
                return None
            if frame.kind == kind:
                return frame
            self._skip(frame, (kind,))

    def _skip(self, frame: Frame, kinds: Sequence[Kind]) -> None:
        """Pass over a frame that says nothing. Raises WireError for another one."""
        if frame.kind != Kind.HEARTBEAT and frame.kind in set(Kind):
            names = " or ".join(kind.name for kind in kinds)
            raise WireError(f"a frame of kind {names} was expected")


def _again(reader: Reader, wanted: Again) -> Iterator[Batch] | None:
    sources = {
        f.path: SourceInfo(f.path, "", 0, f.offset, f.offset, 0, f.modified) for f in wanted.files
    }
    finished = {f.path for f in wanted.files if f.finished}
    return reader.read_again(wanted.run, sources, (), finished)
