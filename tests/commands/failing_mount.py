"""A file system that fails, mounted: shows a directory read-only, with trouble on demand.

Speaks the kernel's FUSE protocol (linux/fuse.h) over ``/dev/fuse``, since no library of it can be
relied on. Nothing is cached, so that what is written into the directory shows at once. Needs the
right to mount.
"""

from __future__ import annotations

import ctypes
import errno
import itertools
import os
import stat
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import IntEnum
from pathlib import Path

_IN, _OUT = struct.Struct("<IIQQIIII"), struct.Struct("<IiQ")
_ATTRIBUTES = struct.Struct("<6Q10I")
_INIT = struct.Struct("<IIIIHHIIHHI28x")
_ENTRY, _OPENED = struct.Struct("<QQQQII"), struct.Struct("<QII")
_READ = struct.Struct("<QQI")
_ENTRY_OF_DIRECTORY = struct.Struct("<QQII")
_ROOT, _DIRECT, _DETACH = 1, 1, 2
_MOST_BYTES = 1 << 17


class Call(IntEnum):
    """Numbers of requests."""

    LOOKUP = 1
    FORGET = 2
    GETATTR = 3
    OPEN = 14
    READ = 15
    STATFS = 17
    RELEASE = 18
    FLUSH = 25
    INIT = 26
    OPENDIR = 27
    READDIR = 28
    RELEASEDIR = 29
    INTERRUPT = 36
    DESTROY = 38
    BATCH_FORGET = 42


_UNANSWERED = {Call.FORGET, Call.BATCH_FORGET, Call.INTERRUPT}
#: Asks for the error code of a call on a path, 0 for none; may take its time.
Trouble = Callable[[Call, Path], int]


def untroubled(call: Call, path: Path) -> int:
    """Nothing fails."""
    return 0


class FailingMount:
    """Answers requests in a thread until the mount is gone."""

    def __init__(self, device: int, source: Path) -> None:
        self._device = device
        self._paths: dict[int, Path] = {_ROOT: source}
        self._listings: dict[int, tuple[bytes, ...]] = {}
        self._handles = itertools.count(1)
        self.trouble: Trouble = untroubled
        self._answers: dict[int, Callable[[Path, bytes], bytes]] = {
            Call.INIT: self._init,
            Call.LOOKUP: self._lookup,
            Call.GETATTR: self._getattr,
            Call.OPEN: self._open,
            Call.READ: self._read,
            Call.RELEASE: self._release,
            Call.OPENDIR: self._opendir,
            Call.READDIR: self._readdir,
            Call.RELEASEDIR: self._releasedir,
            Call.FLUSH: lambda path, body: b"",
        }

    def serve(self) -> None:
        """Until the mount is gone."""
        with suppress(OSError):  # ENODEV: unmounted
            while True:
                self._answer(os.read(self._device, _MOST_BYTES + (1 << 16)))

    def _answer(self, request: bytes) -> None:
        _, code, unique, node, *_ = _IN.unpack_from(request)
        if code in _UNANSWERED:
            return
        error, found = 0, b""
        path = self._paths.get(node, Path("/nonexistent"))
        try:
            answer = self._answers.get(code)
            if answer is None:
                raise OSError(errno.ENOSYS, "")
            if code not in (Call.INIT, Call.RELEASE):
                self._fail(Call(code), path)
            found = answer(path, request[_IN.size :])
        except OSError as problem:
            error = problem.errno or errno.EIO
        with suppress(OSError):  # ENOENT: the request was given up
            os.write(self._device, _OUT.pack(_OUT.size + len(found), -error, unique) + found)

    def _fail(self, call: Call, path: Path) -> None:
        code = self.trouble(call, path)
        if code:
            raise OSError(code, "")

    def _init(self, path: Path, body: bytes) -> bytes:
        return _INIT.pack(7, 31, _MOST_BYTES, 0, 12, 9, 4096, 1, 32, 0, 0)

    def _lookup(self, path: Path, body: bytes) -> bytes:
        child = path / os.fsdecode(body.rstrip(b"\0"))
        self._fail(Call.GETATTR, child)
        status = child.lstat()
        self._paths[status.st_ino] = child
        return _ENTRY.pack(status.st_ino, 0, 0, 0, 0, 0) + _attributes(status)

    def _getattr(self, path: Path, body: bytes) -> bytes:
        return struct.pack("<QII", 0, 0, 0) + _attributes(path.lstat())

    def _open(self, path: Path, body: bytes) -> bytes:
        (flags,) = struct.unpack_from("<I", body)
        if flags & os.O_ACCMODE != os.O_RDONLY:
            raise OSError(errno.EROFS, "")
        return _OPENED.pack(os.open(path, os.O_RDONLY), _DIRECT, 0)

    def _read(self, path: Path, body: bytes) -> bytes:
        handle, offset, size = _READ.unpack_from(body)
        return os.pread(handle, size, offset)

    def _release(self, path: Path, body: bytes) -> bytes:
        os.close(struct.unpack_from("<Q", body)[0])
        return b""

    def _opendir(self, path: Path, body: bytes) -> bytes:
        names = sorted(os.listdir(path))  # noqa: PTH208
        handle = next(self._handles)
        self._listings[handle] = tuple(
            _ENTRY_OF_DIRECTORY.pack(_ROOT + 1, n + 1, len(name), 0) + _padded(name)
            for n, name in enumerate(map(os.fsencode, names))
        )
        return _OPENED.pack(handle, 0, 0)

    def _readdir(self, path: Path, body: bytes) -> bytes:
        handle, offset, size = _READ.unpack_from(body)
        found = b""
        for part in self._listings.get(handle, ())[offset:]:
            if len(found) + len(part) > size:
                break
            found += part
        return found

    def _releasedir(self, path: Path, body: bytes) -> bytes:
        self._listings.pop(struct.unpack_from("<Q", body)[0], None)
        return b""


def _padded(name: bytes) -> bytes:
    return name + bytes(-len(name) % 8)


def _attributes(status: os.stat_result) -> bytes:
    times = status.st_atime_ns, status.st_mtime_ns, status.st_ctime_ns
    return _ATTRIBUTES.pack(
        *(status.st_ino, status.st_size, status.st_blocks),
        *(t // 10**9 for t in times),
        *(t % 10**9 for t in times),
        *(status.st_mode, status.st_nlink, status.st_uid, status.st_gid, 0, 4096, 0),
    )


@contextmanager
def mounted(source: Path, target: Path) -> Iterator[FailingMount]:
    """``source`` shown at ``target``. Raises OSError where that is not possible."""
    library = ctypes.CDLL(None, use_errno=True)
    device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    try:
        options = f"fd={device},rootmode={stat.S_IFDIR:o},user_id={os.getuid()},group_id=0"
        kind = b"failing", os.fsencode(target), b"fuse"
        if library.mount(*kind, 0, options.encode()):
            raise OSError(ctypes.get_errno(), "cannot mount")
        mount = FailingMount(device, source)
        thread = threading.Thread(target=mount.serve, daemon=True)
        thread.start()
        try:
            yield mount
        finally:
            library.umount2(os.fsencode(target), _DETACH)
            thread.join(10)
    finally:
        os.close(device)
