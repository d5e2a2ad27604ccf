"""One connection to ``rltui stream`` on another host."""

from __future__ import annotations

import os
import re
import selectors
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from rltui.core.address import SSH, RemotePath
from rltui.core.batch import Batch, Note
from rltui.core.clock import Clock
from rltui.core.errors import UsageError
from rltui.core.text import clean, clean_bytes
from rltui.files.trouble import Notes, Trouble
from rltui.remote.wire import Frame, FrameReader, FrameWriter, Kind, VersionError, WireError

#: Seconds without a sign of life after which the connection counts as lost.
SILENCE_S = 45.0
_PIECE = 1 << 18
_MOST_SAID = 1 << 12
_GRACE_S = 2.0
_NO_COMMAND, _NO_VERB = 127, 2
#: No password is asked for, no terminal and no forwarding is wanted, and a dead connection is
#: noticed.
_OPTIONS = (
    *("-T", "-oBatchMode=yes", "-oConnectTimeout=15", "-oServerAliveInterval=10"),
    *("-oServerAliveCountMax=3", "-oClearAllForwardings=yes", "-oRemoteCommand=none"),
)
_AUTHORITY = re.compile(r"(?:([\w.+@%-]+)@)?(?:\[([0-9a-fA-F:.%\w]+)\]|([\w.-]+))(?::(\d{1,5}))?")
#: A connection that is lost for fewer seconds is not worth a note on every run.
_NOTED_S = 10.0


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


def ssh_command(authority: str, places: Sequence[str], environ: Mapping[str, str]) -> list[str]:
    """``authority`` is ``[USER@]HOST[:PORT]``; ``places`` are paths there, ``~`` is the home
    directory. ``RLTUI_SSH`` and ``RLTUI_REMOTE_COMMAND`` replace ``ssh`` and ``rltui``.

    Raises UsageError for what is not a host.
    """
    found = _AUTHORITY.fullmatch(authority)
    if found is None or authority.startswith("-") or (found[3] or "").startswith("-"):
        raise UsageError(f"{clean(authority)}: is not a host")
    user, address, name, port = found.groups()
    try:
        words = shlex.split(environ.get("RLTUI_SSH") or "ssh")
    except ValueError as error:
        raise UsageError(f"RLTUI_SSH: {error}") from None
    options = [*_OPTIONS, *(("-p", port) if port else ()), *(("-l", user) if user else ())]
    there = environ.get("RLTUI_REMOTE_COMMAND") or "rltui"
    command = " ".join([there, "stream", "--", *map(shlex.quote, places)])
    return [*words, *options, "--", address or name, command]


class FarPaths:
    """Makes RemotePaths of paths on one host; those below a logdir begin as that logdir does."""

    def __init__(self, logdirs: Sequence[RemotePath], there: Sequence[Path]) -> None:
        """``there``: what the logdirs are called on that host."""
        self._pairs = list(zip(logdirs, there, strict=True))
        self._authority = logdirs[0].authority
        self._known: dict[Path, Path] = {}

    def here(self, path: Path) -> Path:
        """What a path is called here."""
        found = self._known.get(path)
        if found is None:
            found = self._known[path] = self._here(path)
        return found

    def there(self, path: RemotePath) -> Path:
        """What a path is called on that host."""
        for logdir, there in self._pairs:
            if path == logdir or logdir in path.parents:
                return there / path.relative_to(logdir)
        return Path(path.place)

    def batch(self, batch: Batch) -> Batch:
        """A batch with the paths of here."""
        source = replace(batch.source, path=self.here(batch.source.path))
        run_path, notes = self.here(batch.run_path), self.notes(batch.notes)
        return replace(batch, source=source, run_path=run_path, notes=notes)

    def notes(self, notes: Sequence[Note]) -> tuple[Note, ...]:
        """Notes with the paths of here, which may be without number: they are not kept."""
        return tuple(
            replace(note, path=self._known.get(note.path) or self._here(note.path))
            for note in notes
        )

    def _here(self, path: Path) -> Path:
        for logdir, there in self._pairs:
            if path == there or there in path.parents:
                return logdir / path.relative_to(there)
        return RemotePath(f"{SSH}:", self._authority, str(path).lstrip("/"))


class Outage:
    """Of one host."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._trouble = Trouble()
        self._since: float | None = None
        self._began = 0.0
        self.message = ""
        """Why it cannot be reached, and since when; empty while it can. Stands behind a path,
        which names the host."""

    @property
    def since(self) -> float | None:
        """When it was found to be out of reach, seconds since the epoch; None while it is not."""
        return self._since

    def begin(self, why: str, what: str = "not reachable") -> None:
        """An attempt has failed."""
        if self._since is None:
            self._since = self._clock.now()
            self._began = self._clock.monotonic()
        at = time.strftime("%H:%M:%S", time.localtime(self._since))
        self.message = f"{what} since {at}: {why}"

    def for_runs(self) -> Notes:
        """What its runs are to be noted about an outage that lasts, once."""
        lasted = self._clock.monotonic() - self._began
        if self._since is None or lasted < _NOTED_S or self._trouble.message:
            return ()
        return self._trouble.failed(self.message)

    def end(self) -> Notes:
        """It can be reached again; returns what its runs are to be noted."""
        self._since, self.message = None, ""
        return self._trouble.over()
