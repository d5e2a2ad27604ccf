"""One connection to another host: the system's ssh, which runs ``rltui stream`` there, or a script
where there is no rltui."""

from __future__ import annotations

import os
import re
import selectors
import shlex
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from rltui.core.address import RemotePath
from rltui.core.errors import UsageError
from rltui.core.text import clean, clean_bytes
from rltui.remote import host_script
from rltui.remote.stream_client import NO_RLTUI, OTHER_RLTUI, Paths, StreamError

#: Seconds without a sign of life after which the connection counts as lost.
SILENCE_S = 45.0
_PIECE = 1 << 18
_MOST_SAID = 1 << 12
_GRACE_S = 2.0
_NO_COMMAND = 127
_NO_VERB = 2
#: No password is asked for, no terminal and no forwarding is wanted, and a dead connection is
#: noticed.
_OPTIONS = (
    *("-T", "-oBatchMode=yes", "-oConnectTimeout=15", "-oServerAliveInterval=10"),
    *("-oServerAliveCountMax=3", "-oClearAllForwardings=yes", "-oRemoteCommand=none"),
)
#: Reads a script of ``size`` bytes, and not one more, and runs it.
_LOADER = (
    'import os;s=b"";exec("while len(s)<{size}:s+=os.read(0,{size}-len(s)) or os._exit(1)");exec(s)'
)
_AUTHORITY = re.compile(r"(?:([\w.+@%-]+)@)?(?:\[([0-9a-fA-F:.%\w]+)\]|([\w.-]+))(?::(\d{1,5}))?")


class CommandProcess:
    """A :class:`~rltui.remote.stream_client.Transport`: runs a command that connects."""

    def __init__(self, command: Sequence[str], first: bytes = b"") -> None:
        """``first``: what the command reads before anything else. Raises StreamError where it
        cannot be run."""
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
            raise StreamError(f"{command[0]} cannot be run: {error.strerror}") from None
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._in = process.stdin
        self._out = process.stdout
        self._err = process.stderr
        self._said = b""
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._out, selectors.EVENT_READ)
        self._selector.register(self._err, selectors.EVENT_READ)
        self.send(first)

    def send(self, data: bytes) -> None:
        view = memoryview(data)
        with suppress(OSError):
            while view:
                view = view[os.write(self._in.fileno(), view) :]

    def receive(self) -> bytes:
        """Wait for bytes of standard output and return them; none if only standard error has some.
        Raises StreamError."""
        ready = self._selector.select(SILENCE_S)
        if not ready:
            raise StreamError("it does not answer")
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

    def close(self) -> None:
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
        self._selector.close()
        for pipe in (self._in, self._out, self._err):
            with suppress(OSError):
                pipe.close()

    def _ended(self) -> StreamError:
        try:
            code = self._process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            code = None
        if self._err in self._selector.get_map():
            os.set_blocking(self._err.fileno(), False)
            with suppress(BlockingIOError):
                self._said += os.read(self._err.fileno(), _MOST_SAID)
        lines = [line for raw in self._said.splitlines() if (line := clean_bytes(raw).strip())]
        missing = NO_RLTUI if code == _NO_COMMAND else ""
        if code == _NO_VERB and b"'stream'" in self._said:
            missing = OTHER_RLTUI
        return StreamError(lines[-1] if lines else "the connection has ended", missing=missing)


def stream_command(authority: str, places: Sequence[str], environ: Mapping[str, str]) -> list[str]:
    """The command that runs ``rltui stream`` on a host.

    ``authority`` is ``[USER@]HOST[:PORT]``; ``places`` are paths on it, which may begin with ``~``.
    ``RLTUI_SSH`` and ``RLTUI_REMOTE_COMMAND`` replace ``ssh`` and ``rltui``.

    Raises UsageError for what is not a host.
    """
    there = environ.get("RLTUI_REMOTE_COMMAND") or "rltui"
    words = [there, "stream", "--", *map(shlex.quote, places)]
    return _ssh_command(authority, " ".join(words), environ)


def script_command(authority: str, environ: Mapping[str, str]) -> tuple[list[str], bytes]:
    """The command that runs :mod:`rltui.remote.host_script` on a host, and the script, which it
    reads first. ``RLTUI_SSH`` and ``RLTUI_REMOTE_PYTHON`` replace ``ssh`` and ``python3``.

    Raises UsageError for what is not a host.
    """
    script = Path(host_script.__file__).read_bytes() + b"\nserve()\n"
    there = environ.get("RLTUI_REMOTE_PYTHON") or "python3"
    loader = _LOADER.format(size=len(script))
    command = _ssh_command(authority, f"{there} -ISc {shlex.quote(loader)}", environ)
    return command, script


def _ssh_command(authority: str, there: str, environ: Mapping[str, str]) -> list[str]:
    """The command that runs the words ``there`` in the shell of a host."""
    found = _AUTHORITY.fullmatch(authority)
    if found is None or authority.startswith("-") or (found[3] or "").startswith("-"):
        raise UsageError(f"{clean(authority)}: is not a host")
    user, address, name, port = found.groups()
    try:
        words = shlex.split(environ.get("RLTUI_SSH") or "ssh")
    except ValueError as error:
        raise UsageError(f"RLTUI_SSH: {error}") from None
    options = [*_OPTIONS, *(("-p", port) if port else ()), *(("-l", user) if user else ())]
    return [*words, *options, "--", address or name, there]


class HostPaths(Paths):
    """Paths of a host or cluster; those below a logdir begin with it as the user named it."""

    def __init__(self, logdirs: Sequence[RemotePath], there: Sequence[Path]) -> None:
        """``there``: the paths of the logdirs on that host."""
        super().__init__()
        self._pairs = list(zip(logdirs, there, strict=True))
        self._scheme = logdirs[0].parts[0]
        self._authority = logdirs[0].authority

    def translated(self, path: Path) -> Path:
        """The address of a path of the host."""
        for logdir, there in self._pairs:
            if path == there or there in path.parents:
                return logdir / path.relative_to(there)
        return RemotePath(self._scheme, self._authority, str(path).lstrip("/"))

    def there(self, path: Path) -> Path:
        """The path on the host that an address means."""
        for logdir, there in self._pairs:
            if path == logdir or logdir in path.parents:
                return there / path.relative_to(logdir)
        assert isinstance(path, RemotePath)
        return Path(path.place)
