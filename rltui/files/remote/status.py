"""What a server says about its files, in the shape of ``os.stat_result`` and ``os.DirEntry``."""

from __future__ import annotations

import math
import stat
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

#: Size of a file that the server lists without one.
UNKNOWN = -1
#: Where file systems of fsspec put what changes with the content, and when it changed.
_VERSIONS = ("ETag", "etag", "generation", "blob_id", "version_id", "md5Hash", "Content-MD5")
_TIMES = ("LastModified", "last_modified", "mtime", "updated", "modified", "created")
_HTTP_TIME = "Last-Modified"


@dataclass(frozen=True, slots=True)
class RemoteStatus:
    """A file or directory of a server."""

    st_mode: int
    st_dev: int
    """The same for all of one server or bucket, and unlike that of any local disk."""
    st_ino: int
    """Of the path: the version of an object changes with every append."""
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

    @property
    def stamp(self) -> tuple[int, int, str]:
        """Changes when the content does."""
        return self.st_size, self.st_mtime_ns, self.version


@dataclass(frozen=True, slots=True)
class RemoteEntry:
    """A name in a directory."""

    name: str
    path: str
    """Its address."""
    status: RemoteStatus

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:  # noqa: ARG002 - as of DirEntry
        """Whether it is a directory."""
        return self.status.is_directory

    def is_file(self, *, follow_symlinks: bool = True) -> bool:  # noqa: ARG002 - as of DirEntry
        """Whether it is a file."""
        return not self.status.is_directory

    def is_symlink(self) -> bool:
        """False: links are followed by the server."""
        return False

    def stat(self) -> RemoteStatus:
        """Its status, as listed."""
        return self.status


def status_of(path: Path, info: Mapping[str, Any]) -> RemoteStatus:
    """The status in an ``info`` of fsspec."""
    directory = info.get("type") == "directory" or info.get("mimetype") == "text/html"
    version = next((str(info[k]) for k in _VERSIONS if info.get(k)), "")
    size = info.get("size")
    return RemoteStatus(
        stat.S_IFDIR if directory else stat.S_IFREG,
        _device_of(path),
        hash(str(path)),
        0 if directory else int(size) if size is not None else UNKNOWN,
        0 if directory else _time_of(info),
        version.strip('"'),
    )


def directory_of(path: Path, names: Iterable[str]) -> RemoteStatus:
    """The status of a directory of some names."""
    content = zlib.crc32("\0".join(sorted(names)).encode("utf-8", "surrogateescape"))
    return RemoteStatus(stat.S_IFDIR, _device_of(path), hash(str(path)), 0, content)


def _device_of(path: Path) -> int:
    return -1 - abs(hash(path.parts[:2]))


def _time_of(info: Mapping[str, Any]) -> int:
    """When a file changed, in ns since the epoch; 0 when that is unknown or absurd."""
    found = next((info[k] for k in _TIMES if info.get(k)), None)
    try:
        if found is None:
            text = info.get(_HTTP_TIME)
            found = parsedate_to_datetime(text) if isinstance(text, str) else None
        elif isinstance(found, str):
            found = datetime.fromisoformat(found.replace("Z", "+00:00"))
        if isinstance(found, datetime):
            found = (found if found.tzinfo else found.replace(tzinfo=timezone.utc)).timestamp()
        seconds = float(found or 0.0)
    except (TypeError, ValueError, OverflowError, OSError):
        return 0
    return int(seconds * 1e9) if math.isfinite(seconds) and abs(seconds) < 1e11 else 0
