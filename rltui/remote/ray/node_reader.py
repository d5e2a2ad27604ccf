"""Reads logs on one node as an actor of Ray, of which it knows nothing.

A channel is one connection to a :class:`~rltui.remote.stream.Stream`, which blocks while its buffer
is full.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from rltui.core.errors import RltuiError
from rltui.core.text import word_set
from rltui.files.disk import Mounts
from rltui.formats import ALL_FORMATS
from rltui.formats.base import Belonging
from rltui.remote.stream import Stream
from rltui.remote.wire.codec import WireError
from rltui.sources.discovery.log_head import EndSigns
from rltui.sources.discovery.processes import Process, Processes
from rltui.version import __version__

#: Least seconds from one answer to the next one of a channel: a call costs more than what it
#: carries.
_GATHER_S = 0.1
#: Where Ray's workers write what they print.
_SESSION_LOGS = Path("/tmp/ray/session_latest/logs")
_WORKER_LOGS = "worker-"
#: Generations of parents that are searched for a process of Ray.
_DEPTH = 8
#: Bytes of a log per batch, and of a stream that wait for a call: a full queue of a reader and
#: what is on its way stay far below the memory that a node should spare.
_BUDGET_BYTES = 1 << 18
_MOST_WAITING = 1 << 20

_BOOT = Path("/proc/sys/kernel/random/boot_id")
#: File systems that other hosts see, too.
_SHARED = word_set("nfs nfs4 cifs smb3 lustre beegfs gpfs ceph afs orangefs wekafs panfs fuse")


class ClusterError(RltuiError):
    """The cluster cannot be reached, or does not run what it is asked to; text for people."""


class CodeMissingError(ClusterError):
    """rltui is not installed on a node, in another version, or lacks a package."""


class Node(NamedTuple):
    """A node that is alive."""

    id: str
    name: str
    """As Ray was told, else the name of the host."""


class LogRoot(NamedTuple):
    """A directory or file of logs on one node, or on all that share its file system."""

    logdir: int
    """Number of the logdir that it belongs to."""
    path: Path
    """Absolute, on the node."""
    identity: str
    """The same for all nodes that see the same directory, different for all others."""
    shared: bool
    """Whether it lies on a file system of the network, so that no node owns it."""
    inside: str = ""
    """Prefix of its runs' names, which tells apart the roots of one logdir on the node."""
    prefix: str = ""
    """Only runs whose name begins so are read."""

    @property
    def key(self) -> tuple[int, str, str]:
        """Equal for one root seen from several nodes."""
        return self.logdir, self.inside, self.identity


class NodeLook(NamedTuple):
    """Roots of a node."""

    roots: tuple[LogRoot, ...]
    version: str
    """Version of rltui on the node: it must be the one here."""


class NodeReader:
    """Serves the streams of one node; Ray starts a process for it."""

    def __init__(self, logdirs: Sequence[str], ends: EndSigns | None = None) -> None:
        """``logdirs``: paths on the node; empty ones: what Ray's workers write."""
        self._logdirs = tuple(logdirs)
        self._ends = ends
        self._channels: dict[str, Channel] = {}

    def look(self) -> NodeLook:
        """Search for roots."""
        found: dict[tuple[int, str, str], LogRoot] = {}
        for number, text in enumerate(self._logdirs):
            if text:
                with suppress(OSError, RuntimeError):  # no such user, or links that go in circles
                    root = root_at(number, expanded(text))
                    found.setdefault(root.key, root)
                continue
            for root in _written(number):
                found.setdefault(root.key, root)
        return NodeLook(tuple(found.values()), __version__)

    def open(self, channel: str, roots: Sequence[LogRoot]) -> None:
        """Begin a stream of some roots."""
        self._channels[channel] = Channel(roots, self._ends)

    def feed(self, channel: str, data: bytes) -> None:
        """Feed bytes to a stream."""
        if channel in self._channels:
            self._channels[channel].feed(data)

    def fetch(self, channel: str, patience_s: float) -> bytes | None:
        """Take what a stream has written, none after ``patience_s`` seconds; None at its end."""
        found = self._channels.get(channel)
        return None if found is None else found.fetch(patience_s)

    def end(self, channel: str) -> None:
        """End a stream."""
        found = self._channels.pop(channel, None)
        if found is not None:
            found.close()

    def close(self) -> None:
        """Stop reading, where the process goes on."""
        for channel in list(self._channels):
            self.end(channel)


class Channel:
    """A stream in a thread of its own."""

    def __init__(self, roots: Sequence[LogRoot], ends: EndSigns | None) -> None:
        self._lock = threading.Condition()
        self._waiting = b""
        self._fetched = 0.0
        """Monotonic time of the last answer."""
        self._ended = self._closed = False
        self._stream = Stream(
            [root.path for root in roots],
            self._write,
            ends,
            prefixes=[root.prefix for root in roots],
            budget_bytes=_BUDGET_BYTES,
        )
        threading.Thread(target=self._run, name="rltui-roots", daemon=True).start()

    def feed(self, data: bytes) -> None:
        """Feed bytes of the other side; malformed ones end the stream."""
        try:
            self._stream.feed(data)
        except WireError:
            self.close()

    def fetch(self, patience_s: float) -> bytes | None:
        """See :meth:`NodeReader.fetch`."""
        with self._lock:
            self._lock.wait_for(lambda: self._waiting or self._ended, patience_s)
            gather = self._fetched + _GATHER_S - time.monotonic()
            if gather > 0:
                self._lock.wait_for(lambda: self._ended, gather)
            data = self._waiting
            self._waiting = b""
            self._fetched = time.monotonic()
            self._lock.notify_all()
            return None if self._ended and not data else data

    def close(self) -> None:
        """End the stream."""
        with self._lock:
            self._closed = True
            self._lock.notify_all()
        self._stream.close()

    def _write(self, data: bytes) -> None:
        with self._lock:
            self._lock.wait_for(lambda: self._closed or len(self._waiting) < _MOST_WAITING)
            if self._closed:
                raise BrokenPipeError
            self._waiting += data
            self._lock.notify_all()

    def _run(self) -> None:
        self._stream.serve()
        with self._lock:
            self._ended = True
            self._lock.notify_all()


def _written(number: int) -> Iterator[LogRoot]:
    """Roots of what Ray's workers print, and of logs that they hold open, on this node."""
    logs = _SESSION_LOGS
    try:
        own = Path("/proc/self/fd/1").readlink()  # Ray redirects the output of this process, too
    except OSError:
        pass
    else:
        logs = own.parent if own.name.startswith(_WORKER_LOGS) else logs.resolve()
    with suppress(OSError):
        yield root_at(number, logs, prefix=_WORKER_LOGS)

    processes = Processes(os.getuid())
    written = processes.written(
        lambda name: any(f.claims_name(name) for f in ALL_FORMATS), lambda: False
    )
    for path in sorted(p for p, process in written.items() if _is_of_ray(process, processes)):
        if path.parent == logs:
            continue
        whole = any(
            f.claims_name(path.name) and f.belonging(path.name) is Belonging.DIRECTORY
            for f in ALL_FORMATS
        )
        home = path.parent if whole else path
        with suppress(OSError):
            yield root_at(number, home, str(path.parent).lstrip("/"))


def _is_of_ray(process: Process | None, processes: Processes) -> bool:
    for _ in range(_DEPTH):
        if process is None:
            return False
        title = process.arguments[0] if process.arguments else ""
        if title.startswith("ray::") or title.rpartition("/")[2] == "raylet":
            return True
        process = processes.get(process.parent)
    return False


def root_at(logdir: int, path: Path, inside: str = "", prefix: str = "") -> LogRoot:
    """The root of an existing path. Raises OSError."""
    path = path.resolve(strict=True)
    status = path.stat()
    mounts = Mounts()
    kind = mounts.kind_of(path)
    source, within = mounts.origin_of(path)
    if kind in _SHARED or (kind.startswith("fuse.") and not mounts.reports_writes(path)):
        return LogRoot(logdir, path, f"{kind} {source} {within}", True, inside, prefix)
    try:
        boot = _BOOT.read_text("ascii").strip()
    except OSError:
        boot = socket.gethostname()
    identity = f"{boot} {status.st_dev} {status.st_ino}"
    return LogRoot(logdir, path, identity, False, inside, prefix)


def expanded(text: str) -> Path:
    """A path with ``~`` and environment variables expanded on this node."""
    rest = os.path.expandvars(text.lstrip("/"))
    if rest.startswith("~"):
        return Path(rest).expanduser()
    return Path("/", rest.lstrip("/"))
