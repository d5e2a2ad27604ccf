"""The far side of a stream: runs a reader, and writes what it hands over to a pipe.

Blocks while the pipe is full, which blocks the reader: nothing piles up. Ends with its pipes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from queue import SimpleQueue

from rltui import __version__
from rltui.core.batch import Batch, RunKey
from rltui.core.clock import Clock, SystemClock
from rltui.core.errors import SourceError
from rltui.remote.wire import BatchDecoder, BatchEncoder, Frame, FrameReader, FrameWriter, Kind
from rltui.remote.wire.messages import (
    Hello,
    Request,
    State,
    dump_error,
    dump_found,
    load_chosen,
    load_read,
)
from rltui.remote.wire.record import WireError
from rltui.sources.discovery.log_head import EndSigns
from rltui.sources.follow.known import Known, says_something
from rltui.sources.follow.reader import Reader

#: Seconds between two signs of life.
HEARTBEAT_S = 5.0


class Outlet:
    """Writes frames from several threads."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._writer = FrameWriter(write)
        self._encoder = BatchEncoder()
        self._lock = threading.Lock()

    def put(self, kind: Kind, payload: bytes = b"", *, flush: bool = True) -> None:
        """Send a frame. Raises OSError."""
        with self._lock:
            self._writer.put(kind, payload)
            if flush:
                self._writer.flush()

    def put_batch(self, batch: Batch) -> None:
        """Send a batch, with the next frame that is flushed. Raises OSError."""
        with self._lock:
            for kind, payload in self._encoder.frames(batch):
                self._writer.put(kind, payload)


class Stream:
    """Serves one connection, whose frames arrive by :meth:`take`, in another thread."""

    def __init__(
        self,
        logdirs: Sequence[Path],
        write: Callable[[bytes], object],
        ends: EndSigns | None = None,
        clock: Clock | None = None,
    ) -> None:
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
        """Serve: to the end of the logs, or for ever. Raises OSError, WireError."""
        hello = Hello(__version__, self._logdirs, self._clock.now())
        self._outlet.put(Kind.HELLO, hello.dump())
        request = Request.load(self._next(Kind.REQUEST))
        known = Known(self._known(request.known))
        reader = Reader(
            self._logdirs,
            clock=self._clock,
            verify=request.verify,
            watch=request.watch,
            choose=self._choose if request.chooses else None,
            step_keys=request.step_keys or None,
            ends=self._ends,
            waits=request.waits,
            known=known,
        )
        try:
            reader.scan()
        except SourceError as error:
            self._outlet.put(Kind.ERROR, dump_error(str(error), bad_path=True))
            return
        self._send_state(reader)
        self._outlet.put(Kind.SCANNED)
        follow = load_read(self._next(Kind.READ))
        for batch in known.vanished():
            self._outlet.put_batch(batch)
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

    def _hand_over(self, batch: Batch) -> None:
        if says_something(batch):
            self._outlet.put_batch(batch)

    def _send_state(self, reader: Reader) -> None:
        """Send what has changed since the last time, and all batches before it."""
        state = State(reader.progress(), reader.run_count, reader.notes, reader.unclaimed)
        news, self._state = state.since(self._state), state
        if news != State():
            self._outlet.put(Kind.STATE, news.dump())

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

    def _next(self, kind: Kind) -> Frame:
        while True:
            frame = self._asked.get()
            if frame.kind == kind:
                return frame
            if frame.kind != Kind.HEARTBEAT and frame.kind in set(Kind):
                raise WireError(f"a frame of kind {kind.name} was expected")
