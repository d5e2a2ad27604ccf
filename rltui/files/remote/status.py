"""Status of remote files, in the shape of ``os.stat_result`` and ``os.DirEntry``."""

from __future__ import annotations

import math
import stat
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

from rltui.core.record import record, state
from rltui.files.remote.server import pages

#: Keys under which file systems of fsspec give a version of the content, and its change time.
_VERSIONS = ("ETag", "etag", "generation", "blob_id", "version_id", "md5Hash", "Content-MD5")
_TIMES = ("LastModified", "last_modified", "mtime", "updated", "modified", "created")
#: Protocols of stores that list a whole tree by its prefix.
FLAT = frozenset({"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "oss", "r2"})
#: A quiet path is asked about again after this share of the time for which it has been quiet.
_SHARE = 0.1
#: Changes when the content of a file does: size, modification time (ns), version.
Stamp = tuple[int, int, str]


@record
class RemoteStatus:
    """A file or directory of a server."""

    st_mode: int
    st_dev: int
    """Device: equal for all of one server or bucket, and unlike that of any local disk."""
    st_ino: int
    """Inode of the path: the version of an object changes with every append."""
    st_size: int
    st_mtime_ns: int
    """By the server's clock; 0 where it gives none. Of a directory: changes with its names."""
    version: str = ""
    """Changes with the content, where the server knows such a thing."""

    @property
    def st_mtime(self) -> float:
        """Seconds since the epoch, by the server's clock."""
        return self.st_mtime_ns / 1e9

    @property
    def is_directory(self) -> bool:
        """Whether it is a directory, or the prefix of some objects."""
        return stat.S_ISDIR(self.st_mode)

    def itself(self) -> RemoteStatus:
        """Itself: the ``stat`` of an entry that was listed with its status."""
        return self

    @property
    def stamp(self) -> Stamp:
        """Changes when the content does."""
        return self.st_size, self.st_mtime_ns, self.version


class RemoteEntry(NamedTuple):
    """A name in a remote directory; the server or host follows links."""

    name: str
    path: str
    """Its address."""
    mode: int
    """Its ``st_mode``; on another host, a link to a directory is no directory."""
    stat: Callable[[], RemoteStatus]
    """Returns its status, as listed or requested now."""

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:  # noqa: ARG002 - as of DirEntry
        """Whether it is a directory."""
        return stat.S_ISDIR(self.mode)

    def is_file(self, *, follow_symlinks: bool = True) -> bool:  # noqa: ARG002 - as of DirEntry
        """Whether it is a file."""
        return stat.S_ISREG(self.mode)

    def is_symlink(self) -> bool:
        """False: links are followed there."""
        return False


def remote_status(
    path: Path, mode: int, size: int = 0, modified_ns: int = 0, version: str = ""
) -> RemoteStatus:
    """Status of a path; the device number stands for its server or host."""
    device = -1 - abs(hash(path.parts[:2]))
    return RemoteStatus(mode, device, hash(str(path)), size, modified_ns, version)


def status_of(path: Path, info: Mapping[str, Any]) -> RemoteStatus:
    """The status in an ``info`` of fsspec."""
    if info.get("type") == "directory":
        return remote_status(path, stat.S_IFDIR, version=_version_of(info))
    size = int(info.get("size") or 0)
    found = next((info[k] for k in _TIMES if info.get(k)), None)
    try:
        if isinstance(found, str):
            found = datetime.fromisoformat(found.replace("Z", "+00:00"))
        if isinstance(found, datetime):
            found = (found if found.tzinfo else found.replace(tzinfo=timezone.utc)).timestamp()
        seconds = float(found or 0.0)
    except (TypeError, ValueError, OverflowError, OSError):
        seconds = math.nan
    # ns since the epoch; 0 when that is unknown or absurd
    changed = int(seconds * 1e9) if math.isfinite(seconds) and abs(seconds) < 1e11 else 0

    return remote_status(path, stat.S_IFREG, size, changed, _version_of(info))


def _version_of(info: Mapping[str, Any]) -> str:
    return next((str(info[k]) for k in _VERSIONS if info.get(k)), "").strip('"')


def directory_of(path: Path, names: Iterable[str]) -> RemoteStatus:
    """The status of a directory of some names."""
    content = zlib.crc32("\0".join(sorted(names)).encode("utf-8", "surrogateescape"))
    return remote_status(path, stat.S_IFDIR, modified_ns=content)


def top_of(path: Path, known: Mapping[Path, CachedLookup]) -> Path:
    """The uppermost listed directory from which all directories down to ``path`` were listed."""
    while path.parent in known and path.parent != path:
        path = path.parent
    return path


def below(top: Path, known: Mapping[Path, CachedLookup]) -> list[Path]:
    """All listed directories from ``top`` down."""
    found = [top]
    at = 0
    while at < len(found):
        directory = found[at]
        at += 1
        names = known[directory].found.items()
        found += [directory / n for n, s in names if s.is_directory and directory / n in known]
    return found


def pages_of(top: Path, known: Mapping[Path, CachedLookup]) -> int | None:
    """About how many pages a listing of a whole tree takes; None where a part of it has not been
    listed, and may hold any number of objects."""
    count = 0
    for directory in below(top, known):
        answer = known[directory]
        names = answer.found
        if any(s.is_directory and directory / n not in known for n, s in names.items()):
            return None
        count += sum(not s.is_directory for s in names.values())
    return pages(count)


def names_by_directory(
    top: Path, name: str, listed: Mapping[str, Mapping[str, Any]]
) -> dict[Path, dict[str, RemoteStatus]]:
    """Group a flat listing by directory, from ``top`` down. ``name``: how the file system calls
    ``top``; ``listed``: object name -> its ``info``."""
    found: dict[Path, dict[str, RemoteStatus]] = {top: {}}
    for full, info in listed.items():
        above, _, rest = full.partition(f"{name}/")
        parts = rest.split("/")
        if above or "" in parts or info.get("type") != "file":
            continue
        place = top
        for part in parts[:-1]:
            child = place / part
            found[place].setdefault(part, directory_of(child, ()))
            found.setdefault(child, {})
            place = child
        found[place][parts[-1]] = status_of(place / parts[-1], info)
    return found


@state
class CachedLookup:
    """A cached listing of a directory, or the status of one file under the name ``""``."""

    found: dict[str, RemoteStatus] = field(default_factory=dict)
    error: OSError | None = None
    """Why the look-up failed."""
    asked: float = -math.inf
    """When it was requested (monotonic)."""
    changed: float = 0.0
    """When it last changed, as far as is known (monotonic; may be before the start)."""
    used: float = -math.inf
    """When it was last used (monotonic)."""

    def due(self, pace_s: float, most_pause_s: float) -> float:
        """When to request it again (monotonic): after ``pace_s`` while it changes, after at most
        ``most_pause_s`` when it is quiet."""
        quiet = _SHARE * (self.asked - self.changed)
        return self.asked + max(pace_s, min(quiet, most_pause_s))

    def renewed(
        self, found: dict[str, RemoteStatus], error: OSError | None, now: float, wall: float
    ) -> CachedLookup:
        """The result of a new request at ``now`` (monotonic); ``wall``: the same moment in seconds
        since the epoch."""
        changed = self.changed
        found = {name: _dated(s, self.found.get(name), wall) for name, s in found.items()}
        stamps = ({n: s.stamp for n, s in x.items()} for x in (found, self.found))
        if self.asked == -math.inf:
            times = [s.st_mtime for s in found.values() if s.st_mtime_ns and not s.is_directory]
            changed = now - max(0.0, wall - max(times)) if times else now
        elif type(error) is not type(self.error) or next(stamps) != next(stamps):
            changed = now

        return CachedLookup(found, error, now, changed, self.used)


def _dated(status: RemoteStatus, before: RemoteStatus | None, wall: float) -> RemoteStatus:
    """A file whose server gives no time changed when its size or version was first seen."""
    if status.st_mtime_ns or status.is_directory:
        return status
    now = status.st_size, status.version
    same = before is not None and (before.st_size, before.version) == now
    when = before.st_mtime_ns if before is not None and same else int(wall * 1e9)
    return replace(status, st_mtime_ns=when)
