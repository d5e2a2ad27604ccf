"""A log that comes through a pipe: ``train.py 2>&1 | tee log | rltui watch -``.

A full pipe would stop the training: a thread of its own reads it whatever the rest of the program
does. Bytes that nobody takes (the view is paused for long) are kept up to a bound. No name says
what the log is: bytes wait, up to another bound, until a log format claims them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

from rltui.core.address import PIPE
from rltui.core.batch import Batch
from rltui.core.clock import Clock
from rltui.core.level import Level
from rltui.files.trouble import Notes
from rltui.formats.base import HEAD_BYTES, Decoded, Decoder, Format, Options
from rltui.sources.discovery.log_head import EndSigns
from rltui.sources.discovery.run_files import LogFile, RunFiles
from rltui.sources.follow.feed import Feed

_PIECE_BYTES = 1 << 16
#: Bytes kept for whoever takes them; beyond, the oldest lines are dropped, down to half.
_MOST_BYTES = 256 << 20
#: Bytes that wait until a format claims them; beyond, the older half is given up.
_UNCLAIMED_BYTES = 4 << 20
#: Earlier bytes that are searched again together with new ones for the first row, since a table
#: may take many lines.
_OVERLAP_BYTES = 1 << 14


class PipeReader:
    """Reads a file descriptor to its end, in a thread of its own."""

    def __init__(self, descriptor: int, on_bytes: Callable[[], None]) -> None:
        """``on_bytes`` is called in its thread when something came, or the end."""
        self._descriptor = descriptor
        self._on_bytes = on_bytes
        self._lock = threading.Condition()
        self._bytes = bytearray()
        self._dropped = 0
        self._ended = False
        self._thread = threading.Thread(target=self._run, name="rltui-pipe", daemon=True)
        self._thread.start()

    def read(self, budget_bytes: int, *, wait: bool) -> tuple[bytes, bool, bool, int]:
        """Bytes, whether there are more, whether that was the last of all, and how many were
        dropped since the last call, because nobody read them.

        ``wait``: block until something comes or the pipe ends.
        """
        with self._lock:
            if wait:
                self._lock.wait_for(lambda: bool(self._bytes) or self._ended)
            taken = bytes(self._bytes[:budget_bytes])
            del self._bytes[:budget_bytes]
            dropped = self._dropped
            self._dropped = 0
            return taken, bool(self._bytes), self._ended and not self._bytes, dropped

    def _run(self) -> None:
        piece = b"..."
        while piece:
            try:
                piece = os.read(self._descriptor, _PIECE_BYTES)
            except OSError:
                piece = b""  # a terminal that hung up
            with self._lock:
                waiting = self._bytes
                waiting += piece
                self._ended = not piece
                if len(waiting) > _MOST_BYTES:
                    # the oldest lines except the first, whose beginning may have been taken
                    begin = waiting.find(b"\n") + 1
                    half = len(waiting) - _MOST_BYTES // 2
                    end = waiting.find(b"\n", half) + 1 or len(waiting)
                    del waiting[begin:end]
                    self._dropped += end - begin
                self._lock.notify_all()
            self._on_bytes()


class StdinFeed(Feed):
    """Follows a pipe until its writer closes it."""

    def __init__(
        self,
        run: RunFiles,
        file: LogFile,
        options: Options,
        formats: Sequence[Format],
        pipe: PipeReader,
        clock: Clock,
        ends: EndSigns | None = None,
    ) -> None:
        super().__init__(run, file, None)
        self.modified = clock.now()
        self._options = options
        self._formats = formats
        self._pipe = pipe
        self._clock = clock
        self._ends = ends
        self._decoder: Decoder | None = None
        self._unclaimed = b""
        self._open_line = False
        """Whether the newest bytes do not end in a newline."""
        self._skipped = 0
        """Bytes that came before those of the decoder, or between them, and never got there."""

    def read(self, budget_bytes: int) -> Batch | None:
        """Read what has arrived."""
        if self.ended:
            return None

        data, more, self.ended, dropped = self._pipe.read(budget_bytes, wait=self.wait)
        new = bool(data) or self.ended or not self._begun or more != self._more
        # whoever waits wants all of it: there is more until the writer closes the pipe
        self._advance(more=more or (self.wait and not self.ended))
        if not new:
            return None

        self._skipped += dropped
        self.size += dropped + len(data)
        if data:
            self.modified = self._clock.now()
            self._open_line = not data.endswith(b"\n")
        if self.ended and self._open_line:  # nothing follows that could end the last line
            data += b"\n"

        begin = max(0, self.offset - self._skipped)
        decoded = self._contained(lambda: self._decode(data), begin)
        if self.ended and self.owner is None:
            decoded = decoded.then(self._contained(self._died, begin))
        return self._changed(decoded, dropped)

    def _changed(self, decoded: Decoded, dropped: int) -> Batch:
        trouble: Notes = ()
        if dropped:
            lost = f"{dropped:,} bytes were dropped: more came than could wait to be shown"
            trouble += ((Level.WATCH, lost),)

        if self.ended and self.owner is None and not self.given_up:
            trouble += ((Level.WATCH, "no rows of metrics came through it"),)
        if self._skipped:
            moved = (n._replace(offset=n.offset + self._skipped) for n in decoded.notes)
            decoded = replace(decoded, notes=tuple(moved))
        return self._batch(decoded, trouble)

    def _decode(self, data: bytes) -> Decoded:
        if self._decoder is None:
            waited = self._unclaimed
            self._unclaimed = b""
            form = self._claiming(waited, data) if data else None
            data = waited + data
            if form is None:
                if len(data) > _UNCLAIMED_BYTES:
                    self._skipped += len(data) - _UNCLAIMED_BYTES // 2
                    data = data[-_UNCLAIMED_BYTES // 2 :]
                self._unclaimed = data
                return Decoded()
            self.owner, self._decoder = form, form.decoder(self._options, PIPE)

        self.offset = self.size
        decoded = self._decoder.feed(data, more=self._more and not self.ended)
        if self.ended:
            decoded = decoded.then(self._decoder.finish())

        self._count(decoded)
        return decoded

    def _claiming(self, waited: bytes, data: bytes) -> Format | None:
        """The format that claims what has arrived, by its beginning or wherever its rows begin."""
        head = (waited[:HEAD_BYTES] + data)[:HEAD_BYTES] if len(waited) < HEAD_BYTES else b""
        overlap = waited[-_OVERLAP_BYTES:]
        if len(overlap) < len(waited):
            overlap = overlap.partition(b"\n")[2]

        for form in self._formats:
            piece = overlap + data if form.anywhere else head
            if piece and form.claims(PIPE, piece, self._options):
                return form
        return None

    def _died(self) -> Decoded:
        """The end of the output of a job that died before its first row."""
        form = next((f for f in self._formats if f.anywhere), None)
        if form is None or self._ends is None or not self._unclaimed:
            return Decoded()

        decoder = form.decoder(self._options, PIPE)
        decoded = decoder.feed(self._unclaimed).then(decoder.finish())
        if decoded.tail is None or not self._ends.show("", decoded.tail, named=True):
            return Decoded()

        self.owner, self.offset = form, self.size
        return decoded
