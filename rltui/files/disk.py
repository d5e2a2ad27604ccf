"""Status, names and bytes of the paths of logs, on this machine or elsewhere.

Local paths cost what the calls of the system cost. Others are those of fsspec, see
:mod:`rltui.files.remote.stores`, or of a host whose reader has :func:`offer`-ed them. All functions
raise OSError.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from rltui.core.address import RemotePath, is_remote
from rltui.core.batch import Note
from rltui.core.clock import Clock

if TYPE_CHECKING:
    from rltui.files.remote.requests import RemoteCosts

#: ``read(length, offset)``: the bytes of a file there, fewer at its end.
ReadAt = Callable[[int, int], bytes]


class Status(Protocol):
    """What ``os.stat`` returns, as far as it is used."""

    @property
    def st_mode(self) -> int: ...
    @property
    def st_dev(self) -> int: ...
    @property
    def st_ino(self) -> int: ...
    @property
    def st_size(self) -> int: ...
    @property
    def st_mtime(self) -> float: ...
    @property
    def st_mtime_ns(self) -> int: ...


class Entry(Protocol):
    """What ``os.scandir`` returns, as far as it is used."""

    @property
    def name(self) -> str: ...
    @property
    def path(self) -> str: ...
    def is_dir(self, *, follow_symlinks: bool = ...) -> bool: ...
    def is_file(self, *, follow_symlinks: bool = ...) -> bool: ...
    def is_symlink(self) -> bool: ...
    def stat(self) -> Status: ...


class Store(Protocol):
    """The files of one place elsewhere. Thread-safe; methods raise OSError."""

    @property
    def notes(self) -> tuple[Note, ...]:
        """What is wrong with the place as a whole."""

    def status(self, path: Path) -> Status:
        """Of a file or directory, links followed."""

    def entries(self, path: Path) -> Sequence[Entry]:
        """The names in a directory."""

    def is_directory(self, path: Path) -> bool:
        """Whether there is a directory."""

    def read(self, path: Path, begin: int, end: int | None) -> bytes:
        """Bytes of a file, to its end without ``end``; fewer where it ends."""

    def expect(self, directories: Sequence[Path], wanted: Callable[[str], bool]) -> None:
        """See :func:`expect`."""

    def is_spent(self, *, begins: bool = False) -> bool:
        """See :func:`is_spent`."""

    def costs(self) -> RemoteCosts | None:
        """What was asked; None where nobody counts."""


#: The stores of hosts, by scheme and authority.
_OFFERED: dict[tuple[str, ...], Store] = {}


def offer(root: RemotePath, store: Store) -> None:
    """Have a store answer for all paths of a host from now on."""
    _OFFERED[root.parts[:2]] = store


def status(path: Path) -> Status:
    """Of a file or directory, links followed."""
    return _store(path).status(path) if is_remote(path) else os.stat(path)  # noqa: PTH116 - hot


def listing(path: Path) -> Iterable[Entry]:
    """The names in a directory."""
    if is_remote(path):
        return _store(path).entries(path)
    with os.scandir(path) as found:
        return list(found)


def expect(directories: Sequence[Path], wanted: Callable[[str], bool]) -> None:
    """These directories of one place will be listed next, and the beginnings of their files of
    ``wanted`` names be read. Only a server makes use of that. Never raises."""
    if is_remote(directories[0]):
        _store(directories[0]).expect(directories, wanted)


def is_spent(path: Path, *, begins: bool = False) -> bool:
    """Whether a search has asked a server for as much as it may; ``begins``: it has yet to ask."""
    return is_remote(path) and _store(path).is_spent(begins=begins)


@contextmanager
def opened(path: Path) -> Iterator[ReadAt]:
    """Reads a file at any place. A pipe does not block."""
    if is_remote(path):
        store = _store(path)
        yield lambda length, offset: store.read(path, offset, offset + length)
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        yield lambda length, offset: os.pread(descriptor, length, offset)
    finally:
        os.close(descriptor)


def is_directory(path: Path) -> bool:
    """Whether a path is a directory, as far as is known; False when that cannot be found out."""
    if is_remote(path):
        try:
            return _store(path).is_directory(path)
        except OSError:
            return False
    return path.is_dir()


def read_all(path: Path) -> bytes:
    """A whole file."""
    return _store(path).read(path, 0, None) if is_remote(path) else path.read_bytes()


def connect(paths: Iterable[Path], clock: Clock, pace_s: float) -> None:
    """Prepare what is elsewhere, to be listed every ``pace_s`` seconds.

    Raises UsageError when what that needs is not installed.
    """
    for path in paths:
        if not is_remote(path):
            continue
        from rltui.files.remote.stores import connect as connect_store

        connect_store(path, clock, pace_s)


def costs(path: Path) -> RemoteCosts | None:
    """What the server of a path was asked, and will be by the minute; None for a path here."""
    return _store(path).costs() if is_remote(path) else None


def trouble(paths: Iterable[Path]) -> tuple[Note, ...]:
    """What is wrong with the servers of some paths as a whole. Does no I/O."""
    stores = {id(store): store for path in filter(is_remote, paths) if (store := _store(path))}
    return tuple(note for store in stores.values() for note in store.notes)


def _store(path: Path) -> Store:
    offered = _OFFERED.get(path.parts[:2])
    if offered is not None:
        return offered
    from rltui.files.remote.stores import store_of

    return store_of(path)
