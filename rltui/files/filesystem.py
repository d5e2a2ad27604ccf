"""Whether inotify reports every write to a directory, by the kind of its file system.

inotify is silent about what other hosts write to a network file system, and about most of what
is written below a FUSE mount. Linux lists the kinds in ``/proc/self/mountinfo`` (proc(5)); on
other systems, and for unknown kinds, inotify is not trusted.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

_MOUNTINFO = Path("/proc/self/mountinfo")
#: Directories whose answer is remembered at most.
_MOST_KNOWN = 100_000
_ESCAPE = re.compile(r"\\([0-7]{3})")
#: Kinds for which inotify reports everything that is written on this host. Other hosts cannot
#: write there, unlike to nfs, cifs, lustre, gpfs, 9p, sshfs and their like.
_LOCAL = frozenset(
    {
        *("ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "tmpfs", "ramfs", "overlay", "aufs"),
        *("f2fs", "jfs", "reiserfs", "bcachefs", "vfat", "msdos", "exfat", "ntfs", "ntfs3", "hfs"),
        *("hfsplus", "udf", "iso9660", "squashfs", "erofs", "rootfs", "shiftfs", "nilfs2"),
        *("ubifs", "fuseblk", "fuse.fuse-overlayfs", "fuse.bindfs", "fuse.mergerfs", "fuse.ext4"),
        *("fuse.encfs", "fuse.gocryptfs", "fuse.cryfs", "fuse.ntfs-3g", "fuse.exfat"),
        *("fuse.unionfs", "fuse.lxcfs"),
    }
)
#: Kinds that hold no files but what the kernel has to say, partly without end.
_KERNEL = frozenset(
    {
        *("proc", "sysfs", "devtmpfs", "devpts", "cgroup", "cgroup2", "debugfs", "tracefs", "bpf"),
        *("securityfs", "configfs", "mqueue", "pstore", "binfmt_misc", "efivarfs", "nsfs"),
    }
)


class Mounts:
    """The mounts of this process; remembers each directory. Not thread-safe."""

    def __init__(self, table: Path = _MOUNTINFO) -> None:
        self._table = table
        self._raw: bytes | None = None
        self._kinds: dict[str, str] = {}
        self._known: dict[Path, bool] = {}

    def refresh(self) -> None:
        """Read the table again; costs almost nothing when it has not changed."""
        try:
            raw = self._table.read_bytes()
        except OSError:
            raw = b""
        if raw != self._raw:
            self._raw = raw
            self._kinds = _parse(os.fsdecode(raw))
            self._known = {}

    def reports_writes(self, directory: Path) -> bool:
        """Whether inotify reports every write to the files of a directory."""
        known = self._known.get(directory)
        if known is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known = {}
            known = self._known[directory] = self.kind_of(directory) in _LOCAL
        return known

    def is_kernel(self, path: Path) -> bool:
        """Whether a path leads into the kernel (``/proc``, ``/sys``) instead of to files."""
        return self.kind_of(path) in _KERNEL

    def kind_of(self, path: Path) -> str:
        """The system's name for the kind of file system that holds a path, links resolved
        (``ext4``, ``nfs4``, ``fuse.sshfs``); empty when unknown."""
        return self.mount_of(path)[1]

    def mount_of(self, path: Path) -> tuple[str, str]:
        """Where the file system that holds a path is mounted, and its kind; empty when unknown."""
        if self._raw is None:
            self.refresh()
        place = os.path.realpath(path)
        while place not in self._kinds:
            above = os.path.dirname(place)  # noqa: PTH120 - many calls; a Path costs more
            if above == place:
                return "", ""
            place = above
        return place, self._kinds[place]


def _parse(table: str) -> dict[str, str]:
    """Kind by mount point; of several mounts at one place the last is on top."""
    kinds: dict[str, str] = {}
    for line in table.splitlines():
        before, separator, behind = line.partition(" - ")
        fields, kind = before.split(" "), behind.split(" ")[0]
        if separator and len(fields) >= 5 and kind:
            kinds[_ESCAPE.sub(lambda m: chr(int(m[1], 8)), fields[4])] = kind
    return kinds
