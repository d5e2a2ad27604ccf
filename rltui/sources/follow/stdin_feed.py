"""A log that comes through a pipe: ``train.py 2>&1 | tee log | rltui watch -``.

A thread of its own takes the bytes out of the pipe as they come, whatever the rest of the
program does: a full pipe would stop the training. What nobody takes (a view that is paused for
long), and what no log format has claimed yet, is kept up to a bound.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence

from rltui.core.batch import Batch, Note
from rltui.core.clock import Clock
from rltui.core.level import Level
from rltui.core.stdin import PIPE
from rltui.formats import HEAD_BYTES, Decoded, Decoder, Format, Options
from rltui.sources.discovery.run_files import LogFile, RunFiles
from rltui.sources.follow.feed import Following

_PIECE_BYTES = 1 << 16
#: Bytes that wait until a format claims them; beyond, the oldest are given up.
_UNCLAIMED_BYTES = 4 << 20
#: Bytes before what has come that are looked at with it for the first row: a table of many lines.
_OVERLAP_BYTES = 1 << 14
#: Bytes that wait until they are taken; beyond, the oldest of them are dropped, down to half.
_WAITING_BYTES = 256 << 20
#: What a piece takes beside its bytes.
_PIECE_COST = 64


class Pump:
    """Takes bytes out of a file descriptor in a thread of its own, until it ends."""

    def __init__(self, descriptor: int, on_bytes: Callable[[], None]) -> None:
        """``on_bytes`` is called in the pump's thread when something came, or the end."""
        self._descriptor = descriptor
        self._on_bytes = on_bytes
        self._lock = threading.Condition()
        self._pieces: deque[bytes] = deque()
        self._waiting = 0
        """What the pieces take, in bytes."""
        self._dropped = 0
        self._ended = False
        self._thread = threading.Thread(target=self._run, name="rltui-pump", daemon=True)
        self._thread.start()

    def take(self, budget_bytes: int, *, wait: bool) -> tuple[bytes, bool, bool]:
        """At least what is there up to the budget, whether there is more, whether it ended.

        ``wait``: until something comes or it ends.
        """
        with self._lock:
            if wait:
                self._lock.wait_for(lambda: bool(self._pieces) or self._ended)
            taken, size = [], 0
            while self._pieces and size < budget_bytes:
                taken.append(self._pop())
                size += len(taken[-1])
            return b"".join(taken), bool(self._pieces), self._ended and not self._pieces

    def take_dropped(self) -> int:
        """How many bytes were dropped since the last call, because nobody took them."""
        with self._lock:
            dropped, self._dropped = self._dropped, 0
            return dropped

    def _pop(self) -> bytes:
        piece = self._pieces.popleft()
        self._waiting -= len(piece) + _PIECE_COST
        return piece

    def _drop(self) -> None:
        """Drop the oldest lines but for the first, whose beginning may have been taken."""
        first = self._pop_line(_PIECE_BYTES)
        while self._waiting > _WAITING_BYTES // 2:
            self._dropped += len(self._pop())
        self._dropped += len(self._pop_line(_WAITING_BYTES))
        self._put_back(first if first.endswith(b"\n") else first + b"\n")

    def _pop_line(self, most_bytes: int) -> bytes:
        """Up to the first newline, but not much more than ``most_bytes``."""
        line = bytearray()
        while self._pieces and len(line) < most_bytes:
            head, newline, rest = self._pop().partition(b"\n")
            line += head + newline
            if newline:
                self._put_back(rest)
                break
        return bytes(line)

    def _put_back(self, piece: bytes) -> None:
        if piece:
            self._pieces.appendleft(piece)
            self._waiting += len(piece) + _PIECE_COST

    def _run(self) -> None:
        while True:
            try:
                piece = os.read(self._descriptor, _PIECE_BYTES)
            except OSError:
                piece = b""  # a terminal that hung up
            with self._lock:
                if piece:
                    self._pieces.append(piece)
                    self._waiting += len(piece) + _PIECE_COST
                    if self._waiting > _WAITING_BYTES:
                        self._drop()
                else:
                    self._ended = True
                self._lock.notify_all()
            self._on_bytes()
            if not piece:
                return


class PipeFeed(Following):
    """The counterpart of :class:`rltui.sources.follow.file_feed.Feed`. Owned by the reader."""

    def __init__(
        self,
        run: RunFiles,
        file: LogFile,
        options: Options,
        formats: Sequence[Format],
        pump: Pump,
        clock: Clock,
    ) -> None:
        super().__init__(run, file)
        self.offset = 0
        self.size = 0
        self.modified = clock.now()
        self.wait = False
        """Whether a read waits until something comes: for commands that want all of it."""
        self.ended = False
        """Whether the writer has closed the pipe."""
        self._options = options
        self._formats = formats
        self._pump = pump
        self._clock = clock
        self._format: Format | None = None
        self._decoder: Decoder | None = None
        self._head = b""
        self._open_line = False
        """Whether what came last does not end in a newline."""
        self._lost = 0
        """Bytes before those that were decoded, or between them, that nobody has seen."""
        self._trouble: list[Note] = []

    def overview(self) -> None:
        """None: what has gone through a pipe cannot be looked at again."""

    def read(self, budget_bytes: int) -> Batch | None:
        """Take what has come; None when nothing has, except for the first time."""
        if self.ended:
            return None
        data, more, ended = self._pump.take(budget_bytes, wait=self.wait)
        self._miss(self._pump.take_dropped())
        news = bool(data) or ended or not self._told or more != self._more
        # where all of it is wanted, it has been read when the writer has closed the pipe
        self._told, self._more = True, more or (self.wait and not ended)
        self.ended = ended
        self.read_once = self.read_once or not self._more
        if not news:
            return None
        if data:
            self.modified = self._clock.now()
            self.size += len(data)
            self._open_line = not data.endswith(b"\n")
        if ended and self._open_line:  # nothing follows that could end the last line
            data += b"\n"
        return self._batch(self._decode(data, ended))

    def _miss(self, dropped: int) -> None:
        if dropped:
            self._lost += dropped
            self.size += dropped
            told = f"more came than could wait to be shown: {dropped:,} bytes of it were dropped"
            self._trouble.append(Note(PIPE, None, Level.WATCH, told))

    def _decode(self, data: bytes, ended: bool) -> Decoded:
        if self._decoder is None:
            waited, self._head = self._head, b""
            self._format = self._claiming(waited, data) if data else None
            data = waited + data
            if self._format is None:
                self._keep(data)
                return Decoded()
            self._decoder = self._format.decoder(self._options, PIPE)
        self.offset = self.size
        decoded = self._decoder.feed(data, more=self._more and not ended)
        self._count(decoded)
        return decoded

    def _claiming(self, waited: bytes, data: bytes) -> Format | None:
        """The format that claims what has come: by its beginning, or wherever its rows begin."""
        head = (waited[:HEAD_BYTES] + data)[:HEAD_BYTES] if len(waited) < HEAD_BYTES else b""
        overlap = waited[-_OVERLAP_BYTES:]
        if len(overlap) < len(waited):
            overlap = overlap.partition(b"\n")[2]
        for form in self._formats:
            piece = overlap + data if form.anywhere else head
            if piece and form.claims(PIPE, piece, self._options):
                return form
        return None

    def _keep(self, data: bytes) -> None:
        if len(data) > _UNCLAIMED_BYTES:
            self._lost += len(data) - _UNCLAIMED_BYTES // 2
            data = data[-_UNCLAIMED_BYTES // 2 :]
        self._head = data

    def _batch(self, decoded: Decoded) -> Batch:
        form = self._format
        kind, exactness = ("", 1) if form is None else (form.name, form.exactness)
        source = self._info(kind, exactness, self.size, self.offset, self.modified)
        notes = [Note(PIPE, n.offset + self._lost, n.level, n.message) for n in decoded.notes]
        notes += self._trouble
        self._trouble = []
        if self.ended and form is None:
            notes.append(Note(PIPE, None, Level.WATCH, "no rows of metrics came through it"))
        return Batch(
            self.run.key,
            self.run.path,
            source,
            decoded.items,
            decoded.texts,
            decoded.hparams,
            tuple(notes),
            more=self._more,
            tail=decoded.tail,
            exit_code=decoded.exit_code,
        )
