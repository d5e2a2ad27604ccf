"""Takes bytes out of a pipe as they come, so that the writer never has to wait.

A full pipe would stop the training: a thread of its own reads it whatever the rest of the
program does. Bytes that nobody takes (the view is paused for long) are kept up to a bound.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

_PIECE_BYTES = 1 << 16
#: Bytes kept for whoever takes them; beyond, the oldest lines are dropped, down to half.
_MOST_BYTES = 256 << 20


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

    def take(self, budget_bytes: int, *, wait: bool) -> tuple[bytes, bool, bool]:
        """Bytes, whether there are more, and whether that was the last of all.

        ``wait``: block until something comes or the pipe ends.
        """
        with self._lock:
            if wait:
                self._lock.wait_for(lambda: bool(self._bytes) or self._ended)
            taken = bytes(self._bytes[:budget_bytes])
            del self._bytes[:budget_bytes]
            return taken, bool(self._bytes), self._ended and not self._bytes

    def take_dropped(self) -> int:
        """Number of bytes dropped since the last call, because nobody took them."""
        with self._lock:
            dropped, self._dropped = self._dropped, 0
            return dropped

    def _run(self) -> None:
        while True:
            try:
                piece = os.read(self._descriptor, _PIECE_BYTES)
            except OSError:
                piece = b""  # a terminal that hung up
            with self._lock:
                self._bytes += piece
                self._ended = not piece
                if len(self._bytes) > _MOST_BYTES:
                    self._drop()
                self._lock.notify_all()
            self._on_bytes()
            if not piece:
                return

    def _drop(self) -> None:
        """Drop the oldest lines except the first, whose beginning may have been taken."""
        waiting = self._bytes
        begin = waiting.find(b"\n") + 1
        end = waiting.find(b"\n", len(waiting) - _MOST_BYTES // 2) + 1 or len(waiting)
        del waiting[begin:end]
        self._dropped += end - begin
