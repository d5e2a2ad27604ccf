"""One connection to ``rltui stream`` on another host."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress

from rltui.core.text import clean_bytes
from rltui.remote.wire import Frame, FrameReader, FrameWriter, Kind, VersionError, WireError

#: Seconds without a sign of life after which the connection counts as lost.
SILENCE_S = 45.0
_PIECE = 1 << 18
_MOST_SAID = 1 << 12
_GRACE_S = 2.0
_NO_COMMAND, _NO_VERB = 127, 2


class LinkLostError(Exception):
    """The connection has ended; the text says why.

    ``missing``: there is no rltui, or one that knows no stream, on the other side.
    """

    def __init__(self, why: str, *, missing: bool = False) -> None:
        super().__init__(why)
        self.missing = missing


class Link:
    """Runs a command that connects. Not thread-safe, but for :meth:`close`."""

    def __init__(self, command: Sequence[str]) -> None:
        """Raises LinkLostError where the command cannot be run."""
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,  # it has no terminal: nobody is asked for a password
            )
        except OSError as error:
            raise LinkLostError(f"{command[0]} cannot be run: {error.strerror}") from None
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._in, self._out, self._err = process.stdin, process.stdout, process.stderr
        self._reader = FrameReader()
        self._frames: Iterator[Frame] | None = None
        self._writer = FrameWriter(self._write)
        self._said = b""
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._out, selectors.EVENT_READ)
        self._selector.register(self._err, selectors.EVENT_READ)

    def send(self, kind: Kind, payload: bytes = b"", *, flush: bool = True) -> None:
        """Send a frame. If the connection is lost, :meth:`receive` says so."""
        with suppress(OSError):
            self._writer.put(kind, payload)
        if flush:
            self.flush()

    def flush(self) -> None:
        """Send what waits."""
        with suppress(OSError):
            self._writer.flush()

    def receive(self) -> Iterator[Frame]:
        """The frames that arrive next, perhaps none; waits for something to arrive. Raises
        LinkLostError."""
        if self._frames is None:
            self._frames = self._reader.feed(self._read())
        try:
            for frame in self._frames:  # noqa: UP028 - `from` would end what nobody takes now
                yield frame
            self._frames = None
        except VersionError as error:
            why = f"rltui there speaks {error}: install the same version on both sides"
            raise LinkLostError(why) from None
        except WireError as error:
            raise LinkLostError(f"what arrives is not what rltui stream sends: {error}") from None

    def close(self) -> None:
        """End the connection; a thread that waits in :meth:`receive` is woken."""
        if self._process.poll() is not None:
            return
        with suppress(OSError):
            os.killpg(self._process.pid, signal.SIGTERM)
        try:
            self._process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            with suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def release(self) -> None:
        """Close the pipes, in the thread that reads from them."""
        self._selector.close()
        for pipe in (self._in, self._out, self._err):
            with suppress(OSError):
                pipe.close()

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._in.fileno(), view) :]

    def _read(self) -> bytes:
        """What arrives next on standard output; nothing where that is on standard error. Raises
        LinkLostError."""
        ready = self._selector.select(SILENCE_S)
        if not ready:
            raise LinkLostError("it does not answer")
        for key, _ in ready:
            data = os.read(key.fd, _PIECE)
            if key.fileobj is self._err:
                self._said = (self._said + data)[-_MOST_SAID:]
                if not data:
                    self._selector.unregister(self._err)
            elif data:
                return data
            else:
                raise self._ended()
        return b""

    def _ended(self) -> LinkLostError:
        try:
            code = self._process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            code = None
        if self._err in self._selector.get_map():
            os.set_blocking(self._err.fileno(), False)
            with suppress(BlockingIOError):
                self._said += os.read(self._err.fileno(), _MOST_SAID)
        lines = [line for raw in self._said.splitlines() if (line := clean_bytes(raw).strip())]
        absent = code == _NO_COMMAND or (code == _NO_VERB and b"'stream'" in self._said)
        missing = absent and not self._reader.begun
        return LinkLostError(lines[-1] if lines else "the connection has ended", missing=missing)
