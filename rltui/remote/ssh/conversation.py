"""What is said over one connection: what to read is asked for, batches come back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rltui.core.address import RemotePath
from rltui.core.batch import Batch
from rltui.core.errors import SourceError
from rltui.remote.ssh.link import FarPaths, Link, LinkLostError
from rltui.remote.wire import BatchDecoder, BatchEncoder, Frame, Kind, WireError
from rltui.remote.wire.messages import (
    AGAIN,
    Again,
    Hello,
    Request,
    State,
    dump_chosen,
    dump_read,
    load_error,
    load_found,
    load_kept,
)
from rltui.sources.follow.resume import HandedOver

if TYPE_CHECKING:
    from rltui.remote.part import Wishes


class Conversation:
    """Not thread-safe, but for :meth:`close`."""

    def __init__(
        self, command: Sequence[str], logdirs: Sequence[RemotePath], wishes: Wishes, state: State
    ) -> None:
        """``state`` is what the far side said before. Raises LinkLostError where the command
        cannot be run."""
        self._link = Link(command)
        self._logdirs = logdirs
        self._wishes = wishes
        self._decoder = BatchDecoder(len(logdirs))
        self.introduced = False
        """Whether its first frame has come."""
        self.cannot_reread = ""
        """Why the other side reads nothing again; empty when it does."""
        self.paths: FarPaths
        """As of its first frame."""
        self.state = state
        """As of now, with the paths of here."""
        self.ahead_s = 0.0
        """Seconds by which the clock of the other side is ahead."""

    def search(self, known: HandedOver) -> None:
        """Have the far side search for runs; ``known`` is what has come of them before.

        Raises LinkLostError, and SourceError for a path that is missing or no log.
        """
        batches = list(known)
        wishes = self._wishes
        request = Request(
            tuple(wishes.step_keys or ()),
            wishes.verify,
            wishes.waits,
            wishes.choose is not None,
            wishes.watch,
            len(batches),
        )
        self._link.send(Kind.REQUEST, request.dump())
        encoder = BatchEncoder()
        for batch in batches:
            for kind, payload in encoder.frames(batch):
                self._link.send(kind, payload, flush=False)
        self._link.flush()
        for frame in self._frames():
            if frame.kind == Kind.SCANNED:
                return

    def read(self, *, follow: bool) -> Iterator[Batch]:
        """The batches, with the paths of the other side; those of files that are followed never
        end. Raises LinkLostError."""
        self._link.send(Kind.READ, dump_read(follow=follow))
        for frame in self._frames():
            if frame.kind == Kind.END:
                return
            if frame.kind in (Kind.BATCH, Kind.PART):
                batch = self._decode(frame)
                if batch is not None:
                    yield batch

    def keeps(self, wanted: Again) -> bool:
        """Whether the files of a run, with the paths of the other side, still hold what was read
        of them. After :meth:`search`. Raises LinkLostError."""
        return self._asked_again(wanted, only_ask=True)

    def read_again(self, wanted: Again) -> Iterator[Batch] | None:
        """What was read of these files, with the paths of here; None if they do not hold it any
        more. Read all of it. Raises LinkLostError."""
        return self._batches() if self._asked_again(wanted, only_ask=False) else None

    def _asked_again(self, wanted: Again, *, only_ask: bool) -> bool:
        self._link.send(Kind.AGAIN, wanted.dump(only_ask=only_ask))
        for frame in self._frames():
            if frame.kind == Kind.KEPT:
                return load_kept(frame)
        raise AssertionError("frames never end")

    def _batches(self) -> Iterator[Batch]:
        for frame in self._frames():
            if frame.kind == Kind.END:
                return
            batch = self._decode(frame) if frame.kind in (Kind.BATCH, Kind.PART) else None
            if batch is not None:
                yield self.paths.batch(batch)

    def close(self) -> None:
        """End it, from any thread."""
        self._link.close()

    def release(self) -> None:
        """After the end, in the thread that reads."""
        self._link.release()

    def _frames(self) -> Iterator[Frame]:
        """Frames as they come; those about the conversation itself are answered."""
        try:
            while True:
                for frame in self._link.receive():
                    self._take(frame)
                    yield frame
        except WireError as error:
            raise LinkLostError(f"what arrives cannot be read: {error}") from None

    def _decode(self, frame: Frame) -> Batch | None:
        try:
            return self._decoder.take(frame)
        except WireError as error:
            raise LinkLostError(f"what arrives cannot be read: {error}") from None

    def _take(self, frame: Frame) -> None:
        if frame.kind == Kind.HELLO:
            hello = Hello.load(frame)
            if len(hello.logdirs) != len(self._logdirs):
                raise WireError("the number of logdirs is wrong")
            self.paths = FarPaths(self._logdirs, hello.logdirs)
            self.introduced = True
            self.cannot_reread = hello.lacks(AGAIN)
            self.ahead_s = hello.now - self._wishes.clock.now()
        elif not self.introduced:
            raise WireError("the other side did not introduce itself")
        elif frame.kind == Kind.FOUND:
            self._choose(frame)
        elif frame.kind == Kind.STATE:
            self._note_state(State.load(frame))
        elif frame.kind == Kind.ERROR:
            text, bad_path = load_error(frame)
            raise (SourceError if bad_path else LinkLostError)(text)

    def _choose(self, frame: Frame) -> None:
        found = load_found(frame, len(self._logdirs))
        if self._wishes.choose is None:
            raise WireError("nobody wants to choose runs")
        chosen = set(self._wishes.choose(found))
        numbers = [n for n, key in enumerate(found) if key in chosen]
        self._link.send(Kind.CHOSEN, dump_chosen(numbers))

    def _note_state(self, news: State) -> None:
        changed = {
            name: value
            for name in ("progress", "run_count", "notes", "unclaimed")
            if (value := getattr(news, name)) is not None
        }
        for name in {"notes", "unclaimed"} & changed.keys():
            changed[name] = self.paths.notes(changed[name])
        self.state = replace(self.state, **changed)
