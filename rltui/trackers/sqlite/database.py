"""Opens another program's SQLite file for one short read. Knows no tables.

The writer must not notice: the file is opened read-only, for a fraction of a second, and nothing
is ever created beside it. What that takes (sqlite.org/wal.html, section "Read-Only Databases";
os_unix.c for ``readonly_shm``):

- With a rollback journal (MLflow's default) ``mode=ro`` is enough. While we read, the writer's
  commit waits for us as for any reader, well within its own timeout.
- In WAL mode (trackio) new rows are in ``-wal``, and readers meet in ``-shm``. Plain ``mode=ro``
  would create both when they are missing, and the writer's last close would then find files that
  it does not expect. ``readonly_shm=1`` uses what is there and creates nothing; when no process
  is alive any more, SQLite builds the index of the ``-wal`` in its own memory.
- WAL mode and no ``-wal``, or an empty one: all rows are in the file itself, nobody has it open,
  and ``immutable=1`` reads it without locks, also on a read-only file system. A writer may begin
  in that moment, so what was read counts only if the file is the same afterwards.
- ``-wal`` without ``-shm`` (a copy of a live database): a private copy of both is read.
"""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from rltui.core.text import clean

#: Seconds to wait for a lock: commits take milliseconds, and other runs want to be read.
_BUSY_S = 0.25
#: Attempts to read a file that is being written, in one poll.
_ATTEMPTS = 3
_MAGIC = b"SQLite format 3\0"
_HEADER = 100
#: Largest database, in bytes, that is copied to read a -wal that has lost its -shm.
_MOST_COPIED = 256 << 20
#: Values in one statement; SQLite before 3.32 takes 999 at most.
MOST_VALUES = 500

T = TypeVar("T")
#: (device, inode, size, change time in ns) of the file, and all but the device of its -wal.
Stamp = tuple[int, ...]

#: A part of SQLite's message (Python 3.10 has no codes), and what it means for a reader.
_DAMAGE = "malformed"
_REASONS = {
    "locked": (errno.EBUSY, "is locked by another program"),
    "readonly": (errno.EROFS, "was left in the middle of a write; its own program must open it"),
    _DAMAGE: (errno.EILSEQ, "is damaged"),
    "not a database": (errno.EINVAL, "is no SQLite database"),
}


class UnreadableError(OSError):
    """A store that cannot be read now; ``strerror`` is the reason, for people."""


def is_damage(error: sqlite3.Error) -> bool:
    """Whether a page of the file makes no sense."""
    return _DAMAGE in str(error)


def stamp_of(path: Path) -> Stamp:
    """Changes whenever rows are written. Raises OSError when the file is not there."""
    status = os.stat(path)  # noqa: PTH116 - called at every poll; a Path costs twice as much
    if not stat.S_ISREG(status.st_mode):
        raise UnreadableError(errno.EINVAL, "is not a regular file", str(path))
    stamp = status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
    try:
        wal = os.stat(f"{path}-wal")  # noqa: PTH116 - as above
    except OSError:
        return stamp
    return *stamp, wal.st_ino, wal.st_size, wal.st_mtime_ns


def written_at(stamp: Stamp) -> float:
    """When the file or its -wal was written last, seconds since the epoch."""
    return max(stamp[3::3]) / 1e9


def is_database(path: Path) -> bool:
    """Whether the file begins as a SQLite database does. Raises OSError."""
    return _header(path).startswith(_MAGIC)


def look(path: Path, action: Callable[[sqlite3.Connection], T], attempts: int = _ATTEMPTS) -> T:
    """Run ``action`` on a connection that reads one snapshot; repeat it when somebody wrote just
    then. Texts come as bytes.

    ``action`` must change nothing outside. Raises UnreadableError (for the errors of SQLite in
    the action, too) and OSError.
    """
    try:
        with ExitStack() as stack:
            return _read(path, action, stack)
    except UnreadableError as error:
        if error.errno != errno.EAGAIN or attempts <= 1:
            raise
    except sqlite3.Error as error:
        known = (reason for part, reason in _REASONS.items() if part in str(error))
        number, text = next(known, (errno.EIO, clean(str(error))))
        raise UnreadableError(number, text, str(path)) from error
    except UnicodeDecodeError as error:  # a message that quotes a damaged schema
        raise UnreadableError(*_REASONS[_DAMAGE], str(path)) from error
    return look(path, action, attempts - 1)


def _read(path: Path, action: Callable[[sqlite3.Connection], T], stack: ExitStack) -> T:
    header = _header(path)
    if not header.startswith(_MAGIC):
        reason = "is no SQLite database" if header else "is empty"
        raise UnreadableError(errno.EINVAL, reason, str(path))

    wal = _size(f"{path}-wal")
    shm = _size(f"{path}-shm")
    source, options, before = os.path.abspath(path), "mode=ro", None  # noqa: PTH100 - keep links
    if 2 in header[18:20]:  # file format numbers: 2 is WAL (sqlite.org/fileformat.html)
        if wal is not None and shm is not None:
            options = "mode=ro&readonly_shm=1"
        elif wal:
            source = _copy(path, stack)
        else:
            options = "mode=ro&immutable=1"
            before = stamp_of(path)

    uri = f"file:{quote(os.fsencode(source))}?{options}"
    connection = sqlite3.connect(uri, uri=True, timeout=_BUSY_S, isolation_level=None)
    stack.callback(connection.close)
    connection.text_factory = bytes
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("BEGIN")
    found = action(connection)
    if before is not None:
        _require_same(path, before)
    return found


def _header(path: Path) -> bytes:
    """The first bytes of a file; its descriptor is closed before SQLite opens it: closing one
    afterwards would drop the locks of the whole process (fcntl(2))."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0))
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise UnreadableError(errno.EINVAL, "is not a regular file", str(path))
        return os.read(descriptor, _HEADER)
    finally:
        os.close(descriptor)


def _size(path: str) -> int | None:
    try:
        return os.stat(path).st_size  # noqa: PTH116 - a plain name
    except OSError:
        return None


def _require_same(path: Path, before: Stamp) -> None:
    if stamp_of(path) != before:
        raise UnreadableError(errno.EAGAIN, "was written while it was read", str(path))


def _copy(path: Path, stack: ExitStack) -> str:
    """A private copy of a database and its -wal, which lives as long as the ``stack``."""
    size = (_size(str(path)) or 0) + (_size(f"{path}-wal") or 0)
    if size > _MOST_COPIED:
        reason = "has a -wal without its -shm, and is too large to be copied"
        raise UnreadableError(errno.EFBIG, reason, str(path))

    before = stamp_of(path)
    copy = stack.enter_context(tempfile.TemporaryDirectory(prefix="rltui-")) + "/copy.db"
    shutil.copyfile(path, copy)
    shutil.copyfile(f"{path}-wal", f"{copy}-wal")
    _require_same(path, before)
    return copy


# -- statements ----------------------------------------------------------------------------


def raw_of(value: object) -> bytes:
    """A value of a text column as bytes, whatever type it really has."""
    return value if isinstance(value, bytes) else b"" if value is None else str(value).encode()


def columns_of(connection: sqlite3.Connection, table: str) -> frozenset[str]:
    """Names of the columns of a table; empty when there is no such table."""
    rows = connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
    return frozenset(name.decode("utf-8", "replace") for (name,) in rows)


def in_chunks(values: Collection[Any], mark: str = "?") -> Iterator[tuple[str, list[Any]]]:
    """Comma-separated marks and the values for them, in pieces that a statement takes."""
    every = list(values)
    for begin in range(0, len(every), MOST_VALUES):
        piece = every[begin : begin + MOST_VALUES]
        yield ", ".join([mark] * len(piece)), piece
