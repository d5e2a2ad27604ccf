"""Status, names and bytes of the paths of logs, on this machine or elsewhere.

Local paths cost what the calls of the system cost. Others are those of fsspec, see
:mod:`rltui.files.remote.store`, or of a host whose reader has :func:`offer`-ed them. All functions
raise OSError.
"""

from __future__ import annotations

import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol, TypeAlias

from rltui.core.address import RemotePath, is_remote
from rltui.core.batch import Note
from rltui.core.clock import Clock
from rltui.core.errors import UsageError
from rltui.core.text import Names, clean, word_set

if TYPE_CHECKING:
    from rltui.files.remote.server import RemoteCosts
    from rltui.files.remote.status import RemoteEntry, RemoteStatus

#: ``read(length, offset)``: the bytes of a file there, fewer at its end.
ReadAt = Callable[[int, int], bytes]
_MOUNTINFO = Path("/proc/self/mountinfo")
#: Directories whose answer is remembered at most.
_MOST_KNOWN = 100_000
_ESCAPE = re.compile(r"\\([0-7]{3})")
#: Kinds for which inotify reports everything that is written on this host. Other hosts cannot
#: write there, unlike to nfs, cifs, lustre, gpfs, 9p, sshfs and their like.
_LOCAL = word_set(
    "ext2 ext3 ext4 xfs btrfs zfs tmpfs ramfs overlay aufs f2fs jfs reiserfs bcachefs vfat msdos "
    "exfat ntfs ntfs3 hfs hfsplus udf iso9660 squashfs erofs rootfs shiftfs nilfs2 ubifs fuseblk "
    "fuse.fuse-overlayfs fuse.bindfs fuse.mergerfs fuse.ext4 fuse.encfs fuse.gocryptfs "
    "fuse.cryfs fuse.ntfs-3g fuse.exfat fuse.unionfs fuse.lxcfs"
)
#: Kinds that hold no files but what the kernel has to say, partly without end.
KERNEL = word_set(
    "proc sysfs devtmpfs devpts cgroup cgroup2 debugfs tracefs bpf securityfs configfs mqueue "
    "pstore binfmt_misc efivarfs nsfs"
)
#: Bytes per write to the system.
_BUFFER = 1 << 20


#: What is known of a file or directory, and a name in a directory.
Status: TypeAlias = "os.stat_result | RemoteStatus"
Entry: TypeAlias = "os.DirEntry[str] | RemoteEntry"


class Store(Protocol):
    """The files of one server or host. Thread-safe; methods raise OSError."""

    @property
    def notes(self) -> tuple[Note, ...]:
        """Trouble with the server or host as a whole."""

    def status(self, path: Path) -> Status:
        """Status of a file or directory; follows links."""

    def entries(self, path: Path) -> Sequence[Entry]:
        """The names in a directory."""

    def is_directory(self, path: Path) -> bool:
        """Whether there is a directory."""

    def read(self, path: Path, begin: int, end: int | None) -> bytes:
        """Bytes of a file, to its end without ``end``; fewer where it ends."""

    def expect(self, directories: Sequence[Path], wanted: Callable[[str], bool]) -> None:
        """See :func:`expect`."""

    def costs(self) -> RemoteCosts | None:
        """Requests so far and expected; None where they are not counted."""


class Host(Store, Protocol):
    """The files of one host, which knows its processes."""

    def hold(self, path: Path, kind: str) -> tuple[bool | None, bool] | None:
        """See :func:`hold_on_host`."""

    def close(self) -> None:
        """End the connection; the next question opens another."""


#: The stores of hosts, by scheme and authority.
_OFFERED: dict[Names, Host] = {}


def offer(root: RemotePath, store: Host) -> None:
    """Register the store that reads the files of a host."""
    _OFFERED[root.parts[:2]] = store


def is_on_host(path: Path) -> bool:
    """Whether a path is one of a host that knows its processes."""
    return path.parts[:2] in _OFFERED


def hold_on_host(path: Path, kind: str) -> tuple[bool | None, bool] | None:
    """Whether a log of a format is held open on its host, see
    :class:`~rltui.sources.discovery.processes.FileHold`; None where the host cannot tell."""
    return _OFFERED[path.parts[:2]].hold(path, kind)


def hang_up() -> None:
    """End the connections to hosts that questions about files have opened."""
    for host in _OFFERED.values():
        host.close()


def status(path: Path) -> Status:
    """Status of a file or directory; follows links."""
    return _store(path).status(path) if is_remote(path) else os.stat(path)  # noqa: PTH116 - hot


def file_id(found: Status) -> tuple[int, int]:
    """Device and inode of a file or directory."""
    return found.st_dev, found.st_ino


def listing(path: Path) -> Iterable[Entry]:
    """The names in a directory."""
    if is_remote(path):
        return _store(path).entries(path)
    with os.scandir(path) as found:
        return list(found)


def expect(directories: Sequence[Path], wanted: Callable[[str], bool]) -> None:
    """Announce directories of one server that will be listed next, whose files of ``wanted`` names
    will be read from their beginnings, so that it is asked once for all. Never raises."""
    if is_remote(directories[0]):
        _store(directories[0]).expect(directories, wanted)


@contextmanager
def opened(path: Path) -> Iterator[ReadAt]:
    """Open a file, local or remote, to read ranges of it. A pipe does not block."""
    if is_remote(path):
        store = _store(path)
        yield lambda length, offset: store.read(path, offset, offset + length)
        return

    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        yield lambda length, offset: read_at(descriptor, length, offset)
    finally:
        os.close(descriptor)


def read_at(descriptor: int, length: int, offset: int) -> bytes:
    """The bytes at a place, fewer only at the end of the file: a network file system may return
    a part of what was asked for. Raises OSError."""
    data = os.pread(descriptor, length, offset)
    while len(data) < length:
        piece = os.pread(descriptor, length - len(data), offset + len(data))
        if not piece:
            break
        data += piece
    return data


def is_directory(path: Path) -> bool:
    """Whether a path is a directory; False where that cannot be found out."""
    if is_remote(path):
        try:
            return _store(path).is_directory(path)
        except OSError:
            return False
    return path.is_dir()


def read_all(path: Path) -> bytes:
    """Read a whole file."""
    return _store(path).read(path, 0, None) if is_remote(path) else path.read_bytes()


def connect(paths: Iterable[Path], clock: Clock, pace_s: float) -> None:
    """Connect the stores of remote paths, whose directories are listed every ``pace_s`` seconds.

    Raises UsageError when what that needs is not installed.
    """
    for path in paths:
        if not is_remote(path):
            continue
        from rltui.files.remote.store import connect as connect_store  # only for logs on a server

        connect_store(path, clock, pace_s)


def costs(path: Path) -> RemoteCosts | None:
    """Requests to the server of a path, so far and expected per minute; None for a local path."""
    return _store(path).costs() if is_remote(path) else None


def trouble(paths: Iterable[Path]) -> tuple[Note, ...]:
    """Notes about the servers of some paths as a whole. Does no I/O."""
    stores = {id(store): store for path in filter(is_remote, paths) if (store := _store(path))}
    return tuple(note for store in stores.values() for note in store.notes)


def _store(path: Path) -> Store:
    offered = _OFFERED.get(path.parts[:2])
    if offered is not None:
        return offered
    from rltui.files.remote.store import store_of  # only for logs on a server

    return store_of(path)


class Mounts:
    """The table of mounts of this process, with a cache by directory. Not thread-safe."""

    def __init__(self, table: Path = _MOUNTINFO) -> None:
        self._table = table
        self._raw: bytes | None = None
        self._mounted: dict[str, tuple[str, str, str]] = {}
        """Mount point -> kind, source, and directory of the source that is mounted."""
        self._known: dict[Path, bool] = {}

    def refresh(self) -> None:
        """Read the table again; costs almost nothing when it has not changed."""
        try:
            raw = self._table.read_bytes()
        except OSError:
            raw = b""
        if raw == self._raw:
            return

        self._raw = raw
        self._mounted = {}
        self._known = {}
        for line in os.fsdecode(raw).splitlines():
            before, _, behind = line.partition(" - ")
            fields = before.split(" ")
            more = behind.split(" ")
            if len(fields) >= 5 and len(more) >= 2:  # of several at one place the last is on top
                root, point, source = (  # blanks are written as octal numbers
                    _ESCAPE.sub(lambda found: chr(int(found[1], 8)), field)
                    for field in (fields[3], fields[4], more[1])
                )
                self._mounted[point] = more[0], source, root

    def reports_writes(self, directory: Path) -> bool:
        """Whether inotify reports every write to the files of a directory."""
        known = self._known.get(directory)
        if known is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known = {}
            known = self._known[directory] = self.kind_of(directory) in _LOCAL
        return known

    def kind_of(self, path: Path) -> str:
        """The system's name for the kind of file system that holds a path, links resolved
        (``ext4``, ``nfs4``, ``fuse.sshfs``); empty when unknown."""
        return self.mount_of(path)[1]

    def mount_of(self, path: Path) -> tuple[str, str]:
        """Where the file system that holds a path is mounted, and its kind; empty when unknown."""
        if self._raw is None:
            self.refresh()

        place = os.path.realpath(path)
        above = ""
        while place not in self._mounted:
            above, place = place, os.path.dirname(place)  # noqa: PTH120 - a Path costs more
            if above == place:
                return "", ""
        return place, self._mounted[place][0]

    def origin_of(self, path: Path) -> tuple[str, str]:
        """Source of the file system that holds a path (a device, ``server:/export``), and the path
        within the source; empty when unknown."""
        point, _ = self.mount_of(path)
        if not point:
            return "", ""
        _, source, root = self._mounted[point]
        return source, str(Path(root, os.path.relpath(os.path.realpath(path), point)))


def check_target(path: Path, logdirs: Sequence[Path]) -> Path:
    """``path`` with links followed; raises UsageError for a place that must not be written to.

    That is the inside of a log directory, where other programs and rltui itself look for logs.
    """
    shown = clean(str(path))
    try:
        target = path.expanduser().resolve()
        if target.is_dir():
            raise UsageError(f"{shown} is a directory; name a file")
        if not target.parent.is_dir():
            if path.parts[0].endswith(":"):
                raise UsageError(f"{shown}: rltui writes to this machine only; name a file here")
            raise UsageError(f"{clean(str(path.parent))}: no such directory")
        for logdir in logdirs:
            inside = logdir.resolve()
            if target == inside or inside in target.parents:
                raise UsageError(
                    f"{shown} lies inside the log directory {clean(str(logdir))}, where rltui "
                    "never writes; name a file elsewhere"
                )
    except (OSError, ValueError, RuntimeError) as error:
        raise UsageError(f"{shown} cannot be written: {error}") from error
    return target


@contextmanager
def target_file(path: Path) -> Iterator[BinaryIO]:
    """A stream into ``path``, which gets its content when the block ends without an exception.

    Until then the bytes are in a temporary file of the same directory. A device or pipe is written
    directly. Raises UsageError when nothing can be written there.
    """
    part = None
    try:
        mode = path.stat().st_mode if path.exists() else None
        if mode is None or stat.S_ISREG(mode):
            handle, name = tempfile.mkstemp(prefix=".rltui-", suffix=".part", dir=path.parent)
            out: BinaryIO = os.fdopen(handle, "wb", buffering=_BUFFER)
            part = Path(name)
        else:
            out = path.open("wb", buffering=_BUFFER)
    except OSError as error:
        raise UsageError(f"{clean(str(path))} cannot be written: {error.strerror}") from error

    try:
        with out:
            yield out
            if part is not None:
                os.umask(mask := os.umask(0))
                os.fchmod(out.fileno(), 0o666 & ~mask if mode is None else stat.S_IMODE(mode))
        if part is not None:
            part.replace(path)
    except BaseException:
        if part is not None:
            with suppress(OSError):
                part.unlink()
        raise
