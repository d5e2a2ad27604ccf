"""Sends requests to a server through fsspec, concurrently where its package is asynchronous.

A failure of the whole server is reported once and followed by a pause; a failure that concerns one
path is returned as the result for that path.
"""

from __future__ import annotations

import asyncio
import errno
import random
import threading
import time
from collections.abc import Callable, Sequence
from itertools import starmap
from pathlib import Path
from typing import Any

from rltui.core.address import RemotePath
from rltui.core.batch import Note
from rltui.core.clock import Clock, SystemClock
from rltui.core.level import Level
from rltui.core.record import record
from rltui.files.remote.errors import StoreError, redacted, translated
from rltui.files.trouble import READABLE, Backoff

#: Requests that are under way at the same time.
_TOGETHER = 16
#: Names that a directory may have, and notes that are kept.
MOST_NAMES = 100_000
_MOST_NOTES = 100

Info = dict[str, Any]
#: A path, its first byte, and the one behind the last (None: to the end).
Range = tuple[Path, int, int | None]
#: Longest pause between two attempts to use a server, in seconds; names that a server lists in
#: one answer.
_MOST_PAUSE_S = 60.0
_PAGE = 1000


class RemoteServer:
    """One server or bucket. Thread-safe; one round of requests at a time."""

    def __init__(
        self,
        address: RemotePath,
        open_filesystem: Callable[[RemotePath], Any],
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """``open_filesystem`` returns a file system of fsspec for an address, or raises; ``jitter``
        returns numbers from 0 to 1, so that many readers of one server do not retry at once."""
        self.root = RemotePath(*address.parts[:2])
        self.clock: Clock = SystemClock()
        self.asked = self.reads = self.bytes_read = 0
        """Listing pages and single look-ups requested; ranges received, and their bytes. Providers
        charge for these."""
        self._address = address
        self._open = open_filesystem
        self._fs: Any = None
        self._notes: tuple[Note, ...] = ()
        self._bounds: dict[Path, Note] = {}
        """Directories that are not listed completely."""
        self._backoff = Backoff(1.0, _MOST_PAUSE_S, lambda: 0.5 + jitter())
        self._wrong = ""
        self._since = 0.0
        """When the present failure began, seconds since the epoch."""
        self._lock = threading.RLock()

    @property
    def notes(self) -> tuple[Note, ...]:
        """Present or past trouble with the server, and what is not read for its size."""
        return (*self._notes, *self._bounds.values())

    @property
    def asks_together(self) -> bool:
        """Whether several questions take little longer than one."""
        return self._fs is not None and bool(self._fs.async_impl)

    def lists(self, paths: Sequence[Path]) -> list[list[Info] | OSError]:
        """The names in directories. Raises StoreError."""
        found = self._round("ls", [(path, {"detail": True}) for path in paths])
        for path, answer in zip(paths, found, strict=True):
            self.asked += pages(len(answer) if isinstance(answer, list) else 1)
            if isinstance(answer, list) and len(answer) > MOST_NAMES:
                del answer[MOST_NAMES:]
                message = f"lists more than {MOST_NAMES:,} names: the others are not read"
                if len(self._bounds) < _MOST_NOTES:
                    self._bounds[path] = Note(path, None, Level.WATCH, message)
        return found

    def tree(self, top: Path) -> dict[str, Info] | OSError:
        """Everything below a directory, by the name that the file system gives it. Raises
        StoreError."""
        found: dict[str, Info] | OSError = self._round("find", [(top, {"detail": True})])[0]
        self.asked += pages(len(found) if isinstance(found, dict) else 1)
        return found

    def infos(self, paths: Sequence[Path]) -> list[Info | OSError]:
        """Look up what there is at some paths, links followed. Raises StoreError."""
        found = self._round("info", [(p, {}) for p in paths])
        self.asked += len(found)
        return found

    def ranges(self, ranges: Sequence[Range]) -> list[bytes | OSError]:
        """Bytes of files, fewer where they end. Raises StoreError."""
        asked = [(p, {"start": b, "end": e} if b or e is not None else {}) for p, b, e in ranges]
        found = self._round("cat_file", asked)
        for n, answer in enumerate(found):
            if not isinstance(answer, OSError):
                found[n] = bytes(answer)
                self.reads += 1
                self.bytes_read += len(found[n])
        return found

    def name_of(self, path: Path) -> str:
        """How the file system calls a path."""
        return str(self._fs._strip_protocol(str(path)))

    def _round(self, method: str, asked: Sequence[tuple[Path, dict[str, Any]]]) -> list[Any]:
        """Call ``method`` for each (path, options); the result for a path may be an OSError.
        Raises StoreError."""
        with self._lock:
            now = self.clock.monotonic()
            if self._backoff.waits(now):
                raise StoreError(errno.EAGAIN, self._wrong)
            try:
                found = self._answers(method, asked)
            except Exception as error:  # noqa: BLE001 - each package has errors of its own
                found = [translated(error)]
            failure = next((a for a in found if isinstance(a, StoreError)), None)
            if failure is not None:
                self._failed(failure)
                raise failure from None
            if len(found) < len(asked):
                raise found[0] from None

            self._backoff.succeeded()
            if self._wrong:
                self._wrong = ""
                self._notes = (Note(self.root, None, Level.OK, READABLE),)
            return found

    def _answers(self, method: str, asked: Sequence[tuple[Path, dict[str, Any]]]) -> list[Any]:
        """The answers to the calls of a round. Raises what the package raises."""
        if self._fs is None:
            self._fs = self._open(self._address)
        if method != "cat_file":
            self._fs.invalidate_cache()
        calls = [(self.name_of(path), options) for path, options in asked]
        answers = _results(self._fs, method, calls)
        return [translated(a) if isinstance(a, Exception) else a for a in answers]

    def _failed(self, failure: StoreError) -> None:
        """Note the failure; the next attempt is made after a pause that doubles."""
        self._backoff.failed(self.clock.monotonic())
        if not self._wrong:
            self._since = self.clock.now()
        self._wrong = redacted(failure.strerror or str(failure))
        at = time.strftime("%H:%M:%S", time.localtime(self._since))
        what = f"cannot be read since {at}: {self._wrong}"
        note = f"{what}; what was read is kept, and it is tried again"
        self._notes = (Note(self.root, None, Level.WATCH, note),)
        if self._fs is not None and not self._fs.async_impl:
            self._fs = None  # a connection that broke does not come back


def _results(fs: Any, method: str, calls: Sequence[tuple[str, dict[str, Any]]]) -> list[Any]:
    """Results of calls of a method of a file system; exceptions in place of failed ones."""
    if fs.async_impl and len(calls) > 1:
        from fsspec.asyn import sync  # of an extra

        async def gathered() -> list[Any]:
            gate = asyncio.Semaphore(_TOGETHER)
            call = getattr(fs, f"_{method}")

            async def one(name: str, options: dict[str, Any]) -> Any:
                async with gate:
                    return await call(name, **options)

            return await asyncio.gather(*starmap(one, calls), return_exceptions=True)

        together: list[Any] = sync(fs.loop, gathered)
        return together

    from fsspec import AbstractFileSystem  # of an extra

    # no read-ahead where the file is opened to read a range
    opens = method == "cat_file" and type(fs).cat_file is AbstractFileSystem.cat_file
    own = {"cache_type": "none"} if opens and not fs.async_impl else {}
    found: list[Any] = []
    for name, options in calls:
        try:
            found.append(getattr(fs, method)(name, **options, **own))
        except Exception as error:  # noqa: BLE001, PERF203 - each package has errors of its own
            found.append(error)

    return found


@record
class RemoteCosts:
    """Requests to one server: so far, and expected per minute."""

    lists: int
    """Listings and look-ups of single files."""
    reads: int
    """Ranges of bytes."""
    bytes_read: int
    """Bytes that these brought."""
    least: int
    """Listings and look-ups per minute while everything is quiet."""
    most: int
    """Listings and look-ups per minute while every directory changes."""


def pages(names: int) -> int:
    """Pages that a listing of some names takes."""
    return max(1, -(-names // _PAGE))
