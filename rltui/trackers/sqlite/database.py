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
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from rltui.core.text import clean

#: Seconds to wait for a lock: commits take milliseconds, and other runs want to be read.
BUSY_S = 0.25
#: Attempts to read a file that is being written, in one poll.
_ATTEMPTS = 3
_MAGIC = b"SQLite format 3\0"
_HEADER = 100
#: Largest database, in bytes, that is copied to read a -wal that has lost its -shm.
_MOST_COPIED = 256 << 20

T = TypeVar("T")
#: (device, inode, size, change time in ns) of the file and of its -wal.
Stamp = tuple[int, ...]

_BUSY, _LOCKED, _READONLY, _IOERR, _CORRUPT, _CANTOPEN, _NOTADB = 5, 6, 8, 10, 11, 14, 26
#: For Python 3.10, whose exceptions carry no code.
_MESSAGES = (
    ("locked", _BUSY),
    ("readonly", _READONLY),
    ("I/O", _IOERR),
    ("malformed", _CORRUPT),
    ("unable to open", _CANTOPEN),
    ("not a database", _NOTADB),
)
_REASONS = {
    _BUSY: (errno.EBUSY, "is locked by another program"),
    _LOCKED: (errno.EBUSY, "is locked by another program"),
    _READONLY: (errno.EROFS, "was left in the middle of a write; its own program must open it"),
    _CORRUPT: (errno.EILSEQ, "is damaged"),
    _NOTADB: (errno.EINVAL, "is no SQLite database"),
}


class UnreadableError(OSError):
    """A store that cannot be read now; ``strerror`` is the reason, for people."""


def is_damage(error: sqlite3.Error) -> bool:
    """Whether a page of the file makes no sense."""
    return _code(error) == _CORRUPT


def unreadable(error: sqlite3.Error, path: Path) -> UnreadableError:
    """What an error of SQLite means for a program that only reads."""
    number, reason = _REASONS.get(_code(error), (errno.EIO, clean(str(error))))
    return UnreadableError(number, reason, str(path))


def _code(error: sqlite3.Error) -> int:
    """The primary result code (sqlite.org/rescode.html); 0 when it is not known."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    if code is None:
        message = str(error)
        return next((c for part, c in _MESSAGES if part in message), 0)
    return code & 0xFF


def stamp_of(path: Path) -> Stamp:
    """Changes whenever rows are written. Raises OSError when the file is not there."""
    status = os.stat(path)  # noqa: PTH116 - called at every poll; a Path costs twice as much
    if not stat.S_ISREG(status.st_mode):
        raise UnreadableError(errno.EINVAL, "is not a regular file", str(path))
    try:
        wal = os.stat(f"{path}-wal")  # noqa: PTH116 - as above
    except OSError:
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
    return (
        *(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns),
        *(wal.st_ino, wal.st_size, wal.st_mtime_ns),
    )


def written_at(stamp: Stamp) -> float:
    """When the file or its -wal was written last, seconds since the epoch."""
    return max(stamp[3], stamp[6] if len(stamp) > 4 else 0) / 1e9


@contextmanager
def open_database(path: Path, timeout_s: float = BUSY_S) -> Iterator[sqlite3.Connection]:
    """A connection for reading one snapshot; texts come as bytes.

    Nothing that was read may be kept before the block has ended without an error. Raises
    UnreadableError (the errors of SQLite inside the block, too) and OSError.
    """
    with ExitStack() as stack:
        try:
            path = Path(os.path.abspath(path))  # noqa: PTH100 - links must stay as they are
            options, before = _options(path), None
            if options is None:
                path, options = stack.enter_context(_copy(path)), "mode=ro"
            elif options == _ALONE:
                before = stamp_of(path)
            uri = f"file:{quote(os.fsencode(path))}?{options}"
            connection = sqlite3.connect(uri, uri=True, timeout=timeout_s, isolation_level=None)
            stack.callback(connection.close)
            connection.text_factory = bytes
            connection.execute("PRAGMA temp_store = MEMORY")
            connection.execute("BEGIN")
            yield connection
            if before is not None and stamp_of(path) != before:
                raise UnreadableError(errno.EAGAIN, "was written while it was read", str(path))
        except sqlite3.Error as error:
            raise unreadable(error, path) from error
        except UnicodeDecodeError as error:  # a message that quotes a damaged schema
            raise UnreadableError(*_REASONS[_CORRUPT], str(path)) from error


def look(path: Path, action: Callable[[sqlite3.Connection], T], attempts: int = _ATTEMPTS) -> T:
    """What ``action`` returns for a connection; repeated when somebody wrote just then.

    ``action`` must change nothing. Raises UnreadableError and OSError.
    """
    try:
        with open_database(path) as connection:
            return action(connection)
    except UnreadableError as error:
        if error.errno != errno.EAGAIN or attempts <= 1:
            raise
    return look(path, action, attempts - 1)


_ALONE = "mode=ro&immutable=1"


def _options(path: Path) -> str | None:
    """How to open the file; None when only a copy of it can be opened.

    The descriptor is closed before SQLite opens the file: closing one afterwards would drop
    the locks of the whole process (fcntl(2)).
    """
    header = _header(path)
    if header[:16] != _MAGIC:
        reason = "is no SQLite database" if header else "is empty"
        raise UnreadableError(errno.EINVAL, reason, str(path))

    if 2 not in header[18:20]:  # file format numbers: 2 is WAL (sqlite.org/fileformat.html)
        return "mode=ro"
    wal, shm = _size(f"{path}-wal"), _size(f"{path}-shm")
    if wal is not None and shm is not None:
        return "mode=ro&readonly_shm=1"
    return None if wal else _ALONE


def _header(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0))
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise UnreadableError(errno.EINVAL, "is not a regular file", str(path))
        return os.read(descriptor, _HEADER)
    finally:
        os.close(descriptor)


def is_database(path: Path) -> bool:
    """Whether the file begins as a SQLite database does. Raises OSError."""
    return _header(path)[:16] == _MAGIC


def _size(path: str) -> int | None:
    try:
        return os.stat(path).st_size  # noqa: PTH116 - a plain name
    except OSError:
        return None


@contextmanager
def _copy(path: Path) -> Iterator[Path]:
    """A private copy of a database and its -wal."""
    size = (_size(str(path)) or 0) + (_size(f"{path}-wal") or 0)
    if size > _MOST_COPIED:
        reason = "has a -wal without its -shm, and is too large to be copied"
        raise UnreadableError(errno.EFBIG, reason, str(path))

    import shutil  # rarely needed
    import tempfile  # as above

    before = stamp_of(path)
    with tempfile.TemporaryDirectory(prefix="rltui-") as folder:
        copy = Path(folder) / "copy.db"
        shutil.copyfile(path, copy)
        shutil.copyfile(f"{path}-wal", f"{copy}-wal")
        if stamp_of(path) != before:
            raise UnreadableError(errno.EAGAIN, "was written while it was read", str(path))
        yield copy
