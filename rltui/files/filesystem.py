"""Kind of the file system that holds a path, and whether inotify reports every write there.

inotify is silent about what other hosts write to a network file system, and about most of what
is written below a FUSE mount. Linux lists the kinds in ``/proc/self/mountinfo`` (proc(5)); on
other systems, and for unknown kinds, inotify is not trusted.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

_MOUNTINFO = Path("/proc/self/mountinfo")
#: Directories whose kind is remembered at most.
_MOST_KNOWN = 10_000
_ESCAPE = re.compile(r"\\([0-7]{3})")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Kinds whose files other hosts, or the host of a virtual machine, may write.
_REMOTE = _words(
    """
    nfs nfs4 cifs smb3 smbfs lustre lustre_lite beegfs beegfs_nodev gpfs mmfs ceph glusterfs afs
    9p virtiofs vboxsf vmhgfs prl_fs panfs wekafs orangefs pvfs2 ocfs2 gfs2 daos fakeowner
    juicefs acfs cvfs stornext quobyte fhgfs ncpfs coda drvfs
    """
)
#: FUSE kinds whose files are on this host; others may be written elsewhere.
_LOCAL_FUSE = _words(
    """
    fuseblk fuse.fuse-overlayfs fuse.bindfs fuse.mergerfs fuse.encfs fuse.gocryptfs fuse.cryfs
    fuse.ntfs-3g fuse.exfat fuse.ext4 fuse.unionfs fuse.lxcfs
    """
)
#: Kinds for which inotify reports everything that is written on this host.
_LOCAL = _words(
    """
    ext2 ext3 ext4 xfs btrfs zfs tmpfs ramfs overlay aufs f2fs jfs reiserfs bcachefs vfat msdos
    exfat ntfs ntfs3 hfs hfsplus udf iso9660 squashfs erofs rootfs shiftfs nilfs2 ubifs
    """
)


@dataclass(frozen=True, slots=True)
class FilesystemKind:
    """Kind of one mount."""

    name: str
    """The system's name (``ext4``, ``nfs4``, ``fuse.sshfs``); empty when unknown."""
    remote: bool
    """Whether files may change without this system noticing."""

    @property
    def reports_writes(self) -> bool:
        """Whether inotify reports every write: the kind is known, and not remote."""
        return self.name in _LOCAL or self.name in _LOCAL_FUSE


UNKNOWN = FilesystemKind("", False)


class Mounts:
    """The mounts of this process; remembers the kind of each directory. Not thread-safe."""

    def __init__(self, table: Path = _MOUNTINFO) -> None:
        self._table = table
        self._raw: bytes | None = None
        self._mounts: dict[str, FilesystemKind] = {}
        self._known: dict[str, FilesystemKind] = {}

    def refresh(self) -> None:
        """Read the table again; costs almost nothing when it has not changed."""
        try:
            raw = self._table.read_bytes()
        except OSError:
            raw = b""
        if raw != self._raw:
            self._raw = raw
            self._mounts = _parse(os.fsdecode(raw))
            self._known = {}

    def kind_of(self, path: Path) -> FilesystemKind:
        """The kind of the file system that holds a file or directory, links resolved."""
        if self._raw is None:
            self.refresh()
        if not self._mounts:
            return UNKNOWN
        place = os.path.realpath(path)
        while True:
            kind = self._mounts.get(place)
            if kind is not None:
                return kind
            above = os.path.dirname(place)  # noqa: PTH120 - many calls; a Path costs more
            if above == place:
                return UNKNOWN
            place = above

    def reports_writes(self, directory: Path) -> bool:
        """Whether inotify reports every write to the files of a directory."""
        known = self._known.get(name := str(directory))
        if known is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known = {}
            known = self.kind_of(directory)
            self._known[name] = known
        return known.reports_writes


def kind_of(path: Path) -> FilesystemKind:
    """The kind of the file system that holds ``path``, as of now."""
    return Mounts().kind_of(path)


def _parse(table: str) -> dict[str, FilesystemKind]:
    """Kind by mount point; of several mounts at one place the last is on top."""
    mounts: dict[str, FilesystemKind] = {}
    for line in table.splitlines():
        before, separator, behind = line.partition(" - ")
        fields, kind = before.split(" "), behind.split(" ")[0]
        if separator and len(fields) >= 5 and kind:
            point = _ESCAPE.sub(lambda m: chr(int(m[1], 8)), fields[4])
            mounts[point] = FilesystemKind(kind, _is_remote(kind))
    return mounts


def _is_remote(kind: str) -> bool:
    return kind in _REMOTE or (kind.startswith("fuse") and kind not in _LOCAL_FUSE)
