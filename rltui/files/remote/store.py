"""Files of servers and buckets, with as few requests as possible.

Directories are listed every few seconds at most, and ever more rarely while they are quiet: one
listing has the size and version of all files in them. Bytes are read in ranges. Nothing is kept on
disk, nothing is ever written, and fsspec and its packages handle credentials.

While a server cannot be used, its files stay as they were, and :attr:`RemoteStore.notes` says why.
fsspec is an extra, and so is the package of most protocols: imported when an address needs it.
"""

from __future__ import annotations

import errno
import logging
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from rltui.core.address import RemotePath, is_streamed
from rltui.core.batch import Note
from rltui.core.clock import Clock, SystemClock
from rltui.core.errors import UsageError
from rltui.core.installation import to_add
from rltui.core.text import clean
from rltui.files.remote.errors import StoreError
from rltui.files.remote.server import Info, Range, RemoteCosts, RemoteServer
from rltui.files.remote.status import (
    FLAT,
    CachedLookup,
    RemoteEntry,
    RemoteStatus,
    Stamp,
    below,
    directory_of,
    names_by_directory,
    pages_of,
    status_of,
    top_of,
)
from rltui.files.trouble import skew

PACE_S = 5.0
#: Directories or files that are requested in one round.
_ROUND = 128
#: Beginnings of files that are kept, and bytes of each.
MOST_KEPT = 256
KEPT_BYTES = 1 << 16
#: Files whose new bytes are requested in one round, and bytes of each.
_NEWS_FILES = 64
_NEWS_BYTES = 1 << 18
_MISSING = FileNotFoundError(errno.ENOENT, "no such file or directory")

Names = dict[str, RemoteStatus]
#: Looks some paths up; an OSError in the place of a result concerns that path alone.
AskAll = Callable[[Sequence[Path]], list[Names | OSError]]


class RemoteStore:
    """Caches listings of one server or bucket. Thread-safe; while one thread sends a request, the
    others use older listings."""

    #: Most seconds between two listings of a quiet directory.
    most_pause_s = 60.0

    def __init__(self, server: RemoteServer) -> None:
        self.skew_s = 0.0
        """How far the server's clock is ahead, in seconds, as far as that shows."""
        self.pace_s = PACE_S
        """Seconds between two listings of a directory that changes."""
        self._server = server
        self._directories: dict[Path, CachedLookup] = {}
        self._files: dict[Path, CachedLookup] = {}
        self._beginnings: OrderedDict[Path, tuple[RemoteStatus, bytes]] = OrderedDict()
        """First bytes of files, kept for a while: formats ask for them in turn, and all of a small
        file is read next."""
        self._followed: dict[Path, tuple[int, Stamp | None]] = {}
        """File -> where its next read begins, and the stamp up to which it has been read."""
        self._news: dict[Path, tuple[RemoteStatus, int, bytes]] = {}
        """New bytes of followed files, requested together with those of another one."""
        self._lock = threading.RLock()

    def use(self, clock: Clock, pace_s: float) -> None:
        """Set the clock, and the least seconds between two listings of a directory."""
        self._server.clock = clock
        self.pace_s = pace_s

    def monotonic(self) -> float:
        """Monotonic time of its clock, seconds."""
        return self._server.clock.monotonic()

    @property
    def notes(self) -> tuple[Note, ...]:
        """Present or past trouble with the server."""
        return self._server.notes

    def costs(self) -> RemoteCosts:
        """Requests so far, and those that following costs from now on. Does no I/O."""
        known = self._directories
        server = self._server
        tops = {top_of(path, known) for path in known}
        lists = sum(min(len(below(t, known)), self._pages(t) or sys.maxsize) for t in tops)
        alone = sum(not s.is_directory for a in self._files.values() for s in a.found.values())
        low, high = ((lists + alone) * 60 / max(s, self.pace_s) for s in (self.most_pause_s, 0.0))
        return RemoteCosts(
            lists=server.asked,
            reads=server.reads,
            bytes_read=server.bytes_read,
            least=round(low),
            most=round(high),
        )

    # -- what is there ------------------------------------------------------------------------

    def status(self, path: Path) -> RemoteStatus:
        """Status of a file or directory: from the listing of its directory, or of those above it
        that are known, else by a look-up of its own. Raises OSError."""
        known = self._directories
        if path not in known and path.parent in known:
            found = self._names(path.parent).get(path.name)
            if found is not None and not found.is_directory:
                return found

        for depth in range(1, len(path.parts) + 1):
            above = RemotePath(*path.parts[:depth])
            if above not in known:
                continue
            names = self._names(above)
            if above == path:
                return directory_of(path, names)
            found = names.get(path.parts[depth])
            last = depth == len(path.parts) - 1
            if found is None or not (found.is_directory or last):
                raise _MISSING.with_traceback(None)
            if not found.is_directory:
                return found
            self._names(RemotePath(*path.parts[: depth + 1]))

        return self._looked_up(path)

    def entries(self, path: Path) -> list[RemoteEntry]:
        """The names in a directory. Raises OSError."""
        return [
            RemoteEntry(name, f"{path}/{name}", status.st_mode, status.itself)
            for name, status in self._names(path).items()
        ]

    def is_directory(self, path: Path) -> bool:
        """Whether a path is a directory, from known listings where possible. Raises OSError."""
        if path in self._directories:
            return self._directories[path].error is None
        above = self._directories.get(path.parent)
        known = above.found.get(path.name) if above is not None else None
        return (known or self.status(path)).is_directory

    def expect(self, directories: Iterable[Path], wanted: Callable[[str], bool]) -> None:
        """Prefetch directories that will be listed next, and the beginnings of their files of
        ``wanted`` names, where concurrent requests are quicker. Never raises."""
        with self._lock:
            fresh = [p for p in directories if p not in self._directories]
            if not self._server.asks_together or len(fresh) < 2:
                return
            try:
                self._renew(self._directories, fresh, self._list)
                files = [
                    (path / name, 0, min(status.st_size, KEPT_BYTES))
                    for path in fresh
                    for name, status in self._directories[path].found.items()
                    if status.st_size > 0 and wanted(name)
                ]
                self._read_together(files[: MOST_KEPT // 2])
            except OSError:
                return  # the caller's own request reports it

    # -- bytes --------------------------------------------------------------------------------

    def follow(self, path: Path, begin: int, stamp: Stamp | None) -> None:
        """Announce that a file will be read from ``begin`` on when its stamp is not ``stamp``."""
        self._followed[path] = begin, stamp

    def read(self, path: Path, begin: int, end: int | None) -> bytes:
        """The bytes from ``begin`` to ``end`` (None: the end of the file), fewer where the file
        ends. Raises OSError."""
        if end is not None and end <= begin:
            return b""
        with self._lock:
            status = self._known(path)
            if end is not None and status is not None:
                came = self._news.pop(path, None)
                if came and came[:2] == (status, begin) and end <= begin + len(came[2]):
                    return came[2][: end - begin]
                kept = self._beginnings.get(path)
                whole = min(end, status.st_size)
                if kept and kept[0] == status and whole <= len(kept[1]):
                    return kept[1][begin:whole]
            others = self._grown(path) if self._server.asks_together else []
            return self._read_together([(path, begin, end), *others])

    def _grown(self, path: Path) -> list[Range]:
        """Ranges of other followed files that have grown, to request together with ``path``."""
        found: list[Range] = []
        if path not in self._followed:
            return found
        for other, (begin, stamp) in list(self._followed.items()):  # another thread may add some
            status = self._known(other) if other != path else None
            if status is None or status.stamp == stamp or other in self._news:
                continue
            if 0 < status.st_size - begin <= _NEWS_BYTES and len(found) < _NEWS_FILES:
                found.append((other, begin, status.st_size))
        return found

    def _read_together(self, ranges: Sequence[Range]) -> bytes:
        """Read ranges, cache the others and return the first. Raises OSError of the first."""
        states = [self._known(path) for path, _, _ in ranges]
        answers = self._server.ranges(ranges) if ranges else [b""]
        for (path, begin, _), status, data in zip(ranges, states, answers, strict=False):
            if isinstance(data, OSError) or status is None:
                continue
            if not begin and 0 < len(data) <= KEPT_BYTES:
                self._beginnings.pop(path, None)
                self._beginnings[path] = status, data
                if len(self._beginnings) > MOST_KEPT:
                    self._beginnings.popitem(last=False)
            if path != ranges[0][0]:
                self._news[path] = status, begin, data
        if isinstance(answers[0], OSError):
            raise answers[0]

        return answers[0]

    def _known(self, path: Path) -> RemoteStatus | None:
        """The newest known status of a file, without a request."""
        above = self._directories.get(path.parent)
        found = above.found.get(path.name) if above is not None else None
        if found is None:
            alone = self._files.get(path)
            found = alone.found.get("") if alone is not None else None
        return found

    # -- the server's clock -------------------------------------------------------------------

    def local_time(self, modified: float) -> float:
        """Convert a time of the server's clock to the local clock, seconds since the epoch."""
        return min(modified - self.skew_s, self._server.clock.now())

    def changed_now(self, modified: float) -> None:
        """Estimate the server's clock from a file that grew since the last listing, and whose new
        time of modification is ``modified``."""
        ahead = modified - self._server.clock.now()
        late = min(0.0, ahead + 2 * self.pace_s)  # it may have grown some time before
        off = skew(max(ahead, 0.0) or late)
        if off or skew(ahead - self.skew_s):
            self.skew_s = ahead if off else 0.0

    # -- asking -------------------------------------------------------------------------------

    def _names(self, path: Path) -> Names:
        return self._answer(self._directories, path, self._list).found

    def _looked_up(self, path: Path) -> RemoteStatus:
        def look_up(paths: Sequence[Path]) -> list[Names | OSError]:
            found = zip(paths, self._server.infos(paths), strict=True)
            return [x if isinstance(x, OSError) else {"": status_of(p, x)} for p, x in found]

        return self._answer(self._files, path, look_up).found[""]

    def _answer(self, known: dict[Path, CachedLookup], path: Path, ask: AskAll) -> CachedLookup:
        """The cached result for a path, renewed if it is due, together with all others that are
        due."""
        answer = known.get(path)
        now = self.monotonic()
        if answer is None or self._is_due(answer, now):
            if self._lock.acquire(blocking=answer is None):
                try:
                    self._renew_due(known, path, ask, now)
                finally:
                    self._lock.release()
            answer = known[path]
        answer.used = now
        if answer.error is not None:
            raise answer.error.with_traceback(None)

        return answer

    def _is_due(self, answer: CachedLookup, now: float) -> bool:
        return now >= answer.due(self.pace_s, self.most_pause_s)

    def _renew_due(
        self, known: dict[Path, CachedLookup], path: Path, ask: AskAll, now: float
    ) -> None:
        before = known.get(path)
        if before is not None and not self._is_due(before, now):
            return  # another thread has asked
        due = [path]
        if self._server.asks_together:
            due += [
                p
                for p, a in known.items()
                if p != path and a.used >= a.asked and self._is_due(a, now)
            ]
        try:
            if not (known is self._directories and self._renew_tree(path, len(due))):
                self._renew(known, due[:_ROUND], ask)
        except StoreError:
            if before is None:
                raise

    def _renew_tree(self, path: Path, due: int) -> bool:
        """List a whole tree if that takes fewer requests than the ``due`` directories; returns
        whether it did. Raises StoreError."""
        known = self._directories
        pages = self._pages(top := top_of(path, known)) if due > 1 else None
        if pages is None or pages >= due:
            return False
        listed = self._server.tree(top)
        if isinstance(listed, OSError):
            return False
        found = names_by_directory(top, self._server.name_of(top), listed)
        paths = below(top, known)
        self._renew(known, paths, lambda _: [found.get(p) or _MISSING for p in paths])

        return True

    def _pages(self, top: Path) -> int | None:
        """Pages of a listing of a whole tree; None where the store has no such listing or ``top``
        has not been listed."""
        flat = isinstance(top, RemotePath) and top.scheme in FLAT
        return pages_of(top, self._directories) if flat and top in self._directories else None

    def _renew(self, known: dict[Path, CachedLookup], paths: Sequence[Path], ask: AskAll) -> None:
        """Request some paths and cache the results. Raises StoreError."""
        answers = ask(paths)
        now = self.monotonic()
        wall = self._server.clock.now()
        for path, found in zip(paths, answers, strict=True):
            before = known.get(path) or CachedLookup()
            error, names = (found, {}) if isinstance(found, OSError) else (None, found)
            known[path] = before.renewed(names, error, now, wall)

    def _list(self, paths: Sequence[Path]) -> list[Names | OSError]:
        found = zip(paths, self._server.lists(paths), strict=True)
        return [x if isinstance(x, OSError) else self._names_in(path, x) for path, x in found]

    def _names_in(self, path: Path, listed: Iterable[Info]) -> Names:
        found: Names = {}
        links: list[Path] = []
        for info in listed:
            full = str(info.get("name", ""))
            name = full.rstrip("/").rpartition("/")[2]
            child = path / name
            if not name or "?" in name or full.strip("/") != self._server.name_of(child).strip("/"):
                continue  # the marker of the directory itself, or a link elsewhere
            if info.get("type") in ("file", "directory"):
                found[name] = status_of(child, info)
            else:
                links.append(child)
        for child, target in zip(links, self._server.infos(links) if links else (), strict=True):
            status = None if isinstance(target, OSError) else status_of(child, target)
            if status is not None and not status.is_directory:  # directories may lead back
                found[child.name] = status

        return found


#: Protocol -> package that it needs besides fsspec. fsspec itself names those of other protocols.
_PACKAGES = {
    **dict.fromkeys(("s3", "s3a"), "s3fs"),
    **dict.fromkeys(("gs", "gcs"), "gcsfs"),
    **dict.fromkeys(("az", "abfs", "abfss"), "adlfs"),
    "hf": "huggingface_hub",
    "hdfs": "pyarrow",
}
_SILENT = logging.NullHandler()
_STORES: dict[tuple[str, ...], RemoteStore] = {}


def store_of(path: Path) -> RemoteStore:
    """The store of a path.

    Raises UsageError when what it needs is not installed, OSError when another reader has it."""
    assert isinstance(path, RemotePath)
    found = _STORES.get(path.parts[:2])
    if found is None and is_streamed(path):
        raise OSError(errno.EREMOTE, "the logs are read on another host")
    return found or connect(path, SystemClock(), PACE_S)


def register(root: RemotePath, store: RemoteStore) -> None:
    """Have the files of a host followed by its own store."""
    _STORES[root.parts[:2]] = store


def connect(path: Path, clock: Clock, pace_s: float) -> RemoteStore:
    """The store of a path, with its clock and pace set. Makes no request.

    Raises UsageError when what it needs is not installed.
    """
    assert isinstance(path, RemotePath)
    store = _STORES.get(path.parts[:2])
    if store is None:
        check_installed(path)
        store = _STORES[path.parts[:2]] = RemoteStore(RemoteServer(path, filesystem_of))
    store.use(clock, pace_s)

    return store


def needs(scheme: str) -> tuple[str, ...]:
    """The packages that an address with this protocol needs, as far as they are known."""
    own = _PACKAGES.get(scheme)
    return ("fsspec",) if own is None else ("fsspec", own)


def check_installed(path: RemotePath) -> None:
    """Raise UsageError when what an address needs is not installed."""
    shown = clean(str(path))
    try:
        from fsspec.registry import get_filesystem_class  # of an extra

        get_filesystem_class(path.scheme)
    except ImportError as error:
        packages = dict.fromkeys(needs(path.scheme))
        if path.scheme not in _PACKAGES and (missing := getattr(error.__cause__, "name", None)):
            packages[missing] = None
        names = " and ".join(packages)
        raise UsageError(f"{shown}: needs {names}: {to_add(*packages)}") from error
    except ValueError as error:
        raise UsageError(f"{shown}: fsspec knows no protocol {path.scheme}://") from error


def filesystem_of(path: RemotePath) -> Any:
    """A file system of fsspec for an address. Raises what its package raises."""
    from fsspec.core import url_to_fs  # of an extra
    from fsspec.registry import get_filesystem_class  # of an extra

    # What goes wrong becomes a note; without a handler Python would print what the package logs,
    # tracebacks among it, over the screen. A debug log gets it all the same.
    package = get_filesystem_class(path.scheme).__module__
    logging.getLogger(package.partition(".")[0]).addHandler(_SILENT)
    options = {"use_listings_cache": False, "skip_instance_cache": True}
    return url_to_fs(str(path), **options)[0]
