"""Directories and files to read on the nodes of a cluster, and which of them are the same."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

_MOUNTS = Path("/proc/self/mountinfo")
_BOOT = Path("/proc/sys/kernel/random/boot_id")
#: File systems that other hosts see, too.
_SHARED = frozenset(
    "nfs nfs4 cifs smb3 lustre beegfs gpfs ceph afs orangefs wekafs panfs fuse".split()  # noqa: SIM905
)
#: File systems in user space that show what lies on this host.
_LOCAL_FUSE = frozenset(f"fuse.{n}" for n in ("fuse-overlayfs", "bindfs", "mergerfs", "lxcfs"))
_OCTAL = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class Place:
    """A directory or file to read on one or several nodes."""

    logdir: int
    """Number of the logdir that means it."""
    path: Path
    """Absolute, on the node."""
    identity: str
    """The same for all nodes that see the same directory, different for all others."""
    shared: bool
    """Whether it lies on a file system of the network, so that no node owns it."""
    inside: str = ""
    """What distinguishes it from other places of the logdir on the node, in the names of runs."""
    prefix: str = ""
    """Only runs whose name begins so are read."""

    @property
    def key(self) -> tuple[int, str, str]:
        """Equal for one place seen from several nodes."""
        return self.logdir, self.inside, self.identity


def place_at(logdir: int, path: Path, inside: str = "", prefix: str = "") -> Place:
    """The place of an existing path. Raises OSError."""
    path = path.resolve(strict=True)
    status = path.stat()
    mount = _mount_of(path)
    if mount is not None:
        kind, source, within = mount
        if kind in _SHARED or (kind.startswith("fuse.") and kind not in _LOCAL_FUSE):
            return Place(logdir, path, f"{kind} {source} {within}", True, inside, prefix)
    identity = f"{_boot_id()} {status.st_dev} {status.st_ino}"
    return Place(logdir, path, identity, False, inside, prefix)


def expanded(text: str) -> Path:
    """A path as of this node: ``~`` and environment variables stand for what they are here."""
    rest = os.path.expandvars(text.lstrip("/"))
    if rest.startswith("~"):
        return Path(rest).expanduser()
    return Path("/", rest.lstrip("/"))


def _mount_of(path: Path, mounts: Path = _MOUNTS) -> tuple[str, str, str] | None:
    """Type and source of the file system of a path, and the path within it; None where that
    cannot be known."""
    best: tuple[int, str, str, str] | None = None
    try:
        lines = mounts.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return None
    for line in lines:
        left, _, right = line.partition(" - ")
        fields, more = left.split(), right.split()
        if len(fields) < 5 or len(more) < 2:
            continue
        root, point = map(_plain, fields[3:5])
        if path.is_relative_to(point) and (best is None or len(point) >= best[0]):
            within = str(Path(root, path.relative_to(point)))
            best = len(point), more[0], _plain(more[1]), within
    return None if best is None else best[1:]


def _plain(field: str) -> str:
    """A field of ``mountinfo`` without its octal escapes."""
    return _OCTAL.sub(lambda found: chr(int(found[1], 8)), field)


def _boot_id() -> str:
    try:
        return _BOOT.read_text("ascii").strip()
    except OSError:
        import socket  # only for logdirs on other hosts

        return socket.gethostname()
