"""Client side of a connection to ``rltui stream``: requests logs, receives batches."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from rltui.core.batch import Batch, Note, RunKey
from rltui.core.errors import SourceError
from rltui.core.level import Level
from rltui.files.trouble import skew
from rltui.remote.wire import messages
from rltui.remote.wire.batches import BatchDecoder, BatchEncoder
from rltui.remote.wire.codec import WireError, dump
from rltui.remote.wire.framing import Frame, FrameReader, FrameWriter, Kind, VersionError
from rltui.sources.follow.resume import HandedOver
from rltui.sources.follow.threaded_reader import ThreadedReader
from rltui.sources.options import ReaderOptions

#: A batch, a message, an answer with its bytes, or the kind of a frame without content.
Event = Batch | messages.Message | tuple[messages.Answer, bytes] | Kind


#: What the other side lacks to speak with this one, for people.
NO_RLTUI = "no rltui there"
OTHER_RLTUI = "another version of rltui there (install the same one on both sides)"


class StreamError(Exception):
    """The connection has ended; the text says why."""

    def __init__(self, why: str, *, missing: str = "") -> None:
        """``missing``: :data:`NO_RLTUI` or :data:`OTHER_RLTUI`, if that is why."""
        super().__init__(why)
        self.missing = missing


class NotInstalledError(SourceError):
    """A host has no rltui, or one that speaks another version; the text says which."""

    def __init__(self, missing: str, instead: Callable[[], ThreadedReader]) -> None:
        """``instead`` opens a reader that needs none there; it raises SourceError."""
        super().__init__(missing)
        self.instead = instead


class Transport(Protocol):
    """Carries the bytes of one connection. Not thread-safe, but for :meth:`close`."""

    def send(self, data: bytes) -> None:
        """Send all bytes. If the connection is lost, :meth:`receive` says so."""

    def receive(self) -> bytes:
        """Wait for bytes and return them; may return none. Raises StreamError."""

    def close(self) -> None:
        """End the connection; a thread that waits in :meth:`receive` is woken."""

    def release(self) -> None:
        """Free resources after the end, in the thread that receives."""


class Paths(ABC):
    """Translates paths and run keys between the far side and this one."""

    def __init__(self) -> None:
        self._here: dict[Path, Path] = {}

    @abstractmethod
    def translated(self, path: Path) -> Path:
        """The local name of a far path."""

    @abstractmethod
    def there(self, path: Path) -> Path:
        """The far path of a local name: inverse of :meth:`translated`."""

    def key(self, key: RunKey) -> RunKey:
        """The session's key of a far run."""
        return key

    def batch(self, batch: Batch) -> Batch:
        """A batch with local paths and the session's key."""
        path = batch.source.path
        run_path = batch.run_path
        for there in (path, run_path):
            if there not in self._here:
                self._here[there] = self.translated(there)
        source = batch.source._replace(path=self._here[path])
        notes = self.notes(batch.notes)
        key = self.key(batch.run)
        run_path = self._here[run_path]
        return replace(batch, run=key, source=source, run_path=run_path, notes=notes)

    def notes(self, notes: Sequence[Note]) -> tuple[Note, ...]:
        """Notes with local paths, which are not cached: there may be any number of them."""
        return tuple(
            note._replace(path=self._here.get(note.path) or self.translated(note.path))
            for note in notes
        )


class Conversation:
    """Speaks with ``rltui stream`` over one connection. Not thread-safe, but for :meth:`close`."""

    def __init__(
        self,
        transport: Transport,
        logdirs: int,
        options: ReaderOptions,
        paths_of: Callable[[Sequence[Path]], Paths],
        state: messages.State | None = None,
    ) -> None:
        """``logdirs``: how many are read; ``paths_of`` makes :class:`Paths` of their names on the
        far side; ``state``: the last one of an earlier connection."""
        self._transport = transport
        self._logdirs = logdirs
        self._options = options
        self._paths_of = paths_of
        self._reader = FrameReader()
        self._writer = FrameWriter(transport.send)
        self._decoder = BatchDecoder(logdirs)
        self._events: Iterator[Event] | None = None
        """Events that have been decoded but not consumed."""
        self._lists = 0
        """How many lists of runs to choose from have arrived."""
        self.paths: Paths | None = None
        """None until the far side has introduced itself."""
        self.state = state or messages.State()
        """Newest state of the far side, with local paths."""
        self.clock_offset_s = 0.0
        """Seconds by which the far clock is ahead of the local one."""

    # -- sending ------------------------------------------------------------------------------

    def send(self, *said: messages.Message) -> None:
        """Send messages."""
        for message in said:
            self._writer.put(Frame(messages.kind_of(message), dump(message)))
        self._writer.flush()

    def request(self, known: HandedOver, *, chooses: bool) -> None:
        """Have the far side search for runs. ``known``: the newest batch of each file so far;
        ``chooses``: the far side sends :class:`Found` and waits for :meth:`choose`."""
        batches = list(known)
        options = self._options
        how = options.verify, options.waits, chooses, options.watch
        request = messages.Request(tuple(options.step_keys or ()), *how, len(batches))
        self._writer.put(Frame(Kind.REQUEST, dump(request)))
        encoder = BatchEncoder()
        for batch in batches:
            for frame in encoder.frames(batch):
                self._writer.put(frame)
        self._writer.flush()

    def choose(self, numbers: Sequence[int]) -> None:
        """Say which runs of the newest list are to be read."""
        self.send(messages.Chosen(tuple(numbers), self._lists))

    # -- receiving ----------------------------------------------------------------------------

    def feed(self, data: bytes) -> Iterator[Event]:
        """Decode received bytes into events; batches keep the far side's paths. Raises StreamError,
        and SourceError for a path that is missing or no log."""
        try:
            for frame in self._reader.feed(data):
                if frame.kind == Kind.HELLO or self.paths is not None:
                    yield from self._said(frame)
                else:
                    raise WireError("the other side did not introduce itself")
        except VersionError as error:
            raise StreamError(f"rltui there speaks {error}", missing=OTHER_RLTUI) from None
        except WireError as error:
            raise StreamError(f"what arrives is not what rltui stream sends: {error}") from None

    def _said(self, frame: Frame) -> Iterator[Event]:
        if frame.kind in (Kind.BATCH, Kind.PART):
            batch = self._decoder.batch_of(frame)
            if batch is not None:
                yield batch
            return
        message = messages.message_in(frame)
        if isinstance(message, messages.Hello):
            if len(message.logdirs) != self._logdirs:
                raise WireError("the number of logdirs is wrong")
            self.paths = self._paths_of(message.logdirs)
            self.clock_offset_s = message.now - self._options.clock.now()
        elif isinstance(message, messages.State):
            assert self.paths is not None
            names = ("progress", "run_count", "notes", "unclaimed")
            news = {n: known for n in names if (known := getattr(message, n)) is not None}
            for name in news.keys() & {"notes", "unclaimed"}:
                news[name] = self.paths.notes(news[name])
            self.state = replace(self.state, **news)
        elif isinstance(message, messages.Error):
            raise (SourceError if message.bad_path else StreamError)(message.text)
        elif isinstance(message, messages.Found):
            if any(key.logdir >= self._logdirs for key in message.runs):
                raise WireError("a run is of no logdir")
            self._lists += 1
        if isinstance(message, messages.Answer):
            yield message, frame.columns
        elif message is not None:
            yield message
        elif frame.kind in set(Kind):
            yield Kind(frame.kind)

    def arriving(self) -> Iterator[Event]:
        """Wait for the next events, perhaps none; the next call yields those not consumed."""
        if self._events is None:
            try:
                self._events = self.feed(self._transport.receive())
            except StreamError as lost:
                if self.paths is not None:
                    lost.missing = ""
                raise
        for event in self._events:  # noqa: UP028 - `yield from` would close the generator
            yield event
        self._events = None

    # -- waiting for an answer ------------------------------------------------------------------

    def search(self, known: HandedOver) -> None:
        """Have the far side search, and choose at once what to read. Raises StreamError, and
        SourceError for a path that is missing or no log."""
        self.request(known, chooses=self._options.choose is not None)
        while True:
            for event in self.arriving():
                if event is Kind.SCANNED:
                    return
                self._answer(event)

    def batches(self) -> Iterator[Batch]:
        """Batches to the end of what was asked for, with the paths of the other side. Raises
        StreamError."""
        while True:
            for event in self.arriving():
                if event is Kind.END:
                    return
                if isinstance(event, Batch):
                    yield event
                self._answer(event)

    def read(self, *, follow: bool) -> Iterator[Batch]:
        """The batches of all runs; those of files that are followed never end."""
        self.send(messages.Read(follow))
        return self.batches()

    def keeps(self, wanted: messages.Again) -> bool:
        """Whether the files of a run (far paths) still hold what was read of them; if so,
        :meth:`batches` follow. Call it after :meth:`search`. Raises StreamError."""
        self.send(wanted)
        while True:
            for event in self.arriving():
                if isinstance(event, messages.Kept):
                    return event.kept

    def _answer(self, event: object) -> None:
        """Say which of the runs that were found are to be read."""
        if isinstance(event, messages.Found):
            assert self.paths is not None
            choose = self._options.choose
            keys = list(map(self.paths.key, event.runs))
            chosen = set(choose(keys)) if choose is not None else set()
            self.choose([n for n, key in enumerate(keys) if key in chosen])

    def close(self) -> None:
        """End it, from any thread."""
        self._transport.close()

    def hang_up(self) -> None:
        """End it and free what it needs, in the thread that reads."""
        self._transport.close()
        self._transport.release()


def clock_note(path: Path, host: str, ahead_s: float) -> tuple[Note, ...]:
    """A note that a host's clock is wrong, if it is ahead of the local one by so much."""
    wrong_s = skew(ahead_s)
    if not wrong_s:
        return ()
    side = "ahead of" if wrong_s > 0 else "behind"
    text = f"the clock of {host} is {abs(wrong_s):.0f} s {side} the one here"
    return (Note(path, None, Level.WATCH, text),)


class Caller:
    """Holds a connection that is opened when something is asked, and closed from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        """Held by the thread that uses the connection."""
        self._talk: Conversation | None = None
        """The connection; the host may end it while nothing is asked."""

    def close(self) -> None:
        """End the connection, from any thread; what is under way fails."""
        talk = self._talk
        if talk is not None:
            talk.close()
        if self._lock.acquire(blocking=False):  # else the one that asks hangs up
            try:
                self._hang_up()
            finally:
                self._lock.release()

    def _hang_up(self) -> None:
        talk = self._talk
        self._talk = None
        if talk is not None:
            talk.hang_up()
