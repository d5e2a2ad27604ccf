"""Reads logs on one node. The driver makes it an actor; it knows nothing of Ray.

Every call returns soon, and only one call of each method is under way at a time. Streams write into
bounded buffers and block while these are full.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from rltui.core.errors import RltuiError
from rltui.core.text import word_set
from rltui.files.disk import Mounts
from rltui.formats import ALL_FORMATS
from rltui.formats.base import Belonging
from rltui.remote.ray.messages import FromNode, LogRoot, NodeNews, Search, Searched, ToNode, Wanted
from rltui.remote.stream import Stream
from rltui.remote.wire.codec import WireError
from rltui.remote.wire.messages import State
from rltui.sources.discovery.processes import Process, Processes
from rltui.sources.follow.reader import Reader
from rltui.sources.options import ReaderOptions
from rltui.version import __version__

#: Least seconds from one answer with news to the next one, while more are gathered: a call costs
#: more than what it carries.
_GATHER_S = 0.1
#: Where Ray's workers write what they print.
_SESSION_LOGS = Path("/tmp/ray/session_latest/logs")
_WORKER_LOGS = "worker-"
#: Generations of parents that are searched for a process of Ray.
_DEPTH = 8
#: Bytes of a log per batch, and of a stream that wait for a call: a full queue of a reader and
#: what is on its way stay far below the memory that a node should spare.
_BUDGET_BYTES, _MOST_WAITING = 1 << 18, 1 << 20

_BOOT = Path("/proc/sys/kernel/random/boot_id")
#: File systems that other hosts see, too.
_SHARED = word_set("nfs nfs4 cifs smb3 lustre beegfs gpfs ceph afs orangefs wekafs panfs fuse")


class NodeReader:
    """Serves the streams of one node; Ray starts a process for it."""

    def __init__(self, reads: Wanted) -> None:
        self._reads = reads
        self._news = threading.Event()
        self._returned = 0.0
        self._channels: dict[int, Channel] = {}

    def fetch_news(self, patience_s: float, *, looks: bool) -> NodeNews:
        """Return the news of all channels. If ``looks``: at once and with the roots of the node;
        else wait up to ``patience_s`` seconds for news."""
        begun = time.time()
        roots = self._roots() if looks else None
        self._news.clear()
        news = self._fetched()
        if not (news or looks) and self._news.wait(patience_s):
            time.sleep(max(0.0, self._returned + _GATHER_S - time.monotonic()))
            news = self._fetched()
        self._returned = time.monotonic()
        return NodeNews(news, roots, __version__, (begun, time.time()), _resident())

    def handle(self, asked: ToNode | Search) -> Searched | None:
        """List the runs of a root, or feed bytes to a channel, while ``fetch_news`` waits."""
        if isinstance(asked, Search):
            return None if asked.at is None else _searched(asked.root, asked.at, self._reads)
        channel = self._channels.get(asked.channel)
        if channel is None and asked.at is not None:
            channel = Channel(asked.channel, asked.at, self._reads, self._news)
            self._channels[asked.channel] = channel
        if channel is not None:
            channel.feed(asked.data)
        return None

    def close(self) -> None:
        """Stop reading, where the process goes on."""
        for channel in self._channels.copy().values():
            channel.close()

    def _fetched(self) -> tuple[FromNode, ...]:
        found = [channel.fetch() for channel in self._channels.copy().values()]
        news = tuple(news for news in found if news is not None)
        for ended in (n.channel for n in news if n.ended):
            del self._channels[ended]
        return news

    def _roots(self) -> tuple[LogRoot, ...]:
        found: dict[tuple[int, str, str], LogRoot] = {}
        for number, text in enumerate(self._reads.logdirs):
            if text:
                with suppress(OSError, RuntimeError):  # no such user, or links that go in circles
                    root = root_at(number, expanded(text))
                    found.setdefault(root.key, root)
                continue
            for root in _written(number):
                found.setdefault(root.key, root)
        return tuple(found.values())


class Channel:
    """A stream in a thread of its own, so that a hanging root delays no other one."""

    def __init__(self, number: int, root: LogRoot, reads: Wanted, news: threading.Event) -> None:
        """``news`` is set when :meth:`fetch` has some."""
        self._number = number
        self._news = news
        self._lock = threading.Condition()
        self._waiting = b""
        self._ended = self._closed = False
        self._stream = Stream(
            [root.path], self._write, reads.ends, prefix=root.prefix, budget_bytes=_BUDGET_BYTES
        )
        threading.Thread(target=self._run, name="rltui-root", daemon=True).start()

    def feed(self, data: bytes) -> None:
        """Feed bytes of the session; malformed ones end the stream."""
        try:
            self._stream.feed(data)
        except WireError:
            self.close()

    def fetch(self) -> FromNode | None:
        """Return what the stream has written; None for nothing."""
        with self._lock:
            data, ended, self._waiting = self._waiting, self._ended, b""
            self._lock.notify_all()
        return FromNode(self._number, data, ended) if data or ended else None

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
        self._news.set()

    def _run(self) -> None:
        try:
            self._stream.run()
        except OSError:
            pass
        except Exception as error:  # noqa: BLE001 - of this root; the others go on
            with suppress(OSError):
                known = isinstance(error, RltuiError)
                self._stream.fail(str(error) if known else f"{type(error).__name__}: {error}")
        with self._lock:
            self._ended = True
        self._news.set()


def _searched(number: int, root: LogRoot, reads: Wanted) -> Searched:
    """The runs of a root, without reading them."""
    reader = Reader([root.path], ReaderOptions(ends=reads.ends))
    try:
        found = reader.scan()
    except RltuiError as error:
        return Searched(number, failure=str(error))
    runs = tuple(run for run in found if run.key.name.startswith(root.prefix))
    files = dict.fromkeys(file.path for run in runs for file in run.files)
    unreadable = tuple(path for path in files if not os.access(path, os.R_OK))
    unclaimed = () if root.prefix else reader.state.unclaimed
    state = State(notes=reader.state.notes, unclaimed=unclaimed)
    return Searched(number, runs, unreadable, state)


def _resident() -> int:
    """Resident bytes of this process; 0 where unknown."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


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
    kind, (source, within) = mounts.kind_of(path), mounts.origin_of(path)
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
